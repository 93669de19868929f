/* h5_write.c: plans an HDF5 file. libhdf5 lays it out without the data: its metadata become
 * generated parts of the plan, between which the tensors are copied.
 *
 *     image     [superblock, groups, headers]            [B-trees, heaps]            [headers]
 *     tensors                                [ a/kernel ]                [ b/kernel ]
 *     plan      MADE                          COPY        MADE            COPY        MADE
 *
 * A tensor is a dataset with the path of its name; the parts of the path are groups. */
#include <stdlib.h>

#include "base/text.h"
#include "format/hdf5/h5_parts.h"

#define MOST_PARTS  128      /* most parts of a path */
#define MOST_RANK   32       /* limit of libhdf5 */
#define MOST_GROUPS 0x40000u /* a group takes libhdf5 20 us, and 1 KiB of the file */

struct writer {
    struct heft_plan *plan;
    const struct heft_export_list *exports;
    const struct heft_h5_module *module;
    struct heft_error *err;
    uint32_t *order; /* items, sorted by name */
    struct heft_h5_new *datasets;
    struct heft_strmap paths; /* path → position in `order` */
    struct heft_h5_attributes attributes;
    const struct heft_h5_place *kept; /* places of items as in the source; NULL: by name */
    struct heft_h5_image *image;      /* owned by the plan */
    uint32_t file, maker;
    bool is_shard;
};

/* ---- names ------------------------------------------------------------------------------- */

/* Rule of transformers: the first part of a name (the class of the model) is removed. */
struct heft_str heft_h5_shard_name(struct heft_str name)
{
    static const char mark[] = "model.";
    const char *slash = memchr(name.p, '/', name.n);

    for (size_t i = 0; i + sizeof mark - 1 <= name.n; i++)
        if (memcmp(name.p + i, mark, sizeof mark - 1) == 0)
            return name;
    if (!slash)
        return name;
    return (struct heft_str){slash + 1, name.n - (size_t)(slash + 1 - name.p)};
}

static struct heft_str item_name(const struct writer *w, size_t k)
{
    return w->exports->items[w->order[k]].name;
}

/* False for parts that have a special meaning for libhdf5 or are ignored by it. */
static bool is_part(struct heft_str part)
{
    return part.n > 0 && !heft_str_is(part, ".") && !memchr(part.p, '\0', part.n);
}

static bool check_parts(const struct writer *w, struct heft_str path)
{
    size_t begin = 0, parts = 0;

    for (size_t i = 0; i <= path.n; i++) {
        if (i < path.n && path.p[i] != '/')
            continue;
        if (!is_part((struct heft_str){path.p + begin, i - begin}))
            return heft_fail(
                w->err, HEFT_USAGE, HEFT_NO_OFFSET,
                "its name is not a path in HDF5: a part of it is empty, \".\" or has a "
                "NUL; a rename would do");
        if (++parts > MOST_PARTS)
            return heft_fail(w->err, HEFT_LIMIT, HEFT_NO_OFFSET,
                             "its name has more than %d parts between slashes, the limit",
                             MOST_PARTS);
        begin = i + 1;
    }
    return true;
}

static bool check_above(const struct writer *w, struct heft_str path)
{
    for (size_t i = 0; i < path.n; i++) {
        const struct heft_str group = {path.p, i};
        const uint32_t at = path.p[i] == '/' ? heft_strmap_get(&w->paths, group) : HEFT_MAP_NONE;

        if (at != HEFT_MAP_NONE)
            return heft_fail(w->err, HEFT_USAGE, HEFT_NO_OFFSET,
                             "another tensor is named %.*s: in HDF5 that cannot be both a tensor "
                             "and a group; rename one of them",
                             (int)heft_min_u64(group.n, 200), group.p);
    }
    return true;
}

static bool check_dataset(const struct writer *w, size_t k)
{
    const struct heft_h5_new *wish = &w->datasets[k];

    if (wish->rank > MOST_RANK)
        return heft_fail(w->err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                         "%u dimensions; HDF5 has at most %d", wish->rank, MOST_RANK);
    return check_above(w, (struct heft_str){wish->path.p, wish->path.n});
}

static bool check_datasets(struct writer *w)
{
    for (size_t k = 0; k < w->exports->n_items; k++)
        if (!check_dataset(w, k))
            return heft_error_about(w->err, "tensor", item_name(w, k));
    heft_strmap_release(&w->paths); /* libhdf5 needs memory next */
    return true;
}

