/* file_list.h: --files-from: more inputs, from a file or standard input. */
#ifndef CLI_FILE_LIST_H
#define CLI_FILE_LIST_H

#include "main/options.h"

/* Reads the list of options->files_from, and appends its paths to the inputs. */
bool file_list_read(struct options *options, struct heft_error *err);

#endif
