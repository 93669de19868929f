/* json.c: the pull parser of json.h, a state machine. The state says what may come next:
 *
 *     VALUE ─ scalar ──────────────► DONE, AFTER_ITEM or AFTER_MEMBER, by the container
 *       ├──── [ ─► FIRST_ITEM ─ ] ─► …   AFTER_ITEM ─ , ─► a value
 *       └──── { ─► FIRST_KEY  ─ } ─► …   AFTER_MEMBER ─ , ─► key : ─► VALUE
 *
 * A key is returned together with its colon. The kind of each open container takes one bit, so that
 * nesting needs no memory.
 *
 * Headers consist mostly of strings (tensor names), so strings are scanned eight bytes at a time. A
 * string without a backslash is borrowed from the text; others are decoded into the arena. A
 * decoded string with its NUL is shorter than the string in the text, so that all of them together
 * take no more than the text, plus the unused ends of arena pieces.
 *
 * A text in a source is read through a window. A token that is cut by the window's end is read
 * again from its begin, after the window has been moved or enlarged:
 *
 *     ……text……[ read │ at → the token that is cu]t…………
 *             │        └──── to the front ─────┘ and more of the source after it */
#include "wire/json.h"

#include "base/endian.h"
#include "base/hex.h"
#include "base/text.h"

#define SPARE_PIECE 4096

#define EACH_BYTE(b) (UINT64_C(0x0101010101010101) * (b))

void heft_json_begin(struct heft_json *json, struct heft_bytes data, uint64_t base,
                     struct heft_arena *arena, struct heft_error *err)
{
    *json = (struct heft_json){.data = data,
                               .base = base,
                               .arena = arena,
                               .err = err,
                               .expect = HEFT_JSON_VALUE,
                               .after = HEFT_JSON_DONE,
                               .deepest = HEFT_JSON_DEPTH};
}

/* ---- failing ---- */

/* The caller has filled err; all later calls return an error. */
static enum heft_json_token give_up(struct heft_json *json)
{
    json->expect = HEFT_JSON_FAILED;
    json->cut = false;
    json->low = 0;
    return HEFT_JSON_ERROR;
}

static enum heft_json_token fail_at(struct heft_json *json, enum heft_code code, size_t at,
                                    const char *text)
{
    heft_fail(json->err, code, json->base + at, "JSON: %s", text);
    return give_up(json);
}

/* Reports an unexpected byte at `at`; sets `cut` instead if the byte is not in the window yet. */
static enum heft_json_token report_unexpected(struct heft_json *json, size_t at,
                                              const char *expected)
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

/* Doubles the window, but not beyond the rest of the text. */
static bool enlarge_window(struct heft_json *json, size_t kept)
{
    const size_t cap = (size_t)heft_min_u64(2 * (uint64_t)json->cap, kept + json->left);
    uint8_t *const window = heft_realloc(json->window, cap + HEFT_JSON_PAD, json->err);

    if (!window)
        return false;
    json->window = window;
    json->cap = cap;
    return true;
}

/* Moves the unread bytes to the front and reads on. At least half of the window is new, so that the
 * cost of moving is proportional to the text. */
static bool refill_window(struct heft_json *json)
{
    const size_t kept = json->data.n - json->at;
    size_t more;

    if (kept)
        memmove(json->window, json->data.p + json->at, kept);
    json->base += json->at;
    json->at = 0;
    json->data.n = kept;
    if (kept > json->cap / 2 && !enlarge_window(json, kept))
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
    return json->window && refill_window(json);
}

void heft_json_close(struct heft_json *json)
{
    heft_free(json->window);
    json->window = NULL;
}

/* True if a form that only Python's json module accepts is accepted here: in skipped values, or in
 * all. */
static bool is_let_pass(const struct heft_json *json)
{
    return json->as_python && (json->skipping || json->wholly);
}

/* ---- containers ---- */

static enum heft_json_token open_container(struct heft_json *json, bool object)
{
    const uint32_t top = json->depth;
    const uint8_t bit = (uint8_t)(1U << (top & 7));

    if (top == json->deepest)
        return fail_at(json, HEFT_LIMIT, json->at,
                       top == HEFT_JSON_DEPTH ? "nested deeper than 127 levels"
                                              : "nested deeper than 1000 levels");
    if (object)
        json->in_object[top >> 3] |= bit;
    else
        json->in_object[top >> 3] &= (uint8_t)~bit;
    json->depth++;
    json->at++;
    json->after = object ? HEFT_JSON_AFTER_MEMBER : HEFT_JSON_AFTER_ITEM;
    json->expect = object ? HEFT_JSON_FIRST_KEY : HEFT_JSON_FIRST_ITEM;
    return object ? HEFT_JSON_OBJECT : HEFT_JSON_ARRAY;
}

