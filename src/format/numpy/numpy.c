/* numpy.c: a file with one array, as numpy.save writes it.
 *
 *     "\x93NUMPY" version length │ {'descr': …, 'fortran_order': …, 'shape': …} │ data
 *
 * (The header is in wire/npy.h.) The array has no name: it is named after the file. */
#include "base/text.h"
#include "format/numpy/numpy_parts.h"

static int probe(const struct heft_probe *sample)
{
    return sample->head.n >= 6 && memcmp(sample->head.p, "\x93NUMPY", 6) == 0 ? 100 : 0;
}

/* Name of the tensor: "dir/kernel.npy" → "kernel". */
static struct heft_str name_of(const char *path)
{
    struct heft_str name = heft_str_of(path + heft_path_folder(path));

    if (heft_str_ends(name, ".npy"))
        name.n -= 4;
    if (name.n == 0 ||
        heft_utf8_check((struct heft_bytes){(const uint8_t *)name.p, name.n}) < name.n)
        return HEFT_STR("tensor");
    return name;
}

static bool read_header(struct heft_numpy_array *array, const struct heft_source *src,
                        struct heft_arena *mem, struct heft_error *err)
{
    uint8_t room[HEFT_NPY_HEAD];
    const struct heft_bytes head = {room, (size_t)heft_min_u64(sizeof room, src->size)};
    struct heft_bytes all;
    size_t length;

    if (!heft_source_read(src, 0, room, head.n, err) || !heft_npy_length(head, 0, &length, err))
        return false;
    if (length > src->size)
        return heft_fail(err, HEFT_MALFORMED, 8, "npy header of %zu bytes, the file has %" PRIu64,
                         length, src->size);
    return heft_source_fetch(src, 0, length, mem, &all, err) &&
           heft_npy_parse(&array->npy, all, 0, err);
}

static bool name_version(struct heft_model *model, const struct heft_npy *npy,
                         struct heft_error *err)
{
    model->format = "npy";
    model->version = heft_arena_printf(&model->mem, err, "%u.0", npy->version);
    return model->version != NULL;
}

/* numpy.save may be called several times with the same open file. numpy.load returns the first
 * array; so does this reader, which claims the rest. */
static bool leave_rest(struct heft_model *model, uint32_t source, const struct heft_source *src,
                       const struct heft_npy *npy, struct heft_error *err)
{
    const uint64_t end = npy->data + npy->bytes, rest = src->size - heft_min_u64(end, src->size);
    uint8_t magic[6] = {0};
    bool is_array;

    if (npy->type.each == 0 || rest == 0)
        return true;
    if (!heft_source_read(src, end, magic, (size_t)heft_min_u64(rest, sizeof magic), err))
        return false;
    is_array = memcmp(magic, "\x93NUMPY", 6) == 0;
    return heft_model_claim(model, source, end, rest, "bytes after the array", err) &&
           heft_model_leave(model, source, end, err,
                            "%" PRIu64 " bytes after the array%s: not read, as by numpy.load", rest,
                            is_array ? ", which begin as another one does" : "");
}

static bool open_npy(struct heft_model *model, uint32_t source, struct heft_error *err)
{
    const struct heft_source src = model->sources[source].source;
    struct heft_numpy_array array = {.name = name_of(model->sources[source].path)};
    struct heft_numpy_texts texts = {0};
    struct heft_arena mem = {0};
    bool ok = read_header(&array, &src, &mem, err) &&
              (array.name.p = heft_arena_text(&model->mem, array.name, err)) != NULL;

    if (ok) {
        const uint64_t there = src.size - array.npy.data;
        const bool is_known = array.npy.type.each > 0;

        array.where = array.npy.data;
        array.storage.source = source;
        array.storage.off = array.npy.data;
        array.storage.len = is_known ? heft_min_u64(array.npy.bytes, there) : there;
        array.storage.packed = array.storage.len;
        ok = name_version(model, &array.npy, err) &&
             heft_model_claim(model, source, 0, array.npy.data, "npy header", err) &&
             heft_numpy_add(model, &array, &texts, err) &&
             leave_rest(model, source, &src, &array.npy, err);
    }
    if (ok)
        heft_numpy_give_texts(model, &texts);
    heft_arena_release(&mem);
    return ok;
}

static bool plan_file(struct heft_plan *plan, uint32_t file, const struct heft_export_list *exports,
                      struct heft_error *err)
{
    struct heft_str header;

    if (exports->n_items != 1)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "an .npy file has one tensor, %zu are selected", exports->n_items);
    return heft_numpy_header(plan, exports->items, &header, err) &&
           heft_plan_put(plan, file, header, err) &&
           heft_plan_item(plan, file, exports->items, err) &&
           heft_plan_leave_metadata(plan, exports, "NumPy files", err);
}

static const char *const extensions[] = {"npy", NULL};

static const struct heft_file_name names[] = {
    {".npy", .rank = HEFT_FILE_DATA},
    {0},
};

extern const struct heft_format heft_format_npy;
const struct heft_format heft_format_npy = {
    .name = "npy",
    .summary = "NumPy array file, one tensor",
    .names = names,
    .probe = probe,
    .open = open_npy,
    .plan = plan_file,
    .extensions = extensions,
    .one_tensor = true,
    .supports_dtype = heft_numpy_supports_dtype,
};
