/* tf_restore_uses.h: users of the restore trace: findings for verify, "variables" for info, and the
 * keys that a checkpoint must hold for writers. */
#ifndef HEFT_TF_RESTORE_USES_H
#define HEFT_TF_RESTORE_USES_H

#include "core/tree.h"
#include "format/tensorflow/restore/tf_restore.h"

struct heft_tf_saving;

/* The tensor that a graph expects in its checkpoint under a key. */
struct heft_tf_wanted {
    struct heft_str key;
    uint32_t dtype;        /* DataType; 0 if any */
    const uint64_t *shape; /* `rank` numbers, of the whole tensor */
    unsigned rank;
    bool has_shape;
    struct heft_str variable; /* a variable that reads it, for messages */
};
struct heft_tf_wants {
    struct heft_tf_wanted *list; /* in the order of the graph, without duplicates */
    size_t n, cap;
    struct heft_strmap keys; /* key → position in list */
    struct heft_arena mem;
};
/* Collects what the restore ops of all metagraphs of the SavedModel sources[source] will read,
 * whatever its present checkpoint holds. Release *wants also on failure. */
HEFT_CHECKED bool heft_tf_restore_expect(struct heft_tf_wants *wants,
                                         const struct heft_model *model, uint32_t source,
                                         struct heft_error *err);
/* True if a tensor matches what is expected under its key; keys that are not expected always match.
 * HEFT_MISMATCH says what is expected. */
HEFT_CHECKED bool heft_tf_restore_fits(const struct heft_tf_wants *wants, struct heft_str key,
                                       enum heft_dtype dtype, unsigned rank, const uint64_t *shape,
                                       struct heft_error *err);
void heft_tf_wants_release(struct heft_tf_wants *wants);

/* heft_format.verify of a SavedModel: all metagraphs. */
HEFT_CHECKED bool heft_tf_restore_verify(const struct heft_model *model, uint32_t source,
                                         const struct heft_reporter *to, struct heft_error *err);
/* Adds "variables" to the file info of a metagraph; an empty list if its restore op cannot be
 * followed. */
HEFT_CHECKED bool heft_tf_restore_file_info(struct heft_tf_saving *s, size_t number,
                                            struct heft_node *in);

#endif
