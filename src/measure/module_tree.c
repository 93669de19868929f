/* module_tree.c: builds a radix tree (Morrison 1968) of the components of names.
 *
 *     insert a.b.c               root ─ a.b.c
 *     insert a.b.d               root ─ a.b ─ c        the text is split where the names part
 *                                           └ d
 *
 * A hash table finds the child of a node that begins with a component: names are inserted in time
 * that is linear in their bytes, in memory that does not depend on their depth. The last component
 * of a name is a tensor; it is never equal to that of a module of the same name. */
#include "measure/module_parts.h"

#include "core/registry.h"
#include "core/select.h"

struct builder {
    struct heft_module_tree *tree;
    const struct heft_model *model;
    size_t cap;
    uint32_t *slots; /* nodes but the root; 0: empty */
    size_t n_slots, used;
    uint64_t seed;
    char separator, other; /* the format's, and the other one */
};

/* A name that is being inserted: the component [at, end). */
struct cursor {
    struct heft_str name;
    uint32_t row, at, end;
    char separator;
};

static bool is_last(const struct cursor *c)
{
    return c->end == c->name.n;
}

static uint32_t component_end(struct heft_str name, uint32_t at, uint32_t stop, char separator)
{
    const char *found = at < stop ? memchr(name.p + at, separator, stop - at) : NULL;

    return found ? (uint32_t)(found - name.p) : stop;
}

static void set_component(struct cursor *c, uint32_t at)
{
    c->at = at;
    c->end = component_end(c->name, at, (uint32_t)c->name.n, c->separator);
}

/* ---- hash table -------------------------------------------------------------------------- */

static uint64_t hash_component(const struct builder *b, uint32_t parent, const char *text, size_t n,
                               bool last)
{
    uint64_t hash = heft_mix(b->seed ^ ((uint64_t)parent << 1 | last)), word;

    for (; n >= sizeof word; text += sizeof word, n -= sizeof word) {
        memcpy(&word, text, sizeof word);
        hash = heft_mix(hash ^ word);
    }
    word = n;
    memcpy((char *)&word + 1, text, n);
    return heft_mix(hash ^ word);
}

/* Whether the text of a node begins with the component. */
static bool begins_with(const struct builder *b, const struct heft_module_node *node,
                        const struct cursor *c)
{
    const char *text = b->model->rows[node->row].name.p + node->begin;
    const size_t n = c->end - c->at, length = node->end - node->begin;

    if (length < n || memcmp(text, c->name.p + c->at, n) != 0)
        return false;
    if (length == n)
        return node->is_tensor == is_last(c);
    return text[n] == node->separator && !is_last(c) &&
           (node->separator == c->separator || !memchr(text, node->separator, n));
}

/* Slot of the child of `parent` that begins with the component; an empty one if there is none. */
static uint32_t *find_slot(const struct builder *b, uint32_t parent, const struct cursor *c)
{
    size_t at = (size_t)hash_component(b, parent, c->name.p + c->at, c->end - c->at, is_last(c));

    for (;; at++) {
        uint32_t *slot = &b->slots[at & (b->n_slots - 1)];
        const struct heft_module_node *node = &b->tree->nodes[*slot];

        if (*slot == 0 || (node->parent == parent && begins_with(b, node, c)))
            return slot;
    }
}

/* The first component of a node's text, as a name that is being inserted. */
static struct cursor first_component(const struct builder *b, const struct heft_module_node *node)
{
    struct cursor c = {.name = b->model->rows[node->row].name, .separator = node->separator};

    c.at = node->begin;
    c.end = component_end(c.name, node->begin, node->end, node->separator);
    return c;
}

static void store_node(struct builder *b, uint32_t node)
{
    const struct heft_module_node *n = &b->tree->nodes[node];
    const struct cursor c = first_component(b, n);

    *find_slot(b, n->parent, &c) = node;
    b->used++;
}

/* Makes room for two more nodes, the most that a name adds. */
static bool make_room(struct builder *b, struct heft_error *err)
{
    size_t wanted = b->n_slots ? b->n_slots * 2 : 1024;
    uint32_t *old = b->slots;
    const size_t n_old = b->n_slots;

    if (!heft_grow(&b->tree->nodes, &b->cap, b->tree->n, 2, sizeof *b->tree->nodes, err))
        return false;
    if (b->used + 2 <= b->n_slots / 2)
        return true;
    while (n_old == 0 && wanted / 3 < b->model->n_rows)
        wanted *= 2; /* most names have at most one and a half nodes */
    b->slots = heft_calloc(wanted, sizeof *b->slots, err);
    if (!b->slots) {
        b->slots = old;
        return false;
    }
    b->n_slots = wanted;
    b->used = 0;
    for (size_t i = 0; i < n_old; i++)
        if (old[i])
            store_node(b, old[i]);
    heft_free(old);
    return true;
}

/* ---- inserting --------------------------------------------------------------------------- */

static uint32_t add_node(struct builder *b, const struct heft_module_node *node)
{
    b->tree->nodes[b->tree->n] = *node;
    return (uint32_t)b->tree->n++;
}

static uint32_t add_leaf(struct builder *b, const struct cursor *c, uint32_t parent, uint32_t begin)
{
    return add_node(b, &(struct heft_module_node){.row = c->row,
                                                  .begin = begin,
                                                  .end = (uint32_t)c->name.n,
                                                  .parent = parent,
                                                  .separator = c->separator,
                                                  .is_tensor = true});
}

/* Advances over the components that the name has in common with the node's text, of which the first
 * is known to be equal. Returns the end of the common part in the text. */
