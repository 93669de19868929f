/* vocab_open.c: opens a vocabulary: reads its files, determines its limits, finds the token that
 * ends texts. */
#include "tokens/vocab/vocab_open.h"

#include "base/sized.h"
#include "base/text.h"
#include "tokens/bpe/vocab_text.h"
#include "tokens/vocab/families.h"
#include "tokens/vocab/vocab_parts.h"

/* ---- the end-of-text token ---------------------------------------------------------------- */

/* Parses a number below 2^20 in decimal, else HEFT_NO_TOKEN. */
static uint32_t number_of(const char *text)
{
    uint64_t value = 0;

    for (const char *c = text; *c; c++) {
        value = 10 * value + (uint64_t)(*c - '0');
        if (*c < '0' || *c > '9' || value >= HEFT_MOST_IDS)
            return HEFT_NO_TOKEN;
    }
    return *text ? (uint32_t)value : HEFT_NO_TOKEN;
}

/* Finds a token by its text; a special token is preferred to an ordinary one of the same text. */
static uint32_t find_token(const struct heft_vocab *v, const char *name)
{
    uint32_t found = HEFT_NO_TOKEN;

    for (size_t i = 0; i < v->n_specials; i++)
        if (heft_str_is(v->specials[i].text, name))
            return v->specials[i].id;
    for (uint32_t left = v->n_ids; left > 0; left--) {
        const uint32_t id = left - 1;

        if (v->tokens[id].p && heft_str_is(v->tokens[id], name) &&
            (found == HEFT_NO_TOKEN || id >= v->text_ids))
            found = id;
    }
    return found;
}

static bool choose_end(struct heft_vocab *v, const struct heft_vocab_options *how,
                       struct heft_error *err)
{
    const char *name = how->eot_token;

    if (!name)
        return true;
    v->end = number_of(name);
    if (v->end == HEFT_NO_TOKEN)
        v->end = find_token(v, name);
    return v->end != HEFT_NO_TOKEN ||
           heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "option eot_token %s: neither a token of the vocabulary nor an id below 2^20",
                     name);
}

static bool check_options(const struct heft_vocab_options *how, struct heft_error *err)
{
    return (!how->normalize || strcmp(how->normalize, "none") == 0 ||
            heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "option normalize %.40s: expected none",
                      how->normalize)) &&
           (!how->pattern || heft_family_check(how->pattern, err));
}

/* ---- opening ----------------------------------------------------------------------------- */

/* The built-in vocabulary, with GPT-2's pattern or the one that the caller states. */
static bool open_builtin(struct heft_vocab *v, const struct heft_vocab_options *how,
                         struct heft_error *err)
{
    struct heft_vocab_reading r = {.v = v, .how = how, .err = err};

    return heft_vocab_builtin(v, err) &&
           (!how->pattern || heft_vocab_judge(&r, HEFT_FORM_ORIGINAL, NULL));
}

/* Determines the longest token and the highest id of a text. */
static void measure_tokens(struct heft_vocab *v)
{
    for (uint32_t id = 0; id < v->n_ids; id++)
        if (v->tokens[id].p && v->tokens[id].n > v->longest)
            v->longest = (uint32_t)v->tokens[id].n;
    for (size_t i = 0; i < HEFT_COUNT(v->byte_ids); i++)
        v->text_ids = (uint32_t)heft_max_u64(v->text_ids, v->byte_ids[i] + 1);
    for (uint32_t i = 0; i < v->n_merges; i++)
        v->text_ids = (uint32_t)heft_max_u64(v->text_ids, v->merges[i].id + 1);
    for (uint32_t left = v->ranked ? v->n_ids : 0; left > v->text_ids; left--)
        if (heft_vocab_is_self_encoding(v, left - 1))
            v->text_ids = left;
}

/* Measures and compiles what was read. Returns the vocabulary, or closes it: NULL. */
static struct heft_vocab *finish_opening(struct heft_vocab *v, bool ok,
                                         const struct heft_vocab_options *how,
                                         struct heft_error *err)
{
    if (ok)
        measure_tokens(v);
    if (ok && how->normalize)
        v->is_nfc = false;
    if (ok && choose_end(v, how, err) && heft_vocab_settle_specials(v, err) &&
        heft_vocab_settle_text(v, err) && (!how->pattern || heft_vocab_weigh_stated(v, err)))
        return v;
    heft_vocab_close(v);
    return NULL;
}

struct heft_vocab *heft_vocab_open_with(const char *path, const struct heft_vocab_options *options,
                                        struct heft_error *err)
{
    struct heft_vocab_options o;
    struct heft_vocab *v;

    heft_error_begin(err);
    v = HEFT_TAKE(heft_vocab_options, &o, options, err) && check_options(&o, err)
            ? heft_calloc(1, sizeof *v, err)
            : NULL;
    v = finish_opening(
        v, v && (path ? heft_vocab_read(v, path, &o, err) : open_builtin(v, &o, err)), &o, err);
    if (v && path && v->refusal.code && v->refusal.file[0] == '\0')
        heft_error_file(&v->refusal, path);
    return v;
}

struct heft_vocab *heft_vocab_open(const char *path, struct heft_error *err)
{
    return heft_vocab_open_with(path, NULL, err);
}

struct heft_vocab *heft_vocab_from(struct heft_bytes text, struct heft_bytes ids,
                                   const struct heft_vocab_options *how, struct heft_error *err)
{
    static const struct heft_vocab_options none;
    struct heft_vocab *v;

    heft_error_begin(err);
    v = heft_calloc(1, sizeof *v, err);
    return finish_opening(v, v && heft_vocab_parse(v, text, ids, how, err), how ? how : &none, err);
}
