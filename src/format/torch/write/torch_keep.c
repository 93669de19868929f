/* torch_keep.c: opens the source of a conversion a second time, takes over the graph of its pickle,
 * and builds the new pickle and the list of its storages from it.
 *
 *     plan ─► heft_keep_plan ─► open (as before, with a taker) ─► take ─► out->pickle
 *
 * The rows of the second reading must equal those of the model; this is checked. */
#include "format/torch/write/torch_keep.h"

#include "core/registry.h"

#define ITEM_BYTES 256 /* of a tensor in the lists of views and pieces, which grow by half */

/* ---- order of the storages, new root ----------------------------------------------------- */

/* Sorts the pieces into the order in which the pickle first refers to them. */
static bool put_in_turn(struct heft_torch_out *out, struct heft_error *err)
{
    struct heft_torch_piece *sorted =
        heft_arena_zero(&out->scratch, out->n_pieces + 1, sizeof *sorted, err);

    for (size_t i = 0; sorted && i < out->n_pieces; i++) {
        if (out->turn[i] == HEFT_NONE)
            return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                             "a storage of the pickle is not used by any value");
        sorted[out->turn[i]] = out->pieces[i];
    }
    for (size_t i = 0; sorted && i < out->n_items; i++)
        out->piece_of[i] = out->turn[out->piece_of[i]];
    out->pieces = sorted;
    return sorted != NULL;
}

static bool find_top(struct heft_keep *k, const struct heft_torch *t, struct heft_error *err)
{
    if (!k->has_top && *k->root == '\0') { /* the root is a tensor, or a value without parts */
        k->top = t->pickle.root;
        k->has_top = true;
    }
    return k->has_top ||
           heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "there is no container at \"%s\"", k->root);
}

/* For each node: whether it was seen, its memo index, whether it is open. For each entry: its fate
 * and new key. For each exported tensor: its place in the plan. The new pickle, about as long as the old one. */
static uint64_t bytes_to_take(const struct heft_torch_walk *w)
{
    const struct heft_keep *k = (const struct heft_keep *)w->t->taker;

    return w->t->pickle.count * UINT64_C(6) + k->cap_fates + k->cap_renamed * sizeof *k->renamed +
           w->t->pickle.length + k->out->exports->n_items * ITEM_BYTES;
}

static bool take_graph(struct heft_torch *t, struct heft_error *err)
{
    struct heft_keep *k = (struct heft_keep *)t->taker;
    struct heft_torch_out *out = k->out;

    k->was_asked = true;
    return find_top(k, t, err) && heft_keep_find_views(k, t, err) &&
           heft_torch_out_group(out, err) && heft_keep_write(k, t, err) && put_in_turn(out, err);
}

/* ---- reading the source again ------------------------------------------------------------- */

static bool same_rows(const struct heft_model *a, const struct heft_model *b,
                      struct heft_error *err)
{
    bool same = a->n_rows == b->n_rows && a->n_storages == b->n_storages;

    for (size_t i = 0; same && i < a->n_rows; i++)
        same = heft_str_eq(a->rows[i].name, b->rows[i].name) &&
               a->rows[i].storage == b->rows[i].storage && a->rows[i].offset == b->rows[i].offset &&
               a->rows[i].dtype == b->rows[i].dtype && a->rows[i].object == b->rows[i].object;
    return same || heft_fail(err, HEFT_IO, HEFT_NO_OFFSET, "the file changed while it was read");
}

static bool map_rows(struct heft_keep *k, struct heft_error *err)
{
    const struct heft_export_list *exports = k->out->exports;
    const size_t n = exports->model->n_rows;

    k->item_of_row = heft_arena_alloc(&k->scratch, (n + 1) * sizeof *k->item_of_row, err);
    if (!k->item_of_row)
        return false;
    memset(k->item_of_row, 0xff, (n + 1) * sizeof *k->item_of_row); /* every byte 0xff: HEFT_NONE */
    for (uint32_t i = 0; i < exports->n_items; i++)
        k->item_of_row[exports->items[i].row - exports->model->rows] = i;
    return true;
}

