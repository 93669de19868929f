/* rules_apply_ops.c: the ops of a mapping, applied to the tensors of a group.
 *
 *     gathered number →   0     1     2
 *     gate_proj.{E}       ▢     ▢     ▢      stack 0 (over the numbers)   ▢
 *     up_proj.{E}         ▢     ▢     ▢                                   ▢   cat 1 (over the names)   ▢
 *
 * Joins make the grid smaller, divides make it larger; all other ops apply to each tensor of it. */
#include "rules/rules_apply.h"

enum { MOST_TENSORS = 1 << 20 }; /* of a grid; each takes memory while the group is shaped */

static bool grid_alloc(struct heft_grid *grid, uint32_t names, uint32_t numbers,
                       struct heft_error *err)
{
    if ((uint64_t)names * numbers > MOST_TENSORS)
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET, "%" PRIu64 " tensors, the limit is %d",
                         (uint64_t)names * numbers, MOST_TENSORS);
    grid->n_names = names;
    grid->n_numbers = numbers;
    grid->list = heft_calloc((size_t)names * numbers + 1, sizeof *grid->list, err);
    return grid->list != NULL;
}

void heft_grid_release(struct heft_grid *grid)
{
    for (size_t i = 0; grid->list && i < (size_t)grid->n_names * grid->n_numbers; i++)
        heft_shaping_release(&grid->list[i]);
    heft_free(grid->list);
    *grid = (struct heft_grid){0};
}

bool heft_grid_open(struct heft_grid *grid, struct heft_stage_run *run,
                    const struct heft_group_rows *rows)
{
    const size_t n = (size_t)rows->n_names * rows->n_numbers;

    if (!grid_alloc(grid, rows->n_names, rows->n_numbers, run->err))
        return heft_stage_blame(run, rows->mapping->line, run->in.items[rows->rows[0]].name);
    for (size_t i = 0; i < n; i++)
        if (!heft_shaping_open(&grid->list[i], run->in.items[rows->rows[i]].row, run->err))
            return heft_stage_blame(run, rows->mapping->line, run->in.items[rows->rows[i]].name);
    return true;
}

/* ---- arguments ------------------------------------------------------------------------------ */

/* Values of the arguments, in the scratch arena; NULL on failure, and also if there are none. */
static bool take_args(struct heft_stage_run *run, const struct heft_remap *mapping,
                      const struct heft_rule_op *op, uint64_t **out)
{
    *out = heft_arena_u64(&run->scratch, op->n_args + UINT64_C(1), run->err);
    for (uint32_t i = 0; *out && i < op->n_args; i++)
        if (op->args[i].n > 0 && !heft_sizes_value(&op->args[i], run->bindings, mapping->sizes,
                                                   run->variables, &(*out)[i], run->err))
            return false;
    return *out != NULL;
}

/* ---- ops on each tensor --------------------------------------------------------------------- */

static bool slice_one(struct heft_shaping *s, const struct heft_rule_op *op, const uint64_t *args,
                      struct heft_error *err)
{
    const uint64_t begin = op->args[0].n > 0 ? args[0] : 0;
    const uint64_t all = op->axis < s->rank ? s->shape[op->axis] : 0;

    return heft_shaping_slice(s, op->axis, begin, op->args[1].n > 0 ? args[1] : all, err);
}

static bool apply_one(struct heft_shaping *s, const struct heft_rule_op *op, const uint64_t *args,
                      struct heft_error *err)
{
    switch ((enum heft_rule_op_kind)op->kind) {
    case HEFT_RULE_OP_SQUEEZE:
        return heft_shaping_squeeze(s, op->axis, err);
    case HEFT_RULE_OP_UNSQUEEZE:
        return heft_shaping_unsqueeze(s, op->axis, err);
    case HEFT_RULE_OP_PERMUTE:
        return heft_shaping_permute(s, op->order, op->n_order, err);
    case HEFT_RULE_OP_TRANSPOSE:
        return heft_shaping_transpose(s, op->order[0], op->order[1], err);
    case HEFT_RULE_OP_RESHAPE:
        return heft_shaping_reshape(s, args, op->n_args, err);
    case HEFT_RULE_OP_SLICE:
        return slice_one(s, op, args, err);
    case HEFT_RULE_OP_REORDER:
        return heft_shaping_reorder(s, op->axis, op->order, op->n_order, err);
    default:
        return heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET, "an op of kind %u",
                         (unsigned)op->kind);
    }
}

