/* pickle_text.c: opcodes of protocol 0, whose value is a line of text that ends at '\n'.
 *
 *     INT     [+-]digits | [+-]0x…    "00" and "01" are False and True
 *     LONG    the same, with an optional L after it
 *     FLOAT   decimal, inf, nan
 *     STRING  'quoted', with Python's \-escapes: bytes of a Python 2 string
 *     UNICODE latin-1 with \uXXXX and \UXXXXXXXX
 *     PUT, GET a memo index in decimal
 *
 * The grammar is validated before anything is converted: no spaces, no underscores, no octal. A
 * lenient run accepts what CPython accepts (pickle_lenient.c). */
#include "base/hex.h"
#include "base/text.h"
#include "wire/decimal.h"
#include "wire/pickle_machine.h"

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static bool bad_line(struct heft_pickle_machine *m, struct heft_bytes line, const char *what)
{
    const bool cut = line.n > 40;

    if (m->err->code == HEFT_NOMEM) /* a lenient attempt ran out of memory */
        return false;
    return heft_pickle_fail(m, HEFT_MALFORMED, "\"%.*s\"%s is no %s", cut ? 40 : (int)line.n,
                            line.n ? (const char *)line.p : "", cut ? " …" : "", what);
}

/* ---- integers -------------------------------------------------------------------------------- */

/* for a line of HEFT_PICKLE_LINE hexadecimal digits, and a sign */
#define LIMBS (HEFT_PICKLE_LINE / 8 + 2)

struct big {
    uint32_t limb[LIMBS]; /* little-endian */
    size_t n;
};

static void big_mul_add(struct big *big, uint32_t factor, uint32_t carry)
{
    for (size_t i = 0; i < big->n; i++) {
        const uint64_t v = (uint64_t)big->limb[i] * factor + carry;

        big->limb[i] = (uint32_t)v;
        carry = (uint32_t)(v >> 32);
    }
    if (carry)
        big->limb[big->n++] = carry; /* has room: a limb holds 8 hexadecimal or 9 decimal digits */
}

/* digits have been validated; base is 10 or 16. */
static void big_parse(struct big *big, struct heft_bytes digits, unsigned base)
{
    const size_t group = base == 10 ? 9 : 7;
    size_t i = 0;

    big->n = 0;
    while (i < digits.n) {
        uint32_t factor = 1, value = 0;

        for (size_t k = 0; k < group && i < digits.n; k++, i++) {
            factor *= base;
            value = value * base + heft_hex_digit(digits.p[i]);
        }
        big_mul_add(big, factor, value);
    }
}

/* Stores the number as little-endian two's complement in the arena. */
static bool new_big(struct heft_pickle_machine *m, const struct big *big, bool negative)
{
    const size_t n = big->n * 4 + 1;
    uint8_t *bytes = heft_arena_alloc(m->arena, n, m->err);
    unsigned carry = 1;

    if (!bytes)
        return false;
    for (size_t i = 0; i < n - 1; i++)
        bytes[i] = (uint8_t)(big->limb[i / 4] >> (i % 4 * 8));
    bytes[n - 1] = 0;
    for (size_t i = 0; negative && i < n; i++) {
        const unsigned v = (uint8_t)~bytes[i] + carry;

        bytes[i] = (uint8_t)v;
        carry = v >> 8;
    }
    return heft_pickle_new_long(m, (struct heft_bytes){bytes, n});
}

/* Removes sign and "0x" from the line; false if the rest is not a number. */
static bool split_integer(struct heft_bytes *line, bool *negative, unsigned *base)
{
    struct heft_bytes d = *line;

    *base = 10;
    *negative = d.n && d.p[0] == '-';
    if (d.n && (d.p[0] == '-' || d.p[0] == '+'))
        d = (struct heft_bytes){d.p + 1, d.n - 1};
    if (d.n > 2 && d.p[0] == '0' && (d.p[1] == 'x' || d.p[1] == 'X')) {
        d = (struct heft_bytes){d.p + 2, d.n - 2};
        *base = 16;
    }
    if (d.n == 0 || (*base == 10 && d.n > 1 && d.p[0] == '0'))
        return false;
    for (size_t i = 0; i < d.n; i++)
        if (heft_hex_digit(d.p[i]) >= *base)
            return false;
    *line = d;
    return true;
}

