/* tensor_slice.h: slices of TensorFlow's partitioned tensors, and the keys under which they are
 * stored.
 *
 *     key = number(0) text(name) number(rank) { signed(start) signed(length) } for each dimension
 *
 * in OrderedCode. A dimension that is not sliced has start 0 and length -1. A key begins with a
 * zero byte, so that slices precede all names. */
#ifndef HEFT_TENSOR_SLICE_H
#define HEFT_TENSOR_SLICE_H

#include "base/mem.h"

enum { HEFT_SLICE_RANK = 254, HEFT_SLICE_WHOLE = -1 };

struct heft_slice_dim {
    int64_t start,
        length; /* in elements; start 0 and length HEFT_SLICE_WHOLE: the whole dimension */
};

/* Appends the key under which a checkpoint's index stores the slice. */
void heft_slice_put_key(struct heft_buf *out, struct heft_str name,
                        const struct heft_slice_dim *dims, unsigned rank);
/* Parses a key: appends the name to `name`; dims has room for HEFT_SLICE_RANK. False if the bytes
 * are not such a key. The numbers are not validated: the tensor is not known here. */
HEFT_CHECKED bool heft_slice_key(struct heft_bytes key, struct heft_buf *name,
                                 struct heft_slice_dim *dims, unsigned *rank);
/* Appends the slice as TensorFlow writes it: "0,2:-", for each dimension a start and a length, or a
 * dash. */
void heft_slice_put_spec(struct heft_buf *out, const struct heft_slice_dim *dims, unsigned rank);

#endif
