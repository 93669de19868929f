/* target.h: an output file that appears complete or not at all. */
#ifndef CLI_TARGET_H
#define CLI_TARGET_H

#include "main/options.h"
#include "output/output.h"

struct target {
    const struct options *options; /* uses output, overwrite and no_sync */
    struct heft_output *output;
    struct out out;
};

/* Creates the temporary file. On failure nothing is left behind. From here on signals are caught;
 * long writers must poll progress_interrupted. */
bool target_open(struct target *target, const struct options *options, struct heft_error *err);
/* Renames the file to its final name if `fine`, else deletes it. */
bool target_close(struct target *target, bool fine, struct heft_error *err);

#endif
