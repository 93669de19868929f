/* test_zip.c: valid archives: of torch, of Python's zipfile (stored, deflated, zip64, streamed),
 * with comments, with trailing bytes, empty; records fetched; positions of their parts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "failures.h"
#include "wire_samples.h"
#include "zip_bench.h"

static void open_good(struct bench *b)
{
    if (!bench_open(b, NULL))
        print_error("0x%llx %s\n", (unsigned long long)b->err.offset, b->err.text);
    assert_int_equal(b->err.code, HEFT_OK);
}

static void the_layout_of_torch(void **state)
{
    static const struct {
        const char *name;
        uint64_t data, size, end;
    } want[] = {{"root/data.pkl", 64, 290, 370}, {"root/byteorder", 448, 6, 470},
                {"root/data/0", 576, 24, 616},   {"root/data/1", 704, 12, 732},
                {"root/none", 832, 0, 832},      {"root/version", 896, 2, 914}};
    struct bench b;

    (void)state;
    bench_take(&b, sample_zip_torch, sizeof sample_zip_torch);
    open_good(&b);
    assert_int_equal(b.zip.count, HEFT_COUNT(want));
    assert_true(b.zip.zip64);
    assert_int_equal(b.zip.directory, b.directory);
    assert_int_equal(b.zip.tail, b.tail);
    assert_int_equal(b.zip.tail_size, 56 + 20 + 22);
    assert_int_equal(b.zip.trailing, 0);
    for (size_t i = 0; i < HEFT_COUNT(want); i++) {
        const struct heft_zip_entry *e = &b.zip.entries[i];

        assert_string_equal(e->name.p, want[i].name);
        assert_int_equal(e->header, bench_local(&b, i));
        assert_int_equal(e->data, want[i].data);
        assert_int_equal(e->size, want[i].size);
        assert_int_equal(e->packed, want[i].size);
        assert_int_equal(e->end, want[i].end);
        assert_false(e->is_folder);
        assert_int_equal(e->has_first, e->size > 0);
        assert_int_equal(e->first, e->size > 0 ? b.p[e->data] : 0);
    }
    bench_leave(&b);
}

static void expect_record(struct bench *b, const char *name, const void *want, size_t n)
{
    const struct heft_zip_entry *e = heft_zip_find(&b->zip, heft_str_of(name));
    struct heft_bytes got;
    uint64_t length;

    assert_non_null(e);
    assert_true(heft_zip_fetch(&b->src, e, 1000, true, &b->arena, &got, &b->err));
    assert_int_equal(got.n, n);
    assert_memory_equal(got.p, want, n);
    assert_true(heft_zip_check_descriptor(&b->src, e, &length, &b->err));
    assert_int_equal(length, e->end - e->data - e->packed);
}

static void archives_of_python(void **state)
{
    static const struct {
        const uint8_t *p;
        size_t n;
        int method;
    } samples[] = {{sample_zip_stored, sizeof sample_zip_stored, HEFT_ZIP_STORED},
                   {sample_zip_deflated, sizeof sample_zip_deflated, HEFT_ZIP_DEFLATED},
                   {sample_zip_stored_64, sizeof sample_zip_stored_64, HEFT_ZIP_STORED},
                   {sample_zip_stream, sizeof sample_zip_stream, HEFT_ZIP_STORED},
                   {sample_zip_stream_64, sizeof sample_zip_stream_64, HEFT_ZIP_DEFLATED}};
    char many[300];

    (void)state;
    memset(many, 'x', sizeof many);
    for (size_t i = 0; i < HEFT_COUNT(samples); i++) {
        struct bench b;

        bench_take(&b, samples[i].p, samples[i].n);
        open_good(&b);
        assert_int_equal(b.zip.count, 3);
        assert_int_equal(b.zip.entries[1].method, samples[i].method);
        assert_int_equal(b.zip.entries[1].has_first, samples[i].method == HEFT_ZIP_STORED);
        expect_record(&b, "root/a", "hello", 5);
        expect_record(&b, "root/B", many, sizeof many);
        expect_record(&b, "root/empty", "", 0);
        assert_null(heft_zip_find(&b.zip, HEFT_STR("root/b")));
        bench_leave(&b);
    }
}

static void descriptors_with_and_without_zip64(void **state)
{
    struct bench b;

    (void)state;
    bench_take(&b, sample_zip_stream, sizeof sample_zip_stream);
    open_good(&b);
    assert_int_equal(b.zip.entries[0].end - b.zip.entries[0].data, 5 + 16);
    bench_leave(&b);
    bench_take(&b, sample_zip_stream_64, sizeof sample_zip_stream_64);
    open_good(&b);
    assert_int_equal(b.zip.entries[0].end - b.zip.entries[0].data, b.zip.entries[0].packed + 24);
    bench_leave(&b);
}

/* The streamed archive without the signature of its first descriptor. */
static void a_descriptor_without_signature(void **state)
{
    uint8_t bytes[sizeof sample_zip_stream - 4];
    struct bench b;
    size_t cut;

    (void)state;
    bench_take(&b, sample_zip_stream, sizeof sample_zip_stream);
    cut = bench_local(&b, 1) - 16;
    memcpy(bytes, b.p, cut);
    memcpy(bytes + cut, b.p + cut + 4, sizeof bytes - cut);
    bench_leave(&b);
    bench_take(&b, bytes, sizeof bytes);
    heft_put_le32(b.p + b.end + 16, heft_le32(b.p + b.end + 16) - 4);
    b.directory -= 4;
    for (size_t i = 1; i < 3; i++)
        heft_put_le32(b.p + bench_central(&b, i) + 42, (uint32_t)bench_local(&b, i) - 4);
    open_good(&b);
    assert_int_equal(b.zip.entries[0].end - b.zip.entries[0].data, 5 + 12);
    expect_record(&b, "root/a", "hello", 5);
    bench_leave(&b);
}

