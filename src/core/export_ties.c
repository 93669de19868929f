/* export_ties.c: ties that a file's metadata records, as items again.
 *
 *     safetensors   rows: embed.weight            metadata: {"lm_head.weight": "embed.weight"}
 *     items         embed.weight ─┬─ row 0
 *                   lm_head.weight ┘              so that a torch file has both, on one storage */
#include "core/export_list.h"
#include "core/select.h"

/* The item of a tie, if it is selected; not renamed yet. */
static bool take_tie(struct heft_export_list *exports, const struct heft_pair *tie,
                     const struct heft_selector *selector,
                     const struct heft_convert_options *options, struct heft_error *err)
{
    const uint32_t row = heft_model_row(exports->model, tie->value);
    struct heft_export_item *item = &exports->items[exports->n_items];

    if (row == HEFT_NONE || heft_model_row(exports->model, tie->key) != HEFT_NONE)
        return true; /* no tie: nothing to share, or a tensor of its own */
    if (!heft_selector_takes(selector, tie->key))
        return true;
    *item = (struct heft_export_item){.row = &exports->model->rows[row], .is_apart = true};
    heft_name_below(tie->key, options->root, &item->name);
    item->from = item->name;
    exports->n_items++;
    return heft_export_choose_dtype(item, item->name, options, err);
}

/* All ties that are selected, in order. */
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

/* The items in an array with room for all ties. */
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
