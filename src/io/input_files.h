/* input_files.h: files that a program provides instead of the disk (struct heft_input), found by
 * their names. Names are paths; directories are the beginnings of names.
 *
 *     "model.safetensors.index.json"        "variables/variables.index"
 *     "model-00001-of-00002.safetensors"    directory "variables", directory "" */
#ifndef HEFT_INPUT_FILES_H
#define HEFT_INPUT_FILES_H

#include "heft/inputs.h"
#include "io/files.h"

struct heft_input_files;

/* Takes over n inputs: each is closed once, by heft_input_files_close or, if this fails, at once.
 * HEFT_USAGE if an input is incomplete or a name occurs twice. */
HEFT_CHECKED struct heft_input_files *heft_input_files_new(const struct heft_input *inputs,
                                                           size_t n, struct heft_error *err);
/* *out is NULL, for the disk, if n is 0: as in the options of public functions. */
HEFT_CHECKED bool heft_input_files_take(struct heft_input_files **out,
                                        const struct heft_input *inputs, size_t n,
                                        struct heft_error *err);
/* A single input: `bytes` bytes of an open file from `offset` on; HEFT_TO_END: all that follow. The
 * descriptor is duplicated. */
HEFT_CHECKED struct heft_input_files *heft_input_files_fd(int fd, uint64_t offset, uint64_t bytes,
                                                          struct heft_error *err);
/* All sources of these files must be closed before. NULL is allowed. */
void heft_input_files_close(struct heft_input_files *files);
/* The disk if files is NULL. */
const struct heft_files *heft_input_files_of(const struct heft_input_files *files);
/* What to open to open everything: the name of a single input, else the innermost directory that
 * contains all names. */
const char *heft_input_files_root(const struct heft_input_files *files);

#endif
