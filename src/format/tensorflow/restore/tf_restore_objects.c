/* tf_restore_objects.c: matches the objects of a SavedModel with those of its checkpoint.
 *
 *     SavedObjectGraph        the objects: variables with dtype, shape and name
 *     TrackableObjectGraph    the keys under which they were saved
 *
 * Both graphs are walked from node 0 along equal child names; node numbers differ. In this way
 * variables find their keys without the restore op, as in TensorFlow 2's loader. The result must
 * agree with the restore op. */
#include "format/tensorflow/restore/tf_restore.h"
#include "format/tensorflow/bundle/tf_trackable.h"

enum { OBJECT_SLOT = 3, SLOT_VARIABLE = 1, SLOT_NAME, SLOT_NODE };
#define VARIABLE_VALUE "VARIABLE_VALUE"
#define MOST_PATH      4096

struct pair {
    uint32_t other;  /* object of the checkpoint; HEFT_NONE if unmatched */
    uint32_t parent; /* HEFT_NONE for the root */
    struct heft_str name;
};
struct objects {
    struct heft_tf_restore *r;
    struct heft_tf_trackables there;
    struct pair *pairs; /* one for each object of the SavedModel */
    uint8_t *taken;     /* objects of the checkpoint that are matched */
    uint32_t *queue;
    size_t n_queue;
    struct heft_arena scratch;
    struct heft_strmap names;  /* children or slots of one object */
    struct heft_strmap keys;   /* keys of all attributes */
    struct heft_strmap owners; /* key → object of the SavedModel */
    struct heft_strmap wanted; /* key → first target that reads it */
    struct heft_error *err;
};

/* ---- matching objects ---- */

static bool match_pair(struct objects *o, uint32_t parent, struct heft_str name, int64_t mine,
                       int64_t theirs)
{
    if (mine < 0 || (uint64_t)mine >= o->r->graph->n_objects || theirs < 0 ||
        (uint64_t)theirs >= o->there.n_nodes || o->pairs[mine].other != HEFT_NONE ||
        o->taken[theirs])
        return false;
    o->pairs[mine] = (struct pair){(uint32_t)theirs, parent, name};
    o->taken[theirs] = 1;
    o->queue[o->n_queue++] = (uint32_t)mine;
    return true;
}

static bool index_children(struct objects *o, const struct heft_tf_trackable_node *node)
{
    uint32_t found;

    heft_strmap_release(&o->names);
    for (uint32_t i = 0; i < node->n_children; i++)
        if (!heft_strmap_add(&o->names, o->there.children[node->children + i].name,
                             node->children + i, &found, o->err))
            return false;
    return true;
}

static bool match_children(struct objects *o, uint32_t mine)
{
    const struct heft_tf_object *const object = &o->r->graph->objects[mine];

    if (!index_children(o, &o->there.nodes[o->pairs[mine].other]))
        return false;
    for (uint32_t i = 0; i < object->n_children; i++) {
        const struct heft_tf_child *const child = &o->r->graph->children[object->first_child + i];
        const uint32_t found = heft_strmap_get(&o->names, child->name);

        if (found != HEFT_MAP_NONE)
            (void)match_pair(o, mine, child->name, child->node, o->there.children[found].node);
    }
    return true;
}

/* Builds the lookup key of a slot from its variable and its name. */
static bool slot_key(struct objects *o, int64_t variable, struct heft_str name,
                     struct heft_str *out)
{
    const size_t n = sizeof variable + name.n;
    char *const key = heft_arena_alloc(&o->scratch, n, o->err);

    if (!key)
        return false;
    memcpy(key, &variable, sizeof variable);
    if (name.n)
        memcpy(key + sizeof variable, name.p, name.n);
    *out = (struct heft_str){key, n};
    return true;
}

static bool index_slots(struct objects *o, const struct heft_tf_trackable_node *node)
{
    struct heft_str key;
    uint32_t found;

    heft_strmap_release(&o->names);
    for (uint32_t i = 0; i < node->n_slots; i++) {
        const struct heft_tf_trackable_slot *const slot = &o->there.slots[node->slots + i];

        if (!slot_key(o, slot->variable, slot->name, &key) ||
            !heft_strmap_add(&o->names, key, node->slots + i, &found, o->err))
            return false;
    }
    return true;
}

struct slot {
    int64_t variable, node;
    struct heft_str name;
};

static bool read_slot(struct objects *o, struct heft_proto *p, struct slot *slot)
{
    uint32_t number;
    bool ok = true;

    *slot = (struct slot){.name = HEFT_STR("")};
    while (ok && (number = heft_proto_pull(p))) {
        if (number == SLOT_VARIABLE)
            slot->variable = heft_proto_i64(p);
        else if (number == SLOT_NODE)
            slot->node = heft_proto_i64(p);
        else
            ok = number == SLOT_NAME ? heft_tf_text(p, &o->scratch, &slot->name)
                                     : heft_proto_pass(p);
    }
    return ok && !p->failed;
}

