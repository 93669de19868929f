/* tf_saved_functions.c: functions that can be called on a TensorFlow 2 model: function children of
 * the root object, each with its concrete functions and their arguments.
 *
 *     "callables": {"serve": [{"function": "__inference_serve_9", "args": [{"name": "x",
 *                              "dtype": "F32", "shape": [-1, 2]}, 7, "text"], "kwargs": {…}}]}
 *
 * The arguments are a StructuredValue, which may nest: a tuple of positional and a dict of named
 * ones. It is converted to the tree message by message, without recursion. */
#include <stdlib.h>

#include "format/tensorflow/saved_model/tf_saved.h"

#define KEY        HEFT_STR
#define MOST_ITEMS 65536 /* most values in the arguments of one function */
#define MOST_DEPTH 100

enum { STRUCT_NONE = 1, STRUCT_FLOAT = 11, STRUCT_INT, STRUCT_STRING, STRUCT_BOOL };
enum { STRUCT_SHAPE = 31, STRUCT_DTYPE, STRUCT_SPEC, STRUCT_TYPE, STRUCT_BOUNDED };
enum { STRUCT_LIST = 51, STRUCT_TUPLE, STRUCT_DICT, STRUCT_NAMED };
enum { SPEC_NAME = 1, SPEC_SHAPE, SPEC_DTYPE };
enum { TYPE_STATE = 2, TYPE_NAME = 3 };
enum { NAMED_NAME = 1, NAMED_VALUES = 2 };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2 };
enum { CONCRETE_SIGNATURE = 3 };
enum { OBJECT_FUNCTION = 6, OBJECT_BARE = 8, FUNCTION_CONCRETES = 1, BARE_NAME = 1 };

/* A StructuredValue that waits to be added to the tree. */
struct item {
    struct heft_tf_range at;
    struct heft_node *in;
    struct heft_str key;
    unsigned depth;
};

struct builder {
    struct heft_tf_saving *s;
    const struct heft_tf_graph *graph;
    struct item *items; /* a queue: items before `next` are done */
    size_t n, cap, next;
    uint64_t work; /* bytes visited: many names may refer to one function */
};

static bool count_work(struct builder *b, const struct heft_tf_range *at)
{
    const uint64_t most = (UINT64_C(64) << 20) + 8 * b->graph->doc->size;

    b->work += at->len;
    if (b->work <= most)
        return true;
    return heft_fail(
        b->s->err, HEFT_LIMIT, at->off,
        "listing the functions takes too many steps: they refer to each other too often");
}

/* ---- one value: scalars are added at once, members of lists are queued ---- */

static bool wait_for(struct builder *b, const struct item *item)
{
    if (item->depth > MOST_DEPTH || b->n == MOST_ITEMS)
        return heft_fail(b->s->err, HEFT_LIMIT, item->at.off,
                         "the function has more than %d arguments, or they nest deeper than %d",
                         MOST_ITEMS, MOST_DEPTH);
    if (!heft_grow(&b->items, &b->cap, b->n, 1, sizeof *item, b->s->err))
        return false;
    b->items[b->n++] = *item;
    return true;
}

/* Reads a dict entry and queues its value under its key. */
static bool read_entry(struct builder *b, struct heft_proto *p, struct item inner)
{
    struct heft_arena *const mem = &b->s->model->mem;
    struct heft_str raw = {"", 0};
    uint32_t number;
    bool ok = true;

    while (ok && (number = heft_proto_pull(p)))
        ok = number == ENTRY_KEY ? heft_tf_text(p, mem, &raw) : heft_tf_range_of(p, &inner.at);
    return ok && !p->failed && heft_tf_key(mem, raw, &inner.key, p->err) && wait_for(b, &inner);
}

/* Orders entries by key: maps come in any order. */
static int by_key(const void *a, const void *b)
{
    return heft_str_cmp(((const struct item *)a)->key, ((const struct item *)b)->key);
}

/* Queues the members: list_value and tuple_value {1 values}, dict_value {1 fields}. */
static bool read_members(struct builder *b, struct heft_proto *p, const struct item *item,
                         struct heft_node *node, uint32_t kind)
{
    const struct item inner = {.in = node, .key = KEY(""), .depth = item->depth + 1};
    const size_t first = b->n;
    uint32_t number;
    bool ok = node != NULL;

