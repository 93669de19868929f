/* tf_bundle_data.c: the data files of a tensor bundle: which exist, and how much of each.
 *
 *     PREFIX.data-00003-of-00012     number of the file, number of files; five digits or more
 *
 * A data file is opened only when an entry refers to it, and memory is used only for files that are
 * referred to: a header may claim two billion files. A missing file is treated as an empty one. */
#include "base/checksum.h"
#include "core/tree.h"
#include "format/tensorflow/bundle/tf_bundle.h"

struct heft_str heft_tf_base(const char *path)
{
    struct heft_str base = heft_str_of(path + heft_path_folder(path));

    if (heft_str_ends(base, ".index"))
        base.n -= strlen(".index");
    return base;
}

uint8_t heft_tf_row_flags(const struct heft_tf_bundle *b, const struct heft_tf_dtype *dtype)
{
    return b->header.is_big_endian && heft_dtype_info((enum heft_dtype)dtype->dtype)->word > 1
               ? HEFT_ROW_SWAP
               : 0;
}

/* ---- opening data files ------------------------------------------------------------------ */

/* Path of a data file, in scratch memory; *name points at its last component. */
static const char *shard_path(struct heft_tf_bundle *b, uint32_t number, const char **name)
{
    const char *index = b->model->sources[b->source].path;
    const int folder = (int)heft_path_folder(index);
    const char *path =
        heft_arena_printf(&b->scratch, b->err, "%.*s%.*s.data-%05" PRIu32 "-of-%05" PRIu32, folder,
                          index, (int)b->base.n, b->base.p, number, b->header.num_shards);

    *name = path ? path + folder : NULL;
    return path;
}

static bool is_pointer(const struct heft_source *file)
{
    static const char begin[] = "version https://git-lfs";
    struct heft_error ignored = {0};
    char head[sizeof begin - 1];

    return file->size >= sizeof head && heft_source_read(file, 0, head, sizeof head, &ignored) &&
           memcmp(head, begin, sizeof head) == 0;
}

/* A missing data file becomes an empty source. */
static bool open_shard(struct heft_tf_bundle *b, struct heft_tf_shard *shard)
{
    struct heft_model_source *file;
    struct heft_source none;
    const char *name, *path = shard_path(b, shard->number, &name);
    bool ok;

    if (!path)
        return false;
    shard->is_there = heft_files_kind(b->model->files, path) != HEFT_PATH_NONE;
    heft_source_open_memory(&none, (struct heft_bytes){(const uint8_t *)"", 0}, path);
    ok = shard->is_there ? heft_registry_add_sibling(b->model, b->source, heft_str_of(name),
                                                     &shard->source, b->err)
                         : heft_model_add_file(b->model, &none, path, &shard->source, b->err);
    if (!ok)
        return false;
    b->model->sources[shard->source].pads = true;
    b->model->sources[shard->source].is_missing = !shard->is_there;
    file = &b->model->sources[shard->source];
    if (is_pointer(&file->source))
        file->absent = "a Git LFS pointer: fetch it with git lfs pull";
    return !file->absent || heft_model_claim(b->model, shard->source, 0, file->source.size,
                                             "Git LFS pointer", b->err);
}

/* Returns the data file of that number, opened on first use. */
static struct heft_tf_shard *find_shard(struct heft_tf_bundle *b, uint32_t number)
{
    uint32_t k = heft_u32map_get(&b->shard_numbers, number);

    if (k != HEFT_MAP_NONE)
        return &b->shards[k];
    k = (uint32_t)b->n_shards;
    if (!heft_grow(&b->shards, &b->cap_shards, b->n_shards, 1, sizeof *b->shards, b->err))
        return NULL;
    b->shards[k] = (struct heft_tf_shard){.number = number};
    if (!open_shard(b, &b->shards[k]) || !heft_u32map_set(&b->shard_numbers, number, k, b->err))
        return NULL;
    b->n_shards++;
    return &b->shards[k];
}

/* ---- storages ---------------------------------------------------------------------------- */

