/* usage.h: how much of the storages tensors see. */
#ifndef HEFT_USAGE_H
#define HEFT_USAGE_H

#include "core/model.h"

/* Of a settled model: bytes of all storages, and of them what tensors see. n log n. */
HEFT_CHECKED bool heft_model_usage(const struct heft_model *model, uint64_t *stored, uint64_t *used,
                                   struct heft_error *err);

#endif