/* Matches the checkpoint's slot of the same variable and name. */
static bool match_slot(struct objects *o, uint32_t mine, const struct slot *slot)
{
    struct heft_str key;
    uint32_t found;

    if (slot->variable < 0 || (uint64_t)slot->variable >= o->r->graph->n_objects ||
        o->pairs[slot->variable].other == HEFT_NONE)
        return true;
    if (!slot_key(o, (int64_t)o->pairs[slot->variable].other, slot->name, &key))
        return false;
    found = heft_strmap_get(&o->names, key);
    if (found != HEFT_MAP_NONE)
        (void)match_pair(o, mine, slot->name, slot->node, o->there.slots[found].node);
    return true;
}

static bool match_slots(struct objects *o, uint32_t mine)
{
    const struct heft_tf_range at = o->r->graph->objects[mine].at;
    struct heft_proto p;
    struct slot slot;
    uint32_t number;
    bool ok = index_slots(o, &o->there.nodes[o->pairs[mine].other]);

    if (!ok || o->names.count == 0)
        return ok;
    ok = heft_proto_open(&p, &o->r->saved->doc, at.off, at.len, &heft_tf_saved_object, o->err);
    while (ok && (number = heft_proto_pull(&p)))
        ok = number == OBJECT_SLOT ? read_slot(o, &p, &slot) && match_slot(o, mine, &slot)
                                   : heft_proto_pass(&p);
    ok = ok && !p.failed;
    heft_proto_close(&p);
    return ok;
}

/* Matches all objects: children first, because slots refer to matched variables. */
static bool match_all(struct objects *o)
{
    size_t met;

    (void)match_pair(o, HEFT_NONE, HEFT_STR(""), 0, 0);
    for (size_t i = 0; i < o->n_queue; i++)
        if (!match_children(o, o->queue[i]))
            return false;
    met = o->n_queue;
    for (size_t i = 0; i < met; i++)
        if (!match_slots(o, o->queue[i]))
            return false;
    return true;
}

/* ---- keys of the objects ---- */

/* Collects the keys of the checkpoint's objects and their owners. */
static bool index_keys(struct objects *o)
{
    uint32_t found;

    for (size_t i = 0; i < o->there.n_values; i++)
        if (!heft_strmap_add(&o->keys, o->there.values[i].key, (uint32_t)i, &found, o->err))
            return false;
    for (size_t k = 0; k < o->n_queue; k++) {
        const struct heft_tf_trackable_node *const node =
            &o->there.nodes[o->pairs[o->queue[k]].other];

        for (uint32_t i = 0; i < node->n_values; i++)
            if (!heft_strmap_add(&o->owners, o->there.values[node->values + i].key, o->queue[k],
                                 &found, o->err))
                return false;
    }
    return true;
}

/* Object path such as "layers/0/kernel"; "" if it is unreasonably long. */
static bool path_of(struct objects *o, uint32_t mine, struct heft_str *out)
{
    char path[MOST_PATH];
    size_t at = sizeof path;
    char *kept;

    for (uint32_t i = mine; o->pairs[i].parent != HEFT_NONE; i = o->pairs[i].parent) {
        const struct heft_str name = o->pairs[i].name;

        if (name.n + 1 > at) {
            *out = HEFT_STR("");
            return true;
        }
        if (at < sizeof path)
            path[--at] = '/';
        at -= name.n;
        if (name.n)
            memcpy(path + at, name.p, name.n);
    }
    kept = heft_arena_text(&o->r->mem, (struct heft_str){path + at, sizeof path - at}, o->err);
    *out = (struct heft_str){kept, sizeof path - at};
    return kept && heft_tf_restore_weigh(o->r, o->r->graph->at.off);
}

/* Key as the objects have it: a table's "t-keys" and "t-values" belong to "t". */
static struct heft_str object_key(const struct heft_tf_target *target)
{
    const struct heft_str key = target->name->key;
    const size_t n = strlen(target->role);

    if (n && key.n > n && heft_str_ends(key, target->role) && key.p[key.n - n - 1] == '-')
        return (struct heft_str){key.p, key.n - n - 1};
    return key;
}

