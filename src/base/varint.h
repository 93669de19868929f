/* varint.h: decodes variable-length integers (LEB128), as protobuf and LevelDB write them: seven bits
 * a byte, the low ones first; the high bit of a byte says that another byte follows. */
#ifndef HEFT_VARINT_H
#define HEFT_VARINT_H

#include "base/base.h"

#define HEFT_VARINT_MOST 10 /* bytes of a 64-bit number */

/* The varint at p, of which n bytes may be read. Returns its length in bytes; 0 if it is cut off
 * after n bytes, more than HEFT_VARINT_MOST if it has more than 64 bits. */
unsigned heft_varint_get_long(const uint8_t *p, size_t n, uint64_t *out);
static inline unsigned heft_varint_get(const uint8_t *p, size_t n, uint64_t *out)
{
    if (n == 0 || p[0] >= 0x80)
        return heft_varint_get_long(p, n, out);
    *out = p[0];
    return 1;
}

#endif
