/* tf_write_objects.c: the object graph that tf.train.Checkpoint restores by, made from names.
 *
 *     "dense/kernel"      root -- "dense" --> node -- "kernel" --> node with the attribute
 *     "dense.kernel"          VARIABLE_VALUE at "dense/kernel/.ATTRIBUTES/VARIABLE_VALUE"
 *
 * Names are split at slashes if any name has one, else at dots. Names that are such keys already
 * are kept, and names of optimizer slots become slots:
 *
 *     V/.OPTIMIZER_SLOT/O/m/.ATTRIBUTES/VARIABLE_VALUE     node O: slot "m" of node V
 *
 * A save_counter of 1 is added if there is none. */
#include "base/checksum.h"
#include "base/endian.h"
#include "format/tensorflow/write/tf_write.h"
#include "wire/proto_write.h"
#include "wire/sstable_write.h"

#define GRAPH     "_CHECKPOINTABLE_OBJECT_GRAPH"
#define ATTRIBUTE "/.ATTRIBUTES/VARIABLE_VALUE"
#define COUNTER   "save_counter"
#define SLOT      "/.OPTIMIZER_SLOT/"
#define MAX_PARTS 256 /* most nested objects in a name */

/* ---- nodes and children ------------------------------------------------------------------ */

enum { GRAPH_NODE = 1 };
enum { NODE_CHILD = 1, NODE_ATTRIBUTE, NODE_SLOT, NODE_HAS_VALUES = 5 };
enum { CHILD_NODE = 1, CHILD_NAME };
enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_FULL_NAME, ATTRIBUTE_KEY };
enum { SLOT_ORIGINAL = 1, SLOT_NAME, SLOT_NODE };
enum { BOOL_VALUE = 1 };

struct node {
    struct heft_str name;             /* name in its parent */
    uint32_t first_child, last_child; /* HEFT_NONE if it has none */
    uint32_t next;                    /* next sibling */
    uint32_t first_slot;              /* first slot of this optimizer */
    uint32_t number;                  /* number in the written graph: breadth first */
    struct heft_str full_name, key;   /* names of its variable; key.p is NULL if it has none */
};

struct slot {
    uint32_t original, node, next;
    struct heft_str name;
};

struct graph {
    struct heft_arena *mem;
    struct node *nodes;
    struct slot *slots;
    uint32_t *order; /* nodes sorted by number */
    size_t n_nodes, cap_nodes, n_slots, cap_slots;
    struct heft_strmap paths; /* path as spelled in the names → node */
    char separator;
    struct heft_error *err;
};

#define NODE_BYTES (sizeof(struct node) + 36) /* of a node, and of its path in the hash table */

static bool new_node(struct graph *g, struct heft_str name, uint32_t *index)
{
    if (!heft_budget_take(g->mem->budget, NODE_BYTES, g->err) ||
        !heft_grow(&g->nodes, &g->cap_nodes, g->n_nodes, 1, sizeof *g->nodes, g->err))
        return false;
    *index = (uint32_t)g->n_nodes++;
    g->nodes[*index] = (struct node){.name = name,
                                     .first_child = HEFT_NONE,
                                     .last_child = HEFT_NONE,
                                     .next = HEFT_NONE,
                                     .first_slot = HEFT_NONE};
    return true;
}

static bool new_child(struct graph *g, uint32_t parent, struct heft_str name, uint32_t *index)
{
    struct node *p;

    if (!new_node(g, name, index))
        return false;
    p = &g->nodes[parent];
    if (p->last_child == HEFT_NONE)
        p->first_child = *index;
    else
        g->nodes[p->last_child].next = *index;
    p->last_child = *index;
    return true;
}

/* ---- variables from their names ---------------------------------------------------------- */

/* Appends an escaped name: in keys a dot is doubled, and a slash becomes ".S". */
static bool put_escaped(struct graph *g, struct heft_str name, struct heft_buf *out)
{
    for (size_t i = 0; i < name.n; i++) {
        if (name.p[i] == '.' || name.p[i] == '/')
            heft_buf_char(out, '.');
        heft_buf_char(out, name.p[i] == '/' ? 'S' : name.p[i]);
    }
    return heft_buf_ok(out, g->err);
}

