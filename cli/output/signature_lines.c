/* signature_lines.c: prints the signatures of a SavedModel, one line each: method, inputs →
 * outputs.
 *
 *     signatures    serving_default  predict  x F32 [-1,1] → y F32 [-1,1]
 *
 * With several meta graphs their tags stand in front: "serve,gpu: serving_default  …". */
#include "output/saved_model.h"

#include "output/value.h"

enum { LABEL_WIDTH = 14, MAX_SHOWN = 12, MAX_TENSORS = 8 };

/* Signature by which TensorFlow finds the initializer; users do not call it. */
static const char init_op[] = "__saved_model_init_op";

static void put_shape(struct out *out, const struct heft_value *shape)
{
    if (!shape || shape->kind == HEFT_VALUE_NULL) {
        out_text(out, " of any shape");
        return;
    }
    out_text(out, " [");
    for (const struct heft_value *dim = shape->first_child; dim; dim = dim->next_sibling) {
        if (dim->as.integer < 0)
            out_text(out, "-1");
        else
            out_u64(out, (uint64_t)dim->as.integer);
        out_text(out, dim->next_sibling ? "," : "");
    }
    out_char(out, ']');
}

/* Prints tensors: "x F32 [-1,1], k STRING [-1]"; "nothing" if there are none. */
static void put_tensors(struct out *out, const struct heft_value *tensors)
{
    const struct heft_value *v = tensors ? tensors->first_child : NULL;

    if (!v)
        out_text(out, "nothing");
    for (unsigned n = 0; v; v = v->next_sibling, n++) {
        const struct heft_value *const dtype = value_member(v, "dtype");

        out_text(out, n ? ", " : "");
        if (n == MAX_TENSORS) {
            out_text(out, "…");
            return;
        }
        (void)out_name(out, v->key, v->key_len);
        out_char(out, ' ');
        out_text(out, dtype && dtype->text ? dtype->text : "?");
        put_shape(out, value_member(v, "shape"));
    }
}

/* Last component of a method name: "predict" of "tensorflow/serving/predict". */
static void put_method(struct out *out, const struct heft_value *method)
{
    const char *const text = method && method->text ? method->text : "";
    const char *const slash = strrchr(text, '/');
    const char *const word = slash ? slash + 1 : text;

    if (*word) {
        out_text(out, "  ");
        (void)out_name(out, word, strlen(word));
    }
}

static void put_tags(struct out *out, const struct heft_value *tags)
{
    for (const struct heft_value *v = tags ? tags->first_child : NULL; v; v = v->next_sibling) {
        (void)out_name(out, v->text ? v->text : "", v->text_len);
        out_text(out, v->next_sibling ? "," : "");
    }
    out_text(out, ": ");
}

static void put_line(struct out *out, const struct heft_value *signature)
{
    (void)out_name(out, signature->key, signature->key_len);
    put_method(out, value_member(signature, "method"));
    out_text(out, "  ");
    put_tensors(out, value_member(signature, "inputs"));
    out_text(out, " → ");
    put_tensors(out, value_member(signature, "outputs"));
    out_char(out, '\n');
}

static void put_label(struct out *out, bool is_first)
{
    const char *const text = is_first ? "signatures" : "";

    out_text(out, text);
    out_fill(out, ' ', LABEL_WIDTH - strlen(text));
}

void signatures_print(struct out *out, const struct heft_value *about)
{
    const struct heft_value *const graphs = value_member(about, "metagraphs");
    uint64_t n = 0;

    for (const struct heft_value *g = graphs ? graphs->first_child : NULL; g; g = g->next_sibling) {
        const struct heft_value *const all = value_member(g, "signatures");

        for (const struct heft_value *v = all ? all->first_child : NULL; v; v = v->next_sibling) {
            if (!strcmp(v->key, init_op) || ++n > MAX_SHOWN)
                continue;
            put_label(out, n == 1);
            if (graphs->first_child->next_sibling)
                put_tags(out, value_member(g, "tags"));
            put_line(out, v);
        }
    }
    if (n <= MAX_SHOWN)
        return;
    put_label(out, false);
    out_text(out, "… ");
    out_u64(out, n - MAX_SHOWN);
    out_text(out, " more\n");
}
