/* vocab_json.c: tokenizer.json of byte-level BPE → tokens and merges.
 *
 *     {"added_tokens": [{"id": 50256, "content": "<|endoftext|>", "special": true, …}],
 *      "normalizer": null, "pre_tokenizer": {"type": "ByteLevel", …}, …,
 *      "model": {"type": "BPE", "vocab": {"!": 0, …}, "merges": ["Ġ t", ["Ġ", "a"], …]}}
 *
 * Every other field is looked up by its path ("pre_tokenizer.type") in one table of values that
 * leave the ids unchanged. Any other field or value refuses encoding, with its name; ids can still
 * be decoded if the decoder is byte-level. */
#include <stdio.h>

#include "tokens/bpe/merge.h"
#include "tokens/vocab/vocab_parts.h"
#include "wire/decimal.h"

#define GPT2_PATTERN                                                                               \
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

/* ---- supported values of each field ------------------------------------------------------ */

enum {
    IS_NULL = 1,
    IS_FALSE = 2,
    IS_TRUE = 4,
    IS_EMPTY = 8,
    IS_ANY = 16,
    IS_ZERO = 32,
    DECODES = 64 /* other values affect decoding, too */
};
/* Alternatives: the fields of one of them must be present. */
enum { BYTE_LEVEL = 1, SEQUENCE = 2 };

static const struct rule {
    const char *path;
    unsigned may; /* accepted kinds of values, besides the text below */
    const char *text;
    unsigned form;
} RULES[] = {
    {"version", IS_ANY, NULL, 0},
    {"truncation", IS_NULL, NULL, 0}, /* otherwise noted */
    {"padding", IS_NULL, NULL, 0},
    {"normalizer", IS_NULL, NULL, 0},
    {"pre_tokenizer.type", 0, "ByteLevel", BYTE_LEVEL},
    {"pre_tokenizer.add_prefix_space", IS_FALSE, NULL, BYTE_LEVEL},
    {"pre_tokenizer.use_regex", IS_TRUE, NULL, 0},
    {"pre_tokenizer.trim_offsets", IS_ANY, NULL, 0},
    {"pre_tokenizer.type", 0, "Sequence", SEQUENCE},
    {"pre_tokenizer.pretokenizers.0.type", 0, "Split", SEQUENCE},
    {"pre_tokenizer.pretokenizers.0.pattern.Regex", 0, GPT2_PATTERN, SEQUENCE},
    {"pre_tokenizer.pretokenizers.0.behavior", 0, "Isolated", SEQUENCE},
    {"pre_tokenizer.pretokenizers.0.invert", IS_FALSE, NULL, SEQUENCE},
    {"pre_tokenizer.pretokenizers.1.type", 0, "ByteLevel", SEQUENCE},
    {"pre_tokenizer.pretokenizers.1.add_prefix_space", IS_FALSE, NULL, SEQUENCE},
    {"pre_tokenizer.pretokenizers.1.use_regex", IS_FALSE, NULL, SEQUENCE},
    {"pre_tokenizer.pretokenizers.1.trim_offsets", IS_ANY, NULL, 0},
    {"post_processor", IS_NULL, NULL, 0},
    {"post_processor.type", 0, "ByteLevel", 0},
    {"post_processor.add_prefix_space", IS_ANY, NULL, 0},
    {"post_processor.trim_offsets", IS_ANY, NULL, 0},
    {"post_processor.use_regex", IS_ANY, NULL, 0},
    {"decoder", IS_NULL | DECODES, NULL, 0},
    {"decoder.type", DECODES, "ByteLevel", 0},
    {"decoder.add_prefix_space", IS_ANY, NULL, 0},
    {"decoder.trim_offsets", IS_ANY, NULL, 0},
    {"decoder.use_regex", IS_ANY, NULL, 0},
    {"model.type", DECODES, "BPE",
     0}, /* absent from GPT-2's own file, which is older than the field */
    {"model.dropout", IS_NULL | IS_ZERO, NULL, 0},
    {"model.unk_token", IS_ANY, NULL, 0}, /* unused: every byte has a token */
    {"model.fuse_unk", IS_ANY, NULL, 0},
    {"model.continuing_subword_prefix", IS_NULL | IS_EMPTY | DECODES, NULL, 0},
    {"model.end_of_word_suffix", IS_NULL | IS_EMPTY | DECODES, NULL, 0},
    {"model.byte_fallback", IS_FALSE, NULL, 0},
    {"model.ignore_merges", IS_FALSE | IS_TRUE, NULL, 0},
};