/* Check that `size` bytes can hold the entry's elements. */
static bool check_size(const struct heft_tf_bundle *b, const struct heft_tf_entry *entry,
                       uint64_t at)
{
    const unsigned each = heft_dtype_element_bytes((enum heft_dtype)entry->dtype->dtype);
    const bool strings = entry->dtype->dtype == HEFT_STRING;
    uint64_t least;

    if (each) /* no overflow: fewer than 2^63 elements of at most 16 bytes */
        return (heft_mul(entry->elements, each, &least) && least == entry->size) ||
               heft_fail(b->err, HEFT_MALFORMED, at,
                         "%" PRIu64 " bytes for %" PRIu64 " elements of %s", entry->size,
                         entry->elements, entry->dtype->name);
    /* Strings take a length and a checksum in all, variants take them per element. An entry without
     * elements has no bytes. */
    if (entry->elements == 0 && entry->size == 0)
        return true;
    return (heft_mul(entry->elements, strings ? 1 : 5, &least) &&
            heft_add(least, strings ? 4 : 0, &least) && least <= entry->size) ||
           heft_fail(b->err, HEFT_MALFORMED, at,
                     "%" PRIu64 " bytes for %" PRIu64 " elements of %s, which need more",
                     entry->size, entry->elements, entry->dtype->name);
}

static bool choose_check(const struct heft_tf_bundle *b, const struct heft_tf_entry *entry,
                         struct heft_storage *storage)
{
    const bool big = b->header.is_big_endian;
    struct heft_storage_more more = {.count = entry->elements};

    storage->crc = heft_crc_unmask(entry->crc);
    storage->sum = HEFT_SUM_CRC32C;
    if (entry->dtype && entry->dtype->dtype == HEFT_STRING) {
        more.check = big ? heft_tf_check_strings_big : heft_tf_check_strings;
        more.strings = heft_tf_strings;
    } else if (entry->dtype && entry->dtype->dtype == HEFT_VARIANT) {
        more.check = big ? heft_tf_check_variants_big : heft_tf_check_variants;
    }
    if (!more.check)
        return true;
    storage->sum = HEFT_SUM_OWN;
    return heft_model_add_more(b->model, storage, &more, b->err);
}

/* Checksums are compared when data is read. Empty data is never read, and its checksum is a
 * constant. */
static bool check_empty(const struct heft_tf_bundle *b, const struct heft_tf_entry *entry,
                        uint64_t at)
{
    return entry->size > 0 || heft_crc_unmask(entry->crc) == 0 ||
           heft_model_note(b->model, HEFT_FINDING, b->source, at, b->err,
                           "the checksum of an empty tensor is stored as %08" PRIx32
                           "; it must be a282ead8",
                           entry->crc);
}

bool heft_tf_add_storage(struct heft_tf_bundle *b, const struct heft_tf_entry *entry, uint64_t at,
                         uint32_t *out)
{
    const uint64_t end = entry->offset + entry->size; /* no overflow: both numbers are below 2^63 */
    struct heft_storage storage = {.off = entry->offset, .packed = entry->size, .len = entry->size};
    const struct heft_model_source *file;
    struct heft_tf_shard *shard;

    if (entry->shard >= b->header.num_shards)
        return heft_fail(b->err, HEFT_MALFORMED, at,
                         "is in data file %" PRId32 ", but the bundle has %" PRIu32,
                         (int32_t)entry->shard, b->header.num_shards);
    if ((entry->dtype && !check_size(b, entry, at)) || !check_empty(b, entry, at) ||
        !(shard = find_shard(b, entry->shard)))
        return false;
    storage.source = shard->source;
    file = &b->model->sources[shard->source];
    if (!choose_check(b, entry, &storage))
        return false;
    shard->has_gaps |= entry->size > 0 && entry->offset != shard->wanted;
    shard->wanted = heft_max_u64(shard->wanted, entry->size ? end : 0);
    if ((file->absent || end > file->source.size) && !b->model->salvage) {
        storage.is_missing = true;
        storage.sum = HEFT_SUM_NONE;
        shard->missing += entry->size > 0;
    }
    return heft_model_add_storage(b->model, &storage, out, b->err);
}

/* ---- missing data files ------------------------------------------------------------------ */

static bool note_shard(const struct heft_tf_bundle *b, const struct heft_tf_shard *shard)
{
    const struct heft_source *file = &b->model->sources[shard->source].source;
    const char *is = shard->missing == 1 ? " is" : "s are";

    if (!shard->is_there)
        return heft_model_note(b->model, HEFT_FINDING, shard->source, HEFT_NO_OFFSET, b->err,
                               "this data file is missing: %" PRIu64 " tensor%s in it",
                               shard->missing, is);
    if (b->model->sources[shard->source].absent)
        return heft_model_note(b->model, HEFT_FINDING, shard->source, 0, b->err,
                               "this is a Git LFS pointer, not the data file: fetch it with git "
                               "lfs pull; %" PRIu64 " tensor%s in it",
                               shard->missing, is);
    return heft_model_note(b->model, HEFT_FINDING, shard->source, file->size, b->err,
                           "this data file has %" PRIu64 " of %" PRIu64 " bytes: %" PRIu64
                           " tensor%s incomplete",
                           file->size, shard->wanted, shard->missing, is);
}

