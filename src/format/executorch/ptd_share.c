/* ptd_share.c: finds contents with equal bytes.
 *
 *     all ─ by size ─► equal size ─ by samples ─► equal samples ─ by checksum ─► equal checksum
 *         ─ byte for byte with the first ─► equal
 *
 * The layers of a large model have few sizes and differ in their samples, so that most of it is not
 * read twice. Tied rows are known to be equal without reading. */
#include "format/executorch/ptd_share.h"

#include <stdlib.h>

#include "core/cast.h"
#include "core/derive.h"
#include "core/reader.h"

#define SAMPLES 5
#define SAMPLE  2048u  /* bytes of a sample */
#define PIECE   65536u /* bytes compared at a time, as written */
#define WIDEST                                                                                     \
    16u /* source bytes for each written byte at most: a cast may reduce a C128 to
                          one byte */
#define STEP                                                                                       \
    2048u /* bytes as written: multiples contain whole blocks of every dtype that is
                       cast, 256 elements of F64 */

struct mark {
    uint64_t sum;
    uint32_t index;
};

struct sharing {
    const struct heft_ptd_content *contents;
    struct heft_reader reader;
    uint32_t *first;
    uint8_t *stored; /* PIECE × WIDEST bytes, before a cast */
    uint8_t *one, *other;
};

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads the bytes [off, off + n) as they will be written; both are multiples of STEP, or at the
 * end. */
static bool read_content(struct sharing *s, const struct heft_ptd_content *c, uint64_t off,
                         size_t n, uint8_t *dst, struct heft_error *err)
{
    const enum heft_dtype from = (enum heft_dtype)c->row->dtype, to = (enum heft_dtype)c->as;
    const struct heft_row *const row = heft_derived_as(c->row, to);
    uint64_t overflowed = 0;
    size_t elements;

    if (from == to)
        return heft_reader_row(&s->reader, row, off, dst, n, err);
    elements = (size_t)heft_dtype_elements(to, n);
    if (!heft_reader_row(&s->reader, row, heft_dtype_span(from, heft_dtype_elements(to, off)),
                         s->stored, (size_t)heft_dtype_span(from, elements), err))
        return false;
    heft_cast_elements(from, to, s->stored, dst, elements, &overflowed);
    return true;
}

/* CRC-32C in the lower half, CRC-32 in the upper. The bytes are compared afterwards, too; a
 * collision only costs a segment that could have been shared. */
static uint64_t add_sum(uint64_t sum, const uint8_t *p, size_t n)
{
    return (uint64_t)heft_crc32((uint32_t)(sum >> 32), p, n) << 32 |
           heft_crc32c((uint32_t)sum, p, n);
}

/* Position of the k-th sample: a multiple of STEP, and so the begin of a block; the last one ends
 * at the end. */
static size_t place_sample(uint64_t bytes, unsigned k, uint64_t *at)
{
    const uint64_t last = (bytes - SAMPLE) / STEP;

    *at = (k + 1 < SAMPLES ? last / (SAMPLES - 1) * k : last) * STEP;
    return k + 1 < SAMPLES ? SAMPLE : (size_t)(bytes - *at);
}

static bool sum_samples(struct sharing *s, uint32_t index, uint64_t *sum, struct heft_error *err)
{
    const struct heft_ptd_content *c = &s->contents[index];
    const bool is_small = c->bytes <= SAMPLES * SAMPLE;

    *sum = 0;
    for (unsigned k = 0; k < (is_small ? 1 : SAMPLES); k++) {
        uint64_t at = 0;
        const size_t n = is_small ? (size_t)c->bytes : place_sample(c->bytes, k, &at);

        if (!read_content(s, c, at, n, s->one, err))
            return heft_error_about(err, "tensor", c->row->name);
        *sum = add_sum(*sum, s->one, n);
    }
    return true;
}

static bool sum_whole(struct sharing *s, uint32_t index, uint64_t *sum, struct heft_error *err)
{
    const struct heft_ptd_content *c = &s->contents[index];

    *sum = 0;
    for (uint64_t at = 0; at < c->bytes; at += PIECE) {
        const size_t n = (size_t)heft_min_u64(PIECE, c->bytes - at);

        if (!read_content(s, c, at, n, s->one, err))
            return heft_error_about(err, "tensor", c->row->name);
        *sum = add_sum(*sum, s->one, n);
    }
    return true;
}

static bool same_bytes(struct sharing *s, uint32_t a, uint32_t b, bool *same,
                       struct heft_error *err)
{
    const struct heft_ptd_content *x = &s->contents[a], *y = &s->contents[b];

