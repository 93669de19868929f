/* torch_trace_value.c: values of a pickle as text of limited length, in Python's notation except
 * for tensors, storages and long values.
 *
 *    "tok_embeddings.weight"   'Python 2'   b"\xff"   0x1950a86a20f9469cfc6c   torch.FloatStorage
 *    (4096, 1)   [1, 2, … 98 more]   {"epoch": 3}   OrderedDict()   Namespace(){"lr": 0.1}
 *    storage "0"   tensor BF16 (32000, 4096)   list of 1000000   m7 (see the memo) */
#include <stdlib.h>

#include "base/text.h"
#include "format/torch/trace/torch_trace.h"

enum {
    MOST_DEPTH = 4,   /* most nested containers: the recursion ends here */
    MOST_ITEMS = 8,   /* items per container */
    MOST_VALUE = 220, /* approximate bytes: no further item is begun after them */
    MOST_SHAPE = 60,  /* extra bytes to complete a shape */
    MOST_TEXT = 60,   /* bytes of a string that are shown */
    MOST_NAME = 120,  /* bytes of a global's name */
    FLOAT_WORK = 16   /* a float costs as much as this many items */
};

/* ---- text buffer ------------------------------------------------------------------------- */

void heft_trace_put(struct heft_trace_text *text, const void *p, size_t n)
{
    if (n > sizeof text->p - 1 - text->n)
        return;
    memcpy(text->p + text->n, p, n);
    text->n += n;
}

const char *heft_trace_end(struct heft_trace_text *text)
{
    text->p[text->n] = '\0';
    return text->p;
}

void heft_trace_u64(struct heft_trace_text *text, uint64_t number)
{
    char digits[20];
    size_t at = sizeof digits;

    do
        digits[--at] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    heft_trace_put(text, digits + at, sizeof digits - at);
}

void heft_trace_count(struct heft_trace_text *text, uint64_t number, const char *what)
{
    heft_trace_u64(text, number);
    heft_trace_word(text, " ");
    heft_trace_word(text, what);
    if (number != 1)
        heft_trace_word(text, "s");
}

static void put_i64(struct heft_trace_text *text, int64_t number)
{
    if (number < 0)
        heft_trace_word(text, "-");
    heft_trace_u64(text, number < 0 ? ~(uint64_t)number + 1 : (uint64_t)number);
}

static void put_hex(struct heft_trace_text *text, uint8_t byte)
{
    static const char digits[] = "0123456789abcdef";

    heft_trace_put(text, &digits[byte >> 4], 1);
    heft_trace_put(text, &digits[byte & 15], 1);
}

/* Length of the leading printable ASCII without quotes and backslashes. */
static size_t plain_run(const char *p, size_t n, char quote)
{
    size_t i = 0;

    while (i < n && p[i] >= 0x20 && p[i] < 0x7F && p[i] != quote && p[i] != '\\')
        i++;
    return i;
}

size_t heft_trace_escaped(struct heft_trace_text *text, struct heft_str s, size_t most, char quote)
{
    size_t left = s.n < most ? s.n : most, escapes = 0;

    while (left) {
        size_t used = plain_run(s.p, left, quote), n = used;
        char shown[HEFT_ESCAPE_MAX + 1] = "\\";
        const char *from = s.p;

        if (used == 0) {
            const bool is_special = *s.p == '\\' || (quote && *s.p == quote);

            used = heft_escape_char(s, shown + 1, &n);
            from = is_special ? shown : shown + 1;
            n += is_special;
            escapes++;
        }
        heft_trace_put(text, from, n);
        s = (struct heft_str){s.p + used, s.n - used};
        left -= used < left ? used : left;
    }
    return escapes;
}

/* Formats like Python's repr. */
void heft_trace_float(struct heft_trace_text *text, double number)
{
    char digits[HEFT_DOUBLE_MAX];

    if (number != number || number - number != 0) {
        heft_trace_word(text, number != number ? "nan" : number < 0 ? "-inf" : "inf");
        return;
    }
    heft_trace_put(text, digits, heft_double_text(number, digits));
    if (!strpbrk(digits, ".e"))
        heft_trace_word(text, ".0");
}

/* ---- scalars and strings ----------------------------------------------------------------- */

