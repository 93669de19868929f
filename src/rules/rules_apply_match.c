/* rules_apply_match.c: each row of a stage goes to the first mapping whose name, shape, dtype and companions
 * suit, and to the group of its placeholders' values. */
#include "core/file_names.h"
#include "rules/rules_apply.h"

/* ---- names of the stage -------------------------------------------------------------------- */

/* Maps names to rows; HEFT_USAGE if two rows of one input file have the same. */
static bool map_names(struct heft_stage_run *run)
{
    struct heft_live *const items = run->in.items;
    bool ok = heft_strmap_reserve(&run->names, run->in.n, run->err);

    run->same_name =
        heft_arena_zero(&run->scratch, run->in.n + 1, sizeof *run->same_name, run->err);
    for (uint32_t i = 0; ok && run->same_name && i < run->in.n; i++) {
        uint32_t found;

        run->same_name[i] = HEFT_NONE;
        ok = heft_strmap_add(&run->names, items[i].name, i, &found, run->err);
        if (!ok || found == HEFT_MAP_NONE)
            continue;
        if (heft_stage_find(run, items[i].name, items[i].number) != HEFT_NONE)
            return heft_rules_refuse(run->rules, items[i].line, run->err,
                                     "a second tensor %s, names must be unique", items[i].name.p);
        run->same_name[i] = run->same_name[found];
        run->same_name[found] = i;
    }
    return ok && run->same_name;
}

uint32_t heft_stage_find(const struct heft_stage_run *run, struct heft_str name, uint32_t number)
{
    uint32_t i = heft_strmap_get(&run->names, name);

    while (i != HEFT_MAP_NONE && run->in.items[i].number != number)
        i = run->same_name[i];
    return i;
}

/* ---- whether a name of a mapping suits a row ------------------------------------------------ */

static bool suits_dtype(const struct heft_pattern *pattern, const struct heft_row *row)
{
    return pattern->dtype < 0 || pattern->dtype == (int)row->dtype;
}

/* Finds the companions of a row, and appends them to run->pairs. *fits: whether they exist. */
static bool find_companions(struct heft_stage_run *run, const struct heft_remap *mapping,
                            const struct heft_live *live, const struct heft_slot_value *values,
                            size_t *n_pairs, bool *fits)
{
    for (uint32_t i = 0; *fits && i < mapping->n_with; i++) {
        const struct heft_pattern *const with = &mapping->with[i];
        struct heft_str name;
        uint32_t found;

        if (!heft_template_make(&with->name, mapping->slots, values, &run->scratch, &name,
                                run->err))
            return false;
        found = heft_stage_find(run, name, live->number);
        *fits = found != HEFT_NONE && suits_dtype(with, run->in.items[found].row);
        if (*fits)
            run->pairs[(*n_pairs)++] = (struct heft_shape_pair){
                with, run->in.items[found].row->shape, run->in.items[found].row->rank};
    }
    return true;
}

/* *names: whether the name suits; *fits: all of it. Fills values. */
static bool try_taker(struct heft_stage_run *run, const struct heft_taker *taker,
                      const struct heft_live *live, struct heft_slot_value *values, bool *names,
                      bool *fits)
{
    const struct heft_remap *const mapping = &run->stage->mappings[taker->mapping];
    const struct heft_pattern *const pattern = heft_taker_pattern(run->stage, taker);
    enum heft_fit fit = HEFT_FIT_YES;
    size_t n = 1;

    *fits = false;
    if (!heft_template_match(&pattern->name, mapping->slots, live->name, values, names, run->err))
        return false;
    if (!*names)
        return true;
    if (pattern->file_slot != HEFT_RULES_NONE)
        values[pattern->file_slot] = (struct heft_slot_value){.number = live->number};
    *fits = suits_dtype(pattern, live->row);
    run->pairs[0] = (struct heft_shape_pair){pattern, live->row->shape, live->row->rank};
    if (*fits && !taker->is_equal && !find_companions(run, mapping, live, values, &n, fits))
        return false;
    if (!*fits || (n == 1 && !pattern->has_shape))
        return true;
    memset(run->bindings, 0, mapping->n_sizes * sizeof *run->bindings);
    if (!heft_sizes_fit(run->pairs, n, run->bindings, run->variables, &fit, run->err))
        return false;
    *fits = fit != HEFT_FIT_NO;
    return true;
}

