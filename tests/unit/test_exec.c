/* test_exec.c: execution of plans: every kind of op, chunk boundaries, checksums, failures that
 * leave no files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "failures.h"
#include "fault_os.h"
#include "base/checksum.h"
#include "core/exec.h"
#include "io/os.h"

#define BIG (9u << 20) /* more than two chunks */

struct bench {
    char folder[64], path[96];
    uint8_t *data;
    struct heft_model model;
    struct heft_arena mem;
    struct heft_plan plan;
    struct heft_error err;
    enum heft_sum stored; /* kind of checksum of the storages */
};

static int open_bench(void **state)
{
    struct bench *b = calloc(1, sizeof *b);
    struct heft_source source = {0};
    uint32_t index;

    strcpy(b->folder, "/tmp/heft-test-exec-XXXXXX");
    assert_non_null(mkdtemp(b->folder));
    snprintf(b->path, sizeof b->path, "%s/out", b->folder);
    b->data = malloc(BIG);
    for (size_t i = 0; i < BIG; i++)
        b->data[i] = (uint8_t)(i * 2654435761u >> 13);
    heft_model_init(&b->model, NULL, NULL);
    heft_source_open_memory(&source, (struct heft_bytes){b->data, BIG}, "memory");
    assert_true(heft_model_add_file(&b->model, &source, "memory", &index, &b->err));
    b->plan = (struct heft_plan){.model = &b->model, .mem = &b->mem, .sum = HEFT_SUM_CRC32};
    b->stored = HEFT_SUM_CRC32;
    *state = b;
    return 0;
}

static int close_bench(void **state)
{
    struct bench *b = *state;
    char command[128];

    heft_plan_release(&b->plan);
    heft_arena_release(&b->mem);
    heft_model_release(&b->model);
    snprintf(command, sizeof command, "rm -rf %s", b->folder);
    free(b->data);
    free(b);
    return system(command);
}

/* Adds a storage and a row on it. */
static const struct heft_row *add(struct bench *b, uint64_t off, uint64_t n, bool crc,
                                  uint64_t from, uint64_t count, enum heft_dtype dtype,
                                  const uint64_t *stride)
{
    struct heft_storage s = {
        .off = off, .packed = n, .len = n, .sum = (uint8_t)(crc ? b->stored : HEFT_SUM_NONE)};
    uint64_t *shape = heft_arena_alloc(&b->mem, sizeof *shape, &b->err);
    struct heft_row row = {.name = HEFT_STR("t"), .offset = from, .rank = 1};

    s.crc = heft_sum_of(b->stored, b->data + off, (size_t)n);
    *shape = count;
    row.shape = shape;
    row.stride = stride;
    row.dtype = (uint8_t)dtype;
    row.bytes = count * heft_dtype_element_bytes(dtype);
    b->model.n_rows = 0; /* rows need no names here */
    assert_true(heft_model_add_storage(&b->model, &s, &row.storage, &b->err));
    return memcpy(heft_arena_alloc(&b->mem, sizeof row, &b->err), &row, sizeof row);
}

static void item(struct bench *b, const struct heft_row *row, enum heft_dtype as)
{
    struct heft_export_item i = {.row = row, .name = row->name, .as = (uint8_t)as};

    i.bytes = *row->shape * heft_dtype_element_bytes(as);
    assert_true(heft_plan_item(&b->plan, 0, &i, &b->err));
}

static void begin(struct bench *b)
{
    uint32_t file;

    assert_true(heft_plan_file_begin(&b->plan, b->path, &file, &b->err));
}

static bool run(struct bench *b, const struct heft_exec_options *options)
{
    uint64_t overflowed;

    return heft_plan_check(&b->plan, &b->err) &&
           heft_exec_run(&b->plan, options, &overflowed, &b->err);
}

static uint8_t *slurp(const struct bench *b, size_t *n)
{
    FILE *f = fopen(b->path, "rb");
    uint8_t *all = malloc(6 * BIG);

    assert_non_null(f);
    *n = fread(all, 1, 6 * BIG, f);
    fclose(f);
    return all;
}

