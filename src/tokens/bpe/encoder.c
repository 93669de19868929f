/* encoder.c: text in pieces → complete pre-tokens → ids.
 *
 *     feed    [incomplete rest][new piece                   ]     checked UTF-8
 *             |– pre-token –|– pre-token –|– rest, kept –|
 *
 * A pre-token is complete once no text after it can change where it ends. */
#include "tokens/bpe/encoder.h"

#include <limits.h>
#include <stdio.h>

#include "base/endian.h"
#include "base/text.h"
#include "base/require_arg.h"
#include "base/sized.h"
#include "tokens/bpe/pattern.h"
#include "tokens/unicode/utf8.h"
#include "tokens/bpe/word_scan.h"
#include "tokens/bpe/words.h"

#define CACHE    ((size_t)48 << 20)
#define ROOM     16 /* bytes after the text and after the ids that may be read or overwritten */
#define PIECE    ((size_t)1 << 18) /* longer pieces are cut, so that one stays in the CPU's cache */
#define JOIN     256               /* bytes of a piece that are appended to the kept rest */
#define NO_GIANT UINT_MAX
#define HANDFUL  1024 /* ids that are widened to 32 bits at a time */

struct heft_encoder {
    const struct heft_vocab *v;
    struct heft_classes classes;
    struct heft_scan scan;
    struct heft_words words;
    uint8_t *text; /* the incomplete rest, and the newest piece */
    size_t n_text, cap_text;
    uint64_t offset; /* offset of text[0] in the whole text */
    uint8_t *ids;
    size_t cap_ids;
    bool is_trusting; /* input is known to be valid UTF-8 */
    unsigned giant;   /* class of an unfinished pre-token longer than a window, or NO_GIANT */
    uint32_t starts[HEFT_SCAN_ROOM];
};

/* ---- encoding pre-tokens ----------------------------------------------------------------- */

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
    e->giant = NO_GIANT;
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

/* Encodes the pre-tokens of text[0, n), which is followed by ROOM readable bytes: all if `is_last`,
 * else the complete ones. Ids are written to *out, which moves on; *done is the number of bytes
 * used. */
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

/* ---- feeding a text in pieces ------------------------------------------------------------ */

static void begin_again(struct heft_encoder *e)
{
    e->n_text = 0;
    e->offset = 0;
    e->giant = NO_GIANT;
    heft_long_begin(&e->words.longer);
}

static bool fail_text(const uint8_t *text, size_t n, uint64_t offset, struct heft_error *err)
{
    char bytes[16] = "";

    for (size_t i = 0; i < n && i < 4; i++)
        snprintf(bytes + 3 * i, 4, " %02x", text[i]);
    return heft_fail(err, HEFT_MALFORMED, offset, "bytes%s are not valid UTF-8", bytes);
}

/* Number of bytes at the end of text[0, n) that are an incomplete character: 0 to 3. */
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

static bool give_ids(struct heft_encoder *e, const uint8_t *ids, const uint8_t *end,
                     const struct heft_taker *taker, struct heft_error *err)
{
    const size_t count = (size_t)(end - ids) >> e->words.width;

    return count == 0 || taker->take(taker->ctx, ids, count) ||
           heft_fail(err, HEFT_CANCELLED, HEFT_NO_OFFSET, "interrupted");
}

/* Returns room for the ids of n bytes of text and of the open pre-token; NULL on failure. */
static uint8_t *room_for(struct heft_encoder *e, size_t n, const struct heft_taker *taker,
                         struct heft_error *err)
{
    /* no overflow: all of it is in memory */
    const size_t bytes = ((n + e->words.longer.n) << e->words.width) + ROOM;

    if (taker->room)
        return taker->room(taker->ctx, bytes, err);
    return heft_grow(&e->ids, &e->cap_ids, 0, bytes, 1, err) ? e->ids : NULL;
}

/* Encodes the complete pre-tokens of text[0, n), which is followed by ROOM readable bytes. */
static bool hand_out(struct heft_encoder *e, const uint8_t *text, size_t n, bool is_last,
                     size_t *done, const struct heft_taker *taker, struct heft_error *err)
{
    uint8_t *const ids = room_for(e, n, taker, err), *end = ids;

    return ids && encode_words(e, text, n, is_last, &end, done, err) &&
           give_ids(e, ids, end, taker, err);
}

/* Encodes the complete pre-tokens of the first n bytes of the kept text, and keeps the rest. */
static bool hand_out_kept(struct heft_encoder *e, size_t n, bool is_last,
                          const struct heft_taker *taker, struct heft_error *err)
{
    size_t done;

    memset(e->text + e->n_text, 0, ROOM);
    if (!hand_out(e, e->text, n, is_last, &done, taker, err))
        return false;
    memmove(e->text, e->text + done, e->n_text - done);
    e->n_text -= done;
    e->offset += done;
    return true;
}

