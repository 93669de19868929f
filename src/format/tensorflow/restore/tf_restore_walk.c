/* tf_restore_walk.c: from the restore op to the variables it assigns.
 *
 *     graph      save/restore_all ← ^save/restore_shard ← ^save/Assign ← a, save/RestoreV2
 *     function   StatefulPartitionedCall_2 calls __inference__traced_restore_101, which runs all its
 *                nodes: RestoreV2, AssignVariableOp(argument, Identity(RestoreV2:tensors:0))
 *
 * In the graph only the dependencies of the restore op are run: inputs first, each node once. */
#include "format/tensorflow/restore/tf_restore_walk.h"

/* ---- recording steps ---- */

static struct heft_str function_name(const struct heft_tf_walk *w, uint32_t frame)
{
    const uint32_t function = w->frames[frame].function;

    return function == HEFT_NONE ? HEFT_STR("") : w->r->graph->functions[function].name;
}

static uint64_t where_of(const struct heft_tf_walk *w, uint32_t number)
{
    const struct heft_tf_graph *const g = w->r->graph;

    return number < g->n_nodes ? g->nodes[number].at.off : g->inner[number - g->n_nodes].at.off;
}

static struct heft_tf_step step_of(const struct heft_tf_walk *w, uint32_t frame, uint32_t number,
                                   enum heft_restore_kind kind)
{
    return (struct heft_tf_step){.kind = kind,
                                 .depth = w->frames[frame].depth,
                                 .node = w->nodes[number]->name,
                                 .op = w->nodes[number]->op,
                                 .function = function_name(w, frame),
                                 .where = where_of(w, number),
                                 .text = "",
                                 .target = HEFT_NONE};
}

/* ---- restore ops ---- */

/* The inputs of a restore op: names and slices, and the dtypes it returns. */
struct reading {
    struct heft_tf_walk *w;
    const struct heft_tf_node *node;
    uint32_t frame, number;
    struct heft_tf_strings names, specs;
    uint64_t n; /* number of outputs */
};

static bool read_input(struct reading *d, uint32_t input, const char *what,
                       struct heft_tf_strings *out)
{
    struct heft_tf_origin origin;
    bool is_there;

    if (input >= d->node->n_inputs)
        origin = (struct heft_tf_origin){0};
    else if (!heft_tf_walk_follow(d->w, d->frame, d->node->inputs[input], &origin))
        return false;
    if (!heft_tf_walk_strings(d->w, &origin, out, &is_there))
        return false;
    return is_there || heft_tf_restore_find(d->w->r, HEFT_FINDING, where_of(d->w, d->number),
                                            "%.*s: its %s are not constants", (int)d->node->name.n,
                                            d->node->name.p, what);
}

static bool compare_counts(struct reading *d, const struct heft_tf_strings *strings,
                           const char *what)
{
    if (strings->count == d->n || !strings->list)
        return true;
    return heft_tf_restore_find(d->w->r, HEFT_FINDING, where_of(d->w, d->number),
                                "%.*s has %" PRIu64 " %s but %" PRIu64 " dtypes",
                                (int)d->node->name.n, d->node->name.p, strings->count, what, d->n);
}

/* Reads the inputs. The V1 op restores one whole tensor, unless it is a RestoreSlice. */
static bool read_inputs(struct reading *d, enum heft_tf_role role)
{
    d->n = role == HEFT_TF_ROLE_READ ? d->node->n_dtypes : 1;
    if (!read_input(d, 1, "names", &d->names) ||
        (role != HEFT_TF_ROLE_READ_V1 && !read_input(d, 2, "slices", &d->specs)))
        return false;
    return compare_counts(d, &d->names, "names") && compare_counts(d, &d->specs, "slices");
}

static bool add_names(struct reading *d, struct heft_tf_read *read)
{
    struct heft_tf_restore *const r = d->w->r;
    const uint64_t n = heft_min_u64(d->n, d->names.n);
    struct heft_tf_step step = step_of(d->w, d->frame, d->number, HEFT_RESTORE_NAME);

    r->n_names += n;
    if (r->n_names > d->w->most)
        return heft_fail(r->err, HEFT_LIMIT, where_of(d->w, d->number),
                         "more than %" PRIu32 " names to restore", d->w->most);
    read->names = heft_arena_zero(&r->mem, n ? (size_t)n : 1, sizeof *read->names, r->err);
    if (!read->names)
        return false;
    for (read->n = 0; read->n < n; read->n++) {
        struct heft_tf_name *const name = &read->names[read->n];

        name->key = d->names.list[read->n];
        name->spec = read->n < d->specs.n ? d->specs.list[read->n] : HEFT_STR("");
        name->dtype = d->node->n_dtypes ? d->node->dtypes[read->n] : d->node->dtype;
        name->number = read->n;
        step.name = name;
        if (!heft_tf_restore_step(r, &step))
            return false;
    }
    return true;
}