static size_t files_left(const struct bench *b)
{
    const char *const *names;
    struct heft_arena mem = {0};
    struct heft_error err = {0};
    size_t n;

    assert_true(heft_path_list(b->folder, &mem, &names, &n, &err));
    heft_arena_release(&mem);
    return n;
}

static const struct heft_exec_options scratch = {.no_sync = true};

static void every_kind_of_op_in_one_file(void **state)
{
    struct bench *b = *state;
    const uint64_t second = 2;
    size_t n;
    uint8_t *got;
    uint64_t at;

    begin(b);
    assert_true(heft_plan_put(&b->plan, 0, HEFT_STR("head"), &b->err));
    item(b, add(b, 16, BIG - 16, true, 0, BIG - 16, HEFT_U8, NULL), HEFT_U8);
    item(b, add(b, 0, BIG, true, 3, BIG / 2 - 2, HEFT_U8, &second), HEFT_U8);
    item(b, add(b, 0, BIG, false, 0, BIG / 2, HEFT_U16, NULL), HEFT_U32);
    assert_true(run(b, &scratch));

    got = slurp(b, &n);
    assert_int_equal(n, 4 + BIG - 16 + BIG / 2 - 2 + 2 * BIG);
    assert_memory_equal(got, "head", 4);
    assert_memory_equal(got + 4, b->data + 16, BIG - 16);
    at = 4 + BIG - 16;
    for (size_t i = 0; i < BIG / 2 - 2; i++)
        assert_int_equal(got[at + i], b->data[3 + 2 * i]);
    at += BIG / 2 - 2;
    for (size_t i = 0; i < BIG / 2; i++) {
        const uint8_t want[4] = {b->data[2 * i], b->data[2 * i + 1], 0, 0};

        if (memcmp(got + at + 4 * i, want, 4) != 0)
            fail_msg("element %zu", i);
    }
    free(got);
    assert_true(heft_exec_compare(&b->plan, &scratch, &b->err));
}

static bool make_counted(const void *ctx, uint64_t from, uint8_t *out, size_t n,
                         struct heft_error *err)
{
    (void)ctx;
    (void)err;
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)((from + i) * 2654435761u >> 11);
    return true;
}

static void count_release(void *ctx)
{
    ++*(int *)ctx;
}

/* Made bytes before and after a copy, across chunk boundaries; the maker is released once. */
static void bytes_are_made_when_they_are_written(void **state)
{
    struct bench *b = *state;
    uint8_t *got, *want = malloc(BIG);
    uint32_t maker;
    int released = 0;
    size_t n;

    assert_true(make_counted(NULL, 0, want, BIG, &b->err));
    begin(b);
    assert_true(heft_plan_maker(
        &b->plan, (struct heft_maker){make_counted, count_release, &released}, &maker, &b->err));
    assert_true(heft_plan_made(&b->plan, 0, maker, 0, 5, &b->err));
    item(b, add(b, 0, 100, true, 0, 100, HEFT_U8, NULL), HEFT_U8);
    assert_true(heft_plan_made(&b->plan, 0, maker, 105, BIG - 105, &b->err));
    assert_true(run(b, &scratch));
    got = slurp(b, &n);
    memcpy(want + 5, b->data, 100);
    assert_int_equal(n, BIG);
    assert_memory_equal(got, want, BIG);
    assert_true(heft_exec_compare(&b->plan, &scratch, &b->err));
    assert_int_equal(released, 0);
    heft_plan_release(&b->plan);
    assert_int_equal(released, 1);
    free(got);
    free(want);
}

/* The plan owns the maker even if it cannot store it. */
static void a_maker_is_released_if_it_cannot_be_stored(void **state)
{
    struct bench *b = *state;
    uint32_t maker;
    int released = 0;

    heft_alloc_fail_at(1);
    assert_false(heft_plan_maker(
        &b->plan, (struct heft_maker){make_counted, count_release, &released}, &maker, &b->err));
    heft_alloc_fail_at(0);
    assert_int_equal(b->err.code, HEFT_NOMEM);
    assert_int_equal(released, 1);
}

