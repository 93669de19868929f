/* self_encoding.h: the tokens that encode to themselves: a word that is one of them needs no merging. Merging
 * need not lead to a token: merges that come first may take its bytes apart. */
#ifndef HEFT_SELF_ENCODING_H
#define HEFT_SELF_ENCODING_H

#include "tokens/bpe/pairs.h"

/* Fills v->self_encoding, as far as that pays, and v->is_self_encoding, of a vocabulary whose tables of pairs are
 * made. */
HEFT_CHECKED bool heft_self_encoding_find(struct heft_vocab *v, struct heft_error *err);

#endif
