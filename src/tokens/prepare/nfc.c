/* nfc.c: passes on text that is normalized already in place, by the quick check of Unicode Standard
 * Annex 15, section 9; the composer has the rest: from the last starter before a character that
 * changes up to the next character that begins something new.
 *
 * No byte at or above 0xCC is in most text: the characters below U+0300 are normalized in any order. */
#include "tokens/prepare/nfc.h"
#include "tokens/prepare/nfc_composer.h"
#include "tokens/prepare/nfc_tables.h"
#include "tokens/unicode/utf8.h"

#define LOW_END  0xCC /* first byte of U+0300 */
#define NEAR     256  /* normalized text below this length is copied behind composed text */
#define OUT_SIZE 16384

struct heft_nfc_stage {
    struct heft_text_sink next;
    struct heft_nfc_composer composer;
    bool is_composing;   /* the composer has the last characters */
    struct heft_buf out; /* normalized text that was not passed on yet */
};

/* True if none of 32 bytes is at or above LOW_END: 0x4C + 0x34 carries into the highest bit. */
static bool are_low(const uint8_t *p)
{
    const uint64_t high = UINT64_C(0x8080808080808080);
    uint64_t found = 0, word[4];

    memcpy(word, p, sizeof word);
    for (unsigned i = 0; i < 4; i++)
        found |= ((word[i] & ~high) + UINT64_C(0x3434343434343434)) & word[i];
    return (found & high) == 0;
}

/* Returns the end of a run of bytes below LOW_END. */
static size_t skip_low(const uint8_t *text, size_t n, size_t at)
{
    const size_t soon = n - at < 8 ? n : at + 8; /* words of most scripts are short */

    for (; at < soon; at++)
        if (text[at] >= LOW_END)
            return at;
    while (n - at >= 32 && are_low(text + at))
        at += 32;
    while (at < n && text[at] < LOW_END)
        at++;
    return at;
}

/* Returns the place of the first character that changes or may change text before it; n if there is
 * none. *starter is the place of the last starter before it, or `at`. */
static size_t scan_normalized(const uint8_t *text, size_t n, size_t at, size_t *starter)
{
    unsigned last = 0;

    *starter = at;
    while (at < n) {
        unsigned width, property, class;

        if (text[at] < LOW_END) {
            at = skip_low(text, n, at);
            *starter = heft_utf8_before(text, at);
            last = 0;
            continue;
        }
        property = heft_nfc_property(heft_utf8_at(text + at, &width));
        class = heft_nfc_classes[property & HEFT_NFC_CLASS];
        if (property & HEFT_NFC_CHANGES || (class && class < last))
            return at;
        if (class == 0)
            *starter = at;
        last = class;
        at += width;
    }
    return n;
}

static bool flush_out(struct heft_nfc_stage *s, struct heft_error *err)
{
    const size_t n = s->out.n;

    if (n == 0)
        return true;
    s->out.n = 0;
    return s->next.put(s->next.ctx, (const uint8_t *)s->out.p, n, err);
}

/* Passes normalized text on in place, or copies it if there is little. */
static bool pass_on(struct heft_nfc_stage *s, const uint8_t *text, size_t n, struct heft_error *err)
{
    if (n == 0)
        return true;
    if (s->out.n > 0 && n < NEAR) {
        heft_buf_put(&s->out, text, n);
        return heft_buf_ok(&s->out, err) && (s->out.n < OUT_SIZE || flush_out(s, err));
    }
    return flush_out(s, err) && s->next.put(s->next.ctx, text, n, err);
}

static bool compose_text(struct heft_nfc_stage *s, const uint8_t *text, size_t n,
                         struct heft_error *err)
{
    s->is_composing = true;
    for (size_t at = 0; at < n;) {
        unsigned width;
        const uint32_t c = heft_utf8_at(text + at, &width);

        if (!heft_nfc_composer_put(&s->composer, c, &s->out, err))
            return false;
        at += width;
    }
    return true;
}

/* True if no character after the only one of this text goes together with it. */
static bool is_inert(const uint8_t *text, size_t n)
{
    unsigned width;
    const unsigned property = heft_nfc_property(heft_utf8_at(text, &width));

    return width == n && property == 0;
}

