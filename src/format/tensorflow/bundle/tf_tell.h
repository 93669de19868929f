/* tf_tell.h: entries of TensorFlow's tables as readable text, for `explain` and heft_index_walk. */
#ifndef HEFT_TF_TELL_H
#define HEFT_TF_TELL_H

#include "format/tensorflow/bundle/tf_parts.h"
#include "wire/sstable.h"

struct heft_tf_teller {
    bool is_v1;
    struct heft_buf name; /* scratch: name of the tensor that a slice belongs to */
    struct heft_arena mem;
};
/* Appends the text, escaped. HEFT_MALFORMED if the value cannot be parsed. */
HEFT_CHECKED bool heft_tf_tell(struct heft_tf_teller *teller,
                               const struct heft_sstable_entry *entry, struct heft_buf *out,
                               struct heft_error *err);
void heft_tf_teller_release(struct heft_tf_teller *teller);

#endif
