/* test_source_stream.c: standard input as a source with random access; each of its system calls
 * fails once. */
#include <errno.h>
#include <unistd.h>

#include "fault_os.h"
#include "io/source.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define TEXT "what comes through a pipe"
#define SIZE (sizeof TEXT - 1)

/* Replaces standard input by a pipe with this text. */
static void put_stdin(void)
{
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], TEXT, SIZE), SIZE);
    close(ends[1]);
    assert_int_equal(dup2(ends[0], 0), 0);
    close(ends[0]);
}

static bool read_back(struct heft_error *err)
{
    struct heft_source source = {0};
    char text[8];
    bool ok;

    put_stdin();
    ok = heft_source_open_stdin(&source, "-", err) &&
         heft_source_read(&source, SIZE - 4, text, 4, err) && source.size == SIZE &&
         memcmp(text, "pipe", 4) == 0;
    heft_source_close(&source);
    return ok;
}

static void test_whole(void **unused)
{
    struct heft_error err = {0};

    (void)unused;
    assert_true(read_back(&err));
}

static void test_each_call_fails(void **unused)
{
    uint64_t n;

    (void)unused;
    heft_fault_os_install(0, 0);
    heft_fault_os_short(3);
    assert_true(read_back(&(struct heft_error){0}));
    n = heft_fault_os_count();
    heft_fault_os_remove();
    assert_true(n > 8);
    for (uint64_t i = 1; i < n; i++) { /* the last call closes */
        struct heft_error err = {0};

        heft_fault_os_install(i, ENOSPC);
        heft_fault_os_short(3);
        assert_false(read_back(&err));
        assert_true(heft_fault_os_hit());
        assert_int_equal(heft_fault_os_open(), 0);
        heft_fault_os_remove();
        assert_int_equal(err.code, HEFT_IO);
        assert_string_equal(err.file, "-");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_whole),
                                       cmocka_unit_test(test_each_call_fails)};

    return cmocka_run_group_tests_name("stdin", tests, NULL, NULL);
}
