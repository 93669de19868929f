/* tf_write_shards.c: the order in which pieces are written, and the data file of each. Pieces from
 * a bundle keep the order of its data files, so that rewriting a bundle gives the same bytes;
 * others are written in row order. Files are filled in that order. */
#include <stdlib.h>

#include "core/registry.h"
#include "format/tensorflow/write/tf_write.h"

/* Position of the bytes in the source. */
struct place {
    uint64_t off;
    uint32_t source; /* rank of the file; HEFT_NONE if made here */
    uint32_t index;
    bool filled; /* an empty tensor was written before the one that begins at its offset */
};

static struct place place_of_row(const struct heft_tf_out *out, const struct heft_row *row,
                                 uint32_t index)
{
    const struct heft_model *model = out->plan->model;
    const struct heft_storage *s;

    s = &model->storages[heft_row_storage(row, 0)];
    return (struct place){s->off, out->rank[s->source], index, s->packed > 0};
}

static struct place place_of(const struct heft_tf_out *out, const struct heft_tf_piece *piece,
                             uint32_t index)
{
    if (!piece->item.row || piece->file)
        return (struct place){0, HEFT_NONE, index, true};
    return place_of_row(out, piece->item.row, index);
}

/* Position in the model's old bundle: unchanged weights then give the same bytes. */
static struct place place_in_model(const struct heft_tf_piece *piece, uint32_t index)
{
    return (struct place){piece->old_off, piece->old_source, index, heft_tf_piece_bytes(piece) > 0};
}

static int by_place(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    if (x->off != y->off)
        return x->off < y->off ? -1 : 1;
    if (x->filled != y->filled)
        return x->filled ? 1 : -1;
    return (x->index > y->index) - (x->index < y->index);
}

/* ---- source files, ranked by path -------------------------------------------------------- */

struct file {
    const char *path;
    uint32_t bundle, source;
};

static int by_path(const void *a, const void *b)
{
    const struct file *x = a, *y = b;

    return x->bundle != y->bundle ? (x->bundle < y->bundle ? -1 : 1) : strcmp(x->path, y->path);
}

/* Ranks the source files bundle by bundle, whatever the order of opening: data files follow their
 * index. Returns the number of bundles. */
static bool rank_files(struct heft_tf_out *out, struct heft_error *err)
{
    const struct heft_model *model = out->plan->model;
    const size_t n = model->n_sources;
    struct file *files = heft_arena_zero(out->plan->mem, n + 1, sizeof *files, err);
    uint32_t *rank = heft_arena_zero(out->plan->mem, n + 1, sizeof *rank, err);

    if (!files || !rank)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const struct heft_model_source *s = &model->sources[i];

        out->n_bundles += s->format && strcmp(s->format->name, "tf-bundle") == 0;
        files[i] = (struct file){s->path, (uint32_t)out->n_bundles, i};
    }
    if (n)
        qsort(files, n, sizeof *files, by_path);
    for (uint32_t i = 0; i < n; i++)
        rank[files[i].source] = i;
    out->rank = rank;
    return true;
}

/* ---- order of the pieces ----------------------------------------------------------------- */

bool heft_tf_out_begin(struct heft_tf_out *out, struct heft_error *err)
{
    const size_t n = out->exports->n_items;
    struct place *places;
    struct heft_export_item *items;

    if (!rank_files(out, err))
        return false;
    out->keeps_parts = out->n_bundles > 1;
    if (out->n_bundles == 0 || n == 0)
        return true;
    places = heft_arena_zero(out->plan->mem, n, sizeof *places, err);
    items = heft_arena_zero(out->plan->mem, n, sizeof *items, err);
    if (!places || !items)
        return false;
    for (uint32_t i = 0; i < n; i++)
        places[i] = place_of_row(out, out->exports->items[i].row, i);
    qsort(places, n, sizeof *places, by_place);
    for (size_t i = 0; i < n; i++)
        items[i] = out->exports->items[places[i].index];
    memcpy(out->exports->items, items, n * sizeof *items);
    return true;
}

static bool put_in_order(struct heft_tf_out *out, struct heft_error *err)
{
    const size_t n = out->n_pieces;
    struct place *places = heft_arena_zero(out->plan->mem, n + 1, sizeof *places, err);

    out->order = heft_arena_zero(out->plan->mem, n + 1, sizeof *out->order, err);
    if (!places || !out->order)
        return false;
    for (uint32_t i = 0; i < n; i++)
        places[i] = out->into        ? place_in_model(&out->pieces[i], i)
                    : out->n_bundles ? place_of(out, &out->pieces[i], i)
                                     : (struct place){0, 0, i, true};
    if (n)
        qsort(places, n, sizeof *places, by_place);
    for (size_t i = 0; i < n; i++)
        out->order[i] = places[i].index;
    return true;
}

