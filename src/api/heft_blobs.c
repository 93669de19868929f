/* heft_blobs.c: the public API for blobs: named bytes that are not tensors. */
#include "base/require_arg.h"
#include "base/sized.h"
#include "api/checkpoint.h"

#define STREAM_PIECE (4u << 20)

size_t heft_blob_count(const struct heft_checkpoint *c)
{
    if (!c)
        return 0;
    return c->model.n_blobs;
}

bool heft_blob_at(const struct heft_checkpoint *c, size_t index, struct heft_blob *out)
{
    if (!(c && out))
        return false;
    const struct heft_model_blob *blob;
    struct heft_place place;
    struct heft_blob found;

    if (index >= c->model.n_blobs)
        return false;
    blob = &c->model.blobs[index];
    place = heft_checkpoint_place(c, blob->storage, 0);
    found = (struct heft_blob){
        .name = blob->name.p,
        .name_len = blob->name.n,
        .kind = blob->kind,
        .bytes = c->model.storages[blob->storage].len,
        .file = place.file,
        .offset = place.offset,
        .stored = place.stored,
        .stored_bytes = place.stored_bytes,
    };
    HEFT_FILL(heft_blob, out, &found);
    return true;
}

bool heft_blob_find(const struct heft_checkpoint *c, const char *name, size_t name_len,
                    size_t *index)
{
    if (!(c && (name || name_len == 0) && index))
        return false;
    const uint32_t found = heft_model_blob(&c->model, (struct heft_str){name, name_len});

    if (found == HEFT_NONE)
        return false;
    *index = found;
    return true;
}

static bool stream_storage(struct heft_checkpoint *c, uint32_t storage, uint8_t *piece,
                           bool (*each)(void *ctx, const void *piece, size_t n), void *ctx,
                           struct heft_error *err)
{
    const uint64_t size = c->model.storages[storage].len;

    for (uint64_t off = 0; off < size; off += STREAM_PIECE) {
        const size_t n = (size_t)heft_min_u64(STREAM_PIECE, size - off);

        if (!heft_reader_storage(&c->reader, storage, off, piece, n, err))
            return false;
        if (!each(ctx, piece, n))
            return heft_fail(err, HEFT_CANCELLED, HEFT_NO_OFFSET, "interrupted");
    }
    return true;
}

bool heft_blob_stream(struct heft_checkpoint *c, size_t index,
                      bool (*each)(void *ctx, const void *piece, size_t n), void *ctx,
                      struct heft_error *err)
{
    if (!heft_require_arg(c && each, "an argument", err))
        return false;
    const struct heft_model_blob *blob;
    uint8_t *piece;
    bool ok;

    if (index >= c->model.n_blobs)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "blob number %zu does not exist", index);
    blob = &c->model.blobs[index];
    piece =
        heft_alloc((size_t)heft_min_u64(c->model.storages[blob->storage].len, STREAM_PIECE), err);
    ok = piece && (stream_storage(c, blob->storage, piece, each, ctx, err) ||
                   heft_error_about(err, blob->kind, blob->name));
    heft_free(piece);
    return ok;
}