static bool name_targets(struct objects *o)
{
    struct heft_tf_restore *const r = o->r;
    uint32_t found;

    for (size_t i = 0; i < r->n_targets; i++) {
        struct heft_tf_target *const target = &r->targets[i];
        const struct heft_str key = object_key(target);
        const uint32_t owner = heft_strmap_get(&o->owners, key);

        if (!heft_strmap_add(&o->wanted, target->name->key, (uint32_t)i, &found, o->err))
            return false;
        if (owner != HEFT_MAP_NONE && !path_of(o, owner, &target->object))
            return false;
        if (owner == HEFT_MAP_NONE && heft_strmap_get(&o->keys, key) == HEFT_MAP_NONE &&
            !heft_tf_restore_find(r, HEFT_NOTE, target->where,
                                  "%.*s is restored from %.*s, which belongs to no object",
                                  (int)target->variable.n, target->variable.p,
                                  (int)target->name->key.n, target->name->key.p))
            return false;
    }
    return true;
}

/* ---- comparing variables ---- */

static const struct heft_tf_trackable_value *value_of(const struct objects *o, uint32_t mine)
{
    const struct heft_tf_trackable_node *const node = &o->there.nodes[o->pairs[mine].other];

    for (uint32_t i = 0; i < node->n_values; i++)
        if (heft_str_is(o->there.values[node->values + i].name, VARIABLE_VALUE))
            return &o->there.values[node->values + i];
    return NULL;
}

static bool same_shape(const struct heft_tf_shape *a, const struct heft_tf_shape *b)
{
    if (a->unknown_rank || b->unknown_rank)
        return true;
    if (a->rank != b->rank)
        return false;
    for (uint32_t i = 0; i < a->rank; i++)
        if (a->dims[i] >= 0 && b->dims[i] >= 0 && a->dims[i] != b->dims[i])
            return false;
    return true;
}

static bool compare_variable(struct objects *o, const struct heft_tf_variable *variable,
                             const struct heft_tf_trackable_value *value, uint64_t where)
{
    struct heft_tf_restore *const r = o->r;
    const uint32_t index = heft_strmap_get(&o->wanted, value->key);
    const struct heft_tf_target *target;

    if (index == HEFT_MAP_NONE)
        return heft_tf_restore_find(
            r, HEFT_FINDING, where,
            "the objects restore \"%.*s\" from %.*s, which the restore op assigns to no variable",
            (int)variable->name.n, variable->name.p, (int)value->key.n, value->key.p);
    target = &r->targets[index];
    if (target->dtype && variable->dtype && target->dtype != variable->dtype)
        return heft_tf_restore_find(r, HEFT_FINDING, where,
                                    "%.*s: the dtype in the graph differs from that of its object",
                                    (int)target->variable.n, target->variable.p);
    if (target->has_shape && !same_shape(&target->shape, &variable->shape))
        return heft_tf_restore_find(r, HEFT_FINDING, where,
                                    "%.*s: the shape in the graph differs from that of its object",
                                    (int)target->variable.n, target->variable.p);
    return true;
}

static bool check_variable(struct objects *o, uint32_t mine, uint8_t *used)
{
    const struct heft_tf_range at = o->r->graph->objects[mine].at;
    const struct heft_tf_trackable_value *const value = value_of(o, mine);
    struct heft_tf_variable variable;
    uint32_t row;

    if (!heft_tf_variable_read(&o->r->saved->doc, at, &o->scratch, &variable, o->err))
        return false;
    if (!value)
        return heft_tf_restore_find(o->r, HEFT_NOTE, at.off,
                                    "the object of \"%.*s\" has no key in the checkpoint",
                                    (int)variable.name.n, variable.name.p);
    row = heft_model_row(o->r->model, value->key);
    if (row == HEFT_NONE)
        return heft_tf_restore_find(
            o->r, HEFT_FINDING, at.off,
            "the objects restore \"%.*s\" from %.*s, which is not in the checkpoint",
            (int)variable.name.n, variable.name.p, (int)value->key.n, value->key.p);
    used[row] = 1;
    return compare_variable(o, &variable, value, at.off);
}

static bool check_variables(struct objects *o, uint8_t *used)
{
    const struct heft_tf_graph *const g = o->r->graph;

    for (uint32_t i = 0; i < g->n_objects; i++) {
        if (g->objects[i].kind != HEFT_TF_VARIABLE)
            continue;
        if (o->pairs[i].other != HEFT_NONE) {
            if (!check_variable(o, i, used))
                return false;
        }
    }
    return true;
}

/* ---- comparing names ---- */

/* Strips the suffix "_1", "_2", … by which TensorFlow makes names unique. */
static struct heft_str base_name(struct heft_str name)
{
    size_t n = name.n;

    while (n && name.p[n - 1] >= '0' && name.p[n - 1] <= '9')
        n--;
    return n > 1 && n < name.n && name.p[n - 1] == '_' ? (struct heft_str){name.p, n - 1} : name;
}

#define TWICE (HEFT_MAP_NONE - 1)

