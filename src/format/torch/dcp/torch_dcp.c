/* torch_dcp.c: checkpoints of torch.distributed.checkpoint, as FSDP and DTensor save them.
 *
 *     .metadata       a pickle: names, sizes, chunks and their positions (torch_dcp_meta.c)
 *     __0_0.distcp    [zip of torch.save][zip][zip] …      chunks and objects of rank 0
 *     __1_0.distcp    [zip][zip] …                         those of rank 1
 *
 *     common.pt       Megatron's torch_dist: what is not sharded; metadata.json beside it
 *     meta.pt         Lightning's directories X.ckpt: the rest of the state
 *
 * Each zip holds one tensor (a chunk of a row) or one object, whose values and tensors are placed
 * below its name. A zip is read through a slice of its file, so storages and claims have file
 * offsets. See doc/format/torch-dcp.md. */
#include <stdlib.h>

#include "base/text.h"
#include "core/registry.h"
#include "format/torch/dcp/dcp_write.h"
#include "format/torch/dcp/torch_dcp.h"
#include "format/torch/write/torch_write.h"
#include "format/torch/zip/torch_archive.h"

struct reader {
    struct heft_model *model;
    uint32_t source; /* the .metadata file */
    struct heft_dcp dcp;
    struct heft_arena scratch;
    struct heft_torch_kept kept;
    uint8_t *states;            /* one per entry */
    struct heft_value **values; /* per entry: the object, or NULL if it has only tensors */
    uint64_t budget, names;     /* shared by all objects: see struct heft_torch */
    const char *kind;           /* ", Megatron torch_dist"; empty for others */
    struct heft_error *err;
};

enum { ENTRY_MET = 1, ENTRY_UNREAD = 2 };

/* ---- probe ------------------------------------------------------------------------------- */

/* Probes by the class of the root, the first name in the pickle. */
static int probe_dcp(const struct heft_probe *sample)
{
    static const char *const modules[] = {"torch.distributed.checkpoint.metadata",
                                          "torch.distributed._shard.checkpoint.metadata"};

    for (size_t at = 0; at < 32 && sample->head.n > 2 && sample->head.p[0] == 0x80; at++)
        for (size_t i = 0; i < HEFT_COUNT(modules); i++)
            if (heft_within(at, strlen(modules[i]), sample->head.n) &&
                memcmp(sample->head.p + at, modules[i], strlen(modules[i])) == 0)
                return 95;
    return 0;
}

/* ---- chunks ------------------------------------------------------------------------------ */

/* Formats the start and extent of a chunk: "[0,4]+[2,4]". */
static void name_box(const struct heft_part *part, unsigned rank, struct heft_buf *out)
{
    heft_buf_indexes(out, part->start, rank);
    heft_buf_char(out, '+');
    heft_buf_indexes(out, part->extent, rank);
}

static bool refuse_chunk(const struct reader *r, const struct heft_dcp_entry *e,
                         const struct heft_part *part, uint64_t at, const char *what)
{
    struct heft_buf box = {0};

    name_box(part, e->rank, &box);
    if (heft_buf_ok(&box, r->err))
        heft_fail(r->err, HEFT_MALFORMED, at, "chunk %.*s %s", (int)heft_min_u64(box.n, 200), box.p,
                  what);
    heft_buf_release(&box);
    return false;
}

static bool blame_entry(const struct reader *r, const struct heft_dcp_entry *e)
{
    return heft_error_about(r->err, e->is_tensor ? "tensor" : "entry", e->name);
}

static bool same_shape(const struct heft_dcp_entry *e, const struct heft_part *part,
                       const struct heft_row *row)
{
    if (row->rank != e->rank)
        return false;
    for (unsigned d = 0; d < e->rank; d++)
        if (row->shape[d] != part->extent[d])
            return false;
    return true;
}

