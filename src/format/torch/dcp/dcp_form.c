/* dcp_form.c: makes the forms of archives, and plans archives by them. */
#include "format/torch/dcp/dcp_form.h"

#include "base/checksum.h"
#include "format/torch/write/torch_write.h"

#define ROOT "archive" /* of what torch.save writes to a stream */

enum { MOST_SUMS = 16 };

struct heft_dcp_form {
    struct heft_str front;
    const struct heft_op
        *tail; /* in the order of the file; their offsets are those in the archive */
    size_t n_tail;
    uint64_t tail_from, tail_n; /* bytes */
    uint32_t sums[MOST_SUMS];   /* of the records; those of the tail are 0 */
    uint32_t data;              /* number of the sum of the data */
};

/* Input of the late op of a tail. */
struct tail {
    const struct heft_dcp_form *form;
    uint32_t sum; /* sum of the data */
};

/* ---- making a form ----------------------------------------------------------------------------- */

/* Makes the bytes of an op of the small plan, and adds them to their sum. */
static void make_op(const struct heft_op *op, uint32_t *sums, uint8_t *out)
{
    if (op->kind == HEFT_OP_PUT)
        memcpy(out, op->u.bytes, (size_t)op->len);
    else
        op->u.late.fill(op->u.late.ctx, sums, out, (size_t)op->len);
    if (op->sum != HEFT_NONE)
        sums[op->sum] = heft_crc32(sums[op->sum], out, (size_t)op->len);
}

static bool is_data(const struct heft_op *op)
{
    return op->kind != HEFT_OP_PUT && op->kind != HEFT_OP_LATE;
}

/* Makes the front, and keeps the ops of the tail. */
static bool divide_plan(const struct heft_plan *small, struct heft_dcp_form *form,
                        struct heft_arena *mem, struct heft_error *err)
{
    size_t n = 0;
    uint8_t *front;
    struct heft_op *tail;

    while (n < small->n_ops && !is_data(&small->ops[n]))
        n++;
    form->front.n = (size_t)(n < small->n_ops ? small->ops[n].off : small->files[0].size);
    front = heft_arena_alloc(mem, form->front.n + 1, err);
    if (!front || small->n_sums > MOST_SUMS)
        return false;
    for (size_t i = 0; i < n; i++)
        make_op(&small->ops[i], form->sums, front + small->ops[i].off);
    form->front.p = (const char *)front;
    form->data = n < small->n_ops ? small->ops[n].sum : HEFT_NONE;
    while (n < small->n_ops && is_data(&small->ops[n]))
        n++;
    form->n_tail = small->n_ops - n;
    if (form->n_tail == 0)
        return true;
    tail = heft_arena_alloc(mem, form->n_tail * sizeof *tail, err);
    if (!tail)
        return false;
    memcpy(tail, small->ops + n, form->n_tail * sizeof *tail);
    form->tail = tail;
    form->tail_from = tail[0].off;
    form->tail_n = small->files[0].size - form->tail_from;
    return true;
}

/* Plans the archive of one item, or of a pickle, in a plan of its own. */
static struct heft_dcp_form *make_form(const struct heft_plan *plan,
                                       const struct heft_export_item *item,
                                       const struct heft_str *pickle, struct heft_error *err)
{
    struct heft_export_item copy = item ? *item : (struct heft_export_item){0};
    const struct heft_export_list exports = {.model = plan->model,
                                             .mem = plan->mem,
                                             .items = &copy,
                                             .n_items = item != NULL,
                                             .n_shards = 1};
    struct heft_dcp_form *form = heft_arena_zero(plan->mem, 1, sizeof *form, err);
    struct heft_plan small = {.model = plan->model, .mem = plan->mem, .sum = plan->sum};
    uint32_t file;
    bool ok;

    copy.number = 0;
    ok = form && heft_plan_file_begin(&small, ROOT, &file, err) &&
         heft_torch_plan_alone(&small, file, &exports, pickle, err) &&
         divide_plan(&small, form, plan->mem, err);
    heft_budget_return(plan->mem->budget, small.n_ops * sizeof *small.ops);
    heft_plan_release(&small);
    return ok ? form : NULL;
}

