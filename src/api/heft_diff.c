/* heft_diff.c: the public API for comparing two checkpoints. */
#include "api/checkpoint.h"
#include "api/rules_take.h"
#include "base/require_arg.h"
#include "base/sized.h"
#include "core/ruling.h"
#include "core/select.h"
#include "measure/diff_tensors.h"

static bool is_tolerance(double x)
{
    return x >= 0 && x <= 1.7976931348623157e308; /* false for NaN and infinity */
}

static bool check_options(const struct heft_diff_options *o, struct heft_error *err)
{
    if (o->has_tolerance && !(is_tolerance(o->atol) && is_tolerance(o->rtol)))
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "tolerances %g and %g: expected finite numbers that are not negative",
                         o->atol, o->rtol);
    if (o->has_tolerance && o->structure)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "option structure reads no data, to which a tolerance could apply");
    return true;
}

/* Compares what is no tensor. */
static bool compare_others(const struct heft_checkpoint *a, const struct heft_checkpoint *b,
                           const struct heft_diff_options *o, const struct heft_diff_visitor *v,
                           struct heft_diff_result *result, struct heft_error *err)
{
    return heft_diff_metadata(&a->model, &b->model, v, &result->metadata, err) &&
           heft_diff_values(&a->model, result->has_root_a ? o->root : NULL, &b->model,
                            result->has_root_b ? o->root : NULL, v, &result->values, err);
}

/* ---- the first side through rules files --------------------------------------------------- */

static bool has_below(const struct heft_model *model, const char *root)
{
    struct heft_str rest;

    for (size_t i = 0; i < model->n_rows; i++)
        if (heft_name_below(model->rows[i].name, root, &rest))
            return true;
    return false;
}

/* The view of `a`. Globs and regexes are left out: they judge the names as compared. */
static struct heft_checkpoint *view_first(struct heft_checkpoint *a,
                                          const struct heft_diff_options *o, struct heft_error *err)
{
    const char *const root = has_below(&a->model, o->root) ? o->root : NULL;
    struct heft_rule *const rules = heft_calloc(o->n_rules + 1, sizeof *rules, err);
    struct heft_checkpoint *view = NULL;
    size_t n = 0;

    for (size_t i = 0; rules && i < o->n_rules; i++)
        if (o->rules[i].kind == HEFT_RULE_RENAME || o->rules[i].kind == HEFT_RULE_FILE ||
            o->rules[i].kind == HEFT_RULE_SET)
            rules[n++] = o->rules[i];
    if (rules)
        view = heft_rules_view(a, root, rules, n, err);
    heft_free(rules);
    return view;
}

/* Counts the names that renaming matched, before the rules files. */
static bool count_renames(const struct heft_checkpoint *a, const struct heft_diff_options *o,
                          struct heft_error *err)
{
    struct heft_rule_use *const uses = heft_calloc(o->n_rules + 1, sizeof *uses, err);
    size_t stride;
    bool ok = uses && HEFT_STRIDE(heft_rule_use, &stride, o->uses, o->n_rules, err) &&
              heft_rules_count(&a->model, has_below(&a->model, o->root) ? o->root : NULL, o->rules,
                               o->n_rules, uses, err);

    for (size_t i = 0; ok && i < o->n_rules; i++)
        if (o->rules[i].kind == HEFT_RULE_RENAME)
            heft_sized_fill_array((char *)o->uses + i * stride, stride, &uses[i], sizeof *uses, 1);
    heft_free(uses);
    return ok;
}

static bool compare_checkpoints(struct heft_checkpoint *a, struct heft_checkpoint *b,
                                const struct heft_diff_options *o,
                                const struct heft_diff_visitor *v, struct heft_diff_result *found,
                                struct heft_error *err)
{
    struct heft_checkpoint *view;
    bool ok;

    if (!heft_ruling_is_asked(o->rules, o->n_rules))
        return heft_diff_tensors(&a->reader, &b->reader, o, false, v, found, err);
    view = view_first(a, o, err);
    ok = view && heft_diff_tensors(&view->reader, &b->reader, o, true, v, found, err) &&
         (!o->uses || count_renames(a, o, err));
    found->has_root_a = has_below(&a->model, o->root);
    heft_close(view);
    return ok;
}

bool heft_diff(struct heft_checkpoint *a, struct heft_checkpoint *b,
               const struct heft_diff_options *options, const struct heft_diff_visitor *visitor,
               struct heft_diff_result *result, struct heft_error *err)
{
    struct heft_diff_options o;
    struct heft_diff_visitor v;
    struct heft_diff_result found = {0};
    struct heft_rule *rules;
    bool ok;

    if (!heft_require_arg(a && b, "a checkpoint", err) ||
        !heft_require_arg(result != NULL, "a result", err) ||
        !HEFT_TAKE(heft_diff_options, &o, options, err) ||
        !HEFT_TAKE(heft_diff_visitor, &v, visitor, err) || !check_options(&o, err) ||
        !(rules = heft_rules_take(o.rules, o.n_rules, err)))
        return false;
    o.rules = rules;
    ok = compare_checkpoints(a, b, &o, &v, &found, err) &&
         (!o.metadata || compare_others(a, b, &o, &v, &found, err));
    heft_free(rules);
    HEFT_FILL(heft_diff_result, result, &found);
    return ok;
}
