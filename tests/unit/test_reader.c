/* test_reader.c: rows of any shape and strides, compared with a reference that reads one element at
 * a time; deflated storages; stored bytes that must be swapped, negated or conjugated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "failures.h"
#include "base/checksum.h"
#include "base/endian.h"
#include "core/reader.h"
#include "format/formats.h"

enum { SIZE = 12 << 20, SMALL = 4096, DEFLATED = 40 };

/* Model over one memory source: storage 0 is all of it, raw; storage 1 its first SMALL bytes; tests
 * add others. */
struct bench {
    struct heft_model model;
    struct heft_reader reader;
    struct heft_error err;
    uint8_t *data;
    uint32_t seed;
};

static uint32_t next_random(struct bench *b)
{
    b->seed = b->seed * 1664525u + 1013904223u;
    return b->seed >> 8;
}

static void add_source(struct bench *b, const uint8_t *p, size_t n)
{
    struct heft_source source = {0};
    uint32_t index;

    heft_source_open_memory(&source, (struct heft_bytes){p, n}, "bench");
    assert_true(heft_model_add_file(&b->model, &source, "bench", &index, &b->err));
}

static uint32_t add_storage(struct bench *b, struct heft_storage storage)
{
    uint32_t index;

    assert_true(heft_model_add_storage(&b->model, &storage, &index, &b->err));
    return index;
}

static void restart_reader(struct bench *b, bool no_verify)
{
    heft_reader_release(&b->reader);
    assert_true(heft_reader_init(&b->reader, &b->model, no_verify, &b->err));
}

static int set_up(void **state)
{
    struct bench *const b = calloc(1, sizeof *b);

    assert_non_null(b);
    b->seed = 7;
    b->data = malloc(SIZE);
    assert_non_null(b->data);
    for (size_t i = 0; i + 4 <= SIZE; i += 4)
        heft_put_le32(b->data + i, next_random(b) ^ (uint32_t)i << 13);
    heft_model_init(&b->model, NULL, &heft_formats);
    add_source(b, b->data, SIZE);
    add_storage(b, (struct heft_storage){.len = SIZE, .packed = SIZE, .label = HEFT_STR("all")});
    add_storage(b, (struct heft_storage){.len = SMALL, .packed = SMALL, .label = HEFT_STR("few")});
    restart_reader(b, false);
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *const b = *state;

    heft_reader_release(&b->reader);
    heft_model_release(&b->model);
    free(b->data);
    free(b);
    return 0;
}

/* ---- strided rows against the reference -------------------------------------------------- */

/* Reference: reads the bytes [off, off+n) of the row one element at a time. */
static void read_slowly(const struct bench *b, const struct heft_row *row, uint64_t off,
                        uint8_t *dst, size_t n)
{
    const uint32_t each = heft_dtype_element_bytes((enum heft_dtype)row->dtype);

    for (uint64_t p = off / each; p < (off + n) / each; p++) {
        uint64_t index = p, at = row->offset;

        for (unsigned i = row->rank; i-- > 0;) {
            at += index % row->shape[i] * row->stride[i] * each;
            index /= row->shape[i];
        }
        memcpy(dst, b->data + at, each);
        dst += each;
    }
}

static void check_piece(struct bench *b, const struct heft_row *row, uint64_t off, size_t n)
{
    uint8_t *const got = malloc(n + 1), *const want = malloc(n + 1);

    assert_true(got && want);
    got[n] = 0xA5;
    if (!heft_reader_row(&b->reader, row, off, got, n, &b->err))
        fail_msg("%s", b->err.text);
    read_slowly(b, row, off, want, n);
    if (memcmp(got, want, n) != 0 || got[n] != 0xA5)
        fail_msg("rank %u, %zu bytes at %" PRIu64 ", offset %" PRIu64, row->rank, n, off,
                 row->offset);
    free(got);
    free(want);
}

