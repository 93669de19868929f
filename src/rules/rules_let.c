/* rules_let.c: `let` and `words`. */
#include "base/sort.h"
#include "rules/rules_parts.h"

/* ---- variables ------------------------------------------------------------------------------------- */

static bool ends_expression(const struct heft_rules_reader *r)
{
    return r->token.kind == HEFT_TOKEN_END || heft_reader_is_word(r, "else");
}

/* An expression of the following words; blanks may separate its parts. */
static bool read_value(struct heft_rules_reader *r, struct heft_expr *out)
{
    struct heft_expr_parser parser;

    if (ends_expression(r))
        return heft_reader_expected(r, "an expression");
    heft_expr_begin(&parser, r, NULL, r->token.line);
    while (!ends_expression(r)) {
        if (r->token.kind != HEFT_TOKEN_WORD)
            return heft_reader_expected(r, "an expression of numbers, variables and + - * / ( )");
        if (!heft_expr_feed(&parser, r->token.text, r->token.line) || !heft_reader_advance(r))
            return false;
    }
    return heft_expr_end(&parser, out);
}

/* A plain name: it is looked for beside the input, and nowhere else. */
static bool read_file_name(struct heft_rules_reader *r, struct heft_variable *out)
{
    const struct heft_str text = r->token.text;

    if (r->token.kind != HEFT_TOKEN_WORD && r->token.kind != HEFT_TOKEN_QUOTED)
        return heft_reader_expected(r, "the name of a json file");
    if (text.n == 0 || text.n > 255 || text.p[0] == '.' || memchr(text.p, '/', text.n) ||
        memchr(text.p, '\\', text.n))
        return heft_reader_expected(
            r, "a plain file name, without '/' and without a dot at its begin");
    out->file = heft_arena_text(r->mem, text, r->err);
    return out->file && heft_reader_advance(r);
}

static bool add_key(struct heft_rules_reader *r, struct heft_variable *out, struct heft_str key)
{
    const char **keys = (const char **)(uintptr_t)out->keys; /* the reader's until it is done */
    const char **more = heft_reader_room(r->mem, keys, out->n_keys, sizeof *more, r->err);
    const char *copy = heft_arena_text(r->mem, key, r->err);

    if (!more || !copy)
        return false;
    if (key.n == 0 || out->n_keys == HEFT_RULES_DEPTH)
        return heft_reader_expected(r, key.n == 0 ? "keys with a dot between them, none empty"
                                                  : "at most 64 keys");
    more[out->n_keys++] = copy;
    out->keys = more;
    return true;
}

static bool read_keys(struct heft_rules_reader *r, struct heft_variable *out)
{
    struct heft_str rest = r->token.text;

    if (r->token.kind != HEFT_TOKEN_WORD && r->token.kind != HEFT_TOKEN_QUOTED)
        return heft_reader_expected(r, "the key of a number in the json file");
    for (;;) {
        const char *dot = rest.n ? memchr(rest.p, '.', rest.n) : NULL;
        const struct heft_str key = {rest.p, dot ? (size_t)(dot - rest.p) : rest.n};

        if (!add_key(r, out, key))
            return false;
        if (!dot)
            return heft_reader_advance(r);
        rest = (struct heft_str){dot + 1, rest.n - key.n - 1};
    }
}

static bool read_source(struct heft_rules_reader *r, struct heft_variable *out)
{
    out->is_given = heft_reader_is_word(r, "given");
    if (!out->is_given && !heft_reader_is_word(r, "json"))
        return read_value(r, &out->value);
    if (!heft_reader_advance(r))
        return false;
    if (!out->is_given && (!read_file_name(r, out) || !read_keys(r, out)))
        return false;
    if (!heft_reader_is_word(r, "else"))
        return true;
    return heft_reader_advance(r) && read_value(r, &out->otherwise);
}

/* The name of the variable that the next token is. */
static bool take_name(const struct heft_rules_reader *r, struct heft_str *name)
{
    const struct heft_str text = r->token.text;

    if (r->token.kind != HEFT_TOKEN_WORD || text.n < 2 || text.p[0] != '$')
        return false;
    *name = (struct heft_str){text.p + 1, text.n - 1};
    return heft_identifier_length(*name) == name->n;
}

