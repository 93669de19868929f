/* diff_tensors.c: compares the tensors of two checkpoints.
 *
 *     diff_names.c   names of both sides, matched
 *     plan           how each pair is compared; by dtypes and shapes alone where data cannot matter
 *     block_walk.c   pairs in blocks, on several threads: reads both sides; equal bytes are the end of
 *                    it, else diff_elements.c reduces the block to figures
 *     take           adds the figures of a pair's blocks in order, and reports the pair
 *
 * A block has 128 KiB of either side: both sides stay in the second-level cache. Where a side is
 * strided or in parts, a block has 8 MiB, because each gather may read a whole storage; then fewer
 * threads run. */
#include "base/sized.h"
#include "measure/diff_tensors.h"

#include "io/pool.h"
#include "measure/block_walk.h"
#include "measure/diff_elements.h"
#include "measure/diff_names.h"
#include "measure/diff_strings.h"

enum {
    BLOCK = 128 << 10,       /* bytes of a side */
    GATHER_BLOCK = 8 << 20,  /* the same if a side is gathered */
    GATHER_THREADS = 3,      /* at most, to stay below 64 MiB */
    ELEMENTS = 1024,         /* a block has a multiple: whole blocks of any dtype */
    PAIRS_FOR_A_THREAD = 256 /* small pairs that are worth another thread */
};

/* How a pair is compared. */
enum how {
    BY_LAYOUT, /* no data: a name on one side only, other shapes, incomparable dtypes, --structure */
    BY_ELEMENTS, /* numbers */
    BY_BYTES,    /* blobs, and elements without a fixed size */
    BY_STRINGS
};

struct side {
    struct heft_reader *reader;
    struct heft_diff_names names;
};

struct diff {
    struct side a, b;
    const struct heft_diff_options *options;
    bool is_ruled; /* a is seen through rules files */
    const struct heft_diff_visitor *visitor;
    struct heft_diff_result *result;
    struct heft_diff_rule rule;
    uint64_t total, done; /* bytes to read, and read so far */
    size_t room;          /* bytes of a buffer */
    bool has_gather;
    unsigned threads;
    uint8_t *buffers; /* two for each thread */
    /* the pair that is being taken */
    struct heft_diff_figures figures;
    struct heft_diff_strings strings;
    bool bytes_differ;
    uint64_t at[HEFT_ROW_DIMS];
};

/* Result of a block. */
struct outcome {
    struct heft_diff_figures figures;
    struct heft_diff_strings strings;
    bool bytes_differ; /* elements without a number */
};

static const struct heft_model *model_of(const struct side *side)
{
    return side->reader->model;
}

static const struct heft_diff_name *name_at(const struct side *side, size_t i)
{
    return &side->names.list[i];
}

static const struct heft_row *row_of(const struct side *side, const struct heft_diff_name *name)
{
    return &model_of(side)->rows[name->index];
}

static const uint64_t *blob_size(const struct side *side, const struct heft_diff_name *name)
{
    return &model_of(side)->storages[model_of(side)->blobs[name->index].storage].len;
}

/* The name of `b` that belongs to a name of `a`; NULL if there is none. */
static const struct heft_diff_name *partner_of(const struct diff *d,
                                               const struct heft_diff_name *name)
{
    return name->partner == HEFT_NONE ? NULL : name_at(&d->b, name->partner);
}

static struct heft_diff_side layout_of(const struct side *side, const struct heft_diff_name *name)
{
    const struct heft_row *row;

    if (name->is_blob)
        return (struct heft_diff_side){HEFT_U8, 1, blob_size(side, name)};
    row = row_of(side, name);
    return (struct heft_diff_side){(enum heft_dtype)row->dtype, row->rank, row->shape};
}

static bool is_same_shape(const struct heft_diff_side *a, const struct heft_diff_side *b)
{
    return a->rank == b->rank &&
           (a->rank == 0 || memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0);
}

static uint64_t count_elements(const struct heft_diff_side *side)
{
    uint64_t n = 1;

    for (unsigned i = 0; i < side->rank; i++)
        n *= side->shape[i]; /* validated: below 2^64 */
    return n;
}

/* ---- plan -------------------------------------------------------------------------------- */

static bool is_gathered(const struct heft_row *row)
{
    return row->stride || row->parts;
}