struct walk {
    struct heft_vocab_reading *r;
    struct heft_json json;
    struct heft_listing vocab, added;
    struct heft_bytes merges; /* the text of the array of merges, including brackets */
    bool ignore_merges;
    bool has_bytes; /* a byte-level pre-tokenizer or decoder was seen */
    bool has_decoder;
    bool seen[HEFT_COUNT(RULES)];
    /* current path: names joined by dots; for each level the offset of its last name */
    char path[128];
    size_t path_n;
    size_t starts[HEFT_JSON_DEPTH + 1];
    uint32_t
        indexes[HEFT_JSON_DEPTH +
                1]; /* for each level: index of the array's element; UINT32_MAX for an object */
    size_t depth;
    bool is_empty; /* the innermost container is still empty */
};

static bool decides_decoding(const struct walk *w)
{
    for (size_t i = 0; i < HEFT_COUNT(RULES); i++)
        if (RULES[i].may & DECODES && strcmp(RULES[i].path, w->path) == 0)
            return true;
    return false;
}

/* Records the first refusal, which is the most informative; continues as long as ids can be
 * decoded. */
static bool refuse_text(struct walk *w, const char *what, bool is_fatal)
{
    struct heft_error *refusal = &w->r->v->refusal;

    if (refusal->code == HEFT_OK)
        heft_fail(refusal, HEFT_UNSUPPORTED, w->json.where,
                  "%s: text can only be encoded by byte-level BPE as in GPT-2", what);
    if (is_fatal)
        *w->r->err = *refusal;
    return !is_fatal;
}

static bool refuse_field(struct walk *w, enum heft_json_token token)
{
    char what[sizeof w->path + 64];
    const int n = (int)heft_min_u64(w->json.text.n, 40);
    const char *text = w->json.text.p;

    if (token == HEFT_JSON_STRING)
        snprintf(what, sizeof what, "%s \"%.*s\"", w->path, n, text);
    else if (token == HEFT_JSON_NUMBER)
        snprintf(what, sizeof what, "%s %.*s", w->path, n, text);
    else if (token == HEFT_JSON_TRUE || token == HEFT_JSON_FALSE)
        snprintf(what, sizeof what, "%s %s", w->path, token == HEFT_JSON_TRUE ? "true" : "false");
    else
        snprintf(what, sizeof what, "%s", w->path);
    return refuse_text(w, what, decides_decoding(w));
}

/* A number that the library reads as the float 0. */
static bool is_zero(struct heft_str text)
{
    return text.n <= HEFT_DECIMAL_MOST &&
           (float)heft_decimal((struct heft_bytes){(const uint8_t *)text.p, text.n}, false) == 0;
}

static bool fits_rule(const struct rule *rule, enum heft_json_token token, struct heft_str text)
{
    if (rule->text)
        return token == HEFT_JSON_STRING && heft_str_is(text, rule->text);
    return (rule->may & IS_ANY) || (token == HEFT_JSON_NULL && rule->may & IS_NULL) ||
           (token == HEFT_JSON_FALSE && rule->may & IS_FALSE) ||
           (token == HEFT_JSON_TRUE && rule->may & IS_TRUE) ||
           (token == HEFT_JSON_STRING && text.n == 0 && rule->may & IS_EMPTY) ||
           (token == HEFT_JSON_NUMBER && rule->may & IS_ZERO && is_zero(text));
}

/* Settings for whole texts (truncation, padding) do not change the ids of a corpus. */
static bool is_of_lists(const struct walk *w)
{
    return heft_str_starts(heft_str_of(w->path), HEFT_STR("truncation.")) ||
           heft_str_starts(heft_str_of(w->path), HEFT_STR("padding."));
}

