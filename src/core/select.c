/* select.c: selects and renames tensors by globs and regexes, and counts the names that each
 * rule matches. Regexes are compiled once for each call. */
#include "core/select.h"

#include "base/text.h"
#include "core/export_list.h"
#include "core/regexes.h"
#include "core/registry.h"

bool heft_name_below(struct heft_str name, const char *root, struct heft_str *rest)
{
    struct heft_str prefix = heft_str_of(root ? root : "");

    *rest = name;
    if (prefix.n == 0)
        return true;
    prefix.n -= prefix.p[prefix.n - 1] == '/';
    if (!heft_str_starts(name, prefix) || name.n <= prefix.n ||
        (name.p[prefix.n] != '.' && name.p[prefix.n] != '/'))
        return false;
    *rest = (struct heft_str){name.p + prefix.n + 1, name.n - prefix.n - 1};
    return true;
}

static void release_regexes(struct heft_regex *regexes, size_t n)
{
    for (size_t i = 0; regexes && i < n; i++)
        heft_regex_release(&regexes[i]);
    heft_free(regexes);
}

/* One entry for each rule, compiled if the rule is of that kind. NULL on failure. */
static struct heft_regex *compile_all(const struct heft_rule *rules, size_t n,
                                      enum heft_rule_kind kind, struct heft_error *err)
{
    struct heft_regex *regexes = heft_calloc(n + 1, sizeof *regexes, err);

    for (size_t i = 0; regexes && i < n; i++)
        if (rules[i].kind == kind &&
            !heft_regex_compile(&regexes[i], rules[i].left, rules[i].right, err)) {
            release_regexes(regexes, n);
            return NULL;
        }
    return regexes;
}

/* Whether a glob or regex rule matches a name. For an excluding glob, the pattern after its `!`
 * is compared. */
static bool rule_matches(struct heft_str name, const struct heft_rule *rule,
                         struct heft_regex *regex)
{
    if (rule->kind == HEFT_RULE_REGEX)
        return heft_regex_matches(regex, name);
    return heft_glob_match(heft_str_of(rule->left + (rule->left[0] == '!')), name);
}

static bool is_selected(struct heft_str name, const struct heft_rule *rules, size_t n,
                        struct heft_regex *regexes)
{
    bool wanted = false, has_including = false;

    for (size_t i = 0; i < n; i++) {
        const struct heft_rule *rule = &rules[i];

        if (rule->kind != HEFT_RULE_GLOB && rule->kind != HEFT_RULE_REGEX)
            continue;
        if (rule->kind == HEFT_RULE_GLOB && rule->left[0] == '!') {
            if (rule_matches(name, rule, NULL))
                return false;
            continue;
        }
        has_including = true;
        wanted = wanted || rule_matches(name, rule, &regexes[i]);
    }
    return wanted || !has_including;
}

bool heft_select_rows(const struct heft_model *model, const char *root,
                      const struct heft_rule *rules, size_t n_rules, bool *selected,
                      struct heft_error *err)
{
    struct heft_regex *regexes = compile_all(rules, n_rules, HEFT_RULE_REGEX, err);
    bool any_below = model->n_rows == 0;
    struct heft_str rest;

    if (!regexes)
        return false;
    for (size_t i = 0; i < model->n_rows; i++) {
        const bool below = heft_name_below(model->rows[i].name, root, &rest);

        any_below = any_below || below;
        selected[i] = below && is_selected(rest, rules, n_rules, regexes);
    }
    release_regexes(regexes, n_rules);
    return any_below ||
           heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "no tensor is below \"%s\"", root);
}

struct heft_selector {
    const char *root;
    const struct heft_rule *rules;
    size_t n;
    struct heft_regex *regexes;
};

struct heft_selector *heft_selector_new(const char *root, const struct heft_rule *rules,
                                        size_t n_rules, struct heft_error *err)
{
    struct heft_selector *selector = heft_calloc(1, sizeof *selector, err);

    if (!selector)
        return NULL;
    *selector = (struct heft_selector){root, rules, n_rules, NULL};
    selector->regexes = compile_all(rules, n_rules, HEFT_RULE_REGEX, err);
    if (selector->regexes)
        return selector;
    heft_free(selector);
    return NULL;
}