/* Counts the groups of a path that no earlier path, in this order, has created. */
static size_t count_new_groups(struct heft_h5_text path, struct heft_h5_text before)
{
    size_t same = 0, groups = 0;

    while (same < path.n && same < before.n && path.p[same] == before.p[same])
        same++;
    for (size_t i = same; i < path.n; i++)
        groups += path.p[i] == '/';
    return groups;
}

static bool check_groups(const struct writer *w)
{
    size_t groups = 0;

    for (size_t k = 1; k < w->exports->n_items; k++)
        groups += count_new_groups(w->datasets[k].path, w->datasets[k - 1].path);
    return groups <= MOST_GROUPS ||
           heft_fail(w->err, HEFT_LIMIT, HEFT_NO_OFFSET,
                     "the names make %zu groups of HDF5, the limit is %u", groups, MOST_GROUPS);
}

/* ---- datasets ---------------------------------------------------------------------------- */

struct name_key {
    struct heft_str name;
    uint32_t item;
};

static int by_name(const void *a, const void *b)
{
    return heft_str_cmp(((const struct name_key *)a)->name, ((const struct name_key *)b)->name);
}

static bool sort_items(struct writer *w)
{
    const struct heft_export_list *exports = w->exports;
    struct name_key *keys = heft_arena_zero(exports->mem, exports->n_items, sizeof *keys, w->err);

    w->order =
        keys ? heft_arena_zero(exports->mem, exports->n_items, sizeof *w->order, w->err) : NULL;
    if (!w->order)
        return false;
    for (uint32_t i = 0; i < exports->n_items; i++)
        keys[i] = (struct name_key){exports->items[i].name, i};
    qsort(keys, exports->n_items, sizeof *keys, by_name);
    for (size_t i = 0; i < exports->n_items; i++)
        w->order[i] = keys[i].item;
    return true;
}

static bool add_dataset(struct writer *w, size_t k)
{
    const struct heft_export_item *item = &w->exports->items[w->order[k]];
    const struct heft_str path = w->is_shard ? heft_h5_shard_name(item->name)
                                 : w->kept   ? w->kept[w->order[k]].path
                                             : item->name;
    uint32_t other;

    w->datasets[k] =
        (struct heft_h5_new){.path = {path.p, path.n}, /* NUL-terminated, as the name is */
                             .dtype = (enum heft_dtype)item->as,
                             .rank = item->row->rank,
                             .shape = item->row->shape};
    if (!check_parts(w, path) || !heft_strmap_add(&w->paths, path, (uint32_t)k, &other, w->err))
        return heft_error_about(w->err, "tensor", item->name);
    if (other == HEFT_MAP_NONE)
        return true;
    heft_fail(w->err, HEFT_USAGE, HEFT_NO_OFFSET,
              "in a shard, which leaves out the first part of names, it is called as %.*s is",
              (int)heft_min_u64(item_name(w, other).n, 200), item_name(w, other).p);
    return heft_error_about(w->err, "tensor", item->name);
}

#define PATH_BYTES 36 /* of a path in its hash table */

static bool add_datasets(struct writer *w)
{
    const size_t n = w->exports->n_items;

    if (!heft_budget_allows(w->exports->mem->budget, n * (sizeof *w->datasets + PATH_BYTES),
                            w->err))
        return false;
    w->datasets = heft_arena_zero(w->exports->mem, n, sizeof *w->datasets, w->err);
    if (!w->datasets)
        return false;
    for (size_t k = 0; k < n; k++)
        if (!add_dataset(w, k))
            return false;
    return true;
}

/* ---- attributes -------------------------------------------------------------------------- */

/* A shard lists its datasets in the order of the tensors' full names. */
static bool list_shard(struct writer *w)
{
    const size_t n = w->exports->n_items;
    struct heft_h5_text *names = heft_arena_zero(w->exports->mem, n, sizeof *names, w->err);

    if (!names)
        return false;
    for (size_t k = 0; k < n; k++)
        names[k] = w->datasets[k].path;
    return heft_h5_add_list(&w->attributes, HEFT_STR(""), HEFT_H5_LAYERS, names, n, w->exports->mem,
                            w->err);
}

/* An image owned by the plan. */
struct laid {
    const struct heft_h5_module *module;
    struct heft_h5_image *image;
};

