/* vocab_pickle.c: tokenizer.pkl of nanochat: a pickled tiktoken.core.Encoding → tokens and merges.
 *
 *     Encoding.__new__(Encoding).__setstate__({
 *         "name": "…", "pat_str": "…",
 *         "mergeable_ranks": {b"!": 0, …}, "special_tokens": {"<|bos|>": 32759, …}})
 *
 * The pickle is read and never executed: a stack machine for the opcodes that such a pickle has. Every
 * other opcode, and every global other than the class, is refused. */
#include "base/endian.h"
#include "base/text.h"
#include "tokens/vocab/vocab_parts.h"

#define MOST_STACK ((size_t)1 << 16) /* picklers set dict items in batches of 1000 */
#define MOST_MEMO  ((size_t)4 << HEFT_ID_BITS)
#define MOST_DICTS 8

enum kind { MARK, INTEGER, TEXT, BYTES, DICT, TUPLE, CLASS, OBJECT };
struct value {
    const uint8_t *p; /* of TEXT and BYTES, in the file */
    uint32_t n;       /* their length; the number; the index of a dict */
    uint8_t kind;     /* enum kind */
};
struct dict {
    struct value *items; /* key, value, … */
    size_t n, cap;
};
struct machine {
    struct heft_vocab_reading *r;
    struct heft_bytes text;
    size_t at, op; /* next byte; the opcode's */
    struct value *stack, *memo;
    size_t n_stack, cap_stack, n_memo, cap_memo;
    struct dict dicts[MOST_DICTS];
    size_t n_dicts;
    bool is_built; /* the object has its state, `state` */
    struct value state;
};

bool heft_vocab_is_pickle(struct heft_bytes text)
{
    return text.n > 2 && text.p[0] == 0x80 && text.p[1] >= 2 && text.p[1] <= 5;
}

static bool fail_pickle(struct machine *m, const char *what)
{
    return m->r->err->code ? false : heft_vocab_fail(m->r, m->op, what);
}

/* ---- the stack --------------------------------------------------------------------------- */

static bool push(struct machine *m, enum kind kind, const uint8_t *p, uint32_t n)
{
    if (m->n_stack == MOST_STACK)
        return heft_fail(m->r->err, HEFT_LIMIT, m->op,
                         "pickle: more than 65536 values in one item");
    if (!heft_grow(&m->stack, &m->cap_stack, m->n_stack, 1, sizeof *m->stack, m->r->err))
        return false;
    m->stack[m->n_stack++] = (struct value){p, n, (uint8_t)kind};
    return true;
}

/* The i-th value from the top; NULL if there are fewer. */
static struct value *peek(struct machine *m, size_t i)
{
    return i < m->n_stack ? &m->stack[m->n_stack - 1 - i] : NULL;
}

static bool top_is(struct machine *m, size_t i, enum kind kind)
{
    return i < m->n_stack && m->stack[m->n_stack - 1 - i].kind == kind;
}

static bool read_number(struct machine *m, unsigned bytes, uint64_t *out)
{
    *out = 0;
    if (m->text.n - m->at < bytes)
        return fail_pickle(m, "pickle: the file ends within an opcode");
    for (unsigned i = 0; i < bytes; i++)
        *out |= (uint64_t)m->text.p[m->at++] << 8 * i;
    return true;
}

static bool push_integer(struct machine *m, unsigned bytes)
{
    uint64_t number;

    return read_number(m, bytes, &number) &&
           (number < HEFT_MOST_IDS ? push(m, INTEGER, NULL, (uint32_t)number)
                                   : fail_pickle(m, "pickle: expected a number below 2^20"));
}

/* A text or bytes, after their length. */
static bool push_bytes(struct machine *m, enum kind kind, unsigned bytes)
{
    const uint8_t *p;
    uint64_t n;

    if (!read_number(m, bytes, &n))
        return false;
    if (n > m->text.n - m->at)
        return fail_pickle(m, "pickle: the file ends within a string");
    p = m->text.p + m->at;
    m->at += (size_t)n;
    if (kind == TEXT && heft_utf8_check((struct heft_bytes){p, (size_t)n}) < n)
        return fail_pickle(m, "pickle: a string is not valid UTF-8");
    return push(m, kind, p, (uint32_t)n);
}

/* ---- opcodes ----------------------------------------------------------------------------- */

