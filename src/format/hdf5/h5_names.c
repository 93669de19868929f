/* h5_names.c: names of rows, and their order.
 *
 *     /                 layer_names  = [dense, conv]
 *     /dense            weight_names = [dense/kernel:0, dense/bias:0]
 *     /dense/dense/kernel:0                                            ──► row "dense/kernel:0"
 *
 * A name in weight_names is a path relative to its group, and Keras' name of the tensor. Datasets
 * that are in no list are named by their paths. Rows have the order of the lists; others follow in
 * the order of the walk. If two rows would have the same name (as in models within models), all are
 * named by their paths; so are those of files that heft wrote, which have a mark. */
#include "base/text.h"
#include "format/hdf5/h5_parts.h"

struct namer {
    struct heft_h5_reader *r;
    struct heft_strmap paths;  /* path → entry */
    struct heft_strmap groups; /* group → the first of its lists */
    struct heft_str top;       /* the group that lists the layers, or the root */
    struct heft_arena mem;
    struct heft_error *err;
};

/* ---- order of the rows from Keras' lists ------------------------------------------------- */

/* Piece `number` of a group's list; NULL if there is none. A name without a number counts as piece
 * 0. */
static struct heft_h5_list *find_list(const struct namer *n, struct heft_str group, bool is_layers,
                                      uint32_t number)
{
    const uint32_t first = heft_strmap_get(&n->groups, group);

    for (size_t i = first; first != HEFT_MAP_NONE && i < n->r->n_lists; i++) {
        struct heft_h5_list *list = &n->r->lists[i];

        if (!heft_str_eq(list->group, group))
            return NULL; /* pieces of a group are consecutive */
        if (list->is_layers == is_layers && list->number == number)
            return list;
    }
    return NULL;
}

static bool join_path(struct namer *n, struct heft_str group, struct heft_str name,
                      struct heft_str *out)
{
    struct heft_buf buf = {0};

    *out = name;
    if (group.n == 0)
        return true;
    heft_buf_str(&buf, group);
    heft_buf_char(&buf, '/');
    heft_buf_str(&buf, name);
    return heft_buf_take(&buf, &n->mem, out, n->err);
}

/* Makes the entry at that path the next row; NULL if there is none. */
static struct heft_h5_entry *place_entry(struct namer *n, struct heft_str path)
{
    const uint32_t at = heft_strmap_get(&n->paths, path);
    struct heft_h5_entry *entry = at == HEFT_MAP_NONE ? NULL : &n->r->entries[at];

    if (!entry || entry->is_placed)
        return NULL;
    entry->is_placed = true;
    n->r->order[n->r->n_order++] = at;
    return entry;
}

/* Path of a layer relative to the group that lists it: "model_weights/dense" is the layer
 * "dense". */
static struct heft_str below_top(const struct namer *n, struct heft_str group)
{
    const size_t skip = n->top.n ? n->top.n + 1 : 0;

    return skip && skip < group.n && heft_str_starts(group, n->top) && group.p[n->top.n] == '/'
               ? (struct heft_str){group.p + skip, group.n - skip}
               : group;
}

static bool follow_weights(struct namer *n, const struct heft_h5_list *list, bool is_listed)
{
    struct heft_str path;

    for (size_t i = 0; i < list->n; i++) {
        struct heft_h5_entry *entry;

        if (!join_path(n, list->group, list->names[i], &path))
            return false;
        entry = place_entry(n, path);
        if (!entry || n->r->by_path)
            continue;
        entry->name = entry->weight = list->names[i];
        entry->layer = below_top(n, list->group);
        entry->is_listed = is_listed;
    }
    return true;
}

static bool follow_pieces(struct namer *n, struct heft_str group, bool is_listed)
{
    const struct heft_h5_list *list;

    for (uint32_t k = 0; (list = find_list(n, group, false, k)); k++)
        if (!follow_weights(n, list, is_listed))
            return false;
    return true;
}

/* A layer is a group with weight_names; in a shard of transformers it is a dataset. */
static bool follow_layer(struct namer *n, struct heft_str group, struct heft_str layer)
{
    struct heft_str path;

    if (!join_path(n, group, layer, &path))
        return false;
    place_entry(n, path);
    return follow_pieces(n, path, true);
}

/* Pieces of a list of layers are met in the order of their names (0, 1, 10, 2): all pieces of a
 * group are processed at the first one. */
static bool follow_layers(struct namer *n, struct heft_str group)
{
    const struct heft_h5_list *list;

    for (uint32_t k = 0; (list = find_list(n, group, true, k)); k++)
        for (size_t i = 0; i < list->n; i++)
            if (!follow_layer(n, group, list->names[i]))
                return false;
    return true;
}

static bool follow_lists(struct namer *n)
{
    const struct heft_h5_reader *r = n->r;

    for (size_t i = 0; i < r->n_lists; i++)
        if (r->lists[i].is_layers && r->lists[i].number == 0 &&
            !follow_layers(n, r->lists[i].group))
            return false;
    for (size_t i = 0; i < r->n_lists; i++)
        if (!r->lists[i].is_layers && r->lists[i].number == 0 &&
            !follow_pieces(n, r->lists[i].group, false))
            return false;
    return true;
}

/* ---- names of the rows ------------------------------------------------------------------- */

static struct heft_str name_of(const struct heft_h5_entry *entry)
{
    return entry->name.p ? entry->name : entry->path;
}

/* *twice: two entries would have the same name. */
static bool find_twice(struct namer *n, bool *twice)
{
    struct heft_strmap names = {0};
    bool ok = true;

    *twice = false;
    for (uint32_t i = 0; ok && !*twice && i < n->r->n_entries; i++) {
        uint32_t other;

        ok = heft_strmap_add(&names, name_of(&n->r->entries[i]), i, &other, n->err);
        *twice = ok && other != HEFT_MAP_NONE;
    }
    heft_strmap_release(&names);
    return ok;
}

static bool call_by_path(struct namer *n)
{
    for (size_t i = 0; i < n->r->n_entries; i++)
        n->r->entries[i].name.p = NULL;
    return heft_model_note(n->r->model, HEFT_NOTE, n->r->source, HEFT_NO_OFFSET, n->err,
                           "weight_names gives two tensors the same name: all are named by their "
                           "paths");
}

static bool make_maps(struct namer *n)
{
    struct heft_h5_reader *r = n->r;
    uint32_t other;

    for (uint32_t i = 0; i < r->n_entries; i++)
        if (!heft_strmap_add(&n->paths, r->entries[i].path, i, &other, n->err))
            return false;
    for (size_t i = r->n_lists; i > 0; i--)
        if (r->lists[i - 1].is_layers)
            n->top = r->lists[i - 1].group;
    for (uint32_t i = 0; i < r->n_lists; i++)
        if (!heft_strmap_add(&n->groups, r->lists[i].group, i, &other, n->err))
            return false;
    r->order = heft_calloc(r->n_entries + 1, sizeof *r->order, n->err);
    return r->order != NULL;
}

bool heft_h5_name(struct heft_h5_reader *r, struct heft_error *err)
{
    struct namer n = {.r = r, .err = err};
    bool twice = false;
    bool ok =
        make_maps(&n) && follow_lists(&n) && find_twice(&n, &twice) && (!twice || call_by_path(&n));

    for (uint32_t i = 0; ok && i < r->n_entries; i++)
        if (!r->entries[i].is_placed)
            r->order[r->n_order++] = i;
    heft_strmap_release(&n.paths);
    heft_strmap_release(&n.groups);
    heft_arena_release(&n.mem);
    return ok;
}
