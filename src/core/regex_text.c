/* regex_text.c: translates regular expressions in the usual syntax to POSIX extended syntax.
 *
 *     \d \w \s \D \W \S       the ASCII characters of Python's, also within brackets
 *     \b \B \A \Z             word borders; start and end of the text
 *     \n \t \r \f \v          the control characters
 *     \. \- \/ …              the punctuation character itself
 *     (?:…)                   a non-capturing group
 *     \1 … \9                 back-reference to an earlier group
 *     [[:alpha:]]             POSIX's classes
 *     {                       itself, unless an interval follows
 *
 * Syntax that means something else in POSIX is refused: (?=…), *?, *+, (?P<name>…), * without an atom
 * before it. A bracket expression is rewritten as the list of its characters, because POSIX takes a
 * backslash within brackets literally. */
#include "core/regexes.h"

#include "base/text.h"

#define DIGITS "0123456789"
#define LOWER  "abcdefghijklmnopqrstuvwxyz"
#define UPPER  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define SPACES " \t\n\r\f\v"
#define WORD   DIGITS UPPER LOWER "_"

enum { MAX_PLACE = HEFT_GROUPS * 4 - 1 };

struct translator {
    struct heft_regex *regex;
    const char *pattern, *at;
    struct heft_buf *out;
    struct heft_error *err;
    unsigned place;  /* groups opened so far in the translation, (?:…) included */
    bool has_atom;   /* an atom precedes, which a repeat can follow */
    bool has_repeat; /* the atom has a repeat already */
};

static bool refuse_pattern(const struct translator *t, const char *why)
{
    return heft_fail(t->err, HEFT_USAGE, HEFT_NO_OFFSET, "regular expression \"%s\": %s",
                     t->pattern, why);
}

/* ---- character classes ------------------------------------------------------------------- */

/* Members of the class \d, \w or \s; NULL for other letters. */
static const char *class_of(char letter)
{
    switch (letter) {
    case 'd':
    case 'D':
        return DIGITS;
    case 'w':
    case 'W':
        return WORD;
    case 's':
    case 'S':
        return SPACES;
    default:
        return NULL;
    }
}

