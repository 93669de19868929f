/* heft_cast.c: the public API for casts: of elements in memory, and of a tensor as a stream. */
#include "base/require_arg.h"
#include "api/checkpoint.h"
#include "core/cast.h"

enum { OUT = 64 << 10 }; /* bytes of converted elements at a time */

struct caster {
    enum heft_dtype from, to;
    size_t new_unit; /* bytes of a converted block */
    uint8_t *out;
    bool (*each)(void *ctx, const void *piece, size_t n);
    void *ctx;
    uint64_t overflowed;
};

/* Pieces of heft_tensor_stream consist of whole blocks. */
static bool cast_piece(void *ctx, const void *piece, size_t n)
{
    struct caster *k = ctx;
    const size_t unit = heft_dtype_block_bytes(k->from);
    const size_t elements = heft_dtype_block_elements(k->from);
    const uint8_t *src = piece;

    for (size_t left = n / unit; left > 0;) {
        const size_t room = OUT / k->new_unit, some = left < room ? left : room;

        heft_cast_elements(k->from, k->to, src, k->out, some * elements, &k->overflowed);
        if (!k->each(k->ctx, k->out, some * k->new_unit))
            return false;
        src += some * unit;
        left -= some;
    }
    return true;
}

bool heft_cast(enum heft_dtype from, const void *src, enum heft_dtype to, void *dst, size_t n,
               uint64_t *overflowed, struct heft_error *err)
{
    uint64_t over = 0;

    if (!heft_require_arg((src && dst) || n == 0, "an argument", err) ||
        !heft_cast_check(from, to, err))
        return false;
    if (n % heft_dtype_block_elements(from) != 0)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "%zu elements are not a multiple of %u, a block of %s", n,
                         heft_dtype_block_elements(from), heft_dtype_name(from));
    heft_cast_elements(from, to, src, dst, n, &over);
    if (overflowed)
        *overflowed += over;
    return true;
}

bool heft_tensor_stream_as(struct heft_checkpoint *c, size_t index, const struct heft_range *ranges,
                           size_t n_ranges, enum heft_dtype as,
                           bool (*each)(void *ctx, const void *piece, size_t n), void *ctx,
                           uint64_t *overflowed, struct heft_error *err)
{
    if (!heft_require_arg(c && (ranges || n_ranges == 0) && each, "an argument", err))
        return false;
    struct caster k = {.to = as, .each = each, .ctx = ctx};
    bool ok;

    if (index >= c->model.n_rows || c->model.rows[index].dtype == as)
        return heft_tensor_stream(c, index, ranges, n_ranges, each, ctx, err);
    k.from = (enum heft_dtype)c->model.rows[index].dtype;
    if (!heft_cast_check(k.from, as, err))
        return heft_error_about(err, "tensor", c->model.rows[index].name);
    k.new_unit = (size_t)heft_dtype_span(as, heft_dtype_block_elements(k.from));
    k.out = heft_alloc(OUT, err);
    ok = k.out && heft_tensor_stream(c, index, ranges, n_ranges, cast_piece, &k, err);
    heft_free(k.out);
    if (overflowed)
        *overflowed += k.overflowed;
    return ok;
}
