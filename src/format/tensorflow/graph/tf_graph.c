/* tf_graph.c: builds the index of a MetaGraphDef in one pass.
 *
 *     MetaGraphDef ─┬─ meta_info_def      tags, versions
 *                   ├─ graph_def ─┬─ node …      name, op, byte range
 *                   │             └─ library ─── function ─── node_def …
 *                   ├─ saver_def, collection_def, signature_def, asset_file_def   (tf_meta.c)
 *                   └─ object_graph_def                                           (tf_objects.c)
 *
 * A node's entry has only the fields that every walk of the graph needs: about 40 bytes and the
 * name. Names of ops and of called functions are interned: millions of nodes share a few hundred. */
#include "format/tensorflow/graph/tf_graph.h"

#include "core/model.h"
#include "io/pages.h"

enum {
    META_INFO = 1,
    META_GRAPH,
    META_SAVER,
    META_COLLECTION,
    META_SIGNATURE,
    META_ASSET,
    META_OBJECTS
};
enum { MOST_VERSIONS = 1000 };
enum { NODE_BYTES = 64, MANY_BYTES = 8 << 20 }; /* usual size of a node; size of a large graph */
enum { INFO_VERSION = 1, INFO_TAGS = 4, INFO_TENSORFLOW, INFO_GIT };
enum { GRAPH_NODE = 1, GRAPH_LIBRARY = 2 };
enum { NODE_NAME = 1, NODE_OP = 2, NODE_ATTR = 5 };
enum { KEY = 1, VALUE = 2 };
enum { ATTR_FUNC = 10, FUNC_NAME = 1 };
enum { LIBRARY_FUNCTION = 1, FUNCTION_SIGNATURE = 1, FUNCTION_NODE = 3, OP_NAME = 1 };

/* ---- parts of the document, for the byte map ---- */

static const char *const meta_parts[] = {[META_INFO] = "metagraph information: tags, versions, ops",
                                         [META_GRAPH] = "graph",
                                         [META_SAVER] = "saver",
                                         [META_COLLECTION] = "collections",
                                         [META_SIGNATURE] = "signatures",
                                         [META_ASSET] = "assets",
                                         [META_OBJECTS] = "object graph"};
static const char *const graph_parts[] = {[GRAPH_NODE] = "nodes of the graph",
                                          [GRAPH_LIBRARY] = "functions",
                                          [3] = "graph version",
                                          [4] = "graph versions",
                                          [5] = "debug information"};

bool heft_tf_part(struct heft_tf_parts *parts, uint64_t off, const char *what,
                  struct heft_error *err)
{
    if (parts->n == HEFT_TF_MOST_PARTS || (parts->n && parts->list[parts->n - 1].what == what))
        return true;
    if (!heft_grow(&parts->list, &parts->cap, parts->n, 1, sizeof *parts->list, err))
        return false;
    parts->list[parts->n++] = (struct heft_tf_part){off, what};
    return true;
}

/* ---- interned names of ops and called functions ---- */

/* Slot of a small direct-mapped cache in front of the hash map: millions of nodes use few ops, so
 * most lookups hit it. */
static uint32_t *recent_slot(struct heft_tf_graph *g, struct heft_str text)
{
    const uint8_t *const p = (const uint8_t *)text.p;
    const size_t mark = text.n ? text.n * 37 + p[0] + p[text.n / 2] * 5U + p[text.n - 1] * 11U : 0;

    return &g->recent[mark % HEFT_TF_RECENT];
}

static bool find_name(struct heft_tf_graph *g, struct heft_str text, uint32_t *out)
{
    uint32_t *const last = recent_slot(g, text);

    if (*last >= g->n_words || !heft_str_eq(g->words[*last], text)) {
        const uint32_t found = heft_strmap_get(&g->word_map, text);

        if (found == HEFT_MAP_NONE)
            return false;
        *last = found;
    }
    *out = *last;
    return true;
}

/* Interns a name that is not in the table yet. Its text is in the arena. */
static bool add_name(struct heft_tf_graph *g, struct heft_str text, uint64_t where, uint32_t *out,
                     struct heft_error *err)
{
    uint32_t found;

    if (g->n_words == HEFT_TF_NONE)
        return heft_fail(err, HEFT_LIMIT, where, "the graph has too many ops");
    if (!heft_grow(&g->words, &g->cap_words, g->n_words, 1, sizeof *g->words, err))
        return false;
    *out = (uint32_t)g->n_words;
    g->words[g->n_words++] = text;
    return heft_strmap_add(&g->word_map, text, *out, &found, err) &&
           heft_tf_graph_weigh(g, where, err);
}

