/* nfc_composer.c: Unicode Standard Annex 15, sections 1.3 and 9, and chapter 3.11 of the standard. */
#include "tokens/prepare/nfc_composer.h"
#include "base/text.h"
#include "tokens/prepare/nfc_tables.h"

#define POINT  UINT32_C(0x1FFFFF)
#define PARTS  ((UINT64_C(1) << 42) - 1)
#define DEPTH  4                /* characters of the longest decomposition, U+1F82 */
#define FEW    24               /* marks that are sorted by insertion */
#define L_BASE UINT32_C(0x1100) /* Hangul: leading consonants, vowels, trailing consonants */
#define V_BASE UINT32_C(0x1161)
#define T_BASE UINT32_C(0x11A7)
#define S_BASE UINT32_C(0xAC00)
#define N_L    19U
#define N_V    21U
#define N_T    28U

static unsigned class_of(uint32_t c)
{
    return heft_nfc_classes[heft_nfc_property(c) & HEFT_NFC_CLASS];
}

/* The two parts of a character that has a decomposition. */
static uint64_t parts_of(uint32_t c)
{
    size_t low = 0, high = HEFT_NFC_PAIRS;

    while (high - low > 1) {
        const size_t mid = (low + high) / 2;

        if (heft_nfc_pairs[mid] >> 42 <= c)
            low = mid;
        else
            high = mid;
    }
    return heft_nfc_pairs[low] & PARTS;
}

/* Returns the number of characters. Only the first part of a pair decomposes further. */
static unsigned decompose(uint32_t c, uint32_t out[DEPTH])
{
    uint32_t seconds[DEPTH];
    unsigned n = 0, count = 1;

    while (heft_nfc_property(c) & HEFT_NFC_DECOMPOSES) {
        const uint64_t parts = parts_of(c);

        c = (uint32_t)(parts >> 21);
        if (parts & POINT)
            seconds[n++] = (uint32_t)(parts & POINT);
    }
    out[0] = c;
    while (n > 0)
        out[count++] = seconds[--n];
    return count;
}

static bool is_among(uint32_t c, uint32_t first, uint32_t count)
{
    return c >= first && c - first < count;
}

static uint32_t compose_hangul(uint32_t first, uint32_t second)
{
    if (is_among(first, L_BASE, N_L) && is_among(second, V_BASE, N_V))
        return S_BASE + ((first - L_BASE) * N_V + (second - V_BASE)) * N_T;
    if (is_among(first, S_BASE, N_L * N_V * N_T) && (first - S_BASE) % N_T == 0 &&
        is_among(second, T_BASE + 1, N_T - 1))
        return first + (second - T_BASE);
    return 0;
}

/* Returns the character that two characters compose to; 0: none. Hash table with linear probing. */
static uint32_t compose(uint32_t first, uint32_t second)
{
    const uint64_t parts = (uint64_t)first << 21 | second;
    unsigned slot = heft_nfc_slot(first, second);

    if (first == 0 || !(heft_nfc_property(second) & HEFT_NFC_CHANGES))
        return 0;
    if (second >= V_BASE && second < T_BASE + N_T)
        return compose_hangul(first, second);
    for (; heft_nfc_by_parts[slot] != HEFT_NFC_FREE; slot = (slot + 1) % HEFT_NFC_SLOTS)
        if ((heft_nfc_pairs[heft_nfc_by_parts[slot]] & PARTS) == parts)
            return (uint32_t)(heft_nfc_pairs[heft_nfc_by_parts[slot]] >> 42);
    return 0;
}

/* Sorts a few marks by class; equal ones keep their order. */
static void insert_marks(uint32_t *marks, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const uint32_t mark = marks[i];
        size_t at = i;

        for (; at > 0 && marks[at - 1] >> 24 > mark >> 24; at--)
            marks[at] = marks[at - 1];
        marks[at] = mark;
    }
}