/* Control character of \n, \t, \r, \f, \v; 0 for other letters. */
static char control_of(char letter)
{
    static const char letters[] = "ntrfv", controls[] = "\n\t\r\f\v";
    const char *found = letter ? strchr(letters, letter) : NULL;

    return found ? controls[found - letters] : '\0';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* ---- bracket expressions ----------------------------------------------------------------- */

struct set {
    bool has[128];
    bool inverted;
};

static void add_all(struct set *set, const char *characters)
{
    for (; *characters; characters++)
        set->has[(uint8_t)*characters] = true;
}

/* Adds the class [:alpha:] at t->at, after its opening bracket. */
static bool add_posix_class(struct translator *t, struct set *set)
{
    static const struct {
        const char *name, *characters;
    } classes[] = {
        {":digit:]", DIGITS},
        {":alpha:]", UPPER LOWER},
        {":alnum:]", DIGITS UPPER LOWER},
        {":lower:]", LOWER},
        {":upper:]", UPPER},
        {":space:]", SPACES},
        {":blank:]", " \t"},
        {":xdigit:]", DIGITS "abcdefABCDEF"},
        {":punct:]", "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"},
    };

    for (size_t i = 0; i < HEFT_COUNT(classes); i++)
        if (strncmp(t->at, classes[i].name, strlen(classes[i].name)) == 0) {
            add_all(set, classes[i].characters);
            t->at += strlen(classes[i].name);
            return true;
        }
    return refuse_pattern(t, "unknown class within brackets");
}

/* Reads one member of a bracket expression: a character, or a class (*c is 0), which cannot
 * bound a range. */
static bool take_member(struct translator *t, struct set *set, char *c)
{
    *c = *t->at++;
    if (*c == '[' && *t->at == ':' && strstr(t->at, ":]")) {
        *c = '\0';
        return add_posix_class(t, set);
    }
    if (*c == '\\') {
        const char letter = *t->at++;

        if (letter == '\0')
            return refuse_pattern(t, "a bracket expression is not closed");
        if (class_of(letter) && letter >= 'a') {
            add_all(set, class_of(letter));
            *c = '\0';
            return true;
        }
        *c = control_of(letter) ? control_of(letter) : letter;
        if ((is_letter(letter) && !control_of(letter)) || (letter >= '0' && letter <= '9'))
            return refuse_pattern(
                t, "within brackets, \\ must be followed by d, w, s, n, t, r, f, v or punctuation");
    }
    if ((uint8_t)*c >= 128)
        return refuse_pattern(t, "only ASCII characters are supported within brackets");
    return true;
}

static bool add_members(struct translator *t, struct set *set)
{
    char first, last;

    if (!take_member(t, set, &first))
        return false;
    if (t->at[0] != '-' || t->at[1] == ']' || t->at[1] == '\0') {
        if (first)
            set->has[(uint8_t)first] = true;
        return true;
    }
    t->at++;
    if (!take_member(t, set, &last))
        return false;
    if (!first || !last || first > last)
        return refuse_pattern(t, "a range within brackets needs two characters in ascending order");
    for (char c = first; c < last; c++)
        set->has[(uint8_t)c] = true;
    set->has[(uint8_t)last] = true;
    return true;
}

/* Writes a set as POSIX requires: `]` first, `[` and `^` not first, `-` last. */
static void put_set(struct heft_buf *out, const struct set *set)
{
    const size_t begin = out->n + 1 + set->inverted;

    heft_buf_text(out, set->inverted ? "[^" : "[");
    heft_buf_text(out, set->has[']'] ? "]" : "");
    for (uint8_t c = 1; c < 128; c++)
        if (set->has[c] && c != ']' && c != '[' && c != '^' && c != '-')
            heft_buf_char(out, (char)c);
    heft_buf_text(out, set->has['['] ? "[" : "");
    if (set->has['^'] && set->has['-'] && out->n == begin) {
        heft_buf_text(out, "-^]");
        return;
    }
    heft_buf_text(out, set->has['^'] ? "^" : "");
    heft_buf_text(out, set->has['-'] ? "-]" : "]");
}

static bool is_only(const struct set *set, char wanted)
{
    for (size_t c = 0; c < HEFT_COUNT(set->has); c++)
        if (set->has[c] != (c == (uint8_t)wanted))
            return false;
    return !set->inverted;
}

/* Translates a bracket expression after its opening bracket. */
static bool translate_set(struct translator *t)
{
    struct set set = {.inverted = *t->at == '^'};
    bool first = true;

    t->at += set.inverted;
    for (; *t->at != ']' || first; first = false)
        if (*t->at == '\0')
            return refuse_pattern(t, "a bracket expression is not closed");
        else if (!add_members(t, &set))
            return false;
    t->at++;
    if (is_only(&set, '^'))
        heft_buf_text(t->out, "\\^");
    else
        put_set(t->out, &set);
    return true;
}

/* ---- escapes ----------------------------------------------------------------------------- */

static bool translate_back_reference(struct translator *t, char digit)
{
    const unsigned group = (unsigned)(digit - '0');

    if (group == 0 || group > t->regex->groups)
        return refuse_pattern(t, "\\N refers to a group that is not before it");
    if (t->regex->place[group] > 9)
        return refuse_pattern(t, "\\N refers to a group after nine others, (?:…) included");
    heft_buf_char(t->out, '\\');
    heft_buf_char(t->out, (char)('0' + t->regex->place[group]));
    return true;
}

/* Translates the anchors \b, \B, \A, \Z, which cannot be repeated. */
static bool translate_border(struct translator *t, char letter)
{
    heft_buf_text(t->out, letter == 'A'   ? "^"
                          : letter == 'Z' ? "$"
                          : letter == 'b' ? "\\b"
                                          : "\\B");
    t->has_atom = false;
    return true;
}

static bool translate_escape(struct translator *t)
{
    const char c = *t->at++;
    struct set set = {.inverted = c >= 'A' && c <= 'Z'};

    t->has_atom = true;
    if (c == '\0')
        return refuse_pattern(t, "\\ at the end of the expression");
    if (c >= '0' && c <= '9')
        return translate_back_reference(t, c);
    if (strchr("bBAZ", c))
        return translate_border(t, c);
    if (class_of(c)) {
        add_all(&set, class_of(c));
        put_set(t->out, &set);
        return true;
    }
    if (is_letter(c) && !control_of(c))
        return refuse_pattern(
            t, "\\ must be followed by d, w, s, b, A, Z, n, t, r, f, v, a digit or punctuation");
    if (strchr(".[\\()*+?{|^$", c))
        heft_buf_char(t->out, '\\');
    heft_buf_char(t->out, control_of(c) ? control_of(c) : c);
    return true;
}

/* ---- groups and repeats ------------------------------------------------------------------ */

static bool open_group(struct translator *t)
{
    const bool counted = *t->at != '?';

    if (!counted && t->at[1] != ':')
        return refuse_pattern(t, "(?…) is supported as (?:…) only; no look-ahead, flags or names");
    t->at += counted ? 0 : 2;
    if (++t->place > MAX_PLACE)
        return refuse_pattern(t, "more than 39 groups");
    if (counted && ++t->regex->groups < HEFT_GROUPS)
        t->regex->place[t->regex->groups] = (uint8_t)t->place;
    heft_buf_char(t->out, '(');
    t->has_atom = false;
    return true;
}

/* Length of an interval m}, m,} ,n} or m,n} at `text`, after its opening brace; 0 if there is
 * none. */
static size_t interval_length(const char *text)
{
    const size_t low = strspn(text, DIGITS);
    const size_t comma = text[low] == ',';
    const size_t high = comma ? strspn(text + low + 1, DIGITS) : 0;

    return (low || high) && text[low + comma + high] == '}' ? low + comma + high + 1 : 0;
}

static bool translate_repeat(struct translator *t, char c)
{
    const size_t interval = c == '{' ? interval_length(t->at) : 0;

    if (c == '{' && interval == 0) {
        heft_buf_text(t->out, "\\{");
        t->has_atom = true;
        t->has_repeat = false;
        return true;
    }
    if (t->has_repeat)
        return refuse_pattern(
            t, "*?, +?, ??, *+ and a repeat of a repeat are not supported; matches are the "
               "longest");
    if (!t->has_atom)
        return refuse_pattern(
            t, "a repeat (* + ? {) needs something before it; globs are like *.bias");
    heft_buf_char(t->out, c);
    heft_buf_text(t->out, c == '{' && *t->at == ',' ? "0" : "");
    heft_buf_put(t->out, t->at, interval);
    t->at += interval;
    t->has_repeat = true;
    return true;
}

static bool translate_one(struct translator *t)
{
    const char c = *t->at++;

    if (c == '*' || c == '+' || c == '?' || c == '{')
        return translate_repeat(t, c);
    t->has_repeat = false;
    if (c == '\\')
        return translate_escape(t);
    if (c == '(')
        return open_group(t);
    t->has_atom = c != '|' && c != '^' && c != '$';
    if (c == '[')
        return translate_set(t);
    heft_buf_char(t->out, c);
    return true;
}

bool heft_regex_translate(struct heft_regex *regex, const char *pattern, struct heft_buf *out,
                          struct heft_error *err)
{
    struct translator t = {
        .regex = regex, .pattern = pattern, .at = pattern, .out = out, .err = err};

    while (*t.at)
        if (!translate_one(&t))
            return false;
    return heft_buf_ok(out, err);
}