static bool intern_name(struct heft_tf_graph *g, struct heft_proto *p, uint32_t *out)
{
    struct heft_str text = p->text;

    if (text.p && find_name(g, text, out))
        return true;
    return heft_tf_text(p, &g->texts, &text) && add_name(g, text, p->where, out, p->err);
}

/* ---- nodes ---- */

/* Reads the function name in an attribute's value. */
static bool read_func(struct heft_tf_graph *g, struct heft_proto *p, uint32_t *func)
{
    uint32_t number;

    while ((number = heft_proto_pull(p))) {
        if (number != ATTR_FUNC || !p->entered) {
            if (!heft_proto_pass(p))
                return false;
            continue;
        }
        while ((number = heft_proto_pull(p)))
            if (number == FUNC_NAME ? !intern_name(g, p, func) : !heft_proto_pass(p))
                return false;
    }
    return !p->failed;
}

static bool read_attr(struct heft_tf_graph *g, struct heft_proto *p, uint32_t *func)
{
    uint32_t number, called = HEFT_TF_NONE;
    bool is_f = false, is_other = false;

    while ((number = heft_proto_pull(p))) {
        if (number == KEY) {
            is_f = heft_str_is(p->text, "f");
            is_other = !is_f;
            if (is_other && heft_proto_skip_last(p, VALUE))
                return true;
        } else if (is_other ? !heft_proto_pass(p) : !read_func(g, p, &called)) {
            return false;
        }
    }
    if (is_f && called != HEFT_TF_NONE)
        *func = called;
    return !p->failed;
}

static bool read_node(struct heft_tf_graph *g, struct heft_proto *p,
                      struct heft_tf_node_entry *node)
{
    const uint64_t where = p->where;
    uint32_t number;
    bool ok = true;

    *node = (struct heft_tf_node_entry){.op = HEFT_TF_NONE, .func = HEFT_TF_NONE};
    while (ok && (number = heft_proto_pull(p))) {
        if (number == NODE_NAME)
            ok = heft_tf_text(p, &g->texts, &node->name);
        else if (number == NODE_OP)
            ok = intern_name(g, p, &node->op);
        else if (number == NODE_ATTR)
            ok = read_attr(g, p, &node->func);
        else
            ok = heft_proto_pass(p);
    }
    if (!ok || p->failed)
        return false;
    if (node->name.n == 0 || node->op == HEFT_TF_NONE)
        return heft_fail(p->err, HEFT_MALFORMED, where, "the node has no name or no op");
    node->at = (struct heft_tf_range){p->off, p->len};
    return true;
}

/* The nodes of a graph, or of all functions. */
struct nodes {
    struct heft_tf_node_entry **list;
    size_t *cap, *n;
};

static bool make_room(struct nodes *nodes, uint64_t where, struct heft_error *err)
{
    if (*nodes->n >= HEFT_TF_NONE)
        return heft_fail(err, HEFT_LIMIT, where, "the graph has too many nodes");
    return heft_grow(nodes->list, nodes->cap, *nodes->n, 1, sizeof **nodes->list, err);
}

static bool add_node(struct heft_tf_graph *g, struct heft_proto *p, struct nodes *nodes)
{
    if (!make_room(nodes, p->where, p->err) || !read_node(g, p, *nodes->list + *nodes->n))
        return false;
    ++*nodes->n;
    return heft_tf_graph_weigh(g, p->where, p->err);
}

/* ---- functions ---- */

static bool read_name_of_op(struct heft_tf_graph *g, struct heft_proto *p, struct heft_str *name)
{
    uint32_t number;

    while ((number = heft_proto_pull(p)))
        if (number == OP_NAME ? !heft_tf_text(p, g->mem, name) : !heft_proto_pass(p))
            return false;
    return !p->failed;
}