bool heft_selector_takes(const struct heft_selector *selector, struct heft_str name)
{
    struct heft_str rest;

    return heft_name_below(name, selector->root, &rest) &&
           is_selected(rest, selector->rules, selector->n, selector->regexes);
}

void heft_selector_count(const struct heft_selector *selector, struct heft_str name,
                         struct heft_rule_use *uses)
{
    struct heft_str rest;

    if (!heft_name_below(name, selector->root, &rest))
        return;
    for (size_t i = 0; i < selector->n; i++)
        if (selector->rules[i].kind == HEFT_RULE_GLOB || selector->rules[i].kind == HEFT_RULE_REGEX)
            uses[i].matches += rule_matches(rest, &selector->rules[i], &selector->regexes[i]);
}

void heft_selector_free(struct heft_selector *selector)
{
    if (!selector)
        return;
    release_regexes(selector->regexes, selector->n);
    heft_free(selector);
}

/* ---- renaming tensors -------------------------------------------------------------------- */

static void put_replacement(struct heft_buf *out, const char *to, const char *text,
                            const regmatch_t *groups)
{
    for (; *to; to++) {
        if (to[0] != '\\') {
            heft_buf_char(out, *to);
            continue;
        }
        to += to[1] == 'g' ? 3 : 1; /* \g<1> means \1 */
        if (*to < '0' || *to > '9') {
            heft_buf_char(out, *to);
        } else if (groups[*to - '0'].rm_so >= 0) {
            const regmatch_t *g = &groups[*to - '0'];

            heft_buf_put(out, text + g->rm_so, (size_t)(g->rm_eo - g->rm_so));
        }
        to += to[1] == '>' && to[-1] == '<';
    }
}

/* Replaces all matches from left to right. After an empty match one character is copied, as sed
 * does. */
static void replace_all(struct heft_buf *out, struct heft_regex *regex, const char *to,
                        struct heft_str text)
{
    size_t at = 0;

    while (at <= text.n && heft_regex_find(regex, text, at)) {
        const regmatch_t whole = regex->found[0];

        heft_buf_put(out, text.p + at, (size_t)whole.rm_so - at);
        put_replacement(out, to, text.p, regex->found);
        at = (size_t)whole.rm_eo;
        if (whole.rm_so == whole.rm_eo) {
            if (at < text.n)
                heft_buf_char(out, text.p[at]);
            at++;
        }
    }
    if (at < text.n)
        heft_buf_put(out, text.p + at, text.n - at);
}

static bool rename_one(struct heft_str *name, struct heft_regex *regex, const char *to,
                       struct heft_arena *mem, struct heft_error *err)
{
    struct heft_buf out = {0};

    replace_all(&out, regex, to, *name);
    return heft_buf_take(&out, mem, name, err);
}

bool heft_rename_one(struct heft_str *name, struct heft_regex *regex, const char *replacement,
                     bool *matches, struct heft_arena *mem, struct heft_error *err)
{
    *matches = heft_regex_matches(regex, *name);
    return !*matches || rename_one(name, regex, replacement, mem, err);
}

/* Applies one rule to all names. Adds to *matches how many it matches. */
static bool rename_each(struct heft_str *names, size_t n, struct heft_regex *regex, const char *to,
                        uint64_t *matches, struct heft_arena *mem, struct heft_error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (!heft_regex_matches(regex, names[i]))
            continue;
        if (!rename_one(&names[i], regex, to, mem, err))
            return false;
        *matches += 1;
    }
    return true;
}

bool heft_rename_counting(struct heft_str *names, size_t n, const struct heft_rule *rules,
                          size_t n_rules, struct heft_rule_use *uses, struct heft_arena *mem,
                          struct heft_error *err)
{
    struct heft_regex *regexes = compile_all(rules, n_rules, HEFT_RULE_RENAME, err);
    bool ok = regexes != NULL;
    uint64_t ignored = 0;

