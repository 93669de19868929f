/* test_torch_stream.c: legacy streams (consecutive pickles and storages) beyond the golden files:
 * windows that grow, limits, failed allocations, signatures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failures.h"
#include "fixture.h"
#include "format/torch/pickle/torch_parts.h"

extern const struct heft_format heft_format_torch_legacy, heft_format_torch_tar, heft_format_pickle;

#define MAGIC   "\x80\2\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19."
#define VERSION "\x80\2M\xe9\3."
#define SYSTEM  "\x80\2}."
#define FRONT   MAGIC VERSION SYSTEM
/* Persistent id of a storage of two floats with key 1. */
#define ID                                                                                         \
    "(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0"                                             \
    "1X\3\0\0\0cpuK\2NtQ"
#define KEYS "\x80\2]X\1\0\0\0001a."
#define DATA "\2\0\0\0\0\0\0\0\0\0\x80?\0\0\0@"

#define OPEN(f, format, text)                                                                      \
    open_whole(f, format, (struct heft_bytes){(const uint8_t *)(text), sizeof(text) - 1})

static void open_whole(struct fixture *f, const struct heft_format *format, struct heft_bytes bytes)
{
    *f = (struct fixture){0};
    open_bytes(f, format, bytes, NULL);
}

/* Reads a file of tests/golden into the heap. */
static uint8_t *golden(const char *name, size_t *n)
{
    char path[512];
    uint8_t *bytes;
    FILE *file;
    long size;

    snprintf(path, sizeof path, HEFT_TESTS "/golden/%s", name);
    file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0)
        fail_msg("%s", path);
    size = ftell(file);
    rewind(file);
    bytes = malloc((size_t)size);
    assert_non_null(bytes);
    *n = fread(bytes, 1, (size_t)size, file);
    assert_int_equal(*n, size);
    fclose(file);
    return bytes;
}

/* ---- windows ----------------------------------------------------------------------------- */

/* Appends a pickle of a list: `items` integers of two bytes each, then a text of `text` bytes. */
static void put_pickle(struct heft_buf *out, size_t items, size_t text)
{
    uint8_t length[4] = {(uint8_t)text, (uint8_t)(text >> 8), (uint8_t)(text >> 16), 0};

    heft_buf_text(out, "\x80\2](");
    for (size_t i = 0; i < items; i++)
        heft_buf_text(out, "K\7");
    heft_buf_char(out, 'X');
    heft_buf_put(out, length, 4);
    for (size_t i = 0; i < text; i++)
        heft_buf_char(out, '.'); /* '.' would be STOP if it were read as an opcode */
    heft_buf_text(out, "e.");
}

static void windows_grow_until_the_pickle_is_whole(void **state)
{
    static const size_t sizes[][2] = {{0, 0}, {5, 1}, {9, 5000}, {3000, 7}, {100, 70000}};

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(sizes); i++)
        for (uint64_t first = 1; first < 200000; first = 3 * first + 1) {
            struct heft_buf bytes = {0};
            struct heft_arena mem = {0};
            struct heft_error err = {0};
            struct heft_source source;
            struct heft_pickle pickle;
            struct heft_pickle_place place = {
                .off = 3, .base = 1000, .first = first, .cap = 1 << 20};
            size_t length;

            heft_buf_text(&bytes, "abc");
            put_pickle(&bytes, sizes[i][0], sizes[i][1]);
            length = bytes.n - 3;
            heft_buf_text(&bytes, "and what follows");
            place.end = bytes.n;
            heft_source_open_memory(&source, (struct heft_bytes){(const uint8_t *)bytes.p, bytes.n},
                                    "bytes");
            assert_true(heft_pickle_read(&pickle, &source, &place, NULL, &mem, &err));
            assert_int_equal(pickle.length, length);
            assert_int_equal(pickle.data.n, length);
            assert_int_equal(heft_pickle_count(&pickle, pickle.root), sizes[i][0] + 1);
            heft_arena_release(&mem);
            heft_buf_release(&bytes);
        }
}

static void errors_in_windows_have_offsets_of_the_file(void **state)
{
    static const uint8_t bytes[] = "abc\x80\2K\1\xff";
    const struct heft_pickle_place cut = {3, 7, 100, 2, 1 << 20}, bad = {3, 8, 100, 1, 1 << 20},
                                   nowhere = {3, 8, HEFT_NO_OFFSET, 1, 1 << 20},
                                   capped = {3, 8, 100, 1, 2};
    const struct {
        const struct heft_pickle_place *place;
        enum heft_code code;
        uint64_t offset;
    } cases[] = {{&cut, HEFT_MALFORMED, 107},
                 {&bad, HEFT_MALFORMED, 107},
                 {&nowhere, HEFT_MALFORMED, HEFT_NO_OFFSET},
                 {&capped, HEFT_LIMIT, 103}};
    struct heft_source source;

    (void)state;
    heft_source_open_memory(&source, (struct heft_bytes){bytes, sizeof bytes - 1}, "bytes");
    for (size_t i = 0; i < HEFT_COUNT(cases); i++) {
        struct heft_arena mem = {0};
        struct heft_error err = {0};
        struct heft_pickle pickle;

        assert_false(heft_pickle_read(&pickle, &source, cases[i].place, NULL, &mem, &err));
        assert_int_equal(err.code, cases[i].code);
        assert_int_equal(err.offset, cases[i].offset);
        heft_arena_release(&mem);
    }
}