/* Checks the whole row, then pieces of it. */
static void check_row(struct bench *b, const struct heft_row *row, unsigned pieces)
{
    const uint32_t each = heft_dtype_element_bytes((enum heft_dtype)row->dtype);
    const uint64_t count = row->bytes / each;

    check_piece(b, row, 0, (size_t)row->bytes);
    for (unsigned i = 0; i < pieces && count > 0; i++) {
        const uint64_t first = next_random(b) % count;
        const uint64_t some = next_random(b) % (count - first + 1);

        check_piece(b, row, first * each, (size_t)(some * each));
    }
}

/* Chooses an offset for the row. Returns false if the view exceeds its storage. */
static bool place_row(struct bench *b, struct heft_row *row, uint64_t most)
{
    const uint32_t each = heft_dtype_element_bytes((enum heft_dtype)row->dtype);
    const uint64_t len = b->model.storages[row->storage].len;
    uint64_t extent = each;

    assert_true(heft_row_size((enum heft_dtype)row->dtype, row->rank, row->shape, &row->bytes));
    for (unsigned i = 0; i < row->rank && row->bytes > 0; i++)
        extent += row->shape[i] > 1 ? (row->shape[i] - 1) * row->stride[i] * each : 0;
    if (extent > len || row->bytes > most)
        return false;
    row->offset = next_random(b) % (len - extent + 1);
    return true;
}

static const uint8_t sizes[] = {HEFT_U8, HEFT_F16, HEFT_F32, HEFT_F64, HEFT_C128};

/* Any extents and strides: expanded, overlapping, with gaps, zero extents, arbitrary strides of
 * extents of 1. */
static void small_random_views_match_the_reference(void **state)
{
    struct bench *const b = *state;

    for (unsigned done = 0; done < 6000;) {
        uint64_t shape[7], stride[7];
        struct heft_row row = {.shape = shape, .stride = stride, .storage = 1};

        row.rank = (uint8_t)(next_random(b) % 7);
        row.dtype = sizes[next_random(b) % HEFT_COUNT(sizes)];
        for (unsigned i = 0; i < row.rank; i++) {
            shape[i] = next_random(b) % 40 == 0 ? 0 : 1 + next_random(b) % 6;
            stride[i] = next_random(b) % 3 == 0 ? next_random(b) % 200 : next_random(b) % 12;
            if (shape[i] == 1 && next_random(b) % 2)
                stride[i] = UINT64_MAX / 3;
        }
        if (!place_row(b, &row, 1 << 16))
            continue;
        check_row(b, &row, 4);
        done++;
    }
}

/* Permuted, padded and sub-sampled arrays, as views are in practice. */
static void random_permutations_match_the_reference(void **state)
{
    struct bench *const b = *state;

    for (unsigned done = 0; done < 300;) {
        uint64_t shape[5], stride[5], step = 1;
        struct heft_row row = {.shape = shape, .stride = stride, .rank = 5};
        unsigned order[5] = {0, 1, 2, 3, 4};

        row.dtype = sizes[next_random(b) % HEFT_COUNT(sizes)];
        for (unsigned i = 0; i < 5; i++) {
            const unsigned j = i + next_random(b) % (5 - i), d = order[j];

            order[j] = order[i];
            order[i] = d;
        }
        for (unsigned i = 0; i < 5; i++) {
            const uint64_t pad = next_random(b) % 3 ? 0 : next_random(b) % 5;

            shape[order[i]] = 1 + next_random(b) % (i == 0 ? 70 : 14);
            stride[order[i]] = (next_random(b) % 8 == 0 ? 2 : 1) * step;
            step = stride[order[i]] * (shape[order[i]] + pad);
        }
        if (!place_row(b, &row, 1 << 20))
            continue;
        check_row(b, &row, 3);
        done++;
    }
}

struct big {
    uint8_t dtype, rank;
    uint64_t shape[4], stride[4];
};

