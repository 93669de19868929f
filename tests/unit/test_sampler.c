/* test_sampler.c: sampled windows of ids, compared with those of NumPy, and files that are refused.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "heft/tokens.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "failures.h"

#define FOLDER HEFT_TESTS "/golden/tokens/sampler/"

static struct heft_sampler *open_one(const char *name, uint32_t seed, struct heft_error *err)
{
    char path[256];
    const char *const paths[] = {path};
    const struct heft_sampler_options options = {sizeof options, seed,
                                                 strcmp(name, "u32.bin") ? 2 : 4};

    snprintf(path, sizeof path, "%s%s", name[0] == '/' ? "" : FOLDER, name);
    return heft_sampler_open(paths, 1, &options, err);
}

static void test_windows(void **unused)
{
    FILE *file = fopen(FOLDER "windows.tsv", "r");
    char name[32];
    uint32_t seed, ids[256];
    size_t length;
    unsigned rows = 0;

    (void)unused;
    assert_non_null(file);
    for (; fscanf(file, "%31s%" SCNu32 "%zu", name, &seed, &length) == 3; rows++) {
        struct heft_error err = {0};
        struct heft_sampler *s = open_one(name, seed, &err);

        assert_non_null(s);
        for (unsigned i = 0; i < 8; i++) {
            uint64_t begin, first, sum, where;

            assert_int_equal(fscanf(file, "%" SCNu64 ":%" SCNu64 ":%" SCNu64, &begin, &first, &sum),
                             3);
            assert_true(heft_sampler_next(s, length, ids, &where, &err));
            assert_int_equal(where, begin);
            assert_int_equal(ids[0], first);
            for (size_t k = 0; k < length; k++)
                sum -= ids[k];
            assert_int_equal(sum, 0);
        }
        heft_sampler_close(s);
    }
    assert_int_equal(rows, 21);
    fclose(file);
}

static void test_several(void **unused)
{
    static const char *const paths[] = {FOLDER "u16.bin", FOLDER "i4.npy", FOLDER "deflated.npz"};
    struct heft_error err = {0};
    struct heft_sampler *s = heft_sampler_open(paths, 3, NULL, &err);
    uint32_t ids[100];
    uint64_t where;

    (void)unused;
    assert_non_null(s);
    assert_int_equal(heft_sampler_total(s), 1300 + 1300 + 2041);
    for (unsigned i = 0; i < 1000; i++) {
        assert_true(heft_sampler_next(s, 100, ids, &where, &err));
        assert_true(where + 100 < heft_sampler_total(s));
    }
    heft_sampler_close(s);
}

/* ---- what is refused --------------------------------------------------------------------- */

#define NPY(version, n, header) "\x93NUMPY" version "\0" n "\0" header

#define DICT(descr, shape)                                                                         \
    NPY("\1", "\x36", "{'descr':'" descr "','fortran_order':False,'shape':(" shape ")}   ")
#define DICT_BYTES 64

static void test_refused(void **unused)
{
    static const char llmc[1024] = "\x88\xD8\x34\1";
    const struct {
        const char *bytes;
        size_t n;
        enum heft_code code;
    } cases[] = {
        {"", 0, HEFT_USAGE},
        {"abc", 3, HEFT_MALFORMED}, /* half an id */
        {"\x93NUMPY", 6, HEFT_MALFORMED},
        {NPY("\1", "\xFF", "{'descr"), 17, HEFT_MALFORMED},
        {NPY("\4", "\1", " "), 12, HEFT_UNSUPPORTED},
        {DICT("<i8", "1, "), DICT_BYTES, HEFT_MALFORMED}, /* shape without a number */
        {DICT("|O8", "0, "), DICT_BYTES, HEFT_UNSAFE},
        {DICT(">i8", "0, "), DICT_BYTES, HEFT_UNSUPPORTED},
        {DICT("<f8", "0, "), DICT_BYTES, HEFT_UNSUPPORTED},
        {DICT("<i8", "0,1"), DICT_BYTES, HEFT_UNSUPPORTED}, /* two dimensions */
        {NPY("\1", "\x20", "{'descr': '<i8', 'shape': (1,) }"), 42, HEFT_MALFORMED},
        {"PK\3\4", 4, HEFT_MALFORMED},
        {"15496 995\n", 10, HEFT_UNSUPPORTED},
        {"MMIDIDX\0\0\1\0\0\0\0\0\0", 16, HEFT_UNSUPPORTED},
        {llmc, sizeof llmc, HEFT_UNSUPPORTED}, /* llm.c file of an unknown version */
    };

    (void)unused;
    for (size_t i = 0; i < HEFT_COUNT(cases); i++) {
        char path[] = "/tmp/heft-sampler-XXXXXX";
        const int fd = mkstemp(path);
        struct heft_error err = {0};

        assert_true(fd >= 0 && write(fd, cases[i].bytes, cases[i].n) == (ssize_t)cases[i].n);
        close(fd);
        assert_null(open_one(path, 0, &err));
        assert_int_equal(err.code, cases[i].code);
        unlink(path);
    }
}

