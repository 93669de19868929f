/* fuzz_convert.c: conversion and back. A file of any bytes that opens is converted to each output
 * format; small outputs are written to a temporary directory and opened again.
 *
 * Invariants: a written output opens, and contains each planned tensor with its dtype, its shape
 * and, unless it was cast, its bytes. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/convert.h"
#include "format/formats.h"
#include "open_format.h"

#define MOST_WRITTEN 262144 /* limit of bytes of all files of a conversion */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Directory of all outputs, which have the same name. */
struct folder {
    char path[64], output[96];
};

static void folder_open(struct folder *folder)
{
    struct stat known;
    const bool quick = stat("/dev/shm", &known) == 0;

    (void)snprintf(folder->path, sizeof folder->path, "%s/heft-convert-XXXXXX",
                   quick ? "/dev/shm" : "/tmp");
    expect(mkdtemp(folder->path) != NULL);
    (void)snprintf(folder->output, sizeof folder->output, "%s/out", folder->path);
}

static void folder_close(const struct folder *folder)
{
    expect(rmdir(folder->path) == 0);
}

static void remove_files(const struct heft_conversion *c)
{
    for (size_t i = 0; i < c->plan.n_files; i++)
        expect(unlink(c->plan.files[i].path) == 0 || errno == ENOENT);
}

/* Compares the bytes of a row, unless it is too large: a row that overlaps itself may be far larger
 * than its file. */
static void expect_bytes(const struct heft_model *a, const struct heft_row *x,
                         const struct heft_model *b, const struct heft_row *y)
{
    static uint8_t left[MOST_READ], right[MOST_READ];
    struct heft_error err = {0};
    struct heft_reader one = {0}, two = {0};

    if (x->bytes == 0 || x->bytes > MOST_READ)
        return;
    expect(heft_reader_init(&one, a, false, &err) && heft_reader_init(&two, b, false, &err));
    expect(heft_reader_row(&one, x, 0, left, (size_t)x->bytes, &err) &&
           heft_reader_row(&two, y, 0, right, (size_t)x->bytes, &err));
    expect(memcmp(left, right, (size_t)x->bytes) == 0);
    heft_reader_release(&one);
    heft_reader_release(&two);
}

static void expect_item(const struct heft_model *before, const struct heft_export_item *item,
                        const struct heft_model *after)
{
    const uint32_t at = heft_model_row(after, item->name);
    const struct heft_row *row = at == HEFT_NONE ? NULL : &after->rows[at];

    expect(row && row->dtype == item->as && row->rank == item->row->rank &&
           row->bytes == item->bytes);
    expect(row->rank == 0 ||
           memcmp(row->shape, item->row->shape, row->rank * sizeof *row->shape) == 0);
    if (item->as == item->row->dtype)
        expect_bytes(before, item->row, after, row);
}

/* A .npy has one tensor, which is named after the file. */
static void expect_same(const struct heft_conversion *c, const char *path)
{
    struct heft_error err = {0};
    struct heft_model again;

    heft_model_init(&again, open_limits(), &heft_formats);
    expect(heft_registry_open(&again, &path, 1, NULL, &err) && heft_model_validate(&again, &err));
    if (c->format->one_tensor)
        expect(again.n_rows == 1 && again.rows[0].bytes == c->exports.items[0].bytes);
    for (size_t i = 0; i < c->exports.n_items && !c->format->one_tensor; i++)
        expect_item(c->model, &c->exports.items[i], &again);
    heft_model_release(&again);
}

static uint64_t planned_bytes(const struct heft_conversion *c)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < c->plan.n_files && bytes <= MOST_WRITTEN; i++)
        bytes = heft_min_u64(c->plan.files[i].size, MOST_WRITTEN + 1) + bytes;
    return bytes;
}

static void convert(const struct heft_model *model, const struct heft_format *format,
                    const struct folder *folder)
{
    static const struct heft_option drop = {"drop-metadata", NULL};
    const struct heft_convert_options options = {.output = folder->output,
                                                 .to = format->name,
                                                 .format_options = &drop,
                                                 .n_format_options = 1,
                                                 .no_sync = true,
                                                 .threads = 1};
    struct heft_error err = {0};
    struct heft_conversion c;
    uint64_t overflowed;

    if (!heft_conversion_plan(&c, model, &options, &err)) {
        expect(err.text[0]);
    } else if (planned_bytes(&c) <= MOST_WRITTEN) {
        if (heft_conversion_run(&c, &overflowed, &err))
            expect_same(&c, folder->output);
        else
            expect(err.text[0]);
        remove_files(&c);
    }
    heft_conversion_release(&c);
}

/* All output formats but raw, which cannot be read. */
static void convert_all(const struct heft_model *model)
{
    const struct heft_format *format;
    struct folder folder;

    folder_open(&folder);
    for (size_t i = 0; (format = heft_registry_at(&heft_formats, i)) != NULL; i++)
        if (heft_format_writes(format) && strcmp(format->name, "raw") != 0)
            convert(model, format, &folder);
    folder_close(&folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct heft_error err = {0};
    struct heft_model model;

    if (size > 1 << 18)
        return 0;
    heft_model_init(&model, open_limits(), &heft_formats);
    if (open_bytes(&model, NULL, (struct heft_bytes){data, size}, &err))
        convert_all(&model);
    heft_model_release(&model);
    return 0;
}
