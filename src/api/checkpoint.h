/* checkpoint.h: what a struct heft_checkpoint is; shared by the files behind the door. */
#ifndef HEFT_CHECKPOINT_H
#define HEFT_CHECKPOINT_H

#include "core/model.h"
#include "core/reader.h"

struct heft_checkpoint {
    struct heft_model model;
    struct heft_reader reader;
    struct heft_lock *lock;        /* guards maps, is_checked */
    bool is_checked;               /* the checksums of whole sources were compared, and are right */
    struct heft_mapping *maps;     /* a source: its whole file, mapped on first use; or … */
    struct heft_mapping *row_maps; /* … a row: its pages, where the file cannot be mapped whole */
    const uint32_t *shared; /* a storage: its number among those with several rows, or HEFT_NONE;
                                  NULL where each row has its own */
    const uint32_t *file_sources; /* a file: its source */
};

/* Where the byte `offset` of a storage lies. */
struct heft_place {
    size_t file;
    uint64_t offset, stored_bytes;
    enum heft_stored stored;
};
struct heft_place heft_checkpoint_place(const struct heft_checkpoint *c, uint32_t storage,
                                        uint64_t offset);

/* NULL: HEFT_USAGE. */
const struct heft_row *heft_checkpoint_row(const struct heft_checkpoint *c, size_t index,
                                           struct heft_error *err);

struct heft_provenance;
/* heft_open_many, which asks the readers for a provenance (core/provenance.h) where `provenance` is not NULL. */
HEFT_CHECKED struct heft_checkpoint *heft_checkpoint_open(const char *const *paths, size_t n_paths,
                                                          const struct heft_open_options *options,
                                                          struct heft_provenance *provenance,
                                                          struct heft_error *err);

/* The first of the files that an input means, in `mem` or `path` itself. NULL: an error. */
HEFT_CHECKED const char *heft_checkpoint_locate(const char *path,
                                                const struct heft_open_options *options,
                                                struct heft_arena *mem, struct heft_error *err);

#endif
