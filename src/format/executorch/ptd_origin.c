/* ptd_origin.c: the tensors of a checkpoint by the SHA-256 of their bytes, which delegates use as keys.
 *
 *     w [O,I,H,W]   row-major            Linear, Embedding, biases
 *                   order 0 2 3 1        XNNPACK's weights of a convolution
 *                   order 1 2 3 0        … of a depthwise convolution */
#include "format/executorch/ptd_origin.h"

#include "core/select.h"
#include "format/executorch/ptd_digest.h"

#define ORDERED 4 /* dimensions of a tensor that is hashed in several orders */

static const uint8_t orders[][ORDERED] = {{0, 2, 3, 1}, {1, 2, 3, 0}};

bool heft_ptd_keeps_order(const struct heft_row *row, const uint8_t *order)
{
    unsigned least = 0; /* dimensions of extent 1 may be anywhere */

    for (unsigned k = 0; k < row->rank; k++) {
        if (row->shape[order[k]] == 1)
            continue;
        if (order[k] < least)
            return false;
        least = order[k];
    }
    return true;
}

const struct heft_row *heft_ptd_permuted_row(const struct heft_row *row, const uint8_t *order,
                                             struct heft_arena *mem, struct heft_error *err)
{
    struct heft_row *const copy = heft_arena_alloc(mem, sizeof *copy, err);
    uint64_t *const shape = copy ? heft_arena_u64(mem, row->rank, err) : NULL;
    uint64_t *const stride = shape ? heft_arena_u64(mem, row->rank, err) : NULL;
    uint64_t step = 1, dense[HEFT_ROW_DIMS];

    if (!stride)
        return NULL;
    for (unsigned d = row->rank; d > 0; d--) {
        dense[d - 1] = row->stride ? row->stride[d - 1] : step;
        step *= heft_max_u64(row->shape[d - 1], 1); /* no overflow: the tensor was validated */
    }
    *copy = *row;
    for (unsigned k = 0; k < row->rank; k++) {
        shape[k] = row->shape[order[k]];
        stride[k] = dense[order[k]];
    }
    copy->shape = shape;
    copy->stride = stride;
    copy->original_strides = NULL;
    copy->dim_order = NULL;
    return copy;
}

static bool add_origin(struct heft_ptd_origins *o, const struct heft_row *row, struct heft_str name,
                       const uint8_t *order, struct heft_error *err)
{
    struct heft_ptd_origin origin = {.name = name, .row = row, .order = order, .next = HEFT_NONE};
    const struct heft_row *const hashed =
        order ? heft_ptd_permuted_row(row, order, o->mem, err) : row;

    if (!hashed || !heft_ptd_hash_row(&o->reader, hashed, origin.digest, err) ||
        !heft_grow(&o->list, &o->cap, o->n, 1, sizeof *o->list, err))
        return false;
    o->list[o->n++] = origin;
    return true;
}

static bool add_orders(struct heft_ptd_origins *o, const struct heft_row *row, struct heft_str name,
                       struct heft_error *err)
{
    if (row->rank != ORDERED || row->parts || row->bytes == 0 ||
        !heft_dtype_is_plain((enum heft_dtype)row->dtype))
        return true;
    for (size_t i = 0; i < HEFT_COUNT(orders); i++)
        if (!heft_ptd_keeps_order(row, orders[i]) && !add_origin(o, row, name, orders[i], err))
            return false;
    return true;
}

static bool hash_rows(struct heft_ptd_origins *o, const char *root, struct heft_error *err)
{
    for (size_t i = 0; i < o->model.n_rows; i++) {
        const struct heft_row *const row = &o->model.rows[i];
        struct heft_str name;
        uint32_t other;

        if (heft_dtype_varies((enum heft_dtype)row->dtype))
            continue;
        if (!heft_name_below(row->name, root, &name))
            name = row->name;
        if (!heft_strmap_add(&o->by_name, name, (uint32_t)o->n, &other, err) ||
            !add_origin(o, row, name, NULL, err) || !add_orders(o, row, name, err))
            return heft_error_about(err, "tensor", row->name);
    }
    return true;
}

/* Chains origins of equal digests in their order. */
static bool map_digests(struct heft_ptd_origins *o, struct heft_error *err)
{
    for (size_t i = o->n; i > 0; i--) {
        struct heft_ptd_origin *const origin = &o->list[i - 1];
        const struct heft_str key = {(const char *)origin->digest, sizeof origin->digest};

        origin->next = heft_ptd_origins_find(o, origin->digest);
        if (!heft_strmap_set(&o->by_digest, key, (uint32_t)(i - 1), err))
            return false;
    }
    return true;
}

bool heft_ptd_origins_open(struct heft_ptd_origins *o, const struct heft_plan *plan,
                           const char *path, struct heft_error *err)
{
    heft_model_init(&o->model, &plan->model->limits, plan->model->formats);
    o->is_open = true;
    o->mem = plan->mem;
    return heft_registry_open(&o->model, &path, 1, NULL, err) &&
           heft_model_validate(&o->model, err) &&
           heft_reader_init(&o->reader, &o->model, false, err) &&
           (hash_rows(o, plan->request.root, err) || heft_error_file(err, path)) &&
           map_digests(o, err);
}

void heft_ptd_origins_release(struct heft_ptd_origins *o)
{
    if (!o->is_open)
        return;
    heft_strmap_release(&o->by_digest);
    heft_strmap_release(&o->by_name);
    heft_free(o->list);
    heft_reader_release(&o->reader);
    heft_model_release(&o->model);
}

uint32_t heft_ptd_origins_find(const struct heft_ptd_origins *o,
                               const uint8_t digest[HEFT_SHA256_BYTES])
{
    const uint32_t at =
        heft_strmap_get(&o->by_digest, (struct heft_str){(const char *)digest, HEFT_SHA256_BYTES});

    return at == HEFT_MAP_NONE ? HEFT_NONE : at;
}
