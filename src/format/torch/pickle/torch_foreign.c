/* torch_foreign.c: objects of Python's standard library that have a text form.
 *
 *     datetime.datetime (b"\x07\xe8\x01\x02\x03\x04\x05\0\0\6")   "2024-01-02T03:04:05.000006"
 *     datetime.date     (b"\x07\xe8\x01\x02")                     "2024-01-02"
 *     datetime.time     (b"\3\4\5\0\0\6")                         "03:04:05.000006"
 *     decimal.Decimal   ("1.50")                                  "1.50"
 *     fractions.Fraction ("1/3") or (1, 3)                        "1/3"
 *     uuid.UUID         BUILD {"int": 5}                          "00000000-0000-…-000000000005"
 *     builtins.getattr  (class, "NAME")                           the name module.class.NAME
 *
 * Python 3.11 writes enumeration members in the last form; nothing is looked up. With other arguments
 * (a time zone, those of a subclass) they stay opaque objects. */
#include "base/text.h"
#include "format/torch/pickle/torch_parts.h"

#define MOST_TEXT 48 /* bytes of a date, a fraction or a UUID */

/* ---- dates ------------------------------------------------------------------------------- */

/* Year (two bytes), month, day; the highest bit of the month is internal to Python. */
static void put_date(struct heft_buf *buf, const uint8_t *p)
{
    heft_buf_printf(buf, "%04d-%02d-%02d", p[0] << 8 | p[1], p[2] & 0x7F, p[3]);
}

/* Hour, minute, second, microsecond (three bytes). */
static void put_time(struct heft_buf *buf, const uint8_t *p)
{
    const unsigned micro = (unsigned)p[3] << 16 | (unsigned)p[4] << 8 | p[5];

    heft_buf_printf(buf, "%02d:%02d:%02d", p[0] & 0x7F, p[1], p[2]);
    if (micro)
        heft_buf_printf(buf, ".%06u", micro);
}

static bool date_leaf(struct heft_torch *t, uint32_t args, struct heft_value *out, bool *is_leaf,
                      struct heft_error *err)
{
    struct heft_torch_bytes bytes;
    struct heft_buf buf = {0};
    bool found;

    if (heft_torch_count(t, args) != 1)
        return true;
    if (!heft_torch_bytes_of(t, heft_torch_item(t, args, 0), &found, &bytes, err))
        return false;
    if (!found || (bytes.bytes.n != 4 && bytes.bytes.n != 6 && bytes.bytes.n != 10) ||
        !heft_torch_may_make(t, MOST_TEXT))
        return true;
    if (bytes.bytes.n != 6)
        put_date(&buf, bytes.bytes.p);
    if (bytes.bytes.n == 10)
        heft_buf_char(&buf, 'T');
    if (bytes.bytes.n != 4)
        put_time(&buf, bytes.bytes.p + bytes.bytes.n - 6);
    *is_leaf = true;
    return heft_torch_take_text(t, &buf, out, HEFT_VALUE_STRING, err);
}

/* ---- numbers ----------------------------------------------------------------------------- */

static bool number_leaf(struct heft_torch *t, uint32_t args, struct heft_value *out, bool *is_leaf,
                        struct heft_error *err)
{
    const uint32_t first = heft_torch_item(t, args, 0), second = heft_torch_item(t, args, 1);
    struct heft_buf buf = {0};

    if (heft_torch_count(t, args) == 1 && heft_torch_is_text(t, first)) {
        *is_leaf = true;
        return heft_torch_text_leaf(t, first, out, err);
    }
    if (heft_torch_count(t, args) != 2 || !heft_torch_is(t, first, HEFT_PICKLE_INT) ||
        !heft_torch_is(t, second, HEFT_PICKLE_INT) || !heft_torch_may_make(t, MOST_TEXT))
        return true;
    heft_buf_printf(&buf, "%" PRId64 "/%" PRId64, heft_torch_node(t, first)->u.integer,
                    heft_torch_node(t, second)->u.integer);
    *is_leaf = true;
    return heft_torch_take_text(t, &buf, out, HEFT_VALUE_STRING, err);
}

