/* differing.h: values that differ between the files of one checkpoint. */
#ifndef CLI_DIFFERING_H
#define CLI_DIFFERING_H

#include "main/options.h"
#include "output/output.h"

/* Writes "differing":[…] into the open object; nothing if the files agree. False if memory runs
 * out. */
bool json_differing(struct out *out, const struct heft_checkpoint *c);
/* Prints lines such as "k = 2 in b.safetensors", with `label` before the first one. */
void print_differing(struct out *out, const struct heft_checkpoint *c, const char *label,
                     size_t width, bool all);
/* Prints a note for each file that has another value at the path or below it. */
void report_differing(const struct options *options, const struct heft_checkpoint *c,
                      const char *path);

#endif
