/* checkpoint.h: struct heft_checkpoint, shared by the implementations of the public API. */
#ifndef HEFT_CHECKPOINT_H
#define HEFT_CHECKPOINT_H

#include <stdatomic.h>

#include "core/model.h"
#include "core/reader.h"
#include "io/input_files.h"

/* Mappings of one kind, made on first use. */
struct heft_rules_view;
struct heft_views {
    struct heft_mapping *files; /* for each source its whole file; or … */
    /* … the pages of each row (to read) or of each storage (to write), if the file cannot be mapped
     * as a whole */
    struct heft_mapping *parts;
};
enum { HEFT_VIEWS_READ, HEFT_VIEWS_WRITE, HEFT_VIEWS_KINDS };

struct heft_checkpoint {
    struct heft_input_files *inputs; /* the files of the model; NULL: those of the disk */
    struct heft_model model;
    struct heft_reader reader;
    atomic_size_t retained; /* references beside the first one */
    struct heft_lock *lock; /* guards the members views and is_checked */
    bool is_checked;        /* the checksums of whole sources have been compared and match */
    struct heft_views views[HEFT_VIEWS_KINDS];
    const uint32_t *shared; /* for each storage its number among those used by several rows, or
                               HEFT_NONE; NULL if no storage is shared */
    const uint32_t *file_sources; /* source of each file */
    struct heft_rules_view
        *view; /* what it refers to, if it is made by heft_rules_view; else NULL */
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

/* The slice of a tensor, for reading as *as (NULL: as stored), as a row whose shape and strides are in
 * `mem`; the tensor itself if there are no ranges. Its dtype is the tensor's, or F32 if the slice cuts
 * blocks (heft_row_slice_as). */
HEFT_CHECKED bool heft_checkpoint_slice(const struct heft_checkpoint *c, size_t index,
                                        const struct heft_range *ranges, size_t n_ranges,
                                        const enum heft_dtype *as, struct heft_arena *mem,
                                        struct heft_row *out, struct heft_error *err);
/* Passes a row to each() as heft_tensor_stream does. */
HEFT_CHECKED bool heft_checkpoint_stream(struct heft_checkpoint *c, const struct heft_row *row,
                                         bool (*each)(void *ctx, const void *piece, size_t n),
                                         void *ctx, struct heft_error *err);

/* Compares the stored checksums of the storages of a row (heft_check.c): HEFT_MISMATCH. Uses the
 * threads and the progress of the options. */
struct heft_exec_options;
HEFT_CHECKED bool heft_checkpoint_check_row(struct heft_checkpoint *c, const struct heft_row *row,
                                            const struct heft_exec_options *exec,
                                            struct heft_error *err);

/* Unmaps all views (heft_view.c). */
void heft_checkpoint_drop_views(struct heft_checkpoint *c);

/* Validates the model, and prepares the checkpoint for reading. */
HEFT_CHECKED bool heft_checkpoint_settle(struct heft_checkpoint *c, struct heft_error *err);

/* The same for a model that is valid already. */
HEFT_CHECKED bool heft_checkpoint_prepare(struct heft_checkpoint *c, struct heft_error *err);
/* heft_rules.c: releases what a view has of its own, and its reference to the other checkpoint. */
void heft_rules_view_release(struct heft_checkpoint *c);

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
