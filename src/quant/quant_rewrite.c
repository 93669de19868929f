/* quant_rewrite.c: config.json of a model whose weights are dequantized.
 *
 * The quantization is cut out, and the dtype replaced; all other bytes stay as they are:
 *
 *     {"model_type": "m", "torch_dtype": "float16", "quantization_config": {…}, "vocab_size": 8}
 *     {"model_type": "m", "torch_dtype": "bfloat16", "vocab_size": 8} */
#include "quant/quant_rewrite.h"

#include <stdlib.h>

#define MOST_EDITS 40
#define MOST_DEPTH 100

struct edit {
    uint64_t from, to;
    const char *text; /* replacement; NULL: cut */
};
struct rewriting {
    struct edit list[MOST_EDITS];
    size_t n;
    const char *dtype; /* as JSON, with its quotes */
};

static const char *dtype_text(enum heft_dtype dtype)
{
    return dtype == HEFT_F16 ? "\"float16\"" : dtype == HEFT_F32 ? "\"float32\"" : "\"bfloat16\"";
}

static bool is_any(struct heft_str key, const char *const *list)
{
    for (; *list; list++)
        if (heft_str_is(key, *list))
            return true;
    return false;
}

static bool is_cut(const struct heft_quant_node *member)
{
    static const char *const cut[] = {"quantization_config", "compression_config", "expert_dtype",
                                      NULL};

    return is_any(member->key, cut) ||
           (heft_str_is(member->key, "quantization") && member->kind == HEFT_QUANT_DICT);
}

static void add_edit(struct rewriting *r, uint64_t from, uint64_t to, const char *text)
{
    if (r->n < MOST_EDITS) /* there are at most six in a dict, as keys are unique, and two dicts */
        r->list[r->n++] = (struct edit){from, to, text};
}

/* Edits of a dict: a member is cut with the comma after it, the last one with the comma before it. */
static void edit_dict(struct rewriting *r, const struct heft_quant_node *dict)
{
    static const char *const dtypes[] = {"dtype", "torch_dtype", NULL};
    uint64_t kept = dict->where + 1; /* end of the last member that stays, or of the brace */

    for (const struct heft_quant_node *m = dict->child; m; m = m->next)
        if (is_cut(m)) {
            if (m->next)
                add_edit(r, m->from, m->next->from, NULL);
            else
                add_edit(r, kept, m->to, NULL);
        } else {
            kept = m->to;
            if (m->kind == HEFT_QUANT_STRING && is_any(m->key, dtypes))
                add_edit(r, m->where, m->to, r->dtype);
        }
}

static int by_place(const void *a, const void *b)
{
    const struct edit *const x = a, *const y = b;

    return (x->from > y->from) - (x->from < y->from);
}

static bool put_edited(struct rewriting *r, struct heft_bytes text, struct heft_arena *mem,
                       struct heft_str *out, struct heft_error *err)
{
    struct heft_buf buf = {0};
    uint64_t at = 0;

    qsort(r->list, r->n, sizeof *r->list, by_place);
    for (size_t i = 0; i < r->n; i++) {
        const struct edit *const e = &r->list[i];

        if (e->from > at)
            heft_buf_put(&buf, text.p + at, (size_t)(e->from - at));
        if (e->text)
            heft_buf_text(&buf, e->text);
        at = heft_max_u64(at, e->to);
    }
    heft_buf_put(&buf, text.p + at, text.n - (size_t)at);
    return heft_buf_take(&buf, mem, out, err);
}

bool heft_quant_rewrite(const struct heft_model *model, const char *name, struct heft_bytes text,
                        enum heft_dtype as, struct heft_arena *mem, struct heft_str *out,
                        bool *skip, struct heft_error *err)
{
    static const char *const skipped[] = {"hf_quant_config.json", "quantize_config.json",
                                          "quant_config.json", NULL};
    struct rewriting r = {.dtype = dtype_text(as)};
    const struct heft_quant_node *root, *inner;

    (void)model;
    *skip = is_any(heft_str_of(name), skipped);
    if (*skip || strcmp(name, "config.json") != 0)
        return true;
    if (!text.p)
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "more than 1 MiB, which is too long for a configuration");
    root = heft_quant_parse(text, MOST_DEPTH, mem, err);
    if (!root || root->kind != HEFT_QUANT_DICT)
        return root ? heft_fail(err, HEFT_MALFORMED, 0, "the configuration is no JSON object")
                    : false;
    edit_dict(&r, root);
    inner = heft_quant_get(root, "text_config");
    if (inner && inner->kind == HEFT_QUANT_DICT)
        edit_dict(&r, inner);
    return put_edited(&r, text, mem, out, err);
}
