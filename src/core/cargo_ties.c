/* cargo_ties.c: ties that a file's metadata records, as items again.
 *
 *     safetensors   rows: embed.weight            metadata: {"lm_head.weight": "embed.weight"}
 *     items         embed.weight ─┬─ row 0
 *                   lm_head.weight ┘              so that a torch file has both, on one storage */
#include "core/cargo.h"
#include "core/select.h"

/* The item of a tie, if it is selected; not renamed yet. */
static bool take_tie(struct heft_cargo *cargo, const struct heft_pair *tie,
                     const struct heft_selector *selector,
                     const struct heft_convert_options *options, struct heft_error *err)
{
    const uint32_t row = heft_model_row(cargo->model, tie->value);
    struct heft_item *item = &cargo->items[cargo->n_items];

    if (row == HEFT_NONE || heft_model_row(cargo->model, tie->key) != HEFT_NONE)
        return true; /* no tie: nothing to share, or a tensor of its own */
    if (!heft_selector_takes(selector, tie->key))
        return true;
    *item = (struct heft_item){.row = &cargo->model->rows[row], .is_apart = true};
    heft_name_below(tie->key, options->root, &item->name);
    item->from = item->name;
    cargo->n_items++;
    return heft_cargo_choose_dtype(item, item->name, options, err);
}

/* All ties that are selected, in order. */
static bool take_ties(struct heft_cargo *cargo, const struct heft_convert_options *options,
                      struct heft_error *err)
{
    struct heft_selector *selector =
        heft_selector_new(options->root, options->rules, options->n_rules, err);
    bool ok = selector != NULL;

    for (size_t i = 0; ok && i < cargo->model->n_ties; i++)
        ok = take_tie(cargo, &cargo->model->ties[i], selector, options, err);
    heft_selector_free(selector);
    return ok;
}

/* The items in an array with room for all ties. */
static bool make_room(struct heft_cargo *cargo, struct heft_error *err)
{
    struct heft_item *items =
        heft_arena_zero(cargo->mem, cargo->n_items + cargo->model->n_ties + 1, sizeof *items, err);

    if (!items)
        return false;
    memcpy(items, cargo->items, cargo->n_items * sizeof *items);
    cargo->items = items;
    return true;
}

bool heft_cargo_retie(struct heft_cargo *cargo, const struct heft_convert_options *options,
                      struct heft_error *err)
{
    const size_t before = cargo->n_items;

    if (cargo->model->n_ties == 0)
        return true;
    if (!make_room(cargo, err))
        return false;
    if (!take_ties(cargo, options, err))
        return false;
    return cargo->n_items == before ||
           (heft_cargo_rename(cargo, before, options, err) && heft_cargo_check_names(cargo, err));
}
