/* test_sstable.c: sorted string tables as TensorFlow writes them, and malformed ones. Complete
 * indexes are in tests/golden/tf-bundle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <snappy-c.h>

#include "failures.h"
#include "base/checksum.h"
#include "base/endian.h"
#include "wire/sstable.h"

/* ---- a writer without checks ------------------------------------------------------------- */

struct table {
    struct heft_buf file;
    struct heft_buf block;
    struct heft_sstable_range data[4], metaindex, index;
    unsigned n_data;
};

static void put_varint(struct heft_buf *out, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        heft_buf_char(out, (char)(v | 0x80));
    heft_buf_char(out, (char)v);
}

static void put_u32(struct heft_buf *out, uint32_t v)
{
    uint8_t bytes[4];

    heft_put_le32(bytes, v);
    heft_buf_put(out, bytes, 4);
}

static void put_entry(struct table *t, unsigned shared, const char *rest, const char *value)
{
    put_varint(&t->block, shared);
    put_varint(&t->block, strlen(rest));
    put_varint(&t->block, strlen(value));
    heft_buf_text(&t->block, rest);
    heft_buf_text(&t->block, value);
}

static void put_restarts(struct table *t, unsigned n, const uint32_t *restarts)
{
    for (unsigned i = 0; i < n; i++)
        put_u32(&t->block, restarts[i]);
    put_u32(&t->block, n);
}

/* Appends the block and its trailer to the file and starts an empty block. Returns its range. */
static struct heft_sstable_range end_block(struct table *t, uint8_t type)
{
    struct heft_sstable_range range = {t->file.n, t->block.n};
    uint32_t crc;

    if (type == 1) {
        size_t n = snappy_max_compressed_length(t->block.n);
        char *packed = malloc(n);

        assert_int_equal(snappy_compress(t->block.p, t->block.n, packed, &n), SNAPPY_OK);
        heft_buf_put(&t->file, packed, n);
        range.size = n;
        free(packed);
    } else {
        heft_buf_put(&t->file, t->block.p, t->block.n);
    }
    heft_buf_char(&t->file, (char)type);
    crc = heft_crc32c(0, t->file.p + range.off, t->file.n - (size_t)range.off);
    put_u32(&t->file, ((crc >> 15) | (crc << 17)) + 0xa282ead8u);
    t->block.n = 0;
    return range;
}

static void end_data(struct table *t, uint8_t type)
{
    t->data[t->n_data++] = end_block(t, type);
}

static void put_footer(struct table *t)
{
    const size_t begin = t->file.n;

    put_varint(&t->file, t->metaindex.off);
    put_varint(&t->file, t->metaindex.size);
    put_varint(&t->file, t->index.off);
    put_varint(&t->file, t->index.size);
    while (t->file.n < begin + 40)
        heft_buf_char(&t->file, '\0');
    heft_buf_put(&t->file, HEFT_SSTABLE_MAGIC, 8);
    assert_false(t->file.failed || t->block.failed);
}

/* Appends the metaindex, the index with these keys, and the footer. */
static void end_table(struct table *t, const char *const *keys)
{
    uint32_t restarts[4];

    put_restarts(t, 1, (const uint32_t[]){0});
    t->metaindex = end_block(t, 0);
    for (unsigned i = 0; i < t->n_data; i++) {
        struct heft_buf h = {0};

        put_varint(&h, t->data[i].off);
        put_varint(&h, t->data[i].size);
        restarts[i] = (uint32_t)t->block.n;
        put_varint(&t->block, 0);
        put_varint(&t->block, strlen(keys[i]));
        put_varint(&t->block, h.n);
        heft_buf_text(&t->block, keys[i]);
        heft_buf_put(&t->block, h.p, h.n);
        heft_buf_release(&h);
    }
    put_restarts(t, t->n_data, restarts);
    t->index = end_block(t, 0);
    put_footer(t);
}

/* ---- a reader that keeps all ------------------------------------------------------------- */

struct story {
    char text[2048]; /* entries as "key=value@offset " */
    char odd[512];
    unsigned blocks;
    struct heft_error err;
    bool ok;
};

static bool note_odd(void *ctx, uint64_t off, const char *text, struct heft_error *err)
{
    struct story *s = ctx;
    const size_t n = strlen(s->odd);

    (void)err;
    snprintf(s->odd + n, sizeof s->odd - n, "[%u: %s]", (unsigned)off, text);
    return true;
}

static bool count_block(void *ctx, const struct heft_sstable_found *block, struct heft_error *err)
{
    struct story *s = ctx;

    (void)block;
    (void)err;
    s->blocks++;
    return true;
}

