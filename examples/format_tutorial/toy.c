/* toy.c: the format of the tutorial: a header followed by tensors, read and written.
 *
 *     54 4f 59 0a                        magic: "TOY\n"
 *     u32 n                              length of the header in bytes; numbers are little-endian
 *     header, for each tensor:
 *         u8 length, name                UTF-8
 *         u8 dtype                       0: F32, 1: I64, 2: U8
 *         u8 rank, u64 extent …          row-major
 *     data of the tensors, contiguous, in the order of the header
 *
 * Bytes after the last tensor are an error. There is no padding. */
#include "core/plan.h"
#include "core/registry.h"

#include "base/cursor.h"

#define PREFIX      8
#define MOST_HEADER (UINT32_C(16) << 20)

static const enum heft_dtype dtypes[] = {HEFT_F32, HEFT_I64, HEFT_U8};

/* ---- reading ----------------------------------------------------------------------------- */

/* Detects the format from the content, never from the file name. */
static int probe(const struct heft_probe *sample)
{
    return sample->head.n >= PREFIX && memcmp(sample->head.p, "TOY\n", 4) == 0 ? 100 : 0;
}

struct reader {
    struct heft_model *model;
    struct heft_error *err;
    uint64_t at; /* offset of the next tensor in the file */
    uint32_t source;
};

/* Memory of a row must live as long as the model; names end with a NUL. */
static bool read_shape(struct reader *r, struct heft_cur *cur, struct heft_row *row)
{
    uint64_t *shape;

    row->rank = heft_cur_u8(cur);
    shape = heft_arena_u64(&r->model->mem, row->rank, r->err);
    for (unsigned i = 0; shape && i < row->rank; i++)
        shape[i] = heft_cur_u64(cur);
    row->shape = shape;
    return shape != NULL;
}

/* Ranges are not checked against the file here: heft_model_validate does that for all formats. */
static bool read_tensor(struct reader *r, struct heft_cur *cur)
{
    const uint64_t where = heft_cur_where(cur);
    const uint8_t length = heft_cur_u8(cur);
    const struct heft_bytes name = heft_cur_take(cur, length);
    const uint8_t number = heft_cur_u8(cur);
    struct heft_storage storage = {.off = r->at, .source = r->source};
    struct heft_row row = {0};

    if (!read_shape(r, cur, &row))
        return false;
    if (cur->bad)
        return heft_fail(r->err, HEFT_MALFORMED, where,
                         "the header ends within the entry of a tensor");
    if (number >= HEFT_COUNT(dtypes))
        return heft_fail(r->err, HEFT_UNSUPPORTED, where, "dtype is %u, expected 0 to %zu", number,
                         HEFT_COUNT(dtypes) - 1);
    row.dtype = (uint8_t)dtypes[number];
    row.name = (struct heft_str){(const char *)name.p, name.n};
    row.name.p = heft_arena_text(&r->model->mem, row.name, r->err);
    if (!row.name.p)
        return false;
    if (!heft_row_size(dtypes[number], row.rank, row.shape, &storage.len) ||
        !heft_add(r->at, storage.len, &r->at))
        return heft_fail(r->err, HEFT_MALFORMED, where, "the tensor has more than 2^64 bytes");
    storage.packed = storage.len;
    return heft_model_add_storage(r->model, &storage, &row.storage, r->err) &&
           heft_model_add_row(r->model, &row, r->err);
}

static bool read_header(struct reader *r, struct heft_bytes header)
{
    struct heft_cur cur = heft_cur_of(header, PREFIX);

    r->at = PREFIX + header.n;
    while (heft_cur_left(&cur) > 0)
        if (!read_tensor(r, &cur))
            return false;
    return true;
}

/* A number from the file is checked against a limit and the size of the file before it reaches an
 * allocator. Every known range is claimed; storages are claimed automatically. */
