/* plan.c: appends ops to a plan, and checks that they tile every output file. */
#include "core/plan.h"

#include "core/derive.h"
#include "core/reader.h"

bool heft_plan_file_begin(struct heft_plan *plan, const char *path, uint32_t *file,
                          struct heft_error *err)
{
    const char *copy = heft_arena_text(plan->mem, heft_str_of(path), err);

    if (!copy ||
        !heft_grow(&plan->files, &plan->cap_files, plan->n_files, 1, sizeof *plan->files, err))
        return false;
    *file = (uint32_t)plan->n_files;
    plan->files[plan->n_files++] = (struct heft_plan_file){.path = copy, .first = plan->n_ops};
    return true;
}

bool heft_plan_alignment(const struct heft_plan *plan, unsigned index, uint64_t *out,
                         struct heft_error *err)
{
    const struct heft_option_value given = heft_plan_option(plan, index);

    *out = given.is_given ? given.number : 1;
    return (*out & (*out - 1)) == 0 ||
           heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "option alignment %" PRIu64 ": expected a power of two", *out);
}

bool heft_plan_reserve(struct heft_plan *plan, size_t more, struct heft_error *err)
{
    return heft_budget_allows(plan->mem->budget, more * sizeof *plan->ops, err) &&
           heft_grow(&plan->ops, &plan->cap_ops, plan->n_ops, more, sizeof *plan->ops, err);
}

/* Appends an op at the end of the file so far. Empty ops are left out. */
static bool add_op(struct heft_plan *plan, uint32_t file, struct heft_op op, struct heft_error *err)
{
    struct heft_plan_file *f = &plan->files[file];

    if (op.len == 0)
        return true;
    if (!heft_budget_take(plan->mem->budget, sizeof op, err) ||
        !heft_grow(&plan->ops, &plan->cap_ops, plan->n_ops, 1, sizeof op, err))
        return false;
    op.file = file;
    op.sum = plan->is_summing ? plan->n_sums - 1 : HEFT_NONE;
    op.off = f->size;
    if (!heft_add(f->size, op.len, &f->size))
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET, "the output has 2^64 bytes or more");
    plan->ops[plan->n_ops++] = op;
    f->ops++;
    return true;
}

bool heft_plan_put(struct heft_plan *plan, uint32_t file, struct heft_str bytes,
                   struct heft_error *err)
{
    const struct heft_op op = {
        .kind = HEFT_OP_PUT, .len = bytes.n, .u.bytes = (const uint8_t *)bytes.p};

    return add_op(plan, file, op, err);
}

bool heft_plan_maker(struct heft_plan *plan, struct heft_maker maker, uint32_t *number,
                     struct heft_error *err)
{
    if (!heft_grow(&plan->makers, &plan->cap_makers, plan->n_makers, 1, sizeof *plan->makers,
                   err)) {
        maker.release(maker.ctx);
        return false;
    }
    *number = (uint32_t)plan->n_makers;
    plan->makers[plan->n_makers++] = maker;
    return true;
}

bool heft_plan_made(struct heft_plan *plan, uint32_t file, uint32_t maker, uint64_t from,
                    uint64_t n, struct heft_error *err)
{
    const struct heft_op op = {.kind = HEFT_OP_MADE, .len = n, .u.made = {maker, from}};

    return add_op(plan, file, op, err);
}

/* Names are shorter than any file's header, so 32 bits are enough. */
static void name_op(struct heft_op *op, struct heft_str name)
{
    op->name = name.p;
    op->name_n = (uint32_t)heft_min_u64(name.n, UINT32_MAX);
}

static uint64_t elements_of(const struct heft_part *part, unsigned rank)
{
    uint64_t n = 1;

    for (unsigned d = 0; d < rank; d++)
        n *= part->extent[d]; /* no overflow: at most the tensor's elements */
    return n;
}

static uint64_t next_first(const struct heft_row *row, uint32_t k)
{
    return k + 1 < row->parts->n ? row->parts->list[k + 1].first : row->bytes / heft_row_unit(row);
}

/* Whether the stored bytes of the parts, concatenated, are those of the row: each part is
 * packed, unmodified, and has exactly the elements up to the first one of the next part. */
static bool is_chain(const struct heft_plan *plan, const struct heft_row *row)
{
    if (row->parts->recipe)
        return false;
    for (uint32_t k = 0; k < row->parts->n; k++) {
        const struct heft_part *const part = &row->parts->list[k];

        if (plan->model->storages[part->storage].coding != HEFT_CODING_RAW || part->stride ||
            part->flags ||
            next_first(row, k) - part->first != elements_of(part, heft_row_boxed_rank(row)))
            return false;
    }
    return true;
}

static bool add_chain(struct heft_plan *plan, uint32_t file, const struct heft_export_item *item,
                      struct heft_error *err)
{
    const struct heft_row *row = item->row;
    const uint64_t each = heft_row_unit(row);

    for (uint32_t k = 0; k < row->parts->n; k++) {
        const struct heft_part *const part = &row->parts->list[k];
        struct heft_op op = {.kind = HEFT_OP_COPY,
                             .as = item->as,
                             .len = elements_of(part, heft_row_boxed_rank(row)) * each,
                             .u.copy = {part->storage, part->offset}};

        name_op(&op, item->name);
        if (!add_op(plan, file, op, err))
            return false;
    }
    return true;
}

