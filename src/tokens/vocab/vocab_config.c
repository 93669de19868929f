/* vocab_config.c: files that transformers reads beside a vocabulary and that change the ids there:
 *
 *     tokenizer_config.json   {"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": true,
 *                              "added_tokens_decoder": {"50257": {"content": "<x>", "special": false}}, …}
 *     added_tokens.json       {"<x>": 50257, …}
 *
 * Beside a tokenizer.json they only cause notes: heft agrees with the library "tokenizers", which
 * reads neither. Beside a list of merges heft agrees with transformers, which reads both: added tokens
 * are read (vocab_beside.h), other settings that change ids refuse encoding, tokens that are only put
 * around a text are noted. */
#include <stdio.h>

#include "tokens/vocab/families.h"
#include "tokens/vocab/vocab_beside.h"

#define CONFIG_FILE "tokenizer_config.json"
#define ADDED_FILE  "added_tokens.json"

static const struct {
    const char *key;
    enum heft_vocab_remark remark;
    const char *why;
} FLAGS[] = {
    {"add_prefix_space", HEFT_REMARK_PREFIX, "no space is put before texts"},
    {"add_bos_token", HEFT_REMARK_BOS, "no token is put before texts"},
    {"add_eos_token", HEFT_REMARK_EOS, "no token is put after texts"},
};

/* Classes with the pipelines that transformers 5 builds from merges and ids. The names with "Fast"
 * behind them are those of older releases. */
static const struct {
    const char *name, *family; /* NULL: takes tokenizer.json unchanged */
} CLASSES[] = {
    {"GPT2Tokenizer", "gpt2"},        {"RobertaTokenizer", "gpt2"},
    {"CodeGenTokenizer", "gpt2"},     {"WhisperTokenizer", "gpt2"},
    {"GPTNeoXTokenizer", "gpt-neox"}, {"Qwen2Tokenizer", "qwen2"},
    {"CohereTokenizer", "command-r"}, {"PreTrainedTokenizer", NULL},
    {"TokenizersBackend", NULL},
};

struct config {
    struct heft_vocab_reading *r;
    struct heft_json json;
    bool is_pair; /* the vocabulary is a pair of files (merges and ids), not a tokenizer.json */
};

/* Sets or clears a note about a setting that is not applied; the last of duplicate keys counts. */
static bool put_remark(struct config *c, enum heft_vocab_remark which, bool is_set,
                       const char *what)
{
    struct heft_vocab *v = c->r->v;

    v->remarks[which] = is_set ? heft_arena_text(&v->mem, heft_str_of(what), c->r->err) : NULL;
    return !is_set || v->remarks[which];
}

static bool read_flag(struct config *c, size_t i, enum heft_json_token token)
{
    char what[160];

    if (token == HEFT_JSON_OBJECT || token == HEFT_JSON_ARRAY || token == HEFT_JSON_ERROR)
        return heft_json_refuse(&c->json, token, FLAGS[i].key, "a boolean");
    snprintf(what, sizeof what, CONFIG_FILE ": %s is not followed: %s", FLAGS[i].key, FLAGS[i].why);
    return put_remark(c, FLAGS[i].remark, token != HEFT_JSON_FALSE && token != HEFT_JSON_NULL,
                      what);
}

/* Index of a class in CLASSES; their number if it is unknown. */
static size_t class_of(struct heft_str name)
{
    const struct heft_str fast = HEFT_STR("Fast");
    size_t i = 0;

    if (name.n > fast.n && memcmp(name.p + name.n - fast.n, fast.p, fast.n) == 0)
        name.n -= fast.n;
    while (i < HEFT_COUNT(CLASSES) && !heft_str_is(name, CLASSES[i].name))
        i++;
    return i;
}

/* The class says how merges and ids are meant, unless the pattern is known or stated. */
static bool take_class(struct config *c, const char *family)
{
    struct heft_vocab_reading *const r = c->r;

    if (!c->is_pair || !r->is_unproven)
        return true;
    r->is_unproven = false;
    r->v->refusal = (struct heft_error){0};
    return heft_vocab_take_family(r, heft_family_named(family));
}

static bool is_followed(const struct config *c, size_t class)
{
    const char *const family = class < HEFT_COUNT(CLASSES) ? CLASSES[class].family : NULL;

    return class < HEFT_COUNT(CLASSES) &&
           (!family || !c->r->v->family || strcmp(family, c->r->v->family) == 0);
}

static bool read_class(struct config *c, enum heft_json_token token)
{
    const struct heft_str name = c->json.text;
    const size_t class = token == HEFT_JSON_STRING ? class_of(name) : HEFT_COUNT(CLASSES);
    bool is_plain = token == HEFT_JSON_NULL;
    char what[200];

    if (token != HEFT_JSON_STRING && token != HEFT_JSON_NULL)
        return heft_json_refuse(&c->json, token, "tokenizer_class", "a string");
    if (class < HEFT_COUNT(CLASSES) && CLASSES[class].family &&
        !take_class(c, CLASSES[class].family))
        return false;
    is_plain |= is_followed(c, class);
    snprintf(what, sizeof what,
             CONFIG_FILE ": tokenizer_class %.*s is not followed: texts are encoded %s%s",
             is_plain ? 0 : (int)heft_min_size(name.n, 60), is_plain ? "" : name.p,
             c->is_pair ? "with the pattern " : "as tokenizer.json says",
             c->is_pair && c->r->v->family ? c->r->v->family : "");
    return put_remark(c, HEFT_REMARK_CLASS, !is_plain, what);
}

