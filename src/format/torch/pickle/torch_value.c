/* torch_value.c: nodes without children become values; dictionary keys become text.
 *
 *     None, numbers, texts, bytes            unchanged
 *     torch.float32, torch.per_tensor_affine "torch.float32"
 *     torch.device("cuda", 0)                "cuda:0"
 *     pathlib.PosixPath("/", "a", "b")       "/a/b"
 *     NumPy scalar                           the number
 *
 * torch_text.c keeps texts and bytes. */
#include "format/torch/pickle/torch_parts.h"

#include <math.h>
#include <stdlib.h>

#include "base/text.h"

#define TUPLE_DEPTH 16 /* most nested tuples in a key: real keys have one or two */

/* ---- numbers ----------------------------------------------------------------------------- */

/* Formats a two's complement little-endian number: "-0x1f…". */
static void put_bigint(struct heft_buf *out, struct heft_str number)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *p = (const uint8_t *)number.p;
    const bool negative = number.n && p[number.n - 1] & 0x80;
    unsigned carry = 1;
    size_t begin;

    heft_buf_text(out, negative ? "-0x" : "0x");
    begin = out->n;
    for (size_t i = 0; i < number.n; i++) { /* least significant digit first, reversed below */
        const unsigned byte = negative ? (unsigned)(uint8_t)~p[i] + carry : p[i];

        carry = negative ? byte >> 8 : 0;
        heft_buf_char(out, digits[byte & 15]);
        heft_buf_char(out, digits[byte >> 4 & 15]);
    }
    if (out->failed)
        return;
    while (out->n - begin > 1 && out->p[out->n - 1] == '0')
        out->n--;
    for (size_t i = begin, j = out->n; i + 1 < j; i++) {
        const char c = out->p[i];

        out->p[i] = out->p[--j];
        out->p[j] = c;
    }
}

/* The shortest decimal that reads back as the same number, like Python's repr: digits and exponent
 * of 0.DDD × 10^exponent. Digits are taken from printf's output, whatever the decimal point of the
 * locale. */
static size_t shortest_digits(double number, struct heft_buf *text, char *digits, int *exponent)
{
    const size_t begin = text->n;
    const char *e;
    size_t n = 0;

    for (int precision = 14; precision < 17; precision++) {
        text->n = begin;
        heft_buf_printf(text, "%.*e", precision, number);
        heft_buf_char(text, '\0');
        if (text->failed || strtod(text->p + begin, NULL) == number)
            break;
    }
    if (text->failed)
        return 0;
    e = strchr(text->p + begin, 'e');
    for (const char *p = text->p + begin; p < e; p++)
        if (*p >= '0' && *p <= '9')
            digits[n++] = *p;
    *exponent = (int)strtol(e + 1, NULL, 10) + 1;
    text->n = begin;
    while (n > 1 && digits[n - 1] == '0')
        n--;
    return n;
}

static void put_fixed(struct heft_buf *out, const char *digits, size_t n, int exponent)
{
    int at =
        exponent > 0
            ? 0
            : exponent - 1; /* position of the next digit; 0 is the first one before the point */

    if (exponent <= 0) {
        heft_buf_text(out, "0.");
        for (; at < -1; at++)
            heft_buf_char(out, '0');
        heft_buf_put(out, digits, n);
        return;
    }
    for (; at < exponent; at++)
        heft_buf_char(out, (size_t)at < n ? digits[at] : '0');
    heft_buf_char(out, '.');
    if (n > (size_t)exponent)
        heft_buf_put(out, digits + exponent, n - (size_t)exponent);
    else
        heft_buf_char(out, '0');
}

static void put_float(struct heft_buf *out, double number)
{
    char digits[40];
    int exponent = 0;
    size_t n;

    if (isnan(number) || isinf(number)) {
        heft_buf_text(out, isnan(number) ? "nan" : number < 0 ? "-inf" : "inf");
        return;
    }
    n = shortest_digits(number, out, digits, &exponent);
    if (n == 0)
        return;
    if (signbit(number))
        heft_buf_char(out, '-');
    if (exponent > -4 && exponent <= 16) {
        put_fixed(out, digits, n, exponent);
        return;
    }
    heft_buf_char(out, digits[0]);
    if (n > 1) {
        heft_buf_char(out, '.');
        heft_buf_put(out, digits + 1, n - 1);
    }
    heft_buf_printf(out, "e%c%02d", exponent > 0 ? '+' : '-', abs(exponent - 1));
}

/* ---- values without children ------------------------------------------------------------- */

static bool bigint_leaf(struct heft_torch *t, uint32_t node, struct heft_value *out,
                        struct heft_error *err)
{
    const uint32_t found = heft_u32map_get(&t->by_text, node);
    struct heft_buf buf = {0};

    if (found != HEFT_MAP_NONE) {
        heft_torch_set_text(out, HEFT_VALUE_BIGINT, t->texts[found]);
        return true;
    }
    put_bigint(&buf, heft_pickle_text(&t->pickle, node));
    return heft_torch_take_text(t, &buf, out, HEFT_VALUE_BIGINT, err) &&
           heft_torch_remember_text(t, &t->by_text, node,
                                    (struct heft_str){out->text, out->text_len}, err);
}