static bool keep_rest(struct heft_encoder *e, const uint8_t *text, size_t n, struct heft_error *err)
{
    if (!heft_grow(&e->text, &e->cap_text, e->n_text, n + ROOM, 1, err))
        return false;
    memcpy(e->text + e->n_text, text, n);
    e->n_text += n;
    return true;
}

/* Validates the UTF-8 of text[from, end); the bytes before `from` were validated earlier. */
static bool check_utf8(const struct heft_encoder *e, const uint8_t *text, size_t n, size_t from,
                       size_t end, struct heft_error *err)
{
    size_t bad;

    if (e->is_trusting)
        return true;
    bad = from + heft_utf8_check((struct heft_bytes){text + from, end - from});
    return bad == end || fail_text(text + bad, n - bad, e->offset + bad, err);
}

/* Appends the piece to the kept text and encodes both. */
static bool feed_kept(struct heft_encoder *e, const uint8_t *piece, size_t n,
                      const struct heft_taker *taker, struct heft_error *err)
{
    const size_t old = e->n_text - open_character(e->text, e->n_text);
    size_t end;

    if (!keep_rest(e, piece, n, err))
        return false;
    end = e->n_text - open_character(e->text, e->n_text);
    return check_utf8(e, e->text, e->n_text, old, end, err) &&
           hand_out_kept(e, end, false, taker, err);
}

/* Encodes the piece without copying it, if nothing is kept. The last ROOM bytes are kept, as others
 * must follow a text. */
static bool feed_in_place(struct heft_encoder *e, const uint8_t *text, size_t n,
                          const struct heft_taker *taker, struct heft_error *err)
{
    size_t most = n - ROOM, done;

    if (!check_utf8(e, text, n, 0, n - open_character(text, n), err))
        return false;
    most -= open_character(text, most);
    if (!hand_out(e, text, most, false, &done, taker, err))
        return false;
    e->offset += done;
    return keep_rest(e, text + done, n - done, err);
}

/* Appends the first bytes of a piece to the kept rest, so that its pre-token becomes complete, and
 * encodes the rest of the piece in place. */
static bool feed_piece(struct heft_encoder *e, const uint8_t *piece, size_t n,
                       const struct heft_taker *taker, struct heft_error *err)
{
    const size_t join = e->n_text ? heft_min_size(n, JOIN) : 0;
    size_t from;

    if (join && !feed_kept(e, piece, join, taker, err))
        return false;
    if (n - join < JOIN || e->n_text > join)
        return n == join || feed_kept(e, piece + join, n - join, taker, err);
    from = join - e->n_text;
    e->n_text = 0;
    return feed_in_place(e, piece + from, n - from, taker, err);
}

bool heft_encoder_put(struct heft_encoder *e, const void *piece, size_t n,
                      const struct heft_taker *taker, struct heft_error *err)
{
    const uint8_t *const p = piece;
    bool ok = true;

    for (size_t at = 0; ok && at < n; at += PIECE)
        ok = feed_piece(e, p + at, heft_min_size(n - at, PIECE), taker, err);
    if (!ok)
        begin_again(e);
    return ok;
}

bool heft_encoder_end(struct heft_encoder *e, const struct heft_taker *taker,
                      struct heft_error *err)
{
    const size_t open = open_character(e->text, e->n_text), at = e->n_text - open;
    const bool ok = open ? fail_text(e->text + at, open, e->offset + at, err)
                         : (e->n_text == 0 && e->giant == NO_GIANT) ||
                               hand_out_kept(e, e->n_text, true, taker, err);

    begin_again(e);
    return ok;
}

unsigned heft_encoder_width(const struct heft_encoder *e)
{
    return 1U << e->words.width;
}

void heft_encoder_trust(struct heft_encoder *e)
{
    e->is_trusting = true;
}

/* ---- public API: ids of 4 bytes -------------------------------------------------------- */

/* Sixteen at a time, which compilers turn into one or two instructions. */
static void widen_ids(const uint8_t *from, size_t n, unsigned width, uint32_t *to)
{
    uint16_t narrow[16];
    size_t i = 0;

    if (width == 4) {
        for (; i < n; i++)
            to[i] = heft_le32(from + 4 * i);
        return;
    }
    for (; i + 16 <= n; i += 16) {
        for (size_t k = 0; k < 16; k++)
            narrow[k] = heft_le16(from + 2 * (i + k));
        for (size_t k = 0; k < 16; k++)
            to[i + k] = narrow[k];
    }
    for (; i < n; i++)
        to[i] = heft_le16(from + 2 * i);
}

