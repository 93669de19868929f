/* zero_merge.c: rows of a ZeRO checkpoint, in the order of zero_to_fp32.
 *
 *     stages 1, 2   group 0 of rank 0 | group 0 of rank 1 | …    one vector, cut anywhere
 *                   |  emb  | l1  | l2  |pad|                    parameters in order
 *     stage 3       rank 0:  |emb'|l1'|l2'|                      each parameter is cut: ceil(n / ranks)
 *                   rank 1:  |emb"|l1"|l2"|                      elements of each rank */
#include "core/cast.h"
#include "format/torch/ranks/flat_run.h"
#include "format/torch/ranks/zero.h"

#define MODULE "module."
/* Buffers that are cast while opening may have so many bytes; further ones keep their dtype. */
#define MOST_DECODED (UINT64_C(16) << 20)
/* Longest chain of shared parameters that is followed. */
enum { MOST_STEPS = 16 };

/* ---- whole rows -------------------------------------------------------------------------- */

bool heft_zero_add_whole(struct heft_zero *z, const struct heft_row *row, struct heft_str name)
{
    struct heft_row out = *row;

    out.name.n = name.n;
    out.name.p = heft_arena_text(&z->model->mem, name, z->err);
    return out.name.p && heft_model_add_row(z->model, &out, z->err);
}

/* Cuts "module." off a name; false if it does not begin so. */
static bool cut_module(struct heft_str *name)
{
    if (!heft_str_starts(*name, HEFT_STR(MODULE)))
        return false;
    name->p += strlen(MODULE);
    name->n -= strlen(MODULE);
    return true;
}

/* Whether the bytes of a row lie in its file as they are, in row-major order. */
static bool is_plain(const struct heft_model *model, const struct heft_row *row)
{
    const struct heft_storage *s = &model->storages[row->storage];

    return !row->parts && !row->stride && row->flags == 0 && s->coding == HEFT_CODING_RAW &&
           !s->is_missing;
}

/* Replaces the storage of a row by its values as F32, in memory. */
static bool decode_row(struct heft_zero *z, struct heft_row *row, uint64_t bytes)
{
    const enum heft_dtype from = (enum heft_dtype)row->dtype;
    /* the caller takes no more than MOST_DECODED */
    const size_t n = (size_t)(bytes / heft_dtype_element_bytes(from));
    const struct heft_storage s = z->model->storages[row->storage];
    struct heft_storage made = {.packed = UINT64_C(4) * n, .len = UINT64_C(4) * n};
    struct heft_bytes stored;
    uint64_t at, overflowed = 0;
    uint8_t *out;

    if (!heft_add(s.off, row->offset, &at) || !heft_within(row->offset, bytes, s.len))
        return heft_fail(z->err, HEFT_MALFORMED, s.off, "buffer %.100s leaves its storage",
                         row->name.p);
    if (!heft_source_fetch(&z->model->sources[s.source].source, at, bytes, &z->scratch, &stored,
                           z->err) ||
        !(out = heft_arena_reserve(&z->model->mem, 4 * n + 1, z->err)))
        return false;
    heft_cast_elements(from, HEFT_F32, stored.p, out, n, &overflowed);
    z->decoded += 4 * n;
    row->dtype = HEFT_F32;
    row->offset = 0;
    return heft_model_add_memory(z->model, (struct heft_bytes){out, 4 * n}, "a buffer as F32",
                                 s.source, at, bytes, &made.source, z->err) &&
           heft_model_add_storage(z->model, &made, &row->storage, z->err);
}

/* Casts a float buffer to F32, as zero_to_fp32 does. */
static bool cast_buffer(struct heft_zero *z, struct heft_row *row)
{
    const enum heft_dtype from = (enum heft_dtype)row->dtype;
    uint64_t bytes;

    if (from == HEFT_F32 || heft_dtype_info(from)->kind != HEFT_KIND_FLOAT)
        return true;
    if (!heft_row_check_size(row, &bytes, HEFT_NO_OFFSET, z->err))
        return false;
    if (bytes > 0 && bytes <= MOST_DECODED / 4 && z->decoded <= MOST_DECODED &&
        heft_dtype_is_plain(from) && heft_cast_known(from, HEFT_F32) && is_plain(z->model, row))
        return decode_row(z, row, bytes);
    return bytes == 0 ||
           heft_model_tell(
               z->model, z->models->source, z->err,
               "buffer %.150s stays %s: it is too large to be cast to F32 while opening; "
               "zero_to_fp32 casts it",
               row->name.p, heft_dtype_name(from));
}

