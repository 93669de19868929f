/* tf_restore_refs.c: resolves the inputs of nodes, in a graph and in the functions it calls.
 *
 *     graph         "save/RestoreV2" (output 0), "save/RestoreV2:3", "^save/Assign" (control input)
 *     function      "RestoreV2:tensors:3"   node, name of an output, index in it
 *                   "assign_arg"            an argument: the input of the call, in the caller
 *
 * A value is followed through ops that pass their input on, out of functions by their arguments and
 * into them by their results. The walk uses tables instead of recursion, and is cut off at a length
 * that no real model reaches. */
#include "format/tensorflow/restore/tf_restore_walk.h"

enum {
    MOST_CHAIN = 300,    /* most ops from a value to its origin */
    MOST_FRAMES = 100000 /* most calls */
};
#define MOST_STEPS UINT64_C(5000000)

/* ---- setup and release ---- */

static const struct {
    const char *op;
    uint8_t role;
} roles[] = {
    {"RestoreV2", HEFT_TF_ROLE_READ},
    {"Restore", HEFT_TF_ROLE_READ_V1},
    {"RestoreSlice", HEFT_TF_ROLE_SLICE_V1},
    {"Assign", HEFT_TF_ROLE_ASSIGN},
    {"AssignVariableOp", HEFT_TF_ROLE_ASSIGN},
    {"LookupTableImport", HEFT_TF_ROLE_IMPORT},
    {"LookupTableImportV2", HEFT_TF_ROLE_IMPORT},
    {"PartitionedCall", HEFT_TF_ROLE_CALL},
    {"StatefulPartitionedCall", HEFT_TF_ROLE_CALL},
};

/* Ops that pass their first input on. */
enum pass { PASS_NOT, PASS_SAME, PASS_EACH, PASS_CAST, PASS_RESHAPE };
static const struct {
    const char *op;
    uint8_t pass;
} passes[] = {
    {"Identity", PASS_SAME},
    {"IdentityN", PASS_EACH},
    {"Cast", PASS_CAST},
    {"Reshape", PASS_RESHAPE},
    {"Enter", PASS_SAME},
    {"RefEnter", PASS_SAME},
    {"RefIdentity", PASS_SAME},
    {"Snapshot", PASS_SAME},
    {"StopGradient", PASS_SAME},
    {"EnsureShape", PASS_SAME},
    {"PlaceholderWithDefault", PASS_SAME},
};

static enum pass pass_of(struct heft_str op)
{
    for (size_t i = 0; i < HEFT_COUNT(passes); i++)
        if (heft_str_is(op, passes[i].op))
            return passes[i].pass;
    return PASS_NOT;
}

static bool fill_roles(struct heft_tf_walk *w)
{
    const struct heft_tf_graph *const g = w->r->graph;

    w->roles = heft_calloc(g->n_words ? g->n_words : 1, 1, w->err);
    for (size_t k = 0; w->roles && k < g->n_words; k++) {
        for (size_t i = 0; i < HEFT_COUNT(roles); i++)
            if (heft_str_is(g->words[k], roles[i].op))
                w->roles[k] = roles[i].role;
        if (!w->roles[k] && heft_tf_graph_function(g, g->words[k]) != HEFT_MAP_NONE)
            w->roles[k] = HEFT_TF_ROLE_CALL;
    }
    return w->roles != NULL;
}

bool heft_tf_walk_init(struct heft_tf_walk *w, struct heft_tf_restore *r)
{
    const struct heft_tf_graph *const g = r->graph;
    const size_t n = g->n_nodes + g->n_inner;

    *w = (struct heft_tf_walk){.r = r, .err = r->err};
    w->most = (uint32_t)heft_min_u64(
        2 * heft_limit_tensors(&r->model->limits, r->model->file_bytes), UINT32_MAX / 2);
    if (n >= HEFT_NONE)
        return heft_fail(w->err, HEFT_LIMIT, g->at.off, "too many nodes");
    w->nodes = heft_calloc(n ? n : 1, sizeof *w->nodes, w->err);
    w->bodies = w->nodes
                    ? heft_calloc(g->n_functions ? g->n_functions : 1, sizeof *w->bodies, w->err)
                    : NULL;
    if (!w->bodies || !fill_roles(w) ||
        !heft_grow(&w->frames, &w->cap_frames, 0, 1, sizeof *w->frames, w->err))
        return false;
    w->frames[w->n_frames++] = (struct heft_tf_frame){.function = HEFT_NONE};
    return true;
}

