/* Inputs whose calls take long (heft_input.is_slow): number of calls and bytes for a list of tensors,
 * and local headers of archives that are compared with the first read of their records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "provided.h"
#include "scratch.h"

enum { TENSORS = 300, MOST_CALLS = 8, MOST_BYTES = 512 << 10, CENTRAL = 46, LOCAL = 30 };

/* A checkpoint of 300 tensors of `bytes` bytes each, written in some format. */
static struct provided *make_model(const char *name, const char *to, size_t bytes)
{
    char *const folder = heft_scratch_new(), *const path = heft_scratch_path(folder, name);
    const struct heft_convert_options options = {.size = sizeof options, .output = path, .to = to};
    struct heft_buf header = {0}, file = {0};
    struct heft_error err = {0};
    struct heft_conversion *conversion;
    struct heft_checkpoint *c;
    struct provided *p;
    uint64_t overflowed;
    uint8_t *data;

    heft_buf_char(&header, '{');
    for (size_t i = 0; i < TENSORS; i++)
        heft_buf_printf(&header,
                        "%s\"layers.%zu.weight\":{\"dtype\":\"F32\",\"shape\":[%zu],"
                        "\"data_offsets\":[%zu,%zu]}",
                        i ? "," : "", i, bytes / 4, i * bytes, (i + 1) * bytes);
    heft_buf_char(&header, '}');
    for (unsigned i = 0; i < 8; i++)
        heft_buf_char(&file, (char)((uint64_t)header.n >> (8 * i)));
    heft_buf_put(&file, header.p, header.n);
    data = calloc(TENSORS, bytes);
    assert_non_null(data);
    for (size_t i = 0; i < TENSORS * bytes; i += 8)
        data[i] = (uint8_t)(i / bytes);
    heft_buf_put(&file, data, TENSORS * bytes);
    free(data);
    c = heft_open_memory(file.p, file.n, NULL, &err);
    assert_non_null(c);
    conversion = heft_convert_plan(c, &options, &err);
    if (!conversion || !heft_convert_run(conversion, &overflowed, &err))
        fail_msg("%s: %s", name, err.text);
    heft_convert_free(conversion);
    heft_close(c);
    heft_buf_release(&header);
    heft_buf_release(&file);
    p = provided_new(folder);
    free(path);
    heft_scratch_free(folder);
    return p;
}

static struct heft_checkpoint *open_slow(struct provided *p, struct heft_error *err)
{
    return heft_open_inputs(provided_inputs(p, PROVIDED_SLOW), p->n, NULL, err);
}

static void list_takes_few_calls(void **state)
{
    static const struct {
        const char *name, *to;
        size_t bytes; /* of a tensor; the header of each array of an npz is before its data */
    } formats[] = {{"model.pth", NULL, 16384},         {"model.safetensors", NULL, 16384},
                   {"model.ptd", NULL, 16384},         {"model.npz", NULL, 1024},
                   {"model.pt", "torch-legacy", 1024}, {"ckpt", "tf", 16384}};

    (void)state;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        struct provided *const p = make_model(formats[i].name, formats[i].to, formats[i].bytes);
        struct heft_error err = {0};
        struct heft_checkpoint *const c = open_slow(p, &err);
        struct heft_tensor t = HEFT_INIT(struct heft_tensor);
        size_t calls, bytes, n = 0;

        if (!c)
            fail_msg("%s: %s", formats[i].name, err.text);
        while (heft_tensor_at(c, n, &t))
            n++;
        calls = atomic_load(&p->calls);
        bytes = atomic_load(&p->bytes);
        print_message("%s: %zu calls, %zu bytes\n", formats[i].name, calls, bytes);
        assert_int_equal(n, TENSORS);
        assert_in_range(calls, 1, MOST_CALLS);
        assert_in_range(bytes, 1, MOST_BYTES);
        heft_close(c);
        provided_free(p);
    }
}

/* Every tensor is read and has its bytes; the local header of each record is read once. */
static void tensors_are_read(void **state)
{
    struct provided *const p = make_model("model.pth", NULL, 16384);
    struct heft_error err = {0};
    struct heft_checkpoint *const c = open_slow(p, &err);
    uint8_t data[16384];
    const void *view;
    size_t listed;

    (void)state;
    assert_non_null(c);
    listed = atomic_load(&p->calls);
    for (size_t i = 0; i < TENSORS; i++) {
        assert_true(heft_tensor_read(c, i, data, sizeof data, &err));
        assert_int_equal(data[0], (uint8_t)i);
        assert_int_equal(data[16376], (uint8_t)i);
        assert_true(heft_tensor_map(c, i, &view, &err));
        assert_memory_equal(view, data, sizeof data);
    }
    assert_in_range(atomic_load(&p->calls) - listed, 1, 60); /* 4.9 MB in windows of 128 KiB */
    assert_true(heft_verify(c, NULL, NULL, NULL, &err));
    heft_close(c);
    provided_free(p);
}

