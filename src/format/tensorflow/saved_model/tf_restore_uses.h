/* tf_restore_uses.h: what others want of the way of restoring: findings for verify, "variables" for
 * info, what a checkpoint has to hold for whoever writes one. */
#ifndef HEFT_TF_RESTORE_USES_H
#define HEFT_TF_RESTORE_USES_H

#include "core/tree.h"
#include "format/tensorflow/restore/tf_restore.h"

struct heft_tf_saving;

/* What a graph wants of its checkpoint under a key. */
struct heft_tf_wanted {
    struct heft_str key;
    uint32_t dtype;        /* DataType; 0: any */
    const uint64_t *shape; /* of the whole tensor, rank numbers */
    unsigned rank;
    bool has_shape;
    struct heft_str variable; /* one that wants it, for people */
};
struct heft_tf_wants {
    struct heft_tf_wanted *list; /* in the order of the graph, each key once */
    size_t n, cap;
    struct heft_strmap keys; /* → index of list */
    struct heft_arena mem;
};
/* Of all metagraphs of the SavedModel that is sources[source]: what their restore ops will ask for,
 * whatever the present checkpoint holds. Release it, also on failure. */
HEFT_CHECKED bool heft_tf_restore_expect(struct heft_tf_wants *wants,
                                         const struct heft_model *model, uint32_t source,
                                         struct heft_error *err);
/* Whether a tensor fits what is wanted under its key; one that nothing wants fits. HEFT_MISMATCH
 * says what is wanted of it. */
HEFT_CHECKED bool heft_tf_restore_fits(const struct heft_tf_wants *wants, struct heft_str key,
                                       enum heft_dtype dtype, unsigned rank, const uint64_t *shape,
                                       struct heft_error *err);
void heft_tf_wants_release(struct heft_tf_wants *wants);

/* For heft_format.verify of a SavedModel: all metagraphs. */
HEFT_CHECKED bool heft_tf_restore_verify(const struct heft_model *model, uint32_t source,
                                         const struct heft_reporter *to, struct heft_error *err);
/* Adds "variables" to what is said of a metagraph: an empty list where its restore op cannot be
 * followed. */
HEFT_CHECKED bool heft_tf_restore_file_info(struct heft_tf_saving *s, size_t number,
                                            struct heft_node *in);

#endif
