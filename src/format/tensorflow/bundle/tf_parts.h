/* tf_parts.h: what the tf_*.c files share: TensorFlow's dtypes, and the messages of a tensor bundle's
 * index. */
#ifndef HEFT_TF_PARTS_H
#define HEFT_TF_PARTS_H

#include "base/cursor.h"
#include "core/model.h"
#include "wire/tensor_slice.h"

/* ---- dtypes (tf_dtype.c) ---- */

#define HEFT_TF_STRING  7
#define HEFT_TF_VARIANT 21
#define HEFT_TF_REF     100 /* more than its base: dtypes of references in old graphs */

struct heft_tf_dtype {
    const char *name;  /* "bfloat16": TensorFlow's DataTypeString */
    const char *label; /* "DT_BFLOAT16" */
    uint8_t number;    /* of the enum DataType */
    uint8_t dtype;     /* enum heft_dtype; HEFT_DTYPE_COUNT: no tensor can be stored as this */
};
/* NULL where there is no such number; references (101 …) are none. */
const struct heft_tf_dtype *heft_tf_dtype(uint64_t number);
/* By heft's dtype; NULL where TensorFlow has none such. */
const struct heft_tf_dtype *heft_tf_dtype_for(enum heft_dtype dtype);

/* ---- which kind of table (tf_table.c) ---- */

/* Whether a table that begins so is a V1 checkpoint and no index of a bundle. */
bool heft_tf_is_v1(struct heft_bytes head);

/* ---- index entries (tf_entry.c) ---- */

/* BundleHeaderProto, the value of the empty key. */
struct heft_tf_header {
    uint32_t num_shards; /* 1 … INT32_MAX */
    bool is_big_endian;
    int32_t producer, min_consumer;
};
/* HEFT_MALFORMED, HEFT_UNSUPPORTED (a version that excludes us). `at`: file offset of the value. */
HEFT_CHECKED bool heft_tf_header_read(struct heft_bytes value, uint64_t at,
                                      struct heft_tf_header *out, struct heft_error *err);

/* BundleEntryProto. What it says of itself holds: the shape's product is below 2^63, offset and size
 * are not negative. Nothing is known of data files. */
struct heft_tf_entry {
    struct heft_str name;              /* V1 only, borrowed: V2 has it as the key */
    const struct heft_tf_dtype *dtype; /* that can be stored; NULL: a number that is not known … */
    uint64_t number;                   /* … and which it is */
    uint64_t elements;                 /* the shape's product */
    const uint64_t *shape;             /* rank numbers */
    const struct heft_slice_dim *dims; /* n_slices × rank: a partitioned tensor; not checked */
    uint64_t offset, size;             /* in the data file */
    uint32_t shard;
    uint32_t crc; /* masked, as stored */
    uint32_t n_slices;
    uint8_t rank;
};
/* The shape goes into `mem`, slices into `scratch`. *dims: how many numbers of slices there may still
 * be (HEFT_LIMIT). */
struct heft_tf_room {
    struct heft_arena *mem, *scratch;
    uint64_t *dims;
};
HEFT_CHECKED bool heft_tf_entry_read(struct heft_bytes value, uint64_t at,
                                     const struct heft_tf_room *room, struct heft_tf_entry *out,
                                     struct heft_error *err);
/* SavedSliceMeta of version 1: name, dtype, shape and slices; no place. */
HEFT_CHECKED bool heft_tf_v1_entry_read(struct heft_cur cur, const struct heft_tf_room *room,
                                        struct heft_tf_entry *out, struct heft_error *err);
/* VersionDef: HEFT_UNSUPPORTED where it excludes us. */
HEFT_CHECKED bool heft_tf_version_read(struct heft_cur cur, struct heft_tf_header *out,
                                       struct heft_error *err);

/* ---- strings as a data file has them (tf_strings_write.c) ---- */

/* The length of each, then the sum, then each: crc begins as 0, and is that of the entry, not yet
 * masked, at the end. */
void heft_tf_put_length(struct heft_buf *out, uint64_t n, uint32_t *crc);
void heft_tf_put_sum(struct heft_buf *out, uint32_t *crc);
void heft_tf_put_text(struct heft_buf *out, struct heft_str text, uint32_t *crc);

#endif
