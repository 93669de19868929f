/* code_ranges.c: sets of code points: merging of ascending lists of ranges. */
#include "tokens/split/code_ranges.h"

static const struct heft_code_range SPACES[] = {
    {0x09, 0x0D},     {0x20, 0x20},     {0x85, 0x85},     {0xA0, 0xA0},     {0x1680, 0x1680},
    {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000},
};

/* Appends a range that begins at or after the begin of the last one. */
static bool append_range(struct heft_code_ranges *set, struct heft_code_range range,
                         struct heft_error *err)
{
    struct heft_code_range *const last = set->n ? &set->items[set->n - 1] : NULL;

    if (last && range.first <= last->last + 1) {
        if (range.last > last->last)
            last->last = range.last;
        return true;
    }
    if (!heft_grow(&set->items, &set->cap, set->n, 1, sizeof *set->items, err))
        return false;
    set->items[set->n++] = range;
    return true;
}

static bool replace_by(struct heft_code_ranges *set, struct heft_code_ranges *made, bool ok)
{
    if (!ok) {
        heft_code_ranges_release(made);
        return false;
    }
    heft_code_ranges_release(set);
    *set = *made;
    return true;
}

bool heft_code_ranges_unite(struct heft_code_ranges *set, const struct heft_code_ranges *other,
                            struct heft_error *err)
{
    struct heft_code_ranges made = {0};
    size_t a = 0, b = 0;
    bool ok = true;

    while (ok && (a < set->n || b < other->n)) {
        const bool is_first =
            b == other->n || (a < set->n && set->items[a].first <= other->items[b].first);

        ok = append_range(&made, is_first ? set->items[a++] : other->items[b++], err);
    }
    return replace_by(set, &made, ok);
}

bool heft_code_ranges_add(struct heft_code_ranges *set, uint32_t first, uint32_t last,
                          struct heft_error *err)
{
    struct heft_code_range range = {first, last};
    const struct heft_code_ranges one = {&range, 1, 1};

    if (set->n == 0 || first >= set->items[set->n - 1].first)
        return append_range(set, range, err);
    return heft_code_ranges_unite(set, &one, err);
}

bool heft_code_ranges_intersect(struct heft_code_ranges *set, const struct heft_code_ranges *other,
                                struct heft_error *err)
{
    struct heft_code_ranges made = {0};
    bool ok = true;

    for (size_t a = 0, b = 0; ok && a < set->n && b < other->n;) {
        const struct heft_code_range x = set->items[a], y = other->items[b];
        const struct heft_code_range both = {x.first > y.first ? x.first : y.first,
                                             x.last < y.last ? x.last : y.last};

        if (both.first <= both.last)
            ok = append_range(&made, both, err);
        if (x.last < y.last)
            a++;
        else
            b++;
    }
    return replace_by(set, &made, ok);
}

bool heft_code_ranges_negate(struct heft_code_ranges *set, struct heft_error *err)
{
    struct heft_code_ranges made = {0};
    uint32_t from = 0;
    bool ok = true;

    for (size_t i = 0; ok && i < set->n; i++) {
        if (set->items[i].first > from)
            ok = append_range(&made, (struct heft_code_range){from, set->items[i].first - 1}, err);
        from = set->items[i].last + 1;
    }
    if (ok && from <= HEFT_CODE_LAST)
        ok = append_range(&made, (struct heft_code_range){from, HEFT_CODE_LAST}, err);
    return replace_by(set, &made, ok);
}

/* Adds a run of characters of one category, or of capital and small letters in turn. */
static bool add_run(struct heft_code_ranges *set, struct heft_code_range run,
                    enum heft_category category, uint32_t wanted, struct heft_error *err)
{
    const uint32_t cased = UINT32_C(1) << HEFT_CATEGORY_LU | UINT32_C(1) << HEFT_CATEGORY_LL;
    uint32_t c = run.first;

