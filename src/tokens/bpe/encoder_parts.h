/* encoder_parts.h: shared by the files of the encoder.
 *
 *     encoder_front.c    pieces of bytes → complete characters → stages (text_stages.h)
 *     encoder.c          pieces of text → complete pre-tokens, the rest is kept
 *     encoder_gpt2.c     pre-tokens of GPT-2's pattern → ids
 *     encoder_chain.c    pre-tokens of a chain of split patterns → ids
 *     encoder_api.c      the public functions
 *
 * Most vocabularies of GPT-2's kind have no stages. */
#ifndef HEFT_ENCODER_PARTS_H
#define HEFT_ENCODER_PARTS_H

#include <limits.h>

#include "tokens/bpe/encoder.h"
#include "tokens/bpe/part_cuts.h"
#include "tokens/bpe/text_stages.h"
#include "tokens/bpe/word_scan.h"
#include "tokens/bpe/words.h"

#define HEFT_ENCODER_ROOM                                                                          \
    16 /* bytes after the text and after the ids that may be read or overwritten */
#define HEFT_NO_GIANT UINT_MAX

/* Between the pieces of a text and its stages. */
struct heft_encoder_front {
    struct heft_text_stages stages;
    const struct heft_taker *taker; /* of the running call */
    uint8_t open[4];                /* an incomplete character */
    size_t n_open;
    uint64_t offset; /* of `open` in the whole text */
};

struct heft_encoder {
    const struct heft_vocab *v;
    struct heft_encoder_front front;
    const struct heft_pretokens *pretokens; /* NULL: GPT-2's pattern */
    struct heft_pretokens *own;             /* compiled for another version of Unicode */
    struct heft_pretokens_place place;      /* where the chain continues */
    size_t wanted;                          /* bytes of text before the chain is tried again */
    struct heft_part_cuts cuts;             /* for the chain */
    struct heft_classes classes;            /* for GPT-2's pattern */
    struct heft_scan scan;
    struct heft_words words;
    uint8_t *text; /* the incomplete rest, and the newest piece */
    size_t n_text, cap_text;
    uint64_t offset; /* offset of text[0] in the whole text */
    uint8_t *ids;
    size_t cap_ids;
    bool is_special;  /* special tokens are found in texts */
    bool is_trusting; /* input is known to be valid UTF-8 */
    unsigned giant;   /* class of an unfinished pre-token longer than a window, or HEFT_NO_GIANT */
    uint32_t starts[HEFT_SCAN_ROOM];
};

/* ---- encoder.c --------------------------------------------------------------------------- */

/* Drops an unfinished text. */
void heft_encoder_restart(struct heft_encoder *e);
/* As heft_encoder_put and _end, for text that passed the stages. */
HEFT_CHECKED bool heft_encoder_put_words(struct heft_encoder *e, const uint8_t *piece, size_t n,
                                         const struct heft_taker *taker, struct heft_error *err);
HEFT_CHECKED bool heft_encoder_end_words(struct heft_encoder *e, const struct heft_taker *taker,
                                         struct heft_error *err);
/* Hands over a single id. */
HEFT_CHECKED bool heft_encoder_give_id(struct heft_encoder *e, uint32_t id,
                                       const struct heft_taker *taker, struct heft_error *err);
/* Number of bytes at the end of text[0, n) that are an incomplete character: 0 to 3. */
size_t heft_encoder_open_character(const uint8_t *text, size_t n);
/* Fails with the first bytes of text[0, n), which are not UTF-8. Always false. */
bool heft_encoder_fail_text(const uint8_t *text, size_t n, uint64_t offset, struct heft_error *err);

/* ---- encoder_front.c --------------------------------------------------------------------- */

/* Whether the text passes stages before it is split. */
static inline bool heft_encoder_has_stages(const struct heft_encoder *e)
{
    return e->front.stages.first.put != NULL;
}
HEFT_CHECKED bool heft_encoder_front_init(struct heft_encoder *e, bool special,
                                          struct heft_error *err);
void heft_encoder_front_reset(struct heft_encoder *e);
/* As heft_encoder_put and _end, if there are stages. */
HEFT_CHECKED bool heft_encoder_front_put(struct heft_encoder *e, const uint8_t *piece, size_t n,
                                         const struct heft_taker *taker, struct heft_error *err);
HEFT_CHECKED bool heft_encoder_front_end(struct heft_encoder *e, const struct heft_taker *taker,
                                         struct heft_error *err);

/* ---- encoder_gpt2.c, encoder_chain.c ----------------------------------------------------- */

/* Encodes the pre-tokens of text[0, n), which is followed by HEFT_ENCODER_ROOM readable bytes: all
 * if `is_last`, else the complete ones. Ids are written to *out, which moves on; *done is the number
 * of bytes used. */
HEFT_CHECKED bool heft_encoder_gpt2(struct heft_encoder *e, const uint8_t *text, size_t n,
                                    bool is_last, uint8_t **out, size_t *done,
                                    struct heft_error *err);
HEFT_CHECKED bool heft_encoder_chain(struct heft_encoder *e, const uint8_t *text, size_t n,
                                     bool is_last, uint8_t **out, size_t *done,
                                     struct heft_error *err);

#endif