static bool new_read(struct reading *d, enum heft_tf_role role, struct heft_str key,
                     uint32_t *index)
{
    struct heft_tf_restore *const r = d->w->r;
    struct heft_tf_step step = step_of(d->w, d->frame, d->number, HEFT_RESTORE_READ);
    uint32_t found;

    if (!read_inputs(d, role))
        return false;
    step.text = heft_tf_restore_text(r, "reads %" PRIu64 " name%s", d->names.count,
                                     d->names.count == 1 ? "" : "s");
    if (!step.text || !heft_tf_restore_step(r, &step) ||
        !heft_grow(&r->reads, &r->cap_reads, r->n_reads, 1, sizeof *r->reads, r->err))
        return false;
    *index = (uint32_t)r->n_reads;
    r->reads[r->n_reads] = (struct heft_tf_read){.node = d->node->name, .where = step.where};
    return add_names(d, &r->reads[r->n_reads++]) && heft_tf_restore_weigh(r, step.where) &&
           heft_strmap_add(&d->w->read_map, key, *index, &found, r->err);
}

/* Records the restore op of a frame once and returns its index. */
static bool read_of(struct heft_tf_walk *w, uint32_t frame, uint32_t number, uint32_t *index)
{
    struct reading d = {.w = w, .frame = frame, .number = number};
    struct heft_str key;

    d.node = heft_tf_walk_node(w, number);
    if (!d.node || !heft_tf_walk_key(w, frame, number, &key))
        return false;
    *index = heft_strmap_get(&w->read_map, key);
    return *index != HEFT_MAP_NONE || new_read(&d, heft_tf_walk_role(w, number), key, index);
}

static bool is_read(enum heft_tf_role role)
{
    return role == HEFT_TF_ROLE_READ || role == HEFT_TF_ROLE_READ_V1 ||
           role == HEFT_TF_ROLE_SLICE_V1;
}

/* ---- variables and tables that receive values ---- */

static bool add_target(struct heft_tf_walk *w, const struct heft_tf_target *target,
                       struct heft_tf_step *step)
{
    struct heft_tf_restore *const r = w->r;

    if (r->n_targets >= w->most)
        return heft_fail(r->err, HEFT_LIMIT, target->where, "more than %" PRIu32 " variables",
                         w->most);
    if (!heft_grow(&r->targets, &r->cap_targets, r->n_targets, 1, sizeof *r->targets, r->err))
        return false;
    step->target = (uint32_t)r->n_targets;
    r->targets[r->n_targets++] = *target;
    return heft_tf_restore_step(r, step) && heft_tf_restore_weigh(r, target->where);
}

/* Finds the restored name that a value comes from; NULL if it does not come from the checkpoint. */
static bool find_name(struct heft_tf_walk *w, uint32_t frame, struct heft_str input,
                      struct heft_tf_target *target)
{
    struct heft_tf_restore *const r = w->r;
    struct heft_tf_origin origin;
    uint32_t index;

    target->name = NULL;
    if (!heft_tf_walk_follow(w, frame, input, &origin))
        return false;
    if (!origin.node || !is_read(heft_tf_walk_role(w, origin.number)))
        return true;
    if (!read_of(w, origin.frame, origin.number, &index))
        return false;
    target->is_cast = origin.is_cast;
    target->is_reshaped = origin.is_reshaped;
    if (origin.port < r->reads[index].n) {
        r->reads[index].names[origin.port].takers++;
        target->name = &r->reads[index].names[origin.port];
        return true;
    }
    return heft_tf_restore_find(r, HEFT_FINDING, target->where,
                                "%.*s takes %.*s, but %.*s reads %" PRIu32 " names",
                                (int)target->by.n, target->by.p, (int)input.n, input.p,
                                (int)origin.node->name.n, origin.node->name.p, r->reads[index].n);
}

static void describe_holder(struct heft_tf_target *target, const struct heft_tf_origin *holder)
{
    const struct heft_tf_node *const node = holder->node;

    if (!node)
        return;
    target->node = node->name;
    target->op = node->op;
    target->variable = node->shared_name.n ? node->shared_name : node->name;
    target->dtype = *target->role ? 0 : node->dtype;
    target->shape = node->shape;
    target->has_shape = node->has_shape && !node->shape.unknown_rank && !*target->role;
}

