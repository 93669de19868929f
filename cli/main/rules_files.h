/* rules_files.h: the options --rules, --set and --reverse. */
#ifndef CLI_RULES_FILES_H
#define CLI_RULES_FILES_H

#include "main/options.h"
#include "output/output.h"

/* Whether `--rules list` or `--rules show NAME` asks for presets instead of running the verb. */
bool rules_files_asked(const struct options *options);
/* Prints what they ask for; an exit status. */
int rules_files_print(const struct options *options, struct out *out);
/* Whether there are rules files. */
bool rules_files_given(const struct options *options);
/* Checks the options. With --reverse, marks the rules files and reverses their order. */
bool rules_files_settle(struct options *options, const struct verb *verb, struct heft_error *err);
/* Reads the rules files to decide how inputs are opened: sets options->number_names. */
bool rules_files_read(struct options *options, struct heft_error *err);
/* The checkpoint seen through the rules files, in its place; with root and selection. Closes `c` on failure. */
struct heft_checkpoint *rules_files_view(struct heft_checkpoint *c, const struct options *options,
                                         struct heft_error *err);

#endif
