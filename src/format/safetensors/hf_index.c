/* hf_index.c: reads and writes the index of a sharded Hugging Face checkpoint
 * (doc/format/safetensors.md).
 *
 *     {
 *       "metadata": {
 *         "total_size": 40                                       bytes of all tensors
 *       },
 *       "weight_map": {
 *         "layer.weight": "model-00001-of-00002.safetensors",    tensor → file beside the index
 *         …
 *       }
 *     }
 *
 * Keras' NAME.weights.json maps groups of variables to one or several files instead:
 *
 *         "/layers/dense/vars": ["NAME_00000.weights.h5", …],
 *
 * The shards may be of any format. Each is opened once, in the order of their names, as
 * transformers does; those of Keras in the order in which they are mentioned. Then the index is
 * compared with the shards: disagreements are findings of `verify`, but a shard that is missing or
 * broken is an error. The text of the index is released after opening. */
#include <stdlib.h>

#include "base/text.h"
#include "core/plan.h"
#include "core/registry.h"
#include "core/tie_records.h"
#include "wire/json.h"

struct shard {
    struct heft_str path;
    size_t first, end; /* range of its rows in the model */
    const struct heft_format *format;
    uint32_t n_entries, first_entry; /* its range in by_shard */
    uint32_t mentioned;              /* number of shards mentioned before it */
};

struct mapping {
    struct heft_str name;
    uint32_t shard;
    uint32_t where; /* offset in the index */
    bool found;     /* found in one of the shards */
    bool is_group;  /* Keras: has an entry for each shard, consecutive and in their order */
    uint32_t first; /* first entry of the group */
    uint32_t next;  /* for the first entry of the group: the entry whose shard is being checked */
};

struct reader {
    struct heft_model *model;
    struct heft_error *err;
    uint32_t source;
    struct heft_arena mem; /* for the text and strings decoded from it */
    struct heft_json json;
    struct mapping *map;
    size_t n_map, cap_map;
    uint32_t *by_shard; /* indexes of map entries, sorted by shard */
    struct shard *shards;
    size_t n_shards, cap_shards;
    struct heft_strmap names, paths, metadata;
    size_t first_metadata, end_metadata; /* range of the index's metadata among the model's */
    size_t first_storage;
    bool has_metadata, has_map, has_groups;
    struct heft_str total; /* total_size as written in the file */
    uint64_t total_where;
};

/* ---- parsing the index ---------------------------------------------------------------------- */

/* Takes the next value: strings decoded, all other values as JSON text. */
static bool take_text(struct reader *r, struct heft_str *out, bool *is_json)
{
    const enum heft_json_token token = heft_json_next(&r->json);
    const size_t begin = (size_t)r->json.where;
    const bool nested = token == HEFT_JSON_OBJECT || token == HEFT_JSON_ARRAY;
    const uint32_t depth = r->json.depth - nested;

    *is_json = token != HEFT_JSON_STRING;
    if (token == HEFT_JSON_STRING) {
        *out = r->json.text;
        return true;
    }
    if (token == HEFT_JSON_ERROR)
        return false;
    while (r->json.depth > depth)
        if (heft_json_next(&r->json) == HEFT_JSON_ERROR)
            return false;
    *out = (struct heft_str){(const char *)r->json.data.p + begin, r->json.at - begin};
    return true;
}

static bool add_metadata(struct reader *r, struct heft_str key, uint64_t where)
{
    struct heft_model *model = r->model;
    struct heft_pair pair = {.key = key, .source = r->source};
    uint32_t other;

    if (r->metadata.count >= model->limits.expansion)
        return heft_fail(r->err, HEFT_LIMIT, where,
                         "more than %" PRIu64 " metadata entries, which is the limit",
                         model->limits.expansion);
    if (!take_text(r, &pair.value, &pair.is_json) ||
        !heft_strmap_add(&r->metadata, key, 0, &other, r->err) ||
        !heft_model_add_metadata(model, &pair, r->err))
        return false;
    if (other != HEFT_MAP_NONE)
        return heft_fail(r->err, HEFT_MALFORMED, where, "metadata key \"%s\" occurs twice",
                         model->metadata[model->n_metadata - 1].key.p);
    if (heft_str_is(key, "total_size")) {
        r->total = pair.value;
        r->total_where = where;
    }
    return true;
}

