/* test_heft_view.c: tensors mapped into memory: files mapped whole or page by page, and a file
 * truncated while it is mapped. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "heft/heft.h"
#include "io/os.h"
#include "scratch.h"

#define HEADER                                                                                     \
    "{\"a\":{\"dtype\":\"U8\",\"shape\":[40000],\"data_offsets\":[0,40000]},"                      \
    "\"b\":{\"dtype\":\"U8\",\"shape\":[40000],\"data_offsets\":[40000,80000]}}"
#define HEAD (8 + sizeof HEADER - 1)
#define SIZE (HEAD + 80000)

static size_t most_mapped;
static int n_mapped;

static void *map_little(int fd, uint64_t off, size_t n, bool writable)
{
    if (n > most_mapped) {
        errno = ENOMEM;
        return NULL;
    }
    n_mapped++;
    return heft_os_posix.map(fd, off, n, writable);
}

struct view {
    char *folder, *path;
    struct heft_os os;
    struct heft_checkpoint *c;
};

static void begin(struct view *v, size_t most)
{
    struct heft_error err = {0};
    uint8_t *bytes = calloc(1, SIZE);

    bytes[0] = sizeof HEADER - 1;
    memcpy(bytes + 8, HEADER, sizeof HEADER - 1);
    for (size_t i = HEAD; i < SIZE; i++)
        bytes[i] = (uint8_t)(i * 7 / 3);
    v->folder = heft_scratch_new();
    v->path = heft_scratch_path(v->folder, "m.safetensors");
    heft_scratch_write(v->folder, "m.safetensors", bytes, SIZE);
    free(bytes);
    most_mapped = most;
    n_mapped = 0;
    v->os = heft_os_posix;
    v->os.map = map_little;
    heft_os = &v->os;
    v->c = heft_open(v->path, NULL, &err);
    assert_non_null(v->c);
}

static void end(struct view *v)
{
    heft_close(v->c);
    heft_os = &heft_os_posix;
    heft_scratch_free(v->folder);
    free(v->path);
}

static void expect_views(struct view *v, int mappings)
{
    struct heft_error err = {0};
    uint8_t read[40000];
    const void *view, *again;

    for (size_t i = 0; i < 2; i++) {
        assert_true(heft_tensor_read(v->c, i, read, sizeof read, &err));
        assert_true(heft_tensor_map(v->c, i, &view, &err));
        assert_memory_equal(view, read, sizeof read);
        assert_true(heft_tensor_map(v->c, i, &again, &err));
        assert_ptr_equal(view, again);
    }
    assert_int_equal(n_mapped, mappings);
}

static void whole_and_page_by_page(void **state)
{
    struct view v;

    (void)state;
    begin(&v, SIZE_MAX);
    expect_views(&v, 1);
    end(&v);
    begin(&v, 50000); /* a limit below the size of the file */
    expect_views(&v, 2);
    end(&v);
}

static void refused(void **state)
{
    struct heft_error err = {0};
    const void *view = "untouched";
    struct view v;

    (void)state;
    begin(&v, 1000);
    assert_false(heft_tensor_map(v.c, 0, &view, &err));
    assert_int_equal(err.code, HEFT_IO);
    assert_non_null(strstr(err.file, "m.safetensors"));
    assert_string_equal(view, "untouched");
    end(&v);
}

static void a_file_truncated_while_mapped(void **state)
{
    struct heft_error err = {0};
    const void *view;
    struct view v;

    (void)state;
    begin(&v, SIZE_MAX);
    assert_int_equal(truncate(v.path, (off_t)(HEAD + 40000)), 0);
    assert_true(heft_tensor_map(v.c, 0, &view, &err));
    assert_false(heft_tensor_map(v.c, 1, &view, &err));
    assert_int_equal(err.code, HEFT_IO);
    assert_int_equal(err.offset, HEAD + 40000);
    assert_non_null(strstr(err.file, "m.safetensors"));
    end(&v);
}

/* ---- copy-on-write views ---------------------------------------------------------------------- */

static const struct heft_view_options writable = {.writable = true};

static uint8_t *expect_view(struct heft_checkpoint *c, size_t index,
                            const struct heft_view_options *options, uint64_t bytes)
{
    struct heft_error err = {0};
    struct heft_view view;

    if (!heft_tensor_view(c, index, options, &view, &err))
        fail_msg("%s", err.text);
    assert_true(view.bytes == bytes);
    return view.data;
}