static void note_list(struct walk *w)
{
    if (w->path[0] == 't')
        w->r->v->remarks[HEFT_REMARK_TRUNCATION] =
            "truncation is not followed: texts are encoded whole";
    else
        w->r->v->remarks[HEFT_REMARK_PADDING] = "padding is ignored: nothing is put after texts";
}

/* Checks a string, number, true, false or null at w->path. */
static bool check_scalar(struct walk *w, enum heft_json_token token)
{
    const bool is_type = w->path_n > 5 && strcmp(w->path + w->path_n - 5, ".type") == 0;

    if (w->depth == 1 && token == HEFT_JSON_NUMBER)
        return heft_fail(w->r->err, HEFT_UNSUPPORTED, w->json.where,
                         "tokens and ids without merges: give the directory that also has "
                         "vocab.bpe or merges.txt");
    if (is_of_lists(w)) {
        note_list(w);
        return true;
    }
    if (strcmp(w->path, "config.pattern") == 0)
        return heft_fail(w->r->err, HEFT_UNSUPPORTED, w->json.where,
                         "a tekken.json is not supported; use the model's tokenizer.json");
    w->has_bytes |= is_type && token == HEFT_JSON_STRING &&
                    heft_str_is(w->json.text, "ByteLevel") &&
                    (heft_str_starts(heft_str_of(w->path), HEFT_STR("pre_tokenizer.")) ||
                     heft_str_starts(heft_str_of(w->path), HEFT_STR("decoder.")));
    for (size_t i = 0; i < HEFT_COUNT(RULES); i++) {
        if (strcmp(RULES[i].path, w->path) != 0 || !fits_rule(&RULES[i], token, w->json.text))
            continue;
        w->seen[i] = true;
        if (strcmp(w->path, "model.ignore_merges") == 0)
            w->ignore_merges = token == HEFT_JSON_TRUE;
        w->has_decoder |= strcmp(w->path, "decoder.type") == 0;
        return true;
    }
    return refuse_field(w, token);
}

static bool check_forms(struct walk *w)
{
    const char *missing = "pre_tokenizer";
    char what[160];
    unsigned form = 0;

    for (size_t i = 0; i < HEFT_COUNT(RULES); i++)
        if (w->seen[i] && strcmp(RULES[i].path, "pre_tokenizer.type") == 0)
            form = RULES[i].form;
    for (size_t i = 0; form && i < HEFT_COUNT(RULES); i++)
        if (RULES[i].form & form && !w->seen[i])
            missing = RULES[i].path, form = 0;
    w->json.where = HEFT_NO_OFFSET;
    snprintf(what, sizeof what, "no %s", missing);
    return (form || refuse_text(w, what, false)) &&
           (w->has_bytes || refuse_text(w, "neither pre_tokenizer nor decoder ByteLevel", true));
}

/* ---- added tokens ------------------------------------------------------------------------ */

static bool check_added(struct walk *w, struct heft_listed *item, bool has_id)
{
    if (!has_id || !item->word.p)
        return heft_vocab_fail(w->r, item->where,
                               "an added token lacks an id below 2^20 or content");
    if (item->word.n == 0 || item->word.n > HEFT_LONGEST)
        return heft_vocab_fail(w->r, item->where, "an added token must have 1 to 4096 bytes");
    if (item->is_special && !heft_vocab_add_special(w->r->v, item->word, item->id, w->r->err))
        return false;
    if (!item->is_special && w->r->v->refusal.code == HEFT_OK)
        heft_fail(&w->r->v->refusal, HEFT_UNSUPPORTED, item->where,
                  "added_tokens: id %" PRIu32 " is not special, and texts are not searched for it: "
                  "its ids can be decoded, texts cannot be encoded",
                  item->id);
    item->is_special = true;
    return true;
}

static bool fail_shape(struct walk *w)
{
    return heft_fail(w->r->err, HEFT_UNSUPPORTED, w->json.where,
                     "added_tokens: expected a list of objects of scalars");
}

