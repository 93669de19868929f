/* ptd.c: ExecuTorch's .ptd (FlatTensor): the weights of a program, by name.
 *
 *     0    u32 position of the root table, from byte 0 of the file
 *     4    "FT01"                          file identifier of the FlatBuffer
 *     8    "FH01"  u32 header length (40)  inserted after the FlatBuffer's first 8 bytes
 *     16   u64 length of the inserted bytes: the header, padded
 *     24   u64 bytes of the FlatBuffer, without them
 *     32   u64 base of the segments        40  u64 bytes from there to the end of the last one
 *     …    the rest of the FlatBuffer, zeros
 *     base segments, zeros between them    one for each tensor or blob; may be shared
 *
 * Two generations have the same identifiers (ptd_tables.c); they are told apart by the fields of
 * the root table. */
#include "base/endian.h"
#include "format/executorch/ptd_parts.h"

/* ---- header ---------------------------------------------------------------------------------- */

static bool is_digits(const uint8_t *p, const char *mark)
{
    return p[0] == mark[0] && p[1] == mark[1] && p[2] >= '0' && p[2] <= '9' && p[3] >= '0' &&
           p[3] <= '9';
}

static bool check_marks(const uint8_t *head, struct heft_error *err)
{
    if (memcmp(head, "FH01", 4) == 0)
        return heft_fail(err, HEFT_UNSUPPORTED, 0,
                         "this .ptd begins with its header, a form of January 2025 that no release "
                         "writes; export it again");
    if (!is_digits(head + 4, "FT"))
        return heft_fail(err, HEFT_MALFORMED, 4, "not a .ptd: the file identifier FT01 is missing");
    if (memcmp(head + 4, "FT01", 4) != 0)
        return heft_fail(err, HEFT_UNSUPPORTED, 4, "file identifier is %.4s, supported is FT01",
                         head + 4);
    if (!is_digits(head + 8, "FH"))
        return heft_fail(err, HEFT_MALFORMED, 8,
                         "the header of a .ptd must begin with FH01, which is missing");
    return memcmp(head + 8, "FH01", 4) == 0 ||
           heft_fail(err, HEFT_UNSUPPORTED, 8, "header begins with %.4s, supported is FH01",
                     head + 8);
}

/* Checks the offsets and lengths in the header. */
static bool check_places(const struct heft_ptd *p, struct heft_error *err)
{
    uint64_t end;

    if (p->header < HEFT_PTD_HEADER)
        return heft_fail(err, HEFT_MALFORMED, 12,
                         "header has %" PRIu64 " bytes, must have at least %u", p->header,
                         HEFT_PTD_HEADER);
    if (p->splice < HEFT_PTD_HEADER || p->splice > p->size - 8)
        return heft_fail(err, HEFT_MALFORMED, 16,
                         "flatbuffer_offset is %" PRIu64 ", must be from %u to %" PRIu64, p->splice,
                         HEFT_PTD_HEADER, p->size - 8);
    if (p->tables < 8 || p->tables > p->size - p->splice)
        return heft_fail(err, HEFT_MALFORMED, 24,
                         "flatbuffer_size is %" PRIu64 ", must be from 8 to %" PRIu64
                         " in a file of %" PRIu64 " bytes",
                         p->tables, p->size - p->splice, p->size);
    end = p->splice + p->tables;
    if (end > HEFT_FLAT_MAX)
        return heft_fail(err, HEFT_MALFORMED, 24,
                         "the tables have 2 GiB or more, a FlatBuffer must have less");
    if (p->base < end || p->base > p->size)
        return heft_fail(err, HEFT_MALFORMED, 32,
                         "segment_base_offset is 0x%" PRIx64 ", must be from 0x%" PRIx64
                         ", the end of the tables, to 0x%" PRIx64 ", the end of the file",
                         p->base, end, p->size);
    return true;
}

/* The C++ writer of 0.7 counted padding that it did not write: only the segments must fit into the
 * file. */
static void find_room(struct heft_model *model, uint32_t source, struct heft_ptd *p)
{
    const uint64_t left = p->size - p->base;

    p->room = heft_min_u64(p->data, left);
    if (p->data <= left || !model->salvage)
        return;
    p->room = p->data;
    heft_model_expect(model, source,
                      p->data > UINT64_MAX - p->base ? UINT64_MAX : p->base + p->data, false);
}

static bool read_header(struct heft_model *model, uint32_t source, struct heft_ptd *p,
                        struct heft_error *err)
{
    const struct heft_source *const file = &model->sources[source].source;
    uint8_t head[HEFT_PTD_HEAD] = {0};
    struct heft_bytes bytes;

    p->size = file->size;
    if (!heft_source_read(file, 0, head, (size_t)heft_min_u64(file->size, sizeof head), err) ||
        !check_marks(head, err))
        return false;
    if (p->size < HEFT_PTD_HEAD)
        return heft_fail(err, HEFT_MALFORMED, p->size,
                         "the file is truncated: a .ptd has at least %u bytes", HEFT_PTD_HEAD);
    p->header = heft_le32(head + 12);
    p->splice = heft_le64(head + 16);
    p->tables = heft_le64(head + 24);
    p->base = heft_le64(head + 32);
    p->data = heft_le64(head + 40);
    if (!check_places(p, err) ||
        !heft_source_fetch(file, 0, p->splice + p->tables, &model->mem, &bytes, err))
        return false;
    find_room(model, source, p);
    heft_flat_init(&p->flat, bytes, 8 + p->splice, p->splice);
    return true;
}

/* ---- open ------------------------------------------------------------------------------------ */

