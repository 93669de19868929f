/* test_shaping.c: random chains of changes of shape on rows that are plain, strided, or in parts, compared
 * with the same operations on an array of numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "number_array.h"
#include "shaping_bench.h"
#include "core/parts.h"

enum { SIZE = BENCH_SIZE, MOST = 4096, CHAINS = 20000 };

/* ---- rows, and comparing ------------------------------------------------------------------------- */

/* Strides of the dimensions in random order, sometimes with gaps, sometimes 0. */
static const uint64_t *random_strides(struct bench *b, const uint64_t *extent, unsigned rank)
{
    uint64_t *const stride = numbers(b, NULL, rank), step = 1;
    bool used[DIMS] = {false};

    if (next_random(b) % 2)
        return NULL;
    for (unsigned i = 0; i < rank; i++) {
        unsigned d = below(b, rank);

        while (used[d])
            d = (d + 1) % rank;
        used[d] = true;
        stride[d] = next_random(b) % 16 ? step : 0;
        step *= extent[d] + (next_random(b) % 8 == 0);
    }
    return stride;
}

/* Cuts the only part into two along a random dimension, several times. */
static void cut_parts(struct bench *b, struct heft_row *row, uint32_t n)
{
    while (row->parts->n < n) {
        struct heft_part *const part = &row->parts->list[below(b, row->parts->n)];
        struct heft_part *const rest = &row->parts->list[row->parts->n];
        const unsigned d = below(b, row->rank);
        uint64_t some, *extent, *start;

        if (part->extent[d] < 2)
            continue;
        some = 1 + below(b, part->extent[d] - 1);
        *rest = *part;
        extent = numbers(b, part->extent, row->rank);
        start = numbers(b, part->start, row->rank);
        extent[d] -= some;
        start[d] += some;
        rest->extent = extent;
        rest->start = start;
        extent = numbers(b, part->extent, row->rank);
        extent[d] = some;
        part->extent = extent;
        row->parts->n++;
    }
    for (uint32_t k = 0; k < n; k++) {
        struct heft_part *const part = &row->parts->list[k];

        part->stride = random_strides(b, part->extent, row->rank);
        part->offset = below(b, SIZE / 8) * 4u;
        part->storage = below(b, 2);
        part->flags = next_random(b) % 4 ? 0 : HEFT_ROW_SWAP;
        if (part->offset > SIZE / 4)
            part->offset -= SIZE / 4;
    }
}

/* A row of that shape, in `arena`; a third of them in parts. */
static struct heft_row *new_row(struct bench *b, const uint64_t *shape, unsigned rank)
{
    struct heft_row *const row = heft_arena_zero(&b->model.mem, 1, sizeof *row, &b->err);
    const uint64_t zeros[DIMS] = {0};

    assert_non_null(row);
    row->name = (struct heft_str){"row", 3};
    row->dtype = HEFT_F32;
    row->rank = (uint8_t)rank;
    row->shape = numbers(b, shape, rank);
    row->offset = below(b, SIZE / 16) * 4u;
    row->storage = below(b, 2);
    row->flags = next_random(b) % 8 ? 0 : HEFT_ROW_SWAP;
    if (next_random(b) % 2)
        row->stride = random_strides(b, shape, rank);
    if (product(shape, rank) > 8 && next_random(b) % 3 == 0) {
        row->stride = NULL;
        row->flags = 0;
        row->parts = heft_arena_zero(&b->model.mem, 1, sizeof *row->parts, &b->err);
        assert_non_null(row->parts);
        row->parts->list = heft_arena_zero(&b->model.mem, 8, sizeof *row->parts->list, &b->err);
        assert_non_null(row->parts->list);
        row->parts->n = 1;
        row->parts->list[0].start = numbers(b, zeros, rank);
        row->parts->list[0].extent = row->shape;
        cut_parts(b, row, 1 + below(b, 4));
    }
    assert_true(heft_model_check_row(&b->model, row, &b->err));
    return row;
}

static void read_row(struct bench *b, const struct heft_row *row, struct array *out)
{
    uint8_t *const bytes = malloc((size_t)row->bytes + 1);

    array_new(out, row->shape, row->rank);
    assert_int_equal(out->n * 4, row->bytes);
    assert_non_null(bytes);
    assert_true(heft_reader_row(&b->reader, row, 0, bytes, (size_t)row->bytes, &b->err));
    for (uint64_t i = 0; i < out->n; i++)
        out->v[i] = heft_le32(bytes + 4 * i);
    free(bytes);
}