/* Removes the row that was just read for a chunk from the model, and keeps its storage. */
static bool take_chunk(struct reader *r, const struct heft_dcp_item *item, size_t first_row)
{
    const struct heft_dcp_entry *e = &r->dcp.entries[item->entry];
    struct heft_part *part = &e->parts[item->part];
    const struct heft_row *row = &r->model->rows[first_row];

    /* a tensor without a prefix for its name is called "tensor" */
    if (r->model->n_rows != first_row + 1 ||
        !heft_str_eq(row->name, e->name.n ? e->name : HEFT_STR("tensor")))
        return refuse_chunk(r, e, part, 0, "is not a tensor");
    if (!same_shape(e, part, row))
        return refuse_chunk(r, e, part, 0, "has another shape in its data file");
    if (row->dtype != e->dtype)
        return refuse_chunk(r, e, part, 0, "has another dtype in its data file");
    part->offset = row->offset;
    part->stride = row->stride;
    part->storage = row->storage;
    part->flags = row->flags;
    r->model->n_rows--;
    return true;
}

/* ---- items ------------------------------------------------------------------------------- */

static bool read_object(struct reader *r, struct heft_torch_zip *z,
                        const struct heft_dcp_item *item)
{
    const struct heft_dcp_entry *e = &r->dcp.entries[item->entry];
    const size_t rows = r->model->n_rows, unreadable = r->model->n_unreadable;
    const uint32_t entry = (uint32_t)(z->pkl - z->zip.entries); /* fits: at most limits.entries */
    struct heft_torch t = {
        .prefix = e->name, .is_item = true, .budget = r->budget, .names = r->names};
    bool ok = heft_torch_read_record(z, entry, "data.pkl", &t, r->err);

    r->budget = t.budget;
    r->names = t.names;
    if (ok && !e->is_tensor)
        r->values[item->entry] = t.values;
    else if (ok && r->model->n_rows == rows && r->model->n_unreadable == unreadable + 1)
        r->states[item->entry] |= ENTRY_UNREAD;
    else if (ok)
        ok = take_chunk(r, item, rows);
    heft_torch_release(&t);
    return ok;
}

static bool read_zip(struct reader *r, uint32_t slice, const struct heft_dcp_item *item)
{
    struct heft_torch_zip z;
    const bool ok = heft_torch_open_one(&z, r->model, slice, &r->kept, r->err) &&
                    heft_torch_read_records(&z, r->err) && read_object(r, &z, item) &&
                    heft_torch_claim_zip(&z, r->err);

    heft_torch_release_zip(&z);
    return ok;
}

/* Refuses a second item for the same chunk or object. */
static bool take_item_once(struct reader *r, const struct heft_dcp_item *item)
{
    const struct heft_dcp_entry *e = &r->dcp.entries[item->entry];
    const bool again = e->is_tensor ? e->parts[item->part].storage != HEFT_NONE
                                    : r->states[item->entry] & ENTRY_MET;

    r->states[item->entry] |= ENTRY_MET;
    if (!again)
        return true;
    return heft_fail(r->err, HEFT_MALFORMED, item->at, "storage_data lists it twice");
}

static bool read_item(struct reader *r, uint32_t file, const struct heft_dcp_item *item)
{
    const uint64_t size = r->model->sources[file].source.size;
    uint32_t slice;
    bool ok;

    if (!heft_within(item->off, item->len, size))
        return heft_fail(r->err, HEFT_MALFORMED, item->at,
                         "%" PRIu64 " bytes at %" PRIu64 " of %.*s, which has %" PRIu64, item->len,
                         item->off, (int)heft_min_u64(item->file.n, 100), item->file.p, size);
    if (!take_item_once(r, item) ||
        !heft_model_add_slice(r->model, file, item->off, item->len, &slice, r->err))
        return false;
    ok = read_zip(r, slice, item) || heft_model_blame_slice(r->model, slice, r->err);
    heft_model_drop_slice(r->model, slice);
    return ok;
}