/* Strings of a row that can be passed one by one; 0 if they cannot. */
static uint64_t count_strings(const struct side *side, const struct heft_row *row)
{
    const struct heft_storage *const storage = &model_of(side)->storages[row->storage];

    return row->dtype == HEFT_STRING && !row->parts && heft_storage_strings(storage)
               ? storage->more->count
               : 0;
}

static enum how choose_varying(const struct diff *d, const struct heft_row *a,
                               const struct heft_row *b)
{
    const struct heft_diff_side side = {HEFT_STRING, a->rank, a->shape};
    const uint64_t n = count_strings(&d->a, a);

    if (count_elements(&side) == 0)
        return BY_LAYOUT; /* the encoding may have bytes all the same, a checksum */
    if (n > 0 && n == count_strings(&d->b, b))
        return BY_STRINGS;
    return a->bytes == b->bytes ? BY_BYTES : BY_LAYOUT;
}

static enum how choose_rows(const struct diff *d, const struct heft_row *a,
                            const struct heft_row *b)
{
    const enum heft_dtype x = (enum heft_dtype)a->dtype, y = (enum heft_dtype)b->dtype;
    const bool is_raw = (a->flags | b->flags) & HEFT_ROW_RAW;

    if (x != y && (is_raw || !(d->options->has_tolerance && heft_diff_is_comparable(x, y))))
        return BY_LAYOUT;
    if (is_raw)
        return BY_BYTES; /* of the same shape and dtype, so that they are as many */
    return heft_dtype_varies(x) ? choose_varying(d, a, b) : BY_ELEMENTS;
}

static enum how choose_how(const struct diff *d, const struct heft_diff_name *a,
                           const struct heft_diff_name *b)
{
    const struct heft_diff_side x = layout_of(&d->a, a), y = layout_of(&d->b, b);

    if (d->options->structure || !is_same_shape(&x, &y))
        return BY_LAYOUT;
    return a->is_blob ? BY_BYTES : choose_rows(d, row_of(&d->a, a), row_of(&d->b, b));
}

static uint64_t bytes_of_name(const struct side *side, const struct heft_diff_name *name)
{
    return name->is_blob ? *blob_size(side, name) : row_of(side, name)->bytes;
}

/* Elements of a block of numbers: as many as fit the room on both sides. */
static uint64_t elements_of_block(enum heft_dtype a, enum heft_dtype b, uint64_t room)
{
    const uint64_t bytes = heft_max_u64(heft_dtype_span(a, ELEMENTS), heft_dtype_span(b, ELEMENTS));

    return heft_max_u64(room / bytes, 1) * ELEMENTS;
}

static bool is_gathered_pair(const struct diff *d, const struct heft_diff_name *a,
                             const struct heft_diff_name *b)
{
    return !a->is_blob && (is_gathered(row_of(&d->a, a)) || is_gathered(row_of(&d->b, b)));
}

/* Chooses how each pair is compared, and sums their bytes. */
static void plan_pairs(struct diff *d)
{
    for (size_t i = 0; i < d->a.names.n; i++) {
        struct heft_diff_name *const a = &d->a.names.list[i];
        const struct heft_diff_name *const b = partner_of(d, a);

        a->how = b ? (uint8_t)choose_how(d, a, b) : BY_LAYOUT;
        if (a->how == BY_LAYOUT)
            continue;
        d->total += bytes_of_name(&d->a, a) + bytes_of_name(&d->b, b);
        d->has_gather = d->has_gather || (a->how == BY_ELEMENTS && is_gathered_pair(d, a, b));
    }
    d->room = d->total == 0 ? 0 : d->has_gather ? GATHER_BLOCK : BLOCK;
}

static bool take_buffers(struct diff *d, struct heft_error *err)
{
    const uint64_t jobs = d->total / BLOCK + (d->total ? d->a.names.n / PAIRS_FOR_A_THREAD : 0);

    d->threads = heft_pool_threads(d->options->threads, heft_max_u64(jobs, 1));
    if (d->has_gather && d->threads > GATHER_THREADS)
        d->threads = GATHER_THREADS;
    d->buffers = heft_alloc(2 * d->room * d->threads, err);
    return d->buffers != NULL;
}

/* ---- work -------------------------------------------------------------------------------- */

