/* word_scan.c: bit masks of classes → first bytes of pre-tokens.
 *
 *     begin = ¬space ∧ ¬(same class as before) ∧ ¬(blank before)
 *           ∨  space ∧ (no space before ∨ no space after)
 *
 * Then contractions ('s, 't, 're …) are handled where a quote begins a pre-token. What a block
 * needs from the one before is carried in the lowest bits. */
#include "tokens/bpe/word_scan.h"

#include "tokens/unicode/utf8.h"

#define AHEAD 4 /* bytes after a block that it reads */
#define DOUBT 8 /* bytes before a window's end where the result may depend on what follows */

/* State that one block passes to the next: bits for its first bytes. */
struct carry {
    uint64_t letter, number, space, other; /* classes of a character that extends into the block */
    uint64_t tail;                         /* its continuation bytes, which begin nothing */
    uint64_t hush;                         /* spaces exempt from "no space after": decided before */
    uint64_t begin;                        /* begins of pre-tokens … */
    uint64_t clear;  /* … and positions that are none, due to a contraction */
    uint64_t before; /* class of the last byte: 1 letter, 2 number, 4 other, 8 space, 16 blank */
};

struct block {
    struct heft_masks m;
    uint64_t other, tail, hush, extra;
};

/* ---- characters beyond ASCII ------------------------------------------------------------- */

static bool is_space_at(const struct heft_classes *classes, const uint8_t *p)
{
    unsigned width;

    if (p[0] < 0x80)
        return p[0] == ' ' || (p[0] >= 9 && p[0] <= 13);
    return heft_class_of(classes, heft_utf8_at(p, &width)) == HEFT_CLASS_SPACE;
}

/* Adds `bits` of a character that begins at bit i to *mask; the excess goes to *next. */
HEFT_WRAPS static void put_bits(uint64_t *mask, uint64_t *next, uint64_t bits, unsigned i)
{
    *mask |= bits << i;
    if (i > 60)
        *next |= bits >> (64 - i);
}

struct place {
    const struct heft_classes *classes;
    const uint8_t *text;
    const struct heft_byte_adjacency *adjacency;
    uint8_t before; /* the byte before text[0] */
    size_t left;    /* bytes of the text from text[0] on */
};

/* Whether no token contains the byte before i and the byte at i together. */
static bool is_joint_free(const struct place *at, unsigned i)
{
    const uint8_t before = i ? at->text[i - 1] : at->before;

    return at->adjacency && !heft_bytes_adjoin(at->adjacency, before, at->text[i]);
}

/* Non-ASCII characters of a block by class: their bits in it, and in the next block. */
struct wide {
    uint64_t in[4], beyond[4]; /* indexed by enum heft_class */
    uint64_t tail, tail_beyond;
};

/* No branch on letters: most characters are, but not predictably. */
static void put_character(const struct place *at, struct block *b, struct wide *wide, unsigned i,
                          unsigned *width)
{
    const uint32_t c = heft_utf8_at(at->text + i, width);
    const uint64_t bits = (UINT64_C(1) << *width) - 1;
    const unsigned class = heft_class_of(at->classes, c);

    put_bits(&wide->tail, &wide->tail_beyond, bits & ~UINT64_C(1), i);
    put_bits(&wide->in[class], &wide->beyond[class], bits, i);
    if (class == HEFT_CLASS_SPACE && i + *width < at->left &&
        !is_space_at(at->classes, at->text + i + *width))
        b->extra |= UINT64_C(1) << i;
    b->extra |= (uint64_t)(class == HEFT_CLASS_LETTER && *width > 2 && is_joint_free(at, i)) << i;
}

HEFT_WRAPS static void put_wide(const struct place *at, struct block *b, struct carry *next)
{
    struct wide wide = {0};
    unsigned width;

    for (uint64_t leads = b->m.wide & ~b->tail; leads;) {
        const unsigned i = heft_lowest_bit(leads);

        put_character(at, b, &wide, i, &width);
        leads &= ~(((UINT64_C(2) << (width - 1)) - 1) << i);
    }
    b->m.letter |= wide.in[HEFT_CLASS_LETTER];
    b->m.number |= wide.in[HEFT_CLASS_NUMBER];
    b->m.space |= wide.in[HEFT_CLASS_SPACE];
    b->hush |= wide.in[HEFT_CLASS_SPACE];
    b->other |= wide.in[HEFT_CLASS_OTHER];
    b->tail |= wide.tail;
    next->letter |= wide.beyond[HEFT_CLASS_LETTER];
    next->number |= wide.beyond[HEFT_CLASS_NUMBER];
    next->space |= wide.beyond[HEFT_CLASS_SPACE];
    next->hush |= wide.beyond[HEFT_CLASS_SPACE];
    next->other |= wide.beyond[HEFT_CLASS_OTHER];
    next->tail |= wide.tail_beyond;
}

/* ---- contractions ------------------------------------------------------------------------ */