static inline enum heft_json_token close_container(struct heft_json *json,
                                                   enum heft_json_token token)
{
    heft_json_close_container(json);
    return token;
}

/* ---- strings ---- */

/* The high bits of bytes below `limit`, which is at most 0x80 (SWAR). A borrow can set wrong bits,
 * but only above a correct one: the result is zero if no byte is below, and the lowest bit is
 * correct. */
HEFT_WRAPS static inline uint64_t marks_below(uint64_t word, uint8_t limit)
{
    return (word - EACH_BYTE(limit)) & ~word & EACH_BYTE(0x80);
}

/* Number of bytes before the first quote, backslash or control character; n if there is none. Bytes
 * above the quote need only one test. The high bits of *seen are set if any of the bytes is not
 * ASCII. */
HEFT_WRAPS static inline size_t plain_run(const uint8_t *p, size_t n, uint64_t *seen)
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
        below = (marks & (~marks + 1)) - 1; /* all bits set if there is no mark */
        *seen |= word & below;
        /* the bits below the lowest mark are 8k + 7: summing one of them in each byte gives k +
         * 1 */
        if (marks)
            return at + (size_t)((((below & EACH_BYTE(1)) * EACH_BYTE(1)) >> 56) - 1);
    }
    for (; at < n && p[at] != '"' && p[at] != '\\' && p[at] >= 0x20; at++)
        *seen |= p[at];
    return at;
}

/* Parses four hexadecimal digits at `at`; an error names the byte that is not a digit. */
static bool hex4(struct heft_json *json, size_t at, uint32_t *out)
{
    uint32_t value = 0;

    for (size_t i = at; i < at + 4; i++) {
        const unsigned digit = heft_hex_digit(i < json->data.n ? json->data.p[i] : 0);

        if (digit == HEFT_NO_HEX)
            return report_unexpected(json, i, "a hexadecimal digit") != HEFT_JSON_ERROR;
        value = value << 4 | digit;
    }
    *out = value;
    return true;
}

/* Decodes \uXXXX at *at, or a surrogate pair of two. */
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
        return fail_at(json, HEFT_MALFORMED, begin, "a lone surrogate") != HEFT_JSON_ERROR;
    *n += heft_utf8_put(dst + *n, c);
    return true;
}

/* Decodes the escape at *at and appends it to dst[*n]. */
static bool decode_escape(struct heft_json *json, size_t *at, char *dst, size_t *n)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const uint8_t c = json->data.p[*at + 1];
    const char *found = c ? strchr(from, c) : NULL;

    if (c == 'u')
        return unicode_escape(json, at, dst, n);
    if (!found)
        return report_unexpected(json, *at + 1, "one of \"\\/bfnrtu after a backslash") !=
               HEFT_JSON_ERROR;
    dst[(*n)++] = to[found - from];
    *at += 2;
    return true;
}

/* Finds the closing quote of the string whose first special byte is at `at`. False if there is
 * none, or if a control character precedes it. */
static bool find_quote(struct heft_json *json, size_t at, size_t *end)
{
    const struct heft_bytes data = json->data;
    uint64_t seen = 0;

    while (at < data.n && data.p[at] == '\\') {
        at += data.n - at < 2 ? 1 : 2; /* an escaped character never ends the string */
        at += plain_run(data.p + at, data.n - at, &seen);
    }
    if (at >= data.n)
        return report_unexpected(json, at, "the end of a string") != HEFT_JSON_ERROR;
    if (data.p[at] != '"')
        return fail_at(json, HEFT_MALFORMED, at, "control character in a string") !=
               HEFT_JSON_ERROR;
    *end = at;
    return true;
}

/* Memory for the decoded form of the string at `begin`, which has n bytes in the text, and a
 * NUL. */
static char *decoding_room(struct heft_json *json, size_t begin, size_t n)
{
    const size_t need = n + 1 > SPARE_PIECE ? n + 1 : SPARE_PIECE;

    if (json->in_place)
        return (char *)(uintptr_t)(json->data.p + begin); /* the caller allows its text to be
                                                             overwritten */
    if (json->spare_n > n)
        return json->spare;
    json->spare = heft_arena_alloc(json->arena, need, json->err);
    json->spare_n = json->spare ? need : 0;
    return json->spare;
}

