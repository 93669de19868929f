/* encoder.h: internal interface of heft_encoder: ids of 2 or 4 bytes. */
#ifndef HEFT_ENCODER_H
#define HEFT_ENCODER_H

#include "base/base.h"
#include "heft/tokens.h"

/* Callback for ids of heft_encoder_width bytes each, little-endian, valid until it returns. False
 * stops the encoding. */
struct heft_taker {
    bool (*take)(void *ctx, const void *ids, size_t count);
    void *ctx;
    /* Optional: returns room for `bytes` bytes, where the ids that are handed over next are written
     * in place. */
    uint8_t *(*room)(void *ctx, size_t bytes, struct heft_error *err);
};

/* Creates an encoder whose ids have `width` bytes: 4, or 2 if all ids of the vocabulary fit. */
struct heft_encoder *heft_encoder_of_width(const struct heft_vocab *v,
                                           const struct heft_encoder_options *options,
                                           unsigned width, struct heft_error *err);
unsigned heft_encoder_width(const struct heft_encoder *e);
/* Skips the validation of UTF-8 from now on. */
void heft_encoder_trust(struct heft_encoder *e);
/* Same as heft_encoder_feed and heft_encoder_finish. */
HEFT_CHECKED bool heft_encoder_put(struct heft_encoder *e, const void *piece, size_t n,
                                   const struct heft_taker *taker, struct heft_error *err);
HEFT_CHECKED bool heft_encoder_end(struct heft_encoder *e, const struct heft_taker *taker,
                                   struct heft_error *err);
/* Encodes a text that is complete, after dropping an unfinished one: the same ids and errors as put and
 * end. */
HEFT_CHECKED bool heft_encoder_whole(struct heft_encoder *e, const void *text, size_t n,
                                     const struct heft_taker *taker, struct heft_error *err);
/* Writes n ids of `width` bytes, 2 or 4, as 4 bytes each. */
void heft_encoder_widen(const uint8_t *from, size_t n, unsigned width, uint32_t *to);

#endif
