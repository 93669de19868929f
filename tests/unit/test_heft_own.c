/* test_heft_own.c: checkpoints of tensors in memory, and saving them: every layout and dtype, ties,
 * callbacks that fail, what is refused, round trips through every format that can be written. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failures.h"
#include "file_order.h"
#include "heft/heft.h"
#include "scratch.h"
#include "skip_because.h"

static struct heft_error err;

enum { N = 60 };
static float values[N];    /* i * 0.5 */
static uint16_t halves[N]; /* the same as F16 */
static int64_t numbers[N]; /* i * 1000 */
static const uint64_t shape_3_4_5[] = {3, 4, 5}, shape_5_4[] = {5, 4}, shape_2_0[] = {2, 0};
static const uint64_t strides_1_5[] = {1, 5};
static const uint64_t shape_60[] = {60};

static int setup(void **state)
{
    uint64_t over = 0;

    (void)state;
    for (int i = 0; i < N; i++) {
        values[i] = (float)i * 0.5F;
        numbers[i] = i * 1000;
    }
    in_file_order(values, sizeof values,
                  sizeof *values); /* heft_cast takes little-endian elements */
    if (!heft_cast(HEFT_F32, values, HEFT_F16, halves, N, &over, &err))
        return -1;
    in_file_order(values, sizeof values, sizeof *values);
    in_file_order(halves, sizeof halves, sizeof *halves);
    return 0;
}

/* ---- callbacks that fill tensors ---------------------------------------------------------------- */

struct filler {
    const uint8_t *bytes;
    uint64_t fail_from; /* offset from which on it fails; UINT64_MAX: never */
    bool has_error;
};

static bool fill_from(void *ctx, uint64_t offset, void *dst, size_t n, struct heft_error *why)
{
    const struct filler *const f = ctx;

    if (offset + n > f->fail_from) {
        if (f->has_error) {
            why->code = HEFT_IO;
            snprintf(why->text, sizeof why->text, "the disk is on fire");
        }
        return false;
    }
    memcpy(dst, f->bytes + offset, n);
    return true;
}

/* ---- the tensors -------------------------------------------------------------------------------- */

enum { WHOLE, TURNED, TIED, HALF, FILLED, EMPTY, SCALAR, COUNT };
static struct filler filler = {(const uint8_t *)numbers, UINT64_MAX, false};

static const struct heft_own_tensor *tensors(void)
{
    static struct heft_own_tensor list[COUNT];

    list[WHOLE] = (struct heft_own_tensor){.name = "whole",
                                           .name_len = 5,
                                           .dtype = HEFT_F32,
                                           .rank = 3,
                                           .shape = shape_3_4_5,
                                           .data = values,
                                           .storage = 7};
    list[TURNED] = (struct heft_own_tensor){.name = "turned",
                                            .name_len = 6,
                                            .dtype = HEFT_F32,
                                            .rank = 2,
                                            .shape = shape_5_4,
                                            .strides = strides_1_5,
                                            .data = values + 20,
                                            .storage = 7};
    list[TIED] = (struct heft_own_tensor){.name = "tied",
                                          .name_len = 4,
                                          .dtype = HEFT_F32,
                                          .rank = 3,
                                          .shape = shape_3_4_5,
                                          .data = values,
                                          .storage = 7};
    list[HALF] = (struct heft_own_tensor){.name = "half",
                                          .name_len = 4,
                                          .dtype = HEFT_F16,
                                          .rank = 2,
                                          .shape = shape_5_4,
                                          .strides = strides_1_5,
                                          .data = halves};
    list[FILLED] = (struct heft_own_tensor){.name = "filled",
                                            .name_len = 6,
                                            .dtype = HEFT_I64,
                                            .rank = 1,
                                            .shape = shape_60,
                                            .fill = fill_from,
                                            .ctx = &filler};
    list[EMPTY] = (struct heft_own_tensor){
        .name = "empty", .name_len = 5, .dtype = HEFT_BF16, .rank = 2, .shape = shape_2_0};
    list[SCALAR] = (struct heft_own_tensor){
        .name = "scalar", .name_len = 6, .dtype = HEFT_I64, .data = numbers + 3};
    for (size_t i = 0; i < COUNT; i++)
        list[i].size = sizeof *list;
    return list;
}

