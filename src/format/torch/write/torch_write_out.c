/* torch_write_out.c: the contents of a torch file: plain rows, or the tree of their source
 * (torch_keep.c). */
#include "core/registry.h"
#include "format/torch/pickle/torch_parts.h"
#include "format/torch/write/torch_write.h"

/* The _metadata of the selected dictionary, or NULL. */
static const struct heft_value *find_modules(const struct heft_model *model, const char *root)
{
    const struct heft_value *const value = heft_value_below(model->values, root);
    const struct heft_value *child = value ? value->first_child : NULL;

    while (child && strcmp(child->key, "_metadata") != 0)
        child = child->next_sibling;
    return child;
}

/* Chooses the class of the dictionary and its _metadata. A shard is a plain dict. Only an
 * OrderedDict has attributes, and only those that modules set are known to be harmless. */
static bool choose_modules(struct heft_torch_out *out, struct heft_error *err)
{
    const struct heft_model *const model = out->exports->model;
    const char *const root = out->plan->request.root ? out->plan->request.root : "";
    const struct heft_value *modules;

    out->is_ordered = out->exports->n_shards == 1 &&
                      heft_model_attached(model, &heft_torch_ordered_kind, heft_str_of(root));
    modules = out->is_ordered ? find_modules(model, root) : NULL;
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
    out->scratch.budget = plan->mem->budget;
    if (exports->keeps_tree)
        return heft_keep_plan(out, style, err) &&
               heft_plan_leave_metadata(plan, exports, "torch files", err);
    out->items = exports->items;
    out->n_items = exports->n_items;
    return heft_torch_out_group(out, err) &&
           heft_plan_leave_metadata(plan, exports, "torch files", err) && choose_modules(out, err);
}

bool heft_torch_out_alone(struct heft_torch_out *out, struct heft_plan *plan, uint32_t file,
                          const struct heft_export_list *exports, const struct heft_str *pickle,
                          struct heft_error *err)
{
    *out = (struct heft_torch_out){.exports = exports,
                                   .plan = plan,
                                   .file = file,
                                   .items = exports->items,
                                   .n_items = exports->n_items,
                                   .is_alone = !pickle,
                                   .has_given = pickle != NULL};
    out->scratch.budget = plan->mem->budget;
    if (pickle)
        heft_buf_str(&out->pickle, *pickle);
    return heft_buf_ok(&out->pickle, err) && heft_torch_out_group(out, err);
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
