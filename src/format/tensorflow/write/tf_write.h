/* tf_write.h: state of a tensor bundle while it is planned; private to write/.
 *
 *    tf_write.c          rows → pieces → data files
 *    tf_write_pieces.c   lists of pieces and lines, contents of a piece
 *    tf_write_parts.c    which rows are cut into slices, and how
 *    tf_write_objects.c  the object graph, made from names
 *    tf_write_graph.c    the object graph of a source, with changed names
 *    tf_write_shards.c   order of the pieces, and their data files
 *    tf_write_index.c    entries → the index file, one late op
 *    tf_into*.c          a SavedModel that receives the bundle */
#ifndef HEFT_TF_WRITE_H
#define HEFT_TF_WRITE_H

#include "core/plan.h"
#include "format/tensorflow/bundle/tf_parts.h"

#define HEFT_TF_MAX_SHARDS 65536 /* data files of a bundle */

/* Indexes into the format's table of options. */
enum {
    HEFT_TF_SHARDS,
    HEFT_TF_KEEP_SHARDS,
    HEFT_TF_NAMES,
    HEFT_TF_INTO,
    HEFT_TF_KEEP_MISSING,
    HEFT_TF_OPTIONS
};

/* Bytes of a data file with one entry: a tensor or a slice of one. They come from the item's row,
 * from a file (rows of an old bundle), or from memory (made here). */
struct heft_tf_piece {
    struct heft_export_item item; /* its name is the tensor's */
    const char *file;             /* NULL if not from a file */
    uint64_t from;                /* byte offset in the file */
    struct heft_str put;          /* bytes made here; p is NULL if there are none */
    uint8_t put_as;               /* dtype of the bytes made here */
    const struct heft_slice_dim
        *dims;    /* start and length of a slice, one per dimension; NULL for a whole tensor */
    uint32_t of;  /* position of the item in the export list, or HEFT_NONE */
    uint32_t crc; /* masked, if has_crc; else the plan sums it */
    uint32_t shard;
    bool has_crc;
    uint64_t old_off;    /* with --into: the tensor's offset in the old bundle … */
    uint32_t old_source; /* … and its source there */
    /* strings in the other byte order; NULL if copied unchanged */
    const struct heft_tf_swapped *swapped;
};

/* An entry of the index. */
struct heft_tf_line {
    struct heft_str key;
    const uint64_t *shape;
    /* n_slices × rank numbers of a partitioned tensor, which has no bytes of its own */
    const struct heft_slice_dim *dims;
    uint64_t offset, size;
    uint32_t n_slices, shard;
    uint32_t sum;        /* number of the plan's sum; HEFT_NONE if crc is known */
    uint32_t crc;        /* masked CRC-32C */
    uint8_t dtype, rank; /* TensorFlow's number of the dtype */
};

struct heft_tf_out {
    struct heft_plan *plan;
    const struct heft_export_list *exports;
    const char *prefix;
    const char *into; /* directory of the SavedModel that receives the bundle, or NULL */
    bool keeps_parts; /* partitioned rows stay partitioned unless --partition says otherwise */
    struct heft_tf_piece *pieces;
    struct heft_tf_line *lines;
    uint32_t *order;      /* order of the pieces in the data files */
    const uint32_t *rank; /* rank of the source's files */
    size_t n_bundles;     /* bundles among the sources */
    size_t n_pieces, cap_pieces, n_lines, cap_lines;
    uint32_t n_shards;
};

HEFT_CHECKED bool heft_tf_out_piece(struct heft_tf_out *out, const struct heft_tf_piece *piece,
                                    struct heft_error *err);