void heft_tf_walk_release(struct heft_tf_walk *w)
{
    for (size_t i = 0; w->bodies && i < w->r->graph->n_functions; i++)
        if (w->bodies[i]) {
            heft_strmap_release(&w->bodies[i]->nodes);
            heft_strmap_release(&w->bodies[i]->args);
            heft_strmap_release(&w->bodies[i]->returns);
        }
    heft_free(w->nodes);
    heft_free(w->bodies);
    heft_free(w->roles);
    heft_free(w->frames);
    heft_free(w->strings);
    heft_strmap_release(&w->frame_map);
    heft_strmap_release(&w->read_map);
    heft_u32map_release(&w->strings_map);
    *w = (struct heft_tf_walk){0};
}

bool heft_tf_walk_tire(struct heft_tf_walk *w)
{
    if (w->looked_at++ < MOST_STEPS)
        return true;
    return heft_fail(w->err, HEFT_LIMIT, w->r->graph->at.off,
                     "tracing the restore takes more than %" PRIu64 " steps", MOST_STEPS);
}

/* ---- nodes and functions, each read once ---- */

static const struct heft_tf_node_entry *entry_of(const struct heft_tf_walk *w, uint32_t number)
{
    const struct heft_tf_graph *const g = w->r->graph;

    return number < g->n_nodes ? &g->nodes[number] : &g->inner[number - g->n_nodes];
}

const struct heft_tf_node *heft_tf_walk_node(struct heft_tf_walk *w, uint32_t number)
{
    struct heft_tf_restore *const r = w->r;
    struct heft_tf_node *node;

    if (w->nodes[number])
        return w->nodes[number];
    node = heft_arena_zero(&r->mem, 1, sizeof *node, w->err);
    if (!node ||
        !heft_tf_node_read(&r->saved->doc, entry_of(w, number)->at, &r->mem, node, w->err) ||
        !heft_tf_restore_weigh(r, entry_of(w, number)->at.off))
        return NULL;
    w->nodes[number] = node;
    return node;
}

enum heft_tf_role heft_tf_walk_role(const struct heft_tf_walk *w, uint32_t number)
{
    return w->roles[entry_of(w, number)->op];
}

uint32_t heft_tf_walk_callee(const struct heft_tf_walk *w, const struct heft_tf_node *node)
{
    const uint32_t by_op = heft_tf_graph_function(w->r->graph, node->op);

    return by_op != HEFT_MAP_NONE ? by_op : heft_tf_graph_function(w->r->graph, node->func);
}

static bool index_nodes(struct heft_tf_walk *w, const struct heft_tf_function *f,
                        struct heft_tf_body *body)
{
    const struct heft_tf_graph *const g = w->r->graph;
    uint32_t found;

    for (uint32_t i = 0; i < f->n; i++)
        if (!heft_strmap_add(&body->nodes, g->inner[f->first + i].name,
                             (uint32_t)g->n_nodes + f->first + i, &found, w->err))
            return false;
    return true;
}

static bool index_body(struct heft_tf_walk *w, const struct heft_tf_function *f,
                       struct heft_tf_body *body)
{
    const struct heft_tf_function_def *const def = &body->def;
    uint32_t found;

    for (uint32_t i = 0; i < def->n_inputs; i++)
        if (!heft_strmap_add(&body->args, def->inputs[i].name, i, &found, w->err))
            return false;
    for (uint32_t i = 0; i < def->n_returns; i++)
        if (!heft_strmap_add(&body->returns, def->returns[i].name, i, &found, w->err))
            return false;
    return index_nodes(w, f, body);
}

/* The node table of a function, built on first use; NULL on failure. */
static struct heft_tf_body *body_of(struct heft_tf_walk *w, uint32_t function)
{
    const struct heft_tf_function *const f = &w->r->graph->functions[function];
    struct heft_tf_body *body = w->bodies[function];

    if (body)
        return body;
    body = heft_arena_zero(&w->r->mem, 1, sizeof *body, w->err);
    if (!body)
        return NULL;
    w->bodies[function] = body; /* owned by w->bodies from here on, complete or not */
    if (!heft_tf_function_read(&w->r->saved->doc, f->at, &w->r->mem, &body->def, w->err) ||
        !heft_tf_restore_weigh(w->r, f->at.off) || !index_body(w, f, body))
        return NULL;
    return body;
}

/* ---- frames of calls ---- */

