/* ptd_program_values.c: values of a program's plans that are tensors with bytes.
 *
 *     ExecutionPlan  0 name  2 [values]  3 [inputs]  4 [outputs]  6 [operators]  7 [delegates]
 *     EValue         0 kind (5: a tensor)  1 value
 *     Tensor         0 scalar_type  1 storage_offset  2 [sizes]  3 [dim_order]  5 data_buffer_idx
 *                    6 allocation  9 extra
 *     extra          0 mutable_data_segments_idx  1 fully_qualified_name  2 location
 *
 *     location 1            in a .ptd, by name
 *     index, no allocation  a constant          index and allocation  the initial value of a buffer
 *     no index              computed at run time: no bytes */
#include "base/text.h"
#include "format/executorch/ptd_program.h"

enum { TENSOR = 5, EXTERNAL = 1, IN_SEGMENT = 1 };

/* Cost of nodes of the file info, in addition to names, in dimensions of 8 bytes. */
enum { PLAN_WEIGHT = 128, WANTED_WEIGHT = 80, ID_WEIGHT = 24 };

struct plan {
    struct heft_pte *p;
    struct heft_str name;
    uint32_t number; /* number of the value in its plan */
};

struct tensor {
    struct heft_flat_table table;
    struct heft_ptd_entry layout;
    struct heft_str name; /* from `extra`; n = 0: none */
    uint64_t set;         /* set of initial values */
    uint32_t index;
    uint8_t location;
    bool is_allocated;
};

/* ---- tensors --------------------------------------------------------------------------------- */

static bool read_text(const struct heft_pte *p, const struct heft_flat_table *table, unsigned id,
                      const char *what, struct heft_str *out, struct heft_error *err)
{
    uint64_t at;

    *out = HEFT_STR("");
    return heft_flat_ref(&p->flat, table, id, &at, err) &&
           (at == 0 || heft_flat_string(&p->flat, at, p->model->limits.name, what, out, err));
}

static bool read_extra(const struct heft_pte *p, uint64_t at, struct tensor *t,
                       struct heft_error *err)
{
    struct heft_flat_table table;

    if (!heft_flat_table(&p->flat, at, "ExtraTensorInfo", &table, err) ||
        !heft_flat_u64(&p->flat, &table, 0, &t->set, err) ||
        !read_text(p, &table, 1, "fully_qualified_name", &t->name, err) ||
        !heft_flat_u8(&p->flat, &table, 2, &t->location, err))
        return false;
    if (memchr(t->name.p, '\0', t->name.n))
        return heft_fail(err, HEFT_MALFORMED, at, "the name of a tensor contains a NUL");
    return t->location <= EXTERNAL ||
           heft_fail(err, HEFT_UNSUPPORTED, at,
                     "location of a tensor's data is %u, supported are 0 and 1", t->location);
}

static bool read_tensor(const struct heft_pte *p, uint64_t at, struct tensor *t,
                        struct heft_error *err)
{
    uint32_t moved;
    uint64_t extra;

    *t = (struct tensor){0};
    if (!heft_flat_table(&p->flat, at, "Tensor", &t->table, err) ||
        !heft_flat_u32(&p->flat, &t->table, 1, &moved, err) ||
        !heft_flat_u32(&p->flat, &t->table, 5, &t->index, err) ||
        !heft_flat_ref(&p->flat, &t->table, 9, &extra, err) ||
        (extra && !read_extra(p, extra, t, err)))
        return false;
    t->is_allocated = heft_flat_has(&p->flat, &t->table, 6);
    if (t->location != EXTERNAL && t->index == 0)
        return true; /* no bytes: its shape does not matter here */
    if (moved != 0)
        return heft_fail(err, HEFT_UNSUPPORTED, at,
                         "a tensor has a storage offset, which is not supported");
    return heft_ptd_read_layout(&p->flat, &t->table, 0, 2, &t->layout, err);
}

/* "forward/values[7]", for values without a name. */
static bool number_value(const struct plan *plan, const char *what, uint32_t i,
                         struct heft_str *out, struct heft_error *err)
{
    struct heft_buf text = {0};

