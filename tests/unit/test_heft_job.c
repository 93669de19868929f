/* test_heft_job.c: conversions in parts: any order, twice, killed and committed again; damaged, foreign and
 * missing receipts; damaged and forged plans. */
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

#include "heft/heft.h"
#include "heft/job.h"
#include "io/sink.h"
#include "job/job_parts.h"
#include "scratch.h"

#define PARTS 3

static struct heft_error err;

/* Three tensors of 1.5 MiB: chunks begin within them. */
static void make_input(const char *folder)
{
    enum { N = 3 << 17 };
    char *const path = heft_scratch_path(folder, "in.safetensors");
    const struct heft_convert_options how = {.size = sizeof how, .output = path, .no_sync = true};
    const uint64_t shape[] = {N};
    struct heft_own_tensor tensors[3];
    float *const data = malloc(N * sizeof *data);

    assert_non_null(data);
    for (size_t i = 0; i < N; i++)
        data[i] = (float)i * 1e3F;
    for (size_t i = 0; i < 3; i++) {
        static const char *const names[] = {"a", "b", "c"};

        tensors[i] = (struct heft_own_tensor){.size = sizeof tensors[i],
                                              .name = names[i],
                                              .name_len = 1,
                                              .dtype = HEFT_F32,
                                              .rank = 1,
                                              .shape = shape,
                                              .data = data};
    }
    assert_true(heft_save(tensors, 3, NULL, 0, &how, &err));
    free(data);
    free(path);
}

struct test {
    char *folder, *input, *output, *plan;
    struct heft_convert_options how;
    const char *const *inputs;
};

static void begin(struct test *t, const char *output, struct heft_convert_options how)
{
    err = (struct heft_error){0};
    t->folder = heft_scratch_new();
    make_input(t->folder);
    t->input = heft_scratch_path(t->folder, "in.safetensors");
    t->output = heft_scratch_path(t->folder, output);
    t->plan = heft_scratch_path(t->folder, "job.plan");
    t->how = how;
    t->how.size = sizeof t->how;
    t->how.output = t->output;
    t->inputs = (const char *const *)&t->input;
}

static void end(struct test *t)
{
    heft_scratch_free(t->folder);
    free(t->input);
    free(t->output);
    free(t->plan);
}

/* Plans, and writes the file. */
static void plan(struct test *t)
{
    struct heft_job *const job = heft_job_plan(t->inputs, 1, NULL, &t->how, PARTS, &err);
    size_t n;
    const char *text;

    assert_non_null(job);
    assert_int_equal(heft_job_parts(job), PARTS);
    assert_int_equal(strlen(heft_job_id(job)), 32);
    text = heft_job_text(job, &n);
    heft_scratch_write(t->folder, "job.plan", text, n);
    heft_job_free(job);
}

static struct heft_job *open_job(const struct test *t)
{
    struct heft_job *const job = heft_job_read(t->plan, &err);

    assert_non_null(job);
    assert_null(heft_job_conversion(job));
    assert_true(heft_job_open(job, NULL, &err));
    return job;
}

static bool run(const struct test *t, size_t part)
{
    struct heft_job *const job = open_job(t);
    bool was_done;

    assert_true(heft_job_run(job, part, &was_done, &err));
    heft_job_free(job);
    return was_done;
}

static bool commit(const struct test *t)
{
    struct heft_job *const job = open_job(t);
    bool ok;

    err = (struct heft_error){0};
    ok = heft_job_commit(job, NULL, &err);
    heft_job_free(job);
    return ok;
}

static size_t abort_job(const struct test *t)
{
    struct heft_job *const job = heft_job_read(t->plan, &err);
    size_t n = 0;

    assert_non_null(job);
    assert_true(heft_job_abort(job, &n, &err));
    heft_job_free(job);
    return n;
}

/* Path of a temporary file of the plan beside the output. */
static char *temp_of(const struct test *t, const char *kind, unsigned n)
{
    struct heft_job *const job = heft_job_read(t->plan, &err);
    struct heft_arena mem = {0};
    char *path;

    assert_non_null(job);
    path = strdup(heft_sink_shared_name(&mem, heft_job_base(job), heft_job_id(job), kind, n, &err));
    heft_arena_release(&mem);
    heft_job_free(job);
    return path;
}

static void convert_once(const struct test *t)
{
    struct heft_checkpoint *const c = heft_open(t->input, NULL, &err);
    struct heft_conversion *conversion;

    assert_non_null(c);
    conversion = heft_convert_plan(c, &t->how, &err);
    assert_non_null(conversion);
    assert_true(heft_convert_run(conversion, NULL, &err));
    heft_convert_free(conversion);
    heft_close(c);
}

