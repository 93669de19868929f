/* danger.h: notes of info and verify about pickles that would call something dangerous. */
#ifndef CLI_DANGER_H
#define CLI_DANGER_H

#include "main/options.h"

/* Calls `each` with the first danger of each file that holds pickles, as a note: "executing this
 * would call posix.system; see heft scan". False if a file cannot be read, or out of memory. */
bool each_danger(const struct heft_checkpoint *c,
                 void (*each)(void *ctx, const struct heft_finding *finding), void *ctx,
                 struct heft_error *err);
/* Prints the same notes to stderr. */
bool report_danger(const struct options *options, const struct heft_checkpoint *c,
                   struct heft_error *err);

#endif
