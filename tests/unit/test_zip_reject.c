/* test_zip_reject.c: malformed, truncated and hostile archives: code, offset and text of the error.
 * Most are a valid archive with one field changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "wire_samples.h"
#include "zip_bench.h"

/* Part of the archive that a patch changes. */
enum part { CENTRAL, LOCAL, END, END64, LOCATOR };
enum sample { TORCH, STORED, DEFLATED, STREAM };

struct patch {
    enum sample sample;
    enum part part;
    unsigned entry, field, width;
    uint64_t value;
    enum heft_code code;
    const char *text; /* beginning of the error's text */
};

static void take(struct bench *b, enum sample sample)
{
    if (sample == TORCH)
        bench_take(b, sample_zip_torch, sizeof sample_zip_torch);
    else if (sample == STORED)
        bench_take(b, sample_zip_stored, sizeof sample_zip_stored);
    else if (sample == DEFLATED)
        bench_take(b, sample_zip_deflated, sizeof sample_zip_deflated);
    else
        bench_take(b, sample_zip_stream, sizeof sample_zip_stream);
}

static size_t place(const struct bench *b, enum part part, unsigned entry)
{
    switch (part) {
    case CENTRAL:
        return bench_central(b, entry);
    case LOCAL:
        return bench_local(b, entry);
    case END:
        return b->end;
    case END64:
        return b->tail;
    case LOCATOR:
        return b->end - 20;
    }
    return 0;
}

static void expect_error(const struct bench *b, enum heft_code code, const char *text)
{
    if (strncmp(b->err.text, text, strlen(text)) != 0)
        assert_string_equal(b->err.text, text);
    assert_int_equal(b->err.code, code);
}

/* The error has the offset of the changed field. */
static void reject(const struct patch *patch)
{
    struct bench b;
    size_t at;

    take(&b, patch->sample);
    at = place(&b, patch->part, patch->entry) + patch->field;
    for (unsigned i = 0; i < patch->width; i++)
        b.p[at + i] = (uint8_t)(patch->value >> (8 * i));
    assert_false(bench_open(&b, NULL));
    expect_error(&b, patch->code, patch->text);
    assert_int_equal(b.err.offset, at);
    bench_leave(&b);
}

static void reject_all(const struct patch *patches, size_t n)
{
    for (size_t i = 0; i < n; i++)
        reject(&patches[i]);
}

static void end_records(void **state)
{
    static const struct patch patches[] = {
        {TORCH, END, 0, 4, 2, 1, HEFT_MALFORMED, "end record is of disk 1, the zip64 record of"},
        {TORCH, END, 0, 8, 2, 5, HEFT_MALFORMED, "end record gives entries here 5, the zip64 rec"},
        {TORCH, END, 0, 10, 2, 7, HEFT_MALFORMED, "end record gives entries 7, the zip64 record"},
        {TORCH, END, 0, 12, 4, 9, HEFT_MALFORMED, "end record gives directory size 9, the zip64"},
        {TORCH, END, 0, 16, 4, 9, HEFT_MALFORMED, "end record gives directory offset 9, the zip64"},
        {TORCH, END, 0, 20, 2, 1, HEFT_MALFORMED,
         "archive comment of 1 bytes, the file has 0 left"},
        {STORED, END, 0, 4, 2, 1, HEFT_UNSUPPORTED, "directory on disk 0, this is disk 1"},
        {STORED, END, 0, 4, 4, 0x20002, HEFT_UNSUPPORTED, "directory on disk 2, this is disk 2"},
        {STORED, END, 0, 8, 2, 2, HEFT_UNSUPPORTED, "2 of 3 entries on this disk: archives in"},
        {STORED, END, 0, 8, 4, 0xFFFFFFFF, HEFT_MALFORMED, "65535 entries in a directory of"},
        {STORED, END, 0, 12, 4, 1, HEFT_MALFORMED, "central directory of 1 bytes at "},
        {TORCH, END64, 0, 0, 4, 1, HEFT_MALFORMED, "no zip64 end record where its locator points"},
        {TORCH, END64, 0, 4, 8, 45, HEFT_MALFORMED,
         "zip64 end record of 45 bytes, there are 44 up"},
        {TORCH, END64, 0, 4, 8, UINT64_MAX, HEFT_MALFORMED,
         "zip64 end record of 184467440737095516"},
        {TORCH, END64, 0, 16, 4, 1, HEFT_UNSUPPORTED, "directory on disk 0, this is disk 1"},
        {TORCH, LOCATOR, 0, 4, 4, 9, HEFT_UNSUPPORTED, "an archive of 1 disks, 1 is read"},
        {TORCH, LOCATOR, 0, 8, 8, UINT64_MAX, HEFT_MALFORMED,
         "zip64 end record at 18446744073709551615, it must end before"},
    };

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(patches); i++) {
        const struct patch *p = &patches[i];

        /* reported at the total number of entries */
        if (p->part == END && p->field == 8 && p->width == 4) {
            struct bench b;

            take(&b, p->sample);
            heft_put_le32(b.p + b.end + 8, UINT32_MAX);
            assert_false(bench_open(&b, NULL));
            expect_error(&b, p->code, p->text);
            assert_int_equal(b.err.offset, b.end + 10);
            bench_leave(&b);
        } else {
            reject(p);
        }
    }
}

