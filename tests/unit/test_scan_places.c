/* test_scan_places.c: ranges of a large file that scan reads, offsets of failures in places within
 * it, and its reports when allocations fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failures.h"
#include "base/checksum.h"
#include "core/model.h"
#include "format/formats.h"
#include "scan/scan.h"
#include "torch_zip.h"

#define SYSTEM "cos\nsystem\nX\2\0\0\0id\x85R"

struct tally {
    size_t items, dangers;
};

static void take(void *ctx, const struct heft_scan_item *item)
{
    struct tally *tally = ctx;

    tally->items++;
    tally->dangers += item->danger == HEFT_DANGER;
}

static bool scan(const struct heft_source *src, struct tally *tally, bool *complete,
                 struct heft_error *err)
{
    struct heft_model model; /* only for its default limits */
    bool ok;

    *tally = (struct tally){0};
    *err = (struct heft_error){0};
    heft_model_init(&model, NULL, &heft_formats);
    ok = heft_scan_file(src, "file", &model.limits, take, tally, complete, err);
    heft_model_release(&model);
    return ok;
}

/* ---- reading ----------------------------------------------------------------------------- */

#define HOLE ((uint64_t)3 << 30)

/* A zip of two records; the payload of the second is a hole of HOLE bytes. */
struct holed {
    struct heft_buf front, back; /* bytes before and after the hole */
    uint64_t bytes_read;
};

static bool read_holed(const struct heft_source *src, uint64_t off, void *dst, size_t n,
                       struct heft_error *err)
{
    struct holed *h = src->self;

    (void)err;
    h->bytes_read += n;
    for (size_t i = 0; i < n; i++) {
        const uint64_t at = off + i;

        ((char *)dst)[i] = 0;
        if (at < h->front.n)
            ((char *)dst)[i] = h->front.p[at];
        else if (at >= h->front.n + HOLE)
            ((char *)dst)[i] = h->back.p[at - h->front.n - HOLE];
    }
    return true;
}

static void put_header(struct heft_buf *out, const char *name, uint32_t n)
{
    const struct torch_zip_record r = {.name = name, .data = {NULL, n}};

    torch_zip_common(out, &r);
}

static void put_central(struct heft_buf *out, const char *name, uint32_t n, uint32_t at)
{
    static const uint8_t zeros[10] = {0};

    heft_buf_put(out, "PK\1\2\0\0", 6);
    put_header(out, name, n);
    heft_buf_put(out, zeros, 10);
    torch_zip_u32(out, at);
    heft_buf_text(out, name);
}

static void make_holed(struct holed *h, const char *pickle, uint32_t n)
{
    uint32_t second, size;

    *h = (struct holed){0};
    heft_buf_put(&h->front, "PK\3\4", 4);
    put_header(&h->front, "a/data.pkl", n);
    heft_buf_text(&h->front, "a/data.pkl");
    heft_buf_put(&h->front, pickle, n);
    second = (uint32_t)h->front.n;
    heft_buf_put(&h->front, "PK\3\4", 4);
    put_header(&h->front, "a/data/0", (uint32_t)HOLE);
    heft_buf_text(&h->front, "a/data/0");
    put_central(&h->back, "a/data.pkl", n, 0);
    put_central(&h->back, "a/data/0", (uint32_t)HOLE, second);
    size = (uint32_t)h->back.n;
    heft_buf_put(&h->back, "PK\5\6\0\0\0\0\2\0\2\0", 12);
    torch_zip_u32(&h->back, size);
    torch_zip_u32(&h->back, (uint32_t)(h->front.n + HOLE));
    torch_zip_u16(&h->back, 0);
}

static void storages_are_not_read(void **state)
{
    static const char pickle[] = "\x80\2(X\7\0\0\0storagectorch\nByteStorage\nX\1\0\0\0"
                                 "0X\3\0\0\0cpuJ\0\0\0\x7ftQ.";
    static const struct heft_source_ops ops = {.read = read_holed};
    struct holed h;
    struct heft_source src;
    struct heft_error err;
    struct tally tally;
    bool complete;

    (void)state;
    make_holed(&h, pickle, sizeof pickle - 1);
    src = (struct heft_source){
        .ops = &ops, .self = &h, .size = h.front.n + HOLE + h.back.n, .fd = -1, .label = "holed"};
    assert_true(scan(&src, &tally, &complete, &err));
    assert_true(complete);
    assert_int_equal(tally.items, 1);
    assert_in_range(h.bytes_read, 1, 1 << 20);
    heft_buf_release(&h.front);
    heft_buf_release(&h.back);
}

/* ---- offsets of failures ------------------------------------------------------------------- */

/* A zip without a directory. */
static const uint8_t broken[] = "PK\3\4 and 32 bytes, but no directory";

static void take_refused(void *ctx, const struct heft_scan_item *item)
{
    uint64_t *const offset = ctx;

    if (strcmp(item->what, "refused") == 0)
        *offset = item->offset;
}