    if (category != HEFT_CATEGORY_PAIRS)
        return !(wanted >> category & 1) || append_range(set, run, err);
    if ((wanted & cased) == cased)
        return append_range(set, run, err);
    for (c += wanted >> HEFT_CATEGORY_LU & 1 ? 0 : 1; wanted & cased && c <= run.last; c += 2)
        if (!append_range(set, (struct heft_code_range){c, c}, err))
            return false;
    return true;
}

static bool add_first_version(struct heft_code_ranges *set, uint32_t wanted, struct heft_error *err)
{
    for (size_t i = 0; i < HEFT_CATEGORY_RUNS; i++) {
        const uint32_t run = heft_category_runs[i];
        const uint32_t end =
            i + 1 < HEFT_CATEGORY_RUNS ? heft_category_runs[i + 1] >> 5 : HEFT_CODE_LAST + 1;

        if (!add_run(set, (struct heft_code_range){run >> 5, end - 1},
                     (enum heft_category)(run & 31), wanted, err))
            return false;
    }
    return true;
}

/* Characters whose category changed: removes all, adds those that are wanted now. */
static bool apply_changes(struct heft_code_ranges *set, uint32_t wanted, struct heft_error *err)
{
    struct heft_code_ranges changed = {0}, added = {0};
    bool ok = true;

    for (size_t i = 0; ok && i < HEFT_CATEGORY_CHANGES; i++) {
        const struct heft_category_change *const change = &heft_category_changes[i];

        ok = append_range(&changed, change->range, err) &&
             (!(wanted >> change->category & 1) || append_range(&added, change->range, err));
    }
    ok = ok && heft_code_ranges_negate(&changed, err) &&
         heft_code_ranges_intersect(set, &changed, err) && heft_code_ranges_unite(set, &added, err);
    heft_code_ranges_release(&changed);
    heft_code_ranges_release(&added);
    return ok;
}

bool heft_code_ranges_add_categories(struct heft_code_ranges *set, uint32_t categories,
                                     enum heft_unicode unicode, struct heft_error *err)
{
    struct heft_code_ranges found = {0};
    const bool ok = add_first_version(&found, categories, err) &&
                    (unicode == HEFT_UNICODE_16 || apply_changes(&found, categories, err)) &&
                    heft_code_ranges_unite(set, &found, err);

    heft_code_ranges_release(&found);
    return ok;
}

bool heft_code_ranges_add_han(struct heft_code_ranges *set, enum heft_unicode unicode,
                              struct heft_error *err)
{
    for (size_t i = 0; i < HEFT_HAN_RANGES; i++)
        if (heft_han_ranges[i].since <= unicode &&
            !heft_code_ranges_add(set, heft_han_ranges[i].range.first,
                                  heft_han_ranges[i].range.last, err))
            return false;
    return true;
}

bool heft_code_ranges_add_spaces(struct heft_code_ranges *set, struct heft_error *err)
{
    for (size_t i = 0; i < HEFT_COUNT(SPACES); i++)
        if (!heft_code_ranges_add(set, SPACES[i].first, SPACES[i].last, err))
            return false;
    return true;
}

bool heft_code_ranges_hold(const struct heft_code_ranges *set, uint32_t c)
{
    size_t from = 0, to = set->n;

    while (from < to) {
        const size_t middle = from + (to - from) / 2;

        if (set->items[middle].last < c)
            from = middle + 1;
        else
            to = middle;
    }
    return from < set->n && set->items[from].first <= c;
}

bool heft_code_ranges_equal(const struct heft_code_ranges *a, const struct heft_code_ranges *b)
{
    return a->n == b->n && (a->n == 0 || memcmp(a->items, b->items, a->n * sizeof *a->items) == 0);
}

void heft_code_ranges_release(struct heft_code_ranges *set)
{
    heft_free(set->items);
    *set = (struct heft_code_ranges){0};
}