struct widening {
    heft_ids_fn *each;
    void *ctx;
    unsigned width;
};

static bool give_widened(void *ctx, const void *ids, size_t count)
{
    const struct widening *w = ctx;
    const uint8_t *p = ids;
    uint32_t wide[HANDFUL];

    for (size_t from = 0; from < count; from += HANDFUL) {
        const size_t n = heft_min_size(count - from, HANDFUL);

        widen_ids(p + from * w->width, n, w->width, wide);
        if (!w->each(w->ctx, wide, n))
            return false;
    }
    return true;
}

static bool require_text(const struct heft_encoder *e, const void *text, size_t n,
                         struct heft_error *err)
{
    return heft_require_arg(e != NULL, "an encoder", err) &&
           heft_require_arg(text || n == 0, "a text", err);
}

bool heft_encoder_feed(struct heft_encoder *e, const void *piece, size_t n, heft_ids_fn *each,
                       void *ctx, struct heft_error *err)
{
    struct widening w = {each, ctx, 0};

    if (!require_text(e, piece, n, err) || !heft_require_arg(each != NULL, "a function", err))
        return false;
    w.width = heft_encoder_width(e);
    return heft_encoder_put(e, piece, n, &(struct heft_taker){.take = give_widened, .ctx = &w},
                            err);
}

bool heft_encoder_finish(struct heft_encoder *e, heft_ids_fn *each, void *ctx,
                         struct heft_error *err)
{
    struct widening w = {each, ctx, 0};

    if (!require_text(e, NULL, 0, err) || !heft_require_arg(each != NULL, "a function", err))
        return false;
    w.width = heft_encoder_width(e);
    return heft_encoder_end(e, &(struct heft_taker){.take = give_widened, .ctx = &w}, err);
}

struct collected {
    uint32_t *ids;
    size_t room, n;
    unsigned width;
    bool is_full;
};

static bool collect_ids(void *ctx, const void *ids, size_t count)
{
    struct collected *c = ctx;

    c->is_full = count > c->room - c->n;
    if (c->is_full)
        return false;
    widen_ids(ids, count, c->width, c->ids + c->n);
    c->n += count;
    return true;
}

bool heft_encode(struct heft_encoder *e, const void *text, size_t n, uint32_t *ids, size_t room,
                 size_t *count, struct heft_error *err)
{
    struct collected c = {.ids = ids, .room = room};
    const struct heft_taker taker = {.take = collect_ids, .ctx = &c};

    if (!require_text(e, text, n, err) ||
        !heft_require_arg((ids || room == 0) && count, "a place for the answer", err))
        return false;
    c.width = heft_encoder_width(e);
    begin_again(e);
    if (!heft_encoder_put(e, text, n, &taker, err) || !heft_encoder_end(e, &taker, err))
        return c.is_full ? heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                                     "the text has more ids than the room given, %zu", room)
                         : false;
    *count = c.n;
    return true;
}

/* ---- creating and releasing encoders ----------------------------------------------------- */

/* width: log2 of the size of an id in bytes */
static bool init_encoder(struct heft_encoder *e, const struct heft_vocab *v,
                         const struct heft_encoder_options *options, unsigned width,
                         struct heft_error *err)
{
    const size_t bytes = options->cache ? options->cache : CACHE;

    e->v = v;
    e->giant = NO_GIANT;
    /* a pre-token that may be a token as a whole must not be split */
    e->scan =
        (struct heft_scan){&e->classes, heft_scan_kernel(), v->wholes.count ? NULL : v->adjacency};
    return heft_words_init(&e->words, v, bytes, width, err) &&
           heft_grow(&e->text, &e->cap_text, 0, ROOM, 1, err) &&
           heft_classes_init(&e->classes, options->unicode ? options->unicode : v->unicode, err);
}

struct heft_encoder *heft_encoder_of_width(const struct heft_vocab *v,
                                           const struct heft_encoder_options *options,
                                           unsigned width, struct heft_error *err)
{
    struct heft_encoder_options o;
    struct heft_encoder *e =
        HEFT_TAKE(heft_encoder_options, &o, options, err) && heft_vocab_can_encode(v, err)
            ? heft_calloc(1, sizeof *e, err)
            : NULL;

    if (e && init_encoder(e, v, &o, width == 2 ? 1 : 2, err))
        return e;
    heft_encoder_free(e);
    return NULL;
}

struct heft_encoder *heft_encoder_new(const struct heft_vocab *v,
                                      const struct heft_encoder_options *options,
                                      struct heft_error *err)
{
    return heft_require_arg(v != NULL, "a vocabulary", err)
               ? heft_encoder_of_width(v, options, 1U << heft_vocab_width(v), err)
               : NULL;
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
