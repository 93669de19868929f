/* vocab_beside.c: reads the added and special tokens of tokenizer_config.json, special_tokens_map.json
 * and added_tokens.json. Python's reader takes the last of equal keys; equal tokens are refused. */
#include "tokens/vocab/vocab_beside.h"

#include "base/text.h"

static const char *const NAMES[HEFT_BESIDE_NAMES] = {
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};

/* Classes of transformers, with "Fast" behind the name or not, and the tokens that they name if no
 * file does. */
#define OF_END HEFT_END_OF_TEXT
static const char *const GPT2_NAMES[HEFT_BESIDE_NAMES] = {OF_END, OF_END, OF_END};
static const char *const NEOX_NAMES[HEFT_BESIDE_NAMES] = {OF_END, OF_END, OF_END, NULL,
                                                          "<|padding|>"};
static const char *const QWEN_NAMES[HEFT_BESIDE_NAMES] = {NULL, OF_END, OF_END, NULL, OF_END};
static const struct {
    const char *name;
    const char *const *names; /* NULL: others */
    bool is_renewing;
} CLASSES[] = {
    {"GPT2Tokenizer", GPT2_NAMES, false},    {"CodeGenTokenizer", GPT2_NAMES, false},
    {"GPTNeoXTokenizer", NEOX_NAMES, false}, {"Qwen2Tokenizer", QWEN_NAMES, true},
    {"RobertaTokenizer", NULL, false},       {"WhisperTokenizer", NULL, false},
    {"CohereTokenizer", NULL, false},
};

struct reader {
    struct heft_vocab_reading *r;
    struct heft_beside *beside;
    struct heft_json json;
    bool is_map;         /* special_tokens_map.json, where all tokens are special */
    bool has_additional; /* additional_special_tokens is said */
    bool has_names;      /* extra_special_tokens is an object */
};

void heft_beside_release(struct heft_beside *beside)
{
    heft_free(beside->added.items);
    heft_free(beside->named.items);
    heft_free(beside->extra.items);
    heft_free(beside->late.items);
}

/* ---- a token ----------------------------------------------------------------------------- */

static bool refuse(const struct reader *x, enum heft_json_token found, const char *what,
                   const char *allowed)
{
    return heft_json_refuse(&x->json, found, what, allowed);
}

/* Copies a text, which is followed by HEFT_VOCAB_PAD bytes. */
static bool copy_text(struct reader *x, struct heft_str text, struct heft_str *out)
{
    char *const copy = heft_arena_zero(&x->r->v->mem, text.n + HEFT_VOCAB_PAD, 1, x->r->err);

    if (!copy)
        return false;
    if (text.n > 0)
        memcpy(copy, text.p, text.n);
    *out = (struct heft_str){copy, text.n};
    return true;
}

static bool copy_content(struct reader *x, struct heft_beside_token *t)
{
    t->where = x->json.where;
    return (x->json.text.n <= HEFT_LONGEST ||
            heft_fail(x->r->err, HEFT_LIMIT, x->json.where,
                      "an added token has %zu bytes, the limit is %d", x->json.text.n,
                      HEFT_LONGEST)) &&
           copy_text(x, x->json.text, &t->token.text);
}

/* Reads a member of an object that describes a token, after its key. */
static bool read_setting(struct reader *x, struct heft_beside_token *t)
{
    const struct {
        const char *name;
        bool *to;
    } flags[] = {{"lstrip", &t->token.strips_left},
                 {"rstrip", &t->token.strips_right},
                 {"normalized", &t->token.is_normalized},
                 {"single_word", &t->token.is_single_word},
                 {"special", &t->token.is_special}};
    const struct heft_str key = x->json.text;
    const uint64_t where = x->json.where;
    const enum heft_json_token token = heft_json_next(&x->json);

    if (heft_str_is(key, "content"))
        return token == HEFT_JSON_STRING ? copy_content(x, t)
                                         : refuse(x, token, "content", "a string");
    if (heft_str_is(key, "__type") && token == HEFT_JSON_STRING)
        return heft_str_is(x->json.text, "AddedToken") ||
               heft_fail(x->r->err, HEFT_UNSUPPORTED, x->json.where,
                         "an added token has __type %.*s; expected AddedToken",
                         (int)heft_min_size(x->json.text.n, 60), x->json.text.p);
    for (size_t i = 0; i < HEFT_COUNT(flags); i++) {
        if (!heft_str_is(key, flags[i].name))
            continue;
        if (token != HEFT_JSON_TRUE && token != HEFT_JSON_FALSE)
            return refuse(x, token, flags[i].name, "a boolean");
        *flags[i].to = token == HEFT_JSON_TRUE;
        t->has_normalized |= flags[i].to == &t->token.is_normalized;
        return true;
    }
    return token != HEFT_JSON_ERROR && heft_fail(x->r->err, HEFT_UNSUPPORTED, where,
                                                 "an added token has the unknown setting %.*s",
                                                 (int)heft_min_size(key.n, 60), key.p);
}

