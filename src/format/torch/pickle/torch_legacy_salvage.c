/* torch_legacy_salvage.c: recovers the intact part of a legacy stream that is truncated or damaged.
 *
 *     … │ object │ keys │ count, bytes │ count, bytes │ count, byt  end of the file
 *       │        │      └ of keys[0]     └ of keys[1]   └ lost, like all after it
 *       │        └ damaged: sorted as text, the last storage ends at the end of the file
 *       └ truncated: names, but no positions: everything is lost
 *
 * There are no checksums. A position is confirmed only by the count before the storage, which must
 * equal the one in the object's pickle. Each storage is judged by its own count, so a damaged one
 * does not affect others. The bytes after the count cannot be checked. */
#include "format/torch/pickle/torch_legacy.h"

#include <stdlib.h>

static int shown_length(struct heft_str text)
{
    return (int)heft_min_u64(text.n, 100);
}

static struct heft_torch_storage *storage_at(const struct heft_torch_legacy *l, size_t i)
{
    return &l->t->storages[l->order[i]];
}

static bool lose_storage(const struct heft_torch_legacy *l, struct heft_torch_storage *s,
                         const struct heft_error *found, struct heft_error *err)
{
    s->storage = HEFT_NONE;
    s->lost = heft_model_reason(l->t->model, found, err);
    return s->lost != NULL;
}

/* One reason for all storages without a position: there may be many. */
static bool lose_placeless(const struct heft_torch_legacy *l, const struct heft_error *found,
                           struct heft_error *err)
{
    struct heft_torch *t = l->t;
    const char *reason = heft_model_reason(t->model, found, err);

    for (size_t i = 0; i < t->n_storages; i++)
        t->storages[i].used = false;
    for (size_t i = 0; i < l->n_order; i++)
        storage_at(l, i)->used = true;
    for (size_t i = 0; i < t->n_storages; i++) {
        if (l->roots[i] == HEFT_NONE && !t->storages[i].used)
            t->storages[i].lost = reason;
        t->storages[i].used = false; /* not yet marked as used by a row */
    }
    return reason != NULL;
}

/* Views are lost together with their storages. */
static void lose_views(const struct heft_torch_legacy *l)
{
    struct heft_torch_storage *storages = l->t->storages;

    for (size_t i = 0; i < l->t->n_storages; i++)
        if (l->roots[i] != HEFT_NONE)
            storages[i].lost = storages[l->roots[i]].lost;
}

/* ---- the pickle of the object ------------------------------------------------------------ */

bool heft_torch_legacy_salvage_object(struct heft_torch_legacy *l, uint64_t at,
                                      struct heft_error *err)
{
    struct heft_error found = {0};

    if (heft_torch_stream_object(l->in, at, l->t, &found))
        return true;
    if (heft_model_forgives(l->in->model, &found))
        return heft_torch_stream_broken(l->in, at, l->t, err);
    *err = found;
    return false;
}

bool heft_torch_legacy_lose_all(struct heft_torch_legacy *l, uint64_t *at, struct heft_error *err)
{
    struct heft_error found = {0};

    *at = l->in->bytes.size;
    heft_fail(&found, HEFT_MALFORMED, HEFT_NO_OFFSET,
              "the object's pickle is truncated, and nothing else tells where storages are");
    if (!lose_placeless(l, &found, err))
        return false;
    lose_views(l);
    return true;
}

/* ---- order of the storages --------------------------------------------------------------- */

struct keyed {
    struct heft_str key;
    uint32_t storage;
};

static int compare_keys(const void *a, const void *b)
{
    return heft_str_cmp(((const struct keyed *)a)->key, ((const struct keyed *)b)->key);
}

/* All storages sorted by key, the order in which torch writes them. */
static bool sort_order(struct heft_torch_legacy *l, struct heft_error *err)
{
    const struct heft_torch *t = l->t;
    struct keyed *sorted = heft_calloc(t->n_storages + 1, sizeof *sorted, err);
    size_t n = 0;

    l->n_order = 0;
    if (!sorted ||
        !heft_grow(&l->order, &l->cap_order, 0, t->n_storages + 1, sizeof *l->order, err)) {
        heft_free(sorted);
        return false;
    }
    for (uint32_t i = 0; i < t->n_storages; i++)
        if (l->roots[i] == HEFT_NONE)
            sorted[n++] = (struct keyed){t->storages[i].key, i};
    qsort(sorted, n, sizeof *sorted, compare_keys);
    for (; l->n_order < n; l->n_order++)
        l->order[l->n_order] = sorted[l->n_order].storage;
    heft_free(sorted);
    return true;
}