static bool unescape_name(struct graph *g, struct heft_str *name)
{
    char *text;
    size_t n = 0;

    if (!memchr(name->p, '.', name->n))
        return true;
    text = heft_arena_text(g->mem, *name, g->err);
    for (size_t i = 0; text && i < name->n; i++) {
        const char next = i + 1 < name->n ? name->p[i + 1] : '\0';

        text[n++] = name->p[i] == '.' && next == 'S' ? '/' : name->p[i];
        i += name->p[i] == '.' && (next == 'S' || next == '.');
    }
    *name = (struct heft_str){text, n};
    return text != NULL;
}

/* End of the part that begins at `at`. */
static size_t part_end(struct heft_str path, size_t at, char separator)
{
    const char *end = memchr(path.p + at, separator, path.n - at);

    return end ? (size_t)(end - path.p) : path.n;
}

static bool refuse_path(struct heft_str path, bool is_empty, struct heft_error *err)
{
    if (is_empty)
        heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                  "its name has an empty part; objects must have names");
    else
        heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET, "its name has more than %d parts, the limit",
                  MAX_PARTS);
    return heft_error_about(err, "tensor", path);
}

/* Returns the node at a path, creating all nodes on the way. is_key: its parts are escaped. */
static bool reach_node(struct graph *g, struct heft_str path, bool is_key, uint32_t *node)
{
    const char separator = is_key ? '/' : g->separator;
    unsigned parts = 0;

    *node = 0;
    for (size_t at = 0, end; at <= path.n; at = end + 1) {
        const uint32_t parent = *node;
        struct heft_str name;
        uint32_t found;

        end = part_end(path, at, separator);
        name = (struct heft_str){path.p + at, end - at};
        if (name.n == 0 || ++parts > MAX_PARTS)
            return refuse_path(path, name.n == 0, g->err);
        found = heft_strmap_get(&g->paths, (struct heft_str){path.p, end});
        *node = found;
        if (found == HEFT_MAP_NONE &&
            !((!is_key || unescape_name(g, &name)) && new_child(g, parent, name, node) &&
              heft_strmap_set(&g->paths, (struct heft_str){path.p, end}, *node, g->err)))
            return false;
    }
    return true;
}

static const char *find_word(struct heft_str text, const char *word)
{
    const size_t n = strlen(word);

    for (size_t i = 0; i + n <= text.n; i++)
        if (memcmp(text.p + i, word, n) == 0)
            return text.p + i;
    return NULL;
}

/* Returns the node of slot m of variable V at optimizer O, for a key V/.OPTIMIZER_SLOT/O/m. */
static bool reach_slot(struct graph *g, struct heft_str path, const char *mark, uint32_t *node)
{
    const struct heft_str variable = {path.p, (size_t)(mark - path.p)};
    struct heft_str rest = {mark + sizeof SLOT - 1, path.n - variable.n - (sizeof SLOT - 1)};
    struct slot slot = {0};
    uint32_t optimizer;

    slot.name = rest;
    while (rest.n && rest.p[rest.n - 1] != '/')
        rest.n--;
    if (rest.n == 0)
        return heft_fail(g->err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "slot variable refers to an unknown optimizer") ||
               heft_error_about(g->err, "tensor", path);
    slot.name = (struct heft_str){rest.p + rest.n, slot.name.n - rest.n};
    rest.n--;
    if (!unescape_name(g, &slot.name) || !reach_node(g, variable, true, &slot.original) ||
        !reach_node(g, rest, true, &optimizer) || !new_node(g, slot.name, node) ||
        !heft_budget_take(g->mem->budget, sizeof slot, g->err) ||
        !heft_grow(&g->slots, &g->cap_slots, g->n_slots, 1, sizeof *g->slots, g->err))
        return false;
    slot.node = *node;
    slot.next = g->nodes[optimizer].first_slot;
    g->nodes[optimizer].first_slot = (uint32_t)g->n_slots;
    g->slots[g->n_slots++] = slot;
    return true;
}

