/* json.c: the pull parser of json.h.
 *
 * One state says what may come next:
 *
 *     VALUE ─ scalar ──────────────► DONE, AFTER_ITEM or AFTER_MEMBER, by the container
 *       ├──── [ ─► FIRST_ITEM ─ ] ─► …   AFTER_ITEM ─ , ─► a value
 *       └──── { ─► FIRST_KEY  ─ } ─► …   AFTER_MEMBER ─ , ─► key : ─► VALUE
 *
 * A key is handed out together with its colon. The kinds of the open containers are one bit each,
 * so nesting costs no memory.
 *
 * Headers are mostly strings (tensor names), so strings are scanned eight bytes at a time. A string
 * without a backslash is lent as it stands; others are decoded into pieces of the arena. A decoded
 * string and its NUL are shorter than the string as written, so all of them together never take
 * more than the text plus what is wasted at the end of a piece.
 *
 * A text that is read through a window is parsed the same way. A token that meets the window's end
 * before its own is marked as cut, and read again when the window has been moved or enlarged:
 *
 *     ……text……[ read │ at → the token that is cu]t…………
 *             │        └──── to the front ─────┘ and more of the source behind it */
#include "wire/json.h"

#include "base/endian.h"
#include "base/text.h"

enum expect { FAILED, VALUE, FIRST_ITEM, FIRST_KEY, AFTER_ITEM, AFTER_MEMBER, DONE };

#define SPARE_PIECE 4096

#define EACH_BYTE(b) (UINT64_C(0x0101010101010101) * (b))

void heft_json_begin(struct heft_json *json, struct heft_bytes data, uint64_t base,
                     struct heft_arena *arena, struct heft_error *err)
{
    *json = (struct heft_json){.data = data,
                               .base = base,
                               .arena = arena,
                               .err = err,
                               .expect = VALUE,
                               .deepest = HEFT_JSON_DEPTH};
}

const char *heft_json_token_name(enum heft_json_token token)
{
    static const char *const names[] = {
        [HEFT_JSON_ERROR] = "an error",
        [HEFT_JSON_OBJECT] = "an object",
        [HEFT_JSON_OBJECT_END] = "the end of an object",
        [HEFT_JSON_ARRAY] = "an array",
        [HEFT_JSON_ARRAY_END] = "the end of an array",
        [HEFT_JSON_KEY] = "a key",
        [HEFT_JSON_STRING] = "a string",
        [HEFT_JSON_NUMBER] = "a number",
        [HEFT_JSON_TRUE] = "true",
        [HEFT_JSON_FALSE] = "false",
        [HEFT_JSON_NULL] = "null",
        [HEFT_JSON_END] = "the end of the text",
    };

    return (size_t)token < HEFT_COUNT(names) ? names[token] : "?";
}

/* ---- failing ---- */

bool heft_json_refuse(const struct heft_json *json, enum heft_json_token found, const char *what,
                      const char *allowed)
{
    if (found == HEFT_JSON_ERROR)
        return false;
    return heft_fail(json->err, HEFT_MALFORMED, json->where, "%s is %s, must be %s", what,
                     heft_json_token_name(found), allowed);
}

/* err is filled; nothing is read from now on. */
static enum heft_json_token give_up(struct heft_json *json)
{
    json->expect = FAILED;
    json->cut = false;
    json->low = 0;
    return HEFT_JSON_ERROR;
}

static enum heft_json_token failed(struct heft_json *json, enum heft_code code, size_t at,
                                   const char *text)
{
    heft_fail(json->err, code, json->base + at, "JSON: %s", text);
    return give_up(json);
}

/* The byte at `at` is not what may stand there, or not in the window yet. */
static enum heft_json_token wrong(struct heft_json *json, size_t at, const char *expected)
{
    const uint64_t offset = json->base + at;
    const uint8_t byte = at < json->data.n ? json->data.p[at] : 0;

    if (at >= json->data.n && json->left > 0) {
        json->cut = true;
        return HEFT_JSON_ERROR;
    }
    if (at >= json->data.n)
        heft_fail(json->err, HEFT_MALFORMED, offset, "JSON: text ends where %s was expected",
                  expected);
    else if (byte > ' ' && byte < 0x7f)
        heft_fail(json->err, HEFT_MALFORMED, offset, "JSON: found '%c' where %s was expected", byte,
                  expected);
    else
        heft_fail(json->err, HEFT_MALFORMED, offset,
                  "JSON: found byte 0x%02x where %s was expected", byte, expected);
    return give_up(json);
}

