/* encoder.c: a text in pieces → words that are certain → ids.
 *
 *     feed    [what was not certain][new piece          ]     checked UTF-8
 *             |—— words ——|—— words ——|— kept for the next —|
 *
 * A word is certain once nothing that may follow can change where it ends. */
#include "tokens/encoder.h"

#include <limits.h>
#include <stdio.h>

#include "base/endian.h"
#include "base/text.h"
#include "tokens/pattern.h"
#include "tokens/utf8.h"
#include "tokens/word_scan.h"
#include "tokens/words.h"

#define CACHE    ((size_t)48 << 20)
#define ROOM     16 /* bytes behind text and ids that may be touched */
#define DOUBT    8  /* a word that ends so far before the end of the text is certain */
#define PIECE    ((size_t)1 << 18) /* of a text that is there whole */
#define NO_GIANT UINT_MAX
#define HANDFUL  1024 /* ids handed out at once where they must be widened */

struct heft_encoder {
    const struct heft_vocab *v;
    struct heft_classes classes;
    struct heft_scan scan;
    struct heft_words words;
    uint8_t *text; /* what is not certain yet, and the newest piece */
    size_t n_text, cap_text;
    uint64_t offset; /* of text[0] in the whole */
    uint8_t *ids;
    size_t cap_ids;
    unsigned giant; /* the class of the word that has begun and has no end yet, or NO_GIANT */
    uint32_t starts[HEFT_SCAN_WINDOW + 2];
};

/* ---- words ------------------------------------------------------------------------------- */

/* The word that is open goes on to `end`. */
static bool feed_giant(struct heft_encoder *e, const uint8_t *text, size_t at, size_t end,
                       uint8_t **out, struct heft_error *err)
{
    for (size_t n; at < end; at += n) {
        n = heft_min_u64(end - at, HEFT_LONG_WHOLE);
        if (!heft_long_feed(&e->words.longer, text + at, n, err))
            return false;
        *out = heft_words_put(&e->words, e->words.longer.ids, e->words.longer.n_ids, *out);
    }
    return true;
}

/* Text from *at on belongs to the word that is open; *at becomes where it ends, as far as that is
 * known. Of white space the last character begins the next word, if there is one. */
static bool continue_giant(struct heft_encoder *e, const uint8_t *text, size_t n, bool is_last,
                           size_t *at, uint8_t **out, struct heft_error *err)
{
    size_t last = *at;
    size_t end = heft_run_end(&e->classes, text, n, *at, e->giant, &last);
    const bool is_over = end < n || is_last;

    if (e->giant == HEFT_CLASS_SPACE && (end < n || !is_last))
        end = last;
    if (!feed_giant(e, text, *at, end, out, err))
        return false;
    *at = end;
    if (!is_over)
        return true;
    e->giant = NO_GIANT;
    if (!heft_long_end(&e->words.longer, err))
        return false;
    *out = heft_words_put(&e->words, e->words.longer.ids, e->words.longer.n_ids, *out);
    return true;
}

/* A word that fills a window and more is encoded as it comes. */
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

/* Words of text[0, n), behind which there are ROOM readable bytes: all where `is_last`, else those
 * that are certain. Ids end at *out; *done is how far the text was used. */
