/* Opening from memory, descriptors and callbacks (heft/inputs.h): ownership, errors, names, views,
 * copies for HDF5, and verbs that read the inputs. Equality with the disk: test_inputs_same.c. */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "failures.h"
#include "io/pool.h"
#include "provided.h"
#include "scratch.h"
#include "skip_because.h"

#define GOLDEN HEFT_TESTS "/golden/"

static struct heft_checkpoint *open_provided(struct provided *p, const char *path,
                                             enum provided_kind kind, struct heft_error *err)
{
    const struct heft_open_options options = {
        .size = sizeof options, .inputs = provided_inputs(p, kind), .n_inputs = p->n};

    return heft_open(path, &options, err);
}

static size_t closed(struct provided *p)
{
    return atomic_load(&p->closed);
}

/* Reads the first tensor from the checkpoint. */
static uint8_t *read_first(struct heft_checkpoint *c, size_t *n, struct heft_error *err)
{
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);
    uint8_t *data;

    assert_true(heft_tensor_at(c, 0, &t));
    *n = (size_t)t.bytes;
    data = malloc(*n + 1);
    assert_non_null(data);
    if (heft_tensor_read(c, 0, data, *n, err))
        return data;
    free(data);
    return NULL;
}

/* ---- ownership --------------------------------------------------------------------------- */

