/* inflate_slow.c: symbols one at a time, looked up in the codes: where input or room end, and the few
 * that the tables do not have. */
#include "base/inflate_parts.h"

/* What begins at the low end of the bits. */
struct found {
    uint32_t n; /* bits that it takes: UNKNOWN if more than there are */
    uint32_t symbol;
    struct heft_inflate_match match;
};
#define UNKNOWN 64

bool heft_inflate_need(struct heft_inflate *z, struct heft_inflate_io *io, uint32_t n)
{
    while (z->n_bits < n && io->in < io->in_end) {
        z->bits |= (uint64_t)*io->in++ << z->n_bits;
        z->n_bits += 8;
    }
    return z->n_bits >= n;
}

static uint32_t with_extra(const struct heft_inflate_range *range, uint64_t bits)
{
    return range->least + (uint32_t)(bits & ((UINT64_C(1) << range->extra) - 1));
}

/* The word behind the first n bits, of fewer than `known` symbols. */
static bool find_word(const struct heft_inflate *z, const struct heft_inflate_code *code,
                      uint32_t known, struct found *found, struct heft_error *err)
{
    const uint32_t n = heft_inflate_code_find(code, z->bits >> found->n, &found->symbol);
    const bool is_there = found->n + (n ? n : HEFT_INFLATE_MOST) <= z->n_bits;

    if (is_there && (n == 0 || found->symbol >= known))
        return heft_inflate_fail(err, "a code that its table does not have");
    found->n = is_there ? found->n + n : UNKNOWN;
    return true;
}

static bool find_match(const struct heft_inflate *z, struct found *found, struct heft_error *err)
{
    const struct heft_inflate_range *range =
        &heft_inflate_lengths[found->symbol - HEFT_INFLATE_END - 1];

    found->match.length = with_extra(range, z->bits >> found->n);
    found->n += range->extra;
    if (!find_word(z, &z->distances, HEFT_COUNT(heft_inflate_distances), found, err))
        return false;
    if (found->n == UNKNOWN)
        return true;
    range = &heft_inflate_distances[found->symbol];
    found->match.distance = with_extra(range, z->bits >> found->n);
    found->n += range->extra;
    return true;
}

void heft_inflate_copy(struct heft_inflate *z, struct heft_inflate_io *io)
{
    struct heft_inflate_match *match = &z->match;

    for (; match->length > 0 && io->out < io->out_end; match->length--) {
        const size_t made = (size_t)(io->out - io->out_begin);

        *io->out = match->distance <= made ? io->out[-(ptrdiff_t)match->distance]
                                           : z->window[z->window_n + made - match->distance];
        io->out++;
    }
}

static bool begin_match(struct heft_inflate *z, struct heft_inflate_io *io,
                        const struct found *found, struct heft_error *err)
{
    if (found->match.distance > (size_t)(io->out - io->out_begin) + z->window_n)
        return heft_inflate_fail(err, "a reference to before its beginning");
    z->match = found->match;
    heft_inflate_copy(z, io);
    return true;
}

bool heft_inflate_symbol(struct heft_inflate *z, struct heft_inflate_io *io, bool *more,
                         struct heft_error *err)
{
    struct found found = {0};
    bool is_match;

    (void)heft_inflate_need(z, io, 48);
    if (!find_word(z, &z->literals, HEFT_INFLATE_END + 1 + HEFT_COUNT(heft_inflate_lengths), &found,
                   err))
        return false;
    is_match = found.n < UNKNOWN && found.symbol > HEFT_INFLATE_END;
    if (is_match && !find_match(z, &found, err))
        return false;
    *more = found.n <= z->n_bits;
    if (!*more)
        return true;
    heft_inflate_drop(z, found.n);
    if (is_match)
        return begin_match(z, io, &found, err);
    if (found.symbol == HEFT_INFLATE_END)
        heft_inflate_end_block(z);
    else
        *io->out++ = (uint8_t)found.symbol;
    return true;
}
