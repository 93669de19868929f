/* tf_names.c: the object graph of a TensorFlow 2 checkpoint, and the variable names it gives.
 *
 *     TrackableObjectGraph   1 nodes
 *     node                   1 children {1 node_id, 2 local_name}, 2 attributes {1 name, 2 full_name,
 *                            3 checkpoint_key}, 3 slot_variables {…}
 *
 * The graph is a string under the key _CHECKPOINTABLE_OBJECT_GRAPH. The name of a variable is the
 * full_name stored beside its key. If that is empty or not unique, it is the object path in the key:
 *
 *     model/odd/a.Sb..c/.ATTRIBUTES/VARIABLE_VALUE    →    model/odd/a/b.c
 *
 * Nodes may form cycles and chains of any length: they are read in file order and no reference is
 * followed. Faults in the graph are reported; the keys remain usable without it. */
#include "base/text.h"
#include "core/tree.h"
#include "format/tensorflow/bundle/tf_bundle.h"
#include "format/tensorflow/bundle/tf_twins.h"
#include "wire/proto.h"

#define MOST_BYTES (UINT64_C(64) << 20)
#define ATTRIBUTES "/.ATTRIBUTES/"
#define VALUE      "VARIABLE_VALUE"

struct graph {
    struct heft_tf_bundle *b;
    size_t first, n;         /* the bundle's rows */
    struct heft_strmap keys; /* row name → number, counted from `first` */
    struct heft_str *full;   /* full_name of each row; may be empty */
    uint32_t
        *twin; /* for each row, the other row of the same variable; HEFT_NONE if there is none */
    struct heft_tf_twins twins;
    uint64_t nodes, attributes, slots;
    uint64_t largest; /* largest node id that is referred to */
    struct heft_error *err;
};

/* ---- reading the object graph ------------------------------------------------------------ */

static bool is_message(const struct heft_proto_item *item, uint32_t number)
{
    return item->number == number && item->wire == HEFT_PROTO_LEN;
}

static void meet_id(struct graph *g, const struct heft_proto_item *item, uint32_t number)
{
    if (item->number == number && item->wire == HEFT_PROTO_VARINT)
        g->largest = heft_max_u64(g->largest, item->u64);
}

static bool read_ids(struct graph *g, struct heft_cur cur, uint32_t one, uint32_t two)
{
    struct heft_proto_item item;

    while (heft_proto_take(&cur, &item, g->err)) {
        meet_id(g, &item, one);
        meet_id(g, &item, two);
    }
    return !cur.bad;
}

static bool read_attribute(struct graph *g, struct heft_cur cur)
{
    struct heft_str full = {"", 0}, key = {"", 0};
    struct heft_proto_item item;
    uint32_t row;

    while (heft_proto_take(&cur, &item, g->err))
        if (is_message(&item, 2))
            full = (struct heft_str){(const char *)item.bytes.p, item.bytes.n};
        else if (is_message(&item, 3))
            key = (struct heft_str){(const char *)item.bytes.p, item.bytes.n};
    if (cur.bad)
        return false;
    g->attributes++;
    row = heft_strmap_get(&g->keys, key);
    if (row != HEFT_MAP_NONE &&
        heft_utf8_check((struct heft_bytes){(const uint8_t *)full.p, full.n}) == full.n)
        g->full[row] = full;
    return true;
}

static bool read_node(struct graph *g, struct heft_cur cur)
{
    struct heft_proto_item item;
    bool ok = true;

    while (ok && heft_proto_take(&cur, &item, g->err))
        if (is_message(&item, 1)) {
            ok = read_ids(g, heft_proto_sub(&item), 1, 1);
        } else if (is_message(&item, 2)) {
            ok = read_attribute(g, heft_proto_sub(&item));
        } else if (is_message(&item, 3)) {
            g->slots++;
            ok = read_ids(g, heft_proto_sub(&item), 1, 3);
        }
    return ok && !cur.bad;
}

