/* torch_dcp_meta.c: the pickle .metadata, as nodes; nothing in it is executed.
 *
 *     Metadata
 *       state_dict_metadata   {name: TensorStorageMetadata | BytesStorageMetadata}
 *                                    properties  TensorProperties (dtype, layout, …)
 *                                    size        torch.Size
 *                                    chunks      [ChunkStorageMetadata(offsets, sizes)]
 *       storage_data          {MetadataIndex(fqn, offset, index): _StorageInfo}
 *                                                                  relative_path, offset, length,
 *                                                                  transform_descriptors
 *       planner_data, storage_meta, version
 *
 * Objects are dataclasses: a CALL node with the dict of attributes as its state. A chunk and its
 * position are matched by name and offsets; as in Python, `index` is not compared. The walk has a
 * fixed depth, so cycles are harmless; a list that many objects share counts each time against the
 * limits. */
#include "format/torch/dcp/torch_dcp.h"

#include "format/torch/pickle/torch_parts.h"

enum { MOST_ATTRIBUTES = 32, MOST_ORPHANS = 8, MOST_LETTERS = 255 };

struct reader {
    struct heft_dcp *out;
    struct heft_model *model;
    const struct heft_dcp_input *in;
    struct heft_pickle pickle;
    struct heft_strmap names;  /* name → position in entries */
    struct heft_strmap chunks; /* entry and offsets, as bytes → number of the part */
    uint64_t tensors;          /* limit for the number of tensors */
    uint64_t numbers;          /* offsets and sizes that may still be read */
    uint32_t orphans;          /* positions of chunks that do not exist */
    struct heft_error *err;
};

/* ---- reading nodes of the pickle --------------------------------------------------------- */

static const struct heft_pickle_node *node_at(const struct reader *r, uint32_t node)
{
    return &r->pickle.nodes[node];
}

static bool is_kind(const struct reader *r, uint32_t node, enum heft_pickle_kind kind)
{
    return node != HEFT_PICKLE_NIL && node_at(r, node)->kind == kind;
}

static bool is_sequence(const struct reader *r, uint32_t node)
{
    return is_kind(r, node, HEFT_PICKLE_TUPLE) || is_kind(r, node, HEFT_PICKLE_LIST);
}

static uint64_t offset_of(const struct reader *r, uint32_t node)
{
    return node == HEFT_PICKLE_NIL ? 0 : node_at(r, node)->at;
}

/* True for an object of the class of that name. Modules have been renamed, class names have not. */
static bool is_object(const struct reader *r, uint32_t node, const char *class_name)
{
    uint32_t callee;

    if (!is_kind(r, node, HEFT_PICKLE_CALL))
        return false;
    callee = node_at(r, node)->u.call.callee;
    return is_kind(r, callee, HEFT_PICKLE_GLOBAL) &&
           heft_str_is(heft_pickle_text(&r->pickle, callee), class_name);
}

static bool refuse_node(const struct reader *r, uint32_t node, const char *what)
{
    return heft_fail(r->err, HEFT_MALFORMED, offset_of(r, node), "%s", what);
}

/* Finds an attribute; *out is NIL if the object does not have it. */
static bool find_attribute(const struct reader *r, uint32_t object, const char *name, uint32_t *out)
{
    const uint32_t state = node_at(r, object)->state;
    struct heft_pickle_iter iter;
    uint32_t key, value;

    *out = HEFT_PICKLE_NIL;
    if (!is_kind(r, state, HEFT_PICKLE_DICT) ||
        heft_pickle_count(&r->pickle, state) > 2 * MOST_ATTRIBUTES)
        return refuse_node(r, object,
                           "a metadata object has a state that is not a small dict of attributes");
    iter = heft_pickle_items(&r->pickle, state);
    while (heft_pickle_next(&iter, &key) && heft_pickle_next(&iter, &value))
        if (is_kind(r, key, HEFT_PICKLE_STR) &&
            heft_str_is(heft_pickle_text(&r->pickle, key), name))
            *out = value;
    return true;
}

