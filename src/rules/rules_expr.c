/* rules_expr.c: expressions, by Dijkstra's shunting-yard algorithm, and shapes. */
#include "rules/rules_parts.h"

static bool refuse_expression(const struct heft_expr_parser *p, const char *found,
                              const char *expected)
{
    return heft_rules_refuse(p->reader->rules, p->line, p->reader->err,
                             "found %s in an expression, expected %s", found, expected);
}

void heft_expr_begin(struct heft_expr_parser *p, struct heft_rules_reader *r,
                     struct heft_remap *mapping, uint32_t line)
{
    p->reader = r;
    p->mapping = mapping;
    p->n = 0;
    p->n_pending = 0;
    p->depth = 0;
    p->line = line;
    p->has_operand = false;
}

/* Appends a term; an operator's span follows from its operands. */
static bool put_term(struct heft_expr_parser *p, struct heft_term term)
{
    if (p->n == HEFT_RULES_TERMS)
        return heft_rules_refuse(p->reader->rules, p->line, p->reader->err,
                                 "found an expression of more than %u numbers, names and operators",
                                 (unsigned)HEFT_RULES_TERMS);
    term.span = 1;
    if (term.kind >= HEFT_TERM_ADD) {
        const uint32_t right = p->terms[p->n - 1].span;

        term.span += right + p->terms[p->n - 1 - right].span;
    }
    p->terms[p->n++] = term;
    return true;
}

/* ---- operands ---------------------------------------------------------------------------------------- */

/* Index of a name of a size, which is added if it is new. */
static bool size_index(struct heft_expr_parser *p, struct heft_str name, uint32_t *index)
{
    struct heft_remap *const m = p->mapping;
    const char **sizes = (const char **)(uintptr_t)m->sizes; /* the reader's until it is done */
    const char **more;

    for (*index = 0; *index < m->n_sizes; ++*index)
        if (heft_str_is(name, sizes[*index]))
            return true;
    if (m->n_sizes == HEFT_RULES_SIZES)
        return refuse_expression(p, "one more name", "at most 256 in a rule");
    more = heft_reader_room(p->reader->mem, sizes, m->n_sizes, sizeof *more, p->reader->err);
    if (!more)
        return false;
    m->sizes = more;
    more[m->n_sizes] = heft_arena_text(p->reader->mem, name, p->reader->err);
    return more[m->n_sizes++] != NULL;
}

static bool take_variable(struct heft_expr_parser *p, struct heft_str text, size_t *n)
{
    const struct heft_str rest = {text.p + 1, text.n - 1};
    const struct heft_str name = {rest.p, heft_identifier_length(rest)};
    struct heft_term term = {.kind = HEFT_TERM_VARIABLE};

    if (name.n == 0)
        return refuse_expression(p, "$", "the name of a variable after it");
    *n = name.n + 1;
    return heft_reader_variable(p->reader, name, p->line, &term.index) && put_term(p, term);
}

static bool take_size(struct heft_expr_parser *p, struct heft_str name)
{
    struct heft_term term = {.kind = HEFT_TERM_NAME};

    if (!p->mapping)
        return heft_rules_refuse(
            p->reader->rules, p->line, p->reader->err,
            "found '%.*s' in an expression, expected a number or a variable such as $%.*s",
            heft_rules_shown(name), name.p, heft_rules_shown(name), name.p);
    if (heft_str_is(name, "_"))
        return refuse_expression(p, "_", "it alone, as a size of any value");
    return size_index(p, name, &term.index) && put_term(p, term);
}

static bool take_operand(struct heft_expr_parser *p, struct heft_str text, size_t *n)
{
    struct heft_term term = {.kind = HEFT_TERM_NUMBER};

    if (p->has_operand)
        return heft_rules_refuse(p->reader->rules, p->line, p->reader->err,
                                 "found '%.*s' in an expression, expected + - * / or its end",
                                 heft_rules_shown(text), text.p);
    p->has_operand = true;
    if (text.p[0] == '$')
        return take_variable(p, text, n);
    *n = heft_identifier_length(text);
    if (*n)
        return take_size(p, (struct heft_str){text.p, *n});
    while (*n < text.n && text.p[*n] >= '0' && text.p[*n] <= '9')
        ++*n;
    if (*n == 0)
        return heft_rules_refuse(p->reader->rules, p->line, p->reader->err,
                                 "found '%.*s', expected a number, a name or a variable",
                                 heft_rules_shown(text), text.p);
    return heft_reader_number(p->reader, (struct heft_str){text.p, *n}, p->line, &term.number) &&
           put_term(p, term);
}

/* ---- operators --------------------------------------------------------------------------------------- */

static unsigned precedence(char op)
{
    return op == '*' || op == '/' ? 2 : op == '+' || op == '-' ? 1 : 0;
}

static bool put_operator(struct heft_expr_parser *p, char op)
{
    const uint8_t kind = op == '+'   ? HEFT_TERM_ADD
                         : op == '-' ? HEFT_TERM_SUBTRACT
                         : op == '*' ? HEFT_TERM_MULTIPLY
                                     : HEFT_TERM_DIVIDE;

    return put_term(p, (struct heft_term){.kind = kind});
}

/* Moves operators that bind at least as strongly to the output. */
static bool flush_operators(struct heft_expr_parser *p, unsigned least)
{
    while (p->n_pending && precedence(p->pending[p->n_pending - 1]) >= least)
        if (!put_operator(p, p->pending[--p->n_pending]))
            return false;
    return true;
}

static bool take_operator(struct heft_expr_parser *p, char op)
{
    const char found[] = {'\'', op, '\'', '\0'};

    if (!p->has_operand)
        return refuse_expression(p, found, "a number, a name or a variable before it");
    p->has_operand = false;
    if (!flush_operators(p, precedence(op)))
        return false;
    p->pending[p->n_pending++] = op; /* at most two in each pair of parentheses */
    return true;
}

