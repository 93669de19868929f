/* pattern_text.c: characters and escapes of split patterns. */
#include "tokens/split/pattern_text.h"

#include "tokens/unicode/utf8.h"

bool heft_pattern_unsupported(const struct heft_pattern_text *in, size_t offset,
                              const char *construct)
{
    return heft_fail(in->err, HEFT_UNSUPPORTED, offset,
                     "split pattern has %s, which heft does not support", construct);
}

bool heft_pattern_malformed(const struct heft_pattern_text *in, size_t offset, const char *what)
{
    return heft_fail(in->err, HEFT_MALFORMED, offset, "split pattern %s", what);
}

bool heft_pattern_number(struct heft_pattern_text *in, uint32_t *number)
{
    const size_t from = in->at;
    uint64_t sum = 0;

    for (; heft_pattern_peek(in, 0) >= '0' && heft_pattern_peek(in, 0) <= '9'; in->at++)
        sum = heft_min_u64(sum * 10 + (heft_pattern_peek(in, 0) - '0'), UINT32_MAX);
    *number = (uint32_t)sum;
    return in->at > from;
}

uint32_t heft_pattern_char(struct heft_pattern_text *in)
{
    unsigned width;
    const uint32_t c = heft_utf8_at((const uint8_t *)in->text.p + in->at, &width);

    in->at += width;
    return c;
}

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads `least` to `most` hexadecimal digits. */
static bool read_hex(struct heft_pattern_text *in, size_t least, size_t most, size_t offset,
                     uint32_t *c)
{
    size_t n = 0;

    for (*c = 0; n < most && hex_digit(heft_pattern_peek(in, 0)) >= 0; n++, in->at++)
        *c = *c << 4 | (uint32_t)hex_digit(heft_pattern_peek(in, 0));
    if (n < least)
        return heft_pattern_malformed(in, offset, "has an escape with too few hexadecimal digits");
    return *c <= HEFT_CODE_LAST ||
           heft_pattern_malformed(in, offset, "has an escape beyond U+10FFFF");
}

/* \xHH, \x{H…} and \uHHHH, after the letter. To Oniguruma \xHH is a byte, not a character. */
static bool read_code_point(struct heft_pattern_text *in, char letter, size_t offset, uint32_t *c)
{
    const bool is_braced = letter == 'x' && heft_pattern_skip(in, "{");

    if (letter == 'u' && heft_pattern_peek(in, 0) == '{')
        return heft_pattern_unsupported(in, offset, "\\u{…} (write \\x{…})");
    if (is_braced)
        return read_hex(in, 1, 6, offset, c) &&
               (heft_pattern_skip(in, "}") ||
                heft_pattern_malformed(in, offset, "has an escape \\x{…} without a closing brace"));
    return read_hex(in, letter == 'x' ? 2 : 4, letter == 'x' ? 2 : 4, offset, c) &&
           (letter == 'u' || *c < 0x80 || in->engine == HEFT_ENGINE_TIKTOKEN ||
            heft_pattern_unsupported(in, offset, "\\xHH above 7F (write \\x{…})"));
}

#define BIT(name)   (UINT32_C(1) << HEFT_CATEGORY_##name)
#define LETTERS     (BIT(LL) | BIT(LM) | BIT(LO) | BIT(LT) | BIT(LU))
#define MARKS       (BIT(MC) | BIT(ME) | BIT(MN))
#define NUMBERS     (BIT(ND) | BIT(NL) | BIT(NO))
#define PUNCTUATION (BIT(PC) | BIT(PD) | BIT(PE) | BIT(PF) | BIT(PI) | BIT(PO) | BIT(PS))
#define SYMBOLS     (BIT(SC) | BIT(SK) | BIT(SM) | BIT(SO))
#define SEPARATORS  (BIT(ZL) | BIT(ZP) | BIT(ZS))

