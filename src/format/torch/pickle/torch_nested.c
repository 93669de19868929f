/* torch_nested.c: storages within a pickle. pickle.dump writes each storage of a tensor as a
 * complete legacy stream, as bytes:
 *
 *     REDUCE torch.storage _load_from_bytes ( bytes )     80 02 8a 0a 6c … 2e  80 02 4d e9 03 2e  …
 *
 * This call takes the place of a persistent id. Bytes that are stored verbatim are read in place;
 * protocol 2 wraps them into text, so those are decoded into memory. A stream is read once, however
 * often the pickle refers to its bytes. Streams nest twice at most, and a nested one is smaller
 * than the pickle around it. */
#include "format/torch/pickle/torch_parts.h"

/* Limit on nested streams, as a share of limits.tensors: each also uses memory of the pickle around
 * it. */
#define SHARE 8 /* a nested stream takes about as much memory as 8 tensors */

/* ---- opening the bytes of a nested stream ------------------------------------------------ */

/* The source range of the bytes if they are stored verbatim, unless an array already uses them. */
static bool open_stream(struct heft_torch *t, const struct heft_torch_bytes *raw,
                        struct heft_torch_stream *in, struct heft_error *err)
{
    struct heft_str copy = {(const char *)raw->bytes.p, raw->bytes.n};

    *in = (struct heft_torch_stream){
        .model = t->model, .source = t->source, .is_nested = true, .is_claimed = t->depth > 0};
    if (raw->verbatim != SIZE_MAX && t->base != HEFT_NO_OFFSET &&
        heft_u32map_get(&t->raw, raw->node) == HEFT_MAP_NONE) {
        if (!heft_grow(&t->spans, &t->cap_spans, t->n_spans, 1, sizeof *t->spans, err))
            return false;
        in->origin = t->base + raw->verbatim;
        t->spans[t->n_spans++] = (struct heft_torch_span){in->origin, raw->bytes.n};
    } else {
        if (raw->verbatim != SIZE_MAX)
            copy.p = heft_arena_text(&t->model->mem, copy, err);
        if (!copy.p ||
            !heft_model_add_memory(t->model, (struct heft_bytes){(const uint8_t *)copy.p, copy.n},
                                   "bytes in the pickle", t->source, t->pickle_at, t->pickle_packed,
                                   &in->source, err))
            return false;
        in->is_memory = true;
    }
    heft_source_open_memory(&in->bytes, (struct heft_bytes){(const uint8_t *)copy.p, copy.n},
                            "bytes in the pickle");
    return true;
}

/* ---- interpreting a nested stream -------------------------------------------------------- */

/* The storage that the inner pickle denotes, if it is one: by an id, or as another nested stream. */
static bool storage_at_root(struct heft_torch *inner, heft_torch_tensor_fn *tensor,
                            uint32_t *storage, struct heft_error *err)
{
    const uint32_t root = inner->pickle.root;
    const struct heft_torch_nested *nested;

    *storage = HEFT_NONE;
    if (heft_torch_is_storage(inner, root))
        *storage = inner->meanings[root];
    if (!heft_torch_is(inner, root, HEFT_PICKLE_CALL) ||
        heft_torch_callee(inner, root) != HEFT_TORCH_LOAD_BYTES)
        return true;
    if (!heft_torch_read_nested(inner, root, tensor, &nested, err))
        return false;
    *storage = nested->storage;
    return true;
}

/* Releases the inner pickle; only its storage is kept. */
static bool keep_storage(struct heft_torch *t, struct heft_torch_storage s,
                         struct heft_torch_nested *out, struct heft_error *err)
{
    s.key.p = heft_arena_text(&t->scratch, s.key, err);
    if (!s.key.p || !heft_grow(&t->storages, &t->cap_storages, t->n_storages, 1, sizeof s, err))
        return false;
    out->storage = (uint32_t)t->n_storages;
    t->storages[t->n_storages++] = s;
    return true;
}

/* Handles a stream that is not a bare storage: a tensor, or nothing readable. */
static bool keep_made(struct heft_torch *t, struct heft_torch_made *made,
                      struct heft_torch_nested *out, struct heft_error *err)
{
    struct heft_torch_made *kept = heft_arena_alloc(&t->scratch, sizeof *kept, err);

