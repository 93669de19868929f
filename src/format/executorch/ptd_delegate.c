/* ptd_delegate.c: keys of named data to which the payload of an XNNPACK delegate refers.
 *
 *     0    u32 zeros     4  "XH00"     8  u16 header length (30)
 *     10   u32 offset of the FlatBuffer, u32 its bytes
 *     18   u32 offset of the constants, u64 their bytes
 *     …    FlatBuffer: XNNGraph  8 [constant_data]: 0 offset, 1 size, 2 named_key
 *
 * An entry with a named_key has no bytes here: the runtime looks them up by the key, which
 * exporters compute as SHA-256 of the bytes, in the program's named data and in the .ptd. Payloads
 * without the identifier are older, or of other backends: their references are unknown. */
#include "base/endian.h"
#include "base/text.h"
#include "format/executorch/ptd_program.h"

#define HEAD 30

enum { KEY_WEIGHT = 96 }; /* as WANTED_WEIGHT in ptd_program_values.c */

/* Adds {"key": …, "backend": …, "bytes": …}. */
static bool tell_wish(struct heft_pte *p, const struct heft_pte_wish *wish, struct heft_error *err)
{
    struct heft_arena *const mem = &p->model->mem;
    struct heft_node *about = heft_model_file_info(p->model, err), *item;

    if (about && !p->delegate_data)
        p->delegate_data =
            heft_tree_shared(mem, about, HEFT_STR("delegate_data"), HEFT_VALUE_LIST, err);
    item = p->delegate_data ? heft_tree_dict(mem, p->delegate_data, HEFT_STR(""), err) : NULL;
    return item && heft_tree_text(mem, item, HEFT_STR("key"), wish->key, err) &&
           heft_tree_text(mem, item, HEFT_STR("backend"), wish->backend, err) &&
           heft_tree_number(mem, item, HEFT_STR("bytes"), (int64_t)wish->bytes, err);
}

static bool add_key(struct heft_pte *p, struct heft_str backend, struct heft_str key,
                    uint64_t bytes, struct heft_error *err)
{
    struct heft_pte_wish wish = {.backend = backend, .bytes = bytes};
    uint32_t other;

    wish.key = (struct heft_str){heft_arena_text(&p->model->mem, key, err), key.n};
    return wish.key.p && heft_model_weigh_name(p->model, key, KEY_WEIGHT, err) &&
           heft_strmap_add(&p->asked, wish.key, 0, &other, err) &&
           (other != HEFT_MAP_NONE ||
            (heft_pte_add_wish(p, &wish, err) && tell_wish(p, &wish, err)));
}

static bool read_constant(struct heft_pte *p, struct heft_str backend, const struct heft_flat *flat,
                          uint64_t at, struct heft_error *err)
{
    struct heft_flat_table table;
    struct heft_str key;
    uint64_t bytes, key_at;

    if (!heft_flat_table(flat, at, "ConstantDataOffset", &table, err) ||
        !heft_flat_u64(flat, &table, 1, &bytes, err) ||
        !heft_flat_ref(flat, &table, 2, &key_at, err))
        return false;
    if (bytes > INT64_MAX)
        return heft_fail(err, HEFT_MALFORMED, at, "a constant has 2^63 bytes or more");
    return key_at == 0 ||
           (heft_flat_string(flat, key_at, p->model->limits.name, "named_key", &key, err) &&
            (key.n == 0 || add_key(p, backend, key, bytes, err)));
}

static bool read_graph(struct heft_pte *p, struct heft_str backend, struct heft_bytes bytes,
                       struct heft_error *err)
{
    struct heft_flat_vector constants;
    struct heft_flat_table root;
    struct heft_flat flat;
    uint64_t at;

    heft_flat_init(&flat, bytes, 4, 0);
    if (!heft_flat_root(&flat, "XNNGraph", &root, err) || !heft_flat_ref(&flat, &root, 8, &at, err))
        return false;
    if (at == 0)
        return true;
    if (!heft_flat_refs(&flat, at, "constant_data", &constants, err))
        return false;
    for (uint32_t i = 0; i < constants.count; i++)
        if (!heft_flat_element(&flat, &constants, i, &at, err) ||
            !read_constant(p, backend, &flat, at, err))
            return false;
    return true;
}

/* Finds the FlatBuffer in the payload; *n is 0 if the payload is of an unknown kind. */
static bool read_head(const struct heft_source *file, const struct heft_storage *payload,
                      uint64_t *at, uint64_t *n, struct heft_error *err)
{
    uint8_t head[HEAD];

    *n = 0;
    if (payload->len < HEAD)
        return true;
    if (!heft_source_read(file, payload->off, head, HEAD, err))
        return false;
    if (memcmp(head + 4, "XH00", 4) != 0)
        return true;
    *at = heft_le32(head + 10);
    *n = heft_le32(head + 14);
    return heft_within(*at, *n, payload->len) ||
           heft_fail(err, HEFT_MALFORMED, 10,
                     "tables have %" PRIu64 " bytes at %" PRIu64 ", the payload has %" PRIu64
                     " bytes",
                     *n, *at, payload->len);
}

static bool read_payload(struct heft_pte *p, struct heft_str backend,
                         const struct heft_storage *payload, struct heft_error *err)
{
    const struct heft_source *const file = &p->model->sources[p->source].source;
    struct heft_arena mem = {0};
    struct heft_bytes bytes;
    uint64_t at, n;
    bool ok = read_head(file, payload, &at, &n, err);

    if (ok && n > p->model->limits.pickle)
        ok = heft_fail(err, HEFT_LIMIT, 14,
                       "tables have %" PRIu64 " bytes, the limit is %" PRIu64 ": limits.pickle", n,
                       p->model->limits.pickle);
    if (ok && n)
        ok = heft_source_fetch(file, payload->off + at, n, &mem, &bytes, err) &&
             read_graph(p, backend, bytes, err);
    heft_arena_release(&mem);
    return ok;
}

bool heft_pte_read_payload(struct heft_pte *p, struct heft_str backend, uint32_t storage,
                           struct heft_error *err)
{
    const struct heft_storage payload = p->model->storages[storage];
    struct heft_error found = {0};

    if (!heft_str_is(backend, "XnnpackBackend") || read_payload(p, backend, &payload, &found))
        return true;
    if (found.code == HEFT_MALFORMED)
        return heft_model_note(p->model, HEFT_FINDING, p->source, payload.off, err,
                               "the payload of a delegate: %s", found.text);
    *err = found;
    return false;
}
