/* proto_text.c: reads protobuf's text form by the same tables and into the same events as proto.c.
 *
 *     message = { field [ "," | ";" ] }
 *     field   = name ":" scalar | name [ ":" ] "{" message "}" | name [ ":" ] "<" message ">"
 *             | name [ ":" ] "[" [ value { "," value } ] "]"
 *     name    = identifier | "[" extension "]" | "[" URL "]"
 *     scalar  = string { string } | [ "-" ] number | identifier        # to the end of the line
 *
 * A name is looked up in the table of its message. Unknown fields are skipped by the grammar alone.
 * Strings are scanned for their decoded length; they are decoded if short, or when they are
 * fetched. */
#include "wire/proto_parts.h"

#include "base/hex.h"
#include "base/text.h"
#include "wire/decimal.h"

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}
static bool is_letter(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_word(uint8_t c)
{
    return is_letter(c) || is_digit(c);
}
static bool is_space(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}
static bool is_quote(uint8_t c)
{
    return c == '"' || c == '\'';
}

/* ---- tokens ---- */

/* Skips white space and comments. */
static size_t behind_space(const uint8_t *p, size_t n, size_t at)
{
    while (at < n && (is_space(p[at]) || p[at] == '#')) {
        if (p[at] == '#')
            while (at < n && p[at] != '\n')
                at++;
        else
            at++;
    }
    return at;
}

static size_t behind_word(const uint8_t *p, size_t n, size_t at)
{
    while (at < n && is_word(p[at]))
        at++;
    return at;
}

/* The next significant byte, or 0 at the end. A NUL in the text is invalid everywhere. */
static uint8_t peek_byte(struct heft_proto *p)
{
    p->at = behind_space(p->data, p->n, p->at);
    return p->at < p->n ? p->data[p->at] : 0;
}

static bool accept_byte(struct heft_proto *p, uint8_t c)
{
    if (peek_byte(p) != c || p->at == p->n)
        return false;
    p->at++;
    return true;
}

static bool report_unexpected(struct heft_proto *p, const char *expected)
{
    const uint64_t here = heft_proto_here(p);
    const uint8_t c = p->at < p->n ? p->data[p->at] : 0;
    const char *const name = p->message->name;

    if (p->at >= p->n)
        return heft_fail(p->err, HEFT_MALFORMED, here,
                         "protobuf text: ends in %s where %s was expected", name, expected);
    if (c > ' ' && c < 0x7f)
        return heft_fail(p->err, HEFT_MALFORMED, here,
                         "protobuf text: found '%c' in %s where %s was expected", c, name,
                         expected);
    return heft_fail(p->err, HEFT_MALFORMED, here,
                     "protobuf text: found byte 0x%02x in %s where %s was expected", c, name,
                     expected);
}

bool heft_proto_is_text(struct heft_bytes head)
{
    size_t at = behind_space(head.p, head.n, 0);
    size_t word;

    for (size_t i = 0; i < head.n; i++)
        if (head.p[i] < ' ' && !is_space(head.p[i]))
            return false;
    if (head.n == 0 || at == head.n)
        return head.n > 0 && memchr(head.p, '#', head.n);
    word = behind_word(head.p, head.n, at);
    if (word == at || is_digit(head.p[at]))
        return false;
    at = behind_space(head.p, head.n, word);
    return at == head.n || head.p[at] == ':' || head.p[at] == '{' || head.p[at] == '<';
}

/* ---- strings ---- */

/* Parses at most `most` digits of a base; returns their number. */
static unsigned parse_digits(const uint8_t *p, size_t n, unsigned base, unsigned most,
                             uint32_t *value)
{
    unsigned i = 0;

    *value = 0;
    while (i < most && i < n && heft_hex_digit(p[i]) < base)
        *value = *value * base + heft_hex_digit(p[i++]);
    return i;
}

/* Decodes \u0041 or \U00000041, p at the letter. A surrogate pair is one character. */
static size_t code_point(const uint8_t *p, size_t n, uint8_t out[4], size_t *out_n)
{
    const unsigned want = p[0] == 'u' ? 4 : 8;
    uint32_t c, low;

    if (parse_digits(p + 1, n - 1, 16, want, &c) != want || c > 0x10ffff)
        return 0;
    if (c >= 0xd800 && c < 0xdc00 && n >= want + 7U && p[want + 1] == '\\' && p[want + 2] == 'u' &&
        parse_digits(p + want + 3, n - want - 3, 16, 4, &low) == 4 && low >= 0xdc00 &&
        low < 0xe000) {
        *out_n = heft_utf8_put((char *)out, 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00));
        return want + 7U;
    }
    if (c >= 0xd800 && c < 0xe000)
        return 0;
    *out_n = heft_utf8_put((char *)out, c);
    return want + 1U;
}