static void put_length(struct heft_trace_text *text, size_t n)
{
    heft_trace_word(text, " (");
    heft_trace_count(text, n, "byte");
    heft_trace_word(text, ")");
}

static void spend_work(struct heft_tracer *tr, uint64_t work)
{
    tr->work -= heft_min_u64(tr->work, work);
}

static void put_string(struct heft_tracer *tr, struct heft_trace_text *text, struct heft_str s,
                       char quote)
{
    const size_t shown = s.n < MOST_TEXT ? s.n : MOST_TEXT;

    if (tr->work == 0 && plain_run(s.p, shown, quote) < shown) {
        heft_trace_word(text, "a text");
        put_length(text, s.n);
        return;
    }
    heft_trace_put(text, &quote, 1);
    spend_work(tr, heft_trace_escaped(text, s, MOST_TEXT, quote));
    if (s.n > MOST_TEXT)
        heft_trace_word(text, "…");
    heft_trace_put(text, &quote, 1);
    if (s.n > MOST_TEXT)
        put_length(text, s.n);
}

static void put_bytes(struct heft_trace_text *text, struct heft_str s)
{
    const size_t most = s.n < MOST_TEXT / 4 ? s.n : MOST_TEXT / 4;

    heft_trace_word(text, "b\"");
    for (size_t i = 0; i < most; i++) {
        if (plain_run(s.p + i, 1, '"')) {
            heft_trace_put(text, s.p + i, 1);
        } else {
            heft_trace_word(text, "\\x");
            put_hex(text, (uint8_t)s.p[i]);
        }
    }
    heft_trace_word(text, most < s.n ? "…\"" : "\"");
    if (most < s.n)
        put_length(text, s.n);
}

/* Formats a little-endian two's complement number in hexadecimal; of a long one only the highest
 * bytes. */
static void put_bigint(struct heft_trace_text *text, struct heft_str s)
{
    const size_t most = s.n < MOST_TEXT / 2 ? s.n : MOST_TEXT / 2;
    const bool is_negative = s.n && (uint8_t)s.p[s.n - 1] & 0x80;
    uint8_t shown[MOST_TEXT / 2];
    unsigned carry = is_negative;

    for (size_t i = 0; i < s.n - most && carry; i++)
        carry = s.p[i] == 0; /* carry of adding 1 to the inverted number: continues through zeros */
    for (size_t i = 0; i < most; i++) {
        const uint8_t byte = (uint8_t)s.p[s.n - most + i];

        carry += is_negative ? (uint8_t)~byte : byte;
        shown[i] = (uint8_t)carry;
        carry >>= 8;
    }
    heft_trace_word(text, is_negative ? "-0x" : "0x");
    for (size_t i = most; i > 0; i--)
        put_hex(text, shown[i - 1]);
    if (most < s.n) {
        heft_trace_word(text, "…");
        put_length(text, s.n);
    }
}

static void put_global(const struct heft_pickle *p, struct heft_trace_text *text, uint32_t node)
{
    heft_trace_escaped(text, heft_pickle_text(p, heft_pickle_at(p, node)->module), MOST_NAME, 0);
    heft_trace_word(text, ".");
    heft_trace_escaped(text, heft_pickle_text(p, node), MOST_NAME, 0);
}

static void put_float(struct heft_tracer *tr, struct heft_trace_text *text, double number)
{
    if (tr->work == 0) {
        heft_trace_word(text, "a float");
        return;
    }
    spend_work(tr, FLOAT_WORK);
    heft_trace_float(text, number);
}

static void put_leaf(struct heft_tracer *tr, struct heft_trace_text *text, uint32_t number)
{
    const struct heft_pickle *p = tr->step->pickle;
    const struct heft_pickle_node *node = heft_pickle_at(p, number);

    switch (node->kind) {
    case HEFT_PICKLE_BOOL:
        heft_trace_word(text, node->u.integer ? "True" : "False");
        break;
    case HEFT_PICKLE_INT:
        put_i64(text, node->u.integer);
        break;
    case HEFT_PICKLE_BIGINT:
        put_bigint(text, heft_pickle_text(p, number));
        break;
    case HEFT_PICKLE_FLOAT:
        put_float(tr, text, node->u.number);
        break;
    case HEFT_PICKLE_STR:
        put_string(tr, text, heft_pickle_text(p, number), '"');
        break;
    case HEFT_PICKLE_PY2STR:
        put_string(tr, text, heft_pickle_text(p, number), '\'');
        break;
    case HEFT_PICKLE_BYTES:
    case HEFT_PICKLE_BYTEARRAY:
        if (node->kind == HEFT_PICKLE_BYTEARRAY)
            heft_trace_word(text, "bytearray ");
        put_bytes(text, heft_pickle_text(p, number));
        break;
    case HEFT_PICKLE_GLOBAL:
        put_global(p, text, number);
        break;
    default:
        heft_trace_word(text, "None");
    }
}

