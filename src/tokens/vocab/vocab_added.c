/* vocab_added.c: added_tokens of a tokenizer.json. They are looked for in texts before a text is
 * split. The library ignores their ids: a token of the model keeps the model's id, and the others
 * are numbered after the model's tokens. A file with other ids is refused. */
#include <stdio.h>

#include "tokens/vocab/vocab_json.h"

/* An added token while its members are read. */
struct reading {
    struct heft_added_token token;
    uint64_t where;
    bool has_id, has_normalized;
};

static bool fail_shape(struct heft_vocab_document *d)
{
    return heft_fail(d->r->err, HEFT_UNSUPPORTED, d->json.where,
                     "added_tokens: expected a list of objects of scalars");
}

static bool read_flag(struct heft_vocab_document *d, struct heft_str name,
                      enum heft_json_token token, struct reading *item)
{
    struct heft_added_token *const t = &item->token;
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {{"special", &t->is_special},
                 {"normalized", &t->is_normalized},
                 {"lstrip", &t->strips_left},
                 {"rstrip", &t->strips_right},
                 {"single_word", &t->is_single_word}};

    for (size_t i = 0; i < HEFT_COUNT(flags); i++) {
        if (!heft_str_is(name, flags[i].name))
            continue;
        *flags[i].flag = token == HEFT_JSON_TRUE;
        item->has_normalized |= flags[i].flag == &t->is_normalized;
        return token == HEFT_JSON_TRUE || token == HEFT_JSON_FALSE ||
               heft_fail(d->r->err, HEFT_UNSUPPORTED, d->json.where,
                         "added_tokens: %s is %s, expected true or false", flags[i].name,
                         heft_json_token_name(token));
    }
    return true;
}

static bool read_added_member(struct heft_vocab_document *d, struct reading *item)
{
    const struct heft_str name = d->json.text;
    const enum heft_json_token token = heft_json_next(&d->json);
    struct heft_added_token *const t = &item->token;
    uint64_t id;

    if (token == HEFT_JSON_ERROR)
        return false;
    if (token == HEFT_JSON_OBJECT || token == HEFT_JSON_ARRAY)
        return fail_shape(d);
    if (heft_str_is(name, "id")) {
        item->has_id =
            token == HEFT_JSON_NUMBER && heft_json_u64(&d->json, &id) && id < HEFT_MOST_IDS;
        t->id = item->has_id ? (uint32_t)id : 0;
        return true;
    }
    if (heft_str_is(name, "content") && token == HEFT_JSON_STRING) {
        t->text.n = d->json.text.n;
        t->text.p = heft_arena_text(&d->r->v->mem, d->json.text, d->r->err);
        return t->text.p != NULL;
    }
    return read_flag(d, name, token, item);
}

static bool keep_added(struct heft_vocab_document *d, struct reading *item)
{
    struct heft_added_token *const t = &item->token;
    struct heft_vocab *const v = d->r->v;
    const struct heft_listed listed = {t->text, item->where, t->id, true};

    if (!item->has_id || !t->text.p)
        return heft_vocab_fail(d->r, item->where,
                               "an added token lacks an id below 2^20 or content");
    if (t->text.n == 0 || t->text.n > HEFT_LONGEST)
        return heft_vocab_fail(d->r, item->where, "an added token must have 1 to 4096 bytes");
    if (!item->has_normalized) /* the library's default */
        t->is_normalized = !t->is_special;
    return (!t->is_special || heft_vocab_add_special(v, t->text, t->id, d->r->err)) &&
           heft_vocab_add_token(v, t, d->r->err) && heft_vocab_add(d->r, &d->listed, &listed);
}

bool heft_document_added(struct heft_vocab_document *d, enum heft_json_token token)
{
    if (token != HEFT_JSON_ARRAY)
        return heft_document_refuse_value(d, token, false);
    while ((token = heft_json_next(&d->json)) == HEFT_JSON_OBJECT) {
        struct reading item = {.where = d->json.where};

        while ((token = heft_json_next(&d->json)) == HEFT_JSON_KEY)
            if (!read_added_member(d, &item))
                return false;
        if (token != HEFT_JSON_OBJECT_END || !keep_added(d, &item))
            return false;
    }
    return token == HEFT_JSON_ARRAY_END || (token != HEFT_JSON_ERROR && fail_shape(d));
}

/* ---- joining them with the model's tokens ------------------------------------------------ */

static bool index_added(struct heft_vocab_document *d)
{
    struct heft_strmap *const words = &d->r->added;
    uint32_t found = HEFT_MAP_NONE;
    bool ok = true;

    for (size_t i = 0; ok && i < d->listed.n; i++)
        ok = heft_strmap_add(words, d->listed.items[i].word, (uint32_t)i, &found, d->r->err) &&
             (found == HEFT_MAP_NONE ||
              heft_vocab_fail(d->r, d->listed.items[i].where, "duplicate added token"));
    return ok;
}

/* Compares the ids of added tokens with those of equal tokens of the model. A special token is never
 * made by merges; another one may be, and keeps the bytes that its characters stand for. */
static bool mark_model(struct heft_vocab_document *d)
{
    bool ok = true;

    for (size_t i = 0; ok && i < d->vocab.n; i++) {
        struct heft_listed *const item = &d->vocab.items[i];
        const uint32_t at = heft_strmap_get(&d->r->added, item->word);

        item->is_special = heft_str_is(item->word, HEFT_END_OF_TEXT) ||
                           (at != HEFT_MAP_NONE && d->r->v->added[at].is_special);
        if (at == HEFT_MAP_NONE)
            continue;
        ok = item->id == d->listed.items[at].id ||
             heft_vocab_fail(d->r, item->where, "a token has another id in added_tokens");
        d->listed.items[at].is_special = false; /* it is placed with the others */
    }
    return ok;
}

static bool check_number(struct heft_vocab_document *d, const struct heft_listed *item,
                         uint32_t number)
{
    return item->id == number ||
           heft_fail(d->r->err, HEFT_UNSUPPORTED, item->where,
                     "added_tokens: id %" PRIu32 " becomes %" PRIu32
                     " in the tokenizers library, which numbers them after the vocabulary",
                     item->id, number);
}

bool heft_document_join_added(struct heft_vocab_document *d)
{
    const uint32_t n = (uint32_t)d->vocab.n;
    uint32_t next = n; /* the number of the next token that the model lacks */
    bool ok = index_added(d) && mark_model(d);

    for (size_t i = 0; ok && i < d->listed.n; i++) {
        const struct heft_listed *const item = &d->listed.items[i];

        if (item->is_special)
            ok = check_number(d, item, next) && heft_vocab_add(d->r, &d->vocab, item);
        if (item->id >= next)
            next = item->id + 1;
    }
    return ok;
}
