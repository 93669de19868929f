/* tf_bundle.c: TensorFlow's tensor bundle (V2 checkpoint): an index and its data files.
 *
 *     model.ckpt.index                  a sorted table (wire/sstable.h):
 *         ""                        →   header: number of data files, endianness, version
 *         00 … (the key of a slice) →   entry of a slice
 *         "layer/kernel"            →   entry: dtype, shape, data file, offset, size, CRC
 *                                       or, for a partitioned tensor, the list of its slices
 *     model.ckpt.data-00000-of-00002    tensor bytes in file order; zeros between them are padding
 *     model.ckpt.data-00001-of-00002
 *
 * Opening reads only the index. See doc/format/tf-bundle.md. */
#include "core/registry.h"
#include "core/tree.h"
#include "format/tensorflow/bundle/tf_bundle.h"
#include "format/tensorflow/bundle/tf_locate.h"

#define MOST_TEXTS (UINT64_C(16) << 20)
/* Smallest entry: three lengths, one key byte, dtype, shape, size and checksum. */
#define LEAST_ENTRY 16

/* ---- probe ------------------------------------------------------------------------------- */

static int probe(const struct heft_probe *sample)
{
    static const uint8_t header[] = {0, 0, 6, 8}; /* one data file, version 1: the usual header */

    if (heft_sstable_is(sample->tail))
        return heft_tf_is_v1(sample->head) ? 0 : 95;
    if (sample->head.n > 9 && memcmp(sample->head.p, header, sizeof header) == 0 &&
        memcmp(sample->head.p + 5, "\x1a\x02\x08\x01", 4) == 0)
        return 60; /* truncated */
    return 0;
}

/* ---- reading the index ------------------------------------------------------------------- */

static bool read_header(struct heft_tf_bundle *b, const struct heft_sstable_entry *e)
{
    b->has_header = true;
    return heft_tf_header_read(e->value, e->value_at, &b->header, b->err) &&
           (e->is_packed ||
            heft_model_claim(b->model, b->source, e->off, e->len, "header", b->err));
}

/* Keep the bytes of a tensor of unknown dtype as a storage that no tensor reads, so that verify
 * does not report them as hidden. */
static bool add_unknown(struct heft_tf_bundle *b, struct heft_str name,
                        const struct heft_tf_entry *entry, uint64_t at)
{
    const char *reason = heft_arena_printf(
        &b->scratch, b->err, "its dtype number %" PRIu64 " is unknown", entry->number);
    uint32_t storage;

    return reason && heft_model_add_unreadable(b->model, name, b->source, at, reason, b->err) &&
           (entry->n_slices > 0 || heft_tf_add_storage(b, entry, at, &storage));
}

static bool add_row(struct heft_tf_bundle *b, struct heft_str name,
                    const struct heft_tf_entry *entry, uint64_t at)
{
    struct heft_row row = {.name = name, .shape = entry->shape, .rank = entry->rank};

    if (!entry->dtype)
        return add_unknown(b, name, entry, at);
    if (entry->n_slices > 0)
        return heft_tf_add_partitioned(b, name, entry, at);
    row.dtype = entry->dtype->dtype;
    row.flags = heft_tf_row_flags(b, entry->dtype);
    if (!heft_tf_add_storage(b, entry, at, &row.storage))
        return false;
    if (heft_str_eq(name, HEFT_STR(HEFT_TF_GRAPH_KEY)))
        b->graph = row.storage;
    return heft_model_add_row(b->model, &row, b->err);
}

/* Slice keys cannot collide with tensor names: their first byte is 0. heft_slice_key decodes the
 * rest. */
static bool is_slice(struct heft_tf_bundle *b, struct heft_str key)
{
    struct heft_slice_dim dims[HEFT_SLICE_RANK];
    unsigned rank;

    if (key.p[0] != '\0')
        return false;
    b->key.n = 0;
    return heft_slice_key((struct heft_bytes){(const uint8_t *)key.p, key.n}, &b->key, dims, &rank);
}

static bool add_slice(struct heft_tf_bundle *b, struct heft_str key,
                      const struct heft_tf_entry *entry, uint64_t at)
{
    uint32_t storage = HEFT_NONE;

    if (entry->n_slices > 0)
        return heft_fail(b->err, HEFT_MALFORMED, at, "a slice entry must not list slices");
    return heft_tf_add_storage(b, entry, at, &storage) &&
           heft_tf_add_slice(b, key, entry, at, storage);
}

static bool read_entry(struct heft_tf_bundle *b, const struct heft_sstable_entry *e)
{
    const struct heft_str key = {(const char *)e->key.p, e->key.n};
    struct heft_str name = {heft_arena_text(&b->model->mem, key, b->err), key.n};
    struct heft_tf_entry entry;
    const struct heft_tf_room room = {&b->model->mem, &b->scratch, &b->room};
    const bool slice = is_slice(b, key);
    bool ok;

    if (!name.p || !heft_buf_ok(&b->key, b->err))
        return false;
    ok = heft_tf_entry_read(e->value, e->value_at, &room, &entry, b->err) &&
         (slice ? add_slice : add_row)(b, name, &entry, e->off);
    if (!ok)
        return heft_error_about(b->err, slice ? "slice of" : "tensor",
                                slice ? (struct heft_str){b->key.p, b->key.n} : name);
    if (slice) { /* readable form of the slice key */
        name.n = b->key.n;
        name.p = heft_arena_text(&b->model->mem, (struct heft_str){b->key.p, b->key.n}, b->err);
    }
    return name.p &&
           heft_tf_claim_entry(b, b->source, e, slice ? "entry of a slice of " : "entry of ", name);
}

