/* strings.h: tensors of strings, as JSON. */
#ifndef CLI_STRINGS_H
#define CLI_STRINGS_H

#include "output/output.h"

#include <heft/heft.h>

/* Lists within lists by the tensor's shape; a scalar is its string. What is no UTF-8 is
 * {"b64":"…"}, as TensorFlow Serving writes bytes in JSON. */
bool json_strings(struct out *out, struct heft_checkpoint *c, size_t index, struct heft_error *err);

#endif