static const struct {
    const char *name;
    uint32_t categories; /* 0: the script Han */
} PROPERTIES[] = {
    {"L", LETTERS},
    {"Letter", LETTERS},
    {"Lu", BIT(LU)},
    {"Uppercase_Letter", BIT(LU)},
    {"Ll", BIT(LL)},
    {"Lowercase_Letter", BIT(LL)},
    {"Lt", BIT(LT)},
    {"Titlecase_Letter", BIT(LT)},
    {"Lm", BIT(LM)},
    {"Modifier_Letter", BIT(LM)},
    {"Lo", BIT(LO)},
    {"Other_Letter", BIT(LO)},
    {"M", MARKS},
    {"Mark", MARKS},
    {"Mn", BIT(MN)},
    {"Mc", BIT(MC)},
    {"Me", BIT(ME)},
    {"N", NUMBERS},
    {"Number", NUMBERS},
    {"Nd", BIT(ND)},
    {"Nl", BIT(NL)},
    {"No", BIT(NO)},
    {"P", PUNCTUATION},
    {"Punctuation", PUNCTUATION},
    {"Pc", BIT(PC)},
    {"Pd", BIT(PD)},
    {"Ps", BIT(PS)},
    {"Pe", BIT(PE)},
    {"Pi", BIT(PI)},
    {"Pf", BIT(PF)},
    {"Po", BIT(PO)},
    {"S", SYMBOLS},
    {"Symbol", SYMBOLS},
    {"Sm", BIT(SM)},
    {"Sc", BIT(SC)},
    {"Sk", BIT(SK)},
    {"So", BIT(SO)},
    {"Z", SEPARATORS},
    {"Separator", SEPARATORS},
    {"Zs", BIT(ZS)},
    {"Zl", BIT(ZL)},
    {"Zp", BIT(ZP)},
    {"Cc", BIT(CC)},
    {"Cf", BIT(CF)},
    {"Han", 0},
    {"Script=Han", 0},
    {"sc=Han", 0},
};

static bool unknown_property(const struct heft_pattern_text *in, size_t offset,
                             struct heft_str name)
{
    return heft_fail(in->err, HEFT_UNSUPPORTED, offset,
                     "split pattern has \\p{%.*s}, which heft does not support; it knows general "
                     "categories (L, Lu, N, …) and the script Han",
                     (int)heft_min_size(name.n, 40), name.p);
}

/* Name of \p{Name}, \p{^Name} and \pL. */
static bool read_property_name(struct heft_pattern_text *in, size_t offset, struct heft_str *name)
{
    const char *const from = in->text.p + in->at;
    const char *end;

    if (heft_pattern_peek(in, 0) != '{') {
        *name = (struct heft_str){from, 1};
        if (in->engine == HEFT_ENGINE_TOKENIZERS || heft_pattern_peek(in, 0) == 0)
            return heft_pattern_malformed(in, offset, "has \\p without a name in braces");
        (void)heft_pattern_char(in);
        name->n = (size_t)(in->text.p + in->at - from);
        return true;
    }
    end = memchr(from, '}', in->text.n - in->at);
    if (!end)
        return heft_pattern_malformed(in, offset, "has \\p{ without a closing brace");
    *name = (struct heft_str){from + 1, (size_t)(end - from) - 1};
    in->at += name->n + 2;
    return true;
}

/* \p and \P, after the letter. */
static bool read_property(struct heft_pattern_text *in, struct heft_code_ranges *set, bool negated,
                          size_t offset)
{
    struct heft_str name = {0};
    size_t i = 0;

    if (!read_property_name(in, offset, &name))
        return false;
    if (name.n && name.p[0] == '^') {
        negated = !negated;
        name = (struct heft_str){name.p + 1, name.n - 1};
    }
    while (i < HEFT_COUNT(PROPERTIES) && !heft_str_is(name, PROPERTIES[i].name))
        i++;
    if (i == HEFT_COUNT(PROPERTIES))
        return unknown_property(in, offset, name);
    return (PROPERTIES[i].categories ? heft_code_ranges_add_categories(
                                           set, PROPERTIES[i].categories, in->unicode, in->err)
                                     : heft_code_ranges_add_han(set, in->unicode, in->err)) &&
           (!negated || heft_code_ranges_negate(set, in->err));
}

