/* test_sink.c: output files appear complete or not at all, whichever call fails. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "failures.h"
#include "fault_os.h"
#include "io/os.h"
#include "io/pool.h"
#include "sink_files.h"

static struct heft_sink *new_sink(bool overwrite)
{
    const struct heft_sink_options options = {.overwrite = overwrite};
    struct heft_error err = {0};
    struct heft_sink *sink = heft_sink_new(&options, &err);

    assert_non_null(sink);
    return sink;
}

static void no_file_has_its_final_name_before_the_commit(void **state)
{
    const char *folder = *state;
    struct heft_error err = {0};
    struct heft_sink *sink = new_sink(false);

    assert_true(add(sink, folder, "a", "alpha", &err));
    assert_true(add(sink, folder, "b", "beta", &err));
    assert_true(add(sink, folder, "empty", "", &err));
    assert_false(heft_scratch_has(folder, "a"));
    assert_int_equal(heft_scratch_count(folder), 3);
    assert_true(heft_sink_commit(sink, &err));
    assert_int_equal(heft_scratch_count(folder), 3);
    assert_file(folder, "a", "alpha");
    assert_file(folder, "b", "beta");
    assert_file(folder, "empty", "");
    heft_sink_free(sink);
    assert_int_equal(heft_scratch_count(folder), 3);
}

static void uncommitted_files_are_deleted(void **state)
{
    const char *folder = *state;
    struct heft_error err = {0};
    struct heft_sink *sink = new_sink(false);
    char *inner = heft_scratch_path(folder, "new//deep/");

    assert_true(heft_sink_folder(sink, folder, &err));
    assert_true(heft_sink_folder(sink, inner, &err));
    assert_true(heft_scratch_has(folder, "new/deep"));
    assert_true(add(sink, inner, "a", "alpha", &err));
    heft_sink_free(sink);
    assert_int_equal(heft_scratch_count(folder), 0);
    heft_sink_free(NULL);
    free(inner);
}

static void created_directories_of_committed_files_remain(void **state)
{
    const char *folder = *state;
    struct heft_error err = {0};
    struct heft_sink *sink = new_sink(false);
    char *inner = heft_scratch_path(folder, "new/deep");

    assert_true(heft_sink_folder(sink, inner, &err));
    assert_true(add(sink, inner, "a", "alpha", &err));
    assert_true(heft_sink_commit(sink, &err));
    heft_sink_free(sink);
    assert_file(inner, "a", "alpha");
    free(inner);
}

static void an_existing_file_is_refused_and_kept(void **state)
{
    const char *folder = *state;
    char *path = heft_scratch_path(folder, "a");
    struct heft_error err = {0};
    struct heft_sink *sink = new_sink(false);

    heft_scratch_write(folder, "a", "old", 3);
    assert_false(add(sink, folder, "a", "new", &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_string_equal(err.text, "exists; option overwrite replaces it");
    assert_string_equal(err.file, path);
    heft_sink_free(sink);
    assert_file(folder, "a", "old");
    assert_int_equal(heft_scratch_count(folder), 1);
    free(path);
}

static void a_file_created_meanwhile_is_kept_and_the_commit_is_undone(void **state)
{
    const char *folder = *state;
    struct heft_error err = {0};
    struct heft_sink *sink = new_sink(false);

    assert_true(add(sink, folder, "a", "alpha", &err));
    assert_true(add(sink, folder, "b", "beta", &err));
    heft_scratch_write(folder, "b", "other", 5);
    assert_false(heft_sink_commit(sink, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    heft_sink_free(sink);
    assert_file(folder, "b", "other");
    assert_int_equal(heft_scratch_count(folder), 1);
}

static void overwriting_replaces_and_keeps_the_permissions(void **state)
{
    const char *folder = *state;
    char *path = heft_scratch_path(folder, "a");
    struct heft_error err = {0};
    struct heft_sink *sink = new_sink(true);
    struct stat st;

    heft_scratch_write(folder, "a", "old", 3);
    assert_int_equal(chmod(path, 0600), 0);
    assert_true(add(sink, folder, "a", "newer", &err));
    assert_file(folder, "a", "old");
    assert_true(heft_sink_commit(sink, &err));
    heft_sink_free(sink);
    assert_file(folder, "a", "newer");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    free(path);
}

static void stale_files_are_deleted_only_by_the_commit(void **state)
{
    const char *folder = *state;
    char *stale = heft_scratch_path(folder, "stale"), *gone = heft_scratch_path(folder, "gone");
    char *kept = heft_scratch_path(folder, "a");
    struct heft_error err = {0};
    struct heft_sink *sink = new_sink(true);

    heft_scratch_write(folder, "stale", "x", 1);
    assert_true(add(sink, folder, "a", "alpha", &err));
    assert_true(heft_sink_retire(sink, stale, &err));
    assert_true(heft_sink_retire(sink, gone, &err));
    assert_true(heft_sink_retire(sink, kept, &err)); /* also written by this sink: not deleted */
    assert_true(heft_scratch_has(folder, "stale"));
    assert_true(heft_sink_commit(sink, &err));
    heft_sink_free(sink);
    assert_false(heft_scratch_has(folder, "stale"));
    assert_file(folder, "a", "alpha");
    free(stale);
    free(gone);
    free(kept);
}

