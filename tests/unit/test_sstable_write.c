/* test_sstable_write.c: complete index files of TensorFlow, byte for byte, boundaries of blocks,
 * and the protobuf encoder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "failures.h"
#include "base/checksum.h"
#include "base/endian.h"
#include "wire/proto_write.h"
#include "wire/sstable_write.h"

struct pair {
    const char *key, *value; /* in hexadecimal */
};

static size_t from_hex(const char *hex, uint8_t *out)
{
    size_t n = 0;
    unsigned byte;

    for (; *hex; hex++) {
        if (*hex == ' ')
            continue;
        assert_int_equal(sscanf(hex++, "%2x", &byte), 1);
        out[n++] = (uint8_t)byte;
    }
    return n;
}

static void build(struct heft_table_writer *t, const struct pair *pairs, size_t n)
{
    struct heft_error err = {0};
    uint8_t key[64], value[64];
    size_t at;

    for (size_t i = 0; i < n; i++) {
        const struct heft_str k = {(const char *)key, from_hex(pairs[i].key, key)};
        const struct heft_str v = {(const char *)value, from_hex(pairs[i].value, value)};

        assert_true(heft_table_add(t, k, v, &at, &err));
        assert_memory_equal(t->bytes.p + at, value, v.n);
    }
    assert_true(heft_table_finish(t, &err));
    heft_table_seal(t->blocks, t->n_blocks, (uint8_t *)t->bytes.p);
}

static void expect(const struct pair *pairs, size_t n, const char *hex)
{
    struct heft_table_writer t = {0};
    uint8_t want[512];
    const size_t size = from_hex(hex, want);

    build(&t, pairs, n);
    assert_int_equal(t.bytes.n, size);
    assert_memory_equal(t.bytes.p, want, size);
    heft_table_release(&t);
}

/* half_plus_two/00000123/variables/variables.index */
static void three_scalars(void **state)
{
    static const struct pair pairs[] = {
        {"", "08011a020801"},
        {"61", "0801 1200 2804 35 0638271f"},
        {"62", "0801 1200 2004 2804 35 10fd784f"},
        {"63", "0801 1200 2008 2804 35 efd682c3"},
    };

    (void)state;
    expect(
        pairs, HEFT_COUNT(pairs),
        "000006 08011a020801 00010b61 0801120028043506 38271f 00010d62 08011200200428043510fd784f"
        "00010d63 080112002008280435efd682c3 0000000001000000 00e415b6bc"
        "0000000001000000 00c0f2a1b0 000102640042 0000000001000000 0058b2e9f7 4708540e"
        "000000000000000000000000000000000000000000000000000000000000000000000000"
        "57fb808b247547db");
}

static void two_slices(void **state)
{
    static const struct pair pairs[] = {
        {"", "08011a020801"},
        {"00770001010280828082", "0801 1208120208021202 0802 2810 35938deb32"},
        {"00770001010282828082", "0801 1208120208021202 0802 2010 2810 35f8e7bbaa"},
        {"77", "0801 1208120208041202 0802 3a08 0a021002 0a021002 3a0a 0a0408021002 0a021002"},
    };

    (void)state;
    expect(pairs, HEFT_COUNT(pairs),
           "00000608011a020801000a1300770001010280828082080112081202080212020802281035938deb32"
           "060415828280820801120812020802120208022010281035f8e7bbaa"
           "000122770801120812020804120208023a080a0210020a0210023a0a0a04080210020a021002"
           "0000000001000000 00203216e6 0000000001000000 00c0f2a1b0"
           "0001027800730000000001000000 0028bd45a7 780885010e"
           "0000000000000000000000000000000000000000000000000000000000000000000000"
           "57fb808b247547db");
}

/* A value as large as two blocks has a block of its own; keys of the index block are as short as
 * possible. */