/* Views larger than the scratch memory, with gaps on both sides of the range read. */
static const struct big bigs[] = {
    {HEFT_F32, 2, {1500, 1500}, {1, 1500}},           /* transposed */
    {HEFT_F32, 2, {1024, 2048}, {1, 1024}},           /* transposed, extents are powers of two */
    {HEFT_U8, 2, {3000, 3000}, {1, 3000}},            /* transposed, 1-byte elements */
    {HEFT_C128, 2, {700, 700}, {1, 700}},             /* transposed, 16-byte elements */
    {HEFT_F16, 2, {40, 100000}, {1, 40}},             /* narrow: dense windows */
    {HEFT_F32, 2, {3, 600}, {1, 5000}},               /* sparse: one read per index */
    {HEFT_F32, 2, {200, 900}, {1, 3300}},             /* sparse: several fills of the buffer */
    {HEFT_F32, 1, {700}, {4096}},                     /* single elements far apart */
    {HEFT_F64, 3, {20, 30, 40}, {30, 1, 37000}},      /* sparse outer, dense inner dimensions */
    {HEFT_F32, 3, {30, 40, 50}, {60000, 1, 1100}},    /* gaps in two dimensions */
    {HEFT_F32, 2, {50, 9000}, {60000, 1}},            /* runs read in place */
    {HEFT_F32, 3, {9, 5000, 2}, {300000, 1, 150000}}, /* runs next to each other */
    {HEFT_F32, 2, {500, 3000}, {0, 1}},               /* expanded in the first dimension */
    {HEFT_F32, 2, {3000, 500}, {1, 0}},               /* expanded in the last dimension */
    {HEFT_F32, 3, {40, 60, 300}, {7000, 0, 11}},      /* expanded in a middle dimension, sparse */
    {HEFT_F32, 2, {800, 800}, {1, 1}},                /* overlapping */
    {HEFT_F32, 3, {300, 70, 70}, {4096, 4096, 4099}}, /* overlapping, sparse */
    {HEFT_U8, 2, {5, 2000000}, {1, 6}},               /* every sixth byte */
    {HEFT_F32, 4, {20, 30, 20, 30}, {30, 1, 9000, 600}},
};

static void large_views_match_the_reference(void **state)
{
    struct bench *const b = *state;

    for (size_t i = 0; i < HEFT_COUNT(bigs); i++) {
        struct heft_row row = {.shape = bigs[i].shape,
                               .stride = bigs[i].stride,
                               .rank = bigs[i].rank,
                               .dtype = bigs[i].dtype};

        assert_true(place_row(b, &row, SIZE));
        check_row(b, &row, 3);
    }
}

/* Many elements over a wide span, gathered in windows; one dimension has elements on both sides of
 * a window's end. Strides are close, far apart, or those of a packed array. */
static void wide_random_views_match_the_reference(void **state)
{
    struct bench *const b = *state;

    for (unsigned done = 0; done < 600;) {
        uint64_t shape[12], stride[12], count = 1, last = 0;
        struct heft_row row = {.shape = shape, .stride = stride};
        const uint32_t most = 2 + next_random(b) % 3 * (next_random(b) % 150);
        const uint64_t near = next_random(b) % 400000, about = 1 + next_random(b) % 9000;

        row.dtype = sizes[next_random(b) % HEFT_COUNT(sizes)];
        while (row.rank < 12 && count < 3000) {
            shape[row.rank] = 2 + next_random(b) % most;
            stride[row.rank] = next_random(b) % 4 ? near + next_random(b) % about
                                                  : next_random(b) % 4 * (last + 1);
            last += (shape[row.rank] - 1) * stride[row.rank];
            count *= shape[row.rank++];
        }
        if (!place_row(b, &row, 1 << 20))
            continue;
        check_row(b, &row, 2);
        done++;
    }
}

struct count {
    const struct bench *bench;
    uint64_t bytes, reads;
    uint64_t fail_at; /* number of the read that fails; 0: none */
};

