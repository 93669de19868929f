/* torch_entries.c: entries (key, value) that the walk gathers before it visits them, and their
 * cost. */
#include "format/torch/pickle/torch_provenance.h"
#include "format/torch/pickle/torch_walk.h"

#define WEIGH_EVERY 256 /* rows or values between two checks of the memory */
/* Bytes for one of each, with its entry in a hash table. */
#define STORAGE_BYTES (sizeof(struct heft_torch_storage) + 32)
#define TEXT_BYTES    (sizeof(struct heft_str) + 16)
#define ROW_BYTES     (sizeof(size_t) + 2 * sizeof(uint32_t))

bool heft_torch_charge(struct heft_torch *t, uint32_t node, uint64_t n, const char *what,
                       struct heft_error *err)
{
    if (t->budget < n)
        return heft_fail(err, HEFT_LIMIT, heft_torch_where(t, node),
                         "more than %" PRIu64 " %s: limits.expansion", t->model->limits.expansion,
                         what);
    t->budget -= n;
    return true;
}

bool heft_torch_spend(struct heft_torch_walk *w, uint32_t node, uint64_t values)
{
    return heft_torch_charge(w->t, node, values, "values besides the tensors", w->err);
}

/* Bytes that the reader holds besides the model. */
static uint64_t bytes_held(const struct heft_torch_walk *w)
{
    const struct heft_torch *t = w->t;

    return t->graph.total + t->scratch.total + t->n_storages * STORAGE_BYTES +
           t->n_texts * TEXT_BYTES + w->cap_entries * sizeof *w->entries +
           w->cap_frames * sizeof *w->frames + w->n_row_cuts * ROW_BYTES +
           w->n_cuts * (sizeof *w->cuts + sizeof *w->cut_keys) +
           w->n_outsiders * sizeof *w->outsiders +
           (t->provenance ? heft_provenance_bytes(t->provenance) : 0) +
           (t->taker ? t->taker->bytes(w) : 0);
}

bool heft_torch_fits(struct heft_torch_walk *w)
{
    w->unweighed = 0;
    heft_model_hold(w->t->model, &w->t->held, bytes_held(w));
    return heft_model_fits(w->t->model, w->err);
}

bool heft_torch_weigh(struct heft_torch_walk *w)
{
    return ++w->unweighed < WEIGH_EVERY || heft_torch_fits(w);
}

bool heft_torch_spend_name(struct heft_torch_walk *w, uint64_t bytes)
{
    if (w->name_bytes < bytes)
        return heft_fail(
            w->err, HEFT_LIMIT, HEFT_NO_OFFSET,
            "the names of tensors and values exceed 16 MiB plus four times the pickle");
    w->name_bytes -= bytes;
    return true;
}

bool heft_torch_add_entry(struct heft_torch_walk *w, uint32_t key, uint32_t value)
{
    if (!heft_grow(&w->entries, &w->cap_entries, w->n_entries, 1, sizeof *w->entries, w->err))
        return false;
    w->entries[w->n_entries++] = (struct heft_torch_entry){.key = key, .value = value};
    return true;
}

/* Limit on entries: each visited or pending entry becomes a tensor or a value, so more than both
 * limits together need not be gathered. */
static bool may_gather(struct heft_torch_walk *w, uint32_t node, uint64_t more)
{
    const struct heft_limits *l = &w->t->model->limits;
    const uint64_t tensors = heft_limit_tensors(l, w->t->model->file_bytes);

    return heft_within(w->n_entries, more,
                       tensors < UINT64_MAX - l->expansion ? tensors + l->expansion : UINT64_MAX) ||
           heft_fail(w->err, HEFT_LIMIT, heft_torch_where(w->t, node),
                     "containers have more than %" PRIu64
                     " entries that are not tensors: limits.expansion",
                     l->expansion);
}

/* Charges for the items of a node before they are scanned; the length of the pickle covers the
 * first scan. */