/* Errors in a member of an .npz have the offset in the .npz. */
static void test_places(void **unused)
{
    enum { TYPE = 80 };
    char path[] = "/tmp/heft-sampler-XXXXXX", bytes[1 << 15];
    const int fd = mkstemp(path);
    FILE *file = fopen(FOLDER "stored.npz", "rb");
    struct heft_error err = {0};
    size_t n;

    (void)unused;
    assert_true(file && fd >= 0);
    n = fread(bytes, 1, sizeof bytes, file);
    assert_true(n > TYPE && n < sizeof bytes && bytes[TYPE] == '<');
    fclose(file);
    bytes[TYPE] = '>';
    assert_int_equal(write(fd, bytes, n), n);
    close(fd);
    assert_null(open_one(path, 0, &err));
    assert_int_equal(err.code, HEFT_UNSUPPORTED);
    assert_int_equal(err.offset, TYPE);
    unlink(path);
}

static void test_lengths(void **unused)
{
    struct heft_error err = {0};
    struct heft_sampler *s = open_one("stored.npz", 0, &err); /* lengths 700, 41, 1300 */
    uint32_t ids[1300];

    (void)unused;
    assert_true(heft_sampler_next(s, 679, ids, NULL, &err));
    assert_false(heft_sampler_next(s, 680, ids, NULL, &err)); /* 2041 / 3 ids per window */
    assert_int_equal(err.code, HEFT_USAGE);
    heft_sampler_close(s);
    s = open_one("i4.npy", 0, &err);
    assert_true(heft_sampler_next(s, 1298, ids, NULL, &err));
    assert_false(heft_sampler_next(s, 1299, ids, NULL, &err)); /* randint(0, 0) */
    heft_sampler_close(s);
}

static void test_no_id(void **unused)
{
    static const char *const values[] = {"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", "\0\0\0\0\1\0\0\0"};

    (void)unused;
    for (size_t i = 0; i < HEFT_COUNT(values); i++) {
        char path[] = "/tmp/heft-sampler-XXXXXX", bytes[DICT_BYTES + 24] = {0};
        const int fd = mkstemp(path);
        struct heft_error err = {0};
        struct heft_sampler *s;
        uint32_t id;

        memcpy(bytes, DICT("<i8", "3, "), DICT_BYTES);
        memcpy(bytes + DICT_BYTES, values[i], 8);
        assert_true(fd >= 0 && write(fd, bytes, sizeof bytes) == (ssize_t)sizeof bytes);
        close(fd);
        s = open_one(path, 0, &err);
        unlink(path);
        assert_non_null(s);
        assert_false(heft_sampler_next(s, 1, &id, NULL, &err)); /* randint(0, 1) is 0 */
        assert_int_equal(err.code, HEFT_MALFORMED);
        assert_int_equal(err.offset, DICT_BYTES);
        heft_sampler_close(s);
    }
}

static void test_no_memory(void **unused)
{
    static const char *const names[] = {"deflated.npz", "stored.npz", "i4.npy", "u16.bin"};

    (void)unused;
    for (size_t i = 0; i < HEFT_COUNT(names); i++) {
        struct heft_sampler *s = NULL;
        struct heft_error err;

        for (struct failures fail = {.most = 10000}; !fail.done;)
            FAIL_ALLOCATION(&fail, (s = open_one(names[i], 0, &err)) != NULL, &err);
        heft_sampler_close(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows),   cmocka_unit_test(test_several),
        cmocka_unit_test(test_refused),   cmocka_unit_test(test_places),
        cmocka_unit_test(test_lengths),   cmocka_unit_test(test_no_id),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