/* Decodes the escape after a backslash into out; returns its length, 0 if it is invalid. */
static size_t decode_escape(const uint8_t *p, size_t n, uint8_t out[4], size_t *out_n)
{
    static const char letters[] = "abfnrtv\\?'\"", meanings[] = "\a\b\f\n\r\t\v\\?'\"";
    const char *const letter = n && p[0] ? strchr(letters, p[0]) : NULL;
    uint32_t value;
    unsigned used;

    *out_n = 1;
    if (n == 0)
        return 0;
    if (letter) {
        out[0] = (uint8_t)meanings[letter - letters];
        return 1;
    }
    if (p[0] == 'u' || p[0] == 'U')
        return code_point(p, n, out, out_n);
    if (p[0] == 'x' || p[0] == 'X') {
        used = parse_digits(p + 1, n - 1, 16, 2, &value);
        out[0] = (uint8_t)value;
        return used ? used + 1 : 0;
    }
    used = parse_digits(p, n, 8, 3, &value);
    out[0] = (uint8_t)value;
    return value < 256 ? used : 0;
}

/* End of a run of plain bytes in a literal. */
static size_t skip_plain(const uint8_t *p, size_t n, size_t at, uint8_t quote)
{
    while (at < n && p[at] != quote && p[at] != '\\' && p[at] != '\n' && p[at] != 0)
        at++;
    return at;
}

void heft_proto_text_decode(struct heft_bytes in, uint8_t *out, size_t n)
{
    size_t at = 0, done = 0;

    while (done < n && at < in.n) {
        const uint8_t quote = in.p[at = behind_space(in.p, in.n, at)];

        for (at++; in.p[at] != quote;) {
            const size_t end = skip_plain(in.p, in.n, at, quote);
            uint8_t bytes[4];
            size_t bytes_n;

            memcpy(out + done, in.p + at, end - at);
            done += end - at;
            at = end;
            if (in.p[at] == quote)
                break;
            at += 1 + decode_escape(in.p + at + 1, in.n - at - 1, bytes, &bytes_n);
            memcpy(out + done, bytes, bytes_n);
            done += bytes_n;
        }
        at++;
    }
}

/* Scans a literal: adds its decoded length, and sets *escaped if it has escapes. */
static bool scan_literal(struct heft_proto *p, uint64_t *length, bool *escaped)
{
    const uint64_t where = heft_proto_here(p);
    const uint8_t quote = p->data[p->at++];
    uint8_t bytes[4];
    size_t used, n;

    for (;;) {
        const size_t end = skip_plain(p->data, p->n, p->at, quote);

        *length += end - p->at;
        p->at = end;
        if (end == p->n || p->data[end] == '\n' || p->data[end] == 0)
            return heft_fail(p->err, HEFT_MALFORMED, where,
                             "protobuf text: a string does not end in its line");
        p->at++;
        if (p->data[end] == quote)
            return true;
        used = decode_escape(p->data + p->at, p->n - p->at, bytes, &n);
        if (used == 0)
            return heft_fail(p->err, HEFT_MALFORMED, p->base + end,
                             "protobuf text: unknown escape");
        p->at += used;
        *length += n;
        *escaped = true;
    }
}