static bool read_added_member(struct walk *w, struct heft_listed *item, bool *has_id)
{
    const struct heft_str key = w->json.text;
    const bool is_id = heft_str_is(key, "id"), is_content = heft_str_is(key, "content");
    const bool is_special = heft_str_is(key, "special");
    const enum heft_json_token token = heft_json_next(&w->json);
    uint64_t id;

    if (token == HEFT_JSON_OBJECT || token == HEFT_JSON_ARRAY)
        return fail_shape(w);
    if (is_id) {
        *has_id = token == HEFT_JSON_NUMBER && heft_json_u64(&w->json, &id) && id < HEFT_MOST_IDS;
        item->id = *has_id ? (uint32_t)id : 0;
    } else if (is_content && token == HEFT_JSON_STRING) {
        item->word = w->json.text;
        item->word.p = heft_arena_text(&w->r->v->mem, w->json.text, w->r->err);
    } else if (is_special) {
        item->is_special = token == HEFT_JSON_TRUE;
    }
    return token != HEFT_JSON_ERROR && w->r->err->code == HEFT_OK;
}

static bool read_added(struct walk *w)
{
    enum heft_json_token token;

    while ((token = heft_json_next(&w->json)) == HEFT_JSON_OBJECT) {
        struct heft_listed item = {.where = w->json.where};
        bool has_id = false;

        while ((token = heft_json_next(&w->json)) == HEFT_JSON_KEY)
            if (!read_added_member(w, &item, &has_id))
                return false;
        if (token != HEFT_JSON_OBJECT_END || !check_added(w, &item, has_id) ||
            !heft_vocab_add(w->r, &w->added, &item))
            return false;
    }
    return token == HEFT_JSON_ARRAY_END || (token != HEFT_JSON_ERROR && fail_shape(w));
}

/* ---- walking the document ---------------------------------------------------------------- */

/* Appends the name of the next value to the path of its containers. */
static void name_value(struct walk *w, struct heft_str name)
{
    const size_t at = w->starts[w->depth];
    const int n = snprintf(w->path + at, sizeof w->path - at, "%s%.*s", at ? "." : "",
                           (int)heft_min_size(name.n, 40), name.p);

    w->path_n = heft_min_size(at + (n > 0 ? (size_t)n : 0), sizeof w->path - 1);
}

static void name_element(struct walk *w)
{
    char text[16];

    snprintf(text, sizeof text, "%" PRIu32, w->indexes[w->depth]++);
    name_value(w, heft_str_of(text));
}

/* A dot or NUL in a name would make it look like another path. */
static bool is_plain(struct heft_str name)
{
    return name.n == 0 || (!memchr(name.p, '.', name.n) && !memchr(name.p, 0, name.n));
}

/* Whether a rule allows the container at w->path. */
static bool is_known(const struct walk *w)
{
    const size_t n = strlen(w->path);

    if (n == 0)
        return true;
    for (size_t i = 0; i < HEFT_COUNT(RULES); i++)
        if (strncmp(RULES[i].path, w->path, n) == 0 && RULES[i].path[n] == '.')
            return true;
    return false;
}

static bool take_merges(struct walk *w)
{
    const size_t from = w->json.at - 1;
    enum heft_json_token token;

    if (w->merges.p)
        return heft_vocab_fail(w->r, w->json.where, "duplicate merges");
    for (size_t depth = 1; depth > 0;) {
        token = heft_json_next(&w->json);
        if (token == HEFT_JSON_ERROR)
            return false;
        depth += token == HEFT_JSON_ARRAY || token == HEFT_JSON_OBJECT;
        depth -= token == HEFT_JSON_ARRAY_END || token == HEFT_JSON_OBJECT_END;
    }
    w->merges = (struct heft_bytes){w->json.data.p + from, w->json.at - from};
    return true;
}

