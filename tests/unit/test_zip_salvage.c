/* test_zip_salvage.c: salvage of truncated or damaged archives: every intact record is found at its
 * offset, and no others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "failures.h"
#include "base/checksum.h"
#include "wire_samples.h"
#include "zip_bench.h"

static const struct {
    const char *name;
    const uint8_t *p;
    size_t n;
} samples[] = {
    {"torch", sample_zip_torch, sizeof sample_zip_torch},
    {"stored", sample_zip_stored, sizeof sample_zip_stored},
    {"deflated", sample_zip_deflated, sizeof sample_zip_deflated},
    {"stored_64", sample_zip_stored_64, sizeof sample_zip_stored_64},
    {"stream", sample_zip_stream, sizeof sample_zip_stream},
    {"stream_64", sample_zip_stream_64, sizeof sample_zip_stream_64},
};

/* Salvages the first n bytes of the archive. */
static bool salvage(struct bench *b, size_t n, struct heft_zip *out, struct heft_error *why)
{
    b->err = *why = (struct heft_error){0};
    heft_source_open_memory(&b->src, (struct heft_bytes){b->p, n}, "sample");
    return heft_zip_salvage(out, &b->src, NULL, &b->arena, why, &b->err);
}

static void take_good(struct bench *b, size_t sample)
{
    bench_take(b, samples[sample].p, samples[sample].n);
    assert_true(bench_open(b, NULL));
}

static const struct heft_zip_entry *find_at(const struct heft_zip *zip, uint64_t header)
{
    for (size_t i = 0; i < zip->count; i++)
        if (zip->entries[i].header == header)
            return &zip->entries[i];
    return NULL;
}

static bool is_whole(const struct heft_zip_entry *found, const struct heft_zip_entry *want)
{
    return found && (found->fault == HEFT_ZIP_SOUND || found->fault == HEFT_ZIP_MENDED) &&
           found->data == want->data && found->packed == want->packed &&
           found->size == want->size && found->method == want->method;
}

/* For every archive: a record that ends before the cut is intact, a record that contains the cut is
 * open, a record after it is absent. */
static void every_truncation(void **state)
{
    (void)state;
    for (size_t s = 0; s < HEFT_COUNT(samples); s++) {
        struct bench b;

        take_good(&b, s);
        for (size_t n = 0; n < b.n; n++) {
            struct heft_zip zip = {0};
            struct heft_error why;
            const bool ok = salvage(&b, n, &zip, &why);

            assert_int_equal(why.code, HEFT_MALFORMED);
            for (size_t i = 0; i < b.zip.count; i++) {
                const struct heft_zip_entry *want = &b.zip.entries[i];
                const struct heft_zip_entry *found = ok ? find_at(&zip, want->header) : NULL;

                if (want->end <= n) {
                    assert_true(is_whole(found, want));
                    assert_string_equal(found->name.p, want->name.p);
                    assert_int_equal(found->crc, want->crc);
                } else if (want->data <= n) {
                    assert_non_null(found);
                    assert_int_equal(found->fault, HEFT_ZIP_OPEN);
                    assert_int_equal(found->packed, n - want->data);
                } else {
                    assert_null(found);
                }
            }
        }
        bench_leave(&b);
    }
}

/* Compares payload offsets: a damaged directory may have another offset of the header. */
static bool has_payload(const struct heft_zip *zip, const struct heft_zip_entry *want)
{
    for (size_t i = 0; i < zip->count; i++)
        if (is_whole(&zip->entries[i], want))
            return true;
    return want->size == 0;
}

static void expect_all(struct bench *b, const char *what, size_t at)
{
    struct heft_zip zip;
    struct heft_error why;

    if (!salvage(b, b->n, &zip, &why))
        fail_msg("%s at %zu: %s", what, at, b->err.text);
    for (size_t i = 0; i < b->zip.count; i++)
        if (!has_payload(&zip, &b->zip.entries[i]))
            fail_msg("%s at %zu: %s is not intact", what, at, b->zip.entries[i].name.p);
}

