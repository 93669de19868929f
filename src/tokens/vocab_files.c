/* vocab_files.c: GPT-2's two files become tokens and merges.
 *
 *     vocab.bpe      #version: 0.2
 *                    Ġ t                       merge 0: its two parts, made of alphabet characters
 *                    Ġ a                       merge 1 …
 *     encoder.json   {"!": 0, …, "Ġt": 256, …, "<|endoftext|>": 50256}
 *
 * A part of a merge is a single byte or what an earlier merge made. Without encoder.json the ids
 * are those that GPT-2's has: bytes in the order of the alphabet, then merges by rank, then
 * <|endoftext|> (specs: tokenizer §1.2). */
#include "tokens/vocab.h"

#include "base/text.h"
#include "io/source.h"
#include "wire/json.h"

#define MOST_FILE (UINT64_C(256) << 20)

static const struct {
    const char *merges, *ids;
} PAIRS[] = {{"vocab.bpe", "encoder.json"}, {"merges.txt", "vocab.json"}};

struct reading {
    struct heft_vocab *v;
    struct heft_strmap ids; /* bytes of a token → its id */
    const char *path;       /* of the file at hand, for errors */
    int8_t low[0x144];      /* the alphabet, turned round: byte + 1 would not fit, see `known` */
    bool known[0x144];
    struct heft_error *err;
};

static bool fail_at(struct reading *r, uint64_t offset, const char *what)
{
    heft_fail(r->err, HEFT_MALFORMED, offset, "%s", what);
    return heft_error_file(r->err, r->path);
}

/* ---- words of the alphabet --------------------------------------------------------------- */

static void turn_alphabet(struct reading *r)
{
    for (uint32_t c = 0; c < HEFT_COUNT(r->known); c++) {
        const int byte = heft_alphabet_byte(c);

        r->known[c] = byte >= 0;
        r->low[c] = (int8_t)(uint8_t)(byte & 0xFF);
    }
}

/* Turns alphabet characters into bytes, in place at `out`. False where another character stands
 * among them. */
static bool to_bytes(const struct reading *r, struct heft_str word, uint8_t *out, size_t *n)
{
    const uint8_t *p = (const uint8_t *)word.p;

    *n = 0;
    for (size_t i = 0; i < word.n;) {
        uint32_t c = p[i++];

        if (c >= 0xC2 && c <= 0xC5 && i < word.n && (p[i] & 0xC0) == 0x80)
            c = (c & 0x1F) << 6 | (p[i++] & 0x3F);
        else if (c >= 0x80)
            return false;
        if (c >= HEFT_COUNT(r->known) || !r->known[c])
            return false;
        out[(*n)++] = (uint8_t)r->low[c];
    }
    return *n > 0;
}

/* ---- tokens ------------------------------------------------------------------------------ */

/* encoder.json: every key an id of its own. */
struct listed {
    struct heft_str word; /* as the file spells it */
    uint32_t id;
};

struct list {
    struct listed *items;
    size_t n, cap;
    uint32_t most;
};

static bool add_listed(struct reading *r, struct list *list, struct heft_json *json)
{
    struct listed item = {.word = json->text};
    uint64_t id;

    item.word.p = heft_arena_text(&r->v->mem, json->text, r->err);
    if (!item.word.p)
        return false;
    if (heft_json_next(json) != HEFT_JSON_NUMBER || !heft_json_u64(json, &id) ||
        id >= HEFT_MOST_IDS)
        return fail_at(r, json->where, "an id that is no number from 0 to 2^24");
    item.id = (uint32_t)id;
    list->most = item.id > list->most ? item.id : list->most;
    if (!heft_grow(&list->items, &list->cap, list->n, 1, sizeof item, r->err))
        return false;
    list->items[list->n++] = item;
    return true;
}

static bool read_ids(struct reading *r, struct heft_bytes text, struct list *list)
{
    struct heft_json json;
    enum heft_json_token token;

    heft_json_begin(&json, text, 0, &r->v->mem, r->err);
    if (heft_json_next(&json) != HEFT_JSON_OBJECT)
        return r->err->code ? heft_error_file(r->err, r->path)
                            : fail_at(r, 0, "no JSON object of tokens and ids");
    while ((token = heft_json_next(&json)) == HEFT_JSON_KEY)
        if (!add_listed(r, list, &json))
            return heft_error_file(r->err, r->path);
    if (token != HEFT_JSON_OBJECT_END || heft_json_next(&json) != HEFT_JSON_END)
        return heft_error_file(r->err, r->path);
    return list->n > 0 || fail_at(r, 0, "no token at all");
}

/* Tokens of listed words: those of the alphabet by their bytes, others (<|endoftext|>) as they
 * are, which no merge can name. */
