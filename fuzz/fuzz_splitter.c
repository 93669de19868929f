/* fuzz_splitter.c: a chain of split patterns, and a text, which is made valid UTF-8.
 *
 *    byte 0    number of steps: 1 to 4; its upper bits: sizes of the pieces of text
 *    a step:   byte: engine, behaviour, invert, literal; the pattern, up to a byte 0
 *    the rest  the text
 *
 * Invariants: a pattern is compiled, or refused with an error of its kind at an offset in it; a
 * chain makes progress, and its pre-tokens cover the text; text in pieces, with little room, gives
 * the same pre-tokens as the whole; so do the parts of a text that is cut; a splitter that is total
 * matches everywhere. */
#include "expect.h"
#include "base/text.h"
#include "tokens/split/pretokens.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STEPS 4
#define MOST  600 /* bytes of the text */
#define SMALL 3   /* entries, for text in pieces */

/* Pre-tokens of a text: where they begin, and which are dropped; the end of the text. */
struct found {
    uint32_t starts[MOST + 1];
    size_t n;
};

struct input {
    struct heft_pretokens_step steps[STEPS];
    size_t n_steps, n;
    unsigned pieces;
    uint8_t text[MOST + 4];
};

static bool read_input(struct input *in, const uint8_t *data, size_t size)
{
    size_t at = 1;

    if (size == 0)
        return false;
    in->n_steps = 1 + data[0] % STEPS;
    in->pieces = 1 + data[0] / STEPS;
    for (size_t i = 0; i < in->n_steps; i++) {
        struct heft_pretokens_step *const step = &in->steps[i];
        const uint8_t kind = at < size ? data[at++] : 0;
        const uint8_t *const end = at < size ? memchr(data + at, 0, size - at) : NULL;

        if (!end)
            return false;
        step->engine = kind & 1 ? HEFT_ENGINE_TOKENIZERS : HEFT_ENGINE_TIKTOKEN;
        step->behavior = (enum heft_pretokens_behavior)(kind / 2 % 8 % 5);
        step->invert = kind & 16;
        step->is_literal = kind & 32;
        step->pattern = (struct heft_str){(const char *)data + at, (size_t)(end - data) - at};
        at = (size_t)(end - data) + 1;
    }
    for (in->n = 0; at < size && in->n < MOST; at++) { /* bytes that are not UTF-8 become Latin-1 */
        const size_t left = size - at < 4 ? size - at : 4;
        const size_t valid = heft_utf8_check((struct heft_bytes){data + at, left});

        if (valid == 0)
            in->n += heft_utf8_put((char *)in->text + in->n, data[at]);
        else
            in->text[in->n++] = data[at];
        for (size_t i = 1; valid && i < left && (data[at + 1] & 0xC0) == 0x80; i++)
            in->text[in->n++] = data[++at];
    }
    return heft_utf8_check((struct heft_bytes){in->text, in->n}) == in->n;
}

/* Appends entries; the first one is the last one of those before, with its own bit. */
static void append_starts(struct found *found, const uint32_t *starts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t at = starts[i] & ~HEFT_PRETOKEN_DROPPED;

        if (i == 0 && found->n > 0) {
            expect((found->starts[found->n - 1] & ~HEFT_PRETOKEN_DROPPED) == at);
            found->starts[found->n - 1] = starts[i];
            continue;
        }
        expect(found->n == 0 || at > (found->starts[found->n - 1] & ~HEFT_PRETOKEN_DROPPED));
        found->starts[found->n++] = starts[i];
    }
}

/* Scans text[begin, end) as a text of its own. */
static void scan_whole(const struct heft_pretokens *p, const struct input *in, size_t begin,
                       size_t end, struct found *found)
{
    static uint32_t starts[MOST + 1];
    struct heft_pretokens_place place = {{0}};

    for (size_t at = begin; at < end;) {
        const size_t n =
            heft_pretokens_scan(p, in->text, end, at, true, &place, starts, HEFT_COUNT(starts));

        expect(n >= 2 && n <= HEFT_COUNT(starts) && starts[n - 1] <= end);
        append_starts(found, starts, n);
        at = starts[n - 1];
    }
}