    for (size_t r = 0; ok && r < n_rules; r++)
        if (rules[r].kind == HEFT_RULE_RENAME)
            ok = rename_each(names, n, &regexes[r], rules[r].right,
                             uses ? &uses[r].matches : &ignored, mem, err);
    release_regexes(regexes, n_rules);
    return ok;
}

bool heft_rename_all(struct heft_str *names, size_t n, const struct heft_rule *rules,
                     size_t n_rules, struct heft_arena *mem, struct heft_error *err)
{
    return heft_rename_counting(names, n, rules, n_rules, NULL, mem, err);
}

/* ---- counting the matches of each rule --------------------------------------------------- */

struct counting {
    const struct heft_rule *rules;
    size_t n;
    struct heft_regex *selecting, *renaming; /* one for each rule */
    struct heft_rule_use *uses;
    struct heft_arena mem; /* memory of renamed names */
    struct heft_error *err;
};

/* Counts the selection rules that match a name. */
static void count_selection(struct counting *c, struct heft_str name)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->rules[i].kind == HEFT_RULE_GLOB || c->rules[i].kind == HEFT_RULE_REGEX)
            c->uses[i].matches += rule_matches(name, &c->rules[i], &c->selecting[i]);
}

static bool leaves_alone(const struct heft_rule *cast, const struct heft_row *row)
{
    enum heft_dtype to;

    return heft_dtype_named(cast->right, &to) && !heft_export_cast_applies(row, to, cast->left);
}

/* Counts the other rules that match: casts and ties match the name before renaming, partitions
 * after it. */
static bool count_changes(struct counting *c, struct heft_str name, const struct heft_row *row)
{
    const struct heft_str before = name;

    for (size_t i = 0; i < c->n; i++) {
        const struct heft_rule *rule = &c->rules[i];

        if (rule->kind == HEFT_RULE_RENAME && heft_regex_matches(&c->renaming[i], name)) {
            c->uses[i].matches++;
            if (!rename_one(&name, &c->renaming[i], rule->right, &c->mem, c->err))
                return false;
        } else if (rule->kind == HEFT_RULE_CAST &&
                   heft_glob_match(heft_str_of(rule->left), before)) {
            c->uses[i].matches++;
            c->uses[i].left_alone += leaves_alone(rule, row);
        }
    }
    for (size_t i = 0; i < c->n; i++) {
        const enum heft_rule_kind kind = c->rules[i].kind;

        if (kind == HEFT_RULE_PARTITION || kind == HEFT_RULE_KEEP_TIED)
            c->uses[i].matches += heft_glob_match(heft_str_of(c->rules[i].left),
                                                  kind == HEFT_RULE_PARTITION ? name : before);
    }
    return true;
}

/* Counts the rules that match a name below the root. Only selection rules apply if it is not a
 * tensor's (row NULL). */
static bool count_name(struct counting *c, struct heft_str name, const char *root,
                       const struct heft_row *row)
{
    struct heft_str rest;

    if (!heft_name_below(name, root, &rest))
        return true;
    count_selection(c, rest);
    return !row || !is_selected(rest, c->rules, c->n, c->selecting) || count_changes(c, rest, row);
}

/* Counts the rules that remove metadata of that key. */
static void count_key(struct counting *c, struct heft_str key)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->rules[i].kind == HEFT_RULE_DROP_METADATA)
            c->uses[i].matches += heft_glob_match(heft_str_of(c->rules[i].left), key);
}

static void count_metadata(struct counting *c, const struct heft_model *model)
{
    for (size_t i = 0; i < model->n_metadata; i++)
        count_key(c, model->metadata[i].key);
    for (size_t i = 0; i < model->n_trees; i++) {
        const struct heft_model_tree *const tree = &model->trees[i];
        const struct heft_format *const format = model->sources[tree->source].format;

        if (format && format->keeps_values)
            for (const struct heft_value *v = tree->root->first_child; v; v = v->next_sibling)
                count_key(c, (struct heft_str){v->key, v->key_len});
    }
}

