/* export_blobs.c: exports blobs if the target format stores them; selected and renamed like
 * tensors. */
#include "core/export_list.h"
#include "core/select.h"

/* Takes the selected blobs, under their names below the root. */
static bool select_blobs(struct heft_export_list *exports,
                         const struct heft_convert_options *options, struct heft_error *err)
{
    const struct heft_model *model = exports->model;
    struct heft_selector *selector =
        heft_selector_new(options->root, options->rules, options->n_rules, err);
    const bool ok = selector != NULL;

    for (size_t i = 0; ok && i < model->n_blobs; i++) {
        const struct heft_model_blob *blob = &model->blobs[i];
        struct heft_model_blob *taken = &exports->blobs[exports->n_blobs];

        if (!heft_selector_takes(selector, blob->name))
            continue;
        *taken = *blob;
        heft_name_below(blob->name, options->root, &taken->name);
        exports->n_blobs++;
    }
    heft_selector_free(selector);
    return ok;
}

static bool rename_blobs(struct heft_export_list *exports,
                         const struct heft_convert_options *options, struct heft_error *err)
{
    struct heft_str *names = heft_calloc(exports->n_blobs, sizeof *names, err);
    bool ok = names != NULL;

    for (size_t i = 0; ok && i < exports->n_blobs; i++)
        names[i] = exports->blobs[i].name;
    ok = ok && heft_rename_all(names, exports->n_blobs, options->rules, options->n_rules,
                               exports->mem, err);
    for (size_t i = 0; ok && i < exports->n_blobs; i++)
        exports->blobs[i].name = names[i];
    heft_free(names);
    return ok;
}

bool heft_export_take_blobs(struct heft_export_list *exports,
                            const struct heft_convert_options *options, struct heft_error *err)
{
    if (exports->model->n_blobs == 0)
        return true;
    exports->blobs =
        heft_arena_zero(exports->mem, exports->model->n_blobs, sizeof *exports->blobs, err);
    return exports->blobs && select_blobs(exports, options, err) &&
           (exports->n_blobs == 0 || rename_blobs(exports, options, err));
}