/* Writes into views of both tensors: the file, reads and read-only views stay as they were. */
static void expect_copies(struct view *v, int mappings)
{
    struct heft_error err = {0};
    uint8_t before[40000], after[40000];
    uint8_t *data[2];
    const void *shown;
    size_t n;

    for (size_t i = 0; i < 2; i++) {
        data[i] = expect_view(v->c, i, &writable, 40000);
        assert_true(heft_tensor_read(v->c, i, before, sizeof before, &err));
        assert_memory_equal(data[i], before, sizeof before);
        memset(data[i], 0xAB, 40000);
        assert_true(heft_tensor_read(v->c, i, after, sizeof after, &err));
        assert_memory_equal(before, after, sizeof before);
        assert_ptr_equal(expect_view(v->c, i, &writable, 40000), data[i]);
        assert_true(data[i][39999] == 0xAB);
    }
    assert_int_equal(n_mapped, mappings);
    assert_true(heft_tensor_map(v->c, 0, &shown, &err));
    assert_true(heft_tensor_read(v->c, 0, before, sizeof before, &err));
    assert_memory_equal(shown, before, sizeof before);
    char *const file = heft_scratch_read(v->folder, "m.safetensors", &n);
    assert_int_equal(n, SIZE);
    assert_memory_equal(file + HEAD, before, sizeof before);
    free(file);
}

static void writing_never_changes_the_file(void **state)
{
    struct view v;

    (void)state;
    begin(&v, SIZE_MAX);
    expect_copies(&v, 1);
    end(&v);
    begin(&v, 50000);
    expect_copies(&v, 2);
    end(&v);
}

/* A view, and everything else of the checkpoint, outlives the first heft_close. */
static void a_retained_checkpoint(void **state)
{
    struct heft_error err = {0};
    uint8_t read[40000];
    uint8_t *data;
    struct view v;

    (void)state;
    begin(&v, SIZE_MAX);
    data = expect_view(v.c, 1, &writable, 40000);
    assert_ptr_equal(heft_retain(v.c), v.c);
    heft_close(v.c);
    assert_true(heft_tensor_read(v.c, 1, read, sizeof read, &err));
    assert_memory_equal(data, read, sizeof read);
    data[0]++;
    end(&v);
}

/* Elements of a strided tensor lie in its view by its strides. Tied tensors share what is written,
 * however the file is mapped. */
static void expect_strides(const char *path, size_t most)
{
    static const struct heft_view_options strided = {.writable = true, .strided = true};
    struct heft_error err = {0};
    struct heft_checkpoint *c;
    struct heft_os os = heft_os_posix;
    struct heft_tensor t, first = {0};
    size_t n_strided = 0, n_tied = 0;
    uint8_t *first_data = NULL;

    most_mapped = most;
    os.map = map_little;
    heft_os = &os;
    c = heft_open(path, NULL, &err);
    assert_non_null(c);
    for (size_t i = 0; heft_tensor_at(c, i, &t); i++) {
        const size_t each = heft_dtype_block_bytes(t.dtype);
        struct heft_view view;
        uint8_t *read;

        if (!heft_tensor_view(c, i, &strided, &view, &err)) {
            assert_int_equal(err.code, HEFT_UNSUPPORTED);
            err = (struct heft_error){0};
            continue;
        }
        read = malloc((size_t)t.bytes + 1);
        assert_true(heft_tensor_read(c, i, read, (size_t)t.bytes, &err));
        for (size_t k = 0; t.strides && k < (size_t)t.bytes / each; k++) {
            uint64_t at = 0, rest = k;

            for (unsigned d = t.rank; d-- > 0; rest /= t.shape[d])
                at += rest % t.shape[d] * t.strides[d];
            assert_true((at + 1) * each <= view.bytes);
            assert_memory_equal((uint8_t *)view.data + at * each, read + k * each, each);
        }
        free(read);
        if (t.strides) {
            n_strided++;
            assert_false(heft_tensor_view(c, i, &writable, &view, &err));
            assert_int_equal(err.code, HEFT_UNSUPPORTED);
            err = (struct heft_error){0};
        }
        if (first_data && t.bytes > 0 && t.storage >= 0 && t.storage == first.storage &&
            t.file == first.file) {
            assert_ptr_equal((uint8_t *)view.data - t.offset, first_data - first.offset);
            n_tied++;
        }
        if (t.bytes > 0 && t.storage >= 0) {
            first = t;
            first_data = view.data;
        }
    }
    assert_true(n_strided > 0 && n_tied > 0);
    heft_close(c);
    heft_os = &heft_os_posix;
}

static void views_with_strides(void **state)
{
    (void)state;
    expect_strides(HEFT_TESTS "/golden/torch/views.pt", SIZE_MAX);
    expect_strides(HEFT_TESTS "/golden/torch/views.pt", 3000); /* less than the file */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_and_page_by_page),
        cmocka_unit_test(refused),
        cmocka_unit_test(a_file_truncated_while_mapped),
        cmocka_unit_test(writing_never_changes_the_file),
        cmocka_unit_test(a_retained_checkpoint),
        cmocka_unit_test(views_with_strides),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