static void targets_that_are_not_files_are_refused(void **state)
{
    const char *folder = *state;
    struct heft_error err = {0};
    struct heft_sink *sink = new_sink(true);
    uint32_t index;

    assert_false(heft_sink_add(sink, folder, 1, &index, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_false(heft_sink_add(sink, "/dev/null", 1, &index, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_false(add(sink, folder, "", "x", &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_false(add(sink, folder, "no/such/folder", "x", &err));
    assert_int_equal(err.code, HEFT_IO);
    assert_true(add(sink, folder, "twice", "x", &err));
    assert_false(add(sink, folder, "twice", "y", &err));
    assert_int_equal(err.code, HEFT_USAGE);
    heft_scratch_write(folder, "file", "x", 1);
    char *path = heft_scratch_path(folder, "file/inner");
    assert_false(heft_sink_folder(sink, path, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    free(path);
    heft_sink_free(sink);
    assert_int_equal(heft_scratch_count(folder), 1);
}

static void writes_beyond_the_size_are_refused(void **state)
{
    const char *folder = *state;
    char *path = heft_scratch_path(folder, "a");
    struct heft_error err = {0};
    struct heft_sink *sink = new_sink(false);
    uint32_t index;

    assert_true(heft_sink_add(sink, path, 10, &index, &err));
    assert_false(heft_sink_write(sink, index, 8, "abc", 3, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_false(heft_sink_write(sink, index, UINT64_MAX, "abc", 3, &err));
    assert_false(heft_sink_write(sink, index + 1, 0, "abc", 3, &err));
    assert_true(heft_sink_write(sink, index, 7, "abc", 3, &err));
    assert_true(heft_sink_write(sink, index, 10, NULL, 0, &err));
    heft_sink_free(sink);
    free(path);
}

static void long_names_and_bare_names_work(void **state)
{
    const char *folder = *state;
    char name[256], *here = getcwd(NULL, 0);
    struct heft_error err = {0};
    struct heft_sink *sink = new_sink(false);
    uint32_t index;

    memset(name, 'n', 255);
    name[255] = '\0';
    assert_int_equal(chdir(folder), 0);
    assert_true(heft_sink_add(sink, name, 0, &index, &err));
    assert_true(heft_sink_add(sink, "bare", 0, &index, &err));
    assert_true(heft_sink_commit(sink, &err));
    heft_sink_free(sink);
    assert_int_equal(chdir(here), 0);
    assert_true(heft_scratch_has(folder, name));
    assert_true(heft_scratch_has(folder, "bare"));
    free(here);
}

/* ---- many files, many threads ---- */

enum { FILES = 400, PIECES = 5, PIECE = 1000 };

static bool write_piece(void *ctx, unsigned worker, uint64_t index, struct heft_error *err)
{
    const uint32_t file = (uint32_t)(index % FILES);
    const uint64_t piece = index / FILES;
    uint8_t bytes[PIECE];

    (void)worker;
    memset(bytes, (int)((file + piece) & 255), sizeof bytes);
    return heft_sink_write(ctx, file, piece * PIECE, bytes, sizeof bytes, err);
}

static void more_files_than_descriptors_are_written_by_many_threads(void **state)
{
    const char *folder = *state;
    struct heft_error err = {0};
    struct heft_sink *sink = new_sink(false);
    const struct heft_pool_work work = {write_piece, sink, FILES * PIECES, 4};
    char name[16];

    heft_fault_os_install(0, 0);
    for (uint32_t i = 0, index; i < FILES; i++) {
        snprintf(name, sizeof name, "%03" PRIu32, i);
        char *path = heft_scratch_path(folder, name);
        assert_true(heft_sink_add(sink, path, PIECES * PIECE, &index, &err));
        assert_int_equal(index, i);
        assert_true(heft_fault_os_open() <= 130);
        free(path);
    }
    assert_true(heft_pool_run(&work, &err));
    assert_true(heft_fault_os_open() <= 130);
    assert_true(heft_sink_commit(sink, &err));
    heft_sink_free(sink);
    assert_int_equal(heft_fault_os_open(), 0);
    heft_fault_os_remove();
    assert_int_equal(heft_scratch_count(folder), FILES);
    for (uint32_t i = 0; i < FILES; i++) {
        size_t n;

        snprintf(name, sizeof name, "%03" PRIu32, i);
        char *bytes = heft_scratch_read(folder, name, &n);
        assert_int_equal(n, PIECES * PIECE);
        for (size_t k = 0; k < n; k++)
            assert_int_equal((uint8_t)bytes[k], (i + k / PIECE) & 255);
        free(bytes);
    }
}

/* ---- failures ---- */

static const char *const names[] = {"out/deep/a", "out/deep/b", "c"};

/* Enough writes, all to the same offset, to make the sink start writeback early. */
static bool write_often(struct heft_sink *sink, uint32_t index, const uint8_t *bytes, size_t n,
                        struct heft_error *err)
{
    for (int i = 0; i < 16; i++)
        if (!heft_sink_write(sink, index, 0, bytes, n, err))
            return false;
    return true;
}

/* Runs a sink from creation to commit: nested directories, three files, one of them large, and one
 * stale file. */
static bool write_set(const char *folder, bool overwrite, struct heft_error *err)
{
    const struct heft_sink_options options = {.overwrite = overwrite};
    const size_t large = (size_t)1 << 20;
    char *inner = heft_scratch_path(folder, "out/deep");
    char *stale = heft_scratch_path(folder, "stale"), *path = heft_scratch_path(folder, names[2]);
    uint8_t *bytes = calloc(large, 1);
    struct heft_sink *sink = heft_sink_new(&options, err);
    uint32_t index;
    const bool ok = sink && heft_sink_folder(sink, inner, err) &&
                    add(sink, folder, names[0], "new alpha", err) &&
                    add(sink, folder, names[1], "new beta", err) &&
                    heft_sink_add(sink, path, large, &index, err) &&
                    write_often(sink, index, bytes, large, err) &&
                    (!overwrite || heft_sink_retire(sink, stale, err)) &&
                    heft_sink_commit(sink, err);

    heft_sink_free(sink);
    free(bytes);
    free(inner);
    free(stale);
    free(path);
    return ok;
}

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Calls whose failure is not an error: hints, locks that a file system may lack, and deletion of
 * stale files. */
static bool is_harmless(const char *call)
{
    static const char *const calls[] = {"flush_range", "hold_dir", "list_dir", "unlink",
                                        "stat_link"};

    for (size_t i = 0; i < HEFT_COUNT(calls); i++)
        if (strcmp(call, calls[i]) == 0)
            return true;
    return false;
}

/* After a failed call either the whole set of files exists or none of it. */
static void assert_all_or_nothing(const char *folder, bool ok, const struct heft_error *err)
{
    const char *call = heft_fault_os_name();

    assert_int_equal(heft_fault_os_open(), 0);
    if (ok) {
        assert_true(is_harmless(call));
        assert_file(folder, names[0], "new alpha");
        assert_int_equal(heft_scratch_count(folder), 2);
        return;
    }
    assert_int_equal(err->code, HEFT_IO);
    assert_true(err->file[0] != '\0');
    assert_non_null(strstr(err->text, "No space left"));
    assert_int_equal(heft_scratch_count(folder), 0);
}

static void a_failed_call_leaves_nothing_behind(void **state)
{
    struct heft_error err = {0};
    uint64_t calls;

    heft_fault_os_install(0, 0);
    assert_true(write_set(*state, false, &err));
    calls = heft_fault_os_count();
    heft_fault_os_remove();
    assert_true(calls > 20);
    for (uint64_t i = 1; i <= calls; i++) {
        char *folder = heft_scratch_new();
        bool ok;

        err = (struct heft_error){0};
        heft_fault_os_install(i, ENOSPC);
        ok = write_set(folder, false, &err);
        heft_fault_os_remove();
        assert_true(heft_fault_os_hit());
        assert_all_or_nothing(folder, ok, &err);
        heft_scratch_free(folder);
    }
}

static void make_old_set(const char *folder)
{
    char *out = heft_scratch_path(folder, "out"), *deep = heft_scratch_path(folder, "out/deep");

    assert_int_equal(mkdir(out, 0777), 0);
    assert_int_equal(mkdir(deep, 0777), 0);
    for (size_t i = 0; i < HEFT_COUNT(names); i++)
        heft_scratch_write(folder, names[i], "old", 3);
    heft_scratch_write(folder, "stale", "old", 3);
    free(out);
    free(deep);
}

/* Counts the files of the set with old contents and with new ones. */
static void count_set(const char *folder, size_t *n_old, size_t *n_new)
{
    *n_old = *n_new = 0;
    for (size_t i = 0; i < HEFT_COUNT(names); i++) {
        size_t n;
        char *bytes = heft_scratch_read(folder, names[i], &n);

        if (!bytes)
            continue;
        if (n == 3 && strcmp(bytes, "old") == 0)
            (*n_old)++;
        else if (starts_with(bytes, "new ") || n == (size_t)1 << 20)
            (*n_new)++;
        else
            fail_msg("%s is neither old nor new", names[i]);
        free(bytes);
    }
}

/* All files are old or all are new, and no temporary file is left. */
static void assert_old_or_new(const char *folder, bool ok)
{
    /* a replaced file may remain if its deletion failed */
    const bool may_stay = strcmp(heft_fault_os_name(), "unlink") == 0;
    char *deep = heft_scratch_path(folder, "out/deep");
    size_t n_old, n_new;

    count_set(folder, &n_old, &n_new);
    assert_int_equal(heft_fault_os_open(), 0);
    assert_int_equal(ok ? n_new : n_old, HEFT_COUNT(names));
    assert_int_equal(heft_scratch_has(folder, "stale"), !ok);
    if (!may_stay) {
        assert_int_equal(heft_scratch_count(deep), 2);
        assert_int_equal(heft_scratch_count(folder), ok ? 2 : 3);
    }
    free(deep);
}

static void a_failed_call_keeps_the_old_files_while_overwriting(void **state)
{
    struct heft_error err = {0};
    uint64_t calls;

    make_old_set(*state);
    heft_fault_os_install(0, 0);
    assert_true(write_set(*state, true, &err));
    calls = heft_fault_os_count();
    heft_fault_os_remove();
    assert_false(heft_scratch_has(*state, "stale"));
    for (uint64_t i = 1; i <= calls; i++) {
        char *folder = heft_scratch_new();
        bool ok;

        make_old_set(folder);
        err = (struct heft_error){0};
        heft_fault_os_install(i, EDQUOT);
        ok = write_set(folder, true, &err);
        heft_fault_os_remove();
        assert_int_equal(err.code, ok ? HEFT_OK : HEFT_IO);
        assert_true(ok || err.file[0] != '\0');
        assert_old_or_new(folder, ok);
        heft_scratch_free(folder);
    }
}

/* Runs write_set in a child process that is killed before its n-th call; returns false if the child
 * ran to its end. */
static bool is_killed(const char *folder, uint64_t n)
{
    struct heft_error err = {0};
    const pid_t child = fork();
    int status;

    assert_true(child >= 0);
    if (child == 0) {
        heft_fault_os_install(n, HEFT_FAULT_KILL);
        _exit(write_set(folder, true, &err) ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

static void a_killed_run_leaves_no_mix_of_old_and_new_files(void **state)
{
    size_t n_missing = 0;
    bool killed = true;

    (void)state;
    for (uint64_t i = 1; killed; i++) {
        char *folder = heft_scratch_new(), *deep = heft_scratch_path(folder, "out/deep");
        struct heft_error err = {0};
        size_t n_old, n_new;

        make_old_set(folder);
        killed = is_killed(folder, i);
        count_set(folder, &n_old, &n_new);
        assert_true(n_old == 0 || n_new == 0);
        n_missing += n_old + n_new < HEFT_COUNT(names);
        assert_true(write_set(folder, true, &err)); /* deletes temporary files of the killed run */
        count_set(folder, &n_old, &n_new);
        assert_int_equal(n_new, HEFT_COUNT(names));
        assert_int_equal(heft_scratch_count(deep), 2);
        assert_int_equal(heft_scratch_count(folder), 2 + heft_scratch_has(folder, "stale"));
        free(deep);
        heft_scratch_free(folder);
    }
    assert_true(n_missing > 0);
}

/* If the index is the only file that replaces an old one, the old set is complete until the index
 * is renamed. */
static void an_index_alone_is_replaced_at_once(void **state)
{
    const char *folder = *state;
    struct heft_error err = {0};
    struct heft_sink *sink = new_sink(true);

    heft_scratch_write(folder, "index", "old", 3);
    assert_true(add(sink, folder, "shard", "new shard", &err));
    assert_true(add(sink, folder, "index", "new index", &err));
    assert_true(heft_sink_commit(sink, &err));
    heft_sink_free(sink);
    assert_file(folder, "index", "new index");
    assert_int_equal(heft_scratch_count(folder), 2);
}

static void a_failed_allocation_leaves_nothing_behind(void **state)
{
    (void)state;
    for (struct failures fail = {.most = 200}; !fail.done;) {
        char *folder = heft_scratch_new();
        struct heft_error err = {0};

        heft_fault_os_install(0, 0);
        FAIL_ALLOCATION(&fail, write_set(folder, false, &err), &err);
        heft_fault_os_remove();
        assert_int_equal(heft_fault_os_open(), 0);
        assert_int_equal(heft_scratch_count(folder), fail.done ? 2 : 0);
        heft_scratch_free(folder);
    }
}

static void short_writes_are_continued(void **state)
{
    const char *folder = *state;
    struct heft_error err = {0};
    struct heft_sink *sink = new_sink(false);

    heft_fault_os_install(0, 0);
    heft_fault_os_short(3);
    assert_true(add(sink, folder, "a", "written three by three", &err));
    assert_true(heft_sink_commit(sink, &err));
    heft_fault_os_remove();
    heft_sink_free(sink);
    assert_file(folder, "a", "written three by three");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(no_file_has_its_final_name_before_the_commit),
        TEST(uncommitted_files_are_deleted),
        TEST(created_directories_of_committed_files_remain),
        TEST(an_existing_file_is_refused_and_kept),
        TEST(a_file_created_meanwhile_is_kept_and_the_commit_is_undone),
        TEST(overwriting_replaces_and_keeps_the_permissions),
        TEST(stale_files_are_deleted_only_by_the_commit),
        TEST(targets_that_are_not_files_are_refused),
        TEST(writes_beyond_the_size_are_refused),
        TEST(long_names_and_bare_names_work),
        TEST(more_files_than_descriptors_are_written_by_many_threads),
        TEST(a_failed_call_leaves_nothing_behind),
        TEST(a_failed_call_keeps_the_old_files_while_overwriting),
        TEST(a_killed_run_leaves_no_mix_of_old_and_new_files),
        TEST(an_index_alone_is_replaced_at_once),
        TEST(a_failed_allocation_leaves_nothing_behind),
        TEST(short_writes_are_continued),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
