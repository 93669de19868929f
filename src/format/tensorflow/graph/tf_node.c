/* tf_node.c: reads a node, a function or a variable of a graph in full, on demand. */
#include "format/tensorflow/graph/tf_graph.h"

enum { KEY = 1, VALUE = 2 };
enum { NODE_NAME = 1, NODE_OP, NODE_INPUT, NODE_DEVICE, NODE_ATTR };
enum { ATTR_LIST = 1, ATTR_S = 2, ATTR_TYPE = 6, ATTR_SHAPE, ATTR_TENSOR, ATTR_FUNC = 10 };
enum { LIST_TYPE = 6, FUNC_NAME = 1 };
enum { SHAPE_DIM = 2, SHAPE_UNKNOWN = 3, DIM_SIZE = 1 };
enum { FUNCTION_SIGNATURE = 1, FUNCTION_RET = 4, OP_NAME = 1, OP_INPUT = 2, OP_OUTPUT = 3 };
enum { ARG_NAME = 1, ARG_TYPE = 3 };
enum { OBJECT_VARIABLE = 7 };
enum { VARIABLE_DTYPE = 1, VARIABLE_SHAPE, VARIABLE_NAME = 6 };

#define MOST_TEXT 65536
#define MOST_RANK 254 /* TensorFlow's own limit */

/* ---- texts, ranges, dtypes and shapes, for all readers ---- */

bool heft_tf_text(struct heft_proto *p, struct heft_arena *mem, struct heft_str *out)
{
    return heft_proto_fetch(p, mem, MOST_TEXT, out, p->err);
}

bool heft_tf_range_of(struct heft_proto *p, struct heft_tf_range *out)
{
    if (!heft_proto_skip(p))
        return false;
    *out = (struct heft_tf_range){p->off, p->len};
    return true;
}

uint32_t heft_tf_base_dtype(uint64_t number)
{
    if (number > UINT32_MAX)
        return 0;
    return (uint32_t)(number > 100 && number < 200 ? number - 100 : number);
}

static bool read_dim(struct heft_proto *p, int64_t *size)
{
    uint32_t number;

    *size = 0;
    while ((number = heft_proto_pull(p))) {
        if (number == DIM_SIZE)
            *size = heft_proto_i64(p);
        else if (!heft_proto_pass(p))
            return false;
    }
    return !p->failed;
}

bool heft_tf_shape_read(struct heft_proto *p, struct heft_arena *mem, struct heft_tf_shape *out)
{
    int64_t dims[MOST_RANK], *kept;
    uint32_t number, rank = 0;
    bool ok = true;

    out->unknown_rank = false;
    while (ok && (number = heft_proto_pull(p))) {
        if (number == SHAPE_UNKNOWN)
            out->unknown_rank = p->u64;
        else if (number == SHAPE_DIM && rank == MOST_RANK)
            return heft_fail(p->err, HEFT_MALFORMED, p->where,
                             "the shape has more than %d dimensions", MOST_RANK);
        else
            ok = number == SHAPE_DIM ? read_dim(p, &dims[rank++]) : heft_proto_pass(p);
    }
    if (!ok || p->failed)
        return false;
    kept = heft_arena_alloc(mem, rank * sizeof *kept, p->err);
    if (!kept)
        return false;
    if (rank)
        memcpy(kept, dims, rank * sizeof *kept);
    out->dims = kept;
    out->rank = rank;
    return true;
}

/* ---- arrays that grow while a message is read and are then copied to the arena ---- */

struct list {
    void *items;
    size_t cap;
    uint32_t n;
};

static void *add_item(struct list *list, size_t each, struct heft_proto *p)
{
    if (list->n == UINT32_MAX || !heft_grow(&list->items, &list->cap, list->n, 1, each, p->err))
        return NULL;
    memset((char *)list->items + list->n * each, 0, each);
    return (char *)list->items + list->n++ * each;
}

/* Copies the items to the arena. NULL if memory is short. */
static void *copy_to_arena(struct list *list, size_t each, struct heft_arena *mem,
                           struct heft_error *err)
{
    void *const kept = heft_arena_alloc(mem, list->n * each, err);

    if (kept && list->n)
        memcpy(kept, list->items, list->n * each);
    return kept;
}

static bool add_text(struct list *list, struct heft_proto *p, struct heft_arena *mem)
{
    struct heft_str *const text = add_item(list, sizeof *text, p);

    return text && heft_tf_text(p, mem, text);
}

/* ---- nodes ---- */

struct node_reader {
    struct heft_arena *mem;
    struct heft_tf_node *node;
    struct list inputs, dtypes;
    uint32_t t; /* dtype in attribute T */
};

enum attr {
    ATTR_OTHER,
    ATTR_F,
    ATTR_SHARED,
    ATTR_DTYPE,
    ATTR_T,
    ATTR_DTYPES,
    ATTR_NODE_SHAPE,
    ATTR_VALUE
};

