/* quant_rows.c: what schemes use: companions by name, shapes, derived rows. */
#include "quant/quant_groups.h"

#include <stdio.h>
#include <stdlib.h>

bool heft_quant_ends(struct heft_str name, const char *suffix, struct heft_str *prefix)
{
    const size_t n = strlen(suffix);

    if (name.n <= n || !heft_str_ends(name, suffix))
        return false;
    *prefix = (struct heft_str){name.p, name.n - n};
    return true;
}

struct heft_str heft_quant_join(struct heft_quant *q, struct heft_str prefix, const char *suffix)
{
    const size_t n = strlen(suffix);
    char *const p = heft_arena_chars(q->mem, prefix.n + n + 1, q->err);

    if (!p)
        return (struct heft_str){0};
    memcpy(p, prefix.p, prefix.n);
    memcpy(p + prefix.n, suffix, n + 1);
    return (struct heft_str){p, prefix.n + n};
}

const struct heft_row *heft_quant_find(struct heft_quant *q, struct heft_str prefix,
                                       const char *suffix, bool is_companion)
{
    char room[512];
    const size_t n = strlen(suffix);
    struct heft_str name = {room, prefix.n + n};
    uint32_t row;

    if (name.n >= sizeof room)
        name = heft_quant_join(q, prefix, suffix); /* no longer than the limit of names */
    else {
        memcpy(room, prefix.p, prefix.n);
        memcpy(room + prefix.n, suffix, n + 1);
    }
    row = name.p ? heft_model_row(q->model, name) : HEFT_NONE;
    if (row == HEFT_NONE)
        return NULL;
    if (is_companion)
        q->uses[row] = HEFT_QUANT_COMPANION;
    return &q->model->rows[row];
}

const struct heft_row *heft_quant_need(struct heft_quant *q, const struct heft_row *weight,
                                       struct heft_str prefix, const char *suffix)
{
    const struct heft_row *const row = heft_quant_find(q, prefix, suffix, true);

    if (!row)
        heft_quant_refuse(q, weight, HEFT_MALFORMED, "%.*s%s is missing, which it needs",
                          (int)heft_min_size(prefix.n, 200), prefix.p, suffix);
    return row;
}

bool heft_quant_refuse(const struct heft_quant *q, const struct heft_row *row, enum heft_code code,
                       const char *format, ...)
{
    const struct heft_storage *const storage = &q->model->storages[row->storage];
    va_list args;

    va_start(args, format);
    heft_fail_args(q->err, code, storage->off, format, args);
    va_end(args);
    heft_error_about(q->err, "tensor", row->name);
    return heft_error_file(q->err, q->model->sources[storage->source].path);
}

struct heft_quant_shape_text heft_quant_shape(const struct heft_row *row)
{
    struct heft_quant_shape_text out = {"["};
    size_t n = 1;

    for (unsigned d = 0; d < row->rank && n + 32 < sizeof out.text; d++)
        n += (size_t)snprintf(out.text + n, sizeof out.text - n, "%s%" PRIu64, d ? "," : "",
                              row->shape[d]);
    snprintf(out.text + n, sizeof out.text - n, "]");
    return out;
}

bool heft_quant_has_shape(const struct heft_row *row, unsigned rank, const uint64_t *shape)
{
    for (unsigned d = 0; d < rank && row->rank == rank; d++)
        if (row->shape[d] != shape[d])
            return false;
    return row->rank == rank;
}

uint64_t heft_quant_elements(const struct heft_row *row)
{
    return heft_dtype_elements((enum heft_dtype)row->dtype, row->bytes);
}

/* ---- reading ------------------------------------------------------------------------------------- */

bool heft_quant_read(struct heft_quant *q, const struct heft_row *row, uint64_t first, size_t n,
                     void *out)
{
    const uint32_t each = heft_dtype_block_bytes((enum heft_dtype)row->dtype);

    if (!q->reader) {
        struct heft_reader *const reader = heft_arena_zero(q->mem, 1, sizeof *reader, q->err);

        if (!reader)
            return false;
        q->reader = reader;
        if (!heft_reader_init(reader, q->model, false, q->err))
            return false;
    }
    return heft_reader_row(q->reader, row, first * each, out, n * each, q->err) ||
           heft_error_about(q->err, "tensor", row->name);
}

