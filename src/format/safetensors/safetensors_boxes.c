/* safetensors_boxes.c: shards of torch.distributed.checkpoint (HuggingFaceStorageWriter): files
 * whose tensors are n-d views (boxes) of larger ones.
 *
 *     shard-00001-model-00001-of-00001.safetensors     w F32 [3,4]
 *         __metadata__  DCP_SHARDING_INFO  {"w": {"saved_offsets": [0, 0]}}
 *     shard-00002-model-00001-of-00001.safetensors     w F32 [2,4]   {"w": {"saved_offsets": [3, 0]}}
 *         →  w F32 [5,4] in two parts
 *
 * The full shape is not stored: it is computed from the farthest box, so that the files do not show
 * whether the last shard is missing. A shard in the same directory that was not given is reported.
 * If shards are missing, each box is a row with a name of its own, w[0:3,0:4], and w cannot be
 * read. */
#include <stdlib.h>

#include "core/parts.h"
#include "format/safetensors/safetensors_parts.h"
#include "wire/json.h"

#define INFO    SHARD_INFO
#define VERSION SHARD_VERSION
#define OFFSETS SHARD_OFFSETS

/* ---- reading the list of boxes ----------------------------------------------------------- */

struct boxes {
    struct heft_model *model;
    uint32_t source;
    size_t first; /* first row of the file in the model */
    struct heft_strmap names;
    struct heft_json json;
    struct heft_arena scratch;
    size_t first_box;
    bool is_refused; /* the error is about a tensor; otherwise about the JSON */
    struct heft_error *err;
};

static bool refuse_box(struct boxes *b, struct heft_str name, const char *what)
{
    b->is_refused = true;
    heft_fail(b->err, HEFT_MALFORMED, PREFIX, "%s", what);
    return heft_error_about(b->err, "tensor", name);
}

/* Reads the numbers of "saved_offsets": one for each dimension. */
static bool read_offsets(struct boxes *b, const struct heft_row *row, uint64_t *start)
{
    enum heft_json_token token = heft_json_next(&b->json);
    unsigned n = 0;
    uint64_t end;

    if (token != HEFT_JSON_ARRAY)
        return heft_json_refuse(&b->json, token, OFFSETS, "an array");
    while ((token = heft_json_next(&b->json)) == HEFT_JSON_NUMBER) {
        if (n == row->rank || !heft_json_u64(&b->json, &start[n]) ||
            !heft_add(start[n], row->shape[n], &end) || end > INT64_MAX)
            return refuse_box(b, row->name,
                              INFO
                              ": offsets must be integers, one a dimension, and end below 2^63");
        n++;
    }
    if (token != HEFT_JSON_ARRAY_END)
        return heft_json_refuse(&b->json, token, OFFSETS, "an array of numbers");
    return n == row->rank || refuse_box(b, row->name, INFO ": fewer offsets than dimensions");
}

static bool read_box(struct boxes *b, const struct heft_row *row, struct heft_model_box *box)
{
    uint64_t *start = heft_arena_zero(&b->model->mem, row->rank + 1ull, sizeof *start, b->err);
    enum heft_json_token token = start ? heft_json_next(&b->json) : HEFT_JSON_ERROR;
    bool found = false;

    if (token != HEFT_JSON_OBJECT)
        return start && heft_json_refuse(&b->json, token, INFO " of a tensor", "an object");
    while ((token = heft_json_next(&b->json)) == HEFT_JSON_KEY) {
        const bool is_offsets = heft_str_is(b->json.text, OFFSETS);

        if (is_offsets && found)
            return refuse_box(b, row->name, INFO ": " OFFSETS " occurs twice");
        if (!(is_offsets ? read_offsets(b, row, start) : heft_json_skip(&b->json)))
            return false;
        found |= is_offsets;
    }
    box->start = start;
    return token == HEFT_JSON_OBJECT_END &&
           (found || refuse_box(b, row->name, INFO ": no " OFFSETS));
}

