/* scan_ops.h: classification of the operations of TensorFlow graphs. */
#ifndef HEFT_SCAN_OPS_H
#define HEFT_SCAN_OPS_H

#include "base/base.h"
#include "heft/heft.h"

struct heft_scan_op {
    const char *name;
    enum heft_danger danger;
    const char *why; /* reason; NULL if the operation is allowed */
};

/* Returns NULL if TensorFlow registers no such operation. */
const struct heft_scan_op *heft_scan_op(struct heft_str name);
/* True if the operation writes checkpoints, as the saver of every model does. */
bool heft_scan_op_saves(struct heft_str name);

#endif
