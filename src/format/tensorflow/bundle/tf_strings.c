/* tf_strings.c: elements of varying length in a data file, and their checksums.
 *
 *     strings    length (varint) … , checksum of the lengths (u32), bytes …
 *     variants   length (varint), bytes, checksum so far (u32); repeated
 *
 * Checksums are masked CRC-32Cs. Lengths enter them as fixed-width numbers, not as the stored
 * varints: 4 bytes for strings (8 if beyond 32 bits), 8 bytes for variants, in the byte order of
 * the bundle. The checksum of the entry continues that of the lengths over its own 4 bytes and all
 * strings. */
#include "base/checksum.h"
#include "base/endian.h"
#include "format/tensorflow/bundle/tf_bundle.h"
#include "wire/sstable_write.h"

#define PIECE        65536
#define LARGEST_TEXT (UINT64_C(1) << 30)

/* A forward reader of the bytes of a storage. */
struct feed {
    const struct heft_source *src;
    uint64_t at, end; /* offsets in the source */
    uint8_t piece[PIECE];
    size_t n, used;
    bool big;
    struct heft_error *err;
};

static void begin_feed(struct feed *f, const struct heft_model *model,
                       const struct heft_storage *storage, struct heft_error *err)
{
    f->src = &model->sources[storage->source].source;
    f->at = storage->off;
    f->end = storage->off + storage->len;
    f->err = err;
}

static bool refill_feed(struct feed *f)
{
    const uint64_t left = f->end - f->at;

    f->n = (size_t)heft_min_u64(left, sizeof f->piece);
    f->used = 0;
    if (f->n == 0)
        return heft_fail(f->err, HEFT_MALFORMED, f->end, "string lengths exceed the data");
    if (!heft_source_read(f->src, f->at, f->piece, f->n, f->err))
        return false;
    f->at += f->n;
    return true;
}

static uint64_t position_of(const struct feed *f)
{
    return f->at - (f->n - f->used);
}

static bool take_byte(struct feed *f, uint8_t *out)
{
    if (f->used == f->n && !refill_feed(f))
        return false;
    *out = f->piece[f->used++];
    return true;
}

static bool take_length(struct feed *f, uint64_t *out)
{
    const uint64_t begin = position_of(f);
    uint8_t byte = 0x80;

    *out = 0;
    for (unsigned shift = 0; byte & 0x80; shift += 7) {
        if (!take_byte(f, &byte))
            return false;
        if (shift > 63 || (shift == 63 && byte > 1))
            return heft_fail(f->err, HEFT_MALFORMED, begin, "a length exceeds 64 bits");
        *out |= (uint64_t)(byte & 0x7f) << shift;
    }
    return true;
}

/* Adds the next n bytes to the checksum. */
static bool sum_bytes(struct feed *f, uint64_t n, uint32_t *crc)
{
    while (n > 0) {
        size_t some;

        if (f->used == f->n && !refill_feed(f))
            return false;
        some = (size_t)heft_min_u64(n, f->n - f->used);
        *crc = heft_crc32c(*crc, f->piece + f->used, some);
        f->used += some;
        n -= some;
    }
    return true;
}

/* Adds a number to the checksum in the byte order of the writing machine. */
static uint32_t sum_number(uint32_t crc, uint64_t v, unsigned width, bool big)
{
    uint8_t bytes[8];

    for (unsigned i = 0; i < width; i++)
        bytes[i] = (uint8_t)(v >> 8 * (big ? width - 1 - i : i));
    return heft_crc32c(crc, bytes, width);
}

/* Compares the stored checksum (4 bytes) with the one so far, and adds the stored bytes to it. */
static bool take_sum(struct feed *f, const char *of, uint32_t *crc)
{
    const uint64_t begin = position_of(f);
    uint8_t bytes[4];
    uint32_t stored;

    for (unsigned i = 0; i < 4; i++)
        if (!take_byte(f, &bytes[f->big ? 3 - i : i]))
            return false;
    stored = heft_crc_unmask(heft_le32(bytes));
    if (stored != *crc)
        return heft_fail(f->err, HEFT_MISMATCH, begin,
                         "the CRC-32C of %s is %08" PRIx32 ", the file says %08" PRIx32, of, *crc,
                         stored);
    *crc = sum_number(*crc, heft_le32(bytes), 4, f->big);
    return true;
}

