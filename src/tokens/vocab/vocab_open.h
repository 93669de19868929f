/* vocab_open.h: files → a vocabulary.
 *
 *     vocab_open.c      public API
 *     vocab_files.c     a path, or bytes → the format
 *     vocab_words.c     vocab.bpe, encoder.json → tokens and merges
 *     vocab_json.c      tokenizer.json → the same
 *     vocab_ranks.c     a .tiktoken file → the same
 *     vocab_tekken.c    tekken.json → the same
 *     vocab_pickle.c    tokenizer.pkl → the same
 *     vocab_builtin.c   GPT-2's vocabulary, compiled in */
#ifndef HEFT_VOCAB_OPEN_H
#define HEFT_VOCAB_OPEN_H

#include "tokens/bpe/vocab.h"

/* Reads `path` into tokens, byte_ids, merges and slots. */
HEFT_CHECKED bool heft_vocab_read(struct heft_vocab *v, const char *path,
                                  const struct heft_vocab_options *how, struct heft_error *err);
/* The same from memory: vocab.bpe, tokenizer.json or ranks; ids: encoder.json, or p NULL. */
HEFT_CHECKED bool heft_vocab_parse(struct heft_vocab *v, struct heft_bytes text,
                                   struct heft_bytes ids, const struct heft_vocab_options *how,
                                   struct heft_error *err);
HEFT_CHECKED struct heft_vocab *heft_vocab_from(struct heft_bytes text, struct heft_bytes ids,
                                                const struct heft_vocab_options *how,
                                                struct heft_error *err);
/* The compiled-in vocabulary of GPT-2; HEFT_USAGE if the build has none. */
HEFT_CHECKED bool heft_vocab_builtin(struct heft_vocab *v, struct heft_error *err);

/* GPT-2's merges, written by the build (scripts/builtin-vocab); 0: none. */
extern const uint32_t heft_builtin_count;
extern const uint16_t heft_builtin_merges[][2];
/* The bytes of all tokens in the order of their ids, except <|endoftext|>, and their lengths. */
extern const uint8_t heft_builtin_bytes[], heft_builtin_lengths[];

#endif