/* Adjacent literals are one string. */
static bool scan_string(struct heft_proto *p)
{
    unsigned literals = 0;
    bool escaped = false;
    size_t end;

    p->u64 = 0;
    p->text = (struct heft_str){NULL, 0};
    p->off = heft_proto_here(p);
    do {
        if (!scan_literal(p, &p->u64, &escaped))
            return false;
        literals++;
        end = p->at;
    } while (is_quote(peek_byte(p)));
    p->at = end;
    p->len = heft_proto_here(p) - p->off;
    if (p->u64 > HEFT_PROTO_HELD)
        return true;
    if (literals == 1 && !escaped) {
        p->text = (struct heft_str){(const char *)p->data + end - 1 - p->u64, (size_t)p->u64};
        return true;
    }
    p->decoded.n = 0;
    if (!heft_buf_room(&p->decoded, HEFT_PROTO_HELD))
        return heft_buf_ok(&p->decoded, p->err);
    p->text = (struct heft_str){p->decoded.p, (size_t)p->u64};
    heft_proto_text_decode((struct heft_bytes){p->data + (p->off - p->base), (size_t)p->len},
                           (uint8_t *)p->decoded.p, (size_t)p->u64);
    return true;
}

/* ---- numbers and identifiers ---- */

/* Takes a word: a number with its decimal point, exponent and the exponent's sign, or an
 * identifier. */
static struct heft_bytes take_word(struct heft_proto *p)
{
    const size_t begin = p->at;
    const bool hex =
        p->n - begin > 1 && p->data[begin] == '0' && (p->data[begin + 1] | 0x20) == 'x';

    while (p->at < p->n) {
        const uint8_t c = p->data[p->at];
        const bool sign = (c == '+' || c == '-') && p->at > begin && !hex &&
                          is_digit(p->data[begin] == '.' ? '0' : p->data[begin]) &&
                          (p->data[p->at - 1] | 0x20) == 'e';

        if (!is_word(c) && c != '.' && !sign)
            break;
        p->at++;
    }
    return (struct heft_bytes){p->data + begin, p->at - begin};
}

static bool word_is(struct heft_bytes word, const char *text)
{
    return word.n == strlen(text) && memcmp(word.p, text, word.n) == 0;
}

/* Compares case-insensitively. */
static bool is_like(struct heft_bytes word, const char *text)
{
    size_t i = 0;

    while (i < word.n && text[i] && (word.p[i] | 0x20) == text[i])
        i++;
    return i == word.n && text[i] == 0;
}

static bool bad_value(struct heft_proto *p, struct heft_bytes word, const char *what)
{
    const bool cut = word.n > 40;

    return heft_fail(p->err, HEFT_MALFORMED, p->off, "protobuf text: \"%.*s\"%s of %s.%s is no %s",
                     cut ? 40 : (int)word.n, word.n ? (const char *)word.p : "", cut ? " …" : "",
                     p->message->name, p->field->name, what);
}

/* Parses a decimal, 0x… or 0… number of at most `most`. */
static bool unsigned_of(struct heft_bytes word, uint64_t most, uint64_t *out)
{
    unsigned base = 10;
    size_t i = 0;
    uint64_t value = 0;

    if (word.n > 2 && word.p[0] == '0' && (word.p[1] | 0x20) == 'x') {
        base = 16;
        i = 2;
    } else if (word.n > 1 && word.p[0] == '0') {
        base = 8;
        i = 1;
    }
    for (; i < word.n; i++) {
        if (heft_hex_digit(word.p[i]) >= base || !heft_mul(value, base, &value) ||
            !heft_add(value, heft_hex_digit(word.p[i]), &value))
            return false;
    }
    *out = value;
    return word.n > 0 && value <= most;
}

static bool parse_integer(struct heft_proto *p, struct heft_bytes word, bool negative)
{
    const enum heft_proto_type type = p->field->type;
    const bool narrow = type == HEFT_PROTO_INT32 || type == HEFT_PROTO_ENUM ||
                        type == HEFT_PROTO_UINT32 || type == HEFT_PROTO_FIXED32;
    const bool has_sign = type == HEFT_PROTO_INT32 || type == HEFT_PROTO_INT64 ||
                          type == HEFT_PROTO_SINT64 || type == HEFT_PROTO_ENUM;
    uint64_t most = narrow ? UINT32_MAX : UINT64_MAX;

    if (has_sign)
        most = most / 2 + negative;
    if ((negative && !has_sign) || !unsigned_of(word, most, &p->u64))
        return bad_value(p, word, "number that fits");
    if (negative && p->u64 != 0)
        p->u64 = ~p->u64 + 1;
    return true;
}