static bool check_end(const struct feed *f, const struct heft_storage *storage, uint32_t crc)
{
    if (position_of(f) != f->end)
        return heft_fail(f->err, HEFT_MALFORMED, position_of(f),
                         "%" PRIu64 " bytes follow the last element", f->end - position_of(f));
    return crc == storage->crc ||
           heft_fail(f->err, HEFT_MISMATCH, storage->off,
                     "CRC-32C is %08" PRIx32 ", the file says %08" PRIx32, crc, storage->crc);
}

/* ---- verifying strings and variants ------------------------------------------------------ */

static bool sum_strings(struct feed *f, const struct heft_storage *storage)
{
    uint64_t length, total = 0;
    uint32_t crc = 0;

    for (uint64_t i = 0; i < storage->more->count;
         i++) { /* bounded: at most storage->len, as validated */
        if (!take_length(f, &length))
            return false;
        if (!heft_add(total, length, &total))
            return heft_fail(f->err, HEFT_MALFORMED, position_of(f),
                             "the sum of the lengths exceeds 64 bits");
        crc = sum_number(crc, length, length > UINT32_MAX ? 8 : 4, f->big);
    }
    if (!take_sum(f, "the lengths", &crc))
        return false;
    if (total != f->end - position_of(f))
        return heft_fail(f->err, HEFT_MALFORMED, position_of(f),
                         "the strings need %" PRIu64 " bytes, %" PRIu64 " are present", total,
                         f->end - position_of(f));
    return sum_bytes(f, total, &crc) && check_end(f, storage, crc);
}

static bool sum_variants(struct feed *f, const struct heft_storage *storage)
{
    uint32_t crc = 0;

    for (uint64_t i = 0; i < storage->more->count; i++) {
        uint64_t length;

        if (!take_length(f, &length))
            return false;
        crc = sum_number(crc, length, 8, f->big);
        if (length > f->end - position_of(f))
            return heft_fail(f->err, HEFT_MALFORMED, position_of(f),
                             "a variant needs %" PRIu64 " bytes, %" PRIu64 " are present", length,
                             f->end - position_of(f));
        if (!sum_bytes(f, length, &crc) || !take_sum(f, "a variant", &crc))
            return false;
    }
    return check_end(f, storage, crc);
}

static bool check_elements(const struct heft_model *model, const struct heft_storage *storage,
                           bool big, bool (*sum)(struct feed *, const struct heft_storage *),
                           struct heft_error *err)
{
    struct feed *f = heft_calloc(1, sizeof *f, err);
    bool ok;

    if (!f)
        return false;
    begin_feed(f, model, storage, err);
    f->big = big;
    ok = sum(f, storage);
    heft_free(f);
    return ok;
}

bool heft_tf_check_strings(const struct heft_model *model, const struct heft_storage *storage,
                           struct heft_error *err)
{
    return check_elements(model, storage, false, sum_strings, err);
}

bool heft_tf_check_strings_big(const struct heft_model *model, const struct heft_storage *storage,
                               struct heft_error *err)
{
    return check_elements(model, storage, true, sum_strings, err);
}

bool heft_tf_check_variants(const struct heft_model *model, const struct heft_storage *storage,
                            struct heft_error *err)
{
    return check_elements(model, storage, false, sum_variants, err);
}

bool heft_tf_check_variants_big(const struct heft_model *model, const struct heft_storage *storage,
                                struct heft_error *err)
{
    return check_elements(model, storage, true, sum_variants, err);
}

/* ---- converting the checksum to the other byte order ------------------------------------- */

/* Sums the lengths as numbers of both byte orders; also returns their stored bytes and their
 * total. */
static bool sum_lengths(struct feed *f, const struct heft_storage *storage, uint32_t *big,
                        uint32_t *little, uint64_t *total)
{
    uint64_t length;

    *big = *little = 0;
    *total = 0;
    for (uint64_t i = 0; i < storage->more->count;
         i++) { /* bounded: at most storage->len, as validated */
        unsigned width;

        if (!take_length(f, &length))
            return false;
        if (!heft_add(*total, length, total))
            return heft_fail(f->err, HEFT_MALFORMED, position_of(f),
                             "the sum of the lengths exceeds 64 bits");
        width = length > UINT32_MAX ? 8 : 4;
        *big = sum_number(*big, length, width, true);
        *little = sum_number(*little, length, width, false);
    }
    return true;
}

