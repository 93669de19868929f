/* heft_cast.c: behind the door: tensors read as another dtype. */
#include "base/require_arg.h"
#include "api/checkpoint.h"
#include "core/cast.h"

enum { OUT = 64 << 10, WIDEST = 16 }; /* bytes: of the results at hand; of a group of elements */

struct caster {
    enum heft_dtype from, to;
    size_t unit, new_unit; /* bytes of the fewest elements that begin and end at bytes */
    unsigned group;        /* elements */
    uint8_t carry[WIDEST]; /* the begin of a group that a piece cut */
    size_t carry_n;
    uint8_t *out;
    bool (*each)(void *ctx, const void *piece, size_t n);
    void *ctx;
    uint64_t overflowed;
};

static bool cast_units(struct caster *k, const uint8_t *src, size_t n)
{
    while (n > 0) {
        const size_t room = OUT / k->new_unit, some = n < room ? n : room;

        heft_cast(k->from, k->to, src, k->out, some * k->group, &k->overflowed);
        if (!k->each(k->ctx, k->out, some * k->new_unit))
            return false;
        src += some * k->unit;
        n -= some;
    }
    return true;
}

static bool cast_piece(void *ctx, const void *piece, size_t n)
{
    struct caster *k = ctx;
    const uint8_t *src = piece;

    if (k->carry_n > 0) {
        const size_t rest = k->unit - k->carry_n, more = n < rest ? n : rest;

        memcpy(k->carry + k->carry_n, src, more);
        k->carry_n += more;
        src += more;
        n -= more;
        if (k->carry_n < k->unit)
            return true;
        k->carry_n = 0;
        if (!cast_units(k, k->carry, 1))
            return false;
    }
    if (!cast_units(k, src, n / k->unit))
        return false;
    k->carry_n = n % k->unit;
    memcpy(k->carry, src + (n - k->carry_n), k->carry_n);
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
    k.group = heft_cast_group(k.from);
    k.unit = heft_dtype_bits(k.from) * k.group / 8;
    k.new_unit = heft_dtype_bits(as) * k.group / 8;
    k.out = heft_alloc(OUT, err);
    ok = k.out && heft_tensor_stream(c, index, ranges, n_ranges, cast_piece, &k, err);
    heft_free(k.out);
    if (overflowed)
        *overflowed += k.overflowed;
    return ok;
}