static bool read_metadata(struct reader *r)
{
    enum heft_json_token token = heft_json_next(&r->json);

    if (token == HEFT_JSON_NULL)
        return true;
    if (token != HEFT_JSON_OBJECT)
        return heft_json_refuse(&r->json, token, "metadata", "an object");
    while ((token = heft_json_next(&r->json)) == HEFT_JSON_KEY)
        if (!add_metadata(r, r->json.text, r->json.where))
            return false;
    return token != HEFT_JSON_ERROR;
}

/* Finds or adds the shard at that path. */
static bool find_shard(struct reader *r, struct heft_str path, uint32_t *number)
{
    if (!heft_strmap_add(&r->paths, path, (uint32_t)r->n_shards, number, r->err))
        return false;
    if (*number != HEFT_MAP_NONE)
        return true;
    if (!heft_grow(&r->shards, &r->cap_shards, r->n_shards, 1, sizeof *r->shards, r->err))
        return false;
    *number = (uint32_t)r->n_shards;
    r->shards[r->n_shards++] = (struct shard){.path = path, .mentioned = *number};
    return true;
}

/* Adds an entry for the path in weight_map that is the last token. */
static bool add_file(struct reader *r, const struct mapping *map)
{
    const uint64_t limit = heft_limit_entries(&r->model->limits, UINT64_MAX);
    struct mapping entry = *map;

    if (r->n_map >= limit)
        return heft_fail(r->err, HEFT_LIMIT, map->where,
                         "more than %" PRIu64 " tensors in the index, which is the limit", limit);
    if (!find_shard(r, r->json.text, &entry.shard) ||
        !heft_grow(&r->map, &r->cap_map, r->n_map, 1, sizeof *r->map, r->err))
        return false;
    r->map[r->n_map++] = entry;
    return true;
}

static int by_shard(const void *a, const void *b)
{
    const uint32_t x = ((const struct mapping *)a)->shard, y = ((const struct mapping *)b)->shard;

    return (x > y) - (x < y);
}

/* Adds the files of a group, after the opening bracket. */
static bool add_files(struct reader *r, const struct mapping *map)
{
    struct mapping *entries;
    enum heft_json_token token;
    size_t n;

    while ((token = heft_json_next(&r->json)) == HEFT_JSON_STRING)
        if (!add_file(r, map))
            return false;
    n = r->n_map - map->first;
    if (token != HEFT_JSON_ARRAY_END || n == 0)
        return heft_json_refuse(&r->json, token, "its file in weight_map", "a string");
    entries = r->map + map->first;
    qsort(entries, n, sizeof *entries, by_shard);
    for (size_t i = 1; i < n; i++)
        if (entries[i].shard == entries[i - 1].shard)
            return heft_fail(r->err, HEFT_MALFORMED, map->where,
                             "is listed twice for the file %.*s",
                             (int)heft_min_u64(r->shards[entries[i].shard].path.n, 200),
                             r->shards[entries[i].shard].path.p);
    return true;
}

static bool add_entry(struct reader *r, const struct mapping *map)
{
    const enum heft_json_token token = heft_json_next(&r->json);

    if (token == HEFT_JSON_STRING)
        return add_file(r, map);
    if (token == HEFT_JSON_ARRAY && map->is_group)
        return add_files(r, map);
    return heft_json_refuse(&r->json, token, "its file in weight_map", "a string");
}

static bool add_mapping(struct reader *r)
{
    struct mapping map = {.name = r->json.text,
                          .where = (uint32_t)r->json.where,
                          .first = (uint32_t)r->n_map,
                          .next = (uint32_t)r->n_map};
    uint32_t other;

    map.is_group = map.name.n > 1 && map.name.p[0] == '/';
    if (map.is_group) { /* names of rows have no leading slash */
        map.name = (struct heft_str){map.name.p + 1, map.name.n - 1};
        r->has_groups = true;
    }
    if (!heft_strmap_add(&r->names, map.name, map.first, &other, r->err))
        return false;
    if (other != HEFT_MAP_NONE)
        heft_fail(r->err, HEFT_MALFORMED, map.where,
                  "is in weight_map twice, first at offset 0x%" PRIx32, r->map[other].where);
    else if (add_entry(r, &map))
        return true;
    return heft_error_about(r->err, map.is_group ? "group" : "tensor", map.name);
}