static void expect_moved(const char *folder, const char *name, const char *kept)
{
    size_t n = 0, m = 0;
    char *const a = heft_scratch_read(folder, name, &n);
    char *const b = heft_scratch_read(folder, kept, &m);

    assert_non_null(a);
    assert_non_null(b);
    assert_int_equal(n, m);
    assert_memory_equal(a, b, n);
    free(a);
    free(b);
}

static void move(const char *folder, const char *from, const char *to)
{
    char *const a = heft_scratch_path(folder, from), *const b = heft_scratch_path(folder, to);

    assert_int_equal(rename(a, b), 0);
    free(a);
    free(b);
}

/* Parts in the order 3, 1, 1, 2 write what a conversion in one process writes. */
static void check_target(const char *output, const char *const *files, size_t n,
                         struct heft_convert_options how)
{
    struct test t;

    begin(&t, output, how);
    convert_once(&t);
    for (size_t i = 0; i < n; i++) {
        char kept[64];

        snprintf(kept, sizeof kept, "kept-%zu", i);
        move(t.folder, files[i], kept);
    }
    plan(&t);
    assert_false(run(&t, 3));
    assert_false(run(&t, 1));
    assert_true(run(&t, 1));
    assert_false(commit(&t));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_false(heft_scratch_has(t.folder, files[0]));
    assert_false(run(&t, 2));
    assert_true(commit(&t));
    for (size_t i = 0; i < n; i++) {
        char kept[64];

        snprintf(kept, sizeof kept, "kept-%zu", i);
        expect_moved(t.folder, files[i], kept);
    }
    assert_int_equal(abort_job(&t), 0);
    end(&t);
}

static void targets(void **state)
{
    static const char *const pth[] = {"o.pth"}, *const npz[] = {"o.npz"},
                             *const st[] = {"o.safetensors"}, *const ptd[] = {"o.ptd"},
                             *const tf[] = {"o.data-00000-of-00001", "o.index"};
    static const char *const shards[] = {
        "s/model-00001-of-00003.safetensors", "s/model-00002-of-00003.safetensors",
        "s/model-00003-of-00003.safetensors", "s/model.safetensors.index.json"};
    const struct heft_convert_options plain = {.no_sync = true};
    const struct heft_convert_options to_tf = {.to = "tf"};
    const struct heft_convert_options sharded = {.sharded = true, .max_shard_size = 2000000};
    const struct heft_rule half = {
        .size = sizeof half, .kind = HEFT_RULE_CAST, .left = "*", .right = "F16"};
    const struct heft_convert_options cast = {.rules = &half, .n_rules = 1};

    (void)state;
    check_target("o.pth", pth, 1, plain);
    check_target("o.npz", npz, 1, cast);
    check_target("o.safetensors", st, 1, cast);
    check_target("o.ptd", ptd, 1, plain);
    check_target("o", tf, 2, to_tf);
    check_target("s/", shards, 4, sharded);
}

/* ---- receipts ------------------------------------------------------------------------------ */

static void run_all(const struct test *t)
{
    for (size_t k = 1; k <= PARTS; k++)
        (void)run(t, k);
}

static char *read_path(const char *path, size_t *n)
{
    FILE *const file = fopen(path, "rb");
    char *const bytes = calloc(1, 1 << 16);

    assert_non_null(file);
    assert_non_null(bytes);
    *n = fread(bytes, 1, 1 << 16, file);
    fclose(file);
    return bytes;
}

static void write_path(const char *path, const char *bytes, size_t n)
{
    FILE *const file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    fclose(file);
}

/* The commit refuses, and no file gets its name. */
static void expect_refused(const struct test *t, enum heft_code code)
{
    assert_false(commit(t));
    assert_int_equal(err.code, code);
    assert_false(heft_scratch_has(t->folder, "o.pth"));
}

/* Every cut and every changed byte of a receipt is refused, and one of 256 GB; the part is run again then. */
static void damaged_receipts(void **state)
{
    struct test t;
    char *path, *bytes;
    size_t n;

    (void)state;
    begin(&t, "o.pth", (struct heft_convert_options){.no_sync = true});
    plan(&t);
    run_all(&t);
    path = temp_of(&t, "part", 2);
    bytes = read_path(path, &n);
    assert_int_equal(truncate(path, (off_t)1 << 38), 0); /* it is not read */
    expect_refused(&t, HEFT_LIMIT);
    for (size_t i = 0; i < n; i++) {
        write_path(path, bytes, i);
        expect_refused(&t, HEFT_MALFORMED);
        bytes[i] ^= 0x10;
        write_path(path, bytes, n);
        expect_refused(&t, HEFT_MALFORMED);
        bytes[i] ^= 0x10;
    }
    assert_false(run(&t, 2));
    assert_true(commit(&t));
    free(bytes);
    free(path);
    end(&t);
}

