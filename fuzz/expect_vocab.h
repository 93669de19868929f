/* expect_vocab.h: checks of an open vocabulary, for fuzz targets.
 *
 * Invariants: every byte has an id, each merge joins two tokens to a third, and decoding the ids of
 * a text gives the text, unless the vocabulary refuses to encode. */
#ifndef EXPECT_VOCAB_H
#define EXPECT_VOCAB_H

#include <string.h>

#include "expect.h"
#include "tokens/bpe/ranked_tokens.h"
#include "tokens/vocab/vocab_open.h"

static inline void expect_merges(const struct heft_vocab *v)
{
    struct heft_error err = {0};

    v = heft_vocab_merged(v, &err);
    expect(v != NULL);
    for (uint32_t i = 0; i < v->n_merges; i++) {
        const struct heft_merge *merge = &v->merges[i];
        const struct heft_str left = v->tokens[merge->left], right = v->tokens[merge->right];
        const struct heft_str whole = v->tokens[merge->id];

        expect(merge->left < v->n_ids && merge->right < v->n_ids && merge->id < v->n_ids);
        expect(whole.n == left.n + right.n && memcmp(whole.p, left.p, left.n) == 0 &&
               memcmp(whole.p + left.n, right.p, right.n) == 0);
        expect(heft_vocab_pair(v, merge->left, merge->right) == i);
    }
}

static inline bool expect_word(void *ctx, const struct heft_word *word)
{
    const struct heft_vocab *v = ctx;
    struct heft_error err = {0};
    char text[64];
    size_t n;
    const bool ok = heft_decode(v, word->ids, word->n_ids, text, sizeof text, &n, &err);

    expect(ok && n == word->n && memcmp(text, word->text, n) == 0);
    return true;
}

static inline void expect_vocab(struct heft_vocab *v)
{
    static const char LINE[] = "the abc's of 1234 caf\xC3\xA9  \n\xE4\xB8\xAD aaaaabab";
    struct heft_error err = {0};

    for (unsigned byte = 0; byte < 256; byte++) {
        const struct heft_str token = v->tokens[v->byte_ids[byte]];

        expect(token.n == 1 && (uint8_t)token.p[0] == byte);
    }
    expect_merges(v);
    expect(heft_explain_text(v, NULL, LINE, sizeof LINE - 1, expect_word, v, &err) ==
           (v->refusal.code == HEFT_OK));
}

#endif
