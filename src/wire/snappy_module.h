/* snappy_module.h: functions of heft's module for snappy. libsnappy needs the C++ runtime, which
 * costs half a millisecond at every start: it is loaded for the first compressed block. */
#ifndef HEFT_SNAPPY_MODULE_H
#define HEFT_SNAPPY_MODULE_H

#include <stdbool.h>
#include <stddef.h>

#define HEFT_SNAPPY_SYMBOL "heft_snappy_module"

struct heft_snappy_module {
    /* Decompressed size as declared in the data; false if it is invalid. */
    bool (*claim)(const char *packed, size_t n, size_t *bytes);
    /* *room: size of `out`, then bytes written. False if the data is invalid. */
    bool (*unpack)(const char *packed, size_t n, char *out, size_t *room);
};

#endif
