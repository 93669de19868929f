/* h5_layers.c: attributes of a file that heft writes, as Keras' legacy load_weights needs them.
 * Layers are those of the source, if it is a Keras file (h5_kept.c), else derived from names:
 *
 *     dense/kernel:0, dense/bias:0      /       layer_names  = [dense]
 *                                       /dense  weight_names = [kernel:0, bias:0]
 *     a/d1/kernel, a/d2/kernel          /       layer_names  = [a/d1, a/d2]      Keras 3: names in a
 *                                       /a/d1   weight_names = [kernel]          Sequential share a prefix
 *     scale                             /       weight_names = [scale]
 *
 * Names are listed in the order of the source, because Keras assigns by order (h5_order.c: for
 * sources that only have a sorted order). An attribute of heft's own marks that tensors are named
 * by their paths, because otherwise a name in weight_names is the tensor's whole name. */
#include "base/text.h"
#include "format/hdf5/h5_parts.h"

/* Bytes of an attribute in an object header of 64 KiB; the limit of Keras. */
#define MOST_BYTES 64512

/* ---- attributes -------------------------------------------------------------------------- */

static bool add_attribute(struct heft_h5_attributes *out, const struct heft_h5_names *one,
                          struct heft_error *err)
{
    if (!heft_grow(&out->list, &out->cap, out->n, 1, sizeof *out->list, err))
        return false;
    out->list[out->n++] = *one;
    return true;
}

bool heft_h5_add_text(struct heft_h5_attributes *out, const char *attribute, const char *text,
                      struct heft_arena *mem, struct heft_error *err)
{
    struct heft_h5_text *one = heft_arena_alloc(mem, sizeof *one, err);

    if (!one)
        return false;
    *one = (struct heft_h5_text){text, strlen(text)};
    return add_attribute(
        out,
        &(struct heft_h5_names){
            .group = {"", 0}, .attribute = attribute, .names = one, .n = 1, .is_text = true},
        err);
}

/* Number of equal parts (as of numpy.array_split: the first ones are longer by one) that hold n
 * names. */
static bool count_parts(const struct heft_h5_text *names, size_t n, size_t *parts,
                        struct heft_error *err)
{
    size_t longest = 1;

    for (size_t i = 0; i < n; i++)
        longest = names[i].n > longest ? names[i].n : longest;
    if (longest > MOST_BYTES)
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "a name of %zu bytes: an attribute of HDF5 holds at most %d", longest,
                         MOST_BYTES);
    *parts = n ? (n + MOST_BYTES / longest - 1) / (MOST_BYTES / longest) : 1;
    return true;
}

bool heft_h5_add_list(struct heft_h5_attributes *out, struct heft_str group, const char *attribute,
                      const struct heft_h5_text *names, size_t n, struct heft_arena *mem,
                      struct heft_error *err)
{
    struct heft_h5_names one = {.group = {group.p, group.n}, .attribute = attribute};
    size_t parts = 1, at = 0;

    if (!count_parts(names, n, &parts, err))
        return false;
    for (size_t k = 0; k < parts; k++) {
        one.names = names + at;
        one.n = n / parts + (k < n % parts);
        at += one.n;
        if (parts > 1)
            one.attribute = heft_arena_printf(mem, err, "%s%zu", attribute, k);
        if (!one.attribute || !add_attribute(out, &one, err))
            return false;
    }
    return true;
}

/* ---- layers ------------------------------------------------------------------------------ */

struct layer {
    struct heft_str path; /* path of its group; empty for the root */
    size_t n, first;      /* range in `weights` */
    bool is_listed;
};

#define LAYER_BYTES (sizeof(struct layer) + 36) /* of a layer, and of its path in the hash table */

struct layers {
    const struct heft_export_list *exports;
    const struct heft_h5_place *kept;
    struct heft_strmap map;
    struct layer *list;
    size_t n, cap;
    uint32_t *of; /* for each item, the index of its layer */
    struct heft_h5_text *weights;
    unsigned components; /* number of a layer path's components */
};

/* The first `components` of a name, without the slash after them; the whole name if it has
 * fewer. */
static struct heft_str leading_components(struct heft_str name, unsigned components)
{
    for (size_t i = 0; i < name.n; i++)
        if (name.p[i] == '/' && --components == 0)
            return (struct heft_str){name.p, i};
    return (struct heft_str){name.p, 0};
}

/* Keras 3 puts the model's name before all names of a Sequential, and no ":0" after them. Names of
 * a Functional have no such prefix, so that their first parts differ. */
static unsigned layer_components(const struct heft_export_list *exports)
{
    for (size_t i = 0; i < exports->n_items; i++)
        if (heft_str_ends(exports->items[i].name, ":0") ||
            !heft_str_eq(leading_components(exports->items[i].name, 1),
                         leading_components(exports->items[0].name, 1)))
            return 1;
    return 2;
}

