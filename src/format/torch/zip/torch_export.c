/* torch_export.c: archives of torch.export.save (.pt2): weights by name, beside a program.
 *
 *     ROOT/archive_format                            "pt2"
 *     ROOT/archive_version                           "0"
 *     ROOT/data/weights/M_weights_config.json        {"config": {NAME: {…}}}: weights of model M
 *     ROOT/data/weights/weight_0                     bytes of a storage
 *     ROOT/data/constants/M_constants_config.json    the same for tensors outside the state: constants
 *     ROOT/data/constants/tensor_0
 *     ROOT/models/M.json …                           the program, never read; torch.export.load needs it
 *                                                    and archive_version
 *     ROOT/.data/version, byteorder …                as in any torch zip (torch_records.c)
 *
 *     NAME: {"path_name": "weight_0", "is_param": true, "use_pickle": false,
 *            "tensor_meta": {"dtype": 7, "sizes": [{"as_int": 3}], "strides": [{"as_int": 1}],
 *                            "storage_offset": {"as_int": 0}, …}}
 *
 * Rows: the weights in the order of their config, then constants.NAME; with several models the name
 * of the model comes first. */
#include "core/registry.h"
#include "format/torch/zip/torch_archive.h"
#include "wire/json.h"

#include "base/text.h"

#define WEIGHTS   HEFT_STR("data/weights/")
#define CONSTANTS HEFT_STR("data/constants/")
/* Limit for inflating a config in memory; torch stores configs uncompressed. */
#define DEFLATED_CONFIG (UINT64_C(16) << 20)
#define MAX_RANK        64

static const char weights_end[] = "_weights_config.json";
static const char constants_end[] = "_constants_config.json";

/* ScalarType numbers of torch.export's schema. */
static const struct {
    uint8_t number, dtype;
} dtypes[] = {
    {1, HEFT_U8},       {2, HEFT_I8},           {3, HEFT_I16},          {4, HEFT_I32},
    {5, HEFT_I64},      {6, HEFT_F16},          {7, HEFT_F32},          {8, HEFT_F64},
    {9, HEFT_C32},      {10, HEFT_C64},         {11, HEFT_C128},        {12, HEFT_BOOL},
    {13, HEFT_BF16},    {28, HEFT_U16},         {29, HEFT_F8_E4M3},     {30, HEFT_F8_E5M2},
    {33, HEFT_F8_E8M0}, {31, HEFT_F8_E4M3FNUZ}, {32, HEFT_F8_E5M2FNUZ}, {34, HEFT_U32},
    {35, HEFT_U64},
};

/* The config of one tensor. */
struct payload {
    struct heft_str path; /* allocated in model->mem */
    uint64_t dtype, offset;
    uint64_t size[MAX_RANK], stride[MAX_RANK];
    size_t n_size, n_stride;
    bool has_path, is_pickle, has_meta, has_offset;
};

struct reader {
    struct heft_torch_zip *z;
    struct heft_json json;
    struct heft_arena mem;
    const struct heft_zip_entry *config;
    struct heft_str folder;
    const char *prefix; /* prefix of names, with its dot */
    bool has_spoken;    /* the parser has failed and filled the error */
    struct heft_error *err;
};

/* ---- parsing the JSON documents ---------------------------------------------------------- */

static bool refuse_config(struct reader *r, const char *what)
{
    if (r->has_spoken)
        return false;
    return heft_fail(r->err, HEFT_MALFORMED,
                     r->config->method == HEFT_ZIP_STORED ? r->json.where : HEFT_NO_OFFSET,
                     "%.100s: %s", r->config->name.p, what);
}

static enum heft_json_token next_token(struct reader *r)
{
    const enum heft_json_token token = heft_json_next(&r->json);

    r->has_spoken |= token == HEFT_JSON_ERROR;
    return token;
}

static bool want_token(struct reader *r, enum heft_json_token token, const char *what)
{
    return next_token(r) == token || refuse_config(r, what);
}

/* Reads the next key of the open object; *more is false at its end. */
static bool next_key(struct reader *r, bool *more)
{
    const enum heft_json_token token = next_token(r);

    *more = token == HEFT_JSON_KEY;
    return *more || token == HEFT_JSON_OBJECT_END || refuse_config(r, "expected a key");
}

static bool read_number(struct reader *r, uint64_t *out)
{
    return want_token(r, HEFT_JSON_NUMBER, "expected a number") &&
           (heft_json_u64(&r->json, out) || refuse_config(r, "expected a number from 0 to 2^64-1"));
}

static bool read_truth(struct reader *r, bool *out)
{
    const enum heft_json_token token = next_token(r);

    *out = token == HEFT_JSON_TRUE;
    return *out || token == HEFT_JSON_FALSE || refuse_config(r, "expected true or false");
}

