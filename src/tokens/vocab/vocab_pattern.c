/* vocab_pattern.c: which split pattern a vocabulary has, and whether that is known.
 *
 * Neither ranks nor lists of merges name the split pattern they were trained with. Another pattern
 * would silently give other ids than the vocabulary's own program. So the pattern must be proven or
 * stated by the caller.
 *
 *     tokenizer.json, tekken.json, tokenizer.pkl   state it
 *     vocab.bpe, encoder.json                      the original's files: GPT-2's
 *     ranks, merges.txt      that of a known vocabulary (vocab_known.c) or of the tokenizer class
 *                            beside it (vocab_config.c), else unknown
 *
 * Plausibility check for GPT-2's files, and for what the caller states: tokens such as ".get", "_id"
 * and ");\n" cross ends of GPT-2's pre-tokens. Merges trained with its pattern have at most 0.04 %
 * of such tokens, those trained with cl100k's, o200k's, Llama's, Qwen's or nanochat's 15 to 26 %,
 * at every size. Patterns that differ only in numbers cannot be detected. */
#include "base/text.h"
#include "tokens/bpe/pattern.h"
#include "tokens/bpe/ranked_tokens.h"
#include "tokens/vocab/families.h"
#include "tokens/vocab/vocab_parts.h"

#define SHARE                                                                                      \
    64 /* one token in so many is tolerated: a newer Unicode may turn other characters into letters */
#define FEW 4 /* tokens tolerated in a small vocabulary */

#define WORDS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

/* ---- setting the pattern ----------------------------------------------------------------- */

bool heft_vocab_take_steps(struct heft_vocab_reading *r, const char *name,
                           const struct heft_pretokens_step *steps, size_t n, bool is_nfc)
{
    const struct heft_family *const family = heft_family_of(steps, n, is_nfc);
    struct heft_vocab *const v = r->v;

    v->family = family ? family->name : name;
    v->is_nfc = is_nfc;
    v->n_steps = family && family->is_scanned ? 0 : n;
    if (v->n_steps == 0)
        return true;
    v->steps = heft_arena_alloc(&v->mem, n * sizeof *steps, r->err);
    if (v->steps)
        memcpy(v->steps, family ? family->steps : steps, n * sizeof *steps);
    return v->steps != NULL;
}

bool heft_vocab_take_family(struct heft_vocab_reading *r, const struct heft_family *family)
{
    return heft_vocab_take_steps(r, family->name, family->steps, family->n_steps, family->is_nfc);
}

/* What keeps texts from being encoded must not keep ids from being decoded. */
static bool check_total(struct heft_vocab_reading *r, struct heft_str pattern)
{
    struct heft_error why = {0};

    if (heft_family_check_total(pattern, &why))
        return true;
    if (why.code != HEFT_UNSUPPORTED && why.code != HEFT_LIMIT) {
        *r->err = why;
        return false;
    }
    if (r->v->refusal.code == HEFT_OK)
        r->v->refusal = why;
    return true;
}

bool heft_vocab_take_regex(struct heft_vocab_reading *r, const char *name, struct heft_str pattern)
{
    const char *const copy = heft_arena_text(&r->v->mem, pattern, r->err);
    const struct heft_pretokens_step step = {
        {copy, pattern.n}, false, HEFT_ENGINE_TIKTOKEN, HEFT_BEHAVIOR_ISOLATED, false};

    return copy && check_total(r, pattern) && heft_vocab_take_steps(r, name, &step, 1, false);
}

bool heft_vocab_is_regex(const char *pattern)
{
    return *pattern && pattern[strspn(pattern, WORDS)] != 0;
}

static bool take_stated(struct heft_vocab_reading *r)
{
    const char *const pattern = r->how->pattern;
    const struct heft_family *const family = heft_family_named(pattern);

    return family ? heft_vocab_take_family(r, family)
                  : heft_vocab_take_regex(r, "regular expression", heft_str_of(pattern));
}

void heft_vocab_ignore_stated(struct heft_vocab_reading *r)
{
    const char *const pattern = r->how ? r->how->pattern : NULL;
    const struct heft_family *const family = pattern ? heft_family_named(pattern) : NULL;

    if (pattern && !(family && r->v->family && strcmp(family->name, r->v->family) == 0))
        r->v->doubt = "the file states its own pattern, which is used instead";
}

/* ---- plausibility ------------------------------------------------------------------------ */

/* Whether a token is one pre-token of GPT-2's pattern, by the character classes, or of the compiled
 * pattern. Incomplete UTF-8 may be part of one. */
static bool is_word(const struct heft_vocab *v, const struct heft_classes *classes,
                    struct heft_str token)
{
    uint8_t text[HEFT_LONGEST + HEFT_SPLIT_PAD];