/* Name of the tensor for errors: the first row, while tensors are those of rows. */
static struct heft_str name_of(const struct heft_stage_run *run, const struct heft_group_rows *rows,
                               const struct heft_grid *grid, size_t i)
{
    const bool is_row = grid->n_names == rows->n_names && grid->n_numbers == rows->n_numbers;

    return run->in.items[rows->rows[is_row ? i : 0]].name;
}

static bool apply_each(struct heft_grid *grid, struct heft_stage_run *run,
                       const struct heft_group_rows *rows, const struct heft_rule_op *op)
{
    uint64_t *args;

    if (!take_args(run, rows->mapping, op, &args))
        return heft_stage_blame(run, op->line, run->in.items[rows->rows[0]].name);
    for (size_t i = 0; i < (size_t)grid->n_names * grid->n_numbers; i++)
        if (!apply_one(&grid->list[i], op, args, run->err))
            return heft_stage_blame(run, op->line, name_of(run, rows, grid, i));
    return true;
}

/* ---- joins ---------------------------------------------------------------------------------- */

static bool same_kind(const struct heft_shaping *a, const struct heft_shaping *b,
                      struct heft_error *err)
{
    if (a->dtype != b->dtype)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "%s, the first one of several is %s",
                         heft_dtype_name(b->dtype), heft_dtype_name(a->dtype));
    return true;
}

static bool same_shape(const struct heft_shaping *a, const struct heft_shaping *b,
                       struct heft_error *err)
{
    bool same = a->rank == b->rank;

    for (unsigned d = 0; same && d < a->rank; d++)
        same = a->shape[d] == b->shape[d];
    return same || heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                             "another shape than the first one of several that must be the same");
}

/* Extents that are joined must be in the proportion of the shares, if there are any. */
static bool check_shares(const struct heft_shaping *list, const struct heft_rule_op *op, size_t n,
                         const uint64_t *shares, struct heft_error *err)
{
    for (size_t i = 1; i < n && op->n_args == n; i++) {
        uint64_t left, right;

        if (op->axis >= list[i].rank || op->axis >= list[0].rank)
            break; /* refused by the join */
        if (!heft_mul(list[i].shape[op->axis], shares[0], &left) ||
            !heft_mul(list[0].shape[op->axis], shares[i], &right) || left != right)
            return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                             "dimension %" PRIu64 " is %" PRIu64 " of tensor %zu and %" PRIu64
                             " of the first one, the shares are %" PRIu64 " and %" PRIu64,
                             op->axis, list[i].shape[op->axis], i, list[0].shape[op->axis],
                             shares[i], shares[0]);
    }
    return true;
}

/* Joins n tensors; of SAME the first one stays. */
static bool join_list(struct heft_shaping *list, size_t n, const struct heft_rule_op *op,
                      const uint64_t *args, struct heft_shaping *out, struct heft_error *err)
{
    switch ((enum heft_rule_op_kind)op->kind) {
    case HEFT_RULE_OP_CAT:
        return check_shares(list, op, n, args, err) &&
               heft_shaping_cat(list, n, op->axis, out, err);
    case HEFT_RULE_OP_STACK:
        return heft_shaping_stack(list, n, op->axis, out, err);
    default:
        return heft_shaping_copy(out, &list[0], err);
    }
}

