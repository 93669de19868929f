/* gguf.c: reads GGUF, the files of llama.cpp (doc/format/gguf.md).
 *
 *     0    "GGUF"
 *     4    u32 version: 1, 2 or 3
 *     8    u64 number of tensors             (version 1: u32)
 *     16   u64 number of key-value pairs     (version 1: u32, at 12)
 *     24   key-value pairs                   key, type, value
 *     …    tensor infos                      name, dimensions, type, offset
 *     …    zeros to a multiple of general.alignment, which counts from byte 0
 *     …    data: each tensor at its offset, zeros to the next multiple after it
 *
 * Everything is little-endian, or everything is big-endian: then the number of the version is. Only the
 * ranges of values are kept; gguf_values.c says which of them become trees. */
#include "format/gguf/gguf_read.h"
#include "format/gguf/gguf_write.h"

#include "base/text.h"

enum { NEWEST = 3, HEAD = 24, HEAD_1 = 16 };

static const uint8_t magic[4] = {'G', 'G', 'U', 'F'};

/* ---- header ----------------------------------------------------------------------------------- */

static bool check_version(uint32_t version, struct heft_error *err)
{
    if (version == 0)
        return heft_fail(err, HEFT_MALFORMED, 4, "version is 0, must be 1 or more");
    return version <= NEWEST ||
           heft_fail(err, HEFT_UNSUPPORTED, 4, "version is %" PRIu32 ", supported are 1 to %d",
                     version, NEWEST);
}

/* A version is a small number: the order in which its lower half is not zero. */
static bool read_version(struct heft_gguf_reader *r, struct heft_error *err)
{
    const uint8_t *const p = heft_gguf_take(&r->cursor, 8, "header", err);

    if (!p)
        return false;
    if (memcmp(p, magic, sizeof magic) != 0)
        return heft_fail(err, HEFT_MALFORMED, 0, "not a GGUF: it must begin with GGUF");
    r->cursor.is_big_endian = p[4] == 0 && p[5] == 0 && (p[6] || p[7]);
    r->cursor.version = (uint32_t)heft_gguf_bits(p + 4, 4, r->cursor.is_big_endian);
    r->file->version = r->cursor.version;
    r->file->is_big_endian = r->cursor.is_big_endian;
    return check_version(r->cursor.version, err);
}

static bool read_header(struct heft_gguf_reader *r, struct heft_error *err)
{
    const uint64_t size = r->cursor.source->size;

    if (!read_version(r, err) ||
        !heft_gguf_take_size(&r->cursor, &r->file->n_tensors, "header", err) ||
        !heft_gguf_take_size(&r->cursor, &r->n_pairs, "header", err))
        return false;
    return heft_model_claim(r->model, r->file->source, 0,
                            heft_min_u64(size, r->file->version > 1 ? HEAD : HEAD_1), "header",
                            err);
}

/* ---- open ------------------------------------------------------------------------------------- */

static bool keep(const struct heft_gguf_reader *r, struct heft_error *err)
{
    struct heft_model *const model = r->model;
    const char *const path = model->sources[r->file->source].path;

    model->sources[r->file->source].kept = r->file;
    if (!model->format)
        model->format = "gguf";
    if (r->values->n > 0)
        model->values = &r->values->value;
    return heft_model_attach(model,
                             (struct heft_attachment){.kind = &heft_gguf_kind,
                                                      .name = heft_str_of(path),
                                                      .data = r->file},
                             err);
}

bool heft_gguf_open(struct heft_model *model, uint32_t source, struct heft_error *err)
{
    struct heft_gguf_reader r = {.model = model,
                                 .file = heft_arena_zero(&model->mem, 1, sizeof *r.file, err)};
    bool ok;

    r.window = r.file ? heft_alloc(HEFT_GGUF_WINDOW, err) : NULL;
    if (!r.window)
        return false;
    r.file->source = source;
    heft_gguf_cursor_init(&r.cursor, &model->sources[source].source, r.window, 0, 0, false);
    ok = read_header(&r, err) && heft_gguf_read_pairs(&r, err) && heft_gguf_read_infos(&r, err) &&
         keep(&r, err);
    heft_strmap_release(&r.keys);
    heft_free(r.window);
    return ok;
}

static int probe(const struct heft_probe *probe)
{
    return probe->head.n >= sizeof magic && memcmp(probe->head.p, magic, sizeof magic) == 0 ? 100
                                                                                            : 0;
}

static const char *const extensions[] = {"gguf", NULL};
static const char *const synonyms[] = {"ggml", "llama.cpp", NULL};

static const struct heft_file_name names[] = {{".gguf", .rank = HEFT_FILE_WEIGHTS}, {0}};

extern const struct heft_format heft_format_gguf;
const struct heft_format heft_format_gguf = {
    .name = "gguf",
    .summary = "GGUF: models of llama.cpp, most of them quantized",
    .synonyms = synonyms,
    .names = names,
    .probe = probe,
    .open = heft_gguf_open,
    .join = heft_gguf_join,
    .verify = heft_gguf_verify,
    .annotate = heft_gguf_annotate,
    .plan_set = heft_gguf_plan_set,
    .extensions = extensions,
    .options = heft_gguf_options,
    .keeps_values = true,
    .supports_dtype = heft_gguf_supports_dtype,
};
