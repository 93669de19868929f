/* self_encoding.h: tokens that encode to themselves. A pre-token that equals one needs no merging.
 * Other tokens may be unreachable: earlier merges take their bytes apart. */
#ifndef HEFT_SELF_ENCODING_H
#define HEFT_SELF_ENCODING_H

#include "tokens/bpe/pairs.h"

/* Fills v->self_encoding and v->is_self_encoding. The pairs of the vocabulary must be built. */
HEFT_CHECKED bool heft_self_encoding_find(struct heft_vocab *v, struct heft_error *err);

#endif
