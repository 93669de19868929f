/* test_sized.c: copying structs that begin with their size, for each struct of the public API. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/sized.h"

#define NEWER (HEFT_SIZED_MOST + 64) /* room for a struct of any accepted size */

#define ROW(type, last) {"struct " #type, sizeof(struct type), HEFT_FIRST_SIZE_##type},
static const struct heft_sized taken[] = {HEFT_TAKEN_STRUCTS(ROW)};
static const struct heft_sized filled[] = {HEFT_FILLED_STRUCTS(ROW)};

/* A struct of `size` bytes as a caller makes it: its size, then bytes that are not 0. */
static void make_given(unsigned char *given, size_t size)
{
    memset(given, 0x5A, NEWER);
    memcpy(given, &size, sizeof size);
}

/* Expects the first n bytes behind the size to be those of `given`, and the rest to be 0. */
static void expect_taken(const struct heft_sized *s, const unsigned char *given, size_t n)
{
    struct heft_error err = {0};
    unsigned char own[4096];
    size_t size;

    assert_true(s->ours < sizeof own);
    memset(own, 0xC3, sizeof own);
    assert_true(heft_sized_take(own, s, given, &err));
    assert_int_equal(err.code, HEFT_OK);
    memcpy(&size, own, sizeof size);
    assert_int_equal(size, s->ours);
    for (size_t i = sizeof size; i < sizeof own; i++)
        assert_int_equal(own[i], i < n ? 0x5A : i < s->ours ? 0 : 0xC3);
}

static void expect_refused(const struct heft_sized *s, const unsigned char *given, const char *why)
{
    struct heft_error err = {0};
    unsigned char own[4096];

    assert_false(heft_sized_take(own, s, given, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_non_null(strstr(err.text, s->name));
    assert_non_null(strstr(err.text, why));
}

static void structs_of_callers_are_completed(void **state)
{
    static unsigned char given[NEWER];

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(taken); i++) {
        const struct heft_sized *const s = &taken[i];
        const size_t sizes[] = {sizeof(size_t), s->first - 1, s->first, s->ours};

        expect_taken(s, NULL, 0);
        make_given(given, 0);
        expect_taken(s, given, s->first);
        for (size_t k = 0; k < HEFT_COUNT(sizes); k++) {
            make_given(given, sizes[k]);
            expect_taken(s, given, sizes[k]);
        }
    }
}

static void members_of_newer_versions_must_be_zero(void **state)
{
    static unsigned char given[NEWER];

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(taken); i++) {
        const struct heft_sized *const s = &taken[i];

        make_given(given, s->ours + 24);
        memset(given + s->ours, 0, 24);
        expect_taken(s, given, s->ours);
        given[s->ours + 23] = 1;
        expect_refused(s, given, "newer libheft");
        make_given(given, HEFT_SIZED_MOST + 1);
        expect_refused(s, given, "HEFT_INIT");
    }
}

/* Fills a struct of `size` bytes by a library whose struct has `ours`, and expects that n bytes are
 * written. */
static void expect_filled(const struct heft_sized *s, size_t ours, size_t size, size_t n)
{
    unsigned char out[4096], value[4096];
    size_t kept;

    memset(out, 0xC3, sizeof out);
    memset(value, 0x5A, sizeof value);
    memcpy(out, &size, sizeof size);
    heft_sized_fill(out, heft_sized_room(size, ours, s->first), value);
    memcpy(&kept, out, sizeof kept);
    assert_true(kept == size);
    for (size_t i = sizeof size; i < sizeof out; i++)
        assert_int_equal(out[i], i < n ? 0x5A : 0xC3);
}

static void structs_are_filled_up_to_their_size(void **state)
{
    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(filled); i++) {
        const struct heft_sized *const s = &filled[i];
        const size_t grown = s->ours + 24;

        expect_filled(s, s->ours, s->ours, s->ours);
        expect_filled(s, s->ours, grown, s->ours);
        expect_filled(s, s->ours, 0, s->first);
        expect_filled(s, s->ours, s->first - 1, s->first);
        expect_filled(s, s->ours, SIZE_MAX, s->first); /* not initialised */
        expect_filled(s, grown, s->first, s->first);
        expect_filled(s, grown, 0, s->first);
        expect_filled(s, grown, grown - 8, grown - 8);
        expect_filled(s, grown, grown, grown);
        expect_filled(s, grown, HEFT_SIZED_MOST + 1, s->first);
    }
}