static bool read_weight_map(struct reader *r)
{
    enum heft_json_token token = heft_json_next(&r->json);

    if (token != HEFT_JSON_OBJECT)
        return heft_json_refuse(&r->json, token, "weight_map", "an object");
    while ((token = heft_json_next(&r->json)) == HEFT_JSON_KEY)
        if (!add_mapping(r))
            return false;
    return token != HEFT_JSON_ERROR;
}

static bool read_once(struct reader *r, bool *seen, const char *what,
                      bool (*read)(struct reader *r))
{
    if (*seen)
        return heft_fail(r->err, HEFT_MALFORMED, r->json.where, "%s occurs twice", what);
    *seen = true;
    return read(r);
}

static bool read_member(struct reader *r)
{
    if (heft_str_is(r->json.text, "metadata"))
        return read_once(r, &r->has_metadata, "metadata", read_metadata);
    if (heft_str_is(r->json.text, "weight_map"))
        return read_once(r, &r->has_map, "weight_map", read_weight_map);
    return heft_json_skip(&r->json);
}

static bool read_text(struct reader *r)
{
    enum heft_json_token token = heft_json_next(&r->json);

    if (token != HEFT_JSON_OBJECT)
        return heft_json_refuse(&r->json, token, "index", "an object");
    while ((token = heft_json_next(&r->json)) == HEFT_JSON_KEY)
        if (!read_member(r))
            return false;
    if (token == HEFT_JSON_ERROR || heft_json_next(&r->json) != HEFT_JSON_END)
        return false;
    r->end_metadata = r->model->n_metadata;
    return r->has_map ||
           heft_fail(r->err, HEFT_MALFORMED, 0, "index has no weight_map (tensor → file)");
}

static bool load_text(struct reader *r)
{
    const struct heft_source src = r->model->sources[r->source].source;
    const uint64_t limit = heft_min_u64(r->model->limits.header, UINT32_MAX);
    struct heft_bytes text;
    size_t valid;

    if (src.size > limit)
        return heft_fail(r->err, HEFT_LIMIT, 0,
                         "index has %" PRIu64 " bytes, the limit is %" PRIu64, src.size, limit);
    if (!heft_source_fetch(&src, 0, src.size, &r->mem, &text, r->err))
        return false;
    valid = heft_utf8_check(text);
    if (valid != text.n)
        return heft_fail(r->err, HEFT_MALFORMED, valid, "index is not UTF-8: byte 0x%02x",
                         text.p[valid]);
    heft_json_begin(&r->json, text, 0, &r->mem, r->err);
    return true;
}

static int by_path(const void *a, const void *b)
{
    return heft_str_cmp(((const struct shard *)a)->path, ((const struct shard *)b)->path);
}

/* Sorts shards by name: an index with sorted tensors can mention the last shard first. The files of
 * a group of Keras stay in the order in which they are mentioned. */
static bool sort_shards(struct reader *r)
{
    uint32_t *number = heft_arena_zero(&r->mem, r->n_shards + 1, sizeof *number, r->err);

    if (!number || r->has_groups || r->n_shards < 2)
        return number != NULL;
    qsort(r->shards, r->n_shards, sizeof *r->shards, by_path);
    for (uint32_t i = 0; i < r->n_shards; i++)
        number[r->shards[i].mentioned] = i;
    for (size_t i = 0; i < r->n_map; i++)
        r->map[i].shard = number[r->map[i].shard];
    return true;
}

/* Counting sort of the entries by shard, so that work on a shard does not go through all
 * entries. */
static bool group_entries(struct reader *r)
{
    uint32_t first = 0;

    r->by_shard = heft_arena_zero(&r->mem, r->n_map, sizeof *r->by_shard, r->err);
    if (!r->by_shard)
        return false;
    for (size_t i = 0; i < r->n_map; i++)
        r->shards[r->map[i].shard].n_entries++;
    for (size_t i = 0; i < r->n_shards; i++) {
        r->shards[i].first_entry = first;
        first += r->shards[i].n_entries;
        r->shards[i].n_entries = 0;
    }
    for (uint32_t i = 0; i < r->n_map; i++) {
        struct shard *shard = &r->shards[r->map[i].shard];

        r->by_shard[shard->first_entry + shard->n_entries++] = i;
    }
    return true;
}

