/* losses.h: what a conversion with --salvage has to say of what is lost. */
#ifndef CLI_LOSSES_H
#define CLI_LOSSES_H

#include "main/options.h"

struct out;

/* A line on stderr for each lost tensor, each damage, each file that is too short. True if anything
 * is lost. */
bool salvage_report(const struct heft_checkpoint *c, const struct heft_conversion *conversion);
/* "lost":[…],"missing_bytes":n */
void salvage_json(struct out *out, const struct heft_checkpoint *c,
                  const struct heft_conversion *conversion);

#endif