static bool read_side(const struct side *side, const struct heft_diff_name *name, uint64_t off,
                      uint8_t *dst, size_t n, struct heft_error *err)
{
    const struct heft_model *const model = model_of(side);
    const struct heft_model_blob *blob;
    const struct heft_row *row;

    if (name->is_blob) {
        blob = &model->blobs[name->index];
        return heft_reader_storage(side->reader, blob->storage, off, dst, n, err) ||
               heft_error_about(err, blob->kind, blob->name);
    }
    row = row_of(side, name);
    return heft_reader_row(side->reader, row, off, dst, n, err) ||
           heft_error_about(err, "tensor", row->name);
}

/* Reads a block of both sides. *p and *q are in the worker's buffers. */
static bool read_block(const struct diff *d, unsigned worker, const struct heft_diff_name *name,
                       uint64_t off_a, size_t n_a, uint64_t off_b, size_t n_b, uint8_t **p,
                       uint8_t **q, struct heft_error *err)
{
    *p = d->buffers + 2 * worker * d->room;
    *q = *p + d->room;
    return read_side(&d->a, name, off_a, *p, n_a, err) &&
           read_side(&d->b, partner_of(d, name), off_b, *q, n_b, err);
}

static bool compare_elements(const struct diff *d, unsigned worker,
                             const struct heft_diff_name *name, const struct heft_block *block,
                             struct outcome *out, struct heft_error *err)
{
    const enum heft_dtype a = (enum heft_dtype)row_of(&d->a, name)->dtype;
    const enum heft_dtype b = (enum heft_dtype)row_of(&d->b, partner_of(d, name))->dtype;
    const uint64_t first = heft_dtype_elements(a, block->off);
    const size_t n = (size_t)heft_dtype_elements(a, block->n);
    const size_t n_b = (size_t)heft_dtype_span(b, n);
    uint8_t *p, *q;

    if (!read_block(d, worker, name, block->off, block->n, heft_dtype_span(b, first), n_b, &p, &q,
                    err))
        return false;
    if (a != b || memcmp(p, q, block->n) != 0)
        heft_diff_elements(&d->rule, a, b, p, q, n, first, &out->figures);
    return true;
}

static bool compare_bytes(const struct diff *d, unsigned worker, const struct heft_diff_name *name,
                          const struct heft_block *block, struct outcome *out,
                          struct heft_error *err)
{
    uint8_t *p, *q;

    if (!read_block(d, worker, name, block->off, block->n, block->off, block->n, &p, &q, err))
        return false;
    if (memcmp(p, q, block->n) == 0)
        return true;
    out->bytes_differ = true;
    for (size_t i = 0; i < block->n; i++)
        out->figures.differing += p[i] != q[i];
    return true;
}

static bool work(void *ctx, unsigned worker, const struct heft_block *block, void *result,
                 struct heft_error *err)
{
    const struct diff *const d = ctx;
    const struct heft_diff_name *const name = name_at(&d->a, block->item);
    struct outcome *const out = result;

    if (name->how == BY_STRINGS)
        return heft_diff_compare_strings(model_of(&d->a), row_of(&d->a, name), model_of(&d->b),
                                         row_of(&d->b, partner_of(d, name)), &out->strings, err);
    if (block->n == 0)
        return true;
    return name->how == BY_BYTES ? compare_bytes(d, worker, name, block, out, err)
                                 : compare_elements(d, worker, name, block, out, err);
}

static uint64_t item_bytes(void *ctx, size_t item)
{
    const struct diff *const d = ctx;
    const struct heft_diff_name *const name = name_at(&d->a, item);

    return name->how == BY_ELEMENTS || name->how == BY_BYTES ? bytes_of_name(&d->a, name) : 0;
}

static size_t item_block_bytes(void *ctx, size_t item)
{
    const struct diff *const d = ctx;
    const struct heft_diff_name *const name = name_at(&d->a, item);
    const struct heft_diff_name *const partner = partner_of(d, name);
    enum heft_dtype a, b;

    if (name->how != BY_ELEMENTS)
        return BLOCK;
    a = (enum heft_dtype)row_of(&d->a, name)->dtype;
    b = (enum heft_dtype)row_of(&d->b, partner)->dtype;
    return (size_t)heft_dtype_span(
        a, elements_of_block(a, b, is_gathered_pair(d, name, partner) ? GATHER_BLOCK : BLOCK));
}

/* ---- taking ------------------------------------------------------------------------------ */

static bool interrupted(struct heft_error *err)
{
    return heft_fail(err, HEFT_CANCELLED, HEFT_NO_OFFSET, "interrupted");
}