/* Row-major elements of tensor i, as values. */
static double element(size_t tensor, size_t k)
{
    switch (tensor) {
    case TURNED:
        return (double)values[20 + k % 4 * 5 + k / 4];
    case HALF:
        return (double)values[k % 4 * 5 + k / 4];
    case FILLED:
        return (double)numbers[k];
    case SCALAR:
        return (double)numbers[3];
    default:
        return (double)values[k];
    }
}

static void expect_elements(struct heft_checkpoint *c, size_t index, size_t tensor)
{
    const struct heft_read_options wide = {.cast = true, .as = HEFT_F64, .native_order = true};
    const uint64_t n = heft_tensor_elements(c, index);
    double read[N];

    assert_true(n <= N);
    if (!heft_tensor_read_with(c, index, &wide, read, (size_t)n * sizeof *read, NULL, &err))
        fail_msg("%s", err.text);
    for (size_t k = 0; k < n; k++)
        assert_true(read[k] == element(tensor, k));
}

/* All tensors of the checkpoint are ours, by their names. */
static void expect_tensors(struct heft_checkpoint *c, bool one)
{
    size_t index;

    for (size_t i = 0; i < COUNT; i++) {
        const struct heft_own_tensor *const t = &tensors()[i];

        if (one && i != FILLED)
            continue;
        if (!heft_tensor_require(c, t->name, t->name_len, &index, &err))
            fail_msg("%s", err.text);
        expect_elements(c, index, i);
    }
}

static struct heft_checkpoint *from_all(void)
{
    const struct heft_metadata metadata[] = {{"who", "us", 3, 2}, {"a", "\xC3\xA9\n", 1, 3}};
    struct heft_checkpoint *const c = heft_from_tensors(tensors(), COUNT, metadata, 2, &err);

    if (!c)
        fail_msg("%s", err.text);
    return c;
}

/* ---- the checkpoint ----------------------------------------------------------------------------- */

static void listing(void **state)
{
    struct heft_checkpoint *const c = from_all();
    struct heft_metadata pair;
    struct heft_tensor t;
    struct heft_file file;
    struct heft_view view;
    uint64_t stored, used;

    (void)state;
    assert_string_equal(heft_format(c), "memory");
    assert_int_equal(heft_file_count(c), 1);
    assert_true(heft_file_at(c, 0, &file));
    assert_string_equal(file.path, "memory");
    assert_true(file.bytes == sizeof values + 40 + sizeof numbers + 8);
    assert_int_equal(heft_tensor_count(c), COUNT);
    assert_true(heft_tensor_at(c, TURNED, &t));
    assert_string_equal(t.name, "turned");
    assert_true(t.offset == 80 && t.storage == 0 && t.strides[0] == 1 && t.strides[1] == 5);
    assert_true(heft_tensor_at(c, FILLED, &t));
    assert_true(t.offset == sizeof values + 40 && t.storage == -1 && t.bytes == 480 && !t.strides);
    assert_true(heft_metadata_at(c, 1, &pair) && pair.value_len == 3);
    assert_true(heft_storage_use(c, &stored, &used, &err) && stored == file.bytes &&
                used == stored);
    expect_tensors(c, false);
    /* The caller's own memory; on a big-endian host it is not in the byte order of views. */
    assert_true(heft_tensor_view(c, WHOLE, NULL, &view, &err) == !heft_is_big_endian());
    assert_true(heft_is_big_endian() ? err.code == HEFT_UNSUPPORTED : view.data == values);
    err = (struct heft_error){0};
    assert_false(heft_tensor_view(c, FILLED, NULL, &view, &err));
    assert_int_equal(err.code, HEFT_UNSUPPORTED);
    err = (struct heft_error){0};
    assert_false(
        heft_tensor_view(c, WHOLE, &(struct heft_view_options){.writable = true}, &view, &err));
    assert_int_equal(err.code, HEFT_UNSUPPORTED);
    err = (struct heft_error){0};
    heft_close(c);
}