static uint32_t match_text(const struct builder *b, const struct heft_module_node *node,
                           struct cursor *c)
{
    const struct heft_str text = b->model->rows[node->row].name;
    uint32_t end = node->begin + (c->end - c->at);

    while (end < node->end && !is_last(c)) {
        const uint32_t stop = component_end(text, end + 1, node->end, node->separator);
        struct cursor next = *c;

        set_component(&next, c->end + 1);
        if (stop - end - 1 != next.end - next.at ||
            memcmp(text.p + end + 1, next.name.p + next.at, next.end - next.at) != 0 ||
            (node->is_tensor && stop == node->end) != is_last(&next))
            break;
        *c = next;
        end = stop;
    }
    return end;
}

/* Splits the text of a node: its beginning becomes a module, whose only child it is then. */
static uint32_t split_node(struct builder *b, uint32_t node, uint32_t at, uint32_t *slot)
{
    struct heft_module_node *n = &b->tree->nodes[node];
    const uint32_t module = add_node(b, &(struct heft_module_node){.row = n->row,
                                                                   .begin = n->begin,
                                                                   .end = at,
                                                                   .parent = n->parent,
                                                                   .separator = n->separator});

    *slot = module;
    n->parent = module;
    n->begin = at + 1;
    store_node(b, node);
    return module;
}

static void insert_name(struct builder *b, struct cursor *c)
{
    uint32_t parent = 0;

    for (;;) {
        const uint32_t begin = c->at;
        uint32_t *slot = find_slot(b, parent, c), end;
        const uint32_t child = *slot;
        const struct heft_module_node *node = &b->tree->nodes[child];

        if (child == 0) {
            store_node(b, add_leaf(b, c, parent, begin));
            return;
        }
        end = match_text(b, node, c);
        if (end == node->end && node->is_tensor) {
            /* "a.b" and "a/b", split alike: the second is not found by its text */
            (void)add_leaf(b, c, parent, begin);
            return;
        }
        parent = end == node->end ? child : split_node(b, child, end, slot);
        set_component(c, c->end + 1);
    }
}

static bool insert_row(struct builder *b, uint32_t row, const char *root, struct heft_error *err)
{
    struct cursor c = {.name = b->model->rows[row].name, .row = row};
    struct heft_str rest;

    if (!make_room(b, err))
        return false;
    (void)heft_name_below(c.name, root, &rest);
    c.separator = rest.n && !memchr(rest.p, b->separator, rest.n) ? b->other : b->separator;
    set_component(&c, (uint32_t)(c.name.n - rest.n));
    insert_name(b, &c);
    return true;
}

/* ---- order ------------------------------------------------------------------------------- */

/* Links the children of each node in the order of their first rows. `heads` has an entry for each
 * row. The nodes of one row lie on one path, so that none of them are siblings. */
static void link_children(struct heft_module_tree *tree, uint32_t *heads, size_t n_rows)
{
    struct heft_module_node *nodes = tree->nodes;

    for (size_t row = 0; row < n_rows; row++)
        heads[row] = HEFT_NONE;
    for (size_t left = tree->n; left > 0; left--) {
        const size_t i = left - 1;

        nodes[i].first_child = nodes[i].last = HEFT_NONE;
        if (i == 0)
            break;
        nodes[i].next = heads[nodes[i].row];
        heads[nodes[i].row] = (uint32_t)i;
    }
    for (size_t row = 0; row < n_rows; row++)
        for (uint32_t at = heads[row], after; at != HEFT_NONE; at = after) {
            struct heft_module_node *parent = &nodes[nodes[at].parent];

            after = nodes[at].next;
            nodes[at].next = HEFT_NONE;
            *(parent->last == HEFT_NONE ? &parent->first_child : &nodes[parent->last].next) = at;
            parent->last = at;
        }
}

static bool has_path_names(const struct heft_model *model)
{
    for (size_t i = 0; i < model->n_sources; i++)
        if (model->sources[i].format && model->sources[i].format->has_path_names)
            return true;
    return false;
}

static bool insert_rows(struct builder *b, const bool *selected, const char *root,
                        struct heft_error *err)
{
    b->separator = has_path_names(b->model) ? '/' : '.';
    b->other = b->separator == '.' ? '/' : '.';
    if (!make_room(b, err))
        return false;
    (void)add_node(
        b, &(struct heft_module_node){.row = HEFT_NONE, .parent = HEFT_NONE, .next = HEFT_NONE});
    for (size_t row = 0; row < b->model->n_rows; row++)
        if ((!selected || selected[row]) && !insert_row(b, (uint32_t)row, root, err))
            return false;
    return true;
}

bool heft_module_names(struct heft_module_tree *tree, const struct heft_model *model,
                       const bool *selected, const char *root, struct heft_error *err)
{
    struct builder b = {.tree = tree, .model = model, .seed = heft_map_seed()};
    bool ok = insert_rows(&b, selected, root, err);
    uint32_t *heads = NULL;

    heft_free(b.slots);
    if (ok)
        heads = heft_calloc(model->n_rows + 1, sizeof *heads, err);
    if (heads)
        link_children(tree, heads, model->n_rows);
    heft_free(heads);
    return ok && heads != NULL;
}

bool heft_module_tree_build(struct heft_module_tree *tree, const struct heft_model *model,
                            const bool *selected, const char *root, struct heft_error *err)
{
    *tree = (struct heft_module_tree){.n = 0};
    return heft_module_names(tree, model, selected, root, err) &&
           heft_module_fold(tree, model, err);
}

void heft_module_tree_release(struct heft_module_tree *tree)
{
    heft_free(tree->nodes);
    *tree = (struct heft_module_tree){.n = 0};
}
