/* reader.c: bytes of storages and rows.
 *
 *     row ─► row-major: one read │ strided: gather.c ─► bytes swapped, parts conjugated, negated
 *     storage ─► raw: the source │ deflated: a spool, which has its bytes inflated
 *
 * Spools cost a file descriptor or up to 1 MiB of memory each, so only the last SPOOLS that were
 * used are kept. What was dropped has to be inflated again; files in which that would happen on and
 * on (views that alternate between many storages) exceed a budget of 4 times what there is to
 * inflate, and from then on nothing is dropped: the work stays linear in the file. */
#include "core/reader.h"

#include "core/gather.h"

enum { SPOOLS = 16 };

struct heft_spool {
    struct heft_source source;
    struct heft_lock *lock; /* taken to inflate: readers of other storages need not wait */
    uint64_t used;          /* the tick of its last use */
    uint32_t storage;
    unsigned users; /* reading at this moment: it cannot be dropped */
    bool ready;     /* inflated; under its own lock */
};

/* ---- spools ---------------------------------------------------------------------------------- */

static void spool_free(struct heft_spool *spool)
{
    if (!spool)
        return;
    if (spool->ready)
        heft_source_close(&spool->source);
    if (spool->lock)
        heft_lock_free(spool->lock);
    heft_free(spool);
}

static struct heft_spool *spool_new(struct heft_error *err)
{
    struct heft_spool *const spool = heft_calloc(1, sizeof *spool, err);

    if (spool && !(spool->lock = heft_lock_new(err))) {
        heft_free(spool);
        return NULL;
    }
    return spool;
}

/* The index of the spool that was not used for the longest time, emptied; n_spools where all are in
 * use or must be kept. */
static size_t drop_oldest(struct heft_reader *reader)
{
    size_t oldest = reader->n_spools;

    if (reader->n_spools < SPOOLS || reader->inflated > reader->budget)
        return oldest;
    for (size_t i = 0; i < reader->n_spools; i++) {
        const struct heft_spool *const spool = reader->spools[i];

        if (spool->users == 0 &&
            (oldest == reader->n_spools || spool->used < reader->spools[oldest]->used))
            oldest = i;
    }
    return oldest;
}

static void spool_empty(struct heft_spool *spool)
{
    if (spool->ready)
        heft_source_close(&spool->source);
    spool->ready = false;
}

/* A spool for a storage that has none. Under the reader's lock, as all that is called here. */
static bool assign_spool(struct heft_reader *reader, uint32_t storage, uint32_t *index,
                         struct heft_error *err)
{
    const size_t i = drop_oldest(reader);

    if (i == reader->n_spools) {
        if (!heft_grow(&reader->spools, &reader->cap_spools, i, 1, sizeof *reader->spools, err) ||
            !(reader->spools[i] = spool_new(err)))
            return false;
        reader->n_spools++;
    } else {
        spool_empty(reader->spools[i]);
        if (!heft_u32map_set(&reader->spool_of, reader->spools[i]->storage, HEFT_MAP_NONE, err))
            return false;
    }
    reader->spools[i]->storage = storage;
    reader->inflated += reader->model->storages[storage].len;
    *index = (uint32_t)i;
    return heft_u32map_set(&reader->spool_of, storage, *index, err);
}

/* The storage's spool, which stays until it is put back. */
static struct heft_spool *take_spool(struct heft_reader *reader, uint32_t storage,
                                     struct heft_error *err)
{
    struct heft_spool *spool = NULL;
    uint32_t index;

    heft_lock_take(reader->lock);
    index = heft_u32map_get(&reader->spool_of, storage);
    if (index != HEFT_MAP_NONE || assign_spool(reader, storage, &index, err)) {
        spool = reader->spools[index];
        spool->users++;
        spool->used = ++reader->ticks;
    }
    heft_lock_drop(reader->lock);
    return spool;
}

static void put_spool(struct heft_reader *reader, struct heft_spool *spool)
{
    heft_lock_take(reader->lock);
    spool->users--;
    heft_lock_drop(reader->lock);
}

/* Inflates the storage unless that is done. */
static bool fill_spool(struct heft_reader *reader, struct heft_spool *spool, struct heft_error *err)
{
    const struct heft_storage *const st = &reader->model->storages[spool->storage];
    const struct heft_source *const parent = &reader->model->sources[st->source].source;

    heft_lock_take(spool->lock);
    if (!spool->ready)
        spool->ready = heft_source_open_inflated(&spool->source, parent, st->off, st->packed,
                                                 st->len, st->has_crc && !reader->no_verify,
                                                 st->crc, parent->label, err);
    const bool ready = spool->ready;
    heft_lock_drop(spool->lock);
    return ready;
}