static void read_all(struct story *s, const void *bytes, size_t n)
{
    const struct heft_sstable_watcher watcher = {count_block, note_odd, s};
    struct heft_source source;
    struct heft_sstable_entry e;
    struct heft_sstable t;

    *s = (struct story){0};
    heft_source_open_memory(&source, (struct heft_bytes){bytes, n}, "table");
    s->ok = heft_sstable_open(&t, &source, &watcher, &s->err);
    while (s->ok && heft_sstable_next(&t, &e, &s->err)) {
        const size_t at = strlen(s->text);

        snprintf(s->text + at, sizeof s->text - at, "%.*s=%.*s@%u ", (int)e.key.n,
                 (const char *)e.key.p, (int)e.value.n, (const char *)e.value.p,
                 (unsigned)e.value_at);
    }
    s->ok = s->ok && !t.failed;
    heft_sstable_close(&t);
}

static void read_table(struct story *s, struct table *t)
{
    read_all(s, t->file.p, t->file.n);
    heft_buf_release(&t->file);
    heft_buf_release(&t->block);
}

static void expect_error(struct table *t, enum heft_code code, uint64_t offset, const char *text)
{
    struct story s;

    read_table(&s, t);
    assert_false(s.ok);
    assert_int_equal(s.err.code, code);
    assert_int_equal(s.err.offset, offset);
    if (!strstr(s.err.text, text))
        fail_msg("\"%s\" is not in \"%s\"", text, s.err.text);
}

/* ---- tests ------------------------------------------------------------------------------- */

static void blocks_are_read_in_order(void **state)
{
    struct table t = {0};
    struct story s;

    (void)state;
    put_entry(&t, 0, "", "head");
    put_entry(&t, 0, "abc", "1");
    put_entry(&t, 2, "d", "2");
    put_restarts(&t, 1, (const uint32_t[]){0});
    end_data(&t, 0);
    put_entry(&t, 0, "c", "3");
    put_entry(&t, 0, "d", "4");
    put_restarts(&t, 2, (const uint32_t[]){0, 5});
    end_data(&t, 1);
    put_entry(&t, 0, "x", "5");
    put_restarts(&t, 1, (const uint32_t[]){0});
    end_data(&t, 0);
    end_table(&t, (const char *const[]){"b", "d", "y"});
    read_table(&s, &t);
    assert_string_equal(s.err.text, "");
    assert_true(s.ok);
    assert_string_equal(s.text, "=head@3 abc=1@13 abd=2@18 c=3@32 d=4@32 x=5@65 ");
    assert_string_equal(s.odd, "");
    assert_int_equal(s.blocks, 5);
}

/* The index of half_plus_two, written by TensorFlow. */
static void a_real_index_is_read(void **state)
{
    static const char file[] =
        "\x00\x00\x06\x08\x01\x1a\x02\x08\x01\x00\x01\x0b\x61\x08\x01\x12\x00\x28\x04\x35\x06\x38"
        "\x27\x1f\x00\x01\x0d\x62\x08\x01\x12\x00\x20\x04\x28\x04\x35\x10\xfd\x78\x4f\x00\x01\x0d"
        "\x63\x08\x01\x12\x00\x20\x08\x28\x04\x35\xef\xd6\x82\xc3\x00\x00\x00\x00\x01\x00\x00\x00"
        "\x00\xe4\x15\xb6\xbc\x00\x00\x00\x00\x01\x00\x00\x00\x00\xc0\xf2\xa1\xb0\x00\x01\x02\x64"
        "\x00\x42\x00\x00\x00\x00\x01\x00\x00\x00\x00\x58\xb2\xe9\xf7\x47\x08\x54\x0e\x00\x00\x00"
        "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
        "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x57\xfb\x80\x8b\x24\x75\x47\xdb";
    struct story s;

    (void)state;
    assert_int_equal(sizeof file - 1, 151);
    read_all(&s, file, sizeof file - 1);
    assert_true(s.ok);
    assert_string_equal(s.odd, "");
    assert_non_null(strstr(s.text, "@3 a="));
    assert_non_null(strstr(s.text, "@45 "));
    /* Each flipped bit is detected: in blocks by their checksums, in the footer by its contents. */
    for (size_t i = 0; i < sizeof file - 1; i++) {
        char copy[sizeof file];

        memcpy(copy, file, sizeof copy);
        copy[i] ^= 0x01;
        read_all(&s, copy, sizeof copy - 1);
        assert_true(!s.ok || s.odd[0]);
    }
}