bool heft_tf_note_missing(const struct heft_tf_bundle *b)
{
    for (size_t i = 0; i < b->n_shards; i++) {
        const struct heft_tf_shard *shard = &b->shards[i];

        if (b->model->salvage)
            heft_model_expect(b->model, shard->source, shard->wanted, false);
        else if (shard->missing > 0 && !note_shard(b, shard))
            return false;
    }
    return true;
}

/* ---- data files that no entry refers to -------------------------------------------------- */

/* Parses a name such as "PREFIX.data-00003-of-00012"; false if it is not a data file of this
 * prefix. */
static bool is_data_name(struct heft_str name, struct heft_str base, uint64_t *number, uint64_t *of)
{
    static const char *const words[] = {".data-", "-of-"};
    uint64_t *const out[] = {number, of};
    size_t at = base.n;

    if (!heft_str_starts(name, base))
        return false;
    for (unsigned i = 0; i < 2; i++) {
        const struct heft_str rest = {name.p + at, name.n - at};
        size_t digits = 0;

        if (!heft_str_starts(rest, heft_str_of(words[i])))
            return false;
        at += strlen(words[i]);
        *out[i] = 0;
        for (; at < name.n && name.p[at] >= '0' && name.p[at] <= '9' && digits < 10; at++, digits++)
            *out[i] = *out[i] * 10 + (uint64_t)(name.p[at] - '0');
        if (digits < 5)
            return false;
    }
    return at == name.n;
}

struct looker {
    const struct heft_model *model;
    const struct heft_reporter *to;
    uint32_t source;
    struct heft_str base;
    uint64_t num_shards;
    struct heft_strmap known; /* paths of the files that belong to the model */
    struct heft_arena mem;
};

/* A file that no entry refers to must be empty or all padding. */
static bool look_into(struct looker *l, const char *path, struct heft_error *err)
{
    struct heft_source file;
    bool zeros = true;
    bool ok = heft_files_open(l->model->files, &file, path, err) &&
              heft_source_zeros(&file, 0, file.size, &zeros, err);
    const char *text =
        ok && !zeros
            ? heft_arena_printf(&l->mem, err, "no entry refers to %s, which has %" PRIu64 " bytes",
                                path, file.size)
            : "";

    if (text && !zeros)
        l->to->report(l->to->ctx, HEFT_FINDING, l->source, HEFT_NO_OFFSET, text);
    heft_source_close(&file);
    return ok && text;
}

static bool look_at(struct looker *l, const char *folder, const char *name, struct heft_error *err)
{
    const char *path, *text;
    uint64_t number, of;

    if (!is_data_name(heft_str_of(name), l->base, &number, &of))
        return true;
    path = heft_arena_printf(&l->mem, err, "%s%s", folder, name);
    if (!path || heft_strmap_get(&l->known, heft_str_of(path)) != HEFT_MAP_NONE)
        return path != NULL;
    if (of == l->num_shards && number < of)
        return look_into(l, path, err);
    text = heft_arena_printf(&l->mem, err, "%s belongs to another index", path);
    if (text)
        l->to->report(l->to->ctx, HEFT_NOTE, l->source, HEFT_NO_OFFSET, text);
    return text != NULL;
}

static bool look_around(struct looker *l, struct heft_error *err)
{
    const char *index = l->model->sources[l->source].path;
    const struct heft_str where = {index, heft_path_folder(index)};
    const char *folder = heft_arena_text(&l->mem, where, err);
    const char *const *names;
    size_t n;

    if (!folder ||
        !heft_files_list(l->model->files, where.n ? folder : ".", &l->mem, &names, &n, err))
        return false;
    for (uint32_t i = 0; i < l->model->n_sources; i++)
        if (!heft_strmap_set(&l->known, heft_str_of(l->model->sources[i].path), i, err))
            return false;
    for (size_t i = 0; i < n; i++)
        if (!look_at(l, folder, names[i], err))
            return false;
    return true;
}

bool heft_tf_verify_data(const struct heft_model *model, uint32_t source,
                         const struct heft_reporter *to, struct heft_error *err)
{
    const struct heft_value *shards =
        model->file_info ? heft_value_below(&model->file_info->value, "header.num_shards") : NULL;
    struct looker l = {.model = model,
                       .to = to,
                       .source = source,
                       .base = heft_tf_base(model->sources[source].path),
                       .num_shards = shards ? (uint64_t)shards->as.integer : 0};
    const bool ok = look_around(&l, err);

    heft_strmap_release(&l.known);
    heft_arena_release(&l.mem);
    return ok;
}