static void a_wrong_descriptor_is_found_on_request(void **state)
{
    struct bench b;
    uint64_t length;

    (void)state;
    bench_take(&b, sample_zip_torch, sizeof sample_zip_torch);
    b.p[64 + 290 + 4] ^= 1;
    open_good(&b);
    assert_false(heft_zip_check_descriptor(&b.src, &b.zip.entries[0], &length, &b.err));
    assert_int_equal(b.err.code, HEFT_MALFORMED);
    assert_int_equal(b.err.offset, 64 + 290);
    bench_leave(&b);
}

static void a_comment_and_trailing_bytes(void **state)
{
    uint8_t bytes[sizeof sample_zip_stored + 7 + 65000];
    struct bench b;

    (void)state;
    memcpy(bytes, sample_zip_stored, sizeof sample_zip_stored);
    memset(bytes + sizeof sample_zip_stored, 'P', sizeof bytes - sizeof sample_zip_stored);
    bytes[sizeof sample_zip_stored - 2] = 7;
    bench_take(&b, bytes, sizeof bytes);
    open_good(&b);
    assert_int_equal(b.zip.tail_size, 22 + 7);
    assert_int_equal(b.zip.trailing, 65000);
    assert_false(b.zip.zip64);
    bench_leave(&b);
}

static void an_empty_archive(void **state)
{
    static const uint8_t bytes[22] = {'P', 'K', 5, 6};
    struct bench b;

    (void)state;
    bench_take(&b, bytes, sizeof bytes);
    open_good(&b);
    assert_int_equal(b.zip.count, 0);
    assert_null(heft_zip_find(&b.zip, HEFT_STR("")));
    bench_leave(&b);
}

static void entries_in_another_order_than_the_file(void **state)
{
    struct bench b;
    uint8_t first[46 + 6], second[46 + 6];

    (void)state;
    bench_take(&b, sample_zip_stored, sizeof sample_zip_stored);
    memcpy(first, b.p + bench_central(&b, 0), sizeof first);
    memcpy(second, b.p + bench_central(&b, 1), sizeof second);
    memcpy(b.p + b.directory, second, sizeof second);
    memcpy(b.p + b.directory + sizeof second, first, sizeof first);
    open_good(&b);
    assert_string_equal(b.zip.entries[0].name.p, "root/B");
    expect_record(&b, "root/a", "hello", 5);
    bench_leave(&b);
}