static bool place_listed(struct reading *r, const struct list *list)
{
    struct heft_vocab *v = r->v;
    uint32_t found;

    v->n_ids = list->most + 1;
    v->tokens = heft_arena_zero(&v->mem, v->n_ids, sizeof *v->tokens, r->err);
    if (!v->tokens)
        return false;
    for (size_t i = 0; i < list->n; i++) {
        const struct listed *item = &list->items[i];
        uint8_t bytes[2 * HEFT_LONGEST];
        struct heft_str token = item->word;
        const bool is_special = heft_str_is(token, HEFT_END_OF_TEXT);

        if (token.n > sizeof bytes)
            return fail_at(r, HEFT_NO_OFFSET, "a token of more than 4096 characters");
        if (v->tokens[item->id].p)
            return fail_at(r, HEFT_NO_OFFSET, "two tokens have one id");
        if (is_special)
            v->end = item->id;
        else if (to_bytes(r, item->word, bytes, &token.n) &&
                 !(token.p = heft_arena_text(
                       &v->mem, (struct heft_str){(const char *)bytes, token.n}, r->err)))
            return false;
        v->tokens[item->id] = token;
        if (is_special)
            continue; /* no merge makes it */
        if (!heft_strmap_add(&r->ids, token, item->id, &found, r->err))
            return false;
        if (found != HEFT_MAP_NONE)
            return fail_at(r, HEFT_NO_OFFSET, "a token stands there twice");
    }
    return true;
}

static bool place_bytes(struct reading *r)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        const char c = (char)byte;
        const uint32_t id = heft_strmap_get(&r->ids, (struct heft_str){&c, 1});

        if (id == HEFT_MAP_NONE)
            return fail_at(r, HEFT_NO_OFFSET, "not every single byte has a token");
        r->v->byte_ids[byte] = id;
    }
    return true;
}

/* Without encoder.json: room for bytes, `merges` merges and the end of text. */
static bool number_tokens(struct reading *r, size_t merges)
{
    struct heft_vocab *v = r->v;
    uint8_t order[256];
    uint32_t found;

    v->n_ids = (uint32_t)(256 + merges + 1);
    v->tokens = heft_arena_zero(&v->mem, v->n_ids, sizeof *v->tokens, r->err);
    if (!v->tokens)
        return false;
    heft_alphabet_order(order);
    for (uint32_t id = 0; id < 256; id++) {
        const char *byte =
            heft_arena_text(&v->mem, (struct heft_str){(const char *)&order[id], 1}, r->err);

        if (!byte)
            return false;
        v->tokens[id] = (struct heft_str){byte, 1};
        if (!heft_strmap_add(&r->ids, v->tokens[id], id, &found, r->err))
            return false;
    }
    v->end = v->n_ids - 1;
    v->tokens[v->end] = heft_str_of(HEFT_END_OF_TEXT);
    return true;
}

/* ---- merges ------------------------------------------------------------------------------ */

/* The next line without its end; an end of text without a newline gives the rest. */
static bool next_line(struct heft_str *text, struct heft_str *line)
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

static size_t count_lines(struct heft_str text)
{
    struct heft_str line;
    size_t n = 0;

    while (next_line(&text, &line))
        n += line.n > 0 && !(n == 0 && heft_str_starts(line, HEFT_STR("#version")));
    return n;
}

/* "A B": what the two words stand for, and their tokens. */
struct parts {
    uint8_t bytes[2 * HEFT_LONGEST];
    size_t left_n, right_n;
    uint32_t left, right;
};

static bool read_parts(struct reading *r, struct heft_str line, uint64_t at, struct parts *p)
{
    const char *space = memchr(line.p, ' ', line.n);
    const struct heft_str left = {line.p, space ? (size_t)(space - line.p) : 0};
    const struct heft_str right = {space ? space + 1 : line.p,
                                   space ? line.n - left.n - 1 : line.n};

    if (!space || line.n > HEFT_LONGEST || !to_bytes(r, left, p->bytes, &p->left_n) ||
        !to_bytes(r, right, p->bytes + p->left_n, &p->right_n))
        return fail_at(r, at, "a merge that is not two words of the alphabet with a space between");
    p->left = heft_strmap_get(&r->ids, (struct heft_str){(const char *)p->bytes, p->left_n});
    p->right =
        heft_strmap_get(&r->ids, (struct heft_str){(const char *)p->bytes + p->left_n, p->right_n});
    return (p->left != HEFT_MAP_NONE && p->right != HEFT_MAP_NONE) ||
           fail_at(r, at, "a merge of something that neither is a byte nor was merged before");
}

