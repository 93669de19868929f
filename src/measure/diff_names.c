/* diff_names.c: lists and matches the names of two checkpoints. */
#include "measure/diff_names.h"

#include "core/select.h"

/* A side while it is listed. After its tensors and blobs, the list has its unreadable tensors. */
struct listing {
    const struct heft_model *model;
    struct heft_diff_names *names;
    const struct heft_diff_choice *choice;
    size_t n_readable;
    bool is_ruled; /* root and renaming have been applied */
};

static const char *root_of(const struct listing *l)
{
    return l->is_ruled ? NULL : l->choice->root;
}

void heft_diff_names_release(struct heft_diff_names *names)
{
    heft_free(names->list);
    heft_arena_release(&names->mem);
    *names = (struct heft_diff_names){0};
}

/* ---- listing ----------------------------------------------------------------------------- */

static void add_name(struct listing *l, const char *root, struct heft_str name, size_t index,
                     bool is_blob)
{
    struct heft_diff_name *const to = &l->names->list[l->names->n];

    *to = (struct heft_diff_name){.index = (uint32_t)index, /* rows and blobs are numbered by u32 */
                                  .partner = HEFT_NONE,
                                  .is_blob = is_blob};
    l->names->n += heft_name_below(name, root, &to->name);
}

/* Adds recorded ties whose kept tensor exists, and whose name is not that of a tensor. */
static void add_ties(struct listing *l, const char *root)
{
    const struct heft_model *const model = l->model;

    for (size_t i = 0; i < model->n_ties; i++) {
        const uint32_t kept = heft_model_row(model, model->ties[i].value);

        if (kept != HEFT_NONE && heft_model_row(model, model->ties[i].key) == HEFT_NONE)
            add_name(l, root, model->ties[i].key, kept, false);
    }
}

static void add_all(struct listing *l, const char *root)
{
    const struct heft_model *const model = l->model;

    l->names->n = 0;
    for (size_t i = 0; i < model->n_rows; i++)
        add_name(l, root, model->rows[i].name, i, false);
    add_ties(l, root);
    l->names->n_tensors = l->names->n;
    for (size_t i = 0; i < model->n_blobs; i++)
        add_name(l, root, model->blobs[i].name, i, true);
    l->n_readable = l->names->n;
    for (size_t i = 0; i < model->n_unreadable; i++)
        add_name(l, root, model->unreadable[i].name, i, false);
}

static bool list_below(struct listing *l, struct heft_error *err)
{
    const struct heft_model *const model = l->model;
    const size_t most = model->n_rows + model->n_ties + model->n_blobs + model->n_unreadable;

    l->names->list = heft_calloc(most + 1, sizeof *l->names->list, err);
    if (!l->names->list)
        return false;
    add_all(l, root_of(l));
    l->names->is_whole = root_of(l) && l->names->n == 0 && most > 0;
    return true;
}

/* Applies the root where it exists; HEFT_USAGE if neither side has it. */
static bool settle_root(struct listing *a, struct listing *b, struct heft_error *err)
{
    if (a->names->n == 0 && b->names->n == 0 && (a->names->is_whole || b->names->is_whole))
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "no tensor is below \"%s\"",
                         a->choice->root);
    if (a->names->is_whole)
        add_all(a, NULL);
    if (b->names->is_whole)
        add_all(b, NULL);
    return true;
}

/* ---- renaming, selecting ----------------------------------------------------------------- */

static bool has_rule(const struct heft_diff_choice *choice, enum heft_rule_kind kind)
{
    for (size_t i = 0; i < choice->n_rules; i++)
        if (choice->rules[i].kind == kind)
            return true;
    return false;
}

static bool rename_names(struct listing *l, struct heft_error *err)
{
    struct heft_diff_name *const list = l->names->list;
    const size_t n = l->names->n;
    struct heft_str *names;
    bool ok;

    if (l->is_ruled || !has_rule(l->choice, HEFT_RULE_RENAME))
        return true;
    names = heft_calloc(n + 1, sizeof *names, err);
    for (size_t i = 0; names && i < n; i++)
        names[i] = list[i].name;
    ok = names && heft_rename_counting(names, n, l->choice->rules, l->choice->n_rules,
                                       l->choice->uses, &l->names->mem, err);
    for (size_t i = 0; ok && i < n; i++)
        list[i].name = names[i];
    heft_free(names);
    return ok;
}

/* Removes names that are not selected. */
static void keep_selected(struct listing *l, const struct heft_selector *selector)
{
    struct heft_diff_names *const names = l->names;
    const size_t tensors = names->n_tensors, readable = l->n_readable, n = names->n;

    names->n = 0;
    for (size_t i = 0; i < n; i++) {
        if (l->choice->uses)
            heft_selector_count(selector, names->list[i].name, l->choice->uses);
        if (heft_selector_takes(selector, names->list[i].name)) {
            names->list[names->n++] = names->list[i];
            continue;
        }
        names->n_tensors -= i < tensors;
        l->n_readable -= i < readable;
    }
}

