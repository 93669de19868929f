/* heft_split.c: the public API for splitting a list of the caller's items into shards as the hub
 * does, with file names. */
#include "base/require_arg.h"
#include "base/sized.h"
#include "base/map.h"
#include "heft/heft.h"

#define SUFFIX "{suffix}"

struct heft_split_plan {
    struct heft_arena mem;
    struct heft_split_file *files;
    size_t n_files;
    uint64_t total;
};

/* Properties of the items, asked for once, and the result of the split. */
struct gathered {
    uint64_t *sizes, *storages;
    size_t *item, *order; /* indexes of the caller's items, without those that are skipped */
    uint32_t *shards, n_shards;
    size_t n;
};

/* ---- collecting the items ---------------------------------------------------------------- */

static bool make_room(struct gathered *g, size_t n, struct heft_arena *mem, struct heft_error *err)
{
    g->sizes = heft_arena_zero(mem, n, sizeof *g->sizes, err);
    g->storages = g->sizes ? heft_arena_zero(mem, n, sizeof *g->storages, err) : NULL;
    g->item = g->storages ? heft_arena_zero(mem, n, sizeof *g->item, err) : NULL;
    g->order = g->item ? heft_arena_zero(mem, n, sizeof *g->order, err) : NULL;
    g->shards = g->order ? heft_arena_zero(mem, n, sizeof *g->shards, err) : NULL;
    return g->shards != NULL;
}

static bool ask_size(const struct heft_split_items *items, size_t item, uint64_t *bytes,
                     struct heft_error *err)
{
    heft_error_begin(err);
    if (items->bytes(items->ctx, item, bytes, err))
        return true;
    return err->code != HEFT_OK ? false
                                : heft_fail(err, HEFT_CANCELLED, HEFT_NO_OFFSET, "interrupted");
}

/* The size of an item whose storage occurred before is not asked for. */
static bool collect_items(struct gathered *g, const struct heft_split_items *items,
                          struct heft_strmap *seen, struct heft_error *err)
{
    for (size_t i = 0; i < items->n; i++) {
        uint32_t other = HEFT_MAP_NONE;
        const size_t k = g->n;

        if (items->skip && items->skip(items->ctx, i))
            continue;
        g->item[k] = i;
        g->storages[k] = items->storage ? items->storage(items->ctx, i) : UINT64_MAX;
        if (g->storages[k] != UINT64_MAX &&
            !heft_strmap_add(
                seen, (struct heft_str){(const char *)&g->storages[k], sizeof g->storages[k]}, 0,
                &other, err))
            return false;
        if (other == HEFT_MAP_NONE && !ask_size(items, i, &g->sizes[k], err))
            return false;
        g->n++;
    }
    return true;
}

/* ---- names of the files ------------------------------------------------------------------ */

/* {suffix} exactly once, and no other brace. */
static bool check_pattern(const char *pattern, const char **mark, struct heft_error *err)
{
    const char *const found = strstr(pattern, SUFFIX);
    const char *const behind = found ? found + sizeof SUFFIX - 1 : "{";

    *mark = found;
    if (found && !strpbrk(behind, "{}") && strcspn(pattern, "{}") == (size_t)(found - pattern))
        return true;
    return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "the filename pattern \"%s\" must contain {suffix} once, and no other brace",
                     pattern);
}

static const char *file_name(struct heft_split_plan *plan, const char *pattern, const char *mark,
                             size_t index, struct heft_error *err)
{
    const int before = (int)(mark - pattern);
    const char *const behind = mark + sizeof SUFFIX - 1;

    if (plan->n_files == 1)
        return heft_arena_printf(&plan->mem, err, "%.*s%s", before, pattern, behind);
    return heft_arena_printf(&plan->mem, err, "%.*s-%05zu-of-%05zu%s", before, pattern, index + 1,
                             plan->n_files, behind);
}

static bool fill_files(struct heft_split_plan *plan, const struct gathered *g, const char *pattern,
                       const char *mark, struct heft_error *err)
{
    size_t *items = heft_arena_zero(&plan->mem, g->n, sizeof *items, err);
    size_t at = 0;

    plan->n_files = g->n_shards;
    plan->files = items ? heft_arena_zero(&plan->mem, g->n_shards, sizeof *plan->files, err) : NULL;
    if (!plan->files)
        return false;
    for (size_t k = 0; k < g->n; k++)
        items[k] = g->item[g->order[k]];
    for (size_t f = 0; f < plan->n_files; f++) {
        struct heft_split_file *file = &plan->files[f];

        file->name = file_name(plan, pattern, mark, f, err);
        file->items = items + at;
        while (at < g->n && g->shards[g->order[at]] == f)
            at++;
        file->n = (size_t)(items + at - file->items);
        if (!file->name)
            return false;
    }
    return true;
}

/* ---- public API -------------------------------------------------------------------------- */

struct heft_split_plan *heft_split_with(const struct heft_split_items *items,
                                        uint64_t max_shard_size, const char *filename_pattern,
                                        struct heft_error *err)
{
    struct heft_split_items own;

    if (!heft_require_arg(items && filename_pattern, "an argument", err) ||
        !HEFT_TAKE(heft_split_items, &own, items, err) ||
        !heft_require_arg(own.bytes || own.n == 0, "a function that returns sizes", err))
        return NULL;
    struct heft_split_plan *plan = heft_calloc(1, sizeof *plan, err);
    struct heft_strmap seen = {0};
    struct heft_arena mem = {0};
    struct gathered g = {0};
    const char *mark = NULL;
    const bool ok = plan && check_pattern(filename_pattern, &mark, err) &&
                    make_room(&g, own.n, &mem, err) && collect_items(&g, &own, &seen, err) &&
                    heft_split(g.n, g.sizes, g.storages, max_shard_size, g.shards, g.order,
                               &g.n_shards, &plan->total, err) &&
                    fill_files(plan, &g, filename_pattern, mark, err);

    heft_strmap_release(&seen);
    heft_arena_release(&mem);
    if (ok)
        return plan;
    heft_split_free(plan);
    return NULL;
}

bool heft_split_file_at(const struct heft_split_plan *plan, size_t index,
                        struct heft_split_file *out)
{
    if (!(plan && out))
        return false;
    if (index >= plan->n_files)
        return false;
    HEFT_FILL(heft_split_file, out, &plan->files[index]);
    return true;
}

uint64_t heft_split_total(const struct heft_split_plan *plan)
{
    if (!plan)
        return 0;
    return plan->total;
}

void heft_split_free(struct heft_split_plan *plan)
{
    if (plan)
        heft_arena_release(&plan->mem);
    heft_free(plan);
}
