/* syntax_tree.c: parser of split patterns. It descends into groups, at most HEFT_SYNTAX_DEPTH. */
#include "tokens/split/syntax_tree.h"

#include "base/text.h"
#include "tokens/split/pattern_text.h"

struct parser {
    struct heft_pattern_text in;
    struct heft_syntax_tree *tree;
    unsigned depth;
};

bool heft_syntax_tree_intern(struct heft_syntax_tree *tree, struct heft_code_ranges *set,
                             uint32_t *index, struct heft_error *err)
{
    size_t i = 0;

    while (i < tree->n_sets && !heft_code_ranges_equal(&tree->sets[i], set))
        i++;
    *index = (uint32_t)i;
    if (i < tree->n_sets) {
        heft_code_ranges_release(set);
        return true;
    }
    if (i == HEFT_SYNTAX_SETS ||
        !heft_grow(&tree->sets, &tree->sets_cap, i, 1, sizeof *tree->sets, err)) {
        heft_code_ranges_release(set);
        return i == HEFT_SYNTAX_SETS &&
               heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "split pattern has more than %d different sets of characters",
                         HEFT_SYNTAX_SETS);
    }
    tree->sets[tree->n_sets++] = *set;
    *set = (struct heft_code_ranges){0};
    return true;
}

static bool new_node(struct parser *p, struct heft_syntax_node node, uint32_t *index)
{
    struct heft_syntax_tree *const tree = p->tree;

    if (!heft_grow(&tree->nodes, &tree->nodes_cap, tree->n_nodes, 1, sizeof *tree->nodes,
                   p->in.err))
        return false;
    *index = (uint32_t)tree->n_nodes;
    tree->nodes[tree->n_nodes++] = node;
    return true;
}

/* A node for one character of the set, which it takes over. */
static bool set_node(struct parser *p, struct heft_code_ranges *set, uint32_t *index)
{
    struct heft_syntax_node node = {.kind = HEFT_SYNTAX_SET};

    return heft_syntax_tree_intern(p->tree, set, &node.set, p->in.err) && new_node(p, node, index);
}

/* A node for the end of the text, or before one of the set, which it takes over. */
static bool ahead_node(struct parser *p, struct heft_code_ranges *set, bool at_end, uint32_t *index)
{
    struct heft_syntax_node node = {
        .kind = HEFT_SYNTAX_AHEAD, .at_end = at_end, .can_be_empty = true};

    return heft_syntax_tree_intern(p->tree, set, &node.set, p->in.err) && new_node(p, node, index);
}

static bool parse_choice(struct parser *p, uint32_t *index);

/* The inside of a group, and its parenthesis. */
static bool parse_group_rest(struct parser *p, size_t offset, uint32_t *index)
{
    bool ok;

    if (p->depth == HEFT_SYNTAX_DEPTH)
        return heft_fail(p->in.err, HEFT_LIMIT, offset,
                         "split pattern has more than %d groups and classes within each other",
                         HEFT_SYNTAX_DEPTH);
    p->depth++;
    ok = parse_choice(p, index) &&
         (heft_pattern_skip(&p->in, ")") ||
          heft_pattern_malformed(&p->in, offset, "has a group without a closing parenthesis"));
    p->depth--;
    return ok;
}

/* Adds what an alternative of a look-ahead matches: one character, or the end of the text. */
static bool add_ahead(struct parser *p, uint32_t index, size_t offset, struct heft_code_ranges *set,
                      bool *at_end)
{
    const struct heft_syntax_node *node = &p->tree->nodes[index];

    while (node->kind == HEFT_SYNTAX_LIST && node->child && !p->tree->nodes[node->child].next)
        node = &p->tree->nodes[node->child];
    if (node->kind == HEFT_SYNTAX_CHOICE) {
        bool ok = true;

        for (uint32_t child = node->child; ok && child; child = p->tree->nodes[child].next)
            ok = add_ahead(p, child, offset, set, at_end);
        return ok;
    }
    if (node->kind != HEFT_SYNTAX_SET && node->kind != HEFT_SYNTAX_AHEAD)
        return heft_pattern_unsupported(&p->in, offset,
                                        "a look-ahead of other than exactly one character");
    *at_end |= node->kind == HEFT_SYNTAX_AHEAD && node->at_end;
    return heft_code_ranges_unite(set, &p->tree->sets[node->set], p->in.err);
}

/* (?=…) and (?!…), after the sign. */
static bool parse_look_ahead(struct parser *p, bool is_negated, size_t offset, uint32_t *index)
{
    struct heft_code_ranges set = {0};
    uint32_t inside = 0;
    bool at_end = false;

    if (!parse_group_rest(p, offset, &inside))
        return false;
    if (!add_ahead(p, inside, offset, &set, &at_end) ||
        (is_negated && !heft_code_ranges_negate(&set, p->in.err))) {
        heft_code_ranges_release(&set);
        return false;
    }
    return ahead_node(p, &set, at_end != is_negated, index);
}

