/* tf_tell.h: what an entry of TensorFlow's tables says, in words: for walks through them. */
#ifndef HEFT_TF_TELL_H
#define HEFT_TF_TELL_H

#include "format/tensorflow/bundle/tf_parts.h"
#include "wire/sstable.h"

struct heft_tf_teller {
    bool is_v1;
    struct heft_buf name; /* of a slice's tensor */
    struct heft_arena mem;
};
/* Appends it, escaped. HEFT_MALFORMED where the value is not what it should be. */
HEFT_CHECKED bool heft_tf_tell(struct heft_tf_teller *teller,
                               const struct heft_sstable_entry *entry, struct heft_buf *out,
                               struct heft_error *err);
void heft_tf_teller_release(struct heft_tf_teller *teller);

#endif