/* The old generation has `segments` as field 3; the new one has no field 3. */
static bool read_as(struct heft_model *model, uint32_t source, struct heft_ptd *p, bool old,
                    struct heft_error *err)
{
    p->is_old = old;
    p->flat.budget = p->flat.end / 4;
    return heft_ptd_add_all(model, source, p, err);
}

static bool read_tables(struct heft_model *model, uint32_t source, struct heft_ptd *p,
                        struct heft_error *err)
{
    const struct heft_model_counts before = model->counts;
    struct heft_error old = {0};
    uint32_t version;

    if (!heft_flat_root(&p->flat, "FlatTensor", &p->root, err) ||
        !heft_flat_u32(&p->flat, &p->root, 0, &version, err))
        return false;
    if (version != 0)
        return heft_fail(err, HEFT_UNSUPPORTED, p->root.at,
                         "FlatTensor version is %" PRIu32 ", supported is 0", version);
    if (!heft_flat_has(&p->flat, &p->root, 3))
        return read_as(model, source, p, false, err);
    if (read_as(model, source, p, true, &old))
        return true;
    model->counts = before;
    if (old.code == HEFT_MALFORMED && read_as(model, source, p, false, err))
        return true;
    *err = old; /* every file with a field 3 so far is of the old generation */
    return false;
}

static bool note_header(struct heft_model *model, uint32_t source, const struct heft_ptd *p,
                        struct heft_error *err)
{
    const uint64_t left = p->size - p->base;

    if (p->header > p->splice &&
        !heft_model_note(model, HEFT_FINDING, source, 12, err,
                         "header has %" PRIu64 " bytes, there is room for %" PRIu64, p->header,
                         p->splice))
        return false;
    if (p->header > HEFT_PTD_HEADER && p->header <= p->splice &&
        !heft_model_note(model, HEFT_NOTE, source, 12, err,
                         "header has %" PRIu64 " bytes, only the first %u are known", p->header,
                         HEFT_PTD_HEADER))
        return false;
    if (p->data > left && p->data - left >= HEFT_PTD_MAX_ALIGNMENT && !model->salvage)
        return heft_fail(err, HEFT_MALFORMED, 40,
                         "segment_data_size is %" PRIu64 ", the file has %" PRIu64
                         " bytes of segments; less than %u bytes of padding may be missing",
                         p->data, left, HEFT_PTD_MAX_ALIGNMENT);
    if (p->data > left)
        return heft_model_note(model, HEFT_NOTE, source, 40, err,
                               "segment_data_size is %" PRIu64 ", the file has %" PRIu64
                               ": ExecuTorch 0.7 counted padding that it did not write, and later "
                               "runtimes refuse such a file",
                               p->data, left);
    return p->data == left ||
           heft_model_leave(model, source, p->base + p->data, err,
                            "%" PRIu64
                            " bytes follow the segments: ExecuTorch 1.0 refuses such a file",
                            left - p->data);
}

/* Claims the identifiers, and the header inserted after them. */
static bool claim_header(struct heft_model *model, uint32_t source, const struct heft_ptd *p,
                         struct heft_error *err)
{
    const uint64_t pad = 8 + HEFT_PTD_HEADER, end = 8 + p->splice;

    return heft_model_claim(model, source, 0, 4, "position of the root table", err) &&
           heft_model_claim(model, source, 4, 4, "file identifier", err) &&
           heft_model_claim(model, source, 8, HEFT_PTD_HEADER, "header", err) &&
           heft_model_claim(model, source, pad, end - pad, "header padding", err);
}

static bool open_file(struct heft_model *model, uint32_t source, struct heft_error *err)
{
    struct heft_ptd *p = heft_arena_zero(&model->mem, 1, sizeof *p, err);

    if (!p || !read_header(model, source, p, err) || !read_tables(model, source, p, err) ||
        !note_header(model, source, p, err) || !claim_header(model, source, p, err))
        return false;
    model->sources[source].kept = p;
    if (!model->format) {
        model->format = "ptd";
        model->version =
            p->is_old ? "FlatTensor, ExecuTorch 0.6" : "FlatTensor, ExecuTorch 0.7 and later";
    }
    return true;
}

/* Also recognises future versions, and a version that never existed, to report them. */
static int probe(const struct heft_probe *probe)
{
    const uint8_t *p = probe->head.p;

    if (probe->head.n >= 4 && memcmp(p, "FH01", 4) == 0)
        return 40;
    if (probe->head.n < 8 || !is_digits(p + 4, "FT"))
        return 0;
    return probe->head.n >= 12 && is_digits(p + 8, "FH") ? 100 : 60;
}

/* True for all dtypes that have a number. */
static bool has_type_number(enum heft_dtype dtype)
{
    return heft_ptd_type(dtype) < HEFT_PTD_TYPES;
}

static const char *const extensions[] = {"ptd", NULL};

static const char *const synonyms[] = {"executorch", NULL};

static const struct heft_file_name names[] = {
    {".ptd", .rank = HEFT_FILE_WEIGHTS, .order = 10},
    {0},
};

extern const struct heft_format heft_format_ptd;
const struct heft_format heft_format_ptd = {
    .name = "ptd",
    .summary = "ExecuTorch FlatTensor: weights of a program for phones",
    .synonyms = synonyms,
    .names = names,
    .probe = probe,
    .open = open_file,
    .verify = heft_ptd_verify,
    .annotate = heft_ptd_annotate,
    .plan = heft_ptd_plan,
    .extensions = extensions,
    .keeps_blobs = true,
    .supports_dtype = has_type_number,
    .options = heft_ptd_options,
    .drop_option = HEFT_PTD_DROP_VALUES,
    .keeps_strides = true,
};
