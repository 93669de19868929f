/* select.c: globs, regexes and renaming over names. Regexes are the C library's, compiled once a
 * call. */
#include "core/select.h"

#include <regex.h>
#include <stdlib.h>

#include "base/text.h"

#define GROUPS 10

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

static bool compile(const struct heft_rule *rule, regex_t *out, struct heft_error *err)
{
    char why[128];
    const int status = regcomp(out, rule->left, REG_EXTENDED);

    if (status == 0)
        return true;
    regerror(status, out, why, sizeof why);
    return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "regular expression \"%s\": %s", rule->left,
                     why);
}

static void release_regexes(regex_t *regexes, const struct heft_rule *rules, size_t n,
                            enum heft_rule_kind kind)
{
    for (size_t i = 0; i < n; i++)
        if (rules[i].kind == kind)
            regfree(&regexes[i]);
    heft_free(regexes);
}

/* One regex_t a rule, used where the rule is of that kind. NULL on failure. */
static regex_t *compile_all(const struct heft_rule *rules, size_t n, enum heft_rule_kind kind,
                            struct heft_error *err)
{
    regex_t *regexes = heft_calloc(n + 1, sizeof *regexes, err);

    for (size_t i = 0; regexes && i < n; i++)
        if (rules[i].kind == kind && !compile(&rules[i], &regexes[i], err)) {
            release_regexes(regexes, rules, i, kind);
            return NULL;
        }
    return regexes;
}

static bool matches(struct heft_str name, const struct heft_rule *rules, size_t n,
                    const regex_t *regexes)
{
    bool wanted = false, has_including = false;

    for (size_t i = 0; i < n; i++) {
        const struct heft_rule *rule = &rules[i];

        if (rule->kind == HEFT_RULE_GLOB && rule->left[0] == '!') {
            if (heft_glob_match(heft_str_of(rule->left + 1), name))
                return false;
        } else if (rule->kind == HEFT_RULE_GLOB) {
            has_including = true;
            wanted = wanted || heft_glob_match(heft_str_of(rule->left), name);
        } else if (rule->kind == HEFT_RULE_REGEX) {
            has_including = true;
            wanted = wanted || regexec(&regexes[i], name.p, 0, NULL, 0) == 0;
        }
    }
    return wanted || !has_including;
}

bool heft_select_name(struct heft_str name, const char *root, const struct heft_rule *rules,
                      size_t n_rules, bool *selected, struct heft_error *err)
{
    regex_t *regexes = compile_all(rules, n_rules, HEFT_RULE_REGEX, err);
    struct heft_str rest;

    if (!regexes)
        return false;
    *selected = heft_name_below(name, root, &rest) && matches(rest, rules, n_rules, regexes);
    release_regexes(regexes, rules, n_rules, HEFT_RULE_REGEX);
    return true;
}

bool heft_select_rows(const struct heft_model *model, const char *root,
                      const struct heft_rule *rules, size_t n_rules, bool *selected,
                      struct heft_error *err)
{
    regex_t *regexes = compile_all(rules, n_rules, HEFT_RULE_REGEX, err);
    bool any_below = model->n_rows == 0;
    struct heft_str rest;

    if (!regexes)
        return false;
    for (size_t i = 0; i < model->n_rows; i++) {
        const bool below = heft_name_below(model->rows[i].name, root, &rest);

        any_below = any_below || below;
        selected[i] = below && matches(rest, rules, n_rules, regexes);
    }
    release_regexes(regexes, rules, n_rules, HEFT_RULE_REGEX);
    return any_below ||
           heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "no tensor lies below \"%s\"", root);
}

/* ---- renaming ---------------------------------------------------------------------------- */

static void put_replacement(struct heft_buf *out, const char *to, const char *text,
                            const regmatch_t *groups)
{
    for (; *to; to++) {
        if (to[0] != '\\' || to[1] == '\0') {
            heft_buf_char(out, *to);
            continue;
        }
        to++;
        if (*to < '0' || *to > '9') {
            heft_buf_char(out, *to);
        } else if (groups[*to - '0'].rm_so >= 0) {
            const regmatch_t *g = &groups[*to - '0'];

            heft_buf_put(out, text + g->rm_so, (size_t)(g->rm_eo - g->rm_so));
        }
    }
}

/* All matches, left to right; an empty match copies one character and goes on, as sed does. */
static void replace_all(struct heft_buf *out, const regex_t *regex, const char *to,
                        const char *text)
{
    regmatch_t groups[GROUPS];
    int flags = 0;

    while (regexec(regex, text, GROUPS, groups, flags) == 0) {
        heft_buf_put(out, text, (size_t)groups[0].rm_so);
        put_replacement(out, to, text, groups);
        text += groups[0].rm_eo;
        if (groups[0].rm_so == groups[0].rm_eo) {
            if (!*text)
                return;
            heft_buf_char(out, *text++);
        }
        flags = REG_NOTBOL;
    }
    heft_buf_text(out, text);
}

bool heft_rename_all(struct heft_str *names, size_t n, const struct heft_rule *rules,
                     size_t n_rules, struct heft_arena *mem, struct heft_error *err)
{
    regex_t *regexes = compile_all(rules, n_rules, HEFT_RULE_RENAME, err);
    bool ok = regexes != NULL;

    for (size_t r = 0; ok && r < n_rules; r++) {
        for (size_t i = 0; ok && rules[r].kind == HEFT_RULE_RENAME && i < n; i++) {
            struct heft_buf out = {0};

            if (regexec(&regexes[r], names[i].p, 0, NULL, 0) != 0)
                continue;
            replace_all(&out, &regexes[r], rules[r].right, names[i].p);
            ok = heft_buf_take(&out, mem, &names[i], err);
        }
    }
    if (regexes)
        release_regexes(regexes, rules, n_rules, HEFT_RULE_RENAME);
    return ok;
}
