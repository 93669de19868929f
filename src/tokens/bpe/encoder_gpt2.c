/* encoder_gpt2.c: pre-tokens of GPT-2's pattern → ids. A pre-token that is longer than a window (a
 * giant) is encoded as it comes. */
#include "tokens/bpe/encoder_parts.h"
#include "tokens/bpe/pattern.h"
#include "tokens/unicode/utf8.h"

/* Encodes text[at, end), which continues the pre-token. */
static bool feed_giant(struct heft_encoder *e, const uint8_t *text, size_t at, size_t end,
                       uint8_t **out, struct heft_error *err)
{
    for (size_t n; at < end; at += n) {
        n = heft_min_size(end - at, HEFT_LONG_WHOLE);
        if (!heft_long_feed(&e->words.longer, text + at, n, err))
            return false;
        *out = heft_words_put(&e->words, e->words.longer.ids, e->words.longer.n_ids, *out);
    }
    return true;
}

/* Continues the open pre-token at *at, and sets *at to its end, as far as that is known. The last
 * character of a run of white space belongs to the next pre-token, if one follows. */
static bool continue_giant(struct heft_encoder *e, const uint8_t *text, size_t n, bool is_last,
                           size_t *at, uint8_t **out, struct heft_error *err)
{
    size_t last = *at;
    size_t end = heft_long_run_end(e->scan.kernel, &e->classes, text, n, *at, e->giant, &last);
    const bool is_over = end < n || is_last;

    if (e->giant == HEFT_CLASS_SPACE && (end < n || !is_last))
        end = last;
    if (!feed_giant(e, text, *at, end, out, err))
        return false;
    *at = end;
    if (!is_over)
        return true;
    e->giant = HEFT_NO_GIANT;
    if (!heft_long_end(&e->words.longer, err))
        return false;
    *out = heft_words_put(&e->words, e->words.longer.ids, e->words.longer.n_ids, *out);
    return true;
}

/* Begins a pre-token that is longer than a window: it is encoded incrementally. */
static bool begin_giant(struct heft_encoder *e, const uint8_t *text, size_t *at, uint8_t **out,
                        struct heft_error *err)
{
    const size_t first = *at + (text[*at] == ' ');
    unsigned width;

    e->giant = heft_class_of(&e->classes, heft_utf8_at(text + first, &width));
    heft_long_begin(&e->words.longer);
    if (e->giant == HEFT_CLASS_SPACE || first == *at)
        return true;
    *at = first;
    return feed_giant(e, text, first - 1, first, out, err);
}

bool heft_encoder_gpt2(struct heft_encoder *e, const uint8_t *text, size_t n, bool is_last,
                       uint8_t **out, size_t *done, struct heft_error *err)
{
    size_t at = 0, count = 2;

    if (e->giant != HEFT_NO_GIANT && !continue_giant(e, text, n, is_last, &at, out, err))
        return false;
    while (at < n && count > 1 && e->giant == HEFT_NO_GIANT) {
        count = heft_scan_words(&e->scan, text, n, at, is_last, e->starts);
        if (count > 1) {
            *out = heft_words_encode(&e->words, text, e->starts, count - 1, *out, err);
            at = e->starts[count - 1];
            if (!*out)
                return false;
        } else if (n - at > HEFT_SCAN_WINDOW) {
            count = 2;
            if (!begin_giant(e, text, &at, out, err) ||
                !continue_giant(e, text, n, is_last, &at, out, err))
                return false;
        }
    }
    *done = at;
    return true;
}
