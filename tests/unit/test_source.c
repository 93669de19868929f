/* test_source.c: each kind of source, its boundaries, and its failures. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "failures.h"
#include "fault_os.h"
#include "scratch.h"
#include "io/os.h"
#include "io/source.h"

enum { FILE_SIZE = 100000 };

struct place {
    char *folder, *path;
    uint8_t bytes[FILE_SIZE];
};

static int set_up(void **state)
{
    struct place *place = malloc(sizeof *place);

    for (size_t i = 0; i < FILE_SIZE; i++)
        place->bytes[i] = (uint8_t)(i * 2654435761u >> 13);
    place->folder = heft_scratch_new();
    place->path = heft_scratch_path(place->folder, "file");
    heft_scratch_write(place->folder, "file", place->bytes, FILE_SIZE);
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;

    heft_scratch_free(place->folder);
    free(place->path);
    free(place);
    return 0;
}

/* Reads of every kind, valid and invalid, of a source that contains `bytes`. */
static void assert_source_holds(const struct heft_source *src, const uint8_t *bytes, uint64_t size)
{
    static uint8_t got[FILE_SIZE];
    struct heft_error err = {0};

    assert_int_equal(src->size, size);
    assert_true(heft_source_read(src, 0, got, (size_t)size, &err));
    assert_memory_equal(got, bytes, (size_t)size);
    assert_true(heft_source_read(src, size / 3, got, (size_t)(size / 2), &err));
    assert_memory_equal(got, bytes + size / 3, (size_t)size / 2);
    assert_true(heft_source_read(src, size, got, 0, &err));
    assert_true(heft_source_read(src, size - 1, got, 1, &err));
    assert_int_equal(err.code, HEFT_OK);

    static const uint64_t far[][2] = {{1, 0}, {0, 1}, {UINT64_MAX, 1}, {UINT64_MAX, 0}};
    for (size_t i = 0; i < HEFT_COUNT(far); i++) {
        const uint64_t off = far[i][0] == 1 ? size + 1 : far[i][0] ? UINT64_MAX : size;

        err = (struct heft_error){0};
        assert_false(heft_source_read(src, off, got, (size_t)far[i][1], &err));
        assert_int_equal(err.code, HEFT_MALFORMED);
        assert_non_null(strstr(err.text, "file ends at"));
        assert_string_equal(err.file, src->label);
    }
    err = (struct heft_error){0};
    assert_false(heft_source_read(src, 5, got, SIZE_MAX, &err));
    assert_int_equal(err.code, HEFT_MALFORMED);
}

static void files_return_their_bytes(void **state)
{
    const struct place *place = *state;
    struct heft_error err = {0};
    struct heft_source src = {0};
    uint64_t at = 0;

    assert_int_equal(heft_source_fd(&src, 0, &at), -1);
    assert_true(heft_source_open_file(&src, place->path, &err));
    assert_source_holds(&src, place->bytes, FILE_SIZE);
    assert_true(heft_source_fd(&src, 77, &at) >= 0);
    assert_int_equal(at, 77);
    heft_source_close(&src);
    assert_int_equal(heft_source_fd(&src, 0, &at), -1);
    heft_source_close(&src);
}

static void memory_returns_its_bytes(void **state)
{
    const struct place *place = *state;
    struct heft_source src = {0};
    uint64_t at;

    heft_source_open_memory(&src, (struct heft_bytes){place->bytes, 1000}, "memory");
    assert_source_holds(&src, place->bytes, 1000);
    assert_int_equal(heft_source_fd(&src, 0, &at), -1);
    heft_source_close(&src);
}

static void slices_of_slices_return_their_bytes(void **state)
{
    const struct place *place = *state;
    struct heft_error err = {0};
    struct heft_source file = {0}, outer = {0}, inner = {0}, innermost = {0};
    uint64_t at = 0;

    assert_true(heft_source_open_file(&file, place->path, &err));
    assert_true(heft_source_open_slice(&outer, &file, 1000, 50000, "outer", &err));
    assert_true(heft_source_open_slice(&inner, &outer, 200, 3000, NULL, &err));
    assert_true(heft_source_open_slice(&innermost, &inner, 30, 2970, "innermost", &err));
    /* slices of slices refer to the root only, so the outer one may be closed */
    heft_source_close(&outer);
    assert_source_holds(&inner, place->bytes + 1200, 3000);
    assert_source_holds(&innermost, place->bytes + 1230, 2970);
    assert_string_equal(inner.label, "outer");
    assert_int_equal(heft_source_fd(&innermost, 5, &at), file.fd);
    assert_int_equal(at, 1235);
    assert_false(heft_source_open_slice(&outer, &inner, 1, 3000, "x", &err));
    assert_int_equal(err.code, HEFT_MALFORMED);
    assert_false(heft_source_open_slice(&outer, &inner, UINT64_MAX, 2, "x", &err));
    assert_true(heft_source_open_slice(&outer, &inner, 3000, 0, "x", &err));
    heft_source_close(&innermost);
    heft_source_close(&inner);
    heft_source_close(&file);
}

