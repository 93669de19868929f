/* test_rules_reverse.c: a rule and its way back, run on small arrays by the definitions of the ops, give what was
 * there. The interpreter here shares nothing with the one of the library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rules/rules_program.h"

enum { RANK = 8, ELEMENTS = 4096, SIDE = 6 };

struct array {
    uint64_t rank, shape[RANK];
    uint32_t at[ELEMENTS];
};
/* Tensors by number and name. */
struct arrays {
    unsigned numbers, names;
    struct array list[SIDE][SIDE];
};
struct running {
    const struct heft_rules *rules;
    const struct heft_remap *mapping;
    struct heft_variables variables;
    struct heft_binding bindings[256];
    struct heft_error err;
};

static uint64_t count_elements(const struct array *a)
{
    uint64_t n = 1;

    for (uint64_t i = 0; i < a->rank; i++)
        n *= a->shape[i];
    assert_true(n <= ELEMENTS);
    return n;
}

/* Number of the element at an index, row-major. */
static uint64_t place_of(const struct array *a, const uint64_t *index)
{
    uint64_t place = 0;

    for (uint64_t i = 0; i < a->rank; i++) {
        assert_true(index[i] < a->shape[i]);
        place = place * a->shape[i] + index[i];
    }
    return place;
}

static void index_of(const struct array *a, uint64_t place, uint64_t *index)
{
    for (uint64_t i = a->rank; i > 0; i--) {
        index[i - 1] = place % a->shape[i - 1];
        place /= a->shape[i - 1];
    }
}

static uint64_t value_of(struct running *r, const struct heft_expr *e)
{
    uint64_t value = 0;

    if (!heft_sizes_value(e, r->bindings, r->mapping->sizes, &r->variables, &value, &r->err))
        fail_msg("%s", r->err.text);
    return value;
}

/* ---- ops on one array ------------------------------------------------------------------------------------------ */

static void permute(struct array *a, const uint64_t *order)
{
    struct array *const out = calloc(1, sizeof *out);
    uint64_t from[RANK], to[RANK];

    assert_non_null(out);
    out->rank = a->rank;
    for (uint64_t i = 0; i < a->rank; i++)
        out->shape[i] = a->shape[order[i]];
    for (uint64_t k = 0; k < count_elements(a); k++) {
        index_of(out, k, to);
        for (uint64_t i = 0; i < a->rank; i++)
            from[order[i]] = to[i];
        out->at[k] = a->at[place_of(a, from)];
    }
    *a = *out;
    free(out);
}

static void transpose(struct array *a, uint64_t x, uint64_t y)
{
    uint64_t order[RANK];

    for (uint64_t i = 0; i < a->rank; i++)
        order[i] = i == x ? y : i == y ? x : i;
    permute(a, order);
}

static void reorder(struct array *a, const struct heft_rule_op *op)
{
    struct array *const from = malloc(sizeof *from);
    const uint64_t block = a->shape[op->axis] / op->n_order;
    uint64_t index[RANK];

    assert_non_null(from);
    assert_int_equal(a->shape[op->axis] % op->n_order, 0);
    *from = *a;
    for (uint64_t k = 0; k < count_elements(a); k++) {
        index_of(a, k, index);
        index[op->axis] = op->order[index[op->axis] / block] * block + index[op->axis] % block;
        a->at[k] = from->at[place_of(from, index)];
    }
    free(from);
}

static void squeeze(struct array *a, uint64_t axis)
{
    assert_true(axis < a->rank && a->shape[axis] == 1);
    memmove(a->shape + axis, a->shape + axis + 1, (a->rank - axis - 1) * sizeof *a->shape);
    a->rank--;
}

static void unsqueeze(struct array *a, uint64_t axis)
{
    assert_true(axis <= a->rank && a->rank < RANK);
    memmove(a->shape + axis + 1, a->shape + axis, (a->rank - axis) * sizeof *a->shape);
    a->shape[axis] = 1;
    a->rank++;
}

static void reshape(struct running *r, struct array *a, const struct heft_rule_op *op)
{
    const uint64_t before = count_elements(a);

    a->rank = op->n_args;
    for (uint32_t i = 0; i < op->n_args; i++)
        a->shape[i] = value_of(r, &op->args[i]);
    assert_int_equal(count_elements(a), before);
}

