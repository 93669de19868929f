/* tf_v1.h: a V1 checkpoint that is being opened; shared by the tf_v1*.c files only. */
#ifndef HEFT_TF_V1_H
#define HEFT_TF_V1_H

#include "base/cursor.h"
#include "format/tensorflow/bundle/tf_bundle.h"

struct heft_tf_v1_tensor {
    struct heft_tf_entry entry;
    uint64_t at;
    struct heft_slice_dim *dims; /* of all its slices, of all shards */
    size_t n_dims, cap;
    uint32_t n_slices;
};

struct heft_tf_v1 {
    struct heft_tf_bundle b; /* slices and their storages are kept as a bundle's are */
    struct heft_tf_v1_tensor *tensors;
    size_t n, cap;
    struct heft_strmap names; /* → index of tensors */
    uint32_t file;            /* the shard that is being read */
    uint64_t where;           /* the entry that is being read */
    uint64_t decoded;         /* bytes of values so far that do not lie in the file as they are */
    bool has_meta;
};

/* tf_v1_values.c: a storage with the values of a TensorProto, as a bundle's data file would have
 * them. */
HEFT_CHECKED bool heft_tf_v1_values(struct heft_tf_v1 *r, const struct heft_tf_entry *entry,
                                    struct heft_cur proto, bool is_packed, uint32_t *storage);

#endif
