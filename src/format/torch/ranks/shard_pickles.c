/* shard_pickles.c: joins the parts of sharded tensors that the files of several ranks have.
 *
 *     model_rank0.bin   w.state.0.0.tensor  F32 [3,3]   at [0,0]
 *     model_rank1.bin   w.state.0.0.tensor  F32 [2,3]   at [3,0]
 *         →  w F32 [5,3] in two parts
 *
 * A file alone keeps its parts as rows, and is said to be a part. Parts of replicas are taken once; so are
 * tensors that each rank has as a whole. */
#include <stdlib.h>

#include "core/parts.h"
#include "format/torch/ranks/shard_pickles.h"

struct joining {
    struct heft_shards s;
    bool *gone; /* rows that are removed */
    size_t n_joined;
    uint32_t n_files; /* files with pieces */
    struct heft_error *err;
};

/* ---- rows by name ------------------------------------------------------------------------ */

bool heft_shards_row(struct heft_shards *s, uint32_t source, struct heft_str name, size_t *row)
{
    struct heft_buf key = {0};
    bool ok;

    heft_buf_u64(&key, source);
    heft_buf_char(&key, ':');
    heft_buf_str(&key, name);
    ok = heft_buf_ok(&key, s->err);
    if (ok) {
        const uint32_t found = heft_strmap_get(&s->rows, (struct heft_str){key.p, key.n});

        *row = found == HEFT_MAP_NONE ? SIZE_MAX : found;
    }
    heft_buf_release(&key);
    return ok;
}

static bool map_rows(struct heft_shards *s)
{
    const struct heft_model *model = s->model;

    for (size_t i = 0; i < model->n_rows; i++) {
        const struct heft_row *row = &model->rows[i];
        char *key;
        uint32_t before;

        if (row->parts || row->storage >= model->n_storages)
            continue;
        key =
            heft_arena_printf(&s->scratch, s->err, "%u:%.*s", model->storages[row->storage].source,
                              (int)row->name.n, row->name.p);
        if (!key || !heft_strmap_add(&s->rows, heft_str_of(key), (uint32_t)i, &before, s->err))
            return false;
    }
    return true;
}

/* ---- the parts of one tensor ------------------------------------------------------------- */

static int compare_boxes(const struct heft_shard_piece *x, const struct heft_shard_piece *y)
{
    for (unsigned d = 0; d < x->rank && d < y->rank; d++) {
        if (x->start[d] != y->start[d])
            return x->start[d] < y->start[d] ? -1 : 1;
        if (x->extent[d] != y->extent[d])
            return x->extent[d] < y->extent[d] ? -1 : 1;
    }
    return 0;
}

/* Orders pieces by name and box; those that a file has come before those that are only expected. */
static int by_name_and_box(const void *a, const void *b)
{
    const struct heft_shard_piece *x = a, *y = b;
    const int order = heft_str_cmp(x->name, y->name);
    const int boxes = order ? order : compare_boxes(x, y);

    return boxes ? boxes : (x->row > y->row) - (x->row < y->row);
}

static const char *path_of(const struct joining *j, const struct heft_shard_piece *piece)
{
    return j->s.model->sources[piece->source].path;
}

/* Fails for a part that no file has: names the rank that does. */
static bool refuse_missing(struct joining *j, const struct heft_shard_piece *piece)
{
    struct heft_buf box = {0};

    heft_buf_indexes(&box, piece->start, piece->rank);
    heft_buf_char(&box, '+');
    heft_buf_indexes(&box, piece->extent, piece->rank);
    if (heft_buf_ok(&box, j->err) && piece->holder >= 0)
        heft_fail(j->err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                  "its part %.*s is in none of the files: that of rank %" PRId64 " is missing",
                  (int)box.n, box.p, piece->holder);
    else if (!box.failed)
        heft_fail(j->err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                  "its part %.*s is in none of the files: one of a rank is missing", (int)box.n,
                  box.p);
    heft_buf_release(&box);
    heft_error_about(j->err, "tensor", piece->name);
    return heft_error_file(j->err, path_of(j, piece));
}

