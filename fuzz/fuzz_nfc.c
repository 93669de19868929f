/* fuzz_nfc.c: normalization of any text, whole and in pieces, compared with the definition: canonical
 * decomposition, ordering and composition, written down once more without a stage; normalizing again
 * changes nothing. The first byte selects the pieces. */
#include <stdlib.h>
#include <string.h>

#include "put_pieces.h"
#include "base/text.h"
#include "tokens/prepare/nfc.h"
#include "tokens/prepare/nfc_tables.h"
#include "tokens/unicode/utf8.h"

#define MOST 1024 /* bytes of a text */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct points {
    uint32_t at[3 * MOST];
    size_t n;
};

static unsigned class_of(uint32_t c)
{
    return heft_nfc_classes[heft_nfc_property(c) & HEFT_NFC_CLASS];
}

static void decompose(struct points *out, uint32_t c)
{
    if (c >= 0xAC00 && c < 0xD7A4) {
        const uint32_t syllable = c - 0xAC00;

        out->at[out->n++] = 0x1100 + syllable / 588;
        out->at[out->n++] = 0x1161 + syllable % 588 / 28;
        if (syllable % 28)
            out->at[out->n++] = 0x11A7 + syllable % 28;
        return;
    }
    for (size_t i = 0; i < HEFT_NFC_PAIRS && heft_nfc_property(c) & HEFT_NFC_DECOMPOSES; i++)
        if (heft_nfc_pairs[i] >> 42 == c) {
            decompose(out, (uint32_t)(heft_nfc_pairs[i] >> 21) & 0x1FFFFF);
            if (heft_nfc_pairs[i] & 0x1FFFFF)
                decompose(out, (uint32_t)heft_nfc_pairs[i] & 0x1FFFFF);
            return;
        }
    out->at[out->n++] = c;
}

static void order(struct points *points)
{
    for (size_t i = 1; i < points->n; i++)
        for (size_t k = i; k > 0 && class_of(points->at[k]) &&
                           class_of(points->at[k - 1]) > class_of(points->at[k]);
             k--) {
            const uint32_t c = points->at[k];

            points->at[k] = points->at[k - 1];
            points->at[k - 1] = c;
        }
}

/* A pair composes unless its whole is excluded: excluded ones change themselves. */
static uint32_t whole_of(uint32_t first, uint32_t second)
{
    if (first >= 0x1100 && first < 0x1113 && second >= 0x1161 && second < 0x1176)
        return 0xAC00 + ((first - 0x1100) * 21 + second - 0x1161) * 28;
    if (first >= 0xAC00 && first < 0xD7A4 && (first - 0xAC00) % 28 == 0 && second > 0x11A7 &&
        second < 0x11C3)
        return first + second - 0x11A7;
    for (size_t i = 0; i < HEFT_NFC_PAIRS && heft_nfc_property(second) & HEFT_NFC_CHANGES; i++) {
        const uint32_t c = (uint32_t)(heft_nfc_pairs[i] >> 42);

        if ((heft_nfc_pairs[i] & ((UINT64_C(1) << 42) - 1)) == ((uint64_t)first << 21 | second) &&
            second && !(heft_nfc_property(c) & HEFT_NFC_CHANGES))
            return c;
    }
    return 0;
}

/* D117 of the standard: a character is blocked from the last starter if one between them is a
 * starter or has the same or a higher class. */
static void compose(struct points *points)
{
    size_t starter = SIZE_MAX, kept = 0;

    for (size_t i = 0; i < points->n; i++) {
        const uint32_t c = points->at[i];
        const bool is_next = kept > 0 && starter == kept - 1;
        uint32_t whole = 0;

        if (starter != SIZE_MAX && (is_next || class_of(points->at[kept - 1]) < class_of(c)))
            whole = whole_of(points->at[starter], c);
        if (whole) {
            points->at[starter] = whole;
            continue;
        }
        if (class_of(c) == 0)
            starter = kept;
        points->at[kept++] = c;
    }
    points->n = kept;
}

static void normalize_slowly(const uint8_t *text, size_t n, struct heft_buf *out)
{
    static struct points points;

    points.n = 0;
    for (size_t at = 0; at < n;) {
        unsigned width;

        decompose(&points, heft_utf8_at(text + at, &width));
        at += width;
    }
    order(&points);
    compose(&points);
    for (size_t i = 0; i < points.n; i++) {
        char c[4];

        heft_buf_put(out, c, heft_utf8_put(c, points.at[i]));
    }
}

static bool keep(void *ctx, const uint8_t *text, size_t n, struct heft_error *err)
{
    expect(n > 0 && heft_utf8_check((struct heft_bytes){text, n}) == n);
    heft_buf_put(ctx, text, n);
    return heft_buf_ok(ctx, err);
}

static bool keep_cut(void *ctx, uint32_t id, struct heft_error *err)
{
    (void)ctx;
    (void)err;
    return id == 5;
}

static void normalize_pieces(const uint8_t *text, size_t n, unsigned most, struct heft_buf *out)
{
    struct heft_error err = {0};
    struct heft_nfc_stage *s =
        heft_nfc_stage_new((struct heft_text_sink){out, keep, keep_cut}, &err);

    put_pieces(heft_nfc_stage_sink(s), text, n, most, 5);
    heft_nfc_stage_free(s);
}

static void expect_equal(const struct heft_buf *a, const struct heft_buf *b)
{
    expect(a->n == b->n && (a->n == 0 || memcmp(a->p, b->p, a->n) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct heft_buf wanted = {0}, whole = {0}, pieces = {0}, again = {0};
    struct heft_error err = {0};

    if (size < 2 || size > MOST ||
        heft_utf8_check((struct heft_bytes){data + 1, size - 1}) < size - 1)
        return 0;
    normalize_slowly(data + 1, size - 1, &wanted);
    expect_success(heft_nfc_text((struct heft_str){(const char *)data + 1, size - 1}, &whole, &err),
                   &err);
    expect_equal(&whole, &wanted);
    normalize_pieces(data + 1, size - 1, data[0] + 1, &pieces);
    expect_equal(&pieces, &wanted);
    expect_success(heft_nfc_text((struct heft_str){whole.p, whole.n}, &again, &err), &err);
    expect_equal(&again, &whole);
    heft_buf_release(&wanted);
    heft_buf_release(&whole);
    heft_buf_release(&pieces);
    heft_buf_release(&again);
    return 0;
}