    heft_buf_escaped(&text, plan->name);
    heft_buf_printf(&text, "/%s[%" PRIu32 "]", what, i);
    return heft_buf_take(&text, &plan->p->model->mem, out, err);
}

/* The storage at a position, as long as the longest tensor there. */
static bool take_storage(struct heft_pte *p, const struct heft_pte_set *set, const struct tensor *t,
                         uint32_t *storage, struct heft_error *err)
{
    struct heft_storage fresh = {.source = p->source, .is_pooled = true}, *made;
    uint32_t *const number = &set->storages[t->index];
    const uint64_t bytes = t->layout.bytes;
    uint64_t room;

    if (!heft_pte_place(p, set, t->index, &fresh.off, &room, err))
        return false;
    if (bytes > room)
        return heft_fail(err, HEFT_MALFORMED, t->table.at,
                         "constant needs %" PRIu64 " bytes, %" PRIu64 " are left", bytes, room);
    if (*number == HEFT_NONE && !heft_model_add_storage(p->model, &fresh, number, err))
        return false;
    made = &p->model->storages[*number];
    made->len = made->packed = heft_max_u64(made->len, bytes);
    *storage = *number;
    return true;
}

/* A name that another tensor has is replaced by the value's number; the same tensor again, as in a
 * second plan, is not added again. */
static bool name_row(struct plan *plan, const struct tensor *t, uint32_t storage,
                     struct heft_str *name, bool *again, struct heft_error *err)
{
    uint32_t other = HEFT_MAP_NONE;

    *again = false;
    *name = t->name;
    if (name->n &&
        heft_utf8_check((struct heft_bytes){(const uint8_t *)name->p, name->n}) == name->n) {
        if (!heft_strmap_add(&plan->p->names, *name, storage, &other, err))
            return false;
        *again = other == storage;
        if (*again || other == HEFT_MAP_NONE)
            return true;
    }
    return number_value(plan, "values", plan->number, name, err);
}

/* The set to which the tensor's index refers. */
static bool find_set(const struct heft_pte *p, const struct tensor *t,
                     const struct heft_pte_set **set, struct heft_error *err)
{
    *set = &p->constants;
    if (t->is_allocated && t->set >= p->n_initial)
        return heft_fail(err, HEFT_MALFORMED, t->table.at,
                         "index of mutable data is %" PRIu64
                         ", the number of its segments is %" PRIu32,
                         t->set, p->n_initial);
    if (t->is_allocated)
        *set = &p->initial[t->set];
    return t->index < (*set)->items.count ||
           heft_fail(err, HEFT_MALFORMED, t->table.at,
                     "constant index is %" PRIu32 ", the number of constants is %" PRIu32, t->index,
                     (*set)->items.count);
}

static bool add_constant(struct plan *plan, const struct tensor *t, struct heft_error *err)
{
    struct heft_pte *p = plan->p;
    const struct heft_pte_set *set;
    struct heft_row row = {.dtype = (uint8_t)t->layout.dtype, .rank = t->layout.rank};
    bool again;

    if (!find_set(p, t, &set, err) || !take_storage(p, set, t, &row.storage, err) ||
        !name_row(plan, t, row.storage, &row.name, &again, err))
        return false;
    return again || (heft_ptd_set_dims(p->model, &t->layout, &row, err) &&
                     heft_model_add_row(p->model, &row, err));
}

