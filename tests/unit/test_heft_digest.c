/* test_heft_digest.c: digests of a checkpoint's tensors and files, and comparing them with lists and
 * with a Hugging Face cache, through the public API. */
#include <errno.h>
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
#include "heft/heft.h"
#include "scratch.h"

/* Two tensors: a = [1], b = [2, 3] as U8; recorded tie c: a. */
static const char header[] = "{\"__metadata__\":{\"format\":\"pt\",\"c\":\"a\"},"
                             "\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
                             "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]}} ";
/* sha256sum of \1, and of \2\3 */
#define SHA_A "4bf5122f344554c53bde2ebb8cd2b7e3d1600ad631c385a5d7cce23c7785459a"
#define SHA_B "ee9040f65c341855e070ff438eb0ea9d5b831b2a2c270fb7ef592d750408e3b3"
/* sha256sum of model.safetensors */
#define MODEL_SHA "940ccb68f2480660f9033ca8e3b5d598ab4f1b4a6746e9c43773a0eb719ada90"
#define LIST      SHA_A "  a  U8  [1]\n" SHA_B "  b  U8  [2]\n" SHA_A "  c  U8  [1]\n"

static size_t model_bytes(char *out)
{
    const size_t n = sizeof header - 1;

    memset(out, 0, 8);
    out[0] = (char)(n & 255);
    out[1] = (char)(n >> 8);
    memcpy(out + 8, header, n);
    memcpy(out + 8 + n, "\1\2\3", 3);
    return 8 + n + 3;
}

static void write_text(const char *folder, const char *name, const char *text)
{
    heft_scratch_write(folder, name, text, strlen(text));
}

/* A directory with model.safetensors and the list `list` (NULL: none). */
static char *new_folder(const char *list)
{
    char *const folder = heft_scratch_new();
    char bytes[1000];

    heft_scratch_write(folder, "model.safetensors", bytes, model_bytes(bytes));
    if (list)
        write_text(folder, "list", list);
    return folder;
}

/* ---- digests ------------------------------------------------------------------------------- */

struct printed {
    char text[2000];
    size_t calls, stop_at;
};

static bool print(void *ctx, const struct heft_digest *d)
{
    struct printed *p = ctx;
    const size_t used = strlen(p->text);

    snprintf(p->text + used, sizeof p->text - used, "%02x%02x%02x %.*s %zu %u\n", d->sha256[0],
             d->sha256[1], d->sha256[31], (int)d->name_len,
             strrchr(d->name, '/') ? strrchr(d->name, '/') + 1 : d->name, d->index,
             (unsigned)d->bytes);
    return ++p->calls != p->stop_at;
}

static struct heft_checkpoint *open_model(const char *folder)
{
    char *path = heft_scratch_path(folder, "model.safetensors");
    struct heft_error err = {0};
    struct heft_checkpoint *c = heft_open(path, NULL, &err);

    assert_non_null(c);
    free(path);
    return c;
}

