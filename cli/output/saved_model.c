/* saved_model.c: prints a SavedModel in the format of saved_model_cli.
 *
 *     MetaGraphDef with tag-set: 'serve' contains the following SignatureDefs:
 *
 *     signature_def['serving_default']:
 *       The given SavedModel SignatureDef contains the following input(s):
 *         inputs['x'] tensor_info:
 *             dtype: DT_FLOAT
 *             shape: (-1, 1)
 *             name: x:0
 *       …
 *     The MetaGraph with tag set ['serve'] contains the following ops: {'Add', 'Const'}
 *
 *     Concrete Functions:
 *       Function Name: 'compute'
 *         Option #1
 *           Callable with:
 *             Argument #1
 *               a: TensorSpec(shape=(), dtype=tf.float32, name='a')
 *
 * All values come from the tree that heft_file_info returns. Sets, which Python prints in any
 * order, are sorted. */
#include "output/saved_model.h"

#include "output/python_value.h"
#include "output/value.h"

#include <stdlib.h>

static const char *text_of(const struct heft_value *v)
{
    return v && v->text ? v->text : "";
}

/* ---- signatures ------------------------------------------------------------------------------ */

static void show_tensor(struct out *out, const struct heft_value *info, const char *kind)
{
    const struct heft_value *const shape = value_member(info, "shape");

    out_text(out, "    ");
    out_text(out, kind);
    out_text(out, "['");
    out_value_key(out, info);
    out_text(out, "'] tensor_info:\n        dtype: ");
    out_text(out, tensorflow_label(value_member(info, "dtype")));
    out_text(out, value_member(info, "ref") ? "_REF" : "");
    out_text(out, "\n        shape: ");
    if (!shape || shape->kind == HEFT_VALUE_NULL) {
        out_text(out, "unknown_rank");
    } else {
        out_char(out, '(');
        for (const struct heft_value *dim = shape->first_child; dim; dim = dim->next_sibling) {
            out_i64(out, dim->as.integer);
            out_text(out, dim->next_sibling ? ", " : "");
        }
        out_char(out, ')');
    }
    out_text(out, "\n        name: ");
    out_value_text(out, value_member(info, "tensor"));
    out_char(out, '\n');
}

static void show_tensors(struct out *out, const struct heft_value *signature, const char *kind,
                         const char *what)
{
    const struct heft_value *const all = value_member(signature, kind);

    out_text(out, "  The given SavedModel SignatureDef contains the following ");
    out_text(out, what);
    out_text(out, ":\n");
    for (const struct heft_value *v = all ? all->first_child : NULL; v; v = v->next_sibling)
        show_tensor(out, v, kind);
}

static void show_signature(struct out *out, const struct heft_value *signature)
{
    out_text(out, "\nsignature_def['");
    out_value_key(out, signature);
    out_text(out, "']:\n");
    show_tensors(out, signature, "inputs", "input(s)");
    show_tensors(out, signature, "outputs", "output(s)");
    out_text(out, "  Method name is: ");
    out_value_text(out, value_member(signature, "method"));
    out_char(out, '\n');
}

/* Writes a list of names: 'a', 'b'. */
static void show_list(struct out *out, const struct heft_value *list, const char *quote)
{
    for (const struct heft_value *v = list ? list->first_child : NULL; v; v = v->next_sibling) {
        out_text(out, quote);
        out_value_text(out, v);
        out_text(out, quote);
        out_text(out, v->next_sibling ? ", " : "");
    }
}

static void show_saver(struct out *out, const struct heft_value *saver)
{
    if (!saver || saver->kind != HEFT_VALUE_DICT)
        return;
    out_text(out, "\nsaver_def:\n");
    for (const struct heft_value *v = saver->first_child; v; v = v->next_sibling) {
        out_text(out, "  ");
        out_value_key(out, v);
        out_text(out, ": ");
        if (v->kind == HEFT_VALUE_STRING)
            out_value_text(out, v);
        else
            (void)json_value(out, v); /* a number or a bool needs no memory */
        out->separate = false;
        out_char(out, '\n');
    }
}

static void show_graph(struct out *out, const struct heft_value *graph)
{
    const struct heft_value *const tags = value_member(graph, "tags");
    const struct heft_value *const ops = value_member(graph, "ops");
    const struct heft_value *const signatures = value_member(graph, "signatures");

    out_text(out, "\nMetaGraphDef with tag-set: '");
    show_list(out, tags, "");
    out_text(out, "' contains the following SignatureDefs:\n");
    for (const struct heft_value *v = signatures ? signatures->first_child : NULL; v;
         v = v->next_sibling)
        show_signature(out, v);
    out_text(out, "The MetaGraph with tag set [");
    show_list(out, tags, "'");
    out_text(out, "] contains the following ops: ");
    if (ops && ops->first_child) {
        out_char(out, '{');
        show_list(out, ops, "'");
        out_text(out, "}\n");
    } else {
        out_text(out, "set()\n");
    }
}

/* ---- functions ------------------------------------------------------------------------------- */