bool heft_zero_add_buffers(struct heft_zero *z)
{
    struct heft_strmap buffers = {0};
    const struct heft_value *v = heft_zero_member(z->models->values, "buffer_names")->first_child;
    uint32_t before;
    bool ok = true;

    for (; ok && v; v = v->next_sibling)
        if (v->kind == HEFT_VALUE_STRING)
            ok = heft_strmap_add(&buffers, (struct heft_str){v->text, v->text_len}, 0, &before,
                                 z->err);
    for (size_t i = 0; ok && i < z->models->n_rows; i++) {
        struct heft_row row = z->models->rows[i];

        if (!cut_module(&row.name))
            continue;
        if (heft_strmap_get(&buffers, row.name) != HEFT_MAP_NONE)
            ok = cast_buffer(z, &row) && heft_zero_add_whole(z, &row, row.name) &&
                 heft_strmap_add(&z->named, row.name, 0, &before, z->err);
    }
    heft_strmap_release(&buffers);
    return ok;
}

/* ---- names ------------------------------------------------------------------------------- */

bool heft_zero_reserve_params(struct heft_zero *z, const struct heft_zero_params *params)
{
    uint32_t before;

    for (size_t i = 0; i < params->n; i++)
        if (!heft_strmap_add(&z->named, params->list[i].name, 0, &before, z->err))
            return false;
    return true;
}

bool heft_zero_reserve_names(struct heft_zero *z)
{
    const struct heft_value *shared = heft_zero_member(z->models->values, "shared_params");
    const struct heft_value *v = shared ? shared->first_child : NULL;
    uint32_t before;

    for (; v; v = v->next_sibling)
        if (!heft_strmap_add(&z->named, heft_zero_key(v), 0, &before, z->err))
            return false;
    return heft_zero_reserve_params(z, &z->frozen);
}

/* ---- frozen parameters ------------------------------------------------------------------- */

static struct heft_flat_row begin_row(struct heft_zero *z, const struct heft_zero_param *p,
                                      enum heft_dtype dtype)
{
    return (struct heft_flat_row){
        .model = z->model,
        .budget = &z->budget,
        .row = {.name = p->name, .shape = p->shape, .rank = p->rank, .dtype = (uint8_t)dtype}};
}

/* Checks a piece of a vector: 1-D and in order. */
static bool check_piece(struct heft_zero *z, const struct heft_zero_file *file,
                        const struct heft_row *row, uint8_t dtype)
{
    if (row->rank == 1 && row->dtype == dtype && !row->parts && (!row->stride || *row->stride == 1))
        return true;
    heft_zero_refuse(z, file, "it is not a 1-D tensor of %s in one piece",
                     heft_dtype_name((enum heft_dtype)dtype));
    return heft_error_about(z->err, "tensor", row->name);
}

/* Stage 3: ceil(n / ranks) elements from the fragment of each rank. */
static bool add_fragments(struct heft_zero *z, const struct heft_zero_param *p)
{
    const uint64_t share = p->n / z->n_models + (p->n % z->n_models > 0);
    struct heft_flat_row flat = {0};
    bool ok = true;

    for (uint32_t r = 0; ok && r < z->n_models; r++) {
        const uint64_t at = heft_min_u64(share * r, p->n); /* no overflow: below p->n + n_models */
        const struct heft_row *row;

        ok = heft_zero_row_below(z, &z->models[r], "frozen_param_fragments.", p->name, &row);
        if (!ok)
            break;
        if (!row || (row->rank == 1 && row->shape[0] < heft_min_u64(share, p->n - at))) {
            heft_zero_refuse(z, &z->models[r], "its fragment is missing or too short");
            ok = heft_error_about(z->err, "tensor", p->name);
            break;
        }
        if (r == 0)
            flat = begin_row(z, p, (enum heft_dtype)row->dtype);
        ok = check_piece(z, &z->models[r], row, flat.row.dtype) &&
             heft_flat_row_add(&flat,
                               &(struct heft_flat_run){.at = at,
                                                       .n = heft_min_u64(share, p->n - at),
                                                       .offset = row->offset,
                                                       .storage = row->storage,
                                                       .flags = row->flags},
                               z->err);
    }
    if (ok)
        return heft_flat_row_end(&flat, z->source, z->err);
    heft_flat_row_release(&flat);
    return false;
}