    while (ok && (number = heft_proto_pull(p))) {
        struct item next = inner;

        if (number != 1)
            ok = heft_proto_pass(p);
        else if (kind == STRUCT_DICT)
            ok = read_entry(b, p, inner);
        else
            ok = heft_tf_range_of(p, &next.at) && wait_for(b, &next);
    }
    if (kind == STRUCT_DICT && b->n > first)
        qsort(b->items + first, b->n - first, sizeof *b->items, by_key);
    return ok && !p->failed;
}

/* Adds {"named_tuple": its class, "values": {…}}, in the order of the class. */
static bool put_named(struct builder *b, struct heft_proto *p, const struct item *item)
{
    struct heft_arena *const mem = &b->s->model->mem;
    struct heft_node *const node = heft_tree_dict(mem, item->in, item->key, p->err);
    struct item inner = {.key = KEY(""), .depth = item->depth + 1};
    struct heft_str name = {"", 0};
    uint32_t number;
    bool ok = node && (inner.in = heft_tree_dict(mem, node, KEY("values"), p->err));

    while (ok && (number = heft_proto_pull(p)))
        if (number == NAMED_VALUES)
            ok = read_entry(b, p, inner);
        else
            ok = number == NAMED_NAME ? heft_tf_text(p, mem, &name) : heft_proto_pass(p);
    return ok && !p->failed && heft_tree_text(mem, node, KEY("named_tuple"), name, p->err);
}

static bool put_spec(struct builder *b, struct heft_proto *p, const struct item *item,
                     const char *kind)
{
    struct heft_arena *const mem = &b->s->model->mem;
    struct heft_node *const node = heft_tree_dict(mem, item->in, item->key, p->err);
    struct heft_tf_shape shape = {0};
    struct heft_str name = {"", 0};
    uint32_t number, dtype = 0;
    bool ok = node != NULL;

    while (ok && (number = heft_proto_pull(p))) {
        if (number == SPEC_DTYPE)
            dtype = heft_tf_base_dtype(p->u64);
        else if (number == SPEC_SHAPE)
            ok = heft_tf_shape_read(p, mem, &shape);
        else
            ok = number == SPEC_NAME ? heft_tf_text(p, mem, &name) : heft_proto_pass(p);
    }
    return ok && !p->failed && heft_tree_text(mem, node, KEY("spec"), heft_str_of(kind), p->err) &&
           heft_tree_text(mem, node, KEY("name"), name, p->err) &&
           heft_tf_file_info_dtype(mem, node, dtype, p->err) &&
           heft_tf_file_info_shape(mem, node, &shape, p->err);
}

/* Adds {"spec": "RaggedTensorSpec", "state": […]}. */
static bool put_type(struct builder *b, struct heft_proto *p, const struct item *item)
{
    struct heft_arena *const mem = &b->s->model->mem;
    struct heft_node *const node = heft_tree_dict(mem, item->in, item->key, p->err);
    struct item state = {.in = node, .key = KEY("state"), .depth = item->depth + 1};
    struct heft_str name = {"", 0};
    uint32_t number;
    bool ok = node != NULL;

    while (ok && (number = heft_proto_pull(p)))
        if (number == TYPE_STATE)
            ok = heft_tf_range_of(p, &state.at);
        else
            ok = number == TYPE_NAME ? heft_tf_text(p, mem, &name) : heft_proto_pass(p);
    if (ok && state.at.len && !wait_for(b, &state))
        return false;
    return ok && !p->failed && heft_tree_text(mem, node, KEY("spec"), name, p->err);
}

static bool put_text(struct builder *b, struct heft_proto *p, const struct item *item)
{
    struct heft_arena *const mem = &b->s->model->mem;
    struct heft_str text;

    return heft_tf_text(p, mem, &text) && heft_tree_text(mem, item->in, item->key, text, p->err);
}

/* Adds a TensorShapeProto or a DataType argument. */
static bool put_shape_or_dtype(struct builder *b, struct heft_proto *p, const struct item *item,
                               uint32_t number)
{
    struct heft_arena *const mem = &b->s->model->mem;
    struct heft_node *const node = heft_tree_dict(mem, item->in, item->key, p->err);
    struct heft_tf_shape shape;

    if (!node ||
        !heft_tree_text(mem, node, KEY("spec"),
                        number == STRUCT_DTYPE ? KEY("DType") : KEY("TensorShape"), p->err))
        return false;
    if (number == STRUCT_DTYPE)
        return heft_tf_file_info_dtype(mem, node, heft_tf_base_dtype(p->u64), p->err);
    return heft_tf_shape_read(p, mem, &shape) && heft_tf_file_info_shape(mem, node, &shape, p->err);
}

