/* equal_rows.c: compares pairs of tensors, 1 MiB of each at a time. */
#include "core/equal_rows.h"

#include "core/reader.h"

enum { PIECE = 1 << 20 }; /* bytes of each tensor */

struct comparing {
    const struct heft_model *model;
    struct heft_reader reader;
    uint8_t *a, *b; /* a piece of each */
    struct heft_error *err;
};

/* Whether both rows are the same elements of one storage, as far as that is easily seen. */
static bool is_same_view(const struct heft_row *a, const struct heft_row *b)
{
    return !a->parts && !b->parts && !a->stride && !b->stride && a->storage == b->storage &&
           a->offset == b->offset && a->flags == b->flags;
}

static bool refuse_pair(const struct comparing *c, const struct heft_equal_rows *pair,
                        uint64_t element)
{
    return heft_fail(c->err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                     "%.200s: tensors %.200s and %.200s must be equal, and differ in element "
                     "%" PRIu64,
                     pair->where, pair->a->name.p, pair->b->name.p, element);
}

/* Bytes of an element, of a block or, where elements vary in length, 1. */
static uint32_t unit_of(const struct heft_row *row)
{
    const enum heft_dtype dtype = (enum heft_dtype)row->dtype;

    return heft_dtype_varies(dtype) ? 1 : heft_dtype_block_bytes(dtype);
}

static bool read_piece(struct comparing *c, const struct heft_row *row, uint64_t at, uint8_t *to,
                       size_t n)
{
    return heft_reader_row(&c->reader, row, at, to, n, c->err) ||
           heft_error_about(c->err, "tensor", row->name);
}

static bool compare_pair(struct comparing *c, const struct heft_equal_rows *pair)
{
    const enum heft_dtype dtype = (enum heft_dtype)pair->a->dtype;
    const uint32_t unit = unit_of(pair->a);
    const uint64_t all = heft_min_u64(pair->a->bytes, pair->b->bytes);
    const uint64_t block = heft_dtype_varies(dtype) ? 1 : heft_dtype_block_elements(dtype);

    for (uint64_t at = 0; at < all;) {
        const size_t n = (size_t)heft_min_u64(PIECE / unit * unit, all - at);
        size_t same = 0;

        if (!read_piece(c, pair->a, at, c->a, n) || !read_piece(c, pair->b, at, c->b, n))
            return false;
        if (memcmp(c->a, c->b, n) != 0) {
            while (c->a[same] == c->b[same])
                same++;
            return refuse_pair(c, pair, (at + same) / unit * block);
        }
        at += n;
    }
    return pair->a->bytes == pair->b->bytes || refuse_pair(c, pair, all / unit * block);
}

static bool compare_all(struct comparing *c, const struct heft_equal_rows *list, size_t n)
{
    bool ok = heft_reader_init(&c->reader, c->model, false, c->err);

    for (size_t i = 0; ok && i < n; i++)
        ok = is_same_view(list[i].a, list[i].b) || compare_pair(c, &list[i]);
    heft_reader_release(&c->reader);
    return ok;
}

bool heft_equal_rows_check(const struct heft_model *model, const struct heft_equal_rows *list,
                           size_t n, struct heft_error *err)
{
    struct comparing c = {.model = model, .err = err};
    bool ok;

    if (n == 0)
        return true;
    c.a = heft_alloc((size_t)2 * PIECE, err);
    if (!c.a)
        return false;
    c.b = c.a + PIECE;
    ok = compare_all(&c, list, n);
    heft_free(c.a);
    return ok;
}
