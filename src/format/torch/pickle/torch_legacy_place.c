/* torch_legacy_place.c: shared by reading and salvaging a legacy stream: its list of keys, and a
 * storage with its count. */
#include "format/torch/pickle/torch_legacy.h"

#define FIRST_KEYS ((uint64_t)16 << 10) /* bytes of the list of keys to read in the first attempt */

bool heft_torch_legacy_keys(const struct heft_torch_legacy *l, uint64_t at,
                            struct heft_pickle *keys, struct heft_arena *mem,
                            struct heft_error *err)
{
    return heft_torch_stream_pickle(l->in, at, FIRST_KEYS, keys, mem, err);
}

/* Places the storage with its count. A nested stream is one claim up to its first storage, which
 * has no label: there may be many nested streams. */
bool heft_torch_legacy_place(const struct heft_torch_legacy *l, size_t i, uint64_t at,
                             struct heft_error *err)
{
    const struct heft_torch_stream *in = l->in;
    struct heft_torch_storage *s = &l->t->storages[l->order[i]];
    const uint64_t from = in->is_nested && i == 0 ? 0 : at;
    struct heft_str label = HEFT_STR("");

    if (!in->is_nested) {
        label.p = heft_arena_text(&in->model->mem, s->key, err);
        label.n = s->key.n;
    }
    return label.p && heft_torch_stream_storage(in, at, label, s, err) &&
           (in->is_nested ? heft_torch_stream_claim(in, from, at + 8 - from, "torch stream in ",
                                                    HEFT_STR("object"), err)
                          : heft_torch_stream_claim(in, from, at + 8 - from, "count of storage ",
                                                    label, err));
}

bool heft_torch_legacy_bad_count(const struct heft_torch_legacy *l, uint64_t at,
                                 const struct heft_torch_storage *s, int64_t count,
                                 struct heft_error *err)
{
    return heft_fail(err, HEFT_MALFORMED, heft_torch_stream_at(l->in, at),
                     "storage %.*s has a count of %" PRId64 ", the pickle expects %" PRId64
                     " elements",
                     (int)heft_min_u64(s->key.n, 100), s->key.p, count, s->elements);
}
