/* saved_model.h: prints a SavedModel in the format of TensorFlow's saved_model_cli, one signature
 * as JSON, or its requests as JSON Schema. */
#ifndef CLI_SAVED_MODEL_H
#define CLI_SAVED_MODEL_H

#include "main/options.h"
#include "output/output.h"

#include <heft/heft.h>

/* Prints what `saved_model_cli show --all` prints, with sets sorted, and the saver of each meta
 * graph. False if memory runs out. */
bool saved_model_show(struct out *out, const struct heft_value *about);

/* Prints one line per signature: name, method, inputs, outputs. */
void signatures_print(struct out *out, const struct heft_value *about);

/* Whether a name has the form "signature:KEY" and the checkpoint is a SavedModel. */
bool is_signature(const struct heft_checkpoint *c, const char *name);
/* Prints that signature as JSON; with --signature the JSON Schema of a predict request. */
bool get_signature(struct out *out, const struct heft_checkpoint *c, const char *name,
                   const struct options *options, struct heft_error *err);

#endif