static bool read_image(const void *ctx, uint64_t from, uint8_t *out, size_t n,
                       struct heft_error *err)
{
    const struct laid *laid = ctx;

    return laid->module->image_read(laid->image, from, out, n, err);
}

static void release_image(void *ctx)
{
    const struct laid *laid = ctx;

    laid->module->image_free(laid->image);
}

/* Bytes that libhdf5 allocates for n datasets, measured with 150 000 and 295 000: its cache of
 * metadata, which grows with the first hundred thousand, and a symbol of each. */
static uint64_t library_bytes(size_t n)
{
    return heft_min_u64(n * UINT64_C(400), UINT64_C(40) << 20) + n * UINT64_C(110);
}

static bool lay_out(struct writer *w)
{
    struct laid *laid = heft_arena_alloc(w->plan->mem, sizeof *laid, w->err);
    struct heft_error found = {0};

    if (!laid ||
        !(w->is_shard ? list_shard(w)
                      : heft_h5_layers(w->exports, w->kept, &w->attributes, w->err)) ||
        !heft_budget_allows(w->plan->mem->budget, library_bytes(w->exports->n_items), w->err))
        return false;
    w->image = w->module->lay_out(w->datasets, w->exports->n_items, w->attributes.list,
                                  w->attributes.n, &found);
    if (!w->image)
        return heft_h5_blame(w->err, &found);
    *laid = (struct laid){w->module, w->image};
    return heft_plan_maker(w->plan, (struct heft_maker){read_image, release_image, laid}, &w->maker,
                           w->err);
}

/* ---- the plan of the file ---------------------------------------------------------------- */

struct place_key {
    uint64_t offset;
    uint32_t k;
};

static int by_offset(const void *a, const void *b)
{
    const uint64_t x = ((const struct place_key *)a)->offset;
    const uint64_t y = ((const struct place_key *)b)->offset;

    return (x > y) - (x < y);
}

/* Adds the image up to that offset. */
static bool make_up_to(struct writer *w, uint64_t end)
{
    const uint64_t at = w->plan->files[w->file].size;

    if (end < at)
        return heft_fail(w->err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "libhdf5 gives two tensors the same position");
    return heft_plan_made(w->plan, w->file, w->maker, at, end - at, w->err);
}

static bool add_item(struct writer *w, const struct place_key *place)
{
    const struct heft_export_item *item = &w->exports->items[w->order[place->k]];

    if (item->bytes == 0)
        return heft_plan_item(w->plan, w->file, item, w->err);
    if (place->offset == HEFT_H5_NOWHERE)
        return heft_fail(w->err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                         "libhdf5 gives no position to tensor %.200s", item->name.p);
    return make_up_to(w, place->offset) && heft_plan_item(w->plan, w->file, item, w->err);
}

static bool add_ops(struct writer *w)
{
    const size_t n = w->exports->n_items;
    struct place_key *places = heft_arena_zero(w->exports->mem, n, sizeof *places, w->err);

    if (!places)
        return false;
    for (uint32_t k = 0; k < n; k++)
        places[k] = (struct place_key){w->datasets[k].offset, k};
    qsort(places, n, sizeof *places, by_offset);
    for (size_t i = 0; i < n; i++)
        if (!add_item(w, &places[i]))
            return false;
    return make_up_to(w, w->module->image_size(w->image));
}

/* A shard of transformers has no list of layers. */
static bool keep_layers(struct writer *w)
{
    bool lost = false;

    return w->is_shard ||
           (heft_h5_keep(w->exports, &w->kept, &lost, w->err) &&
            (!lost || heft_plan_note(w->plan,
                                     "layers are told by names, not as the source has them: not "
                                     "all tensors are in its lists, or some are renamed",
                                     w->err)));
}

bool heft_h5_plan(struct heft_plan *plan, uint32_t file, const struct heft_export_list *exports,
                  struct heft_error *err)
{
    struct writer w = {.plan = plan,
                       .exports = exports,
                       .err = err,
                       .file = file,
                       .is_shard = exports->n_shards > 1};
    bool ok;

    w.module = heft_h5_load(err);
    ok = w.module && sort_items(&w) && keep_layers(&w) && add_datasets(&w) && check_datasets(&w) &&
         check_groups(&w) && lay_out(&w) && add_ops(&w) &&
         heft_plan_leave_metadata(plan, exports, "written HDF5 files", err);
    heft_strmap_release(&w.paths);
    heft_free(w.attributes.list);
    return ok;
}
