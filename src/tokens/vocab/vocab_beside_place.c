/* vocab_beside_place.c: gives the added tokens of vocab_beside.h their ids, as transformers 5 does
 * through the tokenizers library. */
#include <stdio.h>
#include <stdlib.h>

#include "tokens/vocab/vocab_beside.h"

struct placing {
    struct heft_vocab_reading *r;
    struct heft_beside *beside;
    struct heft_strmap listed; /* text → index in the list of added tokens */
    struct heft_beside_list
        history;   /* special tokens appended, and those that changed their settings */
    uint32_t next; /* id of the next token that the vocabulary lacks */
    uint32_t most; /* highest id */
};

static int by_index(const void *a, const void *b)
{
    const uint32_t x = ((const struct heft_beside_token *)a)->index;
    const uint32_t y = ((const struct heft_beside_token *)b)->index;

    return x < y ? -1 : x > y;
}

/* Notes why texts cannot be encoded; ids can. Always true. */
static bool refuse_texts(struct placing *p, enum heft_code code, uint64_t where, const char *why,
                         struct heft_str text)
{
    if (p->beside->refusal.code == HEFT_OK)
        heft_fail(&p->beside->refusal, code, where,
                  "added token \"%.*s\": %s: its ids can be decoded, "
                  "texts cannot be encoded",
                  (int)heft_min_size(text.n, 60), text.p, why);
    return true;
}

/* ---- all tokens in one list -------------------------------------------------------------- */

static bool list_added(struct placing *p)
{
    struct heft_beside_list *const added = &p->beside->added;
    uint32_t found = HEFT_MAP_NONE;
    bool ok = true;

    if (added->n > 1)
        qsort(added->items, added->n, sizeof *added->items, by_index);
    for (size_t i = 0; ok && i < added->n; i++) {
        ok =
            heft_strmap_add(&p->listed, added->items[i].token.text, (uint32_t)i, &found, p->r->err);
        if (ok && found != HEFT_MAP_NONE)
            ok = heft_fail(p->r->err, HEFT_UNSUPPORTED, added->items[i].where,
                           "added token \"%.*s\" is listed twice",
                           (int)heft_min_size(added->items[i].token.text.n, 60),
                           added->items[i].token.text.p);
        if (ok && i > 0 && added->items[i].index == added->items[i - 1].index)
            ok = heft_fail(p->r->err, HEFT_UNSUPPORTED, added->items[i].where,
                           "two added tokens have the id %" PRIu32, added->items[i].index);
    }
    return ok;
}

static bool append_special(struct placing *p, const struct heft_beside_token *t)
{
    struct heft_beside_list *const added = &p->beside->added;

    if (!heft_grow(&added->items, &added->cap, added->n, 1, sizeof *t, p->r->err) ||
        !heft_strmap_set(&p->listed, t->token.text, (uint32_t)added->n, p->r->err))
        return false;
    added->items[added->n] = *t;
    added->items[added->n].where = HEFT_NO_OFFSET; /* it may be in another file */
    added->items[added->n++].index = HEFT_NO_TOKEN;
    return true;
}

static bool are_normalized(const struct heft_beside_token *t)
{
    return t->has_normalized ? t->token.is_normalized : !t->token.is_special;
}

/* Whether transformers takes two tokens of the same text for one: two texts, or objects with the same
 * settings. */
static bool are_one(const struct heft_beside_token *a, const struct heft_beside_token *b)
{
    const struct heft_added_token *const x = &a->token, *const y = &b->token;

    return a->is_text == b->is_text && x->is_special == y->is_special &&
           are_normalized(a) == are_normalized(b) && x->strips_left == y->strips_left &&
           x->strips_right == y->strips_right && x->is_single_word == y->is_single_word;
}