void heft_quant_release(struct heft_quant *q)
{
    heft_quant_groups_release(q);
    if (q->reader)
        heft_reader_release(q->reader);
    q->reader = NULL;
}

/* ---- notes, members of the configuration --------------------------------------------------------- */

enum { MOST_NOTES = 16 };

bool heft_quant_note(struct heft_quant *q, const char *format, ...)
{
    char text[400];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (size_t i = 0; i < q->n_notes; i++)
        if (strcmp(q->notes[i], text) == 0)
            return true;
    if (!q->notes && !(q->notes = heft_arena_zero(q->mem, MOST_NOTES, sizeof *q->notes, q->err)))
        return false;
    if (q->n_notes == MOST_NOTES)
        return true;
    q->notes[q->n_notes] = heft_arena_text(q->mem, heft_str_of(text), q->err);
    return q->notes[q->n_notes++] != NULL;
}

static int compare_keys(const void *a, const void *b)
{
    const struct heft_quant_node *const *const x = a, *const *const y = b;

    return heft_str_cmp((*x)->key, (*y)->key);
}

static bool sort_members(struct heft_quant *q)
{
    const struct heft_quant_node *const first =
        q->config->quantization ? q->config->quantization->child : NULL;
    size_t n = 0;

    for (const struct heft_quant_node *m = first; m; m = m->next)
        n++;
    q->members = heft_arena_zero(q->mem, n + 1, sizeof *q->members, q->err);
    if (!q->members)
        return false;
    for (const struct heft_quant_node *m = first; m; m = m->next)
        q->members[q->n_members++] = m;
    qsort(q->members, q->n_members, sizeof *q->members, compare_keys);
    return true;
}

bool heft_quant_member(struct heft_quant *q, struct heft_str key,
                       const struct heft_quant_node **out)
{
    size_t lo = 0, hi;

    *out = NULL;
    if (!q->members && !sort_members(q))
        return false;
    hi = q->n_members;
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;

        if (heft_str_cmp(q->members[mid]->key, key) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo < q->n_members && heft_str_eq(q->members[lo]->key, key))
        *out = q->members[lo];
    return true;
}

/* Puts the keys of quantized_layers into a map: there may be as many as weights. */
static bool read_layers(struct heft_quant *q)
{
    const struct heft_quant_node *const dict =
        heft_quant_get(q->config->quantization, "quantized_layers");
    const struct heft_quant_node *const first =
        dict && dict->kind == HEFT_QUANT_DICT ? dict->child : NULL;
    uint32_t n = 0;

    for (const struct heft_quant_node *m = first; m; m = m->next)
        n++;
    q->layers = heft_arena_zero(q->mem, n + (size_t)1, sizeof *q->layers, q->err);
    if (!q->layers)
        return false;
    n = 0;
    for (const struct heft_quant_node *m = first; m; m = m->next) {
        q->layers[n] = m;
        if (!heft_strmap_set(&q->layer_names, m->key, n++, q->err))
            return false;
    }
    return true;
}

bool heft_quant_algorithm(struct heft_quant *q, const struct heft_row *weight, struct heft_str *out)
{
    struct heft_str module = weight->name;
    uint32_t layer;

    *out = heft_quant_text(heft_quant_get(q->config->quantization, "quant_algo"));
    if (!heft_str_is(*out, "MIXED_PRECISION"))
        return true;
    if (!q->layers && !read_layers(q))
        return false;
    (void)heft_quant_ends(module, ".weight", &module);
    layer = heft_strmap_get(&q->layer_names, module);
    *out = layer == HEFT_MAP_NONE ? (struct heft_str){0}
                                  : heft_quant_text(heft_quant_get(q->layers[layer], "quant_algo"));
    return out->n || heft_quant_refuse(q, weight, HEFT_UNSUPPORTED,
                                       "it is quantized, but not in quantized_layers of the "
                                       "configuration");
}

