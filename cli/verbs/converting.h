/* converting.h: what convert, plan and commit have in common: options, reports, verification. */
#ifndef CLI_CONVERTING_H
#define CLI_CONVERTING_H

#include "main/options.h"
#include "output/output.h"
#include "output/progress.h"

/* Appends to the options of the target those of reading that a target has, too, as --names. If --to is
 * that target, the option says how names are written, not how those of INPUT are read. */
void convert_share_options(struct options *options);
struct heft_convert_options convert_options(const struct options *options,
                                            struct progress *progress);
/* Refuses an absent output, and standard output. */
bool convert_check_output(const struct options *options, const char *verb, struct heft_error *err);

/* Prints the notes from index `first` on. */
void convert_report_notes(const struct options *options, const struct heft_conversion *conversion,
                          size_t first);
void convert_print_files(struct out *out, const struct heft_conversion *conversion);
/* --verify: compares what was written with INPUT, and deletes it if it differs. */
bool convert_verify(const struct options *options, struct heft_conversion *conversion,
                    struct heft_error *err);

#endif