/* ---- groups --------------------------------------------------------------------------------- */

static void put_number(struct heft_buf *key, uint64_t number)
{
    heft_buf_put(key, &number, sizeof number);
}

/* Text that is equal for rows of one group: the mapping and the values of its common placeholders. */
static bool make_key(struct heft_stage_run *run, const struct heft_taken *taken,
                     struct heft_str *out)
{
    const struct heft_remap *const mapping = &run->stage->mappings[taken->by.mapping];
    struct heft_buf key = {0};

    put_number(&key, taken->by.mapping);
    for (uint32_t i = 0; i < mapping->n_slots; i++) {
        const struct heft_slot_value *const value = &taken->values[i];

        if (mapping->slots[i].use != HEFT_SLOT_COMMON)
            continue;
        put_number(&key, mapping->slots[i].kind == HEFT_SLOT_ANY ? value->text.n : value->number);
        if (mapping->slots[i].kind == HEFT_SLOT_ANY)
            heft_buf_str(&key, value->text);
    }
    return heft_buf_take(&key, &run->scratch, out, run->err);
}

/* Whether each row is a group of its own: one name makes all of the mapping's results. */
static bool is_single(const struct heft_remap *mapping)
{
    return mapping->n_left == 1 && mapping->n_equal == 0 && mapping->gathered == HEFT_RULES_NONE;
}

/* Number of the group of a row; run->n_groups: it has none yet. */
static bool find_group(struct heft_stage_run *run, const struct heft_taken *taken, uint32_t *found)
{
    struct heft_str key;

    *found = HEFT_MAP_NONE;
    if (!is_single(&run->stage->mappings[taken->by.mapping]) &&
        (!make_key(run, taken, &key) ||
         !heft_strmap_add(&run->keys, key, (uint32_t)run->n_groups, found, run->err)))
        return false;
    *found = *found == HEFT_MAP_NONE ? (uint32_t)run->n_groups : *found;
    return true;
}

static bool join_group(struct heft_stage_run *run, uint32_t row)
{
    struct heft_taken *const taken = &run->taken[row];
    struct heft_group *group;
    uint32_t found;

    if (!find_group(run, taken, &found))
        return false;
    if (found == run->n_groups) {
        if (!heft_grow(&run->groups, &run->cap_groups, run->n_groups, 1, sizeof *run->groups,
                       run->err))
            return false;
        run->groups[run->n_groups++] =
            (struct heft_group){taken->by.mapping, row, row, 0, taken->values};
    } else {
        run->taken[run->groups[found].last].next = row;
    }
    group = &run->groups[found];
    group->last = row;
    group->n++;
    taken->group = found;
    return true;
}

/* ---- all rows ------------------------------------------------------------------------------- */

static bool take_row(struct heft_stage_run *run, uint32_t row, const struct heft_taker *taker,
                     const struct heft_slot_value *values)
{
    const struct heft_remap *const mapping = &run->stage->mappings[taker->mapping];
    struct heft_taken *const taken = &run->taken[row];

    *taken = (struct heft_taken){*taker, true, NULL, HEFT_NONE, HEFT_NONE};
    run->uses[taker->mapping]++;
    if (mapping->kind == HEFT_REMAP_DROP) {
        heft_list_name(&run->dropped, run->n_dropped++, run->in.items[row].name);
        return true;
    }
    if (mapping->kind == HEFT_REMAP_KEEP)
        return true;
    taken->values =
        heft_arena_zero(&run->scratch, mapping->n_slots + UINT64_C(1), sizeof *values, run->err);
    if (!taken->values)
        return false;
    memcpy(taken->values, values, mapping->n_slots * sizeof *values);
    return join_group(run, row);
}

/* A row that no mapping takes, and the first one whose name suits. */
struct missed {
    uint32_t row, n;
    const struct heft_pattern *near;
    const struct heft_remap *near_mapping;
};

static bool match_row(struct heft_stage_run *run, uint32_t row, struct heft_slot_value *values,
                      struct missed *missed)
{
    const struct heft_live *const live = &run->in.items[row];
    struct heft_taker_index *const index = &run->index;
    const struct heft_taker *near = NULL;