/* Processes one token of the document; *is_done at its end. */
static bool take_token(struct walk *w, enum heft_json_token token, bool *is_done)
{
    const bool was_empty = w->is_empty;

    w->is_empty = false;
    switch (token) {
    case HEFT_JSON_ERROR:
        return false;
    case HEFT_JSON_END:
        *is_done = true;
        return true;
    case HEFT_JSON_KEY:
        name_value(w, is_plain(w->json.text) ? w->json.text : HEFT_STR("?"));
        return true;
    case HEFT_JSON_OBJECT_END:
    case HEFT_JSON_ARRAY_END:
        w->depth--;
        return !was_empty || is_known(w) || refuse_field(w, token);
    default:
        break;
    }
    if (w->depth && w->indexes[w->depth] != UINT32_MAX)
        name_element(w);
    if (token == HEFT_JSON_OBJECT && strcmp(w->path, "model.vocab") == 0)
        return heft_vocab_list(w->r, &w->json, &w->vocab);
    if (token == HEFT_JSON_ARRAY && strcmp(w->path, "model.merges") == 0)
        return take_merges(w);
    if (token == HEFT_JSON_ARRAY && strcmp(w->path, "added_tokens") == 0)
        return read_added(w);
    if (token != HEFT_JSON_OBJECT && token != HEFT_JSON_ARRAY)
        return check_scalar(w, token);
    w->is_empty = true;
    w->depth++; /* below HEFT_JSON_DEPTH: checked by the parser */
    w->starts[w->depth] = w->path_n;
    w->indexes[w->depth] = token == HEFT_JSON_ARRAY ? 0 : UINT32_MAX;
    return true;
}

static bool walk_document(struct walk *w, struct heft_bytes text)
{
    bool is_done = false;

    heft_json_begin(&w->json, text, 0, &w->r->v->mem, w->r->err);
    while (!is_done)
        if (!take_token(w, heft_json_next(&w->json), &is_done))
            return false;
    if ((w->vocab.n == 0 || !w->merges.p) && w->r->v->refusal.code)
        *w->r->err = w->r->v->refusal; /* in place of the error there */
    else if (w->vocab.n == 0 || !w->merges.p)
        return heft_vocab_fail(w->r, HEFT_NO_OFFSET, "model.vocab or model.merges is missing");
    return w->r->err->code == HEFT_OK && check_forms(w);
}

/* ---- building vocabulary and merges ------------------------------------------------------ */

/* Checks the id of an added token: the library ignores it and numbers tokens that the vocabulary
 * lacks consecutively, from its size on. */
static bool check_number(struct walk *w, const struct heft_listed *item, uint32_t number)
{
    return item->id == number ||
           heft_fail(w->r->err, HEFT_UNSUPPORTED, item->where,
                     "added_tokens: id %" PRIu32 " becomes %" PRIu32
                     " in the tokenizers library, which numbers them after the vocabulary",
                     item->id, number);
}

/* Marks tokens of the vocabulary that added_tokens repeats, and adds those it lacks. */
static bool join_added(struct walk *w)
{
    struct heft_strmap *words = &w->r->added;
    const size_t n = w->vocab.n;
    bool ok = true;
    uint32_t found;

    for (size_t i = 0; ok && i < w->added.n; i++) {
        ok = heft_strmap_add(words, w->added.items[i].word, (uint32_t)i, &found, w->r->err) &&
             (found == HEFT_MAP_NONE ||
              heft_vocab_fail(w->r, w->added.items[i].where, "duplicate added token"));
    }
    for (size_t i = 0; ok && i < n; i++) {
        struct heft_listed *item = &w->vocab.items[i];
        const uint32_t at = heft_strmap_get(words, item->word);

        item->is_special = at != HEFT_MAP_NONE || heft_str_is(item->word, HEFT_END_OF_TEXT);
        if (at == HEFT_MAP_NONE)
            continue;
        ok = item->id == w->added.items[at].id ||
             heft_vocab_fail(w->r, item->where, "a token has another id in added_tokens");
        w->added.items[at].is_special = false; /* it is placed with the others */
    }
    for (size_t i = 0, number = n; ok && i < w->added.n; i++)
        if (w->added.items[i].is_special)
            ok = check_number(w, &w->added.items[i], (uint32_t)number++) &&
                 heft_vocab_add(w->r, &w->vocab, &w->added.items[i]);
    return ok;
}