static void many_small_neighbours_are_read_together(void **state)
{
    struct bench *b = *state;
    size_t n;
    uint8_t *got;

    begin(b);
    for (uint64_t i = 0; i < 5000; i++)
        item(b, add(b, 7 * i, 7, true, 0, 7, HEFT_U8, NULL), HEFT_U8);
    for (uint64_t i = 0; i < 5000; i++)
        item(b, add(b, 100000 - 7 * i, 5, true, 0, 5, HEFT_U8, NULL), HEFT_U8);
    assert_true(run(b, &scratch));
    got = slurp(b, &n);
    assert_int_equal(n, 60000);
    assert_memory_equal(got, b->data, 35000);
    assert_memory_equal(got + 35000, b->data + 100000, 5);
    assert_memory_equal(got + 35005, b->data + 100000 - 7, 5);
    free(got);
}

/* Expects a mismatch from a storage with a wrong checksum, copied whole, in part, or strided. */
static void expect_mismatch(struct bench *b, uint64_t from, uint64_t count, const uint64_t *stride)
{
    begin(b);
    item(b, add(b, 0, BIG, true, from, count, HEFT_U8, stride), HEFT_U8);
    b->model.storages[0].crc ^= 1;
    assert_false(run(b, &scratch));
    assert_int_equal(b->err.code, HEFT_MISMATCH);
    assert_int_equal(files_left(b), 0);
}

static void a_wrong_checksum_of_a_whole_copy(void **state)
{
    expect_mismatch(*state, 0, BIG, NULL);
}

static void a_wrong_checksum_of_a_partial_copy(void **state)
{
    expect_mismatch(*state, 100, 100, NULL);
}

static void a_wrong_checksum_of_a_gather(void **state)
{
    const uint64_t two = 2;

    expect_mismatch(*state, 0, 100, &two);
}

static void a_wrong_crc32c(void **state)
{
    struct bench *b = *state;

    b->stored = HEFT_SUM_CRC32C;
    expect_mismatch(b, 0, BIG, NULL);
    assert_non_null(strstr(b->err.text, "CRC-32C is "));
}

/* Checksum of a format's own: the last byte must not be zero. */
static bool ends_well(const struct heft_model *model, const struct heft_storage *storage,
                      struct heft_error *err)
{
    uint8_t last = 0;

    return heft_source_read(&model->sources[storage->source].source,
                            storage->off + storage->len - 1, &last, 1, err) &&
           (last != 0 || heft_fail(err, HEFT_MISMATCH, storage->off, "ends in zero"));
}

static void check_by_end(struct heft_storage *storage)
{
    static const struct heft_storage_more more = {.check = ends_well};

    storage->sum = HEFT_SUM_OWN;
    storage->more = &more;
}

static void expect_own(struct bench *b, bool good, bool no_verify)
{
    const struct heft_exec_options options = {.no_sync = true, .no_verify = no_verify};

    begin(b);
    item(b, add(b, 0, BIG, true, 0, BIG, HEFT_U8, NULL), HEFT_U8);
    check_by_end(&b->model.storages[0]);
    b->data[BIG - 1] = good;
    assert_int_equal(run(b, &options), good || no_verify);
    assert_int_equal(files_left(b), good || no_verify);
}

static void a_checksum_of_the_format(void **state)
{
    expect_own(*state, true, false);
}

static void a_wrong_checksum_of_the_format(void **state)
{
    struct bench *b = *state;

    expect_own(b, false, false);
    assert_int_equal(b->err.code, HEFT_MISMATCH);
    assert_non_null(strstr(b->err.text, "ends in zero"));
}

static void no_verify_skips_checksums_of_the_format(void **state)
{
    expect_own(*state, false, true);
}

static bool count_bad(void *ctx, uint32_t storage, const struct heft_error *why,
                      struct heft_error *err)
{
    unsigned *const bad = ctx;

    (void)storage;
    (void)err;
    assert_int_equal(why->code, HEFT_MISMATCH);
    return ++*bad > 0;
}