/* digits [ "." digits ] [ e [ sign ] digits ] [ f ], with at least one digit. */
static bool is_decimal(struct heft_bytes *word)
{
    size_t at = 0, count = 0, dots = 0;

    if (word->n && (word->p[word->n - 1] | 0x20) == 'f')
        word->n--;
    for (; at < word->n && (is_digit(word->p[at]) || word->p[at] == '.'); at++)
        *(word->p[at] == '.' ? &dots : &count) += 1;
    if (count == 0 || dots > 1)
        return false;
    if (at == word->n)
        return true;
    if ((word->p[at] | 0x20) != 'e')
        return false;
    at++;
    at += at < word->n && (word->p[at] == '+' || word->p[at] == '-');
    for (count = at; at < word->n && is_digit(word->p[at]);)
        at++;
    return at == word->n && at > count;
}

static bool parse_decimal(struct heft_proto *p, struct heft_bytes word, bool negative)
{
    const struct heft_bytes whole = word;
    uint32_t low;
    float single;
    const bool infinite = is_like(word, "inf") || is_like(word, "infinity");

    if (infinite || is_like(word, "nan"))
        word = (struct heft_bytes){(const uint8_t *)(infinite ? "inf" : "nan"), 3};
    else if (word.n > HEFT_DECIMAL_MOST || !is_decimal(&word))
        return bad_value(p, whole, "number");
    p->f64 = heft_decimal(word, p->field->type == HEFT_PROTO_FLOAT);
    if (negative)
        p->f64 = -p->f64;
    single = (float)p->f64;
    p->u64 = 0;
    if (p->field->type == HEFT_PROTO_FLOAT) {
        memcpy(&low, &single, sizeof low);
        p->u64 = low;
    } else {
        memcpy(&p->u64, &p->f64, sizeof p->f64);
    }
    return true;
}

static bool parse_bool(struct heft_proto *p, struct heft_bytes word)
{
    if (word_is(word, "true") || word_is(word, "True") || word_is(word, "t"))
        p->u64 = 1;
    else if (word_is(word, "false") || word_is(word, "False") || word_is(word, "f"))
        p->u64 = 0;
    else if (!unsigned_of(word, 1, &p->u64))
        return bad_value(p, word, "bool");
    return true;
}

/* Parses an enum value, given by name or number. *unknown: the name is not in the table. */
static bool parse_enum(struct heft_proto *p, struct heft_bytes word, bool negative, bool *unknown)
{
    const struct heft_proto_name *name = p->field->enums;

    if (word.n && is_digit(word.p[0]))
        return parse_integer(p, word, negative);
    if (negative || word.n == 0)
        return bad_value(p, word, "name of a value");
    while (name && name->name && !word_is(word, name->name))
        name++;
    *unknown = !name || !name->name;
    p->u64 = *unknown ? 0 : (uint64_t)(int64_t)name->number;
    return true;
}

static bool read_number(struct heft_proto *p, bool *unknown)
{
    const bool negative = accept_byte(p, '-');
    struct heft_bytes word;

    peek_byte(p);
    word = take_word(p);
    switch (p->field->type) {
    case HEFT_PROTO_DOUBLE:
    case HEFT_PROTO_FLOAT:
        return parse_decimal(p, word, negative);
    case HEFT_PROTO_BOOL:
        return negative ? bad_value(p, word, "bool") : parse_bool(p, word);
    case HEFT_PROTO_ENUM:
        return parse_enum(p, word, negative, unknown);
    default:
        return parse_integer(p, word, negative);
    }
}

static enum heft_proto_event read_scalar(struct heft_proto *p)
{
    const bool is_string =
        p->field->type == HEFT_PROTO_STRING || p->field->type == HEFT_PROTO_BYTES;
    bool unknown = false;

    p->off = heft_proto_here(p);
    if (is_string && !is_quote(peek_byte(p))) {
        report_unexpected(p, "a string");
        return heft_proto_give_up(p);
    }
    if (!(is_string ? scan_string(p) : read_number(p, &unknown)))
        return heft_proto_give_up(p);
    p->len = heft_proto_here(p) - p->off;
    p->may_separate = true;
    if (!unknown)
        return HEFT_PROTO_VALUE;
    p->field = NULL;
    return HEFT_PROTO_UNKNOWN;
}

/* ---- skipping unknown fields ---- */