/* Prints [1, 'a'] or {'k': 1}. saved_model_cli puts strings within a container in plain quotes. */
static void show_members(struct out *out, const struct heft_value *first, bool is_dict)
{
    out_char(out, is_dict ? '{' : '[');
    for (const struct heft_value *m = first; m; m = m->next_sibling) {
        const char *const quote = m->kind == HEFT_VALUE_STRING ? "'" : "";

        if (is_dict) {
            out_char(out, '\'');
            out_value_key(out, m);
            out_text(out, "': ");
        }
        out_text(out, quote);
        out_python_str(out, m);
        out_text(out, quote);
        out_text(out, m->next_sibling ? ", " : "");
    }
    out_char(out, is_dict ? '}' : ']');
}

static void show_argument(struct out *out, const struct heft_value *v)
{
    const struct heft_value *const items = python_items(v);

    out_text(out, "          ");
    if (v->kind == HEFT_VALUE_STRING) {
        out_value_text(out, v);
    } else if (is_tensor_spec(v)) {
        out_value_text(out, value_member(v, "name"));
        out_text(out, *text_of(value_member(v, "name")) ? ": " : "None: ");
        out_python_repr(out, v);
    } else {
        out_text(out, "DType: ");
        out_text(out, python_type(v));
        out_text(out, "\n          Value: ");
        if (items)
            show_members(out, items->first_child, false);
        else if (is_python_dict(v))
            show_members(out, v->first_child, true);
        else
            out_python_str(out, v);
    }
    out_char(out, '\n');
}

static void show_number(struct out *out, const char *what, uint64_t number)
{
    out_text(out, "        ");
    out_text(out, what);
    out_u64(out, number);
    out_char(out, '\n');
}

static void show_option(struct out *out, const struct heft_value *option, uint64_t number)
{
    const struct heft_value *const args = value_member(option, "args");
    const struct heft_value *const named = value_member(option, "kwargs");
    uint64_t n = 0;

    if (args && args->first_child) {
        out_text(out, "    Option #");
        out_u64(out, number);
        out_text(out, "\n      Callable with:\n");
    }
    for (const struct heft_value *v = args ? args->first_child : NULL; v; v = v->next_sibling) {
        show_number(out, "Argument #", ++n);
        show_argument(out, v);
    }
    n = 0;
    for (const struct heft_value *v = named ? named->first_child : NULL; v; v = v->next_sibling) {
        show_number(out, "Named Argument #", ++n);
        out_text(out, "          ");
        out_value_key(out, v);
        out_char(out, '\n');
    }
}

static void show_functions(struct out *out, const struct heft_value *graphs)
{
    const struct heft_value *callables = NULL;

    for (const struct heft_value *g = graphs->first_child; g && !callables; g = g->next_sibling)
        callables = value_member(g, "callables");
    if (!callables)
        return;
    out_text(out, "\nConcrete Functions:\n");
    for (const struct heft_value *f = callables->first_child; f; f = f->next_sibling) {
        uint64_t n = 0;

        out_text(out, f == callables->first_child ? "  Function Name: '" : "\n  Function Name: '");
        out_value_key(out, f);
        out_text(out, "'\n");
        for (const struct heft_value *o = f->first_child; o; o = o->next_sibling)
            show_option(out, o, ++n);
    }
}

/* ---- metagraphs ------------------------------------------------------------------------------ */

/* Compares the tags of two meta graphs as Python compares lists of strings. */
static int by_tags(const void *a, const void *b)
{
    const struct heft_value *x = value_member(*(const struct heft_value *const *)a, "tags");
    const struct heft_value *y = value_member(*(const struct heft_value *const *)b, "tags");

    x = x ? x->first_child : NULL;
    y = y ? y->first_child : NULL;
    for (; x && y; x = x->next_sibling, y = y->next_sibling)
        if (strcmp(text_of(x), text_of(y)) != 0)
            return strcmp(text_of(x), text_of(y));
    return (x != NULL) - (y != NULL);
}

bool saved_model_show(struct out *out, const struct heft_value *about)
{
    const struct heft_value *const graphs = value_member(about, "metagraphs");
    const struct heft_value **sorted;
    size_t n = 0;
    bool fine = true;

    if (!graphs)
        return true;
    for (const struct heft_value *g = graphs->first_child; g; g = g->next_sibling)
        n++;
    sorted = malloc((n + 1) * sizeof *sorted);
    if (!sorted)
        return false;
    n = 0;
    for (const struct heft_value *g = graphs->first_child; g; g = g->next_sibling)
        sorted[n++] = g;
    qsort(sorted, n, sizeof *sorted, by_tags);
    for (size_t i = 0; i < n; i++)
        show_graph(out, sorted[i]);
    show_functions(out, graphs);
    for (size_t i = 0; i < n; i++)
        show_saver(out, value_member(sorted[i], "saver"));
    for (const struct heft_value *v = about->first_child; v && fine; v = v->next_sibling)
        if (v->kind == HEFT_VALUE_DICT) {
            out_char(out, '\n');
            out_value_key(out, v);
            out_text(out, ":\n");
            fine = print_values(out, v, 2, true);
        }
    free(sorted);
    return fine;
}
