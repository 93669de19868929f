/* tf_parts.h: shared by all of tensorflow/: the table of dtypes, and the messages in the index of a
 * tensor bundle. */
#ifndef HEFT_TF_PARTS_H
#define HEFT_TF_PARTS_H

#include "base/cursor.h"
#include "core/model.h"
#include "wire/tensor_slice.h"

/* ---- dtypes (tf_dtype.c) ---- */

#define HEFT_TF_STRING  7
#define HEFT_TF_VARIANT 21
#define HEFT_TF_REF     100 /* offset of reference dtypes in old graphs: base number + 100 */

struct heft_tf_dtype {
    const char *name;  /* TensorFlow's DataTypeString: "bfloat16" */
    const char *label; /* TensorFlow's name: "DT_BFLOAT16" */
    uint8_t number;    /* value in enum DataType */
    uint8_t dtype;     /* enum heft_dtype; HEFT_DTYPE_COUNT if no tensor can be stored so */
};
/* NULL if the number is unknown or a reference (101 and above). */
const struct heft_tf_dtype *heft_tf_dtype(uint64_t number);
/* The entry for heft's dtype; NULL if TensorFlow has no such dtype. */
const struct heft_tf_dtype *heft_tf_dtype_for(enum heft_dtype dtype);

/* ---- options of reading ---- */

#define HEFT_TF_READ_NAMES "names" /* keys, or objects */

/* Whether tensors are named by the objects of the object graph, not by their keys. */
static inline bool heft_tf_names_objects(const struct heft_model *model)
{
    return heft_given_options_say(&model->options, HEFT_TF_READ_NAMES, "objects");
}

/* ---- kind of a table: bundle index or V1 checkpoint (tf_table.c) ---- */

/* True if a table with these first bytes is a V1 checkpoint, not the index of a bundle. */
bool heft_tf_is_v1(struct heft_bytes head);

/* ---- index entries (tf_entry.c) ---- */

/* BundleHeaderProto: the value of the index entry with the empty key. */
struct heft_tf_header {
    uint32_t num_shards; /* 1 … INT32_MAX */
    bool is_big_endian;
    int32_t producer, min_consumer;
};
/* HEFT_MALFORMED, or HEFT_UNSUPPORTED if the version excludes this reader. `at`: file offset of the
 * value. */
HEFT_CHECKED bool heft_tf_header_read(struct heft_bytes value, uint64_t at,
                                      struct heft_tf_header *out, struct heft_error *err);

/* BundleEntryProto. Validated in itself: the shape's product is below 2^63, offset and size are not
 * negative. Not yet compared with the data files. */
struct heft_tf_entry {
    struct heft_str name;              /* V1 only, borrowed; in V2 the key is the name */
    const struct heft_tf_dtype *dtype; /* NULL if the number is unknown or cannot be stored */
    uint64_t number;                   /* as stored in the entry */
    uint64_t elements;                 /* product of the shape */
    const uint64_t *shape;             /* `rank` numbers */
    const struct heft_slice_dim
        *dims;             /* n_slices × rank numbers of a partitioned tensor; not validated */
    uint64_t offset, size; /* bytes, in the data file */
    uint32_t shard;
    uint32_t crc; /* masked CRC-32C, as stored */
    uint32_t n_slices;
    uint8_t rank;
};
/* Memory for entries: shapes are allocated in `mem`, slices in `scratch`. *dims counts down the
 * slice numbers that may still be read (HEFT_LIMIT). */
struct heft_tf_room {
    struct heft_arena *mem, *scratch;
    uint64_t *dims;
};
HEFT_CHECKED bool heft_tf_entry_read(struct heft_bytes value, uint64_t at,
                                     const struct heft_tf_room *room, struct heft_tf_entry *out,
                                     struct heft_error *err);
/* SavedSliceMeta of version 1: name, dtype, shape and slices; it has no offset. */
HEFT_CHECKED bool heft_tf_v1_entry_read(struct heft_cur cur, const struct heft_tf_room *room,
                                        struct heft_tf_entry *out, struct heft_error *err);
/* VersionDef: HEFT_UNSUPPORTED if it excludes this reader. */
HEFT_CHECKED bool heft_tf_version_read(struct heft_cur cur, struct heft_tf_header *out,
                                       struct heft_error *err);

/* ---- writing strings in the form of a data file (tf_strings_write.c) ---- */

/* To be called in this order: the length of each string, the sum, each string. *crc starts at 0 and
 * ends as the CRC of the entry, unmasked. */
void heft_tf_put_length(struct heft_buf *out, uint64_t n, uint32_t *crc);
void heft_tf_put_sum(struct heft_buf *out, uint32_t *crc);
void heft_tf_put_text(struct heft_buf *out, struct heft_str text, uint32_t *crc);

#endif
