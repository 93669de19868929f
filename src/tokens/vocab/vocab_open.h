/* vocab_open.h: files → a vocabulary.
 *
 *     vocab_open.c      the public way in
 *     vocab_files.c     a path, or bytes → which kind they are
 *     vocab_words.c     vocab.bpe, encoder.json → tokens and merges
 *     vocab_json.c      tokenizer.json → the same
 *     vocab_ranks.c     a .tiktoken file → the same
 *     vocab_builtin.c   GPT-2's own, compiled in */
#ifndef HEFT_VOCAB_OPEN_H
#define HEFT_VOCAB_OPEN_H

#include "tokens/bpe/vocab.h"

/* Reads what is at `path` into tokens, byte_ids, merges and slots. */
HEFT_CHECKED bool heft_vocab_read(struct heft_vocab *v, const char *path,
                                  const struct heft_vocab_options *how, struct heft_error *err);
/* The same from memory: vocab.bpe, tokenizer.json or ranks; ids: encoder.json, p NULL for none. */
HEFT_CHECKED bool heft_vocab_parse(struct heft_vocab *v, struct heft_bytes text,
                                   struct heft_bytes ids, const struct heft_vocab_options *how,
                                   struct heft_error *err);
HEFT_CHECKED struct heft_vocab *heft_vocab_from(struct heft_bytes text, struct heft_bytes ids,
                                                const struct heft_vocab_options *how,
                                                struct heft_error *err);
/* GPT-2's own, where the build had it: HEFT_USAGE else. */
HEFT_CHECKED bool heft_vocab_builtin(struct heft_vocab *v, struct heft_error *err);

/* GPT-2's merges as the build wrote them (scripts/builtin-vocab); 0 where it had none. */
extern const uint32_t heft_builtin_count;
extern const uint16_t heft_builtin_merges[][2];
/* The bytes of each token in the order of ids, without the end of text, and how many they are. */
extern const uint8_t heft_builtin_bytes[], heft_builtin_lengths[];

#endif