/* ---- derived rows ------------------------------------------------------------------------------- */

static uint32_t count_parts(const struct heft_quant_weight *w)
{
    uint32_t n = 0;

    for (size_t i = 0; i < w->n_sources; i++)
        n += heft_row_pieces(w->sources[i]);
    return n;
}

static struct heft_parts *list_parts(struct heft_quant *q, const struct heft_quant_weight *w,
                                     struct heft_recipe *recipe)
{
    struct heft_parts *const parts = heft_arena_zero(q->mem, 1, sizeof *parts, q->err);

    if (!parts)
        return NULL;
    *recipe = w->recipe;
    parts->recipe = recipe;
    parts->list = heft_arena_zero(q->mem, count_parts(w), sizeof *parts->list, q->err);
    for (size_t i = 0; parts->list && i < w->n_sources; i++) {
        const struct heft_row *const row = w->sources[i];

        for (uint32_t k = 0; k < heft_row_pieces(row); k++)
            parts->list[parts->n++] =
                (struct heft_part){.storage = heft_row_storage(row, k),
                                   .offset = row->parts ? row->parts->list[k].offset : row->offset};
    }
    if (recipe->as == HEFT_DTYPE_COUNT)
        recipe->as = (uint8_t)(q->config->dtype != HEFT_DTYPE_COUNT ? q->config->dtype : HEFT_BF16);
    if (q->request->as != HEFT_DTYPE_COUNT)
        recipe->as = (uint8_t)q->request->as;
    return parts->list ? parts : NULL;
}

/* The same row with a recipe that is meant for other dtypes. */
static const struct heft_row *make_otherwise(struct heft_quant *q, const struct heft_row *derived,
                                             heft_recipe_make_fn *make)
{
    struct heft_row *const row = heft_arena_zero(q->mem, 1, sizeof *row, q->err);
    struct heft_parts *const parts = heft_arena_zero(q->mem, 1, sizeof *parts, q->err);
    struct heft_recipe *const recipe = heft_arena_zero(q->mem, 1, sizeof *recipe, q->err);

    if (!row || !parts || !recipe)
        return NULL;
    *recipe = *derived->parts->recipe;
    recipe->make = make;
    *parts = *derived->parts;
    parts->recipe = recipe;
    *row = *derived;
    row->parts = parts;
    return row;
}

bool heft_quant_replace(struct heft_quant *q, uint32_t row, const struct heft_quant_weight *w)
{
    struct heft_row *const derived = heft_arena_zero(q->mem, 1, sizeof *derived, q->err);
    struct heft_recipe *const recipe = heft_arena_zero(q->mem, 1, sizeof *recipe, q->err);
    struct heft_parts *const parts = derived && recipe ? list_parts(q, w, recipe) : NULL;

    if (!parts)
        return false;
    if (!heft_str_eq(w->name, q->model->rows[row].name) &&
        heft_model_row(q->model, w->name) != HEFT_NONE)
        return heft_quant_refuse(q, &q->model->rows[row], HEFT_MALFORMED,
                                 "beside it is %.200s, whose name it would get", w->name.p);
    *derived = (struct heft_row){.name = w->name,
                                 .shape = w->shape,
                                 .rank = (uint8_t)w->rank,
                                 .dtype = HEFT_F32,
                                 .storage = parts->list[0].storage,
                                 .parts = parts};
    if (!heft_row_size(HEFT_F32, w->rank, w->shape, &derived->bytes))
        return heft_quant_refuse(q, &q->model->rows[row], HEFT_LIMIT,
                                 "2^64 bytes or more after dequantizing");
    if (w->make_otherwise && !(recipe->otherwise = make_otherwise(q, derived, w->make_otherwise)))
        return false;
    q->uses[row] = HEFT_QUANT_WEIGHT;
    q->derived[row] = derived;
    return true;
}