/* "A B" or ["A", "B"]. False without an error: the end. */
static bool next_merge(struct walk *w, struct heft_json *json, struct heft_buf *line)
{
    enum heft_json_token token = heft_json_next(json);
    const bool is_pair = token == HEFT_JSON_ARRAY;

    line->n = 0;
    if (token == HEFT_JSON_ARRAY_END)
        return false;
    if (is_pair && heft_json_next(json) == HEFT_JSON_STRING) {
        heft_buf_str(line, json->text);
        heft_buf_char(line, ' ');
        token = heft_json_next(json);
    }
    if (token == HEFT_JSON_STRING)
        heft_buf_str(line, json->text);
    if (token == HEFT_JSON_STRING && (!is_pair || heft_json_next(json) == HEFT_JSON_ARRAY_END))
        return heft_buf_ok(line, w->r->err);
    return w->r->err->code
               ? false
               : heft_vocab_fail(w->r, json->where,
                                 "model.merges: expected a string or a pair of strings");
}

static bool each_merge(struct walk *w, struct heft_buf *line, bool is_counting, size_t *n)
{
    struct heft_json json;

    heft_json_begin(&json, w->merges, (uint64_t)(w->merges.p - w->json.data.p), &w->r->v->mem,
                    w->r->err);
    (void)heft_json_next(&json);
    while (next_merge(w, &json, line)) {
        if (!is_counting &&
            !heft_vocab_merge(w->r, (struct heft_str){line->p, line->n}, json.where, true))
            return false;
        ++*n;
    }
    return w->r->err->code == HEFT_OK;
}

/* Builds the tables; a duplicate merge gets the offset of its second occurrence. */
static bool build_pairs(struct walk *w, struct heft_buf *line)
{
    struct heft_error spare = {0};
    struct heft_json json;

    if (heft_vocab_validate(w->r))
        return true;
    if (w->r->err->code != HEFT_MALFORMED)
        return false;
    heft_json_begin(&json, w->merges, (uint64_t)(w->merges.p - w->json.data.p), &w->r->v->mem,
                    &spare);
    (void)heft_json_next(&json);
    for (uint32_t rank = 0; rank <= w->r->v->n_merges && next_merge(w, &json, line); rank++)
        w->r->err->offset = json.where;
    return false;
}

static bool read_merges(struct walk *w)
{
    struct heft_buf line = {0};
    size_t n = 0;
    const bool ok = each_merge(w, &line, true, &n) && heft_vocab_reserve(w->r, n) &&
                    each_merge(w, &line, false, &n) && build_pairs(w, &line);

    heft_buf_release(&line);
    return ok;
}

/* ignore_merges: collects the tokens that merging does not reach; a pre-token that equals one is
 * not merged. */
static bool find_wholes(struct walk *w)
{
    struct heft_vocab *v = w->r->v;
    struct heft_merger merger = {0};
    uint32_t ids[HEFT_LONGEST * 2];
    bool ok = true;

    for (size_t i = 0; ok && w->ignore_merges && i < w->vocab.n; i++) {
        const struct heft_listed *item = &w->vocab.items[i];
        const struct heft_str token = v->tokens[item->id];
        size_t count = 0;

        if (item->is_special)
            continue;
        ok = heft_merge_word(&merger, v->pairs, (const uint8_t *)token.p, token.n, ids, &count,
                             w->r->err);
        if (ok && count > 1)
            ok = heft_vocab_add_whole(v, item->id, w->r->err);
    }
    heft_merger_release(&merger);
    return ok;
}

bool heft_vocab_read_json(struct heft_vocab_reading *r, struct heft_bytes text)
{
    struct walk w = {.r = r};
    const bool ok = walk_document(&w, text) && join_added(&w) && heft_vocab_place(r, &w.vocab) &&
                    read_merges(&w) && find_wholes(&w);

    r->v->unicode = "16.0"; /* character classes of the library */
    if (!w.has_decoder)
        r->v->remarks[HEFT_REMARK_DECODER] =
            "decoder null is not followed: ids are decoded as bytes, not as words";
    heft_free(w.vocab.items);
    heft_free(w.added.items);
    return ok;
}