static void central_entries(void **state)
{
    static const struct patch patches[] = {
        {TORCH, CENTRAL, 0, 0, 1, 'Q', HEFT_MALFORMED, "central directory begins with 0x02014b51"},
        {TORCH, CENTRAL, 1, 0, 1, 'Q', HEFT_MALFORMED,
         "entry 2 of 6 begins with 0x02014b51, 0x020"},
        {TORCH, CENTRAL, 0, 8, 2, 0x809, HEFT_UNSUPPORTED,
         "record \"root/data.pkl\": flags 0x0809"},
        {TORCH, CENTRAL, 0, 8, 2, 0x828, HEFT_UNSUPPORTED,
         "record \"root/data.pkl\": flags 0x0828"},
        {TORCH, CENTRAL, 0, 8, 2, 0x848, HEFT_UNSUPPORTED,
         "record \"root/data.pkl\": flags 0x0848"},
        {TORCH, CENTRAL, 0, 8, 2, 0x2808, HEFT_UNSUPPORTED,
         "record \"root/data.pkl\": flags 0x2808"},
        {TORCH, CENTRAL, 2, 10, 2, 12, HEFT_UNSUPPORTED,
         "record \"root/data/0\": compression method 12, 0 (stored) and 8 (deflated) are read"},
        {TORCH, CENTRAL, 2, 20, 4, 25, HEFT_MALFORMED,
         "record \"root/data/0\": stored, but 25 bytes packed and 24 unpacked"},
        {DEFLATED, CENTRAL, 1, 24, 4, 100000, HEFT_LIMIT, "record \"root/B\": 100000 bytes from "},
        {TORCH, CENTRAL, 0, 42, 4, UINT32_MAX - 1, HEFT_MALFORMED,
         "record \"root/data.pkl\": local header at 4294967294, it must end before the directory"},
        {STORED, CENTRAL, 0, 34, 2, 2, HEFT_UNSUPPORTED,
         "record \"root/a\" on disk 2: archives in"},
        {STORED, CENTRAL, 0, 38, 4, 0xA1FF0000, HEFT_UNSAFE, "record \"root/a\": a symbolic link"},
    };

    (void)state;
    reject_all(patches, HEFT_COUNT(patches));
}

