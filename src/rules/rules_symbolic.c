/* rules_symbolic.c: shapes through the ops of a rule, as expressions. Where the left side tells a shape, ranks can be
 * checked when the file is read; and `reshape` can be turned round, because the shape before it is known. */
#include "rules/rules_parts.h"

/* A shape as far as it is known. */
struct symbolic {
    bool has_rank;
    uint32_t rank;
    struct heft_expr *dims; /* HEFT_RULES_DIMS; n = 0 of one that is not known */
};
struct walk {
    struct heft_rules_reader *reader;
    struct heft_remap *mapping;
    struct heft_arena scratch;
    struct symbolic
        *shapes; /* of each name on the left, then of the joined one, then of each on the right */
    uint32_t n;
    bool *failed; /* memory ran out while an expression was made; the error is filled */
};

/* ---- expressions ------------------------------------------------------------------------------------------ */

static bool is_number(const struct heft_expr *e, uint64_t *value)
{
    if (e->n != 1 || e->terms[0].kind != HEFT_TERM_NUMBER)
        return false;
    *value = e->terms[0].number;
    return true;
}

/* n terms; NULL, and *failed, if memory is out. */
static struct heft_term *new_terms(const struct walk *w, uint32_t n)
{
    struct heft_term *terms = NULL;

    if (!*w->failed)
        terms = heft_arena_zero(w->reader->mem, n, sizeof *terms, w->reader->err);
    *w->failed = !terms;
    return terms;
}

/* An expression of one term. */
static struct heft_expr single_term(const struct walk *w, struct heft_term term)
{
    struct heft_term *const copy = new_terms(w, 1);

    term.span = 1;
    if (!copy)
        return (struct heft_expr){0};
    *copy = term;
    return (struct heft_expr){copy, 1, w->mapping->line};
}

static struct heft_expr number_expr(const struct walk *w, uint64_t value)
{
    return single_term(w, (struct heft_term){.kind = HEFT_TERM_NUMBER, .number = value});
}

/* Folds two numbers; false if they have no result that is a size. */
static bool fold_numbers(enum heft_term_kind kind, uint64_t a, uint64_t b, uint64_t *out)
{
    bool ok = false;

    if (kind == HEFT_TERM_ADD)
        ok = heft_add(a, b, out);
    else if (kind == HEFT_TERM_MULTIPLY)
        ok = heft_mul(a, b, out);
    else if (kind == HEFT_TERM_SUBTRACT && a >= b)
        ok = heft_add(a - b, 0, out);
    else if (kind == HEFT_TERM_DIVIDE && b && a % b == 0)
        ok = heft_add(a / b, 0, out);
    return ok && *out < HEFT_RULES_END;
}

/* Unknown if one of them is, or the result is too long. */
static struct heft_expr combine(const struct walk *w, struct heft_expr a, enum heft_term_kind kind,
                                struct heft_expr b)
{
    struct heft_term *terms;
    uint64_t x = 0, y = 0, folded = 0;
    const bool has_x = is_number(&a, &x), has_y = is_number(&b, &y);
    const bool is_scaling = kind == HEFT_TERM_MULTIPLY || kind == HEFT_TERM_DIVIDE;

    if (a.n == 0 || b.n == 0 || a.n + b.n >= HEFT_RULES_DERIVED)
        return (struct heft_expr){0};
    if (has_y && y == 1 && is_scaling)
        return a;
    if (has_x && x == 1 && kind == HEFT_TERM_MULTIPLY)
        return b;
    if (has_x && has_y && fold_numbers(kind, x, y, &folded))
        return number_expr(w, folded);
    terms = new_terms(w, a.n + b.n + 1);
    if (!terms)
        return (struct heft_expr){0};
    memcpy(terms, a.terms, a.n * sizeof *terms);
    memcpy(terms + a.n, b.terms, b.n * sizeof *terms);
    terms[a.n + b.n] = (struct heft_term){.kind = (uint8_t)kind, .span = a.n + b.n + 1};
    return (struct heft_expr){terms, a.n + b.n + 1, a.line};
}

static bool is_same_expr(const struct heft_expr *a, const struct heft_expr *b)
{
    if (a->n != b->n || a->n == 0)
        return false;
    for (uint32_t i = 0; a->terms != b->terms && i < a->n; i++) {
        const struct heft_term *const x = &a->terms[i], *const y = &b->terms[i];

        if (x->kind != y->kind || x->index != y->index || x->number != y->number)
            return false;
    }
    return true;
}

/* ---- ops on each tensor -------------------------------------------------------------------------------------- */

