/* export_list.c: the list of tensors to write: selected, renamed, cast, assigned to shards. */
#include "core/export_list.h"

#include <stdlib.h>

#include "base/text.h"
#include "core/cast.h"
#include "core/derive.h"
#include "core/select.h"
#include "core/tie_records.h"

#define KEY_BYTES 36 /* of a key or name in its hash table */

/* ---- loading the list -------------------------------------------------------------------- */

static bool has_wildcard(const char *glob)
{
    for (; *glob; glob++) {
        if (strchr("*?[", *glob))
            return true;
        if (*glob == '\\' && glob[1])
            glob++;
    }
    return false;
}

bool heft_export_cast_applies(const struct heft_row *row, enum heft_dtype to, const char *glob)
{
    const uint8_t target = heft_dtype_info(to)->kind;
    const uint8_t kind = heft_dtype_info((enum heft_dtype)row->dtype)->kind;

    if (!has_wildcard(glob) || target == kind)
        return true;
    if (target == HEFT_KIND_SCALED)
        return kind == HEFT_KIND_FLOAT && row->rank > 1;
    if (kind == HEFT_KIND_SCALED)
        return target == HEFT_KIND_FLOAT;
    return target != HEFT_KIND_FLOAT && target != HEFT_KIND_COMPLEX;
}

bool heft_export_choose_dtype(struct heft_export_item *item, struct heft_str name,
                              const struct heft_convert_options *options, struct heft_error *err)
{
    const enum heft_dtype from = (enum heft_dtype)item->row->dtype;
    enum heft_dtype to;

    if (!heft_derived_dtype(item->row, options->dequantize, &to, err))
        return false;

    for (size_t i = 0; i < options->n_rules; i++) {
        const struct heft_rule *rule = &options->rules[i];
        enum heft_dtype asked;

        if (rule->kind != HEFT_RULE_CAST)
            continue;
        if (!heft_dtype_named(rule->right, &asked))
            return heft_dtype_refuse(rule->right, err);
        if (heft_glob_match(heft_str_of(rule->left), name) &&
            heft_export_cast_applies(item->row, asked, rule->left))
            to = asked;
    }
    item->as = (uint8_t)to;
    if (to != from && !heft_cast_known(from, to)) {
        heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "%s cannot be cast to %s%s",
                  heft_dtype_name(from), heft_dtype_name(to),
                  heft_dtype_is_scaled(to) ? "; llama-quantize makes such files" : "");
        return heft_error_about(err, "tensor", item->row->name);
    }
    if (to != from && !heft_row_check_decodes(item->row, err))
        return false;
    if (heft_dtype_varies(to)) {
        item->bytes = item->row->bytes;
        return true;
    }
    return heft_row_size_as(item->row, to, &item->bytes, err);
}

static bool refuse_one(const struct heft_model *model, const struct heft_unreadable *lost,
                       struct heft_error *err)
{
    heft_fail(err, HEFT_UNSUPPORTED, lost->offset, "%s; leave it out with the rule '!NAME'",
              lost->reason);
    heft_error_about(err, "tensor", lost->name);
    return heft_error_file(err, model->sources[lost->source].path);
}

static bool refuse_unreadable(const struct heft_model *model,
                              const struct heft_convert_options *options, struct heft_error *err)
{
    struct heft_selector *selector =
        heft_selector_new(options->root, options->rules, options->n_rules, err);
    bool ok = selector != NULL;

    for (size_t i = 0; ok && i < model->n_unreadable; i++)
        ok = !heft_selector_takes(selector, model->unreadable[i].name) ||
             refuse_one(model, &model->unreadable[i], err);
    heft_selector_free(selector);
    return ok;
}