static bool tell_item(const struct diff *d, const struct heft_diff_item *item,
                      struct heft_error *err)
{
    return !d->visitor->tensor || d->visitor->tensor(d->visitor->ctx, item) || interrupted(err);
}

static const char *blob_kind(const struct side *side, const struct heft_diff_name *name)
{
    return name->is_blob ? model_of(side)->blobs[name->index].kind : NULL;
}

/* Index of an element, one number a dimension. */
static const uint64_t *index_of(struct diff *d, const struct heft_diff_side *side, uint64_t element)
{
    for (unsigned i = side->rank; i > 0; i--) {
        d->at[i - 1] = element % side->shape[i - 1];
        element /= side->shape[i - 1];
    }
    return d->at;
}

/* Fills the figures of a pair whose elements differ. */
static void put_figures(struct diff *d, struct heft_diff_item *item)
{
    const struct heft_diff_figures *const f = &d->figures;

    item->is_counted = true;
    item->differing = f->differing;
    item->nan_a = f->nan[0];
    item->nan_b = f->nan[1];
    item->inf_a = f->inf[0];
    item->inf_b = f->inf[1];
    item->has_figures = f->has_max;
    if (!f->has_max)
        return;
    item->max_abs = f->max;
    item->mean_abs = f->sum / (double)(item->elements - f->excluded);
    item->max_abs_at = index_of(d, &item->a, f->max_at);
}

/* Fills what the data of a pair has shown. */
static void put_values(struct diff *d, const struct heft_diff_name *name,
                       struct heft_diff_item *item)
{
    item->elements = count_elements(&item->a);
    if (name->how == BY_STRINGS) {
        item->values_differ = d->strings.differ;
        item->is_counted = d->strings.is_counted;
        item->differing = d->strings.differing;
    } else if (name->how == BY_BYTES) {
        item->values_differ = d->bytes_differ;
        item->is_counted = name->is_blob;
        item->differing = name->is_blob ? d->figures.differing : 0;
    } else if (d->figures.differing > 0) {
        item->values_differ = true;
        put_figures(d, item);
    }
}

/* Elements of varying size whose encodings have different sizes differ without being read. */
static bool differ_in_size(const struct diff *d, const struct heft_diff_name *name,
                           const struct heft_diff_item *item)
{
    return !d->options->structure && name->how == BY_LAYOUT && !name->is_blob &&
           !item->shape_differs && !item->dtype_differs && heft_dtype_varies(item->a.dtype) &&
           count_elements(&item->a) > 0;
}

static bool finish_pair(struct diff *d, const struct heft_diff_name *name, struct heft_error *err)
{
    const struct heft_diff_name *const partner = partner_of(d, name);
    struct heft_diff_item item = {.kind = HEFT_DIFF_BOTH,
                                  .name = name->name.p,
                                  .name_len = name->name.n,
                                  .blob = blob_kind(&d->a, name),
                                  .a = layout_of(&d->a, name),
                                  .b = layout_of(&d->b, partner)};
    const bool is_cast = item.a.dtype != item.b.dtype;

    item.shape_differs = !is_same_shape(&item.a, &item.b);
    item.dtype_differs = is_cast && !(d->options->has_tolerance &&
                                      heft_diff_is_comparable(item.a.dtype, item.b.dtype));
    if (name->how != BY_LAYOUT)
        put_values(d, name, &item);
    else if (differ_in_size(d, name, &item)) {
        item.values_differ = true;
        item.elements = count_elements(&item.a);
    }
    if (!item.shape_differs && !item.dtype_differs && !item.values_differ) {
        d->result->tensors.equal++;
        d->result->cast_equal += is_cast;
        return true;
    }
    d->result->tensors.differ++;
    return tell_item(d, &item, err);
}

static bool finish_single(struct diff *d, const struct side *side,
                          const struct heft_diff_name *name, enum heft_diff_kind kind,
                          struct heft_error *err)
{
    struct heft_diff_item item = {.kind = kind,
                                  .name = name->name.p,
                                  .name_len = name->name.n,
                                  .blob = blob_kind(side, name)};

    *(kind == HEFT_DIFF_ONLY_A ? &item.a : &item.b) = layout_of(side, name);
    *(kind == HEFT_DIFF_ONLY_A ? &d->result->tensors.only_a : &d->result->tensors.only_b) += 1;
    return tell_item(d, &item, err);
}