/* Builds the key of a plain name from its escaped parts. */
static bool make_key(struct graph *g, struct heft_str name, struct heft_str *key)
{
    struct heft_buf buf = {0};

    for (size_t at = 0, end; at <= name.n; at = end + 1) {
        end = part_end(name, at, g->separator);
        if (at)
            heft_buf_char(&buf, '/');
        if (!put_escaped(g, (struct heft_str){name.p + at, end - at}, &buf)) {
            heft_buf_release(&buf);
            return false;
        }
    }
    heft_buf_text(&buf, ATTRIBUTE);
    return heft_buf_take(&buf, g->mem, key, g->err);
}

/* Renames the item to its key and adds a node for it. */
static bool add_variable(struct graph *g, struct heft_export_item *item)
{
    const struct heft_str name = item->name;
    struct heft_str path = name, key = name;
    const bool is_key = heft_str_ends(name, ATTRIBUTE);
    const char *mark;
    uint32_t node = 0;

    if (is_key)
        path.n -= sizeof ATTRIBUTE - 1;
    mark = is_key ? find_word(path, SLOT) : NULL;
    if (mark ? !reach_slot(g, path, mark, &node) : !reach_node(g, path, is_key, &node))
        return false;
    if (!is_key && !make_key(g, name, &key))
        return false;
    g->nodes[node].full_name = is_key ? HEFT_STR("") : name;
    g->nodes[node].key = key;
    item->name = key;
    return true;
}

/* ---- the TrackableObjectGraph message ---------------------------------------------------- */

static bool number_nodes(struct graph *g)
{
    uint32_t n = 1;

    g->order = heft_arena_zero(g->mem, g->n_nodes, sizeof *g->order, g->err);
    for (uint32_t i = 0; g->order && i < n; i++) {
        const uint32_t at = g->order[i];

        g->nodes[at].number = i;
        for (uint32_t c = g->nodes[at].first_child; c != HEFT_NONE; c = g->nodes[c].next)
            g->order[n++] = c;
    }
    for (size_t i = 0; g->order && i < g->n_slots; i++) { /* slots are not children of a node */
        g->nodes[g->slots[i].node].number = n;
        g->order[n++] = g->slots[i].node;
    }
    return g->order != NULL;
}

static void put_reference(struct heft_buf *buf, unsigned field, uint32_t number)
{
    if (number)
        heft_proto_put_number(buf, field, number);
}

static void put_node(const struct graph *g, const struct node *node, struct heft_buf *buf)
{
    const size_t begin = heft_proto_put_begin(buf, GRAPH_NODE);
    size_t mark;

    for (uint32_t c = node->first_child; c != HEFT_NONE; c = g->nodes[c].next) {
        mark = heft_proto_put_begin(buf, NODE_CHILD);
        put_reference(buf, CHILD_NODE, g->nodes[c].number);
        heft_proto_put_bytes(buf, CHILD_NAME, g->nodes[c].name);
        heft_proto_put_end(buf, mark);
    }
    if (node->key.p) {
        mark = heft_proto_put_begin(buf, NODE_ATTRIBUTE);
        heft_proto_put_bytes(buf, ATTRIBUTE_NAME, HEFT_STR("VARIABLE_VALUE"));
        if (node->full_name.n)
            heft_proto_put_bytes(buf, ATTRIBUTE_FULL_NAME, node->full_name);
        heft_proto_put_bytes(buf, ATTRIBUTE_KEY, node->key);
        heft_proto_put_end(buf, mark);
    }
    for (uint32_t s = node->first_slot; s != HEFT_NONE; s = g->slots[s].next) {
        mark = heft_proto_put_begin(buf, NODE_SLOT);
        put_reference(buf, SLOT_ORIGINAL, g->nodes[g->slots[s].original].number);
        heft_proto_put_bytes(buf, SLOT_NAME, g->slots[s].name);
        put_reference(buf, SLOT_NODE, g->nodes[g->slots[s].node].number);
        heft_proto_put_end(buf, mark);
    }
    mark = heft_proto_put_begin(buf, NODE_HAS_VALUES);
    heft_proto_put_number(buf, BOOL_VALUE, 1);
    heft_proto_put_end(buf, mark);
    heft_proto_put_end(buf, begin);
}