static bool is_empty(const struct heft_shard_piece *piece)
{
    for (unsigned d = 0; d < piece->rank; d++)
        if (piece->extent[d] == 0)
            return true;
    return false;
}

/* Checks that all pieces of a tensor mean the same tensor. */
static bool check_pieces(struct joining *j, const struct heft_shard_piece *list, size_t n)
{
    const struct heft_row *rows = j->s.model->rows;
    const struct heft_row *first = NULL;

    for (size_t i = 0; i < n; i++) {
        const struct heft_row *row = list[i].row == SIZE_MAX ? NULL : &rows[list[i].row];
        bool same = list[i].rank == list->rank &&
                    memcmp(list[i].shape, list->shape, list->rank * sizeof *list->shape) == 0;

        first = first ? first : row;
        same = same && (!row || row->dtype == first->dtype);
        for (unsigned d = 0; same && row && d < list[i].rank; d++)
            same = row->rank == list[i].rank && row->shape[d] == list[i].extent[d];
        if (same)
            continue;
        heft_fail(j->err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                  "its parts differ in dtype or in the shape of the tensor, in %.200s and %.200s",
                  path_of(j, list), path_of(j, &list[i]));
        heft_error_about(j->err, "tensor", list->name);
        return heft_error_file(j->err, path_of(j, &list[i]));
    }
    return true;
}

/* Removes a row, and the others of its object: "w._spec.mesh._rank_map". */
static void remove_row(struct joining *j, const struct heft_shard_piece *piece)
{
    const struct heft_model *model = j->s.model;

    j->gone[piece->row] = true;
    for (size_t i = piece->row + 1; i < model->n_rows; i++) {
        const struct heft_str name = model->rows[i].name;

        if (!heft_str_starts(name, piece->name) || name.n <= piece->name.n + 7 ||
            memcmp(name.p + piece->name.n, "._spec.", 7) != 0 ||
            model->storages[model->rows[i].storage].source != piece->source)
            break;
        j->gone[i] = true;
    }
}

/* The value of an object becomes a reference to the tensor. */
static void refer_to_tensor(const struct heft_shard_piece *piece)
{
    piece->value->kind = HEFT_VALUE_TENSOR;
    piece->value->type_name = NULL;
    piece->value->first_child = NULL;
    piece->value->text = piece->name.p;
    piece->value->text_len = piece->name.n;
}

/* Makes the row of the tensor, in place of its first part. */
static bool make_row(struct joining *j, const struct heft_shard_piece *list, size_t n)
{
    struct heft_model *model = j->s.model;
    struct heft_parts *parts = heft_arena_zero(&model->mem, 1, sizeof *parts, j->err);
    const struct heft_shard_piece *last = NULL;
    size_t target = SIZE_MAX;
    struct heft_row row = {.name = list->name, .shape = list->shape, .rank = (uint8_t)list->rank};

    if (!parts || !(parts->list = heft_arena_zero(&model->mem, n, sizeof *parts->list, j->err)))
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct heft_row *part = list[i].row == SIZE_MAX ? NULL : &model->rows[list[i].row];
        const bool again = last && compare_boxes(last, &list[i]) == 0;

        if (!part && !again && !is_empty(&list[i]))
            return refuse_missing(j, &list[i]);
        if (!part || again)
            continue;
        last = &list[i];
        target = heft_min_size(target, list[i].row);
        row.storage = part->storage;
        row.dtype = part->dtype;
        parts->list[parts->n++] = (struct heft_part){.start = list[i].start,
                                                     .extent = list[i].extent,
                                                     .stride = part->stride,
                                                     .offset = part->offset,
                                                     .storage = part->storage,
                                                     .flags = part->flags};
    }
    if (target == SIZE_MAX)
        return refuse_missing(j, list);
    row.parts = parts;
    for (size_t i = 0; i < n; i++) {
        if (list[i].row != SIZE_MAX)
            remove_row(j, &list[i]);
        refer_to_tensor(&list[i]);
    }
    model->rows[target] = row;
    j->gone[target] = false;
    j->n_joined++;
    return true;
}