static void run_each(struct running *r, struct array *a, const struct heft_rule_op *op)
{
    if (op->kind == HEFT_RULE_OP_SQUEEZE)
        squeeze(a, op->axis);
    else if (op->kind == HEFT_RULE_OP_UNSQUEEZE)
        unsqueeze(a, op->axis);
    else if (op->kind == HEFT_RULE_OP_PERMUTE)
        permute(a, op->order);
    else if (op->kind == HEFT_RULE_OP_TRANSPOSE)
        transpose(a, op->order[0], op->order[1]);
    else if (op->kind == HEFT_RULE_OP_RESHAPE)
        reshape(r, a, op);
    else if (op->kind == HEFT_RULE_OP_REORDER)
        reorder(a, op);
    else
        fail_msg("op %d", op->kind);
}

/* ---- joins and divides ------------------------------------------------------------------------------------------ */

static void join(struct array *list[], unsigned n, const struct heft_rule_op *op, struct array *out)
{
    uint64_t begin = 0, index[RANK];

    for (unsigned i = 0; i < n && op->kind == HEFT_RULE_OP_STACK; i++)
        unsqueeze(list[i], op->axis);
    if (op->kind == HEFT_RULE_OP_SAME) {
        for (unsigned i = 1; i < n; i++)
            assert_memory_equal(list[i], list[0], sizeof *out);
        *out = *list[0];
        return;
    }
    memset(out, 0, sizeof *out);
    out->rank = list[0]->rank;
    memcpy(out->shape, list[0]->shape, sizeof out->shape);
    for (unsigned i = 1; i < n; i++)
        out->shape[op->axis] += list[i]->shape[op->axis];
    (void)count_elements(out);
    for (unsigned i = 0; i < n; i++) {
        for (uint64_t k = 0; k < count_elements(list[i]); k++) {
            index_of(list[i], k, index);
            index[op->axis] += begin;
            out->at[place_of(out, index)] = list[i]->at[k];
        }
        begin += list[i]->shape[op->axis];
    }
}

static void divide(struct running *r, const struct array *a, const struct heft_rule_op *op,
                   unsigned n, struct array *out[])
{
    uint64_t begin = 0, index[RANK], sum = 0;

    for (uint32_t i = 0; i < op->n_args; i++)
        sum += value_of(r, &op->args[i]);
    for (unsigned i = 0; i < n; i++) {
        const uint64_t share = op->n_args ? value_of(r, &op->args[i]) : 1;

        *out[i] = *a;
        if (op->kind == HEFT_RULE_OP_COPY)
            continue;
        out[i]->shape[op->axis] = a->shape[op->axis] * share / (sum ? sum : n);
        for (uint64_t k = 0; k < count_elements(out[i]); k++) {
            index_of(out[i], k, index);
            index[op->axis] += begin;
            out[i]->at[k] = a->at[place_of(a, index)];
        }
        begin += out[i]->shape[op->axis];
        if (op->kind == HEFT_RULE_OP_UNSTACK)
            squeeze(out[i], op->axis);
        memset(out[i]->at + count_elements(out[i]), 0,
               (ELEMENTS - count_elements(out[i])) * sizeof *out[i]->at);
    }
    assert_true(op->kind == HEFT_RULE_OP_COPY || begin == a->shape[op->axis]);
}

static void run_join(struct arrays *all, const struct heft_rule_op *op)
{
    const bool by_names = op->level == HEFT_LEVEL_NAMES;
    struct array *const joined = malloc(sizeof *joined);
    struct array *list[SIDE];

    assert_non_null(joined);
    for (unsigned k = 0; k < (by_names ? all->numbers : all->names); k++) {
        const unsigned n = by_names ? all->names : all->numbers;

        for (unsigned i = 0; i < n; i++)
            list[i] = by_names ? &all->list[k][i] : &all->list[i][k];
        join(list, n, op, joined);
        *list[0] = *joined;
    }
    *(by_names ? &all->names : &all->numbers) = 1;
    free(joined);
}

