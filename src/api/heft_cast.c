/* heft_cast.c: the public API for casts: of elements in memory, and of a tensor as a stream. */
#include "base/require_arg.h"
#include "api/checkpoint.h"
#include "core/cast.h"

enum { OUT = 64 << 10 }; /* bytes of converted elements at a time */

struct caster {
    enum heft_dtype from, to;
    size_t unit;           /* elements that are whole blocks before and after the cast */
    struct heft_error why; /* if the cast is refused */
    bool is_refused;
    uint8_t *out;
    bool (*each)(void *ctx, const void *piece, size_t n);
    void *ctx;
    struct heft_cast_losses losses;
};

/* Pieces of heft_tensor_stream are whole units. */
static bool cast_piece(void *ctx, const void *piece, size_t n)
{
    struct caster *k = ctx;
    const size_t old = (size_t)heft_dtype_span(k->from, k->unit);
    const size_t new = (size_t)heft_dtype_span(k->to, k->unit);
    const uint8_t *src = piece;

    for (size_t left = n / old; left > 0;) {
        const size_t room = OUT / new, some = left < room ? left : room;

        heft_cast_counting(k->from, k->to, src, k->out, some * k->unit, &k->losses);
        k->is_refused = !heft_cast_accept(k->to, &k->losses, &k->why);
        if (k->is_refused || !k->each(k->ctx, k->out, some * new))
            return false;
        src += some * old;
        left -= some;
    }
    return true;
}

static enum heft_dtype wider_block(enum heft_dtype a, enum heft_dtype b)
{
    return heft_dtype_block_elements(a) < heft_dtype_block_elements(b) ? b : a;
}

bool heft_cast(enum heft_dtype from, const void *src, enum heft_dtype to, void *dst, size_t n,
               uint64_t *overflowed, struct heft_error *err)
{
    struct heft_cast_losses losses = {0};

    if (!heft_require_arg((src && dst) || n == 0, "an argument", err) ||
        !heft_cast_check(from, to, err))
        return false;
    if (n % heft_cast_unit(from, to) != 0)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "%zu elements are not a multiple of %u, a block of %s", n,
                         heft_cast_unit(from, to), heft_dtype_name(wider_block(from, to)));
    heft_cast_counting(from, to, src, dst, n, &losses);
    if (overflowed)
        *overflowed += losses.finite;
    return heft_cast_accept(to, &losses, err);
}

/* Streams a row, cast to k->to. */
static bool stream_cast(struct heft_checkpoint *c, const struct heft_row *row, struct caster *k,
                        struct heft_error *err)
{
    uint64_t bytes;
    bool ok;

    k->from = (enum heft_dtype)row->dtype;
    if (k->from == k->to)
        return heft_checkpoint_stream(c, row, k->each, k->ctx, err);
    if (!heft_cast_check(k->from, k->to, err))
        return heft_error_about(err, "tensor", row->name);
    if (!heft_row_check_decodes(row, err) || !heft_row_size_as(row, k->to, &bytes, err))
        return false;
    k->unit = heft_cast_unit(k->from, k->to);
    k->out = heft_alloc(OUT, err);
    ok = k->out && heft_checkpoint_stream(c, row, cast_piece, k, err);
    heft_free(k->out);
    if (k->is_refused) {
        *err = k->why;
        heft_error_about(err, "tensor", row->name);
    }
    return ok;
}

bool heft_tensor_stream_as(struct heft_checkpoint *c, size_t index, const struct heft_range *ranges,
                           size_t n_ranges, enum heft_dtype as,
                           bool (*each)(void *ctx, const void *piece, size_t n), void *ctx,
                           uint64_t *overflowed, struct heft_error *err)
{
    if (!heft_require_arg(c && (ranges || n_ranges == 0) && each, "an argument", err))
        return false;
    struct caster k = {.to = as, .each = each, .ctx = ctx};
    struct heft_arena mem = {0};
    struct heft_row row;
    const bool ok = heft_checkpoint_slice(c, index, ranges, n_ranges, &as, &mem, &row, err) &&
                    stream_cast(c, &row, &k, err);

    heft_arena_release(&mem);
    if (overflowed)
        *overflowed += k.losses.finite;
    return ok;
}