static void keys_out_of_order_are_reported(void **state)
{
    struct table t = {0};
    struct story s;

    (void)state;
    put_entry(&t, 0, "b", "1"); /* keys out of order */
    put_entry(&t, 0, "a", "2");
    put_restarts(&t, 1, (const uint32_t[]){0});
    end_data(&t, 0);
    end_table(&t, (const char *const[]){"c"});
    read_table(&s, &t);
    assert_true(s.ok);
    assert_string_equal(s.odd, "[5: the key is not greater than the one before it]");

    t = (struct table){0}; /* a restart inside an entry */
    put_entry(&t, 0, "a", "1");
    put_entry(&t, 0, "b", "2");
    put_restarts(&t, 2, (const uint32_t[]){0, 3});
    end_data(&t, 0);
    end_table(&t, (const char *const[]){"c"});
    read_table(&s, &t);
    assert_true(s.ok);
    assert_string_equal(s.odd,
                        "[10: the restarts do not all name entries with whole keys, in order]");

    t = (struct table){0}; /* the index's key is less than the block's last key */
    put_entry(&t, 0, "b", "1");
    put_restarts(&t, 1, (const uint32_t[]){0});
    end_data(&t, 0);
    end_table(&t, (const char *const[]){"a"});
    read_table(&s, &t);
    assert_true(s.ok);
    assert_string_equal(s.odd, "[0: the last key of the block is greater than the index's]");

    t = (struct table){0}; /* the index's key is not less than the next block's first key */
    put_entry(&t, 0, "a", "1");
    put_restarts(&t, 1, (const uint32_t[]){0});
    end_data(&t, 0);
    put_entry(&t, 0, "b", "1");
    put_restarts(&t, 1, (const uint32_t[]){0});
    end_data(&t, 0);
    end_table(&t, (const char *const[]){"b", "c"});
    read_table(&s, &t);
    assert_true(s.ok);
    assert_string_equal(s.odd,
                        "[18: the first key of a block is not greater than the index's of the "
                        "block before]");
}

static void begin_one(struct table *t)
{
    *t = (struct table){0};
    put_entry(t, 0, "a", "1");
}

static void finish_one(struct table *t, uint8_t type)
{
    put_restarts(t, 1, (const uint32_t[]){0});
    end_data(t, type);
    end_table(t, (const char *const[]){"z"});
}

static void entries_stay_in_their_block(void **state)
{
    struct table t;

    (void)state;
    begin_one(&t);
    put_entry(&t, 2, "a", "");
    finish_one(&t, 0);
    expect_error(&t, HEFT_MALFORMED, 5, "shares more bytes");
    t = (struct table){0};
    put_entry(&t, 1, "a", "");
    finish_one(&t, 0);
    expect_error(&t, HEFT_MALFORMED, 0, "shares more bytes");
    begin_one(&t); /* the sum of both lengths exceeds 32 bits */
    put_varint(&t.block, 0);
    put_varint(&t.block, UINT32_MAX);
    put_varint(&t.block, 3);
    finish_one(&t, 0);
    expect_error(&t, HEFT_MALFORMED, 5, "reach beyond");
    begin_one(&t);
    put_varint(&t.block, UINT64_C(1) << 32);
    finish_one(&t, 0);
    expect_error(&t, HEFT_MALFORMED, 5, "three numbers of 32 bits");
    begin_one(&t);
    heft_buf_put(&t.block, "\x80\x80\x80\x80\x80\x80\0\0", 8);
    finish_one(&t, 0);
    expect_error(&t, HEFT_MALFORMED, 5, "three numbers of 32 bits");
}

static void malformed_blocks_are_refused(void **state)
{
    struct table t;

    (void)state;
    begin_one(&t);
    finish_one(&t, 2);
    expect_error(&t, HEFT_UNSUPPORTED, 13, "compression type of a block is 2");
    begin_one(&t);
    finish_one(&t, 0);
    t.file.p[3] ^= 1;
    expect_error(&t, HEFT_MISMATCH, 0, "CRC-32C of this block of 13 bytes");
    begin_one(&t);
    put_restarts(&t, 1, (const uint32_t[]){0});
    t.block.p[t.block.n - 1] = 1; /* 2^24 + 1 restarts */
    end_data(&t, 0);
    end_table(&t, (const char *const[]){"z"});
    expect_error(&t, HEFT_MALFORMED, 9, "16777217 restarts in a block of 13 bytes");
    t = (struct table){0};
    heft_buf_text(&t.block, "abc");
    end_data(&t, 0);
    end_table(&t, (const char *const[]){"z"});
    expect_error(&t, HEFT_MALFORMED, 0, "a block of 3 bytes");
}

/* Reads a block of these packed bytes, written directly: no snappy library produces them. */
static void expect_packed(const char *bytes, size_t n, enum heft_code code, const char *text)
{
    struct table t = {0};
    uint32_t crc;

    t.data[t.n_data++] = (struct heft_sstable_range){0, n};
    heft_buf_put(&t.file, bytes, n);
    heft_buf_char(&t.file, 1);
    crc = heft_crc32c(0, t.file.p, n + 1);
    put_u32(&t.file, ((crc >> 15) | (crc << 17)) + 0xa282ead8u);
    end_table(&t, (const char *const[]){"z"});
    expect_error(&t, code, 0, text);
}