static bool read_graph(struct graph *g, struct heft_cur cur)
{
    struct heft_proto_item item;

    while (heft_proto_take(&cur, &item, g->err))
        if (is_message(&item, 1)) {
            g->nodes++;
            if (!read_node(g, heft_proto_sub(&item)))
                return false;
        }
    if (cur.bad)
        return false;
    return g->nodes == 0 || g->largest < g->nodes ||
           heft_fail(g->err, HEFT_MALFORMED, cur.base,
                     "the object graph refers to node %" PRId64 ", but has %" PRIu64 " nodes",
                     (int64_t)g->largest, g->nodes);
}

/* Reads the graph's string into scratch memory and checks its checksum. */
static bool fetch_graph(struct graph *g, const struct heft_storage *storage, struct heft_cur *out)
{
    const struct heft_source *src = &g->b->model->sources[storage->source].source;
    struct heft_bytes bytes;
    uint64_t length;

    if (storage->len > MOST_BYTES)
        return heft_fail(g->err, HEFT_LIMIT, storage->off,
                         "the object graph has %" PRIu64 " bytes, the limit is 64 MiB",
                         storage->len);
    if (!heft_storage_check(storage)(g->b->model, storage, g->err) ||
        !heft_source_fetch(src, storage->off, storage->len, &g->b->scratch, &bytes, g->err))
        return false;
    *out = heft_cur_of(bytes, storage->off);
    if (!heft_proto_varint(out, &length, g->err))
        return false;
    heft_cur_take(out, 4); /* checksum of the lengths */
    *out = heft_cur_sub(out, heft_cur_left(out));
    return true;
}

/* ---- choosing names ---------------------------------------------------------------------- */

static bool ends_here(struct heft_str s, size_t at, const char *word)
{
    return heft_str_starts((struct heft_str){s.p + at, s.n - at}, heft_str_of(word));
}

/* Undoes the escaping of keys: "a.Sb..c" → "a/b.c". */
static void put_unescaped(struct heft_buf *out, struct heft_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        const bool pair = s.p[i] == '.' && i + 1 < s.n && (s.p[i + 1] == '.' || s.p[i + 1] == 'S');

        heft_buf_char(out, pair && s.p[i + 1] == 'S' ? '/' : s.p[i]);
        i += pair;
    }
}

/* Appends the object path of a key, or the key itself if it has none. */
static void put_path(struct heft_buf *out, struct heft_str key)
{
    const size_t n = strlen(ATTRIBUTES);
    struct heft_str rest;
    size_t at = 0;

    while (at < key.n && !ends_here(key, at, ATTRIBUTES) &&
           !ends_here(key, at, "/.OPTIMIZER_SLOT/"))
        at++;
    if (at == key.n || !ends_here(key, at, ATTRIBUTES)) {
        heft_buf_str(out, key);
        return;
    }
    rest = (struct heft_str){key.p + at + n, key.n - at - n};
    put_unescaped(out, (struct heft_str){key.p, at});
    if (heft_str_is(rest, VALUE))
        return;
    heft_buf_text(out, at ? "/" : "");
    heft_buf_str(out, rest);
}

/* Counts how often each candidate name occurs, keys included. */
static bool count_name(struct heft_strmap *counts, struct heft_str name, struct heft_error *err)
{
    uint32_t before;

    return heft_strmap_add(counts, name, 1, &before, err) &&
           (before == HEFT_MAP_NONE || heft_strmap_set(counts, name, 2, err));
}

static bool is_unique(const struct graph *g, const struct heft_strmap *counts, size_t i,
                      struct heft_str name)
{
    const uint32_t key = heft_strmap_get(&g->keys, name);

    return name.n > 0 && heft_strmap_get(counts, name) == 1 && (key == HEFT_MAP_NONE || key == i);
}

