/* scan_expression.c: Python expressions in torch.export programs, which its loader evaluates.
 *
 *     "expr_str": "Mul(Integer(2), Symbol('s77', positive=True, integer=True))"   by sympy.sympify
 *     "guards_code": ["L['x'].size()[0] >= 2"]                                    by exec
 *
 * An expression is allowed if it calls only functions that torch writes, by their plain names,
 * and if its string literals are plain names, because sympify also evaluates string literals,
 * even computed ones. */
#include "scan/scan_config.h"

#include "scan/scan_names.h"

/* Known functions of sympy, torch.utils._sympy, math and torch, and methods of tensors. */
static const char *const functions[] = {
    "Abs",
    "Add",
    "And",
    "BitwiseFn_bitwise_and",
    "BitwiseFn_bitwise_or",
    "BitwiseFn_bitwise_xor",
    "CeilDiv",
    "CeilToInt",
    "CleanDiv",
    "Equality",
    "ExprCondPair",
    "Float",
    "FloatPow",
    "FloatTrueDiv",
    "FloorDiv",
    "FloorToInt",
    "GreaterThan",
    "Identity",
    "IntTrueDiv",
    "Integer",
    "IsNonOverlappingAndDenseIndicator",
    "LShift",
    "LessThan",
    "Max",
    "Min",
    "Mod",
    "ModularIndexing",
    "Mul",
    "Not",
    "Or",
    "Piecewise",
    "Pow",
    "PowByNatural",
    "PythonMod",
    "RShift",
    "Rational",
    "RoundDecimal",
    "RoundToInt",
    "StrictGreaterThan",
    "StrictLessThan",
    "Symbol",
    "ToFloat",
    "TruncToFloat",
    "TruncToInt",
    "Unequality",
    "Where",
    "abs",
    "bool",
    "ceil",
    "ceiling",
    "cos",
    "dim",
    "exp",
    "float",
    "floor",
    "int",
    "isinstance",
    "len",
    "log",
    "log2",
    "max",
    "min",
    "numel",
    "round",
    "sin",
    "size",
    "sqrt",
    "storage_offset",
    "stride",
    "sym_float",
    "sym_int",
    "sym_ite",
    "sym_max",
    "sym_min",
    "sym_not",
    "sym_sum",
    "tan",
    "trunc",
};

/* Keywords of Python that may stand before a parenthesis without being a call; and keywords that
 * no numeric expression needs. */
static const char *const operators[] = {"and", "else", "if", "in", "is", "not", "or"};
static const char *const odd_words[] = {"async",  "await",  "class",  "def",  "exec", "from",
                                        "global", "import", "lambda", "with", "yield"};

static bool is_one_of(struct heft_str word, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (heft_str_is(word, list[i]))
            return true;
    return false;
}

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t skip_blanks(struct heft_str text, size_t at)
{
    while (at < text.n && text.p[at] == ' ')
        at++;
    return at;
}

static bool is_at(struct heft_str text, size_t at, char c)
{
    at = skip_blanks(text, at);
    return at < text.n && text.p[at] == c;
}

/* Returns the end of "a.b.c", or of ".c" after a bracket. *last: start of its last part. */
static size_t end_of_path(struct heft_str text, size_t at, size_t *last)
{
    *last = at;
    while (at < text.n && (is_word(text.p[at]) || text.p[at] == '.'))
        if (text.p[at++] == '.')
            *last = at;
    return at;
}

static enum heft_danger path_danger(struct heft_config *c, struct heft_str text, size_t begin,
                                    size_t end, size_t last)
{
    const struct heft_str path = {text.p + begin, end - begin};
    const struct heft_str word = {text.p + last, end - last};
    const bool usual = is_one_of(word, functions, HEFT_COUNT(functions));
    const bool dotted = last > begin && text.p[begin] != '.';

    if (dotted ? heft_config_path(c, path) == HEFT_DANGER
               : !usual && heft_scan_danger(HEFT_STR("builtins"), word) == HEFT_DANGER)
        return HEFT_DANGER;
    if (is_one_of(word, odd_words, HEFT_COUNT(odd_words)))
        return HEFT_UNKNOWN;
    if (!is_at(text, end, '(') || is_one_of(word, operators, HEFT_COUNT(operators)) || usual)
        return HEFT_ALLOWED;
    return HEFT_UNKNOWN;
}

/* Returns the end of a string literal. *plain: it is a plain name, and no operator follows it. */
static size_t end_of_text(struct heft_str text, size_t at, bool *plain)
{
    const char quote = text.p[at++];
    size_t next;

    *plain = true;
    for (; at < text.n && text.p[at] != quote; at++)
        *plain &= is_word(text.p[at]) || memchr(".-/: ", text.p[at], 5);
    next = skip_blanks(text, at + 1);
    *plain &= at < text.n && !(next < text.n && memchr("%*+.([{'\"", text.p[next], 9));
    return at < text.n ? at + 1 : at;
}

/* True for a call of something without a name, an escape, a control character or line break, and
 * non-ASCII letters, which Python may normalise to others. */
static bool is_odd(struct heft_str text, size_t at)
{
    if (memchr(")]}", text.p[at], 3))
        return is_at(text, at + 1, '(');
    return (uint8_t)text.p[at] < ' ' || (uint8_t)text.p[at] >= 0x7F || text.p[at] == '\\' ||
           text.p[at] == ';';
}

/* Judges the token at *at and moves *at to its end. */
static enum heft_danger judge_word_at(struct heft_config *c, struct heft_str text, size_t *at)
{
    const size_t begin = *at;
    size_t last;
    bool plain;

    if (memchr("'\"", text.p[begin], 2)) {
        *at = end_of_text(text, begin, &plain);
        return plain ? HEFT_ALLOWED : HEFT_UNKNOWN;
    }
    if (!is_word(text.p[begin]) && text.p[begin] != '.')
        return is_odd(text, (*at)++) ? HEFT_UNKNOWN : HEFT_ALLOWED;
    *at = end_of_path(text, begin, &last);
    if (!is_digit(text.p[begin]))
        return path_danger(c, text, begin, *at, last);
    return is_at(text, *at, '(') ? HEFT_UNKNOWN : HEFT_ALLOWED; /* call on a number: 1.0.hex() */
}

static bool has_dunder(struct heft_str text)
{
    for (size_t i = 0; i + 1 < text.n; i++)
        if (text.p[i] == '_' && text.p[i + 1] == '_')
            return true;
    return false;
}

#define LONGEST ((size_t)64 << 10) /* bytes of an expression; those of torch are much shorter */

static enum heft_danger danger_of(struct heft_config *c, struct heft_str text)
{
    enum heft_danger worst = has_dunder(text) ? HEFT_DANGER : HEFT_ALLOWED;

    if (text.n > LONGEST) {
        text.n = LONGEST;
        worst = worst > HEFT_UNKNOWN ? worst : HEFT_UNKNOWN;
    }
    for (size_t at = 0; at < text.n && worst != HEFT_DANGER && !c->full;) {
        const enum heft_danger danger = judge_word_at(c, text, &at);

        worst = danger > worst ? danger : worst;
    }
    return worst;
}

bool heft_config_expression(struct heft_config *c, struct heft_str text, struct heft_error *err)
{
    const enum heft_danger danger = danger_of(c, text);

    return danger == HEFT_ALLOWED ||
           heft_config_report(c, danger, "Python expression that torch.export evaluates", text,
                              err);
}
