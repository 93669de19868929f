/* vocab_json.c: tokenizer.json of byte-level BPE → tokens and merges.
 *
 *     {"added_tokens": [{"id": 50256, "content": "<|endoftext|>", "special": true, …}],
 *      "normalizer": null, "pre_tokenizer": {"type": "ByteLevel", …}, …,
 *      "model": {"type": "BPE", "vocab": {"!": 0, …}, "merges": ["Ġ t", ["Ġ", "a"], …]}}
 *
 * Every field has a reader in a table. A field that has none, or a value that would change ids in a
 * way that heft does not follow, refuses encoding, by its path and value; ids can still be decoded
 * if the decoder is byte-level. */
#include "tokens/vocab/vocab_json.h"

#include <stdio.h>

#include "wire/decimal.h"

/* ---- the path of a value ----------------------------------------------------------------- */

/* A dot or NUL in a name would make it look like another path. */
static bool is_plain(struct heft_str name)
{
    return name.n == 0 || (!memchr(name.p, '.', name.n) && !memchr(name.p, 0, name.n));
}

size_t heft_document_enter(struct heft_vocab_document *d, struct heft_str name)
{
    const size_t at = d->path_n;
    const struct heft_str shown = is_plain(name) ? name : HEFT_STR("?");
    const int n = snprintf(d->path + at, sizeof d->path - at, "%s%.*s", at ? "." : "",
                           (int)heft_min_size(shown.n, 40), shown.p);

    d->path_n = heft_min_size(at + (n > 0 ? (size_t)n : 0), sizeof d->path - 1);
    return at;
}

size_t heft_document_enter_index(struct heft_vocab_document *d, size_t index)
{
    char text[24];

    snprintf(text, sizeof text, "%zu", index);
    return heft_document_enter(d, heft_str_of(text));
}

void heft_document_leave(struct heft_vocab_document *d, size_t length)
{
    d->path_n = length;
    d->path[length] = 0;
}

bool heft_document_pass(struct heft_vocab_document *d, enum heft_json_token token)
{
    size_t depth = 0;

    for (;; token = heft_json_next(&d->json)) {
        if (token == HEFT_JSON_ERROR)
            return false;
        depth += token == HEFT_JSON_ARRAY || token == HEFT_JSON_OBJECT;
        depth -= token == HEFT_JSON_ARRAY_END || token == HEFT_JSON_OBJECT_END;
        if (depth == 0)
            return true;
    }
}

/* ---- refusing ---------------------------------------------------------------------------- */

bool heft_document_refuse(struct heft_vocab_document *d, uint64_t where, const char *what,
                          bool is_fatal)
{
    struct heft_error *const refusal = &d->r->v->refusal;

    if (refusal->code == HEFT_OK)
        heft_fail(refusal, HEFT_UNSUPPORTED, where, "%s: %s", what,
                  is_fatal ? "only byte-level BPE is read"
                           : "its ids can be decoded, texts cannot be encoded");
    if (is_fatal)
        *d->r->err = *refusal;
    return !is_fatal;
}

bool heft_document_refuse_value(struct heft_vocab_document *d, enum heft_json_token token,
                                bool is_fatal)
{
    char what[sizeof d->path + 80];
    const int n = (int)heft_min_u64(d->json.text.n, 40);
    const char *const text = d->json.text.p;

    if (token == HEFT_JSON_STRING)
        snprintf(what, sizeof what, "%s \"%.*s\" is not supported", d->path, n, text);
    else if (token == HEFT_JSON_NUMBER)
        snprintf(what, sizeof what, "%s %.*s is not supported", d->path, n, text);
    else if (token == HEFT_JSON_TRUE || token == HEFT_JSON_FALSE)
        snprintf(what, sizeof what, "%s %s is not supported", d->path,
                 token == HEFT_JSON_TRUE ? "true" : "false");
    else if (token == HEFT_JSON_NULL)
        snprintf(what, sizeof what, "%s null is not supported", d->path);
    else
        snprintf(what, sizeof what, "%s, %s, is not supported", d->path,
                 heft_json_token_name(token));
    return token != HEFT_JSON_ERROR && heft_document_refuse(d, d->json.where, what, is_fatal) &&
           heft_document_pass(d, token);
}

