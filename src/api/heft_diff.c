/* heft_diff.c: the public API for comparing two checkpoints. */
#include "api/checkpoint.h"
#include "api/rules_take.h"
#include "base/require_arg.h"
#include "base/sized.h"
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
    ok = heft_diff_tensors(&a->reader, &b->reader, &o, &v, &found, err) &&
         (!o.metadata || compare_others(a, b, &o, &v, &found, err));
    heft_free(rules);
    HEFT_FILL(heft_diff_result, result, &found);
    return ok;
}