static bool take_entry(struct heft_tf_bundle *b, const struct heft_sstable_entry *e)
{
    if (!b->has_header && e->key.n > 0)
        return heft_fail(b->err, HEFT_MALFORMED, e->off,
                         "the first key must be empty: it holds the header");
    if (b->has_header && e->key.n == 0)
        return heft_fail(b->err, HEFT_MALFORMED, e->off, "a second header (empty key)");
    return (e->key.n == 0 ? read_header : read_entry)(b, e);
}

/* Reserve rows and storages for as many tensors as the index can hold. Untouched pages cost
 * nothing, and the arrays need not be copied as they grow. */
static bool make_room(const struct heft_tf_bundle *b)
{
    const uint64_t most = heft_limit_tensors(&b->model->limits, b->model->file_bytes);
    const uint64_t size = b->model->sources[b->source].source.size;
    const size_t n = (size_t)heft_min_u64(size / LEAST_ENTRY, most);

    return heft_model_reserve(b->model, n, n, b->err) &&
           heft_model_reserve_texts(b->model, (size_t)heft_min_u64(2 * size, MOST_TEXTS), b->err) &&
           heft_model_reserve_claims(b->model, n, b->err);
}

static bool read_index(struct heft_tf_bundle *b)
{
    return make_room(b) && heft_tf_walk(b, b->source, take_entry) &&
           (b->has_header || heft_fail(b->err, HEFT_MALFORMED, 0,
                                       "the table has no entries: a bundle needs a header"));
}

/* ---- open -------------------------------------------------------------------------------- */

static bool describe_bundle(const struct heft_tf_bundle *b)
{
    const struct heft_tf_header *h = &b->header;
    struct heft_model *model = b->model;
    struct heft_node *root = heft_model_file_info(model, b->err);
    struct heft_node *node;

    if (!model->format)
        model->format = "tf-bundle";
    if (!root || heft_value_below(&root->value, "header"))
        return root != NULL; /* if several bundles are opened, the header of the first */
    node = heft_tree_dict(&model->mem, root, HEFT_STR("header"), b->err);
    if (!model->version)
        model->version =
            heft_arena_printf(&model->mem, b->err, "tensor bundle, version %" PRId32, h->producer);
    return node && model->version &&
           heft_tree_number(&model->mem, node, HEFT_STR("num_shards"), h->num_shards, b->err) &&
           heft_tree_text(&model->mem, node, HEFT_STR("endianness"),
                          h->is_big_endian ? HEFT_STR("big") : HEFT_STR("little"), b->err) &&
           heft_tree_number(&model->mem, node, HEFT_STR("producer"), h->producer, b->err) &&
           heft_tree_number(&model->mem, node, HEFT_STR("min_consumer"), h->min_consumer, b->err);
}

static bool open_index(struct heft_model *model, uint32_t source, struct heft_error *err)
{
    struct heft_tf_bundle b = {.model = model,
                               .source = source,
                               .err = err,
                               .graph = HEFT_NONE,
                               .base = heft_tf_base(model->sources[source].path),
                               .first_storage = model->n_storages,
                               .room = 8 * heft_limit_tensors(&model->limits, model->file_bytes)};
    const size_t first_row = model->n_rows;
    const bool ok = read_index(&b) && heft_tf_note_missing(&b) && heft_tf_note_rest(&b) &&
                    heft_tf_note_strays(&b) && describe_bundle(&b) &&
                    heft_tf_read_objects(&b, first_row);

    heft_tf_release(&b);
    return ok;
}

static const struct heft_file_name names[] = {
    {".index", .rank = HEFT_FILE_PREFIX, .is_selectable = true},
    {".meta", .rank = HEFT_FILE_GRAPH},
    {0},
};

static const struct heft_format_option options[] = {
    HEFT_TF_STEP_OPTION,
    {.name = HEFT_TF_READ_NAMES,
     .use = HEFT_OPTION_READS,
     .kind = HEFT_OPTION_TEXT,
     .value = "KIND",
     .choices = "keys|objects",
     .elsewhere = HEFT_ELSEWHERE_NOTED,
     .help = "names of a TensorFlow 2 checkpoint, read or written: keys or objects"},
    {0},
};

extern const struct heft_format heft_format_tf_bundle;
const struct heft_format heft_format_tf_bundle = {
    .name = "tf-bundle",
    .summary = "TensorFlow tensor bundle (V2 checkpoint): an index and data files",
    .has_path_names = true,
    .names = names,
    .locator = &heft_tf_locator,
    .probe = probe,
    .open = open_index,
    .join = heft_tf_join,
    .options = options,
    .verify = heft_tf_verify_data,
};