static bool same_tensor(void *ctx, const struct heft_diff_item *item)
{
    (void)ctx, (void)item;
    return true;
}

static bool each_stats(void *ctx, const struct heft_tensor_stats *stats)
{
    (void)stats;
    ++*(int *)ctx;
    return true;
}

static bool each_digest(void *ctx, const struct heft_digest *digest)
{
    (void)digest;
    ++*(int *)ctx;
    return true;
}

static void no_finding(void *ctx, const struct heft_finding *finding)
{
    (void)ctx;
    if (finding->severity == HEFT_FINDING)
        fail_msg("%s", finding->text);
}

/* Everything that works on files works on it. */
static void other_verbs(void **state)
{
    struct heft_checkpoint *const c = from_all(), *const same = from_all();
    const struct heft_diff_visitor visitor = {.tensor = same_tensor};
    struct heft_diff_result result;
    struct heft_segment segment;
    struct heft_map *map;
    int n_stats = 0, n_digests = 0;
    bool ok;

    (void)state;
    assert_true(heft_verify(c, NULL, no_finding, NULL, &err));
    assert_true(heft_stats(c, NULL, each_stats, &n_stats, &err));
    assert_int_equal(n_stats, COUNT);
    ok = heft_digest_tensors(c, NULL, each_digest, &n_digests, &err);
    assert_true(ok ? n_digests == COUNT : err.code == HEFT_UNSUPPORTED); /* without libnettle */
    err = (struct heft_error){0};
    assert_true(heft_diff(c, same, NULL, &visitor, &result, &err));
    assert_true(result.tensors.equal == COUNT && result.tensors.differ == 0);
    map = heft_map_new(c, &err);
    assert_non_null(map);
    assert_int_equal(heft_map_count(map), 4);
    assert_true(heft_map_at(map, 0, &segment));
    assert_non_null(strstr(segment.what, "whole"));
    heft_map_free(map);
    for (size_t i = 0; i < COUNT; i++)
        assert_true(heft_tensor_check(c, i, &err));
    heft_close(c);
    heft_close(same);
}

/* ---- saving ------------------------------------------------------------------------------------- */

/* Whether the format cannot hold all of our dtypes, or more than one tensor: then only `filled`. */
static bool takes_one(const char *format)
{
    return strcmp(format, "npy") == 0 || strcmp(format, "raw") == 0;
}

static void save_and_reopen(const char *format, char *folder)
{
    const struct heft_rule cast[] = {{sizeof(struct heft_rule), HEFT_RULE_CAST, "empty", "F32"}};
    /* no GGUF is written without it */
    const struct heft_metadata named = {"general.architecture", "x", 20, 1};
    const size_t n_metadata = strcmp(format, "gguf") == 0;
    char name[60];
    char *path;
    struct heft_checkpoint *c;
    const bool one = takes_one(format);

    snprintf(name, sizeof name, "%s.out", format);
    path = heft_scratch_path(folder, name);
    const struct heft_convert_options options = {
        .output = path, .to = format, .rules = cast, .n_rules = 1};

    if (!heft_save(one ? &tensors()[FILLED] : tensors(), one ? 1 : COUNT, &named, n_metadata,
                   &options, &err))
        fail_msg("%s: %s", format, err.text);
    if (strcmp(format, "raw") != 0) { /* raw bytes cannot be opened */
        c = heft_open(path, NULL, &err);
        if (!c)
            fail_msg("%s: %s: %s", format, err.file, err.text);
        if (one)
            expect_elements(c, 0, FILLED);
        else
            expect_tensors(c, false);
        heft_close(c);
    }
    free(path);
}