/* ---- opening the shards --------------------------------------------------------------------- */

/* Salvage: a shard that cannot be opened. Its tensors are recorded as lost, and its partial rows
 * are removed. */
static bool lose_shard(struct reader *r, const struct shard *shard,
                       const struct heft_model_counts *before, const struct heft_error *found)
{
    struct heft_error why;

    r->model->counts = *before;
    heft_error_quote(&why, "its shard is lost", found);
    for (uint32_t i = 0; i < shard->n_entries; i++) {
        struct mapping *const map = &r->map[r->by_shard[shard->first_entry + i]];

        map->found = true;
        if (!heft_model_lose(r->model, map->name, r->source, &why, r->err))
            return false;
    }
    return true;
}

static bool open_shard(struct reader *r, uint32_t number)
{
    const struct heft_model_counts before = r->model->counts;
    struct heft_error found = {0};
    uint32_t source;

    if (heft_registry_open_sibling(r->model, r->source, r->shards[number].path, &source, &found)) {
        r->shards[number].format = r->model->sources[source].format;
        return true;
    }
    if (heft_model_forgives(r->model, &found) || (r->model->salvage && found.code == HEFT_IO))
        return lose_shard(r, &r->shards[number], &before, &found);
    *r->err = found;
    return false;
}

/* Opens all shards. A shard that is an index is refused: it could refer to itself. */
static bool open_shards(struct reader *r)
{
    struct heft_model *model = r->model;
    bool ok = true;

    if (model->inside_index)
        return heft_fail(r->err, HEFT_UNSAFE, 0, "found an index, expected a shard");
    model->inside_index = true;
    for (uint32_t i = 0; ok && i < r->n_shards; i++) {
        r->shards[i].first = model->n_rows;
        ok = open_shard(r, i);
        r->shards[i].end = model->n_rows;
    }
    model->inside_index = false;
    return ok;
}

/* The index entry for a row, by its name or that of its group; NULL if there is none. */
static struct mapping *mapping_of(const struct reader *r, struct heft_str name)
{
    uint32_t at = heft_strmap_get(&r->names, name);

    if (at != HEFT_MAP_NONE && !r->map[at].is_group)
        return &r->map[at];
    while (name.n > 0 && name.p[name.n - 1] != '/')
        name.n--;
    if (!r->has_groups || name.n < 2)
        return NULL;
    name.n--;
    at = heft_strmap_get(&r->names, name);
    return at != HEFT_MAP_NONE && r->map[at].is_group ? &r->map[at] : NULL;
}

struct placed {
    uint64_t at; /* sort key: position in the index, then in the shard */
    struct heft_row row;
};

static int by_place(const void *a, const void *b)
{
    const uint64_t x = ((const struct placed *)a)->at, y = ((const struct placed *)b)->at;

    return (x > y) - (x < y);
}

/* Such shards list their rows by name; the index has the order of the model, in which Keras assigns
 * weights. */
static bool reorder_rows(struct reader *r, const struct shard *shard)
{
    const size_t n = shard->end - shard->first;
    struct placed *placed = heft_arena_zero(&r->mem, n, sizeof *placed, r->err);
    struct heft_row *rows = r->model->rows + shard->first;

    if (!placed)
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct mapping *map = mapping_of(r, rows[i].name);
        const uint64_t at = map ? (uint64_t)(map - r->map) : UINT32_MAX;

        placed[i] = (struct placed){at << 32 | i, rows[i]};
    }
    qsort(placed, n, sizeof *placed, by_place);
    for (size_t i = 0; i < n; i++)
        rows[i] = placed[i].row;
    return true;
}

/* Names in h5 shards lack the first part; rows get the names of the index. */
static bool rename_rows(struct reader *r, const struct shard *shard)
{
    struct heft_strmap stored = {0};
    bool ok = true;

    for (uint32_t i = 0; ok && i < shard->n_entries; i++) {
        const uint32_t at = r->by_shard[shard->first_entry + i];
        uint32_t other;

        ok = r->map[at].is_group ||
             heft_strmap_add(&stored, shard->format->shard_name(r->map[at].name), at, &other,
                             r->err);
    }
    for (size_t i = shard->first; ok && i < shard->end; i++) {
        struct heft_row *row = &r->model->rows[i];
        const uint32_t at = heft_strmap_get(&stored, row->name);

        if (at == HEFT_MAP_NONE)
            continue;
        row->name.n = r->map[at].name.n;
        row->name.p = heft_arena_text(&r->model->mem, r->map[at].name, r->err);
        ok = row->name.p != NULL;
    }
    heft_strmap_release(&stored);
    return ok && reorder_rows(r, shard);
}