bool heft_export_rename(struct heft_export_list *exports, size_t first,
                        const struct heft_convert_options *options, struct heft_error *err)
{
    struct heft_export_item *items = exports->items + first;
    const size_t n = exports->n_items - first;
    struct heft_str *names = heft_calloc(n + 1, sizeof *names, err);
    bool ok = names != NULL;

    for (size_t i = 0; ok && i < n; i++)
        names[i] = items[i].name;
    ok = ok && heft_rename_all(names, n, options->rules, options->n_rules, exports->mem, err);
    for (size_t i = 0; ok && i < n; i++)
        items[i].name = names[i];
    heft_free(names);
    return ok;
}

bool heft_export_check_names(const struct heft_export_list *exports, struct heft_error *err)
{
    struct heft_strmap seen = {0};
    bool ok = heft_strmap_reserve(&seen, exports->n_items, err);
    uint32_t other = HEFT_MAP_NONE;

    for (uint32_t i = 0; ok && i < exports->n_items; i++) {
        ok = heft_strmap_add(&seen, exports->items[i].name, i, &other, err);
        if (ok && other != HEFT_MAP_NONE)
            ok = heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "%s and %s would both be called %s",
                           exports->items[other].from.p, exports->items[i].from.p,
                           exports->items[i].name.p);
    }
    heft_strmap_release(&seen);
    return ok;
}

bool heft_export_add_metadata(struct heft_export_list *exports, const struct heft_pair *pair,
                              bool *is_new, struct heft_error *err)
{
    uint32_t found;

    if (!heft_strmap_add(&exports->keys, pair->key, (uint32_t)exports->n_metadata, &found, err))
        return false;
    *is_new = found == HEFT_MAP_NONE;
    if (!*is_new)
        return true;
    if (!heft_budget_take(exports->mem->budget, sizeof *pair + KEY_BYTES, err) ||
        !heft_grow(&exports->metadata, &exports->cap_metadata, exports->n_metadata, 1, sizeof *pair,
                   err))
        return false;
    exports->metadata[exports->n_metadata++] = *pair;
    return true;
}

/* Adds an entry of the metadata, or replaces its value. */
static bool set_metadata(struct heft_export_list *exports, const char *key, const char *value,
                         struct heft_error *err)
{
    const struct heft_pair pair = {.key = heft_str_of(key), .value = heft_str_of(value)};
    const uint32_t found = heft_strmap_get(&exports->keys, pair.key);
    bool is_new;

    if (found == HEFT_MAP_NONE)
        return heft_export_add_metadata(exports, &pair, &is_new, err);
    exports->metadata[found] = pair;
    return true;
}

static bool is_utf8(const char *text)
{
    const struct heft_bytes bytes = {(const uint8_t *)text, strlen(text)};

    return heft_utf8_check(bytes) == bytes.n;
}

bool heft_export_removes_metadata(const struct heft_rule *rules, size_t n_rules,
                                  struct heft_str key)
{
    for (size_t i = 0; i < n_rules; i++)
        if (rules[i].kind == HEFT_RULE_DROP_METADATA &&
            heft_glob_match(heft_str_of(rules[i].left), key))
            return true;
    return false;
}

/* Collects the metadata of the source, then the user's. */
static bool collect_metadata(struct heft_export_list *exports,
                             const struct heft_convert_options *options, struct heft_error *err)
{
    const struct heft_model *model = exports->model;
    bool is_new;

    for (size_t i = 0; i < model->n_metadata; i++)
        if ((model->metadata_is_exact ||
             !heft_metadata_is_bookkeeping(model, model->metadata[i].key)) &&
            !heft_export_removes_metadata(options->rules, options->n_rules,
                                          model->metadata[i].key) &&
            !heft_export_add_metadata(exports, &model->metadata[i], &is_new, err))
            return false;
    for (size_t i = 0; i < options->n_rules; i++) {
        const struct heft_rule *rule = &options->rules[i];

        if (rule->kind != HEFT_RULE_METADATA)
            continue;
        if (!is_utf8(rule->left) || !is_utf8(rule->right))
            return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "metadata must be UTF-8");
        if (!set_metadata(exports, rule->left, rule->right, err))
            return false;
    }
    return true;
}