static void every_format(void **state)
{
    char *const folder = heft_scratch_new();
    struct heft_format_info format;
    int n = 0;

    (void)state;
    for (size_t i = 0; heft_format_at(i, &format); i++)
        if (format.writes && (HEFT_HAS_HDF5 || strcmp(format.name, "h5") != 0)) {
            save_and_reopen(format.name, folder);
            n++;
        }
    assert_true(n >= 8);
    heft_scratch_free(folder);
}

static void saved_as(const char *expected, const struct heft_own_tensor *list, size_t n,
                     const struct heft_metadata *metadata, size_t n_metadata,
                     const struct heft_convert_options *more)
{
    char *const folder = heft_scratch_new(), *const path =
                                                 heft_scratch_path(folder, "m.safetensors");
    struct heft_convert_options options = more ? *more : (struct heft_convert_options){0};
    char *bytes;
    size_t size, head;

    options.output = path;
    if (!heft_save(list, n, metadata, n_metadata, &options, &err))
        fail_msg("%s", err.text);
    bytes = heft_scratch_read(folder, "m.safetensors", &size);
    assert_true(size > 8);
    head = (size_t)(uint8_t)bytes[0] | (size_t)(uint8_t)bytes[1] << 8;
    assert_true(head % 8 == 0 && head < strlen(expected) + 8 && 8 + head <= size);
    bytes[8 + head] = '\0';
    assert_memory_equal(bytes + 8, expected, strlen(expected));
    assert_int_equal(strspn(bytes + 8 + strlen(expected), " "), head - strlen(expected));
    free(bytes);
    free(path);
    heft_scratch_free(folder);
}

/* Headers as of the reference library. */
static void safetensors_headers(void **state)
{
    const struct heft_metadata metadata[] = {{"b", "2", 1, 1}, {"a", "1", 1, 1}};
    const struct heft_convert_options empty = {.allow_empty = true};
    const struct heft_own_tensor *const t = tensors();

    (void)state;
    saved_as("{\"scalar\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]}}", &t[SCALAR], 1,
             NULL, 0, NULL);
    saved_as(
        "{\"__metadata__\":{\"a\":\"1\",\"b\":\"2\"},\"scalar\":{\"dtype\":\"I64\",\"shape\":[],"
        "\"data_offsets\":[0,8]}}",
        &t[SCALAR], 1, metadata, 2, NULL);
    saved_as("{}", NULL, 0, NULL, 0, &empty);
    /* ties are dropped with a record, as huggingface_hub does */
    saved_as("{\"__metadata__\":{\"whole\":\"tied\"},\"tied\":{\"dtype\":\"F32\",\"shape\":[3,4,5],"
             "\"data_offsets\":[0,240]}}",
             (const struct heft_own_tensor[]){t[WHOLE], t[TIED]}, 2, NULL, 0, NULL);
}

/* ---- the files of save_file ---------------------------------------------------------------------- */

enum { MOST = 30 };

static char *must_read(const char *path, size_t *n)
{
    FILE *const file = fopen(path, "rb");
    char *const bytes = malloc(1 << 16);

    assert_true(file && bytes);
    *n = fread(bytes, 1, 1 << 16, file);
    assert_true(*n < 1 << 16);
    fclose(file);
    return bytes;
}

/* Tensors and metadata of a file that the reference's save_file wrote (tests/golden/safetensors/make.py),
 * saved from memory: the same bytes. */
