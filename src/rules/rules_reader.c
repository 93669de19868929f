/* rules_reader.c: from a text to a program: the statements, one after the other, then what can be checked only
 * when all are read. */
#include <stdarg.h>
#include <stdio.h>

#include "rules/rules_parts.h"

enum { SHOWN_PATH = 160 }; /* bytes of a long path in an error, whose text has 400 */

bool heft_rules_refuse(const struct heft_rules *rules, uint32_t line, struct heft_error *err,
                       const char *format, ...)
{
    const size_t n = strlen(rules->file);
    const bool is_long = n > SHOWN_PATH;
    char text[sizeof err->text];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "%s%s:%u: %s", is_long ? "..." : "",
                     is_long ? rules->file + (n - SHOWN_PATH) : rules->file, (unsigned)line, text);
}

bool heft_rules_at_tensor(struct heft_error *err, struct heft_str name)
{
    const struct heft_error before = *err;

    heft_fail(err, before.code, before.offset, "%s (tensor %.*s)", before.text,
              heft_rules_shown(name), name.p);
    err->system_error = before.system_error;
    memcpy(err->file, before.file, sizeof err->file);
    return false;
}

/* ---- what the statements share -------------------------------------------------------------------- */

bool heft_reader_advance(struct heft_rules_reader *r)
{
    return heft_lexer_next(&r->lexer, &r->token);
}

bool heft_reader_expected(const struct heft_rules_reader *r, const char *what)
{
    const struct heft_str text = r->token.text;
    const bool is_quoted = r->token.kind == HEFT_TOKEN_QUOTED;

    if (r->token.kind == HEFT_TOKEN_END)
        return heft_rules_refuse(r->rules, r->token.line, r->err,
                                 "found the end of the rule, expected %s", what);
    return heft_rules_refuse(r->rules, r->token.line, r->err, "found %s%.*s%s, expected %s",
                             is_quoted ? "\"" : "'", heft_rules_shown(text), text.p,
                             is_quoted ? "\"" : "'", what);
}

void *heft_reader_room(struct heft_arena *mem, void *items, size_t n, size_t each,
                       struct heft_error *err)
{
    const bool is_full = n == 0 || (n >= 4 && (n & (n - 1)) == 0);

    if (!is_full)
        return items;
    return heft_arena_widen(mem, items, n * each, (n ? 2 * n : 4) * each, err);
}

size_t heft_identifier_length(struct heft_str text)
{
    size_t n = 0;

    for (; n < text.n; n++) {
        const char c = text.p[n];
        const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';

        if (!is_letter && (n == 0 || c < '0' || c > '9'))
            break;
    }
    return n;
}

bool heft_reader_number(const struct heft_rules_reader *r, struct heft_str text, uint32_t line,
                        uint64_t *out)
{
    uint64_t n = 0;

    for (size_t i = 0; i < text.n; i++) {
        if (!heft_mul(n, 10, &n) || !heft_add(n, (uint64_t)(text.p[i] - '0'), &n) ||
            n >= HEFT_RULES_END)
            return heft_rules_refuse(r->rules, line, r->err,
                                     "found the number %.*s, expected one below 2^63",
                                     heft_rules_shown(text), text.p);
    }
    *out = n;
    return true;
}

bool heft_reader_variable(struct heft_rules_reader *r, struct heft_str name, uint32_t line,
                          uint32_t *index)
{
    const uint32_t n = r->rules->n_variables;
    struct heft_variable *more;
    uint32_t *lines;
    char *copy;

    *index = heft_strmap_get(&r->variable_names, name);
    if (*index != HEFT_MAP_NONE)
        return true;
    if (n == HEFT_RULES_VARIABLES)
        return heft_rules_refuse(r->rules, line, r->err,
                                 "found one more variable, expected at most %u",
                                 (unsigned)HEFT_RULES_VARIABLES);
    more = heft_reader_room(r->mem, r->variables, n, sizeof *more, r->err);
    lines = heft_reader_room(r->mem, r->mentioned, n, sizeof *lines, r->err);
    copy = heft_arena_text(r->mem, name, r->err);
    if (!more || !lines || !copy ||
        !heft_strmap_set(&r->variable_names, (struct heft_str){copy, name.n}, n, r->err))
        return false;
    r->variables = more;
    r->mentioned = lines;
    more[n] = (struct heft_variable){.name = copy};
    lines[n] = line;
    r->rules->variables = more;
    r->rules->n_variables = n + 1;
    *index = n;
    return true;
}