/* ---- the window ---- */

/* Doubles the window, or makes it as large as what is left. */
static bool enlarge(struct heft_json *json, size_t kept)
{
    const size_t cap = (size_t)heft_min_u64(2 * (uint64_t)json->cap, kept + json->left);
    uint8_t *const window = heft_realloc(json->window, cap + HEFT_JSON_PAD, json->err);

    if (!window)
        return false;
    json->window = window;
    json->cap = cap;
    return true;
}

/* Drops what has been read and continues the rest. At least half of the window gets new bytes, so
 * that moving stays in proportion to reading. */
static bool refill(struct heft_json *json)
{
    const size_t kept = json->data.n - json->at;
    size_t more;

    if (kept)
        memmove(json->window, json->data.p + json->at, kept);
    json->base += json->at;
    json->at = 0;
    json->data.n = kept;
    if (kept > json->cap / 2 && !enlarge(json, kept))
        return false;
    more = (size_t)heft_min_u64(json->cap - kept, json->left);
    if (!heft_source_read(json->src, json->base + kept, json->window + kept, more, json->err))
        return false;
    json->left -= more;
    json->cut = false;
    json->low = json->left ? json->cap / 16 : 0;
    json->data = (struct heft_bytes){json->window, kept + more};
    memset(json->window + kept + more, 0, HEFT_JSON_PAD);
    return true;
}

bool heft_json_open(struct heft_json *json, const struct heft_source *src, uint64_t off, uint64_t n,
                    size_t window, struct heft_arena *arena, struct heft_error *err)
{
    heft_json_begin(json, (struct heft_bytes){NULL, 0}, off, arena, err);
    json->src = src;
    json->left = n;
    json->cap = (size_t)heft_min_u64(n, window);
    json->low = 1;
    json->window = heft_alloc(json->cap + HEFT_JSON_PAD, err);
    return json->window && refill(json);
}

void heft_json_close(struct heft_json *json)
{
    heft_free(json->window);
    json->window = NULL;
}

/* A form that only Python's module takes is taken where the value is not wanted, or wanted in any form. */
static bool is_let_pass(const struct heft_json *json)
{
    return json->as_python && (json->skipping || json->wholly);
}

/* ---- containers ---- */

/* What may come after a whole value: that depends on the container it stands in. */
static uint8_t after_value(const struct heft_json *json)
{
    const uint32_t top = json->depth - 1;

    if (json->depth == 0)
        return DONE;
    return json->in_object[top >> 3] >> (top & 7) & 1 ? AFTER_MEMBER : AFTER_ITEM;
}

static enum heft_json_token open_container(struct heft_json *json, bool object)
{
    const uint32_t top = json->depth;
    const uint8_t bit = (uint8_t)(1U << (top & 7));

    if (top == json->deepest)
        return failed(json, HEFT_LIMIT, json->at,
                      top == HEFT_JSON_DEPTH ? "nested deeper than 127 levels"
                                             : "nested deeper than 1000 levels");
    if (object)
        json->in_object[top >> 3] |= bit;
    else
        json->in_object[top >> 3] &= (uint8_t)~bit;
    json->depth++;
    json->at++;
    json->expect = object ? FIRST_KEY : FIRST_ITEM;
    return object ? HEFT_JSON_OBJECT : HEFT_JSON_ARRAY;
}

static enum heft_json_token close_container(struct heft_json *json, enum heft_json_token token)
{
    json->where = json->base + json->at;
    json->at++;
    json->depth--;
    json->expect = after_value(json);
    return token;
}

/* ---- strings ---- */

/* The high bits of the bytes below `limit`, which is at most 0x80. A borrow can mark bytes wrongly,
 * but only above a right one: none is marked where there is none, and the lowest mark is right. */
static inline uint64_t marks_below(uint64_t word, uint8_t limit)
{
    return (word - EACH_BYTE(limit)) & ~word & EACH_BYTE(0x80);
}

/* How many bytes stand before the first quote, backslash or control character; n if there is none.
 * Most words have nothing up to the quote in the alphabet, which one test tells. The high bits of
 * *seen tell whether any of the bytes is beyond ASCII. */
