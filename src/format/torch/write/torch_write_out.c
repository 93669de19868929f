/* torch_write_out.c: the contents of a torch file: plain rows, or the tree of their source (torch_keep.c). */
#include "core/registry.h"
#include "format/torch/pickle/torch_parts.h"
#include "format/torch/write/torch_write.h"

/* Chooses _metadata. Only an OrderedDict has attributes, and only those that modules set are known to be harmless. */
static bool choose_modules(struct heft_torch_out *out, struct heft_error *err)
{
    const struct heft_value *modules =
        out->exports->is_ordered && out->exports->n_shards == 1 ? out->exports->modules : NULL;

    if (modules && !heft_torch_modules_fit(modules))
        return heft_plan_note(out->plan, "left out: _metadata holds more than module versions",
                              err);
    out->modules = modules;
    return true;
}

bool heft_torch_out_init(struct heft_torch_out *out, struct heft_plan *plan, uint32_t file,
                         const struct heft_export_list *exports, enum heft_torch_style style,
                         struct heft_error *err)
{
    *out = (struct heft_torch_out){.exports = exports, .plan = plan, .file = file};
    if (exports->keeps_tree)
        return heft_keep_plan(out, style, err) &&
               heft_plan_leave_metadata(plan, exports, "torch files", err);
    out->items = exports->items;
    out->n_items = exports->n_items;
    return heft_torch_out_group(out, err) &&
           heft_plan_leave_metadata(plan, exports, "torch files", err) && choose_modules(out, err);
}

void heft_torch_out_release(struct heft_torch_out *out)
{
    if (out->exports->keeps_tree)
        heft_free(out->items);
    heft_free(out->origin);
    heft_free(out->alone);
    heft_buf_release(&out->pickle);
    heft_arena_release(&out->scratch);
}