bool heft_zero_add_frozen(struct heft_zero *z)
{
    for (size_t i = 0; i < z->frozen.n; i++) {
        const struct heft_zero_param *p = &z->frozen.list[i];
        const struct heft_row *row;

        if (z->stage == 3) {
            if (!add_fragments(z, p))
                return false;
            continue;
        }
        if (!heft_zero_row_below(z, z->models, "frozen_param_fragments.", p->name, &row) ||
            (!row && !heft_zero_row_below(z, z->models, MODULE, p->name, &row)))
            return false;
        if (!row) {
            heft_zero_refuse(z, z->models, "frozen_param_shapes lists it, but no tensor is there");
            return heft_error_about(z->err, "tensor", p->name);
        }
        if (!heft_zero_add_whole(z, row, p->name))
            return false;
    }
    return true;
}

/* A parameter that stage 3 left empty in `module`. */
static bool is_emptied(const struct heft_zero *z, const struct heft_row *row)
{
    return z->stage == 3 && row->rank == 1 && row->shape[0] == 0;
}

bool heft_zero_add_unnamed(struct heft_zero *z)
{
    size_t n = 0;

    for (size_t i = 0; i < z->models->n_rows; i++) {
        const struct heft_row *row = &z->models->rows[i];
        struct heft_str name = row->name;

        if (!cut_module(&name) || heft_strmap_get(&z->named, name) != HEFT_MAP_NONE)
            continue;
        if (is_emptied(z, row)) {
            if (!heft_model_add_unreadable(
                    z->model, name, z->models->source, HEFT_NO_OFFSET,
                    "ZeRO stage 3 left it empty, and no param_shapes names it", z->err))
                return false;
            z->model->unreadable[z->model->n_unreadable - 1].is_finding = true;
            continue;
        }
        if (!heft_zero_add_whole(z, row, name))
            return false;
        n++;
    }
    return n == 0 || z->stage == 0 ||
           heft_model_tell(z->model, z->models->source, z->err,
                           "%zu tensor%s of `module` that the optimizer does not have (frozen "
                           "parameters) %s taken from there; zero_to_fp32 drops them",
                           n, n == 1 ? "" : "s", n == 1 ? "is" : "are");
}

/* ---- vectors ----------------------------------------------------------------------------- */

/* The vector of group g; NULL if there is none. */
static bool find_vector(struct heft_zero *z, const struct heft_zero_file *file,
                        const struct heft_zero_vectors *v, uint32_t g, const struct heft_row **out)
{
    heft_buf_printf(&z->text, "optimizer_state_dict.%s.%u%s%s", v->what, g, v->key ? "." : "",
                    v->key ? v->key : "");
    return heft_zero_row_text(z, file, out);
}

/* Takes the vectors of rank r: out->n_groups, and none more. */
static bool collect_rank(struct heft_zero *z, struct heft_zero_vectors *out, uint32_t r)
{
    const struct heft_zero_file *file = &z->optims[r];
    const struct heft_row *row;

    for (uint32_t g = 0; g <= out->n_groups; g++) {
        if (!find_vector(z, file, out, g, &row))
            return false;
        if (!row != (g == out->n_groups))
            return heft_zero_refuse(z, file, "%s has %s than %u tensors, the number in %.150s",
                                    out->what, row ? "more" : "fewer", out->n_groups,
                                    z->optims->name);
        if (!row)
            break;
        if (!check_piece(z, file, row, HEFT_F32))
            return false;
        out->rows[(size_t)r * out->n_groups + g] = row;
        z->model->storages[row->storage].is_pooled = true; /* its rows are not ties */
    }
    return true;
}