static bool need_attribute(const struct reader *r, uint32_t object, const char *name,
                           enum heft_pickle_kind kind, uint32_t *out)
{
    if (!find_attribute(r, object, name, out))
        return false;
    return is_kind(r, *out, kind) || heft_fail(r->err, HEFT_MALFORMED, offset_of(r, object),
                                               "attribute %s is missing or has another type", name);
}

static bool wanted_number(const struct reader *r, uint32_t object, const char *name, uint64_t *out)
{
    uint32_t node;

    if (!need_attribute(r, object, name, HEFT_PICKLE_INT, &node))
        return false;
    if (node_at(r, node)->u.integer < 0)
        return heft_fail(r->err, HEFT_MALFORMED, offset_of(r, object), "%s is negative", name);
    *out = (uint64_t)node_at(r, node)->u.integer;
    return true;
}

/* The tuple in torch.Size((2, 3)), or a tuple or list itself; else NIL. */
static uint32_t size_items(const struct reader *r, uint32_t node)
{
    if (is_object(r, node, "Size")) {
        const uint32_t args = node_at(r, node)->u.call.args;

        node = is_kind(r, args, HEFT_PICKLE_TUPLE) && heft_pickle_count(&r->pickle, args) == 1
                   ? heft_pickle_item(&r->pickle, args, 0)
                   : HEFT_PICKLE_NIL;
    }
    return is_sequence(r, node) ? node : HEFT_PICKLE_NIL;
}

/* Reads a torch.Size with `rank` numbers, or any number if rank is HEFT_NONE. The first item of the
 * result is reserved for the caller. */
static uint64_t *read_size(struct reader *r, struct heft_arena *mem, uint32_t node, uint32_t rank,
                           uint32_t *count)
{
    const uint32_t items = size_items(r, node);
    struct heft_pickle_iter iter;
    uint64_t *numbers, *to;
    uint32_t item;

    if (items == HEFT_PICKLE_NIL) {
        refuse_node(r, node, "sizes or offsets are not a torch.Size");
        return NULL;
    }
    *count = heft_pickle_count(&r->pickle, items);
    if (*count > r->model->limits.rank || *count > HEFT_ROW_DIMS) {
        heft_fail(r->err, HEFT_LIMIT, offset_of(r, node), "%u dimensions, the limit is %" PRIu64,
                  *count, r->model->limits.rank);
        return NULL;
    }
    if (rank != HEFT_NONE && *count != rank) {
        heft_fail(r->err, HEFT_MALFORMED, offset_of(r, node),
                  "%u sizes or offsets for a tensor of %u dimensions", *count, rank);
        return NULL;
    }
    if (r->numbers < *count + 1) {
        heft_fail(r->err, HEFT_LIMIT, offset_of(r, node),
                  "the chunks have more offsets and sizes than 16 × limits.tensors");
        return NULL;
    }
    r->numbers -= *count + 1;
    numbers = heft_arena_u64(mem, *count + 1, r->err);
    iter = heft_pickle_items(&r->pickle, items);
    for (to = numbers ? numbers + 1 : NULL; to && heft_pickle_next(&iter, &item); to++) {
        if (!is_kind(r, item, HEFT_PICKLE_INT) || node_at(r, item)->u.integer < 0) {
            refuse_node(r, node, "a size or an offset is not an integer from 0 to 2^63-1");
            return NULL;
        }
        *to = (uint64_t)node_at(r, item)->u.integer;
    }
    return numbers;
}

/* ---- the state dict ---------------------------------------------------------------------- */

