/* torch_zip.c: the archive of torch.save and torch.jit.save: a root directory with pickles and one
 * record per storage.
 *
 *     ROOT/data.pkl        the object; its storages are ROOT/data/KEY
 *     ROOT/data/0          bytes of storage "0"
 *     ROOT/constants.pkl   TorchScript; its storages are ROOT/constants/KEY (torch_script.c)
 *
 * The root may have any name: it is the directory of data.pkl. */
#include "format/torch/zip/torch_archive.h"

#define DATA HEFT_STR("data/")

/* ---- the root directory ------------------------------------------------------------------ */

/* Other zip files of torch, recognised by a record. */
static const struct {
    const char *suffix, *what;
} DIALECTS[] = {
    {"/.data/extern_modules", "a torch.package archive (has .data/extern_modules)"},
    {"/archive_format", "a torch.export archive (has archive_format)"},
    {"serialized_exported_program.json", "a torch.export archive of the first kind"},
    {"/model.json", "a TorchScript archive of torch 1.0 or 1.1 (has model.json)"},
    {"MAR-INF/MANIFEST.json", "a TorchServe archive"},
};

static bool refuse_other(const struct heft_torch_zip *z, struct heft_error *err)
{
    for (size_t k = 0; k < HEFT_COUNT(DIALECTS); k++)
        for (size_t i = 0; i < z->zip.count; i++)
            if (heft_str_ends(z->zip.entries[i].name, DIALECTS[k].suffix))
                return heft_fail(err, HEFT_UNSUPPORTED, 0,
                                 "this is %s, which heft does not support", DIALECTS[k].what);
    return heft_fail(err, HEFT_UNSUPPORTED, 0,
                     "this zip archive is not a PyTorch checkpoint (no data.pkl)");
}

/* The text before the first slash of the first record: what torch takes for the root. */
static struct heft_str first_root(const struct heft_torch_zip *z)
{
    const struct heft_str name = z->zip.entries[0].name;
    const char *slash = memchr(name.p, '/', name.n);

    return (struct heft_str){name.p, slash ? (size_t)(slash - name.p) : 0};
}

static bool find_pickle(struct heft_torch_zip *z, struct heft_error *err)
{
    size_t n = 0;

    for (size_t i = 0; i < z->zip.count; i++) {
        const struct heft_zip_entry *entry = &z->zip.entries[i];
        size_t root;

        if (heft_str_is(entry->name, "data.pkl"))
            return heft_fail(err, HEFT_MALFORMED, entry->header,
                             "data.pkl is not in a directory: torch needs ARCHIVE/data.pkl");
        if (!heft_str_ends(entry->name, "/data.pkl"))
            continue;
        root = entry->name.n - strlen("/data.pkl");
        n++;
        if (z->pkl && !heft_str_eq((struct heft_str){entry->name.p, root}, first_root(z)))
            continue; /* keep the first candidate, unless this is the one torch would take */
        z->pkl = entry;
        z->root = (struct heft_str){entry->name.p, root};
    }
    if (n == 0)
        return refuse_other(z, err);
    return n == 1 || heft_str_eq(z->root, first_root(z)) ||
           heft_fail(
               err, HEFT_MALFORMED, z->pkl->header,
               "%zu records are named data.pkl, and none is in the directory of the first record",
               n);
}

/* ---- records ----------------------------------------------------------------------------- */

struct heft_str heft_torch_inner_name(const struct heft_torch_zip *z,
                                      const struct heft_zip_entry *entry)
{
    const size_t skip = z->marks[entry - z->zip.entries] == HEFT_TORCH_OUTSIDE ? 0 : z->root.n + 1;

    return (struct heft_str){entry->name.p + skip, entry->name.n - skip};
}

static bool is_inside(const struct heft_torch_zip *z, const struct heft_zip_entry *entry)
{
    return heft_str_starts(entry->name, z->root) && entry->name.n > z->root.n &&
           entry->name.p[z->root.n] == '/';
}

/* Parses a key as an array index: torch numbers storages from 0. False for all other keys. */
static bool key_number(const struct heft_torch_zip *z, struct heft_str key, size_t *number)
{
    size_t n = 0;

    if (key.n == 0 || key.n > 9 || (key.p[0] == '0' && key.n > 1))
        return false;
    for (size_t i = 0; i < key.n; i++) {
        if (key.p[i] < '0' || key.p[i] > '9')
            return false;
        n = 10 * n + (size_t)(key.p[i] - '0');
    }
    *number = n;
    return n < z->zip.count;
}