bool heft_zero_collect(struct heft_zero *z, struct heft_zero_vectors *out)
{
    const struct heft_row *row;
    uint32_t n = 0;

    for (;; n++) {
        if (!find_vector(z, z->optims, out, n, &row))
            return false;
        if (!row)
            break;
    }
    out->n_groups = n;
    out->rows =
        heft_arena_zero(&z->scratch, (size_t)n * z->n_optims + 1, sizeof *out->rows, z->err);
    for (uint32_t r = 0; out->rows && r < z->n_optims; r++)
        if (!collect_rank(z, out, r))
            return false;
    return out->rows != NULL;
}

/* A walk over the pieces of one vector: rows[0], rows[step] … */
struct cursor {
    const struct heft_row *const *rows;
    size_t step;
    uint32_t n, k;
    uint64_t used; /* elements of piece k */
};

/* Takes n elements; the first `wanted` of them become elements of the row, from `at` on. False,
 * without an error in *err, if the vector is too short. */
static bool take_elements(struct cursor *c, uint64_t n, uint64_t wanted, uint64_t at,
                          struct heft_flat_row *flat, struct heft_error *err)
{
    while (n > 0) {
        const struct heft_row *piece = c->k < c->n ? c->rows[c->k * c->step] : NULL;
        const uint64_t left = piece ? piece->shape[0] - c->used : 0;
        const uint64_t some = heft_min_u64(n, left), put = heft_min_u64(some, wanted);
        const struct heft_flat_run run = {.at = at,
                                          .n = put,
                                          .offset = piece ? piece->offset + c->used * 4
                                                          : 0, /* F32; validated with the row */
                                          .storage = piece ? piece->storage : 0,
                                          .flags = piece ? piece->flags : 0};

        if (!piece)
            return false;
        if (!heft_flat_row_add(flat, &run, err))
            return false;
        at += put;
        wanted -= put;
        n -= some;
        c->used += some;
        if (c->used == piece->shape[0]) {
            c->k++;
            c->used = 0;
        }
    }
    return true;
}

static bool refuse_short(struct heft_zero *z, const struct heft_zero_vectors *from,
                         const struct heft_zero_param *p)
{
    if (z->err->code != HEFT_OK)
        return false;
    heft_fail(z->err, HEFT_MALFORMED, HEFT_NO_OFFSET,
              "%s of group %u end before it: they are too short for the shapes of param_shapes",
              from->what, p->group);
    return heft_error_about(z->err, "tensor", p->name);
}

/* Adds all elements of a vector. */
static bool sum_vector(const struct cursor *c, uint64_t *sum)
{
    *sum = 0;
    for (uint32_t k = 0; k < c->n; k++)
        if (!heft_add(*sum, c->rows[k * c->step]->shape[0], sum))
            return false;
    return *sum <= INT64_MAX / 8;
}

static uint64_t align_up(uint64_t n, uint64_t step)
{
    return n + (step - n % step) % step; /* no overflow: n is below 2^61 */
}

/* Compares the elements that the parameters need with those of a vector, as zero_to_fp32 does. */
static bool check_sum(struct heft_zero *z, const struct heft_zero_vectors *from, uint32_t group,
                      uint64_t need, const struct cursor *c)
{
    const uint64_t step = z->stage == 3 ? 1 : 2 * (uint64_t)z->n_optims;
    uint64_t have;

    if (!sum_vector(c, &have))
        return heft_fail(z->err, HEFT_MALFORMED, HEFT_NO_OFFSET, "%s of group %u overflow 64 bits",
                         from->what, group);
    need = align_up(need, step);
    have = align_up(have, step);
    if (need == have || (from->is_padded && need < have))
        return true;
    return heft_fail(z->err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                     "%s of group %u are too %s: the parameters need %" PRIu64
                     " elements, the files have %" PRIu64,
                     from->what, group, need > have ? "short" : "long", need, have);
}

/* Adds to *sum what a parameter takes of its vector. */
static bool add_need(struct heft_zero *z, uint64_t n, uint64_t padding, uint64_t *sum)
{
    return (heft_add(*sum, n, sum) && heft_add(*sum, padding, sum) && *sum <= INT64_MAX / 8) ||
           heft_fail(z->err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                     "the shapes of param_shapes have 2^60 elements or more");
}

