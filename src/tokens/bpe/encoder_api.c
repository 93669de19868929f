/* encoder_api.c: the public functions of an encoder: ids of 4 bytes; creating and releasing. */
#include "base/endian.h"
#include "base/require_arg.h"
#include "base/sized.h"
#include "tokens/bpe/encoder_parts.h"
#include "tokens/bpe/ranked_tokens.h"

#define CACHE   ((size_t)48 << 20)
#define HANDFUL 1024 /* ids that are widened to 32 bits at a time */

/* ---- ids of 4 bytes ---------------------------------------------------------------------- */

/* Sixteen at a time, which compilers turn into one or two instructions. */
void heft_encoder_widen(const uint8_t *from, size_t n, unsigned width, uint32_t *to)
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

        heft_encoder_widen(p + from * w->width, n, w->width, wide);
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
    heft_encoder_widen(ids, count, c->width, c->ids + c->n);
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
    if (!heft_encoder_whole(e, text, n, &taker, err))
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
    e->is_special = options->special;
    e->giant = HEFT_NO_GIANT;
    /* a pre-token that may be a token as a whole must not be split */
    e->scan = (struct heft_scan){&e->classes, heft_scan_kernel(),
                                 heft_vocab_has_wholes(v) ? NULL : v->adjacency};
    return heft_words_init(&e->words, v, bytes, width, err) &&
           heft_grow(&e->text, &e->cap_text, 0, HEFT_ENCODER_ROOM, 1, err) &&
           heft_vocab_pretokens(v, options->unicode, &e->pretokens, &e->own, err) &&
           (e->pretokens
                ? heft_part_cuts_init(&e->cuts, v, err)
                : heft_classes_init(&e->classes, options->unicode ? options->unicode : v->unicode,
                                    err)) &&
           heft_encoder_front_init(e, options->special, err);
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

/* Bytes of the ids inside; the public functions widen them. */
static unsigned width_of(const struct heft_vocab *v)
{
    return heft_vocab_text_ids(v, true) <= 65536 ? 2 : 4;
}

struct heft_encoder *heft_encoder_new(const struct heft_vocab *v,
                                      const struct heft_encoder_options *options,
                                      struct heft_error *err)
{
    return heft_require_arg(v != NULL, "a vocabulary", err)
               ? heft_encoder_of_width(v, options, width_of(v), err)
               : NULL;
}

void heft_encoder_free(struct heft_encoder *e)
{
    if (!e)
        return;
    heft_text_stages_release(&e->front.stages);
    heft_pretokens_free(e->own);
    heft_words_release(&e->words);
    heft_part_cuts_release(&e->cuts);
    heft_free(e->text);
    heft_free(e->ids);
    heft_free(e);
}
