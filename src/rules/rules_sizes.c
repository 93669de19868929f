/* rules_sizes.c: values of expressions, and shapes compared with their patterns. */
#include "rules/rules_parts.h"

enum outcome {
    HAS_VALUE,
    HAS_UNKNOWN, /* a name without value: *name */
    HAS_NONE,    /* no whole number from 0 to 2^63 - 1: *why */
    HAS_FAILED   /* *err is filled */
};
struct evaluation {
    const struct heft_binding *bindings;
    struct heft_variables *variables;
    struct heft_error *err;
    uint64_t value[HEFT_RULES_DERIVED]; /* of each term, with its operands */
    bool is_known[HEFT_RULES_DERIVED];
    uint32_t n_unknown; /* names without value, repetitions included */
    uint32_t name;      /* one of them */
    const char *why;
};

/* ---- forward ------------------------------------------------------------------------------------------------ */

static bool compute(struct evaluation *e, uint8_t kind, uint64_t a, uint64_t b, uint64_t *out)
{
    bool ok = true;

    e->why = "2^63 or more";
    if (kind == HEFT_TERM_ADD)
        ok = heft_add(a, b, out);
    else if (kind == HEFT_TERM_MULTIPLY)
        ok = heft_mul(a, b, out);
    else if (kind == HEFT_TERM_SUBTRACT ? b > a : b == 0 || a % b != 0) {
        e->why = kind == HEFT_TERM_SUBTRACT ? "below 0"
                 : b                        ? "a division with a rest"
                                            : "a division by 0";
        return false;
    } else
        *out = kind == HEFT_TERM_SUBTRACT ? a - b : a / b;
    return ok && *out < HEFT_RULES_END;
}

/* Evaluates term i, whose operands are evaluated. */
static enum outcome evaluate_term(struct evaluation *e, const struct heft_term *terms, uint32_t i)
{
    const struct heft_term *const t = &terms[i];
    uint32_t left;

    e->is_known[i] = true;
    switch (t->kind) {
    case HEFT_TERM_NUMBER:
        e->value[i] = t->number;
        return HAS_VALUE;
    case HEFT_TERM_VARIABLE:
        return heft_variables_value(e->variables, t->index, &e->value[i], e->err) ? HAS_VALUE
                                                                                  : HAS_FAILED;
    case HEFT_TERM_NAME:
        e->is_known[i] = e->bindings && e->bindings[t->index].is_bound;
        if (e->is_known[i]) {
            e->value[i] = e->bindings[t->index].value;
        } else {
            e->name = t->index;
            e->n_unknown++;
        }
        return HAS_VALUE;
    default:
        left = i - 1 - terms[i - 1].span;
        e->is_known[i] = e->is_known[i - 1] && e->is_known[left];
        if (e->is_known[i] && !compute(e, t->kind, e->value[left], e->value[i - 1], &e->value[i]))
            return HAS_NONE;
        return HAS_VALUE;
    }
}

static enum outcome evaluate(struct evaluation *e, const struct heft_expr *expr,
                             const struct heft_binding *bindings, struct heft_variables *variables,
                             struct heft_error *err)
{
    e->bindings = bindings; /* the arrays are large, and need no zeros */
    e->variables = variables;
    e->err = err;
    e->n_unknown = 0;
    e->name = 0;
    e->why = "";
    for (uint32_t i = 0; i < expr->n; i++) {
        const enum outcome outcome = evaluate_term(e, expr->terms, i);

        if (outcome != HAS_VALUE)
            return outcome;
    }
    return e->n_unknown ? HAS_UNKNOWN : HAS_VALUE;
}

bool heft_sizes_value(const struct heft_expr *expr, const struct heft_binding *bindings,
                      const char *const *names, struct heft_variables *variables, uint64_t *out,
                      struct heft_error *err)
{
    struct evaluation e;

    switch (evaluate(&e, expr, bindings, variables, err)) {
    case HAS_VALUE:
        *out = e.value[expr->n - 1];
        return true;
    case HAS_UNKNOWN:
        return heft_rules_refuse(variables->rules, expr->line, err, "the size %s is not known",
                                 names ? names[e.name] : "of an expression");
    case HAS_NONE:
        return heft_rules_refuse(
            variables->rules, expr->line, err,
            "the value of the expression is %s, expected a whole number from 0 on "
            "and below 2^63",
            e.why);
    case HAS_FAILED:
        break;
    }
    return false;
}

/* ---- solving ------------------------------------------------------------------------------------------------- */

/* What the unknown operand of an operator must be, so that the operator has the value *target. False if there is
 * no such size; *any if every size would do. */