/* Adds {"key": …, "dtype": …, "shape": […]}, once for each key. */
static bool add_external(struct heft_pte *p, const struct tensor *t, struct heft_error *err)
{
    struct heft_arena *mem = &p->model->mem;
    struct heft_row row = {0};
    struct heft_pte_wish wish;
    struct heft_node *item, *shape;
    uint32_t other;

    if (t->name.n == 0)
        return heft_fail(err, HEFT_MALFORMED, t->table.at, "an external tensor has no name");
    if (!heft_strmap_add(&p->wanted, t->name, 0, &other, err))
        return false;
    if (other != HEFT_MAP_NONE)
        return true;
    if (!heft_model_weigh_name(p->model, t->name, WANTED_WEIGHT, err) ||
        !heft_ptd_set_dims(p->model, &t->layout, &row, err) ||
        !heft_model_add_wanted(p->model, t->name, "a .ptd", err))
        return false;
    item = heft_tree_dict(mem, p->external, HEFT_STR(""), err);
    if (!item || !heft_tree_text(mem, item, HEFT_STR("key"), t->name, err) ||
        !heft_tree_text(mem, item, HEFT_STR("dtype"), heft_str_of(heft_dtype_name(t->layout.dtype)),
                        err))
        return false;
    shape = heft_tree_list(mem, item, HEFT_STR("shape"), err);
    for (unsigned i = 0; shape && i < t->layout.rank; i++)
        if (!heft_tree_number(mem, shape, HEFT_STR(""), (int64_t)row.shape[i], err))
            return false;
    wish = (struct heft_pte_wish){.key = t->name,
                                  .shape = row.shape,
                                  .order = row.dim_order,
                                  .rank = t->layout.rank,
                                  .dtype = (uint8_t)t->layout.dtype};
    return shape && heft_pte_add_wish(p, &wish, err);
}

static bool read_value(struct plan *plan, uint64_t at, struct heft_error *err)
{
    const struct heft_flat *flat = &plan->p->flat;
    struct heft_flat_table value;
    struct tensor t;
    uint8_t kind;

    if (!heft_flat_table(flat, at, "EValue", &value, err) ||
        !heft_flat_u8(flat, &value, 0, &kind, err))
        return false;
    if (kind != TENSOR)
        return true;
    if (!heft_flat_ref(flat, &value, 1, &at, err))
        return false;
    if (at == 0)
        return heft_fail(err, HEFT_MALFORMED, value.at, "a value of kind tensor has no tensor");
    if (!read_tensor(plan->p, at, &t, err))
        return false;
    if (t.location == EXTERNAL)
        return add_external(plan->p, &t, err);
    return t.index == 0 || add_constant(plan, &t, err);
}

/* ---- delegates ------------------------------------------------------------------------------- */

/* Data inside the tables: backend_delegate_data[index], 0 data. */
static bool inline_storage(struct heft_pte *p, uint32_t index, uint64_t where, uint32_t *storage,
                           struct heft_error *err)
{
    struct heft_flat_vector all, bytes = {0, 0};
    struct heft_storage data = {.source = p->source};
    struct heft_flat_table table;
    uint64_t at;

    if (!heft_flat_ref(&p->flat, &p->root, 3, &at, err))
        return false;
    all = (struct heft_flat_vector){0, 0};
    if (at && !heft_flat_vector(&p->flat, at, 4, "backend_delegate_data", &all, err))
        return false;
    if (index >= all.count)
        return heft_fail(err, HEFT_MALFORMED, where,
                         "index of delegate data is %" PRIu32 ", the number of entries is %" PRIu32,
                         index, all.count);
    if (!heft_flat_element(&p->flat, &all, index, &at, err) ||
        !heft_flat_table(&p->flat, at, "BackendDelegateInlineData", &table, err) ||
        !heft_flat_ref(&p->flat, &table, 0, &at, err) ||
        (at && !heft_flat_vector(&p->flat, at, 1, "data", &bytes, err)))
        return false;
    data.off = bytes.at;
    data.len = data.packed = bytes.count;
    data.is_within = true; /* part of the program */
    return heft_model_add_storage(p->model, &data, storage, err);
}

/* Reads a delegate: field 0 is its id, field 1 a reference to its data (0: location, 1: index). */
static bool read_delegate(struct plan *plan, uint32_t i, uint64_t at, struct heft_node *ids,
                          struct heft_error *err)
{
    struct heft_pte *p = plan->p;
    struct heft_flat_table table, processed;
    struct heft_str id, name;
    uint32_t index, storage;
    uint8_t location;

