/* torch_value.c: nodes without children become values; dictionary keys become text.
 *
 *     None, numbers, texts, bytes            as they are
 *     torch.float32, torch.per_tensor_affine "torch.float32"
 *     torch.device("cuda", 0)                "cuda:0"
 *     pathlib.PosixPath("/", "a", "b")       "/a/b"
 *     _codecs.encode("\xe9…", "latin1")      bytes: how protocol 2 writes them
 *     numpy scalar                           the number
 *
 * A text that a pickle shares is copied into the model once if it is long, and each time if it is
 * short: the number of values is bounded (limits.expansion), so the bytes are. */
#include "format/torch/pickle/torch_parts.h"

#include <math.h>
#include <stdlib.h>

#include "base/text.h"

#define SHORT_TEXT  32 /* bytes: copied each time, a table entry would not be smaller */
#define TUPLE_DEPTH 16 /* tuples within a tuple that is a key: real ones have one or two */

/* ---- texts ------------------------------------------------------------------------------- */

/* Puts a text that is in model->mem under a node. */
static bool remember(struct heft_torch *t, struct heft_u32map *map, uint32_t node,
                     struct heft_str text, struct heft_error *err)
{
    if (!heft_grow(&t->texts, &t->cap_texts, t->n_texts, 1, sizeof *t->texts, err) ||
        !heft_u32map_set(map, node, (uint32_t)t->n_texts, err))
        return false;
    t->texts[t->n_texts++] = text;
    return true;
}

/* Lone surrogates, lawful in a pickle, are no UTF-8: each becomes U+FFFD, also of three bytes. */
void heft_torch_mend(char *text, size_t n)
{
    size_t at = heft_utf8_check((struct heft_bytes){(const uint8_t *)text, n});

    while (at < n) {
        memcpy(text + at, "\xEF\xBF\xBD", heft_min_size(3, n - at));
        at += heft_min_size(3, n - at);
        at += heft_utf8_check((struct heft_bytes){(const uint8_t *)text + at, n - at});
    }
}

/* A copy of a node's text in the model. */
static bool keep_text(struct heft_torch *t, uint32_t node, struct heft_str *out,
                      struct heft_error *err)
{
    const struct heft_str text = heft_pickle_text(&t->pickle, node);
    const uint32_t found = text.n > SHORT_TEXT ? heft_u32map_get(&t->by_text, node) : HEFT_MAP_NONE;
    char *copy;

    if (found != HEFT_MAP_NONE) {
        *out = t->texts[found];
        return true;
    }
    copy = heft_arena_text(&t->model->mem, text, err);
    if (!copy)
        return false;
    if (heft_torch_is(t, node, HEFT_PICKLE_STR))
        heft_torch_mend(copy, text.n);
    *out = (struct heft_str){copy, text.n};
    return text.n <= SHORT_TEXT || remember(t, &t->by_text, node, *out, err);
}

const char *heft_torch_type_name(struct heft_torch *t, uint32_t node, struct heft_error *err)
{
    struct heft_str module, name, full;
    struct heft_buf buf = {0};
    uint32_t found;

    while (heft_torch_is(t, node, HEFT_PICKLE_CALL)) /* a callee is made before its call */
        node = heft_torch_node(t, node)->u.call.callee;
    if (!heft_torch_is(t, node, HEFT_PICKLE_GLOBAL))
        return "an object";
    found = heft_u32map_get(&t->by_text, node);
    if (found != HEFT_MAP_NONE)
        return t->texts[found].p;
    module = heft_pickle_text(&t->pickle, heft_torch_node(t, node)->module);
    name = heft_pickle_text(&t->pickle, node);
    if (heft_str_is(module, "__builtin__")) /* of Python 2, as protocol 2 spells it */
        heft_torch_rename(&module, &name);
    heft_buf_str(&buf, module);
    heft_buf_char(&buf, '.');
    heft_buf_str(&buf, name);
    if (!heft_buf_take(&buf, &t->model->mem, &full, err)) {
        heft_buf_release(&buf);
        return NULL;
    }
    return remember(t, &t->by_text, node, full, err) ? full.p : NULL;
}

/* ---- bytes ------------------------------------------------------------------------------- */

static bool is_latin1(struct heft_str name)
{
    return heft_str_is(name, "latin1") || heft_str_is(name, "latin-1") ||
           heft_str_is(name, "iso-8859-1") || heft_str_is(name, "latin_1");
}

static size_t where_in_pickle(const struct heft_torch *t, const uint8_t *p, size_t n)
{
    const uintptr_t begin = (uintptr_t)t->pickle.data.p, at = (uintptr_t)p;

    return at >= begin && heft_within(at - begin, n, t->pickle.data.n) ? at - begin : SIZE_MAX;
}

static bool decode_latin1(struct heft_torch *t, uint32_t node, struct heft_str text,
                          struct heft_str *out, struct heft_error *err)
{
    uint8_t *bytes = heft_arena_alloc(&t->model->mem, text.n + 1, err);
    size_t n = 0;

