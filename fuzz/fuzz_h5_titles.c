/* fuzz_h5_titles.c: names of Keras variables from any config.json, groups and titles: the input up
 * to the first NUL is the config, the rest are lines in the form of h5_titled.h.
 *
 * Invariants: naming terminates, and no two entries have the same name. */

#include "expect.h"
#include "h5_titled.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect_names(const struct heft_h5_reader *r)
{
    struct heft_strmap names = {0};
    struct heft_error err = {0};
    uint32_t found;

    for (uint32_t i = 0; i < r->n_entries; i++)
        if (r->entries[i].name.p && !r->entries[i].is_copy) {
            expect(heft_strmap_add(&names, r->entries[i].name, i, &found, &err));
            expect(found == HEFT_MAP_NONE);
        }
    heft_strmap_release(&names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *const end = size ? memchr(data, 0, size) : NULL;
    const size_t n = end ? (size_t)(end - data) : size, skip = n + (end != NULL);
    const struct heft_str lines = {(const char *)data + skip, size - skip};
    struct heft_error err = {0};
    struct h5_titled t;

    if (size > 1 << 16)
        return 0;
    if (h5_titled_open(&t, (struct heft_bytes){data, n}, lines, &err))
        expect_names(&t.r);
    else
        expect(err.code != HEFT_OK && err.text[0]);
    h5_titled_release(&t);
    return 0;
}