static bool read_deflated(struct heft_reader *reader, uint32_t storage, uint64_t off, void *dst,
                          size_t n, struct heft_error *err)
{
    struct heft_spool *const spool = take_spool(reader, storage, err);
    bool ok;

    if (!spool)
        return false;
    ok = fill_spool(reader, spool, err) && heft_source_read(&spool->source, off, dst, n, err);
    put_spool(reader, spool);
    return ok;
}

/* ---- reader ---------------------------------------------------------------------------------- */

bool heft_reader_init(struct heft_reader *reader, const struct heft_model *model, bool no_verify,
                      struct heft_error *err)
{
    uint64_t total = 0;

    for (size_t i = 0; i < model->n_storages; i++) {
        const struct heft_storage *const st = &model->storages[i];

        if (st->coding == HEFT_CODING_DEFLATE && !heft_add(total, st->len, &total))
            total = UINT64_MAX;
    }
    *reader = (struct heft_reader){.model = model,
                                   .budget = total > UINT64_MAX / 4 ? UINT64_MAX : 4 * total,
                                   .no_verify = no_verify};
    reader->lock = heft_lock_new(err);
    return reader->lock != NULL;
}

void heft_reader_release(struct heft_reader *reader)
{
    for (size_t i = 0; i < reader->n_spools; i++)
        spool_free(reader->spools[i]);
    heft_free(reader->spools);
    heft_u32map_release(&reader->spool_of);
    if (reader->lock)
        heft_lock_free(reader->lock);
    *reader = (struct heft_reader){0};
}

bool heft_reader_storage(struct heft_reader *reader, uint32_t storage, uint64_t off, void *dst,
                         size_t n, struct heft_error *err)
{
    const struct heft_storage *const st = &reader->model->storages[storage];
    const struct heft_source *const source = &reader->model->sources[st->source].source;
    bool ok;

    if (n == 0 && off <= st->len)
        return true;
    if (!heft_within(off, n, st->len))
        ok = heft_fail(err, HEFT_MALFORMED, st->off, "%zu bytes wanted at %" PRIu64 " of %" PRIu64,
                       n, off, st->len);
    else if (st->coding == HEFT_CODING_DEFLATE)
        ok = read_deflated(reader, storage, off, dst, n, err);
    else
        ok = heft_source_read(source, st->off + off, dst, n, err);
    if (!ok) {
        heft_error_file(err, source->label);
        if (st->label.n > 0 && err->code != HEFT_NOMEM)
            heft_error_about(err, "record", st->label);
    }
    return ok;
}

/* ---- rows ------------------------------------------------------------------------------------ */

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

/* Turns the sign of every step-th word from the first-th on. The FNUZ kinds have a NaN where others
 * have minus zero: both keep their bits. */
static void flip_signs(uint8_t *p, size_t n, enum heft_dtype dtype, size_t first, size_t step)
{
    const size_t word = heft_dtype_info(dtype)->word;
    const bool fnuz = dtype == HEFT_F8_E4M3FNUZ || dtype == HEFT_F8_E5M2FNUZ;

    for (size_t i = first * word + word - 1; i < n; i += step * word)
        if (!fnuz || (p[i] & 0x7F) != 0)
            p[i] ^= 0x80;
}

/* Two's complement, little-endian: the complement plus a carry that begins as 1. */
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

/* Stored bytes to the value. Types without a sign, and those below a byte, stay as they are. */
static void resolve_flags(const struct heft_row *row, uint8_t *p, size_t n)
{
    const enum heft_dtype dtype = (enum heft_dtype)row->dtype;
    const struct heft_dtype_info *const info = heft_dtype_info(dtype);
    const bool negated = row->flags & HEFT_ROW_NEG, conjugated = row->flags & HEFT_ROW_CONJ;

    if (row->flags & HEFT_ROW_SWAP)
        swap_words(p, n, info->word);
    if (info->kind == HEFT_KIND_COMPLEX) {
        if (negated)
            flip_signs(p, n, dtype, 0, 2);
        if (negated != conjugated)
            flip_signs(p, n, dtype, 1, 2);
    } else if (!negated || dtype == HEFT_F8_E8M0 || info->bits < 8) {
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
    const uint32_t each = heft_dtype_bytes((enum heft_dtype)row->dtype);
    bool ok;

    if (!heft_within(off, n, row->bytes) || (each && (off % each != 0 || n % each != 0)))
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "%zu bytes wanted at %" PRIu64 " of a tensor of %" PRIu64, n, off,
                         row->bytes);
    if (n == 0)
        return true;
    if (row->stride && each)
        ok = heft_gather_row(reader, row, off / each, n / each, dst, err);
    else
        ok = heft_reader_storage(reader, row->storage, row->offset + off, dst, n, err);
    if (ok && row->flags)
        resolve_flags(row, dst, n);
    return ok;
}