/* Text in a window has not been validated before. */
static bool check_utf8(struct heft_json *json, size_t begin, size_t end)
{
    const size_t valid = heft_utf8_check((struct heft_bytes){json->data.p + begin, end - begin});

    return valid == end - begin ||
           fail_at(json, HEFT_MALFORMED, begin + valid, "string is not UTF-8") != HEFT_JSON_ERROR;
}

/* Reads a string with escapes, or an incomplete one: it begins at `begin`, its first special byte
 * is at `at`. In skipped text each escape is decoded only to check it. */
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
        if (at < end && !decode_escape(json, &at, dst, &n))
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

/* Reads the string whose opening quote is the next byte, of any kind. */
static bool any_string(struct heft_json *json)
{
    const size_t begin = json->at + 1;
    const uint8_t *const p = json->data.p + begin;
    uint64_t seen = 0;
    const size_t run = plain_run(p, json->data.n - begin, &seen);

    if (begin + run >= json->data.n || p[run] != '"')
        return slow_string(json, begin, begin + run);
    if ((seen & EACH_BYTE(0x80)) && json->src && !check_utf8(json, begin, begin + run))
        return false;
    json->text = (struct heft_str){(const char *)p, run};
    json->at = begin + run + 1;
    return true;
}

/* Number of bytes before the first quote, backslash, control character or non-ASCII byte; n if no
 * whole word has one. Borrows as in marks_below. */
HEFT_WRAPS static inline size_t ascii_run(const uint8_t *p, size_t n)
{
    for (size_t at = 0; n - at >= 8; at += 8) {
        const uint64_t word = heft_le64(p + at);
        const uint64_t slash = (word ^ EACH_BYTE('\\')) - EACH_BYTE(1);
        uint64_t odd = word | (word - EACH_BYTE('"' + 1)) | slash;

        if (HEFT_LIKELY((odd & EACH_BYTE(0x80)) == 0))
            continue; /* it has no blank or exclamation mark either, which need one more test */
        odd = word | (word - EACH_BYTE(0x20)) | slash | ((word ^ EACH_BYTE('"')) - EACH_BYTE(1));
        if (odd & EACH_BYTE(0x80))
            return at + heft_lowest_bit(odd & EACH_BYTE(0x80)) / 8;
    }
    return n;
}

/* ---- uncommon tokens ----
 *
 * The functions any_… read the tokens that the short functions without this prefix do not handle.
 * They are called last, so that a common token needs no stack frame, and end with `retry`. */

static enum heft_json_token next_token(struct heft_json *json);

/* Reads a token that was cut by the window's end again from its begin, after a refill. The
 * recursion is shallow: the window doubles at every second level. */
static enum heft_json_token retry_if_cut(struct heft_json *json, enum heft_json_token token)
{
    if (!json->cut)
        return token;
    json->at = json->begun;
    json->expect = json->begun_as;
    return refill_window(json) ? next_token(json) : give_up(json);
}

static HEFT_NOINLINE enum heft_json_token retry_unexpected(struct heft_json *json,
                                                           const char *expected)
{
    return retry_if_cut(json, report_unexpected(json, json->at, expected));
}

static HEFT_NOINLINE enum heft_json_token any_string_value(struct heft_json *json)
{
    if (!any_string(json))
        return retry_if_cut(json, HEFT_JSON_ERROR);
    json->expect = json->after;
    return HEFT_JSON_STRING;
}

static HEFT_NOINLINE enum heft_json_token read_string(struct heft_json *json)
{
    const size_t begin = json->at + 1, n = json->data.n - begin;
    const uint8_t *const p = json->data.p + begin;
    const size_t run = ascii_run(p, n);

    if (HEFT_UNLIKELY(run == n || p[run] != '"'))
        return any_string_value(json);
    json->text = (struct heft_str){(const char *)p, run};
    json->at = begin + run + 1;
    json->expect = json->after;
    return HEFT_JSON_STRING;
}

/* ---- numbers ---- */

static inline bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* Skips digits; *value is their value, saturated. */
static size_t skip_digits(const struct heft_json *json, size_t at, uint64_t *value, bool *fits)
{
    const struct heft_bytes data = json->data;

    *fits = true;
    *value = 0;
    for (; at < data.n && is_digit(data.p[at]); at++)
        *fits = *fits && heft_mul(*value, 10, value) &&
                heft_add(*value, (uint64_t)(data.p[at] - '0'), value);
    if (!*fits)
        *value = UINT64_MAX;
    return at;
}

/* True if the number in p[0, n) with this exponent is below 1.7976931348623158e308, so that it is a
 * finite double for every reader. Compares digits only; nothing is converted. */
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

