/* export_untie.c: removes tied names: one name of each shared view stays.
 *
 *     storage   |----------------|     row-major bytes of all of it: complete
 *     embed     |================|     kept: the first complete name
 *     lm_head   |================|     the same view: dropped, recorded as lm_head: embed
 *     rows      |=======|              another view: written with its own bytes
 *
 * As huggingface_hub does, with one exception: the hub also drops `rows` and records it in the same
 * way, which loses its shape and offset. */
#include "core/export_list.h"

#include <stdlib.h>

#include "base/text.h"
#include "core/tie_records.h"

struct alias {
    uint64_t start, stop; /* byte range in the storage */
    struct heft_str name;
    uint32_t item;
    bool complete;
};

struct untier {
    struct heft_export_list *exports;
    const struct heft_convert_options *options;
    /* linked list of the items of each storage, in order; HEFT_NONE ends it */
    uint32_t *head, *next;
    struct alias *aliases; /* space for all items */
    bool *dropped;
};

static int by_name(const void *a, const void *b)
{
    return heft_str_cmp(((const struct alias *)a)->name, ((const struct alias *)b)->name);
}

static int by_range(const void *a, const void *b)
{
    const struct alias *x = a, *y = b;

    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->stop != y->stop)
        return x->stop < y->stop ? -1 : 1;
    return by_name(a, b);
}

/* Whether torch could flatten the row without copying (view(-1)). *last: distance from the first
 * to the last element, in elements. */
static bool flat_extent(const struct heft_row *row, uint64_t *last)
{
    uint64_t count = 1, step = 0;

    *last = 0;
    for (unsigned left = row->rank; left > 0; left--) {
        const unsigned d = left - 1;

        if (row->shape[d] == 1)
            continue;
        if (count > 1 && row->stride[d] != count * step)
            return false;
        if (count == 1)
            step = row->stride[d];
        count *= row->shape[d];
    }
    *last = (count - 1) * step;
    return true;
}

/* Whether a row covers its storage. The hub only compares byte counts; an expanded row, which
 * repeats elements, may have as many bytes, but keeping it instead of the storage would lose
 * data. */
static bool is_complete(const struct heft_row *row, const struct heft_storage *storage)
{
    return row->offset == 0 && !row->stride && row->bytes == storage->len;
}

/* Collects the byte ranges of the items of one storage. False if one of them cannot be
 * flattened: the hub fails on such a group. Like the hub, gives an empty tensor the range [0,
 * 0). */
static bool gather_group(struct untier *u, uint32_t storage, size_t *n)
{
    bool plain = true;

    *n = 0;
    for (uint32_t i = u->head[storage]; i != HEFT_NONE; i = u->next[i]) {
        const struct heft_export_item *item = &u->exports->items[i];
        const struct heft_row *row = item->row;
        const uint64_t start = row->bytes > 0 ? row->offset : 0;
        uint64_t stop = start + row->bytes, last = 0;

        if (u->dropped[i])
            continue;
        if (row->stride && row->bytes > 0) {
            plain = plain && flat_extent(row, &last);
            stop = row->offset + heft_dtype_span((enum heft_dtype)row->dtype, last + 1);
        }
        u->aliases[(*n)++] = (struct alias){
            start, stop, item->name, i, is_complete(row, &u->exports->model->storages[storage])};
    }
    return plain;
}

/* Whether two rows of equal shape have the same strides, ignoring dimensions of extent 1. */
static bool same_strides(const struct heft_row *a, const struct heft_row *b)
{
    if ((a->stride != NULL) != (b->stride != NULL))
        return false;
    for (unsigned d = 0; a->stride && d < a->rank; d++)
        if (a->shape[d] != 1 && a->stride[d] != b->stride[d])
            return false;
    return true;
}

static bool same_view(const struct heft_export_item *x, const struct heft_export_item *y)
{
    const struct heft_row *a = x->row, *b = y->row;

    if (a->dtype != b->dtype || x->as != y->as || a->flags != b->flags || a->rank != b->rank ||
        a->offset != b->offset)
        return false;
    return a->rank == 0 ||
           (memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0 && same_strides(a, b));
}

/* Drops a name if it is the same view as the kept one, and records the tie. */
static bool drop_alias(struct untier *u, const struct alias *alias, const struct alias *kept,
                       struct heft_error *err)
{
    struct heft_export_list *exports = u->exports;
    const struct heft_pair record = {.key = alias->name, .value = kept->name};
    struct heft_tied tied = {alias->name, kept->name, false};

    if (!same_view(&exports->items[alias->item], &exports->items[kept->item]) ||
        heft_tie_is_reserved(alias->name))
        return true;
    u->dropped[alias->item] = true;
    if (!heft_export_add_metadata(exports, &record, &tied.is_recorded, err) ||
        !heft_budget_take(exports->mem->budget, sizeof tied, err) ||
        !heft_grow(&exports->tied, &exports->cap_tied, exports->n_tied, 1, sizeof *exports->tied,
                   err))
        return false;
    exports->tied[exports->n_tied++] = tied;
    return true;
}

