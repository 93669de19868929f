/* test_digest_list.c: lists of digests: what is read, what is refused and where; a list that is cut
 * off or has a flipped bit is refused or says something else. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failures.h"
#include "measure/digest_list.h"

#define A "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
#define B "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d"

/* Parses a copy of the text with a NUL after it, which the parser may overwrite. */
static bool parse(struct heft_digest_list *list, const char *text, size_t n, char **copy,
                  struct heft_error *err)
{
    *copy = malloc(n + 1);
    assert_non_null(*copy);
    memcpy(*copy, text, n);
    (*copy)[n] = 'x';
    *list = (struct heft_digest_list){0};
    return heft_digest_list_parse(list, *copy, n, err);
}

static void release(struct heft_digest_list *list, char *copy)
{
    heft_digest_list_release(list);
    free(copy);
}

static void test_files(void **unused)
{
    static const char text[] =
        "# comment\n" A "  a b.bin\n" B " *./sub/c  F32\n\\" A "  x\\\\y\\nz\\r\\x01\n";
    struct heft_digest_list list;
    struct heft_error err = {0};
    char hex[HEFT_SHA256_TEXT], *copy;

    (void)unused;
    assert_true(parse(&list, text, sizeof text - 1, &copy, &err));
    assert_int_equal(list.kind, HEFT_LIST_FILES);
    assert_int_equal(list.n, 3);
    assert_string_equal(list.entries[0].name.p, "a b.bin");
    assert_int_equal(list.entries[0].line, 2);
    assert_int_equal(list.entries[0].off, 10);
    assert_string_equal(list.entries[1].name.p, "sub/c  F32");
    assert_string_equal(list.entries[2].name.p, "x\\y\nz\r\x01");
    heft_sha256_text(list.entries[1].sha256, hex);
    assert_string_equal(hex, B);
    assert_ptr_equal(heft_digest_list_find(&list, heft_str_of("a b.bin"), false), list.entries);
    assert_null(heft_digest_list_find(&list, heft_str_of("a b.bin"), true));
    release(&list, copy);
}

static void test_tensors(void **unused)
{
    static const char text[] =
        A "  a  b   F32  [2,3]\n" B "    BOOL  []\n" A "  blob  BLOB  [18446744073709551615]\n" B
          "  blob  STRING  [0]\n\\" A "  n\\x00l  F8_E4M3  [1]";
    struct heft_digest_list list;
    struct heft_error err = {0};
    char *copy;

    (void)unused;
    assert_true(parse(&list, text, sizeof text - 1, &copy, &err));
    assert_int_equal(list.kind, HEFT_LIST_TENSORS);
    assert_int_equal(list.n, 5);
    assert_string_equal(list.entries[0].name.p, "a  b ");
    assert_int_equal(list.entries[0].dtype, HEFT_F32);
    assert_int_equal(list.entries[0].rank, 2);
    assert_int_equal(list.entries[0].shape[1], 3);
    assert_int_equal(list.entries[1].name.n, 0);
    assert_int_equal(list.entries[1].rank, 0);
    assert_true(list.entries[2].is_blob);
    assert_true(list.entries[2].bytes == UINT64_MAX);
    assert_int_equal(list.entries[3].dtype, HEFT_STRING);
    assert_int_equal(list.entries[4].name.n, 3);
    assert_memory_equal(list.entries[4].name.p, "n\0l", 4);
    assert_ptr_equal(heft_digest_list_find(&list, heft_str_of("blob"), true), &list.entries[2]);
    assert_ptr_equal(heft_digest_list_find(&list, heft_str_of("blob"), false), &list.entries[3]);
    release(&list, copy);
}

/* tests/reject/digest-list has a file for each refusal; these are the sizes that need none. */
static void test_long_lines(void **unused)
{
    const size_t limit = (size_t)1 << 20, head = strlen(A "  ");
    char *const text = malloc(limit + 2), *copy;
    struct heft_digest_list list;
    struct heft_error err = {0};

    (void)unused;
    assert_non_null(text);
    memset(text, 'n', limit + 2);
    memcpy(text, A "  ", head);
    text[limit] = '\n';
    assert_true(parse(&list, text, limit + 1, &copy, &err));
    assert_int_equal(list.entries[0].name.n, limit - head);
    release(&list, copy);
    text[limit] = 'n';
    assert_false(parse(&list, text, limit + 1, &copy, &err));
    assert_int_equal(err.code, HEFT_LIMIT);
    assert_int_equal(err.offset, 0);
    release(&list, copy);
    free(text);
}