/* One bit of the directory or of the end records flipped: all records are found by walking the
 * local headers. */
static void every_flip_of_the_directory(void **state)
{
    (void)state;
    for (size_t s = 0; s < HEFT_COUNT(samples); s++) {
        struct bench b;

        take_good(&b, s);
        for (size_t at = b.directory; at < b.n; at++) {
            for (unsigned bit = 0; bit < 8; bit++) {
                b.p[at] ^= (uint8_t)(1U << bit);
                expect_all(&b, samples[s].name, at);
                b.p[at] ^= (uint8_t)(1U << bit);
            }
        }
        bench_leave(&b);
    }
}

/* One bit of a local header, name or padding flipped: the payload is found by the directory and the
 * descriptor; without a descriptor its size is counted back from the next record. */
static void every_flip_of_a_local_header(void **state)
{
    (void)state;
    for (size_t s = 0; s < HEFT_COUNT(samples); s++) {
        struct bench b;

        take_good(&b, s);
        for (size_t i = 0; i < b.zip.count; i++) {
            const struct heft_zip_entry *e = &b.zip.entries[i];

            for (size_t at = (size_t)e->header; e->size && at < e->data; at++) {
                /* without a descriptor, a smaller length of the extra fields cannot be detected */
                if (at - e->header - 28 < 2 && e->end == e->data + e->packed)
                    continue;
                b.p[at] ^= 0x01;
                expect_all(&b, samples[s].name, at);
                b.p[at] ^= 0x01;
            }
        }
        bench_leave(&b);
    }
}

/* Header and descriptor of a record overwritten, so that only the directory mentions it: this
 * record is lost, the others are not. */
static void a_record_known_only_to_the_directory(void **state)
{
    struct heft_error why;
    struct heft_zip zip;
    struct bench b;
    size_t at;

    (void)state;
    take_good(&b, 0);
    at = (size_t)b.zip.entries[2].header;
    memset(b.p + at, 0xEE, (size_t)(b.zip.entries[2].end - at));
    assert_true(salvage(&b, b.n, &zip, &why));
    for (size_t i = 0; i < zip.count; i++)
        assert_int_equal(zip.entries[i].fault, i == 2 ? HEFT_ZIP_LOST : HEFT_ZIP_SOUND);
    assert_int_equal(zip.entries[2].packed, 0);
    bench_leave(&b);
}

/* ---- payloads that look like zips ------------------------------------------------------------ */

static void put_header(struct heft_buf *out, const char *name)
{
    static const uint8_t head[] = {'P', 'K', 3, 4, 0, 0, 0x08, 0x08, 0, 0, 0, 0, 0, 0, 0,
                                   0,   0,   0, 0, 0, 0, 0,    0,    0, 0, 0, 0, 0, 0, 0};
    const size_t at = out->n;

    heft_buf_put(out, head, sizeof head);
    heft_buf_text(out, name);
    out->p[at + 26] = (char)strlen(name);
}

static void put_descriptor(struct heft_buf *out, uint32_t crc, size_t size)
{
    uint8_t bytes[16] = {'P', 'K', 7, 8};

    heft_put_le32(bytes + 4, crc);
    heft_put_le32(bytes + 8, (uint32_t)size);
    heft_put_le32(bytes + 12, (uint32_t)size);
    heft_buf_put(out, bytes, sizeof bytes);
}

/* A record whose payload contains a truncated archive with the same names, descriptors with wrong
 * sizes, and one with the right size and a wrong checksum. */
static size_t put_disguised(struct heft_buf *out)
{
    size_t begin;

    put_header(out, "a/data/0");
    begin = out->n;
    put_header(out, "a/data/1");
    heft_buf_text(out, "inner");
    put_descriptor(out, 0, 5);
    put_header(out, "a/data/2");
    heft_buf_text(out, "in");
    put_descriptor(out, 77, out->n - begin + 1);
    put_descriptor(out, 77, out->n - begin);
    heft_buf_text(out, "not the end");
    put_descriptor(out, heft_crc32(0, out->p + begin, out->n - begin), out->n - begin);
    return begin;
}

