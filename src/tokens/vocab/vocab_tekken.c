/* vocab_tekken.c: tekken.json of Mistral → tokens and merges.
 *
 *     {"config": {"pattern": "…", "default_vocab_size": 131072, "default_num_special_tokens": 1000, …},
 *      "vocab": [{"rank": 0, "token_bytes": "AA==", "token_str": "\u0000"}, …],
 *      "special_tokens": [{"rank": 0, "token_str": "<unk>", "is_control": true}, …]}
 *
 * The id of a token is its rank + the number of special tokens. Of vocab only the first
 * default_vocab_size - default_num_special_tokens tokens are used. Without special_tokens, as in older
 * files, the first special tokens have fixed names. token_str is not read: the bytes count. */
#include "tokens/vocab/vocab_parts.h"

static const char *const USUAL[] = {"<unk>",
                                    "<s>",
                                    "</s>",
                                    "[INST]",
                                    "[/INST]",
                                    "[AVAILABLE_TOOLS]",
                                    "[/AVAILABLE_TOOLS]",
                                    "[TOOL_RESULTS]",
                                    "[/TOOL_RESULTS]",
                                    "[TOOL_CALLS]",
                                    "[IMG]",
                                    "<pad>",
                                    "[IMG_BREAK]",
                                    "[IMG_END]",
                                    "[PREFIX]",
                                    "[MIDDLE]",
                                    "[SUFFIX]",
                                    "[SYSTEM_PROMPT]",
                                    "[/SYSTEM_PROMPT]",
                                    "[TOOL_CONTENT]"};

enum member { CONFIG = 1, VOCAB = 2, SPECIAL = 4 };

#define ABSENT UINT64_MAX

struct tekken {
    struct heft_vocab_reading *r;
    struct heft_json json;
    unsigned seen; /* set of members */
    struct heft_str pattern;
    uint64_t size, n_special;            /* ABSENT, or the numbers of the config */
    struct heft_listing ranks, specials; /* by rank */
};

static bool fail_at(struct tekken *t, const char *what)
{
    return t->r->err->code ? false : heft_vocab_fail(t->r, t->json.where, what);
}

/* ---- config ------------------------------------------------------------------------------ */

static bool read_config_member(struct tekken *t)
{
    const struct heft_str name = t->json.text;
    uint64_t *const number = heft_str_is(name, "default_vocab_size")           ? &t->size
                             : heft_str_is(name, "default_num_special_tokens") ? &t->n_special
                                                                               : NULL;
    const bool is_pattern = heft_str_is(name, "pattern");

    if (!number && !is_pattern)
        return heft_json_skip(&t->json);
    if (number ? *number != ABSENT : t->pattern.p != NULL)
        return fail_at(t, "config: duplicate key");
    if (number)
        return (heft_json_next(&t->json) == HEFT_JSON_NUMBER && heft_json_u64(&t->json, number) &&
                *number <= HEFT_MOST_IDS) ||
               fail_at(t, "config: expected a number of tokens, at most 2^20");
    if (heft_json_next(&t->json) != HEFT_JSON_STRING || t->json.text.n == 0)
        return fail_at(t, "config.pattern: expected a regular expression");
    t->pattern.n = t->json.text.n;
    t->pattern.p = heft_arena_text(&t->r->v->mem, t->json.text, t->r->err);
    return t->pattern.p != NULL;
}

static bool read_config(struct tekken *t)
{
    enum heft_json_token token = heft_json_next(&t->json);

    if (token != HEFT_JSON_OBJECT)
        return fail_at(t, "config: expected an object");
    while ((token = heft_json_next(&t->json)) == HEFT_JSON_KEY)
        if (!read_config_member(t))
            return false;
    return token == HEFT_JSON_OBJECT_END;
}

/* ---- vocab, special_tokens --------------------------------------------------------------- */