static bool rename_shards(struct reader *r)
{
    for (uint32_t i = 0; i < r->n_shards; i++)
        if (r->shards[i].format && r->shards[i].format->shard_name &&
            !rename_rows(r, &r->shards[i]))
            return false;
    return true;
}

static bool note_tensor(struct reader *r, uint64_t where, struct heft_str name, const char *says,
                        struct heft_str path)
{
    return heft_model_note(r->model, HEFT_FINDING, r->source, where, r->err, "tensor %.*s: %s %.*s",
                           (int)heft_min_u64(name.n, 200), name.p, says,
                           (int)heft_min_u64(path.n, 100), path.p);
}

/* The group's entry for that shard, or NULL; shards are asked for in order. */
static struct mapping *entry_of(struct reader *r, struct mapping *group, uint32_t shard)
{
    struct mapping *entry = &r->map[group->next];
    const struct mapping *const end = r->map + r->n_map;

    while (entry->shard < shard && entry + 1 < end && entry[1].first == group->first)
        entry++;
    group->next = (uint32_t)(entry - r->map);
    return entry->shard == shard ? entry : NULL;
}

/* Checks a tensor of that name in shard number `shard` against the index. */
static bool check_found(struct reader *r, struct heft_str name, uint32_t shard)
{
    struct mapping *const map = mapping_of(r, name);
    struct mapping *const entry = map && map->is_group ? entry_of(r, map, shard) : map;

    if (!map)
        return note_tensor(r, HEFT_NO_OFFSET, name, "not in the index, but in",
                           r->shards[shard].path);
    if (entry)
        entry->found = true;
    return (entry && entry->shard == shard) ||
           note_tensor(r, map->where, name, "not where the index says, but in",
                       r->shards[shard].path);
}

/* Salvage: records tensors that the index names and the shard lacks. */
static bool lose_missing(struct reader *r, const struct mapping *map)
{
    const struct heft_str path = r->shards[map->shard].path;
    struct heft_error why = {0};

    heft_fail(&why, HEFT_MALFORMED, map->where, "the index has it in %.*s, which does not",
              (int)heft_min_u64(path.n, 200), path.p);
    return heft_model_lose(r->model, map->name, r->source, &why, r->err);
}

/* Unreadable tensors count as found; which shard of a group has one is unknown. */
static void find_unreadable(struct reader *r)
{
    const struct heft_model *model = r->model;

    for (size_t i = 0; i < r->n_map; i++)
        r->map[i].next = r->map[i].first;
    for (size_t i = 0; i < model->n_unreadable; i++) {
        struct mapping *const map = mapping_of(r, model->unreadable[i].name);

        for (; map && map->next < r->n_map && r->map[map->next].first == map->first; map->next++)
            r->map[map->next].found = true;
    }
}

static bool check_shards(struct reader *r)
{
    const struct heft_model *model = r->model;

    for (uint32_t i = 0; i < r->n_shards; i++)
        for (size_t row = r->shards[i].first; row < r->shards[i].end; row++)
            if (!check_found(r, model->rows[row].name, i))
                return false;
    find_unreadable(r);
    for (size_t i = 0; i < r->n_map; i++) {
        const struct mapping *map = &r->map[i];

        if (!map->found && r->model->salvage && !lose_missing(r, map))
            return false;
        if (!map->found && !note_tensor(r, map->where, map->name, "the index has it in",
                                        r->shards[map->shard].path))
            return false;
    }
    return true;
}

/* Bytes that the shard's format counts for a row. */
static uint64_t weigh_row(const struct reader *r, const struct heft_row *row, uint64_t bytes)
{
    const struct heft_format *format =
        r->model->sources[r->model->storages[row->storage].source].format;
    const struct heft_export_item item = {.row = row, .as = row->dtype, .bytes = bytes};

    return format && format->weigh ? format->weigh(&item) : bytes;
}

