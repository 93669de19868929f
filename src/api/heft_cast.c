/* heft_cast.c: the public API for reading tensors as another dtype. */
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

static bool check_cast(const struct heft_row *row, enum heft_dtype as, struct heft_error *err)
{
    const enum heft_dtype from = (enum heft_dtype)row->dtype;

    if ((unsigned)as < HEFT_DTYPE_COUNT && heft_cast_known(from, as))
        return true;
    heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "%s cannot be cast to %s", heft_dtype_name(from),
              heft_dtype_name(as));
    return heft_error_about(err, "tensor", row->name);
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
    if (!check_cast(&c->model.rows[index], as, err))
        return false;
    k.from = (enum heft_dtype)c->model.rows[index].dtype;
    k.new_unit = (size_t)heft_dtype_span(as, heft_dtype_block_elements(k.from));
    k.out = heft_alloc(OUT, err);
    ok = k.out && heft_tensor_stream(c, index, ranges, n_ranges, cast_piece, &k, err);
    heft_free(k.out);
    if (overflowed)
        *overflowed += k.overflowed;
    return ok;
}
