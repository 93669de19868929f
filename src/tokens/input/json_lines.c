/* json_lines.c: lines of JSON objects; extracts one string of each. */
#include "tokens/input/json_lines.h"

#include <stdio.h>

#include "base/hex.h"
#include "wire/json.h"

#define READ    ((size_t)256 << 10)
#define LONGEST ((size_t)64 << 20) /* limit of a line */

uint64_t heft_json_lines_number(struct heft_json_lines *l)
{
    if (l->count_before)
        l->before = l->count_before(l->ctx);
    l->count_before = NULL;
    return l->line + l->before;
}

bool heft_json_lines_room(struct heft_json_lines *l, uint8_t **to, size_t *room,
                          struct heft_error *err)
{
    if (l->n > LONGEST)
        return heft_fail(err, HEFT_LIMIT, l->offset, "line %" PRIu64 " is longer than 64 MiB",
                         heft_json_lines_number(l) + 1);
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

static bool fail_line(struct heft_json_lines *l, struct heft_error *err)
{
    char number[24];
    const int n = snprintf(number, sizeof number, "%" PRIu64, heft_json_lines_number(l));

    return heft_error_about(err, "line", (struct heft_str){number, (size_t)n});
}

/* Returns the first byte of the next value; 0 at the end. */
static uint8_t next_byte(const struct heft_json *json)
{
    const uint8_t *p = json->data.p + json->at, *const end = json->data.p + json->data.n;

    while (p < end && (*p == ' ' || *p == '\t' || *p == '\r'))
        p++;
    return p < end ? *p : 0;
}

/* Value of a key. */
struct found {
    bool is_there;
    struct heft_str text;
    struct heft_json odd; /* if text.p is NULL: position of a value that is not a string */
};

/* Takes the value of the key just read. A value that is not a string is skipped, since the key may
 * occur again. */
static bool take_value(struct heft_json *json, struct found *found)
{
    found->is_there = true;
    if (next_byte(json) == '"') {
        if (heft_json_next(json) != HEFT_JSON_STRING)
            return false;
        found->text = json->text;
        return true;
    }
    found->odd = *json;
    found->text = (struct heft_str){NULL, 0};
    return heft_json_skip(json);
}

static bool refuse_value(struct heft_json *odd, struct heft_error *err)
{
    const enum heft_json_token token = heft_json_next(odd);

    return token != HEFT_JSON_ERROR &&
           heft_fail(err, HEFT_MALFORMED, odd->where, "%s; expected a string",
                     heft_json_token_name(token));
}

/* Position in a key "a.b.c", as deep as the objects that have been entered. */
struct key_path {
    struct heft_str key, part; /* part: component at this depth */
    size_t depth;
};

static bool is_last(const struct key_path *path)
{
    return path->part.p + path->part.n == path->key.p + path->key.n;
}

static void enter_part(struct key_path *path)
{
    const char *p = path->depth++ ? path->part.p + path->part.n + 1 : path->key.p;
    const size_t n = (size_t)(path->key.p + path->key.n - p);
    const char *dot = n > 0 ? memchr(p, '.', n) : NULL;

    path->part = (struct heft_str){p, dot ? (size_t)(dot - p) : n};
}

static void leave_part(struct key_path *path)
{
    const size_t depth = path->depth - 1;

    path->depth = 0;
    while (path->depth < depth)
        enter_part(path);
}

/* Takes what follows a key: the string, an object on the way to it, or nothing. */
static bool take_member(struct heft_json *json, struct key_path *path, struct found *whole,
                        struct found *nested)
{
    if (path->depth == 1 && !is_last(path) && heft_str_eq(json->text, path->key))
        return take_value(json, whole);
    if (!heft_str_eq(json->text, path->part))
        return heft_json_skip(json);
    if (is_last(path))
        return take_value(json, nested);
    nested->is_there = false; /* the last object of this name counts */
    if (next_byte(json) != '{')
        return heft_json_skip(json);
    enter_part(path);
    return heft_json_next(json) == HEFT_JSON_OBJECT;
}

/* Finds the string; the last occurrence of a key counts, as in Python. A key of the whole name
 * precedes a path. */
static bool find_text(struct heft_json_lines *l, struct heft_json *json, struct heft_str *text,
                      struct heft_error *err)
{
    enum heft_json_token token = heft_json_next(json);
    struct key_path path = {.key = l->key};
    struct found whole, nested, *found;

    if (token == HEFT_JSON_ERROR)
        return false;
    if (token != HEFT_JSON_OBJECT)
        return heft_fail(err, HEFT_MALFORMED, json->where, "%s; expected an object",
                         heft_json_token_name(token));
    whole.is_there = nested.is_there = false;
    for (enter_part(&path); path.depth > 0;) {
        token = heft_json_next(json);
        if (token == HEFT_JSON_OBJECT_END)
            leave_part(&path);
        else if (token != HEFT_JSON_KEY || !take_member(json, &path, &whole, &nested))
            return false;
    }
    if (heft_json_next(json) != HEFT_JSON_END)
        return false;
    found = whole.is_there ? &whole : &nested;
    if (!found->is_there)
        return heft_fail(err, HEFT_MALFORMED, l->at, "no key \"%.*s\"", (int)l->key.n, l->key.p);
    *text = found->text;
    return text->p || refuse_value(&found->odd, err);
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
