/* tf_saved.h: shared by the files that open a SavedModel or a single graph. */
#ifndef HEFT_TF_SAVED_H
#define HEFT_TF_SAVED_H

#include "core/registry.h"
#include "core/tree.h"
#include "format/tensorflow/graph/tf_document.h"
#include "format/tensorflow/saved_model/tf_restore_uses.h"

struct heft_tf_saving {
    struct heft_model *model;
    uint32_t source; /* the document */
    struct heft_tf_saved *saved;
    struct heft_error *err;
    const char *checkpoint;      /* for a .meta: the checkpoint file beside it, or NULL */
    struct heft_tf_wants *wants; /* keys read by the restore ops of all metagraphs */
    uint64_t n_names;            /* names read by the restore ops, including the object graph */
    bool is_unfollowed;          /* a restore op could not be followed */
};
/* tf_saved_file_info.c: adds the file info of each metagraph. */
HEFT_CHECKED bool heft_tf_saved_file_info(struct heft_tf_saving *s);
/* Copies a key or text of the file as valid UTF-8, as a tree requires. */
HEFT_CHECKED bool heft_tf_key(struct heft_arena *mem, struct heft_str raw, struct heft_str *out,
                              struct heft_error *err);
HEFT_CHECKED bool heft_tf_file_info_dtype(struct heft_arena *mem, struct heft_node *in,
                                          uint32_t dtype, struct heft_error *err);
HEFT_CHECKED bool heft_tf_file_info_shape(struct heft_arena *mem, struct heft_node *in,
                                          const struct heft_tf_shape *shape,
                                          struct heft_error *err);
/* tf_saved_functions.c: adds the callable functions of the root object, with their arguments. */
HEFT_CHECKED bool heft_tf_file_info_functions(struct heft_tf_saving *s,
                                              const struct heft_tf_graph *graph,
                                              struct heft_node *in);
/* tf_saved_files.c: opens the files beside the document: variables, assets, fingerprint, warm-up
 * requests. */
HEFT_CHECKED bool heft_tf_saved_files(struct heft_tf_saving *s);
/* Finds the checkpoint that was saved with a .meta, and sets s->checkpoint. */
HEFT_CHECKED bool heft_tf_saved_find_checkpoint(struct heft_tf_saving *s);
/* tf_saved_lacks.c: compares the tensors from row `first` on with what the graph restores; missing
 * ones become lacks of the model. has_index: the bundle exists. */
HEFT_CHECKED bool heft_tf_saved_lacks(struct heft_tf_saving *s, size_t first, bool has_index);
/* tf_warmup.c: reads the file of warm-up requests. */
HEFT_CHECKED bool heft_tf_warmup(struct heft_tf_saving *s, uint32_t source);
/* tf_constants.c: adds the constants of all graphs as rows. */
HEFT_CHECKED bool heft_tf_constants(struct heft_tf_saving *s);
/* tf_saved_claims.c: claims each range of the document. */
HEFT_CHECKED bool heft_tf_saved_claims(struct heft_tf_saving *s);

/* ---- tf_saved_locate.c ---- */

extern const struct heft_locator heft_tf_saved_locator;

#endif