static uint8_t closing_bracket(uint8_t opener)
{
    if (opener == '{')
        return '}';
    if (opener == '<')
        return '>';
    return opener == '[' ? ']' : 0;
}

/* Records an opening bracket. */
static bool open_bracket(struct heft_proto *p, uint8_t c, uint8_t *open, unsigned *depth)
{
    if (*depth + p->depth >= HEFT_PROTO_DEPTH)
        return heft_fail(p->err, HEFT_LIMIT, heft_proto_here(p),
                         "protobuf text: nested deeper than %d messages", HEFT_PROTO_DEPTH);
    open[++*depth] = closing_bracket(c);
    p->at++;
    return true;
}

/* Skips to the byte that closes the open bracket. Numbers and words are not validated. */
static bool pass_to(struct heft_proto *p, uint8_t close)
{
    uint8_t open[HEFT_PROTO_DEPTH + 1] = {close};
    unsigned depth = 0;
    uint64_t length = 0;
    bool escaped = false, ok = true;

    while (ok) {
        const uint8_t c = peek_byte(p);

        if (c == close && depth == 0 && c)
            return true;
        if (c && depth && c == open[depth]) {
            depth--;
            p->at++;
        } else if (c < ' ' || c == '}' || c == '>' || c == ']') {
            return report_unexpected(p, "what ends it");
        } else if (is_quote(c)) {
            ok = scan_literal(p, &length, &escaped);
        } else if (closing_bracket(c)) {
            ok = open_bracket(p, c, open, &depth);
        } else {
            p->at++;
        }
    }
    return false;
}

bool heft_proto_text_skip(struct heft_proto *p)
{
    if (!pass_to(p, (uint8_t)p->levels[p->depth].close)) {
        p->failed = true;
        return false;
    }
    p->len = heft_proto_here(p) - p->off;
    p->at++;
    p->may_separate = true;
    p->in_list = p->levels[p->depth].in_list;
    p->list_field = p->levels[p->depth].field;
    return true;
}

/* Skips the value of an unknown field. */
static bool pass_value(struct heft_proto *p, bool has_colon)
{
    const uint8_t c = peek_byte(p);
    uint64_t length = 0;
    bool escaped = false;

    if (c == '{' || c == '<' || c == '[') {
        p->at++;
        if (!pass_to(p, closing_bracket(c)))
            return false;
        p->at++;
        return true;
    }
    if (!has_colon)
        return report_unexpected(p, "':'");
    if (!is_quote(c)) {
        (void)accept_byte(p, '-');
        peek_byte(p);
        return take_word(p).n > 0 || report_unexpected(p, "a value");
    }
    while (is_quote(peek_byte(p)))
        if (!scan_literal(p, &length, &escaped))
            return false;
    return true;
}

static enum heft_proto_event pass_unknown(struct heft_proto *p, bool has_colon)
{
    if (!pass_value(p, has_colon))
        return heft_proto_give_up(p);
    p->field = NULL;
    p->off = p->where;
    p->len = heft_proto_here(p) - p->where;
    p->may_separate = true;
    return HEFT_PROTO_UNKNOWN;
}

/* "[pkg.extension]", or "[type.googleapis.com/pkg.Message]", which is an Any with its value written
 * as a message. */
static enum heft_proto_event read_bracketed(struct heft_proto *p)
{
    const size_t begin = ++p->at;
    const uint8_t *slash;
    struct heft_str name;
    bool has_colon;

    while (p->at < p->n && (is_word(p->data[p->at]) || memchr("./-", p->data[p->at], 3)))
        p->at++;
    name = (struct heft_str){(const char *)p->data + begin, p->at - begin};
    if (name.n == 0 || !accept_byte(p, ']')) {
        report_unexpected(p, "the name of an extension");
        return heft_proto_give_up(p);
    }
    has_colon = accept_byte(p, ':');
    slash = memchr(name.p, '/', name.n);
    if (!slash || (peek_byte(p) != '{' && peek_byte(p) != '<'))
        return pass_unknown(p, has_colon);
    p->off = heft_proto_here(p) + 1;
    if (!pass_value(p, has_colon))
        return heft_proto_give_up(p);
    p->len = heft_proto_here(p) - 1 - p->off;
    p->field = NULL;
    p->text = name;
    p->may_separate = true;
    return HEFT_PROTO_EXPANDED;
}

