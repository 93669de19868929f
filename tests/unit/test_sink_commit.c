/* test_sink_commit.c: output directories that appear complete or not at all, and outputs that are
 * hard links, whichever call fails. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "failures.h"
#include "fault_os.h"
#include "sink_files.h"

/* A new directory with two nested ones, a file in each, and one file that is a link where possible.
 */
struct set {
    struct heft_sink *sink;
    struct heft_source source;
    bool linked;
};

static bool add_link(struct set *set, const char *folder, struct heft_error *err)
{
    char *path = heft_scratch_path(folder, "new/twin"), *other = heft_scratch_path(folder, "other");
    uint32_t index;
    const bool ok =
        heft_source_open_file(&set->source, other, err) &&
        heft_sink_add_link(set->sink, path, &set->source, other, &set->linked, &index, err) &&
        (set->linked || heft_sink_write(set->sink, index, 0, "other", 5, err));

    free(path);
    free(other);
    return ok;
}

static bool fill(struct set *set, const char *folder, struct heft_error *err)
{
    const struct heft_sink_options options = {.overwrite = true};
    char *whole = heft_scratch_path(folder, "new/"), *deep = heft_scratch_path(folder, "new/a/b");
    const bool ok =
        (set->sink = heft_sink_new(&options, err)) && heft_sink_whole(set->sink, whole, err) &&
        heft_sink_folder(set->sink, deep, err) && add(set->sink, folder, "new/top", "one", err) &&
        add(set->sink, folder, "new/a/b/deep", "two", err) && add_link(set, folder, err);

    free(whole);
    free(deep);
    return ok;
}

static void close_set(struct set *set)
{
    heft_sink_free(set->sink);
    heft_source_close(&set->source);
}

static bool write_set(const char *folder, bool *linked, struct heft_error *err)
{
    struct set set = {0};
    const bool ok = fill(&set, folder, err) && heft_sink_commit(set.sink, err);

    *linked = set.linked;
    close_set(&set);
    return ok;
}

static void assert_whole(const char *folder)
{
    assert_file(folder, "new/top", "one");
    assert_file(folder, "new/a/b/deep", "two");
    assert_file(folder, "new/twin", "other");
    assert_int_equal(heft_scratch_count(folder), 2); /* no other file is left */
}

static void the_directory_appears_at_the_commit(void **state)
{
    struct heft_error err = {0};
    struct set set = {0};

    heft_scratch_write(*state, "other", "other", 5);
    assert_true(fill(&set, *state, &err));
    assert_false(heft_scratch_has(*state, "new"));
    assert_true(heft_sink_commit(set.sink, &err));
    close_set(&set);
    assert_whole(*state);
}

static void a_link_is_the_same_file(void **state)
{
    char *twin = heft_scratch_path(*state, "new/twin"), *other = heft_scratch_path(*state, "other");
    struct heft_error err = {0};
    struct stat a, b;
    bool linked;

    heft_scratch_write(*state, "other", "other", 5);
    assert_true(write_set(*state, &linked, &err));
    assert_true(linked);
    assert_int_equal(stat(twin, &a), 0);
    assert_int_equal(stat(other, &b), 0);
    assert_true(a.st_ino == b.st_ino);
    free(twin);
    free(other);
}

/* If the source's path names another file now, its bytes are not those that were opened. */
static void another_file_is_not_linked(void **state)
{
    char *path = heft_scratch_path(*state, "link"), *other = heft_scratch_path(*state, "other");
    const struct heft_sink_options options = {0};
    struct heft_error err = {0};
    struct heft_source source;
    struct heft_sink *sink = heft_sink_new(&options, &err);
    bool linked = true;
    uint32_t index;

    heft_scratch_write(*state, "other", "other", 5);
    assert_true(heft_source_open_file(&source, other, &err));
    assert_int_equal(remove(other), 0);
    heft_scratch_write(*state, "other", "wrong", 5);
    assert_true(heft_sink_add_link(sink, path, &source, other, &linked, &index, &err));
    assert_false(linked);
    heft_sink_free(sink);
    heft_source_close(&source);
    assert_int_equal(heft_scratch_count(*state), 1);
    free(path);
    free(other);
}

static void an_uncommitted_directory_is_deleted(void **state)
{
    struct heft_error err = {0};
    struct set set = {0};

    heft_scratch_write(*state, "other", "other", 5);
    assert_true(fill(&set, *state, &err));
    close_set(&set);
    assert_int_equal(heft_scratch_count(*state), 1);
}

