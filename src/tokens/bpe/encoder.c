/* encoder.c: text in pieces → complete pre-tokens → ids.
 *
 *     feed    [incomplete rest][new piece                   ]     checked UTF-8
 *             |– pre-token –|– pre-token –|– rest, kept –|
 *
 * A pre-token is complete once no text after it can change where it ends. */
#include <stdio.h>

#include "base/text.h"
#include "tokens/bpe/encoder_parts.h"

#define PIECE ((size_t)1 << 18) /* longer pieces are cut, so that one stays in the CPU's cache */
#define JOIN  256               /* bytes of a piece that are appended to the kept rest */
#define WHOLE ((size_t)1 << 14) /* longer texts are encoded in place, not copied */

static void begin_again(struct heft_encoder *e)
{
    e->n_text = 0;
    e->wanted = 0;
    e->place = (struct heft_pretokens_place){{0}};
    e->offset = 0;
    e->giant = HEFT_NO_GIANT;
    heft_long_begin(&e->words.longer);
}

void heft_encoder_restart(struct heft_encoder *e)
{
    if (heft_encoder_has_stages(e))
        heft_encoder_front_reset(e);
    begin_again(e);
}

bool heft_encoder_fail_text(const uint8_t *text, size_t n, uint64_t offset, struct heft_error *err)
{
    char bytes[16] = "";

    for (size_t i = 0; i < n && i < 4; i++)
        snprintf(bytes + 3 * i, 4, " %02x", text[i]);
    return heft_fail(err, HEFT_MALFORMED, offset, "bytes%s are not valid UTF-8", bytes);
}

size_t heft_encoder_open_character(const uint8_t *text, size_t n)
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
    const size_t bytes = ((n + e->words.longer.n) << e->words.width) + HEFT_ENCODER_ROOM;

    if (taker->room)
        return taker->room(taker->ctx, bytes, err);
    return heft_grow(&e->ids, &e->cap_ids, 0, bytes, 1, err) ? e->ids : NULL;
}

/* Encodes the complete pre-tokens of text[0, n), which is followed by HEFT_ENCODER_ROOM readable bytes. */
static bool hand_out(struct heft_encoder *e, const uint8_t *text, size_t n, bool is_last,
                     size_t *done, const struct heft_taker *taker, struct heft_error *err)
{
    uint8_t *const ids = room_for(e, n, taker, err), *end = ids;

    return ids &&
           (e->pretokens ? heft_encoder_chain : heft_encoder_gpt2)(e, text, n, is_last, &end, done,
                                                                   err) &&
           give_ids(e, ids, end, taker, err);
}

/* Encodes the complete pre-tokens of the first n bytes of the kept text, and keeps the rest. */
static bool hand_out_kept(struct heft_encoder *e, size_t n, bool is_last,
                          const struct heft_taker *taker, struct heft_error *err)
{
    size_t done;

    memset(e->text + e->n_text, 0, HEFT_ENCODER_ROOM);
    if (!hand_out(e, e->text, n, is_last, &done, taker, err))
        return false;
    memmove(e->text, e->text + done, e->n_text - done);
    e->n_text -= done;
    e->offset += done;
    return true;
}

static bool keep_rest(struct heft_encoder *e, const uint8_t *text, size_t n, struct heft_error *err)
{
    if (!heft_grow(&e->text, &e->cap_text, e->n_text, n + HEFT_ENCODER_ROOM, 1, err))
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

    if (e->is_trusting || heft_encoder_has_stages(e))
        return true;
    bad = from + heft_utf8_check((struct heft_bytes){text + from, end - from});
    return bad == end || heft_encoder_fail_text(text + bad, n - bad, e->offset + bad, err);
}

