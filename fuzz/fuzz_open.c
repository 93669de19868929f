/* fuzz_open.c: all steps of opening a file: detection, reading, validation, map, values, data, and
 * a conversion planned to each output format. mutate_open.c mutates inputs along the structure of a
 * checkpoint.
 *
 * Invariant: opening gives a model on which all of this works, or an error. */
#include <stdint.h>

#include "core/convert.h"
#include "format/formats.h"
#include "open_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void plan_all(const struct heft_model *model)
{
    const struct heft_format *format;

    for (size_t i = 0; (format = heft_registry_at(&heft_formats, i)) != NULL; i++) {
        const struct heft_convert_options options = {
            .size = sizeof options, .output = "/nonexistent/out", .to = format->name};
        struct heft_error err = {0};
        struct heft_conversion conversion;

        if (!heft_format_writes(format))
            continue;
        expect(heft_conversion_plan(&conversion, model, &options, &err) || err.text[0]);
        heft_conversion_release(&conversion);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct heft_error err = {0};
    struct heft_model model;

    if (size > 1 << 20)
        return 0;
    heft_model_init(&model, open_limits(), &heft_formats);
    if (open_bytes(&model, NULL, (struct heft_bytes){data, size}, &err)) {
        expect_map_or_overlap(&model);
        read_rows(&model);
        plan_all(&model);
    }
    heft_model_release(&model);
    return 0;
}
