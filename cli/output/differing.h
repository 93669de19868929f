/* differing.h: what several files of one checkpoint say differently. */
#ifndef CLI_DIFFERING_H
#define CLI_DIFFERING_H

#include "main/options.h"
#include "output/output.h"

/* "differing":[…], a member of an open object; nothing where the files agree. False: no memory. */
bool json_differing(struct out *out, const struct heft_checkpoint *c);
/* "k = 2 in b.safetensors" for people, a line each with `label` before the first. */
void print_differing(struct out *out, const struct heft_checkpoint *c, const char *label,
                     size_t width, bool all);
/* A note for each file that has another value at the path, or below it. */
void report_differing(const struct options *options, const struct heft_checkpoint *c,
                      const char *path);

#endif