/* The first item in the state of TensorProperties: torch.float32. */
static bool read_dtype(const struct reader *r, uint32_t object, uint8_t *dtype)
{
    const struct heft_torch_global *known;
    uint32_t properties, state, node;

    if (!need_attribute(r, object, "properties", HEFT_PICKLE_CALL, &properties))
        return false;
    state = node_at(r, properties)->state;
    node = is_kind(r, state, HEFT_PICKLE_TUPLE) ? heft_pickle_item(&r->pickle, state, 0)
                                                : HEFT_PICKLE_NIL;
    if (!is_kind(r, node, HEFT_PICKLE_GLOBAL))
        return refuse_node(r, properties, "the tensor properties do not begin with a dtype");
    known = heft_torch_lookup(heft_pickle_text(&r->pickle, node_at(r, node)->module),
                              heft_pickle_text(&r->pickle, node));
    *dtype = known && known->kind == HEFT_TORCH_DTYPE ? known->dtype : HEFT_DTYPE_COUNT;
    if (known && strcmp(known->name, "float4_e2m1fn_x2") == 0)
        *dtype = HEFT_F4;
    return true;
}

/* The map key of a chunk: the bytes of (entry, offsets …). */
static struct heft_str chunk_key(uint64_t *numbers, uint32_t entry, uint32_t rank)
{
    numbers[0] = entry;
    return (struct heft_str){(const char *)numbers, (rank + 1) * sizeof *numbers};
}

bool heft_dcp_is_empty(const struct heft_part *chunk, unsigned rank)
{
    for (unsigned d = 0; d < rank; d++)
        if (chunk->extent[d] == 0)
            return true;
    return false;
}

static bool read_chunk(struct reader *r, uint32_t node, uint32_t entry, uint32_t number)
{
    const struct heft_dcp_entry *e = &r->out->entries[entry];
    struct heft_part *part = &e->parts[number];
    uint32_t offsets, sizes, count, before;
    uint64_t *start, *extent;

    if (!is_object(r, node, "ChunkStorageMetadata"))
        return refuse_node(r, node, "a chunk is not a ChunkStorageMetadata");
    if (!find_attribute(r, node, "offsets", &offsets) || !find_attribute(r, node, "sizes", &sizes))
        return false;
    start = read_size(r, &r->model->mem, offsets, e->rank, &count);
    extent = start ? read_size(r, &r->model->mem, sizes, e->rank, &count) : NULL;
    if (!extent)
        return false;
    *part = (struct heft_part){.start = start + 1, .extent = extent + 1, .storage = HEFT_NONE};
    if (!heft_strmap_add(&r->chunks, chunk_key(start, entry, e->rank), number, &before, r->err))
        return false;
    /* An empty chunk, of a rank without a share, may have the offsets of another chunk, which then
     * counts. */
    return before == HEFT_MAP_NONE || !heft_dcp_is_empty(&e->parts[before], e->rank) ||
           heft_strmap_set(&r->chunks, chunk_key(start, entry, e->rank), number, r->err);
}

static bool read_chunks(struct reader *r, uint32_t list, uint32_t entry)
{
    struct heft_dcp_entry *e = &r->out->entries[entry];
    struct heft_pickle_iter iter = heft_pickle_items(&r->pickle, list);
    const uint32_t count = heft_pickle_count(&r->pickle, list);
    uint32_t node;

    if (count > r->numbers)
        return heft_fail(r->err, HEFT_LIMIT, offset_of(r, list), "%u chunks are too many", count);
    e->parts = heft_arena_zero(&r->model->mem, count, sizeof *e->parts, r->err);
    if (!e->parts)
        return false;
    while (heft_pickle_next(&iter, &node))
        if (!read_chunk(r, node, entry, e->n_parts++))
            return false;
    return true;
}

static bool read_tensor(struct reader *r, uint32_t node, uint32_t entry)
{
    struct heft_dcp_entry *e = &r->out->entries[entry];
    uint32_t size, chunks, rank;
    const uint64_t *shape;

    if (!read_dtype(r, node, &e->dtype) || !find_attribute(r, node, "size", &size))
        return false;
    e->is_tensor = true;
    shape = read_size(r, &r->model->mem, size, HEFT_NONE, &rank);
    if (!shape || !need_attribute(r, node, "chunks", HEFT_PICKLE_LIST, &chunks))
        return false;
    e->shape = shape + 1;
    e->rank = (uint8_t)rank;
    return read_chunks(r, chunks, entry);
}

