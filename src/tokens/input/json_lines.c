/* json_lines.c: lines of JSON objects; extracts one string of each. */
#include "tokens/input/json_lines.h"

#include <stdio.h>

#include "base/hex.h"
#include "wire/json.h"

#define READ    ((size_t)256 << 10)
#define LONGEST ((size_t)64 << 20) /* limit of a line */

bool heft_json_lines_room(struct heft_json_lines *l, uint8_t **to, size_t *room,
                          struct heft_error *err)
{
    if (l->n > LONGEST)
        return heft_fail(err, HEFT_LIMIT, l->offset, "line %" PRIu64 " is longer than 64 MiB",
                         l->line + 1);
    if (!heft_grow(&l->text, &l->cap, l->n, READ, 1, err))
        return false;
    *to = l->text + l->n;
    *room = READ;
    return true;
}

/* ---- lone surrogates ------------------------------------------------------------------------ */

/* Returns the code unit of the \uXXXX at p, or -1. */
static int32_t unit_at(const uint8_t *p, size_t n)
{
    int32_t v = 0;

    if (n < 6 || p[0] != '\\' || p[1] != 'u')
        return -1;
    for (int i = 2; i < 6; i++) {
        const unsigned digit = heft_hex_digit(p[i]);

        if (digit == HEFT_NO_HEX)
            return -1;
        v = v << 4 | (int32_t)digit;
    }
    return v;
}

/* Overwrites escapes of lone surrogates with \ufffd. */
static void replace_surrogates(uint8_t *p, size_t n)
{
    for (size_t i = 0; i + 1 < n; i++) {
        const int32_t unit = unit_at(p + i, n - i);
        const int32_t next = unit >= 0 ? unit_at(p + i + 6, n - i - 6) : -1;

        if (p[i] != '\\')
            continue;
        if (unit < 0xD800 || unit > 0xDFFF) {
            i += 1; /* skips the second of two backslashes, too */
        } else if (unit < 0xDC00 && next >= 0xDC00 && next <= 0xDFFF) {
            i += 11;
        } else {
            memcpy(p + i, "\\ufffd", 6);
            i += 5;
        }
    }
}

/* ---- parsing a line ------------------------------------------------------------------------- */

static bool fail_line(const struct heft_json_lines *l, struct heft_error *err)
{
    char number[24];
    const int n = snprintf(number, sizeof number, "%" PRIu64, l->line);

    return heft_error_about(err, "line", (struct heft_str){number, (size_t)n});
}

static bool is_string_next(const struct heft_json *json)
{
    const uint8_t *p = json->data.p + json->at, *const end = json->data.p + json->data.n;

    while (p < end && (*p == ' ' || *p == '\t' || *p == '\r'))
        p++;
    return p < end && *p == '"';
}

/* Takes the value of the key just read. A value that is no string is skipped, since the key may
 * occur again; *odd is its position. */
static bool take_value(struct heft_json *json, struct heft_str *text, struct heft_json *odd)
{
    if (is_string_next(json)) {
        if (heft_json_next(json) != HEFT_JSON_STRING)
            return false;
        *text = json->text;
        return true;
    }
    *odd = *json;
    *text = (struct heft_str){NULL, 0};
    return heft_json_skip(json);
}

static bool refuse_value(struct heft_json *odd, struct heft_error *err)
{
    const enum heft_json_token token = heft_json_next(odd);

    return token != HEFT_JSON_ERROR &&
           heft_fail(err, HEFT_MALFORMED, odd->where, "%s; expected a string",
                     heft_json_token_name(token));
}

/* Finds the string; the last occurrence of the key counts, as in Python. */
static bool find_text(struct heft_json_lines *l, struct heft_json *json, struct heft_str *text,
                      struct heft_error *err)
{
    enum heft_json_token token = heft_json_next(json);
    struct heft_json odd;
    bool found = false;

    if (token == HEFT_JSON_ERROR)
        return false;
    if (token != HEFT_JSON_OBJECT)
        return heft_fail(err, HEFT_MALFORMED, json->where, "%s; expected an object",
                         heft_json_token_name(token));
    while ((token = heft_json_next(json)) == HEFT_JSON_KEY) {
        const bool is_it = heft_str_eq(json->text, l->key);

        found |= is_it;
        if (!(is_it ? take_value(json, text, &odd) : heft_json_skip(json)))
            return false;
    }
    if (token != HEFT_JSON_OBJECT_END || heft_json_next(json) != HEFT_JSON_END)
        return false;
    if (!found)
        return heft_fail(err, HEFT_MALFORMED, l->at, "no key \"%.*s\"", (int)l->key.n, l->key.p);
    return text->p || refuse_value(&odd, err);
}

static bool is_blank(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != ' ' && p[i] != '\t' && p[i] != '\r')
            return false;
    return true;
}

static bool is_marked(const uint8_t *p, size_t n)
{
    return n >= 3 && memcmp(p, "\xEF\xBB\xBF", 3) == 0;
}

static bool reject_line(const struct heft_json_lines *l, struct heft_error *err)
{
    const struct heft_error why = *err;

    heft_error_begin(err);
    return l->reject(l->ctx, &why, err);
}

static bool take_line(struct heft_json_lines *l, uint8_t *p, size_t n, uint64_t offset,
                      struct heft_error *err)
{
    struct heft_str text = {0};
    struct heft_json json;

    l->line++;
    l->at = offset;
    if (is_blank(p, n))
        return true;
    if (l->replace)
        replace_surrogates(p, n);
    if (l->line == 1 && is_marked(p, n))
        return heft_fail(err, HEFT_MALFORMED, offset,
                         "a byte order mark; option encoding utf-8-sig skips it");
    heft_json_begin(&json, (struct heft_bytes){p, n}, offset, NULL, err);
    heft_json_as_python(&json);
    heft_json_in_place(&json);
    if (find_text(l, &json, &text, err))
        return l->document(l->ctx, text, err);
    return l->reject && err->code == HEFT_MALFORMED ? reject_line(l, err) : fail_line(l, err);
}

bool heft_json_lines_put(struct heft_json_lines *l, size_t n, struct heft_error *err)
{
    size_t begin = 0, seen = l->n;

    l->n += n;
    while (begin < l->n) {
        uint8_t *end = memchr(l->text + seen, '\n', l->n - seen);
        const size_t stop = end ? (size_t)(end - l->text) : l->n;

        if (!end && n > 0)
            break;
        if (!take_line(l, l->text + begin, stop - begin, l->offset + begin, err))
            return false;
        begin = seen = end ? stop + 1 : stop;
    }
    memmove(l->text, l->text + begin, l->n - begin);
    l->n -= begin;
    l->offset += begin;
    return true;
}

void heft_json_lines_release(struct heft_json_lines *l)
{
    heft_free(l->text);
}