static bool map_record(struct heft_torch_zip *z, uint32_t index, struct heft_error *err)
{
    const struct heft_str name = heft_torch_inner_name(z, &z->zip.entries[index]);
    uint32_t found;
    size_t number;

    if (!heft_str_starts(name, DATA) ||
        !key_number(z, (struct heft_str){name.p + DATA.n, name.n - DATA.n}, &number))
        return heft_strmap_add(&z->records, name, index, &found, err);
    z->numbered[number] = index;
    return true;
}

/* Reserves space: nearly every entry becomes a storage, with a claim before and after it. */
static bool reserve_records(struct heft_torch_zip *z, struct heft_error *err)
{
    struct heft_model *model = z->model;
    const size_t n = z->zip.count;

    z->marks = heft_arena_zero(&z->scratch, n, 1, err);
    z->numbered = heft_arena_alloc(&z->scratch, n * sizeof *z->numbered, err);
    z->stored = heft_arena_alloc(&z->scratch, n * sizeof *z->stored, err);
    z->by_entry = heft_arena_alloc(&z->scratch, n * sizeof *z->by_entry, err);
    return z->marks && z->numbered && z->stored && z->by_entry &&
           heft_grow(&model->storages, &model->cap_storages, model->n_storages, n,
                     sizeof *model->storages, err) &&
           heft_grow(&model->claims, &model->cap_claims, model->n_claims, 2 * n + 8,
                     sizeof *model->claims, err);
}

static bool map_records(struct heft_torch_zip *z, struct heft_error *err)
{
    const size_t n = z->zip.count;

    if (!reserve_records(z, err))
        return false;
    heft_model_hold(z->model, &z->held, z->scratch.total);
    memset(z->numbered, 0xFF, n * sizeof *z->numbered); /* every byte 0xff: HEFT_NONE */
    for (uint32_t i = 0; i < n; i++) {                  /* fits: at most limits.entries */
        if (!is_inside(z, &z->zip.entries[i]))
            z->marks[i] = HEFT_TORCH_OUTSIDE;
        else if (!map_record(z, i, err))
            return false;
    }
    return true;
}

uint32_t heft_torch_record(const struct heft_torch_zip *z, struct heft_str name)
{
    return heft_strmap_get(&z->records, name);
}

/* Describes a record that never belongs to a tensor; NULL for others. */
static const char *other_record(const struct heft_torch_zip *z, uint32_t index)
{
    if (z->marks[index] == HEFT_TORCH_CODE)
        return z->code;
    return z->marks[index] == HEFT_TORCH_EXTRA ? "extra file " : NULL;
}

bool heft_torch_store_record(struct heft_torch_zip *z, uint32_t index, uint32_t *storage,
                             struct heft_error *err)
{
    const struct heft_storage_more more = {.what = other_record(z, index)};
    const struct heft_zip_entry *entry = &z->zip.entries[index];
    struct heft_storage s = {.off = entry->data,
                             .packed = entry->packed,
                             .len = entry->size,
                             .label = heft_torch_inner_name(z, entry),
                             .source = z->source,
                             .crc = entry->crc,
                             .coding = entry->method == HEFT_ZIP_STORED ? HEFT_CODING_RAW
                                                                        : HEFT_CODING_DEFLATE,
                             .sum = entry->crc ? HEFT_SUM_CRC32 : HEFT_SUM_NONE};

    if (z->marks[index] == HEFT_TORCH_STORED) {
        *storage = z->stored[index];
        return true;
    }
    z->marks[index] = HEFT_TORCH_STORED;
    return (!more.what || heft_model_add_more(z->model, &s, &more, err)) &&
           heft_model_add_storage(z->model, &s, storage, err) &&
           ((z->stored[index] = *storage), true);
}

/* ---- records by key ---------------------------------------------------------------------- */

static bool look_in(const struct heft_torch_zip *z, struct heft_str folder, struct heft_str key,
                    uint32_t *entry, struct heft_error *err)
{
    struct heft_buf name = {0};
    size_t number;
    bool ok;

    if (heft_str_eq(folder, DATA) && key_number(z, key, &number)) {
        *entry = z->numbered[number];
        return true;
    }
    heft_buf_str(&name, folder);
    heft_buf_str(&name, key);
    ok = heft_buf_ok(&name, err);
    if (ok)
        *entry = heft_torch_record(z, (struct heft_str){name.p, name.n});
    heft_buf_release(&name);
    return ok;
}

/* Entry of the storage's record, or HEFT_NONE. */
bool heft_torch_find_entry(const struct heft_torch_zip *z, struct heft_str key, uint32_t *entry,
                           struct heft_error *err)
{
    return look_in(z, z->folder, key, entry, err) && (*entry != HEFT_NONE || z->elsewhere.n == 0 ||
                                                      look_in(z, z->elsewhere, key, entry, err));
}

/* ---- opening and release ----------------------------------------------------------------- */