static bool read_function(struct heft_tf_graph *g, struct heft_proto *p)
{
    const uint64_t where = p->where;
    struct nodes nodes = {&g->inner, &g->cap_inner, &g->n_inner};
    struct heft_tf_function f = {.first = (uint32_t)g->n_inner};
    uint32_t number;
    bool ok = true;

    while (ok && (number = heft_proto_pull(p))) {
        if (number == FUNCTION_SIGNATURE)
            ok = read_name_of_op(g, p, &f.name);
        else if (number == FUNCTION_NODE)
            ok = add_node(g, p, &nodes);
        else
            ok = heft_proto_pass(p);
    }
    if (!ok || p->failed)
        return false;
    if (f.name.n == 0)
        return heft_fail(p->err, HEFT_MALFORMED, where, "the function has no name");
    f.n = (uint32_t)g->n_inner - f.first;
    f.at = (struct heft_tf_range){p->off, p->len};
    if (!heft_grow(&g->functions, &g->cap_functions, g->n_functions, 1, sizeof f, p->err))
        return false;
    g->functions[g->n_functions++] = f;
    return heft_tf_graph_weigh(g, where, p->err);
}

static bool read_library(struct heft_tf_graph *g, struct heft_proto *p)
{
    uint32_t number;

    while ((number = heft_proto_pull(p)))
        if (number == LIBRARY_FUNCTION ? !read_function(g, p) : !heft_proto_pass(p))
            return false;
    return !p->failed;
}

/* Reserves memory for the nodes and their names of a large graph of n bytes, on huge pages. Untouched
 * pages cost nothing; more nodes take ordinary memory. */
static bool reserve_nodes(struct heft_tf_graph *g, uint64_t n, struct heft_error *err)
{
    const size_t most = (size_t)(n / NODE_BYTES);

    if (n < MANY_BYTES || g->n_nodes > 0)
        return true;
    if (!heft_grow(&g->nodes, &g->cap_nodes, 0, most, sizeof *g->nodes, err))
        return false;
    heft_pages_large(g->nodes, g->cap_nodes * sizeof *g->nodes);
    return heft_pages_reserve(&g->texts, (size_t)(n / 8), err);
}

static bool read_graph_def(struct heft_tf_graph *g, struct heft_proto *p)
{
    struct nodes nodes = {&g->nodes, &g->cap_nodes, &g->n_nodes};
    uint32_t number;
    bool ok = true;

    while (ok && (number = heft_proto_pull(p))) {
        ok = heft_tf_part(g->parts, p->where, graph_parts[number], p->err);
        if (ok && number == GRAPH_NODE)
            ok = add_node(g, p, &nodes);
        else if (ok)
            ok = number == GRAPH_LIBRARY ? read_library(g, p) : heft_proto_pass(p);
    }
    return ok && !p->failed;
}

/* ---- MetaGraphDef ---- */

/* Adds a tag unless the list has it: tags are a set. */
static bool add_tag(struct heft_tf_graph *g, struct heft_proto *p)
{
    struct heft_str tag;

    /* Compared before the copy: a tag may be repeated millions of times. */
    for (size_t i = 0; i < g->n_tags; i++)
        if (p->text.p && heft_str_eq(g->tags[i], p->text))
            return true;
    if (!heft_grow(&g->tags, &g->cap_tags, g->n_tags, 1, sizeof tag, p->err) ||
        !heft_tf_text(p, g->mem, &tag))
        return false;
    if (g->n_tags == HEFT_TF_MOST_TAGS)
        return heft_fail(p->err, HEFT_LIMIT, p->where, "the metagraph has more than %d tags",
                         HEFT_TF_MOST_TAGS);
    for (size_t i = 0; i < g->n_tags; i++)
        if (heft_str_eq(g->tags[i], tag))
            return true;
    g->tags[g->n_tags++] = tag;
    return true;
}

/* If a version is repeated, the last one counts. The number is bounded, because each copy takes
 * memory. */
static bool read_version(struct heft_tf_graph *g, struct heft_proto *p, struct heft_str *out)
{
    if (++g->n_versions > MOST_VERSIONS)
        return heft_fail(p->err, HEFT_LIMIT, p->where, "the version is given more than %d times",
                         MOST_VERSIONS);
    return heft_tf_text(p, g->mem, out);
}

static bool read_info(struct heft_tf_graph *g, struct heft_proto *p)
{
    uint32_t number;
    bool ok = true;

    while (ok && (number = heft_proto_pull(p))) {
        if (number == INFO_TAGS)
            ok = add_tag(g, p);
        else if (number == INFO_TENSORFLOW)
            ok = read_version(g, p, &g->tensorflow_version);
        else if (number == INFO_GIT)
            ok = read_version(g, p, &g->tensorflow_git_version);
        else if (number == INFO_VERSION)
            ok = read_version(g, p, &g->meta_graph_version);
        else
            ok = heft_proto_pass(p);
    }
    return ok && !p->failed;
}