bool heft_reader_let(struct heft_rules_reader *r)
{
    struct heft_variable read = {0};
    struct heft_str name;
    uint32_t index, line;

    if (!heft_reader_advance(r))
        return false;
    line = r->token.line;
    if (!take_name(r, &name))
        return heft_reader_expected(r, "a variable such as $heads");
    if (!heft_reader_variable(r, name, line, &index) || !heft_reader_advance(r))
        return false;
    if (r->variables[index].line)
        return heft_rules_refuse(r->rules, line, r->err,
                                 "found a second let of $%s, expected one; the first is in line %u",
                                 r->variables[index].name, (unsigned)r->variables[index].line);
    if (!heft_reader_is_word(r, "="))
        return heft_reader_expected(r, "= after the variable");
    r->variables[index].line = line;
    if (!heft_reader_advance(r) || !read_source(r, &read))
        return false;
    read.name = r->variables[index].name; /* the array may have moved */
    read.line = line;
    r->variables[index] = read;
    return true;
}

/* ---- cycles: Kahn's topological sort, linear in variables and terms ---------------------------------- */

typedef bool each_use_fn(void *ctx, uint32_t variable, uint32_t used);

/* Calls each() for every variable that the expressions of a variable mention. */
static bool each_use(const struct heft_rules *rules, uint32_t variable, each_use_fn *each,
                     void *ctx)
{
    const struct heft_variable *const v = &rules->variables[variable];
    const struct heft_expr *const both[] = {&v->value, &v->otherwise};

    for (size_t k = 0; k < HEFT_COUNT(both); k++)
        for (uint32_t i = 0; i < both[k]->n; i++)
            if (both[k]->terms[i].kind == HEFT_TERM_VARIABLE &&
                !each(ctx, variable, both[k]->terms[i].index))
                return false;
    return true;
}

struct sorting {
    uint32_t needs[HEFT_RULES_VARIABLES];  /* uses that are not sorted yet, by variable */
    uint32_t sorted[HEFT_RULES_VARIABLES]; /* in order */
    uint32_t n;
    uint32_t done; /* the variable that was sorted last */
};

static bool count_use(void *ctx, uint32_t variable, uint32_t used)
{
    struct sorting *const s = ctx;

    (void)used;
    s->needs[variable]++;
    return true;
}

static bool settle_use(void *ctx, uint32_t variable, uint32_t used)
{
    struct sorting *const s = ctx;

    if (used == s->done && --s->needs[variable] == 0)
        s->sorted[s->n++] = variable;
    return true;
}

static bool check_cycles(struct heft_rules_reader *r, struct sorting *s)
{
    const uint32_t n = r->rules->n_variables;

    for (uint32_t i = 0; i < n; i++)
        (void)each_use(r->rules, i, count_use, s);
    for (uint32_t i = 0; i < n; i++)
        if (s->needs[i] == 0)
            s->sorted[s->n++] = i;
    for (uint32_t k = 0; k < s->n; k++) {
        s->done = s->sorted[k];
        for (uint32_t i = 0; i < n; i++)
            if (s->needs[i])
                (void)each_use(r->rules, i, settle_use, s);
    }
    for (uint32_t i = 0; i < n; i++)
        if (s->needs[i])
            return heft_rules_refuse(r->rules, r->variables[i].line, r->err,
                                     "the value of $%s needs itself", r->variables[i].name);
    return true;
}

bool heft_reader_check_variables(struct heft_rules_reader *r)
{
    struct sorting *sorting;
    bool ok;

    for (uint32_t i = 0; i < r->rules->n_variables; i++)
        if (r->variables[i].line == 0)
            return heft_rules_refuse(r->rules, r->mentioned[i], r->err,
                                     "found $%s, expected a variable of a let",
                                     r->variables[i].name);
    sorting = heft_calloc(1, sizeof *sorting, r->err);
    ok = sorting && check_cycles(r, sorting);
    heft_free(sorting);
    return ok;
}

/* ---- words -------------------------------------------------------------------------------------------- */

struct spelling_list {
    struct heft_str *side[2];
    uint32_t *line;
    uint32_t n;
};

static bool is_spelling(const struct heft_rules_reader *r)
{
    return (r->token.kind == HEFT_TOKEN_WORD || r->token.kind == HEFT_TOKEN_QUOTED) &&
           r->token.text.n > 0;
}

static bool take_spelling(struct heft_rules_reader *r, struct heft_str *out)
{
    out->n = r->token.text.n;
    out->p = heft_arena_text(r->mem, r->token.text, r->err);
    return out->p && heft_reader_advance(r);
}

