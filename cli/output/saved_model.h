/* saved_model.h: SavedModels for people and programs: all of it as TensorFlow's saved_model_cli shows
 * it, one signature as JSON, its requests as JSON Schema. */
#ifndef CLI_SAVED_MODEL_H
#define CLI_SAVED_MODEL_H

#include "main/options.h"
#include "output/output.h"

#include <heft/heft.h>

/* What `saved_model_cli show --all` prints, sets sorted, and the saver of each meta graph. False
 * where memory ran out. */
bool saved_model_show(struct out *out, const struct heft_value *about);

/* A line a signature: its name, method, what it takes and gives. */
void signatures_print(struct out *out, const struct heft_value *about);

/* Whether a name asks for a signature: "signature:KEY" of a SavedModel. */
bool is_signature(const struct heft_checkpoint *c, const char *name);
/* That signature as JSON; with --signature as the JSON Schema of a predict request. */
bool get_signature(struct out *out, const struct heft_checkpoint *c, const char *name,
                   const struct options *options, struct heft_error *err);

#endif