static bool add_graph(struct heft_tf_out *out, struct graph *g)
{
    struct heft_tf_piece piece = {
        .item.name = HEFT_STR(GRAPH), .put_as = HEFT_STRING, .of = HEFT_NONE, .has_crc = true};
    struct heft_buf buf = {.budget = g->mem->budget};
    bool ok;

    for (size_t i = 0; i < g->n_nodes; i++)
        put_node(g, &g->nodes[g->order[i]], &buf);
    ok = heft_buf_ok(&buf, g->err) &&
         heft_tf_put_string((struct heft_str){buf.p, buf.n}, g->mem, &piece.put, &piece.crc,
                            g->err) &&
         heft_tf_out_piece(out, &piece, g->err);
    heft_buf_release(&buf);
    return ok;
}

/* Adds the counter: tf.train.Checkpoint counts its saves in a variable of the root, which restore()
 * expects. */
static bool add_counter(struct heft_tf_out *out, struct graph *g)
{
    static const char one[8] = {1};
    const struct heft_str name = HEFT_STR(COUNTER);
    const struct heft_tf_piece piece = {
        .item.name = HEFT_STR(COUNTER ATTRIBUTE),
        .put = {one, sizeof one},
        .put_as = HEFT_I64,
        .of = HEFT_NONE,
        .crc = heft_crc_mask(heft_crc32c(0, one, sizeof one)),
        .has_crc = true,
    };
    uint32_t node = 0;

    if (heft_strmap_get(&g->paths, name) != HEFT_MAP_NONE)
        return true;
    if (!new_child(g, 0, name, &node))
        return false;
    g->nodes[node].full_name = name;
    g->nodes[node].key = piece.item.name;
    return heft_tf_out_piece(out, &piece, g->err);
}

size_t heft_tf_count_keys(const struct heft_export_list *exports)
{
    size_t n = 0;

    for (size_t i = 0; i < exports->n_items; i++) {
        if (heft_str_is(exports->items[i].name, GRAPH))
            return 0;
        n += heft_str_ends(exports->items[i].name, ATTRIBUTE);
    }
    return n;
}

static char choose_separator(const struct heft_export_list *exports)
{
    for (size_t i = 0; i < exports->n_items; i++)
        if (memchr(exports->items[i].name.p, '/', exports->items[i].name.n))
            return '/';
    return '.';
}

/* Adds all items but an existing object graph, which describes other names. */
static bool add_variables(struct heft_tf_out *out, struct graph *g)
{
    uint32_t root;

    if (!new_node(g, HEFT_STR(""), &root))
        return false;
    for (uint32_t i = 0; i < out->exports->n_items; i++) {
        struct heft_export_item *const item = &out->exports->items[i];

        if (!heft_str_is(item->name, GRAPH) &&
            (!add_variable(g, item) || !heft_tf_out_item(out, i, g->err)))
            return false;
    }
    return true;
}

bool heft_tf_out_objects(struct heft_tf_out *out, struct heft_error *err)
{
    struct graph g = {
        .mem = out->plan->mem, .separator = choose_separator(out->exports), .err = err};
    const bool ok =
        add_variables(out, &g) && add_counter(out, &g) && number_nodes(&g) && add_graph(out, &g);

    heft_budget_return(g.mem->budget, g.n_nodes * NODE_BYTES + g.n_slots * sizeof *g.slots);
    heft_strmap_release(&g.paths);
    heft_free(g.nodes);
    heft_free(g.slots);
    return ok;
}
