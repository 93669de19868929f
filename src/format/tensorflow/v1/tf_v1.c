/* tf_v1.c: TensorFlow's V1 checkpoint: a sorted table that holds the tensors themselves, in one
 * file or in several shards of the same kind.
 *
 *     ""             →  SavedTensorSlices {1 meta {1 tensor {name, shape, dtype, slices} …, 2 version}}
 *     slice's key    →  SavedTensorSlices {2 data {1 name, 2 slice, 3 TensorProto}}
 *
 * Every tensor consists of slices; an ordinary tensor has one slice that covers it. The values of a
 * TensorProto are in the field of its dtype. Values stored as raw bytes are read from the file,
 * others are decoded while opening (tf_v1_values.c). */
#include "core/registry.h"
#include "format/tensorflow/bundle/tf_locate.h"
#include "format/tensorflow/v1/tf_v1.h"
#include "wire/proto.h"

extern const struct heft_format heft_format_tf_v1;

enum {
    SHARE = 2
}; /* names and slices are stored twice: half as many tensors as in a bundle fit in memory */

/* ---- probe ------------------------------------------------------------------------------- */

static int probe(const struct heft_probe *sample)
{
    return heft_sstable_is(sample->tail) && heft_tf_is_v1(sample->head) ? 95 : 0;
}

/* ---- the meta entry ---------------------------------------------------------------------- */

static bool is_message(const struct heft_proto_item *item, uint32_t number)
{
    return item->number == number && item->wire == HEFT_PROTO_LEN;
}

/* Adds the slices of a tensor that an earlier shard listed as well. */
static bool add_dims(struct heft_tf_v1 *r, struct heft_tf_v1_tensor *tensor,
                     const struct heft_tf_entry *entry)
{
    const size_t n = (size_t)entry->n_slices * entry->rank;

    if (!heft_grow(&tensor->dims, &tensor->cap, tensor->n_dims, n, sizeof *tensor->dims, r->b.err))
        return false;
    if (n)
        memcpy(tensor->dims + tensor->n_dims, entry->dims, n * sizeof *tensor->dims);
    tensor->n_dims += n;
    tensor->n_slices += entry->n_slices;
    return true;
}

static bool same_tensor(const struct heft_tf_v1_tensor *tensor, const struct heft_tf_entry *entry)
{
    bool same = tensor->entry.number == entry->number && tensor->entry.rank == entry->rank;

    for (unsigned d = 0; same && d < entry->rank; d++)
        same = tensor->entry.shape[d] == entry->shape[d];
    return same;
}

static struct heft_tf_v1_tensor *new_tensor(struct heft_tf_v1 *r, const struct heft_tf_entry *entry,
                                            uint64_t at)
{
    struct heft_tf_v1_tensor *tensor;
    uint32_t other;
    const uint64_t most = heft_limit_tensors(&r->b.model->limits, r->b.model->file_bytes) / SHARE;
    const char *name;

    if (r->n >= most) {
        heft_fail(r->b.err, HEFT_LIMIT, at,
                  "more than %" PRIu64 " tensors in %" PRIu64 " bytes of version 1: half of "
                  "limits.tensors",
                  most, r->b.model->file_bytes);
        return NULL;
    }
    if (!heft_grow(&r->tensors, &r->cap, r->n, 1, sizeof *r->tensors, r->b.err) ||
        !(name = heft_arena_text(&r->b.model->mem, entry->name, r->b.err)))
        return NULL;
    tensor = &r->tensors[r->n];
    *tensor = (struct heft_tf_v1_tensor){.entry = *entry, .at = at};
    tensor->entry.name = (struct heft_str){name, entry->name.n};
    if (!heft_strmap_add(&r->names, tensor->entry.name, (uint32_t)r->n, &other, r->b.err))
        return NULL;
    r->n++;
    return tensor;
}

