/* vocab_text.h: how a vocabulary prepares and splits a text: its pre-tokenizers, compiled, and the
 * searches for its added tokens. */
#ifndef HEFT_VOCAB_TEXT_H
#define HEFT_VOCAB_TEXT_H

#include "tokens/bpe/vocab.h"

/* Compiles v->steps and the searches for v->added. Call once, when the vocabulary is read. A pattern
 * that has no automaton, or drops text, becomes v->refusal: ids can still be decoded. */
HEFT_CHECKED bool heft_vocab_settle_text(struct heft_vocab *v, struct heft_error *err);
/* Writes the offset of an error, which is one in a split pattern and not in a file, into its text.
 * Always false. */
bool heft_vocab_fail_in_pattern(struct heft_error *err);
void heft_vocab_release_text(struct heft_vocab *v);
/* Pre-tokenizers for a version of Unicode; NULL: the default one. *own is what the caller has to
 * free, or NULL. *pretokens is NULL for GPT-2's pattern. */
HEFT_CHECKED bool heft_vocab_pretokens(const struct heft_vocab *v, const char *unicode,
                                       const struct heft_pretokens **pretokens,
                                       struct heft_pretokens **own, struct heft_error *err);
/* Search for the tokens that are found in the raw text, or in the normalized text; NULL: there are
 * none. special: special tokens, too. */
const struct heft_added_search *heft_vocab_added(const struct heft_vocab *v, bool special,
                                                 bool normalized);
/* 1 + the highest id that text encodes to. */
uint32_t heft_vocab_text_ids(const struct heft_vocab *v, bool special);

#endif