/* (?i:…), or (?i) at the begin of the pattern or of a group, where both programs extend it to the
 * end of that group. */
static bool parse_ignore_case(struct parser *p, size_t offset, uint32_t *index)
{
    const bool before = p->in.ignores_case;
    const bool is_first =
        offset == 0 ||
        (p->in.text.p[offset - 1] == '(' && (offset < 2 || p->in.text.p[offset - 2] != '\\')) ||
        (offset >= 3 && memcmp(p->in.text.p + offset - 3, "(?:", 3) == 0);

    if (heft_pattern_skip(&p->in, ":")) {
        bool ok;

        p->in.ignores_case = true;
        ok = parse_group_rest(p, offset, index);
        p->in.ignores_case = before;
        return ok;
    }
    if (!heft_pattern_skip(&p->in, ")"))
        return heft_pattern_unsupported(&p->in, offset, "a group with options other than (?i…)");
    if (!is_first)
        return heft_pattern_unsupported(&p->in, offset,
                                        "(?i) after the begin of a group (write (?i:…))");
    p->in.ignores_case = true; /* until parse_choice ends the group */
    return new_node(p, (struct heft_syntax_node){.can_be_empty = true}, index);
}

/* Groups that heft refuses. */
static const struct {
    const char *begin, *name;
} REFUSED[] = {
    {"(?<=", "a look-behind (?<=…)"},
    {"(?<!", "a look-behind (?<!…)"},
    {"(?>", "an atomic group (?>…)"},
    {"(?#", "a comment (?#…)"},
    {"(?<", "a named group"},
    {"(?P", "a named group"},
    {"(?(", "a conditional group (?(…)…)"},
    {"(?~", "an absent operator (?~…)"},
    {"(?&", "a call"},
    {"(?R", "a call"},
    {"(*", "a verb or a callout (*…)"},
    {"(?", "a group with options other than (?i…)"},
};

static bool parse_group(struct parser *p, uint32_t *index)
{
    const size_t offset = p->in.at;

    if (heft_pattern_skip(&p->in, "(?:"))
        return parse_group_rest(p, offset, index);
    if (heft_pattern_skip(&p->in, "(?i"))
        return parse_ignore_case(p, offset, index);
    if (heft_pattern_skip(&p->in, "(?="))
        return parse_look_ahead(p, false, offset, index);
    if (heft_pattern_skip(&p->in, "(?!"))
        return parse_look_ahead(p, true, offset, index);
    for (size_t i = 0; i < HEFT_COUNT(REFUSED); i++)
        if (heft_pattern_starts(&p->in, REFUSED[i].begin))
            return heft_pattern_unsupported(&p->in, offset, REFUSED[i].name);
    p->in.at++;
    return parse_group_rest(p, offset, index);
}

/* $: in tiktoken the end of the text, in tokenizers also before each line feed. */
static bool parse_dollar(struct parser *p, uint32_t *index)
{
    struct heft_code_ranges set = {0};

    p->in.at++;
    return (p->in.engine == HEFT_ENGINE_TIKTOKEN ||
            heft_code_ranges_add(&set, '\n', '\n', p->in.err)) &&
           ahead_node(p, &set, true, index);
}

static bool parse_escape(struct parser *p, struct heft_code_ranges *set, uint32_t *index)
{
    const size_t offset = p->in.at;
    bool is_char, ok;
    uint32_t c;

    if (heft_pattern_skip(&p->in, "\\z"))
        return ahead_node(p, set, true, index);
    ok = heft_pattern_escape(&p->in, set, &is_char, &c);
    if (ok && is_char)
        ok = heft_pattern_add(&p->in, set, c, c, offset);
    else if (ok && p->in.ignores_case && !strchr("sSdD", p->in.text.p[offset + 1]))
        ok = heft_pattern_unsupported(&p->in, offset, "\\p{…} in (?i…)");
    return ok && set_node(p, set, index);
}

/* One character, or a class: `set` is empty before, and released by the caller. */
static bool parse_character(struct parser *p, struct heft_code_ranges *set, uint32_t *index)
{
    const size_t offset = p->in.at;
    uint32_t c;

    switch (heft_pattern_peek(&p->in, 0)) {
    case '\\':
        return parse_escape(p, set, index);
    case '[':
        return heft_pattern_class(&p->in, set, p->depth + 1) && set_node(p, set, index);
    case '.':
        p->in.at++;
        return heft_code_ranges_add(set, '\n', '\n', p->in.err) &&
               heft_code_ranges_negate(set, p->in.err) && set_node(p, set, index);
    case '^':
        return heft_pattern_unsupported(&p->in, offset, "^ (the begin of a line or of the text)");
    case '{':
        return heft_pattern_unsupported(&p->in, offset,
                                        "a brace that is not a number of repetitions (write \\{)");
    case '*':
    case '+':
    case '?':
        return heft_pattern_malformed(&p->in, offset, "has a repetition of nothing");
    default:
        c = heft_pattern_char(&p->in);
        return heft_pattern_add(&p->in, set, c, c, offset) && set_node(p, set, index);
    }
}

