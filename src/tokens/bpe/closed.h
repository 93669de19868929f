/* closed.h: the tokens that encode to themselves: a word that is one of them needs no merging. Merging
 * need not lead to a token: merges that come first may take its bytes apart. */
#ifndef HEFT_CLOSED_H
#define HEFT_CLOSED_H

#include "tokens/bpe/pairs.h"

/* Fills v->closed, as far as that pays, and v->is_closed, of a vocabulary whose tables of pairs are
 * made. */
HEFT_CHECKED bool heft_closed_find(struct heft_vocab *v, struct heft_error *err);

#endif
