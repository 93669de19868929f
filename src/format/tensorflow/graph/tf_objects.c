/* tf_objects.c: the object graph of a TensorFlow 2 SavedModel: attributes of the root down to
 * variables and functions. Nodes refer to each other by number. Cycles are valid; a number is
 * validated when it is followed. */
#include "format/tensorflow/graph/tf_graph.h"

enum { KEY = 1, VALUE = 2 };
enum { GRAPH_NODES = 1, GRAPH_CONCRETES = 2 };
enum { OBJECT_CHILDREN = 1 };
enum { CHILD_NODE = 1, CHILD_NAME = 2 };

static bool read_child(struct heft_tf_graph *g, struct heft_proto *p)
{
    struct heft_tf_child child = {.name = {"", 0}};
    uint32_t number;
    bool ok = true;

    while (ok && (number = heft_proto_pull(p))) {
        if (number == CHILD_NODE)
            child.node = (int32_t)heft_proto_i64(p);
        else
            ok = heft_tf_text(p, g->mem, &child.name);
    }
    if (!ok || p->failed ||
        !heft_grow(&g->children, &g->cap_children, g->n_children, 1, sizeof child, p->err))
        return false;
    g->children[g->n_children++] = child;
    return heft_tf_graph_weigh(g, p->where, p->err);
}

static bool is_kind(uint32_t number)
{
    return (number >= HEFT_TF_USER_OBJECT && number <= HEFT_TF_RESOURCE) ||
           number == HEFT_TF_CAPTURED_TENSOR;
}

static bool read_object(struct heft_tf_graph *g, struct heft_proto *p)
{
    struct heft_tf_object object = {.first_child = (uint32_t)g->n_children};
    uint32_t number;
    bool ok = true;

    if (g->n_children > INT32_MAX || g->n_objects > INT32_MAX)
        return heft_fail(p->err, HEFT_LIMIT, p->where, "the object graph has too many objects");
    while (ok && (number = heft_proto_pull(p))) {
        if (is_kind(number))
            object.kind = (uint8_t)number;
        ok = number == OBJECT_CHILDREN ? read_child(g, p) : heft_proto_pass(p);
    }
    if (!ok || p->failed ||
        !heft_grow(&g->objects, &g->cap_objects, g->n_objects, 1, sizeof object, p->err))
        return false;
    object.n_children = (uint32_t)g->n_children - object.first_child;
    object.at = (struct heft_tf_range){p->off, p->len};
    g->objects[g->n_objects++] = object;
    return heft_tf_graph_weigh(g, p->where, p->err);
}

static bool read_concrete(struct heft_tf_graph *g, struct heft_proto *p)
{
    struct heft_tf_concrete concrete = {.name = {"", 0}};
    uint32_t number;
    bool ok = true;

    while (ok && (number = heft_proto_pull(p)))
        ok = number == KEY ? heft_tf_text(p, g->mem, &concrete.name)
                           : heft_tf_range_of(p, &concrete.at);
    if (!ok || p->failed ||
        !heft_grow(&g->concretes, &g->cap_concretes, g->n_concretes, 1, sizeof concrete, p->err))
        return false;
    g->concretes[g->n_concretes++] = concrete;
    return heft_tf_graph_weigh(g, p->where, p->err);
}

bool heft_tf_objects_read(struct heft_tf_graph *g, struct heft_proto *p)
{
    uint32_t number;
    bool ok = true;

    g->has_objects = true;
    while (ok && (number = heft_proto_pull(p))) {
        if (number == GRAPH_NODES)
            ok = read_object(g, p);
        else
            ok = number == GRAPH_CONCRETES ? read_concrete(g, p) : heft_proto_pass(p);
    }
    return ok && !p->failed;
}