/* ---- statements ------------------------------------------------------------------------------------- */

static bool read_title(struct heft_rules_reader *r)
{
    const uint32_t line = r->token.line;

    if (r->title_line)
        return heft_rules_refuse(r->rules, line, r->err,
                                 "found a second title, expected one; the first is in line %u",
                                 (unsigned)r->title_line);
    r->title_line = line;
    if (!heft_reader_advance(r))
        return false;
    if (r->token.kind != HEFT_TOKEN_QUOTED)
        return heft_reader_expected(r, "a title in quotes");
    r->rules->title = r->token.text.p;
    return heft_reader_advance(r);
}

static bool add_stage(struct heft_rules_reader *r)
{
    const uint32_t n = r->rules->n_stages;
    struct heft_stage *more = heft_reader_room(r->mem, r->stages, n, sizeof *more, r->err);

    if (!more)
        return false;
    r->stages = more;
    r->rules->stages = more;
    r->rules->n_stages = n + 1;
    r->stage = &more[n];
    *r->stage = (struct heft_stage){0};
    r->renames = NULL;
    r->mappings = NULL;
    return true;
}

static bool read_then(struct heft_rules_reader *r)
{
    if (r->stage->n_renames == 0 && r->stage->n_mappings == 0)
        return heft_rules_refuse(r->rules, r->token.line, r->err,
                                 "found then, expected a rule before it");
    r->then_line = r->token.line;
    return heft_reader_advance(r) && add_stage(r);
}

/* A word that no statement begins with, nor a name. */
static bool is_reserved(const struct heft_rules_reader *r)
{
    static const char *const words[] = {"with", "also", "zeros", "=>", "<=>", "<="};

    for (size_t i = 0; i < HEFT_COUNT(words); i++)
        if (heft_reader_is_word(r, words[i]))
            return true;
    return false;
}

static bool count_rule(struct heft_rules_reader *r, uint32_t line)
{
    if (r->n_rules++ < HEFT_RULES_MAPPINGS)
        return true;
    return heft_rules_refuse(r->rules, line, r->err, "found one more rule, expected at most %u",
                             (unsigned)HEFT_RULES_MAPPINGS);
}

/* A rule, after its `?` if it has one. */
static bool read_rule(struct heft_rules_reader *r, bool optional)
{
    const bool is_drop = heft_reader_is_word(r, "drop"), is_keep = heft_reader_is_word(r, "keep");

    if (!count_rule(r, r->token.line))
        return false;
    if (heft_reader_is_word(r, "rename"))
        return heft_reader_rename(r, optional);
    if (is_drop || is_keep) {
        if (optional)
            return heft_reader_expected(
                r, "a name or rename after ?; a drop or keep may take nothing anyway");
        return heft_reader_drop(r, is_drop ? HEFT_REMAP_DROP : HEFT_REMAP_KEEP);
    }
    if (is_reserved(r))
        return heft_reader_expected(r, "a name; write it in quotes if it is one");
    return heft_reader_move(r, optional);
}

static bool read_statement(struct heft_rules_reader *r)
{
    if (heft_reader_is_word(r, "rules"))
        return read_title(r);
    if (heft_reader_is_word(r, "let"))
        return heft_reader_let(r);
    if (heft_reader_is_word(r, "words"))
        return heft_reader_words(r);
    if (heft_reader_is_word(r, "then"))
        return read_then(r);
    if (heft_reader_is_word(r, "?"))
        return heft_reader_advance(r) && read_rule(r, true);
    return read_rule(r, false);
}