static bool check_rank(const struct walk *w, const struct heft_rule_op *op,
                       const struct symbolic *s, uint64_t axis, uint32_t more)
{
    if (!s->has_rank || axis < s->rank + more)
        return true;
    return heft_rules_refuse(w->reader->rules, op->line, w->reader->err,
                             "found %s with dimension %" PRIu64
                             " of a tensor that has %u, expected one "
                             "from 0 to %u",
                             heft_op_name(op->kind), axis, (unsigned)s->rank,
                             (unsigned)(s->rank + more ? s->rank + more - 1 : 0));
}

static void remove_dim(struct symbolic *s, uint64_t axis)
{
    if (!s->has_rank)
        return;
    s->rank--;
    memmove(s->dims + axis, s->dims + axis + 1, (s->rank - (size_t)axis) * sizeof *s->dims);
}

/* Without effect if the rank is not known. */
static bool insert_dim(const struct walk *w, const struct heft_rule_op *op, struct symbolic *s,
                       uint64_t axis, struct heft_expr extent)
{
    if (!s->has_rank)
        return true;
    if (s->rank == HEFT_RULES_DIMS)
        return heft_rules_refuse(w->reader->rules, op->line, w->reader->err,
                                 "found %s of a tensor of 64 dimensions, expected fewer",
                                 heft_op_name(op->kind));
    memmove(s->dims + axis + 1, s->dims + axis, (s->rank - (size_t)axis) * sizeof *s->dims);
    s->dims[axis] = extent;
    s->rank++;
    return true;
}

static bool apply_squeeze(const struct walk *w, const struct heft_rule_op *op, struct symbolic *s)
{
    uint64_t extent = 1;

    if (!check_rank(w, op, s, op->axis, 0))
        return false;
    if (s->has_rank && is_number(&s->dims[op->axis], &extent) && extent != 1)
        return heft_rules_refuse(w->reader->rules, op->line, w->reader->err,
                                 "found squeeze of dimension %" PRIu64 " of %" PRIu64
                                 ", expected one of 1",
                                 op->axis, extent);
    remove_dim(s, op->axis);
    return true;
}

static bool apply_permute(const struct walk *w, const struct heft_rule_op *op, struct symbolic *s)
{
    struct heft_expr before[HEFT_RULES_DIMS];

    if (s->has_rank && s->rank != op->n_order)
        return heft_rules_refuse(w->reader->rules, op->line, w->reader->err,
                                 "found permute of %u dimensions of a tensor that has %u",
                                 (unsigned)op->n_order, (unsigned)s->rank);
    if (!s->has_rank)
        memset(s->dims, 0, HEFT_RULES_DIMS * sizeof *s->dims);
    memcpy(before, s->dims, sizeof before);
    s->has_rank = true;
    s->rank = op->n_order;
    for (uint32_t i = 0; i < op->n_order; i++)
        s->dims[i] = before[op->order[i]];
    return true;
}

static bool apply_transpose(const struct walk *w, const struct heft_rule_op *op, struct symbolic *s)
{
    struct heft_expr first;

    if (!check_rank(w, op, s, op->order[0], 0) || !check_rank(w, op, s, op->order[1], 0))
        return false;
    if (!s->has_rank)
        return true;
    first = s->dims[op->order[0]];
    s->dims[op->order[0]] = s->dims[op->order[1]];
    s->dims[op->order[1]] = first;
    return true;
}

static void apply_reshape(const struct heft_rule_op *op, struct symbolic *s)
{
    s->has_rank = true;
    s->rank = op->n_args;
    memcpy(s->dims, op->args, op->n_args * sizeof *s->dims);
}

static bool apply_slice(const struct walk *w, const struct heft_rule_op *op, struct symbolic *s)
{
    const struct heft_expr from = op->args[0], to = op->args[1];

    if (!check_rank(w, op, s, op->axis, 0))
        return false;
    if (s->has_rank && from.n == 0)
        s->dims[op->axis] = to;
    else if (s->has_rank)
        s->dims[op->axis] = combine(w, to.n ? to : s->dims[op->axis], HEFT_TERM_SUBTRACT, from);
    return true;
}

static bool apply_each(const struct walk *w, const struct heft_rule_op *op, struct symbolic *s)
{
    switch (op->kind) {
    case HEFT_RULE_OP_SQUEEZE:
        return apply_squeeze(w, op, s);
    case HEFT_RULE_OP_UNSQUEEZE:
        return check_rank(w, op, s, op->axis, 1) &&
               insert_dim(w, op, s, op->axis, number_expr(w, 1));
    case HEFT_RULE_OP_PERMUTE:
        return apply_permute(w, op, s);
    case HEFT_RULE_OP_TRANSPOSE:
        return apply_transpose(w, op, s);
    case HEFT_RULE_OP_RESHAPE:
        apply_reshape(op, s);
        return true;
    case HEFT_RULE_OP_SLICE:
        return apply_slice(w, op, s);
    default: /* reorder */
        return check_rank(w, op, s, op->axis, 0);
    }
}