static void verify_reports_every_mismatch(void **state)
{
    const struct heft_exec_options options = {0};
    struct bench *b = *state;
    unsigned bad = 0;

    (void)add(b, 0, 1000, true, 0, 1000, HEFT_U8, NULL);
    b->stored = HEFT_SUM_CRC32C;
    (void)add(b, 1000, 1000, true, 0, 1000, HEFT_U8, NULL);
    (void)add(b, 2000, 1000, true, 0, 1000, HEFT_U8, NULL);
    check_by_end(&b->model.storages[2]);
    b->data[2999] = 1;
    assert_true(heft_exec_verify(&b->model, NULL, &options, count_bad, &bad, &b->err));
    assert_int_equal(bad, 0);
    b->data[2999] = 0;
    b->data[1500] ^= 1;
    b->data[500] ^= 1;
    assert_true(heft_exec_verify(&b->model, NULL, &options, count_bad, &bad, &b->err));
    assert_int_equal(bad, 3);
}

static bool count_unread(void *ctx, uint32_t storage, const struct heft_error *why,
                         struct heft_error *err)
{
    unsigned *const unread = ctx;

    (void)storage;
    (void)err;
    assert_int_equal(why->code, HEFT_LIMIT);
    assert_non_null(strstr(why->text, "are not checked"));
    assert_string_equal(why->file, "memory");
    return ++*unread > 0;
}

/* Overlapping storages are verified only up to twice the size of the file in total. */
static void verify_reads_no_more_than_twice_the_file(void **state)
{
    const struct heft_exec_options options = {0};
    struct bench *b = *state;
    unsigned unread = 0;

    b->data[BIG - 1] = 1;
    for (unsigned i = 0; i < 5; i++)
        (void)add(b, 0, BIG, true, 0, BIG, HEFT_U8, NULL);
    check_by_end(&b->model.storages[1]);
    check_by_end(&b->model.storages[4]);
    assert_true(heft_exec_verify(&b->model, NULL, &options, count_unread, &unread, &b->err));
    assert_int_equal(unread, 3);
}

static bool never(void *ctx, uint64_t done, uint64_t total)
{
    (void)ctx;
    (void)done;
    (void)total;
    return false;
}

static void verify_can_be_cancelled(void **state)
{
    const struct heft_exec_options options = {.progress = never};
    struct bench *b = *state;
    unsigned bad = 0;

    (void)add(b, 0, 1000, true, 0, 1000, HEFT_U8, NULL);
    check_by_end(&b->model.storages[0]);
    b->data[999] = 0;
    assert_false(heft_exec_verify(&b->model, NULL, &options, count_bad, &bad, &b->err));
    assert_int_equal(b->err.code, HEFT_CANCELLED);
    assert_int_equal(bad, 0);
}

static void no_verify_copies_mismatched_bytes(void **state)
{
    const struct heft_exec_options options = {.no_sync = true, .no_verify = true};
    struct bench *b = *state;

    begin(b);
    item(b, add(b, 0, BIG, true, 0, BIG, HEFT_U8, NULL), HEFT_U8);
    b->model.storages[0].crc ^= 1;
    assert_true(run(b, &options));
    assert_int_equal(files_left(b), 1);
}

/* ---- copies that the system makes ---- */

static atomic_uint copies;

static int64_t copy_none(int from, uint64_t off, int to, uint64_t at, uint64_t n)
{
    (void)from, (void)off, (void)to, (void)at, (void)n;
    copies++;
    return -1;
}

/* Copies 1000 bytes on every second call, and reports the end of the file on the others. */
static int64_t copy_some(int from, uint64_t off, int to, uint64_t at, uint64_t n)
{
    char piece[1000];

    (void)n;
    if (copies++ % 2)
        return 0;
    assert_int_equal(pread(from, piece, sizeof piece, (off_t)off), sizeof piece);
    return pwrite(to, piece, sizeof piece, (off_t)at);
}

static int64_t copy_all(int from, uint64_t off, int to, uint64_t at, uint64_t n)
{
    copies++;
    return heft_os_posix.copy_range(from, off, to, at, n);
}

/* Adds a source that is a file with the bench's data. */
static void add_file(struct bench *b)
{
    char path[96];
    struct heft_source source;
    uint32_t index;
    FILE *f;

    snprintf(path, sizeof path, "%s/in", b->folder);
    f = fopen(path, "wb");
    assert_int_equal(fwrite(b->data, 1, BIG, f), BIG);
    fclose(f);
    assert_true(heft_source_open_file(&source, path, &b->err));
    assert_true(heft_model_add_file(&b->model, &source, path, &index, &b->err));
}

