/* test_input_list.c: lists of inputs that exceed the memory for them, their order, and failures. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "fault_os.h"
#include "scratch.h"
#include "tokens/input/input_list.h"

#define FILES 3000 /* rows of 32 bytes, more than one page */

static void make(const char *folder, const char *name)
{
    char *const path = heft_scratch_path(folder, name);

    assert_int_equal(mkdir(path, 0777), 0);
    free(path);
}

static struct heft_input_list *list_of(const char *folder, const char *end, bool sort,
                                       struct heft_error *err)
{
    const struct heft_input_how how = {.sort = sort};
    char *const word = heft_scratch_path(folder, end);
    struct heft_input_list *list = heft_input_list_new(err);

    if (list && !heft_input_list_add(list, word, 7, &how, err)) {
        heft_input_list_free(list);
        list = NULL;
    }
    free(word);
    return list;
}

static void test_many(void **state)
{
    char *const folder = heft_scratch_new();
    static bool seen[FILES];
    struct heft_error err = {0};
    struct heft_input_list *list;
    struct heft_input_item item;
    struct heft_buf path = {0};
    char name[32];

    (void)state;
    for (unsigned i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "f%04u", i);
        heft_scratch_write(folder, name, "some text", i % 10);
    }
    list = list_of(folder, "", false, &err);
    assert_non_null(list);
    assert_int_equal(heft_input_list_count(list), FILES);
    assert_int_equal(heft_input_list_bytes(list), FILES / 10 * 45);
    assert_false(heft_input_list_streams(list));
    for (size_t i = 0; i < FILES; i++) {
        unsigned number;

        assert_true(heft_input_list_get(list, i, &path, &item, &err));
        number = (unsigned)strtoul(strrchr(item.path, '/') + 2, NULL, 10);
        assert_true(number < FILES && !seen[number]);
        seen[number] = true;
        assert_int_equal(item.bytes, number % 10);
        assert_int_equal(item.word, 7);
    }
    heft_input_list_free(list);
    list = list_of(folder, "f*", true, &err);
    assert_non_null(list);
    for (unsigned i = FILES; i-- > 0;) {
        snprintf(name, sizeof name, "f%04u", i);
        assert_string_equal(strrchr(heft_input_list_path(list, i), '/') + 1, name);
    }
    assert_null(heft_input_list_path(list, FILES));
    heft_input_list_free(list);
    heft_buf_release(&path);
    heft_scratch_free(folder);
}

static void assert_lists(const char *folder, const char *end, const char *const *expected)
{
    struct heft_error err = {0};
    struct heft_input_list *list = list_of(folder, end, true, &err);
    size_t n = 0;

    assert_non_null(list);
    for (; expected[n]; n++) {
        const char *path = heft_input_list_path(list, n);

        assert_non_null(path);
        assert_string_equal(path + strlen(folder), expected[n]);
    }
    assert_int_equal(heft_input_list_count(list), n);
    heft_input_list_free(list);
}

/* Paths sort as whole strings: "a!" before "a/…" before "a0". Slashes of a pattern are kept. */
static void test_sorted(void **state)
{
    static const char *const names[] = {"a/x", "a/b/y", "a!", "a0", "a-", "b/z", "a/b!", "a/b0"};
    char *const folder = heft_scratch_new();

    (void)state;
    make(folder, "a");
    make(folder, "a/b");
    make(folder, "b");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        heft_scratch_write(folder, names[i], "", 0);
    assert_lists(folder, "",
                 (const char *const[]){"/a!", "/a-", "/a/b!", "/a/b/y", "/a/b0", "/a/x", "/a0",
                                       "/b/z", NULL});
    assert_lists(folder, "a//*/*", (const char *const[]){"/a/b/y", NULL});
    assert_lists(folder, "a//b//?", (const char *const[]){"/a//b/y", NULL});
    assert_lists(folder, "?//*",
                 (const char *const[]){"/a/b", "/a/b!", "/a/b0", "/a/x", "/b/z", NULL});
    assert_lists(folder, "*//", (const char *const[]){"/a/", "/b/", NULL});
    heft_scratch_free(folder);
}

/* A directory that cannot be listed or a row that cannot be stored is an error, and no descriptor
 * stays open. */
static void test_failures(void **state)
{
    char *const folder = heft_scratch_new();
    struct heft_error err = {0};
    bool hit = true;

    (void)state;
    make(folder, "sub");
    for (unsigned i = 0; i < FILES; i++) {
        char name[32];

        snprintf(name, sizeof name, "sub/%04u", i);
        heft_scratch_write(folder, name, "", 0);
    }
    for (uint64_t n = 1; hit; n += n < 10 ? 1 : 797) {
        struct heft_input_list *list;

        heft_fault_os_install(n, EIO);
        list = list_of(folder, "", n % 2 == 0, &err);
        hit = heft_fault_os_hit();
        assert_true(list || err.code == HEFT_IO);
        heft_input_list_free(list);
        assert_int_equal(heft_fault_os_open(), 0);
        heft_fault_os_remove();
    }
    assert_int_equal(setenv("TMPDIR", "/nonexistent", 1), 0);
    assert_null(list_of(folder, "", false, &err));
    assert_int_equal(unsetenv("TMPDIR"), 0);
    assert_non_null(strstr(err.text, "temporary file for the list of inputs: cannot be created: "));
    heft_scratch_free(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_sorted),
        cmocka_unit_test(test_failures),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