static void limits_hold_for_pickles_in_a_row(void **state)
{
    const struct heft_limits limits = {.size = sizeof limits, .pickle = 64};
    struct heft_buf bytes = {0};
    struct fixture f;

    (void)state;
    heft_buf_put(&bytes, FRONT, sizeof FRONT - 1);
    put_pickle(&bytes, 100, 0);
    f = (struct fixture){0};
    open_bytes(&f, &heft_format_torch_legacy,
               (struct heft_bytes){(const uint8_t *)bytes.p, bytes.n}, &limits);
    assert_false(f.opened);
    assert_int_equal(f.err.code, HEFT_LIMIT);
    assert_int_equal(f.err.offset, sizeof FRONT - 1);
    assert_non_null(strstr(f.err.text, "limits.pickle"));
    close_fixture(&f);
    heft_buf_release(&bytes);
}

/* ---- heads ------------------------------------------------------------------------------- */

static enum heft_torch_peek peek(const char *text, size_t n, uint64_t size)
{
    return heft_torch_peek((struct heft_bytes){(const uint8_t *)text, n}, size);
}
#define PEEK(text) peek(text, sizeof(text) - 1, sizeof(text) - 1)

static void signatures_are_recognised_by_running_the_pickles(void **state)
{
    char lines[4096];

    (void)state;
    assert_int_equal(PEEK(""), HEFT_TORCH_NO_PICKLE);
    assert_int_equal(PEEK("hello\n"), HEFT_TORCH_NO_PICKLE);
    assert_int_equal(PEEK("N."), HEFT_TORCH_WHOLE_PICKLE);
    assert_int_equal(PEEK("N. B. is no pickle"), HEFT_TORCH_NO_PICKLE);
    assert_int_equal(PEEK("\x80\2N. and more"), HEFT_TORCH_WHOLE_PICKLE);
    assert_int_equal(PEEK("\x80\2](K"), HEFT_TORCH_PERHAPS_PICKLE);
    assert_int_equal(PEEK("\x80\6N."), HEFT_TORCH_NO_PICKLE);
    assert_int_equal(PEEK(MAGIC), HEFT_TORCH_MAGIC);
    assert_int_equal(PEEK(MAGIC VERSION), HEFT_TORCH_MAGIC);
    assert_int_equal(PEEK("L119547037146038801333356L\n.rest"), HEFT_TORCH_MAGIC);
    assert_int_equal(PEEK("\x80\4\x95\x0d\0\0\0\0\0\0\0\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19."),
                     HEFT_TORCH_MAGIC);
    assert_int_equal(PEEK("\x80\2c__builtin__\nint\n\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19\x85R."),
                     HEFT_TORCH_WHOLE_PICKLE);
    memset(lines, 'I', sizeof lines);
    for (size_t i = 0; i + 3 <= sizeof lines; i += 3)
        memcpy(lines + i, "I1\n", 3);
    assert_int_equal(peek(lines, sizeof lines, 99999), HEFT_TORCH_PERHAPS_PICKLE);
    assert_int_equal(peek(lines, sizeof lines, sizeof lines), HEFT_TORCH_NO_PICKLE);
    lines[2000] = '?';
    assert_int_equal(peek(lines, sizeof lines, 99999), HEFT_TORCH_NO_PICKLE);
}

/* ---- streams ----------------------------------------------------------------------------- */

static void a_storage_begins_after_its_count(void **state)
{
    struct fixture f;

    (void)state;
    OPEN(&f, &heft_format_torch_legacy, FRONT "\x80\2" ID "." KEYS DATA);
    assert_true(f.opened);
    assert_int_equal(f.model.n_rows, 1);
    assert_int_equal(f.model.storages[0].off, sizeof(FRONT "\x80\2" ID "." KEYS) - 1 + 8);
    assert_int_equal(f.model.storages[0].len, 8);
    assert_string_equal(f.model.format, "torch-legacy");
    close_fixture(&f);
}

