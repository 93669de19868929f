/* object_names.h: names of objects in inputs whose tensors are named by keys. */
#ifndef CLI_OBJECT_NAMES_H
#define CLI_OBJECT_NAMES_H

#include "main/options.h"

/* Opens the inputs, but for the last `leave`, with --names objects; `c` is what they are opened as
 * without it. NULL if the option is given already, `c` has none, or they cannot be
 * opened so. */
struct heft_checkpoint *open_by_objects(const struct options *options, size_t leave,
                                        const struct heft_checkpoint *c);
/* Whether the input is a file of Keras 3 that numbers its variables (layers/dense/vars/0), and is
 * opened without --names. */
bool numbers_variables(const struct options *options, const struct heft_checkpoint *c);

#endif