static int by_place(const void *a, const void *b)
{
    const struct heft_dcp_item *x = a, *y = b;
    const int order = heft_str_cmp(x->file, y->file);

    if (order)
        return order;
    return x->off != y->off ? (x->off > y->off) - (x->off < y->off)
                            : (x->at > y->at) - (x->at < y->at);
}

/* Refuses items that overlap: shared bytes would be read once for each of them. */
static bool refuse_overlap(const struct reader *r, const struct heft_dcp_item *a,
                           const struct heft_dcp_item *b)
{
    if (!heft_str_eq(a->file, b->file) || (a->off <= b->off && a->len <= b->off - a->off))
        return true;
    heft_fail(r->err, HEFT_MALFORMED, b->at,
              "its bytes, from %" PRIu64 " of %.*s, overlap those from %" PRIu64, b->off,
              (int)heft_min_u64(b->file.n, 100), b->file.p, a->off);
    return blame_entry(r, &r->dcp.entries[b->entry]);
}

/* Reads the items in file order, so that each file is opened once and read front to back. */
static bool read_items(struct reader *r)
{
    const struct heft_dcp_item *items = r->dcp.items;
    uint32_t file = HEFT_NONE;

    if (r->dcp.n_items)
        qsort(r->dcp.items, r->dcp.n_items, sizeof *items, by_place);
    for (uint32_t i = 1; i < r->dcp.n_items; i++)
        if (!refuse_overlap(r, &items[i - 1], &items[i]))
            return false;
    for (uint32_t i = 0; i < r->dcp.n_items; i++) {
        if ((i == 0 || !heft_str_eq(items[i].file, items[i - 1].file)) &&
            !heft_registry_add_sibling(r->model, r->source, items[i].file, &file, r->err))
            return false;
        if (!read_item(r, file, &items[i]))
            return blame_entry(r, &r->dcp.entries[items[i].entry]);
    }
    return true;
}

/* ---- rows and values --------------------------------------------------------------------- */

/* Collects the non-empty chunks, all of which must have been read. *storage is that of an empty
 * one. */
static bool gather_parts(const struct reader *r, struct heft_dcp_entry *e, uint32_t *storage)
{
    uint32_t kept = 0;

    for (uint32_t k = 0; k < e->n_parts; k++) {
        if (heft_dcp_is_empty(&e->parts[k], e->rank)) {
            *storage = e->parts[k].storage;
            continue;
        }
        if (e->parts[k].storage == HEFT_NONE)
            return refuse_chunk(r, e, &e->parts[k], e->at, "is missing from storage_data") ||
                   blame_entry(r, e);
        e->parts[kept++] = e->parts[k];
    }
    e->n_parts = kept;
    return true;
}

/* Adds an empty storage for a tensor without chunks. */
static bool add_nothing(const struct reader *r, uint32_t *storage)
{
    const struct heft_storage none = {.source = r->source};

    return heft_model_add_storage(r->model, &none, storage, r->err);
}

static bool add_tensor(const struct reader *r, struct heft_dcp_entry *e)
{
    struct heft_parts *parts = heft_arena_zero(&r->model->mem, 1, sizeof *parts, r->err);
    struct heft_row row = {.name = e->name,
                           .shape = e->shape,
                           .rank = e->rank,
                           .dtype = e->dtype,
                           .storage = HEFT_NONE,
                           .parts = parts};

    if (!parts || !gather_parts(r, e, &row.storage))
        return false;
    *parts = (struct heft_parts){.list = e->parts, .n = e->n_parts};
    return (row.storage != HEFT_NONE || e->n_parts > 0 || add_nothing(r, &row.storage)) &&
           heft_model_add_row(r->model, &row, r->err);
}

static bool add_unread(const struct reader *r, const struct heft_dcp_entry *e, bool *done,
                       struct heft_error *err)
{
    *done = e->dtype == HEFT_DTYPE_COUNT;
    return !*done || heft_model_add_unreadable(r->model, e->name, r->source, e->at,
                                               "its dtype is unknown", err);
}

