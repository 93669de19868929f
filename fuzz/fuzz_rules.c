/* fuzz_rules.c: a rules file, a NUL, and names of tensors in lines.
 *
 * Invariants: a file is read, or refused with HEFT_USAGE and a line that it has; a program is turned round, or
 * refused likewise; what has a way back gives the same program when it is turned round twice; a name that
 * matches a template is made again from the values of its placeholders; bound sizes are values of the shape. */
#include <stdint.h>

#include "open_format.h"
#include "rules_show.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 1 << 16 }; /* bytes of an input */

/* "x.rules:LINE: " */
static void expect_line(const struct heft_error *err, struct heft_str text)
{
    unsigned long line, lines = 1;
    char *end;

    expect(err->code == HEFT_USAGE && strncmp(err->text, "x.rules:", 8) == 0);
    for (size_t i = 0; i < text.n; i++)
        lines += text.p[i] == '\n';
    line = strtoul(err->text + 8, &end, 10);
    expect(line >= 1 && line <= lines && end[0] == ':' && end[1] == ' ');
}

/* ---- names and shapes --------------------------------------------------------------------------------------- */

static void try_name(const struct heft_remap *m, const struct heft_pattern *p, struct heft_str name)
{
    struct heft_slot_value values[32] = {0};
    struct heft_arena mem = {0};
    struct heft_error err = {0};
    struct heft_str made;
    bool matches = false;

    if (!heft_template_match(&p->name, m->slots, name, values, &matches, &err)) {
        expect(err.code == HEFT_LIMIT);
    } else if (matches) {
        expect_success(heft_template_make(&p->name, m->slots, values, &mem, &made, &err), &err);
        expect(heft_str_eq(made, name));
    }
    heft_arena_release(&mem);
}

static void try_names(const struct heft_remap *m, const struct heft_pattern *list, uint32_t n,
                      struct heft_str names)
{
    for (uint32_t i = 0; i < n; i++)
        for (size_t at = 0; at < names.n;) {
            const char *feed = memchr(names.p + at, '\n', names.n - at);
            const size_t end = feed ? (size_t)(feed - names.p) : names.n;

            try_name(m, &list[i], (struct heft_str){names.p + at, end - at});
            at = end + 1;
        }
}

/* Fits a shape to a pattern. If all is bound, the expressions have its extents as values. */
static void try_shape(const struct heft_remap *m, const struct heft_pattern *p,
                      struct heft_variables *variables, uint64_t first)
{
    struct heft_binding bindings[256] = {{0}};
    uint64_t shape[HEFT_RULES_DIMS], value;
    const struct heft_shape_pair pair = {p, shape, p->n_dims};
    struct heft_error err = {0};
    enum heft_fit fit = HEFT_FIT_NO;

    for (uint32_t i = 0; i < HEFT_RULES_DIMS; i++)
        shape[i] = first * (i + 1);
    if (!heft_sizes_fit(&pair, 1, bindings, variables, &fit, &err)) {
        expect(err.code == HEFT_USAGE);
        return;
    }
    for (uint32_t i = 0; p->has_shape && fit == HEFT_FIT_YES && i < p->n_dims; i++) {
        if (p->shape[i].n == 0)
            continue;
        expect_success(heft_sizes_value(&p->shape[i], bindings, m->sizes, variables, &value, &err),
                       &err);
        expect(value == shape[i]);
    }
}

static void try_shapes(const struct heft_remap *m, const struct heft_pattern *list, uint32_t n,
                       struct heft_variables *variables)
{
    for (uint32_t i = 0; i < n; i++) {
        try_shape(m, &list[i], variables, 0);
        try_shape(m, &list[i], variables, 1);
        try_shape(m, &list[i], variables, 12);
    }
}

static void try_mapping(const struct heft_remap *m, struct heft_str names,
                        struct heft_variables *variables)
{
    expect(m->n_slots <= 32 && m->n_sizes <= 256);
    try_names(m, m->left, m->n_left, names);
    try_names(m, m->right, m->n_right, names);
    try_names(m, m->with, m->n_with, names);
    try_shapes(m, m->left, m->n_left, variables);
    try_shapes(m, m->right, m->n_right, variables);
}

/* ---- programs ------------------------------------------------------------------------------------------------ */

/* All rules have a way back. */
static bool is_symmetric(const struct heft_rules *rules)
{
    for (uint32_t s = 0; s < rules->n_stages; s++) {
        if (rules->stages[s].n_renames)
            return false;
        for (uint32_t i = 0; i < rules->stages[s].n_mappings; i++)
            if (!rules->stages[s].mappings[i].both_ways)
                return false;
    }
    return true;
}

static void try_turning(const struct heft_rules *rules, struct heft_str text)
{
    struct heft_error err = {0};
    const struct heft_rules *const turned = heft_rules_reverse(rules, &err), *again;
    struct heft_buf one = {0}, two = {0};

    if (!turned) {
        expect_line(&err, text);
        return;
    }
    again = heft_rules_reverse(turned, &err);
    expect_success(again != NULL, &err);
    if (!is_symmetric(rules))
        return;
    rules_show(rules, &one);
    rules_show(again, &two);
    expect(one.n == two.n && memcmp(one.p, two.p, one.n) == 0);
    heft_buf_release(&one);
    heft_buf_release(&two);
}

static void try_program(const struct heft_rules *rules, struct heft_str names)
{
    static const struct heft_setting settings[] = {{"E", 4}, {"n", 3}, {"heads", 2}};
    struct heft_variables variables;
    struct heft_error err = {0};
    uint64_t value;

    expect_success(heft_variables_init(&variables, rules, &heft_disk, NULL, settings,
                                       HEFT_COUNT(settings), &err),
                   &err);
    for (uint32_t i = 0; i < rules->n_variables; i++)
        if (!heft_variables_value(&variables, i, &value, &err))
            expect(err.code == HEFT_USAGE && strncmp(err.text, "x.rules:", 8) == 0);
        else
            expect(value < UINT64_C(1) << 63);
    for (uint32_t s = 0; s < rules->n_stages; s++)
        for (uint32_t i = 0; i < rules->stages[s].n_mappings; i++)
            try_mapping(&rules->stages[s].mappings[i], names, &variables);
    heft_variables_release(&variables);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *const nul = size ? memchr(data, '\0', size) : NULL;
    const size_t n = nul ? (size_t)(nul - data) : size;
    const struct heft_str text = {(const char *)data, n};
    const struct heft_str names = {(const char *)data + n + (nul != NULL),
                                   size - n - (nul != NULL)};
    struct heft_error err = {0};
    struct heft_rules *rules;

    if (size > MOST)
        return 0;
    rules = heft_rules_parse(text, "x.rules", &err);
    if (!rules) {
        if (err.code != HEFT_LIMIT) /* of memory, for which no line is to blame */
            expect_line(&err, text);
        return 0;
    }
    try_program(rules, names);
    try_turning(rules, text);
    heft_rules_free(rules);
    return 0;
}