static bool choose_paths(struct graph *g, struct heft_str *paths)
{
    struct heft_row *rows = g->b->model->rows + g->first;
    struct heft_buf text = {0};

    for (size_t i = 0; i < g->n; i++) {
        put_path(&text, rows[i].name);
        if (!heft_buf_ok(&text, g->err) ||
            !(paths[i].p = heft_arena_text(
                  &g->b->model->mem, (struct heft_str){text.p ? text.p : "", text.n}, g->err)))
            break;
        paths[i].n = text.n;
        text.n = 0;
    }
    heft_buf_release(&text);
    return g->n == 0 || paths[g->n - 1].p != NULL;
}

/* Chooses a unique name for each row: full name, else object path, else key. */
static bool choose_names(struct graph *g, struct heft_str *paths, struct heft_strmap *fulls,
                         struct heft_strmap *all)
{
    struct heft_row *rows = g->b->model->rows + g->first;

    for (size_t i = 0; i < g->n; i++)
        if (g->full[i].n > 0 && !count_name(fulls, g->full[i], g->err))
            return false;
    for (size_t i = 0; i < g->n; i++) {
        if (!is_unique(g, fulls, i, g->full[i]))
            g->full[i] = paths[i];
        if (!count_name(all, g->full[i], g->err))
            return false;
    }
    for (size_t i = 0; i < g->n; i++) {
        if (!is_unique(g, all, i, g->full[i]))
            continue;
        rows[i].name.p = heft_arena_text(&g->b->model->mem, g->full[i], g->err);
        rows[i].name.n = g->full[i].n;
        if (!rows[i].name.p)
            return false;
    }
    return true;
}

/* Of two rows for one variable, keeps the one that functions capture. */
static void drop_copies(struct graph *g)
{
    struct heft_model *const model = g->b->model;
    size_t kept = 0;

    for (size_t i = 0; i < g->n; i++) {
        const struct heft_row row = model->rows[g->first + i];

        if (g->twin[i] != HEFT_NONE && heft_tf_is_copy(row.name))
            continue;
        g->full[kept] = g->full[i];
        model->rows[g->first + kept++] = row;
    }
    g->n = kept;
    model->n_rows = g->first + kept;
}

static bool map_keys(struct graph *g)
{
    const struct heft_row *rows = g->b->model->rows + g->first;
    size_t twice;
    uint32_t other;

    heft_strmap_release(&g->keys);
    return heft_strmap_add_column(&g->keys, &rows->name, sizeof *rows, g->n, 0, &twice, &other,
                                  g->err);
}

/* Removes the dropped rows and closes the gaps. */
static bool drop_twins(struct graph *g)
{
    if (g->twins.pairs == 0)
        return true;
    drop_copies(g);
    return map_keys(g);
}

static bool rename_rows(struct graph *g)
{
    struct heft_str *paths = heft_arena_zero(&g->b->scratch, g->n + 1, sizeof *paths, g->err);
    struct heft_strmap fulls = {0}, all = {0};
    const bool ok = paths && choose_paths(g, paths) && choose_names(g, paths, &fulls, &all);

    heft_strmap_release(&fulls);
    heft_strmap_release(&all);
    return ok;
}

/* ---- applying the names ------------------------------------------------------------------ */

static bool tell_twins(const struct graph *g)
{
    const size_t pairs = g->twins.pairs;

    return heft_model_tell(
        g->b->model, g->b->source, g->err, "%zu variable%s stored twice, as Keras' export does%s",
        pairs, pairs == 1 ? " is" : "s are",
        heft_tf_names_objects(g->b->model) ? ": each is taken once"
                                           : "; the names of objects take each once");
}

static bool tell_unequal(const struct graph *g)
{
    const size_t n = g->twins.unequal;

    return heft_model_tell(
        g->b->model, g->b->source, g->err,
        "%zu variable%s other contents below _all_variables than where functions "
        "use %s: both remain (%.*s%s)",
        n, n == 1 ? " has" : "s have", n == 1 ? "it" : "them",
        (int)heft_min_u64(g->twins.differ.n, 60), g->twins.differ.p, n == 1 ? "" : ", …");
}