static void inputs_are_closed_once(void **state)
{
    struct provided *const p = provided_new(GOLDEN "safetensors/sharded");
    struct heft_error err = {0};
    struct heft_checkpoint *c =
        heft_open_inputs(provided_inputs(p, PROVIDED_READ), p->n, NULL, &err);

    (void)state;
    assert_non_null(c);
    assert_int_equal(closed(p), 0);
    heft_close(c);
    assert_int_equal(closed(p), p->n);

    assert_null(open_provided(p, "absent.safetensors", PROVIDED_READ, &err));
    assert_int_equal(closed(p), p->n);
    assert_null(open_provided(p, NULL, PROVIDED_READ, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_int_equal(closed(p), p->n);
    provided_free(p);
}

static void refused_inputs_are_closed(void **state)
{
    struct provided *const p = provided_new(GOLDEN "safetensors/sharded");
    struct heft_error err = {0};
    struct heft_input *in;

    (void)state;
    in = p->inputs;
    provided_inputs(p, PROVIDED_READ);
    in[1].name = in[0].name;
    assert_null(heft_open_inputs(in, p->n, NULL, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_string_equal(err.text, "two inputs have this name");
    assert_string_equal(err.file, in[0].name);
    assert_int_equal(closed(p), p->n);

    provided_inputs(p, PROVIDED_READ);
    in[1].name = "./x//y/../z";
    in[0].name = "x/z/file";
    assert_null(heft_open_inputs(in, p->n, NULL, &err));
    assert_string_equal(err.text, "an input cannot be a directory that contains other inputs");
    assert_int_equal(closed(p), p->n);

    provided_inputs(p, PROVIDED_READ);
    in[0].name = "";
    assert_null(heft_open_inputs(in, p->n, NULL, &err));
    assert_string_equal(err.text, "an input has no name");
    assert_int_equal(closed(p), p->n);

    provided_inputs(p, PROVIDED_READ);
    in[0].read = NULL;
    assert_null(heft_open_inputs(in, p->n, NULL, &err));
    assert_string_equal(err.text, "the input has neither data nor a function to read it");
    assert_int_equal(closed(p), p->n);
    provided_free(p);
}

/* A program whose struct heft_input has one more member. */
struct grown_input {
    struct heft_input known;
    uint64_t more;
};

static void inputs_of_newer_programs_are_taken(void **state)
{
    struct provided *const p = provided_new(GOLDEN "safetensors/sharded");
    const struct heft_input *const known = provided_inputs(p, PROVIDED_READ);
    struct grown_input *const in = calloc(p->n, sizeof *in);
    struct heft_error err = {0};
    struct heft_checkpoint *c;

    (void)state;
    assert_non_null(in);
    assert_true(p->n > 1);
    for (size_t i = 0; i < p->n; i++) {
        in[i].known = known[i];
        in[i].known.size = sizeof *in;
    }
    c = heft_open_inputs(&in->known, p->n, NULL, &err);
    assert_non_null(c);
    assert_true(heft_tensor_count(c) > 0);
    heft_close(c);
    assert_int_equal(closed(p), p->n);

    provided_inputs(p, PROVIDED_READ);
    in[1].more = 1;
    assert_null(heft_open_inputs(&in->known, p->n, NULL, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_non_null(strstr(err.text, "newer libheft"));
    assert_int_equal(closed(p), p->n);
    free(in);
    provided_free(p);
}

/* Nothing is known about such an array: its inputs are not closed. */
static void inputs_without_a_size_are_refused(void **state)
{
    struct provided *const p = provided_new(GOLDEN "safetensors/sharded");
    struct heft_error err = {0};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        provided_inputs(p, PROVIDED_READ);
        p->inputs[i].size = 0;
        assert_null(heft_open_inputs(p->inputs, p->n, NULL, &err));
        assert_int_equal(err.code, HEFT_USAGE);
        assert_non_null(strstr(err.text, i ? "at index 1 has size 0" : "HEFT_INIT"));
        assert_int_equal(closed(p), 0);
    }
    provided_free(p);
}

static void options_with_inputs_are_refused_beside_others(void **state)
{
    struct provided *const p = provided_new(GOLDEN "safetensors/sharded");
    const struct heft_open_options options = {
        .size = sizeof options, .inputs = p->inputs, .n_inputs = p->n};
    struct heft_error err = {0};

    (void)state;
    assert_null(heft_open_inputs(provided_inputs(p, PROVIDED_READ), p->n, &options, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_int_equal(closed(p), p->n);
    assert_null(heft_open_inputs(p->inputs, 0, NULL, &err));
    assert_string_equal(err.text, "no input was given");
    assert_null(heft_open_inputs(NULL, 1, NULL, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_null(heft_open_memory(NULL, 1, NULL, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_null(heft_open_memory(NULL, 0, NULL, &err));
    assert_int_equal(err.code, HEFT_MALFORMED);
    assert_string_equal(err.file, "memory");
    provided_free(p);
}

/* ---- failing calls ----------------------------------------------------------------------- */

static void failed_read_names_input_and_offset(void **state)
{
    struct provided *const p = provided_new(GOLDEN "safetensors/sharded");
    struct heft_error err = {0};
    struct heft_checkpoint *c;
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);
    size_t n;

    (void)state;
    c = heft_open_inputs(provided_inputs(p, PROVIDED_READ), p->n, NULL, &err);
    assert_non_null(c);
    assert_true(heft_tensor_at(c, 0, &t));
    p->text = "the server answers 503\n";
    p->system_error = ETIMEDOUT;
    atomic_store(&p->fail_at, atomic_load(&p->calls) + 1);
    assert_null(read_first(c, &n, &err));
    assert_int_equal(err.code, HEFT_IO);
    assert_int_equal(err.offset, t.offset);
    assert_int_equal(err.system_error, ETIMEDOUT);
    assert_non_null(strstr(err.text, "the server answers 503\\n"));
    assert_non_null(strstr(err.file, ".safetensors"));

    p->text = NULL;
    p->system_error = 0;
    atomic_store(&p->fail_at, atomic_load(&p->calls) + 1);
    assert_null(read_first(c, &n, &err));
    assert_int_equal(err.code, HEFT_IO);
    assert_int_equal(err.system_error, 0);
    assert_non_null(strstr(err.text, "read failed"));
    heft_close(c);
    provided_free(p);
}

/* Each call of read() fails once: the error is that of the call, and nothing is left open. */
static void each_read_may_fail(void **state)
{
    static const char *const folders[] = {"safetensors/sharded", "torch-dcp/single",
                                          "saved-model/v1", "tf-bundle/objects", "h5/sharded"};

    (void)state;
    for (size_t i = 0; i < sizeof folders / sizeof *folders - !HEFT_HAS_HDF5; i++) {
        char path[4096];
        struct provided *p;
        struct heft_checkpoint *c;
        struct heft_error err;
        size_t n = 0;

        (void)snprintf(path, sizeof path, GOLDEN "%s", folders[i]);
        p = provided_new(path);
        p->text = "struck";
        do {
            err = (struct heft_error){0};
            atomic_store(&p->fail_at, ++n);
            c = heft_open_inputs(provided_inputs(p, PROVIDED_READ), p->n, NULL, &err);
            if (!c && (err.code != HEFT_IO || !strstr(err.text, "struck") || !err.file[0]))
                fail_msg("%s, call %zu: %s: %s", folders[i], n, err.file, err.text);
            assert_int_equal(closed(p), c ? 0 : p->n);
            heft_close(c);
        } while (!c || atomic_load(&p->calls) >= n);
        assert_true(n > 3);
        provided_free(p);
    }
}

static bool attempt_inputs(void *ctx, struct heft_error *err)
{
    struct provided *const p = ctx;
    struct heft_checkpoint *const c =
        heft_open_inputs(provided_inputs(p, PROVIDED_SLOW), p->n, NULL, err);
    bool ok = c != NULL;

    if (ok) {
        size_t n;
        uint8_t *const data = read_first(c, &n, err);

        ok = data != NULL;
        free(data);
    }
    heft_close(c);
    assert_int_equal(closed(p), p->n);
    return ok;
}

static void each_allocation_may_fail(void **state)
{
    struct provided *const p = provided_new(GOLDEN "safetensors/sharded");
    struct provided *const h5 = provided_new(GOLDEN "h5/sharded");

    (void)state;
    fail_each_allocation(attempt_inputs, p, 2000);
    if (HEFT_HAS_HDF5)
        fail_each_allocation(attempt_inputs, h5, 2000);
    provided_free(p);
    provided_free(h5);
}

/* ---- descriptors ------------------------------------------------------------------------- */

/* A file that begins with 5 other bytes, and ends with 3. */
struct framed {
    char *folder;
    char *data; /* of the golden file */
    size_t n;
    int fd;
};

static void frame(struct framed *f, const char *folder, const char *name)
{
    char *whole, *path;

    f->folder = heft_scratch_new();
    f->data = heft_scratch_read(folder, name, &f->n);
    whole = malloc(f->n + 8);
    assert_non_null(whole);
    memcpy(whole, "BEGIN", 5);
    memcpy(whole + 5, f->data, f->n);
    memcpy(whole + 5 + f->n, "END", 3);
    heft_scratch_write(f->folder, "framed", whole, f->n + 8);
    path = heft_scratch_path(f->folder, "framed");
    f->fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(f->fd >= 0);
    free(path);
    free(whole);
}

static void unframe(struct framed *f)
{
    heft_scratch_free(f->folder);
    free(f->data);
    if (f->fd >= 0)
        (void)close(f->fd);
}

static void part_of_a_descriptor_is_a_checkpoint(void **state)
{
    static const char *const files[][2] = {{GOLDEN "safetensors", "dtypes.safetensors"},
                                           {GOLDEN "torch", "linear.pt"},
                                           {GOLDEN "h5", "packed.h5"}};

    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files - !HEFT_HAS_HDF5; i++) {
        struct heft_error err = {0};
        struct heft_checkpoint *c, *memory;
        struct heft_file file = HEFT_INIT(struct heft_file);
        struct framed f;
        const void *view;
        uint8_t *a, *b;
        size_t n, m;

        frame(&f, files[i][0], files[i][1]);
        c = heft_open_fd(f.fd, 5, f.n, NULL, &err);
        (void)close(f.fd); /* the library has a descriptor of its own */
        f.fd = -1;
        memory = heft_open_memory(f.data, f.n, NULL, &err);
        assert_non_null(c);
        assert_non_null(memory);
        assert_true(heft_file_at(c, 0, &file));
        assert_int_equal(file.bytes, f.n);
        assert_true(strncmp(file.path, "descriptor ", 11) == 0);
        a = read_first(c, &n, &err);
        b = read_first(memory, &m, &err);
        assert_int_equal(n, m);
        assert_memory_equal(a, b, n);
        if (heft_tensor_map(c, 0, &view, &err))
            assert_memory_equal(view, a, n);
        assert_true(heft_verify(c, NULL, NULL, NULL, &err));
        free(a);
        free(b);
        heft_close(c);
        heft_close(memory);
        unframe(&f);
    }
}

/* The address of a view is congruent to the offset in the file, modulo the size of a page. */
static void view_of_a_descriptor_has_the_alignment_of_the_file(void **state)
{
    struct heft_error err = {0};
    struct heft_checkpoint *c;
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);
    struct framed f;
    const void *view;

    (void)state;
    frame(&f, GOLDEN "safetensors", "dtypes.safetensors");
    c = heft_open_fd(f.fd, 5, f.n, NULL, &err);
    assert_non_null(c);
    assert_true(heft_tensor_at(c, 0, &t));
    assert_true(heft_tensor_map(c, 0, &view, &err));
    assert_int_equal((uintptr_t)view % 4096, (5 + t.offset) % 4096);
    assert_memory_equal(view, f.data + t.offset, (size_t)t.bytes);

    heft_close(c);
    unframe(&f);
}

static void truncated_descriptor_is_an_error(void **state)
{
    struct heft_error err = {0};
    struct heft_checkpoint *c;
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);
    struct framed f;
    const void *view;
    char *path;
    size_t n;

    (void)state;
    frame(&f, GOLDEN "safetensors", "dtypes.safetensors");
    path = heft_scratch_path(f.folder, "framed");
    c = heft_open_fd(f.fd, 5, f.n, NULL, &err);
    assert_non_null(c);
    assert_true(heft_tensor_at(c, 0, &t));
    assert_int_equal(truncate(path, (off_t)(5 + t.offset)), 0);
    assert_false(heft_tensor_map(c, 0, &view, &err));
    assert_int_equal(err.code, HEFT_IO);
    assert_int_equal(err.offset, t.offset);
    err = (struct heft_error){0};
    assert_null(read_first(c, &n, &err));
    assert_int_equal(err.code, HEFT_IO);
    assert_int_equal(err.offset, t.offset);
    heft_close(c);
    free(path);
    unframe(&f);
}

static void ranges_outside_a_descriptor_are_refused(void **state)
{
    struct heft_error err = {0};
    struct framed f;
    int ends[2];

    (void)state;
    frame(&f, GOLDEN "safetensors", "dtypes.safetensors");
    assert_null(heft_open_fd(f.fd, 5, f.n + 4, NULL, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_null(heft_open_fd(f.fd, f.n + 9, HEFT_TO_END, NULL, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_null(heft_open_fd(f.fd, UINT64_MAX - 1, 8, NULL, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_null(heft_open_fd(f.fd, f.n + 8, HEFT_TO_END, NULL, &err));
    assert_int_equal(err.code, HEFT_MALFORMED); /* empty */
    assert_null(heft_open_fd(-1, 0, HEFT_TO_END, NULL, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_null(heft_open_fd(1 << 20, 0, HEFT_TO_END, NULL, &err)); /* not open */
    assert_int_equal(err.code, HEFT_IO);
    assert_string_equal(err.file, "descriptor 1048576");
    assert_int_equal(pipe(ends), 0);
    assert_null(heft_open_fd(ends[0], 0, HEFT_TO_END, NULL, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    (void)close(ends[0]);
    (void)close(ends[1]);
    unframe(&f);
}

static bool attempt_fd(void *ctx, struct heft_error *err)
{
    struct framed *const f = ctx;
    struct heft_checkpoint *const c = heft_open_fd(f->fd, 5, f->n, NULL, err);
    size_t n;
    uint8_t *const data = c ? read_first(c, &n, err) : NULL;
    const bool ok = data != NULL;

    free(data);
    heft_close(c);
    return ok;
}

static void calls_for_a_descriptor_may_fail(void **state)
{
    struct framed f;

    (void)state;
    frame(&f, GOLDEN "safetensors", "dtypes.safetensors");
    fail_each_allocation(attempt_fd, &f, 1000);
    fail_each_read(attempt_fd, &f, 3);
    unframe(&f);
}

/* ---- views ------------------------------------------------------------------------------- */

static void view_is_that_of_the_input(void **state)
{
    struct provided *const p = provided_new(GOLDEN "safetensors");
    struct heft_error err = {0};
    struct heft_checkpoint *c;
    const void *view;

    (void)state;
    c = open_provided(p, "dtypes.safetensors", PROVIDED_READ, &err);
    assert_non_null(c);
    assert_true(heft_tensor_map(c, 0, &view, &err));
    heft_close(c);

    provided_inputs(p, PROVIDED_READ);
    for (size_t i = 0; i < p->n; i++)
        p->inputs[i].view = NULL;
    c = heft_open("dtypes.safetensors",
                  &(struct heft_open_options){.size = sizeof(struct heft_open_options),
                                              .inputs = p->inputs,
                                              .n_inputs = p->n},
                  &err);
    assert_non_null(c);
    assert_false(heft_tensor_map(c, 0, &view, &err));
    assert_int_equal(err.code, HEFT_UNSUPPORTED);
    assert_non_null(strstr(err.text, "cannot be mapped, only read"));
    heft_close(c);
    provided_free(p);
}

/* ---- threads ----------------------------------------------------------------------------- */

struct reading {
    struct heft_checkpoint *c;
    struct provided *p;
};

static bool read_all(void *ctx, unsigned worker, uint64_t index, struct heft_error *err)
{
    struct reading *const r = ctx;
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);

    (void)worker;
    (void)index;
    for (size_t i = 0; heft_tensor_at(r->c, i, &t); i++) {
        const size_t n = (size_t)t.bytes;
        uint8_t *const data = malloc(n + 1);
        const bool ok = data && heft_tensor_read(r->c, i, data, n, err);

        free(data);
        if (!ok)
            return false;
    }
    return true;
}

static void four_threads_read(void **state)
{
    static const char *const names[] = {"linear.pt", "dtypes.pt", "deflated.pt"};
    struct provided *const p = provided_new(GOLDEN "torch");

    (void)state;
    for (size_t i = 0; i < 2 * sizeof names / sizeof *names; i++) {
        struct heft_error err = {0};
        struct reading r = {.p = p};
        const struct heft_pool_work work = {.job = read_all, .ctx = &r, .jobs = 16, .threads = 4};

        r.c = open_provided(p, names[i / 2], i % 2 ? PROVIDED_SLOW : PROVIDED_READ, &err);
        assert_non_null(r.c);
        assert_true(heft_pool_run(&work, &err));
        heft_close(r.c);
        assert_int_equal(closed(p), p->n);
    }
    provided_free(p);
}

/* ---- verbs ------------------------------------------------------------------------------- */

static void convert_to(struct heft_checkpoint *c, const char *folder, const char *name)
{
    char *const path = heft_scratch_path(folder, name);
    const struct heft_convert_options options = {
        .size = sizeof options, .output = path, .no_verify = true};
    struct heft_error err = {0};
    struct heft_conversion *const conversion = heft_convert_plan(c, &options, &err);
    uint64_t overflowed;

    if (!conversion || !heft_convert_run(conversion, &overflowed, &err) ||
        !heft_convert_check(conversion, &err))
        fail_msg("%s: %s", err.file, err.text);
    heft_convert_free(conversion);
    free(path);
}

/* Also with a descriptor, of which whole ranges are copied by the kernel. */
static void conversions_of_inputs_equal_those_of_files(void **state)
{
    struct heft_error err = {0};
    struct provided *const p = provided_new(GOLDEN "torch");
    char *const folder = heft_scratch_new();
    struct framed f;
    struct heft_checkpoint *c[4];
    char *wanted;
    size_t n;

    (void)state;
    frame(&f, GOLDEN "torch", "linear.pt");
    c[0] = heft_open(GOLDEN "torch/linear.pt", NULL, &err);
    c[1] = open_provided(p, "linear.pt", PROVIDED_READ, &err);
    c[2] = heft_open_fd(f.fd, 5, f.n, NULL, &err);
    c[3] = heft_open_memory(f.data, f.n, NULL, &err);
    for (int i = 0; i < 4; i++) {
        char name[40];

        (void)snprintf(name, sizeof name, "%d.safetensors", i);
        assert_non_null(c[i]);
        convert_to(c[i], folder, name);
        heft_close(c[i]);
    }
    wanted = heft_scratch_read(folder, "0.safetensors", &n);
    for (int i = 1; i < 4; i++) {
        char name[40], *found;
        size_t m;

        (void)snprintf(name, sizeof name, "%d.safetensors", i);
        found = heft_scratch_read(folder, name, &m);
        assert_int_equal(m, n);
        assert_memory_equal(found, wanted, n);
        free(found);
    }
    free(wanted);
    unframe(&f);
    heft_scratch_free(folder);
    provided_free(p);
}

/* A list of files is compared with the inputs, whose names it has. */
static bool take_digest(void *ctx, const struct heft_digest *digest)
{
    char *const at = (char *)ctx + strlen(ctx);

    for (size_t i = 0; i < HEFT_DIGEST_BYTES; i++)
        (void)snprintf(at + 2 * i, 3, "%02x", digest->sha256[i]);
    (void)strcat(strcat(strcat(at, "  "), digest->name), "\n");
    return true;
}

static void count_finding(void *ctx, const struct heft_finding *finding)
{
    *(size_t *)ctx += finding->severity == HEFT_FINDING;
}

static void digests_of_inputs_are_compared(void **state)
{
    struct provided *const p = provided_new(GOLDEN "safetensors/sharded");
    struct heft_error err = {0};
    struct heft_checkpoint *c =
        heft_open_inputs(provided_inputs(p, PROVIDED_READ), p->n, NULL, &err);
    char text[8192] = "";
    struct heft_input in = {.size = sizeof in, .name = "SHA256SUMS"};
    const struct heft_open_options options = {.size = sizeof options, .inputs = &in, .n_inputs = 1};
    const char *const root = "";
    struct heft_compared compared = HEFT_INIT(struct heft_compared);
    struct heft_compare_options how = {.size = sizeof how, .compared = &compared};
    size_t findings = 0;

    (void)state;
    assert_non_null(c);
    assert_true(heft_digest_files(c, NULL, take_digest, text, &err));
    assert_true(strlen(text) > 64);
    for (int damaged = 0; damaged < 2; damaged++) {
        struct heft_digest_list *list;

        in.data = text;
        in.bytes = strlen(text);
        list = heft_digest_list_open("SHA256SUMS", &options, &err);
        assert_non_null(list);
        assert_int_equal(heft_digest_list_kind(list), HEFT_LIST_FILES);
        if (!heft_compare_digests(c, &root, 1, list, &how, count_finding, &findings, &err))
            fail_msg("%s: %s", err.file, err.text);
        assert_int_equal(compared.digests, heft_file_count(c));
        assert_int_equal(findings, damaged);
        heft_digest_list_close(list);
        text[0] = text[0] == '0' ? '1' : '0';
    }
    heft_close(c);
    provided_free(p);
}

/* ---- directories ------------------------------------------------------------------------- */

static void count_item(void *ctx, const struct heft_scan_item *item)
{
    (void)item;
    ((size_t *)ctx)[0]++;
}

static void count_result(void *ctx, const struct heft_scan_result *result)
{
    ((size_t *)ctx)[1] += result->trouble == NULL;
    ((size_t *)ctx)[2]++;
}

/* The directory of all inputs is "". */
static void scan_visits_all_inputs(void **state)
{
    static const char *const names[] = {"", ".", "./variables/..", "variables"};
    struct provided *const p = provided_new(GOLDEN "saved-model/v1");
    struct heft_error err = {0};
    size_t disk[3] = {0};
    struct heft_scan_visitor visitor = {.item = count_item, .result = count_result, .ctx = disk};

    (void)state;
    assert_true(heft_scan_tree(GOLDEN "saved-model/v1", NULL, &visitor, &err));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct heft_open_options options = {.inputs = provided_inputs(p, PROVIDED_READ),
                                                  .n_inputs = p->n};
        size_t counts[3] = {0};

        visitor.ctx = counts;
        if (!heft_scan_tree(names[i], &options, &visitor, &err))
            fail_msg("%s: %s", names[i], err.text);
        assert_int_equal(closed(p), p->n);
        if (i < 3)
            assert_memory_equal(counts, disk, sizeof disk);
        else
            assert_in_range(counts[2], 2, p->n - 1);
    }
    assert_int_equal(disk[2], p->n);
    provided_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_are_closed_once),
        cmocka_unit_test(refused_inputs_are_closed),
        cmocka_unit_test(inputs_of_newer_programs_are_taken),
        cmocka_unit_test(inputs_without_a_size_are_refused),
        cmocka_unit_test(options_with_inputs_are_refused_beside_others),
        cmocka_unit_test(failed_read_names_input_and_offset),
        cmocka_unit_test(each_read_may_fail),
        cmocka_unit_test(each_allocation_may_fail),
        cmocka_unit_test(part_of_a_descriptor_is_a_checkpoint),
        cmocka_unit_test(view_of_a_descriptor_has_the_alignment_of_the_file),
        cmocka_unit_test(truncated_descriptor_is_an_error),
        cmocka_unit_test(ranges_outside_a_descriptor_are_refused),
        cmocka_unit_test(calls_for_a_descriptor_may_fail),
        cmocka_unit_test(view_is_that_of_the_input),
        cmocka_unit_test(four_threads_read),
        cmocka_unit_test(conversions_of_inputs_equal_those_of_files),
        cmocka_unit_test(digests_of_inputs_are_compared),
        cmocka_unit_test(scan_visits_all_inputs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
