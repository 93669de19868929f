/* exec_blocks.c: large transposed rows, in chunks that are blocks of the output.
 *
 *     output    dims  outer … │ s │ … │ t │ rest        s is contiguous in the storage
 *     chunk           one     │ p │one│ q │ all         p runs of q·rest elements, `pitch` apart
 *
 * A contiguous chunk would have all of the dimensions after s, and so few indexes of s that it would read a
 * few bytes at each place of the storage, and each page once for every chunk. A block reads and writes
 * runs of some KiB. Chunks that are adjacent in the storage follow each other. */
#include "core/derive.h"
#include "core/exec_parts.h"
#include "core/gather.h"

#define FEW_BYTES 1024u /* shorter reads make blocks worthwhile: writing them costs more calls */
#define RUN_BYTES                                                                                  \
    (16u << 10) /* of the storage that a block reads at one place, if there are as many */

/* A row as blocks: its dimensions, joined where they are contiguous, and which of them are cut. */
struct blocks {
    struct heft_part view; /* its only part; `extent` and `stride` are not used */
    unsigned rank, s, t;
    uint64_t n[HEFT_ND_VIEW_DIMS], stride[HEFT_ND_VIEW_DIMS]; /* elements */
    uint64_t p, q;
    uint64_t rest, inner; /* elements of the dimensions after t, after s */
    uint32_t each, new_each;
};

static uint64_t product_of(const uint64_t *list, unsigned n)
{
    uint64_t product = 1;

    for (unsigned i = 0; i < n; i++)
        product *= list[i]; /* no overflow: at most the tensor's elements */
    return product;
}

/* The only view of the row, and the strides of its dimensions; NULL if it has several, or is packed. */
static const uint64_t *find_view(const struct heft_row *row, struct heft_part *view)
{
    if (heft_row_is_shaped(row) && !heft_row_is_derived(row) && row->parts->n == 1) {
        *view = row->parts->list[0];
        return view->stride;
    }
    *view = (struct heft_part){.offset = row->offset, .storage = row->storage, .flags = row->flags};
    return row->parts ? NULL : row->stride;
}

static bool load_dims(struct blocks *b, const struct heft_row *row)
{
    const uint64_t *const stride = find_view(row, &b->view);
    const uint64_t *const shape = heft_row_boxed_shape(row);

    b->rank = 0;
    for (unsigned d = 0; stride && d < heft_row_boxed_rank(row); d++) {
        if (shape[d] == 1)
            continue;
        if (b->rank > 0 && b->stride[b->rank - 1] / shape[d] == stride[d] &&
            b->stride[b->rank - 1] % shape[d] == 0) {
            b->n[b->rank - 1] *= shape[d];
            b->stride[b->rank - 1] = stride[d];
        } else {
            b->n[b->rank] = shape[d];
            b->stride[b->rank++] = stride[d];
        }
    }
    return b->rank > 0;
}

/* Chooses the dimensions that are cut, for blocks of at most `most` elements. False if contiguous chunks
 * read enough at each place. */
static bool choose_dims(struct blocks *b, uint64_t most)
{
    b->s = 0;
    while (b->s < b->rank && b->stride[b->s] != 1)
        b->s++;
    if (b->s + 1 >= b->rank)
        return false;
    b->inner = product_of(b->n + b->s + 1, b->rank - b->s - 1);
    if (most / b->inner >= heft_min_u64(b->n[b->s], FEW_BYTES / b->each))
        return false;
    b->p = heft_min_u64(b->n[b->s], RUN_BYTES / b->each);
    b->t = b->s + 1;
    b->rest = b->inner / b->n[b->t];
    while (b->p > most / b->rest)
        b->rest /= b->n[++b->t];
    b->q = heft_min_u64(b->n[b->t], most / (b->p * b->rest));
    return true;
}

/* Whether the op is written in blocks. */
static bool find_blocks(const struct heft_exec *x, const struct heft_op *op, struct blocks *b)
{
    const struct heft_row *const row = op->kind == HEFT_OP_ROW ? op->u.row : NULL;

    if (!row || op->sum != HEFT_NONE || op->len <= x->chunk || !heft_exec_is_scattered(x, op))
        return false;
    b->each = heft_dtype_element_bytes((enum heft_dtype)row->dtype);
    b->new_each = heft_dtype_element_bytes((enum heft_dtype)op->as);
    return b->each && b->new_each && load_dims(b, row) &&
           choose_dims(b, x->chunk / heft_max_u64(b->each, b->new_each));
}