static struct heft_zero_param named(struct heft_zero *z, const struct heft_zero_param *p,
                                    const char *prefix, const char *suffix)
{
    struct heft_zero_param out = *p;

    if (prefix[0] == '\0' && suffix[0] == '\0')
        return out;
    out.name.p = heft_arena_printf(&z->model->mem, z->err, "%s%.*s%s", prefix, (int)p->name.n,
                                   p->name.p, suffix);
    out.name.n = strlen(prefix) + p->name.n + strlen(suffix);
    return out;
}

/* Stages 1 and 2: the parameters of one group, from *first on. */
static bool cut_group(struct heft_zero *z, const struct heft_zero_vectors *from, uint32_t group,
                      size_t *first, const char *prefix, const char *suffix)
{
    struct cursor c = {.rows = from->rows + group, .step = from->n_groups, .n = z->n_optims};
    const size_t begin = *first;
    uint64_t need = 0;

    for (; *first < z->params.n && z->params.list[*first].group == group; ++*first)
        if (!add_need(z, z->params.list[*first].n, z->params.list[*first].padding, &need))
            return false;
    if (!check_sum(z, from, group, need, &c))
        return false;
    for (size_t i = begin; i < *first; i++) {
        const struct heft_zero_param p = named(z, &z->params.list[i], prefix, suffix);
        struct heft_flat_row flat = begin_row(z, &p, HEFT_F32);
        const bool ok = p.name.p && (take_elements(&c, p.n, p.n, 0, &flat, z->err) ||
                                     refuse_short(z, from, &p));

        if (!ok) {
            heft_flat_row_release(&flat);
            return false;
        }
        if (!heft_flat_row_end(&flat, z->source, z->err))
            return false;
        if (!take_elements(&c, p.padding, 0, 0, &flat, z->err) && i + 1 < *first)
            return refuse_short(z, from, &z->params.list[i + 1]);
    }
    return true;
}

/* Stage 3: ceil(n / ranks) elements of each rank. */
static bool add_shared_out(struct heft_zero *z, const struct heft_zero_vectors *from,
                           struct cursor *cursors, const struct heft_zero_param *p)
{
    const uint64_t share = p->n / z->n_optims + (p->n % z->n_optims > 0);
    struct heft_flat_row flat = begin_row(z, p, HEFT_F32);

    for (uint32_t r = 0; r < z->n_optims; r++) {
        const uint64_t at = heft_min_u64(share * r, p->n); /* no overflow: below p->n + n_optims */

        if (!take_elements(&cursors[r], share, heft_min_u64(share, p->n - at), at, &flat, z->err)) {
            heft_flat_row_release(&flat);
            return refuse_short(z, from, p);
        }
    }
    return heft_flat_row_end(&flat, z->source, z->err);
}

static bool check_lengths(struct heft_zero *z, const struct heft_zero_vectors *from)
{
    for (uint32_t r = 1; r < z->n_optims; r++)
        for (uint32_t g = 0; g < from->n_groups; g++) {
            const uint64_t own = from->rows[(size_t)r * from->n_groups + g]->shape[0];

            if (own != from->rows[g]->shape[0])
                return heft_zero_refuse(
                    z, &z->optims[r], "%s.%u has %" PRIu64 " elements, that of %.150s has %" PRIu64,
                    from->what, g, own, z->optims->name, from->rows[g]->shape[0]);
        }
    return true;
}

static bool cut_partitioned(struct heft_zero *z, const struct heft_zero_vectors *from,
                            const char *prefix, const char *suffix)
{
    struct cursor *cursors = heft_arena_zero(&z->scratch, z->n_optims, sizeof *cursors, z->err);
    uint64_t need = 0;

    if (!cursors || !check_lengths(z, from))
        return false;
    for (uint32_t r = 0; r < z->n_optims; r++)
        cursors[r] = (struct cursor){
            .rows = from->rows + (size_t)r * from->n_groups, .step = 1, .n = from->n_groups};
    for (size_t i = 0; i < z->params.n; i++) {
        const uint64_t n = z->params.list[i].n;

        if (!add_need(z, n / z->n_optims + (n % z->n_optims > 0), 0, &need))
            return false;
    }
    if (!check_sum(z, from, 0, need, cursors))
        return false;
    for (size_t i = 0; i < z->params.n; i++) {
        const struct heft_zero_param p = named(z, &z->params.list[i], prefix, suffix);

        if (!p.name.p || !add_shared_out(z, from, cursors, &p))
            return false;
    }
    return true;
}

