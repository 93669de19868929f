/* target.h: a file that is written beside its name, and gets it when all is well. */
#ifndef CLI_TARGET_H
#define CLI_TARGET_H

#include "main/options.h"
#include "output/output.h"

struct target {
    const struct options *options; /* output, overwrite, no_sync */
    char *temporary;
    struct out out;
    int fd;
};

/* False after err is filled: nothing is there then. From here on signals are caught: whoever writes
 * much asks progress_interrupted. */
bool target_open(struct target *target, const struct options *options, struct heft_error *err);
/* Gives it its name, unless `fine` is false: then it vanishes. */
bool target_close(struct target *target, bool fine, struct heft_error *err);

#endif
