/* test_tf_bundle.c: TensorFlow checkpoints through the public API: each damaged byte is found, and
 * any allocation may fail. */
#include <dirent.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failures.h"
#include "base/mem.h"
#include "scratch.h"
#include "heft/heft.h"

#define GOLDEN "tests/golden/tf-bundle"

static const char *const folders[] = {"dtypes", "partitioned", "objects", "snappy",    "blocks",
                                      "padded", "variant",     "v1",      "big-endian"};

/* ---- damage ------------------------------------------------------------------------------ */

static void count_finding(void *ctx, const struct heft_finding *finding)
{
    unsigned *const findings = ctx;

    *findings += finding->severity == HEFT_FINDING;
}

/* Number of findings of heft_verify; UINT_MAX if the checkpoint does not open or verification
 * fails. */
static unsigned findings_of(const char *path)
{
    struct heft_error err = {0};
    struct heft_checkpoint *c = heft_open(path, NULL, &err);
    unsigned findings = 0;
    bool done;

    if (!c)
        return UINT_MAX;
    done = heft_verify(c, NULL, count_finding, &findings, &err);
    heft_close(c);
    return done ? findings : UINT_MAX;
}

/* Copies all files of a directory into a new one. Returns its path. */
static char *copy_of(const char *from)
{
    char *to = heft_scratch_new();
    DIR *dir = opendir(from);
    struct dirent *entry;

    assert_non_null(dir);
    while ((entry = readdir(dir))) {
        size_t n;
        char *bytes;

        if (entry->d_name[0] == '.')
            continue;
        bytes = heft_scratch_read(from, entry->d_name, &n);
        assert_non_null(bytes);
        heft_scratch_write(to, entry->d_name, bytes, n);
        free(bytes);
    }
    closedir(dir);
    return to;
}

/* Writes a byte in place: a file that is truncated and rewritten would be flushed to disk each
 * time. */
static void poke(FILE *file, size_t at, char byte)
{
    assert_int_equal(fseek(file, (long)at, SEEK_SET), 0);
    assert_int_equal(fputc((unsigned char)byte, file), (unsigned char)byte);
    assert_int_equal(fflush(file), 0);
}

/* Damages each byte of a file: its lowest bit, its highest (the continuation bit of a varint), and
 * all bits. `usual`: findings of the intact checkpoint. */
static void damage(const char *folder, const char *name, unsigned usual)
{
    static const char masks[] = {0x01, (char)0x80, (char)0xff};
    char *path = heft_scratch_path(folder, name);
    FILE *file = fopen(path, "r+b");
    size_t n;
    char *bytes = heft_scratch_read(folder, name, &n);

    assert_true(bytes && file);
    for (size_t i = 0; i < 3 * n; i++) {
        poke(file, i / 3, (char)(bytes[i / 3] ^ masks[i % 3]));
        if (findings_of(folder) == usual)
            fail_msg("%s: byte %zu is damaged, but verify has no finding", name, i / 3);
        poke(file, i / 3, bytes[i / 3]);
    }
    fclose(file);
    free(bytes);
    free(path);
}

static void every_damaged_byte_is_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(folders); i++) {
        char path[256];
        char *folder;
        struct heft_error err = {0};
        struct heft_checkpoint *c;
        struct heft_file file = HEFT_INIT(struct heft_file);
        /* "partitioned" has a finding: a variable with only one of its slices. */
        const unsigned usual = strcmp(folders[i], "partitioned") == 0;

        snprintf(path, sizeof path, GOLDEN "/%s", folders[i]);
        folder = copy_of(path);
        assert_int_equal(findings_of(folder), usual);
        c = heft_open(folder, NULL, &err);
        assert_non_null(c);
        for (size_t k = 0; heft_file_at(c, k, &file); k++)
            /* this file names the bundle to open and has no checksum */
            if (!strstr(file.path, "/checkpoint"))
                damage(folder, strrchr(file.path, '/') + 1, usual);
        assert_int_equal(findings_of(folder), usual);
        heft_close(c);
        heft_scratch_free(folder);
    }
}

/* ---- memory ------------------------------------------------------------------------------ */

static void lack_of_memory_is_an_error(void **state)
{
    const struct heft_option names = {"names", "objects"};
    const struct heft_open_options objects = {
        .size = sizeof objects, .options = &names, .n_options = 1};

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(folders); i++) {
        const struct heft_open_options *how = strcmp(folders[i], "objects") ? NULL : &objects;
        struct heft_checkpoint *c = NULL;
        struct heft_error err;
        char path[256];

        snprintf(path, sizeof path, GOLDEN "/%s", folders[i]);
        for (struct failures fail = {.most = 20000}; !fail.done;)
            FAIL_ALLOCATION(&fail, (c = heft_open(path, how, &err)) != NULL, &err);
        assert_true(heft_tensor_count(c) > 0);
        heft_close(c);
    }
}

/* ---- strings ----------------------------------------------------------------------------- */

static bool take_first(void *ctx, const char *text, size_t n)
{
    struct heft_str *const first = ctx;

    first->p = n == 5 && memcmp(text, "hello", 5) == 0 ? "hello" : "";
    first->n++;
    return false;
}

static void strings_are_passed_to_the_callback(void **state)
{
    struct heft_error err = {0};
    struct heft_checkpoint *c = heft_open(GOLDEN "/dtypes", NULL, &err);
    struct heft_str first = {NULL, 0};
    size_t index;

    (void)state;
    assert_non_null(c);
    assert_true(heft_tensor_find(c, "string", 6, &index));
    assert_false(heft_tensor_strings(c, index, take_first, &first, &err));
    assert_int_equal(err.code, HEFT_CANCELLED);
    assert_string_equal(first.p, "hello");
    assert_int_equal(first.n, 1); /* the element ends where the callback stopped */
    assert_true(heft_tensor_find(c, "float32", 7, &index));
    assert_false(heft_tensor_strings(c, index, take_first, &first, &err));
    assert_int_equal(err.code, HEFT_UNSUPPORTED);
    heft_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_damaged_byte_is_found),
        cmocka_unit_test(lack_of_memory_is_an_error),
        cmocka_unit_test(strings_are_passed_to_the_callback),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