/* Parses the exponent at `at`, if there is one: *end is its end, *value its value, saturated. */
static bool read_exponent(struct heft_json *json, size_t at, size_t *end, int64_t *value)
{
    const struct heft_bytes data = json->data;
    const int64_t most = INT64_C(1) << 40; /* larger than the number of digits that any text has
                                              to balance it */
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
        return report_unexpected(json, at, "a digit of the exponent") != HEFT_JSON_ERROR;
    *value = size > (uint64_t)most ? most : (int64_t)size;
    if (minus)
        *value = -*value;
    return true;
}

static enum heft_json_token read_literal(struct heft_json *json, const char *word,
                                         enum heft_json_token token)
{
    for (size_t i = 0; word[i]; i++) {
        const size_t at = json->at + i;

        if (at >= json->data.n || json->data.p[at] != (uint8_t)word[i])
            return report_unexpected(json, at, word);
    }
    json->at += strlen(word);
    json->expect = json->after;
    return token;
}

/* Skips the fraction at *at, if there is one. */
static bool skip_fraction(struct heft_json *json, size_t *at)
{
    const size_t begin = *at + 1;
    uint64_t value;
    bool fits;

    if (*at >= json->data.n || json->data.p[*at] != '.')
        return true;
    *at = skip_digits(json, begin, &value, &fits);
    return *at > begin || report_unexpected(json, begin, "a digit") != HEFT_JSON_ERROR;
}

/* Reads the number at the next byte, of any kind. */
static enum heft_json_token general_number(struct heft_json *json)
{
    const struct heft_bytes data = json->data;
    const size_t begin = json->at, first = begin + (data.p[begin] == '-');
    size_t at = first + 1, end, whole;
    int64_t power;
    bool fits = true;

    json->integer = 0; /* no digit may follow a leading zero */
    if (first >= data.n || data.p[first] != '0')
        at = skip_digits(json, first, &json->integer, &fits);
    if (at == first && first < data.n && data.p[first] == 'I' && is_let_pass(json))
        return read_literal(json, "-Infinity", HEFT_JSON_NUMBER);
    if (at == first)
        return report_unexpected(json, first, "a digit");
    whole = at;
    if (!skip_fraction(json, &at) || !read_exponent(json, at, &end, &power))
        return HEFT_JSON_ERROR;
    if (end == data.n && json->left > 0)
        return report_unexpected(json, end, "the end of a number");
    json->is_integer = fits && first == begin && end == whole;
    if (!json->is_integer && !fits_double(data.p + begin, end - begin, power) && !is_let_pass(json))
        return fail_at(json, HEFT_MALFORMED, begin, "number out of range");
    json->text = (struct heft_str){(const char *)data.p + begin, end - begin};
    json->at = end;
    json->expect = json->after;
    return HEFT_JSON_NUMBER;
}

static HEFT_NOINLINE enum heft_json_token any_number(struct heft_json *json)
{
    return retry_if_cut(json, general_number(json));
}

#define SURE_DIGITS 19 /* so many digits are always below 2^64 */

/* Reads a whole number of at most SURE_DIGITS digits, the first of which is `digit`. More digits may
 * overflow, and are read once more by any_number. */
HEFT_WRAPS static HEFT_NOINLINE enum heft_json_token read_number(struct heft_json *json, int digit)
{
    const uint8_t *const begin = json->data.p + json->at, *p = begin;
    const uint8_t *const end = json->data.p + json->data.n;
    uint64_t v = (uint64_t)(digit - '0');

    while (++p < end && is_digit(*p))
        v = v * 10 + (uint64_t)(*p - '0');
    if (HEFT_UNLIKELY(p - begin > SURE_DIGITS || p == end || *p == '.' || (*p | 0x20) == 'e' ||
                      (digit == '0' && p - begin > 1)))
        return any_number(json);
    json->integer = v;
    json->is_integer = true;
    json->text = (struct heft_str){(const char *)begin, (size_t)(p - begin)};
    json->at += json->text.n;
    json->expect = json->after;
    return HEFT_JSON_NUMBER;
}

/* ---- the machine ---- */

/* Skips white space and returns the byte after it, or -1 at the end. */
static int skip_space(struct heft_json *json)
{
    const uint8_t *p = json->data.p;
    size_t at = json->at;

    while (at < json->data.n && (p[at] == ' ' || p[at] == '\n' || p[at] == '\r' || p[at] == '\t'))
        at++;
    json->at = at;
    return at < json->data.n ? p[at] : -1;
}

