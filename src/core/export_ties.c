/* export_ties.c: restores tied names that the metadata of a safetensors file records.
 *
 *     safetensors   rows: embed.weight            metadata: {"lm_head.weight": "embed.weight"}
 *     items         embed.weight ─┬─ row 0
 *                   lm_head.weight ┘              so that a torch file has both, on one storage */
#include "core/export_list.h"
#include "core/select.h"

/* Adds the item of a recorded tie if it is selected. Renaming follows. */
static bool take_tie(struct heft_export_list *exports, const struct heft_pair *tie,
                     const struct heft_selector *selector,
                     const struct heft_convert_options *options, struct heft_error *err)
{
    const uint32_t row = heft_model_row(exports->model, tie->value);
    struct heft_export_item *item = &exports->items[exports->n_items];

    if (row == HEFT_NONE || heft_model_row(exports->model, tie->key) != HEFT_NONE)
        return true; /* not a tie: the kept tensor is missing, or the name is a tensor itself */
    if (!heft_selector_takes(selector, tie->key))
        return true;
    *item = (struct heft_export_item){.row = &exports->model->rows[row], .is_apart = true};
    heft_name_below(tie->key, options->root, &item->name);
    item->from = item->name;
    exports->n_items++;
    return heft_export_choose_dtype(item, item->name, options, err);
}

/* Adds the items of all selected ties, in order. */
static bool take_ties(struct heft_export_list *exports, const struct heft_convert_options *options,
                      struct heft_error *err)
{
    struct heft_selector *selector =
        heft_selector_new(options->root, options->rules, options->n_rules, err);
    bool ok = selector != NULL;

    for (size_t i = 0; ok && i < exports->model->n_ties; i++)
        ok = take_tie(exports, &exports->model->ties[i], selector, options, err);
    heft_selector_free(selector);
    return ok;
}

/* Moves the items to an array with space for all ties. */
static bool make_room(struct heft_export_list *exports, struct heft_error *err)
{
    struct heft_export_item *items = heft_arena_zero(
        exports->mem, exports->n_items + exports->model->n_ties + 1, sizeof *items, err);

    if (!items)
        return false;
    memcpy(items, exports->items, exports->n_items * sizeof *items);
    exports->items = items;
    return true;
}

bool heft_export_retie(struct heft_export_list *exports, const struct heft_convert_options *options,
                       struct heft_error *err)
{
    const size_t before = exports->n_items;

    if (exports->model->n_ties == 0)
        return true;
    if (!make_room(exports, err))
        return false;
    if (!take_ties(exports, options, err))
        return false;
    return exports->n_items == before || (heft_export_rename(exports, before, options, err) &&
                                          heft_export_check_names(exports, err));
}