static bool new_integer(struct heft_pickle_machine *m, struct heft_bytes line)
{
    struct heft_bytes digits = line;
    struct big big;
    unsigned base;
    bool negative;

    if (!split_integer(&digits, &negative, &base)) {
        if (!m->limits.lenient || !heft_pickle_lenient_integer(m, &line))
            return bad_line(m, line, "integer");
        digits = line;
        if (!split_integer(&digits, &negative, &base))
            return bad_line(m, line, "integer");
    }
    if (digits.n > HEFT_PICKLE_LINE) /* lenient: no import depends on its value */
        return heft_pickle_new_text(m, HEFT_PICKLE_BIGINT, digits);
    if (digits.n <= 15) { /* below 2^60 in either base */
        int64_t value = 0;

        for (size_t i = 0; i < digits.n; i++)
            value = value * base + heft_hex_digit(digits.p[i]);
        return heft_pickle_new_int(m, negative ? -value : value);
    }
    big_parse(&big, digits, base);
    return new_big(m, &big, negative);
}

bool heft_pickle_op_int_line(struct heft_pickle_machine *m)
{
    struct heft_pickle_node *node;

    if (m->text.n != 2 || m->text.p[0] != '0' || (m->text.p[1] != '0' && m->text.p[1] != '1'))
        return new_integer(m, m->text);
    node = heft_pickle_new(m, HEFT_PICKLE_BOOL);
    if (!node)
        return false;
    node->u.integer = m->text.p[1] - '0';
    return true;
}

bool heft_pickle_op_long_line(struct heft_pickle_machine *m)
{
    struct heft_bytes line = m->text;

    if (line.n > 1 && line.p[line.n - 1] == 'L')
        line.n--;
    return new_integer(m, line);
}

/* ---- memo indexes ---------------------------------------------------------------------------- */

/* False if it does not fit into 32 bits. */
static bool plain_index(struct heft_bytes line, uint64_t *value)
{
    bool good = line.n > 0 && line.n <= 10;

    *value = 0;
    for (size_t i = 0; good && i < line.n; i++) {
        good = is_digit(line.p[i]);
        *value = *value * 10 + (line.p[i] & 15U);
    }
    return good && *value <= UINT32_MAX;
}

/* *large: the index, which is then in *line, does not fit into 32 bits. */
static bool memo_index(struct heft_pickle_machine *m, struct heft_bytes *line, bool *large)
{
    *line = m->text;
    *large = false;
    if (plain_index(*line, &m->number)) /* as in the binary opcodes */
        return true;
    if (!m->limits.lenient || !heft_pickle_lenient_index(m, line))
        return bad_line(m, m->text, "memo index (0 to 4294967295)");
    *large = !plain_index(*line, &m->number);
    return true;
}

bool heft_pickle_op_put_line(struct heft_pickle_machine *m)
{
    struct heft_bytes line;
    bool large;

    return memo_index(m, &line, &large) &&
           (large ? heft_pickle_put_large(m, line) : heft_pickle_memo_set(m, (uint32_t)m->number));
}

bool heft_pickle_op_get_line(struct heft_pickle_machine *m)
{
    struct heft_bytes line;
    bool large;

    return memo_index(m, &line, &large) &&
           (large ? heft_pickle_get_large(m, line) : heft_pickle_memo_get(m, (uint32_t)m->number));
}

/* ---- floats ---------------------------------------------------------------------------------- */