static bool count_read(const struct heft_source *src, uint64_t off, void *dst, size_t n,
                       struct heft_error *err)
{
    struct count *const count = src->self;

    count->bytes += n;
    if (++count->reads == count->fail_at)
        return heft_fail(err, HEFT_IO, off, "broken");
    memcpy(dst, count->bench->data + off, n);
    return true;
}

static const struct heft_source_ops count_ops = {.read = count_read};

/* Adds a storage whose source counts its reads. */
static uint32_t add_counted(struct bench *b, struct count *count)
{
    struct heft_source source = {.ops = &count_ops, .self = count, .size = SIZE, .fd = -1};
    uint32_t index;

    assert_true(heft_model_add_file(&b->model, &source, "count", &index, &b->err));
    return add_storage(b, (struct heft_storage){.len = SIZE, .packed = SIZE, .source = index});
}

/* Large overlapping views with elements far apart: the bytes read stay close to the span, and the
 * reads are fewer than the elements. */
static void overlapping_views_read_their_span_once(void **state)
{
    static const struct big views[] = {
        {HEFT_U8, 2, {2000, 2000}, {3001, 3000}},
        {HEFT_U8, 2, {300, 300}, {20000, 20001}},
        {HEFT_U8, 4, {40, 40, 40, 40}, {70000, 71000, 72001, 73}},
        {HEFT_U8, 3, {101, 103, 99}, {40000, 39999, 39998}},
        {HEFT_F32, 2, {1200, 1200}, {1023, 1024}},
    };
    struct bench *const b = *state;
    struct count count = {.bench = b};
    const uint32_t storage = add_counted(b, &count);

    for (size_t i = 0; i < HEFT_COUNT(views); i++) {
        struct heft_row row = {.shape = views[i].shape,
                               .stride = views[i].stride,
                               .rank = views[i].rank,
                               .dtype = views[i].dtype,
                               .storage = storage};

        assert_true(place_row(b, &row, SIZE));
        const size_t n = (size_t)row.bytes - 8; /* not whole rows: read as several boxes */
        uint8_t *const got = malloc(n), *const want = malloc(n);

        assert_true(got && want);
        count.bytes = count.reads = 0;
        assert_true(heft_reader_row(&b->reader, &row, 4, got, n, &b->err));
        read_slowly(b, &row, 4, want, n);
        assert_memory_equal(got, want, n);
        assert_true(count.bytes < SIZE + SIZE / 4);
        assert_true(count.reads < 2500);
        free(got);
        free(want);
    }
}

/* Views that are read directly, packed, and in windows. */
static void every_failing_read_is_an_error(void **state)
{
    static const struct big views[] = {
        {HEFT_F32, 2, {50, 9000}, {60000, 1}},
        {HEFT_F32, 2, {3, 600}, {1, 5000}},
        {HEFT_U8, 2, {2000, 2000}, {3001, 3000}},
    };
    struct bench *const b = *state;
    struct count count = {.bench = b};
    const uint32_t storage = add_counted(b, &count);
    uint8_t *const got = malloc(4000000);

    assert_non_null(got);
    for (size_t i = 0; i < HEFT_COUNT(views); i++) {
        struct heft_row row = {.shape = views[i].shape,
                               .stride = views[i].stride,
                               .rank = views[i].rank,
                               .dtype = views[i].dtype,
                               .storage = storage};

        assert_true(place_row(b, &row, 4000000));
        for (count.fail_at = 1; count.fail_at <= 5; count.fail_at++) {
            count.reads = 0;
            b->err = (struct heft_error){0};
            assert_false(heft_reader_row(&b->reader, &row, 0, got, (size_t)row.bytes, &b->err));
            assert_int_equal(b->err.code, HEFT_IO);
            assert_int_equal(count.reads, count.fail_at);
        }
    }
    free(got);
}

