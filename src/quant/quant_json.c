/* quant_json.c: a JSON text as a tree of nodes. Not recursive. */
#include "quant/quant.h"

#include "base/digits.h"
#include "base/map.h"
#include "wire/json.h"

struct building {
    struct heft_json json;
    struct heft_arena *mem;
    struct heft_quant_node *parent; /* the container that is being read */
    struct heft_quant_node *last;   /* its last item so far */
    struct heft_str key;
    uint64_t from; /* where the key begins */
    struct heft_error *err;
};

/* Integers with a sign. heft_json_u64 knows those without. */
static void read_number(const struct building *b, struct heft_quant_node *node)
{
    const struct heft_str text = node->text;
    const bool negative = text.n > 0 && text.p[0] == '-';
    uint64_t n = 0;

    if (text.n > (size_t)18 + negative || text.n == negative)
        return;
    for (size_t i = negative; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return;
        n = n * 10 + (uint64_t)(text.p[i] - '0'); /* at most 18 digits */
    }
    (void)b;
    node->integer = negative ? -(int64_t)n : (int64_t)n;
    node->is_integer = true;
}

static bool fill_value(struct building *b, struct heft_quant_node *node, enum heft_json_token token)
{
    switch (token) {
    case HEFT_JSON_OBJECT:
        node->kind = HEFT_QUANT_DICT;
        break;
    case HEFT_JSON_ARRAY:
        node->kind = HEFT_QUANT_LIST;
        break;
    case HEFT_JSON_STRING:
    case HEFT_JSON_NUMBER:
        node->kind = token == HEFT_JSON_STRING ? HEFT_QUANT_STRING : HEFT_QUANT_NUMBER;
        node->text = b->json.text;
        node->text.p = heft_arena_text(b->mem, b->json.text, b->err);
        if (!node->text.p)
            return false;
        if (node->kind == HEFT_QUANT_NUMBER)
            read_number(b, node);
        break;
    case HEFT_JSON_TRUE:
    case HEFT_JSON_FALSE:
        node->kind = HEFT_QUANT_BOOL;
        node->integer = token == HEFT_JSON_TRUE;
        break;
    default:
        node->kind = HEFT_QUANT_NULL;
        break;
    }
    return true;
}

/* Adds a value to its container; containers become the current one. */
static bool add_value(struct building *b, enum heft_json_token token)
{
    struct heft_quant_node *const node = heft_arena_zero(b->mem, 1, sizeof *node, b->err);

    if (!node)
        return false;
    node->where = b->json.where;
    node->key = b->key;
    node->from = b->key.p ? b->from : b->json.where;
    node->parent = b->parent;
    if (!fill_value(b, node, token))
        return false;
    node->to = b->json.base + b->json.at;
    if (b->last)
        b->last->next = node;
    else if (b->parent)
        b->parent->child = node;
    b->last = node;
    b->key = (struct heft_str){0};
    if (node->kind == HEFT_QUANT_DICT || node->kind == HEFT_QUANT_LIST) {
        b->parent = node;
        b->last = NULL;
    }
    return true;
}

static void close_container(struct building *b)
{
    struct heft_quant_node *const done = b->parent;

    done->to = b->json.base + b->json.at;
    b->last = done;
    b->parent = done->parent;
}

static bool take_key(struct building *b)
{
    b->from = b->json.where;
    b->key.n = b->json.text.n;
    b->key.p = heft_arena_text(b->mem, b->json.text, b->err);
    return b->key.p != NULL;
}

static bool take_token(struct building *b, enum heft_json_token token, unsigned depth)
{
    switch (token) {
    case HEFT_JSON_ERROR:
    case HEFT_JSON_END:
        return false;
    case HEFT_JSON_KEY:
        return take_key(b);
    case HEFT_JSON_OBJECT_END:
    case HEFT_JSON_ARRAY_END:
        close_container(b);
        return true;
    default:
        if (b->json.depth > depth)
            return heft_fail(b->err, HEFT_MALFORMED, b->json.where, "nested deeper than %u levels",
                             depth);
        return add_value(b, token);
    }
}

/* Refuses duplicate keys: the value that counts would depend on the reader. */
static bool check_keys(const struct heft_quant_node *dict, struct heft_error *err)
{
    struct heft_strmap seen = {0};
    bool ok = true;

    for (const struct heft_quant_node *m = dict->child; ok && m; m = m->next) {
        uint32_t other = HEFT_MAP_NONE;

        ok = heft_strmap_add(&seen, m->key, 0, &other, err);
        if (ok && other != HEFT_MAP_NONE)
            ok = heft_fail(err, HEFT_MALFORMED, m->from, "a second key \"%.100s\"", m->key.p);
    }
    heft_strmap_release(&seen);
    return ok;
}

/* The next node in the order of the text. */
static const struct heft_quant_node *step_node(const struct heft_quant_node *node)
{
    if (node->child)
        return node->child;
    while (node && !node->next)
        node = node->parent;
    return node ? node->next : NULL;
}

const struct heft_quant_node *heft_quant_parse(struct heft_bytes text, unsigned depth,
                                               struct heft_arena *mem, struct heft_error *err)
{
    struct building b = {.mem = mem, .err = err};
    enum heft_json_token token;
    const struct heft_quant_node *root;

    heft_json_begin(&b.json, text, 0, mem, err);
    do {
        token = heft_json_next(&b.json);
        if (!take_token(&b, token, depth))
            break;
    } while (true);
    root = b.last;
    if (token != HEFT_JSON_END || !root)
        return NULL;
    for (const struct heft_quant_node *n = root; n; n = step_node(n))
        if (n->kind == HEFT_QUANT_DICT && !check_keys(n, err))
            return NULL;
    return root;
}

const struct heft_quant_node *heft_quant_get(const struct heft_quant_node *node, const char *key)
{
    if (!node || node->kind != HEFT_QUANT_DICT)
        return NULL;
    for (const struct heft_quant_node *m = node->child; m; m = m->next)
        if (heft_str_is(m->key, key))
            return m;
    return NULL;
}

bool heft_quant_is(const struct heft_quant_node *node, const char *text)
{
    return node && node->kind == HEFT_QUANT_STRING && heft_str_is(node->text, text);
}

struct heft_str heft_quant_text(const struct heft_quant_node *node)
{
    return node && node->kind == HEFT_QUANT_STRING ? node->text : (struct heft_str){0};
}
