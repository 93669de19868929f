/* torch_text.c: the texts and bytes that nodes represent, kept in the model.
 *
 *     "text", b"bytes"                       unchanged
 *     _codecs.encode("\xe9…", "latin1")      bytes, as protocol 2 writes them
 *     bytearray(b"bytes")                    the bytes
 *
 * A shared text is copied into the model once if it is long, and for each use if it is short: the
 * number of values is limited (limits.expansion), and so are the bytes. */
#include "format/torch/pickle/torch_parts.h"

#include "base/text.h"

#define SHORT_TEXT                                                                                 \
    32 /* bytes: shorter texts are copied each time, because a table entry is no smaller */

/* ---- texts ------------------------------------------------------------------------------- */

/* Records a text in model->mem for a node. */
bool heft_torch_remember_text(struct heft_torch *t, struct heft_u32map *map, uint32_t node,
                              struct heft_str text, struct heft_error *err)
{
    if (!heft_grow(&t->texts, &t->cap_texts, t->n_texts, 1, sizeof *t->texts, err) ||
        !heft_u32map_set(map, node, (uint32_t)t->n_texts, err))
        return false;
    t->texts[t->n_texts++] = text;
    return true;
}

/* Lone surrogates, valid in a pickle, are invalid UTF-8: each becomes U+FFFD, also three bytes
 * long. */
void heft_torch_mend(char *text, size_t n)
{
    size_t at = heft_utf8_check((struct heft_bytes){(const uint8_t *)text, n});

    while (at < n) {
        memcpy(text + at, "\xEF\xBF\xBD", heft_min_size(3, n - at));
        at += heft_min_size(3, n - at);
        at += heft_utf8_check((struct heft_bytes){(const uint8_t *)text + at, n - at});
    }
}

/* Copies a node's text into model->mem. */
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
    return text.n <= SHORT_TEXT || heft_torch_remember_text(t, &t->by_text, node, *out, err);
}

const char *heft_torch_type_name(struct heft_torch *t, uint32_t node, struct heft_error *err)
{
    struct heft_str module, name, full;
    struct heft_buf buf = {0};
    uint32_t found;

    while (heft_torch_is(t, node, HEFT_PICKLE_CALL)) /* a callee is created before its call */
        node = heft_torch_node(t, node)->u.call.callee;
    if (!heft_torch_is(t, node, HEFT_PICKLE_GLOBAL))
        return "an object";
    found = heft_u32map_get(&t->by_text, node);
    if (found != HEFT_MAP_NONE)
        return t->texts[found].p;
    /* A name needs about as much memory as a value. */
    if (!heft_torch_charge(t, node, 1, "values and names of classes", err))
        return NULL;
    module = heft_pickle_text(&t->pickle, heft_torch_node(t, node)->module);
    name = heft_pickle_text(&t->pickle, node);
    if (heft_str_is(module, "__builtin__")) /* module of Python 2, as protocol 2 spells it */
        heft_torch_rename(&module, &name);
    heft_buf_str(&buf, module);
    heft_buf_char(&buf, '.');
    heft_buf_str(&buf, name);
    if (!heft_buf_take(&buf, &t->model->mem, &full, err)) {
        heft_buf_release(&buf);
        return NULL;
    }
    return heft_torch_remember_text(t, &t->by_text, node, full, err) ? full.p : NULL;
}

void heft_torch_set_text(struct heft_value *out, enum heft_value_kind kind, struct heft_str text)
{
    out->kind = kind;
    out->text = text.p;
    out->text_len = text.n;
}

bool heft_torch_take_text(struct heft_torch *t, struct heft_buf *buf, struct heft_value *out,
                          enum heft_value_kind kind, struct heft_error *err)
{
    struct heft_str text;

    if (!heft_buf_take(buf, &t->model->mem, &text, err))
        return false;
    heft_torch_set_text(out, kind, text);
    return true;
}

bool heft_torch_text_leaf(struct heft_torch *t, uint32_t node, struct heft_value *out,
                          struct heft_error *err)
{
    struct heft_str text;

    if (t->taker) /* it reads the graph, which has the texts */
        text = heft_pickle_text(&t->pickle, node);
    else if (!keep_text(t, node, &text, err))
        return false;
    heft_torch_set_text(out, HEFT_VALUE_STRING, text);
    if (heft_torch_is(t, node, HEFT_PICKLE_PY2STR) &&
        heft_utf8_check((struct heft_bytes){(const uint8_t *)text.p, text.n}) < text.n)
        out->kind = HEFT_VALUE_BYTES;
    return true;
}

bool heft_torch_may_make(struct heft_torch *t, uint64_t bytes)
{
    if (bytes > ((uint64_t)4 << 20) + t->pickle.length - t->made_bytes)
        return false;
    t->made_bytes += bytes;
    return true;
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
                             "bytes written as Latin-1 text contain a character above U+00FF");
        bytes[n++] = (uint8_t)((c & 3) << 6 | ((uint8_t)text.p[++i] & 0x3F));
    }
    bytes[n] = 0;
    *out = (struct heft_str){(const char *)bytes, n};
    return heft_torch_remember_text(t, &t->by_bytes, node, *out, err);
}

static bool is_ascii(struct heft_str text)
{
    for (size_t i = 0; i < text.n; i++)
        if ((uint8_t)text.p[i] >= 0x80)
            return false;
    return true;
}

/* encode(text, encoding): the bytes of a Latin-1 text; ASCII is the same in all encodings. */
static bool bytes_of_encoded(struct heft_torch *t, uint32_t node, uint32_t encoding, bool *found,
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

/* Bytes decoded from escapes are in the scratch arena: the model needs a copy. */
static bool keep_decoded(struct heft_torch *t, struct heft_torch_bytes *out, struct heft_error *err)
{
    const uint32_t cached = heft_u32map_get(&t->by_bytes, out->node);
    struct heft_str copy;

    if (cached == HEFT_MAP_NONE) {
        copy.n = out->bytes.n;
        copy.p = heft_arena_text(&t->model->mem,
                                 (struct heft_str){(const char *)out->bytes.p, copy.n}, err);
        if (!copy.p || !heft_torch_remember_text(t, &t->by_bytes, out->node, copy, err))
            return false;
    } else {
        copy = t->texts[cached];
    }
    out->bytes.p = (const uint8_t *)copy.p;
    return true;
}

/* Reduces bytearray(x) to x; false for other calls. Ends, because arguments are created before
 * their call. */
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
        return bytes_of_encoded(t, node, encoding, found, out, err);
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

bool heft_torch_bytes_leaf(struct heft_torch *t, uint32_t node, struct heft_value *out,
                           bool *is_leaf, struct heft_error *err)
{
    struct heft_torch_bytes bytes;

    if (!heft_torch_bytes_of(t, node, is_leaf, &bytes, err))
        return false;
    if (!*is_leaf)
        return true;
    if (bytes.verbatim != SIZE_MAX && !keep_decoded(t, &bytes, err))
        return false;
    heft_torch_set_text(out, HEFT_VALUE_BYTES,
                        (struct heft_str){(const char *)bytes.bytes.p, bytes.bytes.n});
    return true;
}
