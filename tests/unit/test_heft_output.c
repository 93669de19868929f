/* test_heft_output.c: files of a program that appear complete or not at all, whichever call or
 * allocation fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "failures.h"
#include "fault_os.h"
#include "heft/heft.h"
#include "sink_files.h"

struct attempt {
    const char *folder;
    struct heft_output_options options;
};

static bool write_one(void *ctx, struct heft_error *err)
{
    const struct attempt *const a = ctx;
    char *const path = heft_scratch_path(a->folder, "one");
    struct heft_output *const output = heft_output_new(path, &a->options, err);
    const bool ok = output && write(heft_output_descriptor(output), "new", 3) == 3 &&
                    heft_output_commit(output, err);

    heft_output_free(output);
    free(path);
    return ok;
}

static void a_file_appears_at_the_commit(void **state)
{
    char *const path = heft_scratch_path(*state, "one");
    struct heft_error err = {0};
    struct heft_output *const output = heft_output_new(path, NULL, &err);

    assert_non_null(output);
    assert_int_equal(write(heft_output_descriptor(output), "new", 3), 3);
    assert_false(heft_scratch_has(*state, "one"));
    assert_true(heft_output_commit(output, &err));
    assert_int_equal(heft_output_descriptor(output), -1);
    heft_output_free(output);
    assert_file(*state, "one", "new");
    assert_int_equal(heft_scratch_count(*state), 1);
    free(path);
}

static void an_existing_file_is_replaced_on_request_only(void **state)
{
    struct attempt a = {*state, {0}};
    struct heft_error err = {0};

    heft_scratch_write(*state, "one", "old", 3);
    assert_false(write_one(&a, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_file(*state, "one", "old");
    a.options.overwrite = true;
    assert_true(write_one(&a, &err));
    assert_file(*state, "one", "new");
    assert_int_equal(heft_scratch_count(*state), 1);
}

static void an_uncommitted_file_is_deleted(void **state)
{
    char *const path = heft_scratch_path(*state, "one");
    struct heft_error err = {0};
    struct heft_output *const output = heft_output_new(path, NULL, &err);

    assert_non_null(output);
    assert_int_equal(heft_scratch_count(*state), 1);
    heft_output_free(output);
    assert_int_equal(heft_scratch_count(*state), 0);
    free(path);
}

#define NEEDED 4

/* Its index in the list; NEEDED if it is not there. */
static unsigned index_of(const char *name, const char *const *names)
{
    unsigned i = 0;

    while (i < NEEDED && strcmp(name, names[i]) != 0)
        i++;
    return i;
}

/* Lets each call fail. `needed` are the calls that must be among them, and whose failure is an
 * error. */
static void fail_each_call(struct attempt *a, const char *const *needed)
{
    unsigned seen = 0; /* bit for each */
    bool hit = true;

    for (uint64_t i = 1; hit; i++) {
        struct heft_error err = {0};
        bool ok;

        if (a->options.overwrite)
            heft_scratch_write(a->folder, "one", "old", 3);
        heft_fault_os_install(i, 0);
        ok = write_one(a, &err);
        hit = heft_fault_os_hit();
        heft_fault_os_remove();
        assert_int_equal(heft_fault_os_open(), 0);
        if (hit && index_of(heft_fault_os_name(), needed) < NEEDED) {
            seen |= 1u << index_of(heft_fault_os_name(), needed);
            assert_false(ok);
            assert_int_equal(err.code, HEFT_IO);
        }
        if (ok || a->options.overwrite)
            assert_file(a->folder, "one", ok ? "new" : "old");
        else
            assert_false(heft_scratch_has(a->folder, "one"));
        assert_true(!hit || heft_scratch_count(a->folder) <= 1 ||
                    strcmp(heft_fault_os_name(), "unlink") == 0);
        if (heft_scratch_has(a->folder, "one")) {
            char *const path = heft_scratch_path(a->folder, "one");

            assert_int_equal(remove(path), 0);
            free(path);
        }
    }
    assert_int_equal(seen, (1u << NEEDED) - 1);
}

static void the_directory_is_synced(void **state)
{
    static const char *const needed[NEEDED] = {"create", "sync", "rename_new", "sync_dir"};
    struct attempt a = {*state, {0}};

    fail_each_call(&a, needed);
}

static void the_directory_is_synced_before_and_after_a_replacement(void **state)
{
    static const char *const needed[NEEDED] = {"create", "sync", "rename", "sync_dir"};
    struct attempt a = {*state, {.overwrite = true}};

    fail_each_call(&a, needed);
}

static void allocations_that_fail_leave_nothing(void **state)
{
    struct attempt a = {*state, {.overwrite = true}};

    fail_each_allocation(write_one, &a, 100);
    assert_file(*state, "one", "new");
    assert_int_equal(heft_scratch_count(*state), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_appears_at_the_commit),
        TEST(an_existing_file_is_replaced_on_request_only),
        TEST(an_uncommitted_file_is_deleted),
        TEST(the_directory_is_synced),
        TEST(the_directory_is_synced_before_and_after_a_replacement),
        TEST(allocations_that_fail_leave_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