static void an_existing_directory_with_files_is_refused(void **state)
{
    char *new = heft_scratch_path(*state, "new");
    struct heft_error err = {0};
    bool linked;

    heft_scratch_write(*state, "other", "other", 5);
    heft_scratch_write(*state, "new", "file", 4);
    assert_false(write_set(*state, &linked, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_int_equal(remove(new), 0);
    assert_int_equal(mkdir(new, 0777), 0);
    assert_true(write_set(*state, &linked, &err)); /* an empty directory is replaced */
    assert_whole(*state);
    err = (struct heft_error){0};
    assert_false(write_set(*state, &linked, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_non_null(strstr(err.text, "exists"));
    assert_whole(*state);
    free(new);
}

static void a_directory_created_meanwhile_is_kept(void **state)
{
    char *new = heft_scratch_path(*state, "new");
    struct heft_error err = {0};
    struct set set = {0};

    heft_scratch_write(*state, "other", "other", 5);
    assert_true(fill(&set, *state, &err));
    assert_int_equal(mkdir(new, 0777), 0);
    heft_scratch_write(*state, "new/theirs", "x", 1);
    assert_false(heft_sink_commit(set.sink, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    close_set(&set);
    assert_file(*state, "new/theirs", "x");
    assert_int_equal(heft_scratch_count(new), 1);
    assert_int_equal(heft_scratch_count(*state), 2);
    free(new);
}

/* A new folder with the other file, and with an empty directory in the place of the output. */
static char *begin_folder(bool has_empty)
{
    char *const folder = heft_scratch_new(), *const new = heft_scratch_path(folder, "new");

    heft_scratch_write(folder, "other", "other", 5);
    if (has_empty)
        assert_int_equal(mkdir(new, 0777), 0);
    free(new);
    return folder;
}

static void assert_untouched(const char *folder, bool has_empty)
{
    char *const new = heft_scratch_path(folder, "new");

    assert_int_equal(heft_scratch_has(folder, "new"), has_empty);
    assert_int_equal(heft_scratch_count(new), 0);
    assert_int_equal(heft_scratch_count(folder), has_empty ? 2 : 1);
    free(new);
}

/* Failed hints and links are not errors; any other failed call leaves no file. */
static void fail_each_call(bool has_empty)
{
    char *first = begin_folder(has_empty);
    struct heft_error err = {0};
    uint64_t calls;
    bool linked;

    heft_fault_os_install(0, 0);
    assert_true(write_set(first, &linked, &err));
    calls = heft_fault_os_count();
    heft_fault_os_remove();
    heft_scratch_free(first);
    assert_true(calls > 20);
    for (uint64_t i = 1; i <= calls; i++) {
        char *folder = begin_folder(has_empty);
        bool ok;

        err = (struct heft_error){0};
        heft_fault_os_install(i, ENOSPC);
        ok = write_set(folder, &linked, &err);
        heft_fault_os_remove();
        assert_true(heft_fault_os_hit());
        assert_int_equal(heft_fault_os_open(), 0);
        if (ok) {
            assert_true(!linked || strcmp(heft_fault_os_name(), "close") == 0 ||
                        strcmp(heft_fault_os_name(), "list_dir") == 0);
            assert_whole(folder);
        } else {
            assert_int_equal(err.code, HEFT_IO);
            assert_untouched(folder, has_empty);
        }
        heft_scratch_free(folder);
    }
}

static void a_failed_call_leaves_nothing(void **state)
{
    (void)state;
    fail_each_call(false);
}

static void a_failed_call_leaves_the_empty_directory(void **state)
{
    (void)state;
    fail_each_call(true);
}

static void without_memory(void **state)
{
    (void)state;
    for (struct failures fail = {.most = 200}; !fail.done;) {
        char *folder = heft_scratch_new();
        struct heft_error err;
        bool linked;

        heft_scratch_write(folder, "other", "other", 5);
        FAIL_ALLOCATION(&fail, write_set(folder, &linked, &err), &err);
        if (fail.done)
            assert_whole(folder);
        else
            assert_int_equal(heft_scratch_count(folder), 1);
        heft_scratch_free(folder);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_directory_appears_at_the_commit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_link_is_the_same_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_file_is_not_linked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_uncommitted_directory_is_deleted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_existing_directory_with_files_is_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_directory_created_meanwhile_is_kept, set_up, tear_down),
        cmocka_unit_test(a_failed_call_leaves_nothing),
        cmocka_unit_test(a_failed_call_leaves_the_empty_directory),
        cmocka_unit_test(without_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
