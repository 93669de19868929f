/* reader.c: reads the bytes of storages and rows.
 *
 *     row ─► row-major: one read │ strided: gather.c ─► swap bytes, conjugate, negate
 *            in parts: gather_parts.c, which does both for each part │ derived: its recipe
 *     storage ─► raw: the source │ deflated: its region of the spool, filled by the first reader
 *
 * A thread that inflates a storage holds a lock; other readers of that storage wait for it. Storage i
 * uses lock i modulo HEFT_READER_LOCKS, so neighbouring storages are inflated in parallel. */
#include "core/reader.h"

#include <stdatomic.h>

#include "core/gather.h"

struct heft_inflated {
    uint64_t at; /* byte offset of its region in the spool, if placed */
    bool placed; /* guarded by the lock */
    atomic_bool ready;
};

/* ---- reading deflated storages --------------------------------------------------------------- */

static struct heft_stream stream_of(const struct heft_reader *reader, uint32_t storage)
{
    const struct heft_storage *const st = &reader->model->storages[storage];

    return (struct heft_stream){.parent = &reader->model->sources[st->source].source,
                                .off = st->off,
                                .packed = st->packed,
                                .size = st->len,
                                .crc = st->crc,
                                .check_crc = st->sum == HEFT_SUM_CRC32 && !reader->no_verify};
}

/* Allocates and fills the region in the spool, unless another thread did so while this one
 * waited for the lock. After a failure the next read tries again, in the same region. */
static bool inflate_locked(struct heft_reader *reader, uint32_t storage, struct heft_error *err)
{
    struct heft_inflated *const it = &reader->inflated[storage];
    const struct heft_stream stream = stream_of(reader, storage);

    if (atomic_load_explicit(&it->ready, memory_order_relaxed))
        return true;
    if (!it->placed)
        it->placed = heft_spool_place(&reader->spool, &stream, &it->at, err);
    if (!it->placed || !heft_spool_fill(&reader->spool, it->at, &stream, err))
        return false;
    atomic_store_explicit(&it->ready, true, memory_order_release);
    return true;
}

static bool read_deflated(struct heft_reader *reader, uint32_t storage, uint64_t off, void *dst,
                          size_t n, struct heft_error *err)
{
    struct heft_inflated *const it = &reader->inflated[storage];
    struct heft_lock *const lock = reader->locks[storage % HEFT_READER_LOCKS];

    if (!atomic_load_explicit(&it->ready, memory_order_acquire)) {
        bool ok;

        heft_lock_take(lock);
        ok = inflate_locked(reader, storage, err);
        heft_lock_drop(lock);
        if (!ok)
            return false;
    }
    return heft_spool_read(&reader->spool, it->at + off, dst, n, err);
}

/* ---- reading storages ------------------------------------------------------------------------ */

bool heft_reader_init(struct heft_reader *reader, const struct heft_model *model, bool no_verify,
                      struct heft_error *err)
{
    *reader = (struct heft_reader){.model = model, .no_verify = no_verify};
    if (!model->has_deflated)
        return true;
    for (unsigned i = 0; i < HEFT_READER_LOCKS; i++)
        if (!(reader->locks[i] = heft_lock_new(err)))
            return false;
    reader->inflated = heft_calloc(model->n_storages, sizeof *reader->inflated, err);
    return reader->inflated && heft_spool_init(&reader->spool, err);
}

void heft_reader_release(struct heft_reader *reader)
{
    for (unsigned i = 0; i < HEFT_READER_LOCKS; i++)
        if (reader->locks[i])
            heft_lock_free(reader->locks[i]);
    heft_spool_release(&reader->spool);
    heft_free(reader->inflated);
    *reader = (struct heft_reader){0};
}

/* Adds the names of the file and the record to an error. */
static bool blame_storage(const struct heft_reader *reader, uint32_t storage,
                          struct heft_error *err)
{
    const struct heft_storage *const st = &reader->model->storages[storage];

    heft_error_file(err, reader->model->sources[st->source].source.label);
    if (st->label.n > 0 && err->code != HEFT_NOMEM)
        heft_error_about(err, "record", st->label);
    return false;
}

bool heft_reader_refuse_missing(const struct heft_model *model, uint32_t storage,
                                struct heft_error *err)
{
    const struct heft_storage *const st = &model->storages[storage];
    const struct heft_source *const source = &model->sources[st->source].source;

    if (model->sources[st->source].absent)
        heft_fail(err, HEFT_IO, st->off, "%" PRIu64 " bytes should start here; the file is %s",
                  st->len, model->sources[st->source].absent);
    else
        heft_fail(err, HEFT_IO, st->off,
                  "%" PRIu64 " bytes should start here; the file has %" PRIu64 "%s", st->len,
                  source->size, source->size ? "" : ", or is missing");
    return heft_error_file(err, source->label);
}

bool heft_reader_storage(struct heft_reader *reader, uint32_t storage, uint64_t off, void *dst,
                         size_t n, struct heft_error *err)
{
    const struct heft_storage *const st = &reader->model->storages[storage];
    const struct heft_source *const source = &reader->model->sources[st->source].source;
    bool ok;

    if (n == 0 && off <= st->len)
        return true;
    if (st->is_missing)
        ok = heft_reader_refuse_missing(reader->model, storage, err);
    else if (!heft_within(off, n, st->len))
        ok = heft_fail(err, HEFT_MALFORMED, st->off,
                       "a read of %zu bytes at offset %" PRIu64 " of a storage of %" PRIu64, n, off,
                       st->len);
    else if (st->coding == HEFT_CODING_DEFLATE)
        ok = read_deflated(reader, storage, off, dst, n, err);
    else
        ok = heft_source_read(source, st->off + off, dst, n, err);
    return ok || blame_storage(reader, storage, err);
}

