/* vocab_pattern.c: merges that were learnt on words of another pattern.
 *
 * Neither ranks nor lists of merges say which pattern cuts the words. Cut by GPT-2's, texts would
 * silently become other ids than the vocabulary's own program gives: cl100k_base, o200k_base, Llama's
 * and Qwen's have tokens like ".get", "_id" and ");\n", each thousands that are no words of GPT-2's;
 * what is learnt with its pattern has next to none. */
#include "base/text.h"
#include "tokens/pattern.h"
#include "tokens/vocab_parts.h"

#define FEWEST 90000 /* merges of those; GPT-2 and its kin have 50000, and are not looked at */
#define SHARE  64 /* one token in so many: a new Unicode may turn other characters into letters */

/* Bytes that are no UTF-8 alone may be parts of a word. */
static bool is_word(const struct heft_classes *classes, struct heft_str token)
{
    uint8_t text[HEFT_LONGEST + HEFT_SPLIT_PAD] = {0};

    if (token.n > HEFT_LONGEST ||
        heft_utf8_check((struct heft_bytes){(const uint8_t *)token.p, token.n}) < token.n)
        return true;
    memcpy(text, token.p, token.n);
    return heft_split_word(classes, text, token.n, 0) == token.n;
}

bool heft_vocab_check_words(const struct heft_vocab *v, struct heft_error *err)
{
    struct heft_classes *classes;
    uint32_t others = 0;
    bool ok;

    if (v->n_merges < FEWEST)
        return true;
    classes = heft_calloc(1, sizeof *classes, err);
    ok = classes && heft_classes_init(classes, NULL, err);
    for (uint32_t i = 0; ok && i < v->n_merges; i++)
        others += !is_word(classes, v->tokens[v->merges[i].id]);
    heft_free(classes);
    return ok && (others <= v->n_merges / SHARE ||
                  heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                            "%" PRIu32 " of %" PRIu32 " merged tokens are no words of GPT-2's "
                            "pattern: the vocabulary goes with another one",
                            others, v->n_merges));
}