static bool note_name(struct objects *o, struct heft_strmap *map, struct heft_str name,
                      uint32_t value)
{
    const struct heft_str base = base_name(name);

    return heft_strmap_set(map, base, heft_strmap_get(map, base) == HEFT_MAP_NONE ? value : TWICE,
                           o->err);
}

/* Compares names that are unique both in the graph and among the objects: they must be the same
 * variable. */
static bool check_names(struct objects *o, struct heft_strmap *in_graph, struct heft_strmap *named)
{
    const struct heft_tf_restore *const r = o->r;

    for (size_t i = 0; i < r->n_targets; i++) {
        const struct heft_str name = r->targets[i].variable;
        const uint32_t mine = heft_strmap_get(named, base_name(name));
        const struct heft_tf_trackable_value *value;

        if (heft_strmap_get(in_graph, base_name(name)) != i || mine >= TWICE)
            continue;
        value = value_of(o, mine);
        if (value && !heft_str_eq(value->key, r->targets[i].name->key) &&
            !heft_tf_restore_find(o->r, HEFT_FINDING, r->targets[i].where,
                                  "%.*s is restored from %.*s, its object from %.*s", (int)name.n,
                                  name.p, (int)r->targets[i].name->key.n, r->targets[i].name->key.p,
                                  (int)value->key.n, value->key.p))
            return false;
    }
    return true;
}

static bool compare_names(struct objects *o)
{
    const struct heft_tf_graph *const g = o->r->graph;
    struct heft_strmap in_graph = {0}, named = {0};
    struct heft_tf_variable variable;
    bool ok = true;

    for (size_t i = 0; ok && i < o->r->n_targets; i++)
        ok = note_name(o, &in_graph, o->r->targets[i].variable, (uint32_t)i);
    for (uint32_t i = 0; ok && i < g->n_objects; i++)
        ok = g->objects[i].kind != HEFT_TF_VARIABLE || o->pairs[i].other == HEFT_NONE ||
             (heft_tf_variable_read(&o->r->saved->doc, g->objects[i].at, &o->scratch, &variable,
                                    o->err) &&
              note_name(o, &named, variable.name, i));
    ok = ok && check_names(o, &in_graph, &named);
    heft_strmap_release(&in_graph);
    heft_strmap_release(&named);
    return ok;
}

/* ---- the comparison as a whole ---- */

static bool compare_objects(struct objects *o, uint8_t *used)
{
    const size_t mine = o->r->graph->n_objects;

    o->pairs = heft_calloc(mine, sizeof *o->pairs, o->err);
    o->queue = o->pairs ? heft_calloc(mine, sizeof *o->queue, o->err) : NULL;
    o->taken = o->queue ? heft_calloc(o->there.n_nodes + 1, 1, o->err) : NULL;
    for (size_t i = 0; o->taken && i < mine; i++)
        o->pairs[i].other = HEFT_NONE;
    return o->taken && match_all(o) && index_keys(o) && name_targets(o) &&
           check_variables(o, used) && compare_names(o);
}

/* Reads the checkpoint's object graph. Objects that cannot be read are a fault of the checkpoint,
 * and the comparison is skipped. */
static bool read_objects(struct objects *o, uint32_t row, bool *is_there)
{
    const uint32_t source = o->r->model->storages[o->r->model->rows[row].storage].source;
    struct heft_error found = {0};

    *is_there = heft_tf_trackables_read(&o->there, o->r->model, row, &found);
    if (*is_there)
        return true;
    if (found.code != HEFT_MALFORMED && found.code != HEFT_LIMIT) {
        *o->err = found;
        return false;
    }
    if (!heft_tf_restore_find(o->r, HEFT_FINDING, found.offset,
                              "the checkpoint's objects cannot be compared: %s", found.text))
        return false;
    o->r->findings[o->r->n_findings - 1].source = source;
    return true;
}

bool heft_tf_restore_objects(struct heft_tf_restore *r, uint8_t *used)
{
    const uint32_t row = heft_model_row(r->model, HEFT_STR(HEFT_TF_OBJECT_KEY));
    struct objects o = {.r = r, .err = r->err};
    bool ok, is_there;

    if (row == HEFT_NONE || r->graph->n_objects == 0 ||
        r->model->storages[r->model->rows[row].storage].is_missing)
        return true;
    ok = read_objects(&o, row, &is_there) && (!is_there || compare_objects(&o, used));
    heft_tf_trackables_release(&o.there);
    heft_free(o.pairs);
    heft_free(o.queue);
    heft_free(o.taken);
    heft_strmap_release(&o.names);
    heft_strmap_release(&o.keys);
    heft_strmap_release(&o.owners);
    heft_strmap_release(&o.wanted);
    heft_arena_release(&o.scratch);
    return ok;
}