    if (!bytes)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        const uint8_t c = (uint8_t)text.p[i];

        if (c < 0x80) {
            bytes[n++] = c;
            continue;
        }
        if ((c != 0xC2 && c != 0xC3) || i + 1 == text.n)
            return heft_fail(err, HEFT_MALFORMED, heft_torch_where(t, node),
                             "bytes written as latin-1 text hold a character above U+00FF");
        bytes[n++] = (uint8_t)((c & 3) << 6 | ((uint8_t)text.p[++i] & 0x3F));
    }
    bytes[n] = 0;
    *out = (struct heft_str){(const char *)bytes, n};
    return remember(t, &t->by_bytes, node, *out, err);
}

static bool is_ascii(struct heft_str text)
{
    for (size_t i = 0; i < text.n; i++)
        if ((uint8_t)text.p[i] >= 0x80)
            return false;
    return true;
}

/* encode(text, encoding): the bytes of a latin-1 text; ASCII has the same bytes in all encodings.
 */
static bool encoded(struct heft_torch *t, uint32_t node, uint32_t encoding, bool *found,
                    struct heft_torch_bytes *out, struct heft_error *err)
{
    const uint32_t cached = heft_u32map_get(&t->by_bytes, node);
    const struct heft_str text = heft_pickle_text(&t->pickle, node);
    struct heft_str bytes = text;

    out->node = node;
    out->verbatim = SIZE_MAX;
    *found = true;
    if (cached != HEFT_MAP_NONE) {
        bytes = t->texts[cached];
    } else if (is_ascii(text)) {
        out->verbatim = where_in_pickle(t, (const uint8_t *)text.p, text.n);
    } else if (heft_torch_is_text(t, encoding) &&
               is_latin1(heft_pickle_text(&t->pickle, encoding))) {
        if (!decode_latin1(t, node, text, &bytes, err))
            return false;
    } else {
        *found = false;
    }
    out->bytes = (struct heft_bytes){(const uint8_t *)bytes.p, bytes.n};
    return true;
}

/* Bytes that an escape in the pickle decoded live in the scratch arena: the model needs its own. */
static bool keep_decoded(struct heft_torch *t, struct heft_torch_bytes *out, struct heft_error *err)
{
    const uint32_t cached = heft_u32map_get(&t->by_bytes, out->node);
    struct heft_str copy;

    if (cached == HEFT_MAP_NONE) {
        copy.n = out->bytes.n;
        copy.p = heft_arena_text(&t->model->mem,
                                 (struct heft_str){(const char *)out->bytes.p, copy.n}, err);
        if (!copy.p || !remember(t, &t->by_bytes, out->node, copy, err))
            return false;
    } else {
        copy = t->texts[cached];
    }
    out->bytes.p = (const uint8_t *)copy.p;
    return true;
}

/* bytearray(x): x; false where the call is another one. Goes on to arguments, made before it. */
static bool unwrap_bytes(struct heft_torch *t, uint32_t *node, uint32_t *encoding)
{
    *encoding = HEFT_PICKLE_NIL;
    while (heft_torch_is(t, *node, HEFT_PICKLE_CALL)) {
        const enum heft_torch_kind kind = heft_torch_callee(t, *node);
        const uint32_t args = heft_torch_node(t, *node)->u.call.args;
        const uint32_t count = heft_torch_count(t, args);

        if (t->budget == 0 || (kind != HEFT_TORCH_BYTES && kind != HEFT_TORCH_ENCODE))
            return false;
        t->budget--;
        *node = heft_torch_item(t, args, 0);
        if (count == 2) {
            *encoding = heft_torch_item(t, args, 1);
            return heft_torch_is(t, *node, HEFT_PICKLE_STR);
        }
        if (count != 1 || kind == HEFT_TORCH_ENCODE)
            return false;
    }
    return true;
}

bool heft_torch_bytes_of(struct heft_torch *t, uint32_t node, bool *found,
                         struct heft_torch_bytes *out, struct heft_error *err)
{
    struct heft_str text;
    uint32_t encoding;

    *found = false;
    *out = (struct heft_torch_bytes){.node = node, .verbatim = SIZE_MAX};
    if (heft_torch_is(t, node, HEFT_PICKLE_CALL) &&
        heft_torch_callee(t, node) == HEFT_TORCH_BYTES &&
        heft_torch_count(t, heft_torch_node(t, node)->u.call.args) == 0) {
        out->bytes.p = (const uint8_t *)"";
        *found = true;
        return true;
    }
    if (!unwrap_bytes(t, &node, &encoding))
        return true;
    if (encoding != HEFT_PICKLE_NIL)
        return encoded(t, node, encoding, found, out, err);
    if (!heft_torch_is(t, node, HEFT_PICKLE_BYTES) &&
        !heft_torch_is(t, node, HEFT_PICKLE_BYTEARRAY) &&
        !heft_torch_is(t, node, HEFT_PICKLE_PY2STR))
        return true;
    text = heft_pickle_text(&t->pickle, node);
    *found = true;
    out->node = node;
    out->bytes = (struct heft_bytes){(const uint8_t *)text.p, text.n};
    out->verbatim = where_in_pickle(t, out->bytes.p, text.n);
    return out->verbatim != SIZE_MAX || keep_decoded(t, out, err);
}