/* Passes normalized text on; the composer gets the last starter and its marks. Returns by *used the
 * length of both. */
static bool pass_normalized(struct heft_nfc_stage *s, const uint8_t *text, size_t n, size_t *used,
                            struct heft_error *err)
{
    size_t starter;

    *used = scan_normalized(text, n, 0, &starter);
    if (*used == n && is_inert(text + starter, n - starter))
        return pass_on(s, text, n, err);
    return pass_on(s, text, starter, err) && compose_text(s, text + starter, *used - starter, err);
}

/* Composes up to the next character that goes together with nothing before it. */
static bool compose_more(struct heft_nfc_stage *s, const uint8_t *text, size_t n, size_t *used,
                         struct heft_error *err)
{
    unsigned width;

    for (*used = 0; *used < n; *used += width) {
        const uint32_t c = heft_utf8_at(text + *used, &width);

        if (heft_nfc_is_boundary(heft_nfc_property(c))) {
            s->is_composing = false;
            return heft_nfc_composer_flush(&s->composer, &s->out, err);
        }
        if (!heft_nfc_composer_put(&s->composer, c, &s->out, err) ||
            (s->out.n >= OUT_SIZE && !flush_out(s, err)))
            return false;
    }
    return true;
}

static bool put_text(void *ctx, const uint8_t *text, size_t n, struct heft_error *err)
{
    struct heft_nfc_stage *s = ctx;

    for (size_t at = 0, used; at < n; at += used)
        if (!(s->is_composing ? compose_more(s, text + at, n - at, &used, err)
                              : pass_normalized(s, text + at, n - at, &used, err)))
            return false;
    return flush_out(s, err);
}

static bool end_text(struct heft_nfc_stage *s, struct heft_error *err)
{
    s->is_composing = false;
    return heft_nfc_composer_flush(&s->composer, &s->out, err) && flush_out(s, err);
}

static bool cut_text(void *ctx, uint32_t id, struct heft_error *err)
{
    struct heft_nfc_stage *s = ctx;

    return end_text(s, err) && s->next.cut(s->next.ctx, id, err);
}

static void release_stage(struct heft_nfc_stage *s)
{
    heft_nfc_composer_release(&s->composer);
    heft_buf_release(&s->out);
}

struct heft_nfc_stage *heft_nfc_stage_new(struct heft_text_sink next, struct heft_error *err)
{
    struct heft_nfc_stage *s = heft_calloc(1, sizeof *s, err);

    if (s)
        s->next = next;
    return s;
}

void heft_nfc_stage_free(struct heft_nfc_stage *s)
{
    if (!s)
        return;
    release_stage(s);
    heft_free(s);
}

struct heft_text_sink heft_nfc_stage_sink(struct heft_nfc_stage *s)
{
    return (struct heft_text_sink){s, put_text, cut_text};
}

void heft_nfc_stage_reset(struct heft_nfc_stage *s)
{
    heft_nfc_composer_reset(&s->composer);
    s->is_composing = false;
    s->out.n = 0;
    s->out.failed = false;
}

static bool is_boundary_at(const uint8_t *text, size_t at)
{
    unsigned width;

    return heft_nfc_is_boundary(heft_nfc_property(heft_utf8_at(text + at, &width)));
}

bool heft_nfc_is_settled(const uint8_t *text, size_t n, size_t from, size_t to)
{
    size_t starter;

    while (from > 0 && heft_utf8_is_tail(text[from]))
        from--;
    while (to < n && heft_utf8_is_tail(text[to]))
        to++;
    return to < n && is_boundary_at(text, from) && is_boundary_at(text, to) &&
           scan_normalized(text, to, from, &starter) == to;
}

static bool append_text(void *ctx, const uint8_t *text, size_t n, struct heft_error *err)
{
    heft_buf_put(ctx, text, n);
    return heft_buf_ok(ctx, err);
}

bool heft_nfc_text(struct heft_str text, struct heft_buf *out, struct heft_error *err)
{
    struct heft_nfc_stage s = {.next = {out, append_text, NULL}};
    const bool ok = put_text(&s, (const uint8_t *)text.p, text.n, err) && end_text(&s, err);

    release_stage(&s);
    return ok;
}