static bool select_names(struct listing *l, struct heft_error *err)
{
    struct heft_selector *selector;

    if (!has_rule(l->choice, HEFT_RULE_GLOB) && !has_rule(l->choice, HEFT_RULE_REGEX))
        return true;
    selector = heft_selector_new(NULL, l->choice->rules, l->choice->n_rules, err);
    if (selector)
        keep_selected(l, selector);
    heft_selector_free(selector);
    return selector != NULL;
}

static bool refuse_unreadable(struct listing *l, struct heft_error *err)
{
    const struct heft_unreadable *lost;

    if (l->names->n == l->n_readable)
        return true;
    lost = &l->model->unreadable[l->names->list[l->n_readable].index];
    heft_fail(err, HEFT_UNSUPPORTED, lost->offset, "%s; leave it out with the rule '!NAME'",
              lost->reason);
    heft_error_about(err, "tensor", lost->name);
    return heft_error_file(err, l->model->sources[lost->source].path);
}

/* ---- matching ---------------------------------------------------------------------------- */

static struct heft_str name_in_file(const struct listing *l, const struct heft_diff_name *name)
{
    return name->is_blob ? l->model->blobs[name->index].name : l->model->rows[name->index].name;
}

/* Adds the names [first, end) to a map; HEFT_USAGE if two are equal. */
static bool map_names(struct heft_strmap *map, const struct listing *l, size_t first, size_t end,
                      struct heft_error *err)
{
    const struct heft_diff_name *const list = l->names->list + first;
    const size_t n = end - first;
    uint32_t found = HEFT_MAP_NONE;
    size_t twice = n;

    if (!heft_strmap_reserve(map, n, err) ||
        (n > 0 && !heft_strmap_add_column(map, &list->name, sizeof *list, n, (uint32_t)first,
                                          &twice, &found, err)))
        return false;
    if (twice == n)
        return true;
    heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "%s and %s would both be called %s",
              name_in_file(l, &l->names->list[found]).p, name_in_file(l, &list[twice]).p,
              list[twice].name.p);
    return heft_error_file(err, l->model->sources[0].path);
}

/* Whether the names of a side are unique; those of the file are after validation. */
static bool check_names(const struct listing *l, size_t first, size_t end, struct heft_error *err)
{
    struct heft_strmap map = {0};
    bool ok;

    if (!l->choice->root && !has_rule(l->choice, HEFT_RULE_RENAME))
        return true;
    ok = map_names(&map, l, first, end, err);
    heft_strmap_release(&map);
    return ok;
}

/* Names [first, end) of the list of b, and a map of them that is filled when it is needed. */
struct index {
    const struct listing *b;
    size_t first, end;
    size_t next; /* the name after the last one that was found */
    struct heft_strmap map;
    bool is_filled;
};

/* Finds a name; HEFT_NONE if it is not there. Two checkpoints of one model have their names in one
 * order, mostly: the next name is tried before the map. */
static bool find_name(struct index *index, struct heft_str name, uint32_t *at,
                      struct heft_error *err)
{
    if (index->next < index->end && heft_str_eq(index->b->names->list[index->next].name, name)) {
        *at = (uint32_t)index->next;
    } else {
        if (!index->is_filled && !map_names(&index->map, index->b, index->first, index->end, err))
            return false;
        index->is_filled = true;
        *at = heft_strmap_get(&index->map, name);
    }
    if (*at != HEFT_NONE)
        index->next = (size_t)*at + 1;
    return true;
}

/* Matches the names [first, end) of a. */
static bool match_names(const struct listing *a, size_t first, size_t end, struct index *index,
                        struct heft_error *err)
{
    for (size_t i = first; i < end; i++) {
        struct heft_diff_name *const name = &a->names->list[i];

        if (!find_name(index, name->name, &name->partner, err))
            return false;
        if (name->partner != HEFT_NONE)
            index->b->names->list[name->partner].partner = (uint32_t)i;
    }
    return true;
}

static bool match_kind(const struct listing *a, size_t first_a, size_t end_a,
                       const struct listing *b, size_t first_b, size_t end_b,
                       struct heft_error *err)
{
    struct index index = {.b = b, .first = first_b, .end = end_b, .next = first_b};
    const bool ok = check_names(a, first_a, end_a, err) && check_names(b, first_b, end_b, err) &&
                    match_names(a, first_a, end_a, &index, err);

    heft_strmap_release(&index.map);
    return ok;
}

bool heft_diff_match(struct heft_diff_names *names_a, const struct heft_model *model_a,
                     struct heft_diff_names *names_b, const struct heft_model *model_b,
                     const struct heft_diff_choice *choice, struct heft_error *err)
{
    struct listing a = {model_a, names_a, choice, 0, choice->is_ruled};
    struct listing b = {model_b, names_b, choice, 0, false};

    return list_below(&a, err) && list_below(&b, err) && settle_root(&a, &b, err) &&
           rename_names(&a, err) && select_names(&a, err) && select_names(&b, err) &&
           refuse_unreadable(&a, err) && refuse_unreadable(&b, err) &&
           match_kind(&a, 0, names_a->n_tensors, &b, 0, names_b->n_tensors, err) &&
           match_kind(&a, names_a->n_tensors, names_a->n, &b, names_b->n_tensors, names_b->n, err);
}
