/* train_pattern.c: the split pattern and the special tokens of a vocabulary to be trained. */
#include "base/text.h"
#include "tokens/train/train.h"
#include "tokens/vocab/families.h"

/* ---- the pattern ------------------------------------------------------------------------- */

/* Whether the text of a pattern may mean one thing to tiktoken and another to tokenizers, for which
 * tokenizer.json is written. */
static bool is_ambiguous(struct heft_str pattern)
{
    bool is_count = false; /* within {m,n} */

    for (size_t i = 0; i < pattern.n; i++) {
        const char c = pattern.p[i], next = (char)(i + 1 < pattern.n ? pattern.p[i + 1] : 0);

        if (c == '$' || (c == '}' && is_count && next == '+'))
            return true;
        is_count = (c == '{' && next >= '0' && next <= '9') || (is_count && c != '}');
        i += c == '\\';
    }
    return false;
}

static bool use_family(struct heft_train_pattern *out, const struct heft_family *family)
{
    out->is_nfc = family->is_nfc;
    if (!family->is_scanned) {
        out->steps = family->steps;
        out->n_steps = family->n_steps;
    }
    return true;
}

static bool check_steps(const struct heft_train_pattern *p, const char *name,
                        struct heft_error *err)
{
    for (size_t i = 0; i < p->n_steps; i++)
        if (p->steps[i].engine == HEFT_ENGINE_TIKTOKEN && is_ambiguous(p->steps[i].pattern))
            return heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                             "option pattern %s: tokenizers, for which tokenizer.json is written, "
                             "reads $ and {m,n}+ in another way than tiktoken",
                             name);
    return true;
}

bool heft_train_pattern_of(struct heft_train_pattern *out, const struct heft_train_options *o,
                           struct heft_error *err)
{
    const struct heft_family *const family = o->pattern ? heft_family_named(o->pattern) : NULL;

    *out = (struct heft_train_pattern){0};
    if (!o->pattern)
        return true;
    if (o->style == HEFT_TRAIN_SUBWORD_NMT)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "option pattern: subword-nmt divides texts at blanks");
    if (!family && !heft_family_check(o->pattern, err))
        return false;
    if (family) {
        use_family(out, family);
    } else {
        if (!heft_family_check_total(heft_str_of(o->pattern), err))
            return false;
        out->own = (struct heft_pretokens_step){.pattern = heft_str_of(o->pattern)};
        out->steps = &out->own;
        out->n_steps = 1;
    }
    if (!check_steps(out, o->pattern, err))
        return false;
    if (out->n_steps == 0)
        return true;
    out->pretokens = heft_pretokens_new(out->steps, out->n_steps, o->unicode, err);
    return out->pretokens != NULL;
}

void heft_train_pattern_release(struct heft_train_pattern *p)
{
    heft_pretokens_free(p->pretokens);
    p->pretokens = NULL;
}

/* ---- special tokens ---------------------------------------------------------------------- */

static bool check_special(const char *text, const struct heft_train_options *o, size_t i,
                          struct heft_error *err)
{
    const size_t n = strlen(text);

    if (n == 0 || n > HEFT_LONGEST)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "option special: a token must have 1 to %d bytes", HEFT_LONGEST);
    if (heft_utf8_check((struct heft_bytes){(const uint8_t *)text, n}) < n)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "option special: not valid UTF-8");
    for (size_t k = 0; k < i; k++)
        if (strcmp(o->specials[k], text) == 0)
            return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "option special: %s is given twice",
                             text);
    return true;
}

bool heft_train_check_specials(struct heft_train_options *o, struct heft_error *err)
{
    static const char *const DEFAULT[] = {HEFT_END_OF_TEXT};

    if (o->style == HEFT_TRAIN_SUBWORD_NMT)
        return o->n_specials == 0 ||
               heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "option special: the codes of subword-nmt have no special tokens");
    if (o->n_specials == 0) {
        o->specials = DEFAULT;
        o->n_specials = 1;
    }
    for (size_t i = 0; i < o->n_specials; i++)
        if (!check_special(o->specials[i], o, i, err))
            return false;
    return true;
}

/* A special token that the merges make, too, would have two ids. */
bool heft_train_check_symbols(const struct heft_train_cells *cells,
                              const struct heft_train_options *o, struct heft_error *err)
{
    char text[HEFT_TRAIN_LONGEST];

    for (size_t i = 0; i < o->n_specials; i++)
        for (uint32_t k = 0; k < cells->n_symbols; k++) {
            if (cells->symbols[k].n != strlen(o->specials[i]))
                continue;
            heft_train_text(cells, k, text);
            if (memcmp(text, o->specials[i], cells->symbols[k].n) == 0)
                return heft_fail(
                    err, HEFT_USAGE, HEFT_NO_OFFSET,
                    "option special: %s is also a token of the texts, with id %" PRIu32,
                    o->specials[i], k);
        }
    return true;
}
