/* dcp_values.h: values of the source as objects of a state dict, each with a flat name, a path in the
 * nested dictionaries, and a pickle, as flatten_state_dict of torch.distributed.checkpoint divides them:
 *
 *     {"optim": {"param_groups": [{"lr": 0.1, "betas": (0.9, 0.99)}]}, "step": 7}
 *         optim.param_groups.0.lr       ("optim", "param_groups", 0, "lr")      0.1
 *         optim.param_groups.0.betas    …                                       (0.9, 0.99)
 *         step                          ("step",)                               7
 *
 * Dictionaries are divided, and lists that contain a dictionary or a tensor. Private to dcp/. */
#ifndef HEFT_DCP_VALUES_H
#define HEFT_DCP_VALUES_H

#include "core/plan.h"

/* A key of a dictionary, or an index of a list. */
struct heft_dcp_step {
    struct heft_str key;
    uint64_t index;
    bool is_index;
};
struct heft_dcp_path {
    const struct heft_dcp_step *steps;
    uint32_t n;
};

struct heft_dcp_object {
    struct heft_str name;
    struct heft_dcp_path path;
    struct heft_str pickle;
};

struct heft_dcp_objects {
    struct heft_dcp_object *list; /* in the plan's memory, as all they refer to */
    size_t n;
    bool is_partial; /* a value is left out, not selected, or renamed */
};

/* Lists the selected values below the root, renamed. Notes those that cannot be written, and those whose
 * name is that of a tensor. */
HEFT_CHECKED bool heft_dcp_list_objects(struct heft_dcp_objects *out, struct heft_plan *plan,
                                        const struct heft_export_list *exports,
                                        struct heft_error *err);

/* ---- dcp_paths.c ---- */

/* Paths of the items of a file of torch, in which they are nested: its pickle is walked again. *paths is NULL if
 * they are not known, or if the output is only a part of the tree: unflattened, it would have other names. */
HEFT_CHECKED bool heft_dcp_find_paths(const struct heft_dcp_path **paths, struct heft_plan *plan,
                                      const struct heft_export_list *exports,
                                      const struct heft_dcp_objects *objects,
                                      struct heft_error *err);

/* ---- dcp_pickle.c ---- */

/* Whether a value can be pickled: numbers, texts, bytes, and lists, tuples and sets of them. */
bool heft_dcp_can_pickle(const struct heft_value *value);
/* Pickles such a value as CPython does with protocol 2. The text is in `mem`. */
HEFT_CHECKED bool heft_dcp_pickle(const struct heft_value *value, struct heft_arena *mem,
                                  struct heft_str *out, struct heft_error *err);

#endif