/* Priority of a name: the position of the first --keep-tied rule that matches it, then names
 * that the source kept in a recorded tie. */
static size_t rank_of(const struct untier *u, const struct alias *alias)
{
    const struct heft_convert_options *options = u->options;
    const struct heft_export_item *item = &u->exports->items[alias->item];

    for (size_t i = 0; i < options->n_rules; i++)
        if (options->rules[i].kind == HEFT_RULE_KEEP_TIED &&
            heft_glob_match(heft_str_of(options->rules[i].left), item->from))
            return i;
    return options->n_rules + item->is_apart;
}

/* Index of the name to keep among those that are the same view as run[first]. */
static size_t choose_kept(const struct untier *u, const struct alias *run, size_t n, size_t first)
{
    size_t best = first;

    for (size_t i = first + 1; i < n; i++)
        if (run[i].complete && rank_of(u, &run[i]) < rank_of(u, &run[best]) &&
            same_view(&u->exports->items[run[i].item], &u->exports->items[run[first].item]))
            best = i;
    return best;
}

/* Unties one run of overlapping names: keeps one name of the view of the first complete one. The
 * hub refuses a run without a complete name; here every name keeps its own bytes. */
static bool untie_run(struct untier *u, struct alias *run, size_t n, struct heft_error *err)
{
    size_t first = 0, kept;

    qsort(run, n, sizeof *run, by_name);
    while (first < n && !run[first].complete)
        first++;
    if (first == n)
        return true;
    kept = choose_kept(u, run, n, first);
    for (size_t i = 0; i < n; i++)
        if (i != kept && !drop_alias(u, &run[i], &run[kept], err))
            return false;
    return true;
}

/* Divides a group into runs like the hub, which overwrites `last_stop` instead of taking the
 * maximum. */
static bool untie_group(struct untier *u, uint32_t storage, struct heft_error *err)
{
    size_t n, begin = 0;

    if (!gather_group(u, storage, &n) || n < 2)
        return true;
    qsort(u->aliases, n, sizeof *u->aliases, by_range);
    for (size_t i = 1; i <= n; i++) {
        if (i < n && u->aliases[i].start < u->aliases[i - 1].stop)
            continue;
        if (!untie_run(u, &u->aliases[begin], i - begin, err))
            return false;
        begin = i;
    }
    return true;
}

static bool untier_init(struct untier *u, struct heft_export_list *exports,
                        struct heft_arena *scratch, struct heft_error *err)
{
    const size_t storages = exports->model->n_storages, n = exports->n_items;

    u->exports = exports;
    u->head = heft_arena_alloc(scratch, (storages + 1) * sizeof *u->head, err);
    u->next = heft_arena_alloc(scratch, (n + 1) * sizeof *u->next, err);
    u->aliases = heft_arena_zero(scratch, n + 1, sizeof *u->aliases, err);
    u->dropped = heft_arena_zero(scratch, n + 1, sizeof *u->dropped, err);
    if (!u->head || !u->next || !u->aliases || !u->dropped)
        return false;
    memset(u->head, 0xff, (storages + 1) * sizeof *u->head);
    for (uint32_t left = (uint32_t)n; left > 0; left--) {
        const uint32_t i = left - 1;
        const struct heft_row *const row = exports->items[i].row;

        if (row->parts) /* parts never share a storage with other rows */
            continue;
        u->next[i] = u->head[row->storage];
        u->head[row->storage] = i;
    }
    return true;
}

/* Whether several names on a storage are ties. A pooled storage is shared only because bytes are
 * equal: each name is written. */
static bool has_ties(const struct heft_storage *storage)
{
    return storage->len > 0 && !storage->is_pooled;
}

/* ---- several names of one row ------------------------------------------------------------- */

/* Whether names of a row are told apart by its storage. */
static bool is_of_storage(const struct untier *u, const struct heft_row *row)
{
    return !row->parts && is_complete(row, &u->exports->model->storages[row->storage]);
}

static struct alias alias_of(const struct untier *u, uint32_t i)
{
    return (struct alias){.name = u->exports->items[i].name, .item = i};
}

/* Chooses the name to keep of each row that has several: kept[row]. Rows are those of the model. */
static void choose_names(const struct untier *u, uint32_t *kept)
{
    const struct heft_export_list *const exports = u->exports;

    for (uint32_t i = 0; i < exports->n_items; i++) {
        uint32_t *const best = &kept[exports->items[i].row - exports->model->rows];
        const struct alias one = alias_of(u, i);

        if (*best == HEFT_NONE) {
            *best = i;
        } else {
            const struct alias other = alias_of(u, *best);

            *best = rank_of(u, &one) < rank_of(u, &other) ? i : *best;
        }
    }
}

