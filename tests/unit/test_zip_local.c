/* test_zip_local.c: how many reads local headers take, and that each is checked at the borders of
 * the window through which neighbours are read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "zip_bench.h"

enum { HEAD = 30, CENTRAL = 46, SHORT_NAME = 5 };

/* Source in memory that counts the reads before the directory. */
struct counted {
    const struct bench *b;
    size_t reads, bytes;
};

static bool read_counted(const struct heft_source *src, uint64_t off, void *dst, size_t n,
                         struct heft_error *err)
{
    struct counted *const c = src->self;

    (void)err;
    if (off + n <= c->b->directory) {
        c->reads++;
        c->bytes += n;
    }
    memcpy(dst, c->b->p + off, n);
    return true;
}

static bool open_counted(struct bench *b, struct counted *c)
{
    static const struct heft_source_ops ops = {.read = read_counted};

    *c = (struct counted){.b = b};
    b->src =
        (struct heft_source){.ops = &ops, .self = c, .size = b->n, .fd = -1, .label = "sample"};
    return heft_zip_open(&b->zip, &b->src, NULL, &b->arena, &b->err);
}

static void put_name(struct heft_buf *out, unsigned i, size_t n)
{
    char digits[16];

    snprintf(digits, sizeof digits, "%0*u", SHORT_NAME, i);
    heft_buf_text(out, digits);
    for (size_t k = SHORT_NAME; k < n; k++)
        heft_buf_char(out, 'n');
}

/* Archive of stored records with `apart` bytes of zeros; the middle one has a name of `longest`
 * bytes. */
static void make_archive(struct bench *b, unsigned records, size_t apart, size_t longest)
{
    uint8_t end[22] = {'P', 'K', 5, 6};
    struct heft_buf out = {0}, directory = {0};

    for (unsigned i = 0; i < records; i++) {
        const size_t name = i == records / 2 ? longest : SHORT_NAME;
        uint8_t head[HEAD] = {'P', 'K', 3, 4}, central[CENTRAL] = {'P', 'K', 1, 2};

        heft_put_le32(head + 18, (uint32_t)apart);
        heft_put_le32(head + 22, (uint32_t)apart);
        heft_put_le16(head + 26, (uint16_t)name);
        heft_put_le32(central + 20, (uint32_t)apart);
        heft_put_le32(central + 24, (uint32_t)apart);
        heft_put_le16(central + 28, (uint16_t)name);
        heft_put_le32(central + 42, (uint32_t)out.n);
        heft_buf_put(&out, head, sizeof head);
        put_name(&out, i, name);
        for (size_t k = 0; k < apart; k++)
            heft_buf_char(&out, 0);
        heft_buf_put(&directory, central, sizeof central);
        put_name(&directory, i, name);
    }
    heft_put_le16(end + 8, (uint16_t)records);
    heft_put_le16(end + 10, (uint16_t)records);
    heft_put_le32(end + 12, (uint32_t)directory.n);
    heft_put_le32(end + 16, (uint32_t)out.n);
    heft_buf_put(&out, directory.p, directory.n);
    heft_buf_put(&out, end, sizeof end);
    assert_true(heft_buf_ok(&out, &b->err));
    bench_take(b, (const uint8_t *)out.p, out.n);
    heft_buf_release(&out);
    heft_buf_release(&directory);
}

static void close_headers_share_a_read(void **state)
{
    struct counted c;
    struct bench b;

    (void)state;
    make_archive(&b, 2000, 100, SHORT_NAME);
    assert_true(open_counted(&b, &c));
    assert_int_equal(b.zip.count, 2000);
    for (size_t i = 0; i < b.zip.count; i++)
        assert_int_equal(b.zip.entries[i].data, (HEAD + SHORT_NAME + 100) * i + HEAD + SHORT_NAME);
    assert_true(c.reads <= b.directory / 60000 + 1);
    assert_true(c.bytes <= b.directory);
    bench_leave(&b);
}

static void distant_headers_are_read_alone(void **state)
{
    struct counted c;
    struct bench b;

    (void)state;
    make_archive(&b, 50, 5000, SHORT_NAME);
    assert_true(open_counted(&b, &c));
    assert_int_equal(c.reads, 50);
    assert_true(c.bytes <= 50 * 150);
    bench_leave(&b);
}

/* Every header, also the last of a window and the first of the next one, is compared with the
 * directory. */
static void each_header_is_compared(void **state)
{
    struct counted c;
    struct bench b;

    (void)state;
    make_archive(&b, 1200, 90, SHORT_NAME);
    for (size_t i = 0; i < 1200; i++) {
        const size_t name = bench_local(&b, i) + HEAD;

        b.err = (struct heft_error){0};
        b.p[name + 4] ^= 1;
        assert_false(open_counted(&b, &c));
        assert_int_equal(b.err.code, HEFT_MALFORMED);
        assert_int_equal(b.err.offset, name);
        heft_arena_release(&b.arena);
        b.p[name + 4] ^= 1;
    }
    bench_leave(&b);
}

static void the_longest_name_fits(void **state)
{
    struct counted c;
    struct bench b;

    (void)state;
    for (size_t apart = 0; apart < 6000; apart += 500) {
        make_archive(&b, 21, apart, 65535);
        assert_true(open_counted(&b, &c));
        assert_int_equal(b.zip.entries[10].name.n, 65535);
        assert_int_equal(b.zip.entries[11].data, b.zip.entries[10].end + HEAD + SHORT_NAME);
        bench_leave(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(close_headers_share_a_read),
        cmocka_unit_test(distant_headers_are_read_alone),
        cmocka_unit_test(each_header_is_compared),
        cmocka_unit_test(the_longest_name_fits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