/* The 128 bits of a non-negative integer, least significant byte first. False for anything else. */
static bool read_128(const struct heft_torch *t, uint32_t node, uint8_t *bits)
{
    struct heft_str number;

    memset(bits, 0, 16);
    if (heft_torch_is(t, node, HEFT_PICKLE_INT)) {
        const int64_t integer = heft_torch_node(t, node)->u.integer;

        for (unsigned i = 0; i < 8; i++)
            bits[i] = (uint8_t)((uint64_t)integer >> 8 * i);
        return integer >= 0;
    }
    if (!heft_torch_is(t, node, HEFT_PICKLE_BIGINT))
        return false;
    number = heft_pickle_text(&t->pickle, node);
    if (number.n == 0 || number.n > 17 || (uint8_t)number.p[number.n - 1] & 0x80 ||
        (number.n == 17 && number.p[16]))
        return false;
    memcpy(bits, number.p, heft_min_size(number.n, 16));
    return true;
}

static bool uuid_leaf(struct heft_torch *t, uint32_t state, struct heft_value *out, bool *is_leaf,
                      struct heft_error *err)
{
    struct heft_buf buf = {0};
    uint8_t bits[16];

    if (!heft_torch_is(t, state, HEFT_PICKLE_DICT) || heft_torch_count(t, state) != 2 ||
        !heft_torch_is_word(t, heft_torch_item(t, state, 0), HEFT_STR("int")) ||
        !read_128(t, heft_torch_item(t, state, 1), bits) || !heft_torch_may_make(t, MOST_TEXT))
        return true;
    for (unsigned i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            heft_buf_char(&buf, '-');
        heft_buf_printf(&buf, "%02x", bits[15 - i]);
    }
    *is_leaf = true;
    return heft_torch_take_text(t, &buf, out, HEFT_VALUE_STRING, err);
}

/* ---- members of enumerations ------------------------------------------------------------- */

static bool member_leaf(struct heft_torch *t, uint32_t args, struct heft_value *out, bool *is_leaf,
                        struct heft_error *err)
{
    const uint32_t class = heft_torch_item(t, args, 0), name = heft_torch_item(t, args, 1);
    const char *type;
    struct heft_str text;

    if (heft_torch_count(t, args) != 2 || !heft_torch_is(t, class, HEFT_PICKLE_GLOBAL) ||
        !heft_torch_is(t, name, HEFT_PICKLE_STR))
        return true;
    type = heft_torch_type_name(t, class, err);
    text = heft_pickle_text(&t->pickle, name);
    if (!type || text.n > 255)
        return type != NULL;
    if (heft_utf8_check((struct heft_bytes){(const uint8_t *)text.p, text.n}) < text.n ||
        !heft_torch_may_make(t, strlen(type) + text.n + 2))
        return true;
    out->kind = HEFT_VALUE_GLOBAL;
    out->type_name = heft_arena_printf(&t->model->mem, err, "%s.%.*s", type, (int)text.n, text.p);
    *is_leaf = true;
    return out->type_name != NULL;
}

bool heft_torch_foreign(struct heft_torch *t, uint32_t node, struct heft_value *out, bool *is_leaf,
                        struct heft_error *err)
{
    const struct heft_pickle_node *n = heft_torch_node(t, node);
    const enum heft_torch_kind kind = heft_torch_callee(t, node);

    if (n->first != HEFT_PICKLE_NIL || (n->state != HEFT_PICKLE_NIL && kind != HEFT_TORCH_UUID))
        return true; /* it has items or attributes: not a plain value */
    switch (kind) {
    case HEFT_TORCH_DATE:
        return date_leaf(t, n->u.call.args, out, is_leaf, err);
    case HEFT_TORCH_NUMBER:
        return number_leaf(t, n->u.call.args, out, is_leaf, err);
    case HEFT_TORCH_UUID:
        return uuid_leaf(t, n->state, out, is_leaf, err);
    case HEFT_TORCH_GETATTR:
        return member_leaf(t, n->u.call.args, out, is_leaf, err);
    default:
        return true;
    }
}
