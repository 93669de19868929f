/* modules.h: the tree of modules that the names of a checkpoint's tensors describe. heft.h includes
 * it.
 *
 *     model.embed.weight            0 (root)
 *     model.layers.0.attn.weight    └ model
 *     model.layers.0.mlp.weight       ├ embed.weight           tensor
 *     model.layers.1.attn.weight      └ layers.0   count 2     layers.1 is equal
 *     model.layers.1.mlp.weight         ├ attn.weight          tensor
 *                                       └ mlp.weight           tensor
 *
 * Names are split at dots; those of TensorFlow and HDF5 files at slashes. A name without its
 * format's separator is split at the other one. Modules with a single member are joined with it.
 * Siblings whose names differ only in an index, and whose members have equal names, dtypes and
 * shapes, are one node. */
#ifndef HEFT_MODULES_H
#define HEFT_MODULES_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct heft_checkpoint;
struct heft_rule;
struct heft_modules;

#define HEFT_NO_MODULE SIZE_MAX

struct heft_module {
    size_t size; /* HEFT_INIT */
    /* Part of the name below the parent: components joined by `separator`, "layers.0"; "" for the
     * root. */
    const char *name;
    size_t name_len;
    char separator;
    /* Equal siblings that this node stands for, itself included. Their indexes (the last number in
     * the first component of their names) grow by `step`; `last` is the name of the last one. The
     * following members describe one of them. */
    uint64_t count, step;
    const char *last;
    size_t last_len;
    /* Tensors, elements and bytes below the node. A tensor that is tied, another name of the same view of
     * a storage, counts as a tensor, but its elements and bytes count at its first name only. */
    uint64_t tensors, parameters, bytes;
    uint64_t dtypes[2]; /* set: dtype d is bit d % 64 of dtypes[d / 64] */
    size_t tensor;      /* index of heft_tensor_at; HEFT_NO_MODULE for a module */
    bool is_tied;
    size_t parent, first_child, next; /* nodes; HEFT_NO_MODULE: none */
};

/* Tensors that are not counted a second time. */
struct heft_modules_sum {
    size_t size; /* HEFT_INIT */
    uint64_t tensors, parameters, bytes;
};

/* Builds the tree of the tensors that root and rules select, as in heft_select; the names are those
 * below root. NULL on failure: HEFT_NOMEM, HEFT_USAGE (root, a regex). Release it before the
 * checkpoint is closed. */
HEFT_API struct heft_modules *heft_modules_new(const struct heft_checkpoint *c, const char *root,
                                               const struct heft_rule *rules, size_t n_rules,
                                               struct heft_error *err);
/* Node 0 is the root; the others are reached through first_child and next: numbered siblings in the
 * order of their indexes, others in the order of the file. False if there is no such node. */
HEFT_API bool heft_modules_at(const struct heft_modules *modules, size_t node,
                              struct heft_module *out);
HEFT_API void heft_modules_tied(const struct heft_modules *modules, struct heft_modules_sum *out);
HEFT_API void heft_modules_free(struct heft_modules *modules);

#ifdef __cplusplus
}
#endif
#endif