/* ---- all tensors ------------------------------------------------------------------------- */

static bool count_files(struct joining *j)
{
    bool *seen = heft_arena_zero(&j->s.scratch, j->s.model->n_sources + 1, sizeof *seen, j->err);

    for (size_t i = 0; seen && i < j->s.n; i++) {
        j->n_files += !seen[j->s.pieces[i].source];
        seen[j->s.pieces[i].source] = true;
    }
    return seen != NULL;
}

/* Whether one file has all parts of all its tensors. */
static bool is_whole(const struct joining *j)
{
    const struct heft_shard_piece *last = NULL;
    uint64_t n, held = 0, elements = 0;

    for (size_t i = 0; i < j->s.n; i++) {
        const struct heft_shard_piece *p = &j->s.pieces[i];

        if (!last || !heft_str_eq(last->name, p->name)) {
            n = 1;
            for (unsigned d = 0; d < p->rank; d++)
                if (!heft_mul(n, p->shape[d], &n))
                    return false;
            if (!heft_add(elements, n, &elements))
                return false;
        }
        last = p;
        if (p->row == SIZE_MAX)
            continue;
        n = 1;
        for (unsigned d = 0; d < p->rank; d++)
            n *= p->extent[d]; /* no overflow: at most the tensor's */
        if (!heft_add(held, n, &held))
            return false;
    }
    return held == elements;
}

/* A file with parts only: its rows stay. */
static bool announce_part(struct joining *j)
{
    const struct heft_shard_piece *p = j->s.pieces;
    const char *text =
        p->holder >= 0 && p->row != SIZE_MAX
            ? heft_arena_printf(&j->s.model->mem, j->err,
                                "%.200s has a part of each sharded tensor, that of rank %" PRId64
                                "; open it together with the files of the other ranks",
                                path_of(j, p), p->holder)
            : heft_arena_printf(&j->s.model->mem, j->err,
                                "%.200s has a part of each sharded tensor; open it together with "
                                "the files of the other ranks",
                                path_of(j, p));

    if (text)
        heft_model_announce(j->s.model, text);
    return text != NULL;
}

/* Tensors that later files have, too: that of the first file is taken. */
static bool drop_replicas(struct joining *j)
{
    struct heft_model *model = j->s.model;
    struct heft_strmap names = {0};
    size_t n = 0;
    bool ok = true;

    for (size_t i = 0; ok && i < model->n_rows; i++) {
        const struct heft_row *row = &model->rows[i], *first;
        uint32_t before = HEFT_MAP_NONE;

        if (j->gone[i])
            continue;
        ok = heft_strmap_add(&names, row->name, (uint32_t)i, &before, j->err);
        if (!ok || before == HEFT_MAP_NONE)
            continue;
        first = &model->rows[before];
        if (first->parts || row->parts || first->dtype != row->dtype || first->rank != row->rank ||
            memcmp(first->shape, row->shape, row->rank * sizeof *row->shape) != 0)
            continue; /* validation refuses the name */
        j->gone[i] = true;
        n++;
    }
    heft_strmap_release(&names);
    return ok &&
           (n == 0 || heft_model_tell(model, HEFT_NONE, j->err,
                                      "%zu tensor%s that several ranks have: the first file's "
                                      "is taken",
                                      n, n == 1 ? "" : "s"));
}