static enum attr attr_of(struct heft_str key)
{
    static const struct {
        const char *name;
        enum attr attr;
    } attrs[] = {{"f", ATTR_F},         {"shared_name", ATTR_SHARED},
                 {"dtype", ATTR_DTYPE}, {"dt", ATTR_DTYPE},
                 {"T", ATTR_T},         {"dtypes", ATTR_DTYPES},
                 {"value", ATTR_VALUE}, {"shape", ATTR_NODE_SHAPE}};

    for (size_t i = 0; i < HEFT_COUNT(attrs); i++)
        if (heft_str_is(key, attrs[i].name))
            return attrs[i].attr;
    return ATTR_OTHER;
}

static bool read_func(struct node_reader *r, struct heft_proto *p)
{
    uint32_t number;

    while ((number = heft_proto_pull(p)))
        if (number == FUNC_NAME ? !heft_tf_text(p, r->mem, &r->node->func) : !heft_proto_pass(p))
            return false;
    return !p->failed;
}

static bool read_types(struct node_reader *r, struct heft_proto *p)
{
    uint32_t number;

    r->dtypes.n = 0;
    while ((number = heft_proto_pull(p))) {
        if (number == LIST_TYPE) {
            uint32_t *const type = add_item(&r->dtypes, sizeof *type, p);

            if (!type)
                return false;
            *type = heft_tf_base_dtype(p->u64);
        } else if (!heft_proto_pass(p)) {
            return false;
        }
    }
    return !p->failed;
}

/* Reads a field of an AttrValue if it is of the type that the attribute has; skips other fields. */
static bool read_member(struct node_reader *r, struct heft_proto *p, enum attr attr,
                        uint32_t number)
{
    struct heft_tf_node *const node = r->node;

    if (number == ATTR_TYPE && (attr == ATTR_DTYPE || attr == ATTR_T)) {
        *(attr == ATTR_T ? &r->t : &node->dtype) = heft_tf_base_dtype(p->u64);
        return true;
    }
    if (number == ATTR_S && attr == ATTR_SHARED)
        return heft_tf_text(p, r->mem, &node->shared_name);
    if (number == ATTR_FUNC && attr == ATTR_F)
        return read_func(r, p);
    if (number == ATTR_LIST && attr == ATTR_DTYPES)
        return read_types(r, p);
    if (number == ATTR_SHAPE && attr == ATTR_NODE_SHAPE) {
        node->has_shape = true;
        return heft_tf_shape_read(p, r->mem, &node->shape);
    }
    if (number == ATTR_TENSOR && attr == ATTR_VALUE) {
        node->has_value = true;
        return heft_tf_range_of(p, &node->value);
    }
    return heft_proto_pass(p);
}

static bool read_value(struct node_reader *r, struct heft_proto *p, enum attr attr)
{
    uint32_t number;

    while ((number = heft_proto_pull(p)))
        if (!read_member(r, p, attr, number))
            return false;
    return !p->failed;
}

/* Reads a map entry. If the value precedes its key, the value is read again once the key is known. */
static bool read_attr(struct node_reader *r, struct heft_proto *p)
{
    struct heft_tf_range late = {0};
    enum attr attr = ATTR_OTHER;
    struct heft_proto again;
    bool has_key = false, ok = true;
    uint32_t number;

    while (ok && (number = heft_proto_pull(p))) {
        if (number == KEY) {
            attr = attr_of(p->text);
            has_key = true;
        } else if (number == VALUE && !has_key) {
            ok = heft_tf_range_of(p, &late);
        } else {
            ok = number == VALUE ? read_value(r, p, attr) : heft_proto_pass(p);
        }
    }
    if (!ok || p->failed || late.len == 0 || attr == ATTR_OTHER)
        return ok && !p->failed;
    ok = heft_proto_open(&again, p->doc, late.off, late.len, &heft_tf_attr_value, p->err) &&
         read_value(r, &again, attr);
    heft_proto_close(&again);
    return ok;
}

static bool read_field(struct node_reader *r, struct heft_proto *p, uint32_t number)
{
    switch (number) {
    case NODE_NAME:
        return heft_tf_text(p, r->mem, &r->node->name);
    case NODE_OP:
        return heft_tf_text(p, r->mem, &r->node->op);
    case NODE_INPUT:
        return add_text(&r->inputs, p, r->mem);
    case NODE_DEVICE:
        return heft_tf_text(p, r->mem, &r->node->device);
    case NODE_ATTR:
        return read_attr(r, p);
    default:
        return heft_proto_pass(p);
    }
}

static bool keep_node(struct node_reader *r, struct heft_error *err)
{
    struct heft_tf_node *const node = r->node;

    node->inputs = copy_to_arena(&r->inputs, sizeof *node->inputs, r->mem, err);
    node->dtypes = copy_to_arena(&r->dtypes, sizeof *node->dtypes, r->mem, err);
    node->n_inputs = r->inputs.n;
    node->n_dtypes = r->dtypes.n;
    if (node->dtype == 0)
        node->dtype = r->t;
    return node->inputs && node->dtypes;
}

bool heft_tf_node_read(const struct heft_proto_doc *doc, struct heft_tf_range at,
                       struct heft_arena *mem, struct heft_tf_node *out, struct heft_error *err)
{
    struct node_reader r = {.mem = mem, .node = out};
    struct heft_proto p;
    uint32_t number;
    bool ok;