static bool read_bytes(struct tekken *t, struct heft_listed *item)
{
    const struct heft_str text = t->json.text;
    uint8_t bytes[HEFT_LONGEST_RANKED + 4], *copy;
    size_t n;

    if (text.n > HEFT_LONGEST_RANKED / 3 * 4 + 4 || !heft_vocab_base64(text, bytes, &n) || n == 0 ||
        n > HEFT_LONGEST_RANKED)
        return fail_at(t, "vocab: expected token_bytes of 1 to 128 bytes in base64");
    copy = heft_vocab_bytes(t->r, n);
    if (copy)
        item->word = (struct heft_str){memcpy(copy, bytes, n), n};
    return copy != NULL;
}

static bool read_name(struct tekken *t, struct heft_listed *item)
{
    if (t->json.text.n == 0 || t->json.text.n > HEFT_LONGEST)
        return fail_at(t, "special_tokens: expected a token_str of 1 to 4096 bytes");
    item->word.n = t->json.text.n;
    item->word.p = heft_arena_text(&t->r->v->mem, t->json.text, t->r->err);
    return item->word.p != NULL;
}

/* Reads a member of a token; `text` names the member that has its bytes. */
static bool read_token_member(struct tekken *t, struct heft_listed *item, bool is_special,
                              bool *has_rank)
{
    const struct heft_str name = t->json.text;
    const bool is_rank = heft_str_is(name, "rank");
    uint64_t rank = 0;

    if (!is_rank && !heft_str_is(name, is_special ? "token_str" : "token_bytes"))
        return heft_json_skip(&t->json);
    if (is_rank ? *has_rank : item->word.p != NULL)
        return fail_at(t, "a token has a key twice");
    if (is_rank) {
        *has_rank = heft_json_next(&t->json) == HEFT_JSON_NUMBER &&
                    heft_json_u64(&t->json, &rank) && rank < HEFT_MOST_IDS;
        item->id = (uint32_t)rank;
        return *has_rank || fail_at(t, "a rank is not an integer below 2^20");
    }
    if (heft_json_next(&t->json) != HEFT_JSON_STRING)
        return fail_at(t, "a token without its text: expected a string");
    return is_special ? read_name(t, item) : read_bytes(t, item);
}

static bool check_rank(struct tekken *t, const struct heft_listed *item)
{
    if (item->id != t->ranks.n)
        return heft_fail(t->r->err, HEFT_MALFORMED, item->where,
                         "vocab: rank %" PRIu32 " at index %zu; ranks must be sorted", item->id,
                         t->ranks.n);
    return item->id >= 256 || (item->word.n == 1 && (uint8_t)item->word.p[0] == item->id) ||
           heft_fail(t->r->err, HEFT_MALFORMED, item->where,
                     "vocab: rank %" PRIu32 " must be the byte 0x%02" PRIx32, item->id, item->id);
}

static bool read_token(struct tekken *t, bool is_special)
{
    struct heft_listed item = {.where = t->json.where, .is_special = is_special};
    enum heft_json_token token;
    bool has_rank = false;

    while ((token = heft_json_next(&t->json)) == HEFT_JSON_KEY)
        if (!read_token_member(t, &item, is_special, &has_rank))
            return false;
    if (token != HEFT_JSON_OBJECT_END)
        return false;
    if (!has_rank || !item.word.p)
        return heft_vocab_fail(t->r, item.where, "a token lacks its rank or its text");
    return (is_special || check_rank(t, &item)) &&
           heft_vocab_add(t->r, is_special ? &t->specials : &t->ranks, &item);
}

static bool read_tokens(struct tekken *t, bool is_special)
{
    enum heft_json_token token = heft_json_next(&t->json);

    if (is_special && token == HEFT_JSON_NULL) {
        t->seen &= ~(unsigned)SPECIAL; /* as if absent */
        return true;
    }
    if (token != HEFT_JSON_ARRAY)
        return fail_at(t, "expected a list of tokens");
    while ((token = heft_json_next(&t->json)) == HEFT_JSON_OBJECT)
        if (!read_token(t, is_special))
            return false;
    return token == HEFT_JSON_ARRAY_END || fail_at(t, "expected a list of objects");
}