static void scalars_and_empty_rows_are_read(void **state)
{
    struct bench *const b = *state;
    const uint64_t empty[2] = {3, 0}, stride[2] = {5, 9};
    struct heft_row row = {.dtype = HEFT_F64, .bytes = 8, .offset = 24, .storage = 1};
    uint8_t got[8];

    assert_true(heft_reader_row(&b->reader, &row, 0, got, 8, &b->err));
    assert_memory_equal(got, b->data + 24, 8);
    assert_true(heft_reader_row(&b->reader, &row, 8, NULL, 0, &b->err));
    row = (struct heft_row){.shape = empty, .stride = stride, .rank = 2, .dtype = HEFT_F32};
    assert_true(heft_reader_row(&b->reader, &row, 0, NULL, 0, &b->err));
}

static void sub_byte_rows_are_read_by_the_byte(void **state)
{
    struct bench *const b = *state;
    const uint64_t shape[1] = {20};
    const struct heft_row row = {
        .shape = shape, .rank = 1, .dtype = HEFT_F4, .bytes = 10, .offset = 3, .storage = 1};
    uint8_t got[3];

    assert_true(heft_reader_row(&b->reader, &row, 7, got, 3, &b->err));
    assert_memory_equal(got, b->data + 10, 3);
}

static void ranges_outside_are_refused(void **state)
{
    struct bench *const b = *state;
    const uint64_t shape[1] = {4};
    const struct heft_row row = {
        .shape = shape, .rank = 1, .dtype = HEFT_F32, .bytes = 16, .storage = 1};
    uint8_t got[32];

    assert_false(heft_reader_row(&b->reader, &row, 8, got, 12, &b->err));
    assert_int_equal(b->err.code, HEFT_USAGE);
    assert_false(heft_reader_row(&b->reader, &row, 2, got, 4, &b->err));
    assert_int_equal(b->err.code, HEFT_USAGE);
    assert_false(heft_reader_storage(&b->reader, 1, SMALL - 1, got, 2, &b->err));
    assert_int_equal(b->err.code, HEFT_MALFORMED);
    assert_non_null(strstr(b->err.text, "record few: "));
    assert_string_equal(b->err.file, "bench");
}

/* ---- stored bytes to values -------------------------------------------------------------- */

static void check_flags(enum heft_dtype dtype, uint8_t flags, const void *stored, const void *value,
                        size_t n)
{
    struct bench b = {0};
    const uint64_t shape[1] = {n / heft_dtype_element_bytes(dtype)};
    const struct heft_row row = {
        .shape = shape, .rank = 1, .dtype = (uint8_t)dtype, .flags = flags, .bytes = n};
    uint8_t got[32];

    heft_model_init(&b.model, NULL, &heft_formats);
    add_source(&b, stored, n);
    add_storage(&b, (struct heft_storage){.len = n, .packed = n});
    assert_true(heft_reader_init(&b.reader, &b.model, false, &b.err));
    assert_true(heft_reader_row(&b.reader, &row, 0, got, n, &b.err));
    assert_memory_equal(got, value, n);
    heft_reader_release(&b.reader);
    heft_model_release(&b.model);
}

static void big_endian_words_are_swapped(void **state)
{
    (void)state;
    check_flags(HEFT_F16, HEFT_ROW_SWAP, "\1\2\3\4", "\2\1\4\3", 4);
    check_flags(HEFT_C64, HEFT_ROW_SWAP, "\1\2\3\4\5\6\7\10", "\4\3\2\1\10\7\6\5", 8);
    check_flags(HEFT_I64, HEFT_ROW_SWAP, "\1\2\3\4\5\6\7\10", "\10\7\6\5\4\3\2\1", 8);
    check_flags(HEFT_U8, HEFT_ROW_SWAP, "\1\2\3\4", "\1\2\3\4", 4);
}