static void several_blocks(void **state)
{
    static char large[2 * 262144];
    struct heft_table_writer t = {0};
    struct heft_error err = {0};
    const struct heft_str big = {large, sizeof large}, small = HEFT_STR("1");
    size_t at;

    (void)state;
    assert_true(heft_table_add(&t, HEFT_STR("abc"), small, &at, &err));
    /* starts a new block before and after the large value */
    assert_true(heft_table_add(&t, HEFT_STR("abz"), big, &at, &err));
    assert_int_equal(t.n_blocks, 2);
    assert_true(heft_table_add(&t, HEFT_STR("ac\xff"), small, &at, &err));
    assert_true(heft_table_add(&t, HEFT_STR("ac\xff\xff"), big, &at, &err));
    assert_int_equal(t.n_blocks, 4);
    assert_true(heft_table_finish(&t, &err));
    assert_int_equal(t.n_blocks, 6);
    /* keys of the index block: abd (shortest between abc and abz), abz (nothing shorter is between
     * abz and ac\xff), … */
    assert_memory_equal(t.bytes.p + t.blocks[5].off + 3, "abd", 3);
    assert_int_equal(t.index_restarts.n, 4 * sizeof(uint32_t));
    at = t.blocks[5].off + heft_le32((const uint8_t *)t.index_restarts.p + 4);
    assert_memory_equal(t.bytes.p + at + 3, "abz", 3);
    at = t.blocks[5].off + heft_le32((const uint8_t *)t.index_restarts.p + 8);
    assert_memory_equal(t.bytes.p + at + 3, "ac\xff", 3);
    at = t.blocks[5].off + heft_le32((const uint8_t *)t.index_restarts.p + 12);
    assert_memory_equal(t.bytes.p + at + 1, "\1", 1);
    assert_memory_equal(t.bytes.p + at + 3, "b", 1);
    heft_table_release(&t);
}

/* A key of only 0xff bytes has no shorter successor; the index contains it unchanged. */
static void a_last_key_of_0xff_bytes_is_kept(void **state)
{
    struct heft_table_writer t = {0};
    struct heft_error err = {0};
    size_t at;

    (void)state;
    assert_true(heft_table_add(&t, HEFT_STR("\xff\xff"), HEFT_STR(""), &at, &err));
    assert_true(heft_table_finish(&t, &err));
    assert_memory_equal(t.bytes.p + t.blocks[2].off, "\0\2\2\xff\xff", 5);
    heft_table_release(&t);
}

static void unordered_keys(void **state)
{
    struct heft_table_writer t = {0};
    struct heft_error err = {0};
    size_t at;

    (void)state;
    assert_true(heft_table_add(&t, HEFT_STR("b"), HEFT_STR(""), &at, &err));
    assert_false(heft_table_add(&t, HEFT_STR("b"), HEFT_STR(""), &at, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_false(heft_table_add(&t, HEFT_STR("a"), HEFT_STR(""), &at, &err));
    heft_table_release(&t);
}

static void masks(void **state)
{
    (void)state;
    assert_int_equal(heft_crc_mask(0), 0xa282ead8);
    assert_int_equal(heft_crc_mask(heft_crc32c(0, "123456789", 9)), 0xc78ab0e5);
}

static void messages(void **state)
{
    static const uint8_t want[] = {0x08, 0xac, 0x02, 0x12, 0x02, 'h', 'i', 0x1a,
                                   0x07, 0x22, 0x00, 0x35, 1,    2,   3,   4};
    static char text[200];
    struct heft_buf buf = {0};
    size_t mark, inner;

    (void)state;
    heft_proto_put_number(&buf, 1, 300);
    heft_proto_put_bytes(&buf, 2, HEFT_STR("hi"));
    mark = heft_proto_put_begin(&buf, 3);
    inner = heft_proto_put_begin(&buf, 4);
    heft_proto_put_end(&buf, inner);
    heft_proto_put_fixed32(&buf, 6, 0x04030201);
    heft_proto_put_end(&buf, mark);
    assert_int_equal(buf.n, sizeof want);
    assert_memory_equal(buf.p, want, sizeof want);
    buf.n = 0;
    /* a length of two bytes: the message is moved by one byte */
    mark = heft_proto_put_begin(&buf, 1);
    memset(text, 'x', sizeof text);
    heft_buf_put(&buf, text, sizeof text);
    heft_proto_put_end(&buf, mark);
    assert_int_equal(buf.n, 3 + sizeof text);
    assert_memory_equal(buf.p, "\x0a\xc8\x01xxx", 6);
    assert_int_equal(buf.p[buf.n - 1], 'x');
    heft_buf_release(&buf);
}

static bool fill_table(struct heft_table_writer *t, struct heft_error *err)
{
    static char value[100000];
    size_t at;

    for (char key[] = "a"; key[0] < 'i'; key[0]++)
        if (!heft_table_add(t, heft_str_of(key), (struct heft_str){value, sizeof value}, &at, err))
            return false;
    return heft_table_finish(t, err);
}

static void without_memory(void **state)
{
    (void)state;
    for (struct failures fail = {.most = 1000}; !fail.done;) {
        struct heft_table_writer t = {0};
        struct heft_error err = {0};

        FAIL_ALLOCATION(&fail, fill_table(&t, &err), &err);
        heft_table_release(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_scalars),  cmocka_unit_test(two_slices),
        cmocka_unit_test(several_blocks), cmocka_unit_test(a_last_key_of_0xff_bytes_is_kept),
        cmocka_unit_test(unordered_keys), cmocka_unit_test(masks),
        cmocka_unit_test(messages),       cmocka_unit_test(without_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