bool heft_reader_check(struct heft_reader *reader, uint32_t storage, struct heft_error *err)
{
    const struct heft_storage *const st = &reader->model->storages[storage];
    const struct heft_stream stream = stream_of(reader, storage);

    if (st->sum == HEFT_SUM_OWN)
        return heft_storage_check(st)(reader->model, st, err) ||
               blame_storage(reader, storage, err);
    if (st->coding != HEFT_CODING_DEFLATE)
        return true;
    return heft_stream_check(&stream, err) || blame_storage(reader, storage, err);
}

/* Remembers whether the consumer failed: its errors already name what they are about. */
struct taking {
    heft_stream_take_fn *take;
    void *ctx;
    bool failed;
};

static bool pass_bytes(void *ctx, uint64_t at, const uint8_t *p, size_t n, struct heft_error *err)
{
    struct taking *t = ctx;

    t->failed = !t->take(t->ctx, at, p, n, err);
    return !t->failed;
}

bool heft_reader_inflate(const struct heft_reader *reader, uint32_t storage,
                         heft_stream_take_fn *take, void *ctx, struct heft_error *err)
{
    const struct heft_stream stream = stream_of(reader, storage);
    struct taking taking = {take, ctx, false};

    return heft_stream_read(&stream, pass_bytes, &taking, err) ||
           (!taking.failed && blame_storage(reader, storage, err));
}

/* ---- reading rows ------------------------------------------------------------------------ */

static void swap_words(uint8_t *p, size_t n, unsigned word)
{
    if (word == 2)
        for (size_t i = 0; i + 2 <= n; i += 2) {
            const uint8_t low = p[i];

            p[i] = p[i + 1];
            p[i + 1] = low;
        }
    else if (word > 2)
        for (size_t i = 0; i + word <= n; i += word)
            for (unsigned j = 0; j < word / 2; j++) {
                const uint8_t low = p[i + j];

                p[i + j] = p[i + word - 1 - j];
                p[i + word - 1 - j] = low;
            }
}

/* Flips the sign of every step-th word, starting with word number `first`. FNUZ dtypes encode
 * NaN where others have minus zero, so that 0 and NaN keep their bits. */
static void flip_signs(uint8_t *p, size_t n, enum heft_dtype dtype, size_t first, size_t step)
{
    const size_t word = heft_dtype_info(dtype)->word;
    const bool fnuz = dtype == HEFT_F8_E4M3FNUZ || dtype == HEFT_F8_E5M2FNUZ;

    for (size_t i = first * word + word - 1; i < n; i += step * word)
        if (!fnuz || (p[i] & 0x7F) != 0)
            p[i] ^= 0x80;
}

/* Two's complement of little-endian integers: bitwise complement plus 1. */
static void negate_integers(uint8_t *p, size_t n, unsigned word)
{
    for (size_t i = 0; i + word <= n; i += word) {
        unsigned carry = 1;

        for (unsigned j = 0; j < word; j++) {
            const unsigned sum = (uint8_t)~p[i + j] + carry;

            p[i + j] = (uint8_t)sum;
            carry = sum >> 8;
        }
    }
}

/* Dtypes without a sign, and those whose elements are not whole bytes, keep their bits when
 * negated. */
void heft_reader_resolve(enum heft_dtype dtype, unsigned flags, uint8_t *p, size_t n)
{
    const struct heft_dtype_info *const info = heft_dtype_info(dtype);
    const bool negated = flags & HEFT_ROW_NEG, conjugated = flags & HEFT_ROW_CONJ;

    if (flags & HEFT_ROW_SWAP)
        swap_words(p, n, info->word);
    if (info->kind == HEFT_KIND_COMPLEX) {
        if (negated)
            flip_signs(p, n, dtype, 0, 2);
        if (negated != conjugated)
            flip_signs(p, n, dtype, 1, 2);
    } else if (!negated || dtype == HEFT_F8_E8M0 || !heft_dtype_is_plain(dtype)) {
        return;
    } else if (info->kind == HEFT_KIND_FLOAT) {
        flip_signs(p, n, dtype, 0, 1);
    } else if (info->kind != HEFT_KIND_BOOL) {
        negate_integers(p, n, info->word);
    }
}

bool heft_reader_row(struct heft_reader *reader, const struct heft_row *row, uint64_t off,
                     void *dst, size_t n, struct heft_error *err)
{
    const enum heft_dtype dtype = (enum heft_dtype)row->dtype;
    const bool by_blocks = row->stride || heft_dtype_is_plain(dtype);
    const uint32_t each = by_blocks ? heft_dtype_block_bytes(dtype) : 1;
    bool ok;

    if (!heft_within(off, n, row->bytes) || off % each != 0 || n % each != 0)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "a read of %zu bytes at offset %" PRIu64 " of a tensor of %" PRIu64, n,
                         off, row->bytes);
    if (n == 0)
        return true;
    if (heft_row_is_derived(row))
        return row->parts->recipe->make(row->parts->recipe, reader, row, off / each, n / each, dst,
                                        err);
    if (row->parts) /* of bytes if the dtype is not plain */
        return heft_gather_parts(reader, row, off / each, n / each, dst, err);
    if (row->stride)
        ok = heft_gather_row(reader, row, off / each, n / each, dst, err);
    else
        ok = heft_reader_storage(reader, row->storage, row->offset + off, dst, n, err);
    if (ok && row->flags)
        heft_reader_resolve(dtype, row->flags, dst, n);
    return ok;
}