/* A program of 0.1 with the sizes of 0.1 is read and filled completely. */
static void first_sizes_are_those_of_the_structs(void **state)
{
    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(taken); i++)
        assert_true(taken[i].first <= taken[i].ours && taken[i].first % sizeof(size_t) == 0);
    for (size_t i = 0; i < HEFT_COUNT(filled); i++)
        assert_true(filled[i].first <= filled[i].ours && filled[i].first % sizeof(size_t) == 0);
}

/* ---- arrays ------------------------------------------------------------------------------ */

static const struct heft_sized one_kind = {"struct one_kind", 32, 24};

/* Makes three structs of `size` bytes, one behind the other. */
static void make_array(unsigned char *array, size_t size)
{
    memset(array, 0xC3, 3 * size);
    for (size_t i = 0; i < 3; i++)
        memcpy(array + i * size, &size, sizeof size);
}

static void expect_stride_refused(const void *array, const char *why)
{
    struct heft_error err = {0};
    size_t stride;

    assert_false(heft_sized_stride(&stride, &one_kind, array, 3, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_non_null(strstr(err.text, why));
}

static void distance_in_arrays_is_the_size_of_the_program(void **state)
{
    static const size_t sizes[] = {24, 32, 40}, wrong[] = {0, 8, 16, 33, HEFT_SIZED_MOST + 8};
    static unsigned char array[3 * NEWER];
    struct heft_error err = {0};
    size_t stride;

    (void)state;
    for (size_t k = 0; k < HEFT_COUNT(sizes); k++) {
        make_array(array, sizes[k]);
        assert_true(heft_sized_stride(&stride, &one_kind, array, 3, &err));
        assert_int_equal(stride, sizes[k]);
        memset(array + sizes[k], 0, sizeof(size_t));
        expect_stride_refused(array, "at index 1 has size 0");
    }
    for (size_t k = 0; k < HEFT_COUNT(wrong); k++) {
        make_array(array, NEWER);
        memcpy(array, &wrong[k], sizeof wrong[k]);
        expect_stride_refused(array, "HEFT_INIT");
    }
    assert_true(heft_sized_stride(&stride, &one_kind, NULL, 3, &err));
    assert_int_equal(stride, 0);
    assert_true(heft_sized_stride(&stride, &one_kind, array, 0, &err));
    assert_int_equal(err.code, HEFT_OK);
}

/* Takes an array of structs of `size` bytes that are 0x5A, those of newer versions `tail`. */
static void take_array(size_t size, unsigned char tail, struct heft_error *err)
{
    unsigned char array[3 * 40], *own;
    const size_t known = heft_min_size(size, 32);

    make_array(array, size);
    for (size_t i = 0; i < 3; i++) {
        memset(array + i * size + sizeof size, 0x5A, known - sizeof size);
        memset(array + i * size + known, tail, size - known);
    }
    own = heft_sized_take_array(&one_kind, array, 3, err);
    for (size_t i = 0; own && i < 3; i++) {
        size_t ours;

        memcpy(&ours, own + i * 32, sizeof ours);
        assert_int_equal(ours, 32);
        for (size_t at = sizeof ours; at < 32; at++)
            assert_int_equal(own[i * 32 + at], at < size ? 0x5A : 0);
    }
    assert_int_equal(own != NULL, err->code == HEFT_OK);
    heft_free(own);
}

static void arrays_of_callers_are_completed(void **state)
{
    struct heft_error err = {0};
    void *none;

    (void)state;
    take_array(24, 0, &err);
    take_array(32, 0, &err);
    take_array(40, 0, &err);
    assert_int_equal(err.code, HEFT_OK);
    take_array(40, 1, &err);
    assert_int_equal(err.code, HEFT_USAGE);
    assert_non_null(strstr(err.text, "newer libheft"));
    err.code = HEFT_OK;
    take_array(16, 0, &err);
    assert_int_equal(err.code, HEFT_USAGE);
    assert_non_null(strstr(err.text, "HEFT_INIT"));
    err.code = HEFT_OK;
    none = heft_sized_take_array(&one_kind, NULL, 0, &err);
    assert_non_null(none);
    heft_free(none);
}

static void arrays_are_filled_up_to_the_size_of_the_program(void **state)
{
    static const size_t sizes[] = {24, 32, 40};
    unsigned char array[3 * 40], values[3 * 32];

    (void)state;
    memset(values, 0x5A, sizeof values);
    for (size_t k = 0; k < HEFT_COUNT(sizes); k++) {
        const size_t size = sizes[k], n = heft_min_size(size, 32);

        make_array(array, size);
        heft_sized_fill_array(array, size, values, 32, 3);
        for (size_t i = 0; i < 3; i++) {
            size_t kept;

            memcpy(&kept, array + i * size, sizeof kept);
            assert_int_equal(kept, size);
            for (size_t at = sizeof kept; at < size; at++)
                assert_int_equal(array[i * size + at], at < n ? 0x5A : 0xC3);
        }
    }
}

/* A program whose struct heft_rule_use has one more member. */
struct grown_use {
    struct heft_rule_use known;
    uint64_t more;
};

static void uses_of_newer_programs_are_filled(void **state)
{
    static const struct heft_rule rules[] = {
        {sizeof(struct heft_rule), HEFT_RULE_GLOB, "w*", NULL},
        {sizeof(struct heft_rule), HEFT_RULE_REGEX, "^none$", NULL}};
    struct grown_use uses[2] = {{{.size = sizeof *uses}, 7}, {{.size = sizeof *uses}, 8}};
    struct heft_rule_use *const given = &uses[0].known;
    const struct heft_diff_options how = {
        .size = sizeof how, .rules = rules, .n_rules = 2, .uses = given};
    struct heft_diff_result result = HEFT_INIT(struct heft_diff_result);
    struct heft_error err = {0};
    struct heft_checkpoint *const c = heft_open(HEFT_TESTS "/golden/torch/linear.pt", NULL, &err);

    (void)state;
    assert_non_null(c);
    assert_true(heft_rule_matches(c, NULL, rules, 2, given, &err));
    assert_int_equal(uses[0].known.matches, 1);
    assert_int_equal(uses[1].known.matches, 0);
    assert_true(uses[0].more == 7 && uses[1].more == 8);
    assert_true(heft_diff(c, c, &how, NULL, &result, &err));
    assert_int_equal(uses[0].known.matches, 2);
    assert_int_equal(uses[1].known.size, sizeof *uses);
    assert_true(uses[0].more == 7 && uses[1].more == 8);

    uses[1].known.size = 0;
    assert_false(heft_rule_matches(c, NULL, rules, 2, given, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    err.code = HEFT_OK;
    assert_false(heft_diff(c, c, &how, NULL, &result, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    heft_close(c);
}

static bool ignore_digest(void *ctx, const struct heft_digest *digest)
{
    (void)ctx, (void)digest;
    return true;
}

/* A program whose struct heft_rule has one more member. */
struct grown_rule {
    struct heft_rule known;
    uint64_t more;
};

/* Passes two rules to every function that takes rules. Returns how many accept them. */
static int pass_rules(struct heft_checkpoint *c, const struct heft_rule *rules)
{
    const struct heft_diff_options diff = {.size = sizeof diff, .rules = rules, .n_rules = 2};
    const struct heft_digest_options digest = {.size = sizeof digest, .rules = rules, .n_rules = 2};
    const struct heft_convert_options convert = {
        .size = sizeof convert, .output = "none.npz", .rules = rules, .n_rules = 2};
    struct heft_rule_use uses[2] = {{.size = sizeof *uses}, {.size = sizeof *uses}};
    struct heft_diff_result result = HEFT_INIT(struct heft_diff_result);
    struct heft_error err[6] = {{.code = HEFT_OK}};
    struct heft_conversion *const conversion = heft_convert_plan(c, &convert, &err[0]);
    struct heft_modules *const modules = heft_modules_new(c, NULL, rules, 2, &err[1]);
    bool selected[16];
    int accepted = (conversion != NULL) + (modules != NULL);

    assert_true(heft_tensor_count(c) <= HEFT_COUNT(selected));
    accepted += heft_select(c, NULL, rules, 2, selected, &err[2]);
    accepted += heft_rule_matches(c, NULL, rules, 2, uses, &err[3]);
    accepted += heft_diff(c, c, &diff, NULL, &result, &err[4]);
    accepted += heft_digest_tensors(c, &digest, ignore_digest, NULL, &err[5]);
    heft_convert_free(conversion);
    heft_modules_free(modules);
    for (size_t i = 0; i < HEFT_COUNT(err); i++)
        assert_true(err[i].code == HEFT_OK || err[i].code == HEFT_USAGE);
    assert_true(accepted < 6 || uses[1].matches == 1);
    return accepted;
}

static void rules_of_newer_programs_are_taken(void **state)
{
    struct grown_rule rules[] = {
        {{sizeof *rules, HEFT_RULE_GLOB, "*", NULL}, 0},
        {{sizeof *rules, HEFT_RULE_GLOB, "w*", NULL}, 0},
    };
    struct heft_error err = {0};
    struct heft_checkpoint *const c = heft_open(HEFT_TESTS "/golden/torch/linear.pt", NULL, &err);

    (void)state;
    assert_non_null(c);
    assert_int_equal(pass_rules(c, &rules[0].known), 6);
    rules[1].more = 1;
    assert_int_equal(pass_rules(c, &rules[0].known), 0);
    rules[1].more = 0;
    rules[1].known.size = 0;
    assert_int_equal(pass_rules(c, &rules[0].known), 0);
    rules[1].known.size = sizeof *rules;
    rules[1].known.left = NULL;
    assert_int_equal(pass_rules(c, &rules[0].known), 0);
    rules[1].known = (struct heft_rule){sizeof *rules, HEFT_RULE_RENAME, "a", NULL};
    assert_int_equal(pass_rules(c, &rules[0].known), 0);
    rules[1].known =
        (struct heft_rule){sizeof *rules, (enum heft_rule_kind)(HEFT_RULE_SET + 1), "a", "b"};
    assert_int_equal(pass_rules(c, &rules[0].known), 0);
    heft_close(c);
}

/* A program whose struct heft_own_tensor has one more member. */
struct grown_tensor {
    struct heft_own_tensor known;
    uint64_t more;
};

static const uint8_t elements[] = {1, 2, 3};

/* Two tensors of such a program, whose structs have this size. */
static const struct heft_own_tensor *make_tensors(struct grown_tensor *list, size_t size)
{
    static const uint64_t shape[] = {3};

    for (size_t i = 0; i < 2; i++)
        list[i] = (struct grown_tensor){.known = {.size = size,
                                                  .name = i ? "b" : "a",
                                                  .name_len = 1,
                                                  .dtype = HEFT_U8,
                                                  .rank = 1,
                                                  .shape = shape,
                                                  .data = elements}};
    return &list->known;
}

static void tensors_of_newer_programs_are_taken(void **state)
{
    struct grown_tensor list[2];
    const struct heft_own_tensor *const given = make_tensors(list, sizeof *list);
    struct heft_error err = {0};
    struct heft_checkpoint *const c = heft_from_tensors(given, 2, NULL, 0, &err);
    uint8_t read[3] = {0};

    (void)state;
    assert_non_null(c);
    assert_int_equal(heft_tensor_count(c), 2);
    assert_true(heft_tensor_read(c, 1, read, sizeof read, &err));
    assert_memory_equal(read, elements, sizeof read);
    heft_close(c);
    list[1].more = 1;
    assert_null(heft_from_tensors(given, 2, NULL, 0, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_non_null(strstr(err.text, "newer libheft"));
}

static void tensors_without_a_size_are_refused(void **state)
{
    const struct heft_convert_options how = {.size = sizeof how, .output = "never-written.npz"};
    struct grown_tensor list[2];
    const struct heft_own_tensor *const given = make_tensors(list, 0);
    struct heft_error err = {0};

    (void)state;
    assert_false(heft_save(given, 2, NULL, 0, &how, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_non_null(strstr(err.text, "initialise it with HEFT_INIT"));
    list[0].known.size = sizeof *list;
    assert_null(heft_from_tensors(given, 2, NULL, 0, &err));
    assert_non_null(strstr(err.text, "at index 1 has size 0"));
    make_tensors(list, sizeof(struct heft_own_tensor) - sizeof(size_t)); /* before version 0.1 */
    assert_null(heft_from_tensors(given, 2, NULL, 0, &err));
    assert_non_null(strstr(err.text, "initialise it with HEFT_INIT"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structs_of_callers_are_completed),
        cmocka_unit_test(members_of_newer_versions_must_be_zero),
        cmocka_unit_test(structs_are_filled_up_to_their_size),
        cmocka_unit_test(first_sizes_are_those_of_the_structs),
        cmocka_unit_test(distance_in_arrays_is_the_size_of_the_program),
        cmocka_unit_test(arrays_of_callers_are_completed),
        cmocka_unit_test(arrays_are_filled_up_to_the_size_of_the_program),
        cmocka_unit_test(uses_of_newer_programs_are_filled),
        cmocka_unit_test(rules_of_newer_programs_are_taken),
        cmocka_unit_test(tensors_of_newer_programs_are_taken),
        cmocka_unit_test(tensors_without_a_size_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