static bool read_tensor(struct boxes *b)
{
    struct heft_model *model = b->model;
    const uint32_t found = heft_strmap_get(&b->names, b->json.text);
    struct heft_model_box *box;

    if (found == HEFT_MAP_NONE)
        return heft_model_note(model, HEFT_FINDING, b->source, PREFIX, b->err,
                               INFO " names %.*s, which is not a tensor of the file",
                               (int)heft_min_u64(b->json.text.n, 200), b->json.text.p) &&
               heft_json_skip(&b->json);
    box = &model->boxes[b->first_box + found];
    if (box->start)
        return refuse_box(b, model->rows[b->first + found].name, INFO " names it twice");
    box->row = b->first + found;
    box->source = b->source;
    return read_box(b, &model->rows[box->row], box);
}

static bool read_info(struct boxes *b, struct heft_str text, size_t n)
{
    struct heft_model *model = b->model;
    enum heft_json_token token;

    if (!heft_grow(&model->boxes, &model->cap_boxes, model->n_boxes, n, sizeof *model->boxes,
                   b->err))
        return false;
    memset(model->boxes + model->n_boxes, 0, n * sizeof *model->boxes);
    b->first_box = model->n_boxes;
    heft_json_begin(&b->json, (struct heft_bytes){(const uint8_t *)text.p, text.n}, 0, &b->scratch,
                    b->err);
    token = heft_json_next(&b->json);
    if (token != HEFT_JSON_OBJECT)
        return heft_json_refuse(&b->json, token, INFO, "an object");
    while ((token = heft_json_next(&b->json)) == HEFT_JSON_KEY)
        if (!read_tensor(b))
            return false;
    if (token != HEFT_JSON_OBJECT_END || heft_json_next(&b->json) != HEFT_JSON_END)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!model->boxes[b->first_box + i].start)
            return refuse_box(b, model->rows[b->first + i].name, INFO " has no offsets for it");
    model->n_boxes += n;
    return true;
}

/* Removes the metadata entries that were read as boxes. */
static void drop_metadata(struct heft_model *model, size_t first)
{
    size_t kept = first;

    for (size_t i = first; i < model->n_metadata; i++)
        if (!heft_str_is(model->metadata[i].key, INFO) &&
            !heft_str_is(model->metadata[i].key, VERSION))
            model->metadata[kept++] = model->metadata[i];
    model->n_metadata = kept;
}

bool heft_safetensors_read_boxes(struct heft_model *model, uint32_t source, size_t first_row,
                                 size_t first_metadata, struct heft_error *err)
{
    const size_t n = model->n_rows - first_row;
    struct boxes b = {.model = model, .source = source, .first = first_row, .err = err};
    size_t at = first_metadata;
    bool ok = true;

    while (at < model->n_metadata && !heft_str_is(model->metadata[at].key, INFO))
        at++;
    if (at == model->n_metadata)
        return true;
    for (size_t i = 0; ok && i < n; i++) {
        uint32_t found;

        ok = heft_strmap_add(&b.names, model->rows[first_row + i].name, (uint32_t)i, &found, err);
    }
    ok = ok && read_info(&b, model->metadata[at].value, n);
    if (!ok && (err->code == HEFT_MALFORMED || err->code == HEFT_LIMIT) && !b.is_refused) {
        err->offset = PREFIX;
        heft_error_about(err, "metadata", HEFT_STR(INFO));
    }
    if (ok)
        drop_metadata(model, first_metadata);
    heft_strmap_release(&b.names);
    heft_arena_release(&b.scratch);
    return ok;
}

/* ---- joining boxes into tensors ---------------------------------------------------------- */

struct joining {
    struct heft_model *model;
    const char *absent; /* a shard beside those that were given; NULL if none */
    size_t n_shards;    /* files that have boxes */
    bool *gone;         /* for each row: removed */
    struct heft_arena scratch;
    struct heft_error *err;
};

static const char *file_name(const char *path)
{
    return path + heft_path_folder(path);
}

static bool is_shard_name(const char *name)
{
    struct heft_shard_name shard;

    return heft_safetensors_shard_name(name, &shard);
}

static bool is_at_origin(const struct heft_model *model, const struct heft_model_box *box)
{
    for (unsigned d = 0; d < model->rows[box->row].rank; d++)
        if (box->start[d])
            return false;
    return true;
}

