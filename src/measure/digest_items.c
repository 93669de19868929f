/* digest_items.c: see digest_items.h. Reads each item once:
 *
 *     a row of a whole deflated record    inflated piece by piece, without the spool
 *     a strided row, a row in parts       gathered in pieces of 4 MiB
 *     strings                             one by one
 *     everything else                     pieces of 1 MiB, or by a lane of digest_lanes.c */
#include "measure/digest_items.h"

#include "base/dtype.h"
#include "base/endian.h"
#include "base/map.h"

#define GATHER_PIECE (4u << 20) /* bytes: larger pieces of a transposed matrix read less twice */

/* ---- the list ------------------------------------------------------------------------------ */

bool heft_digest_is_defined(const struct heft_model *model, const struct heft_row *row,
                            const char **reason)
{
    const enum heft_dtype dtype = (enum heft_dtype)row->dtype;

    if (!heft_dtype_varies(dtype))
        return true;
    *reason = dtype == HEFT_STRING ? "its strings cannot be separated"
                                   : "the encoding of its elements is that of the file's format";
    return dtype == HEFT_STRING && heft_storage_strings(&model->storages[row->storage]);
}

bool heft_digest_items_add(struct heft_digest_items *items, enum heft_digest_kind kind,
                           struct heft_str name, uint32_t index, struct heft_error *err)
{
    if (items->n >= UINT32_MAX)
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET, "more than 2^32 digests");
    if (!heft_grow(&items->list, &items->cap, items->n, 1, sizeof *items->list, err))
        return false;
    items->list[items->n] =
        (struct heft_digest_item){name, index, (uint32_t)items->n, (uint8_t)kind};
    items->n++;
    return true;
}

void heft_digest_items_release(struct heft_digest_items *items)
{
    heft_free(items->list);
    *items = (struct heft_digest_items){0};
}

static const struct heft_row *row_of(const struct heft_digest_items *items, size_t item)
{
    const struct heft_digest_item *const it = &items->list[item];

    return it->kind == HEFT_DIGEST_BLOB ? NULL : &items->reader->model->rows[it->index];
}

static uint32_t blob_storage(const struct heft_digest_items *items, size_t item)
{
    return items->reader->model->blobs[items->list[item].index].storage;
}

uint64_t heft_digest_item_bytes(const struct heft_digest_items *items, size_t item)
{
    const struct heft_row *const row = row_of(items, item);

    return row ? row->bytes : items->reader->model->storages[blob_storage(items, item)].len;
}

/* ---- equal views --------------------------------------------------------------------------- */

/* Whether two rows are the same elements of one storage. */
static bool is_same_view(const struct heft_row *a, const struct heft_row *b)
{
    const size_t dims = a->rank * sizeof *a->shape;

    if (a == b)
        return true;
    if (a->parts || b->parts || a->storage != b->storage || a->offset != b->offset ||
        a->dtype != b->dtype || a->flags != b->flags || a->bytes != b->bytes)
        return false;
    if (!a->stride && !b->stride) /* the same bytes in the same order, in whatever shape */
        return true;
    return a->stride && b->stride && a->rank == b->rank && memcmp(a->shape, b->shape, dims) == 0 &&
           memcmp(a->stride, b->stride, dims) == 0;
}

/* Compares a row with the first item of its storage only: ties are views of the whole storage. */
bool heft_digest_items_join(struct heft_digest_items *items, struct heft_error *err)
{
    const struct heft_model *const model = items->reader->model;
    struct heft_u32map first = {0};
    bool ok = true;

    if (model->no_shared_storage && model->n_ties == 0)
        return true;
    for (size_t i = 0; ok && i < items->n; i++) {
        const struct heft_row *const row = row_of(items, i);
        uint32_t found;

        if (!row)
            break; /* blobs come last */
        found = heft_u32map_get(&first, row->storage);
        if (found == HEFT_MAP_NONE)
            ok = heft_u32map_set(&first, row->storage, (uint32_t)i, err);
        else if (is_same_view(row_of(items, found), row))
            items->list[i].same = found;
    }
    heft_u32map_release(&first);
    return ok;
}

