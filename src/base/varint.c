/* varint.c: decodes varints of more than one byte. */
#include "base/varint.h"

unsigned heft_varint_get_long(const uint8_t *p, size_t n, uint64_t *out)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < HEFT_VARINT_MOST; i++) {
        if (i == n)
            return 0;
        if (i == HEFT_VARINT_MOST - 1 && p[i] > 1)
            break;
        value |= (uint64_t)(p[i] & 0x7f) << (7 * i);
        if (p[i] < 0x80) {
            *out = value;
            return i + 1;
        }
    }
    return HEFT_VARINT_MOST + 1;
}
