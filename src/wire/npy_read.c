/* npy_read.c: parses the header of a NumPy file (layout in npy.h).
 *
 *     header  { key : value , … }                  a comma may follow the last value
 *     key     'descr' 'fortran_order' 'shape'      in any order, each once
 *     descr   a text, or brackets with texts and numbers
 *     order   True False
 *     shape   ( ) ( 3 , ) ( 3 , 4 )                numbers: 2 +2 -0 2L 0x2 1_000
 *     text    '…' "…" u'…' r'…' with escapes; adjacent texts are joined
 *
 * White space and comments may stand between tokens, as in Python, and any value may be in
 * brackets: ('<f4') is '<f4'. \N{NAME}, which Python accepts and nothing writes, is refused. */
#include "base/endian.h"
#include "base/hex.h"
#include "base/text.h"
#include "wire/npy.h"

#define MAGIC "\x93NUMPY"
#define SHORT 10 /* bytes before the text: magic, version, u16; 12 with a u32 */
#define DEEP  64 /* nesting of brackets */
#define ROOM  64 /* bytes of a text that are kept; of longer texts only the length is counted */

enum token { END, OPEN, CLOSE, COMMA, COLON, TEXT, NUMBER, WORD, BAD };

static const char *const token_names[] = {"its end",  "a bracket", "a closing bracket",
                                          "a comma",  "a colon",   "a text",
                                          "a number", "a word",    "something else"};

struct reader {
    const uint8_t *p;
    size_t n, at;
    uint64_t base; /* file offset of p */
    bool has_long; /* numbers may end in L (Python 2) */
    bool is_named; /* \N{ was found */
    struct heft_error *err;
    /* The last token: */
    size_t where;
    char bracket;
    bool is_true, is_negative;
    uint64_t number;
    char text[ROOM];
    size_t length;
};

/* ---- tokens ---------------------------------------------------------------------------------- */

