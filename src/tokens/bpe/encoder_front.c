/* encoder_front.c: an encoder whose text passes stages first: pieces of bytes → complete characters
 * → the stages → pre-tokens. */
#include "base/text.h"
#include "tokens/bpe/encoder_parts.h"

/* ---- the last sink: pre-tokens ----------------------------------------------------------- */

static bool put_words(void *ctx, const uint8_t *text, size_t n, struct heft_error *err)
{
    struct heft_encoder *e = ctx;

    return heft_encoder_put_words(e, text, n, e->front.taker, err);
}

static bool cut_words(void *ctx, uint32_t id, struct heft_error *err)
{
    struct heft_encoder *e = ctx;

    return heft_encoder_end_words(e, e->front.taker, err) &&
           (id == HEFT_NO_TOKEN || heft_encoder_give_id(e, id, e->front.taker, err));
}

/* ---- UTF-8 ------------------------------------------------------------------------------- */

/* Passes on complete characters that are checked; *n is the number of bytes that were used. */
static bool pass_checked(struct heft_encoder *e, const uint8_t *text, size_t n,
                         struct heft_error *err)
{
    struct heft_encoder_front *s = &e->front;
    const size_t bad = e->is_trusting ? n : heft_utf8_check((struct heft_bytes){text, n});

    if (bad < n)
        return heft_encoder_fail_text(text + bad, n - bad, s->offset + bad, err);
    s->offset += n;
    return n == 0 || s->stages.first.put(s->stages.first.ctx, text, n, err);
}

/* Completes the open character with the first bytes of the piece; *used is their number. */
static bool complete_character(struct heft_encoder *e, const uint8_t *piece, size_t n, size_t *used,
                               struct heft_error *err)
{
    struct heft_encoder_front *s = &e->front;

    *used = 0;
    while (s->n_open > 0 && *used < n) {
        s->open[s->n_open++] = piece[(*used)++];
        if (heft_encoder_open_character(s->open, s->n_open) == 0) {
            const size_t length = s->n_open;

            s->n_open = 0;
            return pass_checked(e, s->open, length, err);
        }
    }
    return true;
}

bool heft_encoder_front_put(struct heft_encoder *e, const uint8_t *piece, size_t n,
                            const struct heft_taker *taker, struct heft_error *err)
{
    struct heft_encoder_front *s = &e->front;
    size_t used, open;

    s->taker = taker;
    if (!complete_character(e, piece, n, &used, err))
        return false;
    if (s->n_open > 0 || used == n)
        return true;
    open = heft_encoder_open_character(piece + used, n - used);
    if (!pass_checked(e, piece + used, n - used - open, err))
        return false;
    memcpy(s->open, piece + n - open, open);
    s->n_open = open;
    return true;
}

bool heft_encoder_front_end(struct heft_encoder *e, const struct heft_taker *taker,
                            struct heft_error *err)
{
    struct heft_encoder_front *s = &e->front;

    s->taker = taker;
    if (s->n_open)
        return heft_encoder_fail_text(s->open, s->n_open, s->offset, err);
    return s->stages.first.cut(s->stages.first.ctx, HEFT_NO_TOKEN, err);
}

/* ---- setup ------------------------------------------------------------------------------- */

bool heft_encoder_front_init(struct heft_encoder *e, bool special, struct heft_error *err)
{
    const struct heft_text_sink words = {e, put_words, cut_words};

    return heft_text_stages_init(&e->front.stages, e->v, special, words, err);
}

void heft_encoder_front_reset(struct heft_encoder *e)
{
    heft_text_stages_reset(&e->front.stages);
    e->front.n_open = 0;
    e->front.offset = 0;
}
