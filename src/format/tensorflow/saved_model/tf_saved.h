/* tf_saved.h: opening a SavedModel or a graph by itself: what the files that do it share. */
#ifndef HEFT_TF_SAVED_H
#define HEFT_TF_SAVED_H

#include "core/registry.h"
#include "core/tree.h"
#include "format/tensorflow/graph/tf_document.h"
#include "format/tensorflow/saved_model/tf_restore_uses.h"

struct heft_tf_saving {
    struct heft_model *model;
    uint32_t source; /* of the document */
    struct heft_tf_saved *saved;
    struct heft_error *err;
    const char *checkpoint; /* of a .meta: the file beside it that is its checkpoint's; or NULL */
    struct heft_tf_wants *wants; /* keys that the restore ops of all meta graphs read */
    uint64_t n_names;            /* of the restore ops, that of the object graph included */
    bool is_unfollowed;          /* a restore op could not be followed */
};
/* What info says of each meta graph (tf_saved_file_info.c). */
HEFT_CHECKED bool heft_tf_saved_file_info(struct heft_tf_saving *s);
/* A key or text of a file, as a tree can hold it: UTF-8. */
HEFT_CHECKED bool heft_tf_key(struct heft_arena *mem, struct heft_str raw, struct heft_str *out,
                              struct heft_error *err);
HEFT_CHECKED bool heft_tf_file_info_dtype(struct heft_arena *mem, struct heft_node *in,
                                          uint32_t dtype, struct heft_error *err);
HEFT_CHECKED bool heft_tf_file_info_shape(struct heft_arena *mem, struct heft_node *in,
                                          const struct heft_tf_shape *shape,
                                          struct heft_error *err);
/* The functions that the root object has, and what they are called with (tf_saved_functions.c). */
HEFT_CHECKED bool heft_tf_file_info_functions(struct heft_tf_saving *s,
                                              const struct heft_tf_graph *graph,
                                              struct heft_node *in);
/* The files beside it: variables, assets, fingerprint, warm-up requests (tf_saved_files.c). */
HEFT_CHECKED bool heft_tf_saved_files(struct heft_tf_saving *s);
/* Finds the checkpoint that was saved with a .meta: sets s->checkpoint. */
HEFT_CHECKED bool heft_tf_saved_find_checkpoint(struct heft_tf_saving *s);
/* Compares the tensors from row `first` on with what the graph restores: what is absent becomes a
 * lack of the model (tf_saved_lacks.c). has_index: the checkpoint is there. */
HEFT_CHECKED bool heft_tf_saved_lacks(struct heft_tf_saving *s, size_t first, bool has_index);
/* The file of warm-up requests (tf_warmup.c). */
HEFT_CHECKED bool heft_tf_warmup(struct heft_tf_saving *s, uint32_t source);
/* Rows of the constants of all graphs (tf_constants.c). */
HEFT_CHECKED bool heft_tf_constants(struct heft_tf_saving *s);
/* What each range of the document is (tf_saved_claims.c). */
HEFT_CHECKED bool heft_tf_saved_claims(struct heft_tf_saving *s);

#endif
