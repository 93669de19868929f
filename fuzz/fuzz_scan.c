/* fuzz_scan.c: scans any bytes twice: both scans must report the same. */
#include <stdint.h>

#include "scan_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct heft_bytes bytes = {data, size};
    const struct scan_seen one = scan_bytes(NULL, bytes), two = scan_bytes(NULL, bytes);

    expect(one.items == two.items && one.letters == two.letters);
    return 0;
}
