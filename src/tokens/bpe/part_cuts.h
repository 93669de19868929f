/* part_cuts.h: places within a pre-token that no merge crosses, before characters of 3 and 4 bytes.
 *
 * The first merge that crosses a place has a left part that ends there and a right part that begins
 * there. So it is enough to compare the three bytes before and the three after, or as many as the
 * parts have, with those of all merges (a Bloom filter). Runs of Chinese or Japanese are long and
 * rarely repeat; most of the two or three characters between such places do. */
#ifndef HEFT_PART_CUTS_H
#define HEFT_PART_CUTS_H

#include "base/endian.h"
#include "tokens/bpe/byte_adjacency.h"

#define HEFT_CUT_SIDE 3 /* bytes that are compared on each side */

struct heft_part_cuts {
    /* [last byte before]: a bit for each byte after which a merge meets there that has a part of
     * fewer than three bytes */
    struct heft_byte_adjacency shorter;
    uint64_t *filter;
    unsigned bits; /* log2 of its size in bits */
};

HEFT_CHECKED bool heft_part_cuts_init(struct heft_part_cuts *cuts, const struct heft_vocab *v,
                                      struct heft_error *err);
void heft_part_cuts_release(struct heft_part_cuts *cuts);
/* Whether a merge with a part of fewer than three bytes may meet in the middle of `around`. */
bool heft_part_cuts_has_shorter(const struct heft_part_cuts *cuts, uint64_t around);

/* The bit of the filter for the bytes around a place. */
HEFT_WRAPS static inline size_t heft_part_cuts_bit(const struct heft_part_cuts *cuts,
                                                   uint64_t around)
{
    const uint64_t hash = around * UINT64_C(0x9E3779B97F4A7C15);

    return (size_t)((hash ^ hash >> 29) * UINT64_C(0xBF58476D1CE4E5B9) >> (64 - cuts->bits));
}

static inline bool heft_part_cuts_has(const struct heft_part_cuts *cuts, uint64_t around)
{
    const size_t bit = heft_part_cuts_bit(cuts, around);

    return cuts->filter[bit / 64] >> bit % 64 & 1;
}

/* Whether some merge may cross the place before text[at], where a character of 3 bytes or more
 * begins. Reads text[at - 3, at + 5). */
static inline bool heft_part_cuts_cross(const struct heft_part_cuts *cuts, const uint8_t *text,
                                        size_t at)
{
    const uint64_t around = heft_le64(text + at - HEFT_CUT_SIDE) & UINT64_MAX >> 16;
    const bool has = heft_part_cuts_has(cuts, around);

    if (HEFT_UNLIKELY(!has & heft_bytes_adjoin(&cuts->shorter, text[at - 1], text[at])))
        return heft_part_cuts_has_shorter(cuts, around);
    return has;
}

#endif