/* Reads the file again through the source that is open, so that both readings see the same file. */
bool heft_torch_read_again(const struct heft_model *model, struct heft_tree_taker *taker,
                           uint64_t held, const bool *was_asked, struct heft_error *err)
{
    const struct heft_model_source *from = &model->sources[0];
    const struct heft_torch_request request = {.taker = taker};
    struct heft_source source;
    struct heft_model again;
    uint32_t index;
    bool ok;

    heft_model_init(&again, &model->limits, model->formats);
    again.request = heft_torch_ask(&request);
    again.reading = held; /* both are in memory */
    ok = heft_source_open_slice(&source, &from->source, 0, from->source.size, from->path, err) &&
         heft_model_add_file(&again, &source, from->path, &index, err) &&
         heft_registry_open_source(&again, index, from->format->name, err) &&
         same_rows(model, &again, err) &&
         (*was_asked || heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                                  "its reader does not provide the tree of values"));
    heft_model_release(&again);
    return ok;
}

static bool note_names(struct heft_plan *plan, struct heft_buf *names, size_t n, const char *what,
                       struct heft_error *err)
{
    struct heft_str text;

    if (n == 0)
        return true;
    return heft_buf_take(names, plan->mem, &text, err) &&
           heft_plan_note(
               plan,
               heft_arena_printf(plan->mem, err, "%s: %s%s", what, text.p + 2, n > 8 ? ", …" : ""),
               err);
}

/* Notes storages within nested streams: torch creates them before it has read their keys, which
 * follow the pickle. */
static bool note_nested(struct heft_plan *plan, size_t n, struct heft_error *err)
{
    return n == 0 || heft_plan_note(plan,
                                    heft_arena_printf(plan->mem, err,
                                                      "torch cannot load nested tensors (%zu) from "
                                                      "the format before 1.6; write torch instead",
                                                      n),
                                    err);
}

static bool has_renames(const struct heft_plan_request *request)
{
    for (size_t i = 0; i < request->n_rules; i++)
        if (request->rules[i].kind == HEFT_RULE_RENAME)
            return true;
    return false;
}

static void release_keep(struct heft_keep *k)
{
    heft_selector_free(k->selector);
    heft_arena_release(&k->scratch);
    heft_free(k->fates);
    heft_free(k->renamed);
    heft_free(k->frames);
    heft_free(k->changes);
    heft_free(k->keys);
    heft_free(k->views);
    heft_u32map_release(&k->changed);
    heft_u32map_release(&k->view_of);
    heft_u32map_release(&k->item_of);
    heft_buf_release(&k->whole);
    heft_buf_release(&k->uncast);
}

bool heft_keep_plan(struct heft_torch_out *out, enum heft_torch_style style, struct heft_error *err)
{
    const struct heft_plan_request *request = &out->plan->request;
    struct heft_keep k = {.taker = {.open = heft_keep_open,
                                    .tensor = heft_keep_tensor,
                                    .value = heft_keep_value,
                                    .close = heft_keep_close,
                                    .bytes = bytes_to_take,
                                    .take = take_graph},
                          .out = out,
                          .scratch = {.budget = out->scratch.budget},
                          .style = style,
                          .root = request->root ? request->root : "",
                          .renames = has_renames(request)};
    bool ok;

    k.selector = heft_selector_new(NULL, request->rules, request->n_rules, err);
    ok = k.selector && map_rows(&k, err) &&
         heft_torch_read_again(out->exports->model, &k.taker, out->scratch.budget->held,
                               &k.was_asked, err) &&
         note_names(out->plan, &k.whole, k.n_whole,
                    "kept whole, because a list or object cannot be divided, although a part is "
                    "not selected",
                    err) &&
         note_names(out->plan, &k.uncast, k.n_uncast, "not cast: numpy arrays are copied unchanged",
                    err) &&
         note_nested(out->plan, k.n_nested, err);
    release_keep(&k);
    return ok;
}
