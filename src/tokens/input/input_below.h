/* input_below.h: entries of a directory, and the directories below one. */
#ifndef HEFT_INPUT_BELOW_H
#define HEFT_INPUT_BELOW_H

#include "base/mem.h"

/* `path` is valid until the callback returns. */
typedef bool heft_path_fn(void *ctx, const char *path, struct heft_error *err);

/* Calls `each` for every entry of a directory, as FOLDER/NAME, in the order of the system.
 * *is_unreadable: the directory could not be read. */
HEFT_CHECKED bool heft_folder_each(const char *folder, heft_path_fn *each, void *ctx,
                                   bool *is_unreadable, struct heft_error *err);
/* FOLDER/NAME, as Python's os.path.join, with a NUL at the end. */
HEFT_CHECKED bool heft_entry_path(struct heft_buf *path, const char *folder, struct heft_str name,
                                  struct heft_error *err);

/* Whether a pattern skips a path for which stat failed with that errno: what is missing, and, as
 * Python's glob does, what is in a directory that may not be searched. */
bool heft_path_is_skipped(int number);

/* Calls `each` for the directory and all below it, parents first, in the order of the system,
 * except hidden ones (names that begin with a dot). Follows symbolic links; visits no directory
 * twice. Does nothing if `folder` is no directory. Fails if one cannot be read. */
HEFT_CHECKED bool heft_folders_below(const char *folder, heft_path_fn *each, void *ctx,
                                     struct heft_error *err);

#endif