/* Refuses a shard without the sharding info, beside others that have it. */
static bool check_infos(struct joining *j)
{
    const struct heft_model *model = j->model;
    bool *has_boxes = heft_arena_zero(&j->scratch, model->n_sources + 1, sizeof *has_boxes, j->err);

    for (size_t i = 0; has_boxes && i < model->n_boxes; i++)
        has_boxes[model->boxes[i].source] = true;
    for (size_t i = 0; has_boxes && i < model->n_rows; i++) {
        const uint32_t source = model->storages[model->rows[i].storage].source;
        const char *path = model->sources[source].path;

        if (has_boxes[source] || !path || !is_shard_name(file_name(path)))
            continue;
        heft_fail(j->err, HEFT_MALFORMED, PREFIX,
                  "the shard has no metadata " INFO ", unlike %.200s",
                  model->sources[model->boxes[0].source].path);
        return heft_error_file(j->err, path);
    }
    return has_boxes != NULL;
}

/* Files that torch writes as a whole have offsets of 0, and another name pattern. */
static bool drop_whole_files(struct joining *j)
{
    struct heft_model *model = j->model;
    bool *is_part = heft_arena_zero(&j->scratch, model->n_sources + 1, sizeof *is_part, j->err);
    size_t kept = 0;

    for (size_t i = 0; is_part && i < model->n_boxes; i++) {
        const uint32_t source = model->boxes[i].source;

        if (is_part[source] || (is_at_origin(model, &model->boxes[i]) &&
                                !is_shard_name(file_name(model->sources[source].path))))
            continue;
        is_part[source] = true;
        j->n_shards++;
    }
    for (size_t i = 0; is_part && i < model->n_boxes; i++)
        if (is_part[model->boxes[i].source])
            model->boxes[kept++] = model->boxes[i];
    model->n_boxes = kept;
    return is_part != NULL;
}

static bool is_given(const struct heft_model *model, const char *folder, size_t n, const char *name)
{
    for (size_t i = 0; i < model->n_sources; i++) {
        const char *path = model->sources[i].path;

        if (path && heft_path_folder(path) == n && strncmp(path, folder, n) == 0 &&
            strcmp(path + n, name) == 0)
            return true;
    }
    return false;
}

/* Finds a shard in the directory of the first one that was not given. */
static bool find_absent(struct joining *j)
{
    const char *path = j->model->sources[j->model->boxes[0].source].path;
    const size_t n = heft_path_folder(path);
    const char *folder = n ? heft_arena_printf(&j->scratch, j->err, "%.*s", (int)n, path) : ".";
    struct heft_error unseen = {0};
    const char *const *names;
    size_t count;

    if (!folder)
        return false;
    if (heft_files_kind(j->model->files, folder) != HEFT_PATH_DIR ||
        !heft_files_list(j->model->files, folder, &j->scratch, &names, &count, &unseen))
        return true;
    for (size_t i = 0; i < count && !j->absent; i++)
        if (is_shard_name(names[i]) && !is_given(j->model, path, n, names[i])) {
            j->absent = heft_arena_printf(&j->model->mem, j->err, "%s", names[i]);
            return j->absent != NULL;
        }
    return true;
}

static int by_name(const void *a, const void *b)
{
    const struct heft_model_box *x = a, *y = b;
    const int order = heft_str_cmp(x->name, y->name);

    return order ? order : (x->row > y->row) - (x->row < y->row);
}

/* Computes the shape of the tensor from the ends of its boxes. */
static bool measure_tensor(struct joining *j, const struct heft_model_box *list, size_t n,
                           struct heft_row *whole, const char **why)
{
    const struct heft_row *first = &j->model->rows[list->row];
    uint64_t *shape = heft_arena_zero(&j->model->mem, first->rank + 1ull, sizeof *shape, j->err);

    if (!shape)
        return false;
    for (size_t i = 0; i < n && !*why; i++) {
        const struct heft_row *row = &j->model->rows[list[i].row];

        if (row->dtype != first->dtype || row->rank != first->rank)
            *why = "its parts differ in dtype or rank";
        for (unsigned d = 0; d < row->rank && !*why; d++)
            shape[d] = heft_max_u64(shape[d], list[i].start[d] + row->shape[d]);
    }
    *whole = *first;
    whole->shape = shape;
    return true;
}

