/* ascii_words_loops.h: the rules as arithmetic on masks, the same for every kernel.
 *
 * Digits, punctuation and white space are bytes of their class; a word begins
 *     at a letter, unless a letter is before it, or one character of the word that is no letter;
 *     at the first digit of a run, and after each group of digits;
 *     at punctuation, unless punctuation or a blank is before it;
 *     at the first byte of white space, after its last line end, and at its last byte if that is no
 *     line end: that byte goes with what follows. */
#ifndef HEFT_ASCII_WORDS_LOOPS_H
#define HEFT_ASCII_WORDS_LOOPS_H

#include "tokens/split/ascii_words.h"

/* Classes of 64 bytes, a bit each, the first byte in bit 0. */
struct heft_ascii_masks {
    uint64_t letter, number, space; /* `space`: all white space */
    uint64_t upper;                 /* capitals, which are in `letter`, too */
    uint64_t blank, line;           /* the byte 0x20; CR and LF; both are in `space`, too */
    uint64_t quote, slash;          /* the bytes 0x27 and 0x2F */
    uint64_t wide;                  /* bytes 0x80 and higher, which are in no other mask */
};

/* The bits below bit i; all of them for 64. */
HEFT_INLINE uint64_t heft_ascii_below(unsigned i)
{
    return i < 64 ? (UINT64_C(1) << i) - 1 : UINT64_MAX;
}

/* Line ends, and slashes after them, that belong to punctuation. Adding the first bit of a run of
 * bits carries through the run and clears it. */
HEFT_INLINE HEFT_WRAPS uint64_t heft_ascii_tails(const struct heft_ascii_rules *rules,
                                                 const struct heft_ascii_masks *m, uint64_t other)
{
    const uint64_t slash = rules->tail == HEFT_TAIL_LINES_AND_SLASHES ? m->slash : 0;
    const uint64_t runs = m->line | slash, first = m->line & other << 1;

    return rules->tail == HEFT_TAIL_NONE ? 0 : (runs & ~(runs + first)) | first;
}

/* Begins of groups of digits. */
HEFT_INLINE HEFT_WRAPS uint64_t heft_ascii_groups(const struct heft_ascii_rules *rules,
                                                  uint64_t number)
{
    uint64_t begin = number & ~(number << 1), full = number & number << 1, more;

    if (rules->digits == 1)
        return number;
    if (HEFT_LIKELY(full == 0) || rules->digits == 0)
        return begin;
    full &= number << 2;
    if (rules->digits == 3)
        full &= number << 3;
    for (more = begin << rules->digits & full; more; more = more << rules->digits & full)
        begin |= more;
    return begin;
}

/* Of bytes after line ends in white space, drops those after which another line end follows in the
 * same white space, as in lines of blanks. `after` begin runs of `gaps`, white space but line ends. */
HEFT_INLINE HEFT_WRAPS uint64_t heft_ascii_after_lines(uint64_t after, uint64_t gaps, uint64_t line)
{
    uint64_t lines = (gaps + after) & ~gaps & line;

    for (; HEFT_UNLIKELY(lines); lines &= lines - 1)
        after &= ~(UINT64_C(1) << heft_highest_bit(after & ((lines & (0 - lines)) - 1)));
    return after;
}

HEFT_INLINE HEFT_WRAPS uint64_t heft_ascii_spaces(uint64_t space, uint64_t line)
{
    const uint64_t gaps = space & ~line;
    const uint64_t after = gaps & line << 1;

    return (space & ~(space << 1)) | (gaps & ~(space >> 1)) |
           heft_ascii_after_lines(after, gaps, line);
}

/* Length of a contraction at p; 0: there is none. Reads three bytes. */
HEFT_INLINE unsigned heft_ascii_contraction(const uint8_t *p)
{
    const uint8_t one = p[1] | 0x20, two = p[2] | 0x20;

    if (one == 's' || one == 't' || one == 'm' || one == 'd')
        return 2;
    return (two == 'e' && (one == 'r' || one == 'v')) || (one == 'l' && two == 'l') ? 3 : 0;
}