/* Gathers the operands of join k: over the numbers of name k, or over the names of number k. They move to
 * `list`. *odd: the first one that differs in its kind. */
static bool take_operands(struct heft_grid *grid, const struct heft_rule_op *op, uint32_t k,
                          struct heft_shaping *list, uint32_t n, size_t *odd,
                          struct heft_error *err)
{
    bool ok = true;

    for (uint32_t i = 0; i < n; i++) {
        const size_t at = op->level == HEFT_LEVEL_NUMBER ? (size_t)k * grid->n_numbers + i
                                                         : (size_t)i * grid->n_numbers + k;

        list[i] = grid->list[at];
        grid->list[at] = (struct heft_shaping){0};
        if (!ok)
            continue;
        *odd = at;
        ok = same_kind(&list[0], &list[i], err) &&
             (op->kind != HEFT_RULE_OP_SAME || same_shape(&list[0], &list[i], err));
    }
    return ok;
}

/* Pairs of rows that `same` takes for one: part by part, if they were joined before. */
static bool pair_same(struct heft_stage_run *run, const struct heft_group_rows *rows,
                      const struct heft_rule_op *op)
{
    const uint32_t n = rows->n_numbers;

    for (uint32_t i = 0; i < rows->n_names; i++)
        for (uint32_t k = 0; k < n; k++) {
            const uint32_t first = op->level == HEFT_LEVEL_NUMBER ? i * n : k;

            if (first != i * n + k &&
                !heft_stage_pair(run, rows->rows[first], rows->rows[i * n + k], op->line))
                return false;
        }
    return true;
}

static bool join_grid(struct heft_grid *grid, struct heft_stage_run *run,
                      const struct heft_group_rows *rows, const struct heft_rule_op *op)
{
    const bool over_numbers = op->level == HEFT_LEVEL_NUMBER;
    const uint32_t n = over_numbers ? grid->n_numbers : grid->n_names;
    const uint32_t results = over_numbers ? grid->n_names : grid->n_numbers;
    struct heft_shaping *const list = heft_calloc(n + UINT64_C(1), sizeof *list, run->err);
    struct heft_grid joined = {0};
    uint64_t *args = NULL;
    size_t odd = 0;
    bool ok = list && take_args(run, rows->mapping, op, &args) &&
              grid_alloc(&joined, over_numbers ? results : 1, over_numbers ? 1 : results, run->err);

    for (uint32_t k = 0; ok && k < results; k++) {
        ok = take_operands(grid, op, k, list, n, &odd, run->err);
        if (ok)
            odd = 0;
        ok = ok && join_list(list, n, op, args, &joined.list[k], run->err);
        for (uint32_t i = 0; i < n; i++) {
            heft_shaping_release(&list[i]);
            list[i] = (struct heft_shaping){0};
        }
    }
    if (!ok)
        heft_stage_blame(run, op->line, name_of(run, rows, grid, odd));
    heft_free(list);
    heft_grid_release(grid);
    *grid = joined;
    return ok;
}

/* ---- divides -------------------------------------------------------------------------------- */

/* Number of results of a divide. */
static bool count_results(struct heft_grid *grid, struct heft_stage_run *run,
                          const struct heft_remap *mapping, const struct heft_rule_op *op,
                          uint64_t *n)
{
    const struct heft_slot *slot;

    *n = mapping->n_right;
    if (op->level == HEFT_LEVEL_NAMES)
        return true;
    slot = &mapping->slots[mapping->spread];
    if (slot->variable != HEFT_RULES_NONE)
        return heft_variables_value(run->variables, slot->variable, n, run->err);
    if (op->kind == HEFT_RULE_OP_UNSTACK && op->axis < grid->list[0].rank) {
        *n = grid->list[0].shape[op->axis];
        return true;
    }
    return heft_fail(run->err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "the number of {%s} is not known: let $%s = … says it", slot->name,
                     slot->name);
}