static void save_golden(const char *name)
{
    char *const folder = heft_scratch_new(), *const path =
                                                 heft_scratch_path(folder, "m.safetensors");
    const struct heft_convert_options options = {.output = path, .allow_empty = true};
    struct heft_own_tensor list[MOST] = {0};
    struct heft_metadata metadata[2];
    struct heft_checkpoint *c;
    struct heft_tensor t;
    char golden[200], *ours, *theirs;
    size_t n = 0, n_metadata = 0, n_ours, n_theirs;

    snprintf(golden, sizeof golden, HEFT_TESTS "/golden/safetensors/%s.safetensors", name);
    c = heft_open(golden, NULL, &err);
    assert_non_null(c);
    while (n_metadata < 2 && heft_metadata_at(c, n_metadata, &metadata[n_metadata]))
        n_metadata++;
    for (; n < MOST && heft_tensor_at(c, n, &t); n++) {
        const struct heft_read_options native = {.native_order = true};
        void *const data = malloc((size_t)t.bytes + 1);

        assert_true(heft_tensor_read_with(c, n, &native, data, (size_t)t.bytes, NULL, &err));
        list[n] = (struct heft_own_tensor){.size = sizeof(struct heft_own_tensor),
                                           .name = t.name,
                                           .name_len = t.name_len,
                                           .dtype = t.dtype,
                                           .rank = t.rank,
                                           .shape = t.shape,
                                           .data = data};
    }
    assert_int_equal(n, heft_tensor_count(c));
    for (size_t i = 0; i < n / 2; i++) { /* any order */
        const struct heft_own_tensor first = list[i];

        list[i] = list[n - 1 - i];
        list[n - 1 - i] = first;
    }
    if (!heft_save(list, n, metadata, n_metadata, &options, &err))
        fail_msg("%s: %s", name, err.text);
    ours = heft_scratch_read(folder, "m.safetensors", &n_ours);
    theirs = must_read(golden, &n_theirs);
    assert_int_equal(n_ours, n_theirs);
    assert_memory_equal(ours, theirs, n_ours);
    for (size_t i = 0; i < n; i++)
        free((void *)(uintptr_t)list[i].data);
    heft_close(c);
    free(ours);
    free(theirs);
    free(path);
    heft_scratch_free(folder);
}

static void files_of_the_reference(void **state)
{
    (void)state;
    save_golden("dtypes");
    save_golden("shapes");
    save_golden("names");
    save_golden("numpy");
    save_golden("empty");
}

/* ---- alignment ---------------------------------------------------------------------------------- */

/* Tensors whose sizes are multiples of the alignment are aligned; in .npz all are. */
static void save_aligned(const char *name, uint64_t alignment)
{
    enum { PAGES = 3 * 4096 };
    static const uint64_t odd[] = {13}, page[] = {4096}, pages[] = {PAGES};
    static const uint8_t bytes[PAGES] = {1, 2, 3};
    struct heft_own_tensor list[] = {
        {.name = "a.odd", .name_len = 5, .dtype = HEFT_I64, .rank = 1, .shape = odd, .data = bytes},
        {.name = "b.page",
         .name_len = 6,
         .dtype = HEFT_U8,
         .rank = 1,
         .shape = page,
         .data = bytes},
        {.name = "c.odd", .name_len = 5, .dtype = HEFT_U8, .rank = 1, .shape = odd, .data = bytes},
        {.name = "d.pages",
         .name_len = 7,
         .dtype = HEFT_U8,
         .rank = 1,
         .shape = pages,
         .data = bytes},
        {.name = "e.odd",
         .name_len = 5,
         .dtype = HEFT_F32,
         .rank = 1,
         .shape = odd,
         .data = bytes}};
    uint8_t wanted[PAGES];
    char text[20];
    const struct heft_option option = {"alignment", text};
    char *const folder = heft_scratch_new(), *const path = heft_scratch_path(folder, name);
    const struct heft_convert_options options = {
        .output = path, .format_options = &option, .n_format_options = 1};
    const bool is_npz = strstr(name, ".npz") != NULL;
    struct heft_checkpoint *c;
    struct heft_tensor t;
    struct heft_view view;

    for (size_t i = 0; i < HEFT_COUNT(list); i++)
        list[i].size = sizeof *list;
    snprintf(text, sizeof text, "%d", (int)alignment);
    if (!heft_save(list, 5, NULL, 0, &options, &err))
        fail_msg("%s: %s", name, err.text);
    c = heft_open(path, NULL, &err);
    if (!c)
        fail_msg("%s: %s", name, err.text);
    for (size_t i = 0; heft_tensor_at(c, i, &t); i++) {
        assert_true(t.offset % (is_npz || t.bytes % alignment == 0 ? alignment : 1) == 0);
        assert_true(t.offset % (t.bytes / heft_tensor_elements(c, i)) == 0);
        assert_true(heft_tensor_view(c, i, NULL, &view, &err));
        assert_true((uintptr_t)view.data % 4096 == t.offset % 4096);
        memcpy(wanted, bytes, sizeof wanted);
        in_file_order(wanted, sizeof wanted, (size_t)(t.bytes / heft_tensor_elements(c, i)));
        assert_memory_equal(view.data, wanted, (size_t)t.bytes);
    }
    assert_true(heft_verify(c, NULL, no_finding, NULL, &err));
    heft_close(c);
    free(path);
    heft_scratch_free(folder);
}

