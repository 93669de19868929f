/* rules_move.c: rules of names: drop, keep, and those with an arrow. */
#include "rules/rules_parts.h"

/* ---- patterns ------------------------------------------------------------------------------------------ */

static bool is_file_slot(const struct heft_rules_reader *r)
{
    return r->token.kind == HEFT_TOKEN_WORD && heft_str_starts(r->token.text, HEFT_STR("@{"));
}

/* Whether the next token is what follows a pattern, not a part of it. */
static bool ends_pattern(const struct heft_rules_reader *r)
{
    static const char *const words[] = {"=>", "<=>", "<=", "with", "also", "zeros"};

    if (r->token.kind != HEFT_TOKEN_WORD)
        return r->token.kind != HEFT_TOKEN_QUOTED && r->token.kind != HEFT_TOKEN_SHAPE;
    for (size_t i = 0; i < HEFT_COUNT(words); i++)
        if (heft_reader_is_word(r, words[i]))
            return true;
    return false;
}

/* Reads what may follow a name: @{s} [SHAPE] DTYPE. */
static bool read_qualifiers(struct heft_rules_reader *r, struct heft_remap *mapping,
                            struct heft_pattern *out)
{
    enum heft_dtype dtype;
    char name[32];

    if (is_file_slot(r) &&
        (!heft_name_file_slot(r, mapping, &r->token, &out->file_slot) || !heft_reader_advance(r)))
        return false;
    if (r->token.kind == HEFT_TOKEN_SHAPE &&
        (!heft_expr_shape(r, mapping, &r->token, out) || !heft_reader_advance(r)))
        return false;
    if (r->token.kind != HEFT_TOKEN_WORD || ends_pattern(r))
        return true;
    if (r->token.text.n >= sizeof name)
        return heft_reader_expected(r, "a dtype, or the end of the name");
    memcpy(name, r->token.text.p, r->token.text.n);
    name[r->token.text.n] = '\0';
    if (!heft_dtype_named(name, &dtype))
        return heft_reader_expected(r, "a shape, a dtype, or what follows a name: , | with => <=>");
    out->dtype = (int)dtype;
    return heft_reader_advance(r);
}

static bool read_pattern(struct heft_rules_reader *r, struct heft_remap *mapping, uint8_t side,
                         struct heft_pattern *out)
{
    const bool is_name = r->token.kind == HEFT_TOKEN_QUOTED ||
                         (r->token.kind == HEFT_TOKEN_WORD && !ends_pattern(r) && !is_file_slot(r));

    *out = (struct heft_pattern){.line = r->token.line, .file_slot = HEFT_RULES_NONE, .dtype = -1};
    if (!is_name)
        return heft_reader_expected(r, "a name");
    return heft_name_parse(r, mapping, r->token.text, r->token.line, side, &out->name) &&
           heft_reader_advance(r) && read_qualifiers(r, mapping, out);
}

/* Reads patterns with commas between them, and appends them to a list. */
static bool read_patterns(struct heft_rules_reader *r, struct heft_remap *mapping, uint8_t side,
                          const struct heft_pattern **list, uint32_t *n)
{
    struct heft_pattern *patterns = (struct heft_pattern *)(uintptr_t)*list; /* the reader's */

    for (;;) {
        if (*n == HEFT_RULES_NAMES)
            return heft_reader_expected(r, "at most 256 names on a side");
        patterns = heft_reader_room(r->mem, patterns, *n, sizeof *patterns, r->err);
        if (!patterns || !read_pattern(r, mapping, side, &patterns[*n]))
            return false;
        ++*n;
        *list = patterns;
        if (r->token.kind != HEFT_TOKEN_COMMA)
            return true;
        if (!heft_reader_advance(r))
            return false;
    }
}

