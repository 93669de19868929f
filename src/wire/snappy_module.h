/* snappy_module.h: what heft's module for snappy offers. libsnappy brings the C++ runtime, which
 * costs each start half a millisecond: it is opened when the first packed block is met. */
#ifndef HEFT_SNAPPY_MODULE_H
#define HEFT_SNAPPY_MODULE_H

#include <stdbool.h>
#include <stddef.h>

#define HEFT_SNAPPY_SYMBOL "heft_snappy_module"

struct heft_snappy_module {
    /* How many bytes the packed ones claim to become. False where they do not say. */
    bool (*claim)(const char *packed, size_t n, size_t *bytes);
    /* room: of `out` before, what is in it after. False where they do not unpack. */
    bool (*unpack)(const char *packed, size_t n, char *out, size_t *room);
};

#endif