static bool pay_items(struct heft_torch_walk *w, uint32_t node)
{
    if (w->marks[node] & HEFT_TORCH_MARK_GATHERED)
        return heft_torch_spend(w, node, (uint64_t)heft_torch_count(w->t, node) + 1);
    w->marks[node] |= HEFT_TORCH_MARK_GATHERED;
    return true;
}

bool heft_torch_add_items(struct heft_torch_walk *w, uint32_t node, bool pairs)
{
    struct heft_pickle_iter iter = heft_pickle_items(&w->t->pickle, node);
    const uint32_t n = heft_torch_count(w->t, node) / (pairs ? 2 : 1);
    uint32_t key = HEFT_TORCH_KEY_INDEX, value;

    if (!pay_items(w, node) || !may_gather(w, node, n))
        return false;
    if (!heft_grow(&w->entries, &w->cap_entries, w->n_entries, n, sizeof *w->entries, w->err))
        return false;
    while (heft_pickle_next(&iter, &value)) {
        if (pairs) {
            key = value;
            if (!heft_pickle_next(&iter, &value))
                break; /* the pickle machine only adds complete pairs */
        }
        w->entries[w->n_entries++] = (struct heft_torch_entry){.key = key, .value = value};
    }
    return true;
}

/* Adds [[key, value], (key, value) …], the argument of OrderedDict in old files. */
static bool add_pairs(struct heft_torch_walk *w, uint32_t list)
{
    struct heft_pickle_iter iter = heft_pickle_items(&w->t->pickle, list);
    uint32_t pair;

    if (!pay_items(w, list) || !may_gather(w, list, heft_torch_count(w->t, list)))
        return false;
    while (heft_pickle_next(&iter, &pair)) {
        if (!heft_torch_is_sequence(w->t, pair) || heft_torch_count(w->t, pair) != 2)
            return heft_fail(w->err, HEFT_MALFORMED, heft_torch_where(w->t, list),
                             "a dictionary is made from a list without pairs");
        if (!heft_torch_add_entry(w, heft_torch_item(w->t, pair, 0),
                                  heft_torch_item(w->t, pair, 1)))
            return false;
    }
    return true;
}

bool heft_torch_add_state(struct heft_torch_walk *w, uint32_t state)
{
    const struct heft_torch *t = w->t;
    uint32_t first, second;

    if (heft_torch_is_nothing(t, state))
        return true;
    if (heft_torch_is(t, state, HEFT_PICKLE_DICT))
        return heft_torch_add_items(w, state, true);
    first = heft_torch_item(t, state, 0);
    second = heft_torch_item(t, state, 1);
    if (heft_torch_is(t, state, HEFT_PICKLE_TUPLE) && heft_torch_count(t, state) == 2 &&
        heft_torch_is(t, second, HEFT_PICKLE_DICT) &&
        (heft_torch_is(t, first, HEFT_PICKLE_DICT) || heft_torch_is_nothing(t, first)))
        return heft_torch_add_state(w, heft_torch_is_nothing(t, first) ? HEFT_PICKLE_NIL : first) &&
               heft_torch_add_items(w, second, true);
    return heft_torch_add_entry(w, HEFT_TORCH_KEY_STATE, state);
}

bool heft_torch_add_mapping_argument(struct heft_torch_walk *w, uint32_t node)
{
    if (heft_torch_is_nothing(w->t, node))
        return true;
    if (heft_torch_is(w->t, node, HEFT_PICKLE_DICT))
        return heft_torch_add_items(w, node, true);
    return heft_torch_is_sequence(w->t, node) ? add_pairs(w, node)
                                              : heft_torch_add_entry(w, HEFT_TORCH_KEY_ARGS, node);
}

bool heft_torch_add_mapping(struct heft_torch_walk *w, uint32_t node)
{
    const struct heft_pickle_node *n = heft_torch_node(w->t, node);

    if (heft_torch_is(w->t, node, HEFT_PICKLE_DICT))
        return heft_torch_add_items(w, node, true);
    return heft_torch_add_mapping_argument(w, heft_torch_item(w->t, n->u.call.args, 0)) &&
           heft_torch_add_items(w, node, n->pairs);
}
