/* endian.h: loads and stores of little- and big-endian numbers, byte by byte, so that alignment and
 * the host's byte order do not matter. */
#ifndef HEFT_ENDIAN_H
#define HEFT_ENDIAN_H

#include "base/base.h"

/* Byte order of the processor. */
static inline bool heft_is_big_endian(void)
{
    const uint16_t one = 1;
    uint8_t first;

    memcpy(&first, &one, 1);
    return first == 0;
}

static inline uint16_t heft_le16(const uint8_t *p)
{
    return (uint16_t)(p[0] | (uint16_t)(p[1] << 8));
}
static inline uint32_t heft_le32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
static inline uint64_t heft_le64(const uint8_t *p)
{
    return (uint64_t)heft_le32(p) | (uint64_t)heft_le32(p + 4) << 32;
}
static inline uint64_t heft_be64(const uint8_t *p)
{
    uint64_t v = 0;

    for (int i = 0; i < 8; i++)
        v = v << 8 | p[i];
    return v;
}
static inline void heft_put_le16(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}
static inline void heft_put_le32(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> (8 * i));
}
static inline void heft_put_le64(uint8_t *p, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        p[i] = (uint8_t)(v >> (8 * i));
}

/* Writes little-endian numbers one after the other into memory that the caller provides. Numbers
 * are truncated to the written width. */
struct heft_pen {
    uint8_t *p;
};
static inline void heft_pen_le16(struct heft_pen *pen, uint64_t v)
{
    heft_put_le16(pen->p, (uint16_t)v);
    pen->p += 2;
}
static inline void heft_pen_le32(struct heft_pen *pen, uint64_t v)
{
    heft_put_le32(pen->p, (uint32_t)v);
    pen->p += 4;
}
static inline void heft_pen_le64(struct heft_pen *pen, uint64_t v)
{
    heft_put_le64(pen->p, v);
    pen->p += 8;
}

#endif
