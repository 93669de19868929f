/* fuzz_gguf.c: any bytes as a GGUF; and the same bytes after a valid header, so that mutations get past
 * its counts. The map of a file that opens covers it, and lists that are not in the tree can be read. */
#include <string.h>

#include "base/endian.h"
#include "core/long_list.h"
#include "open_format.h"

extern const struct heft_format heft_format_gguf;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A long list has as many items as its node says, or reading it fails with an error. */
static void read_lists(const struct heft_model *model)
{
    for (const struct heft_value *v = model->values ? model->values->first_child : NULL; v;
         v = v->next_sibling) {
        struct heft_arena mem = {0};
        struct heft_error err = {0};
        const struct heft_value *whole;
        uint64_t n = 0, shown = 0;

        for (const struct heft_value *i = v->first_child; i; i = i->next_sibling)
            shown++;
        if (v->more > 0 && heft_long_list_whole(model, v, &mem, &whole, &err)) {
            for (const struct heft_value *i = whole->first_child; i; i = i->next_sibling)
                n++;
            expect(n == shown + v->more && whole->more == 0);
        }
        heft_arena_release(&mem);
    }
}

static void draw(struct heft_bytes bytes)
{
    struct heft_error err = {0};
    struct heft_model model;

    heft_model_init(&model, NULL, &heft_formats);
    if (open_bytes(&model, heft_format_gguf.name, bytes, &err)) {
        expect(heft_format_gguf.annotate(&model, 0, &err));
        expect_map_or_overlap(&model);
        read_lists(&model);
    }
    heft_model_release(&model);
}

/* The first two bytes say how many tensors and pairs follow. */
static void try_with_header(const uint8_t *data, size_t size)
{
    uint8_t *const file = size < 2 ? NULL : malloc(size + 22);

    if (!file)
        return;
    memcpy(file, "GGUF\3\0\0\0", 8);
    heft_put_le64(file + 8, data[0] % 8u);
    heft_put_le64(file + 16, data[1] % 8u);
    memcpy(file + 24, data + 2, size - 2);
    open_format(&heft_format_gguf, (struct heft_bytes){file, size + 22});
    draw((struct heft_bytes){file, size + 22});
    free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    open_format(&heft_format_gguf, (struct heft_bytes){data, size});
    draw((struct heft_bytes){data, size});
    try_with_header(data, size);
    return 0;
}
