/* scan_storages.c: finds the records of a zip that are storages of a pickle, by its persistent
 * ids. */
#include "scan/scan_parts.h"

static bool keep_key(struct heft_scan *s, struct heft_str directory, const char *between,
                     struct heft_str key, const char *end, struct heft_error *err)
{
    uint32_t found;
    const char *name =
        heft_arena_printf(&s->mem, err, "%.*s%s%.*s%s", (int)heft_min_u64(directory.n, INT16_MAX),
                          directory.p, between, (int)key.n, key.p, end);

    return name && heft_strmap_add(&s->keys, heft_str_of(name), 1, &found, err);
}

/* Remembers the record of a storage: "a/data.pkl" + "0" → "a/data/0". Mobile archives use the
 * storages of constants.pkl, and torch.package has all storages in one directory. */
static bool keep_storage(struct heft_scan *s, struct heft_str pkl, struct heft_str key,
                         struct heft_error *err)
{
    const struct heft_str stem = {pkl.p, pkl.n - 4}, last = heft_scan_last_part(stem);
    const struct heft_str directory = {pkl.p, stem.n - last.n};
    const char *slash = memchr(pkl.p, '/', pkl.n);
    const struct heft_str root = {pkl.p, slash ? (size_t)(slash - pkl.p) + 1 : 0};

    if (!keep_key(s, stem, "/", key, "", err))
        return false;
    if (heft_str_is(last, "bytecode"))
        return keep_key(s, directory, "constants/", key, "", err);
    return heft_str_is(last, "data") || keep_key(s, root, ".data/", key, ".storage", err);
}

bool heft_scan_keep_storages(struct heft_scan *s, const struct heft_scan_place *place,
                             const struct heft_pickle *pickle, struct heft_error *err)
{
    if (!heft_str_ends(place->member, ".pkl"))
        return true;
    for (uint32_t i = 0; i < pickle->count; i++) {
        const struct heft_pickle_node *node = heft_pickle_at(pickle, i);
        uint32_t key = HEFT_PICKLE_NIL;

        if (node->kind == HEFT_PICKLE_PERSID &&
            heft_pickle_at(pickle, node->u.call.args)->kind == HEFT_PICKLE_TUPLE)
            key = heft_pickle_item(pickle, node->u.call.args, 2);
        if (key == HEFT_PICKLE_NIL || heft_pickle_at(pickle, key)->kind != HEFT_PICKLE_STR ||
            heft_pickle_text(pickle, key).n > 1024)
            continue; /* no record has such a name; many copies of a long key take much memory */
        if (!keep_storage(s, place->member, heft_pickle_text(pickle, key), err))
            return false;
    }
    return true;
}

bool heft_scan_is_storage(const struct heft_scan *s, const struct heft_scan_place *place,
                          const struct heft_zip_entry *entry, bool *yes, struct heft_error *err)
{
    static const uint8_t numpy[6] = "\x93NUMPY";
    uint8_t head[sizeof numpy] = {0};
    size_t n = sizeof head;

    *yes = heft_strmap_get(&s->keys, entry->name) != HEFT_MAP_NONE;
    if (!*yes || (entry->has_first && entry->first != numpy[0]))
        return true;
    if (!heft_zip_peek(place->src, entry, head, &n, err))
        return false;
    *yes = n < sizeof head || memcmp(head, numpy, sizeof head) != 0;
    return true;
}