/* Adds the tensors in the order of the state dict. Those with unreadable chunks were already
 * noted. */
static bool add_tensors(struct reader *r)
{
    for (uint32_t i = 0; i < r->dcp.n_entries; i++) {
        struct heft_dcp_entry *e = &r->dcp.entries[i];
        bool done = false;

        if (!e->is_tensor || r->states[i] & ENTRY_UNREAD)
            continue;
        if (!add_unread(r, e, &done, r->err) || (!done && !add_tensor(r, e)))
            return false;
    }
    return true;
}

/* Adds the values: {"optim.lr": 0.1, "step": 7}. */
static bool add_values(struct reader *r)
{
    struct heft_value *root = heft_arena_zero(&r->model->mem, 1, sizeof *root, r->err);
    struct heft_value *last = NULL;

    if (!root)
        return false;
    root->kind = HEFT_VALUE_DICT;
    root->key = "";
    for (uint32_t i = 0; i < r->dcp.n_entries; i++) {
        const struct heft_dcp_entry *e = &r->dcp.entries[i];
        struct heft_value *value = r->values[i];

        if (!e->is_tensor && !(r->states[i] & ENTRY_MET)) {
            heft_fail(r->err, HEFT_MALFORMED, e->at, "is missing from storage_data");
            return blame_entry(r, e);
        }
        if (!value)
            continue;
        value->key = e->name.p;
        value->key_len = e->name.n;
        if (last)
            last->next_sibling = value;
        else
            root->first_child = value;
        last = value;
    }
    r->model->values = last ? root : NULL;
    return true;
}

/* ---- open -------------------------------------------------------------------------------- */

static bool claim_metadata(const struct reader *r, uint64_t size)
{
    const uint64_t rest = size - r->dcp.length;

    if (!heft_model_claim(r->model, r->source, 0, r->dcp.length, "pickle .metadata", r->err))
        return false;
    return rest == 0 || (heft_model_claim(r->model, r->source, r->dcp.length, rest,
                                          "bytes after the pickle's STOP", r->err) &&
                         heft_model_note(r->model, HEFT_FINDING, r->source, r->dcp.length, r->err,
                                         "%" PRIu64 " bytes after the pickle's STOP", rest));
}

/* Whether there is a file of that name beside the metadata. */
static bool has_beside(struct reader *r, const char *name, bool *has)
{
    const char *own = r->model->sources[r->source].path;
    const char *path =
        heft_arena_printf(&r->scratch, r->err, "%.*s%s", (int)heft_path_folder(own), own, name);

    *has = path && heft_files_kind(r->model->files, path) == HEFT_PATH_FILE;
    return path != NULL;
}

/* Opens the file of torch.save beside the metadata, if there is one: its values, and tensors if it has any. */
static bool open_beside(struct reader *r, const char *name, bool *has)
{
    const struct heft_model *model = r->model;
    uint8_t magic[4] = {0};
    uint32_t index;

    if (!has_beside(r, name, has) || !*has)
        return r->err->code == HEFT_OK;
    if (!heft_registry_add_sibling(r->model, r->source, heft_str_of(name), &index, r->err))
        return false;
    if (model->sources[index].source.size >= sizeof magic &&
        !heft_source_read(&model->sources[index].source, 0, magic, sizeof magic, r->err))
        return false;
    return heft_registry_open_source(
        r->model, index,
        heft_torch_is_zip((struct heft_bytes){magic, sizeof magic}) ? "torch" : "torch-legacy",
        r->err);
}

/* Whether metadata.json says that Megatron wrote the directory. */
static bool is_megatron(struct reader *r, bool *is_it)
{
    struct heft_error ignored = {0};
    const char *own = r->model->sources[r->source].path;
    const char *path = heft_arena_printf(&r->scratch, r->err, "%.*smetadata.json",
                                         (int)heft_path_folder(own), own);
    struct heft_source file;
    struct heft_bytes text;

    *is_it = false;
    if (!path || !heft_files_open(r->model->files, &file, path, &ignored))
        return path != NULL;
    if (file.size < 4096 && heft_source_fetch(&file, 0, file.size, &r->scratch, &text, &ignored))
        *is_it = heft_text_mentions(text, "\"torch_dist\"");
    heft_source_close(&file);
    return true;
}

