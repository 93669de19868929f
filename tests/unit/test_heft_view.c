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

static void *map_little(int fd, uint64_t off, size_t n)
{
    if (n > most_mapped) {
        errno = ENOMEM;
        return NULL;
    }
    n_mapped++;
    return heft_os_posix.map(fd, off, n);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_and_page_by_page),
        cmocka_unit_test(refused),
        cmocka_unit_test(a_file_truncated_while_mapped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