static void local_headers(void **state)
{
    static const struct patch patches[] = {
        {TORCH, LOCAL, 2, 0, 4, 0, HEFT_MALFORMED,
         "record \"root/data/0\": local header begins with"},
        {TORCH, LOCAL, 2, 6, 2, 0x809, HEFT_MALFORMED,
         "record \"root/data/0\": local header has flags 2057, the directory has 2056"},
        {TORCH, LOCAL, 2, 6, 2, 0x800, HEFT_MALFORMED,
         "record \"root/data/0\": local header has fla"},
        {TORCH, LOCAL, 2, 8, 2, 8, HEFT_MALFORMED,
         "record \"root/data/0\": local header has method 8, the directory has 0"},
        {TORCH, LOCAL, 2, 26, 2, 10, HEFT_MALFORMED,
         "record \"root/data/0\": local header has a name of length 10, the directory has 11"},
        {TORCH, LOCAL, 2, 30, 1, 'R', HEFT_MALFORMED,
         "record \"root/data/0\": local header names it \"Root/data/0\""},
        {STORED, LOCAL, 1, 14, 4, 0, HEFT_MALFORMED,
         "record \"root/B\": local header has CRC-32 0"},
        {STORED, LOCAL, 1, 18, 4, 0, HEFT_MALFORMED,
         "record \"root/B\": local header has a packed size of 0, the directory has 300"},
        {STORED, LOCAL, 1, 22, 4, 301, HEFT_MALFORMED,
         "record \"root/B\": local header has a size of 301, the directory has 300"},
        {STORED, LOCAL, 1, 18, 4, UINT32_MAX, HEFT_MALFORMED,
         "record \"root/B\": local header has a packed size of 4294967295, the directory has 300"},
    };

    (void)state;
    reject_all(patches, HEFT_COUNT(patches));
}

/* The error has the offset of the local header of the record that is too long. */
static void payloads(void **state)
{
    static const struct {
        enum sample sample;
        unsigned entry, field;
        uint16_t value;
        const char *text;
    } bad[] = {
        {TORCH, 0, 28, 0xFFFF,
         "record \"root/data.pkl\" reaches to 65578, into record \"root/byteo"},
        {TORCH, 5, 28, 0xFFFF, "record \"root/version\" reaches to 66"},
        {STORED, 0, 28, 1,
         "record \"root/a\" reaches to 42, into record \"root/B\" that begins at 41"},
        {STORED, 2, 28, 1, "record \"root/empty\" reaches to "},
    };

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(bad); i++) {
        struct bench b;
        size_t at;

        take(&b, bad[i].sample);
        at = bench_local(&b, bad[i].entry);
        heft_put_le16(b.p + at + bad[i].field, bad[i].value);
        assert_false(bench_open(&b, NULL));
        expect_error(&b, HEFT_MALFORMED, bad[i].text);
        assert_int_equal(b.err.offset, at);
        bench_leave(&b);
    }
}

static void two_records_on_one_local_header(void **state)
{
    struct bench b;

    (void)state;
    take(&b, TORCH);
    heft_put_le32(b.p + bench_central(&b, 3) + 42, (uint32_t)bench_local(&b, 2));
    assert_false(bench_open(&b, NULL));
    expect_error(&b, HEFT_MALFORMED, "record \"root/data/0\" reaches to ");
    bench_leave(&b);
}

static void sizes_that_reach_into_the_next_record(void **state)
{
    struct bench b;

    (void)state;
    take(&b, TORCH); /* the payload of "data/0" includes the local header of "data/1" */
    heft_put_le32(b.p + bench_central(&b, 2) + 20, 124);
    heft_put_le32(b.p + bench_central(&b, 2) + 24, 124);
    assert_false(bench_open(&b, NULL));
    expect_error(
        &b, HEFT_MALFORMED,
        "record \"root/data/0\" reaches to 700, into record \"root/data/1\" that begins at");
    bench_leave(&b);
    take(&b, TORCH); /* one byte too many: not enough bytes for the descriptor */
    heft_put_le32(b.p + bench_central(&b, 2) + 20, 30);
    heft_put_le32(b.p + bench_central(&b, 2) + 24, 30);
    assert_false(bench_open(&b, NULL));
    expect_error(
        &b, HEFT_MALFORMED,
        "record \"root/data/0\": 10 bytes after the payload, its data descriptor needs 16");
    assert_int_equal(b.err.offset, 606);
    bench_leave(&b);
}

