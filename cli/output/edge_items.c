/* edge_items.c: reads the elements that are shown of a tensor, run by run.
 *
 *     dimension 0   0 1 2 … 7 8 9      at most ARRAY_EDGE items at each edge
 *     dimension 1   0 1 2 … 7 8 9      the last dimension cut short: two runs for each item above
 *     dimension 2   0 1 2 3            shown completely: a part of every run
 *
 * A run is contiguous in row-major order. Where parts of a tensor can be read cheaply each run is
 * read as a slice; else (compressed, or packed below a byte) the tensor passes by once. */
#include "output/edge_items.h"

#include "output/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The runs of the elements shown, in order. */
struct runs {
    unsigned rank;
    uint64_t full[EDGE_RANK]; /* shape of the slice; … */
    const uint64_t *shown;    /* … and of what is shown of it */
    const bool *is_cut;
    uint64_t index[EDGE_RANK]; /* among the shown items, of the dimensions up to `last` */
    unsigned last;             /* the last dimension cut short; rank if there is none */
    bool is_done;
    uint64_t first,
        n; /* of the current run: first element, in row-major order of the slice; length */
};

struct reading {
    const struct edge_request *request;
    struct edge_items *items;
    struct runs runs;
    enum heft_dtype dtype; /* of the bytes that are read */
    size_t filled;         /* elements read so far */
    uint64_t passed;       /* elements of the slice that passed by */
};

/* ---- runs -------------------------------------------------------------------------------- */

static uint64_t multiply(const uint64_t *extents, unsigned n)
{
    uint64_t product = 1;

    for (unsigned i = 0; i < n; i++)
        if (extents[i] == 0)
            return 0;
    for (unsigned i = 0; i < n; i++)
        product = product > UINT64_MAX / extents[i] ? UINT64_MAX : product * extents[i];
    return product;
}

/* Index in the slice of the shown item `k`. */
static uint64_t place_of(const struct runs *runs, unsigned axis, uint64_t k)
{
    return runs->is_cut[axis] && k >= ARRAY_EDGE ? runs->full[axis] - runs->shown[axis] + k : k;
}

/* Sets first and n for the current index. */
static void locate_run(struct runs *runs)
{
    const unsigned inner = runs->last < runs->rank ? runs->last + 1 : 0;

    runs->first = 0;
    for (unsigned axis = 0; axis < inner; axis++)
        runs->first = runs->first * runs->full[axis] + place_of(runs, axis, runs->index[axis]);
    runs->n = multiply(runs->full + inner, runs->rank - inner);
    runs->first *= runs->n;
    runs->n *= inner ? ARRAY_EDGE : 1;
}

static void begin_runs(struct runs *runs)
{
    runs->last = runs->rank;
    for (unsigned axis = 0; axis < runs->rank; axis++)
        if (runs->is_cut[axis])
            runs->last = axis;
    memset(runs->index, 0, sizeof runs->index);
    runs->is_done = false;
    locate_run(runs);
}

static void next_run(struct runs *runs)
{
    unsigned axis = runs->last;

    runs->is_done = true;
    if (axis == runs->rank)
        return;
    runs->index[axis] += ARRAY_EDGE;
    while (runs->is_done) {
        if (runs->index[axis] < runs->shown[axis]) {
            runs->is_done = false;
            locate_run(runs);
        } else if (axis == 0) {
            return;
        } else {
            runs->index[axis] = 0;
            runs->index[--axis]++;
        }
    }
}

/* ---- plan -------------------------------------------------------------------------------- */

/* Whether elements are read as F32: floats of less than a byte, and elements of blocks with scales. */
static bool is_read_as_f32(enum heft_dtype dtype)
{
    struct heft_error ignored;

    return heft_dtype_block_elements(dtype) > 1 &&
           heft_cast(dtype, NULL, HEFT_F32, NULL, 0, NULL, &ignored);
}

/* The dtype to read. */
static bool choose_dtype(const struct edge_request *request, enum heft_dtype *dtype,
                         struct heft_error *err)
{
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);

    if (!heft_tensor_at(request->c, request->index, &t))
        return usage_error(err, "no such tensor");
    *dtype = request->cast ? *request->cast : t.dtype;
    if (element_type_of(*dtype).class != ELEMENT_NONE)
        return true;
    if (is_read_as_f32(t.dtype)) {
        *dtype = HEFT_F32;
        return !request->cast ||
               usage_error(err, "tensor %s: %s cannot be cast to %s", t.name,
                           heft_dtype_name(t.dtype), heft_dtype_name(*request->cast));
    }
    return usage_error(err, "%s is a tensor of %s, which cannot be printed; give -o FILE or -o -",
                       t.name, heft_dtype_name(t.dtype));
}

static bool plan_runs(struct runs *runs, struct edge_items *items,
                      const struct edge_request *request, enum heft_dtype dtype,
                      struct heft_error *err)
{
    uint64_t bytes, total, shown;

    if (!heft_slice_shape_as(request->c, request->index, request->ranges, request->n_ranges, dtype,
                             runs->full, &runs->rank, &bytes, err))
        return false;
    total = multiply(runs->full, runs->rank);
    items->is_whole = true;
    for (unsigned axis = 0; axis < runs->rank; axis++) {
        items->is_cut[axis] = total > ARRAY_THRESHOLD && runs->full[axis] > 2 * ARRAY_EDGE;
        items->shape[axis] = items->is_cut[axis] ? 2 * ARRAY_EDGE : runs->full[axis];
        items->is_whole &= !items->is_cut[axis];
    }
    runs->shown = items->shape;
    runs->is_cut = items->is_cut;
    shown = multiply(items->shape, runs->rank);
    items->array = (struct array){
        .rank = runs->rank, .shape = items->shape, .is_cut = items->is_cut, .n = (size_t)shown};
    if (shown <= EDGE_MOST)
        return true;
    usage_error(err,
                "%" PRIu64 " elements would be printed, at most %d can be; select a part with "
                "--slice, or give -o FILE",
                shown, EDGE_MOST);
    err->code = HEFT_LIMIT;
    return false;
}