static bool open_parenthesis(struct heft_expr_parser *p)
{
    if (p->has_operand)
        return refuse_expression(p, "'('", "+ - * / before it");
    if (p->depth++ == HEFT_RULES_DEPTH)
        return refuse_expression(p, "one more '('", "at most 64 parentheses within each other");
    p->pending[p->n_pending++] = '(';
    return true;
}

static bool close_parenthesis(struct heft_expr_parser *p)
{
    if (p->depth == 0)
        return refuse_expression(p, "')'", "'(' before it");
    if (!p->has_operand)
        return refuse_expression(p, "')'", "a number, a name or a variable before it");
    p->depth--;
    if (!flush_operators(p, 1))
        return false;
    p->n_pending--; /* the parenthesis */
    return true;
}

/* ---- the whole --------------------------------------------------------------------------------------- */

bool heft_expr_feed(struct heft_expr_parser *p, struct heft_str text, uint32_t line)
{
    p->line = line;
    for (size_t i = 0; i < text.n;) {
        const char c = text.p[i];
        const struct heft_str rest = {text.p + i, text.n - i};
        size_t n = 1;
        bool ok = true;

        if (c == '\n')
            p->line++;
        else if (precedence(c))
            ok = take_operator(p, c);
        else if (c == '(')
            ok = open_parenthesis(p);
        else if (c == ')')
            ok = close_parenthesis(p);
        else if (c != ' ')
            ok = take_operand(p, rest, &n);
        if (!ok)
            return false;
        i += n;
    }
    return true;
}

bool heft_expr_end(struct heft_expr_parser *p, struct heft_expr *out)
{
    struct heft_term *terms;

    if (p->depth)
        return refuse_expression(p, "'(' without end", "')'");
    if (!p->has_operand)
        return refuse_expression(p, p->n_pending ? "an operator at the end" : "nothing",
                                 "a number, a name or a variable");
    if (!flush_operators(p, 1))
        return false;
    terms = heft_arena_zero(p->reader->mem, p->n, sizeof *terms, p->reader->err);
    if (!terms)
        return false;
    memcpy(terms, p->terms, p->n * sizeof *terms);
    *out = (struct heft_expr){terms, p->n, p->line};
    return true;
}

bool heft_expr_parse(struct heft_rules_reader *r, struct heft_remap *mapping, struct heft_str text,
                     uint32_t line, struct heft_expr *out)
{
    struct heft_expr_parser parser;

    heft_expr_begin(&parser, r, mapping, line);
    return heft_expr_feed(&parser, text, line) && heft_expr_end(&parser, out);
}

/* ---- shapes ------------------------------------------------------------------------------------------ */

static struct heft_str trim_blanks(struct heft_str text, uint32_t *line)
{
    for (; text.n && (text.p[0] == ' ' || text.p[0] == '\n'); text.n--)
        *line += *text.p++ == '\n';
    while (text.n && (text.p[text.n - 1] == ' ' || text.p[text.n - 1] == '\n'))
        text.n--;
    return text;
}

static bool add_extent(struct heft_rules_reader *r, struct heft_remap *mapping,
                       struct heft_str text, uint32_t line, struct heft_pattern *out)
{
    struct heft_expr *extents = (struct heft_expr *)(uintptr_t)out->shape; /* the reader's */
    struct heft_expr *more;

    text = trim_blanks(text, &line);
    if (text.n == 0)
        return heft_rules_refuse(r->rules, line, r->err,
                                 "found a shape with an empty place, expected a size");
    if (out->n_dims == HEFT_RULES_DIMS)
        return heft_rules_refuse(r->rules, line, r->err, "found a shape of more than %u dimensions",
                                 (unsigned)HEFT_RULES_DIMS);
    more = heft_reader_room(r->mem, extents, out->n_dims, sizeof *more, r->err);
    if (!more)
        return false;
    out->shape = more;
    more[out->n_dims] = (struct heft_expr){.line = line};
    if (!heft_str_is(text, "_") && !heft_expr_parse(r, mapping, text, line, &more[out->n_dims]))
        return false;
    out->n_dims++;
    return true;
}

/* The text in one line, for messages. */
static const char *shape_text(struct heft_rules_reader *r, struct heft_str text)
{
    char *const copy = heft_arena_text(r->mem, text, r->err);
    size_t n = 0;

    for (size_t i = 0; copy && i < text.n; i++)
        if ((copy[i] != '\n' && copy[i] != ' ') || (n && copy[n - 1] != ' '))
            copy[n++] = copy[i] == '\n' ? ' ' : copy[i];
    if (copy)
        copy[n] = '\0';
    return copy;
}

bool heft_expr_shape(struct heft_rules_reader *r, struct heft_remap *mapping,
                     const struct heft_rules_token *token, struct heft_pattern *out)
{
    struct heft_str rest = {token->text.p + 1, token->text.n - 2}; /* without brackets */
    uint32_t line = token->line, last = line;

    out->has_shape = true;
    out->shape_text = shape_text(r, token->text);
    if (!out->shape_text)
        return false;
    if (trim_blanks(rest, &last).n == 0)
        return true;
    for (;;) {
        const char *comma = rest.n ? memchr(rest.p, ',', rest.n) : NULL;
        const struct heft_str part = {rest.p, comma ? (size_t)(comma - rest.p) : rest.n};

        if (!add_extent(r, mapping, part, line, out))
            return false;
        for (size_t i = 0; i < part.n; i++)
            line += part.p[i] == '\n';
        if (!comma)
            return true;
        rest = (struct heft_str){comma + 1, rest.n - part.n - 1};
    }
}
