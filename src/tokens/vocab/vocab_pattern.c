/* vocab_pattern.c: whether texts may be split by GPT-2's pattern.
 *
 * Neither ranks nor lists of merges name the split pattern they were trained with. Another pattern
 * would silently give other ids than the vocabulary's own program. So the pattern must be proven or
 * stated by the caller.
 *
 *     tokenizer.json               states it
 *     vocab.bpe, encoder.json      the original's files: GPT-2's
 *     ranks, merges.txt            GPT-2's for known vocabularies (vocab_known.c), else unknown
 *
 * Plausibility check for the latter, and for what the caller states: tokens such as ".get", "_id"
 * and ");\n" cross ends of GPT-2's pre-tokens. Merges trained with its pattern have at most 0.04 %
 * of such tokens, those trained with cl100k's, o200k's, Llama's, Qwen's or nanochat's 15 to 26 %,
 * at every size. Patterns that differ only in numbers cannot be detected. */
#include "base/text.h"
#include "tokens/bpe/pattern.h"
#include "tokens/vocab/vocab_parts.h"

#define SHARE                                                                                      \
    64 /* one token in so many is tolerated: a newer Unicode may turn other characters into letters */
#define FEW 4 /* tokens tolerated in a small vocabulary */

/* Whether the token fits into a pre-token. Incomplete UTF-8 may be part of one. */
static bool is_word(const struct heft_classes *classes, struct heft_str token)
{
    uint8_t text[HEFT_LONGEST + HEFT_SPLIT_PAD];

    if (token.n > HEFT_LONGEST ||
        heft_utf8_check((struct heft_bytes){(const uint8_t *)token.p, token.n}) < token.n)
        return true;
    memcpy(text, token.p, token.n);
    memset(text + token.n, 0, HEFT_SPLIT_PAD);
    return heft_split_word(classes, text, token.n, 0) == token.n;
}

static bool count_strangers(const struct heft_vocab *v, uint32_t *strangers, struct heft_error *err)
{
    struct heft_classes *classes = heft_calloc(1, sizeof *classes, err);
    const bool ok = classes && heft_classes_init(classes, NULL, err);

    *strangers = 0;
    for (uint32_t i = 0; ok && i < v->n_merges; i++)
        *strangers += !is_word(classes, v->tokens[v->merges[i].id]);
    heft_free(classes);
    return ok;
}

/* Sets *doubt to the evidence against GPT-2's pattern; "" if there is none. */
static bool find_doubt(struct heft_vocab_reading *r, const char **doubt)
{
    uint32_t strangers;

    *doubt = "";
    if (!count_strangers(r->v, &strangers, r->err))
        return false;
    if (strangers > FEW + r->v->n_merges / SHARE)
        *doubt = heft_arena_printf(&r->v->mem, r->err,
                                   "%" PRIu32 " of %" PRIu32
                                   " merged tokens are not pre-tokens of GPT-2's pattern: the "
                                   "vocabulary belongs to another one",
                                   strangers, r->v->n_merges);
    return *doubt != NULL;
}

static void refuse_texts(struct heft_vocab_reading *r, const char *why)
{
    heft_fail(&r->v->refusal, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
              "%s: its ids can be decoded, texts cannot be encoded", why);
}

static void refuse_unproven(struct heft_vocab_reading *r, const struct heft_vocab_known *known)
{
    if (known)
        heft_fail(
            &r->v->refusal, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
            "the ranks of %s, whose split pattern is not built in (only gpt2 is): its ids can "
            "be decoded, texts cannot be encoded",
            known->name);
    else
        refuse_texts(r,
                     "no split pattern in the file, which is not a vocabulary known to use GPT-2's "
                     "(if it does, add option pattern gpt2)");
}

bool heft_vocab_judge(struct heft_vocab_reading *r, enum heft_vocab_form form,
                      const struct heft_vocab_known *known)
{
    const bool is_said = r->how && r->how->pattern;
    const char *doubt;

    r->v->unicode = form == HEFT_FORM_ORIGINAL ? "17.0" : "16.0";
    if (known && known->is_gpt2)
        return true;
    if (form != HEFT_FORM_ORIGINAL && !is_said) {
        refuse_unproven(r, known);
        return true;
    }
    if (!find_doubt(r, &doubt))
        return false;
    if (is_said)
        r->v->doubt = *doubt ? doubt : NULL;
    else if (*doubt)
        refuse_texts(r, doubt);
    return true;
}
