/* torch_zip_pickle.c: pickles of an archive, and the records of their storages.
 *
 *    ROOT/data.pkl   BINPERSID ("storage", class, "0", location, elements)
 *    ROOT/data/0     the bytes of that storage: elements × size of the class */
#include "format/torch/zip/torch_archive.h"

/* Limit for inflating a pickle in memory: torch stores pickles uncompressed, and they are small. */
#define DEFLATED_PICKLE (UINT64_C(64) << 20)

/* ---- storages ---------------------------------------------------------------------------- */

static bool report_missing_record(const struct heft_torch *t, uint32_t id, struct heft_str key,
                                  struct heft_error *err)
{
    const struct heft_torch_zip *z = t->inside;

    return heft_fail(err, HEFT_MALFORMED, heft_torch_where(t, id),
                     "storage %.*s: %s record %.*s/%.*s%.*s", (int)heft_min_u64(key.n, 100), key.p,
                     z->zip.walked ? "the file ends before its" : "the archive has no",
                     (int)heft_min_u64(z->root.n, 100), z->root.p, (int)z->folder.n, z->folder.p,
                     (int)heft_min_u64(key.n, 100), key.p);
}

static bool take_record(struct heft_torch *t, uint32_t index, struct heft_torch_storage *s,
                        struct heft_error *err)
{
    struct heft_torch_zip *z = t->inside;
    struct heft_zip_entry *entry = &z->zip.entries[index];

    if (entry->fault != HEFT_ZIP_SOUND && !heft_torch_close_record(z, entry, s->bytes, err))
        return false;
    if (entry->size != s->bytes)
        return heft_fail(err, HEFT_MALFORMED, entry->data,
                         "record %.200s has %" PRIu64 " bytes, the pickle expects %" PRId64
                         " elements of %u bytes",
                         entry->name.p, entry->size, s->elements,
                         heft_torch_element_bytes(s->type));
    z->by_entry[index] = (uint32_t)t->n_storages;
    z->n_taken++;
    return heft_torch_store_record(z, index, &s->storage, err);
}

/* Adds a storage without bytes: on the meta device, or omitted on purpose. */
static bool add_meta(struct heft_torch *t, uint32_t id, const struct heft_torch_storage *s,
                     struct heft_error *err)
{
    uint32_t index;

    if (!heft_strmap_add(&t->keys, s->key, (uint32_t)t->n_storages, &index, err))
        return false;
    return index != HEFT_MAP_NONE ? heft_torch_same_storage(t, id, index, s, err)
                                  : heft_torch_add_storage(t, id, s, err);
}

static bool zip_storage(struct heft_torch *t, uint32_t id, struct heft_error *err)
{
    struct heft_torch_zip *z = t->inside;
    struct heft_torch_storage s = {.storage = HEFT_NONE};
    uint32_t more, entry;
    bool is_meta;

    if (!heft_torch_read_persid(t, id, &s, &is_meta, &more, err))
        return false;
    if (more != HEFT_PICKLE_NIL)
        return heft_fail(err, HEFT_MALFORMED, heft_torch_where(t, id),
                         "persistent id has 6 items, a torch zip has 5: (\"storage\", class, key, "
                         "location, elements)");
    if (is_meta)
        return add_meta(t, id, &s, err);
    if (!heft_torch_find_entry(z, s.key, &entry, err))
        return false;
    if (entry == HEFT_NONE)
        return report_missing_record(t, id, s.key, err);
    if (z->may_lack_data && z->zip.entries[entry].size == 0)
        return add_meta(t, id, &s, err);
    if (z->by_entry[entry] != HEFT_NONE)
        return heft_torch_same_storage(t, id, z->by_entry[entry], &s, err);
    return take_record(t, entry, &s, err) && heft_torch_add_storage(t, id, &s, err);
}

static const struct heft_torch_container zip_container = {.storage = zip_storage};

/* ---- reading a pickle -------------------------------------------------------------------- */

static bool read_pickle(struct heft_torch_zip *z, const struct heft_zip_entry *entry,
                        struct heft_torch *t, struct heft_error *err)
{
    const struct heft_limits *l = &z->model->limits;
    const bool is_stored = entry->method == HEFT_ZIP_STORED;
    const uint64_t cap = is_stored ? l->pickle : heft_min_u64(l->pickle, DEFLATED_PICKLE);
    struct heft_bytes data;

    t->base = is_stored ? entry->data : HEFT_NO_OFFSET;
    t->pickle_at = entry->data;
    t->pickle_packed = entry->packed;
    if (z->model->salvage)
        return heft_torch_fetch_damaged(z, entry, t->what, cap, &t->graph, &data, err) &&
               heft_torch_run(t, data, err);
    return heft_zip_fetch(&z->model->sources[z->source].source, entry, cap, entry->crc != 0,
                          &t->graph, &data, err) &&
           heft_torch_run(t, data, err);
}

bool heft_torch_run_record(struct heft_torch_zip *z, uint32_t index, const char *what,
                           struct heft_torch *t, struct heft_error *err)
{
    const struct heft_zip_entry *entry = &z->zip.entries[index];

    t->model = z->model;
    t->source = z->source;
    t->container = &zip_container;
    t->inside = z;
    t->what = what;
    t->is_big = z->is_big;
    t->is_script = heft_torch_is_script(z);
    if (!t->is_item)
        t->budget = z->model->limits.expansion;
    memset(z->by_entry, 0xFF, z->zip.count * sizeof *z->by_entry); /* every byte 0xff: HEFT_NONE */
    if (!heft_grow(&t->storages, &t->cap_storages, 0, z->zip.count, sizeof *t->storages, err))
        return false;
    z->marks[index] = HEFT_TORCH_CLAIMED;
    return read_pickle(z, entry, t, err) && (!z->model->salvage || heft_torch_measure(z, t, err));
}

bool heft_torch_read_record(struct heft_torch_zip *z, uint32_t index, const char *what,
                            struct heft_torch *t, struct heft_error *err)
{
    return heft_torch_run_record(z, index, what, t, err) && heft_torch_walk(t, err) &&
           heft_torch_claim_pickle(t, err);
}