/* ---- reading ------------------------------------------------------------------------------- */

/* Context of the callbacks that receive bytes or strings. */
struct receiver {
    struct heft_digest_worker *worker;
    struct heft_error *err;
    bool failed; /* the run was stopped */
};

static bool put_string(void *ctx, const char *text, size_t n)
{
    struct receiver *const to = ctx;
    uint8_t length[8];

    heft_put_le64(length, n);
    to->failed = !heft_digest_put(to->worker, length, sizeof length, to->err) ||
                 !heft_digest_put(to->worker, text, n, to->err);
    return !to->failed;
}

static bool read_strings(const struct heft_reader *reader, const struct heft_row *row,
                         struct heft_digest_worker *worker, struct heft_error *err)
{
    const struct heft_model *const model = reader->model;
    const struct heft_storage *const storage = &model->storages[row->storage];
    struct receiver to = {worker, err, false};

    if (storage->is_missing)
        return heft_reader_refuse_missing(model, row->storage, err);
    if (heft_storage_strings(storage)(model, storage, put_string, &to, err))
        return !to.failed;
    return heft_error_file(err, model->sources[storage->source].path);
}

static bool put_inflated(void *ctx, uint64_t at, const uint8_t *p, size_t n, struct heft_error *err)
{
    struct receiver *const to = ctx;

    (void)at;
    return heft_digest_put(to->worker, p, n, err);
}

/* A header before the data is skipped. */
struct inflated_row {
    struct heft_digest_worker *worker;
    uint64_t begin, end;
};

static bool put_inflated_row(void *ctx, uint64_t at, const uint8_t *p, size_t n,
                             struct heft_error *err)
{
    const struct inflated_row *const row = ctx;
    const uint64_t begin = heft_max_u64(at, row->begin), end = heft_min_u64(at + n, row->end);

    return begin >= end ||
           heft_digest_put(row->worker, p + (begin - at), (size_t)(end - begin), err);
}

/* Whether inflating the storage once gives the row, and little else. */
static bool is_whole_record(const struct heft_model *model, const struct heft_row *row)
{
    const struct heft_storage *const storage = &model->storages[row->storage];

    return !row->parts && !row->stride && row->flags == 0 && !storage->is_missing &&
           storage->coding == HEFT_CODING_DEFLATE &&
           row->bytes >= storage->len - heft_min_u64(storage->front, storage->len);
}

static bool read_pieces(struct heft_reader *reader, const struct heft_row *row,
                        struct heft_digest_worker *worker, uint8_t *piece, size_t room,
                        struct heft_error *err)
{
    const size_t most = room - room % heft_dtype_block_bytes((enum heft_dtype)row->dtype);

    for (uint64_t off = 0; off < row->bytes; off += most) {
        const size_t n = (size_t)heft_min_u64(most, row->bytes - off);

        if (!heft_reader_row(reader, row, off, piece, n, err) ||
            !heft_digest_put(worker, piece, n, err))
            return false;
    }
    return true;
}

static bool read_gathered(struct heft_reader *reader, const struct heft_row *row,
                          struct heft_digest_worker *worker, struct heft_error *err)
{
    const size_t room = (size_t)heft_min_u64(row->bytes, GATHER_PIECE);
    uint8_t *const piece = heft_alloc(room, err);
    const bool ok = piece && read_pieces(reader, row, worker, piece, room, err);

    heft_free(piece);
    return ok;
}

static bool read_row(struct heft_reader *reader, const struct heft_row *row,
                     struct heft_digest_worker *worker, struct heft_error *err)
{
    struct inflated_row part = {worker, row->offset, row->offset + row->bytes};

    if (row->dtype == HEFT_STRING)
        return read_strings(reader, row, worker, err);
    if (row->bytes == 0)
        return true;
    if (is_whole_record(reader->model, row))
        return heft_reader_inflate(reader, row->storage, put_inflated_row, &part, err);
    if ((row->parts || row->stride) && row->bytes > HEFT_DIGEST_PIECE)
        return read_gathered(reader, row, worker, err);
    return read_pieces(reader, row, worker, worker->piece, HEFT_DIGEST_PIECE, err);
}