/* ---- tensors, storages and globals of torch ---------------------------------------------- */

const struct heft_torch_global *heft_trace_global(struct heft_tracer *tr, uint32_t node)
{
    const struct heft_pickle *p = tr->step->pickle;
    struct heft_trace_known *slot = &tr->known[node % HEFT_TRACE_KNOWN];

    if (heft_pickle_at(p, node)->kind != HEFT_PICKLE_GLOBAL)
        return NULL;
    if (!slot->is_set || slot->node != node) {
        const uint32_t module = heft_pickle_at(p, node)->module;

        *slot = (struct heft_trace_known){
            node, true, heft_torch_lookup(heft_pickle_text(p, module), heft_pickle_text(p, node))};
    }
    return slot->known;
}

static enum heft_torch_kind kind_of(struct heft_tracer *tr, uint32_t node)
{
    const struct heft_torch_global *known = heft_trace_global(tr, node);

    return known ? (enum heft_torch_kind)known->kind : HEFT_TORCH_UNKNOWN;
}

static bool is_tuple(const struct heft_pickle *p, uint32_t node)
{
    return node != HEFT_PICKLE_NIL && heft_pickle_at(p, node)->kind == HEFT_PICKLE_TUPLE;
}

/* The dtype of a storage class, or of a plain torch.float32. */
static const char *dtype_name(struct heft_tracer *tr, uint32_t node)
{
    const struct heft_torch_global *known =
        node == HEFT_PICKLE_NIL ? NULL : heft_trace_global(tr, node);

    if (!known || (known->kind != HEFT_TORCH_STORAGE && known->kind != HEFT_TORCH_DTYPE))
        return NULL;
    return known->dtype == HEFT_DTYPE_COUNT ? known->name
                                            : heft_dtype_name((enum heft_dtype)known->dtype);
}

static void put_nested(struct heft_tracer *tr, struct heft_trace_text *text, uint32_t node,
                       unsigned depth, size_t end);
static void put_container(struct heft_tracer *tr, struct heft_trace_text *text, uint32_t node,
                          unsigned depth, size_t end);

/* Formats a _rebuild_tensor… call as "tensor BF16 (32000, 4096)"; false for other calls. */
static bool put_tensor(struct heft_tracer *tr, struct heft_trace_text *text, uint32_t call,
                       unsigned depth, size_t end)
{
    const struct heft_pickle *p = tr->step->pickle;
    const struct heft_pickle_node *node = heft_pickle_at(p, call);
    const enum heft_torch_kind kind = kind_of(tr, node->u.call.callee);
    const uint32_t storage = heft_pickle_item(p, node->u.call.args, 0);
    const uint32_t size = heft_pickle_item(p, node->u.call.args, 2);
    uint32_t type = HEFT_PICKLE_NIL;
    const char *dtype;

    if (kind != HEFT_TORCH_REBUILD && kind != HEFT_TORCH_REBUILD_V2 &&
        kind != HEFT_TORCH_REBUILD_V3)
        return false;
    if (kind == HEFT_TORCH_REBUILD_V3)
        type = heft_pickle_item(p, node->u.call.args, 6);
    else if (storage != HEFT_PICKLE_NIL && heft_pickle_at(p, storage)->kind == HEFT_PICKLE_PERSID &&
             is_tuple(p, heft_pickle_at(p, storage)->u.call.args))
        type = heft_pickle_item(p, heft_pickle_at(p, storage)->u.call.args, 1);
    dtype = dtype_name(tr, type);
    if (size == HEFT_PICKLE_NIL)
        return false;
    heft_trace_word(text, "tensor ");
    if (dtype) {
        heft_trace_word(text, dtype);
        heft_trace_word(text, " ");
    }
    if (is_tuple(p, size))
        put_container(tr, text, size, depth + 1, end + MOST_SHAPE);
    else
        put_nested(tr, text, size, depth + 1, end);
    return true;
}