static bool read_kind(struct reader *r, uint32_t value, uint32_t entry)
{
    if (is_object(r, value, "TensorStorageMetadata"))
        return read_tensor(r, value, entry);
    return is_object(r, value, "BytesStorageMetadata") ||
           refuse_node(r, value, "not a TensorStorageMetadata or BytesStorageMetadata");
}

static bool read_entry(struct reader *r, uint32_t key, uint32_t value)
{
    const uint32_t index = r->out->n_entries;
    struct heft_dcp_entry *e = &r->out->entries[index];
    struct heft_str name;
    uint32_t before;
    char *copy;

    if (!is_kind(r, key, HEFT_PICKLE_STR))
        return refuse_node(r, key, "a name in the state dict is not text");
    name = heft_pickle_text(&r->pickle, key);
    copy = heft_arena_text(&r->model->mem, name, r->err);
    if (!copy || !heft_strmap_add(&r->names, name, index, &before, r->err))
        return false;
    heft_torch_mend(copy, name.n);
    *e = (struct heft_dcp_entry){.name = {copy, name.n}, .at = offset_of(r, key)};
    if ((before != HEFT_MAP_NONE && !refuse_node(r, key, "duplicate name")) ||
        !read_kind(r, value, index))
        return heft_error_about(r->err, "entry", e->name);
    r->out->n_entries++;
    return true;
}

static bool read_entries(struct reader *r, uint32_t dict)
{
    const uint32_t n = heft_pickle_count(&r->pickle, dict) / 2;
    struct heft_pickle_iter iter = heft_pickle_items(&r->pickle, dict);
    uint32_t key, value;

    if (n > r->tensors)
        return heft_fail(r->err, HEFT_LIMIT, offset_of(r, dict),
                         "more than %" PRIu64 " entries: limits.tensors", r->tensors);
    r->out->entries = heft_arena_zero(r->in->scratch, n + 1, sizeof *r->out->entries, r->err);
    if (!r->out->entries || !heft_strmap_reserve(&r->names, n, r->err))
        return false;
    while (heft_pickle_next(&iter, &key) && heft_pickle_next(&iter, &value))
        if (!read_entry(r, key, value))
            return false;
    return true;
}

/* ---- files and offsets of the chunks ----------------------------------------------------- */

/* Refuses file names that lead out of the directory, by the rules of any system. */
static bool check_file(const struct reader *r, uint32_t node, struct heft_str name)
{
    if (name.n > 0 && name.n <= MOST_LETTERS && !heft_str_is(name, ".") &&
        !heft_str_is(name, "..") && !memchr(name.p, '/', name.n) && !memchr(name.p, '\\', name.n) &&
        !memchr(name.p, ':', name.n) && !memchr(name.p, '\0', name.n))
        return true;
    return heft_fail(
        r->err, HEFT_UNSAFE, offset_of(r, node),
        "refers to the file \"%.*s\"; only plain names of files in the directory are followed",
        (int)heft_min_u64(name.n, 200), name.p);
}

/* Refuses chunks that were compressed or transformed when written. */
static bool refuse_transforms(const struct reader *r, uint32_t info)
{
    struct heft_str name = {"?", 1};
    uint32_t list, first;

    if (!find_attribute(r, info, "transform_descriptors", &list))
        return false;
    if (list == HEFT_PICKLE_NIL || is_kind(r, list, HEFT_PICKLE_NONE) ||
        (is_sequence(r, list) && heft_pickle_count(&r->pickle, list) == 0))
        return true;
    first = is_sequence(r, list) ? heft_pickle_item(&r->pickle, list, 0) : HEFT_PICKLE_NIL;
    if (is_kind(r, first, HEFT_PICKLE_STR))
        name = heft_pickle_text(&r->pickle, first);
    return heft_fail(r->err, HEFT_UNSUPPORTED, offset_of(r, info),
                     "stored with the unknown transform \"%.*s\"", (int)heft_min_u64(name.n, 100),
                     name.p);
}

