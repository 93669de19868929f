/* h5.c: HDF5 files with tensors (doc/format/hdf5.md): .h5, .hdf5, .weights.h5. libhdf5 reads them,
 * in a module that is loaded on first use; heft checks the superblock first, and reads contiguous
 * data itself.
 *
 *     0 … base   user block      of 0, 512, 1024, … bytes
 *     base       superblock      h5_superblock.c
 *     … eof      object headers, B-trees, heaps, and data, anywhere
 *
 *     h5_walk.c   groups, datasets, attributes from the module ──► entries, lists of names, values
 *     h5_names.c  names of entries by Keras' attributes, and their order
 *     h5_rows.c   contiguous data: a storage of the file │ other: of a source that the module
 * decodes */
#include "format/hdf5/h5_parts.h"

#include "base/host_settings.h"

/* ---- opening files ----------------------------------------------------------------------- */

static bool read_bytes(void *ctx, uint64_t off, void *dst, size_t n, struct heft_error *err)
{
    return heft_source_read(ctx, off, dst, n, err);
}

static bool allows_process(struct heft_error *err)
{
    return !heft_host()->no_processes ||
           heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                     "libhdf5 reads this file in a process of its own, which the program has "
                     "forbidden (no_processes of heft_host_set)");
}

static bool open_file(struct heft_h5_reader *r, struct heft_error *err)
{
    struct heft_error found = {0};
    struct heft_h5_input input = {.read = read_bytes, .size = 0};
    uint64_t ignored;

    r->module = allows_process(err) ? heft_h5_load(err) : NULL;
    if (!r->module)
        return false;
    input.ctx = r->bytes;
    input.size = r->bytes->size;
    input.fd = heft_source_fd(r->bytes, 0, &ignored);
    input.seconds = r->model->limits.seconds;
    r->file = r->module->open(&input, &found);
    return r->file || heft_h5_blame(err, &found);
}

static bool name_version(struct heft_h5_reader *r, struct heft_error *err)
{
    r->model->format = "h5";
    r->model->version = heft_arena_printf(&r->model->mem, err, "superblock %u%s", r->version,
                                          r->by_path    ? ", written by heft"
                                          : r->is_keras ? ", named as by Keras"
                                                        : "");
    return r->model->version != NULL;
}

static void release_reader(struct heft_h5_reader *r)
{
    if (r->file)
        r->module->close(r->file);
    heft_free(r->entries);
    heft_free(r->lists);
    heft_free(r->order);
    heft_free(r->titles);
    heft_strmap_release(&r->titled);
}

bool heft_h5_open(struct heft_model *model, uint32_t source, const struct heft_h5_config *config,
                  struct heft_error *err)
{
    struct heft_h5_reader r = {.model = model, .source = source, .config = config};
    bool ok;

    r.bytes = heft_arena_alloc(&model->mem, sizeof *r.bytes, err);
    if (!r.bytes)
        return false;
    *r.bytes = model->sources[source].source; /* the array of sources is reallocated */
    ok = heft_h5_superblock(&r, err) && open_file(&r, err) && heft_h5_walk(&r, err) &&
         heft_h5_name(&r, err) && heft_h5_title(&r, err) && heft_h5_add_rows(&r, err) &&
         name_version(&r, err);
    release_reader(&r);
    return ok;
}

static bool open_h5(struct heft_model *model, uint32_t source, struct heft_error *err)
{
    return heft_h5_open(model, source, NULL, err);
}

/* ---- recognising files ------------------------------------------------------------------- */

/* After a user block, which may have any contents, the signature gives a lower score. */
static int probe(const struct heft_probe *sample)
{
    static const char signature[] = "\x89HDF\r\n\x1a\n";
    const size_t n = sizeof signature - 1;

    for (size_t at = 0; at + n <= sample->head.n; at = at ? at * 2 : 512)
        if (memcmp(sample->head.p + at, signature, n) == 0)
            return at ? 80 : 98;
    return 0;
}

/* Searches after a longer user block. */
static bool find_signature(const struct heft_source *source, bool *is_it, struct heft_error *err)
{
    uint64_t base;

    return heft_h5_find(source, &base, is_it, err);
}

static bool supports_dtype(enum heft_dtype dtype)
{
    static const bool held[HEFT_DTYPE_COUNT] = {
        [HEFT_BOOL] = true, [HEFT_U8] = true,  [HEFT_I8] = true,  [HEFT_I16] = true,
        [HEFT_U16] = true,  [HEFT_F16] = true, [HEFT_I32] = true, [HEFT_U32] = true,
        [HEFT_F32] = true,  [HEFT_C64] = true, [HEFT_F64] = true, [HEFT_I64] = true,
        [HEFT_U64] = true,  [HEFT_C128] = true};

    return held[dtype];
}

/* Size as huggingface_hub counts it for tensors of TensorFlow: an element of bool has one bit. */
static uint64_t hub_bytes(const struct heft_export_item *item)
{
    return item->as == HEFT_BOOL ? item->bytes / 8 + (item->bytes % 8 != 0) : item->bytes;
}

static const char *const extensions[] = {"h5", "hdf5", NULL};

static const char *const synonyms[] = {"hdf5", NULL};

static const struct heft_file_name names[] = {
    {".h5", .rank = HEFT_FILE_WEIGHTS, .order = 5},
    {".hdf5", .rank = HEFT_FILE_WEIGHTS, .order = 6},
    {0},
};

const struct heft_format_option heft_h5_options[] = {
    {.name = HEFT_H5_READ_NAMES,
     .use = HEFT_OPTION_READS,
     .kind = HEFT_OPTION_TEXT,
     .value = "KIND",
     .choices = "keys|objects",
     .elsewhere = HEFT_ELSEWHERE_NOTED,
     .help = "objects: the names that Keras 3 gives its variables"},
    {0},
};

extern const struct heft_format heft_format_h5;
const struct heft_format heft_format_h5 = {
    .name = "h5",
    .summary = "HDF5 weights, as Keras and h5py write them (.h5, .weights.h5)",
    .has_path_names = true,
    .needs_file = true,
    .synonyms = synonyms,
    .names = names,
    .probe = probe,
    .find_signature = find_signature,
    .open = open_h5,
    .verify = heft_h5_verify,
    .plan = heft_h5_plan,
    .weigh = hub_bytes,
    .shard_name = heft_h5_shard_name,
    .extensions = extensions,
    .pattern = "tf_model{suffix}.h5",
    .supports_dtype = supports_dtype,
    .options = heft_h5_options,
};