static bool is_copyable(const struct heft_plan *plan, const struct heft_row *row)
{
    return plan->model->storages[row->storage].coding == HEFT_CODING_RAW && !row->stride &&
           !row->flags && !row->parts;
}

/* Fails while planning if a storage of the row is missing, before anything is written. */
static bool check_present(const struct heft_plan *plan, const struct heft_row *row,
                          struct heft_error *err)
{
    for (uint32_t k = 0; k < heft_row_pieces(row); k++)
        if (plan->model->storages[heft_row_storage(row, k)].is_missing) {
            heft_reader_refuse_missing(plan->model, heft_row_storage(row, k), err);
            return heft_error_about(err, "tensor", row->name);
        }
    return true;
}

bool heft_plan_expect_items(struct heft_plan *plan, size_t n, struct heft_error *err)
{
    plan->item_offsets = heft_arena_zero(plan->mem, n + 1, sizeof *plan->item_offsets, err);
    plan->n_items = plan->item_offsets ? n : 0;
    return plan->item_offsets != NULL;
}

void heft_plan_place(struct heft_plan *plan, const struct heft_export_item *item, uint64_t offset)
{
    if (item->number > 0 && item->number <= plan->n_items)
        plan->item_offsets[item->number - 1] = offset;
}

uint64_t heft_plan_offset(const struct heft_plan *plan, const struct heft_export_item *item)
{
    return item->number > 0 && item->number <= plan->n_items ? plan->item_offsets[item->number - 1]
                                                             : 0;
}

bool heft_plan_item(struct heft_plan *plan, uint32_t file, const struct heft_export_item *item,
                    struct heft_error *err)
{
    const struct heft_row *row = item->row;
    const bool as_stored = item->as == row->dtype;
    struct heft_op op = {.kind = HEFT_OP_ROW,
                         .as = item->as,
                         .len = item->bytes,
                         .u.row = heft_derived_as(row, (enum heft_dtype)item->as)};

    name_op(&op, item->name);
    heft_plan_place(plan, item, plan->files[file].size);
    if (!check_present(plan, row, err))
        return false;
    if (as_stored && row->parts && is_chain(plan, row))
        return add_chain(plan, file, item, err);
    if (as_stored && is_copyable(plan, row)) {
        op.kind = HEFT_OP_COPY;
        op.u.copy.storage = row->storage;
        op.u.copy.from = row->offset;
    }
    return add_op(plan, file, op, err);
}

bool heft_plan_copy(struct heft_plan *plan, uint32_t file, uint32_t storage, uint64_t from,
                    uint64_t n, struct heft_str name, struct heft_error *err)
{
    struct heft_op op = {.kind = HEFT_OP_COPY, .len = n, .u.copy = {storage, from}};

    name_op(&op, name);
    return add_op(plan, file, op, err);
}

bool heft_plan_copy_file(struct heft_plan *plan, uint32_t file, const char *path, uint64_t from,
                         uint64_t n, struct heft_error *err)
{
    const char *copy = heft_arena_text(plan->mem, heft_str_of(path), err);
    const struct heft_op op = {.kind = HEFT_OP_FILE, .len = n, .u.file = {copy, from}};

    return copy && add_op(plan, file, op, err);
}

bool heft_plan_late(struct heft_plan *plan, uint32_t file, struct heft_late late, uint64_t n,
                    struct heft_error *err)
{
    const struct heft_op op = {.kind = HEFT_OP_LATE, .len = n, .u.late = late};

    return add_op(plan, file, op, err);
}

uint32_t heft_plan_sum_begin(struct heft_plan *plan)
{
    plan->is_summing = true;
    return plan->n_sums++;
}

void heft_plan_sum_end(struct heft_plan *plan)
{
    plan->is_summing = false;
}

bool heft_plan_note(struct heft_plan *plan, const char *note, struct heft_error *err)
{
    if (!note ||
        !heft_grow(&plan->notes, &plan->cap_notes, plan->n_notes, 1, sizeof *plan->notes, err))
        return false;
    plan->notes[plan->n_notes++] = note;
    return true;
}

static bool check_op(const struct heft_plan *plan, const struct heft_op *op, struct heft_error *err)
{
    const struct heft_storage *storage;

    if (op->kind != HEFT_OP_COPY)
        return true;
    storage = &plan->model->storages[op->u.copy.storage];
    return heft_within(op->u.copy.from, op->len, storage->len) ||
           heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET, "the plan copies past a storage");
}

bool heft_plan_check(const struct heft_plan *plan, struct heft_error *err)
{
    for (size_t f = 0; f < plan->n_files; f++) {
        const struct heft_plan_file *file = &plan->files[f];
        uint64_t at = 0;

        for (size_t i = file->first; i < file->first + file->ops; i++) {
            const struct heft_op *op = &plan->ops[i];

            if (op->file != f || op->off != at || !check_op(plan, op, err))
                return heft_fail(err, HEFT_MALFORMED, at, "the plan does not tile %s", file->path);
            at += op->len;
        }
        if (at != file->size)
            return heft_fail(err, HEFT_MALFORMED, at, "the plan leaves a hole in %s", file->path);
    }
    return true;
}

void heft_plan_release(struct heft_plan *plan)
{
    for (size_t i = 0; i < plan->n_makers; i++)
        plan->makers[i].release(plan->makers[i].ctx);
    heft_free(plan->makers);
    heft_free(plan->files);
    heft_free(plan->ops);
    heft_free(plan->notes);
    *plan = (struct heft_plan){0};
}
