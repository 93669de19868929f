/* strings.h: prints tensors of strings as JSON. */
#ifndef CLI_STRINGS_H
#define CLI_STRINGS_H

#include "output/output.h"

#include <heft/heft.h>

/* Prints lists nested by the shape of the tensor; a scalar is a plain string. Strings that are not
 * UTF-8 are {"b64":"…"}, as in TensorFlow Serving. */
bool json_strings(struct out *out, struct heft_checkpoint *c, size_t index, struct heft_error *err);

#endif
