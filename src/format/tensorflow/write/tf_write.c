/* tf_write.c: plans a tensor bundle as TensorFlow's SaveV2 writes it (doc/format/tf-write.md).
 *
 *     PREFIX.data-00000-of-0000N …    tensors in the source's order, without padding
 *     PREFIX.index                    name → dtype, shape, file, offset, size, CRC-32C; committed last
 *
 * Bytes with a stored CRC-32C are copied together with it, so that earlier corruption stays
 * detectable. */
#include "core/registry.h"
#include "format/tensorflow/bundle/tf_bundle.h"
#include "format/tensorflow/write/tf_write.h"
#include "wire/sstable_write.h"

#define GRAPH "_CHECKPOINTABLE_OBJECT_GRAPH"

/* ---- pieces ------------------------------------------------------------------------------ */

/* A storage that is copied unchanged keeps its checksum. */
static void take_crc(const struct heft_tf_out *out, struct heft_tf_piece *piece)
{
    const struct heft_row *row = piece->item.row;
    const struct heft_storage *storage;

    if (piece->put.p || piece->file || row->parts)
        return;
    storage = &out->plan->model->storages[row->storage];
    if (piece->item.as != row->dtype || row->stride || row->flags || row->offset ||
        storage->len != piece->item.bytes || storage->coding != HEFT_CODING_RAW)
        return;
    piece->has_crc = storage->sum == HEFT_SUM_CRC32C || storage->sum == HEFT_SUM_OWN;
    piece->crc = heft_crc_mask(storage->crc);
}

/* Only storages of a bundle's own layout can be copied if elements vary in length. */
static bool check_piece(struct heft_tf_out *out, struct heft_tf_piece *piece,
                        struct heft_error *err)
{
    const struct heft_model *model = out->plan->model;
    const enum heft_dtype as = (enum heft_dtype)piece->item.as;
    const struct heft_storage *storage;

    if (piece->put.p || piece->file || !heft_dtype_varies(as))
        return true;
    storage = &model->storages[piece->item.row->storage];
    if (storage->is_missing)
        return true; /* the plan reports it */
    if (piece->has_crc && heft_tf_out_swap(out, model, storage, piece, err))
        return true;
    if (!piece->has_crc)
        heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                  "%s tensors can only be copied from TensorFlow bundles", heft_dtype_name(as));
    return heft_error_about(err, "tensor", piece->item.name);
}

/* Chooses between keys and objects. Only tf.train.Checkpoint makes keys with such endings, and it
 * restores nothing without the object graph: if all names are such keys and the graph is missing,
 * it is made. */
static bool choose_objects(struct heft_tf_out *out, bool *objects, struct heft_error *err)
{
    const char *const names = heft_plan_option(out->plan, HEFT_TF_NAMES).text;
    const char *note = NULL;
    size_t keys;

    *objects = names && strcmp(names, "objects") == 0;
    if (out->into) {
        *objects = false; /* the model has its own graph, and names may be those of its variables */
        return true;
    }
    if (names || (keys = heft_tf_count_keys(out->exports)) == 0)
        return true;
    *objects = keys == out->exports->n_items;
    if (*objects)
        note = "names are keys of tf.train.Checkpoint: the object graph it restores by is also "
               "written (option names keys omits it)";
    else
        note = heft_arena_printf(
            out->plan->mem, err,
            "%zu of %u names are keys of tf.train.Checkpoint, which restores nothing without an "
            "object graph; option names objects makes one from all names",
            keys, (unsigned)out->exports->n_items);
    return note && heft_plan_note(out->plan, note, err);
}

/* The name is reserved: readers expect a string with the object graph there. */
static bool check_graph(const struct heft_tf_piece *piece, struct heft_error *err)
{
    const struct heft_export_item *item = &piece->item;

    if (piece->put.p || (item->as == HEFT_STRING && item->row->rank == 0))
        return true;
    heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
              "this name is reserved for a bundle's object graph: rename the tensor");
    return heft_error_about(err, "tensor", item->name);
}

