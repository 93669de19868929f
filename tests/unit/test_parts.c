/* test_parts.c: tensors stored in parts, compared with a reference that reads one element at a
 * time: random boxes that tile the tensor, read whole and in slices; boxes that do not tile it, and
 * the element that the error names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "failures.h"
#include "base/endian.h"
#include "core/reader.h"
#include "format/formats.h"

enum { SIZE = 4 << 20, DIMS = 4, MOST_PARTS = 64 };

struct bench {
    struct heft_model model;
    struct heft_reader reader;
    struct heft_error err;
    uint8_t *data;
    uint32_t seed;
    struct heft_row row; /* the row before validation */
    struct heft_part parts[MOST_PARTS];
    uint64_t shape[DIMS];
};

static uint32_t next_random(struct bench *b)
{
    b->seed = b->seed * 1664525u + 1013904223u;
    return b->seed >> 8;
}

static int set_up(void **state)
{
    struct bench *const b = calloc(1, sizeof *b);

    assert_non_null(b);
    b->seed = 11;
    b->data = malloc(SIZE);
    assert_non_null(b->data);
    for (size_t i = 0; i + 4 <= SIZE; i += 4)
        heft_put_le32(b->data + i, next_random(b) ^ (uint32_t)i << 13);
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

/* Starts a new model with three storages; the second lies inside the first. */
static void restart(struct bench *b)
{
    static const struct heft_storage storages[] = {
        {.off = 0, .len = SIZE, .packed = SIZE},
        {.off = 4096, .len = SIZE / 2, .packed = SIZE / 2},
        {.off = SIZE / 2, .len = SIZE / 2, .packed = SIZE / 2},
    };
    struct heft_source source = {0};
    uint32_t index;

    heft_reader_release(&b->reader);
    heft_model_release(&b->model);
    heft_model_init(&b->model, NULL, &heft_formats);
    heft_source_open_memory(&source, (struct heft_bytes){b->data, SIZE}, "bench");
    assert_true(heft_model_add_file(&b->model, &source, "bench", &index, &b->err));
    for (size_t i = 0; i < HEFT_COUNT(storages); i++)
        assert_true(heft_model_add_storage(&b->model, &storages[i], &index, &b->err));
    assert_true(heft_reader_init(&b->reader, &b->model, false, &b->err));
}

/* ---- making rows ------------------------------------------------------------------------- */

static uint64_t *numbers(struct bench *b, size_t n)
{
    uint64_t *const p = heft_arena_u64(&b->model.mem, n + 1, &b->err);

    assert_non_null(p);
    return p;
}

/* Strides of a packed box with its dimensions in random order, sometimes with gaps; or NULL. */
static const uint64_t *random_strides(struct bench *b, const uint64_t *extent, unsigned rank)
{
    uint64_t *const stride = numbers(b, rank), step = 1;
    bool used[DIMS] = {false};

    if (next_random(b) % 2)
        return NULL;
    for (unsigned i = 0; i < rank; i++) {
        unsigned d = next_random(b) % rank;

        while (used[d])
            d = (d + 1) % rank;
        used[d] = true;
        stride[d] = step;
        step *= extent[d] + (next_random(b) % 8 == 0);
    }
    return stride;
}

static uint64_t volume(const uint64_t *extent, unsigned rank)
{
    uint64_t n = 1;

    for (unsigned d = 0; d < rank; d++)
        n *= extent[d];
    return n;
}

static void place_part(struct bench *b, struct heft_part *part, unsigned rank, uint32_t each)
{
    part->stride = random_strides(b, part->extent, rank);
    part->storage = next_random(b) % 3;
    part->offset = next_random(b) % (SIZE / 8);
    part->flags = next_random(b) % 4 == 0 && each > 1 ? HEFT_ROW_SWAP : 0;
}

static struct heft_part new_part(struct bench *b, const uint64_t *start, const uint64_t *extent,
                                 unsigned rank)
{
    uint64_t *const copy = numbers(b, 2 * (size_t)rank);

    memcpy(copy, start, rank * sizeof *copy);
    memcpy(copy + rank, extent, rank * sizeof *copy);
    return (struct heft_part){.start = copy, .extent = copy + rank};
}

/* Splits random parts until there are about `n`. */
static uint32_t cut_parts(struct bench *b, unsigned rank, uint32_t n)
{
    const uint64_t origin[DIMS] = {0};
    uint32_t count = 1;

    b->parts[0] = new_part(b, origin, b->shape, rank);
    for (uint32_t i = 0; i < n; i++) {
        struct heft_part *const old = &b->parts[next_random(b) % count];
        const unsigned d = next_random(b) % rank;
        uint64_t lower[DIMS], rest[DIMS], from[DIMS], cut;

        if (old->extent[d] < 2)
            continue;
        cut = 1 + next_random(b) % (old->extent[d] - 1);
        memcpy(lower, old->extent, rank * sizeof *lower);
        memcpy(rest, old->extent, rank * sizeof *rest);
        memcpy(from, old->start, rank * sizeof *from);
        lower[d] = cut;
        rest[d] -= cut;
        from[d] += cut;
        b->parts[count++] = new_part(b, from, rest, rank);
        *old = new_part(b, old->start, lower, rank);
    }
    return count;
}

static void load_row(struct bench *b, unsigned rank, uint32_t n)
{
    struct heft_parts *const parts = heft_arena_zero(&b->model.mem, 1, sizeof *parts, &b->err);

    assert_non_null(parts);
    parts->list = heft_arena_zero(&b->model.mem, n, sizeof *parts->list, &b->err);
    assert_non_null(parts->list);
    memcpy(parts->list, b->parts, n * sizeof *parts->list);
    parts->n = n;
    b->row = (struct heft_row){.name = HEFT_STR("w"),
                               .shape = b->shape,
                               .rank = (uint8_t)rank,
                               .dtype = b->row.dtype,
                               .parts = parts};
    assert_true(heft_model_add_row(&b->model, &b->row, &b->err));
}

static uint32_t random_row(struct bench *b)
{
    static const enum heft_dtype dtypes[] = {HEFT_U8, HEFT_F16, HEFT_F32, HEFT_I64, HEFT_C128};
    const unsigned rank = 1 + next_random(b) % DIMS;
    uint32_t n;

    restart(b);
    b->row.dtype = (uint8_t)dtypes[next_random(b) % HEFT_COUNT(dtypes)];
    for (unsigned d = 0; d < rank; d++)
        b->shape[d] = 1 + next_random(b) % 9;
    n = cut_parts(b, rank, next_random(b) % 20);
    for (uint32_t k = 0; k < n; k++)
        place_part(b, &b->parts[k], rank, heft_dtype_element_bytes((enum heft_dtype)b->row.dtype));
    load_row(b, rank, n);
    return n;
}

/* ---- the reference ----------------------------------------------------------------------- */

static bool holds(const struct heft_part *part, const uint64_t *at, unsigned rank)
{
    for (unsigned d = 0; d < rank; d++)
        if (at[d] < part->start[d] || at[d] >= part->start[d] + part->extent[d])
            return false;
    return true;
}

static void read_slowly(const struct bench *b, uint32_t n, const uint64_t *at, uint8_t *dst)
{
    const unsigned rank = b->row.rank;
    const uint32_t each = heft_dtype_element_bytes((enum heft_dtype)b->row.dtype);
    const uint32_t word = heft_dtype_info((enum heft_dtype)b->row.dtype)->word;
    const struct heft_part *part = b->parts;
    uint64_t element = 0, step = 1;
    const uint8_t *src;

    while (!holds(part, at, rank))
        part++;
    assert_true(part < b->parts + n);
    for (unsigned d = rank; d-- > 0; step *= part->extent[d])
        element += (at[d] - part->start[d]) * (part->stride ? part->stride[d] : step);
    src = b->data + b->model.storages[part->storage].off + part->offset + element * each;
    for (uint32_t i = 0; i < each; i++)
        dst[i] = part->flags ? src[i / word * word + word - 1 - i % word] : src[i];
}

static void index_of(uint64_t element, const uint64_t *shape, unsigned rank, uint64_t *at)
{
    for (unsigned d = rank; d-- > 0; element /= shape[d])
        at[d] = element % shape[d];
}

static void settle(struct bench *b)
{
    if (!heft_model_validate(&b->model, &b->err))
        fail_msg("%s", b->err.text);
}

static void check_piece(struct bench *b, const struct heft_row *row, const uint8_t *want,
                        uint64_t off, size_t n)
{
    uint8_t *const got = malloc(n + 1);

    assert_non_null(got);
    got[n] = 0xA5;
    if (!heft_reader_row(&b->reader, row, off, got, n, &b->err))
        fail_msg("%s", b->err.text);
    if (memcmp(got, want + off, n) != 0 || got[n] != 0xA5)
        fail_msg("%zu bytes at %" PRIu64 " of %" PRIu64 " differ", n, off, row->bytes);
    free(got);
}

static void check_pieces(struct bench *b, const struct heft_row *row, const uint8_t *want)
{
    const uint32_t each = heft_dtype_element_bytes((enum heft_dtype)row->dtype);
    const uint64_t count = row->bytes / each;

    check_piece(b, row, want, 0, (size_t)row->bytes);
    for (unsigned i = 0; i < 8 && count > 0; i++) {
        const uint64_t first = next_random(b) % count;
        const uint64_t some = next_random(b) % (count - first + 1);

        check_piece(b, row, want, first * each, (size_t)(some * each));
    }
}

/* ---- reading ----------------------------------------------------------------------------- */

static void reads_random_parts(void **state)
{
    struct bench *const b = *state;

    for (unsigned round = 0; round < 400; round++) {
        const uint32_t n = random_row(b);
        const uint32_t each = heft_dtype_element_bytes((enum heft_dtype)b->row.dtype);
        const uint64_t count = volume(b->shape, b->row.rank);
        uint8_t *const want = malloc((size_t)count * each);
        uint64_t at[DIMS];

        assert_non_null(want);
        for (uint64_t e = 0; e < count; e++) {
            index_of(e, b->shape, b->row.rank, at);
            read_slowly(b, n, at, want + e * each);
        }
        settle(b);
        assert_true(n == 1 || b->model.rows[0].parts->n == n);
        check_pieces(b, &b->model.rows[0], want);
        free(want);
    }
}

static void reads_random_slices(void **state)
{
    struct bench *const b = *state;

    for (unsigned round = 0; round < 400; round++) {
        const uint32_t n = random_row(b),
                       each = heft_dtype_element_bytes((enum heft_dtype)b->row.dtype);
        const unsigned rank = b->row.rank;
        struct heft_range ranges[DIMS];
        uint64_t extent[DIMS], at[DIMS], count;
        struct heft_row slice;
        uint8_t *want;

        for (unsigned d = 0; d < rank; d++) {
            ranges[d].start = next_random(b) % b->shape[d];
            ranges[d].stop = ranges[d].start + next_random(b) % (b->shape[d] - ranges[d].start + 1);
            ranges[d].drop = ranges[d].stop - ranges[d].start == 1 && next_random(b) % 2;
            extent[d] = ranges[d].stop - ranges[d].start;
        }
        count = volume(extent, rank);
        want = malloc((size_t)count * each + 1);
        assert_non_null(want);
        for (uint64_t e = 0; e < count; e++) {
            index_of(e, extent, rank, at);
            for (unsigned d = 0; d < rank; d++)
                at[d] += ranges[d].start;
            read_slowly(b, n, at, want + e * each);
        }
        settle(b);
        assert_true(
            heft_row_slice(&b->model.rows[0], ranges, rank, &b->model.mem, &slice, &b->err));
        assert_int_equal(slice.bytes, count * each);
        check_pieces(b, &slice, want);
        free(want);
    }
}

/* Wide enough that columns are gathered through a window, long enough that rows are read in place.
 */
static void reads_large_parts(void **state)
{
    static const uint64_t shape[] = {256, 700}, starts[][2] = {{0, 0}, {0, 1}, {100, 1}, {0, 699}};
    static const uint64_t extents[][2] = {{256, 1}, {100, 698}, {156, 698}, {256, 1}};
    static const uint64_t columns[] = {1, 1000};
    struct bench *const b = *state;
    uint8_t *want;

    restart(b);
    memcpy(b->shape, shape, sizeof shape);
    b->row.dtype = HEFT_F32;
    for (uint32_t k = 0; k < 4; k++) {
        b->parts[k] = new_part(b, starts[k], extents[k], 2);
        b->parts[k].offset = k * 1000;
    }
    b->parts[1].stride = columns;
    load_row(b, 2, 4);
    want = malloc((size_t)256 * 700 * 4);
    assert_non_null(want);
    for (uint64_t e = 0; e < (uint64_t)256 * 700; e++) {
        const uint64_t at[] = {e / 700, e % 700};

        read_slowly(b, 4, at, want + e * 4);
    }
    settle(b);
    check_pieces(b, &b->model.rows[0], want);
    free(want);
}

/* ---- settling ---------------------------------------------------------------------------- */

/* Moves, resizes or removes a random part. Returns the new number of parts. */
static uint32_t spoil(struct bench *b, uint32_t n, unsigned rank)
{
    struct heft_part *const part = &b->parts[next_random(b) % n];
    uint64_t start[DIMS], extent[DIMS];
    const unsigned d = next_random(b) % rank, what = next_random(b) % 4;

    if (what == 0 && n > 1) {
        *part = b->parts[n - 1];
        return n - 1;
    }
    memcpy(start, part->start, rank * sizeof *start);
    memcpy(extent, part->extent, rank * sizeof *extent);
    if (what == 1 && start[d] + extent[d] < b->shape[d])
        start[d]++;
    else if (what == 2 && start[d] + extent[d] < b->shape[d])
        extent[d]++;
    else if (what == 3 && extent[d] > 1)
        extent[d]--;
    *part = new_part(b, start, extent, rank);
    return n;
}

/* Finds the first element that is in no part or in several, and in how many; returns false if there
 * is none. */
static bool first_wrong(const struct bench *b, uint32_t n, unsigned rank, uint64_t *at,
                        uint32_t *found)
{
    for (uint64_t e = 0; e < volume(b->shape, rank); e++) {
        *found = 0;
        index_of(e, b->shape, rank, at);
        for (uint32_t k = 0; k < n; k++)
            *found += holds(&b->parts[k], at, rank);
        if (*found != 1)
            return true;
    }
    return false;
}

static void name_element(const uint64_t *at, unsigned rank, char *out, size_t size)
{
    size_t used = 0;

    for (unsigned d = 0; d < rank; d++)
        used += (size_t)snprintf(out + used, size - used, "%c%" PRIu64, d ? ',' : '[', at[d]);
    snprintf(out + used, size - used, "]");
}

static void finds_the_first_wrong_element(void **state)
{
    struct bench *const b = *state;
    unsigned refused = 0;

    for (unsigned round = 0; round < 2000; round++) {
        uint32_t n = random_row(b), found = 0;
        const unsigned rank = b->row.rank;
        uint64_t at[DIMS];
        char name[100];
        bool wrong;

        b->model.n_rows = 0;
        for (unsigned i = next_random(b) % 3; i > 0; i--)
            n = spoil(b, n, rank);
        load_row(b, rank, n);
        wrong = first_wrong(b, n, rank, at, &found);
        assert_int_equal(heft_model_validate(&b->model, &b->err), !wrong);
        if (!wrong)
            continue;
        refused++;
        name_element(at, rank, name, sizeof name);
        assert_int_equal(b->err.code, HEFT_MALFORMED);
        if (!strstr(b->err.text, name) || (found == 0) != !!strstr(b->err.text, "none of its"))
            fail_msg("element %s is in %u parts, the error is: %s", name, found, b->err.text);
    }
    assert_in_range(refused, 500, 1900);
}

/* Five boxes in a pinwheel: no straight cut divides them, and exchanging two leaves the total
 * volume unchanged. */
static void takes_a_pinwheel(void **state)
{
    static const uint64_t starts[][2] = {{0, 0}, {0, 2}, {2, 1}, {1, 0}, {1, 1}};
    static const uint64_t extents[][2] = {{1, 2}, {2, 1}, {1, 2}, {2, 1}, {1, 1}};
    struct bench *const b = *state;

    for (unsigned spoiled = 0; spoiled < 2; spoiled++) {
        restart(b);
        b->shape[0] = b->shape[1] = 3;
        b->row.dtype = HEFT_U8;
        for (uint32_t k = 0; k < 5; k++)
            b->parts[k] = new_part(b, spoiled && k == 4 ? starts[0] : starts[k], extents[k], 2);
        load_row(b, 2, 5);
        assert_int_equal(heft_model_validate(&b->model, &b->err), !spoiled);
    }
    assert_string_equal(b->err.text, "tensor w: element [0,0] is in 2 of its parts");
}

static void refuses_invalid_parts(void **state)
{
    static const uint64_t zero[1] = {0}, ten[1] = {10}, far[1] = {UINT64_MAX}, big[1] = {SIZE};
    const struct {
        struct heft_part part;
        const char *text;
    } cases[] = {
        {{.start = far, .extent = ten}, "10 indexes from 18446744073709551615 of dimension 0"},
        {{.start = zero, .extent = big}, "of dimension 0, whose extent is 10"},
        {{.start = zero, .extent = ten, .offset = SIZE - 9}, "bytes at offset"},
        {{.start = zero, .extent = ten, .storage = 7}, "no valid storage"},
        {{.start = zero, .extent = zero}, "no part holds any of its elements"},
    };
    struct bench *const b = *state;

    for (size_t i = 0; i < HEFT_COUNT(cases); i++) {
        restart(b);
        b->shape[0] = 10;
        b->row.dtype = HEFT_U8;
        b->parts[0] = cases[i].part;
        load_row(b, 1, 1);
        assert_false(heft_model_validate(&b->model, &b->err));
        assert_int_equal(b->err.code, HEFT_MALFORMED);
        if (!strstr(b->err.text, cases[i].text))
            fail_msg("%s", b->err.text);
    }
}

static void one_part_is_a_whole_row(void **state)
{
    struct bench *const b = *state;
    const uint64_t zero[1] = {0}, ten[1] = {10}, none[1] = {0};

    restart(b);
    b->shape[0] = 10;
    b->row.dtype = HEFT_I16;
    b->parts[0] = new_part(b, zero, none, 1);
    b->parts[1] = new_part(b, zero, ten, 1);
    b->parts[1].storage = 1;
    b->parts[1].offset = 6;
    b->parts[1].flags = HEFT_ROW_SWAP;
    load_row(b, 1, 2);
    settle(b);
    assert_null(b->model.rows[0].parts);
    assert_int_equal(b->model.rows[0].storage, 1);
    assert_int_equal(b->model.rows[0].offset, 6);
    assert_int_equal(b->model.rows[0].flags, HEFT_ROW_SWAP);
}

/* Validation is linear: comparing all pairs of so many parts would not finish. */
static void takes_many_parts(void **state)
{
    enum { MANY = 300000 };
    struct bench *const b = *state;
    struct heft_parts *parts;
    struct heft_row row = {.name = HEFT_STR("w"), .shape = b->shape, .rank = 2, .dtype = HEFT_U8};
    uint8_t got[3];

    restart(b);
    b->shape[0] = 3;
    b->shape[1] = MANY;
    row.parts = parts = heft_arena_zero(&b->model.mem, 1, sizeof *parts, &b->err);
    assert_non_null(parts);
    parts->list = heft_arena_zero(&b->model.mem, MANY, sizeof *parts->list, &b->err);
    assert_non_null(parts->list);
    for (uint64_t k = 0; k < MANY; k++) {
        const uint64_t start[2] = {0, (k * 7) % MANY}, extent[2] = {3, 1};

        parts->list[k] = new_part(b, start, extent, 2);
        parts->list[k].offset = 3 * (k * 7 % MANY);
    }
    parts->n = MANY;
    assert_true(heft_model_add_row(&b->model, &row, &b->err));
    settle(b);
    assert_true(heft_reader_row(&b->reader, b->model.rows, MANY + 5, got, 3, &b->err));
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(got[i], b->data[3 * (5 + i) + 1]);
}

static void slices_without_memory(void **state)
{
    struct bench *const b = *state;
    const struct heft_range range = {0, 2, false};
    struct heft_arena arena = {0};
    struct heft_row slice;
    struct failures fail = {.most = 101};

    restart(b);
    b->shape[0] = 4;
    b->shape[1] = 6;
    b->row.dtype = HEFT_F32;
    load_row(b, 2, cut_parts(b, 2, 12));
    settle(b);
    while (!fail.done) {
        heft_arena_release(&arena);
        FAIL_ALLOCATION(
            &fail, heft_row_slice(&b->model.rows[0], &range, 1, &arena, &slice, &b->err), &b->err);
    }
    assert_true(fail.n >= 2);
    heft_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reads_random_parts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reads_random_slices, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reads_large_parts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(finds_the_first_wrong_element, set_up, tear_down),
        cmocka_unit_test_setup_teardown(takes_a_pinwheel, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses_invalid_parts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_part_is_a_whole_row, set_up, tear_down),
        cmocka_unit_test_setup_teardown(takes_many_parts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(slices_without_memory, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