    *out = (struct heft_tf_node){0};
    ok = heft_proto_open(&p, doc, at.off, at.len, &heft_tf_node, err);
    while (ok && (number = heft_proto_pull(&p)))
        ok = read_field(&r, &p, number);
    ok = ok && !p.failed && keep_node(&r, err);
    heft_free(r.inputs.items);
    heft_free(r.dtypes.items);
    heft_proto_close(&p);
    return ok;
}

/* ---- functions ---- */

struct function_reader {
    struct heft_arena *mem;
    struct heft_tf_function_def *def;
    struct list inputs, outputs, returns;
};

static bool read_arg(struct function_reader *r, struct heft_proto *p, struct list *args)
{
    struct heft_tf_signature_arg *const arg = add_item(args, sizeof *arg, p);
    uint32_t number;
    bool ok = arg != NULL;

    while (ok && (number = heft_proto_pull(p))) {
        if (number == ARG_TYPE)
            arg->dtype = heft_tf_base_dtype(p->u64);
        else
            ok = number == ARG_NAME ? heft_tf_text(p, r->mem, &arg->name) : heft_proto_pass(p);
    }
    return ok && !p->failed;
}

static bool read_signature(struct function_reader *r, struct heft_proto *p)
{
    uint32_t number;
    bool ok = true;

    while (ok && (number = heft_proto_pull(p))) {
        if (number == OP_NAME)
            ok = heft_tf_text(p, r->mem, &r->def->name);
        else if (number == OP_INPUT || number == OP_OUTPUT)
            ok = read_arg(r, p, number == OP_INPUT ? &r->inputs : &r->outputs);
        else
            ok = heft_proto_pass(p);
    }
    return ok && !p->failed;
}

static bool read_return(struct function_reader *r, struct heft_proto *p)
{
    struct heft_tf_return *const value = add_item(&r->returns, sizeof *value, p);
    uint32_t number;
    bool ok = value != NULL;

    while (ok && (number = heft_proto_pull(p)))
        ok = heft_tf_text(p, r->mem, number == KEY ? &value->name : &value->from);
    return ok && !p->failed;
}

static bool keep_function(struct function_reader *r, struct heft_error *err)
{
    struct heft_tf_function_def *const def = r->def;

    def->inputs = copy_to_arena(&r->inputs, sizeof *def->inputs, r->mem, err);
    def->outputs = copy_to_arena(&r->outputs, sizeof *def->outputs, r->mem, err);
    def->returns = copy_to_arena(&r->returns, sizeof *def->returns, r->mem, err);
    def->n_inputs = r->inputs.n;
    def->n_outputs = r->outputs.n;
    def->n_returns = r->returns.n;
    return def->inputs && def->outputs && def->returns;
}

bool heft_tf_function_read(const struct heft_proto_doc *doc, struct heft_tf_range at,
                           struct heft_arena *mem, struct heft_tf_function_def *out,
                           struct heft_error *err)
{
    struct function_reader r = {.mem = mem, .def = out};
    struct heft_proto p;
    uint32_t number;
    bool ok;

    *out = (struct heft_tf_function_def){0};
    ok = heft_proto_open(&p, doc, at.off, at.len, &heft_tf_function, err);
    while (ok && (number = heft_proto_pull(&p))) {
        if (number == FUNCTION_SIGNATURE)
            ok = read_signature(&r, &p);
        else
            ok = number == FUNCTION_RET ? read_return(&r, &p) : heft_proto_pass(&p);
    }
    ok = ok && !p.failed && keep_function(&r, err);
    heft_free(r.inputs.items);
    heft_free(r.outputs.items);
    heft_free(r.returns.items);
    heft_proto_close(&p);
    return ok;
}

/* ---- variables of the object graph ---- */

static bool read_variable(struct heft_proto *p, struct heft_arena *mem,
                          struct heft_tf_variable *out)
{
    uint32_t number;
    bool ok = true;

    while (ok && (number = heft_proto_pull(p))) {
        if (number == VARIABLE_DTYPE)
            out->dtype = heft_tf_base_dtype(p->u64);
        else if (number == VARIABLE_SHAPE)
            ok = heft_tf_shape_read(p, mem, &out->shape);
        else
            ok = number == VARIABLE_NAME ? heft_tf_text(p, mem, &out->name) : heft_proto_pass(p);
    }
    return ok && !p->failed;
}

bool heft_tf_variable_read(const struct heft_proto_doc *doc, struct heft_tf_range at,
                           struct heft_arena *mem, struct heft_tf_variable *out,
                           struct heft_error *err)
{
    struct heft_proto p;
    uint32_t number;
    bool ok;

    *out = (struct heft_tf_variable){0};
    ok = heft_proto_open(&p, doc, at.off, at.len, &heft_tf_saved_object, err);
    while (ok && (number = heft_proto_pull(&p)))
        ok = number == OBJECT_VARIABLE ? read_variable(&p, mem, out) : heft_proto_pass(&p);
    ok = ok && !p.failed;
    heft_proto_close(&p);
    return ok;
}
