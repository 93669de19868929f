/* tf_trackable.h: the objects that a TF2 checkpoint was saved from, TrackableObjectGraph:
 *
 *     nodes ─┬─ children            node, local name
 *            ├─ attributes          name, full name, key in the checkpoint
 *            └─ slot variables      of which variable, name, node
 *
 * Node 0 is the root. Node numbers are not validated: children may be out of range or form cycles. */
#ifndef HEFT_TF_TRACKABLE_H
#define HEFT_TF_TRACKABLE_H

#include "core/model.h"

struct heft_tf_trackable_child {
    struct heft_str name;
    int64_t node;
};
struct heft_tf_trackable_value {
    struct heft_str name, full_name, key;
};
struct heft_tf_trackable_slot {
    struct heft_str name;
    int64_t variable, node;
};
struct heft_tf_trackable_node {
    uint32_t children, n_children;
    uint32_t values, n_values;
    uint32_t slots, n_slots;
};

struct heft_tf_trackables {
    char *text; /* the serialized graph; all names point into it */
    struct heft_tf_trackable_node *nodes;
    struct heft_tf_trackable_child *children;
    struct heft_tf_trackable_value *values;
    struct heft_tf_trackable_slot *slots;
    size_t n_nodes, n_children, n_values, n_slots;
    size_t cap_nodes, cap_children, cap_values, cap_slots;
};

/* Reads the graph from a row of one string. Release *t also on failure. */
HEFT_CHECKED bool heft_tf_trackables_read(struct heft_tf_trackables *t,
                                          const struct heft_model *model, uint32_t row,
                                          struct heft_error *err);
void heft_tf_trackables_release(struct heft_tf_trackables *t);

#endif