/* Formats ("storage", class, key, …) as storage "0". */
static void put_persid(struct heft_tracer *tr, struct heft_trace_text *text, uint32_t node,
                       unsigned depth, size_t end)
{
    const struct heft_pickle *p = tr->step->pickle;
    const uint32_t id = heft_pickle_at(p, node)->u.call.args;
    const uint32_t word = is_tuple(p, id) ? heft_pickle_item(p, id, 0) : HEFT_PICKLE_NIL;
    const uint32_t key = word == HEFT_PICKLE_NIL ? word : heft_pickle_item(p, id, 2);

    if (key != HEFT_PICKLE_NIL && heft_pickle_at(p, word)->kind <= HEFT_PICKLE_BYTES &&
        heft_pickle_at(p, word)->kind >= HEFT_PICKLE_STR &&
        heft_str_is(heft_pickle_text(p, word), "storage")) {
        heft_trace_word(text, "storage ");
        put_nested(tr, text, key, depth + 1, end);
        return;
    }
    heft_trace_word(text, "persistent object ");
    put_nested(tr, text, id, depth + 1, end);
}

/* ---- containers -------------------------------------------------------------------------- */

static const struct {
    const char *name, *open, *close;
} KINDS[] = {
    [HEFT_PICKLE_TUPLE] = {"tuple", "(", ")"},
    [HEFT_PICKLE_LIST] = {"list", "[", "]"},
    [HEFT_PICKLE_DICT] = {"dict", "{", "}"},
    [HEFT_PICKLE_SET] = {"set", "set{", "}"},
    [HEFT_PICKLE_FROZENSET] = {"frozenset", "frozenset{", "}"},
};

static void put_size(const struct heft_pickle *p, struct heft_trace_text *text, uint32_t number)
{
    const uint8_t kind = heft_pickle_at(p, number)->kind;
    const uint32_t count = heft_pickle_count(p, number);

    heft_trace_word(text, KINDS[kind].name);
    heft_trace_word(text, " of ");
    heft_trace_u64(text, kind == HEFT_PICKLE_DICT ? count / 2 : count);
}

static void put_more(struct heft_trace_text *text, uint32_t left)
{
    heft_trace_word(text, "… ");
    heft_trace_u64(text, left);
    heft_trace_word(text, " more");
}

/* Formats the first items, separated by commas, or by colons between key and value. */
static void put_items(struct heft_tracer *tr, struct heft_trace_text *text, uint32_t number,
                      bool pairs, unsigned depth, size_t end)
{
    const struct heft_pickle *p = tr->step->pickle;
    const uint32_t count = heft_pickle_count(p, number), each = pairs ? 2 : 1;
    struct heft_pickle_iter iter = heft_pickle_items(p, number);
    uint32_t item;

    for (uint32_t i = 0; heft_pickle_next(&iter, &item); i++) {
        if (i)
            heft_trace_word(text, i % each ? ": " : ", ");
        if (i % each == 0 && (i / each == MOST_ITEMS || text->n >= end || tr->work == 0)) {
            put_more(text, (count - i) / each);
            return;
        }
        put_nested(tr, text, item, depth + 1, end);
    }
}

static void put_container(struct heft_tracer *tr, struct heft_trace_text *text, uint32_t number,
                          unsigned depth, size_t end)
{
    const struct heft_pickle *p = tr->step->pickle;
    const uint8_t kind = heft_pickle_at(p, number)->kind;

    heft_trace_word(text, KINDS[kind].open);
    put_items(tr, text, number, kind == HEFT_PICKLE_DICT, depth, end);
    if (kind == HEFT_PICKLE_TUPLE && heft_pickle_count(p, number) == 1)
        heft_trace_word(text, ",");
    heft_trace_word(text, KINDS[kind].close);
}