static void conjugated_views_have_the_other_imaginary_sign(void **state)
{
    (void)state;
    check_flags(HEFT_C32, HEFT_ROW_CONJ, "\1\2\3\4\5\6\7\x90", "\1\2\3\x84\5\6\7\x10", 8);
    check_flags(HEFT_C64, HEFT_ROW_CONJ | HEFT_ROW_SWAP, "\1\2\3\4\5\6\7\10", "\4\3\2\1\10\7\6\x85",
                8);
    check_flags(HEFT_C64, HEFT_ROW_CONJ | HEFT_ROW_NEG, "\1\2\3\4\5\6\7\10", "\1\2\3\x84\5\6\7\10",
                8);
    check_flags(HEFT_F32, HEFT_ROW_CONJ, "\1\2\3\4", "\1\2\3\4", 4);
}

static void negated_views_have_the_other_sign(void **state)
{
    (void)state;
    check_flags(HEFT_F64, HEFT_ROW_NEG, "\1\2\3\4\5\6\7\10", "\1\2\3\4\5\6\7\x88", 8);
    check_flags(HEFT_C32, HEFT_ROW_NEG, "\1\2\3\4", "\1\x82\3\x84", 4);
    check_flags(HEFT_I16, HEFT_ROW_NEG, "\1\0\0\x80\0\1", "\xFF\xFF\0\x80\0\xFF", 6);
    check_flags(HEFT_U8, HEFT_ROW_NEG, "\1\0", "\xFF\0", 2);
    check_flags(HEFT_BOOL, HEFT_ROW_NEG, "\1\0", "\1\0", 2);
    check_flags(HEFT_F8_E4M3, HEFT_ROW_NEG, "\1\0", "\x81\x80", 2);
    check_flags(HEFT_F8_E4M3FNUZ, HEFT_ROW_NEG, "\1\0\x80", "\x81\0\x80", 3);
    check_flags(HEFT_F8_E8M0, HEFT_ROW_NEG, "\1\0", "\1\0", 2);
}

/* ---- deflated storages ------------------------------------------------------------------- */

/* Writes a deflate stream of stored blocks of at most 60 000 bytes. Returns its size. */
static size_t deflate_stored(uint8_t *dst, const uint8_t *src, size_t n)
{
    uint8_t *p = dst;

    do {
        const size_t some = n < 60000 ? n : 60000;

        *p++ = some == n;
        heft_put_le16(p, (uint16_t)some);
        heft_put_le16(p + 2, (uint16_t)~some);
        memcpy(p + 4, src, some);
        p += 4 + some;
        src += some;
        n -= some;
    } while (n > 0);
    return (size_t)(p - dst);
}

/* Adds DEFLATED storages after the first two; the i-th has the bytes from 100 i on; the last is
 * larger than 1 MiB. */
static uint8_t *add_deflated(struct bench *b)
{
    uint8_t *const packed = malloc(4 << 20);
    size_t used = 0;

    assert_non_null(packed);
    add_source(b, packed, 4 << 20);
    for (uint32_t i = 0; i < DEFLATED; i++) {
        const size_t len = i + 1 < DEFLATED ? 1000 + i : 1500000;
        struct heft_storage st = {
            .len = len, .off = used, .source = 1, .label = HEFT_STR("zipped")};

        used += deflate_stored(packed + used, b->data + 100 * (size_t)i, len);
        st.packed = used - st.off;
        st.crc = heft_crc32(0, b->data + 100 * (size_t)i, len);
        st.sum = HEFT_SUM_CRC32;
        st.coding = HEFT_CODING_DEFLATE;
        assert_int_equal(add_storage(b, st), 2 + i);
    }
    restart_reader(b, false);
    return packed;
}

static bool check_deflated(struct bench *b, uint32_t i, uint64_t off, size_t n,
                           struct heft_error *err)
{
    uint8_t got[256];

    return heft_reader_storage(&b->reader, 2 + i, off, got, n, err) &&
           memcmp(got, b->data + 100 * (size_t)i + off, n) == 0;
}

