/* test_confine_paths.c: which files can be opened, for each kind of input and output. Each test
 * confines a process of its own. */
#define _GNU_SOURCE /* for O_TMPFILE */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "child.h"
#include "io/confinement.h"
#include "scratch.h"
#include "skip_because.h"

static void in_child(int (*body)(struct heft_file_rules *rules))
{
    struct heft_file_rules rules;
    pid_t child;

    if (heft_file_rules_version() == 0)
        skip_because("this kernel, or qemu-user, has no Landlock");
    child = fork();
    if (child == 0)
        _exit(heft_file_rules_begin(&rules) ? body(&rules) : 100);
    check_child(child);
}

static bool can_open(const char *path, int flags)
{
    const int fd = open(path, flags, 0600);

    if (fd >= 0)
        (void)close(fd);
    return fd >= 0;
}

static bool is_refused(const char *path, int flags)
{
    return !can_open(path, flags) && errno == EACCES;
}

static const char NPY[64] = "\x93NUMPY\1";
static const char INDEX[64] = "{\"weight_map\": {}}";

static char *scratch;

/*     in/a.npy  in/index.json  in/shard  in/link → ../blobs/x  in/sub/link → ../../blobs/y
 *     blobs/x  blobs/y  blobs/z     out/     in/folder → ../blobs */
static int make_files(void **state)
{
    (void)state;
    scratch = heft_scratch_new();
    assert_int_equal(chdir(scratch), 0);
    assert_int_equal(mkdir("in", 0700), 0);
    assert_int_equal(mkdir("in/sub", 0700), 0);
    assert_int_equal(mkdir("blobs", 0700), 0);
    assert_int_equal(mkdir("out", 0700), 0);
    heft_scratch_write(scratch, "in/a.npy", NPY, sizeof NPY);
    heft_scratch_write(scratch, "in/index.json", INDEX, sizeof INDEX);
    heft_scratch_write(scratch, "in/shard", "x", 1);
    heft_scratch_write(scratch, "blobs/x", "x", 1);
    heft_scratch_write(scratch, "blobs/y", "y", 1);
    heft_scratch_write(scratch, "blobs/z", "z", 1);
    assert_int_equal(symlink("../blobs/x", "in/link"), 0);
    assert_int_equal(symlink("../../blobs/y", "in/sub/link"), 0);
    assert_int_equal(symlink("../blobs", "in/folder"), 0);
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    assert_int_equal(chdir("/"), 0);
    heft_scratch_free(scratch);
    return 0;
}

static int file_alone(struct heft_file_rules *rules)
{
    heft_confine_checkpoint(rules, "in/a.npy", false);
    EXPECT(1, heft_file_rules_end(rules));
    EXPECT(2, can_open("in/a.npy", O_RDONLY));
    EXPECT(3, is_refused("in/a.npy", O_RDWR));
    EXPECT(4, is_refused("in/shard", O_RDONLY));
    EXPECT(5, is_refused("/etc/passwd", O_RDONLY));
    EXPECT(6, is_refused("in/new", O_WRONLY | O_CREAT));
    return 0;
}

static int file_with_others(struct heft_file_rules *rules)
{
    heft_confine_checkpoint(rules, "in/index.json", false);
    EXPECT(1, heft_file_rules_end(rules));
    EXPECT(2, can_open("in/shard", O_RDONLY));
    EXPECT(3, can_open("in/link", O_RDONLY));
    EXPECT(4, can_open("in/sub/link", O_RDONLY));
    EXPECT(5, is_refused("blobs/z", O_RDONLY));
    EXPECT(6, is_refused("in/folder/z", O_RDONLY));
    return 0;
}

/* A prefix of TensorFlow is the name of no file. */
static int prefix(struct heft_file_rules *rules)
{
    heft_confine_checkpoint(rules, "in/model.ckpt", false);
    EXPECT(1, heft_file_rules_end(rules));
    EXPECT(2, can_open("in/shard", O_RDONLY));
    EXPECT(3, is_refused("blobs/z", O_RDONLY));
    return 0;
}

static int directory(struct heft_file_rules *rules)
{
    heft_confine_checkpoint(rules, "in", false);
    EXPECT(1, heft_file_rules_end(rules));
    EXPECT(2, can_open("in/a.npy", O_RDONLY));
    EXPECT(3, can_open("in/sub/link", O_RDONLY));
    EXPECT(4, is_refused("in/folder/z", O_RDONLY));
    return 0;
}