/* ---- numbers ----------------------------------------------------------------------------- */

/* "-0x1f…" of a number in two's complement, little-endian. */
static void put_bigint(struct heft_buf *out, struct heft_str number)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *p = (const uint8_t *)number.p;
    const bool negative = number.n && p[number.n - 1] & 0x80;
    unsigned carry = 1;
    size_t begin;

    heft_buf_text(out, negative ? "-0x" : "0x");
    begin = out->n;
    for (size_t i = 0; i < number.n; i++) { /* least digit first, turned round below */
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

/* The shortest decimal that reads back as the same number, as Python's repr: digits and exponent of
 * 0.DDD × 10^exponent. Digits are picked out of printf's, whatever its decimal point is. */
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
    int at = exponent > 0 ? 0 : exponent - 1; /* place of the next digit, 0: before the point … */

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

/* ---- leaves ------------------------------------------------------------------------------ */

static void set_text(struct heft_value *out, enum heft_value_kind kind, struct heft_str text)
{
    out->kind = kind;
    out->text = text.p;
    out->text_len = text.n;
}

static bool take_text(struct heft_torch *t, struct heft_buf *buf, struct heft_value *out,
                      enum heft_value_kind kind, struct heft_error *err)
{
    struct heft_str text;
    const bool ok = heft_buf_take(buf, &t->model->mem, &text, err);

    heft_buf_release(buf);
    if (ok)
        set_text(out, kind, text);
    return ok;
}

static bool bigint_leaf(struct heft_torch *t, uint32_t node, struct heft_value *out,
                        struct heft_error *err)
{
    const uint32_t found = heft_u32map_get(&t->by_text, node);
    struct heft_buf buf = {0};

    if (found != HEFT_MAP_NONE) {
        set_text(out, HEFT_VALUE_BIGINT, t->texts[found]);
        return true;
    }
    put_bigint(&buf, heft_pickle_text(&t->pickle, node));
    return take_text(t, &buf, out, HEFT_VALUE_BIGINT, err) &&
           remember(t, &t->by_text, node, (struct heft_str){out->text, out->text_len}, err);
}

static bool text_leaf(struct heft_torch *t, uint32_t node, struct heft_value *out,
                      struct heft_error *err)
{
    struct heft_str text;

    if (!keep_text(t, node, &text, err))
        return false;
    set_text(out, HEFT_VALUE_STRING, text);
    if (heft_torch_is(t, node, HEFT_PICKLE_PY2STR) &&
        heft_utf8_check((struct heft_bytes){(const uint8_t *)text.p, text.n}) < text.n)
        out->kind = HEFT_VALUE_BYTES;
    return true;
}

static bool bytes_leaf(struct heft_torch *t, uint32_t node, struct heft_value *out, bool *is_leaf,
                       struct heft_error *err)
{
    struct heft_torch_bytes bytes;

    if (!heft_torch_bytes_of(t, node, is_leaf, &bytes, err))
        return false;
    if (!*is_leaf)
        return true;
    if (bytes.verbatim != SIZE_MAX && !keep_decoded(t, &bytes, err))
        return false;
    set_text(out, HEFT_VALUE_BYTES, (struct heft_str){(const char *)bytes.bytes.p, bytes.bytes.n});
    return true;
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
    set_text(out, HEFT_VALUE_STRING, heft_str_of(out->type_name));
    out->type_name = NULL;
    return true;
}

/* device("cuda", 0), layout("torch.strided"), PosixPath("/", "a"): texts and at most one number. */
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
    return take_text(t, &buf, out, HEFT_VALUE_STRING, err);
}

bool heft_torch_may_make(struct heft_torch *t, uint64_t bytes)
{
    if (bytes > ((uint64_t)4 << 20) + t->pickle.length - t->made_bytes)
        return false;
    t->made_bytes += bytes;
    return true;
}

/* Longer ones stay opaque objects: joining a shared long text again and again is no leaf's work. */
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
        return bytes_leaf(t, node, out, is_leaf, err);
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
        return text_leaf(t, node, out, err);
    case HEFT_PICKLE_BYTES:
    case HEFT_PICKLE_BYTEARRAY:
        return bytes_leaf(t, node, out, is_leaf, err);
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

/* ---- keys -------------------------------------------------------------------------------- */

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

/* A key that is no tuple. `nested`: inside one, where texts are quoted. */
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
                         "a dictionary key that Python could not hash: a list, dict, set or "
                         "bytearray");
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
                                 "a key of tuples nested deeper than %d", TUPLE_DEPTH);
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
        if (t->budget == 0)
            return heft_fail(err, HEFT_LIMIT, heft_torch_where(t, node),
                             "more values than limits.expansion allows");
        t->budget--;
        if (counts[depth - 1]++)
            heft_buf_text(out, ", ");
    }
}
