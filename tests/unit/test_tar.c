/* test_tar.c: headers of tar files. The samples of tests/reject/torch-tar show what readers of
 * torch's tar files refuse; the tests here have sizes and numbers that small samples cannot
 * contain. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failures.h"
#include "wire/tar.h"

struct fixture {
    struct heft_buf bytes;
    struct heft_tar tar;
    struct heft_arena mem;
    struct heft_error err;
};

static void seal(uint8_t *block)
{
    char digits[8];
    unsigned sum = 0;

    memset(block + 148, ' ', 8);
    for (size_t i = 0; i < HEFT_TAR_BLOCK; i++)
        sum += block[i];
    snprintf(digits, sizeof digits, "%06o", sum);
    memcpy(block + 148, digits, 7);
}

static void put_header(struct fixture *f, const char *name, char type, unsigned size)
{
    uint8_t block[HEFT_TAR_BLOCK] = {0};
    char octal[16];

    memcpy(block, name, strlen(name));
    snprintf(octal, sizeof octal, "%011o", size);
    memcpy(block + 124, octal, 11);
    block[156] = (uint8_t)type;
    memcpy(block + 257, "ustar\00000", 8);
    seal(block);
    heft_buf_put(&f->bytes, block, sizeof block);
}

static void put_bytes(struct fixture *f, const char *text, size_t n)
{
    static const char zeros[HEFT_TAR_BLOCK];

    heft_buf_put(&f->bytes, text, n);
    heft_buf_put(&f->bytes, zeros, (HEFT_TAR_BLOCK - n % HEFT_TAR_BLOCK) % HEFT_TAR_BLOCK);
}

static bool open_it(struct fixture *f, uint64_t most)
{
    struct heft_source source;

    assert_false(f->bytes.failed);
    heft_source_open_memory(&source, (struct heft_bytes){(const uint8_t *)f->bytes.p, f->bytes.n},
                            "tar");
    return heft_tar_open(&f->tar, &source, most, &f->mem, &f->err);
}

static void close_it(struct fixture *f)
{
    heft_tar_release(&f->tar);
    heft_arena_release(&f->mem);
    heft_buf_release(&f->bytes);
}

static void members_are_ranges_of_the_file(void **state)
{
    struct fixture f = {0};

    (void)state;
    put_header(&f, "a", '0', 3);
    put_bytes(&f, "one", 3);
    put_header(&f, "folder", '5', 0);
    put_header(&f, "old/", '\0', 0);
    put_header(&f, "x", 'x', 17);
    put_bytes(&f, "17 path=longname\n", 17);
    put_header(&f, "b", '7', 512);
    put_bytes(&f, (char[512]){1}, 512);
    put_bytes(&f, (char[512]){0}, 512);
    assert_true(open_it(&f, 10));
    assert_int_equal(f.tar.count, 4);
    assert_string_equal(f.tar.members[0].name.p, "a");
    assert_int_equal(f.tar.members[0].data, 512);
    assert_int_equal(f.tar.members[0].size, 3);
    assert_int_equal(f.tar.members[0].end, 1024);
    assert_true(f.tar.members[1].is_folder);
    assert_true(f.tar.members[2].is_folder);
    assert_string_equal(f.tar.members[3].name.p, "longname");
    assert_int_equal(f.tar.members[3].header, 2048);
    assert_int_equal(f.tar.members[3].data, 2048 + 3 * 512);
    assert_int_equal(f.tar.end, 2048 + 4 * 512);
    close_it(&f);
}

static void a_prefix_is_part_of_the_name(void **state)
{
    struct fixture f = {0};

    (void)state;
    put_header(&f, "name", '0', 0);
    memcpy(f.bytes.p + 345, "folder", 6);
    seal((uint8_t *)f.bytes.p);
    assert_true(open_it(&f, 10));
    assert_string_equal(f.tar.members[0].name.p, "folder/name");
    close_it(&f);
}

static void members_are_limited(void **state)
{
    struct fixture f = {0};

    (void)state;
    for (int i = 0; i < 3; i++)
        put_header(&f, "a", '0', 0);
    assert_false(open_it(&f, 2));
    assert_int_equal(f.err.code, HEFT_LIMIT);
    assert_int_equal(f.err.offset, 1024);
    close_it(&f);
}

static void extra_headers_are_limited(void **state)
{
    struct fixture f = {0};
    char *text = calloc(1, (1 << 20) + 1);

    (void)state;
    assert_non_null(text);
    put_header(&f, "x", 'x', (1 << 20) + 1);
    put_bytes(&f, text, (1 << 20) + 1);
    put_header(&f, "a", '0', 0);
    assert_false(open_it(&f, 10));
    assert_int_equal(f.err.code, HEFT_LIMIT);
    assert_int_equal(f.err.offset, 0);
    free(text);
    close_it(&f);
}

static void sums_of_signed_characters_count_too(void **state)
{
    uint8_t block[HEFT_TAR_BLOCK] = {0};
    char digits[8];
    int sum = 0;

    (void)state;
    block[0] = 0xE9;
    memset(block + 148, ' ', 8);
    for (size_t i = 0; i < sizeof block; i++)
        sum += block[i] < 0x80 ? block[i] : block[i] - 0x100;
    snprintf(digits, sizeof digits, "%06o", (unsigned)sum);
    memcpy(block + 148, digits, 7);
    assert_true(heft_tar_is_header(block));
    block[1] = 1;
    assert_false(heft_tar_is_header(block));
    memset(block, 0, sizeof block);
    assert_false(heft_tar_is_header(block));
}

static void lack_of_memory_is_an_error(void **state)
{
    (void)state;
    for (struct failures fail = {.most = 100}; !fail.done;) {
        struct fixture f = {0};

        put_header(&f, "x", 'x', 17);
        put_bytes(&f, "17 path=longname\n", 17);
        put_header(&f, "a", '0', 0);
        FAIL_ALLOCATION(&fail, open_it(&f, 10), &f.err);
        close_it(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_ranges_of_the_file),
        cmocka_unit_test(a_prefix_is_part_of_the_name),
        cmocka_unit_test(members_are_limited),
        cmocka_unit_test(extra_headers_are_limited),
        cmocka_unit_test(sums_of_signed_characters_count_too),
        cmocka_unit_test(lack_of_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