static struct heft_str layer_of(const struct layers *l, size_t i)
{
    const struct heft_str name = l->exports->items[i].name;
    const struct heft_str layer =
        l->kept ? l->kept[i].layer : leading_components(name, l->components);

    return layer.n || l->kept ? layer : leading_components(name, 1);
}

/* Finds or adds the layer of item i. */
static bool find_layer(struct layers *l, size_t i, uint32_t *at, struct heft_error *err)
{
    const struct heft_str path = layer_of(l, i);

    if (!heft_strmap_add(&l->map, path, (uint32_t)l->n, at, err))
        return false;
    if (*at != HEFT_MAP_NONE)
        return true;
    if (!heft_budget_take(l->exports->mem->budget, LAYER_BYTES, err) ||
        !heft_grow(&l->list, &l->cap, l->n, 1, sizeof *l->list, err))
        return false;
    *at = (uint32_t)l->n;
    l->list[l->n++] =
        (struct layer){.path = path, .is_listed = path.n && (!l->kept || l->kept[i].is_listed)};
    return true;
}

/* Lists the layers in the order of their first items, with their numbers of weights. */
static bool count_layers(struct layers *l, struct heft_error *err)
{
    const struct heft_export_list *exports = l->exports;
    size_t first = 0;

    l->of = heft_arena_zero(exports->mem, exports->n_items, sizeof *l->of, err);
    l->weights =
        l->of ? heft_arena_zero(exports->mem, exports->n_items, sizeof *l->weights, err) : NULL;
    for (size_t i = 0; l->weights && i < exports->n_items; i++) {
        if (!find_layer(l, i, &l->of[i], err))
            return false;
        l->list[l->of[i]].n++;
    }
    for (size_t k = 0; k < l->n; k++) {
        l->list[k].first = first;
        first += l->list[k].n;
        l->list[k].n = 0; /* counted up again while the lists are filled */
    }
    return l->weights != NULL;
}

static void fill_weights(struct layers *l)
{
    for (size_t i = 0; i < l->exports->n_items; i++) {
        const struct heft_str name = l->exports->items[i].name;
        struct layer *layer = &l->list[l->of[i]];
        const size_t skip = layer->path.n ? layer->path.n + 1 : 0;

        l->weights[layer->first + layer->n++] =
            l->kept ? (struct heft_h5_text){l->kept[i].weight.p, l->kept[i].weight.n}
                    : (struct heft_h5_text){name.p + skip, name.n - skip};
    }
    for (size_t k = 0; k < l->n && !l->kept; k++)
        heft_h5_order(l->weights + l->list[k].first, l->list[k].n);
}

static bool put_layers(struct layers *l, struct heft_h5_attributes *out, struct heft_error *err)
{
    struct heft_arena *mem = l->exports->mem;
    struct heft_h5_text *names = heft_arena_zero(mem, l->n, sizeof *names, err);
    size_t n = 0;

    if (!names)
        return false;
    for (size_t k = 0; k < l->n; k++)
        if (l->list[k].is_listed)
            names[n++] = (struct heft_h5_text){l->list[k].path.p, l->list[k].path.n};
    if (n && !heft_h5_add_list(out, HEFT_STR(""), HEFT_H5_LAYERS, names, n, mem, err))
        return false;
    for (size_t k = 0; k < l->n; k++) {
        const struct layer *layer = &l->list[k];
        const char *path = heft_arena_text(mem, layer->path, err);

        if (!path || !heft_h5_add_list(out, (struct heft_str){path, layer->path.n}, HEFT_H5_WEIGHTS,
                                       l->weights + layer->first, layer->n, mem, err))
            return false;
    }
    return true;
}

/* keras_version marks layers as those of Keras 2; without it readers transpose kernels as those of
 * Keras 1. */
bool heft_h5_layers(const struct heft_export_list *exports, const struct heft_h5_place *kept,
                    struct heft_h5_attributes *out, struct heft_error *err)
{
    struct layers l = {.exports = exports, .kept = kept, .components = layer_components(exports)};
    bool ok = (kept || heft_h5_add_text(out, HEFT_H5_NAMES, HEFT_H5_PATHS, exports->mem, err)) &&
              heft_h5_add_text(out, HEFT_H5_KERAS, "2", exports->mem, err) && count_layers(&l, err);

    if (ok) {
        fill_weights(&l);
        ok = put_layers(&l, out, err);
    }
    heft_budget_return(exports->mem->budget, l.n * LAYER_BYTES);
    heft_strmap_release(&l.map);
    heft_free(l.list);
    return ok;
}