static bool take_rows(struct heft_export_list *exports, const struct heft_convert_options *options,
                      const bool *selected, struct heft_error *err)
{
    const struct heft_model *model = exports->model;

    for (size_t i = 0; i < model->n_rows; i++) {
        struct heft_export_item *item = &exports->items[exports->n_items];

        if (!selected[i])
            continue;
        *item = (struct heft_export_item){.row = &model->rows[i]};
        heft_name_below(model->rows[i].name, options->root, &item->name);
        item->from = item->name;
        if (!heft_export_choose_dtype(item, item->name, options, err))
            return false;
        exports->n_items++;
    }
    return true;
}

bool heft_export_load(struct heft_export_list *out, const struct heft_model *model,
                      const struct heft_convert_options *options, struct heft_arena *mem,
                      struct heft_error *err)
{
    bool *selected = heft_calloc(model->n_rows + 1, sizeof *selected, err);
    bool ok;

    *out = (struct heft_export_list){.model = model, .mem = mem, .n_shards = 1};
    if (heft_budget_allows(mem->budget, model->n_rows * (sizeof *out->items + KEY_BYTES), err))
        out->items = heft_arena_zero(mem, model->n_rows + 1, sizeof *out->items, err);
    ok = selected && out->items &&
         heft_select_rows(model, options->root, options->rules, options->n_rules, selected, err) &&
         (options->salvage || refuse_unreadable(model, options, err)) &&
         take_rows(out, options, selected, err) && heft_export_rename(out, 0, options, err) &&
         heft_export_check_names(out, err) && heft_export_take_blobs(out, options, err) &&
         collect_metadata(out, options, err);
    heft_free(selected);
    return ok;
}

void heft_export_release(struct heft_export_list *exports)
{
    heft_free(exports->metadata);
    heft_free(exports->tied);
    heft_strmap_release(&exports->keys);
    *exports = (struct heft_export_list){0};
}

/* ---- splitting into shards --------------------------------------------------------------- */

#define EMPTY_STORAGE (UINT64_MAX - 1) /* the hub treats all empty storages as one */

/* Storage number of an item for the hub's split; UINT64_MAX: a storage of its own. After
 * untying, names that still share a storage are written separately, because the hub refuses
 * them. */
static uint64_t storage_id(const struct heft_export_list *exports,
                           const struct heft_export_item *item)
{
    const struct heft_storage *storage;

    if (item->row->parts)
        return UINT64_MAX;
    storage = &exports->model->storages[item->row->storage];
    if (storage->len == 0 || (exports->untied && item->bytes == 0))
        return EMPTY_STORAGE;
    return exports->untied || storage->is_pooled ? UINT64_MAX : item->row->storage;
}

static uint64_t item_size(const struct heft_export_list *exports,
                          const struct heft_export_item *item)
{
    return exports->weigh ? exports->weigh(item) : item->bytes;
}

struct split_arrays {
    uint64_t *sizes, *storages;
    uint32_t *shards;
    size_t *order;
    struct heft_export_item *sorted;
};

/* Bytes of an item: in these arrays; in those of heft_split, and there in a table that is a quarter
 * full. */
#define SPLIT_BYTES (sizeof(struct heft_export_item) + 28 + 36 + 64)

static bool split_arrays(struct split_arrays *a, size_t n, struct heft_arena *mem,
                         struct heft_error *err)
{
    a->sizes = heft_arena_zero(mem, n + 1, sizeof *a->sizes, err);
    a->storages = heft_arena_zero(mem, n + 1, sizeof *a->storages, err);
    a->shards = heft_arena_zero(mem, n + 1, sizeof *a->shards, err);
    a->order = heft_arena_zero(mem, n + 1, sizeof *a->order, err);
    a->sorted = heft_arena_zero(mem, n + 1, sizeof *a->sorted, err);
    return a->sizes && a->storages && a->shards && a->order && a->sorted;
}

