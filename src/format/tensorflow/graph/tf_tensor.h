/* tf_tensor.h: a TensorProto: constants of graphs, inputs of requests. */
#ifndef HEFT_TF_TENSOR_H
#define HEFT_TF_TENSOR_H

#include "format/tensorflow/graph/tf_graph.h"

struct heft_tf_tensor {
    uint32_t dtype; /* DataType */
    struct heft_tf_shape shape;
    /* tensor_content, where has_content: it is not empty. In the document; `bytes` when decoded. */
    struct heft_tf_range content;
    uint64_t bytes;
    bool has_content;
    struct heft_tf_range at; /* of the TensorProto; by heft_tf_tensor_read */
};
/* The TensorProto that was entered: without its values. */
HEFT_CHECKED bool heft_tf_tensor_head(struct heft_proto *p, struct heft_arena *mem,
                                      struct heft_tf_tensor *out);
/* The same of one that is a range of a document. */
HEFT_CHECKED bool heft_tf_tensor_read(const struct heft_proto_doc *doc, struct heft_tf_range at,
                                      struct heft_arena *mem, struct heft_tf_tensor *out,
                                      struct heft_error *err);
/* How many elements it has. HEFT_MALFORMED where a dimension is not known, or they are more than
 * 2^63. */
HEFT_CHECKED bool heft_tf_tensor_count(const struct heft_tf_tensor *tensor, uint64_t where,
                                       uint64_t *count, struct heft_error *err);
/* The values of typed fields as little-endian elements of `each` bytes: n * each bytes to out. Where
 * fewer than n are there the last one is repeated, where there are none they are zero, more than n
 * are left out. For tensors without content, not of strings. */
HEFT_CHECKED bool heft_tf_tensor_fill(const struct heft_proto_doc *doc,
                                      const struct heft_tf_tensor *tensor, size_t n, size_t each,
                                      uint8_t *out, struct heft_error *err);
/* The n strings of a tensor of strings, of its content or by the same rule. Texts in the arena. */
HEFT_CHECKED bool heft_tf_tensor_strings(const struct heft_proto_doc *doc,
                                         const struct heft_tf_tensor *tensor, size_t n,
                                         struct heft_arena *mem, struct heft_str *out,
                                         struct heft_error *err);

#endif