/* Notes an added token that transformers searches texts for, unless tokenizer.json has it, too. */
static bool remark_added(struct config *c, enum heft_vocab_remark which, struct heft_str content)
{
    const char *file = which == HEFT_REMARK_ADDED_FILE ? ADDED_FILE : CONFIG_FILE;
    char what[200];

    if (heft_strmap_get(&c->r->added, content) != HEFT_MAP_NONE)
        return true;
    snprintf(what, sizeof what, "%s: texts are not searched for the added token \"%.*s\"", file,
             (int)heft_min_size(content.n, 60), content.p);
    return put_remark(c, which, true, what);
}

/* Reads an entry of added_tokens_decoder. Special tokens are never searched for in texts. */
static bool read_added(struct config *c)
{
    struct heft_str content = {"", 0};
    bool is_special = false;
    enum heft_json_token token;

    while ((token = heft_json_next(&c->json)) == HEFT_JSON_KEY) {
        const bool is_content = heft_str_is(c->json.text, "content");
        const bool is_flag = heft_str_is(c->json.text, "special");

        if (!is_content && !is_flag) {
            if (!heft_json_skip(&c->json))
                return false;
            continue;
        }
        token = heft_json_next(&c->json);
        if (token != HEFT_JSON_STRING && token != HEFT_JSON_TRUE && token != HEFT_JSON_FALSE)
            return heft_json_refuse(&c->json, token, "added_tokens_decoder",
                                    "objects of content, a string, and special, a boolean");
        if (is_content)
            content = c->json.text;
        else
            is_special = token == HEFT_JSON_TRUE;
    }
    return token == HEFT_JSON_OBJECT_END &&
           (is_special || remark_added(c, HEFT_REMARK_ADDED, content));
}

static bool read_decoder(struct config *c, enum heft_json_token token)
{
    if (token != HEFT_JSON_OBJECT)
        return heft_json_refuse(&c->json, token, "added_tokens_decoder", "an object");
    while ((token = heft_json_next(&c->json)) == HEFT_JSON_KEY) {
        token = heft_json_next(&c->json);
        if (token != HEFT_JSON_OBJECT)
            return heft_json_refuse(&c->json, token, "added_tokens_decoder",
                                    "an object of objects");
        if (!read_added(c))
            return false;
    }
    return token == HEFT_JSON_OBJECT_END;
}

/* Whether vocab_beside.c has read the added tokens. */
static bool is_placed(const struct config *c)
{
    return c->is_pair && c->r->beside && !c->r->beside->is_other;
}

static bool read_member(struct config *c)
{
    const struct heft_str key = c->json.text;

    if (heft_str_is(key, "tokenizer_class"))
        return read_class(c, heft_json_next(&c->json));
    if (heft_str_is(key, "added_tokens_decoder") && !is_placed(c))
        return read_decoder(c, heft_json_next(&c->json));
    for (size_t i = 0; i < HEFT_COUNT(FLAGS); i++)
        if (heft_str_is(key, FLAGS[i].key))
            return read_flag(c, i, heft_json_next(&c->json));
    return heft_json_skip(&c->json);
}

/* ---- reading the files ------------------------------------------------------------------- */

typedef bool member_fn(struct config *c);

static bool read_added_file(struct config *c)
{
    const struct heft_str content = c->json.text;

    return heft_json_skip(&c->json) && remark_added(c, HEFT_REMARK_ADDED_FILE, content);
}

static bool read_object(struct config *c, struct heft_bytes text, member_fn *each)
{
    enum heft_json_token token;

    if (!heft_vocab_check_text(c->r, text))
        return false;
    heft_json_begin(&c->json, text, 0, &c->r->v->mem, c->r->err);
    heft_json_as_python(&c->json);
    token = heft_json_next(&c->json);
    if (token != HEFT_JSON_OBJECT)
        return heft_json_refuse(&c->json, token, "the file", "an object");
    while ((token = heft_json_next(&c->json)) == HEFT_JSON_KEY)
        if (!each(c))
            return false;
    return token == HEFT_JSON_OBJECT_END && heft_json_next(&c->json) == HEFT_JSON_END;
}

/* Refuses encoding because of settings that change ids within a text. The tokenizer's class does not
 * matter if the caller has stated the pattern. */
static void refuse_remarks(struct heft_vocab_reading *r)
{
    const bool is_said = r->how && r->how->pattern;
    static const enum heft_vocab_remark GRAVE[] = {HEFT_REMARK_PREFIX, HEFT_REMARK_ADDED,
                                                   HEFT_REMARK_CLASS};

    for (size_t i = 0; i < HEFT_COUNT(GRAVE); i++)
        if (r->v->remarks[GRAVE[i]] && r->v->refusal.code == HEFT_OK &&
            !(is_said && GRAVE[i] == HEFT_REMARK_CLASS))
            heft_fail(&r->v->refusal, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                      "%s: its ids can be decoded, texts cannot be encoded",
                      r->v->remarks[GRAVE[i]] + strlen(CONFIG_FILE ": "));
}

bool heft_vocab_read_config(struct heft_vocab_reading *r, struct heft_bytes text, bool is_pair)
{
    struct config c = {.r = r, .is_pair = is_pair};
    const bool ok = read_object(&c, text, read_member);

    if (ok && is_pair)
        refuse_remarks(r);
    return ok;
}

bool heft_vocab_read_added(struct heft_vocab_reading *r, struct heft_bytes text)
{
    struct config c = {.r = r};

    return read_object(&c, text, read_added_file);
}