/* Sizes near 2^64 in a zip64 field: their sum must not overflow. */
static void sizes_near_the_end_of_numbers(void **state)
{
    uint8_t bytes[sizeof sample_zip_stored + 20];
    struct bench b;
    size_t at;

    (void)state;
    take(&b, STORED);
    at = bench_central(&b, 2) + 46 + 10; /* after the last name */
    memcpy(bytes, b.p, at);
    heft_put_le16(bytes + at, 1);
    heft_put_le16(bytes + at + 2, 16);
    heft_put_le64(bytes + at + 4, UINT64_MAX);
    heft_put_le64(bytes + at + 12, UINT64_MAX);
    memcpy(bytes + at + 20, b.p + at, b.n - at);
    bench_leave(&b);
    bench_take(&b, bytes, sizeof bytes);
    at = bench_central(&b, 2);
    heft_put_le32(b.p + at + 20, UINT32_MAX);
    heft_put_le32(b.p + at + 24, UINT32_MAX);
    heft_put_le16(b.p + at + 30, 20);
    heft_put_le32(b.p + b.end + 12, heft_le32(b.p + b.end + 12) + 20);
    assert_false(bench_open(&b, NULL));
    expect_error(&b, HEFT_MALFORMED, "record \"root/empty\" reaches to 18446744073709551615, the");
    bench_leave(&b);
    bench_take(&b, bytes, sizeof bytes); /* zip64 field with one of two numbers */
    heft_put_le32(b.p + at + 20, UINT32_MAX);
    heft_put_le32(b.p + at + 24, UINT32_MAX);
    heft_put_le16(b.p + at + 30, 12);
    heft_put_le16(b.p + at + 58, 8);
    memmove(b.p + at + 68, b.p + at + 76, b.n - at - 76);
    b.n -= 8;
    heft_put_le32(b.p + b.n - 22 + 12, heft_le32(b.p + b.n - 22 + 12) + 12);
    assert_false(bench_open(&b, NULL));
    expect_error(&b, HEFT_MALFORMED, "record \"root/empty\": the zip64 field lacks a number");
    bench_leave(&b);
}

/* Expects an error after the first record is renamed, in the directory and in its local header. */
static void reject_name(const char *name, size_t n, enum heft_code code, const char *text)
{
    struct bench b;
    size_t at;

    take(&b, STORED);
    assert_int_equal(n, 6); /* as long as "root/a" */
    at = bench_central(&b, 0) + 46;
    memcpy(b.p + at, name, n);
    memcpy(b.p + bench_local(&b, 0) + 30, name, n);
    assert_false(bench_open(&b, NULL));
    expect_error(&b, code, text);
    if (strcmp(text, "two") != 0)
        assert_true(b.err.offset >= b.directory);
    bench_leave(&b);
}

static void names(void **state)
{
    (void)state;
    reject_name("../a/b", 6, HEFT_UNSAFE, "record \"../a/b\": a name that leads out with \"..\"");
    reject_name("a/../b", 6, HEFT_UNSAFE, "record \"a/../b\": a name that leads out with \"..\"");
    reject_name("abc/..", 6, HEFT_UNSAFE, "record \"abc/..\": a name that leads out with \"..\"");
    reject_name("/abs/a", 6, HEFT_UNSAFE, "record \"/abs/a\": an absolute path");
    reject_name("root\\a", 6, HEFT_UNSAFE, "record \"root\\a\": a backslash in a name");
    reject_name("root\0a", 6, HEFT_UNSAFE, "record \"root\": a NUL in a name");
    reject_name("root\xff/", 6, HEFT_MALFORMED, "record \"root\\xff/\": a name that is not UTF-8");
    reject_name("root/B", 6, HEFT_MALFORMED, "record \"root/B\": two records have this name");
    reject_name("ROOT/b", 6, HEFT_MALFORMED,
                "records \"ROOT/b\" and \"root/B\" differ only in upper and lower case");
    reject_name("rooot/", 6, HEFT_MALFORMED, "record \"rooot/\": a directory entry with content");
}