bool edge_items_plan(struct edge_items *items, const struct edge_request *request,
                     struct heft_error *err)
{
    struct runs runs = {.rank = 0};
    enum heft_dtype dtype;

    *items = (struct edge_items){.is_whole = true};
    if (!choose_dtype(request, &dtype, err) || !plan_runs(&runs, items, request, dtype, err))
        return false;
    items->array.type = element_type_of(dtype);
    return true;
}

/* ---- reading ----------------------------------------------------------------------------- */

static void decode_elements(struct reading *r, const unsigned char *bytes, uint64_t n)
{
    for (uint64_t i = 0; i < n && r->filled < r->items->array.n; i++)
        r->items->elements[r->filled++] =
            element_decode(r->dtype, bytes + i * r->items->array.type.size);
}

/* Takes a piece of a run. Pieces consist of whole elements. */
static bool take_piece(void *ctx, const void *piece, size_t n)
{
    struct reading *const r = ctx;

    decode_elements(r, piece, n / r->items->array.type.size);
    return true;
}

/* Takes what belongs to runs from a piece of the whole slice. */
static bool pick_piece(void *ctx, const void *piece, size_t n)
{
    struct reading *const r = ctx;
    const size_t size = r->items->array.type.size;
    const uint64_t begin = r->passed, end = begin + n / size;

    r->passed = end;
    while (!r->runs.is_done && r->runs.first < end) {
        const uint64_t last = r->runs.first + r->runs.n;
        const uint64_t from = r->runs.first > begin ? r->runs.first : begin;
        const uint64_t to = last < end ? last : end;

        decode_elements(r, (const unsigned char *)piece + (from - begin) * size, to - from);
        if (last > end)
            break;
        next_run(&r->runs);
    }
    return true;
}

typedef bool piece_fn(void *ctx, const void *piece, size_t n);

static bool stream_ranges(struct reading *r, const struct heft_range *ranges, size_t n,
                          piece_fn *each, struct heft_error *err)
{
    const struct edge_request *const q = r->request;

    return heft_tensor_stream_as(q->c, q->index, ranges, n, r->dtype, each, r,
                                 &r->items->overflowed, err);
}

/* The slice of the tensor that is the current run. */
static size_t run_ranges(const struct reading *r, struct heft_range *ranges)
{
    const struct edge_request *const q = r->request;
    const struct runs *const runs = &r->runs;
    struct heft_tensor t = {.size = sizeof t, .rank = 0};
    unsigned axis = 0;

    (void)heft_tensor_at(q->c, q->index, &t);
    for (unsigned d = 0; d < t.rank; d++) {
        const struct heft_range of =
            d < q->n_ranges ? q->ranges[d] : (struct heft_range){0, t.shape[d], false};

        ranges[d] = (struct heft_range){of.start, of.stop, false};
        if (of.drop)
            continue;
        if (axis <= runs->last && runs->last < runs->rank) {
            ranges[d].start += place_of(runs, axis, runs->index[axis]);
            ranges[d].stop = ranges[d].start + (axis < runs->last ? 1 : ARRAY_EDGE);
        }
        axis++;
    }
    return t.rank;
}

/* Whether a part of the tensor can be read without what is before it. */
static bool is_seekable(const struct edge_request *request)
{
    const size_t parts = heft_tensor_part_count(request->c, request->index);
    struct heft_tensor_part part = HEFT_INIT(struct heft_tensor_part);
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);

    for (size_t k = 0; k < parts; k++)
        if (heft_tensor_part_at(request->c, request->index, k, &part) &&
            part.stored == HEFT_STORED_DEFLATE)
            return false;
    return heft_tensor_at(request->c, request->index, &t) &&
           heft_dtype_block_elements(t.dtype) == 1 && (parts || t.stored != HEFT_STORED_DEFLATE);
}

static bool read_runs(struct reading *r, struct heft_error *err)
{
    struct heft_range ranges[EDGE_RANK];

    if (r->items->is_whole || !is_seekable(r->request))
        return stream_ranges(r, r->request->ranges, r->request->n_ranges, pick_piece, err);
    for (; !r->runs.is_done; next_run(&r->runs)) {
        const size_t n = run_ranges(r, ranges);

        if (!stream_ranges(r, ranges, n, take_piece, err))
            return false;
    }
    return true;
}

bool edge_items_read(struct edge_items *items, const struct edge_request *request,
                     struct heft_error *err)
{
    struct reading r = {.request = request, .items = items};

    if (!choose_dtype(request, &r.dtype, err) || !plan_runs(&r.runs, items, request, r.dtype, err))
        return false;
    items->array.type = element_type_of(r.dtype);
    items->elements = calloc(items->array.n + 1, sizeof *items->elements);
    items->array.elements = items->elements;
    if (!items->elements)
        return no_memory(err, "the elements");
    begin_runs(&r.runs);
    return items->array.n == 0 || read_runs(&r, err);
}

void edge_items_release(struct edge_items *items)
{
    free(items->elements);
}