static void fetching_checks_size_and_checksum(void **state)
{
    struct heft_bytes got;
    struct bench b;

    (void)state;
    bench_take(&b, sample_zip_stored, sizeof sample_zip_stored);
    b.p[bench_local(&b, 0) + 30 + 6] ^= 1;
    open_good(&b);
    assert_false(heft_zip_fetch(&b.src, &b.zip.entries[0], 4, true, &b.arena, &got, &b.err));
    assert_int_equal(b.err.code, HEFT_LIMIT);
    assert_string_equal(b.err.text, "record root/a: 5 bytes, the limit is 4");
    assert_false(heft_zip_fetch(&b.src, &b.zip.entries[0], 5, true, &b.arena, &got, &b.err));
    assert_int_equal(b.err.code, HEFT_MISMATCH);
    assert_int_equal(b.err.offset, b.zip.entries[0].data);
    assert_true(heft_zip_fetch(&b.src, &b.zip.entries[0], 5, false, &b.arena, &got, &b.err));
    b.zip.entries[0].crc = 0; /* 0: no checksum was computed */
    assert_true(heft_zip_fetch(&b.src, &b.zip.entries[0], 5, true, &b.arena, &got, &b.err));
    bench_leave(&b);
}

/* A stream with more or fewer bytes than declared, truncated, or with bytes after its end. */
static void bad_deflate_streams(void **state)
{
    struct heft_zip_entry e;
    struct heft_bytes got;
    struct bench b;

    (void)state;
    bench_take(&b, sample_zip_deflated, sizeof sample_zip_deflated);
    open_good(&b);
    for (unsigned i = 0; i < 5; i++) {
        e = b.zip.entries[1];
        e.size -= i == 0;
        e.size += i == 1;
        e.packed -= i == 2;
        e.packed += i == 3;
        e.data += i == 4;
        assert_false(heft_zip_fetch(&b.src, &e, 1000, true, &b.arena, &got, &b.err));
        assert_true(b.err.code == HEFT_MALFORMED || b.err.code == HEFT_MISMATCH);
        assert_true(b.err.offset == e.data);
    }
    e = b.zip.entries[1];
    e.size--;
    assert_false(heft_zip_fetch(&b.src, &e, 1000, true, &b.arena, &got, &b.err));
    assert_string_equal(b.err.text,
                        "record root/B: the deflate stream gives more than the 299 bytes declared");
    e.size += 2;
    assert_false(heft_zip_fetch(&b.src, &e, 1000, true, &b.arena, &got, &b.err));
    assert_string_equal(b.err.text,
                        "record root/B: the deflate stream gives 300 bytes, 301 are declared");
    bench_leave(&b);
}

/* ---- records beyond 4 GiB: zip64 fields, descriptors of 24 bytes, in a file that is a hole  */

#define FAR (UINT64_C(5) << 30) /* size of the first payload */

/* Bytes of the file without that payload, whose offset is `hole`. */
struct far {
    uint8_t bytes[512];
    size_t n, hole;
};

static bool far_read(const struct heft_source *src, uint64_t off, void *dst, size_t n,
                     struct heft_error *err)
{
    const struct far *far = src->self;
    uint8_t *out = dst;

    (void)err;
    for (uint64_t at = off; at < off + n; at++) {
        if (at < far->hole)
            *out++ = far->bytes[at];
        else
            *out++ = at < far->hole + FAR ? 0 : far->bytes[at - FAR];
    }
    return true;
}

/* Local headers as torch writes them: a zip64 field with the size and 0, and a descriptor with
 * 64-bit sizes. */
static void far_put_locals(struct far *far)
{
    uint8_t *p = far->bytes;

    heft_put_le32(p, 0x04034B50);
    heft_put_le16(p + 6, 0x0808);
    heft_put_le16(p + 26, 3);
    heft_put_le16(p + 28, 20);
    memcpy(p + 30, "r/0", 3);
    heft_put_le16(p + 33, 1);
    heft_put_le16(p + 35, 16);
    heft_put_le64(p + 37, FAR);
    far->hole = 53;
    p += 53;
    heft_put_le32(p, 0x08074B50);
    heft_put_le64(p + 8, FAR);
    heft_put_le64(p + 16, FAR);
    p += 24;
    heft_put_le32(p, 0x04034B50);
    heft_put_le16(p + 6, 0x0800);
    heft_put_le16(p + 26, 3);
    memcpy(p + 30, "r/1", 3);
    far->n = 53 + 24 + 33;
}

