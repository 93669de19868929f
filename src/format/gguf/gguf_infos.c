/* gguf_infos.c: reads the tensor infos of a GGUF and makes rows of them.
 *
 *     | length of name | name | n_dims u32 | dims × n_dims, innermost first | type u32 | offset u64 |
 *
 * Offsets count from the begin of the data, which is known when all infos have been read: a row's
 * storage is checked then. */
#include "base/text.h"
#include "format/gguf/gguf_read.h"

/* ---- one info --------------------------------------------------------------------------------- */

static bool take_name(struct heft_gguf_cursor *cursor, struct heft_buf *name, uint64_t longest,
                      struct heft_str *out, struct heft_error *err)
{
    const uint64_t at = cursor->at;
    uint64_t length;

    if (!heft_gguf_take_length(cursor, &length, "name of a tensor", err))
        return false;
    if (length > longest)
        return heft_fail(err, HEFT_LIMIT, at,
                         "name of a tensor has %" PRIu64 " bytes, the limit is %" PRIu64, length,
                         longest);
    name->n = 0;
    if (!heft_buf_room(name, (size_t)length + 1))
        return heft_buf_ok(name, err);
    if (!heft_gguf_copy(cursor, name->p, (size_t)length, "name of a tensor", err))
        return false;
    *out = (struct heft_str){name->p, (size_t)length};
    return true;
}

static bool take_dims(struct heft_gguf_cursor *cursor, struct heft_gguf_info *info,
                      struct heft_error *err)
{
    const uint64_t at = cursor->at;
    uint32_t n;

    if (!heft_gguf_take_u32(cursor, &n, "number of dimensions", err))
        return false;
    if (n > HEFT_GGUF_KEY_RANK)
        return heft_fail(err, HEFT_MALFORMED, at, "%" PRIu32 " dimensions, ggml has at most %d", n,
                         HEFT_GGUF_RANK);
    if (n > HEFT_GGUF_RANK)
        return heft_fail(err, HEFT_UNSUPPORTED, at, "%" PRIu32 " dimensions, ggml has at most %d",
                         n, HEFT_GGUF_RANK);
    info->n_dims = n;
    for (unsigned i = n; i > 0; i--) {
        uint64_t *const extent = &info->shape[i - 1];

        if (!heft_gguf_take_size(cursor, extent, "dimension", err))
            return false;
        if (*extent > INT64_MAX)
            return heft_fail(err, HEFT_MALFORMED, at + 4,
                             "dimension is %" PRIu64 ", must be below 2^63", *extent);
    }
    return true;
}

bool heft_gguf_take_info(struct heft_gguf_cursor *cursor, struct heft_buf *name, uint64_t longest,
                         struct heft_gguf_info *info, struct heft_error *err)
{
    *info = (struct heft_gguf_info){.at = cursor->at};
    if (!take_name(cursor, name, longest, &info->name, err))
        return false;
    return (take_dims(cursor, info, err) && heft_gguf_take_u32(cursor, &info->type, "type", err) &&
            heft_gguf_take_u64(cursor, &info->offset, "offset", err)) ||
           heft_error_about(err, "tensor", info->name);
}

bool heft_gguf_info_bytes(const struct heft_gguf_info *info, uint64_t *bytes)
{
    enum heft_dtype dtype;

    return heft_gguf_dtype(info->type, &dtype) &&
           heft_row_size(dtype, info->n_dims, info->shape, bytes);
}

bool heft_gguf_is_plain(struct heft_str name)
{
    return heft_utf8_check((struct heft_bytes){(const uint8_t *)name.p, name.n}) == name.n &&
           !memchr(name.p, '\0', name.n);
}

bool heft_gguf_show_name(struct heft_str name, struct heft_arena *mem, struct heft_str *out,
                         struct heft_error *err)
{
    struct heft_buf text = {0};

    if (heft_gguf_is_plain(name)) {
        *out = (struct heft_str){heft_arena_text(mem, name, err), name.n};
        return out->p != NULL;
    }
    heft_buf_escaped(&text, name);
    return heft_buf_take(&text, mem, out, err);
}

/* ---- rows ------------------------------------------------------------------------------------- */

/* Peculiarities, reported once each, with their number and the first position. */
enum oddity { LONG_NAME, EMPTY_NAME, ESCAPED_NAME, ODDITIES };

