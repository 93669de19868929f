/* note_casts.c: notes of a conversion about values beyond the range of a cast: how many, what
 * they became, and in which tensors, up to TENSORS_SHOWN. */
#include "core/convert.h"

#define TENSORS_SHOWN 8

struct sum {
    struct heft_cast_losses losses;
    struct heft_buf names;
    size_t n;
};

static void add_op(struct sum *sum, const struct heft_op *op, const struct heft_cast_losses *lost)
{
    sum->losses.finite += lost->finite;
    sum->losses.infinite += lost->infinite;
    if (sum->n++ >= TENSORS_SHOWN)
        return;
    heft_buf_text(&sum->names, sum->n > 1 ? ", " : "");
    heft_buf_str(&sum->names, heft_op_name(op));
    heft_buf_printf(&sum->names, " (%" PRIu64 ")", lost->finite + lost->infinite);
}

static const char *choose_plural(uint64_t n, const char *one, const char *many)
{
    return n == 1 ? one : many;
}

/* Text of counts: "3 finite values and 1 infinity". */
static const char *count_text(struct heft_conversion *c, const struct heft_cast_losses *losses,
                              struct heft_error *err)
{
    const uint64_t f = losses->finite, i = losses->infinite;

    if (i == 0)
        return heft_arena_printf(&c->mem, err, "%" PRIu64 " finite %s", f,
                                 choose_plural(f, "value", "values"));
    if (f == 0)
        return heft_arena_printf(&c->mem, err, "%" PRIu64 " %s", i,
                                 choose_plural(i, "infinity", "infinities"));
    return heft_arena_printf(&c->mem, err, "%" PRIu64 " finite %s and %" PRIu64 " %s", f,
                             choose_plural(f, "value", "values"), i,
                             choose_plural(i, "infinity", "infinities"));
}

static bool note_sum(struct heft_conversion *c, struct sum *sum, enum heft_dtype to,
                     struct heft_error *err)
{
    const char *count;
    struct heft_str names;

    if (sum->n > TENSORS_SHOWN)
        heft_buf_printf(&sum->names, " and %zu more", sum->n - TENSORS_SHOWN);
    if (!heft_buf_take(&sum->names, &c->mem, &names, err))
        return false;
    count = count_text(c, &sum->losses, err);
    return count && heft_plan_note(
                        &c->plan,
                        heft_arena_printf(&c->mem, err, "%s became %s in the cast to %s: %s", count,
                                          heft_cast_result(to), heft_dtype_name(to), names.p),
                        err);
}

bool heft_conversion_note_casts(struct heft_conversion *c, struct heft_error *err)
{
    bool seen[HEFT_DTYPE_COUNT] = {false};
    const struct heft_cast_losses *losses = c->exec.losses;

    for (size_t i = 0; losses && i < c->plan.n_ops; i++)
        seen[c->plan.ops[i].as] |= losses[i].finite || losses[i].infinite;
    for (unsigned to = 0; to < HEFT_DTYPE_COUNT; to++) {
        struct sum sum = {0};

        for (size_t i = 0; seen[to] && i < c->plan.n_ops; i++)
            if (c->plan.ops[i].as == to && (losses[i].finite || losses[i].infinite))
                add_op(&sum, &c->plan.ops[i], &losses[i]);
        if (seen[to] && !note_sum(c, &sum, (enum heft_dtype)to, err))
            return false;
    }
    return true;
}

/* Allocates the counters, if anything is cast. */
bool heft_conversion_count_losses(struct heft_conversion *c, struct heft_error *err)
{
    const struct heft_plan *plan = &c->plan;
    bool casts = false;

    for (size_t i = 0; i < plan->n_ops; i++)
        casts = casts ||
                (plan->ops[i].kind == HEFT_OP_ROW && plan->ops[i].as != plan->ops[i].u.row->dtype);
    c->exec.losses =
        casts ? heft_arena_zero(&c->mem, plan->n_ops, sizeof *c->exec.losses, err) : NULL;
    return !casts || c->exec.losses;
}