static void run_divide(struct running *r, struct arrays *all, const struct heft_rule_op *op)
{
    const bool by_names = op->level == HEFT_LEVEL_NAMES;
    struct array *const whole = malloc(sizeof *whole);
    const struct heft_slot *const slot = by_names ? NULL : &r->mapping->slots[r->mapping->spread];
    uint64_t n = by_names ? r->mapping->n_right : all->list[0][0].shape[op->axis];

    assert_non_null(whole);
    if (slot && op->kind != HEFT_RULE_OP_UNSTACK)
        assert_true(heft_variables_value(&r->variables, slot->variable, &n, &r->err));
    assert_true(n <= SIDE);
    for (unsigned k = 0; k < (by_names ? 1 : all->names); k++) {
        struct array *list[SIDE];

        for (unsigned i = 0; i < n; i++)
            list[i] = by_names ? &all->list[0][i] : &all->list[i][k];
        *whole = *list[0];
        divide(r, whole, op, (unsigned)n, list);
    }
    *(by_names ? &all->names : &all->numbers) = (unsigned)n;
    free(whole);
}

/* ---- a rule and its way back -------------------------------------------------------------------------------------- */

/* Runs the first mapping of a program. */
static void run_program(const struct heft_rules *rules, struct arrays *all)
{
    struct running r = {.rules = rules, .mapping = &rules->stages[0].mappings[0]};
    struct heft_shape_pair pairs[SIDE];
    enum heft_fit fit = HEFT_FIT_NO;

    assert_true(heft_variables_init(&r.variables, rules, &heft_disk, NULL, NULL, 0, &r.err));
    for (unsigned i = 0; i < all->names; i++)
        pairs[i] = (struct heft_shape_pair){&r.mapping->left[i], all->list[0][i].shape,
                                            (uint32_t)all->list[0][i].rank};
    assert_true(heft_sizes_fit(pairs, all->names, r.bindings, &r.variables, &fit, &r.err));
    assert_true(fit != HEFT_FIT_NO);
    for (uint32_t k = 0; k < r.mapping->n_ops; k++) {
        const struct heft_rule_op *const op = &r.mapping->ops[k];

        if (op->kind == HEFT_RULE_OP_SPLIT || op->kind == HEFT_RULE_OP_UNSTACK ||
            op->kind == HEFT_RULE_OP_COPY)
            run_divide(&r, all, op);
        else if (op->level != HEFT_LEVEL_EACH)
            run_join(all, op);
        else
            for (unsigned i = 0; i < all->numbers; i++)
                for (unsigned j = 0; j < all->names; j++)
                    run_each(&r, &all->list[i][j], op);
    }
    for (unsigned i = 0; i < all->names; i++)
        pairs[i] = (struct heft_shape_pair){&r.mapping->right[i], all->list[0][i].shape,
                                            (uint32_t)all->list[0][i].rank};
    assert_true(heft_sizes_fit(pairs, all->names, r.bindings, &r.variables, &fit, &r.err));
    assert_int_equal(fit, HEFT_FIT_YES);
    heft_variables_release(&r.variables);
}

struct turn_case {
    const char *text;
    unsigned numbers, names;
    uint64_t rank, shape[SIDE][4]; /* of each name; one row of zeros: as the first */
    bool equal;                    /* the tensors of all numbers are equal */
};

static void fill_arrays(const struct turn_case *c, struct arrays *all)
{
    uint32_t next = 1;

    memset(all, 0, sizeof *all);
    all->numbers = c->numbers;
    all->names = c->names;
    for (unsigned i = 0; i < c->numbers; i++)
        for (unsigned j = 0; j < c->names; j++) {
            struct array *const a = &all->list[i][j];

            a->rank = c->rank;
            memcpy(a->shape, c->shape[c->shape[j][0] ? j : 0], c->rank * sizeof *a->shape);
            if (c->equal)
                next = 1;
            for (uint64_t k = 0; k < count_elements(a); k++)
                a->at[k] = next++;
        }
}