    if (token.n > HEFT_LONGEST ||
        heft_utf8_check((struct heft_bytes){(const uint8_t *)token.p, token.n}) < token.n)
        return true;
    memcpy(text, token.p, token.n);
    memset(text + token.n, 0, HEFT_SPLIT_PAD);
    return v->pretokens ? heft_pretokens_is_one(v->pretokens, text, token.n)
                        : heft_split_word(classes, text, token.n, 0) == token.n;
}

static bool count_strangers(const struct heft_vocab *v, uint32_t *strangers, struct heft_error *err)
{
    struct heft_classes *classes = heft_calloc(1, sizeof *classes, err);
    const bool ok = classes && heft_classes_init(classes, NULL, err);

    *strangers = 0;
    for (uint32_t i = 0; ok && i < v->n_merges; i++)
        *strangers += !is_word(v, classes, v->tokens[v->merges[i].id]);
    for (uint32_t id = 0; ok && v->ranked && id < v->n_ids; id++)
        *strangers += v->tokens[id].n > 1 && heft_ranked_has(v->ranked, id) &&
                      !is_word(v, classes, v->tokens[id]);
    heft_free(classes);
    return ok;
}

/* Sets *doubt to the evidence against the pattern; "" if there is none. */
static bool find_doubt(struct heft_vocab *v, const char **doubt, struct heft_error *err)
{
    const uint32_t merged = v->ranked ? v->ranked->n_longer : v->n_merges;
    const bool is_gpt2 = v->n_steps == 0;
    uint32_t strangers;

    *doubt = "";
    if (!count_strangers(v, &strangers, err))
        return false;
    if (strangers > FEW + merged / SHARE)
        *doubt = heft_arena_printf(&v->mem, err,
                                   "%" PRIu32 " of %" PRIu32
                                   " merged tokens are not pre-tokens of %s: the vocabulary "
                                   "belongs to another one",
                                   strangers, merged, is_gpt2 ? "GPT-2's pattern" : "this pattern");
    return *doubt != NULL;
}

bool heft_vocab_weigh_stated(struct heft_vocab *v, struct heft_error *err)
{
    const char *doubt;

    if (v->doubt || v->refusal.code)
        return true;
    if (!find_doubt(v, &doubt, err))
        return false;
    v->doubt = *doubt ? doubt : NULL;
    return true;
}

/* ---- choosing ---------------------------------------------------------------------------- */

static void refuse_texts(struct heft_vocab_reading *r, const char *why)
{
    heft_fail(&r->v->refusal, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
              "%s: its ids can be decoded, texts cannot be encoded", why);
}

static bool judge_original(struct heft_vocab_reading *r)
{
    const char *doubt;

    if (!heft_vocab_take_family(r, heft_family_named("gpt2")) || !find_doubt(r->v, &doubt, r->err))
        return false;
    r->v->unicode = "17.0";
    if (*doubt)
        refuse_texts(r, doubt);
    return true;
}

static bool judge_stated(struct heft_vocab_reading *r, enum heft_vocab_form form)
{
    if (!take_stated(r))
        return false;
    if (form == HEFT_FORM_ORIGINAL && r->v->n_steps == 0)
        r->v->unicode = "17.0";
    return true;
}

/* Merges of GPT-2 are a file of tokenizers, ranks one of tiktoken. */
static bool take_known(struct heft_vocab_reading *r, enum heft_vocab_form form,
                       const struct heft_vocab_known *known)
{
    const char *const family = form == HEFT_FORM_MERGES ? "gpt2" : known->family;

    if (!heft_vocab_take_family(r, heft_family_named(known->same_ids ? known->same_ids : family)))
        return false;
    if (known->same_ids)
        r->v->family = known->family;
    return true;
}

/* Whether the caller stated the published pattern of these ranks, by name or text, and another one gives
 * the same ids faster. */
static bool is_known_pattern(const struct heft_vocab *v, const struct heft_vocab_known *known)
{
    return known && known->same_ids && v->family && strcmp(v->family, known->family) == 0;
}

bool heft_vocab_judge(struct heft_vocab_reading *r, enum heft_vocab_form form,
                      const struct heft_vocab_known *known)
{
    r->v->unicode = "16.0";
    if (r->how && r->how->pattern)
        return judge_stated(r, form) &&
               (!is_known_pattern(r->v, known) || take_known(r, form, known));
    if (known)
        return take_known(r, form, known);
    if (form == HEFT_FORM_ORIGINAL)
        return judge_original(r);
    r->is_unproven = true;
    refuse_texts(r,
                 "no split pattern in the file, which is not a known vocabulary (name it by option "
                 "pattern, as gpt2, gpt4 or llama3)");
    return true;
}