static bool global_leaf(struct heft_torch *t, uint32_t node, struct heft_value *out,
                        struct heft_error *err)
{
    const struct heft_torch_global *known = heft_torch_global_of(t, node);

    out->kind = HEFT_VALUE_GLOBAL;
    out->type_name = heft_torch_type_name(t, node, err);
    if (!out->type_name)
        return false;
    if (!known || (known->kind != HEFT_TORCH_DTYPE && known->kind != HEFT_TORCH_CONSTANT))
        return true;
    heft_torch_set_text(out, HEFT_VALUE_STRING, heft_str_of(out->type_name));
    out->type_name = NULL;
    return true;
}

/* Joins the arguments of device("cuda", 0), layout("torch.strided") or PosixPath("/", "a"): texts,
 * and at most one number. */
static bool joined_leaf(struct heft_torch *t, uint32_t args, const char *between,
                        struct heft_value *out, bool *is_leaf, struct heft_error *err)
{
    struct heft_pickle_iter iter = heft_pickle_items(&t->pickle, args);
    struct heft_buf buf = {0};
    uint32_t item;

    while (heft_pickle_next(&iter, &item)) {
        if (buf.n && buf.p[buf.n - 1] != '/')
            heft_buf_text(&buf, between);
        if (heft_torch_is_text(t, item)) {
            heft_buf_str(&buf, heft_pickle_text(&t->pickle, item));
        } else if (heft_torch_is(t, item, HEFT_PICKLE_INT) && between[0] == ':') {
            heft_buf_printf(&buf, "%" PRId64, heft_torch_node(t, item)->u.integer);
        } else {
            heft_buf_release(&buf);
            return true;
        }
    }
    if (buf.n)
        heft_torch_mend(buf.p, buf.n);
    *is_leaf = true;
    return heft_torch_take_text(t, &buf, out, HEFT_VALUE_STRING, err);
}

/* Longer results stay opaque objects: joining a shared long text repeatedly would not be linear. */
static bool is_short(struct heft_torch *t, uint32_t args)
{
    struct heft_pickle_iter iter = heft_pickle_items(&t->pickle, args);
    size_t bytes = 0;
    uint32_t item;

    if (heft_torch_count(t, args) > 64)
        return false;
    while (heft_pickle_next(&iter, &item))
        bytes += heft_torch_is_text(t, item) ? heft_torch_node(t, item)->len : 0;
    return bytes <= 4096 && heft_torch_may_make(t, bytes + heft_torch_count(t, args) * 20);
}

static bool call_leaf(struct heft_torch *t, uint32_t node, struct heft_value *out, bool *is_leaf,
                      struct heft_error *err)
{
    const uint32_t args = heft_torch_node(t, node)->u.call.args;

    switch (heft_torch_callee(t, node)) {
    case HEFT_TORCH_BYTES:
    case HEFT_TORCH_ENCODE:
        return heft_torch_bytes_leaf(t, node, out, is_leaf, err);
    case HEFT_TORCH_DEVICE:
        return !is_short(t, args) || joined_leaf(t, args, ":", out, is_leaf, err);
    case HEFT_TORCH_LAYOUT:
    case HEFT_TORCH_PATH:
        return !is_short(t, args) || joined_leaf(t, args, "/", out, is_leaf, err);
    case HEFT_TORCH_NP_SCALAR:
        return heft_torch_scalar(t, node, out, is_leaf, err);
    default:
        return heft_torch_foreign(t, node, out, is_leaf, err);
    }
}

bool heft_torch_leaf(struct heft_torch *t, uint32_t node, struct heft_value *out, bool *is_leaf,
                     struct heft_error *err)
{
    const struct heft_pickle_node *n = heft_torch_node(t, node);

    *is_leaf = true;
    switch ((enum heft_pickle_kind)n->kind) {
    case HEFT_PICKLE_NONE:
        out->kind = HEFT_VALUE_NULL;
        return true;
    case HEFT_PICKLE_BOOL:
        out->kind = HEFT_VALUE_BOOL;
        out->as.boolean = n->u.integer != 0;
        return true;
    case HEFT_PICKLE_INT:
        out->kind = HEFT_VALUE_INT;
        out->as.integer = n->u.integer;
        return true;
    case HEFT_PICKLE_FLOAT:
        out->kind = HEFT_VALUE_FLOAT;
        out->as.number = n->u.number;
        return true;
    case HEFT_PICKLE_BIGINT:
        return bigint_leaf(t, node, out, err);
    case HEFT_PICKLE_STR:
    case HEFT_PICKLE_PY2STR:
        return heft_torch_text_leaf(t, node, out, err);
    case HEFT_PICKLE_BYTES:
    case HEFT_PICKLE_BYTEARRAY:
        return heft_torch_bytes_leaf(t, node, out, is_leaf, err);
    case HEFT_PICKLE_GLOBAL:
        return global_leaf(t, node, out, err);
    case HEFT_PICKLE_CALL:
        *is_leaf = false;
        return call_leaf(t, node, out, is_leaf, err);
    default:
        *is_leaf = false;
        return true;
    }
}

