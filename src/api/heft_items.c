/* heft_items.c: the public API for lists that are too long for the tree of values. */
#include "base/require_arg.h"
#include "api/checkpoint.h"
#include "core/long_list.h"

struct heft_items {
    struct heft_arena mem;
    struct heft_budget budget;
    const struct heft_value *value;
};

struct heft_items *heft_items_new(const struct heft_checkpoint *c, const struct heft_value *list,
                                  struct heft_error *err)
{
    struct heft_items *const items = heft_require_arg(c && list, "a checkpoint and a value", err)
                                         ? heft_calloc(1, sizeof *items, err)
                                         : NULL;

    if (!items)
        return NULL;
    items->budget = heft_model_budget(&c->model);
    items->mem.budget = &items->budget;
    if (heft_long_list_whole(&c->model, list, &items->mem, &items->value, err))
        return items;
    heft_items_free(items);
    return NULL;
}

const struct heft_value *heft_items_value(const struct heft_items *items)
{
    return items ? items->value : NULL;
}

void heft_items_free(struct heft_items *items)
{
    if (!items)
        return;
    heft_arena_release(&items->mem);
    heft_free(items);
}