/* Notes a special token that is not listed; *is_known: it was noted before. */
static bool note_special(struct placing *p, const struct heft_beside_token *t, bool *is_known)
{
    struct heft_beside_list *const history = &p->history;

    *is_known = false;
    for (size_t i = 0; i < history->n && !*is_known; i++)
        *is_known = heft_str_eq(history->items[i].token.text, t->token.text) &&
                    are_one(&history->items[i], t);
    if (*is_known)
        return true;
    if (!heft_grow(&history->items, &history->cap, history->n, 1, sizeof *t, p->r->err))
        return false;
    history->items[history->n++] = *t;
    return true;
}

/* Makes a listed token special if it has a name, or appends the token: of several with the same text
 * the settings of the last one count. */
static bool join_special(struct placing *p, const struct heft_beside_token *t, bool is_named)
{
    const struct heft_str text = t->token.text;
    struct heft_beside_token *listed;
    bool is_known = false;
    uint32_t at;

    if (text.n == 0)
        return true;
    at = heft_strmap_get(&p->listed, text);
    if (at == HEFT_MAP_NONE) {
        at = (uint32_t)p->beside->added.n;
        if (!append_special(p, t))
            return false;
    }
    listed = &p->beside->added.items[at];
    if (listed->index == HEFT_NO_TOKEN && !note_special(p, t, &is_known))
        return false;
    if (listed->index == HEFT_NO_TOKEN && !is_known) {
        listed->token = t->token;
        listed->has_normalized = t->has_normalized;
    }
    listed->token.is_special |= is_named;
    if (p->beside->is_renewing) {
        listed->token = (struct heft_added_token){.text = listed->token.text, .is_special = true};
        listed->has_normalized = false;
    }
    return true;
}

static bool join_specials(struct placing *p)
{
    struct heft_beside *const b = p->beside;
    const struct heft_beside_list *const extra = b->has_extra ? &b->extra : &b->late;
    bool ok = true;

    for (size_t i = 0; ok && i < HEFT_BESIDE_NAMES; i++) {
        const char *const name = !b->is_said[i] && b->names ? b->names[i] : NULL;
        const struct heft_beside_token usual = {
            .token = {.text = heft_str_of(name ? name : ""), .is_special = true}, .is_text = true};

        ok = join_special(p, b->is_said[i] ? &b->usual[i] : &usual, true);
    }
    for (size_t i = 0; ok && i < b->named.n; i++)
        ok = join_special(p, &b->named.items[i], true);
    for (size_t i = 0; ok && i < extra->n; i++)
        ok = join_special(p, &extra->items[i], false);
    return ok;
}

static bool names_text(const struct heft_beside_token *tokens, size_t n, struct heft_str text)
{
    for (size_t i = 0; i < n; i++)
        if (!tokens[i].is_silent && heft_str_eq(tokens[i].token.text, text))
            return true;
    return false;
}

/* Tokens of added_tokens.json are special, and not normalized, if a file names them. */
static void judge_added(struct heft_beside *b)
{
    for (size_t i = 0; i < b->added.n; i++) {
        struct heft_added_token *const token = &b->added.items[i].token;

        token->is_special = names_text(b->usual, HEFT_BESIDE_NAMES, token->text) ||
                            names_text(b->extra.items, b->extra.n, token->text);
        token->is_normalized = !token->is_special;
    }
}

/* ---- ids --------------------------------------------------------------------------------- */

/* Finds the token of vocab.json that is spelled so. False: refused. */
static bool find_token(struct placing *p, const struct heft_beside_token *t, uint32_t *id)
{
    const struct heft_vocab *const v = p->r->v;
    const struct heft_str text = t->token.text;
    uint8_t bytes[HEFT_LONGEST + HEFT_VOCAB_PAD] = {0};
    struct heft_str word = {(const char *)bytes, 0};

    *id = heft_str_is(text, HEFT_END_OF_TEXT) && v->end != HEFT_NO_TOKEN
              ? v->end
              : heft_strmap_get(&p->r->foreign, text);
    if (*id != HEFT_MAP_NONE || !heft_vocab_word_bytes(p->r, text, bytes, &word.n))
        return true;
    *id = heft_vocab_ids_get(&p->r->ids, word);
    return *id == HEFT_MAP_NONE || heft_str_eq(word, text) ||
           !refuse_texts(p, HEFT_UNSUPPORTED, t->where,
                         "it is spelled as a token of vocab.json that stands for other bytes",
                         text);
}