/* Reads the rest of {"as_int": 3}. Weights cannot have sizes that depend on an input. */
static bool read_int(struct reader *r, uint64_t *out)
{
    bool more;

    return want_token(r, HEFT_JSON_KEY, "expected as_int") &&
           (heft_str_is(r->json.text, "as_int") ||
            refuse_config(r, "a size or stride is not as_int")) &&
           read_number(r, out) && next_key(r, &more) &&
           (!more || refuse_config(r, "as_int and more"));
}

static bool read_ints(struct reader *r, uint64_t *out, size_t *n)
{
    enum heft_json_token token;

    if (!want_token(r, HEFT_JSON_ARRAY, "expected an array"))
        return false;
    *n = 0;
    while ((token = next_token(r)) == HEFT_JSON_OBJECT) {
        if (*n == MAX_RANK)
            return refuse_config(r, "more than 64 dimensions");
        if (!read_int(r, &out[(*n)++]))
            return false;
    }
    return token == HEFT_JSON_ARRAY_END || refuse_config(r, "expected an object");
}

static bool read_meta_field(struct reader *r, struct payload *p)
{
    const struct heft_str key = r->json.text;

    if (heft_str_is(key, "dtype"))
        return read_number(r, &p->dtype);
    if (heft_str_is(key, "sizes"))
        return read_ints(r, p->size, &p->n_size);
    if (heft_str_is(key, "strides"))
        return read_ints(r, p->stride, &p->n_stride);
    if (!heft_str_is(key, "storage_offset"))
        return heft_json_skip(&r->json);
    p->has_offset = true;
    return want_token(r, HEFT_JSON_OBJECT, "expected an object") && read_int(r, &p->offset);
}

/* Calls member() for each member of the open object. */
static bool each_member(struct reader *r, struct payload *p,
                        bool (*member)(struct reader *r, struct payload *p))
{
    bool more;

    do {
        if (!next_key(r, &more) || (more && !member(r, p)))
            return false;
    } while (more);
    return true;
}

static bool read_meta(struct reader *r, struct payload *p)
{
    const enum heft_json_token token = next_token(r);

    p->has_meta = token == HEFT_JSON_OBJECT;
    if (!p->has_meta)
        return token == HEFT_JSON_NULL || refuse_config(r, "tensor_meta is not an object");
    return each_member(r, p, read_meta_field);
}

static bool read_path(struct reader *r, struct payload *p)
{
    if (!want_token(r, HEFT_JSON_STRING, "expected a string"))
        return false;
    p->has_path = true;
    p->path.n = r->json.text.n;
    p->path.p = heft_arena_text(&r->z->model->mem, r->json.text, r->err);
    return p->path.p != NULL;
}

static bool read_payload_field(struct reader *r, struct payload *p)
{
    const struct heft_str key = r->json.text;

    if (heft_str_is(key, "path_name"))
        return read_path(r, p);
    if (heft_str_is(key, "use_pickle"))
        return read_truth(r, &p->is_pickle);
    return heft_str_is(key, "tensor_meta") ? read_meta(r, p) : heft_json_skip(&r->json);
}

static bool read_payload(struct reader *r, struct payload *p)
{
    *p = (struct payload){0};
    return want_token(r, HEFT_JSON_OBJECT, "expected an object") &&
           each_member(r, p, read_payload_field);
}

/* ---- rows -------------------------------------------------------------------------------- */

static bool find_record(struct reader *r, const struct payload *p, uint32_t *entry)
{
    struct heft_buf name = {0};
    bool ok;

    heft_buf_str(&name, r->folder);
    heft_buf_str(&name, p->path);
    ok = heft_buf_ok(&name, r->err);
    *entry = ok ? heft_torch_record(r->z, (struct heft_str){name.p, name.n}) : HEFT_NONE;
    heft_buf_release(&name);
    return ok &&
           (*entry != HEFT_NONE || refuse_config(r, "path_name is not a record of the archive"));
}

static bool set_dtype(struct reader *r, const struct payload *p, struct heft_row *row)
{
    for (size_t i = 0; i < HEFT_COUNT(dtypes); i++)
        if (dtypes[i].number == p->dtype) {
            row->dtype = dtypes[i].dtype;
            return true;
        }
    return heft_fail(r->err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET, "%.100s: unknown dtype %" PRIu64 "",
                     r->config->name.p, p->dtype);
}