/* Records that input `value` of a node is assigned to whatever its input 0 holds. */
static bool record_assignment(struct heft_tf_walk *w, uint32_t frame, uint32_t number,
                              uint32_t value, const char *role)
{
    const struct heft_tf_node *const node = heft_tf_walk_node(w, number);
    struct heft_tf_target target = {.role = role};
    struct heft_tf_origin holder;
    struct heft_tf_step step;

    if (!node)
        return false;
    target.by = node->name;
    target.where = where_of(w, number);
    if (value >= node->n_inputs)
        return heft_tf_restore_find(w->r, HEFT_FINDING, target.where, "%.*s has %" PRIu32 " inputs",
                                    (int)node->name.n, node->name.p, node->n_inputs);
    if (!find_name(w, frame, node->inputs[value], &target))
        return false;
    if (!target.name)
        return true;
    if (!heft_tf_walk_follow(w, frame, node->inputs[0], &holder))
        return false;
    describe_holder(&target, &holder);
    step = step_of(w, frame, number, HEFT_RESTORE_ASSIGN);
    return add_target(w, &target, &step) &&
           (holder.node || heft_tf_restore_find(w->r, HEFT_FINDING, target.where,
                                                "%.*s does not assign to a variable",
                                                (int)node->name.n, node->name.p));
}

/* Runs a node that is not a call. */
static bool run_node(struct heft_tf_walk *w, uint32_t frame, uint32_t number)
{
    const enum heft_tf_role role = heft_tf_walk_role(w, number);
    uint32_t index;

    if (is_read(role))
        return read_of(w, frame, number, &index);
    if (role == HEFT_TF_ROLE_ASSIGN)
        return record_assignment(w, frame, number, 1, "");
    return role != HEFT_TF_ROLE_IMPORT || (record_assignment(w, frame, number, 1, "keys") &&
                                           record_assignment(w, frame, number, 2, "values"));
}

/* ---- running functions ---- */

/* Starts a call; *callee is HEFT_NONE if the function has nothing to run. */
static bool begin_call(struct heft_tf_walk *w, uint32_t frame, uint32_t number, uint32_t *callee)
{
    const struct heft_tf_node *const node = heft_tf_walk_node(w, number);
    struct heft_tf_restore *const r = w->r;
    struct heft_tf_step step;
    uint32_t function;

    *callee = HEFT_NONE;
    if (!node)
        return false;
    function = heft_tf_walk_callee(w, node);
    if (function == HEFT_MAP_NONE)
        return heft_tf_restore_find(
            r, HEFT_FINDING, where_of(w, number), "%.*s calls \"%.*s\", which is not a function",
            (int)node->name.n, node->name.p, (int)node->func.n, node->func.p);
    if (!heft_tf_walk_enter(w, frame, number, callee))
        return false;
    if (w->frames[*callee].has_run) {
        *callee = HEFT_NONE;
        return true;
    }
    w->frames[*callee].has_run = true;
    w->frames[*callee].runner = frame;
    w->frames[*callee].next = 0;
    step = step_of(w, frame, number, HEFT_RESTORE_CALL);
    step.text = heft_tf_restore_text(r, "calls %.*s", (int)r->graph->functions[function].name.n,
                                     r->graph->functions[function].name.p);
    return step.text && heft_tf_restore_step(r, &step);
}

/* Runs all nodes of a function and of the functions it calls. */
static bool run_call(struct heft_tf_walk *w, uint32_t frame, uint32_t number)
{
    const struct heft_tf_graph *const g = w->r->graph;
    uint32_t at, callee;

    if (!begin_call(w, frame, number, &at))
        return false;
    while (at != HEFT_NONE && at != frame) {
        const struct heft_tf_function *const f = &g->functions[w->frames[at].function];
        const uint32_t next = w->frames[at].next++;
        const uint32_t inner = (uint32_t)g->n_nodes + f->first + next;

        if (next >= f->n) {
            at = w->frames[at].runner;
            continue;
        }
        if (!heft_tf_walk_tire(w))
            return false;
        if (heft_tf_walk_role(w, inner) != HEFT_TF_ROLE_CALL) {
            if (!run_node(w, at, inner))
                return false;
            continue;
        }
        if (!begin_call(w, at, inner, &callee))
            return false;
        at = callee == HEFT_NONE ? at : callee;
    }
    return true;
}

/* ---- running the dependencies of the restore op ---- */

