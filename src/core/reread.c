/* reread.c: verification after a conversion. Opens the written files like any input and compares
 * each tensor with its source: name, dtype, shape, elements. It does not use the plan, so it
 * also finds mistakes of a format's writer. */
#include "core/cast.h"
#include "core/convert.h"
#include "core/derive.h"
#include "core/reader.h"

enum { PIECE = 1 << 17 }; /* elements compared at once; a multiple of the block of any dtype */

struct rereading {
    const struct heft_conversion *c;
    struct heft_model written;
    struct heft_reader before, after;
    uint8_t *read, *cast,
        /* buffers for a piece of the source, of the cast source, and of the written tensor */
        *found;
    struct heft_error *err;
};

/* ---- opening the written files ----------------------------------------------------------- */

/* Inputs to open: the output directory if it is a model with subdirectories, the indexes if there are
 * any, else all files. */
static const char *const *list_inputs(struct rereading *r, struct heft_arena *mem, size_t *n)
{
    const struct heft_plan *plan = &r->c->plan;
    const char **paths = heft_arena_zero(mem, plan->n_files + 1, sizeof *paths, r->err);
    bool has_index = false;

    *n = 0;
    if (!paths)
        return NULL;
    if (plan->whole && plan->n_folders > 0) {
        paths[(*n)++] = plan->whole;
        return paths;
    }
    for (size_t i = 0; i < plan->n_files; i++)
        has_index = has_index || plan->files[i].is_index;
    for (size_t i = 0; i < plan->n_files; i++)
        if (plan->files[i].is_index == has_index && !plan->files[i].is_other)
            paths[(*n)++] = plan->files[i].path;
    return paths;
}

static bool open_written(struct rereading *r)
{
    struct heft_arena mem = {0};
    const char *const *paths;
    size_t n;
    bool ok;

    heft_model_init(&r->written, &r->c->model->limits, r->c->model->formats);
    paths = list_inputs(r, &mem, &n);
    ok = paths && heft_registry_open(&r->written, paths, n, NULL, r->err) &&
         heft_model_validate(&r->written, r->err) &&
         heft_reader_init(&r->before, r->c->model, true, r->err) &&
         heft_reader_init(&r->after, &r->written, true, r->err);
    heft_arena_release(&mem);
    return ok;
}

/* ---- comparing with the source ----------------------------------------------------------- */

static bool report_difference(const struct heft_export_item *item, struct heft_error *err,
                              const char *what)
{
    heft_fail(err, HEFT_MISMATCH, HEFT_NO_OFFSET, "the output has %s", what);
    return heft_error_about(err, "tensor", item->name);
}

static bool has_shape(const struct heft_row *a, const struct heft_row *b)
{
    for (unsigned d = 0; d < a->rank && a->rank == b->rank; d++)
        if (a->shape[d] != b->shape[d])
            return false;
    return a->rank == b->rank;
}

static bool compare_piece(struct rereading *r, const struct heft_export_item *item,
                          const struct heft_row *row, uint64_t first, size_t n)
{
    const enum heft_dtype from = (enum heft_dtype)item->row->dtype;
    const enum heft_dtype as = (enum heft_dtype)row->dtype;
    const size_t size = (size_t)heft_dtype_span(from, n);
    const size_t new_size = (size_t)heft_dtype_span(as, n);
    const uint8_t *want = r->read;
    uint64_t ignored = 0;

    if (!heft_reader_row(&r->before, heft_derived_as(item->row, as), heft_dtype_span(from, first),
                         r->read, size, r->err) ||
        !heft_reader_row(&r->after, row, heft_dtype_span(as, first), r->found, new_size, r->err))
        return heft_error_about(r->err, "tensor", item->name);
    if (from != as) {
        heft_cast_elements(from, as, r->read, r->cast, n, &ignored);
        want = r->cast;
    }
    return memcmp(want, r->found, new_size) == 0 ||
           report_difference(item, r->err, "other elements");
}

/* Compares all elements. Varying-length elements are skipped: each format encodes them
 * differently. */
static bool compare_elements(struct rereading *r, const struct heft_export_item *item,
                             const struct heft_row *row)
{
    const enum heft_dtype dtype = (enum heft_dtype)item->row->dtype;
    const uint64_t n = heft_dtype_varies(dtype) ? 0 : heft_dtype_elements(dtype, item->row->bytes);
    bool ok = true;

    for (uint64_t first = 0; ok && first < n; first += PIECE)
        ok = compare_piece(r, item, row, first, (size_t)heft_min_u64(PIECE, n - first));
    return ok;
}