/* Contractions at quotes: where one begins a word, or where one follows a letter of a word. Of each in
 * `quote` three bytes are in the block. */
HEFT_INLINE HEFT_WRAPS uint64_t heft_ascii_contractions(bool is_alone, const uint8_t *text,
                                                        uint64_t letter, uint64_t quote,
                                                        uint64_t begin)
{
    for (uint64_t left = quote & (is_alone ? begin : letter << 1); HEFT_UNLIKELY(left);) {
        const unsigned i = heft_lowest_bit(left), length = heft_ascii_contraction(text + i);
        const uint64_t within = heft_ascii_below(length) << i;
        const uint64_t next = i + length < 64 ? UINT64_C(1) << (i + length) : 0;

        left &= left - 1;
        if (length == 0)
            continue;
        begin = (begin & ~(is_alone ? within & within << 1 : within)) | next;
        left &= is_alone ? left : ~next; /* the letter before it is in no word of letters */
    }
    return begin;
}

/* Begins of words in a block, bit 0 among them. */
HEFT_INLINE HEFT_WRAPS uint64_t heft_ascii_begins(const struct heft_ascii_rules *rules,
                                                  const uint8_t *text,
                                                  const struct heft_ascii_masks *m, uint64_t space,
                                                  uint64_t tails, uint64_t quote)
{
    const uint64_t other = ~(m->letter | m->number | m->space | m->wide | tails);
    const uint64_t signs = other & ~(other << 1 | m->blank << 1);
    const uint64_t turn = rules->is_cased ? m->upper & (m->letter & ~m->upper) << 1 : 0;
    const uint64_t before = (m->letter << 1 & ~turn) | (signs | (m->space & ~m->line)) << 1;
    const uint64_t begin = (m->letter & ~before) | signs | heft_ascii_groups(rules, m->number) |
                           heft_ascii_spaces(space, m->line) | 1;

    return quote ? heft_ascii_contractions(rules->contraction == HEFT_CONTRACTION_ALONE, text,
                                           m->letter, quote, begin)
                 : begin;
}

/* Begins of words in a block without bit 0, up to the first that bytes after the block may change. */
HEFT_INLINE HEFT_WRAPS uint64_t heft_ascii_sure(const struct heft_ascii_rules *rules,
                                                const uint8_t *text,
                                                const struct heft_ascii_masks *m)
{
    const uint64_t valid = (m->wide & (0 - m->wide)) - 1; /* all, if there is none */
    const uint64_t tails =
        heft_ascii_tails(rules, m, ~(m->letter | m->number | m->space | m->wide));
    const uint64_t space = m->space & ~tails & valid;
    const uint64_t quote = rules->contraction == HEFT_CONTRACTION_NONE ? 0 : m->quote & valid;
    const uint64_t late = quote & ~(valid >> 2);
    uint64_t sure = valid & ~UINT64_C(1);

    if (HEFT_UNLIKELY(late))
        sure &= (late & (0 - late)) - 1;
    if (space & ~(valid >> 1)) { /* white space to the end: its first byte is the last begin */
        const uint64_t others = valid & ~space;

        sure &= others ? heft_ascii_below(heft_highest_bit(others) + 2) : 0;
    }
    return sure == 0 ? 0 : sure & heft_ascii_begins(rules, text, m, space, tails, quote & ~late);
}

/* The function `scan` of a kernel whose functions are `masks` and `places`. */
#define HEFT_ASCII_SCAN(masks, places)                                                             \
    size_t count = 1;                                                                              \
                                                                                                   \
    while (n - at >= HEFT_ASCII_BLOCK && room - count >= HEFT_ASCII_BLOCK + HEFT_ASCII_SPARE) {    \
        struct heft_ascii_masks m;                                                                 \
        uint64_t begin;                                                                            \
                                                                                                   \
        masks(text + at, &m);                                                                      \
        begin = heft_ascii_sure(rules, text + at, &m);                                             \
        if (begin == 0)                                                                            \
            break;                                                                                 \
        count += places(begin, (uint32_t)at, starts + count);                                      \
        at += heft_highest_bit(begin);                                                             \
    }                                                                                              \
    return count

#endif