bool heft_tf_walk_key(struct heft_tf_walk *w, uint32_t frame, uint32_t number, struct heft_str *out)
{
    const uint32_t key[2] = {frame, number};
    char *const kept =
        heft_arena_text(&w->r->mem, (struct heft_str){(const char *)key, sizeof key}, w->err);

    *out = (struct heft_str){kept, sizeof key};
    return kept != NULL;
}

static bool new_frame(struct heft_tf_walk *w, uint32_t frame, uint32_t number, uint32_t *callee)
{
    const struct heft_tf_node *const node = heft_tf_walk_node(w, number);
    const unsigned depth = w->frames[frame].depth + 1;
    const uint64_t where = entry_of(w, number)->at.off;

    if (!node)
        return false;
    if (depth > HEFT_TF_CALL_DEPTH)
        return heft_fail(w->err, HEFT_MALFORMED, where, "function calls nest deeper than %d",
                         HEFT_TF_CALL_DEPTH);
    if (w->n_frames == MOST_FRAMES)
        return heft_fail(w->err, HEFT_LIMIT, where, "more than %d function calls", MOST_FRAMES);
    if (!heft_grow(&w->frames, &w->cap_frames, w->n_frames, 1, sizeof *w->frames, w->err))
        return false;
    *callee = (uint32_t)w->n_frames;
    w->frames[w->n_frames++] = (struct heft_tf_frame){
        .call = node, .caller = frame, .depth = depth, .function = heft_tf_walk_callee(w, node)};
    return true;
}

bool heft_tf_walk_enter(struct heft_tf_walk *w, uint32_t frame, uint32_t number, uint32_t *callee)
{
    struct heft_str key;
    uint32_t found;

    if (!heft_tf_walk_key(w, frame, number, &key))
        return false;
    *callee = heft_strmap_get(&w->frame_map, key);
    if (*callee != HEFT_MAP_NONE)
        return true;
    return new_frame(w, frame, number, callee) && body_of(w, w->frames[*callee].function) &&
           heft_strmap_add(&w->frame_map, key, *callee, &found, w->err);
}

/* ---- parsing references to nodes ---- */

struct ref {
    uint32_t number;     /* number of the node; HEFT_MAP_NONE if it refers to no node */
    uint32_t arg;        /* number of the argument; HEFT_MAP_NONE if it refers to no argument */
    struct heft_str out; /* in functions, the name of the node's output */
    uint64_t port;
};

static uint64_t port_of(struct heft_str text)
{
    uint64_t n = 0;

    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9' || n > UINT32_MAX)
            return UINT64_MAX; /* no such output */
        n = n * 10 + (uint64_t)(text.p[i] - '0');
    }
    return n;
}

/* Splits at the first colon: returns the text before it, and leaves the text after it. */
static struct heft_str cut_at_colon(struct heft_str *text)
{
    const char *const colon = text->n ? memchr(text->p, ':', text->n) : NULL;
    const struct heft_str head = {text->p, colon ? (size_t)(colon - text->p) : text->n};

    *text = colon ? (struct heft_str){colon + 1, text->n - head.n - 1} : HEFT_STR("");
    return head;
}

static struct ref look_up(struct heft_tf_walk *w, uint32_t frame, struct heft_str input)
{
    const uint32_t function = w->frames[frame].function;
    struct ref ref = {.number = HEFT_MAP_NONE, .arg = HEFT_MAP_NONE};
    struct heft_str name;

    if (input.n && *input.p == '^')
        input = (struct heft_str){input.p + 1, input.n - 1};
    name = cut_at_colon(&input);
    if (function == HEFT_NONE) {
        ref.number = heft_tf_graph_node(w->r->graph, name);
        ref.port = port_of(input);
        return ref;
    }
    ref.number = heft_strmap_get(&w->bodies[function]->nodes, name);
    if (ref.number == HEFT_MAP_NONE)
        ref.arg = heft_strmap_get(&w->bodies[function]->args, name);
    ref.out = cut_at_colon(&input);
    ref.port = port_of(input);
    return ref;
}

/* ---- following a value to its origin ---- */

struct follower {
    struct heft_tf_walk *w;
    struct heft_tf_origin *out;
    uint32_t frame;
    struct heft_str input;
    bool is_done;
};

static bool give_up(struct follower *f)
{
    f->is_done = true;
    return true;
}

static bool is_data(struct heft_str input)
{
    return input.n && *input.p != '^';
}