/* Counting sort by class, linear in the number of marks. */
static bool sort_marks(struct heft_nfc_composer *c, struct heft_error *err)
{
    size_t begins[256] = {0};
    size_t sum = 0;

    if (c->n <= FEW) {
        insert_marks(c->marks, c->n);
        return true;
    }
    if (!heft_grow(&c->sorted, &c->sorted_cap, 0, c->n, sizeof *c->sorted, err))
        return false;
    for (size_t i = 0; i < c->n; i++)
        begins[c->marks[i] >> 24]++;
    for (size_t class = 0; class < HEFT_COUNT(begins); class ++) {
        const size_t count = begins[class];

        begins[class] = sum;
        sum += count;
    }
    for (size_t i = 0; i < c->n; i++)
        c->sorted[begins[c->marks[i] >> 24]++] = c->marks[i];
    memcpy(c->marks, c->sorted, c->n * sizeof *c->marks);
    return true;
}

/* Composes the starter with its marks. A mark is blocked by one of the same class before it that
 * did not compose. */
static bool settle_marks(struct heft_nfc_composer *c, struct heft_error *err)
{
    size_t kept = 0;

    if (!sort_marks(c, err))
        return false;
    for (size_t i = 0; i < c->n; i++) {
        const uint32_t mark = c->marks[i];
        const bool is_blocked = kept > 0 && c->marks[kept - 1] >> 24 == mark >> 24;
        const uint32_t whole = is_blocked ? 0 : compose(c->starter, mark & POINT);

        if (whole)
            c->starter = whole;
        else
            c->marks[kept++] = mark;
    }
    c->n = kept;
    return true;
}

static void write_point(uint32_t point, struct heft_buf *out)
{
    char text[4];

    heft_buf_put(out, text, heft_utf8_put(text, point));
}

static void write_all(struct heft_nfc_composer *c, struct heft_buf *out)
{
    if (c->starter)
        write_point(c->starter, out);
    for (size_t i = 0; i < c->n; i++)
        write_point(c->marks[i] & POINT, out);
    heft_nfc_composer_reset(c);
}

static bool put_starter(struct heft_nfc_composer *c, uint32_t starter, struct heft_buf *out,
                        struct heft_error *err)
{
    uint32_t whole;

    if (!settle_marks(c, err))
        return false;
    whole = c->n == 0 ? compose(c->starter, starter) : 0;
    if (!whole)
        write_all(c, out);
    c->starter = whole ? whole : starter;
    if (starter == 0)
        write_point(0, out);
    return true;
}

static bool put_mark(struct heft_nfc_composer *c, uint32_t mark, struct heft_error *err)
{
    if (c->n >= HEFT_NFC_MARKS)
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "U+%04" PRIX32 " has more than %d combining marks; normalization keeps "
                         "them all in memory",
                         c->starter, HEFT_NFC_MARKS);
    if (!heft_grow(&c->marks, &c->cap, c->n, 1, sizeof *c->marks, err))
        return false;
    c->marks[c->n++] = (uint32_t)class_of(mark) << 24 | mark;
    return true;
}

bool heft_nfc_composer_put(struct heft_nfc_composer *c, uint32_t point, struct heft_buf *out,
                           struct heft_error *err)
{
    uint32_t parts[DEPTH];
    const unsigned n = decompose(point, parts);

    for (unsigned i = 0; i < n; i++)
        if (!(class_of(parts[i]) ? put_mark(c, parts[i], err) : put_starter(c, parts[i], out, err)))
            return false;
    return heft_buf_ok(out, err);
}

bool heft_nfc_composer_flush(struct heft_nfc_composer *c, struct heft_buf *out,
                             struct heft_error *err)
{
    if (!settle_marks(c, err))
        return false;
    write_all(c, out);
    return heft_buf_ok(out, err);
}

void heft_nfc_composer_reset(struct heft_nfc_composer *c)
{
    c->starter = 0;
    c->n = 0;
}

void heft_nfc_composer_release(struct heft_nfc_composer *c)
{
    heft_free(c->marks);
    heft_free(c->sorted);
    *c = (struct heft_nfc_composer){0};
}
