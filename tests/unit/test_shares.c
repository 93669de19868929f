/* test_shares.c: division of tensors among ranks: boxes as torch.chunk cuts them, and the ranks that torch's
 * planner chooses for what several ranks have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/shares.h"

static struct heft_option_value ranks_of(uint64_t n)
{
    return (struct heft_option_value){.is_given = true, .number = n};
}

struct made {
    struct heft_arena mem;
    struct heft_option_value options[HEFT_SHARES_OPTIONS];
    struct heft_row rows[8];
    struct heft_export_item items[8];
    struct heft_export_list exports;
    struct heft_plan plan;
    struct heft_shares shares;
};

/* Adds a tensor of F32 without data. */
static void add(struct made *m, const char *name, unsigned rank, const uint64_t *shape)
{
    const size_t i = m->exports.n_items++;
    uint64_t n = 4;

    for (unsigned d = 0; d < rank; d++)
        n *= shape[d];
    m->rows[i] = (struct heft_row){.name = heft_str_of(name),
                                   .shape = shape,
                                   .rank = (uint8_t)rank,
                                   .dtype = HEFT_F32,
                                   .bytes = n};
    m->items[i] = (struct heft_export_item){.row = &m->rows[i],
                                            .name = heft_str_of(name),
                                            .from = heft_str_of(name),
                                            .bytes = n,
                                            .as = HEFT_F32,
                                            .number = (uint32_t)i + 1};
}

static void begin(struct made *m, uint64_t n_ranks, uint64_t dim)
{
    *m = (struct made){
        .options = {[HEFT_SHARES_RANKS] = ranks_of(n_ranks), [HEFT_SHARES_DIM] = ranks_of(dim)}};
    m->plan.mem = &m->mem;
    m->plan.request.options = m->options;
    m->exports.items = m->items;
    m->exports.mem = &m->mem;
}

static void divide(struct made *m)
{
    struct heft_error err = {0};

    assert_true(heft_shares_init(&m->shares, &m->plan, &m->exports, &err));
}

static void end(struct made *m)
{
    heft_plan_release(&m->plan);
    heft_arena_release(&m->mem);
}

static void check_box(const struct made *m, size_t item, uint32_t rank, uint64_t start,
                      uint64_t extent)
{
    struct heft_share_box box;

    assert_true(heft_shares_box(&m->shares, item, rank, &box));
    assert_false(box.is_whole);
    assert_int_equal(box.start, start);
    assert_int_equal(box.extent, extent);
}

static void shares_are_those_of_torch_chunk(void **state)
{
    static const uint64_t seven[] = {7, 2}, five[] = {3, 5};
    struct made m;

    (void)state;
    begin(&m, 4, 1);
    add(&m, "seven", 1, seven);
    add(&m, "five", 2, five);
    divide(&m);
    check_box(&m, 0, 0, 0, 2); /* along the last dimension, as it has one only */
    check_box(&m, 0, 3, 6, 1);
    check_box(&m, 1, 2, 4, 1);
    check_box(&m, 1, 3, 5, 0); /* the empty share */
    end(&m);
}

/* Equal weights: scalars go to the ranks from left to right after rank 0, which has its shares. */
static void replicas_go_to_the_lightest_rank(void **state)
{
    static const uint64_t big[] = {100};
    struct heft_share_box box;
    struct made m;

    (void)state;
    begin(&m, 3, 0);
    add(&m, "a", 0, big);
    add(&m, "big", 1, big);
    add(&m, "b", 0, big);
    add(&m, "c", 0, big);
    add(&m, "d", 0, big);
    divide(&m);
    assert_true(heft_shares_box(&m.shares, 0, 0, &box) && box.is_whole);
    assert_true(heft_shares_box(&m.shares, 2, 1, &box) && box.is_whole);
    assert_true(heft_shares_box(&m.shares, 3, 2, &box) && box.is_whole);
    assert_true(heft_shares_box(&m.shares, 4, 1, &box) && box.is_whole);
    assert_false(heft_shares_box(&m.shares, 4, 0, &box));
    end(&m);
}

/* Ranks 7 and 8 have the empty share; torch iterates over the set {8, 7} in this order. */
static void empty_shares_have_one_owner(void **state)
{
    static const uint64_t seven[] = {7};
    struct heft_share_box box;
    struct made m;

    (void)state;
    begin(&m, 9, 0);
    add(&m, "seven", 1, seven);
    divide(&m);
    assert_false(heft_shares_box(&m.shares, 0, 7, &box));
    check_box(&m, 0, 8, 7, 0);
    end(&m);
    begin(&m, 65535, 0);
    add(&m, "seven", 1, seven);
    divide(&m);
    assert_int_equal(m.shares.list[0].ranks, 65535);
    check_box(&m, 0, 6, 6, 1);
    assert_false(heft_shares_box(&m.shares, 0, 65534, &box));
    end(&m);
}

static void rules_override_the_options(void **state)
{
    static const uint64_t shape[] = {4, 6}, none[] = {0, 6};
    const struct heft_rule rules[] = {
        {sizeof *rules, HEFT_RULE_PARTITION, "*", "whole"},
        {sizeof *rules, HEFT_RULE_PARTITION, "w*", "1:2"},
    };
    static const char *const bad[] = {"", "1", "1:", "1:0", "1:5", "keep", "x:2", "1:2x", "300:2"};
    struct heft_rule wrong = {sizeof wrong, HEFT_RULE_PARTITION, "*", NULL};
    struct heft_share_box box;
    struct made m;

    (void)state;
    begin(&m, 4, 0);
    m.plan.request.rules = rules;
    m.plan.request.n_rules = 2;
    add(&m, "w", 2, shape);
    add(&m, "v", 2, shape);
    add(&m, "w.none", 2, none);
    divide(&m);
    check_box(&m, 0, 1, 3, 3);
    assert_false(heft_shares_box(&m.shares, 0, 2, &box));
    assert_int_equal(m.shares.list[1].ranks, 1);
    check_box(&m, 2, 1, 3, 3);
    for (size_t i = 0; i < HEFT_COUNT(bad); i++) {
        struct heft_error err = {0};

        wrong.right = bad[i];
        m.plan.request.rules = &wrong;
        m.plan.request.n_rules = 1;
        assert_false(heft_shares_init(&m.shares, &m.plan, &m.exports, &err));
        assert_int_equal(err.code, HEFT_USAGE);
    }
    end(&m);
}

static void a_named_tensor_must_have_the_axis(void **state)
{
    static const uint64_t shape[] = {4};
    const struct heft_rule rule = {sizeof rule, HEFT_RULE_PARTITION, "w", "1:2"};
    struct heft_error err = {0};
    struct made m;

    (void)state;
    begin(&m, 4, 0);
    m.plan.request.rules = &rule;
    m.plan.request.n_rules = 1;
    add(&m, "w", 1, shape);
    assert_false(heft_shares_init(&m.shares, &m.plan, &m.exports, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    end(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_those_of_torch_chunk),
        cmocka_unit_test(replicas_go_to_the_lightest_rank),
        cmocka_unit_test(empty_shares_have_one_owner),
        cmocka_unit_test(rules_override_the_options),
        cmocka_unit_test(a_named_tensor_must_have_the_axis),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
