/* shard_pickles.h: pickled ShardedTensor and DTensor objects, which have a rank's part of a tensor;
 * private to ranks/.
 *
 *     shard_values.c    finds the objects in the values of files, and reads where their parts lie
 *     shard_pickles.c   joins the parts of all files */
#ifndef HEFT_SHARD_PICKLES_H
#define HEFT_SHARD_PICKLES_H

#include "core/registry.h"

/* A part of a tensor in a file. */
struct heft_shard_piece {
    struct heft_str name;  /* of the tensor, in the model's memory */
    const uint64_t *shape; /* of the whole tensor */
    const uint64_t *start; /* of the part; its extents are the row's */
    size_t row; /* of the model; SIZE_MAX: the file does not have it, only its place … */
    const uint64_t *extent;   /* … which has these extents */
    struct heft_value *value; /* the object */
    uint32_t source;
    int64_t holder; /* rank that has the part; -1: unknown */
    unsigned rank;  /* number of dimensions */
};

struct heft_shards {
    struct heft_model *model;
    struct heft_arena scratch;
    struct heft_strmap rows;     /* "SOURCE:NAME" → row */
    struct heft_strmap expected; /* names of DTensors whose pieces of all ranks were added */
    uint64_t budget;             /* such pieces that may still be added */
    struct heft_shard_piece *pieces;
    size_t n, cap;
    struct heft_buf path;
    struct heft_error *err;
};

/* Finds the pieces of all tensors. HEFT_UNSUPPORTED: a flat parameter of FSDP, which has no names, or a
 * DTensor whose placement cannot be joined. */
HEFT_CHECKED bool heft_shards_find(struct heft_shards *s);
/* Row of a file; SIZE_MAX if there is none. */
HEFT_CHECKED bool heft_shards_row(struct heft_shards *s, uint32_t source, struct heft_str name,
                                  size_t *row);
/* A step of heft_format.join. */
HEFT_CHECKED bool heft_shards_join(struct heft_model *model, struct heft_error *err);

/* Files NAMErankN.bin of a directory. */
HEFT_CHECKED bool heft_shards_find_set(const struct heft_folder *folder, struct heft_arena *mem,
                                       struct heft_file_set *out, struct heft_error *err);

#endif