static bool is_key(const struct heft_pickle *keys, uint32_t node, struct heft_str key)
{
    const uint8_t kind = heft_pickle_at(keys, node)->kind;

    return (kind == HEFT_PICKLE_STR || kind == HEFT_PICKLE_PY2STR) &&
           heft_str_eq(heft_pickle_text(keys, node), key);
}

/* True if a readable list differs from that order in one key only. */
static bool almost_agrees(const struct heft_torch_legacy *l, const struct heft_pickle *keys)
{
    struct heft_pickle_iter iter = heft_pickle_items(keys, keys->root);
    const uint8_t kind = heft_pickle_at(keys, keys->root)->kind;
    size_t n = 0, differ = 0;
    uint32_t node;

    if (kind != HEFT_PICKLE_LIST && kind != HEFT_PICKLE_TUPLE)
        return true; /* the list itself is damaged: its items prove nothing */
    for (; heft_pickle_next(&iter, &node); n++)
        differ += n >= l->n_order || !is_key(keys, node, storage_at(l, n)->key);
    return n == l->n_order && differ <= 1;
}

/* True if storages in that order, the last one ending at the end of the file, have matching
 * counts. */
static bool fits_the_end(const struct heft_torch_legacy *l, uint64_t least, uint64_t *begin,
                         bool *yes, struct heft_error *err)
{
    uint64_t total = 0, at;
    int64_t count;

    *yes = false;
    for (size_t i = 0; i < l->n_order; i++)
        if (!heft_add(total, 8, &total) || !heft_add(total, storage_at(l, i)->bytes, &total))
            return true;
    if (!heft_within(least, total, l->in->bytes.size))
        return true;
    *begin = at = l->in->bytes.size - total;
    for (size_t i = 0; i < l->n_order; i++) {
        if (!heft_torch_stream_i64(l->in, at, &count, err))
            return false;
        if (count != storage_at(l, i)->elements)
            return true;
        at += 8 + storage_at(l, i)->bytes;
    }
    *yes = true;
    return true;
}

/* If only the list is damaged: uses torch's order, counted back from the end of the file. */
static bool try_sorted(struct heft_torch_legacy *l, const struct heft_pickle *keys, uint64_t *at,
                       const struct heft_error *found, struct heft_error *err)
{
    uint64_t begin = 0;
    bool yes;

    if (!sort_order(l, err))
        return false;
    if (keys && !almost_agrees(l, keys)) {
        l->n_order = 0;
        return true;
    }
    if (!fits_the_end(l, *at, &begin, &yes, err))
        return false;
    if (!yes) {
        l->n_order = 0;
        return true;
    }
    *at = begin;
    return heft_model_damage(
        l->in->model, l->in->source,
        "the list of storage keys is damaged: storages are assumed in the order of their keys",
        found, err);
}

/* A list truncated at the end of the file: all storages are missing. */
static void expect_all(const struct heft_torch_legacy *l)
{
    uint64_t total = l->in->bytes.size;

    for (size_t i = 0; i < l->t->n_storages; i++)
        if (l->roots[i] == HEFT_NONE &&
            (!heft_add(total, 8, &total) || !heft_add(total, l->t->storages[i].bytes, &total)))
            return;
    heft_model_expect(l->in->model, l->in->source, total, true);
}

/* Marks storages without a position as lost, for the fault of the list. */
static bool lose_unordered(const struct heft_torch_legacy *l, const struct heft_error *found,
                           struct heft_error *err)
{
    struct heft_error why = {0};

    heft_fail(&why, found->code, found->offset,
              "the list of storage keys is truncated or damaged, so its position is unknown: %s",
              found->text);
    return lose_placeless(l, &why, err);
}

/* Handles a key that the object's pickle lost: the size of its storage is unknown, but those before
 * it have positions. For other keys, the list itself is damaged. */