static void foreign_receipts(void **state)
{
    struct test t;
    char *one, *two, *bytes;
    size_t n;

    (void)state;
    begin(&t, "o.pth", (struct heft_convert_options){.no_sync = true});
    plan(&t);
    run_all(&t);
    one = temp_of(&t, "part", 1);
    two = temp_of(&t, "part", 2);
    bytes = read_path(one, &n);
    write_path(two, bytes, n); /* of another part */
    expect_refused(&t, HEFT_MALFORMED);
    t.how.no_verify = true; /* of another plan */
    plan(&t);
    free(two);
    two = temp_of(&t, "part", 1);
    write_path(two, bytes, n);
    expect_refused(&t, HEFT_MALFORMED);
    assert_int_equal(unlink(two), 0);
    expect_refused(&t, HEFT_USAGE);
    free(bytes);
    free(one);
    free(two);
    end(&t);
}

/* Receipts whose temporary file was deleted do not count any more. */
static void lost_files(void **state)
{
    struct test t;
    char *path;

    (void)state;
    begin(&t, "o.pth", (struct heft_convert_options){.no_sync = true});
    plan(&t);
    run_all(&t);
    path = temp_of(&t, "file", 0);
    assert_int_equal(unlink(path), 0);
    expect_refused(&t, HEFT_USAGE);
    assert_false(run(&t, 1));
    expect_refused(&t, HEFT_USAGE);
    assert_false(run(&t, 2));
    assert_false(run(&t, 3));
    assert_int_equal(truncate(path, 5), 0);
    expect_refused(&t, HEFT_USAGE);
    assert_int_equal(abort_job(&t), 4);
    assert_false(heft_scratch_has(t.folder, "o.pth"));
    free(path);
    end(&t);
}

/* A symbolic link under the name of a temporary file is not followed. */
static void planted_link(void **state)
{
    struct test t;
    struct heft_job *job;
    char *path;

    (void)state;
    begin(&t, "o.pth", (struct heft_convert_options){.no_sync = true});
    plan(&t);
    path = temp_of(&t, "file", 0);
    assert_int_equal(symlink(t.input, path), 0);
    job = open_job(&t);
    assert_false(heft_job_run(job, 1, NULL, &err));
    assert_int_equal(err.code, HEFT_UNSAFE);
    heft_job_free(job);
    free(path);
    end(&t);
}

/* A commit that was killed between its renames is repeated. */
static void killed_commit(void **state)
{
    struct test t;
    const struct heft_buf none = {0};
    struct heft_job *job;
    char *temp;

    (void)state;
    begin(&t, "o", (struct heft_convert_options){.no_sync = true, .to = "tf"});
    convert_once(&t);
    move(t.folder, "o.index", "index");
    move(t.folder, "o.data-00000-of-00001", "data");
    plan(&t);
    run_all(&t);
    job = open_job(&t);
    temp = temp_of(&t, "file", 0);
    {
        char *const final = heft_scratch_path(t.folder, "o.data-00000-of-00001");

        assert_int_equal(rename(temp, final), 0);
        free(final);
    }
    heft_job_free(job);
    assert_false(commit(&t));
    job = open_job(&t);
    assert_true(heft_job_receipt_save(job, 0, &none, &err));
    heft_job_free(job);
    assert_true(commit(&t));
    expect_moved(t.folder, "o.index", "index");
    expect_moved(t.folder, "o.data-00000-of-00001", "data");
    assert_int_equal(abort_job(&t), 0);
    free(temp);
    end(&t);
}

/* ---- plans --------------------------------------------------------------------------------- */

static struct heft_job *parse(const struct test *t, const char *text, size_t n)
{
    heft_scratch_write(t->folder, "job.plan", text, n);
    err = (struct heft_error){0};
    return heft_job_read(t->plan, &err);
}

static void damaged_plans(void **state)
{
    struct test t;
    char *text;
    size_t n;

    (void)state;
    begin(&t, "o.pth", (struct heft_convert_options){.no_sync = true});
    plan(&t);
    text = heft_scratch_read(t.folder, "job.plan", &n);
    for (size_t i = 0; i < n; i++) {
        assert_null(parse(&t, text, i));
        assert_true(err.code && err.text[0]);
        text[i] ^= 1;
        assert_null(parse(&t, text, n));
        assert_true(err.code && err.text[0]);
        text[i] ^= 1;
    }
    free(text);
    end(&t);
}