static bool encode_words(struct heft_encoder *e, const uint8_t *text, size_t n, bool is_last,
                         uint8_t **out, size_t *done, struct heft_error *err)
{
    size_t at = 0, count = 2;

    if (e->giant != NO_GIANT && !continue_giant(e, text, n, is_last, &at, out, err))
        return false;
    while (at < n && count > 1 && e->giant == NO_GIANT) {
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

/* ---- a text in pieces -------------------------------------------------------------------- */

static bool reserve(struct heft_encoder *e, size_t more, struct heft_error *err)
{
    /* All are in memory, so their sum is a size. */
    const size_t n = e->n_text + more + e->words.longer.n;

    return heft_grow(&e->text, &e->cap_text, e->n_text, more + ROOM, 1, err) &&
           heft_grow(&e->ids, &e->cap_ids, 0, (n << e->words.width) + ROOM, 1, err);
}

static void begin_again(struct heft_encoder *e)
{
    e->n_text = 0;
    e->offset = 0;
    e->giant = NO_GIANT;
    heft_long_begin(&e->words.longer);
}

static bool fail_text(struct heft_encoder *e, size_t bad, struct heft_error *err)
{
    const size_t left = e->n_text - bad;
    char bytes[16] = "";

    for (size_t i = 0; i < left && i < 4; i++)
        snprintf(bytes + 3 * i, 4, " %02x", e->text[bad + i]);
    return heft_fail(err, HEFT_MALFORMED, e->offset + bad, "bytes%s are no UTF-8", bytes);
}

/* Bytes at the end of text[0, n) that begin a character and do not end it: 0 to 3. */
static size_t open_character(const uint8_t *text, size_t n)
{
    for (size_t k = 1; k <= 3 && k <= n; k++) {
        const uint8_t c = text[n - k];

        if (c >= 0xC0)
            return k < (c >= 0xF0 ? 4U : c >= 0xE0 ? 3U : 2U) ? k : 0;
        if (c < 0x80)
            return 0;
    }
    return 0;
}

static bool give(struct heft_encoder *e, const uint8_t *end, const struct heft_taker *taker,
                 struct heft_error *err)
{
    const size_t count = (size_t)(end - e->ids) >> e->words.width;

    return count == 0 || taker->take(taker->ctx, e->ids, count) ||
           heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "interrupted");
}

static bool hand_out(struct heft_encoder *e, size_t n, bool is_last, const struct heft_taker *taker,
                     struct heft_error *err)
{
    uint8_t *end = e->ids;
    size_t done;

    memset(e->text + e->n_text, 0, ROOM);
    if (!encode_words(e, e->text, n, is_last, &end, &done, err) || !give(e, end, taker, err))
        return false;
    memmove(e->text, e->text + done, e->n_text - done);
    e->n_text -= done;
    e->offset += done;
    return true;
}

static bool feed(struct heft_encoder *e, const void *piece, size_t n,
                 const struct heft_taker *taker, struct heft_error *err)
{
    const size_t old = e->n_text - open_character(e->text, e->n_text);
    size_t open, bad;

    if (!reserve(e, n, err))
        return false;
    memcpy(e->text + e->n_text, piece, n);
    e->n_text += n;
    open = open_character(e->text, e->n_text);
    bad = old + heft_utf8_check((struct heft_bytes){e->text + old, e->n_text - open - old});
    if (bad < e->n_text - open)
        return fail_text(e, bad, err);
    return hand_out(e, e->n_text - open, false, taker, err);
}

bool heft_encoder_put(struct heft_encoder *e, const void *piece, size_t n,
                      const struct heft_taker *taker, struct heft_error *err)
{
    const bool ok = n == 0 || feed(e, piece, n, taker, err);

    if (!ok)
        begin_again(e);
    return ok;
}

bool heft_encoder_end(struct heft_encoder *e, const struct heft_taker *taker,
                      struct heft_error *err)
{
    const size_t open = open_character(e->text, e->n_text);
    const bool ok =
        open ? fail_text(e, e->n_text - open, err)
             : (e->n_text == 0 && e->giant == NO_GIANT) || hand_out(e, e->n_text, true, taker, err);

    begin_again(e);
    return ok;
}

unsigned heft_encoder_width(const struct heft_encoder *e)
{
    return 1U << e->words.width;
}

/* ---- the public door: ids of 4 bytes ----------------------------------------------------- */

struct widening {
    heft_ids_fn *each;
    void *ctx;
    unsigned width;
};

static bool widen(void *ctx, const void *ids, size_t count)
{
    const struct widening *w = ctx;
    const uint8_t *p = ids;
    uint32_t wide[HANDFUL];

    for (size_t from = 0; from < count; from += HANDFUL) {
        const size_t n = heft_min_u64(count - from, HANDFUL);

        for (size_t i = 0; i < n; i++, p += w->width)
            wide[i] = w->width == 2 ? heft_le16(p) : heft_le32(p);
        if (!w->each(w->ctx, wide, n))
            return false;
    }
    return true;
}

bool heft_encoder_feed(struct heft_encoder *e, const void *piece, size_t n, heft_ids_fn *each,
                       void *ctx, struct heft_error *err)
{
    struct widening w = {each, ctx, heft_encoder_width(e)};

    return heft_encoder_put(e, piece, n, &(struct heft_taker){widen, &w}, err);
}

bool heft_encoder_finish(struct heft_encoder *e, heft_ids_fn *each, void *ctx,
                         struct heft_error *err)
{
    struct widening w = {each, ctx, heft_encoder_width(e)};

    return heft_encoder_end(e, &(struct heft_taker){widen, &w}, err);
}

struct collected {
    uint32_t *ids;
    size_t room, n;
};

static bool collect(void *ctx, const uint32_t *ids, size_t count)
{
    struct collected *c = ctx;

    if (count > c->room - c->n)
        return false;
    memcpy(c->ids + c->n, ids, count * sizeof *ids);
    c->n += count;
    return true;
}

bool heft_encode(struct heft_encoder *e, const void *text, size_t n, uint32_t *ids, size_t room,
                 size_t *count, struct heft_error *err)
{
    struct collected c = {ids, room, 0};
    const uint8_t *p = text;

    begin_again(e);
    for (size_t at = 0; at < n; at += PIECE)
        if (!heft_encoder_feed(e, p + at, heft_min_u64(n - at, PIECE), collect, &c, err))
            return false;
    if (!heft_encoder_finish(e, collect, &c, err))
        return false;
    *count = c.n;
    return true;
}

/* ---- life -------------------------------------------------------------------------------- */

static bool init(struct heft_encoder *e, const struct heft_vocab *v,
                 const struct heft_encoder_options *options, struct heft_error *err)
{
    const size_t bytes = options && options->cache ? options->cache : CACHE;

    e->v = v;
    e->giant = NO_GIANT;
    e->scan = (struct heft_scan){&e->classes, heft_scan_kernel(), &e->words.joints};
    return heft_words_init(&e->words, v, bytes, err) && reserve(e, 0, err) &&
           heft_classes_init(&e->classes, options ? options->unicode : NULL, err);
}

struct heft_encoder *heft_encoder_new(const struct heft_vocab *v,
                                      const struct heft_encoder_options *options,
                                      struct heft_error *err)
{
    struct heft_encoder *e = heft_calloc(1, sizeof *e, err);

    if (e && init(e, v, options, err))
        return e;
    heft_encoder_free(e);
    return NULL;
}

void heft_encoder_free(struct heft_encoder *e)
{
    if (!e)
        return;
    heft_words_release(&e->words);
    heft_free(e->text);
    heft_free(e->ids);
    heft_free(e);
}