static const char sample[] =
    A "  layer.0.weight  F32  [2,3]\n\\" B "  a\\\\b\\x07  BF16  []\n" A "  graph  BLOB  [77]\n";

static bool is_same_entry(const struct heft_digest_entry *a, const struct heft_digest_entry *b)
{
    return heft_str_eq(a->name, b->name) && a->is_blob == b->is_blob && a->dtype == b->dtype &&
           a->rank == b->rank && a->bytes == b->bytes &&
           memcmp(a->sha256, b->sha256, sizeof a->sha256) == 0 &&
           (a->rank == 0 || memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0);
}

static bool is_same_list(const struct heft_digest_list *a, const struct heft_digest_list *b)
{
    bool same = a->kind == b->kind && a->n == b->n;

    for (size_t i = 0; same && i < a->n; i++)
        same = is_same_entry(&a->entries[i], &b->entries[i]);
    return same;
}

/* A cut list has fewer digests, or is refused at an offset inside of it. */
static void test_truncations(void **unused)
{
    struct heft_digest_list whole, list;
    struct heft_error err = {0};
    char *text, *copy;

    (void)unused;
    assert_true(parse(&whole, sample, sizeof sample - 1, &text, &err));
    for (size_t n = 0; n + 1 < sizeof sample; n++) {
        const bool ok = parse(&list, sample, n, &copy, &err);

        assert_true(ok ? n == sizeof sample - 2 || !is_same_list(&list, &whole)
                       : err.code == HEFT_MALFORMED && err.offset <= n);
        release(&list, copy);
    }
    release(&whole, text);
}

/* A flipped bit is refused or changes the list, except for the case of a hexadecimal digit. */
static void test_bit_flips(void **unused)
{
    struct heft_digest_list whole, list;
    struct heft_error err = {0};
    char *text, *copy, flipped[sizeof sample];
    size_t equal = 0;

    (void)unused;
    assert_true(parse(&whole, sample, sizeof sample - 1, &text, &err));
    for (size_t at = 0; at + 1 < sizeof sample; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            memcpy(flipped, sample, sizeof sample);
            flipped[at] = (char)(flipped[at] ^ (char)(1u << bit));
            if (parse(&list, flipped, sizeof sample - 1, &copy, &err) &&
                is_same_list(&list, &whole)) {
                const char c = sample[at];

                assert_true(bit == 5 && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')));
                equal++;
            }
            release(&list, copy);
        }
    assert_true(equal > 60);
    release(&whole, text);
}

static bool attempt(void *ctx, struct heft_error *err)
{
    struct heft_digest_list list;
    char *copy;
    const bool ok = parse(&list, sample, sizeof sample - 1, &copy, err);

    (void)ctx;
    release(&list, copy);
    return ok;
}

static void test_out_of_memory(void **unused)
{
    (void)unused;
    fail_each_allocation(attempt, NULL, 40);
}

/* The memory beside the text and the entries: the shapes. */
static void test_large(void **unused)
{
    const size_t lines = 200000, room = lines * 96;
    char *const text = malloc(room), *copy;
    struct heft_digest_list list;
    struct heft_error err = {0};
    size_t n = 0;

    (void)unused;
    assert_non_null(text);
    for (size_t i = 0; i < lines; i++)
        n += (size_t)snprintf(text + n, room - n, A "  layer.%zu.w  F32  [%zu]\n", i, i);
    assert_true(parse(&list, text, n, &copy, &err));
    assert_int_equal(list.n, lines);
    assert_true(list.mem.total < lines * 32);
    release(&list, copy);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),      cmocka_unit_test(test_tensors),
        cmocka_unit_test(test_long_lines), cmocka_unit_test(test_truncations),
        cmocka_unit_test(test_bit_flips),  cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_large),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
