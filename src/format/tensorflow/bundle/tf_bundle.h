/* tf_bundle.h: a tensor bundle that is being opened; shared by the tf_bundle*.c files only. */
#ifndef HEFT_TF_BUNDLE_H
#define HEFT_TF_BUNDLE_H

#include "core/registry.h"
#include "format/tensorflow/bundle/tf_parts.h"
#include "wire/sstable.h"

/* A data file that an entry names. */
struct heft_tf_shard {
    uint32_t number, source;
    uint64_t wanted;  /* where the last tensor in it ends */
    uint64_t missing; /* tensors and slices that it does not hold whole */
    bool is_there;
    bool has_gaps; /* its tensors were not named one behind the other from byte 0 on */
};

/* The entry of a slice: no row of its own. */
struct heft_tf_slice {
    struct heft_str key; /* in the model's memory */
    uint64_t at;         /* where the index has it */
    const uint64_t *shape;
    uint32_t storage; /* HEFT_NONE: its dtype is not known */
    uint8_t rank, dtype, number;
    bool is_listed; /* by an entry of its tensor */
};

struct heft_tf_bundle {
    struct heft_model *model;
    uint32_t source; /* the index */
    struct heft_error *err;
    struct heft_tf_header header;
    bool has_header;
    struct heft_str base; /* the index's name without ".index", of its folder */
    struct heft_tf_shard *shards;
    size_t n_shards, cap_shards;
    struct heft_u32map shard_numbers; /* → index of shards */
    struct heft_tf_slice *slices;
    size_t n_slices, cap_slices;
    struct heft_strmap slice_keys; /* → index of slices */
    struct heft_arena scratch;
    struct heft_buf key;
    uint64_t room;        /* for numbers of slices */
    uint32_t graph;       /* storage of the object graph; HEFT_NONE */
    size_t first_storage; /* of the model: the first of this bundle */
};

/* ---- tf_table.c ---- */

/* Hands out the entries of a table; each() fails with b->err filled. */
HEFT_CHECKED bool heft_tf_walk(struct heft_tf_bundle *b, uint32_t source,
                               bool (*each)(struct heft_tf_bundle *b,
                                            const struct heft_sstable_entry *e));
/* Claims an entry; of a packed block nothing by itself. */
HEFT_CHECKED bool heft_tf_claim_entry(const struct heft_tf_bundle *b, uint32_t source,
                                      const struct heft_sstable_entry *e, const char *what,
                                      struct heft_str of);
void heft_tf_release(struct heft_tf_bundle *b);

/* ---- tf_bundle_data.c ---- */

/* A storage for the bytes that an entry of that dtype names; is_missing where its file lacks them.
 * `at`: of the entry, for errors. */
HEFT_CHECKED bool heft_tf_add_storage(struct heft_tf_bundle *b, const struct heft_tf_entry *entry,
                                      uint64_t at, uint32_t *storage);
/* How values of that dtype are stored: HEFT_ROW_SWAP, or 0. */
uint8_t heft_tf_row_flags(const struct heft_tf_bundle *b, const struct heft_tf_dtype *dtype);
/* Says which files are missing or too short. */
HEFT_CHECKED bool heft_tf_note_missing(const struct heft_tf_bundle *b);
/* Says where data files have bytes that no entry names and that are no padding (tf_bundle_rest.c). */
HEFT_CHECKED bool heft_tf_note_rest(struct heft_tf_bundle *b);
/* Looks at data files that no entry names. */
bool heft_tf_verify_data(const struct heft_model *model, uint32_t source,
                         const struct heft_reporter *to, struct heft_error *err);
/* The index's name without ".index". */
struct heft_str heft_tf_base(const char *path);

/* ---- tf_bundle_slices.c ---- */

/* Keeps a slice until its tensor's entry comes. `key` is that of the table. */
HEFT_CHECKED bool heft_tf_add_slice(struct heft_tf_bundle *b, struct heft_str key,
                                    const struct heft_tf_entry *entry, uint64_t at,
                                    uint32_t storage);
/* The row of a partitioned tensor; where slices are missing, one of each slice that is there. */
HEFT_CHECKED bool heft_tf_add_partitioned(struct heft_tf_bundle *b, struct heft_str name,
                                          const struct heft_tf_entry *entry, uint64_t at);
/* ---- tf_bundle_join.c ---- */

/* Puts tensors together whose slices are in several bundles. */
HEFT_CHECKED bool heft_tf_join(struct heft_model *model, struct heft_error *err);

/* Names the slices that no tensor lists. */
HEFT_CHECKED bool heft_tf_note_strays(const struct heft_tf_bundle *b);

/* ---- tf_names.c ---- */

#define HEFT_TF_GRAPH_KEY "_CHECKPOINTABLE_OBJECT_GRAPH"
/* Reads the object graph, where there is one; renames the rows from first_row on where that is
 * asked for. */
HEFT_CHECKED bool heft_tf_read_objects(struct heft_tf_bundle *b, size_t first_row);

/* ---- tf_strings.c: elements of varying length ---- */

/* Checks of storages, by how the file has its numbers. */
heft_storage_check_fn heft_tf_check_strings, heft_tf_check_strings_big, heft_tf_check_variants,
    heft_tf_check_variants_big;
heft_storage_strings_fn heft_tf_strings;

/* Strings of a big-endian bundle as a little-endian one has them: the lengths, another checksum of
 * them, the same strings. */
struct heft_tf_swapped {
    uint64_t lengths; /* bytes that they take, in front of the checksum */
    uint8_t word[4];  /* the checksum in its place */
    uint32_t crc;     /* of the entry */
};
HEFT_CHECKED bool heft_tf_swap_strings(const struct heft_model *model,
                                       const struct heft_storage *storage,
                                       struct heft_tf_swapped *out, struct heft_error *err);

#endif