static void packed_blocks_are_bounded(void **state)
{
    (void)state;
    /* claims 4 GiB */
    expect_packed("\xff\xff\xff\xff\x0f", 5, HEFT_MALFORMED, "more than 32 times");
    expect_packed("\xff\xff\xff", 3, HEFT_MALFORMED, "has no valid length");
    expect_packed("\x08\x0c"
                  "abc",
                  5, HEFT_MALFORMED, "does not decompress"); /* truncated */
    expect_packed("\x08\x0c"
                  "abcd\x01\x00",
                  8, HEFT_MALFORMED, "does not decompress"); /* a copy from distance 0 */
    expect_packed("\x08\x0c"
                  "abcd\x01\x05",
                  8, HEFT_MALFORMED, "does not decompress"); /* a copy from before the beginning */
    expect_packed("\x08\x0c"
                  "abcd",
                  6, HEFT_MALFORMED, "does not decompress"); /* shorter than its declared length */
}

static void handles_stay_in_the_file(void **state)
{
    struct table t;
    struct story s;

    (void)state;
    begin_one(&t); /* the index block overlaps the footer */
    finish_one(&t, 0);
    t.file.n -= 48;
    t.index.size += 48;
    put_footer(&t);
    expect_error(&t, HEFT_MALFORMED, 50, "the index block is said to be");
    begin_one(&t); /* the sum of offset and size overflows */
    finish_one(&t, 0);
    t.file.n -= 48;
    t.index.size = UINT64_MAX;
    put_footer(&t);
    expect_error(&t, HEFT_MALFORMED, 50, "the index block is said to be");
    begin_one(&t); /* a data block beyond the end of the file */
    t.data[0] = (struct heft_sstable_range){UINT64_MAX - 4, 4};
    t.n_data = 1;
    t.block.n = 0;
    end_table(&t, (const char *const[]){"z"});
    expect_error(&t, HEFT_MALFORMED, 17, "a data block is said to be");
    begin_one(&t); /* the same block twice */
    put_restarts(&t, 1, (const uint32_t[]){0});
    end_data(&t, 0);
    t.data[t.n_data++] = t.data[0];
    end_table(&t, (const char *const[]){"y", "z"});
    expect_error(&t, HEFT_MALFORMED, 41, "in the one before");
    begin_one(&t); /* a wrong handle of the metaindex, which is never read: no error */
    finish_one(&t, 0);
    t.file.n -= 48;
    t.metaindex.off++;
    put_footer(&t);
    read_table(&s, &t);
    assert_true(s.ok);
    assert_non_null(strstr(s.odd, "metaindex handle"));
}

static void other_files_are_refused(void **state)
{
    static const char zeros[64];
    struct table t = {0};

    (void)state;
    heft_buf_put(&t.file, zeros, 47);
    expect_error(&t, HEFT_MALFORMED, 0, "the footer of a table alone has 48");
    t = (struct table){0};
    heft_buf_put(&t.file, zeros, 64);
    expect_error(&t, HEFT_MALFORMED, 56, "magic number");
    t = (struct table){0}; /* varints without an end */
    for (unsigned i = 0; i < 40; i++)
        heft_buf_char(&t.file, '\x80');
    heft_buf_put(&t.file, HEFT_SSTABLE_MAGIC, 8);
    expect_error(&t, HEFT_MALFORMED, 0, "two handles");
}

/* Each allocation fails once. */
static void lack_of_memory_is_an_error(void **state)
{
    struct table t = {0};
    struct story s = {0};
    struct failures fail = {.most = 1000};

    (void)state;
    put_entry(&t, 0, "a", "1");
    put_restarts(&t, 1, (const uint32_t[]){0});
    end_data(&t, 1);
    put_entry(&t, 0, "b", "1");
    put_restarts(&t, 1, (const uint32_t[]){0});
    end_data(&t, 0);
    end_table(&t, (const char *const[]){"a", "z"});
    while (!fail.done)
        FAIL_ALLOCATION(&fail, (read_all(&s, t.file.p, t.file.n), s.ok), &s.err);
    assert_true(fail.n > 5);
    heft_buf_release(&t.file);
    heft_buf_release(&t.block);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_read_in_order),
        cmocka_unit_test(a_real_index_is_read),
        cmocka_unit_test(keys_out_of_order_are_reported),
        cmocka_unit_test(entries_stay_in_their_block),
        cmocka_unit_test(malformed_blocks_are_refused),
        cmocka_unit_test(packed_blocks_are_bounded),
        cmocka_unit_test(handles_stay_in_the_file),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(lack_of_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
