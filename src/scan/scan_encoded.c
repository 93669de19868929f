/* scan_encoded.c: bytes that are pickled as text, as Python 2 and protocols below 3 do:
 *
 *     _codecs.encode(text)    _codecs.encode(text, codec)
 *
 * The bytes depend on the codec; only latin1 and UTF-8 (with ASCII) are supported. */
#include "scan/scan_parts.h"

static bool is_kind(const struct heft_pickle *pickle, uint32_t node, enum heft_pickle_kind kind)
{
    return node != HEFT_PICKLE_NIL && heft_pickle_at(pickle, node)->kind == kind;
}

enum codec { LATIN1, UTF8, OTHER };

/* Codec of a name, by Python's aliases: in lower case, "-" and " " replaced by "_". OTHER for
 * all other names. */
static enum codec codec_of(struct heft_str name)
{
    static const char *const latin1s[] = {"latin_1", "latin1",     "latin",       "l1",
                                          "8859",    "cp819",      "iso_8859_1",  "iso8859_1",
                                          "iso8859", "iso_ir_100", "csisolatin1", "ibm819"};
    static const char *const utf8s[] = {"utf_8", "utf8", "u8", "utf",     "cp65001",
                                        "ascii", "646",  "us", "us_ascii"}; /* subset of UTF-8 */
    char folded[16];
    struct heft_str key = {folded, name.n};

    if (name.n > sizeof folded)
        return OTHER;
    for (size_t i = 0; i < name.n; i++) {
        const char c = name.p[i];

        folded[i] = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c == '-' || c == ' ' ? '_' : c;
    }
    for (size_t i = 0; i < HEFT_COUNT(latin1s); i++)
        if (heft_str_is(key, latin1s[i]))
            return LATIN1;
    for (size_t i = 0; i < HEFT_COUNT(utf8s); i++)
        if (heft_str_is(key, utf8s[i]))
            return UTF8;
    return OTHER;
}

static bool is_text(const struct heft_pickle *pickle, uint32_t node)
{
    return is_kind(pickle, node, HEFT_PICKLE_STR) || is_kind(pickle, node, HEFT_PICKLE_PY2STR);
}

/* Codec of a call encode(text, codec); the default is UTF-8. OTHER also with a third argument,
 * which decides about characters that the codec cannot encode. */
static enum codec codec_argument(const struct heft_pickle *pickle, uint32_t args)
{
    const uint32_t second = heft_pickle_item(pickle, args, 1);

    if (second == HEFT_PICKLE_NIL)
        return UTF8;
    if (heft_pickle_count(pickle, args) != 2 || !is_text(pickle, second))
        return OTHER;
    return codec_of(heft_pickle_text(pickle, second));
}

bool heft_scan_is_encoded(const struct heft_pickle *pickle, uint32_t node)
{
    const struct heft_pickle_node *n = heft_pickle_at(pickle, node), *callee;
    struct heft_str module;

    if (n->kind != HEFT_PICKLE_CALL || n->how != HEFT_PICKLE_REDUCE ||
        !is_kind(pickle, n->u.call.callee, HEFT_PICKLE_GLOBAL) ||
        !is_kind(pickle, n->u.call.args, HEFT_PICKLE_TUPLE) ||
        !is_kind(pickle, heft_pickle_item(pickle, n->u.call.args, 0), HEFT_PICKLE_STR))
        return false;
    callee = heft_pickle_at(pickle, n->u.call.callee);
    if (callee->module == HEFT_PICKLE_NIL ||
        !heft_str_is(heft_pickle_text(pickle, n->u.call.callee), "encode"))
        return false;
    module = heft_pickle_text(pickle, callee->module);
    return heft_str_is(module, "_codecs") || heft_str_is(module, "codecs");
}

static struct heft_str text_of(const struct heft_pickle *pickle, uint32_t call)
{
    const uint32_t args = heft_pickle_at(pickle, call)->u.call.args;

    return heft_pickle_text(pickle, heft_pickle_item(pickle, args, 0));
}

size_t heft_scan_text_length(const struct heft_pickle *pickle, uint32_t call)
{
    return text_of(pickle, call).n;
}

/* Encodes a text as latin1, one byte for each character below 256, as _codecs.encode(text,
 * "latin1") does. Leaves *out empty if Python would not encode it. */
static bool encode_latin1(struct heft_str text, struct heft_arena *mem, struct heft_bytes *out,
                          struct heft_error *err)
{
    uint8_t *bytes = heft_arena_alloc(mem, text.n, err);
    size_t n = 0;

    if (!bytes)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        const uint8_t c = (uint8_t)text.p[i];

        if (c >= 0x80 && (c > 0xC3 || i + 1 == text.n))
            return true; /* a character above 255: Python cannot encode it as Latin-1 */
        bytes[n++] = c;
        if (c >= 0x80) /* two bytes in UTF-8: C2 or C3, then six bits */
            bytes[n - 1] = (uint8_t)((c & 3) << 6 | ((uint8_t)text.p[++i] & 0x3F));
    }
    *out = (struct heft_bytes){bytes, n};
    return true;
}

bool heft_scan_encode(const struct heft_pickle *pickle, uint32_t call, struct heft_arena *mem,
                      struct heft_bytes *out, struct heft_error *err)
{
    const enum codec codec = codec_argument(pickle, heft_pickle_at(pickle, call)->u.call.args);
    const struct heft_str text = text_of(pickle, call);

    *out = (struct heft_bytes){NULL, 0};
    if (codec == LATIN1)
        return encode_latin1(text, mem, out, err);
    if (codec == UTF8)
        *out = (struct heft_bytes){(const uint8_t *)text.p, text.n};
    return true;
}