static void check_turn(const struct turn_case *c)
{
    struct heft_error err = {0};
    struct heft_rules *const rules = heft_rules_parse(heft_str_of(c->text), "x.rules", &err);
    const struct heft_rules *const turned = rules ? heft_rules_reverse(rules, &err) : NULL;
    struct arrays *const all = malloc(sizeof *all), *const before = malloc(sizeof *before);

    if (!turned)
        fail_msg("%s: %s", c->text, err.text);
    assert_true(all && before);
    fill_arrays(c, all);
    *before = *all;
    run_program(rules, all);
    assert_int_equal(all->names, rules->stages[0].mappings[0].n_right);
    run_program(turned, all);
    assert_int_equal(all->numbers, before->numbers);
    assert_int_equal(all->names, before->names);
    for (unsigned i = 0; i < all->numbers; i++)
        for (unsigned j = 0; j < all->names; j++) {
            const struct array *const a = &all->list[i][j], *const b = &before->list[i][j];

            assert_int_equal(a->rank, b->rank);
            assert_memory_equal(a->shape, b->shape, a->rank * sizeof *a->shape);
            assert_memory_equal(a->at, b->at, count_elements(a) * sizeof *a->at);
        }
    free(all);
    free(before);
    heft_rules_free(rules);
}

static void ways_back_lead_back(void **state)
{
    static const struct turn_case cases[] = {
        {"a | transpose 0 2 | permute 1 2 0 <=> b\n", 1, 1, 3, {{2, 3, 4}}, false},
        {"a | unsqueeze 1 | permute 3 0 1 2 | squeeze 2 <=> b\n", 1, 1, 3, {{2, 3, 4}}, false},
        {"a | reorder 0 2 0 1 3 | reorder 1 1 2 0 <=> b\n", 1, 1, 2, {{8, 6}}, false},
        {"a [4*h*2, i] | reshape 4 h 2 i | transpose 1 2 | reshape 4*2*h i <=> b [4*2*h, i]\n",
         1,
         1,
         2,
         {{24, 5}},
         false},
        {"a [_, o, 2*k] | unsqueeze 0 | squeeze 0 | transpose 1 2 <=> b [_, 2*k, o]\n",
         1,
         1,
         3,
         {{3, 2, 4}},
         false},
        {"a [i, 2*n] | reshape i n 2 | permute 2 0 1 | split 0 1 1 <=> b [1, i, n], c [1, i, n]\n",
         1,
         1,
         2,
         {{3, 8}},
         false},
        {"a | split 1 2 1 1 | transpose 0 1 <=> b, c, d\n", 1, 1, 2, {{3, 8}}, false},
        {"a | unstack 1 <=> b, c, d\n", 1, 1, 3, {{2, 3, 4}}, false},
        {"a, b, c | transpose 0 1 | cat 1 4 1 1 | unsqueeze 0 <=> d\n",
         1,
         3,
         2,
         {{8, 3}, {2, 3}, {2, 3}},
         false},
        {"a, b | stack 2 | transpose 0 2 <=> c\n", 1, 2, 2, {{3, 4}}, false},
        {"a.{E}, b.{E} | transpose 0 1 | stack 0 | cat 1 <=> c\n",
         5,
         2,
         2,
         {{3, 4}, {3, 4}},
         false},
        {"let $E = 4\na.{E}, b.{E} | cat 1 | stack 0 <=> c\n", 4, 2, 2, {{3, 4}}, false},
        {"let $E = 3\na.{E} | cat 0 | reorder 0 1 0 <=> b\n", 3, 1, 2, {{2, 3}}, false},
        {"let $s = 3\na @{s} | same | transpose 0 1 <=> b\n", 3, 1, 2, {{2, 3}}, true},
        {"let $s = 2\na @{s}, b @{s} | same | cat 0 <=> c\n", 2, 2, 2, {{2, 3}}, true},
        {"a | split 2 | unstack 0 | unsqueeze 1 <=> b.{E}, c.{E}\n", 1, 1, 3, {{4, 3, 6}}, false},
        {"let $E = 3\nlet $n = 2\na [$E*d, i, $n+1] | split 2 1 $n | split 0 | transpose 0 1 <=> "
         "b.{E}, c.{E}\n",
         1,
         1,
         3,
         {{6, 4, 3}},
         false},
        {"let $E = 2\na.{E} [i, j] | reshape i*j | cat 0 | reshape 2 i j <=> b [2, i, j]\n",
         2,
         1,
         2,
         {{3, 4}},
         false},
    };

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(cases); i++)
        check_turn(&cases[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ways_back_lead_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