/* Reads the rest of an object that describes a token. */
static bool read_settings(struct reader *x, struct heft_beside_token *t)
{
    enum heft_json_token token;

    while ((token = heft_json_next(&x->json)) == HEFT_JSON_KEY)
        if (!read_setting(x, t))
            return false;
    if (token != HEFT_JSON_OBJECT_END)
        return false;
    t->token.is_special |= x->is_map;
    return t->token.text.p ||
           heft_fail(x->r->err, HEFT_MALFORMED, x->json.where, "an added token has no content");
}

/* Reads a token that is special by its place: a text, or an object. */
static bool read_special(struct reader *x, enum heft_json_token token, const char *what,
                         struct heft_beside_token *t)
{
    *t = (struct heft_beside_token){.index = HEFT_NO_TOKEN};
    if (token == HEFT_JSON_OBJECT) {
        t->is_silent = !x->is_map;
        return read_settings(x, t);
    }
    t->token.is_special = t->is_text = true;
    return token == HEFT_JSON_STRING ? copy_content(x, t)
                                     : refuse(x, token, what, "a string or an AddedToken");
}

static bool add_token(struct reader *x, struct heft_beside_list *list,
                      const struct heft_beside_token *t)
{
    if (!heft_grow(&list->items, &list->cap, list->n, 1, sizeof *list->items, x->r->err))
        return false;
    list->items[list->n++] = *t;
    return true;
}

/* ---- special tokens with names, and without ---------------------------------------------- */

static bool read_usual(struct reader *x, size_t i)
{
    const enum heft_json_token token = heft_json_next(&x->json);
    struct heft_beside_token t = {.index = HEFT_NO_TOKEN};

    if (token != HEFT_JSON_NULL && !read_special(x, token, NAMES[i], &t))
        return false;
    x->beside->usual[i] = t;
    x->beside->is_said[i] = true;
    return true;
}

/* Keeps a token under its name: the last one counts. */
static bool keep_named(struct reader *x, struct heft_str key, struct heft_beside_token *t)
{
    struct heft_beside_list *const named = &x->beside->named;

    for (size_t i = 0; i < named->n; i++)
        if (heft_str_eq(named->items[i].key, key)) {
            if (x->is_map && named->items[i].is_kept)
                return true;
            t->key = named->items[i].key;
            named->items[i] = *t;
            return true;
        }
    return copy_text(x, key, &t->key) && add_token(x, named, t);
}

/* A name of the model's own, as image_token; add_bos_token and others are no tokens. */
static bool read_named(struct reader *x)
{
    const struct heft_str key = x->json.text;
    const enum heft_json_token token = heft_json_next(&x->json);
    struct heft_beside_token t;

    if (token == HEFT_JSON_ARRAY)
        return refuse(x, token, "a special token", "a string or an AddedToken");
    if (token != HEFT_JSON_STRING && token != HEFT_JSON_OBJECT)
        return token != HEFT_JSON_ERROR;
    if (!read_special(x, token, "a special token", &t))
        return false;
    t.is_kept = t.is_text && !x->is_map;
    return keep_named(x, key, &t);
}

static bool holds_text(const struct heft_beside_list *list, struct heft_str text)
{
    for (size_t i = 0; i < list->n; i++)
        if (heft_str_eq(list->items[i].token.text, text))
            return true;
    return false;
}

static bool read_extra_list(struct reader *x, const char *what, struct heft_beside_list *list)
{
    enum heft_json_token token;
    struct heft_beside_token t;

    while ((token = heft_json_next(&x->json)) != HEFT_JSON_ARRAY_END)
        if (!read_special(x, token, what, &t) ||
            (!holds_text(list, t.token.text) && !add_token(x, list, &t)))
            return false;
    return true;
}

