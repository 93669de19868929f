/* test_ordered_code.c: ordered encoding of numbers and texts, and keys of slices, compared with
 * those of TensorFlow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "wire/ordered_code.h"
#include "wire/tensor_slice.h"

struct bytes {
    const char *p;
    size_t n;
};
#define BYTES(literal)                                                                             \
    {                                                                                              \
        literal, sizeof(literal) - 1                                                               \
    }

static struct heft_cur cursor(const char *p, size_t n)
{
    return heft_cur_of((struct heft_bytes){(const uint8_t *)p, n}, 0);
}

static const struct {
    int64_t v;
    struct bytes bytes;
} signs[] = {
    {0, BYTES("\x80")},
    {1, BYTES("\x81")},
    {-1, BYTES("\x7f")},
    {63, BYTES("\xbf")},
    {64, BYTES("\xc0\x40")},
    {-64, BYTES("\x40")},
    {-65, BYTES("\x3f\xbf")},
    {8191, BYTES("\xdf\xff")},
    {8192, BYTES("\xe0\x20\x00")},
    {-8192, BYTES("\x20\x00")},
    {-8193, BYTES("\x1f\xdf\xff")},
    {0x424242, BYTES("\xf0\x42\x42\x42")},
    {-0x800, BYTES("\x38\x00")},
    {INT64_C(1) << 31, BYTES("\xf8\x80\x00\x00\x00")},
    {(INT64_C(1) << 34) - 1, BYTES("\xfb\xff\xff\xff\xff")},
    {INT64_C(1) << 34, BYTES("\xfc\x04\x00\x00\x00\x00")},
    {(INT64_C(1) << 55) - 1, BYTES("\xff\x7f\xff\xff\xff\xff\xff\xff")},
    {INT64_C(1) << 55, BYTES("\xff\x80\x80\x00\x00\x00\x00\x00\x00")},
    {INT64_MAX, BYTES("\xff\xc0\x7f\xff\xff\xff\xff\xff\xff\xff")},
    {INT64_MIN, BYTES("\x00\x3f\x80\x00\x00\x00\x00\x00\x00\x00")},
};

static void signed_numbers_equal_the_test_vectors(void **state)
{
    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(signs); i++) {
        struct heft_cur cur = cursor(signs[i].bytes.p, signs[i].bytes.n);
        struct heft_buf out = {0};

        heft_ordered_put_signed(&out, signs[i].v);
        assert_int_equal(out.n, signs[i].bytes.n);
        assert_memory_equal(out.p, signs[i].bytes.p, out.n);
        assert_true(heft_ordered_signed(&cur) == signs[i].v);
        assert_true(heft_cur_ok(&cur) && heft_cur_left(&cur) == 0);
        heft_buf_release(&out);
    }
}

/* Numbers around each power of two, in ascending order: their encodings are in the order of bytes.
 */
static void signed_numbers_sort(void **state)
{
    struct heft_str before = {"", 0};
    struct heft_buf a = {0}, b = {0};

    (void)state;
    for (int i = -63; i <= 62; i++) {
        const int64_t power = INT64_C(1) << (i < 0 ? -i - 1 : i);

        for (int64_t d = -1; d <= 1; d++) {
            const int64_t v = i < 0 ? -power + d : power + d;
            struct heft_cur cur;

            if (power < 4)
                continue; /* the ranges around smaller powers overlap */
            a.n = 0;
            heft_ordered_put_signed(&a, v);
            cur = cursor(a.p, a.n);
            assert_true(heft_ordered_signed(&cur) == v);
            assert_true(heft_cur_ok(&cur) && heft_cur_left(&cur) == 0);
            assert_true(heft_str_cmp(before, (struct heft_str){a.p, a.n}) < 0);
            b.n = 0;
            heft_buf_put(&b, a.p, a.n);
            before = (struct heft_str){b.p, b.n};
        }
    }
    heft_buf_release(&a);
    heft_buf_release(&b);
}

