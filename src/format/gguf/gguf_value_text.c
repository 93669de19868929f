/* gguf_value_text.c: values of key-value pairs from texts of the user:
 *
 *     u32:7   f32:1e-5   bool:true   str:a text   i32[]:[1,-2]   str[]:["a","b"]   a text
 *
 * Numbers become those of gguf-py: an f32 is a double that is rounded to a float. */
#include "base/endian.h"
#include "format/gguf/gguf_write.h"
#include "wire/decimal.h"
#include "wire/json.h"

#include <math.h>

enum { SIGN = '-' };

static void put_le(struct heft_buf *out, uint64_t v, size_t bytes)
{
    uint8_t le[8];

    heft_put_le64(le, v);
    heft_buf_put(out, le, bytes);
}

/* ---- numbers ----------------------------------------------------------------------------------- */

static bool is_signed(uint32_t type)
{
    return type == HEFT_GGUF_I8 || type == HEFT_GGUF_I16 || type == HEFT_GGUF_I32 ||
           type == HEFT_GGUF_I64;
}

/* Largest magnitude of an integer of that type and sign. */
static uint64_t most_of(uint32_t type, bool is_negative)
{
    const unsigned bits = 8u * heft_gguf_types[type].bytes;

    if (!is_signed(type))
        return is_negative ? 0 : UINT64_MAX >> (64 - bits);
    return (UINT64_MAX >> (65 - bits)) + is_negative;
}

static bool refuse_value(struct heft_str text, const char *expected, struct heft_error *err)
{
    return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "the value is \"%.*s\", expected %s",
                     (int)heft_min_size(text.n, 60), text.p, expected);
}

static bool refuse_integer(struct heft_str text, uint32_t type, struct heft_error *err)
{
    return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "the value is \"%.*s\", expected %s from %s%" PRIu64 " to %" PRIu64,
                     (int)heft_min_size(text.n, 60), text.p, heft_gguf_types[type].name,
                     is_signed(type) ? "-" : "", most_of(type, true), most_of(type, false));
}

HEFT_WRAPS static uint64_t negated(uint64_t v)
{
    return 0 - v;
}

/* Digits with an optional minus. */
static bool put_integer(struct heft_buf *out, struct heft_str text, uint32_t type,
                        struct heft_error *err)
{
    const bool is_negative = text.n > 0 && text.p[0] == SIGN;
    const uint64_t most = most_of(type, is_negative);
    uint64_t v = 0;
    size_t i = is_negative;

    for (; i < text.n && text.p[i] >= '0' && text.p[i] <= '9'; i++) {
        const uint64_t digit = (uint64_t)(text.p[i] - '0');

        if (v > most / 10 || (v == most / 10 && digit > most % 10))
            return refuse_integer(text, type, err);
        v = v * 10 + digit;
    }
    if (i < text.n || i == (size_t)is_negative)
        return refuse_integer(text, type, err);
    put_le(out, is_negative ? negated(v) : v, heft_gguf_types[type].bytes);
    return true;
}

/* Length of the digits at `at`. */
static size_t count_digits(struct heft_str text, size_t at)
{
    size_t n = 0;

    while (at + n < text.n && text.p[at + n] >= '0' && text.p[at + n] <= '9')
        n++;
    return n;
}

/* [-+] digits [. digits] [e [-+] digits] with a digit before or after the point; inf, nan. */
static bool is_decimal(struct heft_str text)
{
    size_t at = text.n > 0 && (text.p[0] == SIGN || text.p[0] == '+'), whole, part = 0;
    const struct heft_str rest = {text.p + at, text.n - at};

    if (heft_str_is(rest, "inf") || heft_str_is(rest, "nan"))
        return true;
    whole = count_digits(text, at);
    at += whole;
    if (at < text.n && text.p[at] == '.') {
        part = count_digits(text, at + 1);
        at += 1 + part;
    }
    if (whole + part == 0)
        return false;
    if (at < text.n && (text.p[at] == 'e' || text.p[at] == 'E')) {
        at++;
        at += at < text.n && (text.p[at] == SIGN || text.p[at] == '+');
        if (count_digits(text, at) == 0)
            return false;
        at += count_digits(text, at);
    }
    return at == text.n;
}

static bool put_float(struct heft_buf *out, struct heft_str text, uint32_t type,
                      struct heft_error *err)
{
    const struct heft_bytes digits = {(const uint8_t *)text.p, text.n};
    const bool says_inf = text.n >= 3 && memcmp(text.p + text.n - 3, "inf", 3) == 0;
    double number;
    float single;
    uint32_t bits;
    uint64_t wide;

    if (text.n > HEFT_DECIMAL_MOST || !is_decimal(text))
        return refuse_value(
            text, type == HEFT_GGUF_F32 ? "a number within f32" : "a number within f64", err);
    number = heft_decimal(digits, false);
    single = (float)number;
    if (!says_inf && (isinf(number) || (type == HEFT_GGUF_F32 && isinf(single))))
        return refuse_value(
            text, type == HEFT_GGUF_F32 ? "a number within f32" : "a number within f64", err);
    memcpy(&bits, &single, sizeof bits);
    memcpy(&wide, &number, sizeof wide);
    put_le(out, type == HEFT_GGUF_F32 ? bits : wide, heft_gguf_types[type].bytes);
    return true;
}

static bool put_bool(struct heft_buf *out, struct heft_str text, struct heft_error *err)
{
    if (!heft_str_is(text, "true") && !heft_str_is(text, "false"))
        return refuse_value(text, "true or false", err);
    put_le(out, text.p[0] == 't', 1);
    return true;
}