static bool set_geometry(struct reader *r, const struct payload *p, struct heft_row *row)
{
    const size_t n = p->n_size;
    uint64_t *kept = heft_arena_alloc(&r->z->model->mem, (2 * n + 1) * sizeof *kept, r->err);

    if (!kept)
        return false;
    if (n > r->z->model->limits.rank)
        return heft_fail(r->err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "%zu dimensions, the limit is %" PRIu64, n,
                         (uint64_t)r->z->model->limits.rank);
    memcpy(kept, p->size, n * sizeof *kept);
    memcpy(kept + n, p->stride, n * sizeof *kept);
    row->rank = (uint8_t)n; /* fits: at most MAX_RANK */
    row->shape = kept;
    row->stride = kept + n;
    return heft_mul(p->offset, heft_dtype_element_bytes((enum heft_dtype)row->dtype),
                    &row->offset) ||
           refuse_config(r, "the storage offset overflows 64 bits");
}

static bool add_row(struct reader *r, struct heft_str name, const struct payload *p)
{
    struct heft_row row = {.name = name};
    uint32_t entry;

    if (p->n_size != p->n_stride || !p->has_offset || !p->has_path)
        return refuse_config(r, "expected path_name, storage_offset, and as many sizes as strides");
    if (!find_record(r, p, &entry) || !set_dtype(r, p, &row) || !set_geometry(r, p, &row) ||
        !heft_torch_store_record(r->z, entry, &row.storage, r->err))
        return false;
    if (r->z->is_big && heft_dtype_info((enum heft_dtype)row.dtype)->word > 1)
        row.flags |= HEFT_ROW_SWAP;
    return heft_model_add_row(r->z->model, &row, r->err);
}

/* Adds a tensor or object that torch.save wrote to a record of its own. */
static bool add_pickled(struct reader *r, struct heft_str name, const struct payload *p)
{
    uint32_t entry;

    if (!p->has_path)
        return refuse_config(r, "the entry has no path_name");
    if (!find_record(r, p, &entry))
        return false;
    if (r->z->marks[entry] == HEFT_TORCH_LOOSE)
        r->z->marks[entry] = HEFT_TORCH_CODE;
    return heft_model_add_unreadable(r->z->model, name, r->z->source, r->z->zip.entries[entry].data,
                                     "pickled separately, as torch.export does for custom classes",
                                     r->err);
}

static bool add_payload(struct reader *r, struct payload *p)
{
    struct heft_buf buf = {0};
    struct heft_str name;
    bool ok;

    heft_buf_text(&buf, r->prefix);
    heft_buf_str(&buf, r->json.text);
    ok = heft_buf_take(&buf, &r->z->model->mem, &name, r->err);
    heft_buf_release(&buf);
    if (!ok || !read_payload(r, p))
        return false;
    return (p->is_pickle || !p->has_meta ? add_pickled(r, name, p) : add_row(r, name, p)) ||
           heft_error_about(r->err, "tensor", name);
}

static bool read_member(struct reader *r, struct payload *p)
{
    if (!heft_str_is(r->json.text, "config"))
        return heft_json_skip(&r->json);
    return want_token(r, HEFT_JSON_OBJECT, "expected an object") && each_member(r, p, add_payload);
}

static bool read_document(struct reader *r)
{
    struct payload p = {0};

    return want_token(r, HEFT_JSON_OBJECT, "expected an object") &&
           each_member(r, &p, read_member) &&
           want_token(r, HEFT_JSON_END, "more than one document");
}

/* ---- weight and constant configurations -------------------------------------------------- */

/* Extracts M from "data/weights/" M "_weights_config.json". */
static bool model_of(struct heft_str name, struct heft_str folder, const char *end,
                     struct heft_str *out)
{
    const size_t n = strlen(end);

    if (!heft_str_starts(name, folder) || name.n < folder.n + n ||
        memcmp(name.p + name.n - n, end, n) != 0)
        return false;
    *out = (struct heft_str){name.p + folder.n, name.n - folder.n - n};
    return true;
}

static bool read_config(struct heft_torch_zip *z, uint32_t index, struct heft_str folder,
                        const char *prefix, struct heft_error *err)
{
    struct reader r = {
        .z = z, .config = &z->zip.entries[index], .folder = folder, .prefix = prefix, .err = err};
    const bool is_stored = r.config->method == HEFT_ZIP_STORED;
    const uint64_t most = z->model->limits.pickle;
    const uint64_t cap = is_stored ? most : heft_min_u64(most, DEFLATED_CONFIG);
    struct heft_bytes text;
    bool ok = heft_zip_fetch(&z->model->sources[z->source].source, r.config, cap,
                             r.config->crc != 0, &r.mem, &text, err);

    if (ok && heft_utf8_check(text) < text.n)
        ok =
            heft_fail(err, HEFT_MALFORMED, r.config->data, "%.100s is not UTF-8", r.config->name.p);
    if (ok) {
        z->marks[index] = HEFT_TORCH_PARSED;
        heft_json_begin(&r.json, text, is_stored ? r.config->data : 0, &r.mem, err);
        ok = read_document(&r);
    }
    heft_arena_release(&r.mem);
    return ok;
}