static void aligned_files(void **state)
{
    (void)state;
    for (uint64_t alignment = 8; alignment <= 32768; alignment *= 2) {
        save_aligned("m.safetensors", alignment);
        save_aligned("m.npz", alignment);
    }
    save_aligned("m.safetensors", 1048576);
}

/* ---- filling ------------------------------------------------------------------------------------ */

/* Large tensors that are filled by several threads, cast, and compared with the file. */
static bool fill_pattern(void *ctx, uint64_t offset, void *dst, size_t n, struct heft_error *why)
{
    uint8_t *const out = dst;

    (void)ctx, (void)why;
    for (size_t i = 0; i < n; i++) {
        const uint64_t word = (offset + i) / 4;

        out[i] = (offset + i) % 4 == 3 ? 0x3F : (uint8_t)(word * 37 + (offset + i) % 4);
    }
    return true;
}

static void parallel_fill(void **state)
{
    enum { LARGE = 3 << 20 };
    const uint64_t shape[] = {LARGE};
    const struct heft_rule cast[] = {{sizeof(struct heft_rule), HEFT_RULE_CAST, "*", "F64"}};
    const struct heft_own_tensor list[] = {{.size = sizeof *list,
                                            .name = "a",
                                            .name_len = 1,
                                            .dtype = HEFT_F32,
                                            .rank = 1,
                                            .shape = shape,
                                            .fill = fill_pattern},
                                           {.size = sizeof *list,
                                            .name = "b",
                                            .name_len = 1,
                                            .dtype = HEFT_F32,
                                            .rank = 1,
                                            .shape = shape,
                                            .fill = fill_pattern}};
    char *const folder = heft_scratch_new(), *const path = heft_scratch_path(folder, "m.npz");
    struct heft_convert_options options = {.output = path, .threads = 3, .no_sync = true};
    uint8_t *const wanted = malloc(LARGE * 4), *const read = malloc(LARGE * 8);

    (void)state;
    fill_pattern(NULL, 0, wanted, LARGE * 4, &err);
    in_file_order(wanted, LARGE * 4, 4);
    for (int k = 0; k < 2; k++) {
        struct heft_checkpoint *c;
        uint64_t over = 0;

        if (!heft_save(list, 2, NULL, 0, &options, &err))
            fail_msg("%s", err.text);
        c = heft_open(path, NULL, &err);
        assert_non_null(c);
        for (size_t i = 0; i < 2; i++) {
            assert_true(heft_tensor_read(c, i, read, (k ? 8 : 4) * (size_t)LARGE, &err));
            if (k) {
                uint8_t *const wide = malloc(LARGE * 8);

                assert_true(heft_cast(HEFT_F32, wanted, HEFT_F64, wide, LARGE, &over, &err));
                assert_memory_equal(read, wide, LARGE * 8);
                free(wide);
            } else {
                assert_memory_equal(read, wanted, LARGE * 4);
            }
        }
        heft_close(c);
        options.rules = cast;
        options.n_rules = 1;
        options.overwrite = true;
    }
    free(wanted);
    free(read);
    free(path);
    heft_scratch_free(folder);
}