/* Offset of the finding "refused" in a file, and of the error. */
static uint64_t refused_at(const struct heft_buf *file)
{
    struct heft_model model; /* only for its default limits */
    struct heft_error err = {0};
    struct heft_source src;
    uint64_t offset = 0;
    bool complete;

    assert_false(file->failed);
    heft_source_open_memory(&src, (struct heft_bytes){(const uint8_t *)file->p, file->n}, "file");
    heft_model_init(&model, NULL, &heft_formats);
    assert_true(
        heft_scan_file(&src, "file", &model.limits, take_refused, &offset, &complete, &err));
    heft_model_release(&model);
    heft_source_close(&src);
    assert_false(complete);
    assert_int_equal(err.offset, offset);
    return offset;
}

static void failures_in_unpacked_bytes_have_no_offset(void **state)
{
    struct heft_buf file = {0};

    (void)state;
    heft_buf_put(&file, "\x1f\x8b\x08\0\0\0\0\0\0\3\1", 11); /* one stored block */
    torch_zip_u16(&file, sizeof broken);
    torch_zip_u16(&file, (uint16_t) ~sizeof broken);
    heft_buf_put(&file, broken, sizeof broken);
    torch_zip_u32(&file, heft_crc32(0, broken, sizeof broken));
    torch_zip_u32(&file, sizeof broken);
    assert_true(refused_at(&file) == HEFT_NO_OFFSET);
    heft_buf_release(&file);
}

static void failures_in_records_have_offsets_in_the_file(void **state)
{
    struct torch_zip_record records[] = {
        {.name = "a/data.pkl", .data = {(const uint8_t *)"\x80\2N.", 4}},
        {.name = "a/b.zip", .data = {broken, sizeof broken}}};
    struct heft_buf file = {0};
    uint64_t offset;

    (void)state;
    torch_zip_records(&file, records, HEFT_COUNT(records));
    offset = refused_at(&file);
    assert_int_equal(offset, records[1].at + 30 + strlen("a/b.zip") + sizeof broken);
    heft_buf_release(&file);
}

/* ---- memory ------------------------------------------------------------------------------ */

/* gzip of "\x80\2" "cos\nsystem\n.", as written by Python's gzip.compress(…, mtime=0). */
static const uint8_t gzipped[] = {0x1f, 0x8b, 0x08, 0,    0,    0,    0,    0,    0,   0xff,
                                  0x01, 0x0e, 0x00, 0xf1, 0xff, 0x80, 0x02, 'c',  'o', 's',
                                  '\n', 's',  'y',  's',  't',  'e',  'm',  '\n', '.', 0,
                                  0,    0,    0,    0x0e, 0,    0,    0};

static const char npy[] = "\x93NUMPY\1\0\x14\0{'descr': '|O', }  \n\x80\2" SYSTEM ".";

#define LOADED                                                                                     \
    "\x80\2\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\2M\xe9\3.\x80\2}.\x80\2N.\x80\2]" \
    "."
static const char mixed[] = "\x80\3cbuiltins\ngetattr\ncm\nK\nX\1\0\0\0a\x86R"
                            "ctorch.storage\n_load_from_bytes\nC\x21" LOADED "\x85R.N";

static void make_mixed(struct heft_buf *zip, const char *last)
{
    struct torch_zip_record records[] = {
        {.name = "a/data.pkl", .data = {(const uint8_t *)mixed, sizeof mixed - 1}},
        {.name = "a/x.npy", .data = {(const uint8_t *)npy, sizeof npy - 1}},
        {.name = "a/x.gz", .data = {gzipped, sizeof gzipped}},
        {.name = last, .data = {(const uint8_t *)"N.", 2}},
    };

    torch_zip_records(zip, records, HEFT_COUNT(records));
}

/* For each n, the n-th allocation fails: the only error is HEFT_NOMEM. */
static void starve(struct heft_bytes bytes, size_t dangers)
{
    struct heft_source src;
    struct heft_error err;
    struct tally tally;
    bool complete;

    heft_source_open_memory(&src, bytes, "file");
    for (struct failures fail = {.most = 1000}; !fail.done;)
        FAIL_ALLOCATION(&fail, scan(&src, &tally, &complete, &err), &err);
    assert_true(complete);
    assert_int_equal(tally.dangers, dangers);
    heft_source_close(&src);
}

static void any_allocation_may_fail(void **state)
{
    /* accepted, and refused by the reader */
    static const char *const lasts[] = {"a/y", "a/DATA.pkl"};
    static const size_t dangers[] = {4, 5};

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(lasts); i++) {
        struct heft_buf zip = {0};

        make_mixed(&zip, lasts[i]);
        starve((struct heft_bytes){(const uint8_t *)zip.p, zip.n}, dangers[i]);
        heft_buf_release(&zip);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(storages_are_not_read),
        cmocka_unit_test(failures_in_unpacked_bytes_have_no_offset),
        cmocka_unit_test(failures_in_records_have_offsets_in_the_file),
        cmocka_unit_test(any_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