static bool memoize(struct machine *m, uint64_t index)
{
    if (m->n_stack == 0 || index > m->n_memo)
        return fail_pickle(m, "pickle: nothing to memoize, or a number is left out");
    if (index == MOST_MEMO)
        return heft_fail(m->r->err, HEFT_LIMIT, m->op, "pickle: more than 2^22 memoized values");
    if (!heft_grow(&m->memo, &m->cap_memo, m->n_memo, 1, sizeof *m->memo, m->r->err))
        return false;
    m->memo[index] = *peek(m, 0);
    m->n_memo += index == m->n_memo;
    return true;
}

static bool put_memo(struct machine *m, unsigned bytes)
{
    uint64_t index;

    return read_number(m, bytes, &index) && memoize(m, index);
}

static bool get_memo(struct machine *m, unsigned bytes)
{
    uint64_t index;

    if (!read_number(m, bytes, &index))
        return false;
    if (index >= m->n_memo || m->memo[index].kind == MARK)
        return fail_pickle(m, "pickle: no memoized value with this number");
    return push(m, (enum kind)m->memo[index].kind, m->memo[index].p, m->memo[index].n);
}

static bool push_class(struct machine *m, struct heft_str module, struct heft_str name)
{
    return heft_str_is(module, "tiktoken.core") && heft_str_is(name, "Encoding")
               ? push(m, CLASS, NULL, 0)
               : heft_fail(m->r->err, HEFT_UNSUPPORTED, m->op,
                           "a pickle that names %.*s.%.*s; only one of tiktoken.core.Encoding is "
                           "read",
                           (int)heft_min_size(module.n, 60), module.p,
                           (int)heft_min_size(name.n, 60), name.p);
}

static bool read_line(struct machine *m, struct heft_str *line)
{
    const uint8_t *const p = m->text.p + m->at;
    const uint8_t *const end = memchr(p, '\n', m->text.n - m->at);

    if (!end)
        return fail_pickle(m, "pickle: the file ends within an opcode");
    *line = (struct heft_str){(const char *)p, (size_t)(end - p)};
    m->at += line->n + 1;
    return true;
}

static bool read_global(struct machine *m)
{
    struct heft_str module, name;

    return read_line(m, &module) && read_line(m, &name) && push_class(m, module, name);
}

static bool stack_global(struct machine *m)
{
    const struct value *const module = peek(m, 1), *const name = peek(m, 0);

    if (!top_is(m, 0, TEXT) || !top_is(m, 1, TEXT))
        return fail_pickle(m, "pickle: STACK_GLOBAL without two strings");
    m->n_stack -= 2; /* their bytes are in the file */
    return push_class(m, (struct heft_str){(const char *)module->p, module->n},
                      (struct heft_str){(const char *)name->p, name->n});
}

static bool make_object(struct machine *m)
{
    if (!top_is(m, 0, TUPLE) || !top_is(m, 1, CLASS))
        return fail_pickle(m, "pickle: NEWOBJ without a class and an empty tuple");
    m->n_stack -= 2;
    return push(m, OBJECT, NULL, 0);
}

static bool make_dict(struct machine *m)
{
    if (m->n_dicts == MOST_DICTS)
        return fail_pickle(m, "pickle: more dicts than an Encoding has");
    return push(m, DICT, NULL, (uint32_t)m->n_dicts++);
}

/* Sets items of the dict below the last n values. */
static bool set_items(struct machine *m, size_t n)
{
    struct dict *dict;

    if (n % 2 || !top_is(m, n, DICT))
        return fail_pickle(m, "pickle: items without a dict");
    dict = &m->dicts[peek(m, n)->n];
    if (dict->n > 2 * (size_t)HEFT_MOST_IDS)
        return heft_fail(m->r->err, HEFT_LIMIT, m->op, "pickle: a dict of more than 2^20 items");
    if (!heft_grow(&dict->items, &dict->cap, dict->n, n, sizeof *dict->items, m->r->err))
        return false;
    if (n > 0)
        memcpy(dict->items + dict->n, m->stack + m->n_stack - n, n * sizeof *dict->items);
    dict->n += n;
    m->n_stack -= n;
    return true;
}

/* Sets the items above the last mark. */
static bool set_marked(struct machine *m)
{
    size_t n = 0;

    while (n < m->n_stack && peek(m, n)->kind != MARK)
        n++;
    if (n + 1 >= m->n_stack || !top_is(m, n + 1, DICT))
        return fail_pickle(m, "pickle: items without a mark and a dict");
    memmove(m->stack + m->n_stack - n - 1, m->stack + m->n_stack - n, n * sizeof *m->stack);
    m->n_stack--;
    return set_items(m, n);
}

static bool build(struct machine *m)
{
    if (m->is_built || !top_is(m, 1, OBJECT))
        return fail_pickle(m, "pickle: BUILD without an object");
    m->state = *peek(m, 0);
    m->is_built = true;
    m->n_stack--;
    return true;
}

