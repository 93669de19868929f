/* input_below.h: a folder and the folders below it. */
#ifndef HEFT_INPUT_BELOW_H
#define HEFT_INPUT_BELOW_H

#include "tokens/input/input_pattern.h"

/* Tells the folder and each one below it, before its sub-folders and in the order of the system, but for
 * names with a dot in front; links to folders are followed, and no folder is told twice. What is no
 * folder has none. Fails where one cannot be read. */
HEFT_CHECKED bool heft_folders_below(const char *folder, heft_path_fn *each, void *ctx,
                                     struct heft_error *err);

#endif
