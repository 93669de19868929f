/* vocab_words.c: GPT-2's two files → tokens and merges.
 *
 *     vocab.bpe      #version: 0.2
 *                    Ġ t                       merge 0: its two parts, in characters of the alphabet
 *                    Ġ a                       merge 1 …
 *     encoder.json   {"!": 0, …, "Ġt": 256, …, "<|endoftext|>": 50256}
 *
 * A part of a merge is a single byte or the result of an earlier merge. Without encoder.json the
 * ids are assigned as in GPT-2: bytes in the order of the alphabet, then merges by rank, then
 * <|endoftext|>. */
#include "base/text.h"
#include "tokens/bpe/self_encoding.h"
#include "tokens/vocab/vocab_parts.h"

bool heft_vocab_fail(struct heft_vocab_reading *r, uint64_t offset, const char *what)
{
    return heft_fail(r->err, HEFT_MALFORMED, offset, "%s", what);
}

bool heft_vocab_check_text(struct heft_vocab_reading *r, struct heft_bytes text)
{
    const size_t bad = heft_utf8_check(text);

    return bad == text.n || heft_vocab_fail(r, bad, "not valid UTF-8");
}

bool heft_vocab_validate(struct heft_vocab_reading *r)
{
    return heft_vocab_pairs(r->v, heft_vocab_ids_spare(&r->ids), r->err) &&
           heft_self_encoding_find(r->v, r->err);
}

uint8_t *heft_vocab_bytes(struct heft_vocab_reading *r, size_t n)
{
    return heft_arena_alloc(&r->v->mem, n + HEFT_VOCAB_PAD, r->err);
}

/* ---- words of the alphabet to bytes ------------------------------------------------------ */

bool heft_vocab_word_bytes(const struct heft_vocab_reading *r, struct heft_str word, uint8_t *out,
                           size_t *n)
{
    const uint8_t *p = (const uint8_t *)word.p, *const end = p + word.n;
    uint8_t *to = out;

    while (p < end) {
        uint32_t c = *p++;

        if (c >= 0x80) {
            if (c < 0xC2 || c > 0xC5 || p == end || (*p & 0xC0) != 0x80)
                return false;
            c = (c & 0x1F) << 6 | (*p++ & 0x3F); /* the alphabet's code points are below 0x180 */
        }
        if (r->bytes[c] < 0)
            return false;
        *to++ = (uint8_t)r->bytes[c];
    }
    *n = (size_t)(to - out);
    return *n > 0;
}

/* ---- adding tokens ----------------------------------------------------------------------- */

bool heft_vocab_add(struct heft_vocab_reading *r, struct heft_listing *list,
                    const struct heft_listed *item)
{
    list->most = item->id > list->most ? item->id : list->most;
    if (!heft_grow(&list->items, &list->cap, list->n, 1, sizeof *item, r->err))
        return false;
    list->items[list->n++] = *item;
    return true;
}

static bool list_member(struct heft_vocab_reading *r, struct heft_json *json,
                        struct heft_listing *list)
{
    struct heft_listed item = {.word = json->text, .where = json->where};
    uint64_t id;

    if (item.word.n > 2 * HEFT_LONGEST)
        return heft_vocab_fail(r, item.where, "a token has more than 4096 characters");
    if (heft_json_next(json) != HEFT_JSON_NUMBER || !heft_json_u64(json, &id))
        return r->err->code
                   ? false
                   : heft_vocab_fail(r, json->where, "an id is not a non-negative integer");
    if (id >= HEFT_MOST_IDS)
        return heft_fail(r->err, HEFT_LIMIT, json->where,
                         "id %" PRIu64 "; expected below 2^20 = 1048576", id);
    item.id = (uint32_t)id;
    return heft_vocab_add(r, list, &item);
}

bool heft_vocab_list(struct heft_vocab_reading *r, struct heft_json *json,
                     struct heft_listing *list)
{
    enum heft_json_token token;