static bool make_pieces(struct heft_tf_out *out, struct heft_error *err)
{
    bool objects;

    if (!choose_objects(out, &objects, err))
        return false;
    if (out->into ? !heft_tf_into_pieces(out, err) : objects && !heft_tf_out_objects(out, err))
        return false;
    for (uint32_t i = 0; i < out->exports->n_items && !out->into && !objects; i++)
        if (!heft_tf_out_item(out, i, err))
            return false;
    for (size_t i = 0; i < out->n_pieces; i++) {
        struct heft_tf_piece *const piece = &out->pieces[i];

        if (heft_str_is(piece->item.name, GRAPH) && !piece->file &&
            (!check_graph(piece, err) || !heft_tf_out_graph(out, piece, err)))
            return false;
        take_crc(out, piece);
        if (!check_piece(out, piece, err))
            return false;
    }
    return true;
}

/* ---- data files -------------------------------------------------------------------------- */

static bool slice_key(const struct heft_tf_out *out, const struct heft_tf_piece *piece,
                      struct heft_str *key, struct heft_error *err)
{
    struct heft_buf buf = {0};

    heft_slice_put_key(&buf, piece->item.name, piece->dims, piece->item.row->rank);
    return heft_buf_take(&buf, out->plan->mem, key, err);
}

static uint8_t tf_number(enum heft_dtype dtype)
{
    return heft_tf_dtype_for(dtype)->number; /* the format holds no other dtypes */
}

static bool add_line(struct heft_tf_out *out, const struct heft_tf_piece *piece, uint32_t sum,
                     uint64_t at, struct heft_error *err)
{
    struct heft_tf_line line = {
        .key = piece->item.name,
        .offset = at,
        .size = heft_tf_piece_bytes(piece),
        .shard = piece->shard,
        .sum = sum,
        .crc = piece->crc,
    };

    line.dtype = tf_number((enum heft_dtype)piece->put_as);
    if (piece->item.row) {
        line.shape = piece->item.row->shape;
        line.rank = piece->item.row->rank;
        line.dtype = tf_number((enum heft_dtype)piece->item.as);
    }
    if (piece->dims && !slice_key(out, piece, &line.key, err))
        return false;
    return heft_tf_out_line(out, &line, err);
}

/* Records the position of the item's first piece. */
static void place_item(const struct heft_tf_out *out, const struct heft_tf_piece *piece,
                       uint64_t at)
{
    const bool is_first = piece == out->pieces || piece[-1].of != piece->of;
    struct heft_export_item *item;

    if (piece->of == HEFT_NONE || !is_first)
        return;
    item = &out->exports->items[piece->of];
    item->shard = piece->shard;
    heft_plan_place(out->plan, item, at);
    item->name = piece->item.name;
}

/* Plans n bytes of the piece, from offset `at` in it. */
static bool plan_range(struct heft_tf_out *out, const struct heft_tf_piece *piece, uint32_t file,
                       uint64_t at, uint64_t n, struct heft_error *err)
{
    if (piece->file)
        return heft_plan_copy_file(out->plan, file, piece->file, piece->from + at, n, err);
    return heft_plan_copy(out->plan, file, piece->item.row->storage, at, n, piece->item.name, err);
}

static bool plan_swapped(struct heft_tf_out *out, const struct heft_tf_piece *piece, uint32_t file,
                         struct heft_error *err)
{
    const struct heft_tf_swapped *s = piece->swapped;
    const struct heft_str word = {(const char *)s->word, sizeof s->word};
    const uint64_t behind = s->lengths + sizeof s->word;

    return plan_range(out, piece, file, 0, s->lengths, err) &&
           heft_plan_put(out->plan, file, word, err) &&
           plan_range(out, piece, file, behind, piece->item.bytes - behind, err);
}

static bool plan_piece(struct heft_tf_out *out, struct heft_tf_piece *piece, uint32_t file,
                       struct heft_error *err)
{
    struct heft_plan *plan = out->plan;
    const uint64_t at = plan->files[file].size;
    uint32_t sum = HEFT_NONE;
    bool ok;