static void numbers_equal_the_test_vectors(void **state)
{
    static const struct {
        uint64_t v;
        struct bytes bytes;
    } cases[] = {{0, BYTES("\x00")},
                 {1, BYTES("\x01\x01")},
                 {255, BYTES("\x01\xff")},
                 {256, BYTES("\x02\x01\x00")},
                 {UINT64_MAX, BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff")}};

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(cases); i++) {
        struct heft_cur cur = cursor(cases[i].bytes.p, cases[i].bytes.n);
        struct heft_buf out = {0};

        heft_ordered_put_number(&out, cases[i].v);
        assert_int_equal(out.n, cases[i].bytes.n);
        assert_memory_equal(out.p, cases[i].bytes.p, out.n);
        assert_true(heft_ordered_number(&cur) == cases[i].v);
        assert_true(heft_cur_ok(&cur) && heft_cur_left(&cur) == 0);
        heft_buf_release(&out);
    }
}

static void texts_round_trip(void **state)
{
    static const struct heft_str text = {"a\0b\xff\x01\x00", 6};
    static const struct bytes want = BYTES("a\x00\xff"
                                           "b\xff\x00\x01\x00\xff\x00\x01");
    struct heft_buf out = {0}, back = {0};
    struct heft_cur cur;

    (void)state;
    heft_ordered_put_text(&out, text);
    assert_int_equal(out.n, want.n);
    assert_memory_equal(out.p, want.p, want.n);
    cur = cursor(out.p, out.n);
    heft_ordered_text(&cur, &back);
    assert_true(heft_cur_ok(&cur) && heft_cur_left(&cur) == 0);
    assert_true(heft_str_eq((struct heft_str){back.p, back.n}, text));
    heft_buf_release(&out);
    heft_buf_release(&back);
}

static const struct slice_case {
    const char *name, *spec;
    unsigned rank;
    struct heft_slice_dim dims[3];
    struct bytes key;
} keys[] = {
    {"v", "-", 1, {{0, -1}}, BYTES("\x00v\x00\x01\x01\x01\x80\x7f")},
    {"v", "0,2:-", 2, {{0, 2}, {0, -1}}, BYTES("\x00v\x00\x01\x01\x02\x80\x82\x80\x7f")},
    {"model/softmax_w",
     "99184,99184:0,512",
     2,
     {{99184, 99184}, {0, 512}},
     BYTES("\x00model/softmax_w\x00\x01\x01\x02\xe1\x83\x70\xe1\x83\x70\x80\xc2\x00")},
    {"v", "", 0, {{0, 0}}, BYTES("\x00v\x00\x01\x00")},
    {"w", "2,2:0,2", 2, {{2, 2}, {0, 2}}, BYTES("\x00w\x00\x01\x01\x02\x82\x82\x80\x82")},
};

static void keys_of_slices_equal_the_test_vectors(void **state)
{
    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(keys); i++) {
        const struct slice_case *c = &keys[i];
        struct heft_buf key = {0}, name = {0}, spec = {0};
        struct heft_slice_dim dims[HEFT_SLICE_RANK];
        unsigned rank = 99;

        heft_slice_put_key(&key, heft_str_of(c->name), c->dims, c->rank);
        assert_int_equal(key.n, c->key.n);
        assert_memory_equal(key.p, c->key.p, key.n);
        assert_true(
            heft_slice_key((struct heft_bytes){(const uint8_t *)key.p, key.n}, &name, dims, &rank));
        assert_int_equal(rank, c->rank);
        assert_true(heft_str_is((struct heft_str){name.p, name.n}, c->name));
        for (unsigned d = 0; d < rank; d++)
            assert_true(dims[d].start == c->dims[d].start && dims[d].length == c->dims[d].length);
        heft_slice_put_spec(&spec, dims, rank);
        assert_true(heft_str_is((struct heft_str){spec.p, spec.n}, c->spec));
        heft_buf_release(&key);
        heft_buf_release(&name);
        heft_buf_release(&spec);
    }
}

/* Keys truncated at every length, or encoded in a way that the writer never uses. */
static void other_bytes_are_not_keys(void **state)
{
    static const struct bytes bad[] = {
        BYTES(""),
        BYTES("v"),
        BYTES("\x00v\x00\x01\x00x"),                /* trailing byte */
        BYTES("\x00v\x00\x02\x00"),                 /* 00 02 within a text */
        BYTES("\x00v\xff\x01\x00\x01\x00"),         /* ff 01 within a text */
        BYTES("\x01\x01v\x00\x01\x00"),             /* another leading number */
        BYTES("\x00v\x00\x01\x01\xff"),             /* 255 dimensions */
        BYTES("\x00v\x00\x01\x02\x00\x01\x80\x80"), /* rank with a leading zero */
        BYTES("\x00v\x00\x01\x09\x01\x01\x01\x01\x01\x01\x01\x01\x01"),
        BYTES("\x00v\x00\x01\x01\x01\xc0\x01\x80"),     /* 1 encoded in two bytes */
        BYTES("\x00v\x00\x01\x01\x01\xff\xe0\x00\x80"), /* a number of eleven bytes */
        BYTES("\x00v\x00\x01\x01\x01\xff\xc0\x80\x00\x00\x00\x00\x00\x00\x00\x80"), /* 2^63 */
    };
    struct heft_slice_dim dims[HEFT_SLICE_RANK];
    struct heft_buf name = {0};
    unsigned rank;

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(bad); i++)
        assert_false(heft_slice_key((struct heft_bytes){(const uint8_t *)bad[i].p, bad[i].n}, &name,
                                    dims, &rank));
    for (size_t n = 0; n < keys[2].key.n; n++)
        assert_false(heft_slice_key((struct heft_bytes){(const uint8_t *)keys[2].key.p, n}, &name,
                                    dims, &rank));
    heft_buf_release(&name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signed_numbers_equal_the_test_vectors),
        cmocka_unit_test(signed_numbers_sort),
        cmocka_unit_test(numbers_equal_the_test_vectors),
        cmocka_unit_test(texts_round_trip),
        cmocka_unit_test(keys_of_slices_equal_the_test_vectors),
        cmocka_unit_test(other_bytes_are_not_keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