/* Offset of the local header whose name ends in `name`. */
static size_t find_local(const struct provided_file *file, const char *name)
{
    const size_t n = strlen(name);

    for (size_t i = 0; i + LOCAL + 100 < file->n; i++) {
        size_t length;

        if (memcmp(file->data + i, "PK\3\4", 4) != 0)
            continue;
        length = (uint8_t)file->data[i + 26];
        if (length >= n && memcmp(file->data + i + LOCAL + length - n, name, n) == 0)
            return i;
    }
    fail_msg("no record %s", name);
    return 0;
}

/* Damages of a local header: from the disk the archive does not open, with the same error. */
static void damaged_local_header_fails_at_the_first_read(void **state)
{
    static const struct {
        unsigned at; /* offset in the local header */
        char byte;
        const char *text;
    } damages[] = {{0, 'Q', "local header begins with"},
                   {8, 8, "local header has method 8"},
                   {26, 9, "local header has a name of length"},
                   {30, 'X', "local header names it"},
                   {28, 1, NULL}}; /* another length of extra fields: another payload */

    (void)state;
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        struct provided *const p = make_model("model.pth", NULL, 16384);
        struct provided_file *const file = &p->files[0];
        struct heft_error disk = {0}, err = {0};
        struct heft_checkpoint *c;
        const size_t at = find_local(file, "/data/150");
        uint8_t data[16384];
        size_t failed = 0;

        file->data[at + damages[i].at] = damages[i].byte;
        c = heft_open_memory(file->data, file->n, NULL, &disk);
        assert_true(!c == (damages[i].text != NULL)); /* from the disk, a gap is no error */
        heft_close(c);
        c = open_slow(p, &err);
        assert_non_null(c);
        for (size_t k = 0; k < TENSORS; k++) {
            struct heft_error why = {0};

            if (heft_tensor_read(c, k, data, sizeof data, &why))
                continue;
            failed++;
            err = why;
        }
        assert_int_equal(failed, 1);
        assert_int_equal(err.code, damages[i].text ? HEFT_MALFORMED : HEFT_UNSUPPORTED);
        if (damages[i].text) {
            assert_non_null(strstr(disk.text, damages[i].text));
            assert_non_null(strstr(err.text, disk.text));
            assert_int_equal(err.offset, disk.offset);
        } else {
            assert_non_null(strstr(err.text, "without is_slow"));
        }
        assert_string_equal(err.file, "model.pth");
        heft_close(c);
        provided_free(p);
    }
}

/* Offset of the next local header, or of the directory. */
static size_t next_record(const struct provided_file *file, size_t at)
{
    do
        at++;
    while (memcmp(file->data + at, "PK\3\4", 4) != 0 && memcmp(file->data + at, "PK\1\2", 4) != 0);
    return at;
}

/* Removes the extra field of a local header: what follows moves to the front, and leaves a gap. */
static void strip_padding(struct provided_file *file, size_t at)
{
    const size_t name = (uint8_t)file->data[at + 26], end = next_record(file, at);
    const size_t extra = (uint8_t)file->data[at + 28] | (size_t)(uint8_t)file->data[at + 29] << 8;
    const size_t to = at + LOCAL + name;

    memset(file->data + at + 28, 0, 2);
    memmove(file->data + to, file->data + to + extra, end - to - extra);
    memset(file->data + end - extra, 0, extra);
}

/* The archive opens from the disk: a gap is no error. */
static void archives_with_gaps_are_read(void **state)
{
    enum { ALL, FIRST, LAST };

    for (int which = ALL; which <= LAST; which++) {
        struct provided *const p = make_model("model.pth", NULL, 16384);
        struct provided_file *const file = &p->files[0];
        size_t gaps = 0, last = 0;
        struct heft_checkpoint *disk, *slow;
        struct heft_error err = {0};

        (void)state;
        for (size_t at = 0, next; memcmp(file->data + at, "PK\3\4", 4) == 0; at = next, gaps++) {
            next = next_record(file, at);
            last = at;
            if (which == ALL || (which == FIRST && at == 0))
                strip_padding(file, at);
        }
        if (which == LAST)
            strip_padding(file, last);
        assert_true(gaps > TENSORS);
        disk = heft_open_memory(file->data, file->n, NULL, &err);
        if (!disk)
            fail_msg("%s", err.text);
        slow = open_slow(p, &err);
        if (!slow)
            fail_msg("%s", err.text);
        for (size_t i = 0; i < TENSORS; i++) {
            struct heft_tensor a = HEFT_INIT(struct heft_tensor), b = a;
            uint8_t data[16384];

            assert_true(heft_tensor_at(disk, i, &a) && heft_tensor_at(slow, i, &b));
            assert_int_equal(a.offset, b.offset);
            if (!heft_tensor_read(slow, i, data, sizeof data, &err))
                fail_msg("%s", err.text);
            assert_int_equal(data[0], (uint8_t)i);
            assert_int_equal(data[16376], (uint8_t)i);
        }
        heft_close(disk);
        heft_close(slow);
        provided_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(list_takes_few_calls),
        cmocka_unit_test(tensors_are_read),
        cmocka_unit_test(damaged_local_header_fails_at_the_first_read),
        cmocka_unit_test(archives_with_gaps_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