    if (!piece->has_crc)
        sum = heft_plan_sum_begin(plan);
    if (piece->swapped)
        ok = plan_swapped(out, piece, file, err);
    else if (piece->file)
        ok = plan_range(out, piece, file, 0, piece->item.bytes, err);
    else if (piece->put.p)
        ok = heft_plan_put(plan, file, piece->put, err);
    else
        ok = heft_plan_item(plan, file, &piece->item, err);
    heft_plan_sum_end(plan);
    place_item(out, piece, at);
    return ok && add_line(out, piece, sum, at, err);
}

static bool plan_data(struct heft_tf_out *out, struct heft_error *err)
{
    size_t i = 0;

    for (uint32_t shard = 0; shard < out->n_shards; shard++) {
        const char *path =
            heft_arena_printf(out->plan->mem, err, "%s.data-%05" PRIu32 "-of-%05" PRIu32,
                              out->prefix, shard, out->n_shards);
        uint32_t file;

        if (!path || !heft_plan_file_begin(out->plan, path, &file, err))
            return false;
        for (; i < out->n_pieces && out->pieces[out->order[i]].shard == shard; i++)
            if (!plan_piece(out, &out->pieces[out->order[i]], file, err))
                return false;
    }
    return true;
}

/* ---- partitioned tensors ----------------------------------------------------------------- */

/* Adds the entry of a partitioned tensor, which lists its n slices: the pieces from i on. */
static bool add_whole(struct heft_tf_out *out, size_t i, uint32_t n, struct heft_error *err)
{
    const struct heft_tf_piece *const first = &out->pieces[i];
    const struct heft_row *row = out->exports->items[first->of].row;
    struct heft_slice_dim *dims =
        heft_arena_alloc(out->plan->mem, ((size_t)n * row->rank + 1) * sizeof *dims, err);
    const struct heft_tf_line line = {
        .key = first->item.name,
        .shape = row->shape,
        .rank = row->rank,
        .dims = dims,
        .n_slices = n,
        .sum = HEFT_NONE,
        .dtype = tf_number((enum heft_dtype)first->item.as),
    };

    for (size_t k = 0; dims && k < n; k++)
        memcpy(dims + k * row->rank, out->pieces[i + k].dims, row->rank * sizeof *dims);
    return dims && heft_tf_out_line(out, &line, err);
}

static bool add_wholes(struct heft_tf_out *out, struct heft_error *err)
{
    uint32_t n;

    for (size_t i = 0; i < out->n_pieces; i += n) {
        const struct heft_tf_piece *const first = &out->pieces[i];

        for (n = 1; first->dims && i + n < out->n_pieces && out->pieces[i + n].of == first->of;)
            n++;
        if (first->dims && !add_whole(out, i, n, err))
            return false;
    }
    return true;
}

/* ---- the format -------------------------------------------------------------------------- */

/* "out/" and directories: model.ckpt in them; "x.index": x. */
static const char *prefix_of(const char *output, struct heft_arena *mem, struct heft_error *err)
{
    const struct heft_str path = heft_str_of(output);
    bool is_folder;

    if (!heft_path_is_folder(output, &is_folder, err))
        return NULL;
    if (heft_str_ends(path, "/") || is_folder)
        return heft_arena_printf(mem, err, "%s%smodel.ckpt", output,
                                 heft_str_ends(path, "/") ? "" : "/");
    if (heft_str_ends(path, ".index"))
        return heft_arena_text(mem, (struct heft_str){path.p, path.n - 6}, err);
    return heft_arena_text(mem, path, err);
}

static bool plan_bundle(struct heft_tf_out *out, struct heft_error *err)
{
    return heft_tf_out_begin(out, err) && make_pieces(out, err) && heft_tf_out_shards(out, err) &&
           plan_data(out, err) && add_wholes(out, err) && heft_tf_out_index(out, err);
}

/* Copy without trailing slashes. */
static const char *folder_of(const char *path, struct heft_arena *mem, struct heft_error *err)
{
    size_t n = strlen(path);

    while (n > 1 && path[n - 1] == '/')
        n--;
    return heft_arena_text(mem, (struct heft_str){path, n}, err);
}