static void expect_equal(const struct array *a, const struct array *want)
{
    assert_int_equal(a->rank, want->rank);
    for (unsigned d = 0; d < a->rank; d++)
        assert_int_equal(a->shape[d], want->shape[d]);
    assert_memory_equal(a->v, want->v, (size_t)a->n * sizeof *a->v);
}

/* Reads a part of the row, too. */
static void expect_row(struct bench *b, const struct heft_row *row, const struct array *want)
{
    struct array found;
    uint64_t first, n;
    uint8_t *bytes;

    read_row(b, row, &found);
    expect_equal(&found, want);
    array_free(&found);
    if (row->parts && !heft_row_is_derived(row))
        assert_true(heft_parts_tile(&b->model, row, &b->err));
    if (want->n == 0)
        return;
    first = below(b, want->n);
    n = 1 + below(b, want->n - first);
    bytes = malloc((size_t)n * 4);
    assert_non_null(bytes);
    assert_true(heft_reader_row(&b->reader, row, first * 4, bytes, (size_t)n * 4, &b->err));
    for (uint64_t i = 0; i < n; i++)
        assert_int_equal(heft_le32(bytes + 4 * i), want->v[first + i]);
    free(bytes);
}

/* ---- random chains ------------------------------------------------------------------------------------ */

struct chain {
    struct bench *b;
    struct heft_shaping s;
    struct array a;
};

static void random_shape(struct bench *b, uint64_t *shape, unsigned *rank)
{
    static const uint64_t extents[] = {1, 2, 2, 3, 4, 4, 5, 6, 8};

    *rank = below(b, 5);
    for (unsigned d = 0; d < *rank; d++)
        shape[d] = next_random(b) % 64 ? extents[below(b, HEFT_COUNT(extents))] : 0;
}

/* A shape with n elements. */
static void random_split(struct bench *b, uint64_t n, uint64_t *shape, unsigned *rank)
{
    *rank = 0;
    while (n > 1 && *rank + 1 < 6) {
        uint64_t f = 2 + below(b, 8);

        while (f < n && n % f != 0)
            f++;
        f = f < n ? f : n;
        shape[(*rank)++] = f;
        n /= f;
    }
    shape[(*rank)++] = n;
    for (unsigned i = 0; i + 1 < *rank; i++) {
        const unsigned j = i + below(b, *rank - i);
        const uint64_t was = shape[i];

        shape[i] = shape[j];
        shape[j] = was;
    }
}

static void begin_chain(struct chain *c, const uint64_t *shape, unsigned rank)
{
    const struct heft_row *const row = new_row(c->b, shape, rank);

    read_row(c->b, row, &c->a);
    assert_true(heft_shaping_open(&c->s, row, &c->b->err));
}

static void do_permute(struct chain *c)
{
    uint64_t order[DIMS];

    for (unsigned d = 0; d < c->a.rank; d++)
        order[d] = d;
    for (unsigned d = 0; d + 1 < c->a.rank; d++) {
        const unsigned e = d + below(c->b, c->a.rank - d);
        const uint64_t was = order[d];

        order[d] = order[e];
        order[e] = was;
    }
    assert_true(heft_shaping_permute(&c->s, order, c->a.rank, &c->b->err));
    array_permute(&c->a, order);
}

static void do_transpose(struct chain *c)
{
    const unsigned x = below(c->b, c->a.rank), y = below(c->b, c->a.rank);
    uint64_t order[DIMS];

    for (unsigned d = 0; d < c->a.rank; d++)
        order[d] = d == x ? y : d == y ? x : d;
    assert_true(heft_shaping_transpose(&c->s, x, y, &c->b->err));
    array_permute(&c->a, order);
}

static void do_reshape(struct chain *c)
{
    uint64_t shape[DIMS];
    unsigned rank;

    random_split(c->b, c->a.n, shape, &rank);
    assert_true(heft_shaping_reshape(&c->s, shape, rank, &c->b->err));
    array_reshape(&c->a, shape, rank);
}

static void do_squeeze(struct chain *c)
{
    uint64_t shape[DIMS];
    unsigned n = 0, d = 0;

    while (d < c->a.rank && c->a.shape[d] != 1)
        d++;
    if (d == c->a.rank)
        return;
    assert_true(heft_shaping_squeeze(&c->s, d, &c->b->err));
    for (unsigned i = 0; i < c->a.rank; i++)
        if (i != d)
            shape[n++] = c->a.shape[i];
    array_reshape(&c->a, shape, n);
}

