/* torch_damage.c: truncated pickles and lost storages, for salvage: keeps what is complete and
 * reports the rest. Only if model->salvage is set. */
#include "format/torch/pickle/torch_parts.h"

bool heft_torch_lose_storage(struct heft_torch *t, uint32_t id, const struct heft_error *found,
                             struct heft_error *err)
{
    struct heft_torch_storage s = {0};
    struct heft_error ignored = {0};
    uint32_t more, index;
    bool is_meta;

    if (!heft_torch_read_persid(t, id, &s, &is_meta, &more, &ignored))
        s = (struct heft_torch_storage){.key = HEFT_STR("")}; /* all lost ids share one node */
    if (!heft_strmap_add(&t->lost, s.key, (uint32_t)t->n_storages, &index, err))
        return false;
    t->meanings[id] = index;
    if (index != HEFT_MAP_NONE)
        return true;
    s.storage = HEFT_NONE;
    s.lost = heft_model_reason(t->model, found, err);
    return s.lost && heft_torch_add_storage(t, id, &s, err);
}

bool heft_torch_run_damaged(struct heft_torch *t, struct heft_bytes data,
                            const struct heft_pickle_limits *limits, struct heft_error *err)
{
    struct heft_error why = {0};
    const char *what;

    if (!heft_pickle_salvage(&t->pickle, data, t->base, limits, &t->graph, &why, err))
        return false;
    if (why.code == HEFT_OK)
        return true;
    t->broken = true;
    what = heft_arena_printf(&t->scratch, err,
                             "%s is truncated: everything after that point is lost", t->what);
    return what && heft_model_damage(t->model, t->source, what, &why, err);
}