static void copy_by(struct bench *b, int64_t (*copy)(int, uint64_t, int, uint64_t, uint64_t),
                    bool no_verify)
{
    const struct heft_exec_options options = {
        .no_sync = true, .no_verify = no_verify, .overwrite = true};
    struct heft_os os = heft_os_posix;
    size_t n;
    uint8_t *got;

    os.copy_range = copy;
    copies = 0;
    heft_os = &os;
    assert_true(run(b, &options));
    heft_os = &heft_os_posix;
    got = slurp(b, &n);
    assert_int_equal(n, BIG - 5 + 4);
    assert_memory_equal(got, b->data + 5, BIG - 5);
    assert_memory_equal(got + BIG - 5, "tail", 4);
    free(got);
}

static void ranges_are_copied_by_the_system(void **state)
{
    struct bench *b = *state;

    add_file(b);
    begin(b);
    item(b, add(b, 5, BIG - 1000, true, 0, BIG - 1000, HEFT_U8, NULL), HEFT_U8);
    item(b, add(b, BIG - 995, 995, true, 0, 995, HEFT_U8, NULL), HEFT_U8);
    assert_true(heft_plan_put(&b->plan, 0, HEFT_STR("tail"), &b->err));
    b->model.storages[0].source = b->model.storages[1].source = 1;
    copy_by(b, copy_all, false);
    assert_int_equal(copies, 0);
    copy_by(b, copy_none, true);
    assert_true(copies > 0);
    copy_by(b, copy_some, true);
    assert_true(copies > 0);
    copy_by(b, copy_all, true);
    assert_true(copies > 0);
}

static bool stop_at_once(void *ctx, uint64_t done, uint64_t total)
{
    (void)ctx;
    (void)done;
    (void)total;
    return false;
}

static void an_interruption_leaves_nothing(void **state)
{
    const struct heft_exec_options options = {.no_sync = true, .progress = stop_at_once};
    struct bench *b = *state;

    begin(b);
    item(b, add(b, 0, BIG, true, 0, BIG, HEFT_U8, NULL), HEFT_U8);
    assert_false(run(b, &options));
    assert_string_equal(b->err.text, "interrupted");
    assert_int_equal(files_left(b), 0);
}

/* Any system call fails: an error is returned, the old file is unchanged, no new name exists. */
static void any_failing_call_leaves_the_old_file(void **state)
{
    const struct heft_exec_options options = {.overwrite = true, .threads = 1};
    struct bench *b = *state;
    FILE *old = fopen(b->path, "wb");
    bool ok = false;

    fputs("old", old);
    fclose(old);
    begin(b);
    item(b, add(b, 0, BIG, true, 0, BIG, HEFT_U8, NULL), HEFT_U8);
    for (unsigned nth = 1; !ok && nth < 200; nth++) {
        size_t n;
        uint8_t *got;

        heft_fault_os_install(nth, 0);
        b->err = (struct heft_error){0};
        ok = run(b, &options);
        heft_fault_os_remove();
        got = slurp(b, &n);
        if (!ok) {
            assert_int_not_equal(b->err.code, HEFT_OK);
            assert_true(n == 3 || n == BIG); /* new only if the last sync failed */
        }
        free(got);
        assert_int_equal(files_left(b), 1);
    }
    assert_true(ok);
}

static void any_failing_allocation_leaves_nothing(void **state)
{
    struct bench *b = *state;

    begin(b);
    item(b, add(b, 0, BIG, true, 0, BIG, HEFT_U8, NULL), HEFT_U8);
    item(b, add(b, 0, BIG, false, 0, BIG / 2, HEFT_U16, NULL), HEFT_U32);
    for (struct failures fail = {.most = 200}; !fail.done;) {
        FAIL_ALLOCATION(&fail, run(b, &scratch), &b->err);
        assert_int_equal(files_left(b), fail.done ? 1 : 0);
    }
}

/* ---- sums and late bytes ----------------------------------------------------------------- */

struct stamp {
    uint32_t first, last; /* indexes of sums */
};

