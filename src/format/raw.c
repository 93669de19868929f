/* raw.c: writes one tensor as its row-major, little-endian bytes, without a header. */
#include "core/plan.h"
#include "core/registry.h"

static bool plan_file(struct heft_plan *plan, uint32_t file, const struct heft_export_list *exports,
                      struct heft_error *err)
{
    if (exports->n_items != 1)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "a raw file has one tensor, %zu are selected", exports->n_items);
    return heft_plan_item(plan, file, exports->items, err);
}

/* True also for varying-length dtypes: their stored bytes are copied. */
static bool supports_dtype(enum heft_dtype dtype)
{
    return dtype < HEFT_DTYPE_COUNT;
}

static const char *const extensions[] = {"raw", NULL};

extern const struct heft_format heft_format_raw;
const struct heft_format heft_format_raw = {
    .name = "raw",
    .summary = "the bytes of one tensor (written only)",
    .plan = plan_file,
    .extensions = extensions,
    .one_tensor = true,
    .wide_extents = true,
    .supports_dtype = supports_dtype,
};