/* ---- finding a form ---------------------------------------------------------------------------- */

/* The row of the form: packed, and stored as it is written. */
static bool make_row(const struct heft_export_item *item, struct heft_arena *mem,
                     struct heft_row *out, struct heft_error *err)
{
    const struct heft_row *const row = item->row;
    const uint64_t *const shape = heft_arena_copy_u64(mem, row->shape, row->rank, err);

    *out = (struct heft_row){.name = row->name,
                             .shape = shape,
                             .bytes = item->bytes,
                             .storage = heft_row_storage(row, 0),
                             .dtype = item->as,
                             .rank = row->rank};
    return shape != NULL;
}

static bool add_form(struct heft_dcp_forms *forms, const struct heft_export_item *item,
                     struct heft_str key, uint32_t number, struct heft_error *err)
{
    struct heft_row *row = heft_arena_alloc(forms->plan->mem, sizeof *row, err);
    struct heft_export_item like = *item;
    uint32_t found;

    if (!row || !make_row(item, forms->plan->mem, row, err))
        return false;
    like.row = row;
    key.p = heft_arena_text(forms->plan->mem, key, err);
    if (!key.p || !heft_grow(&forms->list, &forms->cap, number, 1, sizeof *forms->list, err) ||
        !(forms->list[number] = make_form(forms->plan, &like, NULL, err)))
        return false;
    forms->n++;
    return heft_strmap_add(&forms->known, key, number, &found, err);
}

static const struct heft_dcp_form *
find_form(struct heft_dcp_forms *forms, const struct heft_export_item *item, struct heft_error *err)
{
    const struct heft_row *const row = item->row;
    uint64_t numbers[HEFT_ROW_DIMS + 1] = {item->as};
    const struct heft_str key = {(const char *)numbers, (row->rank + 1u) * sizeof *numbers};
    uint32_t number;

    if (row->rank > 0)
        memcpy(numbers + 1, row->shape, row->rank * sizeof *numbers);
    number = heft_strmap_get(&forms->known, key);
    if (number != HEFT_MAP_NONE)
        return forms->list[number];
    number = (uint32_t)forms->n;
    return add_form(forms, item, key, number, err) ? forms->list[number] : NULL;
}

void heft_dcp_forms_release(struct heft_dcp_forms *forms)
{
    heft_strmap_release(&forms->known);
    heft_free(forms->list);
}

/* ---- planning archives ------------------------------------------------------------------------- */

static void fill_tail(const void *ctx, const uint32_t *sums, uint8_t *out, size_t n)
{
    const struct tail *const t = ctx;
    const struct heft_dcp_form *const form = t->form;
    uint32_t own[MOST_SUMS];

    (void)n;
    memcpy(own, form->sums, sizeof own);
    own[form->data] = sums[t->sum];
    for (size_t i = 0; i < form->n_tail; i++)
        make_op(&form->tail[i], own, out + (form->tail[i].off - form->tail_from));
}

bool heft_dcp_put_chunk(struct heft_dcp_forms *forms, uint32_t file,
                        const struct heft_export_item *item, struct heft_error *err)
{
    struct heft_plan *const plan = forms->plan;
    const struct heft_dcp_form *const form = find_form(forms, item, err);
    struct tail *tail;
    bool ok;

    if (!form || !heft_plan_put(plan, file, form->front, err))
        return form && false;
    if (form->n_tail == 0)
        return true;
    tail = heft_arena_alloc(plan->mem, sizeof *tail, err);
    if (!tail)
        return false;
    *tail = (struct tail){form, heft_plan_sum_begin(plan)};
    ok = heft_plan_item(plan, file, item, err);
    heft_plan_sum_end(plan);
    return ok && heft_plan_late(plan, file, (struct heft_late){fill_tail, tail}, form->tail_n, err);
}

bool heft_dcp_put_object(const struct heft_dcp_forms *forms, uint32_t file, struct heft_str name,
                         struct heft_str pickle, struct heft_error *err)
{
    const struct heft_dcp_form *const form = make_form(forms->plan, NULL, &pickle, err);

    if (form)
        return heft_plan_put(forms->plan, file, form->front, err);
    heft_error_about(err, "value", name);
    return false;
}