static size_t piece_end(const struct input *in, size_t from)
{
    size_t end = from + in->pieces < in->n ? from + in->pieces : in->n;

    while (end < in->n && (in->text[end] & 0xC0) == 0x80)
        end++;
    return end;
}

static void scan_pieces(const struct heft_pretokens *p, const struct input *in, struct found *found)
{
    struct heft_pretokens_place place = {{0}};
    size_t at = 0;

    for (size_t end = 0; at < in->n;) {
        uint32_t starts[SMALL];
        const bool is_last = end == in->n;
        const size_t n =
            at < end ? heft_pretokens_scan(p, in->text, end, at, is_last, &place, starts, SMALL)
                     : 0;

        expect(n <= SMALL && (n >= 2 || !is_last));
        if (n < 2) {
            end = piece_end(in, end);
            continue;
        }
        append_starts(found, starts, n);
        at = starts[n - 1];
    }
}

/* The pre-tokens that are not dropped, as one begin and end after the other. */
static size_t list_kept(const struct found *found, uint32_t *kept)
{
    size_t n = 0;

    for (size_t i = 0; i + 1 < found->n; i++)
        if (!(found->starts[i] & HEFT_PRETOKEN_DROPPED)) {
            kept[n++] = found->starts[i];
            kept[n++] = found->starts[i + 1] & ~HEFT_PRETOKEN_DROPPED;
        }
    return n;
}

static void expect_equal(const struct found *one, const struct found *two)
{
    static uint32_t a[2 * MOST + 2], b[2 * MOST + 2];
    const size_t n = list_kept(one, a);

    expect(list_kept(two, b) == n && memcmp(a, b, n * sizeof *a) == 0);
}

static void check_cuts(const struct heft_pretokens *p, const struct input *in,
                       const struct found *whole)
{
    static struct found parts;

    for (size_t at = in->n, cut; (cut = heft_pretokens_cut_before(p, in->text, in->n, at)) > 0;
         at = cut - 1) {
        expect(cut <= at && cut < in->n);
        parts.n = 0;
        scan_whole(p, in, 0, cut, &parts);
        scan_whole(p, in, cut, in->n, &parts);
        expect_equal(whole, &parts);
    }
}

static void check_splitter(const struct heft_pretokens_step *step)
{
    struct heft_error err = {0};
    struct heft_splitter *const s = heft_splitter_compile(step->pattern, step->engine, NULL, &err);
    uint32_t stranger;
    uint8_t text[5];
    size_t end = 0;

    expect(s ? err.code == HEFT_OK
             : err.code == HEFT_MALFORMED || err.code == HEFT_UNSUPPORTED ||
                   err.code == HEFT_LIMIT);
    expect(s || err.offset == HEFT_NO_OFFSET || err.offset <= step->pattern.n);
    for (uint32_t c = 1; s && c < 0x110000 && heft_splitter_is_total(s, &stranger); c = 2 * c + 7)
        if (c < 0xD800 || c >= 0xE000)
            expect(heft_splitter_match(s, text, heft_utf8_put((char *)text, c), 0, true, &end) ==
                   HEFT_SPLITTER_MATCH);
    heft_splitter_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct input in;
    static struct found whole, pieces;
    struct heft_error err = {0};
    struct heft_pretokens *p;

    if (!read_input(&in, data, size))
        return 0;
    for (size_t i = 0; i < in.n_steps; i++)
        check_splitter(&in.steps[i]);
    p = heft_pretokens_new(in.steps, in.n_steps, NULL, &err);
    expect_outcome(p != NULL, &err);
    if (p) {
        whole.n = pieces.n = 0;
        scan_whole(p, &in, 0, in.n, &whole);
        scan_pieces(p, &in, &pieces);
        expect_equal(&whole, &pieces);
        if (in.n > 1)
            check_cuts(p, &in, &whole);
    }
    heft_pretokens_free(p);
    return 0;
}
