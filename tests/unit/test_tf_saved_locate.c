/* test_tf_saved_locate.c: versions of a SavedModel whose directories cannot be examined or listed:
 * another version must not be opened in their place. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "failures.h"
#include "heft/heft.h"
#include "scratch.h"

#define GOLDEN HEFT_TESTS "/golden/saved-model/v1"

static void copy_version(const char *folder, const char *version)
{
    static const char *const folders[] = {"", "/variables", "/assets"};
    static const char *const files[] = {"saved_model.pb", "variables/variables.index",
                                        "variables/variables.data-00000-of-00001",
                                        "assets/words.txt"};
    char *const to = heft_scratch_path(folder, version);
    char path[4096];

    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        (void)snprintf(path, sizeof path, "%s%s", to, folders[i]);
        assert_int_equal(mkdir(path, 0777), 0);
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        size_t n;
        char *const bytes = heft_scratch_read(GOLDEN, files[i], &n);

        assert_non_null(bytes);
        heft_scratch_write(to, files[i], bytes, n);
        free(bytes);
    }
    free(to);
}

/* Opens the directory with its i-th system call failing; true if it opened. */
static bool open_failing(const char *folder, uint64_t i, char *opened, size_t room,
                         struct heft_error *err)
{
    struct heft_file file = HEFT_INIT(struct heft_file);
    struct heft_checkpoint *c;

    heft_fault_os_install(i, EIO);
    c = heft_open(folder, NULL, err);
    if (c && heft_file_at(c, 0, &file))
        (void)snprintf(opened, room, "%s", file.path);
    heft_close(c);
    heft_fault_os_remove();
    return c != NULL;
}

static void failing_calls_do_not_choose_another_version(void **state)
{
    char *const folder = heft_scratch_new();
    char expected[4096], opened[4096];
    struct heft_error err = {0};
    uint64_t lists = 0, stats = 0;

    (void)state;
    copy_version(folder, "7");
    copy_version(folder, "8");
    heft_scratch_write(folder, "9", "a file", 6);
    assert_true(open_failing(folder, 0, expected, sizeof expected, &err));
    assert_non_null(strstr(expected, "/8/"));
    for (uint64_t i = 1;; i++) {
        const bool opens = open_failing(folder, i, opened, sizeof opened, &err);

        if (!heft_fault_os_hit())
            break;
        if (opens) {
            assert_string_equal(opened, expected);
            continue;
        }
        if (err.code == HEFT_USAGE && i == 1)
            continue; /* the directory itself is then taken for a file */
        if (err.code != HEFT_IO)
            fail_msg("%s: %s: %s", heft_fault_os_name(), err.file, err.text);
        lists += strcmp(heft_fault_os_name(), "list_dir") == 0;
        stats += strcmp(heft_fault_os_name(), "stat_path") == 0;
    }
    assert_true(lists >= 3 && stats >= 3); /* the directory, 7 and 8 */
    heft_scratch_free(folder);
}

/* The file `checkpoint` names one below a directory that cannot be listed: the one of the same name
 * beside it must not be opened. */
static void failing_calls_do_not_choose_another_checkpoint(void **state)
{
    static const char state_text[] = "model_checkpoint_path: \"sub/variables\"\n";
    char *const folder = heft_scratch_new(), *const sub = heft_scratch_path(folder, "sub");
    char *const variables = heft_scratch_path(folder, "variables");
    char opened[4096];
    struct heft_error err = {0};

    (void)state;
    assert_int_equal(mkdir(sub, 0777), 0);
    copy_version(folder, "1");
    (void)snprintf(opened, sizeof opened, "%s/1/variables/variables.index", folder);
    for (int i = 0; i < 2; i++) {
        static const char *const endings[] = {"index", "data-00000-of-00001"};
        char name[128];
        size_t n;
        char *bytes;

        (void)snprintf(name, sizeof name, "1/variables/variables.%s", endings[i]);
        bytes = heft_scratch_read(folder, name, &n);
        assert_non_null(bytes);
        (void)snprintf(name, sizeof name, "variables.%s", endings[i]);
        heft_scratch_write(folder, name, bytes, n);
        free(bytes);
    }
    heft_scratch_write(folder, "checkpoint", state_text, sizeof state_text - 1);
    assert_true(open_failing(folder, 0, opened, sizeof opened, &err)); /* a stale path */
    for (uint64_t i = 1;; i++) {
        const bool opens = open_failing(folder, i, opened, sizeof opened, &err);

        if (!heft_fault_os_hit())
            break;
        assert_true(!opens || strcmp(heft_fault_os_name(), "list_dir") != 0);
        if (!opens && err.code != HEFT_IO && i > 1)
            fail_msg("%s: %s", heft_fault_os_name(), err.text);
    }
    free(variables);
    free(sub);
    heft_scratch_free(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failing_calls_do_not_choose_another_version),
        cmocka_unit_test(failing_calls_do_not_choose_another_checkpoint),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