    while ((token = heft_json_next(json)) == HEFT_JSON_KEY)
        if (!list_member(r, json, list))
            return false;
    return token == HEFT_JSON_OBJECT_END;
}

/* Places a token; its bytes go to *to, which has room for the word. A word with characters outside
 * the alphabet is never encoded to, and treated as special. */
static bool place_token(struct heft_vocab_reading *r, struct heft_listed *item, uint8_t **to)
{
    struct heft_vocab *v = r->v;
    struct heft_str token = item->word;
    uint32_t found;

    if (v->tokens[item->id].p)
        return heft_fail(r->err, HEFT_MALFORMED, item->where,
                         "id %" PRIu32 " belongs to another token already", item->id);
    token.p = (const char *)*to;
    item->is_special = item->is_special || !heft_vocab_word_bytes(r, item->word, *to, &token.n);
    if (item->is_special) {
        token.n = item->word.n;
        if (token.n > 0)
            memcpy(*to, item->word.p, token.n);
    }
    *to += token.n;
    v->tokens[item->id] = token;
    if (item->is_special) {
        r->least_special = item->id < r->least_special ? item->id : r->least_special;
        if (heft_str_is(token, HEFT_END_OF_TEXT))
            v->end = item->id;
    }
    return (item->is_special ? heft_strmap_add(&r->foreign, token, item->id, &found, r->err)
                             : heft_vocab_ids_add(&r->ids, item->id, &found, r->err)) &&
           (found == HEFT_MAP_NONE ||
            heft_fail(r->err, HEFT_MALFORMED, item->where,
                      "a token has id %" PRIu32 " and id %" PRIu32, found, item->id));
}

bool heft_vocab_place_bytes(struct heft_vocab_reading *r)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        const char c[1 + HEFT_VOCAB_PAD] = {(char)byte};
        const uint32_t id = heft_vocab_ids_get(&r->ids, (struct heft_str){c, 1});

        if (id == HEFT_MAP_NONE)
            return heft_fail(r->err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                             "no token for the single byte 0x%02x; all 256 bytes must have one",
                             byte);
        r->v->byte_ids[byte] = id;
    }
    return true;
}

bool heft_vocab_place(struct heft_vocab_reading *r, const struct heft_listing *list)
{
    struct heft_vocab *v = r->v;
    size_t room = 0;
    uint8_t *to;

    v->n_ids = list->most + 1;
    for (size_t i = 0; i < list->n; i++)
        room += list->items[i].word.n; /* no overflow: words are within the file */
    if (!heft_vocab_room(v, v->n_ids, list->n, room, r->err))
        return false;
    v->tokens = heft_arena_zero(&v->mem, v->n_ids, sizeof *v->tokens, r->err);
    to = heft_vocab_bytes(r, room);
    if (!v->tokens || !to || !heft_vocab_ids_reserve(&r->ids, &v->mem, v->tokens, list->n, r->err))
        return false;
    for (size_t i = 0; i < list->n; i++)
        if (!place_token(r, &list->items[i], &to))
            return false;
    return heft_vocab_place_bytes(r);
}

/* Assigns ids without encoder.json: room for the bytes, `merges` merges whose tokens have at most
 * `bytes` bytes, and <|endoftext|>. */
static bool number_tokens(struct heft_vocab_reading *r, size_t merges, size_t bytes)
{
    struct heft_vocab *v = r->v;
    uint8_t *order;
    uint32_t found;

    v->n_ids = (uint32_t)(256 + merges + 1);
    if (!heft_vocab_room(v, v->n_ids, merges, 256 + bytes, r->err))
        return false;
    v->tokens = heft_arena_zero(&v->mem, v->n_ids, sizeof *v->tokens, r->err);
    order = heft_vocab_bytes(r, 256);
    r->to = heft_vocab_bytes(r, bytes);
    if (!v->tokens || !order || !r->to ||
        !heft_vocab_ids_reserve(&r->ids, &v->mem, v->tokens, v->n_ids, r->err))
        return false;
    heft_alphabet_order(order);
    for (uint32_t id = 0; id < 256; id++) {
        v->tokens[id] = (struct heft_str){(const char *)&order[id], 1};
        if (!heft_vocab_ids_add(&r->ids, id, &found, r->err))
            return false;
    }
    v->end = v->n_ids - 1;
    v->tokens[v->end] = HEFT_STR(HEFT_END_OF_TEXT);
    return heft_vocab_place_bytes(r);
}

