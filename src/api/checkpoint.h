/* checkpoint.h: struct heft_checkpoint, shared by the implementations of the public API. */
#ifndef HEFT_CHECKPOINT_H
#define HEFT_CHECKPOINT_H

#include "core/model.h"
#include "core/reader.h"
#include "io/input_files.h"

struct heft_checkpoint {
    struct heft_input_files *inputs; /* the files of the model; NULL: those of the disk */
    struct heft_model model;
    struct heft_reader reader;
    struct heft_lock *lock;        /* guards the members maps and is_checked */
    bool is_checked;               /* the checksums of whole sources have been compared and match */
    struct heft_mapping *maps;     /* for each source its whole file, mapped on first use; or … */
    struct heft_mapping *row_maps; /* … for each row its pages, if the file cannot be mapped as a
                                      whole */
    const uint32_t *shared; /* for each storage its number among those used by several rows, or
                               HEFT_NONE; NULL if no storage is shared */
    const uint32_t *file_sources; /* source of each file */
};

/* Location of the byte `offset` of a storage. */
struct heft_place {
    size_t file;
    uint64_t offset, stored_bytes;
    enum heft_stored stored;
};
struct heft_place heft_checkpoint_place(const struct heft_checkpoint *c, uint32_t storage,
                                        uint64_t offset);

/* The row at `index`; NULL with HEFT_USAGE past the end. */
const struct heft_row *heft_checkpoint_row(const struct heft_checkpoint *c, size_t index,
                                           struct heft_error *err);

/* heft_open_many with a request to the readers of one format; NULL: none. */
HEFT_CHECKED struct heft_checkpoint *heft_checkpoint_open(const char *const *paths, size_t n_paths,
                                                          const struct heft_open_options *options,
                                                          const struct heft_open_request *request,
                                                          struct heft_error *err);

/* Path of the first file of an input, in `mem` or `path` itself. NULL on failure. */
HEFT_CHECKED const char *heft_checkpoint_locate(const char *path,
                                                const struct heft_open_options *options,
                                                const struct heft_files *files,
                                                struct heft_arena *mem, struct heft_error *err);

#endif