static inline size_t plain_run(const uint8_t *p, size_t n, uint64_t *seen)
{
    size_t at = 0;

    for (; n - at >= 8; at += 8) {
        const uint64_t word = heft_le64(p + at);
        const uint64_t slash = marks_below(word ^ EACH_BYTE('\\'), 1);
        uint64_t marks, below;

        if (HEFT_LIKELY((marks_below(word, '"' + 1) | slash) == 0)) {
            *seen |= word;
            continue;
        }
        marks = marks_below(word ^ EACH_BYTE('"'), 1) | slash | marks_below(word, 0x20);
        below = (marks & (~marks + 1)) - 1; /* all bits, where there is no mark */
        *seen |= word & below;
        /* The bits below the lowest mark are 8k + 7: one of them in each byte counts to k + 1. */
        if (marks)
            return at + (size_t)((((below & EACH_BYTE(1)) * EACH_BYTE(1)) >> 56) - 1);
    }
    for (; at < n && p[at] != '"' && p[at] != '\\' && p[at] >= 0x20; at++)
        *seen |= p[at];
    return at;
}

/* The value of four hexadecimal digits at `at`; false points at the one that is none. */
static bool hex4(struct heft_json *json, size_t at, uint32_t *out)
{
    uint32_t value = 0;

    for (size_t i = at; i < at + 4; i++) {
        const uint8_t c = i < json->data.n ? json->data.p[i] : 0;
        uint32_t digit;

        if (c >= '0' && c <= '9')
            digit = c - (uint32_t)'0';
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            digit = (c | 0x20U) - (uint32_t)'a' + 10;
        else
            return wrong(json, i, "a hexadecimal digit") != HEFT_JSON_ERROR;
        value = value << 4 | digit;
    }
    *out = value;
    return true;
}

/* \uXXXX at *at, a pair of them beyond the basic plane. */
static bool unicode_escape(struct heft_json *json, size_t *at, char *dst, size_t *n)
{
    const uint8_t *p = json->data.p;
    const size_t begin = *at;
    uint32_t c, low = 0;

    if (!hex4(json, begin + 2, &c))
        return false;
    *at = begin + 6;
    if (c >= 0xd800 && c < 0xdc00 && json->data.n - *at >= 2 && p[*at] == '\\' &&
        p[*at + 1] == 'u') {
        if (!hex4(json, *at + 2, &low))
            return false;
        *at += 6;
    }
    if (low >= 0xdc00 && low < 0xe000)
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    else if ((low || (c >= 0xd800 && c < 0xe000)) && !is_let_pass(json))
        return failed(json, HEFT_MALFORMED, begin, "half of a surrogate pair") != HEFT_JSON_ERROR;
    *n += heft_utf8_put(dst + *n, c);
    return true;
}

/* The escape at *at, decoded behind dst[*n]. */
static bool escape(struct heft_json *json, size_t *at, char *dst, size_t *n)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const uint8_t c = json->data.p[*at + 1];
    const char *found = c ? strchr(from, c) : NULL;

    if (c == 'u')
        return unicode_escape(json, at, dst, n);
    if (!found)
        return wrong(json, *at + 1, "one of \"\\/bfnrtu after a backslash") != HEFT_JSON_ERROR;
    dst[(*n)++] = to[found - from];
    *at += 2;
    return true;
}

/* The closing quote of the string whose first special byte is at `at`; false: there is none, or a
 * control character stands before it. */
static bool find_quote(struct heft_json *json, size_t at, size_t *end)
{
    const struct heft_bytes data = json->data;
    uint64_t seen = 0;

    while (at < data.n && data.p[at] == '\\') {
        at += data.n - at < 2 ? 1 : 2; /* whatever is escaped, it does not end the string */
        at += plain_run(data.p + at, data.n - at, &seen);
    }
    if (at >= data.n)
        return wrong(json, at, "the end of a string") != HEFT_JSON_ERROR;
    if (data.p[at] != '"')
        return failed(json, HEFT_MALFORMED, at, "control character in a string") != HEFT_JSON_ERROR;
    *end = at;
    return true;
}

/* Room for the decoded bytes of the string at `begin`, which is n as written, and a NUL. */
static char *decoding_room(struct heft_json *json, size_t begin, size_t n)
{
    const size_t need = n + 1 > SPARE_PIECE ? n + 1 : SPARE_PIECE;

    if (json->in_place)
        return (char *)(uintptr_t)(json->data.p + begin); /* the caller's, who lets it be written */
    if (json->spare_n > n)
        return json->spare;
    json->spare = heft_arena_alloc(json->arena, need, json->err);
    json->spare_n = json->spare ? need : 0;
    return json->spare;
}