/* Directory in which one record has its sizes in the zip64 field, the other its offset. */
static void far_put_directory(struct far *far)
{
    uint8_t *p = far->bytes + far->n;

    heft_put_le32(p, 0x02014B50);
    heft_put_le16(p + 8, 0x0808);
    heft_put_le32(p + 20, UINT32_MAX);
    heft_put_le32(p + 24, UINT32_MAX);
    heft_put_le16(p + 28, 3);
    heft_put_le16(p + 30, 20);
    memcpy(p + 46, "r/0", 3);
    heft_put_le16(p + 49, 1);
    heft_put_le16(p + 51, 16);
    heft_put_le64(p + 53, FAR);
    heft_put_le64(p + 61, FAR);
    p += 69;
    heft_put_le32(p, 0x02014B50);
    heft_put_le16(p + 8, 0x0800);
    heft_put_le16(p + 28, 3);
    heft_put_le16(p + 30, 12);
    heft_put_le32(p + 42, UINT32_MAX);
    memcpy(p + 46, "r/1", 3);
    heft_put_le16(p + 49, 1);
    heft_put_le16(p + 51, 8);
    heft_put_le64(p + 53, FAR + 53 + 24);
    far->n += 69 + 61;
}

static void far_put_end(struct far *far, uint64_t directory)
{
    uint8_t *p = far->bytes + far->n;

    heft_put_le32(p, 0x06064B50);
    heft_put_le64(p + 4, 44);
    heft_put_le64(p + 24, 2);
    heft_put_le64(p + 32, 2);
    heft_put_le64(p + 40, 130);
    heft_put_le64(p + 48, directory);
    heft_put_le32(p + 56, 0x07064B50);
    heft_put_le64(p + 64, directory + 130);
    heft_put_le32(p + 72, 1);
    heft_put_le32(p + 76, 0x06054B50);
    heft_put_le16(p + 84, 2);
    heft_put_le16(p + 86, 2);
    heft_put_le32(p + 88, 130);
    heft_put_le32(p + 92, UINT32_MAX);
    far->n += 98;
}

static void records_beyond_four_gigabytes(void **state)
{
    static const struct heft_source_ops ops = {.read = far_read};
    struct far far = {0};
    struct bench b = {0};

    (void)state;
    far_put_locals(&far);
    far_put_directory(&far);
    far_put_end(&far, FAR + 53 + 24 + 33);
    b.src = (struct heft_source){
        .ops = &ops, .self = &far, .size = far.n + FAR, .fd = -1, .label = "far"};
    assert_true(heft_zip_open(&b.zip, &b.src, NULL, &b.arena, &b.err));
    assert_int_equal(b.zip.entries[0].data, 53);
    assert_true(b.zip.entries[0].size == FAR);
    assert_true(b.zip.entries[0].end == 53 + FAR + 24);
    assert_true(b.zip.entries[1].header == FAR + 53 + 24);
    assert_true(b.zip.entries[1].data == FAR + 53 + 24 + 33);
    heft_arena_release(&b.arena);
}

/* Archive too large to be read whole: one stored record of ZEROS bytes with a descriptor, whose
 * local header has the extra fields `fields`: pairs of id and length, terminated by id 0. `stray`:
 * number of bytes after the last field; negative if it is truncated. */
#define ZEROS 9000

struct extra {
    uint16_t id, n;
};

static void put_record(struct heft_buf *out, uint32_t signature, uint64_t extra_n)
{
    static const uint8_t zeros[64] = {0};
    const size_t head = signature == 0x04034B50 ? 30 : 46, at = out->n;
    /* central entries have the field "version made by" first */
    const size_t shift = head > 30 ? 2 : 0;

    heft_buf_put(out, zeros, head);
    heft_put_le32((uint8_t *)out->p + at, signature);
    heft_put_le16((uint8_t *)out->p + at + 6 + shift, 8); /* a descriptor follows */
    if (shift) {
        heft_put_le32((uint8_t *)out->p + at + 20, ZEROS);
        heft_put_le32((uint8_t *)out->p + at + 24, ZEROS);
    }
    heft_put_le16((uint8_t *)out->p + at + 26 + shift, 1);
    heft_put_le16((uint8_t *)out->p + at + 28 + shift, (uint16_t)extra_n);
    heft_buf_char(out, 'r');
}