/* Reads names without shape after the word `also` or `zeros`. */
static bool read_names(struct heft_rules_reader *r, struct heft_remap *mapping,
                       const struct heft_pattern **list, uint32_t *n)
{
    const uint32_t first = *n;

    if (!heft_reader_advance(r) || !read_patterns(r, mapping, 1, list, n))
        return false;
    for (uint32_t i = first; i < *n; i++)
        if ((*list)[i].has_shape || (*list)[i].dtype >= 0)
            return heft_rules_refuse(
                r->rules, (*list)[i].line, r->err,
                "found a shape or dtype after %.*s, expected the name alone; it "
                "has those of the result",
                heft_rules_shown((*list)[i].name.text), (*list)[i].name.text.p);
    return true;
}

/* ---- rules --------------------------------------------------------------------------------------------- */

static struct heft_remap *add_mapping(struct heft_rules_reader *r)
{
    const uint32_t n = r->stage->n_mappings;
    struct heft_remap *more = heft_reader_room(r->mem, r->mappings, n, sizeof *more, r->err);

    if (!more)
        return NULL;
    r->mappings = more;
    r->stage->mappings = more;
    r->stage->n_mappings = n + 1;
    more[n] = (struct heft_remap){.kind = HEFT_REMAP_MOVE,
                                  .line = r->token.line,
                                  .gathered = HEFT_RULES_NONE,
                                  .spread = HEFT_RULES_NONE};
    return &more[n];
}

bool heft_reader_drop(struct heft_rules_reader *r, enum heft_remap_kind kind)
{
    struct heft_remap *const mapping = add_mapping(r);

    if (!mapping || !heft_reader_advance(r))
        return false;
    mapping->kind = (uint8_t)kind;
    mapping->optional = true;
    mapping->both_ways = true;
    if (!read_patterns(r, mapping, 0, &mapping->left, &mapping->n_left))
        return false;
    return mapping->n_left == 1 ||
           heft_rules_refuse(r->rules, mapping->left[1].line, r->err,
                             "found a second name after drop or keep, expected a line for each");
}

static bool read_ops(struct heft_rules_reader *r, struct heft_remap *mapping)
{
    while (r->token.kind == HEFT_TOKEN_BAR) {
        struct heft_rule_op *const ops =
            heft_reader_room(r->mem, heft_remap_ops(mapping), mapping->n_ops, sizeof *ops, r->err);

        if (!ops || !heft_reader_advance(r))
            return false;
        mapping->ops = ops;
        if (mapping->n_ops == HEFT_RULES_OPS)
            return heft_reader_expected(r, "at most 64 ops");
        if (!heft_op_parse(r, mapping, &ops[mapping->n_ops]))
            return false;
        mapping->n_ops++;
    }
    return true;
}

static bool read_right(struct heft_rules_reader *r, struct heft_remap *mapping)
{
    if (!read_patterns(r, mapping, 1, &mapping->right, &mapping->n_right))
        return false;
    for (;;) {
        bool ok = true;

        if (heft_reader_is_word(r, "also"))
            ok = read_names(r, mapping, &mapping->also, &mapping->n_also);
        else if (heft_reader_is_word(r, "zeros"))
            ok = read_names(r, mapping, &mapping->zeros, &mapping->n_zeros);
        else if (r->token.kind != HEFT_TOKEN_END)
            return heft_reader_expected(r, "the end of the rule, also, zeros or ,");
        else
            return true;
        if (!ok)
            return false;
    }
}

bool heft_reader_move(struct heft_rules_reader *r, bool optional)
{
    struct heft_remap *const mapping = add_mapping(r);

    if (!mapping)
        return false;
    mapping->optional = optional;
    if (!read_patterns(r, mapping, 0, &mapping->left, &mapping->n_left))
        return false;
    while (heft_reader_is_word(r, "with"))
        if (!heft_reader_advance(r) ||
            !read_patterns(r, mapping, 0, &mapping->with, &mapping->n_with))
            return false;
    if (!read_ops(r, mapping))
        return false;
    mapping->both_ways = heft_reader_is_word(r, "<=>");
    if (!mapping->both_ways && !heft_reader_is_word(r, "=>"))
        return heft_reader_expected(r, "=> or <=>");
    return heft_reader_advance(r) && read_right(r, mapping);
}