static bool open_toy(struct heft_model *model, uint32_t source, struct heft_error *err)
{
    const struct heft_source src = model->sources[source].source;
    struct reader r = {.model = model, .err = err, .source = source};
    struct heft_arena scratch = {0};
    struct heft_bytes header;
    uint8_t prefix[PREFIX];
    uint32_t n;
    bool ok;

    if (src.size < PREFIX || !heft_source_read(&src, 0, prefix, sizeof prefix, err))
        return src.size >= PREFIX || heft_fail(err, HEFT_MALFORMED, 0, "the file has no header");
    n = heft_le32(prefix + 4);
    if (n > MOST_HEADER)
        return heft_fail(err, HEFT_LIMIT, 4,
                         "the header has %" PRIu32 " bytes, the limit is %" PRIu32, n, MOST_HEADER);
    if (n > src.size - PREFIX)
        return heft_fail(err, HEFT_MALFORMED, 4,
                         "the header has %" PRIu32 " bytes, the file has %" PRIu64, n, src.size);
    ok = heft_source_fetch(&src, PREFIX, n, &scratch, &header, err) && read_header(&r, header) &&
         heft_model_claim(model, source, 0, PREFIX + (uint64_t)n, "header", err);
    heft_arena_release(&scratch);
    if (ok && r.at < src.size)
        return heft_fail(err, HEFT_MALFORMED, r.at,
                         "%" PRIu64 " bytes follow the last tensor, expected none",
                         src.size - r.at);
    model->format = "toy";
    return ok;
}

/* ---- writing ----------------------------------------------------------------------------- */

static bool put_tensor(struct heft_buf *buf, const struct heft_export_item *item,
                       struct heft_error *err)
{
    uint8_t number = 0, word[8];

    if (item->name.n > UINT8_MAX)
        return heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                         "the name has more than 255 bytes, the limit of the format");
    while (dtypes[number] != item->as) /* supported: checked by supports_dtype() */
        number++;
    heft_buf_char(buf, (char)item->name.n);
    heft_buf_str(buf, item->name);
    heft_buf_char(buf, (char)number);
    heft_buf_char(buf, (char)item->row->rank);
    for (unsigned i = 0; i < item->row->rank; i++) {
        heft_put_le64(word, item->row->shape[i]);
        heft_buf_put(buf, word, sizeof word);
    }
    return true;
}

/* Plans the file without writing it: a generated header, then the data of each tensor.
 * heft_plan_check proves for all formats that the plan covers the file. */
static bool plan_toy(struct heft_plan *plan, uint32_t file, const struct heft_export_list *exports,
                     struct heft_error *err)
{
    struct heft_buf buf = {0};
    struct heft_str header;
    bool ok = true;

    heft_buf_put(&buf, "TOY\n\0\0\0\0", PREFIX);
    for (size_t i = 0; ok && i < exports->n_items; i++)
        ok = put_tensor(&buf, &exports->items[i], err) ||
             heft_error_about(err, "tensor", exports->items[i].name);
    ok = ok && heft_buf_ok(&buf, err) &&
         (buf.n - PREFIX <= MOST_HEADER ||
          heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET, "the header has more than 16 MiB"));
    if (ok)
        heft_put_le32((uint8_t *)buf.p + 4, (uint32_t)(buf.n - PREFIX));
    ok = ok && heft_buf_take(&buf, plan->mem, &header, err) &&
         heft_plan_put(plan, file, header, err);
    heft_buf_release(&buf);
    for (size_t i = 0; ok && i < exports->n_items; i++)
        ok = heft_plan_item(plan, file, &exports->items[i], err);
    return ok && heft_plan_leave_metadata(plan, exports, "toy files", err);
}

static bool holds(enum heft_dtype dtype)
{
    return dtype == HEFT_F32 || dtype == HEFT_I64 || dtype == HEFT_U8;
}

static const char *const extensions[] = {"toy", NULL};

extern const struct heft_format heft_format_toy;
const struct heft_format heft_format_toy = {
    .name = "toy",
    .summary = "the format of the tutorial",
    .probe = probe,
    .open = open_toy,
    .plan = plan_toy,
    .extensions = extensions,
    .supports_dtype = holds,
};
