/* test_toy.c: the format of the tutorial, in a table with safetensors: converts a toy file to
 * safetensors and back, and checks that damaged files are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/convert.h"
#include "core/registry.h"

extern const struct heft_format heft_format_toy, heft_format_safetensors;

static const struct heft_format *const list[] = {&heft_format_toy, &heft_format_safetensors};
static const struct heft_formats formats = {.list = list, .n = HEFT_COUNT(list)};

/* w: F32 [2], 1.0 and 2.0; a: U8 [3], 7 8 9. */
static const uint8_t file[] = "TOY\n\x18\0\0\0"
                              "\x01w\0\x01\x02\0\0\0\0\0\0\0"
                              "\x01"
                              "a\x02\x01\x03\0\0\0\0\0\0\0"
                              "\0\0\x80\x3f\0\0\0\x40\x07\x08\x09";
enum { FILE_N = sizeof file - 1 };

static bool open_bytes(struct heft_model *model, const uint8_t *bytes, size_t n,
                       struct heft_error *err)
{
    struct heft_source source;
    uint32_t index;

    heft_model_init(model, NULL, &formats);
    heft_source_open_memory(&source, (struct heft_bytes){bytes, n}, "memory");
    return heft_model_add_file(model, &source, "memory", &index, err) &&
           heft_registry_open_source(model, index, NULL, err) && heft_model_validate(model, err);
}

static void convert(const struct heft_model *model, const char *output)
{
    const struct heft_convert_options options = {
        .size = sizeof options, .output = output, .overwrite = true};
    struct heft_conversion conversion;
    struct heft_error err = {0};
    uint64_t overflowed;

    if (!heft_conversion_plan(&conversion, model, &options, &err) ||
        !heft_conversion_run(&conversion, &overflowed, &err))
        fail_msg("%s", err.text);
    heft_conversion_release(&conversion);
}

static void open_path(struct heft_model *model, const char *path)
{
    struct heft_error err = {0};

    heft_model_init(model, NULL, &formats);
    if (!heft_registry_open(model, &path, 1, NULL, &err) || !heft_model_validate(model, &err))
        fail_msg("%s", err.text);
}

static void there_and_back(void **state)
{
    char folder[] = "/tmp/heft-toy-XXXXXX", other[64], again[64];
    struct heft_error err = {0};
    struct heft_model model;
    uint8_t bytes[FILE_N + 1];
    FILE *written;

    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(other, sizeof other, "%s/a.safetensors", folder);
    (void)snprintf(again, sizeof again, "%s/a.toy", folder);
    assert_true(open_bytes(&model, file, FILE_N, &err));
    assert_int_equal(model.n_rows, 2);
    convert(&model, other);
    heft_model_release(&model);
    open_path(&model, other);
    assert_string_equal(model.format, "safetensors");
    convert(&model, again);
    heft_model_release(&model);
    written = fopen(again, "rb");
    assert_non_null(written);
    assert_int_equal(fread(bytes, 1, sizeof bytes, written), FILE_N);
    (void)fclose(written);
    assert_memory_equal(bytes, file, FILE_N);
    assert_int_equal(unlink(other) | unlink(again) | rmdir(folder), 0);
}

/* Truncated at every length, and with each bit flipped, the file opens, or there is an error with a
 * text. */
static void what_is_wrong_is_refused(void **state)
{
    (void)state;
    for (size_t n = 1; n < FILE_N; n++) {
        struct heft_error err = {0};
        struct heft_model model;

        assert_false(open_bytes(&model, file, n, &err));
        assert_true(err.code != HEFT_OK && err.text[0]);
        heft_model_release(&model);
    }
    for (size_t bit = 0; bit < 8 * (size_t)FILE_N; bit++) {
        struct heft_error err = {0};
        struct heft_model model;
        uint8_t turned[FILE_N];

        memcpy(turned, file, FILE_N);
        turned[bit / 8] ^= (uint8_t)(1u << bit % 8);
        if (!open_bytes(&model, turned, FILE_N, &err))
            assert_true(err.code != HEFT_OK && err.text[0]);
        heft_model_release(&model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(what_is_wrong_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
