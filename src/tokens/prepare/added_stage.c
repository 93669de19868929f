/* added_stage.c: added tokens in a text that comes in pieces, with the rules of tokenizers:
 *
 *   - the search goes on behind a token, also if it was dropped as no single word, and also within
 *     the white space that the token strips at its right side. A token that begins there ends the
 *     stripping: the white space behind it is text again;
 *   - white space is stripped at the left side as far as the last token or what it stripped. A token
 *     that has nothing left, as it is white space itself, is dropped. (If white space follows that
 *     the last token stripped, too, the library panics.)
 *
 * A piece is searched in place; the end that waits for more text is copied. Places below are offsets
 * in the held text and what follows it. */
#include "base/mem.h"
#include "tokens/prepare/added_search.h"
#include "tokens/prepare/word_chars.h"
#include "tokens/unicode/utf8.h"

#define CHUNK     8192               /* bytes that are appended to held text at a time */
#define MOST_HELD ((size_t)64 << 20) /* white space that a token may strip */

struct heft_added_stage {
    const struct heft_added_search *search;
    struct heft_text_sink next;
    uint8_t *held; /* text that was not passed on yet */
    size_t n, cap;
    size_t from;             /* text before it is passed on or belongs to a token */
    size_t at;               /* tokens are searched from here */
    size_t blank, blank_end; /* held text that is known to be white space */
    bool is_stripping;       /* white space from `from` on belongs to the last token */
    bool is_after_word;      /* the last character before the held text is one of \w */
};

static bool is_space(const uint8_t *text, size_t at, unsigned *width)
{
    return heft_is_white_space(heft_utf8_at(text + at, width));
}

static bool is_word(const uint8_t *text, size_t at)
{
    unsigned width;

    return heft_is_word_char(heft_utf8_at(text + at, &width));
}

/* Gives the white space behind the last token to that token, up to `end`. */
static void strip_right(struct heft_added_stage *s, const uint8_t *text, size_t end)
{
    unsigned width;

    if (!s->is_stripping)
        return;
    while (s->from < end && is_space(text, s->from, &width))
        s->from += width;
    s->is_stripping = s->from >= end;
}

/* Returns the begin of the white space that ends at `end`, at the earliest `from`. */
static size_t space_before(const struct heft_added_stage *s, const uint8_t *text, size_t end)
{
    unsigned width;

    while (end > s->from) {
        const size_t before = heft_utf8_before(text, end);

        if (end == s->blank_end)
            return s->blank > s->from ? s->blank : s->from;
        if (!is_space(text, before, &width))
            break;
        end = before;
    }
    return end;
}

static bool pass_text(struct heft_added_stage *s, const uint8_t *text, size_t end,
                      struct heft_error *err)
{
    const size_t from = s->from;

    if (end <= from)
        return true;
    s->from = end;
    return s->next.put(s->next.ctx, text + from, end - from, err);
}

/* False if a character of \w stands beside a match. */
static bool is_alone(const struct heft_added_stage *s, const uint8_t *text, size_t n, size_t at,
                     size_t end)
{
    const bool is_after = at > 0 ? is_word(text, heft_utf8_before(text, at)) : s->is_after_word;

    return !is_after && (end == n || !is_word(text, end));
}

static bool take_token(struct heft_added_stage *s, const uint8_t *text,
                       const struct heft_added_match *match, struct heft_error *err)
{
    const size_t at = s->at;

    strip_right(s, text, at);
    if (match->strips_left)
        strip_right(s, text, at + match->n);
    s->at += match->n;
    if (match->strips_left && s->is_stripping)
        return true;
    if (!pass_text(s, text, match->strips_left ? space_before(s, text, at) : at, err))
        return false;
    s->from = s->at;
    s->is_stripping = match->strips_right;
    return s->next.cut(s->next.ctx, match->id, err);
}

/* Cuts the tokens out of a text. s->at becomes the place that waits for more text, n at the end. */
static bool search_text(struct heft_added_stage *s, const uint8_t *text, size_t n, bool is_end,
                        struct heft_error *err)
{
    while ((s->at = heft_added_search_next(s->search, text, n, s->at)) < n) {
        const struct heft_added_match match =
            heft_added_search_at(s->search, text + s->at, n - s->at);
        const size_t end = s->at + match.n;

        if (!is_end && (match.is_open || (match.is_single_word && end == n)))
            return true;
        if (match.n == 0)
            s->at += heft_utf8_width(text[s->at]);
        else if (match.is_single_word && !is_alone(s, text, n, s->at, end))
            s->at = end;
        else if (!take_token(s, text, &match, err))
            return false;
    }
    return true;
}

