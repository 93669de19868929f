/* encoder.h: the inside of heft_encoder: ids as narrow as the vocabulary allows. */
#ifndef HEFT_ENCODER_H
#define HEFT_ENCODER_H

#include "base/base.h"
#include "heft/tokens.h"

/* Gets ids of heft_encoder_width bytes each, little-endian; they live until it returns. False ends
 * the encoding. */
struct heft_taker {
    bool (*take)(void *ctx, const void *ids, size_t count);
    void *ctx;
    /* Where so many bytes may be written, of which what is taken next will be the beginning; NULL:
     * the encoder has memory of its own. */
    uint8_t *(*room)(void *ctx, size_t bytes, struct heft_error *err);
};

/* As heft_encoder_new, its ids of `width` bytes: 4, or 2 where all that texts encode to fit. */
struct heft_encoder *heft_encoder_of_width(const struct heft_vocab *v,
                                           const struct heft_encoder_options *options,
                                           unsigned width, struct heft_error *err);
unsigned heft_encoder_width(const struct heft_encoder *e);
/* What it is given is known to be UTF-8 from now on: it looks no more. */
void heft_encoder_trust(struct heft_encoder *e);
/* As heft_encoder_feed and heft_encoder_finish. */
HEFT_CHECKED bool heft_encoder_put(struct heft_encoder *e, const void *piece, size_t n,
                                   const struct heft_taker *taker, struct heft_error *err);
HEFT_CHECKED bool heft_encoder_end(struct heft_encoder *e, const struct heft_taker *taker,
                                   struct heft_error *err);

#endif