static bool read_part(struct heft_tf_graph *g, struct heft_proto *p, uint32_t number)
{
    switch (number) {
    case META_INFO:
        return read_info(g, p);
    case META_GRAPH:
        return reserve_nodes(g, p->len, p->err) && read_graph_def(g, p);
    case META_SAVER:
        return heft_tf_saver_read(g, p);
    case META_COLLECTION:
        return heft_tf_collection_read(g, p);
    case META_SIGNATURE:
        return heft_tf_signature_read(g, p);
    case META_ASSET:
        return heft_tf_asset_read(g, p);
    case META_OBJECTS:
        return heft_tf_objects_read(g, p);
    default:
        return heft_proto_pass(p);
    }
}

static void begin_graph(struct heft_tf_graph *g, struct heft_proto *p, struct heft_arena *mem,
                        struct heft_tf_parts *parts)
{
    *g = (struct heft_tf_graph){.doc = p->doc, .mem = mem, .parts = parts, .begin = mem->total};
}

bool heft_tf_graph_read(struct heft_tf_graph *g, struct heft_proto *p, struct heft_arena *mem,
                        struct heft_tf_parts *parts)
{
    const uint64_t unknown = p->unknown;
    uint32_t number;

    begin_graph(g, p, mem, parts);
    while ((number = heft_proto_pull(p)))
        if (!heft_tf_part(parts, p->where, meta_parts[number], p->err) ||
            !read_part(g, p, number) || !heft_tf_graph_weigh(g, p->where, p->err))
            return false;
    g->at = (struct heft_tf_range){p->off, p->len};
    g->unknown = p->unknown - unknown;
    return !p->failed && heft_tf_meta_finish(g, p->err);
}

bool heft_tf_graph_read_def(struct heft_tf_graph *g, struct heft_proto *p, struct heft_arena *mem,
                            struct heft_tf_parts *parts)
{
    begin_graph(g, p, mem, parts);
    if (!reserve_nodes(g, p->doc->is_text ? 0 : p->doc->size, p->err) || !read_graph_def(g, p))
        return false;
    g->at = (struct heft_tf_range){p->off, p->len};
    return true;
}

void heft_tf_graph_release(struct heft_tf_graph *g)
{
    for (size_t i = 0; i < g->n_signatures; i++) {
        heft_free(g->signatures[i].inputs.list);
        heft_free(g->signatures[i].outputs.list);
    }
    heft_arena_release(&g->texts);
    heft_free(g->tags);
    heft_free(g->nodes);
    heft_free(g->inner);
    heft_free(g->functions);
    heft_free(g->words);
    heft_free(g->signatures);
    heft_free(g->collections);
    heft_free(g->assets);
    heft_free(g->objects);
    heft_free(g->children);
    heft_free(g->concretes);
    heft_strmap_release(&g->word_map);
    heft_strmap_release(&g->node_map);
    heft_strmap_release(&g->function_map);
    *g = (struct heft_tf_graph){0};
}

/* ---- lookup by name ---- */

static bool report_duplicate(const char *what, struct heft_str name, uint64_t where,
                             struct heft_error *err)
{
    return heft_fail(err, HEFT_MALFORMED, where, "duplicate name of %s: \"%.*s\"", what,
                     (int)heft_min_u64(name.n, 100), name.p);
}

bool heft_tf_graph_index(struct heft_tf_graph *g, struct heft_error *err)
{
    uint32_t found;
    size_t same;

    if (g->node_map.count == 0 && g->n_nodes) {
        if (!heft_strmap_reserve(&g->node_map, g->n_nodes, err) ||
            !heft_strmap_add_column(&g->node_map, &g->nodes[0].name, sizeof *g->nodes, g->n_nodes,
                                    0, &same, &found, err))
            return false;
        if (same < g->n_nodes)
            return report_duplicate("nodes", g->nodes[same].name, g->nodes[same].at.off, err);
    }
    for (size_t i = 0; g->function_map.count < g->n_functions; i++) {
        if (!heft_strmap_add(&g->function_map, g->functions[i].name, (uint32_t)i, &found, err))
            return false;
        if (found != HEFT_MAP_NONE)
            return report_duplicate("functions", g->functions[i].name, g->functions[i].at.off, err);
    }
    return true;
}

uint32_t heft_tf_graph_node(const struct heft_tf_graph *g, struct heft_str name)
{
    return heft_strmap_get(&g->node_map, name);
}

uint32_t heft_tf_graph_function(const struct heft_tf_graph *g, struct heft_str name)
{
    return heft_strmap_get(&g->function_map, name);
}
