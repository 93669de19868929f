/* fuzz_scan_named.c: scans a file with a name: the first line of the input is the name, the rest
 * the file. YAML, TensorFlow graphs, Jinja, Python and the index of a pipeline are recognised by
 * name. */
#include <stdint.h>

#include "scan_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LONGEST 64 /* maximum bytes of a name */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size ? memchr(data, '\n', size < LONGEST ? size : LONGEST) : NULL;
    char name[LONGEST];

    if (!end || memchr(data, 0, (size_t)(end - data)))
        return 0;
    memcpy(name, data, (size_t)(end - data));
    name[end - data] = 0;
    (void)scan_bytes(name, (struct heft_bytes){end + 1, size - (size_t)(end + 1 - data)});
    return 0;
}