/* Links to directories are followed for texts, as Python's glob does. */
static int pattern(struct heft_file_rules *rules)
{
    heft_confine_text(rules, "in/*/z");
    EXPECT(1, heft_file_rules_end(rules));
    EXPECT(2, can_open("in/folder/z", O_RDONLY));
    EXPECT(3, is_refused("/etc/passwd", O_RDONLY));
    return 0;
}

static int text(struct heft_file_rules *rules)
{
    heft_confine_text(rules, "in/shard");
    EXPECT(1, heft_file_rules_end(rules));
    EXPECT(2, can_open("in/shard", O_RDONLY));
    EXPECT(3, is_refused("in/a.npy", O_RDONLY));
    return 0;
}

static int vocabulary(struct heft_file_rules *rules)
{
    heft_confine_folder(rules, "in/shard");
    EXPECT(1, heft_file_rules_end(rules));
    EXPECT(2, can_open("in/a.npy", O_RDONLY));
    EXPECT(3, is_refused("blobs/z", O_RDONLY));
    return 0;
}

static int output(struct heft_file_rules *rules)
{
    heft_confine_write(rules, "out/a/b/c.npy");
    EXPECT(1, heft_file_rules_end(rules));
    EXPECT(2, mkdir("out/a", 0700) == 0);
    EXPECT(3, can_open("out/a/t", O_RDWR | O_CREAT | O_EXCL));
    EXPECT(4, rename("out/a/t", "out/u") == 0);
    EXPECT(5, unlink("out/u") == 0 && rmdir("out/a") == 0);
    EXPECT(6, is_refused("in/new", O_WRONLY | O_CREAT));
    EXPECT(7, symlink("x", "out/s") == -1);
    return 0;
}

/* Temporary files have no name, if the file system of the directory has such files. */
static int temporary(struct heft_file_rules *rules)
{
    const bool has_them = can_open("out", O_TMPFILE | O_RDWR);
    char folder[4096];

    EXPECT(1,
           getcwd(folder, sizeof folder - 8) && setenv("TMPDIR", strcat(folder, "/out"), 1) == 0);
    heft_confine_system(rules);
    EXPECT(2, heft_file_rules_end(rules));
    EXPECT(3, !has_them || can_open("out", O_TMPFILE | O_RDWR));
    EXPECT(4, is_refused("out/new", O_WRONLY | O_CREAT));
    EXPECT(5, can_open("/proc/self/status", O_RDONLY));
    EXPECT(6, can_open("/dev/null", O_RDWR));
    return 0;
}

static void kinds_of_files(void **state)
{
    (void)state;
    assert_int_equal(heft_confine_kind("in/a.npy"), HEFT_KIND_ALONE);
    assert_int_equal(heft_confine_kind("in/index.json"), HEFT_KIND_TOGETHER);
    assert_int_equal(heft_confine_kind("in/nothing"), HEFT_KIND_TOGETHER);
    assert_int_equal(heft_confine_kind(HEFT_TESTS "/golden/h5/legacy.h5"), HEFT_KIND_HDF5);
    assert_int_equal(heft_confine_kind(HEFT_TESTS "/golden/h5/model.keras"), HEFT_KIND_HDF5);
    assert_int_equal(heft_confine_kind(HEFT_TESTS "/golden/torch/linear.pt"), HEFT_KIND_ALONE);
    assert_int_equal(heft_confine_kind(HEFT_TESTS "/golden/safetensors/dtypes.safetensors"),
                     HEFT_KIND_ALONE);
}

#define TEST(body)                                                                                 \
    static void test_##body(void **state)                                                          \
    {                                                                                              \
        (void)state;                                                                               \
        in_child(body);                                                                            \
    }
TEST(file_alone)
TEST(file_with_others)
TEST(prefix)
TEST(directory)
TEST(pattern)
TEST(text)
TEST(vocabulary)
TEST(output)
TEST(temporary)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_of_files),
        cmocka_unit_test(test_file_alone),
        cmocka_unit_test(test_file_with_others),
        cmocka_unit_test(test_prefix),
        cmocka_unit_test(test_directory),
        cmocka_unit_test(test_pattern),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_vocabulary),
        cmocka_unit_test(test_output),
        cmocka_unit_test(test_temporary),
    };

    return cmocka_run_group_tests(tests, make_files, remove_files);
}
