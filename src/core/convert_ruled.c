/* convert_ruled.c: conversions with rules files: the rows that these make of the selected ones.
 *
 *     exports: selected, below the root, renamed, ties restored  ──►  rules  ──►  other exports, other model
 *                                                                                 casts, ties, shards as always */
#include "core/convert.h"

static bool refuse_numbered(const struct heft_model *model, struct heft_error *err)
{
    return !model->file_numbers ||
           heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "the files have tensors of the same names, as the ranks of a model-parallel "
                     "save have; "
                     "give a rules file that puts them together, or convert each file by itself");
}

bool heft_conversion_rule(struct heft_conversion *c, const struct heft_convert_options *options,
                          struct heft_error *err)
{
    struct heft_ruled *const ruled = &c->ruled;

    if (!heft_ruling_is_asked(options->rules, options->n_rules))
        return refuse_numbered(c->model, err);
    if (!heft_ruled_make(ruled, &c->exports, options->rules, options->n_rules, options->strict,
                         err) ||
        !heft_ruled_export(ruled, &c->exports, options, err))
        return false;
    c->unruled = c->model;
    c->model = &ruled->model;
    c->plan.model = c->model;
    c->equals = ruled->ruling.pairs;
    c->n_equals = ruled->ruling.n_pairs;
    for (size_t i = 0; i < ruled->ruling.n_notes; i++)
        if (!heft_plan_note(&c->plan, ruled->ruling.notes[i], err))
            return false;
    return true;
}