static void test_tensors(void **unused)
{
    char *folder = new_folder(NULL);
    struct heft_checkpoint *c = open_model(folder);
    struct printed p = {.stop_at = 100};
    struct heft_error err = {0};
    const struct heft_rule rule = {sizeof(struct heft_rule), HEFT_RULE_GLOB, "[bc]", NULL};
    const struct heft_digest_options options = {
        .size = sizeof options, .rules = &rule, .n_rules = 1, .threads = 3};

    (void)unused;
    assert_true(heft_digest_tensors(c, NULL, print, &p, &err));
    assert_string_equal(p.text, "4bf59a a 0 1\nee90b3 b 1 2\n4bf59a c 0 1\n");
    p = (struct printed){.stop_at = 100};
    assert_true(heft_digest_tensors(c, &options, print, &p, &err));
    assert_string_equal(p.text, "ee90b3 b 1 2\n4bf59a c 0 1\n");
    p = (struct printed){.stop_at = 2};
    assert_false(heft_digest_tensors(c, NULL, print, &p, &err));
    assert_int_equal(err.code, HEFT_CANCELLED);
    assert_int_equal(p.calls, 2);
    err = (struct heft_error){0};
    assert_false(heft_digest_tensors(NULL, NULL, print, &p, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    heft_close(c);
    heft_scratch_free(folder);
}

static void test_files(void **unused)
{
    char *folder = new_folder(NULL);
    struct heft_checkpoint *c = open_model(folder);
    struct printed p = {.stop_at = 100};
    struct heft_error err = {0};

    (void)unused;
    assert_true(heft_digest_files(c, NULL, print, &p, &err));
    assert_int_equal(p.calls, 1);
    assert_non_null(strstr(p.text, " model.safetensors 0 "));
    heft_close(c);
    heft_scratch_free(folder);
}

/* ---- lists --------------------------------------------------------------------------------- */

struct findings {
    size_t findings, notes;
    char last[400];
    struct heft_compared compared;
};

static void count(void *ctx, const struct heft_finding *finding)
{
    struct findings *f = ctx;

    *(finding->severity == HEFT_FINDING ? &f->findings : &f->notes) += 1;
    snprintf(f->last, sizeof f->last, "%s", finding->text);
}

/* Compares an open checkpoint, made from the path `model`, with a list. */
static bool compare_opened(struct heft_checkpoint *c, const char *model, const char *list_path,
                           struct findings *f, struct heft_error *err)
{
    const struct heft_compare_options options = {
        .size = sizeof options, .threads = 2, .compared = &f->compared};
    struct heft_digest_list *list = heft_digest_list_open(list_path, NULL, err);
    const bool ok = list && heft_compare_digests(c, &model, 1, list, &options, count, f, err);

    heft_digest_list_close(list);
    return ok;
}

/* Compares a file or directory below `folder` with the list of that name there, or "hub". */
static bool compare(const char *folder, const char *list, const char *input, struct findings *f,
                    struct heft_error *err)
{
    char *model = heft_scratch_path(folder, input);
    char *path = strcmp(list, "hub") ? heft_scratch_path(folder, list) : NULL;
    struct heft_checkpoint *c = heft_open(model, NULL, err);
    const bool ok = c && compare_opened(c, model, path ? path : "hub", f, err);

    heft_close(c);
    free(model);
    free(path);
    return ok;
}

static void expect_list(const char *list, const char *input, size_t findings, size_t notes,
                        uint64_t digests, const char *last)
{
    char *folder = new_folder(list);
    struct findings f = {0};
    struct heft_error err = {0};

    assert_true(compare(folder, "list", input, &f, &err));
    assert_int_equal(f.findings, findings);
    assert_int_equal(f.notes, notes);
    assert_int_equal(f.compared.digests, digests);
    if (last)
        assert_non_null(strstr(f.last, last));
    heft_scratch_free(folder);
}

static void test_tensor_lists(void **unused)
{
    static const char *const model = "model.safetensors";

    (void)unused;
    expect_list(LIST, model, 0, 0, 3, NULL);
    expect_list(SHA_A "  a  U8  [1]\n" SHA_B "  b  U8  [2]\n", model, 1, 0, 2,
                "tensor c: not in the list");
    expect_list(SHA_A "  a  U8  [1]\n" SHA_A "  b  U8  [2]\n" SHA_B "  c  U8  [1]\n", model, 2, 0,
                3, "tensor c: SHA-256 4bf5");
    expect_list(LIST SHA_A "  d  U8  [1]\n", model, 1, 0, 3,
                "line 4: tensor d: not in the checkpoint");
    expect_list(LIST SHA_A "  data  BLOB  [1]\n", model, 1, 0, 3,
                "line 4: blob data: not in the checkpoint");
    expect_list(SHA_A "  a  I8  [1]\n" SHA_B "  b  U8  [2,1]\n" SHA_A "  c  U8  []\n", model, 3, 0,
                0, "tensor c: U8 [1], line 3 of the list has U8 []");
}

static void test_file_lists(void **unused)
{
    char *folder = new_folder(NULL), list[400];
    struct heft_checkpoint *c = open_model(folder);
    struct heft_error err = {0};
    struct printed p = {.stop_at = 100};

    (void)unused;
    assert_true(heft_digest_files(c, NULL, print, &p, &err));
    heft_close(c);
    heft_scratch_free(folder);
    /* the digest of the file, computed by sha256sum of the same bytes */
    assert_memory_equal(p.text, MODEL_SHA, 4);
    snprintf(list, sizeof list, "%s *model.safetensors\n", MODEL_SHA);
    expect_list(list, "model.safetensors", 0, 0, 1, NULL);
    expect_list(list, ".", 0, 0, 1, NULL);
    snprintf(list, sizeof list, "%s  ./model.safetensors\n" SHA_A "  gone\n", MODEL_SHA);
    expect_list(list, "model.safetensors", 0, 1, 1, "1 file of the list is not part of the input");
    expect_list(list, ".", 1, 0, 1, NULL);
    expect_list(SHA_A "  model.safetensors\n", ".", 1, 0, 1, "line 1 of the list has 4bf5");
    expect_list(SHA_A "  gone\n", "model.safetensors", 1, 1, 0, NULL);
}

/* ---- the cache ------------------------------------------------------------------------------- */

static void make_folder(const char *folder, const char *name)
{
    char *path = heft_scratch_path(folder, name);

    assert_int_equal(mkdir(path, 0777), 0);
    free(path);
}

static void make_link(const char *folder, const char *name, const char *target)
{
    char *path = heft_scratch_path(folder, name);

    assert_int_equal(symlink(target, path), 0);
    free(path);
}

#define GIT_HELLO "ce013625030ba8dba906f756967f9e9ca394464a" /* git hash-object of "hello\n" */

static char *new_cache(const char *blob)
{
    char *folder = heft_scratch_new(), bytes[1000], name[200];
    const size_t n = model_bytes(bytes);

    make_folder(folder, "blobs");
    make_folder(folder, "snapshots");
    make_folder(folder, "snapshots/main");
    snprintf(name, sizeof name, "blobs/%s", MODEL_SHA);
    heft_scratch_write(folder, name, bytes, n);
    write_text(folder, "blobs/" GIT_HELLO, blob);
    snprintf(name, sizeof name, "../../blobs/%s", MODEL_SHA);
    make_link(folder, "snapshots/main/model.safetensors", name);
    make_link(folder, "snapshots/main/hello.txt", "../../blobs/" GIT_HELLO);
    return folder;
}

static void test_cache(void **unused)
{
    static const char *const inputs[] = {".", "snapshots/main", "snapshots/main/model.safetensors"};
    struct heft_error err = {0};
    char *folder = new_cache("hello\n");

    (void)unused;
    for (size_t i = 0; i < 3; i++) {
        struct findings f = {0};

        assert_true(compare(folder, "hub", inputs[i], &f, &err));
        assert_int_equal(f.findings, 0);
        assert_int_equal(f.notes, 0);
        assert_int_equal(f.compared.digests, i == 2 ? 1 : 2);
    }
    heft_scratch_free(folder);

    struct findings f = {0};
    folder = new_cache("jello\n");
    make_link(folder, "snapshots/main/lost", "../../blobs/none");
    write_text(folder, "snapshots/main/extra", "x");
    write_text(folder, "blobs/part.incomplete", "x");
    assert_true(compare(folder, "hub", "snapshots/main", &f, &err));
    assert_int_equal(f.findings, 2); /* the other contents, the link to nothing */
    assert_int_equal(f.notes, 2);
    assert_int_equal(f.compared.digests, 2);
    heft_scratch_free(folder);

    folder = new_folder(NULL);
    assert_false(compare(folder, "hub", "model.safetensors", &f, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    heft_scratch_free(folder);
}

/* ---- failures -------------------------------------------------------------------------------- */

struct attempt {
    char *folder;
    const char *list, *input;
};

static bool attempt(void *ctx, struct heft_error *err)
{
    const struct attempt *a = ctx;
    struct findings f = {0};

    return compare(a->folder, a->list, a->input, &f, err) && f.findings == 0;
}

/* Every failing call is an error with the name of a file, except that of a close, and those that
 * look for the module of libnettle: then a note says that hashing is slow. Opening the checkpoint
 * is tested elsewhere. */
static void fail_each_call(const struct attempt *a)
{
    char *model = heft_scratch_path(a->folder, a->input);
    char *path = strcmp(a->list, "hub") ? heft_scratch_path(a->folder, a->list) : NULL;
    struct heft_error err = {0};
    struct heft_checkpoint *c = heft_open(model, NULL, &err);
    bool is_over = false;

    assert_non_null(c);
    for (uint64_t i = 1; !is_over; i++) {
        struct findings f = {0};
        bool ok;

        err = (struct heft_error){0};
        heft_fault_os_install(i, EIO);
        ok = compare_opened(c, model, path ? path : "hub", &f, &err);
        is_over = !heft_fault_os_hit();
        heft_fault_os_remove();
        assert_int_equal(heft_fault_os_open(), 0);
        assert_int_equal(ok, is_over || strcmp(heft_fault_os_name(), "close") == 0 || f.notes > 0);
        assert_true(ok || (err.code == HEFT_IO && err.file[0] != '\0'));
        assert_true(!is_over || (f.notes == 0 && i > 5));
    }
    heft_close(c);
    free(model);
    free(path);
}

static void test_failures(void **unused)
{
    char sums[200];
    struct attempt tensors = {new_folder(LIST), "list", "model.safetensors"};
    struct attempt hub = {new_cache("hello\n"), "hub", "snapshots/main"};
    struct attempt files = {NULL, "list", "."};

    (void)unused;
    snprintf(sums, sizeof sums, "%s  model.safetensors\n", MODEL_SHA);
    files.folder = new_folder(sums);
    fail_each_allocation(attempt, &tensors, 500);
    fail_each_allocation(attempt, &files, 500);
    fail_each_allocation(attempt, &hub, 500);
    fail_each_call(&tensors);
    fail_each_call(&files);
    fail_each_call(&hub);
    heft_scratch_free(tensors.folder);
    heft_scratch_free(files.folder);
    heft_scratch_free(hub.folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tensors),      cmocka_unit_test(test_files),
        cmocka_unit_test(test_tensor_lists), cmocka_unit_test(test_file_lists),
        cmocka_unit_test(test_cache),        cmocka_unit_test(test_failures),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