static bool expect_thread(void *ctx, uint64_t done, uint64_t total)
{
    (void)done, (void)total;
    return pthread_equal(pthread_self(), *(pthread_t *)ctx);
}

/* Data in memory are written by the calling thread alone, because writes are serialised. */
static void one_thread_writes_memory(void **state)
{
    enum { LARGE = 50 << 20 };
    pthread_t self = pthread_self();
    uint8_t *const bytes = calloc(LARGE, 1);
    const uint64_t shape[] = {LARGE};
    const struct heft_own_tensor list[] = {{.size = sizeof *list,
                                            .name = "a",
                                            .name_len = 1,
                                            .dtype = HEFT_U8,
                                            .rank = 1,
                                            .shape = shape,
                                            .data = bytes}};
    char *const folder = heft_scratch_new(), *const path =
                                                 heft_scratch_path(folder, "m.safetensors");
    const struct heft_convert_options options = {
        .output = path, .no_sync = true, .progress = expect_thread, .progress_ctx = &self};

    (void)state;
    if (!heft_save(list, 1, NULL, 0, &options, &err))
        fail_msg("%s", err.text);
    free(bytes);
    free(path);
    heft_scratch_free(folder);
}

/* A callback that stops leaves nothing on the disk. */
static void callbacks_that_fail(void **state)
{
    char *const folder = heft_scratch_new(), *const path =
                                                 heft_scratch_path(folder, "m.safetensors");
    const struct heft_convert_options options = {.output = path};

    (void)state;
    for (int k = 0; k < 2; k++) {
        filler.fail_from = 100;
        filler.has_error = k == 1;
        assert_false(heft_save(tensors(), COUNT, NULL, 0, &options, &err));
        assert_int_equal(err.code, k ? HEFT_IO : HEFT_CANCELLED);
        assert_non_null(strstr(err.text, "tensor filled: "));
        assert_true(k == 0 || strstr(err.text, "the disk is on fire"));
        assert_int_equal(heft_scratch_count(folder), 0);
        err = (struct heft_error){0};
    }
    filler.fail_from = UINT64_MAX;
    assert_true(heft_save(tensors(), COUNT, NULL, 0, &options, &err));
    assert_false(heft_save(tensors(), COUNT, NULL, 0, &options, &err)); /* it exists */
    assert_int_equal(err.code, HEFT_USAGE);
    err = (struct heft_error){0};
    free(path);
    heft_scratch_free(folder);
}

/* ---- what is refused ---------------------------------------------------------------------------- */