static bool divide_one(const struct heft_shaping *s, const struct heft_rule_op *op,
                       const uint64_t *args, uint32_t n, struct heft_shaping *out,
                       struct heft_error *err)
{
    bool ok = true;

    switch ((enum heft_rule_op_kind)op->kind) {
    case HEFT_RULE_OP_SPLIT:
        return heft_shaping_split(s, op->axis, op->n_args > 0 ? args : NULL, n, out, err);
    case HEFT_RULE_OP_UNSTACK:
        return heft_shaping_unstack(s, op->axis, n, out, err);
    default:
        for (uint32_t i = 0; ok && i < n; i++)
            ok = heft_shaping_copy(&out[i], s, err);
        return ok;
    }
}

/* Where result i of tensor k stands in the larger grid. */
static size_t place_of(const struct heft_grid *divided, const struct heft_rule_op *op, uint32_t k,
                       uint32_t i)
{
    return op->level == HEFT_LEVEL_NUMBER ? (size_t)k * divided->n_numbers + i
                                          : (size_t)i * divided->n_numbers + k;
}

static bool divide_grid(struct heft_grid *grid, struct heft_stage_run *run,
                        const struct heft_group_rows *rows, const struct heft_rule_op *op)
{
    const bool to_numbers = op->level == HEFT_LEVEL_NUMBER;
    const uint32_t before = to_numbers ? grid->n_names : grid->n_numbers;
    struct heft_grid divided = {0};
    struct heft_shaping *list = NULL;
    uint64_t *args = NULL, n = 0;
    bool ok =
        count_results(grid, run, rows->mapping, op, &n) && take_args(run, rows->mapping, op, &args);

    if (ok && (n == 0 || n > MOST_TENSORS))
        ok = heft_fail(run->err, HEFT_USAGE, HEFT_NO_OFFSET,
                       "%" PRIu64 " results, expected 1 to %d", n, MOST_TENSORS);
    ok = ok &&
         grid_alloc(&divided, to_numbers ? before : (uint32_t)n, to_numbers ? (uint32_t)n : before,
                    run->err) &&
         (list = heft_calloc((size_t)n + 1, sizeof *list, run->err));
    for (uint32_t k = 0; ok && k < before; k++) {
        ok = divide_one(&grid->list[k], op, args, (uint32_t)n, list, run->err);
        for (uint32_t i = 0; i < n; i++) {
            divided.list[place_of(&divided, op, k, i)] = list[i];
            list[i] = (struct heft_shaping){0};
        }
    }
    if (!ok)
        heft_stage_blame(run, op->line, run->in.items[rows->rows[0]].name);
    heft_free(list);
    heft_grid_release(grid);
    *grid = divided;
    return ok;
}

/* ---- all ops -------------------------------------------------------------------------------- */

static bool is_join(const struct heft_rule_op *op)
{
    return op->kind == HEFT_RULE_OP_CAT || op->kind == HEFT_RULE_OP_STACK ||
           op->kind == HEFT_RULE_OP_SAME;
}

static bool is_divide(const struct heft_rule_op *op)
{
    return op->kind == HEFT_RULE_OP_SPLIT || op->kind == HEFT_RULE_OP_UNSTACK ||
           op->kind == HEFT_RULE_OP_COPY;
}

bool heft_grid_apply(struct heft_grid *grid, struct heft_stage_run *run,
                     const struct heft_group_rows *rows)
{
    bool ok = true;

    for (uint32_t i = 0; ok && i < rows->mapping->n_ops; i++) {
        const struct heft_rule_op *const op = &rows->mapping->ops[i];

        if (op->kind == HEFT_RULE_OP_SAME)
            ok = pair_same(run, rows, op);
        ok = ok && (is_join(op)     ? join_grid(grid, run, rows, op)
                    : is_divide(op) ? divide_grid(grid, run, rows, op)
                                    : apply_each(grid, run, rows, op));
    }
    return ok;
}