static bool read_beside(struct reader *r)
{
    bool has_common, has_meta, megatron;

    if (!open_beside(r, "common.pt", &has_common) || !open_beside(r, "meta.pt", &has_meta) ||
        !is_megatron(r, &megatron))
        return false;
    r->kind = megatron ? ", Megatron torch_dist" : has_meta ? ", Lightning" : "";
    r->model->has_tree = false;
    return true;
}

static bool name_version(const struct reader *r)
{
    const struct heft_str version = r->dcp.version;

    r->model->format = "torch-dcp";
    r->model->version = heft_arena_printf(
        &r->model->mem, r->err, "torch.distributed.checkpoint%s%.*s, pickle protocol %d%s",
        version.n ? " " : "", (int)heft_min_u64(version.n, 40), version.p ? version.p : "",
        r->dcp.protocol, r->kind);
    return r->model->version != NULL;
}

static bool read_metadata(struct reader *r)
{
    const struct heft_source *source = &r->model->sources[r->source].source;
    const uint64_t size = source->size, cap = r->model->limits.pickle;
    struct heft_arena graph = {0}; /* released before the items are read: both are large */
    struct heft_dcp_input in = {.bytes = r->model->file_bytes,
                                .model = r->model,
                                .source = r->source,
                                .graph = &graph,
                                .scratch = &r->scratch};
    bool ok;

    if (size > cap)
        return heft_fail(r->err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "the pickle has %" PRIu64 " bytes, the limit is %" PRIu64, size, cap);
    ok = heft_registry_add_sibling_bytes(r->model, r->source, ".distcp", &in.bytes, r->err) &&
         heft_source_fetch(source, 0, size, &graph, &in.data, r->err) &&
         heft_dcp_read(&r->dcp, &in, r->err);
    heft_arena_release(&graph);
    if (!ok || !claim_metadata(r, size))
        return false;
    r->states = heft_arena_zero(&r->scratch, r->dcp.n_entries + 1u, 1, r->err);
    r->values = heft_arena_zero(&r->scratch, r->dcp.n_entries + 1u, sizeof *r->values, r->err);
    return r->states && r->values;
}

static bool open_dcp(struct heft_model *model, uint32_t source, struct heft_error *err)
{
    struct reader r = {.model = model,
                       .source = source,
                       .budget = model->limits.expansion,
                       .names = HEFT_TORCH_NAMES,
                       .err = err};
    const bool ok = read_metadata(&r) && read_items(&r) && add_tensors(&r) && read_beside(&r) &&
                    name_version(&r) && add_values(&r);

    heft_torch_release_kept(&r.kept);
    heft_arena_release(&r.scratch);
    return ok;
}

static const struct heft_file_name names[] = {
    {".metadata", .rank = HEFT_FILE_MANIFEST, .kind = HEFT_NAME_WHOLE},
    {".metadata", .rank = HEFT_FILE_LATEST,
     .kind = HEFT_NAME_ENDING}, /* __0.metadata: of one rank */
    {0},
};

static const char *const synonyms[] = {"dcp", NULL};
static const char *const extensions[] = {NULL};

const struct heft_format heft_format_torch_dcp = {
    .name = "torch-dcp",
    .summary = "PyTorch distributed checkpoints: directories with .metadata and .distcp files",
    .synonyms = synonyms,
    .names = names,
    .probe = probe_dcp,
    .open = open_dcp,
    .plan_set = heft_dcp_plan_set,
    .extensions = extensions,
    .weigh = heft_dcp_weigh,
    .options = heft_dcp_options,
    .places_values = true,
    .sum = HEFT_SUM_CRC32,
    .supports_dtype = heft_torch_supports_dtype,
};
