/* losses.h: reports what a conversion with --salvage loses. */
#ifndef CLI_LOSSES_H
#define CLI_LOSSES_H

#include "main/options.h"

struct out;

/* Prints a line to stderr for each lost tensor, each damage and each file that is too short. True
 * if anything is lost. */
bool salvage_report(const struct heft_checkpoint *c, const struct heft_conversion *conversion);
/* Writes the members "lost":[…],"missing_bytes":n. */
void salvage_json(struct out *out, const struct heft_checkpoint *c,
                  const struct heft_conversion *conversion);

#endif
