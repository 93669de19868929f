/* fuzz_vocab.c: any bytes as a vocabulary. Invariants of one that opens: every byte has an id, each
 * merge joins two tokens to a third, and decoding the ids of a text gives the text. If the first
 * byte is 0, the next 0 separates ids from merges. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "tokens/vocab/vocab_open.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_merges(const struct heft_vocab *v)
{
    for (uint32_t i = 0; i < v->n_merges; i++) {
        const struct heft_merge *merge = &v->merges[i];
        const struct heft_str left = v->tokens[merge->left], right = v->tokens[merge->right];
        const struct heft_str whole = v->tokens[merge->id];

        assert(merge->left < v->n_ids && merge->right < v->n_ids && merge->id < v->n_ids);
        assert(whole.n == left.n + right.n && memcmp(whole.p, left.p, left.n) == 0 &&
               memcmp(whole.p + left.n, right.p, right.n) == 0);
        assert(heft_vocab_pair(v, merge->left, merge->right) == i);
    }
}

static bool check_word(void *ctx, const struct heft_word *word)
{
    const struct heft_vocab *v = ctx;
    struct heft_error err = {0};
    char text[64];
    size_t n;
    const bool ok = heft_decode(v, word->ids, word->n_ids, text, sizeof text, &n, &err);

    assert(ok && n == word->n && memcmp(text, word->text, n) == 0);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *zero = size > 1 && data[0] == 0 ? memchr(data + 1, 0, size - 1) : NULL;
    const struct heft_bytes ids = {zero ? data + 1 : NULL, zero ? (size_t)(zero - data) - 1 : 0};
    const struct heft_bytes text = {zero ? zero + 1 : data, zero ? size - ids.n - 2 : size};
    static const char LINE[] = "the abc's of 1234 caf\xC3\xA9  \n\xE4\xB8\xAD aaaaabab";
    struct heft_error err = {0};
    const struct heft_vocab_options how = {.pattern = size % 2 ? "gpt2" : NULL};
    struct heft_vocab *v = heft_vocab_from(text, ids, &how, &err);

    assert((v != NULL) == (err.code == HEFT_OK));
    if (!v)
        return 0;
    for (unsigned byte = 0; byte < 256; byte++) {
        const struct heft_str token = v->tokens[v->byte_ids[byte]];

        assert(token.n == 1 && (uint8_t)token.p[0] == byte);
    }
    check_merges(v);
    assert(heft_explain_text(v, NULL, LINE, sizeof LINE - 1, check_word, v, &err) ==
           (v->refusal.code == HEFT_OK));
    heft_vocab_close(v);
    return 0;
}
