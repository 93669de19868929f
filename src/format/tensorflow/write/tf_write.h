/* tf_write.h: what the tf_write*.c files share: a tensor bundle that is being planned.
 *
 *     tf_write.c          rows → pieces → data files
 *     tf_write_parts.c    which rows are cut into slices, and how
 *     tf_write_objects.c  the graph of objects, made from names
 *     tf_write_graph.c    the graph of objects of a source, changed with the names
 *     tf_write_shards.c   in which order they are written, and into how many files
 *     tf_write_index.c    entries → the index file, one late op
 *     tf_into*.c          a SavedModel whose bundle it is to be */
#ifndef HEFT_TF_WRITE_H
#define HEFT_TF_WRITE_H

#include "core/plan.h"
#include "format/tensorflow/bundle/tf_parts.h"

/* Bytes of a data file that have one entry: a tensor, or a slice of one. They are those of the item's
 * row; or of a file, for a row that is none of the model's; or were made here, a scalar. */
struct heft_tf_piece {
    struct heft_export_item item;      /* the name is the tensor's */
    const char *file;                  /* NULL: of no file */
    uint64_t from;                     /* in the file */
    struct heft_str put;               /* p is NULL: not made here */
    uint8_t put_as;                    /* dtype of what was made here, where there is no row */
    const struct heft_slice_dim *dims; /* of a slice, one a dimension; NULL: of a whole tensor */
    uint32_t of;                       /* number of the item among the exports's, or HEFT_NONE */
    uint32_t crc;                      /* masked, where has_crc; else it is a sum of the plan */
    uint32_t shard;
    bool has_crc;
    uint64_t old_off;    /* into a SavedModel: where its bundle has the tensor … */
    uint32_t old_source; /* … in the sources of that */
    const struct heft_tf_swapped *swapped; /* strings of the other byte order; NULL: copied whole */
};

/* A line of the index. */
struct heft_tf_line {
    struct heft_str key;
    const uint64_t *shape;
    const struct heft_slice_dim *dims; /* n_slices × rank: it has no bytes of its own */
    uint64_t offset, size;
    uint32_t n_slices, shard;
    uint32_t sum;        /* of the plan; HEFT_NONE: crc is known */
    uint32_t crc;        /* masked */
    uint8_t dtype, rank; /* dtype: TensorFlow's number */
};

struct heft_tf_out {
    struct heft_plan *plan;
    const struct heft_export_list *exports;
    const struct heft_convert_options *options;
    const char *prefix;
    const char *into; /* folder of the SavedModel whose bundle it is to be; NULL: of none */
    bool keeps_parts; /* what lies in parts is written so, unless --partition says otherwise */
    struct heft_tf_piece *pieces;
    struct heft_tf_line *lines;
    uint32_t *order;      /* of the pieces in the data files */
    const uint32_t *rank; /* of the source's files */
    size_t n_bundles;     /* that are the source */
    size_t n_pieces, cap_pieces, n_lines, cap_lines;
    uint32_t n_shards;
};

HEFT_CHECKED bool heft_tf_out_piece(struct heft_tf_out *out, const struct heft_tf_piece *piece,
                                    struct heft_error *err);
/* First of all: puts the exports's items into the order in which they are written. */
HEFT_CHECKED bool heft_tf_out_begin(struct heft_tf_out *out, struct heft_error *err);
/* Once all pieces are there: sets order, n_shards and each piece's shard. */
HEFT_CHECKED bool heft_tf_out_shards(struct heft_tf_out *out, struct heft_error *err);
uint64_t heft_tf_piece_bytes(const struct heft_tf_piece *piece);
/* Whether what follows the prefix in a file's name makes it one of a bundle. */
bool heft_tf_in_set(struct heft_str rest);
/* The pieces of one item. */
HEFT_CHECKED bool heft_tf_out_item(struct heft_tf_out *out, uint32_t index, struct heft_error *err);
HEFT_CHECKED bool heft_tf_out_line(struct heft_tf_out *out, const struct heft_tf_line *line,
                                   struct heft_error *err);
/* PREFIX.index: the lines, sorted by key. Duplicate and empty keys are HEFT_USAGE. */
HEFT_CHECKED bool heft_tf_out_index(struct heft_tf_out *out, struct heft_error *err);

/* A piece that is all of a storage of `model`: where that is strings of the other byte order, what
 * they become. Fails for variants. */
HEFT_CHECKED bool heft_tf_out_swap(struct heft_tf_out *out, const struct heft_model *model,
                                   const struct heft_storage *storage, struct heft_tf_piece *piece,
                                   struct heft_error *err);
/* How TensorFlow stores a string: its length, a checksum of that, its bytes; in `mem`. */
HEFT_CHECKED bool heft_tf_put_string(struct heft_str text, struct heft_arena *mem,
                                     struct heft_str *bytes, uint32_t *crc, struct heft_error *err);
/* --names objects: gives each item the key that tf.train.Checkpoint would, and adds the piece of the
 * graph of objects that says so. */
HEFT_CHECKED bool heft_tf_out_objects(struct heft_tf_out *out, struct heft_error *err);
/* How many names are keys of variables as tf.train.Checkpoint makes them; 0 where the graph of
 * objects is among them. */
size_t heft_tf_count_keys(const struct heft_export_list *exports);
/* The bytes of the graph of objects in `row`, a string, and where they are in their file. */
HEFT_CHECKED bool heft_tf_read_graph(const struct heft_model *model, const struct heft_row *row,
                                     struct heft_arena *mem, struct heft_bytes *out,
                                     uint64_t *where, struct heft_error *err);
/* The graph of objects of a bundle that is written again: where tensors were renamed, the names in
 * it change, too. */
HEFT_CHECKED bool heft_tf_out_graph(struct heft_tf_out *out, struct heft_tf_piece *piece,
                                    struct heft_error *err);

/* By which names rows are known; keys are borrowed from the model. */
struct heft_tf_names {
    const struct heft_model *model;
    struct heft_arena mem;
    struct heft_str *full; /* of rows: the variable's name; n = 0: none is known */
    uint32_t *twin;        /* of rows: the other row that is the same variable; HEFT_NONE */
    struct heft_strmap variables, ways;
    struct heft_strmap inner; /* variables' names without their first part */
};
HEFT_CHECKED bool heft_tf_names_load(struct heft_tf_names *names, const struct heft_model *model,
                                     struct heft_error *err);
/* The row, or HEFT_NONE. */
uint32_t heft_tf_names_find(const struct heft_tf_names *names, struct heft_str name);
void heft_tf_names_release(struct heft_tf_names *names);

/* Instead of heft_tf_out_item for all items: checks them against the bundle of out->into, gives them
 * its keys, and adds what stays of it. */
HEFT_CHECKED bool heft_tf_into_pieces(struct heft_tf_out *out, struct heft_error *err);
/* Whether --into does not copy the file of that path below the model's folder ("/fingerprint.pb"): the
 * bundle that is replaced, and the fingerprint of what the model was. */
bool heft_tf_into_leaves(const char *path);
/* The other files of that model. */
HEFT_CHECKED bool heft_tf_into_files(struct heft_tf_out *out, struct heft_error *err);

#endif