    *same = true;
    for (uint64_t at = 0; *same && at < x->bytes; at += PIECE) {
        const size_t n = (size_t)heft_min_u64(PIECE, x->bytes - at);

        if (!read_content(s, x, at, n, s->one, err) || !read_content(s, y, at, n, s->other, err))
            return false;
        *same = memcmp(s->one, s->other, n) == 0;
    }
    return true;
}

/* ---- grouping -------------------------------------------------------------------------------- */

static int by_sum(const void *a, const void *b)
{
    const struct mark *x = a, *y = b;

    if (x->sum != y->sum)
        return x->sum < y->sum ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* True if equality is known without reading: the same elements of one storage. */
static bool is_one(const struct heft_ptd_content *a, const struct heft_ptd_content *b)
{
    const struct heft_row *x = a->row, *y = b->row;

    return x->storage == y->storage && x->offset == y->offset && x->flags == y->flags &&
           x->dtype == y->dtype && a->as == b->as && !x->parts && !y->parts && !x->stride &&
           !y->stride;
}

typedef bool group_fn(struct sharing *s, struct mark *marks, size_t n, struct heft_error *err);

/* Calls the function for runs of two or more with equal sums. */
static bool each_run(struct sharing *s, struct mark *marks, size_t n, group_fn *group,
                     struct heft_error *err)
{
    size_t begin = 0;

    qsort(marks, n, sizeof *marks, by_sum);
    for (size_t i = 1; i <= n; i++) {
        if (i < n && marks[i].sum == marks[begin].sum)
            continue;
        if (i - begin > 1 && !group(s, marks + begin, i - begin, err))
            return false;
        begin = i;
    }
    return true;
}

/* Equal checksums: compares each with the first. */
static bool join_equal(struct sharing *s, struct mark *marks, size_t n, struct heft_error *err)
{
    for (size_t i = 1; i < n; i++) {
        bool same = is_one(&s->contents[marks[0].index], &s->contents[marks[i].index]);

        if (!same && !same_bytes(s, marks[0].index, marks[i].index, &same, err))
            return false;
        if (same)
            s->first[marks[i].index] = marks[0].index;
    }
    return true;
}

/* Equal samples. If all are known to be equal, nothing is read. */
static bool sum_all(struct sharing *s, struct mark *marks, size_t n, struct heft_error *err)
{
    bool one = true;

    for (size_t i = 1; one && i < n; i++)
        one = is_one(&s->contents[marks[0].index], &s->contents[marks[i].index]);
    for (size_t i = 0; i < n && !one; i++) {
        const bool known =
            i > 0 && is_one(&s->contents[marks[i - 1].index], &s->contents[marks[i].index]);

        if (known)
            marks[i].sum = marks[i - 1].sum;
        else if (!sum_whole(s, marks[i].index, &marks[i].sum, err))
            return false;
    }
    return one ? join_equal(s, marks, n, err) : each_run(s, marks, n, join_equal, err);
}

/* Equal sizes. Empty contents are equal. */
static bool sample_all(struct sharing *s, struct mark *marks, size_t n, struct heft_error *err)
{
    if (s->contents[marks[0].index].bytes == 0)
        return join_equal(s, marks, n, err);
    for (size_t i = 0; i < n; i++)
        if (!sum_samples(s, marks[i].index, &marks[i].sum, err))
            return false;
    return each_run(s, marks, n, sum_all, err);
}

static bool find_equal(struct sharing *s, size_t n, struct heft_arena *mem, struct heft_error *err)
{
    struct mark *marks = heft_arena_alloc(mem, n * sizeof *marks, err);

    s->stored = heft_arena_alloc(mem, PIECE * WIDEST, err);
    s->one = heft_arena_alloc(mem, PIECE, err);
    s->other = heft_arena_alloc(mem, PIECE, err);
    if (!marks || !s->stored || !s->one || !s->other)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        s->first[i] = i;
        marks[i] = (struct mark){s->contents[i].bytes, i};
    }
    return each_run(s, marks, n, sample_all, err);
}

bool heft_ptd_share(const struct heft_model *model, const struct heft_ptd_content *contents,
                    size_t n, uint32_t *first, struct heft_budget *budget, struct heft_error *err)
{
    struct sharing s = {.contents = contents, .first = first};
    struct heft_arena mem = {.budget = budget};
    /* checksum errors are found when the data is copied */
    const bool ok = heft_reader_init(&s.reader, model, true, err) && find_equal(&s, n, &mem, err);

    heft_reader_release(&s.reader);
    heft_arena_release(&mem);
    return ok;
}