static bool read_tensor(struct heft_tf_v1 *r, struct heft_cur cur)
{
    const struct heft_tf_room room = {&r->b.model->mem, &r->b.scratch, &r->b.room};
    const uint64_t at = heft_cur_where(&cur);
    struct heft_tf_v1_tensor *tensor;
    struct heft_tf_entry entry;
    uint32_t found;

    if (!heft_tf_v1_entry_read(cur, &room, &entry, r->b.err))
        return false;
    found = heft_strmap_get(&r->names, entry.name);
    tensor = found == HEFT_MAP_NONE ? new_tensor(r, &entry, at) : &r->tensors[found];
    if (tensor && found != HEFT_MAP_NONE && !same_tensor(tensor, &entry)) {
        heft_fail(r->b.err, HEFT_MALFORMED, at, "shape or dtype differs from the previous shard");
        return heft_error_about(r->b.err, "tensor", tensor->entry.name);
    }
    return tensor && add_dims(r, tensor, &entry);
}

static bool read_meta(struct heft_tf_v1 *r, struct heft_cur cur)
{
    struct heft_proto_item item;

    while (heft_proto_take(&cur, &item, r->b.err)) {
        if (is_message(&item, 1) && !read_tensor(r, heft_proto_sub(&item)))
            return false;
        if (is_message(&item, 2) &&
            !heft_tf_version_read(heft_proto_sub(&item), &r->b.header, r->b.err))
            return false;
    }
    return !cur.bad;
}

/* ---- data entries ------------------------------------------------------------------------ */

/* The field `number` of a message as a cursor; empty if absent. The last occurrence counts. */
static bool find_message(struct heft_cur cur, uint32_t number, struct heft_cur *out,
                         struct heft_error *err)
{
    struct heft_proto_item item;

    *out = heft_cur_of((struct heft_bytes){cur.p, 0}, heft_cur_where(&cur));
    while (heft_proto_take(&cur, &item, err))
        if (is_message(&item, number))
            *out = heft_proto_sub(&item);
    return !cur.bad;
}

/* Builds the entry that a bundle would have for this slice, with the slice's own shape. */
static bool box_entry(struct heft_tf_v1 *r, const struct heft_tf_v1_tensor *tensor,
                      const struct heft_slice_dim *dims, struct heft_tf_entry *out)
{
    uint64_t *shape = heft_arena_u64(&r->b.model->mem, tensor->entry.rank, r->b.err);

    if (!shape)
        return false;
    *out = tensor->entry;
    out->n_slices = 0;
    out->shape = shape;
    out->elements = 1;
    for (unsigned d = 0; d < out->rank; d++) {
        const uint64_t size = tensor->entry.shape[d];
        const bool is_whole = dims[d].start == 0 && dims[d].length == HEFT_SLICE_WHOLE;

        if (!is_whole && (dims[d].start < 0 || dims[d].length < 0 ||
                          !heft_within((uint64_t)dims[d].start, (uint64_t)dims[d].length, size)))
            return heft_fail(r->b.err, HEFT_MALFORMED, r->where, "the slice exceeds its tensor");
        shape[d] = is_whole ? size : (uint64_t)dims[d].length;
        out->elements *=
            shape[d]; /* at most the tensor's elements, unless other dimensions are 0 */
    }
    return true;
}

static bool add_data(struct heft_tf_v1 *r, const struct heft_sstable_entry *e,
                     const struct heft_tf_v1_tensor *tensor, const struct heft_slice_dim *dims)
{
    const struct heft_str key = {(const char *)e->key.p, e->key.n};
    const char *copy = heft_arena_text(&r->b.model->mem, key, r->b.err);
    struct heft_cur value = heft_cur_of(e->value, e->value_at), data, proto;
    struct heft_tf_entry entry;
    uint32_t storage = HEFT_NONE;

    return copy && find_message(value, 2, &data, r->b.err) &&
           find_message(data, 3, &proto, r->b.err) && box_entry(r, tensor, dims, &entry) &&
           (!entry.dtype || heft_tf_v1_values(r, &entry, proto, e->is_packed, &storage)) &&
           heft_tf_add_slice(&r->b, (struct heft_str){copy, key.n}, &entry, e->off, storage);
}

