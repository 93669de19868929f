/* dcp_values.c: divides the tree of values into objects. */
#include "format/torch/dcp/dcp_values.h"

#include "core/registry.h"
#include "core/select.h"

enum { MOST_DEPTH = 64, NAMES_SHOWN = 8 };

struct level {
    const struct heft_value *next;
    size_t path_n;  /* bytes of the path of the container */
    uint64_t index; /* of the next item */
    bool is_list;
};

struct walk {
    struct heft_plan *plan;
    const struct heft_export_list *exports;
    struct heft_selector *selector;
    const char *bookkeeping; /* key of values that are left out without a note */
    struct heft_strmap names;
    struct level levels[MOST_DEPTH];
    unsigned depth;
    struct heft_dcp_step steps[MOST_DEPTH];
    struct heft_buf path;
    struct heft_dcp_object *list;
    size_t n, cap;
    struct heft_buf left; /* names of values that are not written */
    size_t n_left;
    bool is_partial;
    struct heft_error *err;
};

/* ---- deciding ---------------------------------------------------------------------------------- */

static bool is_list(const struct heft_value *value)
{
    return value->kind == HEFT_VALUE_LIST || value->kind == HEFT_VALUE_TUPLE;
}

/* Whether a list contains a dictionary or a tensor, also within lists. Looks at each item once; the walk
 * calls it for each list on the way down, at most MOST_DEPTH times for an item. */
static bool is_divided(const struct heft_value *value)
{
    const struct heft_value *next[MOST_DEPTH];
    unsigned depth = 0;

    next[depth++] = value->first_child;
    while (depth > 0) {
        const struct heft_value *const v = next[depth - 1];

        if (!v) {
            depth--;
            continue;
        }
        next[depth - 1] = v->next_sibling;
        if (v->kind == HEFT_VALUE_DICT || v->kind == HEFT_VALUE_TENSOR)
            return true;
        if (is_list(v) && depth < MOST_DEPTH)
            next[depth++] = v->first_child;
    }
    return false;
}

static bool leave_out(struct walk *w)
{
    w->is_partial = true;
    if (w->n_left++ < NAMES_SHOWN)
        heft_buf_printf(&w->left, "%s%.*s", w->n_left > 1 ? ", " : "", (int)w->path.n, w->path.p);
    return heft_buf_ok(&w->left, w->err);
}

/* ---- adding an object -------------------------------------------------------------------------- */

/* Path of the object: of a renamed one only its name. */
static bool copy_path(struct walk *w, struct heft_dcp_object *object, bool is_renamed)
{
    const uint32_t n = is_renamed ? 1 : w->depth;
    struct heft_dcp_step *const steps = heft_arena_zero(w->plan->mem, n, sizeof *steps, w->err);

    if (!steps)
        return false;
    if (is_renamed)
        steps[0].key = object->name;
    else
        memcpy(steps, w->steps, n * sizeof *steps);
    object->path = (struct heft_dcp_path){steps, n};
    return true;
}

static bool add_object(struct walk *w, const struct heft_value *value)
{
    const struct heft_plan_request *const request = &w->plan->request;
    struct heft_dcp_object object = {.name = {NULL, w->path.n}};
    struct heft_str old;
    uint32_t found;

    object.name.p = heft_arena_text(w->plan->mem, (struct heft_str){w->path.p, w->path.n}, w->err);
    if (!object.name.p)
        return false;
    if (!heft_selector_takes(w->selector, object.name)) {
        w->is_partial = true;
        return true;
    }
    old = object.name;
    if (!heft_dcp_can_pickle(value))
        return leave_out(w);
    if (!heft_rename_all(&object.name, 1, request->rules, request->n_rules, w->plan->mem, w->err) ||
        !heft_strmap_add(&w->names, object.name, 0, &found, w->err))
        return false;
    if (found != HEFT_MAP_NONE)
        return leave_out(w);
    w->is_partial = w->is_partial || !heft_str_eq(old, object.name);
    if (!copy_path(w, &object, !heft_str_eq(old, object.name)) ||
        !heft_dcp_pickle(value, w->plan->mem, &object.pickle, w->err) ||
        !heft_grow(&w->list, &w->cap, w->n, 1, sizeof *w->list, w->err))
        return false;
    w->list[w->n++] = object;
    return true;
}