static bool parse_atom(struct parser *p, uint32_t *index)
{
    struct heft_code_ranges set = {0};
    bool ok;

    if (heft_pattern_peek(&p->in, 0) == '(')
        return parse_group(p, index);
    if (heft_pattern_peek(&p->in, 0) == '$')
        return parse_dollar(p, index);
    ok = parse_character(p, &set, index);
    heft_code_ranges_release(&set);
    return ok;
}

/* {m}, {m,}, {m,n} and {,n}. */
static bool parse_braces(struct parser *p, struct heft_syntax_node *repeat, size_t offset)
{
    bool has_min, has_max = false, has_comma;

    p->in.at++;
    has_min = heft_pattern_number(&p->in, &repeat->min);
    has_comma = heft_pattern_skip(&p->in, ",");
    repeat->max = repeat->min;
    if (has_comma) {
        has_max = heft_pattern_number(&p->in, &repeat->max);
        repeat->max = has_max ? repeat->max : HEFT_REPEAT_MAX;
    }
    if (!heft_pattern_skip(&p->in, "}") || (!has_min && !has_max))
        return heft_pattern_unsupported(&p->in, offset,
                                        "a brace that is not a number of repetitions (write \\{)");
    return repeat->min <= repeat->max ||
           heft_pattern_malformed(&p->in, offset,
                                  "has a repetition whose maximum is below its minimum");
}

/* Reads ?, *, + or {…}; false, without an error, if none follows. */
static bool parse_bounds(struct parser *p, struct heft_syntax_node *repeat, bool *is_there)
{
    const size_t offset = p->in.at;
    const uint8_t sign = heft_pattern_peek(&p->in, 0);

    *is_there = heft_pattern_sees(&p->in, "?*+{");
    if (!*is_there)
        return true;
    if (sign == '{')
        return parse_braces(p, repeat, offset);
    p->in.at++;
    repeat->min = sign == '+';
    repeat->max = sign == '?' ? 1 : HEFT_REPEAT_MAX;
    return true;
}

static bool repeat_node(struct parser *p, struct heft_syntax_node repeat, size_t offset,
                        uint32_t *index)
{
    const struct heft_syntax_node *const child = &p->tree->nodes[*index];

    if (child->can_be_empty && repeat.max == HEFT_REPEAT_MAX)
        return heft_pattern_unsupported(&p->in, offset,
                                        "an unlimited repetition of something that may be empty");
    if (repeat.is_possessive && child->kind != HEFT_SYNTAX_SET)
        return heft_pattern_unsupported(&p->in, offset,
                                        "a possessive repetition of more than one character");
    repeat.can_be_empty = repeat.min == 0 || child->can_be_empty;
    repeat.child = *index;
    return new_node(p, repeat, index);
}

/* The sign after a quantifier: lazy ?, possessive +. To Oniguruma + after braces repeats the
 * repetition, and ? after {m} makes it optional. */
static bool parse_suffix(struct parser *p, struct heft_syntax_node repeat, size_t offset,
                         uint32_t *index)
{
    const bool is_braced = p->in.text.p[offset] == '{';
    const bool is_of_onig = is_braced && p->in.engine == HEFT_ENGINE_TOKENIZERS;
    struct heft_syntax_node again = {.kind = HEFT_SYNTAX_REPEAT, .min = 1, .max = HEFT_REPEAT_MAX};

    if (heft_pattern_peek(&p->in, 0) == '+') {
        p->in.at++;
        repeat.is_possessive = !is_of_onig;
        return repeat_node(p, repeat, offset, index) &&
               (!is_of_onig || repeat_node(p, again, offset, index));
    }
    if (!heft_pattern_skip(&p->in, "?"))
        return repeat_node(p, repeat, offset, index);
    repeat.is_lazy = !(is_of_onig && repeat.min == repeat.max);
    again = (struct heft_syntax_node){.kind = HEFT_SYNTAX_REPEAT, .max = 1};
    return repeat_node(p, repeat, offset, index) &&
           (repeat.is_lazy || repeat_node(p, again, offset, index));
}

