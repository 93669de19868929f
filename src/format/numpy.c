/* numpy.c: writes one tensor as a NumPy file: the header (wire/npy.h), then row-major bytes. */
#include "core/plan.h"
#include "core/registry.h"
#include "wire/npy.h"

static bool plan_file(struct heft_plan *plan, uint32_t file, const struct heft_cargo *cargo,
                      struct heft_error *err)
{
    struct heft_item *item = cargo->items;
    struct heft_buf buf = {0};
    struct heft_str header;
    const char *descr;
    bool ok;

    if (cargo->n_items != 1)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "npy holds one tensor, %zu were chosen",
                         cargo->n_items);
    descr = heft_npy_descr((enum heft_dtype)item->as);
    if (!descr) {
        heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET, "NumPy has no %s",
                  heft_dtype_name((enum heft_dtype)item->as));
        return heft_error_about(err, "tensor", item->name);
    }
    heft_npy_header(&buf, descr, item->row->rank, item->row->shape);
    ok = heft_buf_ok(&buf, err) && heft_buf_take(&buf, plan->mem, &header, err) &&
         heft_plan_put(plan, file, header, err) && heft_plan_item(plan, file, item, err);
    heft_buf_release(&buf);
    return ok;
}

static const char *const extensions[] = {"npy", NULL};

static bool holds(enum heft_dtype dtype)
{
    return heft_npy_descr(dtype) != NULL;
}

extern const struct heft_format heft_format_npy;
const struct heft_format heft_format_npy = {
    .name = "npy",
    .summary = "NumPy array file, one tensor (written only)",
    .plan = plan_file,
    .extensions = extensions,
    .one_tensor = true,
    .holds = holds,
};
