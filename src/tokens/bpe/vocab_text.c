/* vocab_text.c: compiles what a vocabulary says about texts. */
#include "tokens/bpe/vocab_text.h"

#include "base/sized.h"
#include "tokens/bpe/pattern.h"
#include "tokens/bpe/ranked_tokens.h"
#include "tokens/prepare/nfc.h"

/* ---- pre-tokenizers ---------------------------------------------------------------------- */

bool heft_vocab_fail_in_pattern(struct heft_error *err)
{
    const struct heft_error why = *err;

    if (why.offset == HEFT_NO_OFFSET)
        return false;
    heft_error_begin(err);
    return heft_fail(err, why.code, HEFT_NO_OFFSET, "%s, at byte %" PRIu64 " of the pattern",
                     why.text, why.offset);
}

/* What keeps texts from being encoded must not keep ids from being decoded. */
static bool refuse_texts(struct heft_vocab *v, struct heft_error *err)
{
    if (err->code != HEFT_UNSUPPORTED && err->code != HEFT_LIMIT)
        return false;
    (void)heft_vocab_fail_in_pattern(err);
    if (v->refusal.code == HEFT_OK)
        heft_fail(&v->refusal, err->code, HEFT_NO_OFFSET,
                  "%s: its ids can be decoded, texts cannot be encoded", err->text);
    heft_error_begin(err);
    return true;
}

static bool compile_steps(struct heft_vocab *v, struct heft_error *err)
{
    if (v->n_steps == 0)
        return true;
    v->pretokens = heft_pretokens_new(v->steps, v->n_steps, v->unicode, err);
    return v->pretokens || refuse_texts(v, err);
}

bool heft_vocab_pretokens(const struct heft_vocab *v, const char *unicode,
                          const struct heft_pretokens **pretokens, struct heft_pretokens **own,
                          struct heft_error *err)
{
    *own = NULL;
    *pretokens = v->pretokens;
    if (!v->pretokens || !unicode || strcmp(unicode, v->unicode) == 0)
        return true;
    *pretokens = *own = heft_pretokens_new(v->steps, v->n_steps, unicode, err);
    return *own != NULL;
}

/* ---- added tokens ------------------------------------------------------------------------ */

/* The text of a token as it is looked for: normalized, if it is looked for in normalized text. */
static bool put_token(struct heft_vocab *v, struct heft_added_token *token, struct heft_error *err)
{
    struct heft_buf text = {0};
    bool ok = true;

    if (!token->is_normalized || !v->is_nfc)
        return true;
    ok = heft_nfc_text(token->text, &text, err) && heft_buf_ok(&text, err);
    token->text.n = text.n;
    token->text.p = ok ? heft_arena_text(&v->mem, (struct heft_str){text.p, text.n}, err) : NULL;
    heft_buf_release(&text);
    return token->text.p != NULL;
}

static bool build_search(struct heft_vocab *v, bool special, bool normalized,
                         struct heft_error *err)
{
    struct heft_added_token *list = NULL;
    size_t n = 0, cap = 0;
    bool ok = true, has_new = false;

    for (size_t i = 0; ok && i < v->n_added; i++) {
        struct heft_added_token token = v->added[i];

        if (token.is_normalized != normalized || (token.is_special && !special))
            continue;
        has_new |= token.is_special;
        ok = put_token(v, &token, err) && heft_grow(&list, &cap, n, 1, sizeof *list, err);
        if (ok)
            list[n++] = token;
    }
    if (ok && n > 0 && (has_new || !special)) {
        v->searches[special][normalized] = heft_added_search_new(list, n, err);
        ok = v->searches[special][normalized] || refuse_texts(v, err);
    }
    heft_free(list);
    return ok;
}

const struct heft_added_search *heft_vocab_added(const struct heft_vocab *v, bool special,
                                                 bool normalized)
{
    const struct heft_added_search *const search = v->searches[special][normalized];

    return search ? search : v->searches[false][normalized];
}

uint32_t heft_vocab_text_ids(const struct heft_vocab *v, bool special)
{
    uint32_t ids = v->text_ids;

    for (size_t i = 0; i < v->n_added; i++)
        if (special || !v->added[i].is_special)
            ids = (uint32_t)heft_max_u64(ids, v->added[i].id + 1);
    return ids;
}

/* Bitmap of the ids of added tokens. */
static uint64_t *added_ids(const struct heft_vocab *v, struct heft_error *err)
{
    uint64_t *const ids = heft_calloc(HEFT_MOST_IDS / 64, sizeof *ids, err);

    for (size_t i = 0; ids && i < v->n_added; i++)
        if (v->added[i].id < HEFT_MOST_IDS)
            ids[v->added[i].id / 64] |= UINT64_C(1) << v->added[i].id % 64;
    return ids;
}

/* Special tokens that no list of added tokens has, as <|endoftext|> of GPT-2's files. A token that
 * text encodes to, chosen as the end of texts, is none. */
static bool add_specials(struct heft_vocab *v, struct heft_error *err)
{
    uint64_t *const ids = v->n_specials ? added_ids(v, err) : NULL;
    bool ok = ids || v->n_specials == 0;

    for (size_t i = 0; ok && i < v->n_specials; i++) {
        const struct heft_special *s = &v->specials[i];
        const struct heft_added_token token = {.text = s->text, .id = s->id, .is_special = true};

        if (s->id >= v->text_ids && !(s->id < HEFT_MOST_IDS && ids[s->id / 64] >> s->id % 64 & 1))
            ok = heft_vocab_add_token(v, &token, err);
    }
    heft_free(ids);
    return ok;
}

bool heft_vocab_settle_text(struct heft_vocab *v, struct heft_error *err)
{
    if (!compile_steps(v, err) || !add_specials(v, err))
        return false;
    for (int special = 0; special < 2; special++)
        for (int normalized = 0; normalized < 2; normalized++)
            if (!build_search(v, special, normalized, err))
                return false;
    return true;
}

void heft_vocab_release_text(struct heft_vocab *v)
{
    for (int i = 0; i < 4; i++)
        heft_added_search_free(v->searches[i / 2][i % 2]);
    heft_pretokens_free(v->pretokens);
    heft_free(v->added);
}

/* ---- public API -------------------------------------------------------------------------- */

void heft_vocab_describe(const struct heft_vocab *v, struct heft_vocab_info *out)
{
    struct heft_vocab_info info = {0};

    if (!out)
        return;
    if (v) {
        info.family = v->refusal.code ? NULL : v->family ? v->family : "gpt2";
        info.normalizer = v->is_nfc ? "NFC" : NULL;
        info.unicode = v->unicode;
        info.refusal = v->refusal.code ? v->refusal.text : NULL;
        info.ids = heft_vocab_size(v);
        info.merges = v->ranked ? v->ranked->n_longer : v->n_merges;
        info.longest = v->longest;
        for (size_t i = 0; i < v->n_added; i++)
            info.added += !v->added[i].is_special;
        info.patterns = v->refusal.code ? 0 : v->n_steps ? (uint32_t)v->n_steps : 1;
        info.variants = v->variants;
    }
    HEFT_FILL(heft_vocab_info, out, &info);
}

const char *heft_vocab_pattern(const struct heft_vocab *v, size_t i, size_t *n)
{
    struct heft_str pattern = {0};

    if (!v || !n || v->refusal.code)
        return NULL;
    if (v->n_steps == 0 && i == 0)
        pattern = HEFT_STR(HEFT_GPT2_PATTERN);
    else if (i < v->n_steps)
        pattern = v->steps[i].pattern;
    *n = pattern.n;
    return pattern.p;
}