static bool parse_repeat(struct parser *p, uint32_t *index)
{
    const size_t offset = p->in.at;
    struct heft_syntax_node repeat = {.kind = HEFT_SYNTAX_REPEAT};
    bool is_there;

    if (!parse_bounds(p, &repeat, &is_there) || !is_there)
        return !is_there;
    if (p->tree->nodes[*index].kind == HEFT_SYNTAX_AHEAD)
        return heft_pattern_unsupported(&p->in, offset, "a repetition of a look-ahead");
    if (!parse_suffix(p, repeat, offset, index))
        return false;
    return !heft_pattern_sees(&p->in, "?*+{") ||
           heft_pattern_unsupported(&p->in, p->in.at, "a repetition of a repetition");
}

/* Appends a child; *last is the youngest. */
static void append_child(struct parser *p, uint32_t parent, uint32_t child, uint32_t *last)
{
    if (*last)
        p->tree->nodes[*last].next = child;
    else
        p->tree->nodes[parent].child = child;
    *last = child;
}

/* Letters that Oniguruma also finds as one character if case is ignored: ß and ligatures. */
static bool joins_letters(const char *two)
{
    static const char PAIRS[][3] = {"ss", "st", "ff", "fi", "fl"};

    for (size_t i = 0; i < HEFT_COUNT(PAIRS); i++)
        if ((two[0] | 0x20) == PAIRS[i][0] && (two[1] | 0x20) == PAIRS[i][1])
            return true;
    return false;
}

static bool parse_list(struct parser *p, uint32_t *index)
{
    uint32_t last = 0, child = 0;
    bool can_be_empty = true;

    if (!new_node(p, (struct heft_syntax_node){.kind = HEFT_SYNTAX_LIST}, index))
        return false;
    while (!heft_pattern_at_end(&p->in) && !heft_pattern_sees(&p->in, "|)")) {
        if (p->in.ignores_case && p->in.engine == HEFT_ENGINE_TOKENIZERS &&
            p->in.text.n - p->in.at >= 2 && joins_letters(p->in.text.p + p->in.at))
            return heft_pattern_unsupported(&p->in, p->in.at,
                                            "ss, st, ff, fi or fl in (?i…), which are ligatures");
        if (!parse_atom(p, &child) || !parse_repeat(p, &child))
            return false;
        append_child(p, *index, child, &last);
        can_be_empty = can_be_empty && p->tree->nodes[child].can_be_empty;
    }
    p->tree->nodes[*index].can_be_empty = can_be_empty;
    return true;
}

static bool parse_choice(struct parser *p, uint32_t *index)
{
    const bool ignored_case = p->in.ignores_case;
    uint32_t last = 0, child = 0;
    bool can_be_empty = false;

    if (!new_node(p, (struct heft_syntax_node){.kind = HEFT_SYNTAX_CHOICE}, index))
        return false;
    do {
        if (!parse_list(p, &child))
            return false;
        append_child(p, *index, child, &last);
        can_be_empty = can_be_empty || p->tree->nodes[child].can_be_empty;
    } while (heft_pattern_skip(&p->in, "|"));
    p->in.ignores_case = ignored_case;
    p->tree->nodes[*index].can_be_empty = can_be_empty;
    return true;
}

static bool check_text(struct heft_str pattern, struct heft_error *err)
{
    const size_t bad = heft_utf8_check((struct heft_bytes){(const uint8_t *)pattern.p, pattern.n});

    if (pattern.n > HEFT_SYNTAX_BYTES)
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "split pattern has %zu bytes, the limit is %" PRIu32, pattern.n,
                         HEFT_SYNTAX_BYTES);
    return bad == pattern.n ||
           heft_fail(err, HEFT_MALFORMED, bad, "split pattern is not valid UTF-8");
}

bool heft_syntax_tree_parse(struct heft_syntax_tree *tree, struct heft_str pattern,
                            enum heft_splitter_engine engine, enum heft_unicode unicode,
                            struct heft_error *err)
{
    const struct heft_str text = pattern.n ? pattern : HEFT_STR("");
    struct parser p = {{text, 0, engine, unicode, false, err}, tree, 0};
    uint32_t unused;

    *tree = (struct heft_syntax_tree){0};
    if (!check_text(pattern, err) || !new_node(&p, (struct heft_syntax_node){0}, &unused) ||
        !parse_choice(&p, &tree->root))
        return false;
    return heft_pattern_at_end(&p.in) ||
           heft_pattern_malformed(&p.in, p.in.at, "has a parenthesis that closes no group");
}

void heft_syntax_tree_release(struct heft_syntax_tree *tree)
{
    for (size_t i = 0; i < tree->n_sets; i++)
        heft_code_ranges_release(&tree->sets[i]);
    heft_free(tree->sets);
    heft_free(tree->nodes);
    *tree = (struct heft_syntax_tree){0};
}