static const struct {
    enum heft_severity severity;
    const char *one, *many;
} oddities[ODDITIES] = {
    [LONG_NAME] = {HEFT_NOTE, "name has more than 63 bytes: llama.cpp refuses it",
                   "names have more than 63 bytes: llama.cpp refuses them"},
    [EMPTY_NAME] = {HEFT_NOTE, "name is empty", "names are empty"},
    [ESCAPED_NAME] = {HEFT_FINDING, "name is not UTF-8 or contains a NUL byte: shown escaped",
                      "names are not UTF-8 or contain a NUL byte: shown escaped"},
};

enum { MOST_UNKNOWN = 20000 };

struct infos {
    struct heft_gguf_reader *r;
    uint32_t n_unknown; /* tensors of unknown types */
    struct heft_buf name;
    struct heft_arena scratch;
    uint64_t *at;           /* of the info of each row of this file */
    size_t first_row;       /* of this file … */
    uint64_t first_storage; /* … and its storage */
    struct {
        uint64_t n, at;
    } odd[ODDITIES];
};

static void count_odd(struct infos *s, enum oddity what, uint64_t at)
{
    if (s->odd[what].n++ == 0)
        s->odd[what].at = at;
}

static bool tell_odd(struct infos *s, struct heft_error *err)
{
    for (size_t i = 0; i < ODDITIES; i++)
        if (s->odd[i].n > 0 &&
            !heft_model_note(s->r->model, oddities[i].severity, s->r->file->source, s->odd[i].at,
                             err, "%" PRIu64 " %s", s->odd[i].n,
                             s->odd[i].n == 1 ? oddities[i].one : oddities[i].many))
            return false;
    return true;
}

static bool name_row(struct infos *s, const struct heft_gguf_info *info, struct heft_str *name,
                     struct heft_error *err)
{
    if (!heft_gguf_show_name(info->name, &s->r->model->mem, name, err))
        return false;
    if (info->name.n > HEFT_GGUF_NAME)
        count_odd(s, LONG_NAME, info->at);
    if (info->name.n == 0)
        count_odd(s, EMPTY_NAME, info->at);
    if (!heft_str_eq(info->name, *name))
        count_odd(s, ESCAPED_NAME, info->at);
    return true;
}

/* A tensor of a type without a known size: listed among those that cannot be read. */
static bool add_unknown(struct infos *s, const struct heft_gguf_info *info, struct heft_str name,
                        struct heft_error *err)
{
    const char *const removed = heft_gguf_removed(info->type);
    struct heft_error text = {0};

    if (s->n_unknown++ == MOST_UNKNOWN)
        return heft_fail(err, HEFT_LIMIT, info->at, "more than %d tensors of unknown types",
                         MOST_UNKNOWN);
    if (removed)
        heft_fail(&text, HEFT_UNSUPPORTED, 0,
                  "type %" PRIu32 " (%s, removed from GGUF in 2024): requantize from the original",
                  info->type, removed);
    else
        heft_fail(&text, HEFT_UNSUPPORTED, 0,
                  "type %" PRIu32 " is unknown: it belongs to a later version or to a fork of ggml",
                  info->type);
    return heft_model_add_unreadable(s->r->model, name, s->r->file->source, info->at, text.text,
                                     err);
}

/* Blocks with f16 fields in a big-endian file: gguf-convert-endian swaps these fields, the writer of
 * gguf-py does not, and nothing tells the files apart. MXFP4 and NVFP4 have only bytes. */
static uint8_t flags_of(const struct heft_gguf_file *file, enum heft_dtype dtype)
{
    if (!file->is_big_endian)
        return 0;
    if (heft_dtype_is_scaled(dtype))
        return dtype == HEFT_MXFP4 || dtype == HEFT_NVFP4 ? 0 : HEFT_ROW_RAW;
    return heft_dtype_info(dtype)->word > 1 ? HEFT_ROW_SWAP : 0;
}

static bool add_row(struct infos *s, const struct heft_gguf_info *info, struct heft_error *err)
{
    struct heft_model *const model = s->r->model;
    struct heft_storage storage = {.off = info->offset, .source = s->r->file->source};
    struct heft_row row = {.rank = (uint8_t)info->n_dims};
    enum heft_dtype dtype;

    if (!name_row(s, info, &row.name, err))
        return false;
    if (!heft_gguf_dtype(info->type, &dtype))
        return add_unknown(s, info, row.name, err);
    row.dtype = (uint8_t)dtype;
    row.flags = flags_of(s->r->file, dtype);
    row.shape = heft_arena_copy_u64(&model->mem, info->shape, info->n_dims, err);
    if (!row.shape)
        return false;
    if (!heft_row_check_size(&row, &storage.len, info->at, err))
        return heft_error_about(err, "tensor", row.name);
    storage.packed = storage.len;
    s->at[model->n_rows - s->first_row] = info->at;
    return heft_model_add_storage(model, &storage, &row.storage, err) &&
           heft_model_add_row(model, &row, err);
}

