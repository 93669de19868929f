/* torch_graph.c: runs one pickle and looks up the meaning of its names and persistent ids. */
#include "format/torch/pickle/torch_parts.h"

#include <stdlib.h>

/* ---- release ----------------------------------------------------------------------------- */

void heft_torch_release(struct heft_torch *t)
{
    if (t->model)
        heft_model_hold(t->model, &t->held, 0);
    heft_strmap_release(&t->keys);
    heft_strmap_release(&t->lost);
    heft_u32map_release(&t->raw);
    heft_u32map_release(&t->by_text);
    heft_u32map_release(&t->by_bytes);
    heft_u32map_release(&t->row_of);
    heft_u32map_release(&t->by_stream);
    heft_free(t->nested);
    heft_free(t->storages);
    heft_free(t->spans);
    heft_free(t->texts);
    heft_arena_release(&t->graph);
    heft_arena_release(&t->scratch);
}

/* ---- running the pickle ------------------------------------------------------------------ */

static uint32_t meaning_of(const struct heft_torch *t, uint32_t global)
{
    const uint32_t module = heft_torch_node(t, global)->module;

    return heft_torch_number(heft_torch_lookup(heft_pickle_text(&t->pickle, module),
                                               heft_pickle_text(&t->pickle, global)));
}

/* The next global or persistent id from node `i` on, or the number of nodes. */
static uint32_t next_meaning(const struct heft_pickle *pickle, uint32_t i)
{
    const struct heft_pickle_node *node = pickle->nodes + i, *end = pickle->nodes + pickle->count;

    while (node < end && (node->kind < HEFT_PICKLE_GLOBAL || node->kind == HEFT_PICKLE_CALL))
        node++;
    return (uint32_t)(node - pickle->nodes);
}

static bool salvage_storage(struct heft_torch *t, uint32_t id, struct heft_error *err)
{
    struct heft_error found = {0};

    if (t->container->storage(t, id, &found))
        return true;
    if (heft_model_forgives(t->model, &found))
        return heft_torch_lose_storage(t, id, &found, err);
    *err = found;
    return false;
}

static bool find_storage(struct heft_torch *t, uint32_t id, struct heft_error *err)
{
    return (t->model->salvage ? salvage_storage : t->container->storage)(t, id, err);
}

/* One pass is enough: a persistent id is created after the class it refers to. */
static bool find_meanings(struct heft_torch *t, struct heft_error *err)
{
    uint32_t i = next_meaning(&t->pickle, 0);
    bool ok = true;

    for (; ok && i < t->pickle.count; i = next_meaning(&t->pickle, i + 1)) {
        if (heft_torch_is(t, i, HEFT_PICKLE_GLOBAL))
            t->meanings[i] = meaning_of(t, i);
        else
            ok = find_storage(t, i, err);
    }
    return ok;
}

bool heft_torch_run(struct heft_torch *t, struct heft_bytes data, struct heft_error *err)
{
    const struct heft_limits *l = &t->model->limits;
    const struct heft_pickle_limits limits = {.opcodes = l->opcodes,
                                              .nodes = heft_limit_nodes(l, t->model->file_bytes),
                                              .bytes = heft_model_room(t->model),
                                              .bare = t->is_script};

    if (t->model->salvage ? !heft_torch_run_damaged(t, data, &limits, err)
                          : !heft_pickle_run(&t->pickle, data, t->base, &limits, &t->graph, err))
        return false;
    return heft_torch_look_up(t, err);
}

bool heft_torch_look_up(struct heft_torch *t, struct heft_error *err)
{
    t->meanings = heft_arena_alloc(&t->graph, t->pickle.count * sizeof *t->meanings, err);
    heft_model_hold(t->model, &t->held, t->graph.total);
    return t->meanings && find_meanings(t, err);
}

/* ---- claims ------------------------------------------------------------------------------ */

static bool note_pickle(struct heft_torch *t, struct heft_error *err)
{
    const size_t extra = t->pickle.data.n - t->pickle.length;
    const uint64_t at = t->base == HEFT_NO_OFFSET ? t->pickle_at : t->base + t->pickle.length;

    if (extra && !t->broken &&
        !heft_model_note(t->model, HEFT_FINDING, t->source, at, err,
                         "%zu bytes after the pickle's STOP", extra))
        return false;
    return t->pickle.left_over == 0 ||
           heft_model_note(t->model, HEFT_NOTE, t->source, at, err,
                           "the pickle leaves %" PRIu32 " value%s on its stack",
                           t->pickle.left_over, t->pickle.left_over == 1 ? "" : "s");
}

static int compare_spans(const void *a, const void *b)
{
    const struct heft_torch_span *x = a, *y = b;

    return (x->off > y->off) - (x->off < y->off);
}

static bool claim_until(struct heft_torch *t, uint64_t off, uint64_t end, struct heft_error *err)
{
    return off >= end || heft_model_claim_of(t->model, t->source, off, end - off, "pickle ",
                                             heft_str_of(t->what), err);
}

bool heft_torch_claim_pickle(struct heft_torch *t, struct heft_error *err)
{
    const uint64_t end = t->pickle_at + t->pickle_packed;
    const uint64_t stop = t->base == HEFT_NO_OFFSET ? end : t->base + t->pickle.length;
    uint64_t at = t->pickle_at;

    if (!note_pickle(t, err))
        return false;
    if (t->n_spans)
        qsort(t->spans, t->n_spans, sizeof *t->spans, compare_spans);
    /* While salvaging, bytes that could not be interpreted may be listed twice. */
    for (size_t i = 0; i < t->n_spans; i++) {
        if (!claim_until(t, at, t->spans[i].off, err))
            return false;
        at = heft_max_u64(at, t->spans[i].off + t->spans[i].len);
    }
    return claim_until(t, at, stop, err) &&
           (end == stop || heft_model_claim(t->model, t->source, stop, end - stop,
                                            "bytes after the pickle's STOP", err));
}
