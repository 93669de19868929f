/* cast_loops.h: the type of the loops that casts are made of (cast.c). */
#ifndef HEFT_CAST_LOOPS_H
#define HEFT_CAST_LOOPS_H

#include "base/base.h"

/* Elements of an intermediate array, at most as many as a loop gets: F32 needs 4 KiB. A multiple of the
 * block of any dtype. */
enum { HEFT_CAST_STEP = 1024 };

/* Converts n ≤ HEFT_CAST_STEP elements, whole blocks on both sides. Returns two counters: finite values
 * that overflowed in the lower 16 bits, infinities that the target cannot represent in the upper 16. */
enum { HEFT_CAST_INFINITE = 1 << 16 };
typedef uint32_t heft_cast_loop(const uint8_t *restrict src, uint8_t *restrict dst, size_t n);

#endif
