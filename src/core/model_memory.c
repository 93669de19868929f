/* model_memory.c: the memory of a model and of its readers, as a whole.
 *
 * Each limit of struct heft_limits bounds things of one kind: values of a pickle, tensors, values
 * that are printed. A file may come near several of them at once, so the bytes of all kinds are
 * bounded together as well, by heft_limit_memory:
 *
 *     arena │ rows │ storages │ claims │ …      the model, until it is closed
 *     pickles and their nodes, directories      `reading`, until their reader has read its file
 *     exports, ops, chunks, scratch             a conversion: heft_model_budget, shared by its arenas
 *
 * Arrays count by their entries: they grow by half, and the pages of unused capacity are never
 * touched. */
#include "core/model.h"

uint64_t heft_model_bytes(const struct heft_model *m)
{
    return m->mem.total + m->n_rows * sizeof *m->rows + m->n_storages * sizeof *m->storages +
           m->n_claims * sizeof *m->claims + m->n_notes * sizeof *m->notes +
           m->n_unreadable * sizeof *m->unreadable + m->n_attachments * sizeof *m->attachments +
           (m->n_metadata + m->n_ties + m->n_doubts) * sizeof *m->metadata;
}

static uint64_t bytes_held(const struct heft_model *model)
{
    return heft_model_bytes(model) + model->reading;
}

uint64_t heft_model_room(const struct heft_model *model)
{
    const uint64_t most = heft_limit_memory(&model->limits, model->file_bytes);
    const uint64_t held = bytes_held(model);

    return most > held ? most - held : 1;
}

struct heft_budget heft_model_budget(const struct heft_model *model)
{
    return (struct heft_budget){.most = heft_limit_memory(&model->limits, model->file_bytes),
                                .held = bytes_held(model)};
}

bool heft_model_fits(const struct heft_model *model, struct heft_error *err)
{
    const struct heft_budget budget = heft_model_budget(model);

    return heft_budget_allows(&budget, 0, err);
}