static bool read_data(struct heft_tf_v1 *r, const struct heft_sstable_entry *e)
{
    struct heft_slice_dim dims[HEFT_SLICE_RANK];
    struct heft_str name;
    unsigned rank;
    uint32_t found;

    r->b.key.n = 0;
    if (!heft_slice_key(e->key, &r->b.key, dims, &rank))
        return heft_fail(r->b.err, HEFT_MALFORMED, e->off, "not a slice key");
    if (!heft_buf_ok(&r->b.key, r->b.err))
        return false;
    name = (struct heft_str){r->b.key.p ? r->b.key.p : "", r->b.key.n};
    found = heft_strmap_get(&r->names, name);
    if (found == HEFT_MAP_NONE || r->tensors[found].entry.rank != rank)
        return heft_model_note(r->b.model, HEFT_FINDING, r->file, e->off, r->b.err,
                               "no tensor lists this slice") &&
               heft_tf_claim_entry(&r->b, r->file, e, "stray entry", HEFT_STR(""));
    name = r->tensors[found].entry.name;
    return (add_data(r, e, &r->tensors[found], dims) ||
            heft_error_about(r->b.err, "tensor", name)) &&
           heft_tf_claim_entry(&r->b, r->file, e, "values of ", name);
}

static bool take_entry(struct heft_tf_bundle *b, const struct heft_sstable_entry *e)
{
    struct heft_tf_v1 *r = (struct heft_tf_v1 *)(void *)b; /* r->b is the first member */
    struct heft_cur meta;

    r->where = e->off;
    if (e->key.n > 0)
        return r->has_meta ? read_data(r, e)
                           : heft_fail(b->err, HEFT_MALFORMED, e->off,
                                       "the first key must be empty: it lists the tensors");
    r->has_meta = true;
    return find_message(heft_cur_of(e->value, e->value_at), 1, &meta, b->err) &&
           read_meta(r, meta) &&
           heft_tf_claim_entry(b, r->file, e, "names, shapes and slices of the tensors",
                               HEFT_STR(""));
}

/* ---- rows -------------------------------------------------------------------------------- */

static bool is_ordinary(const struct heft_tf_v1_tensor *tensor)
{
    bool whole = tensor->n_slices == 1;

    for (unsigned d = 0; whole && d < tensor->entry.rank; d++)
        whole = tensor->dims[d].start == 0 &&
                (tensor->dims[d].length == HEFT_SLICE_WHOLE ||
                 (uint64_t)tensor->dims[d].length == tensor->entry.shape[d]);
    return whole;
}

/* The storage of an ordinary tensor, or HEFT_NONE if it has no data entry. */
static bool find_storage(struct heft_tf_v1 *r, const struct heft_tf_v1_tensor *tensor,
                         uint32_t *storage)
{
    uint32_t found;

    r->b.key.n = 0;
    heft_slice_put_key(&r->b.key, tensor->entry.name, tensor->dims, tensor->entry.rank);
    if (!heft_buf_ok(&r->b.key, r->b.err))
        return false;
    found = heft_strmap_get(&r->b.slice_keys, (struct heft_str){r->b.key.p, r->b.key.n});
    *storage = HEFT_NONE;
    if (found == HEFT_MAP_NONE)
        return true;
    r->b.slices[found].is_listed = true;
    *storage = r->b.slices[found].storage;
    return true;
}