static bool count_all(struct counting *c, const struct heft_model *model, const char *root)
{
    const struct heft_row tied = {.dtype = HEFT_F32, .rank = 2}; /* a cast applies to it */

    count_metadata(c, model);
    for (size_t i = 0; i < model->n_rows; i++)
        if (!count_name(c, model->rows[i].name, root, &model->rows[i]))
            return false;
    for (size_t i = 0; i < model->n_unreadable; i++)
        (void)count_name(c, model->unreadable[i].name, root, NULL);
    for (size_t i = 0; i < model->n_blobs; i++)
        (void)count_name(c, model->blobs[i].name, root, NULL);
    for (size_t i = 0; i < model->n_ties; i++)
        if (!count_name(c, model->ties[i].key, root, &tied))
            return false;
    return true;
}

/* A value to visit, and the length of its parent's path. */
struct step {
    const struct heft_value *value;
    size_t parent;
};

static void put_path(struct heft_buf *path, const struct step *at)
{
    path->n = at->parent;
    if (at->parent)
        heft_buf_char(path, '.');
    heft_buf_put(path, at->value->key, at->value->key_len);
    heft_buf_char(path, '\0');
    path->n -= !path->failed;
}

static void count_value(struct counting *c, struct heft_str name, const char *root)
{
    struct heft_str rest;

    for (size_t i = 0; heft_name_below(name, root, &rest) && i < c->n; i++)
        if ((c->rules[i].kind == HEFT_RULE_GLOB || c->rules[i].kind == HEFT_RULE_REGEX) &&
            c->uses[i].matches == 0)
            c->uses[i].values += rule_matches(rest, &c->rules[i], &c->selecting[i]);
}

/* Counts rules over all values, in preorder; the stack holds one value for each level. The
 * number of visited values is limited, because shared references can multiply them; later ones
 * count as not matched. */
static bool count_values(struct counting *c, const struct heft_model *model, const char *root)
{
    struct heft_buf path = {0};
    struct step *stack = NULL;
    uint64_t left = model->limits.expansion;
    size_t depth = 0, cap = 0;
    bool ok = true;

    if (model->values && model->values->first_child) {
        ok = heft_grow(&stack, &cap, 0, 1, sizeof *stack, c->err);
        if (ok)
            stack[depth++] = (struct step){model->values->first_child, 0};
    }
    for (; ok && depth > 0 && left > 0; left--) {
        const struct step at = stack[depth - 1];

        put_path(&path, &at);
        if (!heft_buf_ok(&path, c->err) ||
            !heft_grow(&stack, &cap, depth, 1, sizeof *stack, c->err)) {
            ok = false;
            break;
        }
        count_value(c, (struct heft_str){path.p, path.n}, root);
        stack[depth - 1].value = at.value->next_sibling;
        depth -= !at.value->next_sibling;
        if (at.value->first_child)
            stack[depth++] = (struct step){at.value->first_child, path.n};
    }
    heft_buf_release(&path);
    heft_free(stack);
    return ok;
}

/* Whether a glob or regex has matched no name so far. */
static bool has_idle(const struct counting *c)
{
    for (size_t i = 0; i < c->n; i++)
        if ((c->rules[i].kind == HEFT_RULE_GLOB || c->rules[i].kind == HEFT_RULE_REGEX) &&
            c->uses[i].matches == 0)
            return true;
    return false;
}

bool heft_rules_count(const struct heft_model *model, const char *root,
                      const struct heft_rule *rules, size_t n_rules, struct heft_rule_use *uses,
                      struct heft_error *err)
{
    struct counting c = {.rules = rules, .n = n_rules, .uses = uses, .err = err};
    bool ok;

    for (size_t i = 0; i < n_rules; i++)
        uses[i] = (struct heft_rule_use){0};
    c.selecting = compile_all(rules, n_rules, HEFT_RULE_REGEX, err);
    c.renaming = c.selecting ? compile_all(rules, n_rules, HEFT_RULE_RENAME, err) : NULL;
    ok = c.renaming && count_all(&c, model, root) &&
         (!has_idle(&c) || count_values(&c, model, root));
    release_regexes(c.selecting, n_rules);
    release_regexes(c.renaming, n_rules);
    heft_arena_release(&c.mem);
    return ok;
}
