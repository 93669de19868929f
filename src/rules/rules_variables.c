/* rules_variables.c: values of variables, looked up when they are used: --set, then the expression or the json file
 * of the `let`, then its `else`. */
#include "rules/rules_parts.h"

enum state { UNKNOWN, WAITING, KNOWN };

bool heft_variables_init(struct heft_variables *variables, const struct heft_rules *rules,
                         const struct heft_files *files, const char *input,
                         const struct heft_setting *settings, size_t n_settings,
                         struct heft_error *err)
{
    *variables = (struct heft_variables){.rules = rules,
                                         .files = files,
                                         .input = input,
                                         .settings = settings,
                                         .n_settings = n_settings};
    if (rules->n_variables == 0)
        return true;
    variables->values = heft_arena_u64(&variables->mem, rules->n_variables, err);
    variables->states = heft_arena_zero(&variables->mem, rules->n_variables, 1, err);
    return variables->values && variables->states;
}

void heft_variables_release(struct heft_variables *variables)
{
    heft_arena_release(&variables->mem);
    *variables = (struct heft_variables){0};
}

static void set_value(struct heft_variables *v, uint32_t index, uint64_t value)
{
    v->values[index] = value;
    v->states[index] = KNOWN;
}

/* The last --set of the name. */
static bool use_setting(struct heft_variables *v, uint32_t index, struct heft_error *err)
{
    const char *const name = v->rules->variables[index].name;

    for (size_t i = v->n_settings; i > 0; i--)
        if (strcmp(v->settings[i - 1].name, name) == 0) {
            if (v->settings[i - 1].value >= HEFT_RULES_END)
                return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                                 "--set %s=%" PRIu64 ", expected a number below 2^63", name,
                                 v->settings[i - 1].value);
            set_value(v, index, v->settings[i - 1].value);
            return true;
        }
    return true;
}

/* The expression that gives the value, if no setting and no file does; NULL, and an error, if there is none. */
static const struct heft_expr *expression_of(const struct heft_variables *v, uint32_t index,
                                             const char *missing, struct heft_error *err)
{
    const struct heft_variable *const variable = &v->rules->variables[index];

    if (variable->value.n)
        return &variable->value;
    if (variable->otherwise.n)
        return &variable->otherwise;
    heft_rules_refuse(v->rules, variable->line, err,
                      "$%s has no value%s%s; give it with --set %s=N", variable->name,
                      missing ? ": " : "", missing ? missing : "", variable->name);
    return NULL;
}

/* A variable that the expression needs and that is not known yet; HEFT_RULES_NONE. */
static uint32_t next_needed(const struct heft_variables *v, const struct heft_expr *expr)
{
    for (uint32_t i = 0; i < expr->n; i++)
        if (expr->terms[i].kind == HEFT_TERM_VARIABLE && v->states[expr->terms[i].index] != KNOWN)
            return expr->terms[i].index;
    return HEFT_RULES_NONE;
}

/* One step for a variable: its value, or *needed, the variable that it needs first. */
static bool step_variable(struct heft_variables *v, uint32_t index, uint32_t *needed,
                          struct heft_error *err)
{
    const struct heft_variable *const variable = &v->rules->variables[index];
    struct heft_json_lookup found = {0};
    const struct heft_expr *expr;
    uint64_t value;

    *needed = HEFT_RULES_NONE;
    if (v->states[index] == UNKNOWN) {
        v->states[index] = WAITING;
        if (!use_setting(v, index, err))
            return false;
        if (v->states[index] == WAITING && variable->file) {
            if (!heft_json_lookup(v, variable, &found, err))
                return false;
            if (found.is_found)
                set_value(v, index, found.value);
        }
        if (v->states[index] == KNOWN)
            return true;
    }
    expr = expression_of(v, index, found.missing, err);
    if (!expr)
        return false;
    *needed = next_needed(v, expr);
    if (*needed != HEFT_RULES_NONE)
        return true;
    if (!heft_sizes_value(expr, NULL, NULL, v, &value, err))
        return false;
    set_value(v, index, value);
    return true;
}

bool heft_variables_value(struct heft_variables *variables, uint32_t index, uint64_t *out,
                          struct heft_error *err)
{
    uint32_t stack[HEFT_RULES_VARIABLES]; /* each needs the next one; there are no cycles */
    uint32_t n = 0;

    stack[n++] = index;
    while (n && variables->states[index] != KNOWN) {
        uint32_t needed;

        if (!step_variable(variables, stack[n - 1], &needed, err)) {
            while (n)
                variables->states[stack[--n]] = UNKNOWN; /* the next call says the same */
            return false;
        }
        if (needed != HEFT_RULES_NONE)
            stack[n++] = needed;
        else
            n--;
    }
    *out = variables->values[index];
    return true;
}