static bool read_statements(struct heft_rules_reader *r)
{
    bool more;

    for (;;) {
        if (!heft_lexer_statement(&r->lexer, &more))
            return false;
        if (!more)
            return true;
        if (!heft_reader_advance(r) || !read_statement(r))
            return false;
        if (r->token.kind != HEFT_TOKEN_END)
            return heft_reader_expected(r, "the end of the line");
    }
}

/* ---- the whole -------------------------------------------------------------------------------------- */

static bool check_stages(struct heft_rules_reader *r)
{
    if (r->n_rules == 0)
        return heft_rules_refuse(r->rules, 1, r->err, "found no rule, expected at least one");
    if (r->stage->n_renames == 0 && r->stage->n_mappings == 0)
        return heft_rules_refuse(r->rules, r->then_line, r->err,
                                 "found then, expected a rule after it");
    for (uint32_t s = 0; s < r->rules->n_stages; s++)
        for (uint32_t i = 0; i < r->stages[s].n_mappings; i++) {
            /* The mappings are the reader's until it is done. */
            struct heft_remap *const all = (struct heft_remap *)(uintptr_t)r->stages[s].mappings;

            if (!heft_remap_check(r, &all[i]))
                return false;
        }
    return true;
}

static bool read_text(struct heft_rules *rules, struct heft_error *err)
{
    struct heft_rules_reader r = {.rules = rules, .mem = rules->mem, .err = err};
    bool ok = add_stage(&r) && heft_lexer_begin(&r.lexer, rules, err) && read_statements(&r) &&
              heft_reader_check_variables(&r) && check_stages(&r);

    heft_strmap_release(&r.variable_names);
    heft_strmap_release(&r.word_names);
    rules->has_file_slots = heft_stages_have_file_slots(rules);
    return ok;
}

/* The program with its memory, which is in a block of its own. */
struct owned_rules {
    struct heft_rules rules;
    struct heft_arena arena;
    struct heft_budget budget;
};

static bool copy_text(struct heft_rules *rules, struct heft_str text, const char *file,
                      struct heft_error *err)
{
    rules->file = heft_arena_text(rules->mem, heft_str_of(file), err);
    if (!rules->file)
        return false;
    if (text.n > HEFT_RULES_BYTES)
        return heft_rules_refuse(rules, 1, err,
                                 "found a file of more than %u bytes, expected at most so many",
                                 (unsigned)HEFT_RULES_BYTES);
    rules->text.p = heft_arena_text(rules->mem, text, err);
    rules->text.n = text.n;
    return rules->text.p != NULL;
}

struct heft_rules *heft_rules_parse(struct heft_str text, const char *file, struct heft_error *err)
{
    struct owned_rules *const owned = heft_calloc(1, sizeof *owned, err);
    struct heft_rules *rules;

    if (!owned)
        return NULL;
    rules = &owned->rules;
    owned->budget.most = HEFT_RULES_MEMORY;
    owned->arena.budget = &owned->budget;
    rules->mem = &owned->arena;
    rules->title = "";
    if (copy_text(rules, text, file, err) && read_text(rules, err))
        return rules;
    heft_rules_free(rules);
    return NULL;
}

void heft_rules_free(struct heft_rules *rules)
{
    if (!rules)
        return;
    for (uint32_t s = 0; s < rules->n_stages; s++)
        for (uint32_t i = 0; i < rules->stages[s].n_renames; i++)
            heft_regex_release(rules->stages[s].renames[i].regex);
    heft_arena_release(rules->mem);
    heft_free(rules); /* the first member of its block */
}

uint32_t heft_rules_variable(const struct heft_rules *rules, const char *name)
{
    for (uint32_t i = 0; i < rules->n_variables; i++)
        if (strcmp(rules->variables[i].name, name) == 0)
            return i;
    return HEFT_RULES_NONE;
}