/* ---- keys of dictionaries ---------------------------------------------------------------- */

static void put_quoted(struct heft_buf *out, struct heft_str text, bool is_bytes)
{
    const bool has_single = text.n && memchr(text.p, '\'', text.n);
    const char quote = has_single && !memchr(text.p, '"', text.n) ? '"' : '\'';

    heft_buf_char(out, quote);
    for (size_t i = 0; i < text.n; i++) {
        const uint8_t c = (uint8_t)text.p[i];

        if (c == '\n' || c == '\r' || c == '\t')
            heft_buf_text(out, c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t");
        else if (c < 0x20 || c == 0x7F || (is_bytes && c >= 0x80))
            heft_buf_printf(out, "\\x%02x", c);
        else if (c == '\\' || c == (uint8_t)quote)
            heft_buf_printf(out, "\\%c", c);
        else
            heft_buf_char(out, (char)c);
    }
    heft_buf_char(out, quote);
}

/* Formats a key that is not a tuple. `nested`: within a tuple, where texts are quoted. */
static bool plain_key(struct heft_torch *t, uint32_t node, size_t ordinal, bool nested,
                      struct heft_buf *out, struct heft_error *err)
{
    const struct heft_pickle_node *n = heft_torch_node(t, node);
    struct heft_value value = {0};
    bool is_leaf;

    if (heft_torch_is_text(t, node) && !nested) {
        heft_buf_str(out, heft_pickle_text(&t->pickle, node));
        return true;
    }
    if (n->kind == HEFT_PICKLE_BYTEARRAY || n->kind == HEFT_PICKLE_LIST ||
        n->kind == HEFT_PICKLE_DICT || n->kind == HEFT_PICKLE_SET)
        return heft_fail(err, HEFT_MALFORMED, heft_torch_where(t, node),
                         "a dictionary key is not hashable: a list, dict, set or bytearray");
    if (!heft_torch_leaf(t, node, &value, &is_leaf, err))
        return false;
    if (!is_leaf || value.kind == HEFT_VALUE_GLOBAL) {
        const char *name = heft_torch_type_name(t, node, err);

        if (name)
            heft_buf_printf(out, is_leaf ? "%s" : "<%s #%zu>", name, ordinal);
        return name != NULL;
    }
    switch (value.kind) {
    case HEFT_VALUE_NULL:
        heft_buf_text(out, "None");
        return true;
    case HEFT_VALUE_BOOL:
        heft_buf_text(out, value.as.boolean ? "True" : "False");
        return true;
    case HEFT_VALUE_INT:
        heft_buf_printf(out, "%" PRId64, value.as.integer);
        return true;
    case HEFT_VALUE_FLOAT:
        put_float(out, value.as.number);
        return true;
    case HEFT_VALUE_BYTES:
        heft_buf_char(out, 'b');
        put_quoted(out, (struct heft_str){value.text, value.text_len}, true);
        return true;
    default:
        if (nested && value.kind == HEFT_VALUE_STRING)
            put_quoted(out, (struct heft_str){value.text, value.text_len}, false);
        else
            heft_buf_put(out, value.text, value.text_len);
        return true;
    }
}

static bool is_tuple(const struct heft_torch *t, uint32_t node)
{
    return heft_torch_is(t, node, HEFT_PICKLE_TUPLE) ||
           heft_torch_is(t, node, HEFT_PICKLE_FROZENSET);
}

bool heft_torch_key(struct heft_torch *t, uint32_t node, size_t ordinal, struct heft_buf *out,
                    struct heft_error *err)
{
    struct heft_pickle_iter open[TUPLE_DEPTH];
    uint32_t counts[TUPLE_DEPTH];
    size_t depth = 0;

    if (!is_tuple(t, node))
        return plain_key(t, node, ordinal, false, out, err);
    for (;;) {
        if (is_tuple(t, node)) {
            if (depth == TUPLE_DEPTH)
                return heft_fail(err, HEFT_LIMIT, heft_torch_where(t, node),
                                 "a key has tuples nested deeper than %d", TUPLE_DEPTH);
            open[depth] = heft_pickle_items(&t->pickle, node);
            counts[depth++] = 0;
            heft_buf_char(out, '(');
        } else if (!plain_key(t, node, ordinal, true, out, err)) {
            return false;
        }
        while (!heft_pickle_next(&open[depth - 1], &node)) {
            heft_buf_text(out, counts[--depth] == 1 ? ",)" : ")");
            if (depth == 0)
                return true;
        }
        if (!heft_torch_charge(t, node, 1, "values in the keys of dictionaries", err))
            return false;
        if (counts[depth - 1]++)
            heft_buf_text(out, ", ");
    }
}