/* Escapes of one character. */
static const char CONTROLS[][2] = {{'r', '\r'}, {'n', '\n'}, {'t', '\t'}, {'f', '\f'},
                                   {'v', '\v'}, {'a', '\a'}, {'e', 0x1B}};
/* Escapes that heft refuses, with their names. */
static const struct {
    const char *letters, *name;
} REFUSED[] = {
    {"wW", "\\w or \\W (a word character, which the two programs define differently)"},
    {"hH", "\\h (a hexadecimal digit; write [0-9A-Fa-f])"},
    {"bB", "\\b (a word boundary)"},
    {"A", "\\A (the begin of the text)"},
    {"G", "\\G (the end of the last match)"},
    {"Z", "\\Z (the end of the text or before its last line feed; write \\z)"},
    {"K", "\\K (keep)"},
    {"RX", "\\R or \\X (more than one character)"},
    {"NO", "\\N or \\O"},
    {"kg", "\\k or \\g (a back-reference or a call)"},
    {"0", "\\0 (an octal number; write \\x{…})"},
    {"123456789", "a back-reference"},
    {"cCMU", "a control or meta character (write \\x{…})"},
};

static bool refuse_escape(const struct heft_pattern_text *in, char letter, size_t offset)
{
    for (size_t i = 0; i < HEFT_COUNT(REFUSED); i++)
        if (strchr(REFUSED[i].letters, letter))
            return heft_pattern_unsupported(in, offset, REFUSED[i].name);
    return heft_fail(in->err, HEFT_UNSUPPORTED, offset,
                     "split pattern has \\%c, which heft does not support", letter);
}

static bool add_shorthand(struct heft_pattern_text *in, struct heft_code_ranges *set, char letter)
{
    const bool is_negated = letter == 'S' || letter == 'D';
    const bool ok = letter == 's' || letter == 'S'
                        ? heft_code_ranges_add_spaces(set, in->err)
                        : heft_code_ranges_add_categories(set, BIT(ND), in->unicode, in->err);

    return ok && (!is_negated || heft_code_ranges_negate(set, in->err));
}

static bool read_letter_escape(struct heft_pattern_text *in, struct heft_code_ranges *set,
                               size_t offset, bool *is_char, uint32_t *c)
{
    const char letter = in->text.p[in->at++];

    for (size_t i = 0; i < HEFT_COUNT(CONTROLS); i++)
        if (CONTROLS[i][0] == letter) {
            *c = (uint32_t)CONTROLS[i][1];
            return true;
        }
    if (letter == 'x' || letter == 'u')
        return read_code_point(in, letter, offset, c);
    *is_char = false;
    if (letter == 'p' || letter == 'P')
        return read_property(in, set, letter == 'P', offset);
    return strchr("sSdD", letter) ? add_shorthand(in, set, letter)
                                  : refuse_escape(in, letter, offset);
}

bool heft_pattern_escape(struct heft_pattern_text *in, struct heft_code_ranges *set, bool *is_char,
                         uint32_t *c)
{
    const size_t offset = in->at++;
    const uint8_t next = heft_pattern_peek(in, 0);
    const uint8_t lower = next | 0x20;

    *is_char = true;
    if (heft_pattern_at_end(in))
        return heft_pattern_malformed(in, offset, "ends in a backslash");
    if ((lower >= 'a' && lower <= 'z') || (next >= '0' && next <= '9'))
        return read_letter_escape(in, set, offset, is_char, c);
    *c = heft_pattern_char(in);
    return true;
}
