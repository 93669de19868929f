/* rules_rename.c: `rename RE => TO`. Rules files may come from strangers, so the expressions are narrower than
 * those of --rename: what the C library would expand or search without bound is refused. */
#include "rules/rules_parts.h"

/* The text of a bracket expression from '[' on: its length with the ']', or what is left. */
static size_t bracket_length(struct heft_str text)
{
    size_t i = 1;

    i += i < text.n && text.p[i] == '^';
    i += i < text.n && text.p[i] == ']';
    while (i < text.n && text.p[i] != ']') {
        const bool is_class = text.p[i] == '[' && i + 1 < text.n && text.p[i + 1] == ':';
        const char *end = is_class ? memchr(text.p + i, ']', text.n - i) : NULL;

        if (text.p[i] == '\\' && i + 1 < text.n)
            i += 2;
        else
            i = end ? (size_t)(end - text.p) + 1 : i + 1;
    }
    return i < text.n ? i + 1 : text.n;
}

/* Only \d \w \s, and a backslash before punctuation. */
static bool check_escape(const struct heft_rules_reader *r, struct heft_str text, size_t at)
{
    const char c = at + 1 < text.n ? text.p[at + 1] : '\0';
    const bool is_letter =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');

    if (is_letter && c != 'd' && c != 'w' && c != 's')
        return heft_rules_refuse(
            r->rules, r->token.line, r->err,
            "found \\%c in the regular expression %.*s, expected \\d, \\w, \\s "
            "or a backslash before a sign",
            c, heft_rules_shown(text), text.p);
    return true;
}

/* Multiplies *product by the largest count of the interval {m,n} at the begin of the text. */
static void count_repeats(struct heft_str text, uint64_t *product)
{
    uint64_t number = 0, most = 1;

    for (size_t i = 1; i < text.n && text.p[i] != '}'; i++) {
        const char c = text.p[i];

        if (c != ',' && (c < '0' || c > '9'))
            return; /* a brace, no interval */
        number = c == ',' ? 0 : heft_min_u64(number, UINT32_MAX) * 10 + (uint64_t)(c - '0');
        most = heft_max_u64(most, number);
    }
    if (!heft_mul(*product, most, product))
        *product = UINT64_MAX;
}

static bool check_limits(const struct heft_rules_reader *r, struct heft_str text, uint64_t repeats,
                         uint32_t depth)
{
    if (depth > HEFT_RULES_GROUPS)
        return heft_rules_refuse(
            r->rules, r->token.line, r->err,
            "found groups %u deep in a regular expression, expected at most %u", (unsigned)depth,
            (unsigned)HEFT_RULES_GROUPS);
    if (repeats > HEFT_RULES_REPEATS)
        return heft_rules_refuse(r->rules, r->token.line, r->err,
                                 "the counts in braces of the regular expression %.*s multiply to "
                                 "more than %u",
                                 heft_rules_shown(text), text.p, (unsigned)HEFT_RULES_REPEATS);
    return true;
}

static bool check_group(const struct heft_rules_reader *r, struct heft_str text, size_t at)
{
    if (at + 1 < text.n && text.p[at + 1] == '?')
        return heft_rules_refuse(
            r->rules, r->token.line, r->err,
            "found (? in the regular expression %.*s, expected a plain group (…)",
            heft_rules_shown(text), text.p);
    return true;
}

static bool check_expression(const struct heft_rules_reader *r, struct heft_str text)
{
    uint64_t repeats = 1;
    uint32_t depth = 0;
    bool ok = true;

    if (text.n > HEFT_RULES_PATTERN)
        return heft_rules_refuse(r->rules, r->token.line, r->err,
                                 "found a regular expression of %zu bytes, expected at most %u",
                                 text.n, (unsigned)HEFT_RULES_PATTERN);
    for (size_t i = 0; ok && i < text.n; i++) {
        const struct heft_str rest = {text.p + i, text.n - i};

        switch (text.p[i]) {
        case '\\':
            ok = check_escape(r, text, i++);
            break;
        case '[':
            for (size_t end = i + bracket_length(rest); ok && i + 1 < end; i++)
                if (text.p[i] == '\\')
                    ok = check_escape(r, text, i++);
            break;
        case '(':
            depth++;
            ok = check_group(r, text, i);
            break;
        case ')':
            depth -= depth > 0;
            break;
        case '{':
            count_repeats(rest, &repeats);
            break;
        default:
            break;
        }
        ok = ok && check_limits(r, text, repeats, depth);
    }
    return ok;
}

static bool add_rename(struct heft_rules_reader *r, const struct heft_rename *rename)
{
    const uint32_t n = r->stage->n_renames;
    struct heft_rename *more = heft_reader_room(r->mem, r->renames, n, sizeof *more, r->err);

    if (!more)
        return false;
    more[n] = *rename;
    more[n].regex = heft_arena_zero(r->mem, 1, sizeof *rename->regex, r->err);
    if (!more[n].regex)
        return false;
    r->renames = more;
    r->stage->renames = more;
    r->stage->n_renames = n + 1;
    return true;
}

/* Compiles it, where heft_rules_free finds it; a failure is told with the line. */
static bool compile_rename(struct heft_rules_reader *r)
{
    const struct heft_rename *const rename = &r->renames[r->stage->n_renames - 1];
    struct heft_error why = {0};

    if (heft_regex_compile(rename->regex, rename->pattern, rename->replacement, &why))
        return true;
    if (why.code == HEFT_USAGE)
        return heft_rules_refuse(r->rules, rename->line, r->err, "%s", why.text);
    *r->err = why;
    return false;
}

bool heft_reader_rename(struct heft_rules_reader *r, bool optional)
{
    struct heft_rename rename = {.optional = optional, .line = r->token.line, .replacement = ""};

    if (r->stage->n_mappings > 0)
        return heft_reader_expected(
            r, "it before the other rules of its stage; write then between them");
    if (!heft_lexer_raw(&r->lexer, &r->token))
        return false;
    if (r->token.kind == HEFT_TOKEN_END || heft_reader_is_word(r, "=>"))
        return heft_reader_expected(r, "a regular expression");
    if (!check_expression(r, r->token.text))
        return false;
    rename.line = r->token.line;
    rename.pattern = heft_arena_text(r->mem, r->token.text, r->err);
    if (!rename.pattern || !heft_lexer_raw(&r->lexer, &r->token))
        return false;
    if (!heft_reader_is_word(r, "=>"))
        return heft_reader_expected(r, "=> after the regular expression");
    if (!heft_lexer_raw(&r->lexer, &r->token))
        return false;
    if (r->token.kind == HEFT_TOKEN_WORD) {
        rename.replacement = heft_arena_text(r->mem, r->token.text, r->err);
        if (!rename.replacement || !heft_lexer_raw(&r->lexer, &r->token))
            return false;
    }
    return add_rename(r, &rename) && compile_rename(r);
}
