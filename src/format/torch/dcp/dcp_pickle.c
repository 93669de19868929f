/* dcp_pickle.c: pickles of values that are not tensors. A dictionary is never part of one: its keys are
 * texts in the tree of values, whatever they were. */
#include "format/torch/dcp/dcp_values.h"
#include "format/torch/write/torch_pickler.h"

enum { MOST_DEPTH = 64, MOST_LONG = 255 };

/* ---- what can be pickled ----------------------------------------------------------------------- */

static bool is_sequence(const struct heft_value *value)
{
    return value->kind == HEFT_VALUE_LIST || value->kind == HEFT_VALUE_TUPLE ||
           value->kind == HEFT_VALUE_SET;
}

/* "0x" and digits, behind a minus if negative, of a number that LONG1 can hold. */
static bool is_long(const struct heft_value *value)
{
    return value->text_len > 3 && value->text_len < (size_t)2 * MOST_LONG &&
           (strncmp(value->text, "0x", 2) == 0 || strncmp(value->text, "-0x", 3) == 0);
}

static bool can_pickle_one(const struct heft_value *value)
{
    switch (value->kind) {
    case HEFT_VALUE_NULL:
    case HEFT_VALUE_BOOL:
    case HEFT_VALUE_INT:
    case HEFT_VALUE_FLOAT:
        return !value->type_name;
    case HEFT_VALUE_STRING:
    case HEFT_VALUE_BYTES:
        return !value->type_name && value->text_len <= INT32_MAX;
    case HEFT_VALUE_BIGINT:
        return !value->type_name && is_long(value);
    case HEFT_VALUE_LIST:
    case HEFT_VALUE_TUPLE:
    case HEFT_VALUE_SET:
        return !value->type_name && !value->more;
    default:
        return false;
    }
}

bool heft_dcp_can_pickle(const struct heft_value *value)
{
    const struct heft_value *next[MOST_DEPTH];
    unsigned depth = 0;

    if (!can_pickle_one(value))
        return false;
    next[depth++] = is_sequence(value) ? value->first_child : NULL;
    while (depth > 0) {
        const struct heft_value *const v = next[depth - 1];

        if (!v) {
            depth--;
            continue;
        }
        next[depth - 1] = v->next_sibling;
        if (!can_pickle_one(v) || (is_sequence(v) && depth == MOST_DEPTH))
            return false;
        if (is_sequence(v))
            next[depth++] = v->first_child;
    }
    return true;
}

/* ---- single values ----------------------------------------------------------------------------- */

static unsigned digit_of(char c)
{
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a' + 10);
}

/* Writes a long integer as the shortest two's complement. */
static void put_long(struct heft_pickler *p, const struct heft_value *value)
{
    const bool is_negative = value->text[0] == '-';
    const size_t digits = value->text_len - (is_negative ? 3 : 2);
    uint8_t bytes[MOST_LONG + 1] = {0};
    unsigned carry = 1;
    size_t n = digits / 2 + 1;

    for (size_t i = 0; i < digits; i++)
        bytes[i / 2] |= (uint8_t)(digit_of(value->text[value->text_len - 1 - i]) << i % 2 * 4);
    for (size_t i = 0; is_negative && i < n; i++) {
        carry += (uint8_t)~bytes[i];
        bytes[i] = (uint8_t)(carry & 0xff);
        carry >>= 8;
    }
    while (n > 1 && bytes[n - 1] == (bytes[n - 2] & 0x80 ? 0xff : 0))
        n--;
    heft_pickler_op(p, (char)0x8a);
    heft_pickler_op(p, (char)n);
    heft_buf_put(&p->buf, bytes, n);
}

/* _codecs.encode(text, "latin1"), as protocol 2 has no bytes. */
static void put_bytes(struct heft_pickler *p, const struct heft_value *value)
{
    uint32_t encode = HEFT_NO_MEMO;
    size_t high = 0;

    if (value->text_len == 0) {
        heft_pickler_global(p, "__builtin__", "bytes", &encode);
        heft_buf_text(&p->buf, ")R");
        (void)heft_pickler_keep(p);
        return;
    }
    for (size_t i = 0; i < value->text_len; i++)
        high += (uint8_t)value->text[i] >> 7;
    heft_pickler_global(p, "_codecs", "encode", &encode);
    heft_pickler_op(p, 'X');
    heft_pickler_le32(p, (uint32_t)(value->text_len + high));
    for (size_t i = 0; i < value->text_len; i++) {
        const uint8_t c = (uint8_t)value->text[i];

        if (c >= 0x80)
            heft_pickler_op(p, (char)(0xc0 | c >> 6));
        heft_pickler_op(p, (char)(c >= 0x80 ? 0x80 | (c & 0x3f) : c));
    }
    (void)heft_pickler_keep(p);
    heft_pickler_text(p, HEFT_STR("latin1"));
    heft_pickler_op(p, (char)0x86);
    (void)heft_pickler_keep(p);
    heft_pickler_op(p, 'R');
    (void)heft_pickler_keep(p);
}

