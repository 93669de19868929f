/* torch_names.c: rows of the walk and their names: the keys of the path, joined by dots.
 *
 *     {"model": {"a.b": T}}   →   model.a.b
 *
 * Two paths can give one name ("a.b" → c, a → "b.c"): that is an error that shows both paths. */
#include "format/torch/pickle/torch_walk.h"

/* The key of the entry that a frame is visiting. */
static uint32_t key_of_frame(const struct heft_torch_walk *w, size_t frame)
{
    return w->entries[w->frames[frame].next - 1].key;
}

/* Records the segments of a row's path, to be shown if another path gives the same name, and the
 * node the row was made from. */
static bool keep_cuts(struct heft_torch_walk *w, uint32_t node)
{
    if (!heft_grow(&w->row_cuts, &w->cap_row_cuts, w->n_row_cuts, 1, sizeof *w->row_cuts, w->err))
        return false;
    if (!heft_grow(&w->row_nodes, &w->cap_row_nodes, w->n_row_cuts, 1, sizeof *w->row_nodes,
                   w->err))
        return false;
    if (!heft_grow(&w->row_keys, &w->cap_row_keys, w->n_row_cuts, 1, sizeof *w->row_keys, w->err))
        return false;
    w->row_nodes[w->n_row_cuts] = node;
    w->row_keys[w->n_row_cuts] = key_of_frame(w, w->n_frames - 1);
    w->row_cuts[w->n_row_cuts++] = w->n_cuts;
    for (size_t i = 1; i < w->n_frames; i++) {
        if (!heft_grow(&w->cuts, &w->cap_cuts, w->n_cuts, 1, sizeof *w->cuts, w->err))
            return false;
        if (!heft_grow(&w->cut_keys, &w->cap_cut_keys, w->n_cuts, 1, sizeof *w->cut_keys, w->err))
            return false;
        w->cut_keys[w->n_cuts] = key_of_frame(w, i - 1);
        w->cuts[w->n_cuts++] =
            (uint32_t)w->frames[i].path; /* fits: names are limited far below 4 GiB */
    }
    w->is_deep |= w->n_frames > 1;
    return true;
}

bool heft_torch_add_row(struct heft_torch_walk *w, uint32_t node, struct heft_torch_made *made,
                        struct heft_str *name)
{
    const char *copy;

    if (!heft_torch_spend_name(w, w->path.n) || !heft_torch_weigh(w))
        return false;
    copy = heft_arena_text(&w->t->model->mem, (struct heft_str){w->path.p, w->path.n}, w->err);
    if (!copy)
        return false;
    *name = made->row.name = (struct heft_str){copy, w->path.n};
    return heft_model_add_row(w->t->model, &made->row, w->err) && keep_cuts(w, node);
}

static struct heft_str row_name(const struct heft_torch_walk *w, size_t row)
{
    return w->t->model->rows[row].name;
}

/* Formats a key as "0 (a str)", to distinguish a text from another key that looks like it. */
static void put_segment(const struct heft_torch_walk *w, struct heft_str text, uint32_t key,
                        bool with_kind, struct heft_buf *out)
{
    heft_buf_put(out, text.p, text.n);
    if (with_kind && heft_torch_is_node(key))
        heft_buf_printf(out, " (%s)", heft_pickle_kind_name(heft_torch_node(w->t, key)->kind));
    else if (with_kind)
        heft_buf_text(out, " (an index)");
}

/* Formats the segments of a row's path: "model / layer.weight". */
static void put_path(const struct heft_torch_walk *w, size_t row, size_t begin, bool with_kind,
                     struct heft_buf *out)
{
    const struct heft_str name = row_name(w, row);
    const size_t k = row - begin;
    const size_t end = k + 1 < w->n_row_cuts ? w->row_cuts[k + 1] : w->n_cuts;
    size_t from = 0;

    out->n = 0;
    for (size_t i = w->row_cuts[k]; i < end; i++) {
        put_segment(w, (struct heft_str){name.p + from, w->cuts[i] - from}, w->cut_keys[i],
                    with_kind, out);
        heft_buf_text(out, " / ");
        from = w->cuts[i] + (w->cuts[i] < name.n && name.p[w->cuts[i]] == '.');
    }
    put_segment(w, (struct heft_str){name.p + from, name.n - from}, w->row_keys[k], with_kind, out);
    heft_buf_char(out, '\0');
}

static bool same_name(struct heft_torch_walk *w, size_t row, size_t other, size_t begin)
{
    const struct heft_model *model = w->t->model;
    struct heft_buf a = {0}, b = {0};
    bool ok;

    for (int with_kind = 0; with_kind < 2; with_kind++) {
        put_path(w, other, begin, with_kind, &a);
        put_path(w, row, begin, with_kind, &b);
        if (a.failed || b.failed || strcmp(a.p, b.p) != 0)
            break;
    }
    ok = heft_buf_ok(&a, w->err) && heft_buf_ok(&b, w->err);
    if (ok) {
        heft_fail(w->err, HEFT_MALFORMED, model->storages[model->rows[row].storage].off,
                  "two paths result in this name: %.100s and %.100s", a.p, b.p);
        heft_error_about(w->err, "tensor", row_name(w, row));
    }
    heft_buf_release(&a);
    heft_buf_release(&b);
    return false;
}

/* Names can only collide if a key contains a dot or is not a text. */
bool heft_torch_check_names(struct heft_torch_walk *w, size_t begin)
{
    struct heft_strmap names = {0};
    uint32_t other = HEFT_MAP_NONE;
    bool ok = true;

    if (!w->is_ambiguous && !(w->is_deep && w->has_dot))
        return true;
    for (size_t i = begin; ok && i < w->t->model->n_rows; i++)
        ok = heft_strmap_add(&names, row_name(w, i), (uint32_t)i, &other, w->err) &&
             (other == HEFT_MAP_NONE || same_name(w, i, other, begin));
    heft_strmap_release(&names);
    return ok;
}

/* ---- rows of TorchScript ---- */

bool heft_torch_remember_row(struct heft_torch *t, uint32_t node, struct heft_error *err)
{
    return !t->is_script || heft_u32map_get(&t->row_of, node) != HEFT_MAP_NONE ||
           heft_u32map_set(&t->row_of, node, (uint32_t)(t->model->n_rows - 1), err);
}

bool heft_torch_has_row(const struct heft_torch *t, uint32_t node, struct heft_str *name)
{
    const uint32_t row = t->is_script ? heft_u32map_get(&t->row_of, node) : HEFT_MAP_NONE;

    if (row == HEFT_MAP_NONE)
        return false;
    *name = t->model->rows[row].name;
    return true;
}