/* Keeps the file name; consecutive items mostly share it. */
static bool keep_file(struct reader *r, struct heft_dcp_item *item)
{
    const struct heft_dcp_item *last = r->out->n_items ? &r->out->items[r->out->n_items - 1] : NULL;

    if (last && heft_str_eq(last->file, item->file)) {
        item->file = last->file;
        return true;
    }
    item->file.p = heft_arena_text(r->in->scratch, item->file, r->err);
    return item->file.p != NULL;
}

static bool read_place(struct reader *r, uint32_t info, struct heft_dcp_item *item)
{
    uint32_t path;

    if (!is_kind(r, info, HEFT_PICKLE_CALL))
        return refuse_node(r, info, "a value of storage_data is not a _StorageInfo");
    if (!need_attribute(r, info, "relative_path", HEFT_PICKLE_STR, &path) ||
        !wanted_number(r, info, "offset", &item->off) ||
        !wanted_number(r, info, "length", &item->len) || !refuse_transforms(r, info))
        return false;
    item->file = heft_pickle_text(&r->pickle, path);
    return check_file(r, info, item->file) && keep_file(r, item);
}

/* The chunk at `offset`, or HEFT_NONE. */
static bool find_chunk(struct reader *r, uint32_t offset, uint32_t entry, uint32_t *part)
{
    const struct heft_dcp_entry *e = &r->out->entries[entry];
    uint64_t *numbers;
    uint32_t count;

    *part = 0;
    if (offset == HEFT_PICKLE_NIL || is_kind(r, offset, HEFT_PICKLE_NONE)) {
        *part = e->n_parts == 1 ? 0 : HEFT_NONE;
        return true;
    }
    numbers = read_size(r, r->in->graph, offset, e->rank, &count);
    if (!numbers)
        return false;
    *part = heft_strmap_get(&r->chunks, chunk_key(numbers, entry, count));
    return true;
}

/* Notes a position without a chunk (the first few): Python ignores it as well. */
static bool note_orphan(struct reader *r, uint32_t key, struct heft_str name)
{
    if (r->orphans++ >= MOST_ORPHANS)
        return true;
    return heft_model_note(r->model, HEFT_FINDING, r->in->source, offset_of(r, key), r->err,
                           "storage_data lists a chunk of %.*s that does not exist",
                           (int)heft_min_u64(name.n, 200), name.p);
}

static bool read_item(struct reader *r, uint32_t key, uint32_t info)
{
    struct heft_dcp_item item = {.at = offset_of(r, info), .part = 0};
    struct heft_str name;
    uint32_t fqn, offset;

    if (!is_object(r, key, "MetadataIndex"))
        return refuse_node(r, key, "a key of storage_data is not a MetadataIndex");
    if (!need_attribute(r, key, "fqn", HEFT_PICKLE_STR, &fqn) ||
        !find_attribute(r, key, "offset", &offset))
        return false;
    name = heft_pickle_text(&r->pickle, fqn);
    item.entry = heft_strmap_get(&r->names, name);
    if (!read_place(r, info, &item) ||
        (item.entry != HEFT_MAP_NONE && r->out->entries[item.entry].is_tensor &&
         !find_chunk(r, offset, item.entry, &item.part)))
        return heft_error_about(r->err, "entry", name);
    if (item.entry == HEFT_MAP_NONE || item.part == HEFT_MAP_NONE)
        return note_orphan(r, key, name);
    r->out->items[r->out->n_items++] = item;
    return true;
}