static bool number_token(struct placing *p, struct heft_beside_token *t)
{
    char why[120];

    if (!find_token(p, t, &t->token.id))
        return false;
    if (t->token.id == HEFT_MAP_NONE)
        t->token.id = p->next;
    if (t->token.id >= p->next)
        p->next = t->token.id + 1;
    if (t->index == HEFT_NO_TOKEN || t->index == t->token.id)
        return true;
    snprintf(why, sizeof why, "its id is %" PRIu32 ", transformers gives it %" PRIu32, t->index,
             t->token.id);
    return !refuse_texts(p, HEFT_UNSUPPORTED, t->where, why, t->token.text);
}

/* Numbers the tokens. False: texts are refused, and no token is placed. */
static bool number_tokens(struct placing *p)
{
    const struct heft_vocab *const v = p->r->v;
    struct heft_beside_list *const added = &p->beside->added;

    for (uint32_t id = 0; id < v->n_ids; id++)
        p->next += v->tokens[id].p != NULL;
    for (size_t i = 0; i < added->n; i++) {
        struct heft_beside_token *const t = &added->items[i];

        if (!number_token(p, t))
            return false;
        if (t->token.id >= HEFT_MOST_IDS)
            return !refuse_texts(p, HEFT_LIMIT, t->where, "its id is not below 2^20",
                                 t->token.text);
        if (!t->has_normalized)
            t->token.is_normalized = !t->token.is_special;
        p->most = t->token.id > p->most ? t->token.id : p->most;
    }
    return true;
}

static bool grow_tokens(struct placing *p)
{
    struct heft_vocab *const v = p->r->v;
    struct heft_str *tokens;

    if (p->most < v->n_ids)
        return true;
    tokens = heft_arena_zero(&v->mem, (size_t)p->most + 1, sizeof *tokens, p->r->err);
    if (!tokens)
        return false;
    memcpy(tokens, v->tokens, v->n_ids * sizeof *tokens);
    v->tokens = tokens;
    v->n_ids = p->most + 1;
    p->r->ids.tokens = tokens;
    return true;
}

static bool place_token(struct placing *p, const struct heft_beside_token *t)
{
    struct heft_vocab_reading *const r = p->r;
    struct heft_vocab *const v = r->v;
    const struct heft_added_token *const token = &t->token;

    if (!v->tokens[token->id].p) {
        v->tokens[token->id] = token->text;
        r->least_special = token->id < r->least_special ? token->id : r->least_special;
    } else if (!heft_str_eq(v->tokens[token->id], token->text)) {
        return refuse_texts(p, HEFT_UNSUPPORTED, t->where,
                            "its id belongs to another token of vocab.json", token->text);
    }
    if (heft_str_is(token->text, HEFT_END_OF_TEXT))
        v->end = token->id;
    return (!token->is_special || heft_vocab_add_special(v, token->text, token->id, r->err)) &&
           heft_vocab_add_token(v, token, r->err);
}

bool heft_beside_place(struct heft_vocab_reading *r, struct heft_beside *beside)
{
    struct placing p = {.r = r, .beside = beside};
    const struct heft_beside_list *const added = &beside->added;
    bool ok = true;

    if (added->n == 0 || beside->is_other)
        return true;
    if (beside->has_added_file)
        judge_added(beside);
    ok = list_added(&p) && join_specials(&p);
    if (ok && number_tokens(&p)) {
        ok = grow_tokens(&p);
        for (size_t i = 0; ok && i < added->n; i++)
            ok = place_token(&p, &added->items[i]);
    }
    heft_strmap_release(&p.listed);
    heft_free(p.history.items);
    return ok;
}