bool heft_zero_cut(struct heft_zero *z, const struct heft_zero_vectors *from, const char *prefix,
                   const char *suffix)
{
    size_t first = 0;

    if (z->stage == 3)
        return cut_partitioned(z, from, prefix, suffix);
    if (from->n_groups != z->n_groups)
        return heft_zero_refuse(z, z->optims, "%s has %u groups, param_shapes has %u", from->what,
                                from->n_groups, z->n_groups);
    for (uint32_t g = 0; g < z->n_groups; g++)
        if (!cut_group(z, from, g, &first, prefix, suffix))
            return false;
    return true;
}

bool heft_zero_add_params(struct heft_zero *z)
{
    struct heft_zero_vectors weights = {.what = z->stage == 3 ? "fp32_flat_groups"
                                                              : "single_partition_of_fp32_groups"};

    return heft_zero_collect(z, &weights) && heft_zero_cut(z, &weights, "", "");
}

/* ---- shared parameters ------------------------------------------------------------------- */

/* Follows a chain of sources to a name of the result; false if it ends elsewhere, or in a circle. */
static bool find_source(const struct heft_strmap *shared, const struct heft_value *const *entries,
                        const struct heft_strmap *rows, struct heft_str *name)
{
    for (unsigned steps = 0; steps < MOST_STEPS; steps++) {
        const uint32_t next = heft_strmap_get(shared, *name);

        if (heft_strmap_get(rows, *name) != HEFT_MAP_NONE)
            return true;
        if (next == HEFT_MAP_NONE)
            return false;
        *name = (struct heft_str){entries[next]->text, entries[next]->text_len};
    }
    return false;
}

struct sharing {
    struct heft_zero *z;
    const struct heft_value **entries; /* of shared_params, texts only */
    size_t n;
    struct heft_strmap shared; /* name → entry */
    struct heft_strmap rows;   /* names of the rows so far */
};

static bool collect_shared(struct sharing *s, const struct heft_value *dict)
{
    struct heft_model *model = s->z->model;
    uint32_t before;
    size_t n = 0;

    for (const struct heft_value *v = dict->first_child; v; v = v->next_sibling)
        n++;
    s->entries = heft_arena_zero(&s->z->scratch, n + 1, sizeof *s->entries, s->z->err);
    if (!s->entries)
        return false;
    for (const struct heft_value *v = dict->first_child; v; v = v->next_sibling)
        if (v->kind == HEFT_VALUE_STRING) {
            if (!heft_strmap_add(&s->shared, heft_zero_key(v), (uint32_t)s->n, &before, s->z->err))
                return false;
            s->entries[s->n++] = v;
        }
    for (size_t i = s->z->first_row; i < model->n_rows; i++)
        if (!heft_strmap_add(&s->rows, model->rows[i].name, (uint32_t)i, &before, s->z->err))
            return false;
    return true;
}

static bool add_tie(struct sharing *s, const struct heft_value *v)
{
    struct heft_model *model = s->z->model;
    struct heft_str name = {v->text, v->text_len};
    struct heft_pair tie = {.key = heft_zero_key(v), .source = s->z->models->source};

    if (heft_strmap_get(&s->rows, tie.key) != HEFT_MAP_NONE)
        return true; /* stage 0, or a parameter that is listed itself */
    if (!find_source(&s->shared, s->entries, &s->rows, &name))
        return heft_model_tell(
            model, tie.source, s->z->err,
            "shared_params says that %.150s is %.150s, which is no tensor: left out", v->key,
            v->text);
    tie.key.p = heft_arena_text(&model->mem, tie.key, s->z->err);
    tie.value = (struct heft_str){heft_arena_text(&model->mem, name, s->z->err), name.n};
    return tie.key.p && tie.value.p && heft_model_add_tie(model, &tie, s->z->err);
}

bool heft_zero_add_shared(struct heft_zero *z)
{
    const struct heft_value *dict = heft_zero_member(z->models->values, "shared_params");
    struct sharing s = {.z = z};
    bool ok = !dict || collect_shared(&s, dict);

    for (size_t i = 0; ok && i < s.n; i++)
        ok = add_tie(&s, s.entries[i]);
    heft_strmap_release(&s.shared);
    heft_strmap_release(&s.rows);
    return ok;
}