static void expect_refused(struct heft_own_tensor t, const char *text)
{
    const struct heft_own_tensor list[] = {tensors()[WHOLE], t};

    assert_null(heft_from_tensors(list, 2, NULL, 0, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_true(err.file[0] == '\0' && err.offset == HEFT_NO_OFFSET);
    if (strcmp(err.text, text) != 0)
        fail_msg("\"%s\", expected \"%s\"", err.text, text);
    err = (struct heft_error){0};
}

static void refused_tensors(void **state)
{
    const uint64_t large[] = {UINT64_MAX, 2}, wide[] = {UINT64_MAX / 4, 1}, odd[] = {3};
    const struct heft_own_tensor good = tensors()[HALF];
    struct heft_own_tensor t = good;

    (void)state;
    t.name = NULL;
    expect_refused(t, "tensor 1 has no name");
    t = good, t.name = "whole", t.name_len = 5;
    expect_refused(t, "tensor whole: a second tensor of this name; names must be unique");
    t = good, t.name = "\xFFx", t.name_len = 2;
    expect_refused(t, "tensor \\xffx: the name is not valid UTF-8");
    t = good, t.dtype = HEFT_STRING;
    expect_refused(t, "tensor half: the dtype has no elements of a fixed size");
    t = good, t.dtype = (enum heft_dtype)400;
    expect_refused(t, "tensor half: the dtype has no elements of a fixed size");
    t = good, t.rank = 65;
    expect_refused(t, "tensor half: has too many dimensions, at most 64 are possible");
    t = good, t.rank = UINT32_MAX;
    expect_refused(t, "tensor half: has too many dimensions, at most 64 are possible");
    t = good, t.shape = NULL;
    expect_refused(t, "tensor half: has no shape");
    t = good, t.fill = fill_from;
    expect_refused(t, "tensor half: has data and a fill callback, expected one of them");
    t = good, t.data = NULL;
    expect_refused(t, "tensor half: has neither data nor a fill callback");
    t = good, t.shape = large;
    expect_refused(t,
                   "tensor half: shape × element size is not a whole number of bytes below 2^64");
    t = good, t.strides = wide;
    expect_refused(t, "tensor half: the strides exceed the address space");
    t = good, t.strides = large;
    expect_refused(t, "tensor half: the strides exceed the address space");
    t = good, t.dtype = HEFT_F4, t.rank = 1, t.shape = odd, t.strides = NULL;
    expect_refused(t,
                   "tensor half: shape × element size is not a whole number of bytes below 2^64");
    t = good, t.dtype = HEFT_F4;
    expect_refused(t, "tensor half: has strides, but its elements are not whole bytes");
    t = tensors()[FILLED], t.storage = 7;
    expect_refused(
        t, "tensor filled: its storage has another fill callback or context than this tensor");
}

static void expect_refused_metadata(struct heft_metadata pair, const char *text)
{
    const struct heft_metadata list[] = {{"a", "1", 1, 1}, pair};

    assert_null(heft_from_tensors(tensors(), COUNT, list, 2, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_string_equal(err.text, text);
    err = (struct heft_error){0};
}

static void refused_metadata(void **state)
{
    (void)state;
    expect_refused_metadata((struct heft_metadata){"a", "1", 1, 1},
                            "the metadata has the key a twice");
    expect_refused_metadata((struct heft_metadata){NULL, "1", 1, 1},
                            "metadata 1 is NULL, expected a key and a value");
    expect_refused_metadata((struct heft_metadata){"b", NULL, 1, 1},
                            "metadata 1 is NULL, expected a key and a value");
    expect_refused_metadata((struct heft_metadata){"b", "\xFF", 1, 1},
                            "metadata 1 is not valid UTF-8");
    expect_refused_metadata((struct heft_metadata){"\xC3", "1", 1, 1},
                            "metadata 1 is not valid UTF-8");
}

/* ---- failing allocations ------------------------------------------------------------------------ */

static bool attempt_save(void *ctx, struct heft_error *failure)
{
    const struct heft_metadata metadata[] = {{"b", "2", 1, 1}};
    const struct heft_convert_options options = {
        .output = ctx, .overwrite = true, .no_sync = true, .threads = 2};

    return heft_save(tensors(), COUNT, metadata, 1, &options, failure);
}

static void failing_allocations(void **state)
{
    char *const folder = heft_scratch_new(), *const path =
                                                 heft_scratch_path(folder, "m.safetensors");

    (void)state;
    fail_each_allocation(attempt_save, path, 500);
    assert_int_equal(heft_scratch_count(folder), 1);
    free(path);
    heft_scratch_free(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listing),
        cmocka_unit_test(other_verbs),
        cmocka_unit_test(every_format),
        cmocka_unit_test(safetensors_headers),
        cmocka_unit_test(files_of_the_reference),
        cmocka_unit_test(aligned_files),
        cmocka_unit_test(parallel_fill),
        cmocka_unit_test(one_thread_writes_memory),
        cmocka_unit_test(callbacks_that_fail),
        cmocka_unit_test(refused_tensors),
        cmocka_unit_test(refused_metadata),
        cmocka_unit_test(failing_allocations),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