static bool add_tensor(struct heft_tf_v1 *r, struct heft_tf_v1_tensor *tensor)
{
    struct heft_tf_entry *entry = &tensor->entry;
    struct heft_row row = {.name = entry->name, .shape = entry->shape, .rank = entry->rank};

    entry->dims = tensor->dims;
    entry->n_slices = tensor->n_slices;
    if (!entry->dtype)
        return heft_model_add_unreadable(r->b.model, entry->name, r->b.source, tensor->at,
                                         "its dtype is unknown", r->b.err);
    if (tensor->n_slices == 0)
        return heft_model_add_unreadable(r->b.model, entry->name, r->b.source, tensor->at,
                                         "it has no slices", r->b.err);
    if (!is_ordinary(tensor))
        return heft_tf_add_partitioned(&r->b, entry->name, entry, tensor->at);
    if (!find_storage(r, tensor, &row.storage))
        return false;
    if (row.storage == HEFT_NONE)
        return heft_model_add_unreadable(r->b.model, entry->name, r->b.source, tensor->at,
                                         "its data entry is missing", r->b.err);
    row.dtype = entry->dtype->dtype;
    return heft_model_add_row(r->b.model, &row, r->b.err);
}

/* ---- open -------------------------------------------------------------------------------- */

static bool read_file(struct heft_tf_v1 *r, uint32_t file)
{
    r->file = file;
    r->has_meta = false;
    return (heft_tf_walk(&r->b, file, take_entry) &&
            (r->has_meta || heft_fail(r->b.err, HEFT_MALFORMED, 0, "the table has no entries"))) ||
           heft_error_file(r->b.err, r->b.model->sources[file].path);
}

/* Reads all shards in order; the file name is like "model.ckpt-3-00000-of-00002". */
static bool read_siblings(struct heft_tf_v1 *r)
{
    const char *path = r->b.model->sources[r->b.source].path;
    const char *mine = path + heft_path_folder(path), *of = mine + strlen(mine);
    const uint64_t n = heft_tf_locate_shards(mine);

    while (of[-1] != '-')
        of--;
    for (uint64_t k = 0; k < n; k++) {
        const char *name = heft_arena_printf(&r->b.scratch, r->b.err, "%.*s%05" PRIu64 "-of-%s",
                                             (int)(of - mine) - 9, mine, k, of);
        uint32_t file;

        if (!name)
            return false;
        if (strcmp(name, mine) == 0)
            file = r->b.source;
        else if (!heft_registry_add_sibling(r->b.model, r->b.source, heft_str_of(name), &file,
                                            r->b.err))
            return false;
        r->b.model->sources[file].format = &heft_format_tf_v1;
        if (!read_file(r, file))
            return false;
    }
    return true;
}

static bool read_all(struct heft_tf_v1 *r)
{
    const char *path = r->b.model->sources[r->b.source].path;

    if (!(heft_tf_locate_shards(path) > 0 ? read_siblings(r) : read_file(r, r->b.source)))
        return false;
    for (size_t i = 0; i < r->n; i++)
        if (!add_tensor(r, &r->tensors[i]))
            return heft_error_about(r->b.err, "tensor", r->tensors[i].entry.name);
    return heft_tf_note_strays(&r->b);
}

static bool open_v1(struct heft_model *model, uint32_t source, struct heft_error *err)
{
    struct heft_tf_v1 r = {
        .b = {.model = model,
              .source = source,
              .err = err,
              .graph = HEFT_NONE,
              .room = 8 * heft_limit_tensors(&model->limits, model->file_bytes)}};
    const bool ok = read_all(&r);

    if (ok && !model->format)
        model->format = "tf-v1";
    if (ok && !model->version)
        model->version = "V1 checkpoint";
    for (size_t i = 0; i < r.n; i++)
        heft_free(r.tensors[i].dims);
    heft_free(r.tensors);
    heft_strmap_release(&r.names);
    heft_tf_release(&r.b);
    return ok;
}

static const struct heft_format_option options[] = {HEFT_TF_STEP_OPTION, {0}};

const struct heft_format heft_format_tf_v1 = {
    .name = "tf-v1",
    .summary = "TensorFlow V1 checkpoint: tables that hold the tensors",
    .has_path_names = true,
    .has_messages = true,
    .has_block_sums = true,
    .probe = probe,
    .open = open_v1,
    .options = options,
};