static bool join_all(struct joining *j)
{
    struct heft_model *model = j->s.model;
    size_t kept = 0;

    for (size_t i = 0, n; i < j->s.n; i += n) {
        n = 1;
        while (i + n < j->s.n && heft_str_eq(j->s.pieces[i].name, j->s.pieces[i + n].name))
            n++;
        if (!check_pieces(j, &j->s.pieces[i], n) || !make_row(j, &j->s.pieces[i], n))
            return false;
    }
    if (!drop_replicas(j))
        return false;
    for (size_t i = 0; i < model->n_rows; i++)
        if (!j->gone[i])
            model->rows[kept++] = model->rows[i];
    model->n_rows = kept;
    model->has_tree = false;
    model->n_attachments = 0;
    return true;
}

static bool join_pieces(struct joining *j)
{
    if (!map_rows(&j->s) || !heft_shards_find(&j->s))
        return false;
    if (j->s.n == 0)
        return true;
    qsort(j->s.pieces, j->s.n, sizeof *j->s.pieces, by_name_and_box);
    j->gone = heft_arena_zero(&j->s.scratch, j->s.model->n_rows + 1, sizeof *j->gone, j->err);
    if (!j->gone || !count_files(j))
        return false;
    return j->n_files < 2 && !is_whole(j) ? announce_part(j) : join_all(j);
}

bool heft_shards_join(struct heft_model *model, struct heft_error *err)
{
    struct joining j = {.s = {.model = model,
                              .budget = 4 * heft_limit_tensors(&model->limits, model->file_bytes),
                              .err = err},
                        .err = err};
    bool ok;

    if (model->n_trees == 0)
        return true;
    ok = join_pieces(&j);
    heft_strmap_release(&j.s.rows);
    heft_strmap_release(&j.s.expected);
    heft_free(j.s.pieces);
    heft_buf_release(&j.s.path);
    heft_arena_release(&j.s.scratch);
    return ok;
}

/* ---- sets of files ----------------------------------------------------------------------- */

/* Splits "model_rank10.bin" into its stem and the rank. False for other names, and for those of files
 * that are not of a model. */
static bool split_name(const char *name, size_t *stem, uint32_t *rank)
{
    static const char *const others[] = {"rng", "random", "optim", "sched", "scaler"};
    const char *word = strstr(name, "rank"), *p = word ? word + 4 : NULL;
    const char *next;

    while (word && (next = strstr(p, "rank")) != NULL) {
        word = next;
        p = word + 4;
    }
    if (!word || *p < '0' || *p > '9')
        return false;
    for (size_t i = 0; i < HEFT_COUNT(others); i++)
        if (strncmp(name, others[i], strlen(others[i])) == 0)
            return false;
    *rank = 0;
    for (*stem = (size_t)(p - name); *p >= '0' && *p <= '9' && *rank < 100000000; p++)
        *rank = *rank * 10 + (uint32_t)(*p - '0');
    return strcmp(p, ".bin") == 0 || strcmp(p, ".pt") == 0 || strcmp(p, ".pth") == 0;
}

static int by_rank(const void *a, const void *b)
{
    uint32_t x = 0, y = 0;
    size_t stem;

    (void)split_name(*(const char *const *)a, &stem, &x);
    (void)split_name(*(const char *const *)b, &stem, &y);
    return (x > y) - (x < y);
}

bool heft_shards_find_set(const struct heft_folder *folder, struct heft_arena *mem,
                          struct heft_file_set *out, struct heft_error *err)
{
    const char **names = heft_arena_zero(mem, folder->n + 1, sizeof *names, err);
    size_t n = 0, stem, first = 0;
    uint32_t rank;

    if (!names)
        return false;
    for (size_t i = 0; i < folder->n; i++) {
        if (!split_name(folder->names[i], &stem, &rank))
            continue;
        if (n > 0 && (stem != first || memcmp(names[0], folder->names[i], stem) != 0))
            return true; /* several models */
        first = stem;
        names[n++] = folder->names[i];
    }
    if (n < 2)
        return true;
    qsort(names, n, sizeof *names, by_rank);
    *out = (struct heft_file_set){.names = names, .n = n};
    return true;
}
