/* torch_persid.c: persistent ids of storages.
 *
 *     BINPERSID ("storage", torch FloatStorage, "0", "cpu", 6 [, view])
 *                            class, its dtype   key   location  elements (bytes if untyped)
 *
 * The container locates the bytes of storage "0". All ids with the same key must agree. */
#include "format/torch/pickle/torch_parts.h"

uint32_t heft_torch_element_bytes(const struct heft_torch_global *type)
{
    if (type->kind == HEFT_TORCH_UNTYPED)
        return 1;
    if (type->dtype != HEFT_DTYPE_COUNT)
        return heft_dtype_element_bytes((enum heft_dtype)type->dtype);
    return strcmp(type->name, "QInt32Storage") == 0 ? 4 : 1;
}

bool heft_torch_read_class(const struct heft_torch *t, uint32_t id, uint32_t node,
                           const struct heft_torch_global **type, struct heft_error *err)
{
    const uint64_t at = heft_torch_where(t, id);
    struct heft_str module, name;

    if (!heft_torch_is(t, node, HEFT_PICKLE_GLOBAL))
        return heft_fail(err, HEFT_MALFORMED, at,
                         "persistent id: its storage class is not a class");
    *type = heft_torch_global_of(t, node);
    if (*type && ((*type)->kind == HEFT_TORCH_STORAGE || (*type)->kind == HEFT_TORCH_UNTYPED))
        return true;
    module = heft_pickle_text(&t->pickle, heft_torch_node(t, node)->module);
    name = heft_pickle_text(&t->pickle, node);
    return heft_fail(err, *type ? HEFT_MALFORMED : HEFT_UNSUPPORTED, at,
                     "persistent id: unknown storage class %.*s.%.*s",
                     (int)heft_min_u64(module.n, 100), module.p, (int)heft_min_u64(name.n, 100),
                     name.p);
}

static bool read_elements(const struct heft_torch *t, uint32_t id, uint32_t node,
                          struct heft_torch_storage *out, struct heft_error *err)
{
    const uint64_t at = heft_torch_where(t, id);

    if (!heft_torch_is(t, node, HEFT_PICKLE_INT) || heft_torch_node(t, node)->u.integer < 0)
        return heft_fail(
            err, HEFT_MALFORMED, at,
            "persistent id: the number of elements is not an integer from 0 to 2^63-1");
    out->elements = heft_torch_node(t, node)->u.integer;
    return heft_mul((uint64_t)out->elements, heft_torch_element_bytes(out->type), &out->bytes) ||
           heft_fail(err, HEFT_MALFORMED, at,
                     "storage of %" PRId64 " elements: its size overflows 64 bits", out->elements);
}

bool heft_torch_read_persid(const struct heft_torch *t, uint32_t id, struct heft_torch_storage *out,
                            bool *is_meta, uint32_t *more, struct heft_error *err)
{
    const uint32_t args = heft_torch_node(t, id)->u.call.args;
    const uint64_t at = heft_torch_where(t, id);
    const uint32_t *items;
    uint32_t count;
    bool is_storage;

    if (!heft_torch_is(t, args, HEFT_PICKLE_TUPLE))
        return heft_fail(
            err, HEFT_MALFORMED, at,
            "persistent id is not a tuple (\"storage\", class, key, location, elements)");
    items = heft_torch_items(t, args);
    count = heft_torch_count(t, args);
    is_storage = count > 0 && heft_torch_is_word(t, items[0], HEFT_STR("storage"));
    if (count < 5 || count > 6 || !is_storage)
        return heft_fail(err, HEFT_MALFORMED, at,
                         "persistent id has %u items%s; torch writes (\"storage\", class, key, "
                         "location, elements)",
                         count, is_storage ? "" : " and does not begin with \"storage\"");
    if (!heft_torch_read_class(t, id, items[1], &out->type, err))
        return false;
    if (!heft_torch_is_text(t, items[2]))
        return heft_fail(err, HEFT_MALFORMED, at, "persistent id: its key is not text");
    out->key = heft_pickle_text(&t->pickle, items[2]);
    *is_meta = heft_torch_is_word(t, items[3], HEFT_STR("meta"));
    *more = count == 6 ? items[5] : HEFT_PICKLE_NIL;
    return read_elements(t, id, items[4], out, err);
}

bool heft_torch_same_storage(struct heft_torch *t, uint32_t id, uint32_t index,
                             const struct heft_torch_storage *again, struct heft_error *err)
{
    const struct heft_torch_storage *first = &t->storages[index];

    t->meanings[id] = index;
    if (first->type == again->type && first->elements == again->elements)
        return true;
    return heft_fail(err, HEFT_MALFORMED, heft_torch_where(t, id),
                     "storage %.*s has class %s and %" PRId64
                     " elements here, class %s and %" PRId64 " elements before",
                     (int)heft_min_u64(first->key.n, 100), first->key.p, again->type->name,
                     again->elements, first->type->name, first->elements);
}

bool heft_torch_add_storage(struct heft_torch *t, uint32_t id,
                            const struct heft_torch_storage *storage, struct heft_error *err)
{
    if (!heft_grow(&t->storages, &t->cap_storages, t->n_storages, 1, sizeof *t->storages, err))
        return false;
    t->meanings[id] = (uint32_t)t->n_storages;
    t->storages[t->n_storages] = *storage;
    t->storages[t->n_storages++].id = id + 1;
    return true;
}

bool heft_torch_become_class(struct heft_torch *t, uint32_t id, uint32_t class,
                             struct heft_error *err)
{
    if (!heft_torch_is(t, class, HEFT_PICKLE_GLOBAL))
        return heft_fail(err, HEFT_MALFORMED, heft_torch_where(t, id),
                         "persistent id does not refer to a class");
    heft_pickle_become(&t->pickle, id, class);
    t->meanings[id] = t->meanings[class];
    return true;
}
