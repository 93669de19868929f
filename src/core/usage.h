/* usage.h: bytes of storages that tensors and blobs use. */
#ifndef HEFT_USAGE_H
#define HEFT_USAGE_H

#include "core/model.h"

/* *stored: bytes of all storages of a validated model; *used: those that a tensor or blob uses.
 * O(n log n). */
HEFT_CHECKED bool heft_model_usage(const struct heft_model *model, uint64_t *stored, uint64_t *used,
                                   struct heft_error *err);

#endif