static struct heft_node *new_list(struct builder *b, const struct item *item, bool is_tuple)
{
    struct heft_node *const node =
        heft_tree_list(&b->s->model->mem, item->in, item->key, b->s->err);

    if (node && is_tuple)
        node->value.kind = HEFT_VALUE_TUPLE;
    return node;
}

static bool put_value(struct builder *b, struct heft_proto *p, const struct item *item,
                      uint32_t number)
{
    struct heft_arena *const mem = &b->s->model->mem;

    switch (number) {
    case STRUCT_NONE:
        return heft_proto_pass(p) && heft_tree_null(mem, item->in, item->key, p->err);
    case STRUCT_FLOAT:
        return heft_tree_real(mem, item->in, item->key, p->f64, p->err);
    case STRUCT_INT:
        return heft_tree_number(mem, item->in, item->key, heft_proto_i64(p), p->err);
    case STRUCT_BOOL:
        return heft_tree_bool(mem, item->in, item->key, p->u64, p->err);
    case STRUCT_STRING:
        return put_text(b, p, item);
    case STRUCT_SHAPE:
    case STRUCT_DTYPE:
        return put_shape_or_dtype(b, p, item, number);
    case STRUCT_SPEC:
        return put_spec(b, p, item, "TensorSpec");
    case STRUCT_BOUNDED:
        return put_spec(b, p, item, "BoundedTensorSpec");
    case STRUCT_TYPE:
        return put_type(b, p, item);
    case STRUCT_LIST:
    case STRUCT_TUPLE:
        return read_members(b, p, item, new_list(b, item, number == STRUCT_TUPLE), number);
    case STRUCT_DICT:
        return read_members(b, p, item, heft_tree_dict(mem, item->in, item->key, p->err), number);
    case STRUCT_NAMED:
        return put_named(b, p, item);
    default: /* tensor arguments */
        return heft_proto_pass(p) &&
               heft_tree_text(mem, item->in, item->key, KEY("a tensor"), p->err);
    }
}

static bool put_item(struct builder *b, const struct item *item)
{
    struct heft_proto p;
    uint32_t number;
    bool ok = heft_proto_open(&p, b->graph->doc, item->at.off, item->at.len, &heft_tf_structured,
                              b->s->err) &&
              count_work(b, &item->at) && heft_tf_graph_weigh(b->graph, item->at.off, b->s->err);

    if (ok && (number = heft_proto_pull(&p)))
        ok = put_value(b, &p, item, number);
    else if (ok)
        ok = !p.failed &&
             heft_tree_null(&b->s->model->mem, item->in, item->key, b->s->err); /* no kind is set */
    heft_proto_close(&p);
    return ok;
}

/* ---- concrete functions ---- */

/* Reads the outermost tuple: positional arguments, then named ones. */
static bool read_outer(struct builder *b, struct heft_proto *p, struct heft_node *in)
{
    static const char *const keys[] = {"args", "kwargs"};
    uint32_t number, inner;
    unsigned n = 0;
    bool ok = true;

    while (ok && (number = heft_proto_pull(p))) {
        if (number != STRUCT_TUPLE) {
            ok = heft_proto_pass(p);
            continue;
        }
        while (ok && (inner = heft_proto_pull(p))) {
            struct item item = {.in = in, .key = heft_str_of(n < 2 ? keys[n] : "")};

            ok = heft_tf_range_of(p, &item.at) && (n >= 2 || wait_for(b, &item));
            n++;
        }
    }
    return ok && !p->failed;
}

static const struct heft_tf_concrete *find_concrete(const struct heft_tf_graph *g,
                                                    struct heft_str name)
{
    size_t low = 0, high = g->n_concretes;

    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        const int order = heft_str_cmp(g->concretes[mid].name, name);