static bool is_word(struct heft_bytes text, const char *word)
{
    if (text.n != strlen(word))
        return false;
    for (size_t i = 0; i < text.n; i++)
        if ((text.p[i] | 0x20) != word[i])
            return false;
    return true;
}

static size_t digits_at(struct heft_bytes text, size_t at)
{
    size_t n = 0;

    while (at + n < text.n && is_digit(text.p[at + n]))
        n++;
    return n;
}

/* [+-] digits [. digits] [e [+-] digits], with a digit before or after the point; or inf, nan. */
static bool is_float(struct heft_bytes t)
{
    size_t at, n;

    if (t.n && (t.p[0] == '+' || t.p[0] == '-'))
        t = (struct heft_bytes){t.p + 1, t.n - 1};
    if (is_word(t, "inf") || is_word(t, "infinity") || is_word(t, "nan"))
        return true;
    at = n = digits_at(t, 0);
    if (at < t.n && t.p[at] == '.') {
        n += digits_at(t, at + 1);
        at = n + 1;
    }
    if (n == 0)
        return false;
    if (at < t.n && (t.p[at] | 0x20) == 'e') {
        at++;
        at += at < t.n && (t.p[at] == '+' || t.p[at] == '-');
        n = digits_at(t, at);
        at += n;
    }
    return n > 0 && at == t.n;
}

bool heft_pickle_op_float_line(struct heft_pickle_machine *m)
{
    struct heft_bytes line = m->text;
    struct heft_pickle_node *node;
    double value;
    bool infinite;

    if (!is_float(line) &&
        !(m->limits.lenient && heft_pickle_lenient_float(m, &line) && is_float(line)))
        return bad_line(m, m->text, "float");
    value = heft_decimal(line, false);
    infinite = value > 1.7976931348623157e308 || value < -1.7976931348623157e308;
    if (infinite && !m->limits.lenient && !memchr(m->text.p, 'n', m->text.n) &&
        !memchr(m->text.p, 'N', m->text.n))
        return bad_line(m, m->text, "float: it is out of range");
    node = heft_pickle_new(m, HEFT_PICKLE_FLOAT);
    if (!node)
        return false;
    node->u.number = value;
    return true;
}

/* ---- strings --------------------------------------------------------------------------------- */

/* Takes n hexadecimal digits at text[*at]; false if there are fewer. */
static bool take_hex(struct heft_bytes text, size_t *at, unsigned n, uint32_t *value)
{
    *value = 0;
    for (unsigned i = 0; i < n; i++) {
        const unsigned digit = *at < text.n ? heft_hex_digit(text.p[*at]) : HEFT_NO_HEX;

        if (digit == HEFT_NO_HEX)
            return false;
        *value = *value << 4 | digit;
        ++*at;
    }
    return true;
}

static bool bad_escape(struct heft_pickle_machine *m, size_t at, const char *what)
{
    return heft_pickle_fail(m, HEFT_MALFORMED, "bad escape at %zu of the line: %s", at, what);
}

/* The byte of a one-letter escape; 0 if there is none. */
static uint8_t letter_escape(uint8_t c)
{
    static const char letters[] = "abtnvfr\\'\"", bytes[] = "\a\b\t\n\v\f\r\\'\"";
    const char *p = c ? strchr(letters, c) : NULL;

    return p ? (uint8_t)bytes[p - letters] : 0;
}

static uint8_t take_octal(struct heft_bytes text, size_t *at)
{
    unsigned value = 0;

    for (int i = 0; i < 3 && *at < text.n && text.p[*at] >= '0' && text.p[*at] <= '7'; i++)
        value = value << 3 | (text.p[(*at)++] & 7U);
    return (uint8_t)value; /* \400 and above wrap, as they do in Python */
}