static bool skip_number(struct machine *m, unsigned bytes)
{
    uint64_t number;

    return read_number(m, bytes, &number);
}

static bool run_opcode(struct machine *m, uint8_t op)
{
    switch (op) {
    case 0x80: /* PROTO */
        return skip_number(m, 1);
    case 0x95: /* FRAME */
        return skip_number(m, 8);
    case '(':
        return push(m, MARK, NULL, 0);
    case '}':
        return make_dict(m);
    case ')':
        return push(m, TUPLE, NULL, 0);
    case 'K':
        return push_integer(m, 1);
    case 'M':
        return push_integer(m, 2);
    case 'J':
        return push_integer(m, 4);
    case 0x8C: /* SHORT_BINUNICODE */
        return push_bytes(m, TEXT, 1);
    case 'X':
        return push_bytes(m, TEXT, 4);
    case 'C':
        return push_bytes(m, BYTES, 1);
    case 'B':
        return push_bytes(m, BYTES, 4);
    case 0x94: /* MEMOIZE */
        return memoize(m, m->n_memo);
    case 'q':
        return put_memo(m, 1);
    case 'r':
        return put_memo(m, 4);
    case 'h':
        return get_memo(m, 1);
    case 'j':
        return get_memo(m, 4);
    case 'c':
        return read_global(m);
    case 0x93: /* STACK_GLOBAL */
        return stack_global(m);
    case 0x81: /* NEWOBJ */
        return make_object(m);
    case 's':
        return set_items(m, 2);
    case 'u':
        return set_marked(m);
    case 'b':
        return build(m);
    default:
        return heft_fail(m->r->err, HEFT_UNSUPPORTED, m->op,
                         "a pickle with opcode 0x%02x, which no pickled tiktoken.core.Encoding has",
                         op);
    }
}

static bool run_pickle(struct machine *m)
{
    for (;;) {
        m->op = m->at;
        if (m->at == m->text.n)
            return fail_pickle(m, "pickle: the file ends before STOP");
        if (m->text.p[m->at++] == '.')
            break;
        if (!run_opcode(m, m->text.p[m->op]))
            return false;
    }
    if (m->n_stack != 1 || !top_is(m, 0, OBJECT) || !m->is_built)
        return heft_fail(m->r->err, HEFT_UNSUPPORTED, m->op,
                         "a pickle of something else than one tiktoken.core.Encoding");
    return m->at == m->text.n || heft_vocab_fail(m->r, m->at, "pickle: bytes behind its end");
}

/* ---- the state --------------------------------------------------------------------------- */

struct encoding {
    struct value pattern;
    const struct dict *ranks, *specials;
};

static struct heft_str text_of(const struct value *value)
{
    return (struct heft_str){(const char *)value->p, value->n};
}

static bool take_member(struct machine *m, struct encoding *e, const struct value *item)
{
    const struct value *const value = item + 1;
    const struct heft_str name = item->kind == TEXT ? text_of(item) : HEFT_STR("");

    if (heft_str_is(name, "name"))
        return true;
    if (heft_str_is(name, "pat_str") && value->kind == TEXT && !e->pattern.p)
        e->pattern = *value;
    else if (heft_str_is(name, "mergeable_ranks") && value->kind == DICT && !e->ranks)
        e->ranks = &m->dicts[value->n];
    else if (heft_str_is(name, "special_tokens") && value->kind == DICT && !e->specials)
        e->specials = &m->dicts[value->n];
    else
        return heft_vocab_fail(m->r, HEFT_NO_OFFSET,
                               "pickle: expected name, pat_str, mergeable_ranks and "
                               "special_tokens, each once");
    return true;
}

static bool take_state(struct machine *m, struct encoding *e)
{
    const struct dict *dict;

    if (m->state.kind == TEXT)
        return heft_fail(m->r->err, HEFT_UNSUPPORTED, (uint64_t)(m->state.p - m->text.p),
                         "a tiktoken.core.Encoding pickled by its name, \"%.*s\", without ranks",
                         (int)heft_min_size(m->state.n, 60), (const char *)m->state.p);
    if (m->state.kind != DICT)
        return fail_pickle(m, "pickle: the state of the Encoding is not a dict");
    dict = &m->dicts[m->state.n];
    for (size_t i = 0; i < dict->n; i += 2)
        if (!take_member(m, e, &dict->items[i]))
            return false;
    return (e->pattern.p && e->pattern.n && e->ranks && e->specials) ||
           heft_vocab_fail(m->r, HEFT_NO_OFFSET,
                           "pickle: the Encoding lacks pat_str, mergeable_ranks or special_tokens");
}