static bool is_empty(const struct heft_row *row)
{
    for (unsigned d = 0; d < row->rank; d++)
        if (row->shape[d] == 0)
            return true;
    return false;
}

static bool gather_parts(struct joining *j, const struct heft_model_box *list, size_t n,
                         struct heft_row *whole)
{
    struct heft_parts *parts = heft_arena_zero(&j->model->mem, 1, sizeof *parts, j->err);

    if (!parts || !(parts->list = heft_arena_zero(&j->model->mem, n, sizeof *parts->list, j->err)))
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct heft_row *row = &j->model->rows[list[i].row];

        if (!is_empty(row))
            parts->list[parts->n++] = (struct heft_part){.start = list[i].start,
                                                         .extent = row->shape,
                                                         .storage = row->storage,
                                                         .flags = row->flags};
    }
    if (parts->n) {
        whole->parts = parts;
        whole->storage = parts->list[0].storage;
    }
    return true;
}

/* Gives a box that stays a row a name of its own: "w[0:3,0:4]". */
static bool rename_box(struct joining *j, const struct heft_model_box *box)
{
    struct heft_row *row = &j->model->rows[box->row];
    struct heft_buf text = {0};

    heft_buf_str(&text, row->name);
    heft_buf_char(&text, '[');
    for (unsigned d = 0; d < row->rank; d++)
        heft_buf_printf(&text, "%s%" PRIu64 ":%" PRIu64, d ? "," : "", box->start[d],
                        box->start[d] + row->shape[d]);
    heft_buf_char(&text, ']');
    return heft_buf_take(&text, &j->model->mem, &row->name, j->err);
}

static const char *reason_of(struct joining *j, const struct heft_row *whole, size_t n,
                             const char *why)
{
    struct heft_buf shape = {0};
    struct heft_str text;

    for (unsigned d = 0; d < whole->rank; d++)
        heft_buf_printf(&shape, "%s%" PRIu64, d ? "," : "", whole->shape[d]);
    if (!heft_buf_take(&shape, &j->scratch, &text, j->err))
        return NULL;
    if (j->absent)
        return heft_arena_printf(&j->model->mem, j->err,
                                 "%zu part%s of a distributed save, of [%s] or more: open it "
                                 "together with %s and all other shards",
                                 n, n == 1 ? "" : "s", text.p, j->absent);
    return heft_arena_printf(&j->model->mem, j->err,
                             "%zu part%s of a distributed save, of [%s] or more: %s", n,
                             n == 1 ? "" : "s", text.p, why);
}

/* Refuses the parts of a tensor if no other file can complete or explain them. */
static bool refuse_parts(struct joining *j, const struct heft_model_box *list, size_t n,
                         const char *why)
{
    const struct heft_model *model = j->model;
    const char *first = model->sources[list->source].path;
    size_t last = strstr(why, " and in ") ? 0 : n - 1; /* an overlap names the files itself */

    while (last > 0 && list[last].source == list->source)
        last--;
    heft_fail(j->err, HEFT_MALFORMED, PREFIX, "%s%s%s", why, last > 0 ? "; its parts are in " : "",
              last > 0 ? file_name(model->sources[list[last].source].path) : "");
    heft_error_about(j->err, "tensor", list->name);
    return heft_error_file(j->err, first);
}

/* Makes each box a row with a name of its own; the whole tensor cannot be read. */
static bool leave_apart(struct joining *j, const struct heft_model_box *list, size_t n,
                        const struct heft_row *whole, const char *why)
{
    struct heft_model *model = j->model;
    const char *reason;

    if (j->n_shards > 1 && !j->absent && !model->salvage)
        return refuse_parts(j, list, n, why);
    reason = reason_of(j, whole, n, why);
    if (!reason ||
        !heft_model_add_unreadable(model, list->name, list->source, PREFIX, reason, j->err))
        return false;
    model->unreadable[model->n_unreadable - 1].is_finding = true;
    for (size_t i = 0; i < n; i++)
        if (!rename_box(j, &list[i]))
            return false;
    return true;
}