    if (!kept)
        return false;
    if (made->found == HEFT_TORCH_OTHER)
        *made = (struct heft_torch_made){
            .found = HEFT_TORCH_UNREAD,
            .reason = "built by torch.storage._load_from_bytes, but not a tensor"};
    *kept = *made;
    out->made = kept;
    return true;
}

static bool understand_stream(struct heft_torch *t, struct heft_torch *inner,
                              heft_torch_tensor_fn *tensor, struct heft_torch_nested *out,
                              struct heft_error *err)
{
    struct heft_torch_made made;
    uint32_t storage;

    if (!storage_at_root(inner, tensor, &storage, err))
        return false;
    if (storage != HEFT_NONE)
        return keep_storage(t, inner->storages[storage], out, err);
    return tensor(inner, inner->pickle.root, &made, err) && keep_made(t, &made, out, err);
}

static bool read_stream(struct heft_torch *t, uint32_t call, const struct heft_torch_stream *in,
                        heft_torch_tensor_fn *tensor, struct heft_torch_nested *out,
                        struct heft_error *err)
{
    struct heft_torch inner = {.budget = t->budget, .depth = t->depth + 1};
    uint64_t end;
    bool ok;

    if (inner.depth > HEFT_TORCH_STREAMS)
        return heft_fail(err, HEFT_LIMIT, heft_torch_where(t, call),
                         "torch streams are nested deeper than %d", HEFT_TORCH_STREAMS);
    ok = heft_torch_read_legacy(in, &inner, &end, err) &&
         understand_stream(t, &inner, tensor, out, err) &&
         heft_torch_stream_end(in, end, "the last storage", err);
    t->budget = inner.budget;
    heft_torch_release(&inner);
    return ok;
}

/* ---- calls of _load_from_bytes ----------------------------------------------------------- */

static bool add_nested(struct heft_torch *t, uint32_t call, const struct heft_torch_bytes *raw,
                       heft_torch_tensor_fn *tensor, struct heft_error *err)
{
    static const struct heft_torch_made zip = {.found = HEFT_TORCH_UNREAD,
                                               .reason = "a torch zip within the pickle"};
    const uint64_t most = heft_limit_tensors(&t->model->limits, t->model->file_bytes) / SHARE;
    struct heft_torch_nested nested = {.storage = HEFT_NONE, .made = &zip};
    struct heft_torch_stream in;

    if (t->n_nested >= most)
        return heft_fail(err, HEFT_LIMIT, heft_torch_where(t, call),
                         "the pickle contains more than %" PRIu64
                         " torch streams: an eighth of limits.tensors",
                         most);
    if (!heft_torch_is_zip(raw->bytes) &&
        (!open_stream(t, raw, &in, err) || !read_stream(t, call, &in, tensor, &nested, err)))
        return false;
    if (!heft_u32map_set(&t->by_stream, raw->node, (uint32_t)t->n_nested, err) ||
        !heft_grow(&t->nested, &t->cap_nested, t->n_nested, 1, sizeof nested, err))
        return false;
    t->nested[t->n_nested++] = nested;
    return true;
}

bool heft_torch_read_nested(struct heft_torch *t, uint32_t call, heft_torch_tensor_fn *tensor,
                            const struct heft_torch_nested **out, struct heft_error *err)
{
    const uint32_t args = heft_torch_node(t, call)->u.call.args;
    struct heft_torch_bytes raw;
    bool found = false;
    uint32_t index;

    if (heft_torch_count(t, args) != 1)
        return heft_fail(err, HEFT_MALFORMED, heft_torch_where(t, call),
                         "bad arguments for torch.storage._load_from_bytes");
    if (!heft_torch_bytes_of(t, heft_torch_item(t, args, 0), &found, &raw, err))
        return false;
    if (!found)
        return heft_fail(err, HEFT_MALFORMED, heft_torch_where(t, call),
                         "the argument of torch.storage._load_from_bytes is not bytes");
    index = heft_u32map_get(&t->by_stream, raw.node);
    if (index == HEFT_MAP_NONE) {
        index = (uint32_t)t->n_nested;
        if (!add_nested(t, call, &raw, tensor, err))
            return false;
    }
    *out = &t->nested[index];
    return true;
}