/* Copies the bytes of all tokens: the file is not kept. */
static bool list_ranks(struct machine *m, const struct dict *ranks, struct heft_listing *list)
{
    uint8_t *to = NULL;
    size_t total = 0;

    for (size_t i = 0; i < ranks->n; i += 2) {
        const struct value *const key = &ranks->items[i];

        if (key->kind != BYTES || key->n == 0 || key->n > HEFT_LONGEST_RANKED ||
            key[1].kind != INTEGER)
            return heft_vocab_fail(m->r, HEFT_NO_OFFSET,
                                   "mergeable_ranks: expected 1 to 128 bytes and their rank");
        total += key->n;
        if (total > m->text.n) /* memoized bytes, again and again */
            return heft_vocab_fail(m->r, HEFT_NO_OFFSET, "mergeable_ranks: a token occurs twice");
    }
    to = heft_vocab_bytes(m->r, total);
    for (size_t i = 0; to && i < ranks->n; i += 2) {
        const struct value *const key = &ranks->items[i];
        const struct heft_listed item = {
            {memcpy(to, key->p, key->n), key->n}, (uint64_t)(key->p - m->text.p), key[1].n, false};

        to += key->n;
        if (!heft_vocab_add(m->r, list, &item))
            return false;
    }
    return to && (list->n > 0 || heft_vocab_fail(m->r, HEFT_NO_OFFSET, "mergeable_ranks is empty"));
}

static bool check_specials(struct machine *m, const struct dict *specials, size_t *room)
{
    for (size_t i = 0; i < specials->n; i += 2) {
        const struct value *const key = &specials->items[i];

        if (key->kind != TEXT || key->n == 0 || key->n > HEFT_LONGEST || key[1].kind != INTEGER)
            return heft_vocab_fail(m->r, HEFT_NO_OFFSET,
                                   "special_tokens: expected a text of 1 to 4096 bytes and its id");
        *room = key[1].n >= *room ? (size_t)key[1].n + 1 : *room;
    }
    return true;
}

/* Two special tokens may have the same id (o200k_harmony has such ones); it decodes to the first. */
static bool name_special(struct machine *m, const struct value *key, uint32_t n_ranks)
{
    struct heft_vocab *const v = m->r->v;
    const uint32_t id = key[1].n;
    struct heft_added_token token = {.id = id, .is_special = true};
    uint32_t found;

    token.text = (struct heft_str){heft_arena_text(&v->mem, text_of(key), m->r->err), key->n};
    if (!token.text.p || !heft_strmap_add(&m->r->added, token.text, id, &found, m->r->err))
        return false;
    if (found != HEFT_MAP_NONE)
        return heft_vocab_fail(m->r, (uint64_t)(key->p - m->text.p), "duplicate special token");
    if (!v->tokens[id].p)
        return heft_vocab_name_special(m->r, token.text, id);
    return id < n_ranks ? heft_fail(m->r->err, HEFT_MALFORMED, (uint64_t)(key->p - m->text.p),
                                    "id %" PRIu32 " belongs to another token already", id)
                        : heft_vocab_add_token(v, &token, m->r->err);
}

static bool name_specials(struct machine *m, const struct dict *specials)
{
    const uint32_t n_ranks = m->r->v->n_ids;

    for (size_t i = 0; i < specials->n; i += 2)
        if (!name_special(m, &specials->items[i], n_ranks))
            return false;
    return true;
}

static bool read_encoding(struct machine *m, struct heft_listing *list)
{
    struct heft_vocab_reading *const r = m->r;
    struct encoding e = {0};
    size_t room = 0;

    return run_pickle(m) && take_state(m, &e) && list_ranks(m, e.ranks, list) &&
           check_specials(m, e.specials, &room) && heft_vocab_place_ranks(r, list, room) &&
           name_specials(m, e.specials) &&
           heft_vocab_take_regex(r, "tokenizer.pkl", text_of(&e.pattern));
}

bool heft_vocab_read_pickle(struct heft_vocab_reading *r, struct heft_bytes text)
{
    struct machine m = {.r = r, .text = text};
    struct heft_listing list = {0};
    const bool ok = read_encoding(&m, &list);

    r->v->unicode = "16.0";
    if (ok)
        heft_vocab_ignore_stated(r);
    for (size_t i = 0; i < m.n_dicts; i++)
        heft_free(m.dicts[i].items);
    heft_free(m.stack);
    heft_free(m.memo);
    heft_free(list.items);
    return ok;
}