/* Drops further names of rows that have them by rules files, or by a recorded tie: items with the same row. */
static bool untie_rows(struct untier *u, struct heft_arena *scratch, struct heft_error *err)
{
    struct heft_export_list *const exports = u->exports;
    const size_t n = exports->model->n_rows;
    bool any = false, ok = true;
    uint32_t *kept;

    for (size_t i = 0; i < exports->n_items; i++)
        any = any || (exports->items[i].is_apart && !is_of_storage(u, exports->items[i].row));
    if (!any)
        return true;
    kept = heft_arena_alloc(scratch, (n + 1) * sizeof *kept, err);
    if (!kept)
        return false;
    memset(kept, 0xff, (n + 1) * sizeof *kept); /* HEFT_NONE */
    choose_names(u, kept);
    for (uint32_t i = 0; ok && i < exports->n_items; i++) {
        const uint32_t best = kept[exports->items[i].row - exports->model->rows];
        const struct alias one = alias_of(u, i), other = alias_of(u, best);

        if (best != i && !is_of_storage(u, exports->items[i].row))
            ok = drop_alias(u, &one, &other, err);
    }
    return ok;
}

/* Unties all storages, in the order of their first items. */
static bool untie_all(struct untier *u, struct heft_error *err)
{
    struct heft_export_list *exports = u->exports;
    size_t kept = 0;

    for (uint32_t i = 0; i < exports->n_items; i++) {
        const uint32_t storage = exports->items[i].row->storage;

        if (u->head[storage] == i && has_ties(&exports->model->storages[storage]) &&
            !untie_group(u, storage, err))
            return false;
    }
    for (uint32_t i = 0; i < exports->n_items; i++)
        if (!u->dropped[i])
            exports->items[kept++] = exports->items[i];
    exports->n_items = kept;
    exports->untied = true;
    return true;
}

/* ---- records of ties in metadata --------------------------------------------------------- */

static bool has_item(const struct heft_strmap *items, struct heft_str name)
{
    return heft_strmap_get(items, name) != HEFT_MAP_NONE;
}

/* Whether an entry of the user's own metadata would be read as a recorded tie. */
static bool looks_tied(const struct heft_export_list *exports,
                       const struct heft_convert_options *options, bool *yes,
                       struct heft_error *err)
{
    struct heft_strmap items = {0};
    bool ok = true;

    for (uint32_t i = 0; ok && i < exports->n_items; i++)
        ok = heft_strmap_set(&items, exports->items[i].name, i, err);
    *yes = false;
    for (size_t i = 0; ok && i < options->n_rules; i++)
        *yes = *yes || (options->rules[i].kind == HEFT_RULE_METADATA &&
                        has_item(&items, heft_str_of(options->rules[i].right)) &&
                        !has_item(&items, heft_str_of(options->rules[i].left)));
    heft_strmap_release(&items);
    return ok;
}

static bool has_metadata_rule(const struct heft_convert_options *options)
{
    for (size_t i = 0; i < options->n_rules; i++)
        if (options->rules[i].kind == HEFT_RULE_METADATA)
            return true;
    return false;
}

/* Whether the metadata has entries that are neither recorded ties nor reserved. */
static bool has_others(const struct heft_export_list *exports)
{
    size_t n = 0, recorded = 0;

    for (size_t i = 0; i < exports->n_metadata; i++)
        n += !heft_tie_is_reserved(exports->metadata[i].key);
    for (size_t i = 0; i < exports->n_tied; i++)
        recorded += exports->tied[i].is_recorded;
    return n > recorded;
}

/* Adds the entry heft.ties with the dropped names if the records alone would be read
 * differently. */
static bool list_ties(struct heft_export_list *exports, const struct heft_convert_options *options,
                      struct heft_error *err)
{
    struct heft_pair all = {.key = HEFT_STR(HEFT_TIES_KEY)};
    struct heft_buf lines = {0};
    const bool others = has_others(exports);
    bool is_wanted = false, is_new;

    if (has_metadata_rule(options) && !looks_tied(exports, options, &is_wanted, err))
        return false;
    for (size_t i = 0; i < exports->n_tied; i++) {
        const struct heft_tied *tied = &exports->tied[i];

        if (!tied->is_recorded)
            continue;
        is_wanted = is_wanted || !heft_tie_is_plain(tied->dropped, tied->kept, others);
        heft_buf_text(&lines, lines.n ? "\n" : "");
        heft_buf_str(&lines, tied->dropped);
    }
    if (!is_wanted) {
        heft_buf_release(&lines);
        return true;
    }
    return heft_buf_take(&lines, exports->mem, &all.value, err) &&
           heft_export_add_metadata(exports, &all, &is_new, err);
}

bool heft_export_untie(struct heft_export_list *exports, const struct heft_convert_options *options,
                       struct heft_error *err)
{
    struct heft_arena scratch = {.budget = exports->mem->budget};
    struct untier u = {.options = options};
    const bool ok = untier_init(&u, exports, &scratch, err) && untie_rows(&u, &scratch, err) &&
                    untie_all(&u, err) && list_ties(exports, options, err);

    heft_arena_release(&scratch);
    return ok;
}