/* Continues in the caller with the value passed for an argument. */
static bool leave_function(struct follower *f, uint32_t arg)
{
    const struct heft_tf_frame *const frame = &f->w->frames[f->frame];

    if (arg >= frame->call->n_inputs || !is_data(frame->call->inputs[arg]))
        return give_up(f);
    f->input = frame->call->inputs[arg];
    f->frame = frame->caller;
    return true;
}

/* Continues inside a called function with the node that computes the result. */
static bool enter_function(struct follower *f, const struct ref *ref,
                           const struct heft_tf_node *node)
{
    const uint32_t function = heft_tf_walk_callee(f->w, node);
    const bool is_op = heft_tf_graph_function(f->w->r->graph, node->op) != HEFT_MAP_NONE;
    struct heft_str name = ref->out;
    const struct heft_tf_body *body;
    uint32_t callee, index;

    if (function == HEFT_MAP_NONE)
        return give_up(f);
    if (!heft_tf_walk_enter(f->w, f->frame, ref->number, &callee))
        return false;
    body = f->w->bodies[function];
    if (name.n == 0 || !is_op) { /* all results of a PartitionedCall form one list named "output" */
        if (ref->port >= body->def.n_outputs)
            return give_up(f);
        name = body->def.outputs[ref->port].name;
    }
    index = heft_strmap_get(&body->returns, name);
    if (index == HEFT_MAP_NONE)
        return give_up(f);
    f->frame = callee;
    f->input = body->def.returns[index].from;
    return true;
}

static bool pass_on(struct follower *f, const struct ref *ref, const struct heft_tf_node *node,
                    enum pass pass)
{
    const uint64_t k = pass == PASS_EACH ? ref->port : 0;

    if (k >= node->n_inputs || !is_data(node->inputs[k]))
        return give_up(f);
    f->out->is_cast |= pass == PASS_CAST;
    f->out->is_reshaped |= pass == PASS_RESHAPE;
    f->input = node->inputs[k];
    return true;
}

static bool follow_one(struct follower *f)
{
    const struct ref ref = look_up(f->w, f->frame, f->input);
    const struct heft_tf_node *node;
    enum pass pass;

    if (ref.arg != HEFT_MAP_NONE)
        return leave_function(f, ref.arg);
    if (ref.number == HEFT_MAP_NONE)
        return give_up(f);
    node = heft_tf_walk_node(f->w, ref.number);
    if (!node)
        return false;
    pass = pass_of(node->op);
    if (pass != PASS_NOT)
        return pass_on(f, &ref, node, pass);
    if (heft_tf_walk_role(f->w, ref.number) == HEFT_TF_ROLE_CALL)
        return enter_function(f, &ref, node);
    f->out->node = node;
    f->out->frame = f->frame;
    f->out->number = ref.number;
    f->out->port = ref.port;
    f->is_done = true;
    return true;
}

bool heft_tf_walk_follow(struct heft_tf_walk *w, uint32_t frame, struct heft_str input,
                         struct heft_tf_origin *out)
{
    struct follower f = {.w = w, .out = out, .frame = frame, .input = input};

    *out = (struct heft_tf_origin){0};
    for (unsigned i = 0; i < MOST_CHAIN && !f.is_done; i++)
        if (!heft_tf_walk_tire(w) || !follow_one(&f))
            return false;
    return true;
}

/* ---- reading constants ---- */

bool heft_tf_walk_strings(struct heft_tf_walk *w, const struct heft_tf_origin *origin,
                          struct heft_tf_strings *out, bool *is_there)
{
    struct heft_tf_restore *const r = w->r;
    uint32_t at;

    *is_there = origin->node && heft_str_is(origin->node->op, "Const") && origin->node->has_value;
    *out = (struct heft_tf_strings){0};
    if (!*is_there)
        return true;
    at = heft_u32map_get(&w->strings_map, origin->number);
    if (at == HEFT_MAP_NONE) {
        at = (uint32_t)w->n_strings;
        if (!heft_grow(&w->strings, &w->cap_strings, at, 1, sizeof *w->strings, w->err) ||
            !heft_tf_strings_read(&r->saved->doc, origin->node->value, w->most, &r->mem,
                                  &w->strings[at], w->err) ||
            !heft_tf_restore_weigh(r, origin->node->value.off) ||
            !heft_u32map_set(&w->strings_map, origin->number, at, w->err))
            return false;
        w->n_strings++;
    }
    *out = w->strings[at];
    return true;
}