static bool add_merge(struct reading *r, struct heft_str line, uint64_t at, bool has_ids)
{
    struct heft_vocab *v = r->v;
    struct parts p;
    struct heft_str token;
    uint32_t id, found = HEFT_MAP_NONE;

    if (!read_parts(r, line, at, &p))
        return false;
    token = (struct heft_str){(const char *)p.bytes, p.left_n + p.right_n};
    id = has_ids ? heft_strmap_get(&r->ids, token) : 256 + v->n_merges;
    if (id == HEFT_MAP_NONE)
        return fail_at(r, at, "a merge whose result has no id in the other file");
    if (!has_ids) {
        token.p = heft_arena_text(&v->mem, token, r->err);
        if (!token.p || !heft_strmap_add(&r->ids, token, id, &found, r->err))
            return false;
        v->tokens[id] = token;
        if (found != HEFT_MAP_NONE)
            return fail_at(r, at, "a merge whose result another merge made before");
    }
    v->merges[v->n_merges++] = (struct heft_merge){p.left, p.right, id};
    return true;
}

static bool read_merges(struct reading *r, struct heft_str text, bool has_ids)
{
    const char *begin = text.p;
    struct heft_str line;
    bool is_first = true;
    const size_t most = count_lines(text);

    if (most == 0)
        return fail_at(r, 0, "no merges");
    if (most >= HEFT_MOST_IDS - 257)
        return fail_at(r, 0, "more than 2^24 merges");
    r->v->merges = heft_arena_alloc(&r->v->mem, most * sizeof *r->v->merges, r->err);
    if (!r->v->merges || (!has_ids && !number_tokens(r, most)) || !place_bytes(r))
        return false;
    for (; next_line(&text, &line); is_first = false) {
        if (line.n == 0 || (is_first && heft_str_starts(line, HEFT_STR("#version"))))
            continue;
        if (!add_merge(r, line, (uint64_t)(line.p - begin), has_ids))
            return false;
    }
    return true;
}

/* ---- files ------------------------------------------------------------------------------- */

static bool fetch(struct reading *r, const char *path, struct heft_arena *mem,
                  struct heft_bytes *out)
{
    struct heft_source source;
    size_t bad;
    bool ok;

    r->path = path;
    if (!heft_source_open_file(&source, path, r->err))
        return false;
    ok = source.size <= MOST_FILE ||
         heft_fail(r->err, HEFT_LIMIT, HEFT_NO_OFFSET, "a vocabulary of more than 256 MiB");
    ok = ok && heft_source_fetch(&source, 0, source.size, mem, out, r->err);
    heft_source_close(&source);
    if (!ok)
        return heft_error_file(r->err, path);
    bad = heft_utf8_check(*out);
    return bad == out->n || fail_at(r, bad, "no UTF-8");
}

static bool read_pair(struct reading *r, const char *merges, const char *ids)
{
    struct heft_arena mem = {0};
    struct list list = {0};
    struct heft_bytes text;
    bool ok =
        !ids || (fetch(r, ids, &mem, &text) && read_ids(r, text, &list) && place_listed(r, &list));

    ok = ok && fetch(r, merges, &mem, &text) &&
         read_merges(r, (struct heft_str){(const char *)text.p, text.n}, ids != NULL);
    heft_free(list.items);
    heft_arena_release(&mem);
    return ok;
}

static bool read_folder(struct reading *r, const char *folder)
{
    const size_t n = strlen(folder);
    const char *slash = n && folder[n - 1] == '/' ? "" : "/";
    struct heft_arena *mem = &r->v->mem;

    for (size_t i = 0; i < HEFT_COUNT(PAIRS); i++) {
        const char *merges =
            heft_arena_printf(mem, r->err, "%s%s%s", folder, slash, PAIRS[i].merges);
        const char *ids = heft_arena_printf(mem, r->err, "%s%s%s", folder, slash, PAIRS[i].ids);

        if (!merges || !ids)
            return false;
        if (heft_path_kind(merges) == HEFT_PATH_FILE)
            return read_pair(r, merges, heft_path_kind(ids) == HEFT_PATH_FILE ? ids : NULL);
    }
    heft_fail(r->err, HEFT_USAGE, HEFT_NO_OFFSET,
              "the folder holds no vocabulary (vocab.bpe and encoder.json, or merges.txt and "
              "vocab.json)");
    return heft_error_file(r->err, folder);
}

bool heft_vocab_read(struct heft_vocab *v, const char *path, struct heft_error *err)
{
    struct reading r = {.v = v, .err = err};
    bool ok;

    v->end = HEFT_NO_TOKEN;
    turn_alphabet(&r);
    ok = heft_path_kind(path) == HEFT_PATH_DIR ? read_folder(&r, path) : read_pair(&r, path, NULL);
    heft_strmap_release(&r.ids);
    return ok;
}