/* A value that is no array, without its type. */
static bool put_scalar(struct heft_buf *out, struct heft_str text, uint32_t type,
                       struct heft_error *err)
{
    switch (type) {
    case HEFT_GGUF_STRING:
        put_le(out, text.n, 8);
        heft_buf_str(out, text);
        return true;
    case HEFT_GGUF_BOOL:
        return put_bool(out, text, err);
    case HEFT_GGUF_F32:
    case HEFT_GGUF_F64:
        return put_float(out, text, type, err);
    default:
        return put_integer(out, text, type, err);
    }
}

/* ---- arrays ------------------------------------------------------------------------------------ */

static bool put_item(struct heft_buf *out, const struct heft_json *json, enum heft_json_token token,
                     uint32_t type, struct heft_error *err)
{
    const bool is_bool = token == HEFT_JSON_TRUE || token == HEFT_JSON_FALSE;
    const enum heft_json_token expected =
        type == HEFT_GGUF_STRING ? HEFT_JSON_STRING : HEFT_JSON_NUMBER;

    if (token == HEFT_JSON_ERROR)
        return false;
    if (type == HEFT_GGUF_BOOL && is_bool) {
        put_le(out, token == HEFT_JSON_TRUE, 1);
        return true;
    }
    if (type == HEFT_GGUF_BOOL || token != expected)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "an item of %s[] is %s",
                         heft_gguf_types[type].name, heft_json_token_name(token));
    return put_scalar(out, json->text, type, err);
}

static bool put_items(struct heft_buf *out, struct heft_json *json, uint32_t type,
                      struct heft_error *err)
{
    enum heft_json_token token = heft_json_next(json);
    const size_t count_at = out->n;
    uint64_t n = 0;

    if (token != HEFT_JSON_ARRAY)
        return token != HEFT_JSON_ERROR &&
               heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "%s[] is %s, expected a JSON array",
                         heft_gguf_types[type].name, heft_json_token_name(token));
    put_le(out, 0, 8);
    for (token = heft_json_next(json); token != HEFT_JSON_ARRAY_END;
         token = heft_json_next(json), n++)
        if (!put_item(out, json, token, type, err))
            return false;
    if (!out->failed)
        heft_put_le64((uint8_t *)out->p + count_at, n);
    return heft_json_next(json) == HEFT_JSON_END;
}

static bool put_array(struct heft_buf *out, struct heft_str text, uint32_t type,
                      struct heft_error *err)
{
    struct heft_arena mem = {.budget = out->budget};
    struct heft_error why = {0};
    struct heft_json json;
    bool ok;

    put_le(out, type, 4);
    heft_json_begin(&json, (struct heft_bytes){(const uint8_t *)text.p, text.n}, 0, &mem, &why);
    ok = put_items(out, &json, type, &why);
    heft_arena_release(&mem);
    if (!ok && why.code == HEFT_MALFORMED)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "not a JSON array: %s", why.text);
    if (!ok)
        *err = why;
    return ok;
}

/* ---- types ------------------------------------------------------------------------------------- */

/* "u32", "str[]"; false for other words. */
static bool type_named(struct heft_str word, struct heft_gguf_value_type *type)
{
    const bool is_array = heft_str_ends(word, "[]");

    word.n -= is_array ? 2 : 0;
    for (uint32_t i = 0; i < HEFT_GGUF_TYPES; i++)
        if (i != HEFT_GGUF_ARRAY && heft_str_is(word, heft_gguf_types[i].name)) {
            *type = is_array ? (struct heft_gguf_value_type){HEFT_GGUF_ARRAY, i}
                             : (struct heft_gguf_value_type){i, 0};
            return true;
        }
    return false;
}

/* A word like f16 or u24[], probably meant as a type. */
static bool is_like_type(struct heft_str word)
{
    word.n -= heft_str_ends(word, "[]") ? 2 : 0;
    return word.n > 1 && strchr("uif", word.p[0]) && count_digits(word, 1) == word.n - 1;
}

/* Takes "TYPE:" from the begin of the text. */
static bool cut_type(struct heft_str *text, struct heft_gguf_value_type *type,
                     struct heft_error *err)
{
    const char *const colon = memchr(text->p, ':', text->n);
    const struct heft_str word = {text->p, colon ? (size_t)(colon - text->p) : 0};

    if (!colon || word.n == 0)
        return true;
    if (type_named(word, type)) {
        text->p += word.n + 1;
        text->n -= word.n + 1;
        return true;
    }
    return !is_like_type(word) ||
           heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "GGUF has no type %.*s, but u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 bool str; "
                     "str:%.*s is a text",
                     (int)word.n, word.p, (int)heft_min_size(text->n, 60), text->p);
}

bool heft_gguf_put_value(struct heft_buf *out, struct heft_str text,
                         struct heft_gguf_value_type usual, struct heft_gguf_value_type *type,
                         struct heft_error *err)
{
    *type = usual;
    if (!cut_type(&text, type, err))
        return false;
    if (type->type == HEFT_GGUF_ARRAY && type->item == HEFT_GGUF_ARRAY)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "the value is an array of arrays, which cannot be written as text; give "
                         "another type, as i32[]:[1,2]");
    put_le(out, type->type, 4);
    if (type->type == HEFT_GGUF_ARRAY)
        return put_array(out, text, type->item, err);
    return put_scalar(out, text, type->type, err);
}
