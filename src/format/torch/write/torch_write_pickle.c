/* torch_write_pickle.c: the pickle of a state dict as torch.save writes it through CPython,
 * protocol 2.
 *
 *     80 02                                PROTO 2
 *     c collections\nOrderedDict\n ) R     the dictionary; or } for a plain one
 *     ( X "weight" … T                     a thousand names and tensors at a time
 *     u
 *     } X "_metadata" … s b                module versions, an attribute of the dictionary
 *     .
 *
 *     T  c torch._utils\n_rebuild_tensor_v2\n
 *        ( ( "storage" c torch\nFloatStorage\n "0" "cpu" K 6 t Q    which storage
 *          K 0  K 3 K 2 \x86  K 2 K 1 \x86                          offset, size, stride
 *          \x89  ) R                                                no gradient, no hooks
 *        t R
 *
 * CPython memoises every value it may meet again (q) and fetches it (h) when it meets the same
 * object. Equal bytes therefore require equal object identities: each of torch's words is one
 * object; so is the key of a storage (in a stream, one per tensor); names and module paths are
 * separate objects, except the empty string and single Latin-1 characters, which CPython interns;
 * the words in _metadata come from module code, one object each; a tensor has the identity it had
 * in the source. */
#include "format/torch/write/torch_pickler.h"

#define FLUSH (1u << 20) /* bytes added to the plan at once */

/* Number of the item's object, or 0 if it occurs only once. A cast item is always a new object. */
static uint32_t object_of(const struct heft_pickler *p, size_t i)
{
    const struct heft_export_item *item = &p->out->exports->items[i];

    if (p->out->pieces[p->out->piece_of[i]].items == 1 || item->as != item->row->dtype)
        return 0;
    return item->row->object;
}

static bool put_item(struct heft_pickler *p, size_t i, struct heft_error *err)
{
    const uint32_t object = object_of(p, i);
    const uint32_t memo = object ? heft_u32map_get(&p->objects, object) : HEFT_MAP_NONE;

    heft_pickler_text(p, p->out->exports->items[i].name);
    if (memo != HEFT_MAP_NONE) {
        heft_pickler_again(p, memo);
        return true;
    }
    heft_pickler_tensor(p, &p->out->exports->items[i], p->out->piece_of[i], p->out->piece_of[i],
                        HEFT_STR("cpu"), false);
    return !object || heft_u32map_set(&p->objects, object, p->n_memo - 1, err);
}

/* ---- module versions --------------------------------------------------------------------- */

static size_t count_children(const struct heft_value *value)
{
    size_t n = 0;

    for (const struct heft_value *v = value->first_child; v; v = v->next_sibling)
        n++;
    return n;
}

static struct heft_str key_of(const struct heft_value *value)
{
    return (struct heft_str){value->key, value->key_len};
}

/* Writes a key or value that comes from module code: one object, however often it occurs. */
static bool put_code_word(struct heft_pickler *p, struct heft_str word, struct heft_error *err)
{
    uint32_t memo = heft_strmap_get(&p->shared, word);

    if (heft_pickler_only_one(p, word)) {
        heft_pickler_text(p, word);
        return true;
    }
    heft_pickler_word(p, word, &memo);
    return heft_strmap_set(&p->shared, word, memo, err);
}

static bool put_plain(struct heft_pickler *p, const struct heft_value *value,
                      struct heft_error *err)
{
    if (value->kind == HEFT_VALUE_STRING)
        return put_code_word(p, (struct heft_str){value->text, value->text_len}, err);
    heft_pickler_scalar(p, value);
    return true;
}

static bool put_module(struct heft_pickler *p, const struct heft_value *module,
                       struct heft_error *err)
{
    const size_t n = count_children(module);
    size_t i = 0;

    heft_pickler_op(p, '}');
    (void)heft_pickler_keep(p);
    for (const struct heft_value *v = module->first_child; v; v = v->next_sibling, i++) {
        heft_pickler_before_item(p, i, n, HEFT_BATCH_DICT);
        if (!put_code_word(p, key_of(v), err) || !put_plain(p, v, err))
            return false;
        heft_pickler_after_item(p, i, n, HEFT_BATCH_DICT);
    }
    return true;
}

/* Writes {"_metadata": OrderedDict of module → {"version": 1}} as attributes of the dictionary. */
static bool put_modules(struct heft_pickler *p, const struct heft_value *modules,
                        struct heft_error *err)
{
    const size_t n = count_children(modules);
    size_t i = 0;

    heft_pickler_op(p, '}');
    (void)heft_pickler_keep(p);
    heft_pickler_text(p, HEFT_STR("_metadata"));
    heft_pickler_ordered_dict(p);
    for (const struct heft_value *v = modules->first_child; v; v = v->next_sibling, i++) {
        heft_pickler_before_item(p, i, n, HEFT_BATCH_PAIRS);
        heft_pickler_text(p, key_of(v));
        if (!put_module(p, v, err))
            return false;
        heft_pickler_after_item(p, i, n, HEFT_BATCH_PAIRS);
    }
    heft_buf_text(&p->buf, "sb");
    return true;
}

bool heft_torch_flush(const struct heft_torch_out *out, struct heft_buf *buf,
                      struct heft_error *err)
{
    struct heft_str bytes;

    return heft_buf_ok(buf, err) && heft_buf_take(buf, out->plan->mem, &bytes, err) &&
           heft_plan_put(out->plan, out->file, bytes, err);
}

/* ---- the whole pickle -------------------------------------------------------------------- */

/* The pickle of one tensor. */
static bool put_alone(struct heft_pickler *p, struct heft_error *err)
{
    heft_buf_put(&p->buf, "\x80\x02", 2);
    heft_pickler_tensor(p, &p->out->items[0], 0, 0, HEFT_STR("cpu"), false);
    heft_pickler_op(p, '.');
    return heft_torch_flush(p->out, &p->buf, err);
}

static bool put_all(struct heft_pickler *p, struct heft_error *err)
{
    const struct heft_export_list *exports = p->out->exports;
    const size_t n = exports->n_items;
    const enum heft_pickler_batch batch = p->out->is_ordered ? HEFT_BATCH_PAIRS : HEFT_BATCH_DICT;

    heft_buf_put(&p->buf, "\x80\x02", 2);
    if (p->out->is_ordered) {
        heft_pickler_ordered_dict(p);
    } else {
        heft_pickler_op(p, '}');
        (void)heft_pickler_keep(p);
    }
    for (size_t i = 0; i < n; i++) {
        heft_pickler_before_item(p, i, n, batch);
        if (!put_item(p, i, err))
            return false;
        heft_pickler_after_item(p, i, n, batch);
        if (p->buf.n >= FLUSH && !heft_torch_flush(p->out, &p->buf, err))
            return false;
    }
    if (p->out->modules && !put_modules(p, p->out->modules, err))
        return false;
    heft_pickler_op(p, '.');
    return heft_torch_flush(p->out, &p->buf, err);
}

bool heft_torch_write_pickle(struct heft_torch_out *out, enum heft_torch_style style,
                             struct heft_error *err)
{
    struct heft_pickler p = {0};
    bool ok;

    if (out->exports->keeps_tree || out->has_given)
        return heft_torch_flush(out, &out->pickle, err);
    ok = heft_pickler_init(&p, out, style, err) &&
         (out->is_alone ? put_alone(&p, err) : put_all(&p, err));

    heft_pickler_release(&p);
    return ok;
}
