/* dcp_write_meta.c: the pickle .metadata, as CPython would write its objects with protocol 2, but that texts
 * and classes alone are memoised.
 *
 *     Metadata
 *       state_dict_metadata   {name: TensorStorageMetadata(properties, size, chunks) | BytesStorageMetadata}
 *       planner_data          {name: (key, key, 0, key)}
 *       storage_data          {MetadataIndex(fqn, index, offset): _StorageInfo(relative_path, offset, length)}
 *       storage_meta          StorageMeta(checkpoint_id, save_id, load_id, modules): all None or empty. torch
 *                             writes a path and a random id here, which would differ each time
 *       version               "1.0.0"
 *
 * An object is  class ) NEWOBJ } ( "attribute" value … u BUILD. */
#include "format/torch/dcp/dcp_write.h"
#include "format/torch/write/torch_pickler.h"

#define FLUSH (1u << 20) /* bytes added to the plan at once */
#define DCP   "torch.distributed.checkpoint."

enum class {
    METADATA,
    TENSOR,
    PROPERTIES,
    CHUNK,
    BYTES,
    INDEX,
    PLACE,
    META,
    SIZE,
    LAYOUT,
    FORMAT,
    CLASSES
};
static const struct {
    const char *module, *name;
} classes[CLASSES] = {
    [METADATA] = {DCP "metadata", "Metadata"},
    [TENSOR] = {DCP "metadata", "TensorStorageMetadata"},
    [PROPERTIES] = {DCP "metadata", "TensorProperties"},
    [CHUNK] = {DCP "metadata", "ChunkStorageMetadata"},
    [BYTES] = {DCP "metadata", "BytesStorageMetadata"},
    [INDEX] = {DCP "metadata", "MetadataIndex"},
    [PLACE] = {DCP "filesystem", "_StorageInfo"},
    [META] = {DCP "metadata", "StorageMeta"},
    [SIZE] = {"torch", "Size"},
    [LAYOUT] = {"torch.serialization", "_get_layout"},
    [FORMAT] = {DCP "metadata", "_MEM_FORMAT_ENCODING"},
};

/* Texts that occur often. */
enum word {
    PROPERTIES_,
    SIZE_,
    CHUNKS,
    OFFSETS,
    SIZES,
    FQN,
    INDEX_,
    OFFSET,
    PATH,
    LENGTH,
    STRIDED,
    WORDS
};
static const char *const words[WORDS] = {
    [PROPERTIES_] = "properties",
    [SIZE_] = "size",
    [CHUNKS] = "chunks",
    [OFFSETS] = "offsets",
    [SIZES] = "sizes",
    [FQN] = "fqn",
    [INDEX_] = "index",
    [OFFSET] = "offset",
    [PATH] = "relative_path",
    [LENGTH] = "length",
    [STRIDED] = "torch.strided",
};

struct writer {
    struct heft_dcp_out *out;
    struct heft_torch_out torch; /* what the pickler needs: it has no storages */
    struct heft_pickler p;
    uint32_t classes[CLASSES], words[WORDS];
    uint32_t *names; /* memo index of the name of each item */
    struct heft_error *err;
};

/* ---- objects ----------------------------------------------------------------------------------- */

static void put_class(struct writer *w, enum class class)
{
    heft_pickler_global(&w->p, classes[class].module, classes[class].name, &w->classes[class]);
}

static void put_word(struct writer *w, enum word word)
{
    heft_pickler_word(&w->p, heft_str_of(words[word]), &w->words[word]);
}

/* A new object without attributes. */
static void put_new(struct writer *w, enum class class)
{
    put_class(w, class);
    heft_buf_text(&w->p.buf, ")\x81");
}

static void begin_object(struct writer *w, enum class class)
{
    put_new(w, class);
    heft_buf_text(&w->p.buf, "}(");
}

static void end_object(struct writer *w)
{
    heft_buf_text(&w->p.buf, "ub");
}

/* The other attributes: texts that occur once. */
static void put_attribute(struct writer *w, const char *name)
{
    heft_pickler_text(&w->p, heft_str_of(name));
}

/* torch.Size((a, b)): `rank` zeros, or the numbers; number `dim` is replaced by `at`. */
static void put_size(struct writer *w, const uint64_t *numbers, unsigned rank, unsigned dim,
                     uint64_t at)
{
    struct heft_pickler *const p = &w->p;

    put_class(w, SIZE);
    if (rank > 3)
        heft_pickler_op(p, '(');
    for (unsigned d = 0; d < rank; d++)
        heft_pickler_unsigned(p, d == dim ? at : numbers ? numbers[d] : 0);
    heft_pickler_op(p, rank > 3 ? 't' : rank ? (int)(0x84 + rank) : ')');
    heft_buf_text(&p->buf, "\x85R");
}

