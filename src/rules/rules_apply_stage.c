/* rules_apply_stage.c: one stage of a program: renames, then each row through the mappings. */
#include "core/select.h"
#include "rules/rules_apply.h"

/* ---- helpers of all files ------------------------------------------------------------------- */

bool heft_live_add(struct heft_stage_run *run, const struct heft_live *live)
{
    if (!heft_grow(&run->out.items, &run->out.cap, run->out.n, 1, sizeof *run->out.items, run->err))
        return false;
    run->out.items[run->out.n++] = *live;
    return true;
}

/* Errors of the rules begin with the file already; those of tensors and sizes do not. */
static bool has_place(const struct heft_rules *rules, const struct heft_error *err)
{
    return heft_str_starts(heft_str_of(err->text), heft_str_of(rules->file)) &&
           err->text[strlen(rules->file)] == ':';
}

bool heft_stage_blame(const struct heft_stage_run *run, uint32_t line, struct heft_str name)
{
    const struct heft_error found = *run->err;

    if (has_place(run->rules, &found) || found.code == HEFT_NOMEM || found.code == HEFT_IO)
        return false;
    heft_rules_refuse(run->rules, line, run->err, "tensor %.300s: %s", name.n ? name.p : "",
                      found.text);
    run->err->code = found.code;
    return false;
}

const char *heft_shape_text(struct heft_stage_run *run, const uint64_t *shape, unsigned rank)
{
    struct heft_error ignored = {0};
    struct heft_buf text = {0};
    struct heft_str out;

    heft_buf_char(&text, '[');
    for (unsigned d = 0; d < rank; d++) {
        heft_buf_text(&text, d ? ", " : "");
        heft_buf_u64(&text, shape[d]);
    }
    heft_buf_char(&text, ']');
    return heft_buf_take(&text, &run->scratch, &out, &ignored) ? out.p : "";
}

static bool same_shape(const struct heft_row *a, const struct heft_row *b)
{
    for (unsigned d = 0; d < a->rank && a->rank == b->rank; d++)
        if (a->shape[d] != b->shape[d])
            return false;
    return a->rank == b->rank;
}

static bool refuse_pair(struct heft_stage_run *run, const struct heft_live *a,
                        const struct heft_live *b, uint32_t line)
{
    return heft_rules_refuse(run->rules, line, run->err,
                             "tensors %s and %s must be equal, but they are %s %s and %s %s",
                             a->name.p, b->name.p, heft_dtype_name((enum heft_dtype)a->row->dtype),
                             heft_shape_text(run, a->row->shape, a->row->rank),
                             heft_dtype_name((enum heft_dtype)b->row->dtype),
                             heft_shape_text(run, b->row->shape, b->row->rank));
}

/* The row under the name that it has now, for messages; `other` may have the same, in another file. */
static const struct heft_row *named_row(struct heft_stage_run *run, const struct heft_live *live,
                                        const struct heft_live *other)
{
    struct heft_row *const row = heft_arena_zero(run->mem, 1, sizeof *row, run->err);

    if (!row)
        return NULL;
    *row = *live->row;
    row->name = live->name;
    if (heft_str_eq(live->name, other->name)) {
        row->name.p =
            heft_arena_printf(run->mem, run->err, "%s@%" PRIu32, live->name.p, live->number);
        row->name.n = row->name.p ? strlen(row->name.p) : 0;
    }
    return row->name.p ? row : NULL;
}

bool heft_stage_pair(struct heft_stage_run *run, uint32_t a, uint32_t b, uint32_t line)
{
    const struct heft_live *const x = &run->in.items[a], *const y = &run->in.items[b];
    struct heft_equal_rows pair;

    if (x->identity == y->identity)
        return true;
    if (x->row->dtype != y->row->dtype || !same_shape(x->row, y->row))
        return refuse_pair(run, x, y, line);
    pair.a = named_row(run, x, y);
    pair.b = pair.a ? named_row(run, y, x) : NULL;
    pair.where = heft_arena_printf(run->mem, run->err, "%s:%" PRIu32, run->rules->file, line);
    if (!pair.b || !pair.where ||
        !heft_grow(run->equal, run->cap_equal, *run->n_equal, 1, sizeof pair, run->err))
        return false;
    (*run->equal)[(*run->n_equal)++] = pair;
    return true;
}

/* ---- renames -------------------------------------------------------------------------------- */