/* ---- joins and divides ---------------------------------------------------------------------------------------- */

/* How many tensors an op joins or makes by number; unknown without let. */
static struct heft_expr count_expr(const struct walk *w, uint32_t slot)
{
    const uint32_t variable = w->mapping->slots[slot].variable;

    if (variable == HEFT_RULES_NONE)
        return (struct heft_expr){0};
    return single_term(w, (struct heft_term){.kind = HEFT_TERM_VARIABLE, .index = variable});
}

static struct heft_expr sum_extents(const struct walk *w, uint64_t axis)
{
    struct heft_expr sum = w->shapes[0].dims[axis];

    for (uint32_t i = 1; i < w->n; i++)
        sum = w->shapes[i].has_rank ? combine(w, sum, HEFT_TERM_ADD, w->shapes[i].dims[axis])
                                    : (struct heft_expr){0};
    return sum;
}

/* On the way back a cat without shares is split equally: its parts must have one size. */
static bool check_parts(const struct walk *w, const struct heft_rule_op *op)
{
    const struct symbolic *const first = &w->shapes[0];

    if (!w->mapping->both_ways || op->n_args)
        return true;
    for (uint32_t i = 1; i < w->n; i++) {
        const struct symbolic *const s = &w->shapes[i];
        const bool known =
            first->has_rank && s->has_rank && first->dims[op->axis].n && s->dims[op->axis].n;

        if (known && !is_same_expr(&first->dims[op->axis], &s->dims[op->axis]))
            return heft_rules_refuse(w->reader->rules, op->line, w->reader->err,
                                     "found cat of tensors of unlike sizes in a rule with <=>, "
                                     "expected shares, such as cat %" PRIu64 " 2 1",
                                     op->axis);
    }
    return true;
}

/* By number: all tensors of a name have its shape. By names: cat needs the sum of their extents. */
static bool apply_join(struct walk *w, const struct heft_rule_op *op)
{
    const bool by_number = op->level == HEFT_LEVEL_NUMBER, stacks = op->kind == HEFT_RULE_OP_STACK;
    const struct heft_expr count =
        by_number ? count_expr(w, w->mapping->gathered) : number_expr(w, w->n);

    for (uint32_t i = 0; op->kind != HEFT_RULE_OP_SAME && i < w->n; i++)
        if (!check_rank(w, op, &w->shapes[i], op->axis, stacks))
            return false;
    if (op->kind == HEFT_RULE_OP_CAT && !by_number && !check_parts(w, op))
        return false;
    if (op->kind == HEFT_RULE_OP_CAT && !by_number && w->shapes[0].has_rank)
        w->shapes[0].dims[op->axis] = sum_extents(w, op->axis);
    if (!by_number)
        w->n = 1;
    for (uint32_t i = 0; i < w->n; i++) {
        struct symbolic *const s = &w->shapes[i];

        if (stacks && !insert_dim(w, op, s, op->axis, count))
            return false;
        if (op->kind == HEFT_RULE_OP_CAT && by_number && s->has_rank)
            s->dims[op->axis] = combine(w, s->dims[op->axis], HEFT_TERM_MULTIPLY, count);
    }
    return true;
}

/* The sum of the shares of a split; unknown without shares. */
static struct heft_expr sum_shares(const struct walk *w, const struct heft_rule_op *op)
{
    struct heft_expr sum = op->n_args ? op->args[0] : (struct heft_expr){0};

    for (uint32_t k = 1; k < op->n_args && sum.n; k++)
        sum = combine(w, sum, HEFT_TERM_ADD, op->args[k]);
    return sum;
}

/* The extent of part i of a split. */
static struct heft_expr part_extent(const struct walk *w, const struct heft_rule_op *op,
                                    struct heft_expr whole, struct heft_expr by, uint32_t i)
{
    if (op->n_args && by.n)
        whole = combine(w, whole, HEFT_TERM_MULTIPLY, op->args[i]);
    return combine(w, whole, HEFT_TERM_DIVIDE, by);
}

static bool copy_shape(struct walk *w, const struct symbolic *from, struct symbolic *out)
{
    *out = *from;
    out->dims = heft_arena_zero(&w->scratch, HEFT_RULES_DIMS, sizeof *out->dims, w->reader->err);
    if (out->dims)
        memcpy(out->dims, from->dims, HEFT_RULES_DIMS * sizeof *out->dims);
    return out->dims != NULL;
}