/* Other members describe images and audio. */
static bool read_member(struct tekken *t)
{
    const struct heft_str name = t->json.text;
    const unsigned member = heft_str_is(name, "config")           ? CONFIG
                            : heft_str_is(name, "vocab")          ? VOCAB
                            : heft_str_is(name, "special_tokens") ? SPECIAL
                                                                  : 0;

    if (t->seen & member)
        return fail_at(t, "duplicate key");
    t->seen |= member;
    if (member == CONFIG)
        return read_config(t);
    return member ? read_tokens(t, member == SPECIAL) : heft_json_skip(&t->json);
}

static bool read_document(struct tekken *t, struct heft_bytes text)
{
    enum heft_json_token token;

    heft_json_begin(&t->json, text, 0, &t->r->v->mem, t->r->err);
    if (heft_json_next(&t->json) != HEFT_JSON_OBJECT)
        return false;
    while ((token = heft_json_next(&t->json)) == HEFT_JSON_KEY)
        if (!read_member(t))
            return false;
    return token == HEFT_JSON_OBJECT_END && heft_json_next(&t->json) == HEFT_JSON_END;
}

/* ---- the vocabulary ---------------------------------------------------------------------- */

/* Drops tokens that are not used, and turns ranks to ids. */
static bool number_tokens(struct tekken *t)
{
    uint64_t used;

    if (!t->pattern.p || t->size == ABSENT || t->n_special == ABSENT)
        return heft_vocab_fail(t->r, HEFT_NO_OFFSET,
                               "config lacks pattern, default_vocab_size or "
                               "default_num_special_tokens");
    used = t->size < t->n_special ? 0 : t->size - t->n_special;
    if (used < 256 || used > t->ranks.n)
        return heft_fail(t->r->err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                         "config: a vocabulary of %" PRIu64 " with %" PRIu64
                         " special tokens, but vocab has %zu",
                         t->size, t->n_special, t->ranks.n);
    t->ranks.n = (size_t)used;
    for (size_t i = 0; i < t->ranks.n; i++)
        t->ranks.items[i].id += (uint32_t)t->n_special;
    t->ranks.most = (uint32_t)t->size - 1;
    return true;
}

static bool name_listed(struct tekken *t)
{
    const struct heft_vocab *const v = t->r->v;

    for (size_t i = 0; i < t->specials.n; i++) {
        const struct heft_listed *const item = &t->specials.items[i];

        if (item->id >= t->n_special || v->tokens[item->id].p)
            return heft_fail(t->r->err, HEFT_MALFORMED, item->where,
                             "special_tokens: rank %" PRIu32
                             " is taken, or not below the number of special tokens, %" PRIu64,
                             item->id, t->n_special);
        if (!heft_vocab_name_special(t->r, item->word, item->id))
            return false;
    }
    return true;
}

/* Special tokens that the file does not name. */
static bool name_others(struct tekken *t)
{
    const struct heft_vocab *const v = t->r->v;

    for (uint32_t id = 0; id < t->n_special; id++) {
        const char *text;

        if (v->tokens[id].p)
            continue;
        text = !(t->seen & SPECIAL) && id < HEFT_COUNT(USUAL)
                   ? USUAL[id]
                   : heft_arena_printf(&t->r->v->mem, t->r->err, "<SPECIAL_%" PRIu32 ">", id);
        if (!text || !heft_vocab_name_special(t->r, heft_str_of(text), id))
            return false;
    }
    return true;
}

bool heft_vocab_read_tekken(struct heft_vocab_reading *r, struct heft_bytes text)
{
    struct tekken t = {.r = r, .size = ABSENT, .n_special = ABSENT};
    const bool ok = read_document(&t, text) && number_tokens(&t) &&
                    heft_vocab_place_ranks(r, &t.ranks, 0) && name_listed(&t) && name_others(&t) &&
                    heft_vocab_take_regex(r, "tekken.json", t.pattern);

    r->v->unicode = "16.0";
    if (ok)
        heft_vocab_ignore_stated(r);
    heft_free(t.ranks.items);
    heft_free(t.specials.items);
    return ok;
}
