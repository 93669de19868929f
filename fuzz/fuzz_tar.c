/* fuzz_tar.c: tar files, and tar archives of old torch versions. The checksums of headers are
 * corrected first, so that mutations get past them. */
#include <stdint.h>
#include <stdio.h>

#include "open_format.h"
#include "wire/tar.h"

extern const struct heft_format heft_format_torch_tar;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_right(uint8_t *block)
{
    char digits[8];
    unsigned sum = 0;

    if (memcmp(block + 257, "ustar", 5) != 0)
        return;
    memset(block + 148, ' ', 8);
    for (size_t i = 0; i < HEFT_TAR_BLOCK; i++)
        sum += block[i];
    snprintf(digits, sizeof digits, "%06o", sum);
    memcpy(block + 148, digits, 7);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy;

    if (size == 0 || size > 1 << 20)
        return 0;
    copy = malloc(size);
    expect(copy != NULL);
    memcpy(copy, data, size);
    for (size_t at = 0; at + HEFT_TAR_BLOCK <= size; at += HEFT_TAR_BLOCK)
        put_right(copy + at);
    open_format(&heft_format_torch_tar, (struct heft_bytes){copy, size});
    free(copy);
    return 0;
}