/* Reads the directory. Names become labels: for a single archive all stay in the model; several
 * archives share them through `kept`. */
static bool read_directory(struct heft_torch_zip *z, struct heft_torch_kept *kept,
                           struct heft_error *err)
{
    const struct heft_source *const source = &z->model->sources[z->source].source;
    struct heft_zip_limits limits = heft_zip_limits_of(&z->model->limits, z->model->file_bytes);
    struct heft_arena *const names = kept ? &z->scratch : &z->model->mem;
    struct heft_error why = {0};

    if (z->model->salvage)
        return heft_zip_salvage(&z->zip, source, &limits, names, &why, err);
    limits.may_leave_unread = !z->model->sources[z->source].is_slice; /* storages are in the file */
    return heft_zip_open_apart(&z->zip, source, heft_model_tail(z->model, z->source), &limits,
                               &z->scratch, names, err);
}

static bool open_directory(struct heft_torch_zip *z, struct heft_torch_kept *kept,
                           struct heft_error *err)
{
    const bool ok = read_directory(z, kept, err);

    heft_model_drop_tail(z->model, z->source); /* before more memory is allocated */
    return ok &&
           (z->zip.count > 0 || heft_fail(err, HEFT_MALFORMED, 0, "the zip archive is empty"));
}

static bool keep_root(struct heft_torch_zip *z, struct heft_error *err)
{
    z->root.p = heft_arena_text(&z->scratch, z->root, err); /* NUL-terminated, for messages */
    return z->root.p != NULL;
}

static bool keep_name(struct heft_torch_kept *kept, struct heft_arena *mem, struct heft_str *name,
                      struct heft_error *err)
{
    const uint32_t known = heft_strmap_get(&kept->map, *name);
    const char *copy;
    uint32_t found;

    if (known != HEFT_MAP_NONE) {
        *name = kept->names[known];
        return true;
    }
    copy = heft_arena_text(mem, *name, err);
    if (!copy || !heft_grow(&kept->names, &kept->cap, kept->n, 1, sizeof *kept->names, err))
        return false;
    name->p = copy;
    kept->names[kept->n] = *name;
    return heft_strmap_add(&kept->map, *name, (uint32_t)kept->n++, &found, err);
}

bool heft_torch_open_one(struct heft_torch_zip *z, struct heft_model *model, uint32_t source,
                         struct heft_torch_kept *kept, struct heft_error *err)
{
    *z = (struct heft_torch_zip){.model = model, .source = source, .folder = DATA};
    if (!open_directory(z, kept, err))
        return false;
    for (size_t i = 0; kept && i < z->zip.count; i++)
        if (!keep_name(kept, &model->mem, &z->zip.entries[i].name, err))
            return false;
    return heft_zip_compare_later(&z->zip, &model->sources[source].source, &model->mem, err) &&
           find_pickle(z, err) && map_records(z, err) && keep_root(z, err);
}

void heft_torch_release_kept(struct heft_torch_kept *kept)
{
    heft_strmap_release(&kept->map);
    heft_free(kept->names);
}

bool heft_torch_open_zip(struct heft_torch_zip *z, struct heft_model *model, uint32_t source,
                         struct heft_error *err)
{
    return heft_torch_open_one(z, model, source, NULL, err);
}

bool heft_torch_open_root(struct heft_torch_zip *z, struct heft_model *model, uint32_t source,
                          struct heft_error *err)
{
    *z = (struct heft_torch_zip){.model = model, .source = source, .folder = DATA};
    if (!open_directory(z, NULL, err))
        return false;
    z->root = first_root(z);
    if (z->root.n == 0)
        return heft_fail(err, HEFT_MALFORMED, z->zip.entries[0].header,
                         "the first record is not in a directory");
    return map_records(z, err) && keep_root(z, err);
}

void heft_torch_release_zip(struct heft_torch_zip *z)
{
    heft_model_hold(z->model, &z->held, 0);
    heft_strmap_release(&z->records);
    heft_arena_release(&z->scratch);
}

uint64_t heft_torch_computed_offset(const struct heft_torch_zip *z, uint64_t end, size_t n,
                                    uint64_t size)
{
    const bool is_large = size >= UINT32_MAX, is_far = end >= UINT32_MAX;
    const uint64_t zip64 = is_large || is_far ? 4 + (is_large ? 16U : 0U) + (is_far ? 8U : 0U) : 0;
    const uint64_t start = end + 30 + n + zip64 + 4;
    const uint64_t beyond = start % z->alignment;

    return beyond ? start + (z->alignment - beyond) : start;
}

bool heft_torch_is_script(const struct heft_torch_zip *z)
{
    return heft_torch_record(z, HEFT_STR("constants.pkl")) != HEFT_NONE;
}
