/* cargo_blobs.c: blobs that go along where the target keeps them: selected and renamed as tensors
 * are. */
#include "core/cargo.h"
#include "core/select.h"

/* Those that are selected, under their names below root. */
static bool select_blobs(struct heft_cargo *cargo, const struct heft_convert_options *options,
                         struct heft_error *err)
{
    const struct heft_model *model = cargo->model;
    struct heft_selector *selector =
        heft_selector_new(options->root, options->rules, options->n_rules, err);
    const bool ok = selector != NULL;

    for (size_t i = 0; ok && i < model->n_blobs; i++) {
        const struct heft_model_blob *blob = &model->blobs[i];
        struct heft_model_blob *taken = &cargo->blobs[cargo->n_blobs];

        if (!heft_selector_takes(selector, blob->name))
            continue;
        *taken = *blob;
        heft_name_below(blob->name, options->root, &taken->name);
        cargo->n_blobs++;
    }
    heft_selector_free(selector);
    return ok;
}

static bool rename_blobs(struct heft_cargo *cargo, const struct heft_convert_options *options,
                         struct heft_error *err)
{
    struct heft_str *names = heft_calloc(cargo->n_blobs, sizeof *names, err);
    bool ok = names != NULL;

    for (size_t i = 0; ok && i < cargo->n_blobs; i++)
        names[i] = cargo->blobs[i].name;
    ok = ok &&
         heft_rename_all(names, cargo->n_blobs, options->rules, options->n_rules, cargo->mem, err);
    for (size_t i = 0; ok && i < cargo->n_blobs; i++)
        cargo->blobs[i].name = names[i];
    heft_free(names);
    return ok;
}

bool heft_cargo_take_blobs(struct heft_cargo *cargo, const struct heft_convert_options *options,
                           struct heft_error *err)
{
    if (cargo->model->n_blobs == 0)
        return true;
    cargo->blobs = heft_arena_zero(cargo->mem, cargo->model->n_blobs, sizeof *cargo->blobs, err);
    return cargo->blobs && select_blobs(cargo, options, err) &&
           (cargo->n_blobs == 0 || rename_blobs(cargo, options, err));
}
