/* fuzz_convert.c: conversion and back. A file of any bytes that opens is converted to each output
 * format; small outputs are written to a temporary directory and opened again.
 *
 * Invariants: those of expect_conversion.h. */
#include <stdint.h>

#include "expect_conversion.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void convert(const struct heft_model *model, const struct heft_format *format)
{
    static const struct heft_option drop = {"drop-values", NULL};
    char *const folder = heft_scratch_new(), *const output = heft_scratch_path(folder, "out");
    const struct heft_convert_options options = {.size = sizeof options,
                                                 .output = output,
                                                 .to = format->name,
                                                 .format_options = &drop,
                                                 .n_format_options = 1,
                                                 .no_sync = true,
                                                 .threads = 1};

    expect_conversion(model, &options, folder, false);
    free(output);
    heft_scratch_free(folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct heft_format *format;
    struct heft_error err = {0};
    struct heft_model model;

    if (size > 1 << 18)
        return 0;
    heft_model_init(&model, open_limits(), &heft_formats);
    if (open_bytes(&model, NULL, (struct heft_bytes){data, size}, &err))
        for (size_t i = 0; (format = heft_registry_at(&heft_formats, i)) != NULL; i++)
            if (heft_format_writes(format))
                convert(&model, format);
    heft_model_release(&model);
    return 0;
}