static void put_extra(struct heft_buf *out, const struct extra *fields, int stray)
{
    uint8_t head[4];

    for (; fields->id; fields++) {
        const bool last = fields[1].id == 0;

        heft_put_le16(head, fields->id);
        heft_put_le16(head + 2, fields->n);
        heft_buf_put(out, head, 4);
        for (int i = 0; i < fields->n + (last ? stray : 0); i++)
            heft_buf_char(out, 0);
    }
}

static void make_extra(struct bench *b, const struct extra *fields, int stray)
{
    struct heft_buf out = {0}, extra = {0};
    uint8_t end[22] = {0x50, 0x4B, 5, 6};

    put_extra(&extra, fields, stray);
    put_record(&out, 0x04034B50, extra.n);
    heft_buf_put(&out, extra.p, extra.n);
    for (int i = 0; i < ZEROS + 24; i++)
        heft_buf_char(&out, 0);
    heft_put_le16(end + 8, 1);
    heft_put_le16(end + 10, 1);
    heft_put_le32(end + 12, 47);
    heft_put_le32(end + 16, (uint32_t)out.n);
    put_record(&out, 0x02014B50, 0);
    heft_buf_put(&out, end, sizeof end);
    assert_true(heft_buf_ok(&out, &b->err));
    bench_take(b, (const uint8_t *)out.p, out.n);
    heft_buf_release(&out);
    heft_buf_release(&extra);
}