static bool rename_rows(struct heft_stage_run *run, const struct heft_rename *rename)
{
    uint64_t n = 0;

    for (size_t i = 0; i < run->in.n; i++) {
        struct heft_live *const live = &run->in.items[i];
        bool matches;

        if (!heft_rename_one(&live->name, rename->regex, rename->replacement, &matches, run->mem,
                             run->err))
            return false;
        if (!matches)
            continue;
        if (live->name.n == 0)
            return heft_rules_refuse(run->rules, rename->line, run->err,
                                     "tensor %s would have no name", live->row->name.p);
        live->line = rename->line;
        live->file = run->rules->file;
        n++;
    }
    run->n_changed += n;
    return n > 0 || rename->optional ||
           heft_rules_refuse(run->rules, rename->line, run->err,
                             "no tensor has a name that %s matches; ? before rename allows that",
                             rename->pattern);
}

/* ---- results -------------------------------------------------------------------------------- */

/* Results of all rows, in the order of their first source. */
static bool collect_results(struct heft_stage_run *run)
{
    for (uint32_t i = 0; i < run->in.n; i++) {
        const struct heft_taken *const taken = &run->taken[i];
        const struct heft_remap *const mapping = &run->stage->mappings[taken->by.mapping];

        if (mapping->kind == HEFT_REMAP_DROP)
            continue;
        if (mapping->kind == HEFT_REMAP_KEEP) {
            struct heft_live live = run->in.items[i];

            live.line = live.line ? live.line : mapping->line;
            live.file = live.file ? live.file : run->rules->file;
            if (!heft_live_add(run, &live))
                return false;
        } else if (run->groups[taken->group].first == i &&
                   !heft_group_run(run, &run->groups[taken->group])) {
            return false;
        }
    }
    return true;
}

/* A mapping that took nothing, although the name of a tensor suits. */
static bool refuse_near(struct heft_stage_run *run, const struct heft_remap *mapping, uint32_t row)
{
    const struct heft_live *const live = &run->in.items[row];

    return heft_rules_refuse(
        run->rules, mapping->line, run->err,
        "no tensor for %s: %s is %s %s, which does not suit; ? before the rule allows that",
        mapping->left[0].name.text.p, live->name.p,
        heft_dtype_name((enum heft_dtype)live->row->dtype),
        heft_shape_text(run, live->row->shape, live->row->rank));
}

/* Refuses mappings that took nothing. */
static bool check_uses(struct heft_stage_run *run)
{
    for (uint32_t i = 0; i < run->stage->n_mappings; i++) {
        const struct heft_remap *const mapping = &run->stage->mappings[i];

        if (run->uses[i] > 0 || mapping->kind != HEFT_REMAP_MOVE || mapping->optional)
            continue;
        return run->near[i] != HEFT_NONE
                   ? refuse_near(run, mapping, run->near[i])
                   : heft_rules_refuse(run->rules, mapping->line, run->err,
                                       "no tensor for %s; ? before the rule allows that",
                                       mapping->left[0].name.text.p);
    }
    return true;
}

/* Names of results are unique among those of one file. */
static bool check_names(struct heft_stage_run *run)
{
    struct heft_strmap names = {0};
    bool ok = heft_strmap_reserve(&names, run->out.n, run->err);

    for (uint32_t i = 0; ok && i < run->out.n; i++) {
        const struct heft_live *const live = &run->out.items[i];
        uint32_t found;

        ok = heft_strmap_add(&names, live->name, i, &found, run->err);
        if (ok && found != HEFT_MAP_NONE && run->out.items[found].number == live->number)
            ok = heft_rules_refuse(run->rules, live->line, run->err,
                                   "a second tensor %s, the first one is made in line %" PRIu32,
                                   live->name.p, run->out.items[found].line);
    }
    heft_strmap_release(&names);
    return ok;
}

static void release_stage(struct heft_stage_run *run)
{
    heft_strmap_release(&run->names);
    heft_strmap_release(&run->keys);
    heft_taker_index_release(&run->index);
    heft_free(run->groups);
    heft_arena_release(&run->scratch);
    heft_free(run->in.items);
    run->in = run->out;
    run->out = (struct heft_live_list){0};
}

bool heft_stage_apply(struct heft_stage_run *run)
{
    bool ok = true;

    for (uint32_t i = 0; ok && i < run->stage->n_renames; i++)
        ok = rename_rows(run, &run->stage->renames[i]);
    if (!ok || run->stage->n_mappings == 0)
        return ok;
    run->scratch.budget = run->mem->budget;
    ok = heft_stage_match(run) && check_uses(run) && collect_results(run) && check_names(run);
    run->n_changed += run->n_groups;
    release_stage(run);
    return ok;
}