/* ---- assigning pieces to data files ------------------------------------------------------ */

uint64_t heft_tf_piece_bytes(const struct heft_tf_piece *piece)
{
    return piece->put.p ? piece->put.n : piece->item.bytes;
}

/* Fills files one after the other; a piece larger than the limit gets a file of its own. */
static uint32_t shard_by_size(const struct heft_tf_out *out)
{
    const uint64_t limit = out->plan->request.max_shard_size;
    uint64_t filled = 0;
    uint32_t shard = 0;

    for (size_t i = 0; i < out->n_pieces; i++) {
        struct heft_tf_piece *const piece = &out->pieces[out->order[i]];
        const uint64_t bytes = heft_tf_piece_bytes(piece);

        if (filled && (bytes > limit || filled > limit - bytes)) {
            shard++;
            filled = 0;
        }
        piece->shard = shard;
        filled += bytes;
    }
    return shard + 1;
}

/* Start of file k of n if tensors could be cut: k / n of the total, rounded down. */
static uint64_t shard_start(uint64_t total, uint32_t n, uint32_t k)
{
    return total / n * k +
           total % n * k / n; /* cannot overflow: the second product is below 2^32 */
}

/* Divides the pieces among n files of similar size. A tensor goes to the file that contains its
 * midpoint, so file boundaries fall on the nearest tensor boundaries. */
static uint32_t shard_by_number(const struct heft_tf_out *out, uint64_t total)
{
    const uint32_t n = (uint32_t)heft_plan_option(out->plan, HEFT_TF_SHARDS).number;
    uint64_t at = 0;
    uint32_t shard = 0;

    for (size_t i = 0; i < out->n_pieces; i++) {
        struct heft_tf_piece *const piece = &out->pieces[out->order[i]];
        const uint64_t bytes = heft_tf_piece_bytes(piece);

        while (shard + 1 < n && at + bytes / 2 >= shard_start(total, n, shard + 1))
            shard++;
        piece->shard = shard;
        at += bytes; /* no overflow: at most the total */
    }
    return n;
}

/* Keeps the source's files, numbered in order. Pieces from none of them go into the last. */
static uint32_t shard_by_source(const struct heft_tf_out *out)
{
    uint32_t shard = 0, source = HEFT_NONE;

    for (size_t i = 0; i < out->n_pieces; i++) {
        struct heft_tf_piece *const piece = &out->pieces[out->order[i]];
        const struct place place = place_of(out, piece, 0);

        if (i && place.source != HEFT_NONE && place.source != source)
            shard++;
        if (place.source != HEFT_NONE)
            source = place.source;
        piece->shard = shard;
    }
    return shard + 1;
}

static bool check_total(const struct heft_tf_out *out, uint64_t *total, struct heft_error *err)
{
    *total = 0;
    for (size_t i = 0; i < out->n_pieces; i++)
        if (!heft_add(*total, heft_tf_piece_bytes(&out->pieces[i]), total))
            return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                             "the tensors have 2^64 bytes or more in all in all");
    return true;
}

static bool check_wish(const struct heft_plan *plan, struct heft_error *err)
{
    const int n = heft_plan_option(plan, HEFT_TF_SHARDS).is_given + plan->request.is_sharded +
                  heft_plan_option(plan, HEFT_TF_KEEP_SHARDS).is_given;

    if (n > 1)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "give only one of: number of data files, their size, those of the source");
    return true;
}

bool heft_tf_out_shards(struct heft_tf_out *out, struct heft_error *err)
{
    const struct heft_plan *const plan = out->plan;
    uint64_t total;

    if (!check_wish(plan, err) || !check_total(out, &total, err) || !put_in_order(out, err))
        return false;
    out->n_shards = 1;
    if (heft_plan_option(plan, HEFT_TF_SHARDS).is_given)
        out->n_shards = shard_by_number(out, total);
    else if (plan->request.is_sharded)
        out->n_shards = shard_by_size(out);
    else if (heft_plan_option(plan, HEFT_TF_KEEP_SHARDS).is_given || out->n_bundles > 1)
        out->n_shards = shard_by_source(out);
    if (out->n_shards <= HEFT_TF_MAX_SHARDS)
        return true;
    return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "the limit gives %" PRIu32 " data files, at most %d can be written",
                     out->n_shards, HEFT_TF_MAX_SHARDS);
}