        if (order == 0)
            return &g->concretes[mid];
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

static bool put_concrete(struct builder *b, struct heft_str name, struct heft_node *list)
{
    struct heft_arena *const mem = &b->s->model->mem;
    const struct heft_tf_concrete *const concrete = find_concrete(b->graph, name);
    struct heft_node *const node = heft_tree_dict(mem, list, KEY(""), b->s->err);
    struct heft_proto p = {0};
    uint32_t number;
    bool ok = node && heft_tree_text(mem, node, KEY("function"), name, b->s->err);

    if (!ok || !concrete)
        return ok; /* the name refers to no function */
    b->n = b->next = 0;
    ok = count_work(b, &concrete->at) &&
         heft_proto_open(&p, b->graph->doc, concrete->at.off, concrete->at.len, &heft_tf_concrete,
                         b->s->err);
    while (ok && (number = heft_proto_pull(&p)))
        ok = number == CONCRETE_SIGNATURE ? read_outer(b, &p, node) : heft_proto_pass(&p);
    ok = ok && !p.failed;
    heft_proto_close(&p);
    while (ok && b->next < b->n) {
        const struct item item = b->items[b->next++];

        ok = put_item(b, &item);
    }
    return ok;
}

/* ---- callables of the root object ---- */

static int by_text(const void *a, const void *b)
{
    return heft_str_cmp(*(const struct heft_str *)a, *(const struct heft_str *)b);
}

struct names {
    struct heft_str *list;
    size_t n, cap;
};

static bool read_names(struct builder *b, struct heft_proto *p, uint32_t wanted,
                       struct names *names)
{
    uint32_t number;
    bool ok = true;

    while (ok && (number = heft_proto_pull(p))) {
        if (number != wanted) {
            ok = heft_proto_pass(p);
            continue;
        }
        ok = heft_grow(&names->list, &names->cap, names->n, 1, sizeof *names->list, p->err) &&
             heft_tf_text(p, &b->s->model->mem, &names->list[names->n]) &&
             heft_tf_graph_weigh(b->graph, p->where, p->err);
        names->n += ok;
    }
    return ok && !p->failed;
}

/* Reads the names of the concrete functions of a function. */
static bool read_options(struct builder *b, const struct heft_tf_object *object,
                         struct names *names)
{
    struct heft_proto p;
    uint32_t number;
    bool ok = heft_proto_open(&p, b->graph->doc, object->at.off, object->at.len,
                              &heft_tf_saved_object, b->s->err) &&
              count_work(b, &object->at);

    while (ok && (number = heft_proto_pull(&p))) {
        if (number == OBJECT_FUNCTION)
            ok = read_names(b, &p, FUNCTION_CONCRETES, names);
        else
            ok = number == OBJECT_BARE ? read_names(b, &p, BARE_NAME, names) : heft_proto_pass(&p);
    }
    ok = ok && !p.failed;
    heft_proto_close(&p);
    if (ok && names->n)
        qsort(names->list, names->n, sizeof *names->list, by_text);
    return ok;
}

static bool put_callable(struct builder *b, const struct heft_tf_child *child,
                         struct heft_node *all)
{
    struct names names = {0};
    struct heft_str key;
    struct heft_node *list;
    bool ok = read_options(b, &b->graph->objects[child->node], &names) &&
              heft_tf_key(&b->s->model->mem, child->name, &key, b->s->err) &&
              (list = heft_tree_list(&b->s->model->mem, all, key, b->s->err));

    for (size_t i = 0; ok && i < names.n; i++)
        ok = put_concrete(b, names.list[i], list);
    heft_free(names.list);
    return ok;
}

static int by_child(const void *a, const void *b)
{
    const struct heft_tf_child *const x = *(const struct heft_tf_child *const *)a;
    const struct heft_tf_child *const y = *(const struct heft_tf_child *const *)b;

    return heft_str_cmp(x->name, y->name);
}

static bool is_callable(const struct heft_tf_graph *g, const struct heft_tf_child *child)
{
    if (child->node < 0 || (size_t)child->node >= g->n_objects)
        return false;
    return g->objects[child->node].kind == HEFT_TF_FUNCTION ||
           g->objects[child->node].kind == HEFT_TF_BARE_FUNCTION;
}

bool heft_tf_file_info_functions(struct heft_tf_saving *s, const struct heft_tf_graph *g,
                                 struct heft_node *in)
{
    struct builder b = {.s = s, .graph = g};
    struct heft_node *const all = heft_tree_dict(&s->model->mem, in, KEY("callables"), s->err);
    const size_t n_children = g->n_objects ? g->objects[0].n_children : 0;
    const struct heft_tf_child **const found = heft_alloc((n_children + 1) * sizeof *found, s->err);
    size_t n = 0;
    bool ok = all && found;

    for (size_t i = 0; ok && i < n_children; i++) {
        const struct heft_tf_child *const child = &g->children[g->objects[0].first_child + i];

        if (is_callable(g, child))
            found[n++] = child;
    }
    if (ok && n)
        qsort(found, n, sizeof *found, by_child);
    for (size_t i = 0; ok && i < n; i++)
        ok = put_callable(&b, found[i], all);
    heft_free(found);
    heft_free(b.items);
    return ok;
}