/* Renames the first two records. */
static void set_names(struct bench *b, const char *first, const char *second)
{
    const char *const names[] = {first, second};

    take(b, STORED);
    for (unsigned i = 0; i < 2; i++) {
        memcpy(b->p + bench_central(b, i) + 46, names[i], 6);
        memcpy(b->p + bench_local(b, i) + 30, names[i], 6);
    }
}

/* Names that differ only in the number at their end are different names. */
static void numbered_names(void **state)
{
    static const char *const good[][2] = {
        {"root/1", "root/2"}, {"root/1", "roof/1"}, {"root/0", "roo/00"}, {"root/1", "root-1"},
        {"root/2", "roo/02"}, {"roo/12", "root/1"}, {"a/9999", "a/9998"}, {"r/s/t1", "000001"}};
    struct bench b;

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(good); i++) {
        set_names(&b, good[i][0], good[i][1]);
        assert_true(bench_open(&b, NULL));
        bench_leave(&b);
    }
    set_names(&b, "root/1", "root/1");
    assert_false(bench_open(&b, NULL));
    expect_error(&b, HEFT_MALFORMED, "record \"root/1\": two records have this name");
    bench_leave(&b);
    set_names(&b, "root/1", "rOOt/1");
    assert_false(bench_open(&b, NULL));
    expect_error(&b, HEFT_MALFORMED,
                 "records \"root/1\" and \"rOOt/1\" differ only in upper and lower case");
    bench_leave(&b);
    set_names(&b, "a/9999", "a/9999");
    assert_false(bench_open(&b, NULL));
    expect_error(&b, HEFT_MALFORMED, "record \"a/9999\": two records have this name");
    bench_leave(&b);
}

static void harmless_names_pass(void **state)
{
    static const char *const good[] = {"..a/b.", "a/...b", "r\xc3\xbc/ab", " a b.c"};

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(good); i++) {
        struct bench b;

        take(&b, STORED);
        memcpy(b.p + bench_central(&b, 0) + 46, good[i], 6);
        memcpy(b.p + bench_local(&b, 0) + 30, good[i], 6);
        assert_true(bench_open(&b, NULL));
        bench_leave(&b);
    }
}

static void a_directory_that_does_not_fit_its_entries(void **state)
{
    struct bench b;

    (void)state;
    take(&b, TORCH); /* a name longer than the rest of the directory */
    heft_put_le16(b.p + bench_central(&b, 5) + 28, 0xFFFF);
    assert_false(bench_open(&b, NULL));
    expect_error(&b, HEFT_MALFORMED, "entry 6 of 6 reaches past the end of the directory at ");
    assert_int_equal(b.err.offset, bench_central(&b, 5));
    bench_leave(&b);
    take(&b, STORED); /* a count of entries one too small */
    heft_put_le16(b.p + b.end + 8, 2);
    heft_put_le16(b.p + b.end + 10, 2);
    assert_false(bench_open(&b, NULL));
    expect_error(&b, HEFT_MALFORMED, "56 bytes of the directory follow its 2 entries");
    assert_int_equal(b.err.offset, bench_central(&b, 2));
    bench_leave(&b);
}

/* A name that takes the place of the entry after it: memory for names
 * is as large as the directory without the fixed parts of all entries. */