    heft_taker_index_find(index, run->stage, live->name);
    for (size_t i = 0; i < index->n_found; i++) {
        const struct heft_taker *const taker = &index->list[index->found[i]];
        bool names, fits;

        if (!try_taker(run, taker, live, values, &names, &fits))
            return heft_rules_at_tensor(run->err, live->name);
        if (fits)
            return take_row(run, row, taker, values);
        if (names && run->near[taker->mapping] == HEFT_NONE)
            run->near[taker->mapping] = row;
        if (names && !near)
            near = taker;
    }
    if (missed->n++ == 0) {
        missed->row = row;
        missed->near = near ? heft_taker_pattern(run->stage, near) : NULL;
        missed->near_mapping = near ? &run->stage->mappings[near->mapping] : NULL;
    }
    return true;
}

static const char *more_text(struct heft_stage_run *run, uint32_t n)
{
    const char *const text =
        n > 1 ? heft_arena_printf(&run->scratch, run->err, " (and %" PRIu32 " more)", n - 1) : "";

    return text ? text : "";
}

static bool refuse_missed(struct heft_stage_run *run, const struct missed *missed)
{
    const struct heft_live *const live = &run->in.items[missed->row];
    const struct heft_remap *const last = &run->stage->mappings[run->stage->n_mappings - 1];
    const char *const more = more_text(run, missed->n);
    const char *const shape = heft_shape_text(run, live->row->shape, live->row->rank);

    if (!missed->near)
        return heft_rules_refuse(
            run->rules, last->line, run->err,
            "no rule takes tensor %s%s; add one, such as keep {rest*} or drop %s", live->name.p,
            more, live->name.p);
    return heft_rules_refuse(
        run->rules, missed->near->line, run->err,
        "no rule takes tensor %s, %s %s%s: its name suits this one, which wants %s%s%s%s",
        live->name.p, heft_dtype_name((enum heft_dtype)live->row->dtype), shape, more,
        missed->near->dtype >= 0 ? heft_dtype_name((enum heft_dtype)missed->near->dtype) : "",
        missed->near->dtype >= 0 && missed->near->has_shape ? " " : "",
        missed->near->has_shape && missed->near->shape_text ? missed->near->shape_text : "",
        missed->near_mapping->n_with > 0 ? " and other tensors beside it" : "");
}

static bool take_room(struct heft_stage_run *run, struct heft_slot_value **values)
{
    size_t slots = 0, sizes = 0, with = 0;

    for (uint32_t i = 0; i < run->stage->n_mappings; i++) {
        const struct heft_remap *const mapping = &run->stage->mappings[i];

        slots = mapping->n_slots > slots ? mapping->n_slots : slots;
        sizes = mapping->n_sizes > sizes ? mapping->n_sizes : sizes;
        with = mapping->n_with > with ? mapping->n_with : with;
    }
    *values = heft_arena_zero(&run->scratch, slots + 1, sizeof **values, run->err);
    run->bindings = heft_arena_zero(&run->scratch, sizes + 1, sizeof *run->bindings, run->err);
    run->pairs = heft_arena_zero(&run->scratch, with + 2, sizeof *run->pairs, run->err);
    run->taken = heft_arena_zero(&run->scratch, run->in.n + 1, sizeof *run->taken, run->err);
    run->uses = heft_arena_zero(&run->scratch, run->stage->n_mappings + UINT64_C(1),
                                sizeof *run->uses, run->err);
    run->near = heft_arena_zero(&run->scratch, run->stage->n_mappings + UINT64_C(1),
                                sizeof *run->near, run->err);
    if (!(*values && run->bindings && run->pairs && run->taken && run->uses && run->near))
        return false;
    memset(run->near, 0xff, run->stage->n_mappings * sizeof *run->near); /* HEFT_NONE */
    return true;
}

bool heft_stage_match(struct heft_stage_run *run)
{
    struct heft_slot_value *values;
    struct missed missed = {0};
    bool ok = map_names(run) && take_room(run, &values) &&
              heft_taker_index_make(&run->index, run->stage, &run->scratch, run->err);

    for (uint32_t i = 0; ok && i < run->in.n; i++)
        ok = match_row(run, i, values, &missed);
    return ok && (missed.n == 0 || refuse_missed(run, &missed));
}
