/* nothing.c: refuses conversions that would write no tensor, unless the user allows that. A file
 * without tensors would look like a result. */
#include "core/convert.h"

static bool lacks_wanted(const struct heft_model *model)
{
    for (size_t i = 0; i < model->n_wanted; i++)
        if (heft_model_find(model, model->wanted[i]) == HEFT_NONE)
            return true;
    return false;
}

/* Refuses a source without tensors, saying what it has instead. */
static bool refuse_source(const struct heft_model *model, struct heft_error *err)
{
    if (lacks_wanted(model))
        return heft_fail(
            err, HEFT_USAGE, HEFT_NO_OFFSET,
            "no tensor to write: the program takes its tensors from %s, which must be given, too",
            model->wanted_from);
    if (model->n_unreadable)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "no tensor to write: the source has none that can be read, %s: %s",
                         model->unreadable[0].name.p, model->unreadable[0].reason);
    if (model->n_blobs)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "no tensor to write: the source has none, but %zu %s%s", model->n_blobs,
                         model->blobs[0].kind, model->n_blobs == 1 ? "" : "s");
    if (model->values && model->values->first_child)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "no tensor to write: the source has none, only other values");
    return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "no tensor to write: the source has none");
}

/* Whether salvaging lost something that may have been tensors. */
static bool is_damaged(const struct heft_model *model)
{
    bool is = false;

    for (size_t i = 0; i < model->n_notes; i++)
        is = is || model->notes[i].is_damage;
    for (size_t i = 0; i < model->n_sources; i++)
        is = is || model->sources[i].expected > 0;
    return model->salvage && is;
}

/* Whether the target keeps values that the source has beside tensors. */
static bool keeps_values(const struct heft_conversion *c)
{
    const struct heft_model *const model = c->model;
    bool keeps = c->format->keeps_tree && model->has_tree;

    for (size_t i = 0; i < model->n_trees && c->format->keeps_values; i++)
        keeps = keeps || model->sources[model->trees[i].source].format == c->format;
    return keeps;
}

bool heft_conversion_refuse_nothing(const struct heft_conversion *c,
                                    const struct heft_convert_options *options,
                                    struct heft_error *err)
{
    if (c->exports.n_items > 0 || options->allow_empty || c->n_lost > 0 ||
        (c->format->keeps_blobs && c->exports.n_blobs > 0))
        return true;
    if (c->model->n_rows == 0 && is_damaged(c->model))
        return true;
    if (c->model->n_rows == 0 && keeps_values(c))
        return true; /* the source has only values, and the target keeps them */
    if (c->model->n_rows == 0)
        return refuse_source(c->model, err);
    return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "no tensor is selected, of %zu",
                     c->model->n_rows);
}
