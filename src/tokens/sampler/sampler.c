/* sampler.c: draws windows of arrays of ids as the Sampler of train.py does:
 *
 *     arrays   |── 0 ──|──── 1 ────|─ 2 ─|      concatenated
 *                 ↑ index = randint(0, total - length - 1); drawn again if the window would cross
 *                   the end of its array
 *
 * As in the original, the last window of an array is never drawn, nor the last two positions of
 * all. */
#include "tokens/sampler/sampler.h"

#include "base/require_arg.h"
#include "base/sized.h"

/* True if some draw can be accepted. */
static bool has_window(const struct heft_sampler *s, uint64_t length)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->arrays[i].n > length && s->begins[i] < s->begins[s->n] - length - 1)
            return true;
    return false;
}

static bool check_length(const struct heft_sampler *s, uint64_t length, struct heft_error *err)
{
    const uint64_t total = s->begins[s->n];

    if (length >= total / s->n)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "windows of %" PRIu64 " ids are too long for arrays of %" PRIu64
                         " ids on average",
                         length, total / s->n);
    if (total - length <= 1 || !has_window(s, length))
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "windows of %" PRIu64 " ids: no array is longer", length);
    return true;
}

/* Returns the array that contains the id at that index. */
static size_t array_of(const struct heft_sampler *s, uint64_t index)
{
    size_t low = 0, high = s->n;

    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;

        if (s->begins[middle] > index)
            high = middle;
        else
            low = middle;
    }
    return low;
}

bool heft_sampler_next(struct heft_sampler *s, size_t length, uint32_t *ids, uint64_t *where,
                       struct heft_error *err)
{
    uint64_t index;
    size_t i;

    if (!heft_require_arg(s != NULL, "a sampler", err) ||
        !heft_require_arg(ids != NULL, "a place for ids", err))
        return false;
    if (!check_length(s, length, err))
        return false;
    do {
        index = heft_mt_below(&s->random, s->begins[s->n] - length - 1);
        i = array_of(s, index);
    } while (s->begins[i + 1] - index <= length);
    if (where)
        *where = index;
    return heft_id_array_read(s, &s->arrays[i], index - s->begins[i], length, ids, err);
}

uint64_t heft_sampler_total(const struct heft_sampler *s)
{
    return s ? s->begins[s->n] : 0;
}

/* ---- opening and closing ----------------------------------------------------------------- */

static bool count_ids(struct heft_sampler *s, struct heft_error *err)
{
    s->begins = heft_calloc(s->n + 1, sizeof *s->begins, err);
    if (!s->begins)
        return false;
    for (size_t i = 0; i < s->n; i++)
        if (!heft_add(s->begins[i], s->arrays[i].n, &s->begins[i + 1]))
            return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET, "more than 2^64 ids");
    return s->begins[s->n] > 0 || heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "no ids to draw from");
}

struct heft_sampler *heft_sampler_open(const char *const *paths, size_t n,
                                       const struct heft_sampler_options *options,
                                       struct heft_error *err)
{
    struct heft_sampler_options o;
    struct heft_sampler *s =
        HEFT_TAKE(heft_sampler_options, &o, options, err) ? heft_calloc(1, sizeof *s, err) : NULL;
    const unsigned width = o.width ? o.width : 2;
    bool ok = s && heft_require_paths(paths, n, err);

    if (ok && width != 2 && width != 4)
        ok = heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "ids of %u bytes; expected 2 or 4", width);
    for (size_t i = 0; ok && i < n; i++)
        ok = heft_sampler_add(s, paths[i], width, err) || heft_error_file(err, paths[i]);
    if (ok && count_ids(s, err)) {
        heft_mt_seed(&s->random, o.seed);
        return s;
    }
    heft_sampler_close(s);
    return NULL;
}

void heft_sampler_close(struct heft_sampler *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n; i++)
        heft_mapping_release(&s->arrays[i].map);
    if (s->has_spool)
        heft_spool_release(&s->spool);
    heft_free(s->arrays);
    heft_free(s->begins);
    heft_free(s);
}