/* Places become offsets in what follows `used` bytes. */
static void move_places(struct heft_added_stage *s, const uint8_t *text, size_t used)
{
    if (used == 0)
        return;
    if (heft_added_search_has_word(s->search))
        s->is_after_word = is_word(text, heft_utf8_before(text, used));
    s->from = 0;
    s->at -= used;
    s->blank -= used < s->blank ? used : s->blank;
    s->blank_end -= used < s->blank_end ? used : s->blank_end;
}

/* Searches text, and returns by *used how much of it is done. */
static bool do_text(struct heft_added_stage *s, const uint8_t *text, size_t n, bool is_end,
                    size_t *used, struct heft_error *err)
{
    size_t end;

    if (!search_text(s, text, n, is_end, err))
        return false;
    strip_right(s, text, s->at);
    end = s->at;
    if (!is_end && heft_added_search_has_left(s->search)) {
        end = space_before(s, text, end);
        s->blank = end;
        s->blank_end = s->at;
    }
    if (!pass_text(s, text, end, err))
        return false;
    *used = s->from;
    move_places(s, text, s->from);
    return true;
}

static bool hold_text(struct heft_added_stage *s, const uint8_t *text, size_t n,
                      struct heft_error *err)
{
    if (n == 0)
        return true;
    if (n > MOST_HELD - s->n)
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "more than %zu bytes of white space, which an added token may strip, in "
                         "a row",
                         MOST_HELD);
    if (!heft_grow(&s->held, &s->cap, s->n, n, 1, err))
        return false;
    memcpy(s->held + s->n, text, n);
    s->n += n;
    return true;
}

/* Length of the next chunk of a text: complete characters. */
static size_t chunk_of(const uint8_t *text, size_t n)
{
    return n <= CHUNK ? n : heft_utf8_is_tail(text[CHUNK]) ? heft_utf8_before(text, CHUNK) : CHUNK;
}

/* Appends text to what is held until all of the latter is done, or what waits is in the text itself.
 * *at becomes the place in the text to go on from. */
static bool finish_held(struct heft_added_stage *s, const uint8_t *text, size_t n, size_t *at,
                        struct heft_error *err)
{
    for (*at = 0; s->n > 0 && *at < n;) {
        const size_t chunk = chunk_of(text + *at, n - *at);
        size_t used;

        if (!hold_text(s, text + *at, chunk, err) || !do_text(s, s->held, s->n, false, &used, err))
            return false;
        *at += chunk;
        s->n -= used;
        if (s->n <= chunk) {
            *at -= s->n;
            s->n = 0;
        } else if (used > 0) {
            memmove(s->held, s->held + used, s->n);
        }
    }
    return true;
}

static bool put_text(void *ctx, const uint8_t *text, size_t n, struct heft_error *err)
{
    struct heft_added_stage *s = ctx;
    size_t at, used;

    if (!finish_held(s, text, n, &at, err))
        return false;
    if (at == n)
        return true;
    return do_text(s, text + at, n - at, false, &used, err) &&
           hold_text(s, text + at + used, n - at - used, err);
}

static bool cut_text(void *ctx, uint32_t id, struct heft_error *err)
{
    struct heft_added_stage *s = ctx;
    size_t used;

    if (!do_text(s, s->held, s->n, true, &used, err))
        return false;
    heft_added_stage_reset(s);
    return s->next.cut(s->next.ctx, id, err);
}

struct heft_added_stage *heft_added_stage_new(const struct heft_added_search *s,
                                              struct heft_text_sink next, struct heft_error *err)
{
    struct heft_added_stage *stage = heft_calloc(1, sizeof *stage, err);

    if (stage) {
        stage->search = s;
        stage->next = next;
    }
    return stage;
}

void heft_added_stage_free(struct heft_added_stage *s)
{
    if (!s)
        return;
    heft_free(s->held);
    heft_free(s);
}

struct heft_text_sink heft_added_stage_sink(struct heft_added_stage *s)
{
    return (struct heft_text_sink){s, put_text, cut_text};
}

void heft_added_stage_reset(struct heft_added_stage *s)
{
    s->n = s->from = s->at = s->blank = s->blank_end = 0;
    s->is_stripping = s->is_after_word = false;
}