/* Formats class, arguments, items: Namespace(1, 2){"lr": 0.1}. */
static void put_call(struct heft_tracer *tr, struct heft_trace_text *text, uint32_t number,
                     unsigned depth, size_t end)
{
    const struct heft_pickle *p = tr->step->pickle;
    const struct heft_pickle_node *node = heft_pickle_at(p, number);

    if (heft_pickle_at(p, node->u.call.callee)->kind == HEFT_PICKLE_GLOBAL)
        heft_trace_escaped(text, heft_pickle_text(p, node->u.call.callee), MOST_NAME, 0);
    else
        heft_trace_word(text, "object");
    heft_trace_word(text, "(");
    put_items(tr, text, node->u.call.args, false, depth, end);
    heft_trace_word(text, ")");
    if (node->first != HEFT_PICKLE_NIL) {
        heft_trace_word(text, node->pairs ? "{" : "[");
        put_items(tr, text, number, node->pairs, depth, end);
        heft_trace_word(text, node->pairs ? "}" : "]");
    }
}

/* Formats a value within another; if a state is shown, memoised ones by index. */
static bool put_reference(const struct heft_tracer *tr, struct heft_trace_text *text, uint32_t node)
{
    const uint32_t index = tr->by_place ? heft_trace_memo_of(tr, node) : HEFT_MAP_NONE;

    if (index == HEFT_MAP_NONE)
        return false;
    heft_trace_word(text, "m");
    heft_trace_u64(text, index);
    return true;
}

/* Recursive up to MOST_DEPTH. */
static void put_nested(struct heft_tracer *tr, struct heft_trace_text *text, uint32_t number,
                       unsigned depth, size_t end)
{
    const struct heft_pickle *p = tr->step->pickle;
    const struct heft_pickle_node *node = heft_pickle_at(p, number);
    const bool is_list = node->kind >= HEFT_PICKLE_TUPLE && node->kind <= HEFT_PICKLE_FROZENSET;
    const bool is_filled = node->first != HEFT_PICKLE_NIL;

    if (depth)
        spend_work(tr, 1);
    if (is_list && is_filled && (depth >= MOST_DEPTH || tr->work == 0)) {
        put_size(p, text, number);
    } else if (depth && (is_list || node->kind == HEFT_PICKLE_CALL) && is_filled &&
               put_reference(tr, text, number)) {
        return;
    } else if (is_list) {
        put_container(tr, text, number, depth, end);
    } else if (node->kind == HEFT_PICKLE_CALL && (depth >= MOST_DEPTH || tr->work == 0)) {
        heft_trace_word(text, "an object");
    } else if (node->kind == HEFT_PICKLE_CALL) {
        if (!put_tensor(tr, text, number, depth, end))
            put_call(tr, text, number, depth, end);
    } else if (node->kind == HEFT_PICKLE_PERSID && depth < MOST_DEPTH) {
        put_persid(tr, text, number, depth, end);
    } else if (node->kind == HEFT_PICKLE_PERSID) {
        heft_trace_word(text, "a persistent object");
    } else {
        put_leaf(tr, text, number);
    }
}

void heft_trace_value(struct heft_tracer *tr, struct heft_trace_text *text, uint32_t node)
{
    put_nested(tr, text, node, 0, text->n + MOST_VALUE);
}

void heft_trace_brief(struct heft_tracer *tr, struct heft_trace_text *text, uint32_t node)
{
    const struct heft_pickle *p = tr->step->pickle;
    const struct heft_pickle_node *n = heft_pickle_at(p, node);
    const uint32_t count = heft_pickle_count(p, node);

    if (n->kind >= HEFT_PICKLE_TUPLE && n->kind <= HEFT_PICKLE_FROZENSET && count)
        put_size(p, text, node);
    else if (n->kind == HEFT_PICKLE_CALL && count) {
        heft_trace_escaped(text,
                           heft_pickle_at(p, n->u.call.callee)->kind == HEFT_PICKLE_GLOBAL
                               ? heft_pickle_text(p, n->u.call.callee)
                               : HEFT_STR("object"),
                           MOST_NAME, 0);
        heft_trace_word(text, " of ");
        heft_trace_u64(text, n->pairs ? count / 2 : count);
    } else
        heft_trace_value(tr, text, node);
}

uint32_t heft_trace_memo_of(const struct heft_tracer *tr, uint32_t node)
{
    const uint32_t index = heft_u32map_get(&tr->by_node, node);

    if (index == HEFT_MAP_NONE || heft_pickle_memo_at(tr->step, index) != node)
        return HEFT_MAP_NONE; /* the entry was reused for another value */
    return index;
}