/* Appends the piece to the kept text and encodes both. */
static bool feed_kept(struct heft_encoder *e, const uint8_t *piece, size_t n,
                      const struct heft_taker *taker, struct heft_error *err)
{
    const size_t old = e->n_text - heft_encoder_open_character(e->text, e->n_text);
    size_t end;

    if (!keep_rest(e, piece, n, err))
        return false;
    end = e->n_text - heft_encoder_open_character(e->text, e->n_text);
    return check_utf8(e, e->text, e->n_text, old, end, err) &&
           hand_out_kept(e, end, false, taker, err);
}

/* Encodes the piece without copying it, if nothing is kept. The last HEFT_ENCODER_ROOM bytes are kept, as others
 * must follow a text. */
static bool feed_in_place(struct heft_encoder *e, const uint8_t *text, size_t n,
                          const struct heft_taker *taker, struct heft_error *err)
{
    size_t most = n - HEFT_ENCODER_ROOM, done;

    if (!check_utf8(e, text, n, 0, n - heft_encoder_open_character(text, n), err))
        return false;
    most -= heft_encoder_open_character(text, most);
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

bool heft_encoder_put_words(struct heft_encoder *e, const uint8_t *piece, size_t n,
                            const struct heft_taker *taker, struct heft_error *err)
{
    bool ok = true;

    for (size_t at = 0; ok && at < n; at += PIECE)
        ok = feed_piece(e, piece + at, heft_min_size(n - at, PIECE), taker, err);
    return ok;
}

bool heft_encoder_end_words(struct heft_encoder *e, const struct heft_taker *taker,
                            struct heft_error *err)
{
    const size_t open = heft_encoder_open_character(e->text, e->n_text), at = e->n_text - open;
    const bool ok = open ? heft_encoder_fail_text(e->text + at, open, e->offset + at, err)
                         : (e->n_text == 0 && e->giant == HEFT_NO_GIANT) ||
                               hand_out_kept(e, e->n_text, true, taker, err);

    begin_again(e);
    return ok;
}

bool heft_encoder_give_id(struct heft_encoder *e, uint32_t id, const struct heft_taker *taker,
                          struct heft_error *err)
{
    uint8_t *const ids = room_for(e, 1, taker, err);

    return ids && give_ids(e, ids, heft_words_put(&e->words, &id, 1, ids), taker, err);
}

bool heft_encoder_put(struct heft_encoder *e, const void *piece, size_t n,
                      const struct heft_taker *taker, struct heft_error *err)
{
    const bool ok = heft_encoder_has_stages(e) ? heft_encoder_front_put(e, piece, n, taker, err)
                                               : heft_encoder_put_words(e, piece, n, taker, err);

    if (!ok)
        heft_encoder_restart(e);
    return ok;
}

bool heft_encoder_end(struct heft_encoder *e, const struct heft_taker *taker,
                      struct heft_error *err)
{
    const bool ok = heft_encoder_has_stages(e) ? heft_encoder_front_end(e, taker, err)
                                               : heft_encoder_end_words(e, taker, err);

    heft_encoder_restart(e);
    return ok;
}

/* Encodes a short text in one pass. Documents of 150 bytes take half the time of put and end, which look
 * for pre-tokens twice. */
static bool encode_short(struct heft_encoder *e, const uint8_t *text, size_t n,
                         const struct heft_taker *taker, struct heft_error *err)
{
    const bool ok = n == 0 || (check_utf8(e, text, n, 0, n, err) && keep_rest(e, text, n, err) &&
                               hand_out_kept(e, n, true, taker, err));

    begin_again(e);
    return ok;
}

bool heft_encoder_whole(struct heft_encoder *e, const void *text, size_t n,
                        const struct heft_taker *taker, struct heft_error *err)
{
    heft_encoder_restart(e);
    if (n <= WHOLE && !heft_encoder_has_stages(e) && !e->is_trusting)
        return encode_short(e, text, n, taker, err);
    return heft_encoder_put(e, text, n, taker, err) && heft_encoder_end(e, taker, err);
}

unsigned heft_encoder_width(const struct heft_encoder *e)
{
    return 1U << e->words.width;
}

void heft_encoder_trust(struct heft_encoder *e)
{
    e->is_trusting = true;
}