bool heft_document_bool(struct heft_vocab_document *d, enum heft_json_token token, bool *out)
{
    *out = token == HEFT_JSON_TRUE;
    return token == HEFT_JSON_TRUE || token == HEFT_JSON_FALSE ||
           heft_document_refuse_value(d, token, false);
}

/* ---- objects ----------------------------------------------------------------------------- */

/* A vocabulary without merges looks like an unknown field with a number. */
static bool read_unknown(struct heft_vocab_document *d, enum heft_json_token token)
{
    if (token == HEFT_JSON_NUMBER && !strchr(d->path, '.') && d->vocab.n == 0 && !d->merges.p)
        return heft_fail(d->r->err, HEFT_UNSUPPORTED, d->json.where,
                         "tokens and ids without merges: give the directory that also has "
                         "vocab.bpe or merges.txt");
    return heft_document_refuse_value(d, token, false);
}

static bool read_member(struct heft_vocab_document *d, const struct heft_vocab_member *members,
                        size_t n, unsigned *seen)
{
    const uint64_t where = d->json.where;
    const struct heft_str name = d->json.text;
    const size_t at = heft_document_enter(d, name);
    size_t i = 0;
    bool ok;

    while (i < n && !heft_str_is(name, members[i].name))
        i++;
    if (i < n && *seen >> i & 1)
        return heft_fail(d->r->err, HEFT_MALFORMED, where, "duplicate key %s", d->path);
    *seen |= i < n ? 1U << i : 0;
    ok = i < n ? members[i].read(d, heft_json_next(&d->json))
               : read_unknown(d, heft_json_next(&d->json));
    heft_document_leave(d, at);
    return ok && d->r->err->code == HEFT_OK;
}

bool heft_document_members(struct heft_vocab_document *d, const struct heft_vocab_member *members,
                           size_t n)
{
    enum heft_json_token token;
    unsigned seen = 0;

    while ((token = heft_json_next(&d->json)) == HEFT_JSON_KEY)
        if (!read_member(d, members, n, &seen))
            return false;
    return token == HEFT_JSON_OBJECT_END;
}

/* ---- fields of the model ----------------------------------------------------------------- */

static bool read_ignored(struct heft_vocab_document *d, enum heft_json_token token)
{
    return heft_document_pass(d, token);
}

/* The type is absent from GPT-2's own file, which is older than the field. */
static bool read_model_type(struct heft_vocab_document *d, enum heft_json_token token)
{
    return (token == HEFT_JSON_STRING && heft_str_is(d->json.text, "BPE")) ||
           heft_document_refuse_value(d, token, true);
}

/* A number that the library reads as the float 0. */
static bool is_zero(struct heft_str text)
{
    return text.n <= HEFT_DECIMAL_MOST &&
           (float)heft_decimal((struct heft_bytes){(const uint8_t *)text.p, text.n}, false) == 0;
}

static bool read_dropout(struct heft_vocab_document *d, enum heft_json_token token)
{
    return token == HEFT_JSON_NULL || (token == HEFT_JSON_NUMBER && is_zero(d->json.text)) ||
           heft_document_refuse_value(d, token, false);
}

static bool read_affix(struct heft_vocab_document *d, enum heft_json_token token)
{
    return token == HEFT_JSON_NULL || (token == HEFT_JSON_STRING && d->json.text.n == 0) ||
           heft_document_refuse_value(d, token, true);
}

static bool read_fallback(struct heft_vocab_document *d, enum heft_json_token token)
{
    return heft_document_bool(d, token, &d->byte_fallback);
}

static bool read_ignore_merges(struct heft_vocab_document *d, enum heft_json_token token)
{
    return heft_document_bool(d, token, &d->ignore_merges);
}

static bool read_vocab(struct heft_vocab_document *d, enum heft_json_token token)
{
    return token == HEFT_JSON_OBJECT ? heft_vocab_list(d->r, &d->json, &d->vocab)
                                     : heft_document_refuse_value(d, token, false);
}