/* Joins the boxes of one name into a tensor, at the position of the first box. */
static bool join_tensor(struct joining *j, const struct heft_model_box *list, size_t n)
{
    struct heft_error overlap = {0};
    const char *why = NULL;
    struct heft_row whole;

    if (!measure_tensor(j, list, n, &whole, &why))
        return false;
    if (whole.rank == 0 && n == 1)
        return true;
    if (why || j->absent)
        return leave_apart(j, list, n, &whole, why);
    if (!gather_parts(j, list, n, &whole))
        return false;
    if (whole.parts && !heft_parts_tile(j->model, &whole, &overlap))
        return leave_apart(j, list, n, &whole, overlap.text);
    if (!whole.parts && !is_empty(&whole))
        return leave_apart(j, list, n, &whole, "all of them are empty");
    j->model->rows[list->row] = whole;
    for (size_t i = 1; i < n; i++)
        j->gone[list[i].row] = true;
    return true;
}

/* Numbers of ranks from 1 to the highest one that no file has. */
static bool count_absent_ranks(struct joining *j, uint32_t *highest, uint32_t *absent)
{
    const struct heft_model *model = j->model;
    struct heft_u32map ranks = {0};
    struct heft_shard_name shard;
    uint32_t n = 0;
    bool ok = true;

    *highest = 0;
    for (size_t i = 0; ok && i < model->n_sources; i++) {
        if (!model->sources[i].path ||
            !heft_safetensors_shard_name(file_name(model->sources[i].path), &shard))
            continue;
        *highest = shard.rank > *highest ? shard.rank : *highest;
        n += heft_u32map_get(&ranks, shard.rank) == HEFT_MAP_NONE;
        ok = heft_u32map_set(&ranks, shard.rank, 1, j->err);
    }
    *absent = *highest > n ? *highest - n : 0;
    heft_u32map_release(&ranks);
    return ok;
}

/* Notes what the files cannot prove. */
static bool note_shards(struct joining *j)
{
    uint32_t highest, absent;

    if (!count_absent_ranks(j, &highest, &absent))
        return false;
    if (absent > 0 &&
        !heft_model_tell(
            j->model, HEFT_NONE, j->err,
            "%u of the shards 1 to %u %s not there: ranks without data have none, but a "
            "lost one would not show",
            absent, highest, absent == 1 ? "is" : "are"))
        return false;
    return heft_model_note(
        j->model, HEFT_NOTE, HEFT_NONE, HEFT_NO_OFFSET, j->err,
        "tensors of a distributed save in %zu shard%s, whose shapes are as far as "
        "its parts reach: a last shard that is missing would not show",
        j->n_shards, j->n_shards == 1 ? "" : "s");
}

static bool join_all(struct joining *j)
{
    struct heft_model *model = j->model;
    size_t kept = 0;

    for (size_t i = 0; i < model->n_boxes; i++)
        model->boxes[i].name = model->rows[model->boxes[i].row].name;
    qsort(model->boxes, model->n_boxes, sizeof *model->boxes, by_name);
    for (size_t i = 0, n; i < model->n_boxes; i += n) {
        n = 1;
        while (i + n < model->n_boxes &&
               heft_str_eq(model->boxes[i].name, model->boxes[i + n].name))
            n++;
        if (!join_tensor(j, &model->boxes[i], n))
            return false;
    }
    for (size_t i = 0; i < model->n_rows; i++)
        if (!j->gone[i])
            model->rows[kept++] = model->rows[i];
    model->n_rows = kept;
    return j->absent || note_shards(j);
}

bool heft_safetensors_join(struct heft_model *model, struct heft_error *err)
{
    struct joining j = {.model = model, .err = err};
    bool ok;

    if (model->n_boxes == 0)
        return true;
    j.gone = heft_arena_zero(&j.scratch, model->n_rows + 1, sizeof *j.gone, err);
    ok = j.gone && check_infos(&j) && drop_whole_files(&j) &&
         (model->n_boxes == 0 || (find_absent(&j) && join_all(&j)));
    model->n_boxes = 0;
    heft_arena_release(&j.scratch);
    return ok;
}
