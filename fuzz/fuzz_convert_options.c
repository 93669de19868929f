/* fuzz_convert_options.c: conversion of one file with any options: a script (script.h). Seeds with
 * `salvage` are truncated or damaged files.
 *
 * Invariants: those of expect_conversion.h. */
#include "convert_script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    run_script(data, size);
    return 0;
}