static bool read_extra_names(struct reader *x)
{
    enum heft_json_token token;
    struct heft_beside_token t;

    while ((token = heft_json_next(&x->json)) == HEFT_JSON_KEY) {
        const struct heft_str key = x->json.text;

        if (!read_special(x, heft_json_next(&x->json), "extra_special_tokens", &t))
            return false;
        t.is_kept = !x->is_map;
        if (!keep_named(x, key, &t))
            return false;
    }
    return token == HEFT_JSON_OBJECT_END;
}

/* A list, or an object of named tokens, which leaves no list. */
static bool read_extra(struct reader *x)
{
    static const char WHAT[] = "extra_special_tokens";
    const enum heft_json_token token = heft_json_next(&x->json);

    if (token != HEFT_JSON_ARRAY && token != HEFT_JSON_OBJECT && token != HEFT_JSON_NULL)
        return refuse(x, token, WHAT, "a list or an object");
    if (!x->is_map || token == HEFT_JSON_OBJECT)
        x->beside->extra.n = 0;
    x->beside->has_extra = token != HEFT_JSON_OBJECT;
    x->has_names |= token == HEFT_JSON_OBJECT;
    return token == HEFT_JSON_NULL    ? true
           : token == HEFT_JSON_ARRAY ? read_extra_list(x, WHAT, &x->beside->extra)
                                      : read_extra_names(x);
}

static bool read_additional(struct reader *x)
{
    static const char WHAT[] = "additional_special_tokens";
    const enum heft_json_token token = heft_json_next(&x->json);

    x->has_additional = true;
    x->beside->late.n = 0;
    return token == HEFT_JSON_NULL ||
           (token == HEFT_JSON_ARRAY ? read_extra_list(x, WHAT, &x->beside->late)
                                     : refuse(x, token, WHAT, "a list"));
}

/* additional_special_tokens of the configuration take the place of extra ones that are none. */
static void take_additional(struct reader *x)
{
    struct heft_beside *const b = x->beside;
    const struct heft_beside_list none = b->extra;

    if (!x->has_additional || x->has_names || b->extra.n > 0)
        return;
    b->extra = b->late;
    b->late = none;
    b->has_extra = true;
}

/* ---- tokens with ids --------------------------------------------------------------------- */

static bool add_indexed(struct reader *x, struct heft_beside_token *t, uint64_t index,
                        uint64_t where)
{
    if (index >= HEFT_MOST_IDS)
        return heft_fail(x->r->err, HEFT_LIMIT, where, "id %" PRIu64 "; expected below 2^20",
                         index);
    t->index = (uint32_t)index;
    t->where = where;
    return t->token.text.n == 0 || add_token(x, &x->beside->added, t); /* empty: in no text */
}

/* The key of a token in the decoder: an id in decimals. */
static bool parse_index(struct heft_str key, uint64_t *index)
{
    *index = 0;
    for (size_t i = 0; i < key.n; i++) {
        if (key.p[i] < '0' || key.p[i] > '9' || *index >= HEFT_MOST_IDS)
            return false;
        *index = *index * 10 + (uint64_t)(key.p[i] - '0');
    }
    return key.n > 0;
}

static bool read_decoded(struct reader *x)
{
    struct heft_beside_token t = {.index = HEFT_NO_TOKEN};
    const struct heft_str key = x->json.text;
    const uint64_t where = x->json.where;
    enum heft_json_token token;
    uint64_t index;

    if (!parse_index(key, &index))
        return heft_fail(x->r->err, HEFT_MALFORMED, where,
                         "added_tokens_decoder: key %.*s; expected an id below 2^20",
                         (int)heft_min_size(key.n, 40), key.p);
    token = heft_json_next(&x->json);
    return (token == HEFT_JSON_OBJECT ||
            refuse(x, token, "added_tokens_decoder", "an object of objects")) &&
           read_settings(x, &t) && add_indexed(x, &t, index, where);
}

static bool read_decoder(struct reader *x)
{
    enum heft_json_token token = heft_json_next(&x->json);

    if (token != HEFT_JSON_OBJECT)
        return refuse(x, token, "added_tokens_decoder", "an object");
    x->beside->has_decoder = true;
    x->beside->added.n = 0;
    while ((token = heft_json_next(&x->json)) == HEFT_JSON_KEY)
        if (!read_decoded(x))
            return false;
    return token == HEFT_JSON_OBJECT_END;
}

