/* exec_cut.c: cuts the output files, and the storages that are only read, into chunks. */
#include "core/exec_parts.h"
#include "core/gather.h"

#define LONG_RUN 4096u /* bytes: shorter ones are scattered */

bool heft_exec_is_checkable(const struct heft_exec *x, uint32_t storage)
{
    const struct heft_storage *s = &x->model->storages[storage];

    return !x->options->no_verify && s->sum != HEFT_SUM_NONE && s->coding == HEFT_CODING_RAW &&
           s->len > 0;
}

static bool covers_storage(const struct heft_exec *x, const struct heft_op *op)
{
    return op->kind == HEFT_OP_COPY && op->u.copy.from == 0 &&
           op->len == x->model->storages[op->u.copy.storage].len;
}

static void choose_check(struct heft_exec *x, uint32_t storage, bool by_copy)
{
    uint8_t *const by = &x->checked_by[storage];

    if (!heft_exec_is_checkable(x, storage))
        return;
    if (x->model->storages[storage].sum == HEFT_SUM_OWN)
        *by = HEFT_CHECK_OWN;
    else if (by_copy)
        *by = HEFT_CHECK_COPY;
    else if (*by == HEFT_CHECK_NOT)
        *by = HEFT_CHECK_READ;
}

static bool choose_checks(struct heft_exec *x, struct heft_error *err)
{
    x->checked_by = heft_arena_zero(&x->mem, x->model->n_storages + 1, 1, err);
    for (size_t i = 0; x->checked_by && i < x->plan->n_ops; i++) {
        const struct heft_op *op = &x->plan->ops[i];

        if (op->kind == HEFT_OP_COPY)
            choose_check(x, op->u.copy.storage, covers_storage(x, op));
        else if (op->kind == HEFT_OP_ROW)
            for (uint32_t k = 0; k < heft_row_pieces(op->u.row); k++)
                choose_check(x, heft_row_storage(op->u.row, k), false);
    }
    return x->checked_by != NULL;
}

uint64_t heft_exec_cast_block(const struct heft_op *op)
{
    const enum heft_dtype from = (enum heft_dtype)op->u.row->dtype, to = (enum heft_dtype)op->as;

    return heft_dtype_varies(from) ? 1 : heft_dtype_span(to, heft_cast_unit(from, to));
}

/* End of a chunk [off, want) that ends inside an op: the last block border of a row op. */
static uint64_t cut_op(const struct heft_op *op, uint64_t off, uint64_t want)
{
    const uint64_t unit = op->kind == HEFT_OP_ROW ? heft_exec_cast_block(op) : 1;
    const uint64_t over = (want - op->off) % unit;

    return want - over > off ? want - over : want;
}

bool heft_exec_add_chunk(struct heft_exec *x, const struct heft_exec_chunk *chunk,
                         struct heft_error *err)
{
    if (!heft_budget_take(x->mem.budget, sizeof *chunk, err) ||
        !heft_grow(&x->chunks, &x->cap_chunks, x->n_chunks, 1, sizeof *chunk, err))
        return false;
    x->chunks[x->n_chunks++] = *chunk;
    x->total += chunk->len;
    return true;
}

static uint64_t end_of(const struct heft_op *op)
{
    return op->off + op->len;
}

bool heft_exec_is_scattered(const struct heft_exec *x, const struct heft_op *op)
{
    const struct heft_row *const row = op->kind == HEFT_OP_ROW ? op->u.row : NULL;

    return row && x->chunk > HEFT_EXEC_CHUNK && (row->stride || heft_row_gathers(row)) &&
           heft_gather_run(row) < LONG_RUN;
}

/* Whether the chunk of op a, up to `end`, takes op b, too. */
static bool takes_op(const struct heft_exec *x, const struct heft_op *b, uint64_t end)
{
    return !heft_exec_streams(x, b) && (end_of(b) <= end || !heft_exec_is_scattered(x, b));
}

/* End of the chunk that starts at `off` in op *op. *op becomes its last op. Streamed ops have
 * chunks of their own. */
static uint64_t find_chunk_end(struct heft_exec *x, const struct heft_plan_file *f, size_t *op,
                               uint64_t off)
{
    const struct heft_op *ops = x->plan->ops;
    const uint64_t most =
        heft_exec_is_scattered(x, &ops[*op]) ? x->chunk : heft_min_size(x->chunk, HEFT_EXEC_CHUNK);
    const uint64_t end = heft_min_u64(f->size, off + most);

    while (end_of(&ops[*op]) < end && takes_op(x, &ops[*op + 1], end))
        ++*op, x->n_pieces++;
    if (end_of(&ops[*op]) <= end)
        return end_of(&ops[*op]);
    return cut_op(&ops[*op], off, end);
}

/* Cuts the chunk that starts at *off in op *op, and continues behind it. */
static bool cut_chunk(struct heft_exec *x, uint32_t file, size_t *op, uint64_t *off,
                      struct heft_error *err)
{
    const struct heft_op *const ops = x->plan->ops;
    struct heft_exec_chunk chunk = {.off = *off,
                                    .first_op = *op,
                                    .first_piece = x->n_pieces,
                                    .file = file,
                                    .streams = heft_exec_streams(x, &ops[*op])};
    const uint64_t end =
        chunk.streams ? end_of(&ops[*op]) : find_chunk_end(x, &x->plan->files[file], op, *off);

    x->n_pieces++;
    chunk.len = end - *off;
    *off = end;
    if (end_of(&ops[*op]) == end)
        ++*op;
    return heft_exec_add_chunk(x, &chunk, err);
}

static bool cut_file(struct heft_exec *x, uint32_t file, struct heft_error *err)
{
    const struct heft_plan_file *f = &x->plan->files[file];
    size_t op = f->first;
    uint64_t off = 0;

    while (off < f->size) {
        bool cut = false;

        if (off == x->plan->ops[op].off && !heft_exec_cut_blocks(x, file, op, &cut, err))
            return false;
        if (cut)
            off = end_of(&x->plan->ops[op++]);
        else if (!cut_chunk(x, file, &op, &off, err))
            return false;
    }
    return true;
}

bool heft_exec_cut_storage(struct heft_exec *x, uint32_t storage, struct heft_error *err)
{
    const struct heft_storage *const s = &x->model->storages[storage];
    const uint64_t most = s->sum == HEFT_SUM_OWN ? s->len : x->chunk;

    for (uint64_t off = 0; off < s->len; off += most) {
        const struct heft_exec_chunk chunk = {.off = off,
                                              .len = heft_min_u64(most, s->len - off),
                                              .first_piece = x->n_pieces++,
                                              .file = HEFT_NONE,
                                              .storage = storage};

        if (!heft_exec_add_chunk(x, &chunk, err))
            return false;
    }
    return true;
}

bool heft_exec_cut(struct heft_exec *x, struct heft_error *err)
{
    if (!choose_checks(x, err) || !heft_exec_count_ops(x, err))
        return false;
    for (uint32_t f = 0; f < x->plan->n_files; f++)
        if (!(x->is_linked && x->is_linked[f]) && !cut_file(x, f, err))
            return false;
    for (uint32_t s = 0; s < x->model->n_storages; s++)
        if (x->checked_by[s] >= HEFT_CHECK_READ && !heft_exec_cut_storage(x, s, err))
            return false;
    return true;
}