/* Text in a window has not been looked at by anyone before. */
static bool check_utf8(struct heft_json *json, size_t begin, size_t end)
{
    const size_t valid = heft_utf8_check((struct heft_bytes){json->data.p + begin, end - begin});

    return valid == end - begin ||
           failed(json, HEFT_MALFORMED, begin + valid, "string is not UTF-8") != HEFT_JSON_ERROR;
}

/* The string that begins at `begin` and has its first special byte at `at`. Where text is thrown
 * away, one escape at a time is decoded, to check it. */
static bool slow_string(struct heft_json *json, size_t begin, size_t at)
{
    const uint8_t *p = json->data.p;
    const bool keep = !json->skipping;
    char scratch[8], *dst = scratch;
    size_t end = 0, n = 0;
    uint64_t seen = 0;

    if (!find_quote(json, at, &end) || (json->src && !check_utf8(json, begin, end)))
        return false;
    if (keep)
        dst = decoding_room(json, begin, end - begin);
    if (!dst)
        return give_up(json) != HEFT_JSON_ERROR;
    for (at = begin; at < end;) {
        const size_t run = plain_run(p + at, end - at, &seen);

        if (keep)
            memmove(dst + n, p + at, run);
        n = keep ? n + run : 0;
        at += run;
        if (at < end && !escape(json, &at, dst, &n))
            return false;
    }
    json->at = end + 1;
    json->text = (struct heft_str){NULL, 0};
    if (keep) {
        dst[n] = '\0';
        json->text = (struct heft_str){dst, n};
    }
    if (keep && !json->in_place) {
        json->spare += n + 1;
        json->spare_n -= n + 1;
    }
    return true;
}

/* The string that begins at `begin`, of whatever kind. */
static bool any_string(struct heft_json *json, size_t begin)
{
    const uint8_t *p = json->data.p;
    uint64_t seen = 0;
    const size_t at = begin + plain_run(p + begin, json->data.n - begin, &seen);

    if (at >= json->data.n || p[at] != '"')
        return slow_string(json, begin, at);
    if ((seen & EACH_BYTE(0x80)) && json->src && !check_utf8(json, begin, at))
        return false;
    json->text = (struct heft_str){(const char *)p + begin, at - begin};
    json->at = at + 1;
    return true;
}

/* Some high bit of a byte is set where one is a backslash, a control character or beyond ASCII. A
 * borrow can mark bytes wrongly, but none where there is none to mark. */
static inline uint64_t odd_bytes(uint64_t word)
{
    return word | (word - EACH_BYTE(0x20)) | ((word ^ EACH_BYTE('\\')) - EACH_BYTE(1));
}

/* How many bytes stand before the quote that ends a string of eight bytes or more with nothing odd
 * in it. 0: it may be any other. */
static inline size_t usual_string(const uint8_t *p, size_t n)
{
    const uint8_t *const quote = memchr(p, '"', n);
    const size_t run = quote ? (size_t)(quote - p) : 0;
    uint64_t odd;

    if (run < 8)
        return 0;
    odd = odd_bytes(heft_le64(quote - 8));
    for (size_t at = 0; at + 8 < run; at += 8)
        odd |= odd_bytes(heft_le64(p + at));
    return odd & EACH_BYTE(0x80) ? 0 : run;
}

/* The string whose opening quote is the next byte. */
static inline bool string(struct heft_json *json)
{
    const size_t begin = json->at + 1;
    const uint8_t *const p = json->data.p + begin;
    const size_t run = usual_string(p, json->data.n - begin);

    if (run == 0)
        return any_string(json, begin);
    json->text = (struct heft_str){(const char *)p, run};
    json->at = begin + run + 1;
    return true;
}

/* ---- numbers ---- */

static inline bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* Skips digits; their value in *value, saturated. */
static size_t skip_digits(const struct heft_json *json, size_t at, uint64_t *value, bool *fits)
{
    const struct heft_bytes data = json->data;
    uint64_t v = 0;

    *fits = true;
    for (; at < data.n && is_digit(data.p[at]); at++) {
        const uint64_t digit = (uint64_t)data.p[at] - '0';

        if (v >= UINT64_MAX / 10 && (v > UINT64_MAX / 10 || digit > UINT64_MAX % 10))
            *fits = false;
        v = v * 10 + digit;
    }
    *value = *fits ? v : UINT64_MAX;
    return at;
}

/* Whether the number written in p[0, n) with this exponent is below 1.7976931348623158e308, so that
 * every reader can have it as a finite double. Only a comparison: nothing is converted. */
