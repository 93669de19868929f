/* tf_v1.h: state of a V1 checkpoint while it is opened; private to v1/. */
#ifndef HEFT_TF_V1_H
#define HEFT_TF_V1_H

#include "base/cursor.h"
#include "format/tensorflow/bundle/tf_bundle.h"

struct heft_tf_v1_tensor {
    struct heft_tf_entry entry;
    uint64_t at;
    struct heft_slice_dim *dims; /* ranges of all slices in all shards: n_slices × rank */
    size_t n_dims, cap;
    uint32_t n_slices;
};

struct heft_tf_v1 {
    /* slices and storages are kept as for a bundle; must be the first member */
    struct heft_tf_bundle b;
    struct heft_tf_v1_tensor *tensors;
    size_t n, cap;
    struct heft_strmap names; /* name → position in tensors */
    uint32_t file;            /* source of the shard being read */
    uint64_t where;           /* file offset of the entry being read */
    uint64_t decoded; /* bytes decoded so far, of values that are not raw bytes in the file */
    bool has_meta;
};

/* tf_v1_values.c: adds a storage with the values of a TensorProto, in the layout of a bundle's data
 * file. */
HEFT_CHECKED bool heft_tf_v1_values(struct heft_tf_v1 *r, const struct heft_tf_entry *entry,
                                    struct heft_cur proto, bool is_packed, uint32_t *storage);

#endif