bool heft_torch_legacy_mend_order(struct heft_torch_legacy *l, uint64_t *at,
                                  const struct heft_error *found, struct heft_error *err)
{
    struct heft_arena mem = {0};
    struct heft_error why = {0};
    struct heft_pickle keys;
    const bool runs = heft_torch_legacy_keys(l, *at, &keys, &mem, &why);
    bool ok = true;

    if (!runs && !heft_model_forgives(l->in->model, &why)) {
        *err = why;
        ok = false;
    } else if (l->t->lost.count && runs) {
        *at += keys.length;
    } else if (l->t->lost.count) {
        l->n_order = 0;
    } else {
        if (!runs && keys.data.n == l->in->bytes.size - *at &&
            heft_pickle_wants_more(keys.data, why.offset - heft_torch_stream_at(l->in, *at)))
            expect_all(l);
        ok = try_sorted(l, runs ? &keys : NULL, at, found, err);
    }
    heft_arena_release(&mem);
    return ok && lose_unordered(l, found, err);
}

/* ---- storages ---------------------------------------------------------------------------- */

/* A file filled up with zeros: the position of the cut is unknown. */
static bool doubt_before(const struct heft_torch_legacy *l, size_t i, uint64_t at,
                         struct heft_error *err)
{
    struct heft_error found = {0};
    struct heft_torch_storage *s;

    while (i > 0 && storage_at(l, i - 1)->bytes == 0)
        i--;
    if (i == 0 || storage_at(l, i - 1)->lost)
        return true;
    s = storage_at(l, i - 1);
    heft_fail(&found, HEFT_MALFORMED, heft_torch_stream_at(l->in, at),
              "storage %.*s may be truncated: there are zeros where the next one should begin",
              shown_length(s->key), s->key.p);
    return lose_storage(l, s, &found, err);
}

static bool read_count(const struct heft_torch_legacy *l, size_t i, uint64_t at, bool *right,
                       struct heft_error *err)
{
    struct heft_torch_storage *s = storage_at(l, i);
    struct heft_error found = {0};
    int64_t count;

    if (!heft_torch_stream_i64(l->in, at, &count, err))
        return false;
    *right = count == s->elements;
    if (*right)
        return true;
    heft_torch_legacy_bad_count(l, at, s, count, &found);
    return (count != 0 || doubt_before(l, i, at, err)) && lose_storage(l, s, &found, err);
}

static bool lose_cut(const struct heft_torch_legacy *l, struct heft_torch_storage *s, uint64_t at,
                     struct heft_error *err)
{
    const uint64_t size = l->in->bytes.size;
    struct heft_error found = {0};

    if (!heft_within(at, 8, size))
        heft_fail(&found, HEFT_MALFORMED, heft_torch_stream_at(l->in, size),
                  "the file ends before storage %.*s", shown_length(s->key), s->key.p);
    else
        heft_fail(&found, HEFT_MALFORMED, heft_torch_stream_at(l->in, at + 8),
                  "storage %.*s is truncated: the file has %" PRIu64 " of its %" PRIu64 " bytes",
                  shown_length(s->key), s->key.p, size - at - 8, s->bytes);
    return lose_storage(l, s, &found, err);
}

/* `at` moves past the storage, at most to 2^64-1. */
static bool salvage_one(const struct heft_torch_legacy *l, size_t i, uint64_t *at,
                        struct heft_error *err)
{
    struct heft_torch_storage *s = storage_at(l, i);
    const uint64_t size = l->in->bytes.size, from = *at;
    uint64_t data = UINT64_MAX;
    bool right;

    if (!heft_add(from, 8, &data) || !heft_add(data, s->bytes, at))
        *at = UINT64_MAX;
    if (!heft_within(from, 8, size) || !heft_within(data, s->bytes, size))
        return lose_cut(l, s, from, err);
    return read_count(l, i, from, &right, err) &&
           (!right || heft_torch_legacy_place(l, i, from, err));
}

bool heft_torch_legacy_salvage_storages(struct heft_torch_legacy *l, uint64_t *at,
                                        struct heft_error *err)
{
    for (size_t i = 0; i < l->n_order; i++)
        if (!salvage_one(l, i, at, err))
            return false;
    if (*at != UINT64_MAX)
        heft_model_expect(l->in->model, l->in->source, *at, false);
    *at = heft_min_u64(*at, l->in->bytes.size);
    lose_views(l);
    return true;
}