static bool fits_double(const uint8_t *p, size_t n, int64_t exponent)
{
    static const char limit[] = "17976931348623158";
    char lead[sizeof limit - 1];
    int64_t place = exponent - 1; /* power of ten of the first digit that is not 0 */
    size_t kept = 0;
    bool point = false;

    memset(lead, '0', sizeof lead);
    for (size_t i = 0; i < n && (p[i] | 0x20) != 'e'; i++) {
        if (!is_digit(p[i])) {
            point |= p[i] == '.';
        } else if (kept == 0 && p[i] == '0') {
            place -= point;
        } else {
            place += !point;
            if (kept < sizeof lead)
                lead[kept++] = (char)p[i];
        }
    }
    if (kept == 0 || place != 308)
        return kept == 0 || place < 308;
    return memcmp(lead, limit, sizeof lead) < 0;
}

/* The exponent at `at`, if there is one: its end in *end, its value, saturated, in *value. */
static bool exponent(struct heft_json *json, size_t at, size_t *end, int64_t *value)
{
    const struct heft_bytes data = json->data;
    const int64_t most = INT64_C(1) << 40; /* more than any text has digits to balance it */
    uint64_t size = 0;
    bool fits, minus = false;

    *end = at;
    *value = 0;
    if (at >= data.n || (data.p[at] | 0x20) != 'e')
        return true;
    at++;
    if (at < data.n && (data.p[at] == '+' || data.p[at] == '-'))
        minus = data.p[at++] == '-';
    *end = skip_digits(json, at, &size, &fits);
    if (*end == at)
        return wrong(json, at, "a digit of the exponent") != HEFT_JSON_ERROR;
    *value = size > (uint64_t)most ? most : (int64_t)size;
    if (minus)
        *value = -*value;
    return true;
}

static enum heft_json_token literal(struct heft_json *json, const char *word,
                                    enum heft_json_token token)
{
    for (size_t i = 0; word[i]; i++) {
        const size_t at = json->at + i;

        if (at >= json->data.n || json->data.p[at] != (uint8_t)word[i])
            return wrong(json, at, word);
    }
    json->at += strlen(word);
    json->expect = after_value(json);
    return token;
}

/* The number whose first byte is the next one. */
static enum heft_json_token number(struct heft_json *json)
{
    const struct heft_bytes data = json->data;
    const size_t begin = json->at;
    const bool minus = data.p[begin] == '-';
    size_t at = begin + minus, end;
    uint64_t fraction;
    int64_t power;
    bool fits, plain;

    end = at + 1;
    if (at < data.n && data.p[at] != '0')
        end = skip_digits(json, at, &json->integer, &fits);
    else
        json->integer = 0, fits = true; /* a zero stands alone */
    if (end == at && data.p[at] == 'I' && is_let_pass(json))
        return literal(json, "-Infinity", HEFT_JSON_NUMBER);
    if (end == at || at >= data.n)
        return wrong(json, at, "a digit");
    plain = fits && !minus;
    at = end;
    if (at < data.n && data.p[at] == '.') {
        plain = false;
        end = skip_digits(json, at + 1, &fraction, &fits);
        if (end == at + 1)
            return wrong(json, end, "a digit");
        at = end;
    }
    if (!exponent(json, at, &end, &power))
        return HEFT_JSON_ERROR;
    if (HEFT_UNLIKELY(end == data.n && json->left > 0))
        return wrong(json, end, "the end of a number");
    json->is_integer = plain && end == at;
    if (!json->is_integer && !fits_double(data.p + begin, end - begin, power) && !is_let_pass(json))
        return failed(json, HEFT_MALFORMED, begin, "number out of range");
    json->text = (struct heft_str){(const char *)data.p + begin, end - begin};
    json->at = end;
    return HEFT_JSON_NUMBER;
}

bool heft_json_u64(const struct heft_json *json, uint64_t *out)
{
    if (!json->is_integer)
        return false;
    *out = json->integer;
    return true;
}

/* ---- the machine ---- */

/* The next byte that is not white space, or -1 at the end. */
static inline int peek(struct heft_json *json)
{
    const uint8_t *p = json->data.p;
    size_t at = json->at;

    while (at < json->data.n && (p[at] == ' ' || p[at] == '\n' || p[at] == '\r' || p[at] == '\t'))
        at++;
    json->at = at;
    return at < json->data.n ? p[at] : -1;
}

