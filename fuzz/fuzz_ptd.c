/* fuzz_ptd.c: any bytes as a .ptd; and the same bytes after a valid header, so that mutations get
 * past it. A file that opens is mapped, verified and planned again. */
#include <string.h>

#include "base/endian.h"
#include "core/plan.h"
#include "format/formats.h"
#include "open_format.h"

extern const struct heft_format heft_format_ptd;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A plan of the file's rows and blobs covers its output without gaps, or planning fails with an
 * error. */
static void plan_again(const struct heft_model *model)
{
    static const struct heft_convert_options options = {.size = sizeof options, .output = "out"};
    struct heft_arena mem = {0};
    struct heft_error err = {0};
    struct heft_plan plan = {.model = model, .mem = &mem};
    struct heft_export_list exports = {0};
    uint32_t file;

    if (heft_export_load(&exports, model, &options, &mem, &err) &&
        heft_plan_file_begin(&plan, "out", &file, &err) &&
        heft_format_ptd.plan(&plan, file, &exports, &err))
        expect(heft_plan_check(&plan, &err));
    else
        expect(err.text[0]);
    heft_export_release(&exports);
    heft_plan_release(&plan);
    heft_arena_release(&mem);
}

static void draw(struct heft_bytes bytes)
{
    struct heft_error err = {0};
    struct heft_model model;

    heft_model_init(&model, NULL, &heft_formats);
    if (open_bytes(&model, heft_format_ptd.name, bytes, &err)) {
        plan_again(&model);
        expect(heft_format_ptd.annotate(&model, 0, &err));
        expect_map(&model);
    }
    heft_model_release(&model);
}

/* The last 64 bytes are segments, those before them tables. */
static void try_with_header(const uint8_t *data, size_t size)
{
    const size_t all = size + 56, base = all - 64;
    uint8_t *file = size < 80 ? NULL : malloc(all);

    if (!file)
        return;
    memcpy(file + 56, data, size);
    memset(file, 0, 56);
    heft_put_le32(file, 56 + heft_le16(data) % (uint32_t)(size - 64));
    memcpy(file + 4, "FT01FH01", 8);
    heft_put_le32(file + 12, 40);
    heft_put_le64(file + 16, 48);
    heft_put_le64(file + 24, base - 48);
    heft_put_le64(file + 32, base);
    heft_put_le64(file + 40, 64);
    open_format(&heft_format_ptd, (struct heft_bytes){file, all});
    draw((struct heft_bytes){file, all});
    free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    open_format(&heft_format_ptd, (struct heft_bytes){data, size});
    draw((struct heft_bytes){data, size});
    try_with_header(data, size);
    return 0;
}