static void slices_named_as_their_file_show_its_positions(void **state)
{
    const struct place *place = *state;
    struct heft_error err = {0};
    struct heft_source file = {0}, same = {0}, other = {0};
    uint8_t byte;

    assert_true(heft_source_open_file(&file, place->path, &err));
    assert_true(heft_source_open_slice(&same, &file, 1000, 10, place->path, &err));
    assert_true(heft_source_open_slice(&other, &file, 1000, 10, "record", &err));
    assert_false(heft_source_read(&same, 10, &byte, 1, &err));
    assert_int_equal(err.offset, 1010);
    assert_false(heft_source_read(&other, 10, &byte, 1, &err));
    assert_int_equal(err.offset, 10);
    assert_string_equal(err.file, "record");
    heft_source_close(&file);
}

static void fetch_copies_into_the_arena(void **state)
{
    const struct place *place = *state;
    struct heft_error err = {0};
    struct heft_arena arena = {0};
    struct heft_source src = {0};
    struct heft_bytes got;

    assert_true(heft_source_open_file(&src, place->path, &err));
    assert_true(heft_source_fetch(&src, 500, 900, &arena, &got, &err));
    assert_int_equal(got.n, 900);
    assert_memory_equal(got.p, place->bytes + 500, 900);
    assert_true(heft_source_fetch(&src, FILE_SIZE, 0, &arena, &got, &err));
    assert_int_equal(got.n, 0);
    const size_t held = arena.total;
    assert_false(heft_source_fetch(&src, 1, FILE_SIZE, &arena, &got, &err));
    assert_int_equal(err.code, HEFT_MALFORMED);
    assert_false(heft_source_fetch(&src, 0, UINT64_MAX, &arena, &got, &err));
    assert_int_equal(arena.total, held); /* refused before memory was allocated */
    heft_arena_release(&arena);
    heft_source_close(&src);
}

