/* tf_bundle_rest.c: bytes of a bundle's data files that no entry refers to. Zeros between tensors
 * are alignment padding; anything else may be a tensor of another index and is reported. */
#include <stdlib.h>

#include "format/tensorflow/bundle/tf_bundle.h"

/* Most bytes read per bundle in search of padding. Bytes beyond that are taken for data, so that
 * listing a sparse file of terabytes stays fast. */
#define MOST_READ (64ULL << 20)

struct extent {
    uint64_t off, end;
};

struct rest {
    struct heft_tf_bundle *b;
    const struct heft_tf_shard *shard;
    uint64_t may_read;
    uint64_t bytes, places,
        first; /* unreferenced ranges of this data file: their bytes, their number, the first
                  offset */
};

static int compare_extents(const void *a, const void *b)
{
    const struct extent *x = a, *y = b;

    return (x->off > y->off) - (x->off < y->off);
}

static bool take_gap(struct rest *r, uint64_t off, uint64_t end)
{
    struct heft_model *const model = r->b->model;
    const struct heft_source *file = &model->sources[r->shard->source].source;
    const uint64_t n = end - off;
    bool zeros = false;

    if (n <= r->may_read) {
        r->may_read -= n;
        if (!heft_source_zeros(file, off, n, &zeros, r->b->err))
            return false;
    }
    if (zeros)
        return true;
    r->first = r->places++ ? r->first : off;
    r->bytes += n;
    return heft_model_claim(model, r->shard->source, off, n, "bytes of no tensor", r->b->err);
}

/* Extents of the tensors in this file, sorted by offset. */
static struct extent *sort_extents(const struct rest *r, size_t *n)
{
    const struct heft_model *const model = r->b->model;
    struct extent *list =
        heft_calloc(model->n_storages - r->b->first_storage + 1, sizeof *list, r->b->err);

    *n = 0;
    for (size_t i = r->b->first_storage; list && i < model->n_storages; i++) {
        const struct heft_storage *s = &model->storages[i];

        if (s->source == r->shard->source && s->packed)
            list[(*n)++] = (struct extent){s->off, s->off + s->packed};
    }
    if (list)
        qsort(list, *n, sizeof *list, compare_extents);
    return list;
}

static bool look_between(struct rest *r)
{
    const uint64_t size = r->b->model->sources[r->shard->source].source.size;
    size_t n;
    struct extent *list = sort_extents(r, &n);
    uint64_t at = 0;
    bool ok = list != NULL;

    for (size_t i = 0; ok && i < n; i++) {
        const uint64_t next =
            heft_min_u64(list[i].off, size); /* the tensor may be cut off by the end of the file */

        ok = next <= at || take_gap(r, at, next);
        at = heft_max_u64(at, list[i].end);
    }
    heft_free(list);
    return ok && (at >= size || take_gap(r, at, size));
}

static bool note_file(struct rest *r)
{
    struct heft_model *const model = r->b->model;

    r->bytes = r->places = 0;
    if (!look_between(r))
        return false;
    if (r->places > 1)
        return heft_model_leave(model, r->shard->source, r->first, r->b->err,
                                "%" PRIu64 " bytes in %" PRIu64
                                " ranges, from here on, belong to no tensor of the index",
                                r->bytes, r->places);
    return r->places == 0 || heft_model_leave(model, r->shard->source, r->first, r->b->err,
                                              "%" PRIu64 " byte%s of no tensor of the index",
                                              r->bytes, r->bytes == 1 ? "" : "s");
}

bool heft_tf_note_rest(struct heft_tf_bundle *b)
{
    struct rest r = {.b = b, .may_read = MOST_READ};

    for (size_t i = 0; i < b->n_shards; i++) {
        const struct heft_model_source *file = &b->model->sources[b->shards[i].source];

        r.shard = &b->shards[i];
        if (b->model->salvage || file->absent ||
            (!r.shard->has_gaps && r.shard->wanted >= file->source.size))
            continue;
        if (!note_file(&r))
            return false;
    }
    return true;
}