/* Text with one line replaced, and the id of that. */
static char *forge(const struct test *t, const char *key, const char *line, size_t *n)
{
    char *const text = heft_scratch_read(t->folder, "job.plan", n);
    char *const out = calloc(1, *n + strlen(line) + 64), *at, id[HEFT_JOB_ID_DIGITS + 1];

    assert_non_null(text);
    assert_non_null(out);
    text[*n - 1] = '\0';
    for (char *next = text; *next; next = at + 1) {
        at = next + strcspn(next, "\n");
        if (strncmp(next, "id ", 3) == 0)
            break;
        *at = '\0';
        strcat(strcat(out, strncmp(next, key, strlen(key)) == 0 ? line : next), "\n");
    }
    heft_job_digest(heft_str_of(out), id);
    strcat(strcat(strcat(out, "id "), id), "\n");
    *n = strlen(out);
    free(text);
    return out;
}

static void expect_forged(const struct test *t, const char *key, const char *line, bool is_read)
{
    size_t n;
    char *const text = forge(t, key, line, &n);
    struct heft_job *const job = parse(t, text, n);

    assert_int_equal(job != NULL, is_read);
    if (is_read) {
        assert_false(heft_job_open(job, NULL, &err));
        assert_int_equal(err.code, HEFT_USAGE);
        assert_false(heft_job_run(job, 1, NULL, &err));
    }
    heft_job_free(job);
    free(text);
}

static void forged_plans(void **state)
{
    struct test t;
    struct heft_job *job;
    char *text;
    size_t n, removed = 9;

    (void)state;
    begin(&t, "o.pth", (struct heft_convert_options){.no_sync = true});
    plan(&t);
    expect_forged(&t, "parts", "parts 99999", false);
    plan(&t);
    expect_forged(&t, "parts", "parts 18446744073709551616", false);
    plan(&t);
    expect_forged(&t, "parts", "parts two", false);
    plan(&t);
    expect_forged(&t, "layout", "layout 00", true);
    plan(&t);
    expect_forged(&t, "layout", "rule nothing x", false);
    plan(&t);
    expect_forged(&t, "layout", "input %00", false);
    plan(&t);
    expect_forged(&t, "layout", "input a b c d e f g", false);
    plan(&t);
    expect_forged(&t, "part 2", "part 2 7", true);
    plan(&t);
    expect_forged(&t, "file", "file 1 /etc/passwd", true);
    /* Abort deletes only names with the plan's id. */
    plan(&t);
    text = forge(&t, "file", "file 1 /etc/passwd", &n);
    job = parse(&t, text, n);
    assert_non_null(job);
    assert_true(heft_job_abort(job, &removed, &err));
    assert_int_equal(removed, 0);
    assert_int_equal(access("/etc/passwd", F_OK), 0);
    heft_job_free(job);
    free(text);
    end(&t);
}

/* An input that changes between two parts is refused. */
static void changed_input(void **state)
{
    struct test t;
    struct heft_job *job;

    (void)state;
    begin(&t, "o.pth", (struct heft_convert_options){.no_sync = true});
    plan(&t);
    (void)run(&t, 1);
    {
        FILE *const file = fopen(t.input, "r+b");

        assert_non_null(file);
        assert_int_equal(fseek(file, -1, SEEK_END), 0);
        assert_int_equal(fputc(1, file), 1);
        fclose(file);
    }
    job = heft_job_read(t.plan, &err);
    assert_non_null(job);
    assert_false(heft_job_open(job, NULL, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_non_null(strstr(err.text, "in.safetensors was changed"));
    heft_job_free(job);
    assert_int_equal(abort_job(&t), 2);
    end(&t);
}

static void refusals(void **state)
{
    const char *const inputs[] = {"-"};
    const struct heft_open_options salvage = {.size = sizeof salvage, .salvage = true};
    struct test t;

    (void)state;
    begin(&t, "o.pth", (struct heft_convert_options){.no_sync = true});
    assert_null(heft_job_plan(inputs, 1, NULL, &t.how, 2, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_null(heft_job_plan(t.inputs, 1, &salvage, &t.how, 2, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_null(heft_job_plan(t.inputs, 1, NULL, &t.how, 0, &err));
    assert_null(heft_job_plan(t.inputs, 1, NULL, &t.how, HEFT_JOB_PARTS + 1, &err));
    convert_once(&t);
    assert_null(heft_job_plan(t.inputs, 1, NULL, &t.how, 2, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_non_null(strstr(err.text, "exists"));
    end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets),          cmocka_unit_test(damaged_receipts),
        cmocka_unit_test(foreign_receipts), cmocka_unit_test(lost_files),
        cmocka_unit_test(planted_link),     cmocka_unit_test(killed_commit),
        cmocka_unit_test(damaged_plans),    cmocka_unit_test(forged_plans),
        cmocka_unit_test(changed_input),    cmocka_unit_test(refusals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
