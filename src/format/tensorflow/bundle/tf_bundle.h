/* tf_bundle.h: state of a tensor bundle while it is opened; private to bundle/ and v1/. */
#ifndef HEFT_TF_BUNDLE_H
#define HEFT_TF_BUNDLE_H

#include "core/registry.h"
#include "format/tensorflow/bundle/tf_parts.h"
#include "wire/sstable.h"

/* A data file that an entry refers to. */
struct heft_tf_shard {
    uint32_t number, source;
    uint64_t wanted;  /* smallest sufficient size: the end of the last tensor in it */
    uint64_t missing; /* tensors and slices that the file does not hold completely */
    bool is_there;
    /* its tensors do not follow each other from byte 0 on, in the order of the entries */
    bool has_gaps;
};

/* The entry of a slice, which is not a row of its own. */
struct heft_tf_slice {
    struct heft_str key; /* allocated in model->mem */
    uint64_t at;         /* file offset of its entry in the index */
    const uint64_t *shape;
    uint32_t storage; /* HEFT_NONE if its dtype is unknown */
    uint8_t rank, dtype, number;
    bool is_listed; /* the entry of its tensor lists it */
};

struct heft_tf_bundle {
    struct heft_model *model;
    uint32_t source; /* the index file */
    struct heft_error *err;
    struct heft_tf_header header;
    bool has_header;
    struct heft_str base; /* file name of the index without ".index" */
    struct heft_tf_shard *shards;
    size_t n_shards, cap_shards;
    struct heft_u32map shard_numbers; /* number → position in shards */
    struct heft_tf_slice *slices;
    size_t n_slices, cap_slices;
    struct heft_strmap slice_keys; /* key → position in slices */
    struct heft_arena scratch;
    struct heft_buf key;
    uint64_t room;        /* slice numbers that may still be read */
    uint32_t graph;       /* storage of the object graph, or HEFT_NONE */
    size_t first_storage; /* the bundle's first storage in the model */
};

/* ---- tf_table.c ---- */

/* Calls each() for every entry of a table in order; each() fills b->err on failure. */
HEFT_CHECKED bool heft_tf_walk(struct heft_tf_bundle *b, uint32_t source,
                               bool (*each)(struct heft_tf_bundle *b,
                                            const struct heft_sstable_entry *e));
/* Claims the bytes of an entry. Entries of a compressed block have no bytes of their own: no
 * claim. */
HEFT_CHECKED bool heft_tf_claim_entry(const struct heft_tf_bundle *b, uint32_t source,
                                      const struct heft_sstable_entry *e, const char *what,
                                      struct heft_str of);
void heft_tf_release(struct heft_tf_bundle *b);

/* ---- tf_bundle_data.c ---- */

/* Adds a storage for the bytes of an entry; it is marked is_missing if its data file lacks them.
 * `at`: file offset of the entry, for errors. */
HEFT_CHECKED bool heft_tf_add_storage(struct heft_tf_bundle *b, const struct heft_tf_entry *entry,
                                      uint64_t at, uint32_t *storage);
/* Row flags for values of that dtype: HEFT_ROW_SWAP if bytes must be swapped, or 0. */
uint8_t heft_tf_row_flags(const struct heft_tf_bundle *b, const struct heft_tf_dtype *dtype);
/* Notes data files that are missing or too short. */
HEFT_CHECKED bool heft_tf_note_missing(const struct heft_tf_bundle *b);
/* tf_bundle_rest.c: notes bytes of data files that no entry refers to and that are not padding. */
HEFT_CHECKED bool heft_tf_note_rest(struct heft_tf_bundle *b);
/* heft_format.verify: inspects data files that no entry refers to. */
bool heft_tf_verify_data(const struct heft_model *model, uint32_t source,
                         const struct heft_reporter *to, struct heft_error *err);
/* The file name of the index without ".index". */
struct heft_str heft_tf_base(const char *path);

/* ---- tf_bundle_slices.c ---- */

/* Keeps a slice until the entry of its tensor is read. `key` is the key in the table. */
HEFT_CHECKED bool heft_tf_add_slice(struct heft_tf_bundle *b, struct heft_str key,
                                    const struct heft_tf_entry *entry, uint64_t at,
                                    uint32_t storage);
/* Adds the row of a partitioned tensor; if slices are missing, a row for each slice that exists. */
HEFT_CHECKED bool heft_tf_add_partitioned(struct heft_tf_bundle *b, struct heft_str name,
                                          const struct heft_tf_entry *entry, uint64_t at);
/* ---- tf_bundle_join.c ---- */

/* heft_format.join: joins tensors whose slices lie in several bundles. */
HEFT_CHECKED bool heft_tf_join(struct heft_model *model, struct heft_error *err);

/* Notes the slices that no tensor lists. */
HEFT_CHECKED bool heft_tf_note_strays(const struct heft_tf_bundle *b);

/* ---- tf_names.c ---- */

#define HEFT_TF_GRAPH_KEY "_CHECKPOINTABLE_OBJECT_GRAPH"
/* Reads the object graph if there is one, and renames the rows from first_row on if the caller
 * wants object names. */
HEFT_CHECKED bool heft_tf_read_objects(struct heft_tf_bundle *b, size_t first_row);

/* ---- tf_strings.c: elements of varying length ---- */

/* Checksum callbacks of storages, for little- and big-endian bundles. */
heft_storage_check_fn heft_tf_check_strings, heft_tf_check_strings_big, heft_tf_check_variants,
    heft_tf_check_variants_big;
heft_storage_strings_fn heft_tf_strings;

/* Strings of a big-endian bundle in little-endian form: lengths and their checksum change, the
 * strings stay. */
struct heft_tf_swapped {
    uint64_t lengths; /* bytes of the lengths, which precede the checksum */
    uint8_t word[4];  /* the checksum of the lengths, as stored */
    uint32_t crc;     /* checksum of the entry, unmasked */
};
HEFT_CHECKED bool heft_tf_swap_strings(const struct heft_model *model,
                                       const struct heft_storage *storage,
                                       struct heft_tf_swapped *out, struct heft_error *err);

#endif