static bool solve_operator(uint8_t kind, bool is_right, uint64_t known, uint64_t *target, bool *any)
{
    const uint64_t wanted = *target;

    switch (kind) {
    case HEFT_TERM_ADD:
        return wanted >= known && heft_add(wanted - known, 0, target);
    case HEFT_TERM_SUBTRACT:
        return is_right ? known >= wanted && heft_add(known - wanted, 0, target)
                        : heft_add(wanted, known, target);
    case HEFT_TERM_MULTIPLY:
        *any = known == 0 && wanted == 0;
        if (known == 0 || wanted % known != 0)
            return *any;
        *target = wanted / known;
        return true;
    default: /* divide */
        if (!is_right)
            return known != 0 && heft_mul(wanted, known, target);
        *any = known == 0 && wanted == 0;
        if (wanted == 0 || known % wanted != 0 || known == 0)
            return *any;
        *target = known / wanted;
        return true;
    }
}

/* Solves expr = target for its one unknown, from the outermost operator inwards. */
static bool solve_unknown(const struct evaluation *e, const struct heft_expr *expr, uint64_t target,
                          uint64_t *out, bool *any)
{
    uint32_t i = expr->n - 1;

    *any = false;
    while (expr->terms[i].kind != HEFT_TERM_NAME) {
        const uint32_t right = i - 1, left = right - expr->terms[right].span;
        const bool is_right = !e->is_known[right];

        if (!solve_operator(expr->terms[i].kind, is_right, e->value[is_right ? left : right],
                            &target, any) ||
            target >= HEFT_RULES_END)
            return false;
        if (*any)
            return true;
        i = is_right ? right : left;
    }
    *out = target;
    return true;
}

/* ---- shapes -------------------------------------------------------------------------------------------------- */

struct fitting {
    struct heft_binding *bindings;
    struct heft_variables *variables;
    struct heft_error *err;
    bool fits, learned, is_open; /* open: an expression is left whose names are not bound */
};

/* No name in it: its value is not a matter of the tensor. */
static bool has_name(const struct heft_expr *expr)
{
    for (uint32_t i = 0; i < expr->n; i++)
        if (expr->terms[i].kind == HEFT_TERM_NAME)
            return true;
    return false;
}

/* An expression of any form. */
static bool fit_expression(struct fitting *f, const struct heft_expr *expr, uint64_t extent)
{
    struct evaluation e;
    uint64_t value = 0;
    bool any = false;

    switch (evaluate(&e, expr, f->bindings, f->variables, f->err)) {
    case HAS_VALUE:
        f->fits = e.value[expr->n - 1] == extent;
        return true;
    case HAS_NONE:
        f->fits = false;
        return has_name(expr) || heft_sizes_value(expr, NULL, NULL, f->variables, &value, f->err);
    case HAS_FAILED:
        return false;
    case HAS_UNKNOWN:
        break;
    }
    if (e.n_unknown == 1) {
        f->fits = solve_unknown(&e, expr, extent, &value, &any);
        if (f->fits && !any) {
            f->bindings[e.name] = (struct heft_binding){.value = value, .is_bound = true};
            f->learned = true;
            return true;
        }
    }
    f->is_open = true;
    return true;
}

/* Most are a name or a number. */
static bool fit_extent(struct fitting *f, const struct heft_expr *expr, uint64_t extent)
{
    const struct heft_term *const term = expr->terms;
    struct heft_binding *binding;

    if (expr->n == 1 && term->kind == HEFT_TERM_NUMBER) {
        f->fits = term->number == extent;
        return true;
    }
    if (expr->n != 1 || term->kind != HEFT_TERM_NAME)
        return fit_expression(f, expr, extent);
    binding = &f->bindings[term->index];
    f->fits = extent < HEFT_RULES_END && (!binding->is_bound || binding->value == extent);
    f->learned |= !binding->is_bound;
    *binding = (struct heft_binding){.value = extent, .is_bound = true};
    return true;
}

static bool fit_shape(struct fitting *f, const struct heft_shape_pair *pair)
{
    const struct heft_pattern *const p = pair->pattern;

    if (!p->has_shape)
        return true;
    f->fits = p->n_dims == pair->rank;
    for (uint32_t d = 0; f->fits && d < p->n_dims; d++)
        if (p->shape[d].n && !fit_extent(f, &p->shape[d], pair->shape[d]))
            return false;
    return true;
}

bool heft_sizes_fit(const struct heft_shape_pair *pairs, size_t n, struct heft_binding *bindings,
                    struct heft_variables *variables, enum heft_fit *fit, struct heft_error *err)
{
    struct fitting f = {.bindings = bindings, .variables = variables, .err = err, .fits = true};

    do {
        f.learned = false;
        f.is_open = false;
        for (size_t i = 0; f.fits && i < n; i++)
            if (!fit_shape(&f, &pairs[i]))
                return false;
    } while (f.fits && f.learned && f.is_open);
    *fit = !f.fits ? HEFT_FIT_NO : f.is_open ? HEFT_FIT_PARTLY : HEFT_FIT_YES;
    return true;
}
