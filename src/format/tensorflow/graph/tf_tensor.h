/* tf_tensor.h: a TensorProto, as in the constants of graphs and the inputs of requests. */
#ifndef HEFT_TF_TENSOR_H
#define HEFT_TF_TENSOR_H

#include "format/tensorflow/graph/tf_graph.h"

struct heft_tf_tensor {
    uint32_t dtype; /* DataType */
    struct heft_tf_shape shape;
    /* tensor_content in the document, if has_content (not empty); `bytes` after decoding */
    struct heft_tf_range content;
    uint64_t bytes;
    bool has_content;
    struct heft_tf_range at; /* the TensorProto; set by heft_tf_tensor_read */
};
/* Reads the TensorProto that was entered, without its values. */
HEFT_CHECKED bool heft_tf_tensor_head(struct heft_proto *p, struct heft_arena *mem,
                                      struct heft_tf_tensor *out);
/* The same for a range of a document. */
HEFT_CHECKED bool heft_tf_tensor_read(const struct heft_proto_doc *doc, struct heft_tf_range at,
                                      struct heft_arena *mem, struct heft_tf_tensor *out,
                                      struct heft_error *err);
/* Number of elements. HEFT_MALFORMED if a dimension is unknown or the count exceeds 2^63. */
HEFT_CHECKED bool heft_tf_tensor_count(const struct heft_tf_tensor *tensor, uint64_t where,
                                       uint64_t *count, struct heft_error *err);
/* Writes the values of typed fields to out as n little-endian elements of `each` bytes. If fewer
 * than n are stored, the last one is repeated (zeros if none); surplus values are ignored. For
 * tensors without tensor_content, other than strings. */
HEFT_CHECKED bool heft_tf_tensor_fill(const struct heft_proto_doc *doc,
                                      const struct heft_tf_tensor *tensor, size_t n, size_t each,
                                      uint8_t *out, struct heft_error *err);
/* Reads the n strings of a string tensor, from tensor_content or the typed field by the same rule.
 * Texts are allocated in the arena. */
HEFT_CHECKED bool heft_tf_tensor_strings(const struct heft_proto_doc *doc,
                                         const struct heft_tf_tensor *tensor, size_t n,
                                         struct heft_arena *mem, struct heft_str *out,
                                         struct heft_error *err);

#endif