/* Decodes one escape, after its backslash. Appends at most 2 bytes. */
static bool take_escape(struct heft_pickle_machine *m, struct heft_bytes text, size_t *at,
                        uint8_t **out)
{
    const size_t begin = *at;
    const uint8_t c = text.p[*at];
    uint32_t value;

    if (c >= '0' && c <= '7') {
        *(*out)++ = take_octal(text, at);
        return true;
    }
    ++*at;
    if (c == 'x') {
        if (!take_hex(text, at, 2, &value))
            return bad_escape(m, begin, "\\x needs 2 hexadecimal digits");
        *(*out)++ = (uint8_t)value;
    } else if (letter_escape(c)) {
        *(*out)++ = letter_escape(c);
    } else { /* unknown escapes are kept as they are */
        *(*out)++ = '\\';
        *(*out)++ = c;
    }
    return true;
}

bool heft_pickle_op_string_line(struct heft_pickle_machine *m)
{
    struct heft_bytes text = m->text;
    uint8_t *out, *begin;

    if (text.n < 2 || text.p[0] != text.p[text.n - 1] || (text.p[0] != '\'' && text.p[0] != '"'))
        return bad_line(m, text, "quoted string");
    text = (struct heft_bytes){text.p + 1, text.n - 2};
    if (text.n == 0 || !memchr(text.p, '\\', text.n))
        return heft_pickle_new_text(m, HEFT_PICKLE_PY2STR, text);
    begin = out = heft_arena_alloc(m->arena, text.n, m->err); /* decoding never lengthens */
    if (!out)
        return false;
    for (size_t at = 0; at < text.n;) {
        const uint8_t c = text.p[at++];

        if (c != '\\')
            *out++ = c;
        else if (at == text.n)
            return bad_escape(m, at, "a backslash at the end");
        else if (!take_escape(m, text, &at, &out))
            return false;
    }
    return heft_pickle_new_text(m, HEFT_PICKLE_PY2STR,
                                (struct heft_bytes){begin, (size_t)(out - begin)});
}

/* Decodes the byte or escape at text[*at]; NULL if invalid. */
static uint8_t *put_raw_unicode(struct heft_pickle_machine *m, size_t *at, uint8_t *out)
{
    const struct heft_bytes text = m->text;
    const uint8_t c = text.p[(*at)++];
    const uint8_t next = c == '\\' && *at < text.n ? text.p[*at] : 0;
    const size_t begin = *at;
    uint32_t value;

    if (next != 'u' && next != 'U') {
        out += heft_utf8_put((char *)out, c);
        if (next) /* the second of two backslashes begins no escape */
            out += heft_utf8_put((char *)out, text.p[(*at)++]);
        return out;
    }
    ++*at;
    if (!take_hex(text, at, next == 'u' ? 4 : 8, &value)) {
        bad_escape(m, begin, "\\u needs 4 hexadecimal digits, \\U 8");
        return NULL;
    }
    if (value > 0x10FFFF) {
        bad_escape(m, begin, "beyond \\U0010ffff");
        return NULL;
    }
    return out + heft_utf8_put((char *)out, value); /* surrogates are encoded as by
                                                       "surrogatepass" */
}

static bool is_plain(struct heft_bytes text)
{
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] >= 0x80 || text.p[i] == '\\')
            return false;
    return true;
}

bool heft_pickle_op_unicode_line(struct heft_pickle_machine *m)
{
    uint8_t *begin, *out;

    if (is_plain(m->text))
        return heft_pickle_new_text(m, HEFT_PICKLE_STR, m->text);
    /* A latin-1 byte becomes two bytes; decoding an escape never lengthens. limits.text is below
     * 2^31. */
    begin = out = heft_arena_alloc(m->arena, m->text.n * 2, m->err);
    if (!out)
        return false;
    for (size_t at = 0; out && at < m->text.n;)
        out = put_raw_unicode(m, &at, out);
    return out && heft_pickle_new_text(m, HEFT_PICKLE_STR,
                                       (struct heft_bytes){begin, (size_t)(out - begin)});
}