/* Sums that total_size may mean: bytes of the tensors, or, as the hub counts for pickles, of their
 * storages; for h5 bits. False if there is no sum: validation will report why. */
static bool sum_bytes(const struct reader *r, uint64_t *rows, uint64_t *storages, uint64_t *weighed)
{
    const struct heft_model *model = r->model;
    const size_t first = r->n_shards ? r->shards[0].first : model->n_rows;
    uint64_t bytes;

    *rows = *storages = *weighed = 0;
    for (size_t i = first; i < model->n_rows; i++) {
        const struct heft_row *row = &model->rows[i];

        if (!heft_row_size((enum heft_dtype)row->dtype, row->rank, row->shape, &bytes) ||
            !heft_add(*rows, bytes, rows))
            return false;
        *weighed += weigh_row(r, row, bytes); /* no overflow: at most `bytes` */
    }
    for (size_t i = r->first_storage; i < model->n_storages; i++)
        if (!heft_add(*storages, model->storages[i].len, storages))
            return false;
    return true;
}

static bool check_total(struct reader *r)
{
    struct heft_json number;
    struct heft_error ignored = {0};
    uint64_t total, rows, storages, weighed;

    if (!r->total.p || !sum_bytes(r, &rows, &storages, &weighed))
        return true;
    if (r->has_groups && heft_str_ends(r->total, ".0")) /* Keras writes a float */
        r->total.n -= 2;
    heft_json_begin(&number, (struct heft_bytes){(const uint8_t *)r->total.p, r->total.n}, 0,
                    &r->mem, &ignored);
    if (heft_json_next(&number) == HEFT_JSON_NUMBER && heft_json_u64(&number, &total) &&
        (total == rows || total == storages || total == weighed))
        return true;
    return heft_model_note(r->model, HEFT_NOTE, r->source, r->total_where, r->err,
                           "total_size is %.*s, the tensors have %" PRIu64 " bytes",
                           (int)heft_min_u64(r->total.n, 40), r->total.p, rows);
}

static bool is_tensor(const void *ctx, struct heft_str name)
{
    const struct reader *r = ctx;
    const uint32_t at = heft_strmap_get(&r->names, name);

    return at != HEFT_MAP_NONE && r->map[at].found && !r->map[at].is_group;
}

/* Turns metadata entries "dropped name" → "kept name" of the index into ties. */
static bool add_ties(struct reader *r)
{
    const struct heft_tie_names names = {is_tensor, r};

    return heft_ties_read(r->model, r->first_metadata, r->end_metadata, &names, r->err);
}

static void release_reader(struct reader *r)
{
    heft_free(r->map);
    heft_free(r->shards);
    heft_strmap_release(&r->names);
    heft_strmap_release(&r->paths);
    heft_strmap_release(&r->metadata);
    heft_arena_release(&r->mem);
}

static bool open_index(struct heft_model *model, uint32_t source, struct heft_error *err)
{
    struct reader r = {.model = model,
                       .err = err,
                       .source = source,
                       .first_metadata = model->n_metadata,
                       .first_storage = model->n_storages};
    const bool ok = load_text(&r) && read_text(&r) && sort_shards(&r) && group_entries(&r) &&
                    heft_model_claim(model, source, 0, r.json.data.n, "index", err) &&
                    open_shards(&r) && rename_shards(&r) && check_shards(&r) && check_total(&r) &&
                    add_ties(&r);

    if (ok && !model->format)
        model->format = "hf-index"; /* there are no shards */
    release_reader(&r);
    return ok;
}

/* ---- recognising an index ------------------------------------------------------------------- */

/* Classifies a JSON object by its keys in the head of the file: 95 with weight_map, 40 if it may
 * follow. */
static int judge_keys(struct heft_json *json, bool whole)
{
    bool metadata = false;
    enum heft_json_token token;

    if (heft_json_next(json) != HEFT_JSON_OBJECT)
        return 0;
    while ((token = heft_json_next(json)) == HEFT_JSON_KEY) {
        if (heft_str_is(json->text, "weight_map"))
            return 95;
        metadata |= heft_str_is(json->text, "metadata");
        if (!heft_json_skip(json))
            break;
    }
    return metadata && !whole ? 40 : 0;
}