static void do_unsqueeze(struct chain *c)
{
    const unsigned at = below(c->b, c->a.rank + 1);
    uint64_t shape[DIMS];

    if (c->a.rank > 6)
        return;
    assert_true(heft_shaping_unsqueeze(&c->s, at, &c->b->err));
    for (unsigned i = 0; i <= c->a.rank; i++)
        shape[i] = i < at ? c->a.shape[i] : i == at ? 1 : c->a.shape[i - 1];
    array_reshape(&c->a, shape, c->a.rank + 1);
}

static void replace(struct array *a, struct array *by)
{
    array_free(a);
    *a = *by;
}

static void do_slice(struct chain *c)
{
    const unsigned d = below(c->b, c->a.rank);
    const uint64_t begin = below(c->b, c->a.shape[d] + 1);
    const uint64_t end = begin + below(c->b, c->a.shape[d] - begin + 1);
    struct array out;

    if (begin == end && next_random(c->b) % 16)
        return;
    assert_true(heft_shaping_slice(&c->s, d, begin, end, &c->b->err));
    array_slice(&c->a, d, begin, end, &out);
    replace(&c->a, &out);
}

static void do_reorder(struct chain *c)
{
    const unsigned d = below(c->b, c->a.rank);
    const uint64_t extent = c->a.shape[d];
    struct array list[16], out;
    uint64_t order[16];
    unsigned n = 2 + below(c->b, 4);

    if (extent == 0)
        return;
    while (extent % n != 0)
        n--;
    for (unsigned i = 0; i < n; i++)
        order[i] = (i + 1 + extent) % n;
    assert_true(heft_shaping_reorder(&c->s, d, order, n, &c->b->err));
    for (unsigned i = 0; i < n; i++)
        array_slice(&c->a, d, order[i] * (extent / n), (order[i] + 1) * (extent / n), &list[i]);
    array_cat(list, n, d, &out);
    for (unsigned i = 0; i < n; i++)
        array_free(&list[i]);
    replace(&c->a, &out);
}

/* Continues with one of the pieces. */
static void do_split(struct chain *c)
{
    const unsigned d = below(c->b, c->a.rank);
    const uint64_t extent = c->a.shape[d], shares[] = {1, 2, 1};
    const bool is_shared = extent % 4 == 0;
    const size_t n = is_shared ? 3 : 1 + below(c->b, 3), k = below(c->b, n);
    struct heft_shaping list[3] = {{0}};
    uint64_t extents[3], begin = 0;
    struct array out;

    if (extent % n != 0 && !is_shared)
        return;
    assert_true(heft_shaping_shares(extent, is_shared ? shares : NULL, n, extents, &c->b->err));
    assert_true(heft_shaping_split(&c->s, d, is_shared ? shares : NULL, n, list, &c->b->err));
    for (size_t i = 0; i < k; i++)
        begin += extents[i];
    array_slice(&c->a, d, begin, begin + extents[k], &out);
    replace(&c->a, &out);
    heft_shaping_release(&c->s);
    c->s = list[k];
    for (size_t i = 0; i < n; i++)
        if (i != k)
            heft_shaping_release(&list[i]);
}

static void do_unstack(struct chain *c)
{
    const unsigned d = below(c->b, c->a.rank);
    const uint64_t extent = c->a.shape[d];
    struct heft_shaping list[16] = {{0}};
    struct array out;
    size_t k;

    if (extent == 0 || extent > 16)
        return;
    k = below(c->b, extent);
    assert_true(heft_shaping_unstack(&c->s, d, (size_t)extent, list, &c->b->err));
    array_slice(&c->a, d, k, k + 1, &out);
    memmove(out.shape + d, out.shape + d + 1, (out.rank - d - 1) * sizeof *out.shape);
    out.rank--;
    replace(&c->a, &out);
    heft_shaping_release(&c->s);
    c->s = list[k];
    for (size_t i = 0; i < extent; i++)
        if (i != k)
            heft_shaping_release(&list[i]);
}