/* To be called first: sorts the items of the export list into writing order. */
HEFT_CHECKED bool heft_tf_out_begin(struct heft_tf_out *out, struct heft_error *err);
/* To be called when all pieces exist: sets order, n_shards and the shard of each piece. */
HEFT_CHECKED bool heft_tf_out_shards(struct heft_tf_out *out, struct heft_error *err);
uint64_t heft_tf_piece_bytes(const struct heft_tf_piece *piece);
/* True if a file belongs to a bundle, judged by what follows the prefix in its name. */
bool heft_tf_in_set(struct heft_str rest);
/* Adds the pieces of one item. */
HEFT_CHECKED bool heft_tf_out_item(struct heft_tf_out *out, uint32_t index, struct heft_error *err);
HEFT_CHECKED bool heft_tf_out_line(struct heft_tf_out *out, const struct heft_tf_line *line,
                                   struct heft_error *err);
/* Plans PREFIX.index: the entries sorted by key. Duplicate and empty keys are HEFT_USAGE. */
HEFT_CHECKED bool heft_tf_out_index(struct heft_tf_out *out, struct heft_error *err);

/* For a piece that is a whole storage of `model`: converts strings of the other byte order. Fails
 * for variants. */
HEFT_CHECKED bool heft_tf_out_swap(struct heft_tf_out *out, const struct heft_model *model,
                                   const struct heft_storage *storage, struct heft_tf_piece *piece,
                                   struct heft_error *err);
/* Encodes a string as TensorFlow stores it: length, its checksum, bytes; in `mem`. */
HEFT_CHECKED bool heft_tf_put_string(struct heft_str text, struct heft_arena *mem,
                                     struct heft_str *bytes, uint32_t *crc, struct heft_error *err);
/* --names objects: renames each item to the key of tf.train.Checkpoint, and adds a piece with the
 * object graph. */
HEFT_CHECKED bool heft_tf_out_objects(struct heft_tf_out *out, struct heft_error *err);
/* Number of names that are variable keys of tf.train.Checkpoint; 0 if the object graph is among
 * them. */
size_t heft_tf_count_keys(const struct heft_export_list *exports);
/* Reads the object graph from `row`, a string, and its position in its file. */
HEFT_CHECKED bool heft_tf_read_graph(const struct heft_model *model, const struct heft_row *row,
                                     struct heft_arena *mem, struct heft_bytes *out,
                                     uint64_t *where, struct heft_error *err);
/* Rewrites the object graph of a bundle whose tensors were renamed. */
HEFT_CHECKED bool heft_tf_out_graph(struct heft_tf_out *out, struct heft_tf_piece *piece,
                                    struct heft_error *err);

/* Names by which rows can be addressed; keys are borrowed from the model. */
struct heft_tf_names {
    const struct heft_model *model;
    struct heft_arena mem;
    struct heft_str *full; /* for each row: its variable name; n = 0 if unknown */
    uint32_t *twin;        /* for each row: the other row of the same variable, or HEFT_NONE */
    struct heft_strmap variables, ways;
    struct heft_strmap inner; /* variable names without their first part */
};
HEFT_CHECKED bool heft_tf_names_load(struct heft_tf_names *names, const struct heft_model *model,
                                     struct heft_error *err);
/* Returns the row, or HEFT_NONE. */
uint32_t heft_tf_names_find(const struct heft_tf_names *names, struct heft_str name);
/* The row of the name without its first part, which is the name of another root model; or HEFT_NONE. */
uint32_t heft_tf_names_find_inner(const struct heft_tf_names *names, struct heft_str name);
/* The row of the variable whose name the name ends with, behind the names of models around it; or
 * HEFT_NONE. */
uint32_t heft_tf_names_find_end(const struct heft_tf_names *names, struct heft_str name);
void heft_tf_names_release(struct heft_tf_names *names);

/* Replaces heft_tf_out_item for all items: checks them against the bundle of out->into, renames
 * them to its keys, and adds the tensors that are kept. */
HEFT_CHECKED bool heft_tf_into_pieces(struct heft_tf_out *out, struct heft_error *err);
/* True for files (path below the model, "/fingerprint.pb") that --into does not copy: the replaced
 * bundle, and the fingerprint of the old model. */
bool heft_tf_into_leaves(const char *path);
/* Plans copies of the model's other files. */
HEFT_CHECKED bool heft_tf_into_files(struct heft_tf_out *out, struct heft_error *err);

#endif
