/* rules_apply_groups.c: the rows of one group, put in order, through the ops of their mapping, to results. */
#include <stdlib.h>

#include "rules/rules_apply.h"

/* ---- putting rows in order ------------------------------------------------------------------ */

/* A row of the group, and its place in it. */
struct place {
    uint32_t pattern, row;
    uint64_t number; /* of the gathered placeholder */
};

struct places {
    struct place *list; /* of names on the left, sorted */
    uint32_t n;
    struct place *equal; /* of further names */
    uint32_t n_equal;
};

static int by_place(const void *a, const void *b)
{
    const struct place *const x = a, *const y = b;

    if (x->pattern != y->pattern)
        return x->pattern < y->pattern ? -1 : 1;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static bool list_places(struct heft_stage_run *run, const struct heft_group *group,
                        const struct heft_remap *mapping, struct places *out)
{
    out->list = heft_calloc(group->n + UINT64_C(1), sizeof *out->list, run->err);
    out->equal = heft_calloc(group->n + UINT64_C(1), sizeof *out->equal, run->err);
    if (!out->list || !out->equal)
        return false;
    for (uint32_t row = group->first; row != HEFT_NONE; row = run->taken[row].next) {
        const struct heft_taken *const taken = &run->taken[row];
        const struct place place = {
            taken->by.pattern, row,
            mapping->gathered == HEFT_RULES_NONE ? 0 : taken->values[mapping->gathered].number};

        if (taken->by.is_equal)
            out->equal[out->n_equal++] = place;
        else
            out->list[out->n++] = place;
    }
    qsort(out->list, out->n, sizeof *out->list, by_place);
    return true;
}

/* Name of the row that should be at a place. */
static const char *name_at(struct heft_stage_run *run, const struct heft_group_rows *rows,
                           uint32_t pattern, uint64_t number)
{
    const struct heft_remap *const mapping = rows->mapping;
    struct heft_slot_value *const values =
        heft_arena_zero(&run->scratch, mapping->n_slots + UINT64_C(1), sizeof *values, run->err);
    struct heft_str name;

    if (!values)
        return NULL;
    memcpy(values, rows->group->values, mapping->n_slots * sizeof *values);
    if (mapping->gathered != HEFT_RULES_NONE)
        values[mapping->gathered].number = number;
    return heft_template_make(&mapping->left[pattern].name, mapping->slots, values, &run->scratch,
                              &name, run->err)
               ? name.p
               : NULL;
}

/* " of input file 1" if the numbers of a name are those of files. */
static const char *file_text(struct heft_stage_run *run, const struct heft_pattern *pattern,
                             const struct heft_remap *mapping, uint64_t number)
{
    const bool is_file =
        pattern->file_slot != HEFT_RULES_NONE && pattern->file_slot == mapping->gathered;
    const char *const text =
        is_file ? heft_arena_printf(&run->scratch, run->err, " of input file %" PRIu64, number)
                : "";

    return text ? text : "";
}

static bool refuse_gap(struct heft_stage_run *run, const struct heft_group_rows *rows,
                       uint32_t pattern, uint64_t number)
{
    const struct heft_remap *const mapping = rows->mapping;
    const char *const name = name_at(run, rows, pattern, number);
    const char *const beside = run->in.items[rows->group->first].name.p;

    return name &&
           heft_rules_refuse(run->rules, mapping->left[pattern].line, run->err,
                             "tensor %s%s is missing, which the rule wants beside %s", name,
                             file_text(run, &mapping->left[pattern], mapping, number), beside);
}

static bool refuse_twice(struct heft_stage_run *run, const struct heft_group_rows *rows,
                         const struct place *a, const struct place *b)
{
    return heft_rules_refuse(run->rules, rows->mapping->left[a->pattern].line, run->err,
                             "tensors %s and %s would both be part %" PRIu64 " of one tensor",
                             run->in.items[a->row].name.p, run->in.items[b->row].name.p, a->number);
}

/* Numbers of each name: 0 … n-1, with the same n for all names. Fills rows->rows. */
static bool order_rows(struct heft_stage_run *run, struct heft_group_rows *rows,
                       const struct places *places)
{
    uint64_t n = 0;
    uint32_t at = 0;

    for (uint32_t i = 0; i < places->n; i++)
        n = places->list[i].number >= n ? places->list[i].number + 1 : n;
    n = n > 0 ? n : 1;
    for (uint32_t i = 0; i + 1 < places->n; i++)
        if (places->list[i].pattern == places->list[i + 1].pattern &&
            places->list[i].number == places->list[i + 1].number)
            return refuse_twice(run, rows, &places->list[i], &places->list[i + 1]);
    for (uint32_t pattern = 0; pattern < rows->mapping->n_left; pattern++)
        for (uint64_t number = 0; number < n; number++, at++) {
            if (at >= places->n || places->list[at].pattern != pattern ||
                places->list[at].number != number)
                return refuse_gap(run, rows, pattern, number);
            rows->rows[at] = places->list[at].row;
        }
    rows->n_names = rows->mapping->n_left;
    rows->n_numbers = (uint32_t)n;
    return true;
}

/* Row with the same bytes as a further name: left[0] with the same number. */
static bool pair_equal(struct heft_stage_run *run, const struct heft_group_rows *rows,
                       const struct places *places)
{
    for (uint32_t i = 0; i < places->n_equal; i++) {
        const struct place *const place = &places->equal[i];
        const struct heft_remap *const mapping = rows->mapping;

        if (place->number >= rows->n_numbers)
            return refuse_gap(run, rows, 0, place->number);
        if (!heft_stage_pair(run, rows->rows[place->number], place->row,
                             mapping->equal[place->pattern].line))
            return false;
    }
    return true;
}

/* ---- sizes ---------------------------------------------------------------------------------- */

static bool refuse_sizes(struct heft_stage_run *run, const struct heft_group_rows *rows)
{
    const struct heft_live *const first = &run->in.items[rows->group->first];

    return heft_rules_refuse(
        run->rules, rows->mapping->line, run->err,
        "the shapes of tensor %s and of those that belong to it do not agree, as "
        "the rule wants",
        first->name.p);
}

/* Appends the companions of a row to the pairs. */
static bool add_companions(struct heft_stage_run *run, const struct heft_remap *mapping,
                           uint32_t row, struct heft_shape_pair *pairs, size_t *n)
{
    for (uint32_t i = 0; i < mapping->n_with; i++) {
        struct heft_str name;
        uint32_t found;

        if (!heft_template_make(&mapping->with[i].name, mapping->slots, run->taken[row].values,
                                &run->scratch, &name, run->err))
            return false;
        found = heft_stage_find(run, name, run->in.items[row].number);
        if (found != HEFT_NONE)
            pairs[(*n)++] = (struct heft_shape_pair){
                &mapping->with[i], run->in.items[found].row->shape, run->in.items[found].row->rank};
    }
    return true;
}

/* Binds the names of sizes by the shapes of all rows and companions. */
static bool bind_sizes(struct heft_stage_run *run, const struct heft_group_rows *rows)
{
    const struct heft_remap *const mapping = rows->mapping;
    const size_t n_rows = (size_t)rows->n_names * rows->n_numbers;
    const uint64_t wanted = n_rows * (mapping->n_with + UINT64_C(1)) + 1;
    struct heft_shape_pair *const pairs =
        heft_calloc(heft_min_size(SIZE_MAX, wanted), sizeof *pairs, run->err);
    enum heft_fit fit = HEFT_FIT_YES;
    bool ok = pairs != NULL;
    size_t n = 0;

    memset(run->bindings, 0, mapping->n_sizes * sizeof *run->bindings);
    for (size_t i = 0; ok && i < n_rows; i++) {
        const struct heft_row *const row = run->in.items[rows->rows[i]].row;

        pairs[n++] =
            (struct heft_shape_pair){&mapping->left[i / rows->n_numbers], row->shape, row->rank};
        ok = add_companions(run, mapping, rows->rows[i], pairs, &n);
    }
    ok = ok && heft_sizes_fit(pairs, n, run->bindings, run->variables, &fit, run->err);
    heft_free(pairs);
    return ok && (fit != HEFT_FIT_NO || refuse_sizes(run, rows));
}

/* ---- results -------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* Sources of all rows of the group, without duplicates. */
static bool join_sources(struct heft_stage_run *run, const struct heft_group *group,
                         struct heft_live *out)
{
    uint32_t *list;
    size_t n = 0;

    if (group->n == 1) {
        out->sources = run->in.items[group->first].sources;
        out->n_sources = run->in.items[group->first].n_sources;
        return true;
    }
    for (uint32_t row = group->first; row != HEFT_NONE; row = run->taken[row].next)
        n += run->in.items[row].n_sources;
    list = heft_arena_zero(run->mem, n + 1, sizeof *list, run->err);
    n = 0;
    for (uint32_t row = group->first; list && row != HEFT_NONE; row = run->taken[row].next)
        for (uint32_t i = 0; i < run->in.items[row].n_sources; i++)
            list[n++] = run->in.items[row].sources[i];
    if (!list)
        return false;
    qsort(list, n, sizeof *list, by_number);
    out->sources = list;
    for (size_t i = 0; i < n; i++)
        if (out->n_sources == 0 || list[out->n_sources - 1] != list[i])
            list[out->n_sources++] = list[i];
    return true;
}

static bool make_name(struct heft_stage_run *run, const struct heft_group_rows *rows,
                      const struct heft_pattern *pattern, const struct heft_slot_value *values,
                      struct heft_live *live)
{
    if (!heft_template_make(&pattern->name, rows->mapping->slots, values, run->mem, &live->name,
                            run->err))
        return false;
    live->number = pattern->file_slot == HEFT_RULES_NONE
                       ? 0
                       : (uint32_t)heft_min_u64(values[pattern->file_slot].number, HEFT_NONE);
    return live->number == 0 ||
           heft_rules_refuse(
               run->rules, pattern->line, run->err,
               "tensor %s would be in output file %" PRIu32
               ", but several output files cannot be written; set the number of files to 1",
               live->name.p, live->number);
}

/* Checks shape and dtype of a result. */
static bool check_result(struct heft_stage_run *run, const struct heft_pattern *pattern,
                         const struct heft_live *live)
{
    const struct heft_shape_pair pair = {pattern, live->row->shape, live->row->rank};
    enum heft_fit fit = HEFT_FIT_YES;

    if (pattern->has_shape &&
        !heft_sizes_fit(&pair, 1, run->bindings, run->variables, &fit, run->err))
        return heft_rules_at_tensor(run->err, live->name);
    if (fit == HEFT_FIT_NO)
        return heft_rules_refuse(run->rules, pattern->line, run->err,
                                 "tensor %s has the shape %s, the rule wants %s", live->name.p,
                                 heft_shape_text(run, live->row->shape, live->row->rank),
                                 pattern->shape_text ? pattern->shape_text : "another one");
    return pattern->dtype < 0 || pattern->dtype == (int)live->row->dtype ||
           heft_rules_refuse(run->rules, pattern->line, run->err,
                             "tensor %s is %s, the rule wants %s", live->name.p,
                             heft_dtype_name((enum heft_dtype)live->row->dtype),
                             heft_dtype_name((enum heft_dtype)pattern->dtype));
}

/* Further names, and tensors of zeros, of the first result. */
static bool add_more(struct heft_stage_run *run, const struct heft_group_rows *rows,
                     const struct heft_slot_value *values, struct heft_live live)
{
    const struct heft_remap *const mapping = rows->mapping;
    const struct heft_row *const like = live.row;

    for (uint32_t i = 0; i < mapping->n_also; i++) {
        live.is_also = true;
        if (!make_name(run, rows, &mapping->also[i], values, &live) ||
            !check_result(run, &mapping->also[i], &live) || !heft_live_add(run, &live))
            return false;
    }
    live.is_also = false;
    for (uint32_t i = 0; i < mapping->n_zeros; i++) {
        struct heft_row *const row = heft_arena_zero(run->mem, 1, sizeof *row, run->err);

        if (!row || !make_name(run, rows, &mapping->zeros[i], values, &live))
            return false;
        if (!heft_shaping_zeros(like, run->mem, row, run->err))
            return heft_stage_blame(run, mapping->zeros[i].line, live.name);
        row->name = live.name;
        live.row = live.identity = row;
        if (!check_result(run, &mapping->zeros[i], &live) || !heft_live_add(run, &live))
            return false;
    }
    return true;
}

/* Row of a result: the shaped one, or that of the only row of the group. */
static bool make_row(struct heft_stage_run *run, const struct heft_group_rows *rows,
                     struct heft_shaping *shaped, struct heft_live *live)
{
    struct heft_row *row;

    if (!shaped) {
        live->row = run->in.items[rows->rows[0]].row;
        live->identity = run->in.items[rows->rows[0]].identity;
        return true;
    }
    row = heft_arena_zero(run->mem, 1, sizeof *row, run->err);
    if (!row)
        return false;
    if (!heft_shaping_row(shaped, run->mem, row, run->err))
        return heft_stage_blame(run, rows->mapping->line, live->name);
    row->name = live->name;
    live->row = live->identity = row;
    return true;
}

static bool add_results(struct heft_stage_run *run, const struct heft_group_rows *rows,
                        struct heft_grid *grid)
{
    const struct heft_remap *const mapping = rows->mapping;
    const uint32_t n = mapping->spread == HEFT_RULES_NONE ? 1 : grid->n_numbers;
    struct heft_slot_value *const values = rows->group->values;
    struct heft_live live = {.file = run->rules->file, .line = mapping->line};
    bool ok = join_sources(run, rows->group, &live);

    for (uint32_t number = 0; ok && number < n; number++) {
        if (mapping->spread != HEFT_RULES_NONE)
            values[mapping->spread].number = number;
        for (uint32_t i = 0; ok && i < mapping->n_right; i++) {
            struct heft_shaping *const shaped =
                grid->list ? &grid->list[(size_t)i * grid->n_numbers + number] : NULL;

            live.is_also = false;
            ok = make_name(run, rows, &mapping->right[i], values, &live) &&
                 make_row(run, rows, shaped, &live) &&
                 check_result(run, &mapping->right[i], &live) && heft_live_add(run, &live) &&
                 (i > 0 || add_more(run, rows, values, live));
        }
    }
    return ok;
}

static bool shape_group(struct heft_stage_run *run, const struct heft_group_rows *rows)
{
    struct heft_grid grid = {.n_names = rows->n_names, .n_numbers = rows->n_numbers};
    const bool ok = bind_sizes(run, rows) &&
                    (rows->mapping->n_ops == 0 ||
                     (heft_grid_open(&grid, run, rows) && heft_grid_apply(&grid, run, rows))) &&
                    add_results(run, rows, &grid);

    heft_grid_release(&grid);
    return ok;
}

bool heft_group_run(struct heft_stage_run *run, const struct heft_group *group)
{
    struct heft_group_rows rows = {.mapping = &run->stage->mappings[group->mapping],
                                   .group = group};
    struct places places = {0};
    bool ok;

    rows.rows = heft_calloc(group->n + UINT64_C(1), sizeof *rows.rows, run->err);
    ok = rows.rows && list_places(run, group, rows.mapping, &places) &&
         order_rows(run, &rows, &places) && pair_equal(run, &rows, &places) &&
         shape_group(run, &rows);
    heft_free(places.list);
    heft_free(places.equal);
    heft_free(rows.rows);
    return ok;
}