static char peek_byte(const struct reader *r)
{
    return r->at < r->n ? (char)r->p[r->at] : '\0';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void skip_space(struct reader *r)
{
    while (r->at < r->n) {
        const uint8_t c = r->p[r->at];

        if (c == '#')
            while (r->at < r->n && r->p[r->at] != '\n')
                r->at++;
        else if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f')
            r->at++;
        else if (c == '\\' && r->n - r->at > 1 && r->p[r->at + 1] == '\n')
            r->at += 2;
        else
            return;
    }
}

static void keep_character(struct reader *r, uint32_t character)
{
    if (r->length < ROOM)
        r->text[r->length] =
            character < 0x80 ? (char)character : '\x7f'; /* not part of any type code */
    r->length++;
}

/* Takes up to `most` digits; returns their number. */
static unsigned take_digits(struct reader *r, unsigned radix, unsigned most, uint32_t *value)
{
    unsigned n = 0;

    *value = 0;
    while (n < most && r->at < r->n && heft_hex_digit((uint8_t)peek_byte(r)) < radix) {
        *value = *value * radix + heft_hex_digit((uint8_t)peek_byte(r));
        r->at++;
        n++;
    }
    return n;
}

/* Decodes the escape after a backslash. */
static bool take_escape(struct reader *r)
{
    static const char plain[] = "\\'\"abfnrtv", meant[] = "\\'\"\a\b\f\n\r\t\v";
    const char c = peek_byte(r);
    const char *known = c ? memchr(plain, c, sizeof plain - 1) : NULL;
    const unsigned wide = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    uint32_t value;

    if (heft_hex_digit((uint8_t)c) < 8) {
        take_digits(r, 8, 3, &value);
        keep_character(r, value);
        return true;
    }
    r->at++;
    if (wide) {
        if (take_digits(r, 16, wide, &value) != wide)
            return false;
        keep_character(r, value);
        return true;
    }
    if (known) {
        keep_character(r, (uint8_t)meant[known - plain]);
    } else if (c != '\n') {
        keep_character(r, '\\');
        keep_character(r, (uint8_t)c);
    }
    r->is_named = c == 'N' && peek_byte(r) == '{';
    return c != '\0' && c != 'N';
}

/* True if a text begins here; *prefix is the length of its prefix. */
static bool begins_text(const struct reader *r, size_t *prefix)
{
    const char c = peek_byte(r);

    *prefix = c == 'u' || c == 'U' || c == 'r' || c == 'R';
    if (r->at + *prefix >= r->n)
        return false;
    return r->p[r->at + *prefix] == '\'' || r->p[r->at + *prefix] == '"';
}

static bool take_quoted(struct reader *r, size_t prefix)
{
    const bool is_raw = prefix && (peek_byte(r) == 'r' || peek_byte(r) == 'R');
    const uint8_t quote = r->p[r->at + prefix];

    r->at += prefix + 1;
    while (r->at < r->n && r->p[r->at] != quote) {
        const uint8_t c = r->p[r->at++];

        if (c == '\n' || c == 0)
            return false;
        if (c != '\\') {
            keep_character(r, c);
        } else if (is_raw) {
            keep_character(r, c);
            if (r->at < r->n)
                keep_character(r, r->p[r->at++]);
        } else if (!take_escape(r)) {
            return false;
        }
    }
    return r->at++ < r->n;
}

static enum token take_text(struct reader *r)
{
    size_t prefix;

    r->length = 0;
    while (begins_text(r, &prefix)) {
        if (!take_quoted(r, prefix))
            return BAD;
        skip_space(r);
    }
    return TEXT;
}

static bool take_radix(struct reader *r, unsigned *radix)
{
    const char second = r->n - r->at > 1 ? (char)r->p[r->at + 1] : '\0';

    *radix = 10;
    if (peek_byte(r) != '0' || !second || !memchr("xXoObB", second, 6))
        return true;
    *radix = second == 'x' || second == 'X' ? 16 : second == 'o' || second == 'O' ? 8 : 2;
    r->at += 2;
    if (peek_byte(r) == '_')
        r->at++;
    return heft_hex_digit((uint8_t)peek_byte(r)) < *radix;
}

/* Numbers beyond 64 bits saturate. */
static enum token take_number(struct reader *r)
{
    const size_t begin = r->at;
    unsigned radix;

    r->number = 0;
    if (!take_radix(r, &radix))
        return BAD;
    while (heft_hex_digit((uint8_t)peek_byte(r)) < radix) {
        if (!heft_mul(r->number, radix, &r->number) ||
            !heft_add(r->number, heft_hex_digit((uint8_t)peek_byte(r)), &r->number))
            r->number = UINT64_MAX;
        r->at++;
        if (peek_byte(r) == '_' && r->n - r->at > 1 && heft_hex_digit(r->p[r->at + 1]) < radix)
            r->at++;
    }
    if (radix == 10 && r->p[begin] == '0' && r->number > 0)
        return BAD; /* a leading zero, as in 007, is a syntax error in Python */
    if (r->has_long && (peek_byte(r) == 'L' || peek_byte(r) == 'l'))
        r->at++;
    return is_letter(peek_byte(r)) || is_digit(peek_byte(r)) || peek_byte(r) == '.' ? BAD : NUMBER;
}

/* Takes one sign; with several signs Python reads an expression, which no writer uses. */
static enum token take_signed(struct reader *r)
{
    enum token token;

    r->is_negative = r->p[r->at++] == '-';
    skip_space(r);
    token = is_digit(peek_byte(r)) ? take_number(r) : BAD;
    r->is_negative = r->is_negative && r->number > 0;
    return token;
}

static enum token take_word(struct reader *r)
{
    const char *begin = (const char *)r->p + r->at;
    struct heft_str word = {begin, 0};

    while (is_letter(peek_byte(r)) || is_digit(peek_byte(r)))
        r->at++;
    word.n = (size_t)((const char *)r->p + r->at - begin);
    r->is_true = heft_str_is(word, "True");
    return r->is_true || heft_str_is(word, "False") || heft_str_is(word, "None") ? WORD : BAD;
}

static enum token next_token(struct reader *r)
{
    size_t prefix;

    skip_space(r);
    r->where = r->at;
    r->is_negative = false;
    if (r->at == r->n)
        return END;
    if (begins_text(r, &prefix))
        return take_text(r);
    if (is_digit(peek_byte(r)))
        return take_number(r);
    if (peek_byte(r) == '+' || peek_byte(r) == '-')
        return take_signed(r);
    if (is_letter(peek_byte(r)))
        return take_word(r);
    r->bracket = (char)r->p[r->at++];
    switch (r->bracket) {
    case '(':
    case '[':
    case '{':
        return OPEN;
    case ')':
    case ']':
    case '}':
        return CLOSE;
    case ',':
        return COMMA;
    case ':':
        return COLON;
    default:
        return BAD;
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

static uint64_t offset_of(const struct reader *r)
{
    return r->base == HEFT_NO_OFFSET ? HEFT_NO_OFFSET : r->base + r->where;
}

static bool refuse_token(const struct reader *r, enum token found, const char *what,
                         const char *allowed)
{
    if (found == BAD && r->is_named)
        return heft_fail(r->err, HEFT_UNSUPPORTED, offset_of(r),
                         "npy header: a character by its name, \\N{NAME}: the character itself is "
                         "read");
    return heft_fail(r->err, HEFT_MALFORMED, offset_of(r), "npy header: %s is %s, must be %s", what,
                     token_names[found], allowed);
}

static bool is_open(const struct reader *r, enum token token, char bracket)
{
    return token == OPEN && r->bracket == bracket;
}

static char closing_bracket(char open)
{
    return open == '(' ? ')' : open == '[' ? ']' : '}';
}

static bool is_close(const struct reader *r, enum token token, char bracket)
{
    return token == CLOSE && r->bracket == bracket;
}

static bool too_deep(const struct reader *r)
{
    return heft_fail(r->err, HEFT_LIMIT, offset_of(r),
                     "npy header: brackets are nested deeper than %d levels", DEEP);
}

/* Reads the next token inside redundant brackets; *around counts them. */
static bool next_within(struct reader *r, enum token *token, size_t *around)
{
    *around = 0;
    while (*token = next_token(r), is_open(r, *token, '('))
        if (++*around > DEEP)
            return too_deep(r);
    return true;
}

static bool end_around(struct reader *r, size_t around)
{
    for (; around > 0; around--) {
        const enum token token = next_token(r);

        if (!is_close(r, token, ')'))
            return refuse_token(r, token, "what follows a value in brackets", "the end of these");
    }
    return true;
}

/* State of an open bracket. */
struct level {
    char open;
    bool has_comma, has_value; /* has_value: a comma or a closing bracket must follow */
};

/* (v) is v, not a tuple with one item. */
static bool is_around(const struct level *level)
{
    return level->open == '(' && level->has_value && !level->has_comma;
}

/* Skips a structured type after its first bracket. *kind: OPEN, or the kind of a single value in
 * redundant brackets, which is the last token then; *begin, *end: range of the last text. */
static bool pass_brackets(struct reader *r, enum token *kind, size_t *begin, size_t *end)
{
    struct level levels[DEEP] = {{.open = r->bracket}};
    size_t depth = 1;

    while (depth > 0) {
        struct level *const top = &levels[depth - 1];
        const enum token token = next_token(r);

        if (token == OPEN && r->bracket != '{' && !top->has_value) {
            if (depth == DEEP)
                return too_deep(r);
            levels[depth++] = (struct level){.open = r->bracket};
        } else if (is_close(r, token, closing_bracket(top->open))) {
            *kind = is_around(top) ? *kind : OPEN;
            if (--depth > 0)
                levels[depth - 1].has_value = true;
        } else if (token == COMMA && top->has_value) {
            top->has_value = false;
            top->has_comma = true;
        } else if (!top->has_value && (token == TEXT || token == NUMBER || token == WORD)) {
            top->has_value = true;
            *kind = token;
            *begin = r->where;
            *end = r->at;
        } else {
            return refuse_token(r, token,
                                top->has_value || top->has_comma ? "a field"
                                                                 : "what a bracket begins with",
                                "a text, a number, or brackets of these");
        }
    }
    return true;
}

/* The text without its quotes. */
static struct heft_str shown_descr(const struct reader *r, size_t begin, size_t end, bool is_text)
{
    struct heft_str descr = {(const char *)r->p + begin, end - begin};

    while (descr.n && descr.p[descr.n - 1] == ' ')
        descr.n--;
    if (is_text && descr.n >= 2 && descr.p[0] == descr.p[descr.n - 1])
        descr = (struct heft_str){descr.p + 1, descr.n - 2};
    return descr;
}

static bool read_descr(struct reader *r, struct heft_npy *out)
{
    const enum token token = next_token(r);
    const size_t first = r->where;
    enum token kind = token;
    size_t begin = first, end = r->at;

    if ((is_open(r, token, '[') || is_open(r, token, '(')) &&
        !pass_brackets(r, &kind, &begin, &end))
        return false;
    if (kind == TEXT && r->length <= ROOM)
        out->type = heft_npy_type_of((struct heft_str){r->text, r->length});
    else if (kind == TEXT)
        out->type = (struct heft_npy_type){.kind = HEFT_NPY_UNKNOWN};
    else if (kind == OPEN && token == OPEN && r->p[first] != '{')
        out->type = (struct heft_npy_type){.kind = HEFT_NPY_RECORDS};
    else
        return refuse_token(r, kind, "descr", "a text, a list or a tuple");
    out->descr =
        kind == TEXT ? shown_descr(r, begin, end, true) : shown_descr(r, first, r->at, false);
    return true;
}

static bool read_order(struct reader *r, struct heft_npy *out)
{
    enum token token;
    size_t around;

    if (!next_within(r, &token, &around))
        return false;
    if (token != WORD || (!r->is_true && r->p[r->where] == 'N'))
        return refuse_token(r, token, "fortran_order", "True or False");
    out->is_fortran = r->is_true;
    return end_around(r, around);
}

static bool add_dimension(struct reader *r, struct heft_npy *out)
{
    if (out->rank == HEFT_NPY_RANK)
        return heft_fail(r->err, HEFT_LIMIT, offset_of(r),
                         "npy header: more than %d dimensions, which is the limit of NumPy",
                         HEFT_NPY_RANK);
    if (r->number > INT64_MAX)
        return heft_fail(r->err, HEFT_MALFORMED, offset_of(r),
                         "npy header: a dimension of 2^63 or more");
    out->shape[out->rank++] = r->number;
    return true;
}

/* Ends a bracket of a shape. *is_tuple: it was the tuple; the brackets around it may contain
 * nothing else. */
static bool end_level(struct reader *r, struct level *levels, size_t depth, bool *is_tuple)
{
    const struct level *top = &levels[depth - 1];

    if (r->bracket != ')' || (*is_tuple && top->has_comma) ||
        (depth > 1 && levels[depth - 2].has_comma && (*is_tuple || !is_around(top))))
        return refuse_token(r, CLOSE, "a dimension", "a whole number from 0 on, then a comma");
    *is_tuple = *is_tuple || !is_around(top);
    if (depth == 1)
        return *is_tuple || refuse_token(r, CLOSE, "what follows a dimension",
                                         "a comma: (3,) is a tuple, (3) is not");
    levels[depth - 2].has_value = true;
    return true;
}

static bool read_shape(struct reader *r, struct heft_npy *out)
{
    struct level levels[DEEP] = {{.open = '('}}, *top = levels;
    enum token token = next_token(r);
    bool is_tuple = false;
    size_t depth = 1;

    if (!is_open(r, token, '('))
        return refuse_token(r, token, "shape", "a tuple");
    for (out->rank = 0; depth > 0; top = &levels[depth - (depth > 0)]) {
        token = next_token(r);
        if (token == CLOSE) {
            if (!end_level(r, levels, depth--, &is_tuple))
                return false;
        } else if (token == COMMA && top->has_value && !is_tuple) {
            top->has_value = false;
            top->has_comma = true;
        } else if (is_open(r, token, '(') && !top->has_value && !is_tuple) {
            if (depth == DEEP)
                return too_deep(r);
            levels[depth++] = (struct level){.open = '('};
        } else if (token == NUMBER && !top->has_value && !r->is_negative && !is_tuple) {
            if (!add_dimension(r, out))
                return false;
            top->has_value = true;
        } else {
            return refuse_token(r, token, "a dimension", "a whole number from 0 on, then a comma");
        }
    }
    return true;
}

/* ---- the dictionary -------------------------------------------------------------------------- */

static const struct {
    const char *name;
    bool (*read)(struct reader *r, struct heft_npy *out);
} keys[] = {{"descr", read_descr}, {"fortran_order", read_order}, {"shape", read_shape}};

/* Reads the value and the rest of a pair whose key was in so many brackets. */
static bool read_pair(struct reader *r, struct heft_npy *out, size_t around, unsigned *seen)
{
    const struct heft_str key = {r->text, heft_min_size(r->length, ROOM)};
    enum token token;
    size_t i = 0;

    while (i < HEFT_COUNT(keys) && !heft_str_is(key, keys[i].name))
        i++;
    if (i == HEFT_COUNT(keys))
        return heft_fail(r->err, HEFT_MALFORMED, offset_of(r),
                         "npy header: key '%.*s', only descr, fortran_order and shape are allowed",
                         (int)key.n, key.p);
    out->repeats = out->repeats || *seen >> i & 1;
    *seen |= 1U << i;
    if (!end_around(r, around))
        return false;
    token = next_token(r);
    if (token != COLON)
        return refuse_token(r, token, "what follows a key", "a colon");
    return keys[i].read(r, out);
}

static bool read_pairs(struct reader *r, struct heft_npy *out, unsigned *seen)
{
    size_t outside, around;
    enum token token;

    if (!next_within(r, &token, &outside))
        return false;
    if (!is_open(r, token, '{'))
        return refuse_token(r, token, "what it begins with", "{, the begin of a dictionary");
    do {
        if (!next_within(r, &token, &around))
            return false;
        if (token != TEXT)
            break;
        if (!read_pair(r, out, around, seen))
            return false;
        around = 0;
        token = next_token(r);
    } while (token == COMMA);
    if (!is_close(r, token, '}') || around > 0)
        return refuse_token(r, token, "what follows", "a key, or } after the last value");
    if (!end_around(r, outside))
        return false;
    token = next_token(r);
    return token == END || refuse_token(r, token, "what follows the dictionary", "white space");
}

/* As in NumPy, only dimensions other than 0 are multiplied: empty arrays must not overflow
 * either. */
static bool measure_array(const struct reader *r, struct heft_npy *out)
{
    uint64_t all = 1, bytes;
    bool fits = true;

    out->count = 1;
    for (unsigned i = 0; i < out->rank; i++) {
        fits = fits && heft_mul(all, out->shape[i] ? out->shape[i] : 1, &all);
        out->count = out->shape[i] ? out->count : 0;
    }
    fits = fits && heft_mul(all, out->type.each ? out->type.each : 1, &bytes) && bytes <= INT64_MAX;
    if (!fits)
        return heft_fail(r->err, HEFT_MALFORMED, r->base,
                         "npy header: an array of 2^63 bytes or more");
    out->count = out->count ? all : 0;
    out->bytes = out->count * out->type.each;
    return true;
}

bool heft_npy_length(struct heft_bytes head, uint64_t base, size_t *length, struct heft_error *err)
{
    uint64_t n;

    if (head.n < SHORT || memcmp(head.p, MAGIC, sizeof MAGIC - 1) != 0)
        return heft_fail(err, HEFT_MALFORMED, base,
                         "not a NumPy array: expected \\x93NUMPY, a version and a length");
    if (head.p[6] < 1 || head.p[6] > 3 || head.p[7] != 0)
        return heft_fail(err, HEFT_UNSUPPORTED, base == HEFT_NO_OFFSET ? base : base + 6,
                         "npy version %u.%u; 1.0, 2.0 and 3.0 are known", head.p[6], head.p[7]);
    if (head.p[6] > 1 && head.n < HEFT_NPY_HEAD)
        return heft_fail(err, HEFT_MALFORMED, base,
                         "not a NumPy array: the file ends inside the length of its header");
    n = head.p[6] == 1 ? heft_le16(head.p + 8) + (uint64_t)SHORT
                       : heft_le32(head.p + 8) + (uint64_t)HEFT_NPY_HEAD;
    if (n > HEFT_NPY_LONGEST)
        return heft_fail(err, HEFT_LIMIT, base == HEFT_NO_OFFSET ? base : base + 8,
                         "npy header of %" PRIu64 " bytes, the limit is %d", n, HEFT_NPY_LONGEST);
    *length = (size_t)n;
    return true;
}

static bool check_utf8(const struct reader *r, uint8_t version)
{
    const size_t good = heft_utf8_check((struct heft_bytes){r->p, r->n});

    return version < 3 || good == r->n ||
           heft_fail(r->err, HEFT_MALFORMED,
                     r->base == HEFT_NO_OFFSET ? HEFT_NO_OFFSET : r->base + good,
                     "npy header: invalid UTF-8, which version 3.0 needs");
}

bool heft_npy_parse(struct heft_npy *out, struct heft_bytes header, uint64_t base,
                    struct heft_error *err)
{
    struct reader r = {.err = err};
    unsigned seen = 0;
    size_t before;

    *out = (struct heft_npy){.version = header.p[6], .data = header.n};
    before = out->version == 1 ? SHORT : HEFT_NPY_HEAD;
    r.p = header.p + before;
    r.n = header.n - before;
    r.base = base == HEFT_NO_OFFSET ? base : base + before;
    r.has_long = out->version < 3;
    if (!check_utf8(&r, out->version) || !read_pairs(&r, out, &seen))
        return false;
    for (size_t i = 0; i < HEFT_COUNT(keys); i++)
        if (!(seen >> i & 1))
            return heft_fail(err, HEFT_MALFORMED, r.base, "npy header: '%s' is missing",
                             keys[i].name);
    return measure_array(&r, out);
}
