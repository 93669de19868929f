/* test_flatbuf.c: flatbuffers that are built and read back, positions at the edges, damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/endian.h"
#include "wire/flatbuf.h"

static struct heft_error err;

/* ---- tables there and back ------------------------------------------------------------------- */

/* Builds a root table with a string, a vector of u64, a u8 and an absent u32. */
static struct heft_bytes build(struct heft_flat_out *out)
{
    static const uint64_t numbers[] = {1, 1ull << 40};
    struct heft_bytes bytes;
    uint32_t text, vector;

    *out = (struct heft_flat_out){0};
    text = heft_flat_put_string(out, HEFT_STR("five!"));
    vector = heft_flat_put_vector(out, numbers, 2, 8);
    heft_flat_begin(out);
    heft_flat_add_ref(out, 1, vector);
    heft_flat_add_ref(out, 0, text);
    heft_flat_add(out, 3, 0, 4);
    heft_flat_add(out, 2, 200, 1);
    assert_true(heft_flat_finish(out, heft_flat_end(out), "TEST", &bytes, &err));
    return bytes;
}

static void built_tables_are_read_back(void **state)
{
    struct heft_flat_out out;
    const struct heft_bytes bytes = build(&out);
    struct heft_flat_vector vector;
    struct heft_flat_table root;
    struct heft_flat flat;
    struct heft_str text;
    uint64_t at;
    uint32_t none;
    uint8_t byte;

    (void)state;
    assert_memory_equal(bytes.p + 4, "TEST", 4);
    assert_int_equal(bytes.n % 8, 0);
    heft_flat_init(&flat, bytes, 8, 0);
    assert_true(heft_flat_root(&flat, "root", &root, &err));
    assert_true(heft_flat_ref(&flat, &root, 0, &at, &err));
    assert_true(heft_flat_string(&flat, at, 5, "text", &text, &err));
    assert_true(heft_str_is(text, "five!"));
    assert_false(heft_flat_string(&flat, at, 4, "text", &text, &err));
    assert_int_equal(err.code, HEFT_LIMIT);
    assert_true(heft_flat_ref(&flat, &root, 1, &at, &err));
    assert_true(heft_flat_vector(&flat, at, 8, "numbers", &vector, &err));
    assert_int_equal(vector.count, 2);
    assert_int_equal(heft_le64(flat.p + vector.at + 8), 1ull << 40);
    assert_true(heft_flat_u8(&flat, &root, 2, &byte, &err));
    assert_int_equal(byte, 200);
    assert_false(heft_flat_has(&flat, &root, 3));
    assert_true(heft_flat_u32(&flat, &root, 3, &none, &err));
    assert_int_equal(none, 0);
    assert_true(heft_flat_ref(&flat, &root, 7, &at, &err));
    assert_int_equal(at, 0);
    heft_flat_release(&out);
}

static void vectors_share_a_budget(void **state)
{
    uint8_t bytes[64] = {0};
    struct heft_flat_vector vector;
    struct heft_flat flat;

    (void)state;
    heft_put_le32(bytes + 8, 10);
    heft_flat_init(&flat, (struct heft_bytes){bytes, sizeof bytes}, 8, 0);
    assert_true(heft_flat_refs(&flat, 8, "refs", &vector, &err));
    assert_false(heft_flat_refs(&flat, 8, "refs", &vector, &err));
    assert_int_equal(err.code, HEFT_MALFORMED);
    assert_non_null(strstr(err.text, "more elements than fit"));
}

/* Every byte set to each of a few values, and every length: no read outside the buffer, which is
 * allocated at its exact size. */
static void damage_never_leads_outside(void **state)
{
    static const uint8_t values[] = {0, 1, 4, 0x7f, 0x80, 0xff};
    struct heft_flat_out out;
    const struct heft_bytes bytes = build(&out);

    (void)state;
    for (size_t n = 8; n <= bytes.n; n++)
        for (size_t i = 0; i < n * HEFT_COUNT(values); i++) {
            uint8_t *copy = malloc(n);
            struct heft_flat_vector vector;
            struct heft_flat_table root;
            struct heft_flat flat;
            struct heft_str text;
            uint64_t at;

            assert_non_null(copy);
            memcpy(copy, bytes.p, n);
            copy[i / HEFT_COUNT(values)] = values[i % HEFT_COUNT(values)];
            heft_flat_init(&flat, (struct heft_bytes){copy, n}, 8, 0);
            if (heft_flat_root(&flat, "root", &root, &err) &&
                heft_flat_ref(&flat, &root, 0, &at, &err) && at &&
                heft_flat_string(&flat, at, 100, "text", &text, &err))
                assert_true(text.p + text.n < (const char *)copy + n && text.p[text.n] == 0);
            if (heft_flat_root(&flat, "root", &root, &err) &&
                heft_flat_ref(&flat, &root, 1, &at, &err) && at &&
                heft_flat_vector(&flat, at, 8, "numbers", &vector, &err))
                assert_true(vector.at + 8 * (uint64_t)vector.count <= n);
            free(copy);
        }
    heft_flat_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(built_tables_are_read_back),
        cmocka_unit_test(vectors_share_a_budget),
        cmocka_unit_test(damage_never_leads_outside),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
