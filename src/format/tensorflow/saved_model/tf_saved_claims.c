/* tf_saved_claims.c: claims each range of a document, for `explain` and for finding unclaimed
 * bytes.
 *
 * The document is divided where a field of another kind begins, down to the nodes and functions of
 * a graph. Constants that are rows claim their own bytes, which are left out:
 *
 *     │ SavedModel │ information │ nodes of the graph ░░ constant ░░ nodes … │ functions │ saver │ … */
#include "format/tensorflow/saved_model/tf_saved.h"

#include <stdlib.h>

static int by_offset(const void *a, const void *b)
{
    const struct heft_storage *const x = *(const struct heft_storage *const *)a;
    const struct heft_storage *const y = *(const struct heft_storage *const *)b;

    return (x->off > y->off) - (x->off < y->off);
}

/* The storages within the document, sorted by offset. */
static const struct heft_storage **find_storages(struct heft_tf_saving *s, size_t *n)
{
    const struct heft_model *const model = s->model;
    const struct heft_storage **const list =
        heft_alloc((model->n_storages + 1) * sizeof *list, s->err);

    *n = 0;
    for (size_t i = 0; list && i < model->n_storages; i++)
        if (model->storages[i].source == s->source && model->storages[i].packed)
            list[(*n)++] = &model->storages[i];
    if (list && *n)
        qsort(list, *n, sizeof *list, by_offset);
    return list;
}

static bool claim_range(struct heft_tf_saving *s, uint64_t begin, uint64_t end, const char *what)
{
    return begin >= end || heft_model_claim(s->model, s->source, begin, end - begin, what, s->err);
}

static bool claim_parts(struct heft_tf_saving *s, const struct heft_storage **storages, size_t n)
{
    const struct heft_tf_parts *const parts = &s->saved->parts;
    uint64_t at = 0;
    size_t k = 0;
    bool ok = true;

    for (size_t i = 0; ok && i < parts->n; i++) {
        const uint64_t end = i + 1 < parts->n ? parts->list[i + 1].off : s->saved->doc.size;

        for (; ok && k < n && storages[k]->off < end; k++) {
            ok = claim_range(s, at, storages[k]->off, parts->list[i].what);
            at = storages[k]->off + storages[k]->packed;
        }
        ok = ok && claim_range(s, at, end, parts->list[i].what);
        at = at > end ? at : end;
    }
    return ok;
}

bool heft_tf_saved_claims(struct heft_tf_saving *s)
{
    size_t n;
    const struct heft_storage **const storages = find_storages(s, &n);
    const bool ok = storages && claim_parts(s, storages, n);

    heft_free(storages);
    return ok;
}
