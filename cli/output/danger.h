/* danger.h: what info and verify say of a file whose pickles would call what is dangerous. */
#ifndef CLI_DANGER_H
#define CLI_DANGER_H

#include "main/options.h"

/* The first danger of each file of a checkpoint that holds pickles, as a note "executing this would
 * call posix.system; see heft scan". */
void each_danger(const struct heft_checkpoint *c,
                 void (*each)(void *ctx, const struct heft_finding *finding), void *ctx);
/* The same as notes on stderr. */
void report_danger(const struct options *options, const struct heft_checkpoint *c);

#endif