static int probe(const struct heft_probe *probe)
{
    struct heft_arena mem = {0};
    struct heft_error ignored = {0};
    struct heft_json json;
    int bid;

    heft_json_begin(&json, probe->head, 0, &mem, &ignored);
    bid = judge_keys(&json, probe->head.n == probe->size);
    heft_arena_release(&mem);
    return bid;
}

/* ---- writing an index ----------------------------------------------------------------------- */

/* Path of a shard relative to the index, which is in the same directory. */
static struct heft_str base_name(const char *path)
{
    return heft_str_of(path + heft_path_folder(path));
}

/* total_size first, then the user's entries and the ties; a user's own total_size replaces it, as
 * in Python's dict. */
static void put_metadata(struct heft_buf *buf, const struct heft_export_list *exports)
{
    const struct heft_pair *own_total = NULL;

    for (size_t i = 0; i < exports->n_metadata; i++)
        if (heft_str_is(exports->metadata[i].key, "total_size"))
            own_total = &exports->metadata[i];
    heft_buf_text(buf, "  \"metadata\": {\n    \"total_size\": ");
    if (own_total)
        heft_buf_json(buf, own_total->value, true);
    else
        heft_buf_u64(buf, exports->total_size);
    for (size_t i = 0; i < exports->n_metadata; i++) {
        if (&exports->metadata[i] == own_total)
            continue;
        heft_buf_text(buf, ",\n    ");
        heft_buf_json(buf, exports->metadata[i].key, true);
        heft_buf_text(buf, ": ");
        if (exports->metadata[i].is_json)
            heft_buf_str(buf, exports->metadata[i].value);
        else
            heft_buf_json(buf, exports->metadata[i].value, true);
    }
    heft_buf_text(buf, "\n  },\n");
}

/* Writes the index as json.dump(index, f, indent=2) does: ASCII only, no newline at the end.
 * `exports` is the whole list; the shards are the plan's first files. */
static bool plan_index(struct heft_plan *plan, uint32_t file,
                       const struct heft_export_list *exports, struct heft_error *err)
{
    struct heft_buf buf = {.budget = plan->mem->budget};
    struct heft_str text;
    bool ok;

    heft_buf_text(&buf, "{\n");
    put_metadata(&buf, exports);
    heft_buf_text(&buf, "  \"weight_map\": {");
    for (size_t i = 0; i < exports->n_items; i++) {
        const struct heft_export_item *item = &exports->items[i];

        heft_buf_text(&buf, i ? ",\n    " : "\n    ");
        heft_buf_json(&buf, item->name, true);
        heft_buf_text(&buf, ": ");
        heft_buf_json(&buf, base_name(plan->files[item->shard].path), true);
    }
    heft_buf_text(&buf, exports->n_items ? "\n  }\n}" : "}\n}");
    ok = heft_buf_ok(&buf, err) && heft_buf_take(&buf, plan->mem, &text, err) &&
         heft_plan_put(plan, file, text, err);
    heft_buf_release(&buf);
    return ok;
}

static const struct heft_file_name names[] = {
    {".weights.json", .rank = HEFT_FILE_INDEX, .kind = HEFT_NAME_ENDING},
    {0},
};

/* "model.safetensors.index.json" → "model.safetensors"; also
 * "model.safetensors.index.fp16.json". */
static bool cut_index(struct heft_str *name, bool *variant)
{
    static const char mark[] = ".index";
    struct heft_str s = *name;

    if (!heft_str_ends(s, ".json"))
        return false;
    s.n -= strlen(".json");
    if (!heft_str_ends(s, mark)) {
        while (s.n > 0 && s.p[s.n - 1] != '.')
            s.n--;
        s.n -= s.n > 0;
        *variant = true;
    }
    if (!heft_str_ends(s, mark) || s.n == sizeof mark - 1)
        return false;
    s.n -= sizeof mark - 1;
    *name = s;
    return true;
}

static const struct heft_locator locator = {.cut_index = cut_index};

extern const struct heft_format heft_format_hf_index;
const struct heft_format heft_format_hf_index = {
    .name = "hf-index",
    .summary = "index of a sharded checkpoint: the hub's *.index.json, Keras' *.weights.json",
    .names = names,
    .locator = &locator,
    .probe = probe,
    .open = open_index,
    .plan_index = plan_index,
    .index_suffix = ".index.json",
};