static bool read_merges(struct heft_vocab_document *d, enum heft_json_token token)
{
    const size_t from = d->json.at - 1;

    if (token != HEFT_JSON_ARRAY)
        return heft_document_refuse_value(d, token, false);
    if (!heft_document_pass(d, token))
        return false;
    d->merges = (struct heft_bytes){d->json.data.p + from, d->json.at - from};
    return true;
}

static bool read_model(struct heft_vocab_document *d, enum heft_json_token token)
{
    static const struct heft_vocab_member MEMBERS[] = {
        {"type", read_model_type},
        {"dropout", read_dropout},
        {"unk_token", read_ignored}, /* unused: every byte has a token */
        {"fuse_unk", read_ignored},
        {"continuing_subword_prefix", read_affix},
        {"end_of_word_suffix", read_affix},
        {"byte_fallback", read_fallback},
        {"ignore_merges", read_ignore_merges},
        {"vocab", read_vocab},
        {"merges", read_merges},
    };

    return token == HEFT_JSON_OBJECT ? heft_document_members(d, MEMBERS, HEFT_COUNT(MEMBERS))
                                     : heft_document_refuse_value(d, token, false);
}

/* ---- the document ------------------------------------------------------------------------ */

/* Settings for whole texts (truncation, padding) do not change the ids of a corpus. */
static bool read_truncation(struct heft_vocab_document *d, enum heft_json_token token)
{
    if (token != HEFT_JSON_NULL)
        d->r->v->remarks[HEFT_REMARK_TRUNCATION] =
            "truncation is not followed: texts are encoded whole";
    return heft_document_pass(d, token);
}

static bool read_padding(struct heft_vocab_document *d, enum heft_json_token token)
{
    if (token != HEFT_JSON_NULL)
        d->r->v->remarks[HEFT_REMARK_PADDING] = "padding is ignored: nothing is put after texts";
    return heft_document_pass(d, token);
}

/* Stops reading: tekken.json has these members, a tokenizer.json does not. */
static bool read_tekken(struct heft_vocab_document *d, enum heft_json_token token)
{
    d->is_tekken = token == HEFT_JSON_OBJECT || token == HEFT_JSON_ARRAY;
    return !d->is_tekken && read_unknown(d, token);
}

static bool read_document(struct heft_vocab_document *d)
{
    static const struct heft_vocab_member MEMBERS[] = {
        {"version", read_ignored},
        {"truncation", read_truncation},
        {"padding", read_padding},
        {"added_tokens", heft_document_added},
        {"normalizer", heft_document_normalizer},
        {"pre_tokenizer", heft_document_pre_tokenizer},
        {"post_processor", heft_document_post_processor},
        {"decoder", heft_document_decoder},
        {"model", read_model},
        {"config", read_tekken},
        {"vocab", read_tekken},
        {"special_tokens", read_tekken},
    };

    if (heft_json_next(&d->json) != HEFT_JSON_OBJECT ||
        !heft_document_members(d, MEMBERS, HEFT_COUNT(MEMBERS)) ||
        heft_json_next(&d->json) != HEFT_JSON_END)
        return false;
    if (d->vocab.n > 0 && d->merges.p)
        return true;
    if (d->r->v->refusal.code == HEFT_OK)
        return heft_vocab_fail(d->r, HEFT_NO_OFFSET, "model.vocab or model.merges is missing");
    *d->r->err = d->r->v->refusal; /* says why */
    return false;
}

bool heft_vocab_read_json(struct heft_vocab_reading *r, struct heft_bytes text)
{
    struct heft_vocab_document d = {.r = r};
    bool ok;

    r->v->unicode = "16.0"; /* character classes of the library */
    heft_json_begin(&d.json, text, 0, &r->v->mem, r->err);
    ok = read_document(&d) && heft_document_settle_pipeline(&d) && heft_document_build(&d);
    heft_free(d.vocab.items);
    heft_free(d.listed.items);
    return d.is_tekken ? heft_vocab_read_tekken(r, text) : ok;
}