static void a_truncated_file_reports_the_missing_bytes(void **state)
{
    static const char whole[] = FRONT "\x80\2" ID "." KEYS DATA;
    struct fixture f;

    (void)state;
    for (size_t missing = 1; missing <= 16; missing++) {
        char says[32];

        snprintf(says, sizeof says, "(%zu missing", missing);
        open_whole(&f, &heft_format_torch_legacy,
                   (struct heft_bytes){(const uint8_t *)whole, sizeof whole - 1 - missing});
        assert_false(f.opened);
        assert_int_equal(f.err.code, HEFT_MALFORMED);
        assert_int_equal(f.err.offset, sizeof whole - 1 - 16);
        if (!strstr(f.err.text, says))
            fail_msg("%s", f.err.text);
        close_fixture(&f);
    }
}

/* The same bytes loaded twice as a nested stream are read once, so that two rows share a storage;
 * loaded as an array they are a storage of their own. */
static void nested_bytes_are_read_once(void **state)
{
    static const char stream[] = FRONT "\x80\2" ID "." KEYS DATA;
    static const char dtype[] =
        "cnumpy\ndtype\n(X\2\0\0\0u1\x89\x88tR(K\3X\1\0\0\0|NNNJ\xff\xff\xff"
        "\xffJ\xff\xff\xff\xffK\0tb";
    const uint8_t n = sizeof stream - 1;
    struct heft_buf bytes = {0};
    struct heft_arena mem = {0};
    const struct heft_segment *segments;
    struct fixture f;
    size_t count;

    (void)state;
    heft_buf_put(&bytes, "\x80\3}(X\1\0\0\0aC", 11);
    heft_buf_char(&bytes, (char)n);
    heft_buf_put(&bytes, stream, n);

    heft_buf_put(&bytes, "q\1", 2);
    for (char c = 'b'; c < 'd'; c++) {
        heft_buf_put(&bytes, "X\1\0\0\0", 5);
        heft_buf_char(&bytes, c);
        heft_buf_text(&bytes, "ctorch.storage\n_load_from_bytes\nh\1\x85R");
    }
    heft_buf_put(&bytes, "X\1\0\0\0d", 6);
    heft_buf_text(&bytes, "cnumpy.core.numeric\n_frombuffer\n(h\1");
    heft_buf_put(&bytes, dtype, sizeof dtype - 1);
    heft_buf_char(&bytes, 'K');
    heft_buf_char(&bytes, (char)n);
    heft_buf_put(&bytes, "\x85X\1\0\0\0CtRu.", 11);
    open_whole(&f, &heft_format_pickle, (struct heft_bytes){(const uint8_t *)bytes.p, bytes.n});
    if (!f.opened)
        fail_msg("%s", f.err.text);
    assert_int_equal(f.model.n_rows, 3);
    assert_int_equal(f.model.rows[0].storage, f.model.rows[1].storage);
    assert_int_not_equal(f.model.rows[0].storage, f.model.rows[2].storage);
    assert_true(heft_model_map(&f.model, &mem, &segments, &count, &f.err));
    for (size_t i = 0; i < count; i++)
        assert_true(segments[i].claimed);
    heft_arena_release(&mem);
    close_fixture(&f);
    heft_buf_release(&bytes);
}

/* ---- lack of memory ---------------------------------------------------------------------- */

static const struct {
    const char *name;
    const struct heft_format *format;
} FILES[] = {
    {"torch-legacy/nested.pt", &heft_format_torch_legacy},
    {"torch-legacy/views.pt", &heft_format_torch_legacy},
    {"torch-legacy/python2.pt", &heft_format_torch_legacy},
    {"torch-legacy/big_endian.pt", &heft_format_torch_legacy},
    {"pickle/protocol0.pkl", &heft_format_pickle},
    {"pickle/protocol2.pkl", &heft_format_pickle},
    {"pickle/protocol4.pkl", &heft_format_pickle},
    {"torch-tar/types.tar", &heft_format_torch_tar},
    {"torch-tar/gnu.tar", &heft_format_torch_tar},
};

/* The n-th allocation fails, for every n until all succeed: HEFT_NOMEM, no crash, no leak. */
static void lack_of_memory_is_an_error(void **state)
{
    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(FILES); i++) {
        size_t n;
        uint8_t *bytes = golden(FILES[i].name, &n);

        for (struct failures fail = {.most = 5000}; !fail.done;) {
            struct fixture f = {0};

            FAIL_ALLOCATION(&fail,
                            open_bytes(&f, FILES[i].format, (struct heft_bytes){bytes, n}, NULL),
                            &f.err);
            close_fixture(&f);
        }
        free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_grow_until_the_pickle_is_whole),
        cmocka_unit_test(errors_in_windows_have_offsets_of_the_file),
        cmocka_unit_test(limits_hold_for_pickles_in_a_row),
        cmocka_unit_test(signatures_are_recognised_by_running_the_pickles),
        cmocka_unit_test(a_storage_begins_after_its_count),
        cmocka_unit_test(a_truncated_file_reports_the_missing_bytes),
        cmocka_unit_test(nested_bytes_are_read_once),
        cmocka_unit_test(lack_of_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
