/* dcp_paths.c: the path of each tensor in the nested dictionaries of its file, for planner_data. A row has only a
 * name, "model.0.weight", which does not tell ("model", "0.weight") from ("model", 0, "weight"). So the pickle is
 * walked a second time, as torch_keep.c does, and the open frames of the walk are the steps. */
#include "core/registry.h"
#include "format/torch/dcp/dcp_values.h"
#include "format/torch/write/torch_keep.h"

struct pather {
    struct heft_tree_taker taker; /* called by the walk; must be the first member */
    const struct heft_export_list *exports;
    struct heft_arena *mem;
    struct heft_dcp_path *paths; /* of the items, which are the rows in their order */
    bool is_unknown;             /* of at least one */
    bool was_asked;
};

static bool do_nothing(struct heft_torch_walk *w)
{
    (void)w;
    return true;
}

static uint64_t no_bytes(const struct heft_torch_walk *w)
{
    (void)w;
    return 0;
}

static bool note_end(struct heft_torch *t, struct heft_error *err)
{
    (void)err;
    ((struct pather *)t->taker)->was_asked = true;
    return true;
}

/* The step from frame i to what is in it, whose path ends at `end`. */
static bool make_step(const struct heft_torch_walk *w, size_t i, size_t end, struct heft_str name,
                      struct heft_dcp_step *out)
{
    const struct heft_torch_frame *const f = &w->frames[i];
    const size_t begin = f->path + (f->segments > 0);
    const bool is_list = f->value->kind == HEFT_VALUE_LIST || f->value->kind == HEFT_VALUE_TUPLE;

    if ((!is_list && f->value->kind != HEFT_VALUE_DICT) || f->is_tensor || begin > end ||
        end > name.n)
        return false;
    *out = (struct heft_dcp_step){.key = {name.p + begin, end - begin}, .is_index = is_list};
    for (size_t k = 0; is_list && k < out->key.n; k++) {
        if (out->key.p[k] < '0' || out->key.p[k] > '9' || k > 9)
            return false;
        out->index = out->index * 10 + (uint64_t)(out->key.p[k] - '0');
    }
    return true;
}

static bool take_tensor(struct heft_torch_walk *w, uint32_t row)
{
    struct pather *const p = (struct pather *)w->t->taker;
    const struct heft_str path = {w->path.p, w->path.n};
    struct heft_dcp_step *steps;
    struct heft_str name;

    p->is_unknown = p->is_unknown || row >= p->exports->n_items || w->n_frames == 0;
    if (p->is_unknown)
        return true;
    name = p->exports->items[row].name;
    steps = heft_arena_zero(p->mem, w->n_frames, sizeof *steps, w->err);
    if (!steps)
        return false;
    p->is_unknown = !heft_str_eq(name, path);
    for (size_t i = 0; i < w->n_frames && !p->is_unknown; i++)
        p->is_unknown = !make_step(w, i, i + 1 < w->n_frames ? w->frames[i + 1].path : w->path.n,
                                   name, &steps[i]);
    p->paths[row] = (struct heft_dcp_path){steps, (uint32_t)w->n_frames};
    return true;
}

/* Whether every row is written under its own name. */
static bool is_all(const struct heft_export_list *exports)
{
    const struct heft_model *const model = exports->model;

    for (size_t i = 0; i < exports->n_items; i++)
        if (exports->items[i].row != &model->rows[i] ||
            !heft_str_eq(exports->items[i].name, model->rows[i].name))
            return false;
    return exports->n_items == model->n_rows;
}

bool heft_dcp_find_paths(const struct heft_dcp_path **paths, struct heft_plan *plan,
                         const struct heft_export_list *exports,
                         const struct heft_dcp_objects *objects, struct heft_error *err)
{
    const struct heft_model *const model = exports->model;
    const struct heft_format *const format = model->n_files ? model->sources[0].format : NULL;
    struct pather p = {.taker = {.open = do_nothing,
                                 .tensor = take_tensor,
                                 .value = do_nothing,
                                 .close = do_nothing,
                                 .bytes = no_bytes,
                                 .take = note_end},
                       .exports = exports,
                       .mem = plan->mem};

    *paths = NULL;
    if (objects->is_partial || !model->has_tree || model->n_files != 1 || model->salvage ||
        !format || !format->keeps_tree || (plan->request.root && *plan->request.root) ||
        !is_all(exports))
        return true;
    p.paths = heft_arena_zero(plan->mem, exports->n_items + 1, sizeof *p.paths, err);
    if (!p.paths ||
        !heft_torch_read_again(model, &p.taker, plan->mem->budget->held, &p.was_asked, err))
        return false;
    for (size_t i = 0; i < exports->n_items; i++)
        p.is_unknown = p.is_unknown || p.paths[i].n == 0;
    *paths = p.is_unknown ? NULL : p.paths;
    return true;
}