/* Repeats the sums first … last, little-endian, until n bytes are written. */
static void put_stamp(const void *ctx, const uint32_t *sums, uint8_t *out, size_t n)
{
    const struct stamp *stamp = ctx;

    for (size_t i = 0; i < n; i++) {
        const size_t k = i / 4 % (stamp->last - stamp->first + 1);

        out[i] = (uint8_t)(sums[stamp->first + k] >> 8 * (i % 4));
    }
}

static void late(struct bench *b, uint32_t first, uint32_t last, uint64_t n)
{
    const struct stamp stamp = {first, last};
    void *ctx = heft_arena_alloc(&b->mem, sizeof stamp, &b->err);

    memcpy(ctx, &stamp, sizeof stamp);
    assert_true(heft_plan_late(&b->plan, 0, (struct heft_late){put_stamp, ctx}, n, &b->err));
}

/* Plans every kind of op, each with a sum and a late op after it; returns the last sum. */
static uint32_t plan_sums(struct bench *b)
{
    static const uint64_t second = 2;
    const struct heft_row *const rows[] = {
        add(b, 5, BIG - 5, true, 0, BIG - 5, HEFT_U8, NULL), /* copied, verified on the way */
        add(b, 0, BIG, true, 7, BIG - 20, HEFT_U8, NULL),    /* copied in part, verified apart */
        add(b, 0, BIG, false, 3, BIG / 2 - 2, HEFT_U8, &second), /* gathered */
        add(b, 0, BIG, false, 0, BIG / 2, HEFT_U16, NULL),       /* cast */
    };
    uint32_t sum;

    begin(b);
    assert_int_equal(heft_plan_sum_begin(&b->plan), 0);
    heft_plan_sum_end(&b->plan);
    for (unsigned i = 0; i < 4; i++) {
        assert_true(heft_plan_put(&b->plan, 0, HEFT_STR("header, in no sum"), &b->err));
        sum = heft_plan_sum_begin(&b->plan);
        item(b, rows[i], i == 3 ? HEFT_U32 : HEFT_U8);
        if (i == 1) /* a sum of several ops */
            assert_true(heft_plan_put(&b->plan, 0, HEFT_STR("tail"), &b->err));
        heft_plan_sum_end(&b->plan);
        late(b, sum, sum, 16);
    }
    sum = heft_plan_sum_begin(&b->plan); /* a sum over a late op */
    late(b, 0, 4, 41);
    heft_plan_sum_end(&b->plan);
    late(b, 0, sum, 4 * (sum + 1ull));
    return sum;
}