static bool report_progress(struct diff *d, const struct heft_diff_name *name,
                            const struct heft_block *block, struct heft_error *err)
{
    const struct heft_diff_name *const partner = partner_of(d, name);
    uint64_t n = block->n;

    if (name->how == BY_LAYOUT)
        return true;
    if (name->how == BY_STRINGS)
        n = bytes_of_name(&d->a, name) + bytes_of_name(&d->b, partner);
    else if (name->how == BY_BYTES)
        n = 2 * n;
    else
        n += heft_dtype_span(
            (enum heft_dtype)row_of(&d->b, partner)->dtype,
            heft_dtype_elements((enum heft_dtype)row_of(&d->a, name)->dtype, block->n));
    d->done += n;
    return !d->options->progress ||
           d->options->progress(d->options->progress_ctx, d->done, d->total) || interrupted(err);
}

static bool take(void *ctx, const struct heft_block *block, const void *result,
                 struct heft_error *err)
{
    struct diff *const d = ctx;
    const struct heft_diff_name *const name = name_at(&d->a, block->item);
    const struct outcome *const outcome = result;

    if (block->off == 0) {
        d->figures = (struct heft_diff_figures){0};
        d->bytes_differ = false;
    }
    heft_diff_figures_add(&d->figures, &outcome->figures);
    d->bytes_differ = d->bytes_differ || outcome->bytes_differ;
    d->strings = outcome->strings;
    if (!report_progress(d, name, block, err))
        return false;
    if (!block->is_last)
        return true;
    return partner_of(d, name) ? finish_pair(d, name, err)
                               : finish_single(d, &d->a, name, HEFT_DIFF_ONLY_A, err);
}

static bool compare_names(struct diff *d, struct heft_error *err)
{
    const struct heft_block_walk walk = {.items = d->a.names.n,
                                         .bytes = item_bytes,
                                         .block_bytes = item_block_bytes,
                                         .work = work,
                                         .take = take,
                                         .ctx = d,
                                         .result_size = sizeof(struct outcome),
                                         .threads = d->threads};

    if (!heft_block_walk(&walk, err))
        return false;
    for (size_t i = 0; i < d->b.names.n; i++)
        if (name_at(&d->b, i)->partner == HEFT_NONE &&
            !finish_single(d, &d->b, name_at(&d->b, i), HEFT_DIFF_ONLY_B, err))
            return false;
    return true;
}

static bool match_names(struct diff *d, struct heft_error *err)
{
    struct heft_rule_use *const uses = d->options->uses;
    const size_t n_rules = d->options->n_rules;
    struct heft_diff_choice choice = {d->options->root, d->options->rules, n_rules, NULL,
                                      d->is_ruled};
    size_t stride;
    bool ok;

    if (!HEFT_STRIDE(heft_rule_use, &stride, uses, n_rules, err) ||
        (uses && !(choice.uses = heft_calloc(n_rules + 1, sizeof *choice.uses, err))))
        return false;
    ok = heft_diff_match(&d->a.names, model_of(&d->a), &d->b.names, model_of(&d->b), &choice, err);
    if (ok && uses)
        heft_sized_fill_array(uses, stride, choice.uses, sizeof *choice.uses, n_rules);
    heft_free(choice.uses);
    if (!ok)
        return false;
    d->result->has_root_a = !d->a.names.is_whole;
    d->result->has_root_b = !d->b.names.is_whole;
    return true;
}

bool heft_diff_tensors(struct heft_reader *a, struct heft_reader *b,
                       const struct heft_diff_options *options, bool is_ruled,
                       const struct heft_diff_visitor *visitor, struct heft_diff_result *result,
                       struct heft_error *err)
{
    struct diff *d = heft_calloc(1, sizeof *d, err);
    bool ok;

    if (!d)
        return false;
    d->a.reader = a;
    d->b.reader = b;
    d->options = options;
    d->is_ruled = is_ruled;
    d->visitor = visitor;
    d->result = result;
    d->rule = (struct heft_diff_rule){options->has_tolerance, options->atol, options->rtol};
    ok = match_names(d, err);
    if (ok)
        plan_pairs(d);
    ok = ok && take_buffers(d, err) && compare_names(d, err);
    heft_free(d->buffers);
    heft_diff_names_release(&d->a.names);
    heft_diff_names_release(&d->b.names);
    heft_free(d);
    return ok;
}