    if (!heft_flat_table(&p->flat, at, "BackendDelegate", &table, err) ||
        !read_text(p, &table, 0, "id", &id, err) ||
        !heft_model_weigh_name(p->model, id, ID_WEIGHT, err) ||
        !heft_tree_text(&p->model->mem, ids, HEFT_STR(""), id, err) ||
        !heft_flat_ref(&p->flat, &table, 1, &at, err))
        return false;
    if (at == 0)
        return true;
    if (!heft_flat_table(&p->flat, at, "BackendDelegateDataReference", &processed, err) ||
        !heft_flat_u8(&p->flat, &processed, 0, &location, err) ||
        !heft_flat_u32(&p->flat, &processed, 1, &index, err) ||
        !number_value(plan, "delegates", i, &name, err))
        return false;
    if (!(location == IN_SEGMENT ? heft_pte_segment : inline_storage)(p, index, at, &storage, err))
        return false;
    return heft_model_add_blob(p->model, name, storage, "delegate", err) &&
           heft_pte_read_payload(p, id, storage, err);
}

/* ---- plans ----------------------------------------------------------------------------------- */

/* A vector of references; empty if it is absent. */
static bool open_refs(struct heft_pte *p, const struct heft_flat_table *table, unsigned id,
                      const char *what, struct heft_flat_vector *out, struct heft_error *err)
{
    uint64_t at;

    *out = (struct heft_flat_vector){0, 0};
    return heft_flat_ref(&p->flat, table, id, &at, err) &&
           (at == 0 || heft_flat_refs(&p->flat, at, what, out, err));
}

static bool add_count(struct heft_pte *p, const struct heft_flat_table *table, unsigned id,
                      const char *what, struct heft_node *about, struct heft_error *err)
{
    struct heft_flat_vector vector = {0, 0};
    uint64_t at;

    return heft_flat_ref(&p->flat, table, id, &at, err) &&
           (at == 0 || heft_flat_vector(&p->flat, at, 4, what, &vector, err)) &&
           heft_tree_number(&p->model->mem, about, heft_str_of(what), vector.count, err);
}

static bool read_plan(struct heft_pte *p, uint64_t at, struct heft_error *err)
{
    struct heft_flat_vector values, delegates;
    struct heft_flat_table table;
    struct plan plan = {.p = p};
    struct heft_node *about, *ids;

    if (!heft_flat_table(&p->flat, at, "ExecutionPlan", &table, err) ||
        !read_text(p, &table, 0, "name", &plan.name, err) ||
        !heft_model_weigh_name(p->model, plan.name, PLAN_WEIGHT, err) ||
        !(about = heft_tree_dict(&p->model->mem, p->plans, HEFT_STR(""), err)) ||
        !heft_tree_text(&p->model->mem, about, HEFT_STR("name"), plan.name, err) ||
        !add_count(p, &table, 2, "values", about, err) ||
        !add_count(p, &table, 3, "inputs", about, err) ||
        !add_count(p, &table, 4, "outputs", about, err) ||
        !add_count(p, &table, 6, "operators", about, err) ||
        !open_refs(p, &table, 2, "values", &values, err) ||
        !open_refs(p, &table, 7, "delegates", &delegates, err))
        return false;
    for (; plan.number < values.count; plan.number++)
        if (!heft_flat_element(&p->flat, &values, plan.number, &at, err) ||
            !read_value(&plan, at, err))
            return false;
    ids = heft_tree_list(&p->model->mem, about, HEFT_STR("delegates"), err);
    for (uint32_t i = 0; ids && i < delegates.count; i++)
        if (!heft_flat_element(&p->flat, &delegates, i, &at, err) ||
            !read_delegate(&plan, i, at, ids, err))
            return false;
    return ids != NULL;
}

bool heft_pte_read_plans(struct heft_pte *p, struct heft_error *err)
{
    struct heft_flat_vector plans;
    uint64_t at;

    if (!open_refs(p, &p->root, 1, "execution_plan", &plans, err))
        return false;
    for (uint32_t i = 0; i < plans.count; i++)
        if (!heft_flat_element(&p->flat, &plans, i, &at, err) || !read_plan(p, at, err))
            return false;
    return true;
}
