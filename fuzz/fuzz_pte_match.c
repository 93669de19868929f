/* fuzz_pte_match.c: any bytes as a program and the weights opened with it: u32 size of the program,
 * little-endian; the program; the .ptd.
 *
 * Invariants: both open or fail with an error, and their comparison terminates and gives texts. */
#include <stdint.h>

#include "format/formats.h"
#include "base/endian.h"
#include "open_format.h"

extern const struct heft_format heft_format_pte, heft_format_ptd;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool add(struct heft_model *model, const struct heft_format *format, struct heft_bytes file,
                struct heft_error *err)
{
    struct heft_source source;
    uint32_t index;

    heft_source_open_memory(&source, file, format->name);
    return heft_model_add_file(model, &source, format->name, &index, err) &&
           heft_registry_open_source(model, index, format->name, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint32_t n = size < 4 ? 0 : heft_le32(data);
    struct heft_error err = {0};
    struct heft_model model;

    if (n == 0 || n > size - 4)
        return 0;
    heft_model_init(&model, open_limits(), &heft_formats);
    if (add(&model, &heft_format_pte, (struct heft_bytes){data + 4, n}, &err) &&
        add(&model, &heft_format_ptd, (struct heft_bytes){data + 4 + n, size - 4 - n}, &err) &&
        heft_model_validate(&model, &err)) {
        verify_all(&heft_format_pte, &model);
        verify_all(&heft_format_ptd, &model);
    } else {
        expect(err.code != HEFT_OK && err.text[0]);
    }
    heft_model_release(&model);
    return 0;
}