static void a_name_that_covers_other_entries(void **state)
{
    struct bench b;
    size_t at;

    (void)state;
    take(&b, TORCH);
    at = place(&b, CENTRAL, 0);
    heft_put_le16(b.p + at + 28, (uint16_t)(place(&b, CENTRAL, 2) - at - 46));
    heft_put_le16(b.p + at + 30, 0);
    memset(b.p + at + 46, 'x', place(&b, CENTRAL, 2) - at - 46);
    assert_false(bench_open(&b, NULL));
    expect_error(&b, HEFT_MALFORMED, "record \"");
    assert_int_equal(b.err.offset, at + 28);
    bench_leave(&b);
}

static void two_valid_end_records(void **state)
{
    uint8_t bytes[sizeof sample_zip_stored + 22];
    struct bench b;

    (void)state;
    /* An empty archive in the comment of another: its directory of 0 bytes is valid, too. */
    memcpy(bytes, sample_zip_stored, sizeof sample_zip_stored);
    memset(bytes + sizeof sample_zip_stored, 0, 22);
    memcpy(bytes + sizeof sample_zip_stored, "PK\5\6", 4);
    heft_put_le32(bytes + sizeof sample_zip_stored + 16, (uint32_t)sizeof sample_zip_stored);
    heft_put_le16(bytes + sizeof sample_zip_stored - 2, 22);
    bench_take(&b, bytes, sizeof bytes);
    assert_false(bench_open(&b, NULL));
    expect_error(&b, HEFT_MALFORMED, "two end records hold up, at ");
    assert_int_equal(b.err.offset, sizeof sample_zip_stored);
    bench_leave(&b);
}

static void bytes_before_or_within(void **state)
{
    uint8_t bytes[sizeof sample_zip_torch + 3] = "XYZ";
    struct bench b;

    (void)state;
    memcpy(bytes + 3, sample_zip_torch, sizeof sample_zip_torch);
    bench_take(&b, bytes, sizeof bytes);
    assert_false(bench_open(&b, NULL));
    expect_error(&b, HEFT_MALFORMED, "no zip64 end record where its locator points");
    bench_leave(&b);
    memcpy(bytes + 3, sample_zip_stored, sizeof sample_zip_stored);
    bench_take(&b, bytes, sizeof sample_zip_stored + 3);
    assert_false(bench_open(&b, NULL));
    expect_error(&b, HEFT_MALFORMED, "central directory of ");
    bench_leave(&b);
}

static void too_many_bytes_after_the_end(void **state)
{
    const size_t n = sizeof sample_zip_stored + 65536;
    uint8_t *bytes = calloc(n, 1);
    struct bench b;

    (void)state;
    assert_non_null(bytes);
    memcpy(bytes, sample_zip_stored, sizeof sample_zip_stored);
    bench_take(&b, bytes, n - 1);
    assert_true(bench_open(&b, NULL));
    assert_int_equal(b.zip.trailing, 65535);
    bench_leave(&b);
    bench_take(&b, bytes, n);
    assert_false(bench_open(&b, NULL));
    expect_error(&b, HEFT_MALFORMED, "no end of central directory in the last 65557 of ");
    assert_int_equal(b.err.offset, n);
    assert_non_null(strstr(b.err.text, "truncated or not a zip"));
    bench_leave(&b);
    free(bytes);
}

static void files_that_are_not_zips(void **state)
{
    struct bench b;

    (void)state;
    bench_take(&b, sample_zip_torch, 0);
    assert_false(bench_open(&b, NULL));
    expect_error(&b, HEFT_MALFORMED, "a file of 0 bytes, the smallest zip has 22");
    bench_leave(&b);
    bench_take(&b, sample_zip_torch, 500);
    assert_false(bench_open(&b, NULL));
    expect_error(&b, HEFT_MALFORMED, "no end of central directory in the last 500 of 500 bytes");
    bench_leave(&b);
}