static const size_t *shard_begins(const struct heft_export_list *exports, struct heft_error *err)
{
    size_t *begins = heft_arena_zero(exports->mem, exports->n_shards + 1ull, sizeof *begins, err);

    for (size_t i = 0; begins && i < exports->n_items; i++)
        begins[exports->items[i].shard + 1] = i + 1;
    return begins;
}

/* Adds the size of an item to the total, unless its storage is counted already. */
static bool add_size(struct heft_export_list *exports, const struct heft_export_item *item,
                     bool *counted, struct heft_error *err)
{
    const uint64_t storage = exports->weigh ? UINT64_MAX : storage_id(exports, item);

    if (storage < exports->model->n_storages) {
        if (counted[storage])
            return true;
        counted[storage] = true;
    }
    return heft_add(exports->total_size, item_size(exports, item), &exports->total_size) ||
           heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "the sum of the sizes is 2^64 bytes or more");
}

/* A single file keeps the source's order. The hub's split would move tied names to the end, and
 * needs 150 bytes for each item. */
static bool keep_order(struct heft_export_list *exports, struct heft_error *err)
{
    bool *counted = heft_calloc(exports->model->n_storages + 1, sizeof *counted, err);
    bool ok = counted != NULL;

    exports->total_size = 0;
    for (size_t i = 0; ok && i < exports->n_items; i++) {
        exports->items[i].number = (uint32_t)i + 1; /* fits, as in sort_by_shard */
        ok = add_size(exports, &exports->items[i], counted, err);
    }
    heft_free(counted);
    return ok;
}

static void sort_by_shard(struct heft_export_list *exports, const struct split_arrays *a)
{
    for (size_t i = 0; i < exports->n_items; i++) {
        a->sorted[i] = exports->items[a->order[i]];
        a->sorted[i].shard = a->shards[a->order[i]];
        a->sorted[i].number =
            (uint32_t)i + 1; /* fits: there are at most as many as rows and ties, numbered by u32 */
    }
    memcpy(exports->items, a->sorted, exports->n_items * sizeof *exports->items);
}

static bool split_items(struct heft_export_list *exports, uint64_t max_shard_size,
                        struct heft_error *err)
{
    const size_t n = exports->n_items;
    struct heft_arena scratch = {.budget = exports->mem->budget};
    struct split_arrays a = {0};
    uint32_t n_shards = 0;
    bool ok = heft_budget_allows(scratch.budget, n * SPLIT_BYTES, err) &&
              split_arrays(&a, n, &scratch, err);

    for (size_t i = 0; ok && i < n; i++) {
        const struct heft_export_item *item = &exports->items[i];

        a.sizes[i] = item_size(exports, item);
        a.storages[i] = exports->weigh ? UINT64_MAX : storage_id(exports, item);
    }
    ok = ok && heft_split(n, a.sizes, a.storages, max_shard_size, a.shards, a.order, &n_shards,
                          &exports->total_size, err);
    if (ok) {
        sort_by_shard(exports, &a);
        exports->n_shards = n_shards ? n_shards : 1;
    }
    heft_arena_release(&scratch);
    return ok;
}

bool heft_export_split(struct heft_export_list *exports, uint64_t max_shard_size,
                       struct heft_error *err)
{
    if (max_shard_size == UINT64_MAX ? !keep_order(exports, err)
                                     : !split_items(exports, max_shard_size, err))
        return false;
    exports->begins = shard_begins(exports, err);
    return exports->begins != NULL;
}

struct heft_export_list heft_export_shard(const struct heft_export_list *exports, uint32_t shard)
{
    struct heft_export_list part = *exports;

    part.items = exports->items + exports->begins[shard];
    part.n_items = exports->begins[shard + 1] - exports->begins[shard];
    return part;
}