/* ---- fields ---- */

static const struct heft_proto_field *find_field(const struct heft_proto_message *message,
                                                 struct heft_bytes name)
{
    for (size_t i = 0; i < message->n; i++)
        if (word_is(name, message->fields[i].name))
            return &message->fields[i];
    return NULL;
}

/* Reads a scalar or a message, alone or as an item of a list. */
static enum heft_proto_event one_value(struct heft_proto *p, bool has_colon)
{
    const struct heft_proto_field *const field = p->field;
    const uint8_t c = peek_byte(p);
    struct heft_proto_level level;

    if (field->type != HEFT_PROTO_SUB) {
        if (has_colon)
            return read_scalar(p);
        report_unexpected(p, "':'");
        return heft_proto_give_up(p);
    }
    if (c != '{' && c != '<') {
        report_unexpected(p, "'{'");
        return heft_proto_give_up(p);
    }
    p->at++;
    p->off = heft_proto_here(p);
    p->len = 0;
    level = (struct heft_proto_level){.message = field->sub,
                                      .field = field,
                                      .close = (char)closing_bracket(c),
                                      .in_list = p->in_list};
    p->in_list = false;
    return heft_proto_enter(p, field, &level);
}

/* Reads the next item of a list; HEFT_PROTO_END if the list has ended. */
static enum heft_proto_event next_item(struct heft_proto *p, bool is_first)
{
    p->level = p->depth;
    p->field = p->list_field;
    p->message = p->levels[p->depth].message;
    if (accept_byte(p, ']')) {
        p->in_list = false;
        p->may_separate = true;
        return HEFT_PROTO_END;
    }
    if (!is_first && !accept_byte(p, ',')) {
        report_unexpected(p, "',' or ']'");
        return heft_proto_give_up(p);
    }
    peek_byte(p);
    p->where = heft_proto_here(p);
    return one_value(p, true);
}

static enum heft_proto_event read_named(struct heft_proto *p)
{
    const size_t begin = p->at;
    bool has_colon;

    p->at = behind_word(p->data, p->n, begin);
    if (p->at == begin || is_digit(p->data[begin])) {
        p->at = begin;
        report_unexpected(p, "a field");
        return heft_proto_give_up(p);
    }
    p->field = find_field(p->message, (struct heft_bytes){p->data + begin, p->at - begin});
    has_colon = accept_byte(p, ':');
    if (!p->field)
        return pass_unknown(p, has_colon);
    if (!p->field->repeated || peek_byte(p) != '[')
        return one_value(p, has_colon);
    p->at++;
    p->in_list = true;
    p->list_field = p->field;
    return next_item(p, true);
}

static enum heft_proto_event close_message(struct heft_proto *p)
{
    const struct heft_proto_level *const level = &p->levels[p->depth];
    const uint64_t end = heft_proto_here(p);

    p->at++;
    p->may_separate = true;
    p->in_list = level->in_list;
    p->list_field = level->field;
    return heft_proto_leave(p, end);
}

/* Reads a field, or the end of the message. At the end of a list: HEFT_PROTO_END, and *again. */
static enum heft_proto_event read_field(struct heft_proto *p, bool *again)
{
    enum heft_proto_event event;
    uint8_t c;

    *again = false;
    if (p->in_list) {
        event = next_item(p, false);
        *again = event == HEFT_PROTO_END;
        return event;
    }
    if (p->may_separate && !accept_byte(p, ','))
        (void)accept_byte(p, ';');
    p->may_separate = false;
    p->level = p->depth;
    p->message = p->levels[p->depth].message;
    c = peek_byte(p);
    p->where = heft_proto_here(p);
    if (p->at == p->n && p->depth == 0)
        return heft_proto_finish(p);
    if (p->depth && c == (uint8_t)p->levels[p->depth].close)
        return close_message(p);
    event = c == '[' ? read_bracketed(p) : read_named(p);
    *again = event == HEFT_PROTO_END;
    return event;
}

enum heft_proto_event heft_proto_text_next(struct heft_proto *p)
{
    enum heft_proto_event event;
    bool again;

    do
        event = read_field(p, &again);
    while (again);
    return event;
}