/* Size of the bytes after the payload: 24 if the local header has a zip64 field, else 16. */
static void extra_fields_of_any_length(void **state)
{
    static const struct {
        struct extra fields[4];
        int stray;
        unsigned after; /* 0: neither size is valid */
    } cases[] = {
        {{{0x4246, 100}}, 0, 16},
        {{{0x4246, 20}, {0x4246, 3}}, 0, 16},
        {{{1, 8}, {0x4246, 100}}, 0, 24},
        {{{1, 24}, {0x4246, 0}}, 0, 24},
        {{{1, 24}, {0x4246, 8000}}, 0, 24},
        {{{0x4246, 100}, {1, 8}}, 0, 24},
        {{{0x4246, 20}, {1, 16}}, 0, 24},
        {{{0x4246, 20}, {7, 1}, {1, 16}}, 0, 24},
        {{{7, 40}, {0x4246, 100}}, 3, 16},
        {{{1, 8}, {0x4246, 100}}, 3, 24},
        {{{1, 40}}, 0, 24},
        {{{0x4246, 100}}, 4, 16}, /* an empty extra field */
        {{{0x4246, 100}}, -1, 0},
        {{{1, 8}, {0x4246, 100}}, -1, 0},
        {{{1, 8}, {1, 8}, {0x4246, 100}}, 0, 0},
        {{{1, 8}, {0x4246, 100}, {1, 8}}, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(cases); i++) {
        struct bench b = {0};

        make_extra(&b, cases[i].fields, cases[i].stray);
        assert_int_equal(bench_open(&b, NULL), cases[i].after > 0);
        if (cases[i].after) {
            assert_int_equal(b.zip.entries[0].end, b.zip.entries[0].data + ZEROS + cases[i].after);
            assert_true(!b.zip.entries[0].has_first || b.zip.entries[0].data < 130);
        } else {
            assert_int_equal(b.err.code, HEFT_MALFORMED);
            assert_int_equal(b.err.offset, 31);
        }
        bench_leave(&b);
    }
}

/* ---- a directory in pieces ------------------------------------------------------------------- */

#define LONG    200 /* empty records with comments */
#define COMMENT 64999
#define ENTRY   (46 + 4 + COMMENT)

static void make_long(struct bench *b, unsigned told)
{
    struct heft_buf out = {0};
    uint8_t head[46], end[22] = {0x50, 0x4B, 5, 6};
    char name[8];
    size_t directory;

    for (unsigned i = 0; i < LONG; i++) {
        memset(head, 0, sizeof head);
        heft_put_le32(head, 0x04034B50);
        head[26] = 4;
        snprintf(name, sizeof name, "r%03u", i);
        heft_buf_put(&out, head, 30);
        heft_buf_text(&out, name);
    }
    directory = out.n;
    for (unsigned i = 0; i < LONG; i++) {
        memset(head, 0, sizeof head);
        heft_put_le32(head, 0x02014B50);
        head[28] = 4;
        heft_put_le16(head + 32, COMMENT);
        heft_put_le32(head + 42, 34 * i);
        snprintf(name, sizeof name, "r%03u", i);
        heft_buf_put(&out, head, 46);
        heft_buf_text(&out, name);
        for (unsigned n = 0; n < COMMENT; n++)
            heft_buf_char(&out, 'P');
    }
    heft_put_le16(end + 8, (uint16_t)told);
    heft_put_le16(end + 10, (uint16_t)told);
    heft_put_le32(end + 12, (uint32_t)(out.n - directory));
    heft_put_le32(end + 16, (uint32_t)directory);
    heft_buf_put(&out, end, sizeof end);
    assert_true(heft_buf_ok(&out, &b->err));
    bench_take(b, (const uint8_t *)out.p, out.n);
    heft_buf_release(&out);
}

/* Directory of 13 MB: entries at the boundaries of the window are read like the others, and errors
 * in them are reported. */
static void a_long_directory(void **state)
{
    struct bench b;

    (void)state;
    make_long(&b, LONG);
    assert_true(bench_open(&b, NULL));
    assert_int_equal(b.zip.count, LONG);
    for (unsigned i = 0; i < LONG; i++)
        assert_int_equal(b.zip.entries[i].header, 34 * i);
    heft_arena_release(&b.arena);
    for (unsigned i = 0; i < LONG; i += 7) {
        const size_t at = b.directory + (size_t)i * ENTRY;

        b.err = (struct heft_error){0};
        b.p[at] ^= 1;
        assert_false(bench_open(&b, NULL));
        assert_int_equal(b.err.offset, at);
        heft_arena_release(&b.arena);
        b.p[at] ^= 1;
    }
    bench_leave(&b);
    make_long(&b, LONG - 1);
    assert_false(bench_open(&b, NULL));
    assert_int_equal(b.err.offset, b.directory + (size_t)(LONG - 1) * ENTRY);
    bench_leave(&b);
    make_long(&b, LONG + 1);
    assert_false(bench_open(&b, NULL));
    assert_int_equal(b.err.offset, b.tail);
    bench_leave(&b);
}

static void every_failing_allocation_is_reported(void **state)
{
    (void)state;
    for (struct failures fail = {.most = 100}; !fail.done;) {
        struct heft_bytes got;
        struct bench b;

        bench_take(&b, sample_zip_deflated, sizeof sample_zip_deflated);
        FAIL_ALLOCATION(&fail,
                        bench_open(&b, NULL) && heft_zip_fetch(&b.src, &b.zip.entries[1], 1000,
                                                               true, &b.arena, &got, &b.err),
                        &b.err);
        bench_leave(&b);
    }
}

/* heft_zip_lists finds a name only in a directory entry, not in other bytes. */
static void a_name_outside_a_directory_entry_is_not_found(void **state)
{
    uint8_t part[128] = "some text, a/archive_format";
    const struct heft_bytes whole = {part, sizeof part};

    (void)state;
    assert_false(heft_zip_lists(whole, "/archive_format"));
    memcpy(part + 60, "PK\1\2", 4);
    part[60 + 28] = 16;
    memcpy(part + 60 + 46, "a/archive_format", 16);
    assert_true(heft_zip_lists(whole, "/archive_format"));
    assert_false(heft_zip_lists(whole, "/archive_forma"));
    assert_false(heft_zip_lists((struct heft_bytes){part, 60 + 46 + 15}, "/archive_format"));
    assert_false(heft_zip_lists((struct heft_bytes){part, 0}, "/archive_format"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_layout_of_torch),
        cmocka_unit_test(archives_of_python),
        cmocka_unit_test(descriptors_with_and_without_zip64),
        cmocka_unit_test(a_descriptor_without_signature),
        cmocka_unit_test(a_wrong_descriptor_is_found_on_request),
        cmocka_unit_test(a_comment_and_trailing_bytes),
        cmocka_unit_test(an_empty_archive),
        cmocka_unit_test(a_long_directory),
        cmocka_unit_test(entries_in_another_order_than_the_file),
        cmocka_unit_test(fetching_checks_size_and_checksum),
        cmocka_unit_test(bad_deflate_streams),
        cmocka_unit_test(records_beyond_four_gigabytes),
        cmocka_unit_test(extra_fields_of_any_length),
        cmocka_unit_test(every_failing_allocation_is_reported),
        cmocka_unit_test(a_name_outside_a_directory_entry_is_not_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