static void deflated_storages_are_inflated(void **state)
{
    struct bench *const b = *state;
    const uint64_t shape[2] = {300, 200}, stride[2] = {1, 300};
    struct heft_row row = {.shape = shape, .stride = stride, .rank = 2, .dtype = HEFT_F32};
    uint8_t *const packed = add_deflated(b);
    static uint8_t got[4 * 300 * 200], want[4 * 300 * 200];

    for (uint32_t i = 0; i < DEFLATED; i++)
        assert_true(check_deflated(b, i, 17 * i, 200, &b->err));
    row.storage = 1 + DEFLATED;
    row.bytes = sizeof got;
    assert_true(heft_reader_row(&b->reader, &row, 0, got, sizeof got, &b->err));
    /* offset of the last storage's bytes in the uncompressed data, for the reference */
    row.offset = 100 * (DEFLATED - 1);
    read_slowly(b, &row, 0, want, sizeof want);
    assert_memory_equal(got, want, sizeof want);
    heft_reader_release(&b->reader);
    free(packed);
}

/* No storage is inflated twice, whatever the order of reads: the packed bytes are overwritten after
 * the first. */
static void storages_are_inflated_once(void **state)
{
    struct bench *const b = *state;
    uint8_t *const packed = add_deflated(b);

    for (uint32_t i = 0; i < DEFLATED; i++)
        assert_true(check_deflated(b, i, 0, 1, &b->err));
    memset(packed, 0xFF, 4 << 20);
    for (uint32_t i = 0; i < 10 * DEFLATED; i++)
        assert_true(check_deflated(b, i * 7 % DEFLATED, i % 700, 100, &b->err));
    heft_reader_release(&b->reader);
    free(packed);
}

static void a_malformed_storage_fails_each_time_and_no_other_fails(void **state)
{
    struct bench *const b = *state;
    uint8_t *const packed = add_deflated(b);
    uint64_t placed = 0;

    packed[b->model.storages[2 + 7].off] = 7; /* invalid block type */
    b->model.storages[1 + DEFLATED].crc ^= 1;
    for (unsigned round = 0; round < 3; round++)
        for (uint32_t i = 0; i < DEFLATED; i++) {
            struct heft_error err = {0};
            const bool broken = i == 7 || i == DEFLATED - 1;

            assert_int_equal(check_deflated(b, i, 0, 100, &err), !broken);
            assert_int_equal(heft_reader_check(&b->reader, 2 + i, &b->err), !broken);
            assert_int_equal(err.code,
                             i == 7 ? HEFT_MALFORMED : (broken ? HEFT_MISMATCH : HEFT_OK));
            if (broken)
                assert_string_equal(err.text, b->err.text);
            b->err = (struct heft_error){0};
            if (round == 0)
                placed = b->reader.spool.in_memory + b->reader.spool.in_file;
        }
    assert_int_equal(b->reader.spool.in_memory + b->reader.spool.in_file, placed);
    heft_reader_release(&b->reader);
    free(packed);
}

static void checks_need_no_spool(void **state)
{
    struct bench *const b = *state;
    uint8_t *const packed = add_deflated(b);

    for (uint32_t i = 0; i < 2 + DEFLATED; i++)
        assert_true(heft_reader_check(&b->reader, i, &b->err));
    assert_null(b->reader.spool.memory);
    assert_null(b->reader.spool.file.ops);
    b->model.storages[5].crc ^= 1;
    assert_false(heft_reader_check(&b->reader, 5, &b->err));
    assert_int_equal(b->err.code, HEFT_MISMATCH);
    assert_non_null(strstr(b->err.text, "record zipped: "));
    restart_reader(b, true);
    assert_true(heft_reader_check(&b->reader, 5, &b->err));
    b->model.storages[5].len--;
    assert_false(heft_reader_check(&b->reader, 5, &b->err));
    assert_int_equal(b->err.code, HEFT_MALFORMED);
    heft_reader_release(&b->reader);
    free(packed);
}