/* Reads all configs with names of that form; with several models, rows start with the model's
 * name. */
static bool read_configs(struct heft_torch_zip *z, struct heft_str folder, const char *end,
                         const char *kind, bool several, struct heft_error *err)
{
    struct heft_str model;

    for (uint32_t i = 0; i < z->zip.count; i++) { /* fits: at most limits.entries */
        const char *prefix = kind;

        if (z->marks[i] != HEFT_TORCH_LOOSE ||
            !model_of(heft_torch_inner_name(z, &z->zip.entries[i]), folder, end, &model))
            continue;
        if (several)
            prefix = heft_arena_printf(&z->scratch, err, "%.*s.%s",
                                       (int)heft_min_u64(model.n, 1000), model.p, kind);
        if (!prefix || !read_config(z, i, folder, prefix, err))
            return false;
    }
    return true;
}

static size_t count_configs(const struct heft_torch_zip *z)
{
    struct heft_str model;
    size_t n = 0;

    for (size_t i = 0; i < z->zip.count; i++)
        n += model_of(heft_torch_inner_name(z, &z->zip.entries[i]), WEIGHTS, weights_end, &model);
    return n;
}

/* ---- other records ----------------------------------------------------------------------- */

/* Notes a missing record that torch.export.load needs. Weights are complete without it, so only
 * verify reports it. */
static bool need_record(struct heft_torch_zip *z, const char *name, struct heft_error *err)
{
    return heft_torch_record(z, heft_str_of(name)) != HEFT_NONE ||
           heft_model_note(z->model, HEFT_FINDING, z->source, z->zip.directory, err,
                           "record %s is missing: torch.export.load needs it", name);
}

static bool need_programs(struct heft_torch_zip *z, struct heft_error *err)
{
    struct heft_str model;

    for (size_t i = 0; i < z->zip.count; i++) {
        const char *name;

        if (!model_of(heft_torch_inner_name(z, &z->zip.entries[i]), WEIGHTS, weights_end, &model))
            continue;
        name = heft_arena_printf(&z->scratch, err, "models/%.*s.json",
                                 (int)heft_min_u64(model.n, INT16_MAX), model.p);
        if (!name || !need_record(z, name, err))
            return false;
    }
    return need_record(z, "archive_version", err);
}

static void mark_program(struct heft_torch_zip *z)
{
    z->code = "torch.export record ";
    for (size_t i = 0; i < z->zip.count; i++) {
        const struct heft_str name = heft_torch_inner_name(z, &z->zip.entries[i]);

        if (z->marks[i] == HEFT_TORCH_LOOSE && !z->zip.entries[i].is_folder &&
            !heft_str_starts(name, WEIGHTS) && !heft_str_starts(name, CONSTANTS))
            z->marks[i] = HEFT_TORCH_CODE;
    }
}

/* ---- open -------------------------------------------------------------------------------- */

static int probe_export(const struct heft_probe *sample)
{
    if (sample->head.n < 4 || memcmp(sample->head.p, "PK\3\4", 4) != 0)
        return 0;
    return heft_zip_lists(sample->tail, "/archive_format") ? 96 : 0;
}

static bool read_export(struct heft_torch_zip *z, struct heft_error *err)
{
    const size_t models = count_configs(z);

    if (models == 0)
        return heft_fail(err, HEFT_UNSUPPORTED, 0,
                         "the torch.export archive has no record data/weights/…%s", weights_end);
    if (!heft_torch_read_records(z, err) ||
        !read_configs(z, WEIGHTS, weights_end, "", models > 1, err) ||
        !read_configs(z, CONSTANTS, constants_end, "constants.", models > 1, err) ||
        !need_programs(z, err))
        return false;
    z->model->format = "torch-export";
    z->model->version = z->is_big ? "zip, pt2, big-endian" : "zip, pt2";
    mark_program(z);
    return true;
}

static bool open_export(struct heft_model *model, uint32_t source, struct heft_error *err)
{
    struct heft_torch_zip z;
    const bool ok = heft_torch_open_root(&z, model, source, err) && read_export(&z, err) &&
                    heft_torch_claim_zip(&z, err);

    heft_torch_release_zip(&z);
    return ok;
}

static const struct heft_file_name names[] = {
    {".pt2", .rank = HEFT_FILE_WEIGHTS, .order = 12},
    {0},
};

const struct heft_format heft_format_torch_export = {
    .name = "torch-export",
    .summary = "torch.export archives (.pt2): weights and constants",
    .names = names,
    .probe = probe_export,
    .open = open_export,
    .verify = heft_torch_verify,
};