static bool check_count(struct heft_gguf_reader *r, struct heft_error *err)
{
    const uint64_t least = r->cursor.version > 1 ? 24 : 20; /* an empty name, no dimensions */
    const uint64_t most = heft_limit_tensors(&r->model->limits, r->model->file_bytes);

    if (r->file->n_tensors > r->cursor.source->size / least)
        return heft_fail(err, HEFT_MALFORMED, 8,
                         "the header counts %" PRIu64 " tensors, the file has room for %" PRIu64,
                         r->file->n_tensors, r->cursor.source->size / least);
    return r->file->n_tensors <= most ||
           heft_fail(err, HEFT_LIMIT, 8,
                     "%" PRIu64 " tensors, the limit is %" PRIu64 ": limits.tensors",
                     r->file->n_tensors, most);
}

/* ---- the data --------------------------------------------------------------------------------- */

/* Sets the begin of the data. A file without tensors may end before it. */
static bool find_data(struct heft_gguf_reader *r, struct heft_error *err)
{
    struct heft_gguf_file *const file = r->file;
    const uint64_t size = r->cursor.source->size, mask = file->alignment - 1;

    file->infos_end = r->cursor.at;
    if (!heft_add(file->infos_end, mask, &file->data))
        return heft_fail(err, HEFT_MALFORMED, file->infos_end, "the data begins beyond 2^64");
    file->data &= ~mask;
    if (file->data > size && file->n_tensors > 0 && !r->model->salvage)
        return heft_fail(err, HEFT_MALFORMED, file->infos_end,
                         "the data begins at 0x%" PRIx64 ", aligned to %" PRIu64
                         " bytes, the file ends at 0x%" PRIx64,
                         file->data, file->alignment, size);
    return true;
}

static bool place_row(struct infos *s, struct heft_row *row, struct heft_error *err)
{
    const struct heft_gguf_reader *const r = s->r;
    struct heft_storage *const storage = &r->model->storages[row->storage];
    const uint64_t size = r->cursor.source->size, offset = storage->off;
    const uint64_t rest = size > r->file->data ? size - r->file->data : 0;
    const uint64_t at = s->at[(size_t)(row - r->model->rows) - s->first_row];
    uint64_t end;

    if (!heft_add(r->file->data, offset, &storage->off) ||
        !heft_add(storage->off, storage->len, &end)) {
        heft_fail(err, HEFT_MALFORMED, at, "offset %" PRIu64 " in the data, beyond 2^64", offset);
        return heft_error_about(err, "tensor", row->name);
    }
    if (heft_within(offset, storage->len, rest))
        return true;
    if (r->model->salvage) {
        heft_model_expect(r->model, r->file->source, end, true);
        return true;
    }
    heft_fail(err, HEFT_MALFORMED, at,
              "%" PRIu64 " bytes at offset %" PRIu64 " of the data, which has %" PRIu64 " bytes",
              storage->len, offset, rest);
    return heft_error_about(err, "tensor", row->name);
}

static bool read_all(struct infos *s, struct heft_error *err)
{
    struct heft_gguf_reader *const r = s->r;
    struct heft_gguf_info info;
    size_t n;

    if (!heft_size(r->file->n_tensors, &n) || !heft_model_reserve(r->model, n, n, err))
        return false;
    s->at = heft_arena_u64(&s->scratch, n, err);
    if (!s->at)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!heft_gguf_take_info(&r->cursor, &s->name, r->model->limits.name, &info, err) ||
            !add_row(s, &info, err))
            return false;
    if (!find_data(r, err))
        return false;
    for (size_t i = s->first_row; i < r->model->n_rows; i++)
        if (!place_row(s, &r->model->rows[i], err))
            return false;
    return tell_odd(s, err);
}

bool heft_gguf_read_infos(struct heft_gguf_reader *r, struct heft_error *err)
{
    struct infos s = {.r = r, .first_row = r->model->n_rows};
    bool ok;

    r->file->infos = r->cursor.at;
    ok = check_count(r, err) && read_all(&s, err);
    heft_buf_release(&s.name);
    heft_arena_release(&s.scratch);
    return ok;
}