static uint32_t number_at(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Walks the ops of the plan and computes each sum from the written file. */
static void expect_sums(struct bench *b)
{
    const uint32_t last = plan_sums(b);
    uint32_t sums[8] = {0};
    uint8_t *got;
    size_t n;

    assert_true(run(b, &scratch));
    got = slurp(b, &n);
    assert_int_equal(n, b->plan.files[0].size);
    for (size_t i = 0; i < b->plan.n_ops; i++) {
        const struct heft_op *op = &b->plan.ops[i];
        const uint8_t *bytes = got + op->off;

        if (op->kind == HEFT_OP_LATE && op->len == 16)
            assert_int_equal(number_at(bytes + 12), sums[b->plan.ops[i - 1].sum]);
        if (op->sum != HEFT_NONE)
            sums[op->sum] =
                heft_sum_combine(b->plan.sum, sums[op->sum],
                                 heft_sum_of(b->plan.sum, bytes, (size_t)op->len), op->len);
    }
    assert_int_equal(sums[0], 0);
    for (uint32_t i = 0; i <= last; i++)
        assert_int_equal(number_at(got + n - 4ull * (last + 1 - i)), sums[i]);
    assert_int_equal(number_at(got + n - 4ull * (last + 1) - 41 + 8), sums[2]);
    free(got);
    assert_true(heft_exec_compare(&b->plan, &scratch, &b->err));
}

static void sums_match_the_written_bytes(void **state)
{
    expect_sums(*state);
}

/* The plan's sums and the stored checksums are of different kinds. */
static void sums_of_both_kinds(void **state)
{
    struct bench *b = *state;

    b->plan.sum = HEFT_SUM_CRC32C;
    expect_sums(b);
}

static void sums_of_the_other_kind(void **state)
{
    struct bench *b = *state;

    b->stored = HEFT_SUM_CRC32C;
    expect_sums(b);
}

/* A wrong byte in the output of a late op is found at its offset. */
static void late_bytes_are_compared(void **state)
{
    struct bench *b = *state;
    FILE *f;
    int old;

    (void)plan_sums(b);
    assert_true(run(b, &scratch));
    f = fopen(b->path, "r+b");
    assert_int_equal(fseek(f, -3, SEEK_END), 0);
    old = getc(f);
    assert_int_equal(fseek(f, -3, SEEK_END), 0);
    fputc(old ^ 1, f);
    fclose(f);
    assert_false(heft_exec_compare(&b->plan, &scratch, &b->err));
    assert_int_equal(b->err.code, HEFT_MISMATCH);
    assert_int_equal(b->err.offset, b->plan.files[0].size - 3);
}

/* Single-threaded, so that the order of calls is the same in each run. */
static void any_failing_call_of_late_writes_leaves_nothing(void **state)
{
    const struct heft_exec_options options = {.threads = 1};
    struct bench *b = *state;
    bool ok = false;

    begin(b);
    (void)heft_plan_sum_begin(&b->plan);
    item(b, add(b, 0, 100, true, 0, 100, HEFT_U8, NULL), HEFT_U8);
    heft_plan_sum_end(&b->plan);
    for (unsigned i = 0; i < 5; i++)
        late(b, 0, 0, 8);
    for (unsigned nth = 1; !ok && nth < 200; nth++) {
        heft_fault_os_install(nth, 0);
        b->err = (struct heft_error){0};
        ok = run(b, &options);
        heft_fault_os_remove();
        assert_true(ok || b->err.code != HEFT_OK);
        if (!ok && files_left(b)) /* the whole file if only the last sync failed */
            unlink(b->path);
    }
    assert_true(ok);
    assert_int_equal(files_left(b), 1);
}

static void any_failing_allocation_of_late_bytes(void **state)
{
    struct bench *b = *state;

    (void)plan_sums(b);
    for (struct failures fail = {.most = 200}; !fail.done;) {
        FAIL_ALLOCATION(&fail, run(b, &scratch), &b->err);
        assert_int_equal(files_left(b), fail.done ? 1 : 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_kind_of_op_in_one_file, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(bytes_are_made_when_they_are_written, open_bench,
                                        close_bench),
        cmocka_unit_test_setup_teardown(a_maker_is_released_if_it_cannot_be_stored, open_bench,
                                        close_bench),
        cmocka_unit_test_setup_teardown(many_small_neighbours_are_read_together, open_bench,
                                        close_bench),
        cmocka_unit_test_setup_teardown(a_wrong_checksum_of_a_whole_copy, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(a_wrong_checksum_of_a_partial_copy, open_bench,
                                        close_bench),
        cmocka_unit_test_setup_teardown(a_wrong_checksum_of_a_gather, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(no_verify_copies_mismatched_bytes, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(ranges_are_copied_by_the_system, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(an_interruption_leaves_nothing, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(any_failing_call_leaves_the_old_file, open_bench,
                                        close_bench),
        cmocka_unit_test_setup_teardown(any_failing_allocation_leaves_nothing, open_bench,
                                        close_bench),
        cmocka_unit_test_setup_teardown(sums_match_the_written_bytes, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(sums_of_both_kinds, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(sums_of_the_other_kind, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(a_wrong_crc32c, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(a_checksum_of_the_format, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(a_wrong_checksum_of_the_format, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(no_verify_skips_checksums_of_the_format, open_bench,
                                        close_bench),
        cmocka_unit_test_setup_teardown(verify_reports_every_mismatch, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(verify_reads_no_more_than_twice_the_file, open_bench,
                                        close_bench),
        cmocka_unit_test_setup_teardown(verify_can_be_cancelled, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(late_bytes_are_compared, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(any_failing_call_of_late_writes_leaves_nothing, open_bench,
                                        close_bench),
        cmocka_unit_test_setup_teardown(any_failing_allocation_of_late_bytes, open_bench,
                                        close_bench),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