/* ---- reading merges ---------------------------------------------------------------------- */

bool heft_vocab_line(struct heft_str *text, struct heft_str *line)
{
    const char *end = text->n ? memchr(text->p, '\n', text->n) : NULL;
    const size_t n = end ? (size_t)(end - text->p) : text->n;

    if (text->n == 0)
        return false;
    *line = (struct heft_str){text->p, n && text->p[n - 1] == '\r' ? n - 1 : n};
    text->p += end ? n + 1 : n;
    text->n -= end ? n + 1 : n;
    return true;
}

/* Takes the next line with a merge. */
static bool merge_line(const char *begin, struct heft_str *text, struct heft_str *line)
{
    while (heft_vocab_line(text, line))
        if (line->n > 0 && !(line->p == begin && heft_str_starts(*line, HEFT_STR("#version"))))
            return true;
    return false;
}

static size_t count_lines(struct heft_str text)
{
    const char *begin = text.p;
    struct heft_str line;
    size_t n = 0;

    while (merge_line(begin, &text, &line))
        n++;
    return n;
}

/* A merge "A B": bytes of both words, and their tokens. */
struct parts {
    uint8_t bytes[2 * HEFT_LONGEST + HEFT_VOCAB_PAD];
    size_t left_n, right_n;
    uint32_t left, right;
};

static bool read_parts(struct heft_vocab_reading *r, struct heft_str line, uint64_t where,
                       struct parts *p)
{
    const char *space = memchr(line.p, ' ', line.n);
    const struct heft_str left = {line.p, space ? (size_t)(space - line.p) : 0};
    const struct heft_str right = {space ? space + 1 : line.p,
                                   space ? line.n - left.n - 1 : line.n};

    if (line.n > HEFT_LONGEST)
        return heft_vocab_fail(r, where, "a merge has more than 4096 bytes");
    if (!space || !heft_vocab_word_bytes(r, left, p->bytes, &p->left_n) ||
        !heft_vocab_word_bytes(r, right, p->bytes + p->left_n, &p->right_n))
        return heft_vocab_fail(r, where,
                               "expected a merge: two words of the alphabet with a space between");
    p->left = heft_vocab_ids_get(&r->ids, (struct heft_str){(const char *)p->bytes, p->left_n});
    p->right = heft_vocab_ids_get(
        &r->ids, (struct heft_str){(const char *)p->bytes + p->left_n, p->right_n});
    return (p->left != HEFT_MAP_NONE && p->right != HEFT_MAP_NONE) ||
           heft_vocab_fail(
               r, where,
               "a merge has a part that is neither a byte nor the result of an earlier merge");
}

/* Fast path: merges are mostly in the order of their ids, and special tokens have the last ones. */
uint32_t heft_vocab_result(const struct heft_vocab_reading *r, struct heft_str token)
{
    const struct heft_vocab *v = r->v;
    const uint32_t next = v->n_merges ? v->merges[v->n_merges - 1].id + 1 : 256;

    if (next < v->n_ids && next < r->least_special && v->tokens[next].p &&
        heft_str_eq(v->tokens[next], token))
        return next;
    return heft_vocab_ids_get(&r->ids, token);
}