/* Drops a given object graph: it describes the keys of its own bundle, and the model's is kept. */
static void leave_graph(struct heft_export_list *exports)
{
    size_t kept = 0;

    for (size_t i = 0; i < exports->n_items; i++)
        if (!heft_str_is(exports->items[i].row->name, GRAPH))
            exports->items[kept++] = exports->items[i];
    exports->n_items = kept;
}

/* Plans the bundle and the copied files, all in a new directory. */
static bool plan_into(struct heft_tf_out *out, const char *output, struct heft_error *err)
{
    struct heft_plan *plan = out->plan;

    out->into = folder_of(heft_plan_option(plan, HEFT_TF_INTO).text, plan->mem, err);
    plan->whole = folder_of(output, plan->mem, err);
    if (!out->into || !plan->whole)
        return false;
    out->prefix = heft_arena_printf(plan->mem, err, "%s/variables/variables", plan->whole);
    return out->prefix && plan_bundle(out, err) && heft_tf_into_files(out, err);
}

static bool plan_set(struct heft_plan *plan, const char *output, struct heft_export_list *exports,
                     struct heft_error *err)
{
    struct heft_tf_out out = {.plan = plan, .exports = exports};
    const bool into = heft_plan_option(plan, HEFT_TF_INTO).is_given;
    bool ok = heft_plan_leave_metadata(plan, exports, "TensorFlow bundles", err);

    if (into)
        leave_graph(exports);
    if (ok && into)
        ok = plan_into(&out, output, err);
    else if (ok)
        ok = (out.prefix = prefix_of(output, plan->mem, err)) && plan_bundle(&out, err);
    plan->prefix = out.prefix;
    plan->in_set = heft_tf_in_set;
    plan->may_link = true;
    exports->n_shards = out.n_shards;
    heft_budget_return(plan->mem->budget,
                       out.n_pieces * sizeof *out.pieces + out.n_lines * sizeof *out.lines);
    heft_free(out.pieces);
    heft_free(out.lines);
    return ok;
}

static bool supports_dtype(enum heft_dtype dtype)
{
    return heft_tf_dtype_for(dtype) != NULL;
}

static const char *const extensions[] = {"index", NULL};

static const char *const synonyms[] = {"tensorflow", "bundle", NULL};

static const struct heft_format_option options[HEFT_TF_OPTIONS + 1] = {
    [HEFT_TF_SHARDS] = {.name = "shards",
                        .kind = HEFT_OPTION_NUMBER,
                        .value = "N",
                        .least = 1,
                        .most = HEFT_TF_MAX_SHARDS,
                        .elsewhere = HEFT_ELSEWHERE_NOTED,
                        .help = "split into N data files"},
    [HEFT_TF_KEEP_SHARDS] = {.name = "keep-shards",
                             .elsewhere = HEFT_ELSEWHERE_NOTED,
                             .help = "split into the same data files as INPUT"},
    [HEFT_TF_NAMES] = {.name = "names",
                       .kind = HEFT_OPTION_TEXT,
                       .value = "KIND",
                       .choices = "keys|objects",
                       .elsewhere = HEFT_ELSEWHERE_UNLESS_READ,
                       .help = "keys: names in INPUT, or keys of tf.train.Checkpoint"},
    [HEFT_TF_INTO] = {.name = "into",
                      .kind = HEFT_OPTION_TEXT,
                      .value = "MODEL",
                      .implies_format = true,
                      .help = "write a copy of this SavedModel or .ptd with the weights of INPUT"},
    [HEFT_TF_KEEP_MISSING] = {.name = "keep-missing",
                              .elsewhere = HEFT_ELSEWHERE_NOTED,
                              .help = "keep the model's own weights that INPUT lacks (with into)"},
};

extern const struct heft_format heft_format_tf;
const struct heft_format heft_format_tf = {
    .name = "tf",
    .summary = "TensorFlow tensor bundle (PREFIX.index, PREFIX.data-…; written only)",
    .synonyms = synonyms,
    .plan_set = plan_set,
    .extensions = extensions,
    .sum = HEFT_SUM_CRC32C,
    .options = options,
    .supports_dtype = supports_dtype,
};