static void wrong_checksum_is_a_mismatch_that_names_the_record(void **state)
{
    struct bench *const b = *state;
    uint8_t *const packed = add_deflated(b);

    b->model.storages[5].crc ^= 1;
    assert_false(check_deflated(b, 3, 0, 10, &b->err));
    assert_int_equal(b->err.code, HEFT_MISMATCH);
    assert_non_null(strstr(b->err.text, "record zipped: "));
    restart_reader(b, true);
    assert_true(check_deflated(b, 3, 0, 10, &b->err));
    heft_reader_release(&b->reader);
    free(packed);
}

static bool read_somewhere(void *ctx, unsigned worker, uint64_t index, struct heft_error *err)
{
    struct bench *const b = ctx;
    const uint32_t i = (uint32_t)(index * 2654435761u >> 7) % DEFLATED;

    (void)worker;
    return check_deflated(b, i, index % 500, 200, err);
}

static void many_threads_may_read_deflated_storages(void **state)
{
    struct bench *const b = *state;
    uint8_t *const packed = add_deflated(b);
    const struct heft_pool_work work = {
        .job = read_somewhere, .ctx = b, .jobs = 20000, .threads = 4};

    assert_true(heft_pool_run(&work, &b->err));
    heft_reader_release(&b->reader);
    free(packed);
}

/* ---- lack of memory ---------------------------------------------------------------------- */

/* A strided and two deflated reads, with the n-th allocation failing: an error, no leak, and the
 * reader stays usable. */
static void every_failing_allocation_is_an_error(void **state)
{
    struct bench *const b = *state;
    const uint64_t shape[2] = {30, 20}, stride[2] = {1, 30};
    const struct heft_row row = {.shape = shape,
                                 .stride = stride,
                                 .rank = 2,
                                 .dtype = HEFT_F32,
                                 .bytes = 2400,
                                 .storage = 1};
    uint8_t *const packed = add_deflated(b);
    uint8_t got[2400];

    for (struct failures fail = {.most = 1000}; !fail.done;) {
        struct heft_error err;

        heft_reader_release(&b->reader);
        FAIL_ALLOCATION(&fail,
                        heft_reader_init(&b->reader, &b->model, false, &err) &&
                            heft_reader_row(&b->reader, &row, 0, got, sizeof got, &err) &&
                            check_deflated(b, 0, 0, 10, &err) &&
                            check_deflated(b, DEFLATED - 1, 0, 10, &err),
                        &err);
        if (!fail.done && b->reader.spool.lock)
            assert_true(check_deflated(b, 0, 0, 10, &b->err));
    }
    heft_reader_release(&b->reader);
    free(packed);
}

#define READER_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        READER_TEST(small_random_views_match_the_reference),
        READER_TEST(random_permutations_match_the_reference),
        READER_TEST(large_views_match_the_reference),
        READER_TEST(wide_random_views_match_the_reference),
        READER_TEST(overlapping_views_read_their_span_once),
        READER_TEST(every_failing_read_is_an_error),
        READER_TEST(scalars_and_empty_rows_are_read),
        READER_TEST(sub_byte_rows_are_read_by_the_byte),
        READER_TEST(ranges_outside_are_refused),
        cmocka_unit_test(big_endian_words_are_swapped),
        cmocka_unit_test(conjugated_views_have_the_other_imaginary_sign),
        cmocka_unit_test(negated_views_have_the_other_sign),
        READER_TEST(deflated_storages_are_inflated),
        READER_TEST(storages_are_inflated_once),
        READER_TEST(a_malformed_storage_fails_each_time_and_no_other_fails),
        READER_TEST(checks_need_no_spool),
        READER_TEST(wrong_checksum_is_a_mismatch_that_names_the_record),
        READER_TEST(many_threads_may_read_deflated_storages),
        READER_TEST(every_failing_allocation_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