/* Reads a=b, or a. */
static bool add_word(struct heft_rules_reader *r, struct spelling_list *list)
{
    const uint32_t n = list->n;

    if (!is_spelling(r))
        return heft_reader_expected(r, "a word, or two with = between them");
    if (n == HEFT_RULES_WORDS)
        return heft_reader_expected(r, "at most 4096 words");
    for (unsigned side = 0; side < 2; side++) {
        list->side[side] =
            heft_reader_room(r->mem, list->side[side], n, sizeof(struct heft_str), r->err);
        if (!list->side[side])
            return false;
    }
    list->line = heft_reader_room(r->mem, list->line, n, sizeof *list->line, r->err);
    if (!list->line)
        return false;
    list->line[n] = r->token.line;
    if (!take_spelling(r, &list->side[0][n]))
        return false;
    list->side[1][n] = list->side[0][n];
    list->n = n + 1;
    if (r->token.kind != HEFT_TOKEN_EQUALS)
        return true;
    if (!heft_reader_advance(r))
        return false;
    return is_spelling(r) ? take_spelling(r, &list->side[1][n])
                          : heft_reader_expected(r, "a word after =");
}

static bool check_twice(struct heft_rules_reader *r, const struct spelling_list *list,
                        unsigned side)
{
    struct heft_strmap seen = {0};
    bool ok = true;

    for (uint32_t i = 0; ok && i < list->n; i++) {
        uint32_t other = HEFT_MAP_NONE;

        ok = heft_strmap_add(&seen, list->side[side][i], i, &other, r->err);
        if (ok && other != HEFT_MAP_NONE)
            ok = heft_rules_refuse(r->rules, list->line[i], r->err,
                                   "found the word '%.100s' twice on the %s, expected it once",
                                   list->side[side][i].p, side ? "right" : "left");
    }
    heft_strmap_release(&seen);
    return ok;
}

static bool is_shorter(const void *ctx, uint32_t a, uint32_t b)
{
    const struct heft_str *const words = ctx;

    return words[a].n < words[b].n;
}

static bool finish_words(struct heft_rules_reader *r, const struct spelling_list *list,
                         struct heft_word_set *set)
{
    set->n = list->n;
    for (unsigned side = 0; side < 2; side++) {
        if (!check_twice(r, list, side))
            return false;
        set->spelling[side] = list->side[side];
        set->longest[side] =
            heft_sort_indices(list->n, is_shorter, list->side[side], r->mem, r->err);
        if (!set->longest[side])
            return false;
    }
    return true;
}

/* The next set, of this name. */
static bool add_set(struct heft_rules_reader *r, struct heft_word_set **out)
{
    const struct heft_str name = r->token.text;
    const uint32_t n = r->rules->n_words, other = heft_strmap_get(&r->word_names, name);
    struct heft_word_set *more;

    if (r->token.kind != HEFT_TOKEN_WORD || heft_identifier_length(name) != name.n)
        return heft_reader_expected(r, "the name of a set of words, of letters and digits");
    if (other != HEFT_MAP_NONE)
        return heft_rules_refuse(
            r->rules, r->token.line, r->err,
            "found a second set of words %s, expected one; the first is in line %u",
            r->words[other].name, (unsigned)r->words[other].line);
    more = heft_reader_room(r->mem, r->words, n, sizeof *more, r->err);
    if (!more)
        return false;
    r->words = more;
    r->rules->words = more;
    more[n] = (struct heft_word_set){.line = r->token.line};
    more[n].name = heft_arena_text(r->mem, name, r->err);
    if (!more[n].name ||
        !heft_strmap_set(&r->word_names, (struct heft_str){more[n].name, name.n}, n, r->err))
        return false;
    r->rules->n_words = n + 1;
    *out = &more[n];
    return true;
}

bool heft_reader_words(struct heft_rules_reader *r)
{
    struct spelling_list list = {0};
    struct heft_word_set *set = NULL;

    r->lexer.splits_equals = true;
    if (!heft_reader_advance(r) || !add_set(r, &set) || !heft_reader_advance(r))
        return false;
    do {
        if (!add_word(r, &list))
            return false;
    } while (r->token.kind != HEFT_TOKEN_END);
    r->lexer.splits_equals = false;
    return finish_words(r, &list, set);
}