/* A tensor of that shape: a row, or the permutation of one. */
static void make_like(struct chain *like, const uint64_t *shape, unsigned rank)
{
    uint64_t order[DIMS], back[DIMS], source[DIMS];

    for (unsigned d = 0; d < rank; d++)
        order[d] = (d + (next_random(like->b) % 2) * 1u) % rank;
    for (unsigned d = 0; d < rank; d++)
        order[d] = (d + order[0]) % rank;
    for (unsigned d = 0; d < rank; d++)
        back[order[d]] = d;
    for (unsigned d = 0; d < rank; d++)
        source[order[d]] = shape[d];
    (void)back;
    begin_chain(like, source, rank);
    assert_true(heft_shaping_permute(&like->s, order, rank, &like->b->err));
    array_permute(&like->a, order);
}

static void do_cat(struct chain *c, bool is_stack)
{
    const size_t n = 1 + below(c->b, 3), own = below(c->b, n);
    const unsigned d = below(c->b, c->a.rank + is_stack);
    struct chain list[3] = {{.b = c->b}, {.b = c->b}, {.b = c->b}};
    struct heft_shaping shapings[3], joined = {0};
    struct array arrays[3], out;

    if (c->a.n * n > MOST || c->a.rank > 6)
        return;
    for (size_t i = 0; i < n; i++) {
        uint64_t shape[DIMS];

        memcpy(shape, c->a.shape, sizeof shape);
        if (!is_stack)
            shape[d] = next_random(c->b) % 2 ? shape[d] : below(c->b, 5);
        if (i == own)
            list[i] = *c;
        else
            make_like(&list[i], shape, c->a.rank);
        shapings[i] = list[i].s;
        arrays[i] = list[i].a;
        if (is_stack) {
            memcpy(shape, arrays[i].shape, sizeof shape);
            memmove(shape + d + 1, shape + d, (arrays[i].rank - d) * sizeof *shape);
            shape[d] = 1;
            array_reshape(&arrays[i], shape, arrays[i].rank + 1);
        }
    }
    if (is_stack)
        assert_true(heft_shaping_stack(shapings, n, d, &joined, &c->b->err));
    else
        assert_true(heft_shaping_cat(shapings, n, d, &joined, &c->b->err));
    array_cat(arrays, n, d, &out);
    for (size_t i = 0; i < n; i++)
        array_free(&arrays[i]);
    c->s = joined;
    c->a = out;
}

/* Makes a row of the tensor, compares it, and sometimes continues with that row. */
static void check_chain(struct chain *c)
{
    struct heft_row *const row = heft_arena_zero(&c->b->model.mem, 1, sizeof *row, &c->b->err);
    struct heft_range ranges[DIMS];
    struct heft_row slice;
    struct array want;

    assert_non_null(row);
    assert_true(heft_shaping_row(&c->s, &c->b->model.mem, row, &c->b->err));
    row->name = (struct heft_str){"result", 6};
    expect_row(c->b, row, &c->a);
    if (c->a.rank > 0 && c->a.n > 0) {
        const uint64_t begin = below(c->b, c->a.shape[0]);

        ranges[0] = (struct heft_range){begin, c->a.shape[0], false};
        assert_true(heft_row_slice(row, ranges, 1, &c->b->model.mem, &slice, &c->b->err));
        array_slice(&c->a, 0, begin, c->a.shape[0], &want);
        expect_row(c->b, &slice, &want);
        array_free(&want);
    }
    heft_shaping_release(&c->s);
    assert_true(heft_shaping_open(&c->s, row, &c->b->err));
}

static void change_once(struct chain *c)
{
    const unsigned kind = below(c->b, 12);

    if (kind == 0)
        do_unsqueeze(c);
    else if (kind == 1)
        do_squeeze(c);
    else if (kind == 2 || c->a.rank == 0)
        do_reshape(c);
    else if (kind == 3)
        do_transpose(c);
    else if (kind == 4 || kind == 5)
        do_permute(c);
    else if (kind == 6)
        do_slice(c);
    else if (kind == 7)
        do_reorder(c);
    else if (kind == 8)
        do_split(c);
    else if (kind == 9)
        do_unstack(c);
    else
        do_cat(c, kind == 10);
}

static void test_random_chains(void **state)
{
    struct bench *const b = *state;

    for (unsigned i = 0; i < CHAINS; i++) {
        struct chain c = {.b = b};
        uint64_t shape[DIMS];
        unsigned rank;

        random_shape(b, shape, &rank);
        begin_chain(&c, shape, rank);
        for (unsigned k = below(b, 9); k > 0; k--) {
            change_once(&c);
            if (next_random(b) % 4 == 0)
                check_chain(&c);
        }
        check_chain(&c);
        heft_shaping_release(&c.s);
        array_free(&c.a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_random_chains, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