static void paths_that_are_not_files_are_refused_without_waiting(void **state)
{
    const struct place *place = *state;
    struct heft_error err = {0};
    struct heft_source src = {0};
    char *fifo = heft_scratch_path(place->folder, "fifo");
    char *missing = heft_scratch_path(place->folder, "missing");

    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_false(heft_source_open_file(&src, fifo, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_string_equal(err.text, "not a regular file");
    assert_string_equal(err.file, fifo);
    assert_false(heft_source_open_file(&src, place->folder, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_false(heft_source_open_file(&src, "/dev/null", &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_false(heft_source_open_file(&src, missing, &err));
    assert_int_equal(err.code, HEFT_IO);
    assert_string_equal(err.file, missing);
    assert_null(src.ops);
    free(fifo);
    free(missing);
}

static void a_file_that_shrank_is_an_io_error(void **state)
{
    const struct place *place = *state;
    struct heft_error err = {0};
    struct heft_source src = {0};
    static uint8_t got[FILE_SIZE];

    assert_true(heft_source_open_file(&src, place->path, &err));
    assert_int_equal(truncate(place->path, 60000), 0);
    assert_true(heft_source_read(&src, 0, got, 60000, &err));
    assert_false(heft_source_read(&src, 10, got, 80000, &err));
    assert_int_equal(err.code, HEFT_IO);
    assert_int_equal(err.offset, 60000);
    assert_string_equal(err.text, "file ended at 60000 while it was being read (was 100000 bytes)");
    assert_string_equal(err.file, place->path);
    heft_source_close(&src);
}

/* ---- mappings ---- */

static void mappings_show_the_bytes_at_any_offset(void **state)
{
    static const size_t offsets[] = {0, 1, 4095, 4096, 4097, 8191, 99999};
    const struct place *place = *state;
    struct heft_error err = {0};
    struct heft_source file = {0}, memory = {0}, slice = {0};
    struct heft_mapping map;

    assert_true(heft_source_open_file(&file, place->path, &err));
    heft_source_open_memory(&memory, (struct heft_bytes){place->bytes, FILE_SIZE}, "memory");
    for (size_t i = 0; i < HEFT_COUNT(offsets); i++) {
        const size_t n = FILE_SIZE - offsets[i];

        assert_true(heft_source_map(&file, offsets[i], n, false, &map, &err));
        assert_memory_equal(map.data, place->bytes + offsets[i], n);
        heft_mapping_release(&map);
        heft_mapping_release(&map);
        assert_true(heft_source_open_slice(&slice, &memory, offsets[i], n, NULL, &err));
        assert_true(heft_source_map(&slice, 1 % n, n - 1 % n, false, &map, &err));
        assert_ptr_equal(map.data, place->bytes + offsets[i] + 1 % n);
        assert_null(map.address);
        heft_mapping_release(&map);
    }
    assert_true(heft_source_map(&file, FILE_SIZE, 0, false, &map, &err));
    assert_non_null(map.data);
    heft_mapping_release(&map);
    assert_false(heft_source_map(&file, 1, FILE_SIZE, false, &map, &err));
    assert_int_equal(err.code, HEFT_MALFORMED);
    heft_source_close(&file);
}

/* ---- paths ---- */

static void kinds_of_paths_are_distinguished(void **state)
{
    const struct place *place = *state;
    char *fifo = heft_scratch_path(place->folder, "fifo");

    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(heft_path_kind(place->path), HEFT_PATH_FILE);
    assert_int_equal(heft_path_kind(place->folder), HEFT_PATH_DIR);
    assert_int_equal(heft_path_kind(fifo), HEFT_PATH_OTHER);
    assert_int_equal(heft_path_kind("no/such/path"), HEFT_PATH_NONE);
    assert_int_equal(heft_path_kind(""), HEFT_PATH_NONE);
    free(fifo);
}

static void directories_are_listed_in_byte_order(void **state)
{
    static const char *const wanted[] = {".hidden", "B", "a", "a.b", "file", "\xc3\xa9"};
    const struct place *place = *state;
    struct heft_error err = {0};
    struct heft_arena arena = {0};
    const char *const *names;
    size_t count;

    for (size_t i = 0; i < HEFT_COUNT(wanted); i++)
        heft_scratch_write(place->folder, wanted[i], "", 0);
    assert_true(heft_path_list(place->folder, &arena, &names, &count, &err));
    assert_int_equal(count, HEFT_COUNT(wanted));
    for (size_t i = 0; i < count; i++)
        assert_string_equal(names[i], wanted[i]);
    assert_false(heft_path_list(place->path, &arena, &names, &count, &err));
    assert_int_equal(err.code, HEFT_IO);
    assert_string_equal(err.file, place->path);
    heft_arena_release(&arena);
}

/* ---- failures ---- */

/* Calls every function of a source once. */
static bool use_source(void *ctx, struct heft_error *err)
{
    const struct place *place = ctx;
    struct heft_source file = {0};
    struct heft_arena arena = {0};
    struct heft_mapping map = {0};
    struct heft_bytes got;
    const char *const *names;
    size_t count;
    const bool ok = heft_source_open_file(&file, place->path, err) &&
                    heft_source_fetch(&file, 0, FILE_SIZE, &arena, &got, err) &&
                    heft_source_map(&file, 5000, 500, false, &map, err) &&
                    heft_path_list(place->folder, &arena, &names, &count, err);

    heft_mapping_release(&map);
    heft_source_close(&file);
    heft_arena_release(&arena);
    return ok;
}

static void every_failed_call_is_reported_and_leaks_nothing(void **state)
{
    fail_each_read(use_source, *state, 5);
}

static void every_failed_allocation_is_reported_and_leaks_nothing(void **state)
{
    fail_each_allocation(use_source, *state, 200);
}

/* ---- threads ---- */

static void *read_all_over(void *ctx)
{
    const struct heft_source *src = ctx;
    const struct heft_source *root = src->self;
    struct heft_error err = {0};
    uint8_t got[100];

    for (uint64_t i = 0; i < 5000; i++) {
        const uint64_t off = i * 7919 % (src->size - sizeof got);

        if (!heft_source_read(src, off, got, sizeof got, &err) ||
            memcmp(got, (const uint8_t *)root->self + src->base + off, sizeof got) != 0)
            return ctx; /* not NULL: the bytes differ */
    }
    return NULL;
}

static void many_threads_read_one_source(void **state)
{
    const struct place *place = *state;
    struct heft_error err = {0};
    struct heft_source memory = {0}, slice = {0};
    pthread_t threads[4];

    heft_source_open_memory(&memory, (struct heft_bytes){place->bytes, FILE_SIZE}, "memory");
    assert_true(heft_source_open_slice(&slice, &memory, 100, FILE_SIZE - 100, NULL, &err));
    for (size_t i = 0; i < HEFT_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_all_over, &slice), 0);
    for (size_t i = 0; i < HEFT_COUNT(threads); i++) {
        void *result;

        pthread_join(threads[i], &result);
        assert_null(result);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(files_return_their_bytes),
        TEST(memory_returns_its_bytes),
        TEST(slices_of_slices_return_their_bytes),
        TEST(slices_named_as_their_file_show_its_positions),
        TEST(fetch_copies_into_the_arena),
        TEST(paths_that_are_not_files_are_refused_without_waiting),
        TEST(a_file_that_shrank_is_an_io_error),
        TEST(mappings_show_the_bytes_at_any_offset),
        TEST(kinds_of_paths_are_distinguished),
        TEST(directories_are_listed_in_byte_order),
        TEST(every_failed_call_is_reported_and_leaks_nothing),
        TEST(every_failed_allocation_is_reported_and_leaks_nothing),
        TEST(many_threads_read_one_source),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