struct pending {
    uint32_t number, next; /* next: the input to be visited next */
};
struct descent {
    struct heft_tf_walk *w;
    struct pending *stack;
    size_t n, cap;
    uint8_t *seen;
};

static bool push_node(struct descent *d, uint32_t number)
{
    if (d->seen[number])
        return true;
    d->seen[number] = 1;
    if (!heft_grow(&d->stack, &d->cap, d->n, 1, sizeof *d->stack, d->w->err) ||
        !heft_tf_walk_node(d->w, number))
        return false;
    d->stack[d->n++] = (struct pending){.number = number};
    return true;
}

/* Descends to the node that an input refers to. */
static bool push_input(struct descent *d, const struct heft_tf_node *node, struct heft_str input)
{
    struct heft_tf_restore *const r = d->w->r;
    struct heft_str name = input;
    const char *colon;
    uint32_t number;

    if (name.n && *name.p == '^')
        name = (struct heft_str){name.p + 1, name.n - 1};
    colon = name.n ? memchr(name.p, ':', name.n) : NULL;
    name.n = colon ? (size_t)(colon - name.p) : name.n;
    number = heft_tf_graph_node(r->graph, name);
    if (number != HEFT_MAP_NONE)
        return push_node(d, number);
    return heft_tf_restore_find(r, HEFT_FINDING, HEFT_NO_OFFSET,
                                "%.*s has an input \"%.*s\", which is not a node",
                                (int)node->name.n, node->name.p, (int)input.n, input.p);
}

/* Records a NoOp with the nodes it waits for: "^save/Assign, ^save/Assign_1 and 3 more". */
static bool add_waiting(struct heft_tf_walk *w, uint32_t number)
{
    const struct heft_tf_node *const node = w->nodes[number];
    const uint32_t n = node->n_inputs, more = n > 2 ? n - 2 : 0;
    struct heft_tf_step step = step_of(w, 0, number, HEFT_RESTORE_WAIT);
    const struct heft_str first = n ? node->inputs[0] : HEFT_STR("nothing");
    const struct heft_str second = n > 1 ? node->inputs[1] : HEFT_STR("");

    step.text = heft_tf_restore_text(
        w->r, more ? "waits for %.*s%s%.*s and %" PRIu32 " more" : "waits for %.*s%s%.*s",
        (int)first.n, first.p, n > 1 ? ", " : "", (int)second.n, second.p, more);
    return step.text && heft_tf_restore_step(w->r, &step) &&
           heft_tf_restore_weigh(w->r, step.where);
}

static bool run_visited(struct descent *d, uint32_t number)
{
    if (heft_str_is(d->w->nodes[number]->op, "NoOp"))
        return add_waiting(d->w, number);
    return heft_tf_walk_role(d->w, number) == HEFT_TF_ROLE_CALL ? run_call(d->w, 0, number)
                                                                : run_node(d->w, 0, number);
}

static bool run_graph(struct descent *d, uint32_t first)
{
    bool ok = push_node(d, first);

    while (ok && d->n) {
        struct pending *const top = &d->stack[d->n - 1];
        const struct heft_tf_node *const node = d->w->nodes[top->number];

        if (top->next < node->n_inputs) {
            ok = push_input(d, node, node->inputs[top->next++]);
        } else {
            d->n--;
            ok = run_visited(d, top->number);
        }
    }
    return ok;
}

/* The node of the restore op: "save/restore_all", also written "save/restore_all:0". */
static uint32_t restore_node(const struct heft_tf_restore *r)
{
    struct heft_str name = r->graph->saver.restore_op;
    const char *const colon = name.n ? memchr(name.p, ':', name.n) : NULL;

    name.n = colon ? (size_t)(colon - name.p) : name.n;
    return heft_tf_graph_node(r->graph, name);
}

bool heft_tf_restore_walk(struct heft_tf_restore *r)
{
    const uint32_t first = restore_node(r);
    struct heft_tf_walk w = {.r = r};
    struct descent d = {.w = &w};
    bool ok;

    if (first == HEFT_MAP_NONE)
        return heft_tf_restore_find(
            r, HEFT_FINDING, r->graph->at.off, "the restore op \"%.*s\" is not a node",
            (int)r->graph->saver.restore_op.n, r->graph->saver.restore_op.p);
    ok = heft_tf_walk_init(&w, r);
    d.seen = ok ? heft_calloc(r->graph->n_nodes, 1, r->err) : NULL;
    ok = d.seen && run_graph(&d, first);
    heft_free(d.seen);
    heft_free(d.stack);
    heft_tf_walk_release(&w);
    return ok;
}