/* A value begins with c. */
static inline enum heft_json_token value(struct heft_json *json, int c)
{
    enum heft_json_token token;

    json->where = json->base + json->at;
    switch (c) {
    case '{':
        return open_container(json, true);
    case '[':
        return open_container(json, false);
    case '"':
        token = string(json) ? HEFT_JSON_STRING : HEFT_JSON_ERROR;
        break;
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
        token = number(json);
        break;
    case 't':
        return literal(json, "true", HEFT_JSON_TRUE);
    case 'f':
        return literal(json, "false", HEFT_JSON_FALSE);
    case 'n':
        return literal(json, "null", HEFT_JSON_NULL);
    case 'N':
    case 'I':
        if (is_let_pass(json))
            return literal(json, c == 'N' ? "NaN" : "Infinity", HEFT_JSON_NUMBER);
        return wrong(json, json->at, "a value");
    default:
        return wrong(json, json->at, "a value");
    }
    if (token != HEFT_JSON_ERROR)
        json->expect = after_value(json);
    return token;
}

/* A key begins with c; its colon is taken along. */
static inline enum heft_json_token key(struct heft_json *json, int c)
{
    json->where = json->base + json->at;
    if (c != '"')
        return wrong(json, json->at, "a key");
    if (!string(json))
        return HEFT_JSON_ERROR;
    if (peek(json) != ':')
        return wrong(json, json->at, "':'");
    json->at++;
    json->expect = VALUE;
    return HEFT_JSON_KEY;
}

/* The token that begins with c. */
static inline enum heft_json_token next_token(struct heft_json *json, int c)
{
    switch (json->expect) {
    case VALUE:
        return value(json, c);
    case FIRST_ITEM:
        return c == ']' ? close_container(json, HEFT_JSON_ARRAY_END) : value(json, c);
    case AFTER_ITEM:
        if (c == ']')
            return close_container(json, HEFT_JSON_ARRAY_END);
        if (c != ',')
            return wrong(json, json->at, "',' or ']'");
        json->at++;
        return value(json, peek(json));
    case FIRST_KEY:
        if (c == '}')
            return close_container(json, HEFT_JSON_OBJECT_END);
        return c == '"' ? key(json, c) : wrong(json, json->at, "a key or '}'");
    case AFTER_MEMBER:
        if (c == '}')
            return close_container(json, HEFT_JSON_OBJECT_END);
        if (c != ',')
            return wrong(json, json->at, "',' or '}'");
        json->at++;
        return key(json, peek(json));
    case DONE:
        json->where = json->base + json->at;
        return c < 0 && json->left == 0 ? HEFT_JSON_END
                                        : wrong(json, json->at, "the end of the text");
    default:
        return HEFT_JSON_ERROR;
    }
}

/* A further member's key as most writers put it, ,"some.name": and all of it in the window. False,
 * with nothing read, where it is anything else. */
static inline bool usual_key(struct heft_json *json)
{
    const size_t n = json->data.n - json->at;
    const uint8_t *const p = json->data.p + json->at;
    size_t run;

    if (json->expect != AFTER_MEMBER || n < json->low || n < 4 || p[0] != ',' || p[1] != '"')
        return false;
    run = usual_string(p + 2, n - 2);
    if (run == 0 || n - run < 4 || p[run + 3] != ':')
        return false;
    json->where = json->base + json->at + 1;
    json->text = (struct heft_str){(const char *)p + 2, run};
    json->at += run + 4;
    json->expect = VALUE;
    return true;
}

enum heft_json_token heft_json_next(struct heft_json *json)
{
    enum heft_json_token token;

    if (usual_key(json))
        return HEFT_JSON_KEY;
    do {
        uint8_t expect;
        size_t at;
        int c;

        if (HEFT_UNLIKELY(json->data.n - json->at < json->low || json->cut) && !refill(json))
            return give_up(json);
        c = peek(json); /* in front of `at`: white space alone never enlarges the window */
        at = json->at;
        expect = json->expect;
        token = next_token(json, c);
        if (HEFT_UNLIKELY(json->cut)) {
            json->at = at;
            json->expect = expect;
        }
    } while (HEFT_UNLIKELY(json->cut));
    return token;
}

void heft_json_passed(struct heft_json *json, size_t n)
{
    json->where = json->base + json->at;
    json->at += n;
    json->expect = after_value(json);
}

bool heft_json_skip(struct heft_json *json)
{
    const uint32_t depth = json->depth;
    enum heft_json_token token;

    json->skipping = true;
    do
        token = heft_json_next(json);
    while (token != HEFT_JSON_ERROR && json->depth > depth);
    json->skipping = false;
    return token != HEFT_JSON_ERROR;
}
