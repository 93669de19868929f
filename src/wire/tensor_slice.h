/* tensor_slice.h: the slices of TensorFlow's partitioned tensors, and the keys they are stored under.
 *
 *     key = number(0) text(name) number(rank) { signed(start) signed(length) } a dimension
 *
 * in OrderedCode. A dimension that is taken whole has start 0 and length -1. A key begins with a
 * zero byte, so slices stand in front of all names. */
#ifndef HEFT_TENSOR_SLICE_H
#define HEFT_TENSOR_SLICE_H

#include "base/mem.h"

enum { HEFT_SLICE_RANK = 254, HEFT_SLICE_WHOLE = -1 };

struct heft_slice_dim {
    int64_t start, length; /* 0, HEFT_SLICE_WHOLE: the whole dimension */
};

/* Appends the key. */
void heft_slice_put_key(struct heft_buf *out, struct heft_str name,
                        const struct heft_slice_dim *dims, unsigned rank);
/* Takes a key apart: the name is appended to `name`, dims has room for HEFT_SLICE_RANK. False where
 * these bytes are no such key. Values are any: nothing is known of the tensor here. */
HEFT_CHECKED bool heft_slice_key(struct heft_bytes key, struct heft_buf *name,
                                 struct heft_slice_dim *dims, unsigned *rank);
/* Appends it as TensorFlow spells it: "0,2:-", a start and a length or a dash a dimension. */
void heft_slice_put_spec(struct heft_buf *out, const struct heft_slice_dim *dims, unsigned rank);

#endif