static bool flush(struct writer *w, uint32_t file, size_t least)
{
    w->torch.file = file;
    return w->p.buf.n < least || heft_torch_flush(&w->torch, &w->p.buf, w->err);
}

/* ---- state_dict_metadata ----------------------------------------------------------------------- */

static void put_properties(struct writer *w, const struct heft_export_item *item)
{
    struct heft_pickler *const p = &w->p;

    put_new(w, PROPERTIES);
    heft_pickler_op(p, '(');
    heft_pickler_dtype(p, (enum heft_dtype)item->as);
    put_class(w, LAYOUT);
    put_word(w, STRIDED);
    heft_buf_text(&p->buf, "\x85R\x89"); /* no gradient */
    put_class(w, FORMAT);
    heft_buf_put(&p->buf, "K\0\x85R\x89tb", 7); /* contiguous, not pinned */
}

/* Shape as torch counts it: of F4 it counts bytes of two elements along the last dimension. */
static const uint64_t *shape_of(const struct heft_export_item *item, uint64_t *room)
{
    const struct heft_row *const row = item->row;

    if (item->as != HEFT_F4 || row->rank == 0)
        return row->shape;
    memcpy(room, row->shape, row->rank * sizeof *room);
    room[row->rank - 1] /= 2;
    return room;
}

static void put_chunk(struct writer *w, const uint64_t *shape, unsigned rank,
                      const struct heft_share_box *box)
{
    const unsigned dim = box->is_whole ? HEFT_ROW_DIMS : box->dim;

    begin_object(w, CHUNK);
    put_word(w, OFFSETS);
    put_size(w, NULL, rank, dim, box->start);
    put_word(w, SIZES);
    put_size(w, shape, rank, dim, box->extent);
    end_object(w);
}

/* The chunks in the order of the ranks, so that the number of a chunk is its rank. */
static void put_chunks(struct writer *w, size_t i, const uint64_t *shape)
{
    const struct heft_export_item *const item = &w->out->exports->items[i];
    const struct heft_share *const share = &w->out->shares.list[i];
    const uint32_t first = share->ranks == 1 ? share->owner : 0;
    struct heft_share_box box;

    heft_buf_text(&w->p.buf, "](");
    for (uint32_t rank = first; rank < first + share->ranks; rank++)
        if (heft_shares_box(&w->out->shares, i, rank, &box) && !heft_dcp_leaves_out(item, &box))
            put_chunk(w, shape, item->row->rank, &box);
    heft_pickler_op(&w->p, 'e');
}

static void put_tensor(struct writer *w, size_t i)
{
    const struct heft_export_item *const item = &w->out->exports->items[i];
    uint64_t room[HEFT_ROW_DIMS];
    const uint64_t *const shape = shape_of(item, room);

    heft_pickler_word(&w->p, item->name, &w->names[i]);
    begin_object(w, TENSOR);
    put_word(w, PROPERTIES_);
    put_properties(w, item);
    put_word(w, SIZE_);
    put_size(w, shape, item->row->rank, HEFT_ROW_DIMS, 0);
    put_word(w, CHUNKS);
    put_chunks(w, i, shape);
    end_object(w);
}

static uint32_t *object_memo(struct writer *w, size_t i)
{
    return &w->names[w->out->exports->n_items + i];
}

static bool put_entries(struct writer *w, uint32_t file)
{
    put_attribute(w, "state_dict_metadata");
    heft_buf_text(&w->p.buf, "}(");
    for (size_t i = 0; i < w->out->exports->n_items; i++) {
        put_tensor(w, i);
        if (!flush(w, file, FLUSH))
            return false;
    }
    for (size_t i = 0; i < w->out->objects.n; i++) {
        heft_pickler_word(&w->p, w->out->objects.list[i].name, object_memo(w, i));
        put_new(w, BYTES);
    }
    heft_pickler_op(&w->p, 'u');
    return flush(w, file, FLUSH);
}

/* ---- planner_data ------------------------------------------------------------------------------ */

/* One step for each key and index if all paths are known, else the name alone. */
static void put_path(struct writer *w, uint32_t name, const struct heft_dcp_path *path)
{
    heft_pickler_again(&w->p, name);
    if (!path) {
        heft_pickler_again(&w->p, name);
        heft_pickler_op(&w->p, (char)0x85);
        return;
    }
    heft_pickler_op(&w->p, '(');
    for (uint32_t k = 0; k < path->n; k++)
        if (path->steps[k].is_index)
            heft_pickler_unsigned(&w->p, path->steps[k].index);
        else
            heft_pickler_text(&w->p, path->steps[k].key);
    heft_pickler_op(&w->p, 't');
}