static bool apply_divide(struct walk *w, const struct heft_rule_op *op)
{
    const bool by_number = op->level == HEFT_LEVEL_NUMBER;
    const uint32_t parts = by_number ? 1 : w->mapping->n_right;
    const struct heft_expr by = op->n_args  ? sum_shares(w, op)
                                : by_number ? count_expr(w, w->mapping->spread)
                                            : number_expr(w, parts);
    struct symbolic *all;

    for (uint32_t i = 0; i < w->n; i++)
        if (!check_rank(w, op, &w->shapes[i], op->axis, 0))
            return false;
    if (by_number)
        all = w->shapes;
    else
        all = heft_arena_zero(&w->scratch, parts, sizeof *all, w->reader->err);
    if (!all)
        return false;
    for (uint32_t i = 0; !by_number && i < parts; i++)
        if (!copy_shape(w, &w->shapes[0], &all[i]))
            return false;
    w->shapes = all;
    w->n = by_number ? w->n : parts;
    for (uint32_t i = 0; i < w->n; i++)
        if (op->kind == HEFT_RULE_OP_UNSTACK)
            remove_dim(&all[i], op->axis);
        else if (all[i].has_rank)
            all[i].dims[op->axis] = part_extent(w, op, all[i].dims[op->axis], by, i);
    return true;
}

/* ---- reshapes, and the whole ------------------------------------------------------------------------------------ */

static bool refuse_reshape(const struct walk *w, const struct heft_rule_op *op)
{
    return heft_rules_refuse(
        w->reader->rules, op->line, w->reader->err,
        "found reshape in a rule with <=> of a shape that is not known, expected "
        "the same [SHAPE], without _, behind each name on the left, or =>");
}

/* Notes the shape before a reshape, which must be the same for all tensors. */
static bool keep_before(const struct walk *w, struct heft_rule_op *op)
{
    const struct symbolic *const s = &w->shapes[0];
    struct heft_expr *before;

    for (uint32_t i = 0; i < w->n; i++) {
        const struct symbolic *const other = &w->shapes[i];

        if (!other->has_rank || other->rank != s->rank)
            return refuse_reshape(w, op);
        for (uint32_t d = 0; d < s->rank; d++)
            if (!is_same_expr(&s->dims[d], &other->dims[d]))
                return refuse_reshape(w, op);
    }
    before = heft_arena_zero(w->reader->mem, s->rank, sizeof *before, w->reader->err);
    if (!before)
        return false;
    memcpy(before, s->dims, s->rank * sizeof *before);
    op->before = before;
    op->n_before = s->rank;
    return true;
}

static bool apply_op(struct walk *w, struct heft_rule_op *op)
{
    if (heft_op_joins(op->kind))
        return apply_join(w, op);
    if (heft_op_divides(op->kind))
        return apply_divide(w, op);
    if (op->kind == HEFT_RULE_OP_RESHAPE && w->mapping->both_ways && !keep_before(w, op))
        return false;
    for (uint32_t i = 0; i < w->n; i++)
        if (!apply_each(w, op, &w->shapes[i]))
            return false;
    return true;
}

static bool begin_walk(struct walk *w)
{
    const struct heft_remap *const m = w->mapping;

    w->n = m->n_left;
    w->shapes = heft_arena_zero(&w->scratch, w->n, sizeof *w->shapes, w->reader->err);
    if (!w->shapes)
        return false;
    for (uint32_t i = 0; i < w->n; i++) {
        struct symbolic *const s = &w->shapes[i];
        const struct heft_pattern *const p = &m->left[i];

        s->dims = heft_arena_zero(&w->scratch, HEFT_RULES_DIMS, sizeof *s->dims, w->reader->err);
        if (!s->dims)
            return false;
        s->has_rank = p->has_shape;
        s->rank = p->n_dims;
        if (p->n_dims)
            memcpy(s->dims, p->shape, p->n_dims * sizeof *s->dims);
    }
    return true;
}

/* A result of another rank could never be right. */
static bool check_results(const struct walk *w)
{
    for (uint32_t i = 0; i < w->mapping->n_right; i++) {
        const struct heft_pattern *const p = &w->mapping->right[i];
        const struct symbolic *const s = &w->shapes[w->n == 1 ? 0 : i];

        if (p->has_shape && s->has_rank && p->n_dims != s->rank)
            return heft_rules_refuse(w->reader->rules, p->line, w->reader->err,
                                     "found the shape %.100s of a result that has %u dimensions",
                                     p->shape_text, (unsigned)s->rank);
    }
    return true;
}

bool heft_remap_check_shapes(struct heft_rules_reader *r, struct heft_remap *mapping)
{
    struct walk w = {.reader = r, .mapping = mapping};
    struct heft_rule_op *const ops = heft_remap_ops(mapping);
    bool failed = false, ok;

    w.failed = &failed;
    ok = begin_walk(&w);
    for (uint32_t i = 0; ok && i < mapping->n_ops; i++)
        ok = apply_op(&w, &ops[i]);
    ok = ok && !failed && check_results(&w);
    heft_arena_release(&w.scratch);
    return ok;
}