static void payloads_that_look_like_zips(void **state)
{
    struct heft_buf file = {0};
    struct heft_arena arena = {0};
    struct heft_error why = {0}, err = {0};
    struct heft_source src;
    struct heft_zip zip;
    size_t begin, end;

    (void)state;
    begin = put_disguised(&file);
    end = file.n - 16;
    put_header(&file, "a/data/1");
    heft_buf_text(&file, "outer");
    put_descriptor(&file, 0, 5);
    heft_source_open_memory(&src, (struct heft_bytes){(uint8_t *)file.p, file.n}, "disguised");
    assert_true(heft_zip_salvage(&zip, &src, NULL, &arena, &why, &err));
    assert_int_equal(zip.count, 2);
    assert_int_equal(zip.entries[0].data, begin);
    assert_int_equal(zip.entries[0].packed, end - begin);
    assert_int_equal(zip.entries[1].packed, 5);
    assert_memory_equal(file.p + zip.entries[1].data, "outer", 5);
    /* Truncated inside this payload: no record inside it is reported. */
    for (size_t n = begin; n < end + 16; n++) {
        heft_source_open_memory(&src, (struct heft_bytes){(uint8_t *)file.p, n}, "disguised");
        assert_true(heft_zip_salvage(&zip, &src, NULL, &arena, &why, &err));
        assert_int_equal(zip.count, 1);
        assert_int_equal(zip.entries[0].fault, HEFT_ZIP_OPEN);
    }
    heft_arena_release(&arena);
    heft_buf_release(&file);
}

/* A download into a file of full size, with zeros after the bytes received so far. The checksum
 * proves the last record intact. */
static void a_tail_of_zeros(void **state)
{
    struct heft_error why;
    struct heft_zip zip;
    struct bench b;

    (void)state;
    take_good(&b, 0);
    memset(b.p + b.zip.entries[2].end, 0, b.n - (size_t)b.zip.entries[2].end);
    assert_true(salvage(&b, b.n, &zip, &why));
    assert_int_equal(zip.count, 3);
    assert_true(is_whole(&zip.entries[2], &b.zip.entries[2]));
    /* damages the descriptor, so that nothing proves the record intact */
    memset(b.p + b.zip.entries[2].end - 1, 1, 1);
    assert_true(salvage(&b, b.n, &zip, &why));
    assert_int_equal(zip.entries[2].fault, HEFT_ZIP_OPEN);
    bench_leave(&b);
}

static void limits_hold_for_walks(void **state)
{
    const struct heft_zip_limits few = {.entries = 2};
    struct heft_error why = {0};
    struct heft_zip zip;
    struct bench b;

    (void)state;
    take_good(&b, 0);
    heft_source_open_memory(&b.src, (struct heft_bytes){b.p, b.directory}, "sample");
    assert_false(heft_zip_salvage(&zip, &b.src, &few, &b.arena, &why, &b.err));
    assert_int_equal(b.err.code, HEFT_LIMIT);
    bench_leave(&b);
}

static void every_failing_allocation_is_reported(void **state)
{
    (void)state;
    for (struct failures fail = {.most = 10000}; !fail.done;) {
        struct heft_error why;
        struct heft_zip zip;
        struct bench b;

        bench_take(&b, sample_zip_torch, sizeof sample_zip_torch);
        FAIL_ALLOCATION(&fail, salvage(&b, b.directory, &zip, &why), &b.err);
        bench_leave(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_truncation),
        cmocka_unit_test(every_flip_of_the_directory),
        cmocka_unit_test(every_flip_of_a_local_header),
        cmocka_unit_test(a_record_known_only_to_the_directory),
        cmocka_unit_test(payloads_that_look_like_zips),
        cmocka_unit_test(a_tail_of_zeros),
        cmocka_unit_test(limits_hold_for_walks),
        cmocka_unit_test(every_failing_allocation_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