/* Adds the blocks that have the same indexes outside s, and between s and t; `first` is their first
 * element. */
static bool cut_plane(struct heft_exec *x, const struct blocks *b, struct heft_exec_chunk chunk,
                      uint64_t first, struct heft_error *err)
{
    const uint64_t begin = chunk.off;

    for (uint64_t j = 0; j < b->n[b->t]; j += b->q)
        for (uint64_t i = 0; i < b->n[b->s]; i += b->p) {
            chunk.off = begin + (first + i * b->inner + j * b->rest) * b->new_each;
            chunk.rows = heft_min_u64(b->p, b->n[b->s] - i);
            chunk.run = heft_min_u64(b->q, b->n[b->t] - j) * b->rest * b->new_each;
            chunk.len = chunk.rows * chunk.run;
            chunk.first_piece = x->n_pieces++;
            if (!heft_exec_add_chunk(x, &chunk, err))
                return false;
        }
    return true;
}

bool heft_exec_cut_blocks(struct heft_exec *x, uint32_t file, size_t op, bool *cut,
                          struct heft_error *err)
{
    struct heft_exec_chunk chunk = {.off = x->plan->ops[op].off, .first_op = op, .file = file};
    struct blocks b;
    uint64_t outer, middle;

    *cut = find_blocks(x, &x->plan->ops[op], &b);
    if (!*cut)
        return true;
    chunk.pitch = b.inner * b.new_each;
    outer = product_of(b.n, b.s);
    middle = product_of(b.n + b.s + 1, b.t - b.s - 1);
    for (uint64_t o = 0; o < outer; o++)
        for (uint64_t m = 0; m < middle; m++)
            if (!cut_plane(x, &b, chunk, o * b.n[b.s] * b.inner + m * b.n[b.t] * b.rest, err))
                return false;
    return true;
}

/* The elements of a block as a row, whose shape and strides are in *b. */
static struct heft_row row_of(struct blocks *b, const struct heft_op *op,
                              const struct heft_exec_chunk *chunk)
{
    uint64_t element = (chunk->off - op->off) / b->new_each;
    struct heft_row row = {.name = op->u.row->name,
                           .offset = b->view.offset,
                           .storage = b->view.storage,
                           .flags = b->view.flags,
                           .dtype = op->u.row->dtype,
                           .rank = (uint8_t)(b->rank - b->t + 1)};

    for (unsigned d = b->rank; d > 0; d--) {
        row.offset += element % b->n[d - 1] * b->stride[d - 1] * b->each;
        element /= b->n[d - 1];
    }
    b->n[b->t] = chunk->run / (b->rest * b->new_each);
    b->n[b->t - 1] = chunk->rows; /* s and t become neighbours */
    b->stride[b->t - 1] = b->stride[b->s];
    row.shape = b->n + b->t - 1;
    row.stride = b->stride + b->t - 1;
    row.bytes = chunk->len / b->new_each * b->each;
    return row;
}

bool heft_exec_run_block(struct heft_exec *x, unsigned worker, const struct heft_exec_chunk *chunk,
                         struct heft_error *err)
{
    const struct heft_op *const op = &x->plan->ops[chunk->first_op];
    uint8_t *const buffer = x->buffers + (size_t)worker * x->chunk;
    struct heft_exec_chunk place = *chunk;
    struct blocks b;
    struct heft_row row;

    if (!find_blocks(x, op, &b))
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "a block of a row that has none");
    row = row_of(&b, op, chunk);
    if (!heft_exec_fill_row(x, worker, op, &row, 0, buffer, chunk->len, err))
        return heft_error_about(err, "tensor", heft_op_name(op));
    place.len = chunk->run;
    for (uint64_t i = 0; i < chunk->rows; i++, place.off += chunk->pitch)
        if (!heft_exec_deliver(x, worker, &place, buffer + i * chunk->run, err))
            return false;
    return heft_exec_tell(x, chunk->len, err);
}