static void put_leaf(struct heft_pickler *p, const struct heft_value *value)
{
    switch (value->kind) {
    case HEFT_VALUE_BIGINT:
        put_long(p, value);
        break;
    case HEFT_VALUE_STRING:
        heft_pickler_text(p, (struct heft_str){value->text, value->text_len});
        break;
    case HEFT_VALUE_BYTES:
        put_bytes(p, value);
        break;
    default:
        heft_pickler_scalar(p, value);
        break;
    }
}

/* ---- sequences --------------------------------------------------------------------------------- */

struct level {
    const struct heft_value *of, *next;
    size_t i, n; /* position of the next item, and number of items */
};

static size_t count_children(const struct heft_value *value)
{
    size_t n = 0;

    for (const struct heft_value *v = value->first_child; v; v = v->next_sibling)
        n++;
    return n;
}

static struct level begin_level(struct heft_pickler *p, const struct heft_value *value)
{
    const struct level level = {value, value->first_child, 0, count_children(value)};
    uint32_t set = HEFT_NO_MEMO;

    if (value->kind == HEFT_VALUE_SET)
        heft_pickler_global(p, "__builtin__", "set", &set);
    if (value->kind == HEFT_VALUE_TUPLE) {
        if (level.n > 3)
            heft_pickler_op(p, '(');
    } else {
        heft_pickler_op(p, ']');
        (void)heft_pickler_keep(p);
    }
    return level;
}

static void end_level(struct heft_pickler *p, const struct level *level)
{
    if (level->of->kind == HEFT_VALUE_TUPLE) {
        heft_pickler_op(p, level->n > 3 ? 't' : level->n ? (int)(0x84 + level->n) : ')');
        if (level->n)
            (void)heft_pickler_keep(p);
    } else if (level->of->kind == HEFT_VALUE_SET) {
        heft_pickler_op(p, (char)0x85);
        (void)heft_pickler_keep(p);
        heft_pickler_op(p, 'R');
        (void)heft_pickler_keep(p);
    }
}

static void put_value(struct heft_pickler *p, const struct heft_value *value)
{
    struct level levels[MOST_DEPTH];
    unsigned depth = 0;

    if (!is_sequence(value)) {
        put_leaf(p, value);
        return;
    }
    levels[depth++] = begin_level(p, value);
    while (depth > 0) {
        struct level *const l = &levels[depth - 1];
        const struct heft_value *const v = l->next;
        const bool batched = l->of->kind != HEFT_VALUE_TUPLE;

        if (batched && l->i > 0)
            heft_pickler_after_item(p, l->i - 1, l->n, HEFT_BATCH_LIST);
        if (!v) {
            end_level(p, l);
            depth--;
            continue;
        }
        if (batched)
            heft_pickler_before_item(p, l->i, l->n, HEFT_BATCH_LIST);
        l->i++;
        l->next = v->next_sibling;
        if (is_sequence(v))
            levels[depth++] = begin_level(p, v);
        else
            put_leaf(p, v);
    }
}

bool heft_dcp_pickle(const struct heft_value *value, struct heft_arena *mem, struct heft_str *out,
                     struct heft_error *err)
{
    const struct heft_torch_out none = {.scratch = {.budget = mem->budget}};
    struct heft_pickler p;
    bool ok = heft_pickler_init(&p, &none, HEFT_TORCH_ZIP, err);

    if (ok) {
        p.buf.budget = mem->budget;
        heft_buf_put(&p.buf, "\x80\x02", 2);
        put_value(&p, value);
        heft_pickler_op(&p, '.');
        ok = heft_buf_take(&p.buf, mem, out, err);
    }
    heft_pickler_release(&p);
    return ok;
}