/* Row of that name; the first row if the format stores a single tensor without its name. */
static uint32_t find_row(const struct rereading *r, struct heft_str name)
{
    if (r->c->format->one_tensor && r->written.n_rows > 0)
        return 0;
    return heft_model_row(&r->written, name);
}

/* Whether the dtype is the planned one. NumPy arrays in a preserved pickle keep the dtype of the
 * source instead; a note of the conversion says so. */
static bool has_dtype(const struct rereading *r, const struct heft_export_item *item,
                      const struct heft_row *row)
{
    return row->dtype == item->as || (r->c->exports.keeps_tree && row->dtype == item->row->dtype);
}

/* Compares a tensor that is written as a blob. */
static bool compare_blob(struct rereading *r, const struct heft_export_item *item)
{
    const uint32_t at = heft_model_blob(&r->written, item->name);
    struct heft_row row = *item->row;

    if (at == HEFT_NONE)
        return report_difference(item, r->err, "no blob of this name");
    row.storage = r->written.blobs[at].storage;
    if (r->written.storages[row.storage].len != item->bytes)
        return report_difference(item, r->err, "a blob of another size");
    row.dtype = item->as;
    row.bytes = item->bytes;
    row.stride = NULL;
    row.parts = NULL;
    row.offset = row.flags = 0;
    return compare_elements(r, item, &row);
}

static bool compare_item(struct rereading *r, const struct heft_export_item *item)
{
    const uint32_t at = item->is_blob ? HEFT_NONE : find_row(r, item->name);
    const struct heft_row *row;

    if (item->is_blob)
        return compare_blob(r, item);
    if (at == HEFT_NONE)
        return report_difference(item, r->err, "no tensor of this name");
    row = &r->written.rows[at];
    if (!has_dtype(r, item, row))
        return report_difference(item, r->err, "another dtype");
    if (!has_shape(item->row, row))
        return report_difference(item, r->err, "another shape");
    return compare_elements(r, item, row);
}

/* Checks that each recorded tied name leads to the tensor that was kept. */
static bool compare_ties(struct rereading *r)
{
    const struct heft_export_list *exports = &r->c->exports;

    for (size_t i = 0; i < exports->n_tied; i++) {
        const struct heft_tied *tied = &exports->tied[i];
        const uint32_t kept = heft_model_row(&r->written, tied->kept);

        if (!tied->is_recorded ||
            (kept != HEFT_NONE && heft_model_find(&r->written, tied->dropped) == kept))
            continue;
        heft_fail(r->err, HEFT_MISMATCH, HEFT_NO_OFFSET,
                  "the output does not record it as another name of %s", tied->kept.p);
        return heft_error_about(r->err, "tensor", tied->dropped);
    }
    return true;
}

/* Checks that no tensor was added. Formats that preserve a pickle or write a set of files may
 * add some, such as the counter and the object graph of a bundle. */
static bool compare_count(struct rereading *r)
{
    const struct heft_export_list *exports = &r->c->exports;

    return exports->keeps_tree || r->c->format->plan_set || r->c->plan.adds_tensors ||
           r->written.n_rows == exports->n_items ||
           heft_fail(r->err, HEFT_MISMATCH, HEFT_NO_OFFSET,
                     "the output has %zu tensors, expected %zu", r->written.n_rows,
                     exports->n_items);
}

static bool compare_all(struct rereading *r)
{
    const struct heft_export_list *exports = &r->c->exports;
    bool ok = true;

    for (size_t i = 0; ok && i < exports->n_items; i++)
        ok = compare_item(r, &exports->items[i]);
    return ok && compare_ties(r) && compare_count(r);
}

bool heft_conversion_reread(const struct heft_conversion *c, struct heft_error *err)
{
    enum { WIDEST = 16 };
    struct rereading r = {.c = c, .err = err};
    uint8_t *room = heft_alloc((size_t)3 * WIDEST * PIECE, err);
    bool ok;

    if (!room)
        return false;
    r.read = room;
    r.cast = room + (size_t)WIDEST * PIECE;
    r.found = r.cast + (size_t)WIDEST * PIECE;
    ok = open_written(&r) && compare_all(&r);
    heft_reader_release(&r.before);
    heft_reader_release(&r.after);
    heft_model_release(&r.written);
    heft_free(room);
    return ok;
}