static bool describe_twins(const struct graph *g, struct heft_node *node)
{
    struct heft_arena *const mem = &g->b->model->mem;
    const size_t pairs = g->twins.pairs, unequal = g->twins.unequal;

    if (pairs && (!heft_tree_number(mem, node, HEFT_STR("stored_twice"), (int64_t)pairs, g->err) ||
                  !tell_twins(g)))
        return false;
    return !unequal ||
           (heft_tree_number(mem, node, HEFT_STR("copies_differ"), (int64_t)unequal, g->err) &&
            tell_unequal(g));
}

static bool describe_objects(const struct graph *g)
{
    struct heft_arena *mem = &g->b->model->mem;
    struct heft_node *root = heft_model_file_info(g->b->model, g->err);
    const bool is_first = root && !heft_value_below(&root->value, "objects");
    struct heft_node *node = /* if several bundles are opened, the graph of the first */
        root ? heft_tree_dict(mem, is_first ? root : NULL, HEFT_STR("objects"), g->err) : NULL;

    return node && heft_tree_number(mem, node, HEFT_STR("nodes"), (int64_t)g->nodes, g->err) &&
           heft_tree_number(mem, node, HEFT_STR("attributes"), (int64_t)g->attributes, g->err) &&
           heft_tree_number(mem, node, HEFT_STR("slots"), (int64_t)g->slots, g->err) &&
           describe_twins(g, node);
}

static bool find_twins(struct graph *g)
{
    g->twin = heft_arena_zero(&g->b->scratch, g->n + 1, sizeof *g->twin, g->err);
    return g->twin &&
           heft_tf_twins_find(g->b->model, g->first, g->n, g->full, g->twin, &g->twins, g->err);
}

static bool use_graph(struct graph *g, const struct heft_storage *storage)
{
    struct heft_cur cur;

    g->full = heft_arena_zero(&g->b->scratch, g->n + 1, sizeof *g->full, g->err);
    return g->full && map_keys(g) && fetch_graph(g, storage, &cur) && read_graph(g, cur) &&
           find_twins(g) && describe_objects(g) &&
           (!heft_tf_names_objects(g->b->model) || (drop_twins(g) && rename_rows(g)));
}

bool heft_tf_read_objects(struct heft_tf_bundle *b, size_t first_row)
{
    const struct heft_model *model = b->model;
    const bool by_object = heft_tf_names_objects(model);
    const struct heft_storage *storage;
    struct heft_error found = {0};
    struct graph g = {.b = b, .first = first_row, .n = model->n_rows - first_row, .err = &found};
    bool ok;

    if (b->graph == HEFT_NONE && by_object)
        return heft_fail(b->err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "no object graph: only TensorFlow 2 checkpoints have object names");
    if (b->graph == HEFT_NONE || g.n == 0)
        return true;
    storage = &model->storages[b->graph];
    if (storage->is_missing && !by_object)
        return true; /* already reported */
    ok = heft_storage_check(storage) ? use_graph(&g, storage)
                                     : heft_fail(&found, HEFT_MALFORMED, storage->off,
                                                 "the object graph is missing or not a string");
    heft_strmap_release(&g.keys);
    if (ok)
        return true;
    if (found.code != HEFT_MALFORMED && found.code != HEFT_MISMATCH && found.code != HEFT_LIMIT) {
        *b->err = found;
        return false;
    }
    if (by_object) {
        *b->err = found;
        return heft_error_file(b->err, model->sources[storage->source].path);
    }
    /* A checksum mismatch is reported when the tensor is read. */
    return found.code == HEFT_MISMATCH ||
           heft_model_note(b->model, HEFT_FINDING, storage->source, found.offset, b->err,
                           "object graph: %s", found.text);
}