bool heft_vocab_merge(struct heft_vocab_reading *r, struct heft_str line, uint64_t where,
                      bool has_ids)
{
    struct heft_vocab *v = r->v;
    struct parts p;
    struct heft_str token;
    uint32_t id, found = HEFT_MAP_NONE;

    if (!read_parts(r, line, where, &p))
        return false;
    token = (struct heft_str){(const char *)p.bytes, p.left_n + p.right_n};
    id = has_ids ? heft_vocab_result(r, token) : 256 + v->n_merges;
    if (id == HEFT_MAP_NONE)
        return heft_vocab_fail(r, where, "the result of a merge has no id");
    if (!has_ids) {
        token.p = memcpy(r->to, token.p, token.n); /* shorter than its line */
        r->to += token.n;
        v->tokens[id] = token;
        if (!heft_vocab_ids_add(&r->ids, id, &found, r->err))
            return false;
        if (found != HEFT_MAP_NONE)
            return heft_vocab_fail(r, where, "an earlier merge has the same result");
    }
    v->merges[v->n_merges++] = (struct heft_merge){p.left, p.right, id};
    return true;
}

bool heft_vocab_reserve(struct heft_vocab_reading *r, size_t merges)
{
    if (merges >= HEFT_MOST_MERGES)
        return heft_fail(r->err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "%zu merges; expected fewer than 2^20 - 257", merges);
    r->v->merges = heft_arena_alloc(&r->v->mem, merges * sizeof *r->v->merges, r->err);
    return r->v->merges != NULL;
}

/* Drops text after the last newline, as the original does. Without ids to compare, refuses it: a
 * truncated list would assign other ids. */
static bool drop_open_line(struct heft_vocab_reading *r, struct heft_str *text, bool has_ids)
{
    size_t n = text->n;

    while (n > 0 && text->p[n - 1] != '\n')
        n--;
    if (n < text->n && !has_ids)
        return heft_vocab_fail(r, n, "the last line has no newline: the list may be truncated");
    text->n = n;
    return true;
}

static bool is_made(const struct heft_vocab *v, uint32_t id)
{
    for (uint32_t rank = 0; rank < v->n_merges; rank++)
        if (v->merges[rank].id == id)
            return true;
    return false;
}

static bool is_of_two(const struct heft_vocab_reading *r, struct heft_str token)
{
    for (size_t n = 1; n < token.n; n++)
        if (heft_vocab_ids_get(&r->ids, (struct heft_str){token.p, n}) != HEFT_MAP_NONE &&
            heft_vocab_ids_get(&r->ids, (struct heft_str){token.p + n, token.n - n}) !=
                HEFT_MAP_NONE)
            return true;
    return false;
}

/* Detects a truncated list: the id after the last merge's would be the result of a merge. The
 * original drops text after the last newline, and would use further merges. An added word that
 * happens to be two tokens joined looks the same. */
bool heft_vocab_check_end(struct heft_vocab_reading *r, struct heft_str text)
{
    const struct heft_vocab *v = r->v;
    const bool is_open = text.n > 0 && text.p[text.n - 1] != '\n';
    const uint32_t next = (v->n_merges ? v->merges[v->n_merges - 1].id + 1 : 256) + is_open;

    if (next >= v->n_ids || !v->tokens[next].p ||
        heft_vocab_ids_get(&r->ids, v->tokens[next]) != next || !is_of_two(r, v->tokens[next]) ||
        is_made(v, next))
        return true;
    return heft_fail(r->err, HEFT_MALFORMED, text.n,
                     "the list ends after %" PRIu32 " merges, but id %" PRIu32
                     " is two tokens joined: the list is truncated, or the id is no merge's",
                     v->n_merges, next);
}

bool heft_vocab_read_merges(struct heft_vocab_reading *r, struct heft_str text, bool has_ids)
{
    const char *begin = text.p;
    struct heft_str line;
    size_t most;

    if (!drop_open_line(r, &text, has_ids))
        return false;
    most = count_lines(text);
    if (most == 0 &&
        (!has_ids || text.n == 0)) /* with ids, an empty list is a vocabulary of bytes */
        return heft_vocab_fail(r, 0, "the list has no merges");
    if (!heft_vocab_reserve(r, most) || (!has_ids && !number_tokens(r, most, text.n)))
        return false;
    while (merge_line(begin, &text, &line))
        if (!heft_vocab_merge(r, line, (uint64_t)(line.p - begin), has_ids))
            return false;
    return true;
}