static unsigned short_form(const uint8_t *p)
{
    if (p[1] == 's' || p[1] == 't' || p[1] == 'm' || p[1] == 'd')
        return 2;
    return (p[2] == 'e' && (p[1] == 'r' || p[1] == 'v')) || (p[1] == 'l' && p[2] == 'l') ? 3 : 0;
}

static uint64_t cut_short_forms(const uint8_t *text, uint64_t quotes, uint64_t begin,
                                struct carry *next)
{
    for (uint64_t left = quotes & begin; left; left &= left - 1) {
        const unsigned i = heft_lowest_bit(left);
        const unsigned length = short_form(text + i);

        if (length == 0)
            continue;
        if (i + 1 < 64)
            begin &= ~(UINT64_C(2) << i);
        else
            next->clear |= 1;
        if (i + length < 64)
            begin |= UINT64_C(1) << (i + length);
        else
            next->begin |= UINT64_C(1) << (i + length - 64);
    }
    return begin;
}

/* ---- one block of 64 bytes --------------------------------------------------------------- */

HEFT_WRAPS static uint64_t begins_of(const struct place *at, struct block *b,
                                     const struct carry *in, struct carry *next, bool space_behind)
{
    const struct heft_masks *m = &b->m;
    const uint64_t before = in->before, top = UINT64_C(1) << 63;
    const uint64_t same = (m->letter & (m->letter << 1 | (before & 1))) |
                          (m->number & (m->number << 1 | (before >> 1 & 1))) |
                          (b->other & (b->other << 1 | (before >> 2 & 1)));
    const uint64_t after_space = m->space << 1 | (before >> 3 & 1);
    const uint64_t after_blank = m->blank << 1 | (before >> 4 & 1);
    const uint64_t then_space = m->space >> 1 | (space_behind ? top : 0);
    uint64_t begin = (~m->space & ~same & ~after_blank) |
                     (m->space & (~after_space | (~then_space & ~b->hush))) | b->extra;

    begin = ((begin & ~b->tail) | in->begin) & ~in->clear;
    begin = cut_short_forms(at->text, m->quote, begin, next);
    next->before = (m->letter >> 63) | (m->number >> 63) << 1 | (b->other >> 63) << 2 |
                   (m->space >> 63) << 3 | (m->blank >> 63) << 4;
    return begin;
}

static uint64_t scan_block(const struct heft_scan *scan, const struct place *at, struct carry *c)
{
    struct carry next = {0};
    struct block b = {.tail = c->tail, .hush = c->hush, .other = c->other};
    const uint8_t behind = at->text[HEFT_SCAN_BLOCK];
    uint64_t begin;

    scan->kernel->masks(at->text, &b.m);
    b.m.letter |= c->letter;
    b.m.number |= c->number;
    b.m.space |= c->space;
    if (b.m.wide)
        put_wide(at, &b, &next);
    b.other |= ~(b.m.letter | b.m.number | b.m.space | b.m.wide);
    begin = begins_of(at, &b, c, &next,
                      behind < 0x80 ? behind == ' ' || (behind >= 9 && behind <= 13)
                                    : is_space_at(scan->classes, at->text + HEFT_SCAN_BLOCK));
    *c = next;
    return begin;
}

/* ---- texts of any length ----------------------------------------------------------------- */

/* Scans the last block of a text: bytes after the end read as blanks and do not count. */
static size_t scan_end(const struct heft_scan *scan, const uint8_t *text, size_t n, size_t at,
                       struct carry *c, uint32_t *starts)
{
    uint8_t copy[2 * HEFT_SCAN_BLOCK];
    const struct place place = {scan->classes, copy, scan->adjacency, at ? text[at - 1] : 0,
                                n - at};
    uint64_t begin;

    memset(copy, ' ', sizeof copy);
    memcpy(copy, text + at, n - at);
    begin = scan_block(scan, &place, c);
    if (n - at < HEFT_SCAN_BLOCK)
        begin &= (UINT64_C(1) << (n - at)) - 1;
    return scan->kernel->places(begin, (uint32_t)at, starts);
}

size_t heft_scan_words(const struct heft_scan *scan, const uint8_t *text, size_t n, size_t at,
                       bool is_last, uint32_t *starts)
{
    const size_t end = n - at > HEFT_SCAN_WINDOW ? at + HEFT_SCAN_WINDOW : n;
    struct carry carry = {0};
    size_t count = 0;

    carry.begin = 1;
    for (size_t i = at; i < end; i += HEFT_SCAN_BLOCK) {
        const struct place place = {scan->classes, text + i, scan->adjacency, i ? text[i - 1] : 0,
                                    n - i};

        if (n - i > HEFT_SCAN_BLOCK + AHEAD)
            count +=
                scan->kernel->places(scan_block(scan, &place, &carry), (uint32_t)i, starts + count);
        else
            count += scan_end(scan, text, n, i, &carry, starts + count);
    }
    if (end == n && is_last) {
        starts[count++] = (uint32_t)n;
        return count;
    }
    while (count > 1 && starts[count - 1] + DOUBT > end)
        count--;
    return count;
}