static void limits(void **state)
{
    const struct heft_zip_limits entries = {.entries = 5}, bytes = {.directory = 100};
    const struct heft_zip_limits ratio = {.ratio = 2};
    struct bench b;

    (void)state;
    take(&b, TORCH);
    assert_false(bench_open(&b, &entries));
    expect_error(&b, HEFT_LIMIT, "6 entries, the limit is 5");
    bench_leave(&b);
    take(&b, TORCH);
    assert_false(bench_open(&b, &bytes));
    expect_error(&b, HEFT_LIMIT, "central directory of ");
    bench_leave(&b);
    take(&b, DEFLATED);
    assert_false(bench_open(&b, &ratio));
    expect_error(&b, HEFT_LIMIT, "record \"root/B\": 300 bytes from ");
    bench_leave(&b);
}

static const struct {
    const uint8_t *p;
    size_t n;
} samples[] = {{sample_zip_torch, sizeof sample_zip_torch},
               {sample_zip_stored, sizeof sample_zip_stored},
               {sample_zip_deflated, sizeof sample_zip_deflated},
               {sample_zip_stored_64, sizeof sample_zip_stored_64},
               {sample_zip_stream, sizeof sample_zip_stream},
               {sample_zip_stream_64, sizeof sample_zip_stream_64}};

static void truncated_at_every_length(void **state)
{
    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(samples); i++)
        for (size_t n = 0; n < samples[i].n; n++) {
            struct bench b;

            bench_take(&b, samples[i].p, n);
            assert_false(bench_open(&b, NULL));
            assert_int_equal(b.err.code, HEFT_MALFORMED);
            assert_true(b.err.offset <= n);
            bench_leave(&b);
        }
}

/* Opening or fetching fails with an error, or both succeed. */
static void read_all(struct bench *b)
{
    struct heft_bytes got;
    uint64_t length;

    if (!bench_open(b, NULL)) {
        assert_int_not_equal(b->err.code, HEFT_OK);
        return;
    }
    for (size_t i = 0; i < b->zip.count; i++) {
        const struct heft_zip_entry *e = &b->zip.entries[i];

        assert_true(e->header + 30 + e->name.n <= e->data && e->data + e->packed <= e->end);
        assert_true(e->end <= b->zip.directory);
        (void)!heft_zip_fetch(&b->src, e, 1 << 20, true, &b->arena, &got, &b->err);
        (void)!heft_zip_check_descriptor(&b->src, e, &length, &b->err);
    }
}

static void every_byte_flipped(void **state)
{
    static const uint8_t masks[] = {0x01, 0x40, 0xff};

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(samples); i++)
        for (size_t at = 0; at < samples[i].n * sizeof masks; at++) {
            struct bench b;

            bench_take(&b, samples[i].p, samples[i].n);
            b.p[at / sizeof masks] ^= masks[at % sizeof masks];
            read_all(&b);
            bench_leave(&b);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(end_records),
        cmocka_unit_test(central_entries),
        cmocka_unit_test(local_headers),
        cmocka_unit_test(payloads),
        cmocka_unit_test(two_records_on_one_local_header),
        cmocka_unit_test(sizes_that_reach_into_the_next_record),
        cmocka_unit_test(sizes_near_the_end_of_numbers),
        cmocka_unit_test(names),
        cmocka_unit_test(numbered_names),
        cmocka_unit_test(harmless_names_pass),
        cmocka_unit_test(a_directory_that_does_not_fit_its_entries),
        cmocka_unit_test(a_name_that_covers_other_entries),
        cmocka_unit_test(two_valid_end_records),
        cmocka_unit_test(bytes_before_or_within),
        cmocka_unit_test(too_many_bytes_after_the_end),
        cmocka_unit_test(files_that_are_not_zips),
        cmocka_unit_test(limits),
        cmocka_unit_test(truncated_at_every_length),
        cmocka_unit_test(every_byte_flipped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