/* The next byte that is not white space, or -1 at the end. */
static inline int peek_byte(struct heft_json *json)
{
    const size_t at = json->at;

    if (HEFT_LIKELY(at < json->data.n && json->data.p[at] > ' '))
        return json->data.p[at];
    return skip_space(json);
}

static enum heft_json_token read_word(struct heft_json *json, int c)
{
    if (c == 't')
        return read_literal(json, "true", HEFT_JSON_TRUE);
    if (c == 'f')
        return read_literal(json, "false", HEFT_JSON_FALSE);
    if (c == 'n')
        return read_literal(json, "null", HEFT_JSON_NULL);
    if ((c == 'N' || c == 'I') && is_let_pass(json))
        return read_literal(json, c == 'N' ? "NaN" : "Infinity", HEFT_JSON_NUMBER);
    return report_unexpected(json, json->at, "a value");
}

/* Reads a negative number or a literal that begins with c. */
static HEFT_NOINLINE enum heft_json_token any_value(struct heft_json *json, int c)
{
    return c == '-' ? any_number(json) : retry_if_cut(json, read_word(json, c));
}

/* Reads the value that begins with c. */
static inline enum heft_json_token read_value(struct heft_json *json, int c)
{
    json->where = json->base + json->at;
    if (c >= '0' && c <= '9')
        return read_number(json, c);
    if (c == '"')
        return read_string(json);
    if (c == '{' || c == '[')
        return open_container(json, c == '{');
    return any_value(json, c);
}

static HEFT_NOINLINE enum heft_json_token any_key(struct heft_json *json)
{
    if (!any_string(json))
        return retry_if_cut(json, HEFT_JSON_ERROR);
    if (peek_byte(json) != ':')
        return retry_unexpected(json, "':'");
    json->at++;
    json->expect = HEFT_JSON_VALUE;
    return HEFT_JSON_KEY;
}

/* Reads the key that begins with c, and its colon. */
static HEFT_NOINLINE enum heft_json_token read_key(struct heft_json *json, int c)
{
    const size_t begin = json->at + 1;
    const uint8_t *p;
    size_t n, run;

    json->where = json->base + json->at;
    if (HEFT_UNLIKELY(c != '"'))
        return retry_unexpected(json,
                                json->expect == HEFT_JSON_FIRST_KEY ? "a key or '}'" : "a key");
    p = json->data.p + begin;
    n = json->data.n - begin;
    run = ascii_run(p, n);
    if (HEFT_UNLIKELY(n - run < 2 || p[run] != '"' || p[run + 1] != ':'))
        return any_key(json);
    json->text = (struct heft_str){(const char *)p, run};
    json->at = begin + run + 2;
    json->expect = HEFT_JSON_VALUE;
    return HEFT_JSON_KEY;
}

/* After the value that is the whole text. */
static HEFT_NOINLINE enum heft_json_token after_all(struct heft_json *json, int c)
{
    if (json->expect == HEFT_JSON_FAILED)
        return HEFT_JSON_ERROR;
    json->where = json->base + json->at;
    return c < 0 && json->left == 0 ? HEFT_JSON_END : retry_unexpected(json, "the end of the text");
}

/* Reads the token at the next byte that is not white space. */
static enum heft_json_token next_token(struct heft_json *json)
{
    const uint8_t expect = json->expect;
    int c = peek_byte(json);

    json->begun = json->at; /* after the white space, which alone never enlarges the window */
    json->begun_as = expect;
    switch (expect) {
    case HEFT_JSON_AFTER_MEMBER:
        if (c == '}')
            return close_container(json, HEFT_JSON_OBJECT_END);
        if (c != ',')
            return retry_unexpected(json, "',' or '}'");
        json->at++;
        return read_key(json, peek_byte(json));
    case HEFT_JSON_FIRST_KEY:
        return c == '}' ? close_container(json, HEFT_JSON_OBJECT_END) : read_key(json, c);
    case HEFT_JSON_AFTER_ITEM:
        if (c == ']')
            return close_container(json, HEFT_JSON_ARRAY_END);
        if (c != ',')
            return retry_unexpected(json, "',' or ']'");
        json->at++;
        return read_value(json, peek_byte(json));
    case HEFT_JSON_FIRST_ITEM:
        return c == ']' ? close_container(json, HEFT_JSON_ARRAY_END) : read_value(json, c);
    case HEFT_JSON_VALUE:
        return read_value(json, c);
    default:
        return after_all(json, c);
    }
}

enum heft_json_token heft_json_next(struct heft_json *json)
{
    if (HEFT_UNLIKELY(json->data.n - json->at < json->low) && !refill_window(json))
        return give_up(json);
    return next_token(json);
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