/* A member of added_tokens.json: transformers knows by the other files whether it is special. */
static bool read_added(struct reader *x)
{
    struct heft_beside_token t = {.index = HEFT_NO_TOKEN};
    const uint64_t where = x->json.where;
    enum heft_json_token token;
    uint64_t index = 0;

    if (!copy_content(x, &t))
        return false;
    token = heft_json_next(&x->json);
    if (token != HEFT_JSON_NUMBER)
        return refuse(x, token, "the id of an added token", "a number");
    if (!heft_json_u64(&x->json, &index))
        return heft_fail(x->r->err, HEFT_MALFORMED, x->json.where,
                         "the id of an added token is not a non-negative integer");
    t.has_normalized = true;
    return add_indexed(x, &t, index, where);
}

/* ---- the files --------------------------------------------------------------------------- */

static bool ends_with(struct heft_str text, struct heft_str end)
{
    return text.n >= end.n && memcmp(text.p + text.n - end.n, end.p, end.n) == 0;
}

static bool read_class(struct reader *x)
{
    const enum heft_json_token token = heft_json_next(&x->json);
    struct heft_str name = x->json.text;

    if (token != HEFT_JSON_STRING)
        return token == HEFT_JSON_NULL || refuse(x, token, "tokenizer_class", "a string");
    if (ends_with(name, HEFT_STR("Fast")))
        name.n -= 4;
    for (size_t i = 0; i < HEFT_COUNT(CLASSES); i++)
        if (heft_str_is(name, CLASSES[i].name)) {
            x->beside->names = CLASSES[i].names;
            x->beside->is_renewing = CLASSES[i].is_renewing;
            x->beside->is_other = !CLASSES[i].names;
        }
    return true;
}

/* A member of the configuration, or of the map, after its key. */
static bool read_member(struct reader *x)
{
    const struct heft_str key = x->json.text;

    for (size_t i = 0; i < HEFT_COUNT(NAMES); i++)
        if (heft_str_is(key, NAMES[i]))
            return read_usual(x, i);
    if (heft_str_is(key, "extra_special_tokens"))
        return read_extra(x);
    if (ends_with(key, HEFT_STR("_token")))
        return read_named(x);
    if (heft_str_is(key, "additional_special_tokens"))
        return read_additional(x);
    if (heft_str_is(key, "added_tokens_decoder") && !x->is_map)
        return read_decoder(x);
    return heft_str_is(key, "tokenizer_class") && !x->is_map ? read_class(x)
                                                             : heft_json_skip(&x->json);
}

static bool read_object(struct reader *x, struct heft_bytes text, bool (*each)(struct reader *x))
{
    enum heft_json_token token;

    if (!heft_vocab_check_text(x->r, text))
        return false;
    heft_json_begin(&x->json, text, 0, &x->r->v->mem, x->r->err);
    heft_json_as_python(&x->json);
    token = heft_json_next(&x->json);
    if (token != HEFT_JSON_OBJECT)
        return refuse(x, token, "the file", "an object");
    while ((token = heft_json_next(&x->json)) == HEFT_JSON_KEY)
        if (!each(x))
            return false;
    return token == HEFT_JSON_OBJECT_END && heft_json_next(&x->json) == HEFT_JSON_END;
}

bool heft_beside_read_config(struct heft_vocab_reading *r, struct heft_beside *beside,
                             struct heft_bytes text)
{
    struct reader x = {.r = r, .beside = beside};

    if (!read_object(&x, text, read_member))
        return false;
    take_additional(&x);
    return true;
}

bool heft_beside_read_map(struct heft_vocab_reading *r, struct heft_beside *beside,
                          struct heft_bytes text)
{
    struct reader x = {.r = r, .beside = beside, .is_map = true};

    return beside->has_decoder || read_object(&x, text, read_member);
}

bool heft_beside_read_added(struct heft_vocab_reading *r, struct heft_beside *beside,
                            struct heft_bytes text)
{
    struct reader x = {.r = r, .beside = beside};

    beside->has_added_file = !beside->has_decoder;
    return beside->has_decoder || read_object(&x, text, read_added);
}