/* Recomputes the checksum for the other byte order without reading the strings. CRCs are linear:
 * the strings contribute the same difference to both checksums. By linearity, a mismatch before
 * byte-swapping remains a mismatch after it. */
static bool swap_strings(struct feed *f, const struct heft_storage *storage,
                         struct heft_tf_swapped *out)
{
    uint32_t big, little, wrong, share;
    uint8_t word[4];
    uint64_t total;

    if (!sum_lengths(f, storage, &big, &little, &total))
        return false;
    out->lengths = position_of(f) - storage->off;
    for (unsigned i = 0; i < 4; i++)
        if (!take_byte(f, &word[3 - i]))
            return false;
    if (total != f->end - position_of(f))
        return heft_fail(f->err, HEFT_MALFORMED, position_of(f),
                         "the strings need %" PRIu64 " bytes, %" PRIu64 " are present", total,
                         f->end - position_of(f));
    wrong = heft_crc_unmask(heft_le32(word)) ^ big;
    share = heft_crc32c_combine(sum_number(big, heft_le32(word), 4, true), storage->crc, total);
    heft_put_le32(out->word, heft_crc_mask(little ^ wrong));
    out->crc = heft_crc32c_combine(heft_crc32c(little, out->word, 4), share, total);
    return true;
}

bool heft_tf_swap_strings(const struct heft_model *model, const struct heft_storage *storage,
                          struct heft_tf_swapped *out, struct heft_error *err)
{
    struct feed *f = heft_calloc(1, sizeof *f, err);
    bool ok;

    if (!f)
        return false;
    begin_feed(f, model, storage, err);
    ok = swap_strings(f, storage, out);
    heft_free(f);
    return ok;
}

/* ---- reading the strings ----------------------------------------------------------------- */

/* Offset of the first string: after the lengths, which must leave room for it. */
static bool pass_lengths(struct feed *f, const struct heft_storage *storage, uint64_t *at)
{
    uint64_t length, total = 0;

    for (uint64_t i = 0; i < storage->more->count; i++) {
        if (!take_length(f, &length))
            return false;
        if (!heft_add(total, length, &total))
            return heft_fail(f->err, HEFT_MALFORMED, position_of(f),
                             "the sum of the lengths exceeds 64 bits");
    }
    *at = position_of(f) + 4;
    return (*at <= f->end && total == f->end - *at) ||
           heft_fail(f->err, HEFT_MALFORMED, position_of(f),
                     "strings of %" PRIu64 " bytes and a checksum do not match the stored %" PRIu64,
                     total, f->end - position_of(f));
}

struct giver {
    bool (*each)(void *ctx, const char *text, size_t n);
    void *ctx;
    char *text;
    size_t cap;
    bool stopped;
};

static bool give_text(struct giver *g, const struct feed *f, uint64_t at, uint64_t n)
{
    if (n > LARGEST_TEXT)
        return heft_fail(f->err, HEFT_LIMIT, at,
                         "the string has %" PRIu64 " bytes, the limit is 1 GiB", n);
    if (!heft_grow(&g->text, &g->cap, 0, (size_t)n + 1, 1, f->err) ||
        !heft_source_read(f->src, at, g->text, (size_t)n, f->err))
        return false;
    g->stopped = !g->each(g->ctx, g->text, (size_t)n);
    return true;
}

/* Two passes over the lengths: the first finds the start of the strings and checks that they fit. */
bool heft_tf_strings(const struct heft_model *model, const struct heft_storage *storage,
                     bool (*each)(void *ctx, const char *text, size_t n), void *ctx,
                     struct heft_error *err)
{
    struct feed *f = storage->len ? heft_calloc(1, sizeof *f, err) : NULL;
    struct giver g = {.each = each, .ctx = ctx};
    uint64_t at = 0, length;
    bool ok;

    if (!f)
        return storage->len == 0; /* no strings, no bytes */
    begin_feed(f, model, storage, err);
    ok = pass_lengths(f, storage, &at);
    f->n = f->used = 0;
    begin_feed(f, model, storage, err);
    for (uint64_t i = 0; ok && i < storage->more->count && !g.stopped; i++) {
        ok = take_length(f, &length) && give_text(&g, f, at, length);
        at += ok ? length : 0;
    }
    heft_free(g.text);
    heft_free(f);
    return ok;
}