/* ---- the walk ---------------------------------------------------------------------------------- */

/* Appends the key or index of the value that is visited to the path. */
static bool enter_path(struct walk *w, const struct level *level, const struct heft_value *value)
{
    heft_buf_text(&w->path, level->path_n ? "." : "");
    if (level->is_list)
        heft_buf_u64(&w->path, level->index);
    else
        heft_buf_str(&w->path, (struct heft_str){value->key, value->key_len});
    w->steps[w->depth - 1] =
        (struct heft_dcp_step){{value->key, value->key_len}, level->index, level->is_list};
    return heft_buf_ok(&w->path, w->err);
}

static bool visit_value(struct walk *w, const struct level *level, const struct heft_value *value)
{
    const bool is_dict = value->kind == HEFT_VALUE_DICT;

    if (value->kind == HEFT_VALUE_TENSOR ||
        (!level->is_list && w->bookkeeping && strcmp(value->key, w->bookkeeping) == 0))
        return true;
    if (!enter_path(w, level, value))
        return false;
    if (!is_dict && !(is_list(value) && is_divided(value)))
        return add_object(w, value);
    if (w->depth == MOST_DEPTH)
        return leave_out(w);
    w->levels[w->depth++] = (struct level){value->first_child, w->path.n, 0, !is_dict};
    return !value->more || leave_out(w);
}

static bool walk_values(struct walk *w, const struct heft_value *root)
{
    w->levels[w->depth++] = (struct level){root->first_child, 0, 0, false};
    while (w->depth > 0) {
        struct level *const level = &w->levels[w->depth - 1];
        const struct heft_value *const value = level->next;
        const struct level now = *level;

        w->path.n = level->path_n;
        if (!value) {
            w->depth--;
            continue;
        }
        level->next = value->next_sibling;
        level->index++;
        if (!visit_value(w, &now, value))
            return false;
    }
    return true;
}

static bool note_left(struct walk *w)
{
    struct heft_str names;

    if (w->n_left > NAMES_SHOWN)
        heft_buf_printf(&w->left, " and %zu more", w->n_left - NAMES_SHOWN);
    return heft_buf_take(&w->left, w->plan->mem, &names, w->err) &&
           (w->n_left == 0 ||
            heft_plan_note(
                w->plan,
                heft_arena_printf(w->plan->mem, w->err, "left out, not tensors: %s", names.p),
                w->err));
}

static bool keep_list(struct walk *w, struct heft_dcp_objects *out)
{
    out->list = heft_arena_zero(w->plan->mem, w->n + 1, sizeof *out->list, w->err);
    if (!out->list)
        return false;
    if (w->n > 0)
        memcpy(out->list, w->list, w->n * sizeof *w->list);
    out->n = w->n;
    out->is_partial = w->is_partial;
    return true;
}

static bool begin_walk(struct walk *w)
{
    const struct heft_plan_request *const request = &w->plan->request;
    const struct heft_conventions *const known = w->exports->model->formats->conventions;
    uint32_t found;

    w->bookkeeping = known ? known->bookkeeping_value : NULL;
    w->selector = heft_selector_new(NULL, request->rules, request->n_rules, w->err);
    for (size_t i = 0; w->selector && i < w->exports->n_items; i++)
        if (!heft_strmap_add(&w->names, w->exports->items[i].name, 0, &found, w->err))
            return false;
    return w->selector != NULL;
}

bool heft_dcp_list_objects(struct heft_dcp_objects *out, struct heft_plan *plan,
                           const struct heft_export_list *exports, struct heft_error *err)
{
    const char *const root = plan->request.root ? plan->request.root : "";
    const struct heft_value *const from = heft_value_below(exports->model->values, root);
    struct walk w = {.plan = plan, .exports = exports, .err = err};
    bool ok;

    *out = (struct heft_dcp_objects){0};
    if (!from || from->kind != HEFT_VALUE_DICT)
        return true;
    ok = begin_walk(&w) && walk_values(&w, from) && note_left(&w) && keep_list(&w, out);
    heft_selector_free(w.selector);
    heft_strmap_release(&w.names);
    heft_buf_release(&w.path);
    heft_buf_release(&w.left);
    heft_free(w.list);
    return ok;
}