static bool put_paths(struct writer *w, uint32_t file)
{
    put_attribute(w, "planner_data");
    heft_buf_text(&w->p.buf, "}(");
    for (size_t i = 0; i < w->out->exports->n_items; i++) {
        put_path(w, w->names[i], w->out->paths ? &w->out->paths[i] : NULL);
        if (!flush(w, file, FLUSH))
            return false;
    }
    for (size_t i = 0; i < w->out->objects.n; i++)
        put_path(w, *object_memo(w, i), w->out->paths ? &w->out->objects.list[i].path : NULL);
    heft_pickler_op(&w->p, 'u');
    return flush(w, file, FLUSH);
}

/* ---- storage_data ------------------------------------------------------------------------------ */

static void put_index(struct writer *w, const struct heft_dcp_place *place)
{
    const struct heft_row *row;
    struct heft_share_box box;

    begin_object(w, INDEX);
    put_word(w, FQN);
    heft_pickler_again(&w->p,
                       place->is_object ? *object_memo(w, place->what) : w->names[place->what]);
    if (!place->is_object) {
        row = w->out->exports->items[place->what].row;
        (void)heft_shares_box(&w->out->shares, place->what, place->rank, &box);
        put_word(w, INDEX_);
        heft_pickler_unsigned(&w->p, box.is_whole ? 0 : place->rank);
        put_word(w, OFFSET);
        put_size(w, NULL, row->rank, box.is_whole ? HEFT_ROW_DIMS : box.dim, box.start);
    }
    end_object(w);
}

/* Places of one file follow each other, so that only its last name is memoised. */
static bool put_places(struct writer *w, uint32_t file)
{
    const struct heft_dcp_place *last = NULL;
    uint32_t memo = HEFT_NO_MEMO;
    char name[48];

    put_attribute(w, "storage_data");
    heft_buf_text(&w->p.buf, "}(");
    for (size_t i = 0; i < w->out->n_places; i++) {
        const struct heft_dcp_place *const place = &w->out->places[i];

        if (!last || last->rank != place->rank || last->number != place->number)
            memo = HEFT_NO_MEMO;
        last = place;
        put_index(w, place);
        begin_object(w, PLACE);
        put_word(w, PATH);
        heft_pickler_word(&w->p, heft_dcp_file_name(place->rank, place->number, name), &memo);
        put_word(w, OFFSET);
        heft_pickler_unsigned(&w->p, place->off);
        put_word(w, LENGTH);
        heft_pickler_unsigned(&w->p, place->len);
        end_object(w);
        if (!flush(w, file, FLUSH))
            return false;
    }
    heft_pickler_op(&w->p, 'u');
    return flush(w, file, FLUSH);
}

static void put_meta(struct writer *w)
{
    put_attribute(w, "storage_meta");
    begin_object(w, META);
    put_attribute(w, "checkpoint_id");
    heft_pickler_op(&w->p, 'N');
    put_attribute(w, "save_id");
    heft_pickler_op(&w->p, 'N');
    put_attribute(w, "load_id");
    heft_pickler_op(&w->p, 'N');
    put_attribute(w, "modules");
    heft_pickler_op(&w->p, ']');
    end_object(w);
    put_attribute(w, "version");
    heft_pickler_text(&w->p, HEFT_STR("1.0.0"));
}

/* ---- the file ---------------------------------------------------------------------------------- */

static bool begin_writer(struct writer *w)
{
    const size_t n = w->out->exports->n_items + w->out->objects.n + 1;

    w->torch.plan = w->out->plan;
    w->torch.scratch.budget = w->out->plan->mem->budget;
    memset(w->classes, 0xff, sizeof w->classes); /* every byte 0xff: HEFT_NO_MEMO */
    memset(w->words, 0xff, sizeof w->words);
    if (!heft_pickler_init(&w->p, &w->torch, HEFT_TORCH_ZIP, w->err))
        return false;
    w->p.buf.budget = w->out->plan->mem->budget;
    w->names = heft_arena_alloc(&w->torch.scratch, n * sizeof *w->names, w->err);
    if (w->names)
        memset(w->names, 0xff, n * sizeof *w->names);
    return w->names != NULL;
}

bool heft_dcp_write_metadata(struct heft_dcp_out *out, struct heft_error *err)
{
    struct writer w = {.out = out, .err = err};
    const char *const path = heft_arena_printf(out->plan->mem, err, "%s.metadata", out->folder);
    uint32_t file;
    bool ok = path && begin_writer(&w) && heft_plan_file_begin(out->plan, path, &file, err);

    if (ok) {
        out->plan->files[file].is_index = true;
        heft_buf_put(&w.p.buf, "\x80\x02", 2);
        begin_object(&w, METADATA);
        ok = put_entries(&w, file) && put_paths(&w, file) && put_places(&w, file);
    }
    if (ok) {
        put_meta(&w);
        end_object(&w);
        heft_pickler_op(&w.p, '.');
        ok = flush(&w, file, 0);
    }
    heft_pickler_release(&w.p);
    heft_arena_release(&w.torch.scratch);
    return ok;
}