static bool read_blob(struct heft_reader *reader, uint32_t storage,
                      struct heft_digest_worker *worker, struct heft_error *err)
{
    const struct heft_storage *const st = &reader->model->storages[storage];
    struct receiver to = {worker, err, false};

    if (st->coding == HEFT_CODING_DEFLATE && !st->is_missing)
        return heft_reader_inflate(reader, storage, put_inflated, &to, err);
    for (uint64_t off = 0; off < st->len; off += HEFT_DIGEST_PIECE) {
        const size_t n = (size_t)heft_min_u64(HEFT_DIGEST_PIECE, st->len - off);

        if (!heft_reader_storage(reader, storage, off, worker->piece, n, err) ||
            !heft_digest_put(worker, worker->piece, n, err))
            return false;
    }
    return true;
}

/* ---- the run ------------------------------------------------------------------------------- */

struct items_run {
    const struct heft_digest_items *items;
    heft_digest_take_fn *take;
    void *ctx;
};

static uint64_t bytes_of(void *ctx, size_t item)
{
    return heft_digest_item_bytes(((const struct items_run *)ctx)->items, item);
}

static size_t same_as(void *ctx, size_t item)
{
    return ((const struct items_run *)ctx)->items->list[item].same;
}

static bool read_item(void *ctx, size_t item, struct heft_digest_worker *worker,
                      struct heft_error *err)
{
    const struct heft_digest_items *const items = ((const struct items_run *)ctx)->items;
    const struct heft_row *const row = row_of(items, item);

    if (row)
        return read_row(items->reader, row, worker, err) ||
               heft_error_about(err, "tensor", row->name);
    return read_blob(items->reader, blob_storage(items, item), worker, err) ||
           heft_error_about(err, items->reader->model->blobs[items->list[item].index].kind,
                            items->list[item].name);
}

static bool is_pulled(void *ctx, size_t item)
{
    const struct heft_digest_items *const items = ((const struct items_run *)ctx)->items;
    const struct heft_model *const model = items->reader->model;
    const struct heft_row *const row = row_of(items, item);

    if (!row)
        return model->storages[blob_storage(items, item)].coding == HEFT_CODING_RAW;
    return !row->parts && !row->stride && !heft_dtype_varies((enum heft_dtype)row->dtype) &&
           !is_whole_record(model, row);
}

static bool pull(void *ctx, size_t item, uint64_t off, uint8_t *dst, size_t n,
                 struct heft_error *err)
{
    const struct heft_digest_items *const items = ((const struct items_run *)ctx)->items;
    const struct heft_row *const row = row_of(items, item);

    if (row)
        return heft_reader_row(items->reader, row, off, dst, n, err) ||
               heft_error_about(err, "tensor", row->name);
    return heft_reader_storage(items->reader, blob_storage(items, item), off, dst, n, err) ||
           heft_error_about(err, items->reader->model->blobs[items->list[item].index].kind,
                            items->list[item].name);
}

static bool take_item(void *ctx, size_t item, const uint8_t *digest, const struct heft_error *why,
                      struct heft_error *err)
{
    const struct items_run *const run = ctx;

    return run->take(run->ctx, item, digest, why, err);
}

bool heft_digest_items_run(const struct heft_digest_items *items, const struct heft_digest_how *how,
                           heft_digest_take_fn *take, void *ctx, struct heft_error *err)
{
    struct items_run run = {items, take, ctx};
    const struct heft_digest_run of = {.items = items->n,
                                       .bytes = bytes_of,
                                       .same = same_as,
                                       .read = read_item,
                                       .pull = pull,
                                       .is_pulled = is_pulled,
                                       .take = take_item,
                                       .ctx = &run,
                                       .hasher = how->hasher,
                                       .threads = heft_pool_threads(how->threads, items->n),
                                       .progress = how->progress,
                                       .progress_ctx = how->progress_ctx};

    return heft_digest_run(&of, err);
}
