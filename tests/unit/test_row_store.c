/* test_row_store.c: rows by number beyond one page of memory, in any order, and failures. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fault_os.h"
#include "io/row_store.h"

#define ROWS 20000 /* 30 bytes each: nine pages and a part */

static void make_row(uint64_t number, uint8_t row[30])
{
    for (unsigned i = 0; i < 30; i++)
        row[i] = (uint8_t)(number * 2654435761u >> i);
}

static bool put(struct heft_row_store *rows, uint64_t number, struct heft_error *err)
{
    uint8_t row[30];

    make_row(number, row);
    return heft_row_store_put(rows, number, 1, row, err);
}

/* Returns false if the store failed. */
static bool holds(struct heft_row_store *rows, uint64_t number, struct heft_error *err)
{
    uint8_t row[30], got[30];

    make_row(number, row);
    if (!heft_row_store_get(rows, number, 1, got, err))
        return false;
    assert_memory_equal(got, row, sizeof row);
    return true;
}

static struct heft_row_store begin(void)
{
    return (struct heft_row_store){.width = 30, .what = "rows of a test"};
}

static void test_order(void **state)
{
    struct heft_row_store rows = begin();
    struct heft_error err = {0};

    (void)state;
    for (uint64_t i = 0; i < ROWS; i++)
        assert_true(put(&rows, i, &err));
    for (uint64_t i = ROWS; i-- > 0;)
        assert_true(holds(&rows, i, &err));
    for (uint64_t i = 0; i < ROWS; i++)
        assert_true(holds(&rows, i * 7919 % ROWS, &err));
    heft_row_store_release(&rows);
}

/* A row with a large number comes first, as for an array that is still open; then those before it,
 * some twice. */
static void test_gaps(void **state)
{
    static const uint8_t zeros[30];
    struct heft_row_store rows = begin();
    struct heft_error err = {0};
    uint8_t got[30];

    (void)state;
    assert_true(put(&rows, ROWS - 1, &err));
    for (uint64_t i = 0; i < ROWS; i += 3) {
        assert_true(heft_row_store_put(&rows, i, 1, zeros, &err));
        assert_true(put(&rows, i, &err));
    }
    for (uint64_t i = 0; i < ROWS; i++) {
        if (i % 3 == 0 || i == ROWS - 1) {
            assert_true(holds(&rows, i, &err));
            continue;
        }
        assert_true(heft_row_store_get(&rows, i, 1, got, &err));
        assert_memory_equal(got, zeros, sizeof zeros);
    }
    heft_row_store_release(&rows);
    assert_true(heft_row_store_get(&rows, 0, 1, got, &err)); /* empty after release */
    assert_memory_equal(got, zeros, sizeof zeros);
    heft_row_store_release(&rows);
}

/* Rows that fit into one page make no system call. */
static void test_few(void **state)
{
    struct heft_row_store rows = begin();
    struct heft_error err = {0};

    (void)state;
    heft_fault_os_install(1, EIO);
    for (uint64_t i = 0; i < 2000; i++)
        assert_true(put(&rows, i, &err) && holds(&rows, i, &err));
    heft_row_store_release(&rows);
    heft_fault_os_remove();
}

/* Many rows per call, across pages. */
static void test_many(void **state)
{
    static uint8_t all[ROWS * 30], got[ROWS * 30];
    struct heft_row_store rows = begin();
    struct heft_error err = {0};

    (void)state;
    for (uint64_t i = 0; i < ROWS; i++)
        make_row(i, all + i * 30);
    for (size_t i = 0, n = 1; i < ROWS; i += n, n = n * 2 + 1)
        assert_true(heft_row_store_put(&rows, i, n < ROWS - i ? n : ROWS - i, all + i * 30, &err));
    for (size_t i = 0, n = 5000; i < ROWS; i += n)
        assert_true(heft_row_store_get(&rows, i, n, got + i * 30, &err));
    assert_memory_equal(got, all, sizeof all);
    heft_row_store_release(&rows);
}

static bool fill_and_read(struct heft_row_store *rows, struct heft_error *err)
{
    for (uint64_t i = 0; i < ROWS; i++)
        if (!put(rows, i, err))
            return false;
    for (uint64_t i = 0; i < ROWS; i++)
        if (!holds(rows, i, err))
            return false;
    return true;
}

static void test_failures(void **state)
{
    bool hit = true;
    uint64_t n;

    (void)state;
    for (n = 1; hit; n++) {
        struct heft_row_store rows = begin();
        struct heft_error err = {0};
        bool ok;

        heft_fault_os_install(n, ENOSPC);
        heft_fault_os_short(n % 2 ? 0 : 1000);
        ok = fill_and_read(&rows, &err);
        heft_row_store_release(&rows);
        hit = heft_fault_os_hit();
        assert_int_equal(heft_fault_os_open(), 0);
        if (!ok) {
            assert_int_equal(err.code, HEFT_IO);
            assert_ptr_equal(strstr(err.text, "temporary file for rows of a test: "), err.text);
        }
        assert_true(ok || hit);
        heft_fault_os_remove();
    }
    assert_true(n > 25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order), cmocka_unit_test(test_gaps),     cmocka_unit_test(test_few),
        cmocka_unit_test(test_many),  cmocka_unit_test(test_failures),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
