/* inflate_fast.h: symbols where input and room are plenty; compiled once for any processor
 * (inflate_fast.c) and once for those that shift and mask in one step (inflate_x86.c).
 *
 * One look into the table gives two literals or a match of up to 16 bytes, with its distance, and both
 * are written the same way: first the literals, then 16 bytes from before, of which none or some
 * count. So nothing is guessed and nothing guessed wrong. Two such looks take at most 48 of the 56
 * bits that a refill ensures, and as it fills all 64, the third can be begun before the next. */
#ifndef HEFT_INFLATE_FAST_H
#define HEFT_INFLATE_FAST_H

#include "base/inflate_parts.h"

#define INLINE   static inline __attribute__((always_inline))
#define MASK     ((1u << HEFT_INFLATE_BITS) - 1)
#define FAR_MASK ((1u << HEFT_INFLATE_FAR_BITS) - 1)

struct run {
    uint64_t bits;
    uint32_t n;
    const uint8_t *in;
    uint8_t *out, *begin;
    const uint64_t *table;
};

INLINE void copy8(uint8_t *to, const uint8_t *from)
{
    memcpy(to, from, 8);
}

INLINE void refill(struct run *r)
{
    r->bits |= heft_le64(r->in) << r->n;
    r->in += (63 - r->n) >> 3;
    r->n |= 56;
}

INLINE void drop(struct run *r, uint32_t n)
{
    r->bits >>= n;
    r->n -= n;
}

/* Bits of the first `all` that are behind the first `before`. */
INLINE uint32_t extra(uint64_t bits, uint32_t all, uint32_t before)
{
    return (uint32_t)((bits & ((UINT64_C(1) << all) - 1)) >> before);
}

INLINE uint32_t distance_of(uint64_t entry, uint64_t bits)
{
    return (uint32_t)(entry >> 16 & 0xffff) +
           extra(bits, (uint32_t)(entry & 0xff), (uint32_t)(entry >> 8 & 0xff));
}

INLINE bool take_near(struct run *r, uint32_t near, uint64_t *next)
{
    const uint64_t entry = *next;
    const uint32_t distance = distance_of(entry, r->bits), length = (uint32_t)(entry >> 32 & 0xff);
    const uint8_t *from;

    if (HEFT_UNLIKELY(length > near) || HEFT_UNLIKELY(distance > (size_t)(r->out - r->begin)))
        return false;
    drop(r, (uint32_t)(entry & 0xff));
    *next = r->table[r->bits & MASK];
    heft_put_le16(r->out, (uint16_t)(entry >> 40));
    r->out += entry >> 56;
    from = r->out - distance;
    copy8(r->out, from);
    if (near > 8)
        copy8(r->out + 8, from + 8);
    r->out += length;
    return true;
}

/* The bytes of a match that lie in the window, before what this step made. */
static uint32_t copy_window(struct run *r, const struct heft_inflate *z, uint32_t length,
                            uint32_t distance)
{
    const uint32_t back = distance - (uint32_t)(r->out - r->begin);
    const uint32_t n = length < back ? length : back;

    memcpy(r->out, z->window + z->window_n - back, n);
    r->out += n;
    return length - n;
}

/* A match; writes up to 15 bytes more. */
INLINE void copy_match(struct run *r, const struct heft_inflate *z, uint32_t length,
                       uint32_t distance)
{
    uint8_t *to, *end;

    if (HEFT_UNLIKELY(distance > (size_t)(r->out - r->begin)))
        length = copy_window(r, z, length, distance);
    if (length == 0)
        return;
    to = r->out;
    r->out = end = to + length;
    if (distance < 8) { /* the pattern, until whole ones are 8 bytes */
        for (uint32_t i = 0; i < 8; i++)
            to[i] = to[(ptrdiff_t)i - (ptrdiff_t)distance];
        distance *= (7 + distance) / distance;
        to += 8;
    }
    do {
        copy8(to, to - distance);
        copy8(to + 8, to + 8 - distance);
        to += 16;
    } while (to < end);
}

/* What the table does not have, in the ordinary way. False: the block has ended, or an error. */
static bool take_symbol(struct heft_inflate *z, struct heft_inflate_io *io, struct run *r, bool *ok,
                        struct heft_error *err)
{
    bool more;

    z->bits = r->bits & ((UINT64_C(1) << r->n) - 1);
    z->n_bits = r->n;
    io->in = r->in;
    io->out = r->out;
    *ok = heft_inflate_symbol(z, io, &more, err);
    r->bits = z->bits;
    r->n = z->n_bits;
    r->in = io->in;
    r->out = io->out;
    return *ok && z->part == HEFT_INFLATE_SYMBOLS;
}

/* A long match, or one with a long code. False: it has to be taken in the ordinary way. */
INLINE bool take_far(struct run *r, const struct heft_inflate *z, uint64_t entry)
{
    const enum heft_inflate_kind kind = (enum heft_inflate_kind)(entry >> 56);
    uint32_t length = (uint32_t)(entry >> 40 & 0xffff), distance;
    uint32_t n = (uint32_t)(entry & 0xff);

    if ((entry >> 32 & 0xff) != HEFT_INFLATE_OTHER) {
        length = (uint32_t)(entry >> 32 & 0xff);
        n = length ? n : 0;
        distance = distance_of(entry, r->bits);
    } else if (kind == HEFT_INFLATE_SYMBOL) {
        return false;
    } else if (kind == HEFT_INFLATE_LENGTH) {
        const uint64_t bits = r->bits >> n;
        const uint32_t far = z->far[bits & FAR_MASK];

        length += extra(r->bits, n, (uint32_t)(entry >> 8 & 0xff));
        distance = distance_of(far, bits);
        n = far ? n + (far & 0xff) : 0;
    } else {
        distance = distance_of(entry, r->bits);
    }
    if (n == 0 || distance > (size_t)(r->out - r->begin) + z->window_n)
        return false;
    drop(r, n);
    copy_match(r, z, length, distance);
    return true;
}

INLINE bool run_near(struct heft_inflate *z, struct heft_inflate_io *io, uint32_t near,
                     struct heft_error *err)
{
    const uint8_t *const in_end = io->in_end - HEFT_INFLATE_FAST_IN;
    uint8_t *const out_end = io->out_end - HEFT_INFLATE_FAST_OUT;
    struct run r = {z->bits, z->n_bits, io->in, io->out, io->out_begin, z->table};
    bool ok = true, go_on = true;
    uint64_t next;

    refill(&r);
    next = r.table[r.bits & MASK];
    while (go_on && r.in <= in_end && r.out <= out_end) {
        refill(&r);
        if (take_near(&r, near, &next) && take_near(&r, near, &next))
            continue;
        refill(&r);
        if (!take_far(&r, z, next)) {
            struct run now = r; /* r itself never leaves its registers */

            go_on = take_symbol(z, io, &now, &ok, err);
            r = now;
            refill(&r);
        }
        next = r.table[r.bits & MASK];
    }
    z->bits = r.bits & ((UINT64_C(1) << r.n) - 1);
    z->n_bits = r.n;
    io->in = r.in;
    io->out = r.out;
    return ok;
}

INLINE bool run_fast(struct heft_inflate *z, struct heft_inflate_io *io, struct heft_error *err)
{
    return z->near == 8 ? run_near(z, io, 8, err) : run_near(z, io, 16, err);
}

#endif
