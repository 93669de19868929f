/* output_file.h: files of a program that appear complete or not at all, like those of conversions. heft.h
 * includes it.
 *
 *     struct heft_output *output = heft_output_new("list.txt", NULL, &err);
 *
 *     ok = output && write(heft_output_descriptor(output), text, n) == (ssize_t)n &&
 *          heft_output_commit(output, &err);
 *     heft_output_free(output);
 */
#ifndef HEFT_OUTPUT_FILE_H
#define HEFT_OUTPUT_FILE_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A file that is written under a temporary name beside its own (.NAME.heft-PID-N). */
struct heft_output;
struct heft_output_options {
    size_t size;    /* HEFT_INIT */
    bool overwrite; /* replace an existing file; otherwise it is HEFT_USAGE */
    bool no_sync;   /* do not wait until the data is on the disk */
};
/* Creates the temporary file, and deletes those of dead processes in its directory, except those of
 * an interrupted encoding that can be resumed. options may be NULL. NULL on HEFT_USAGE (the file
 * exists), HEFT_IO, HEFT_NOMEM. */
HEFT_API struct heft_output *heft_output_new(const char *path,
                                             const struct heft_output_options *options,
                                             struct heft_error *err);
/* Descriptor to write to, which belongs to the output; -1 after the commit. */
HEFT_API int heft_output_descriptor(const struct heft_output *output);
/* Syncs the file, gives it its name, and syncs the directory. After a failure the old file is still
 * there; on a file system without hard links it may be the new one. */
HEFT_API bool heft_output_commit(struct heft_output *output, struct heft_error *err);
/* Deletes the temporary file unless it was committed. */
HEFT_API void heft_output_free(struct heft_output *output);

#ifdef __cplusplus
}
#endif
#endif