static bool read_items(struct reader *r, uint32_t dict)
{
    const uint32_t n = heft_pickle_count(&r->pickle, dict) / 2;
    struct heft_pickle_iter iter = heft_pickle_items(&r->pickle, dict);
    uint32_t key, value;

    r->out->items = heft_arena_zero(r->in->scratch, n + 1, sizeof *r->out->items, r->err);
    if (!r->out->items)
        return false;
    while (heft_pickle_next(&iter, &key) && heft_pickle_next(&iter, &value))
        if (!read_item(r, key, value))
            return false;
    return true;
}

/* ---- elements of less than a byte ---------------------------------------------------------- */

/* Copies extents or offsets with the last one doubled. */
static const uint64_t *double_last(struct reader *r, const uint64_t *numbers, unsigned rank)
{
    uint64_t *const copy = heft_arena_copy_u64(&r->model->mem, numbers, rank, r->err);

    if (copy && !heft_mul(copy[rank - 1], 2, &copy[rank - 1]))
        copy[rank - 1] = UINT64_MAX; /* refused by validation: more than the file has */
    return copy;
}

/* torch counts F4 in bytes of two elements along the last dimension. */
static bool count_pairs(struct reader *r, struct heft_dcp_entry *e)
{
    if (!e->is_tensor || e->dtype != HEFT_F4 || e->rank == 0)
        return true;
    e->shape = double_last(r, e->shape, e->rank);
    for (uint32_t k = 0; e->shape && k < e->n_parts; k++) {
        struct heft_part *const part = &e->parts[k];

        part->start = double_last(r, part->start, e->rank);
        part->extent = part->start ? double_last(r, part->extent, e->rank) : NULL;
        if (!part->extent)
            return false;
    }
    return e->shape != NULL;
}

static bool count_all_pairs(struct reader *r)
{
    for (uint32_t i = 0; i < r->out->n_entries; i++)
        if (!count_pairs(r, &r->out->entries[i]))
            return false;
    return true;
}

/* ---- the Metadata object ----------------------------------------------------------------- */

static bool read_root(struct reader *r)
{
    const uint32_t root = r->pickle.root;
    uint32_t entries, items, version;

    if (!is_object(r, root, "Metadata"))
        return refuse_node(r, root,
                           "the pickle is not a Metadata object of torch.distributed.checkpoint");
    if (!need_attribute(r, root, "state_dict_metadata", HEFT_PICKLE_DICT, &entries) ||
        !find_attribute(r, root, "version", &version) ||
        !need_attribute(r, root, "storage_data", HEFT_PICKLE_DICT, &items))
        return false;
    if (is_kind(r, version, HEFT_PICKLE_STR)) {
        const struct heft_str text = heft_pickle_text(&r->pickle, version);

        r->out->version = (struct heft_str){heft_arena_text(r->in->scratch, text, r->err), text.n};
        if (!r->out->version.p)
            return false;
    }
    return read_entries(r, entries) && read_items(r, items) && count_all_pairs(r);
}

bool heft_dcp_read(struct heft_dcp *out, const struct heft_dcp_input *in, struct heft_error *err)
{
    const struct heft_limits *l = &in->model->limits;
    const struct heft_pickle_limits limits = {.opcodes = l->opcodes,
                                              .nodes = heft_limit_nodes(l, in->bytes),
                                              .bytes = heft_model_room(in->model)};
    struct reader r = {.out = out,
                       .in = in,
                       .model = in->model,
                       .tensors = heft_limit_tensors(l, in->bytes),
                       .numbers = 16 * heft_limit_tensors(l, in->bytes),
                       .err = err};
    bool ok;

    *out = (struct heft_dcp){0};
    ok = heft_pickle_run(&r.pickle, in->data, 0, &limits, in->graph, err) && read_root(&r);
    out->protocol = r.pickle.protocol;
    out->length = r.pickle.length;
    heft_strmap_release(&r.names);
    heft_strmap_release(&r.chunks);
    return ok;
}
