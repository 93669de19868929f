/* kernels_arm.c: the kernel for NEON, which every 64-bit ARM processor has. */
#include <arm_neon.h>

#include "tokens/bpe/kernels.h"
#include "tokens/split/bit_places.h"

/* low ≤ c ≤ high for unsigned bytes: c − low wraps around below low. */
static inline uint8x16_t is_within(uint8x16_t c, uint8_t low, uint8_t high)
{
    return vcleq_u8(vsubq_u8(c, vdupq_n_u8(low)), vdupq_n_u8((uint8_t)(high - low)));
}

static inline uint8x16_t is_letter(uint8x16_t c)
{
    return is_within(vorrq_u8(c, vdupq_n_u8(0x20)), 'a', 'z');
}

static inline uint8x16_t is_number(uint8x16_t c)
{
    return is_within(c, '0', '9');
}

static inline uint8x16_t is_blank(uint8x16_t c)
{
    return vceqq_u8(c, vdupq_n_u8(' '));
}

static inline uint8x16_t is_space(uint8x16_t c)
{
    return vorrq_u8(is_blank(c), is_within(c, 9, 13));
}

static inline uint8x16_t is_quote(uint8x16_t c)
{
    return vceqq_u8(c, vdupq_n_u8('\''));
}

static inline uint8x16_t is_wide(uint8x16_t c)
{
    return vcgeq_u8(c, vdupq_n_u8(0x80));
}

/* A bit for each of 64 bytes that are 0 or 0xFF: keeps one bit of each byte, then adds neighbours
 * three times, so that the bits of eight bytes meet in one. */
static inline uint64_t join_bits(uint8x16_t a, uint8x16_t b, uint8x16_t c, uint8x16_t d)
{
    const uint8x16_t bit =
        vreinterpretq_u8_u64(vdupq_n_u64(UINT64_C(0x8040201008040201))); /* bit i of byte i */
    const uint8x16_t ab = vpaddq_u8(vandq_u8(a, bit), vandq_u8(b, bit));
    const uint8x16_t cd = vpaddq_u8(vandq_u8(c, bit), vandq_u8(d, bit));
    const uint8x16_t all = vpaddq_u8(ab, cd);

    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(all, all)), 0);
}

#define MASK(is) join_bits(is(a), is(b), is(c), is(d))

static void masks_neon(const uint8_t *text, struct heft_masks *out)
{
    const uint8x16_t a = vld1q_u8(text), b = vld1q_u8(text + 16);
    const uint8x16_t c = vld1q_u8(text + 32), d = vld1q_u8(text + 48);

    *out = (struct heft_masks){.letter = MASK(is_letter),
                               .number = MASK(is_number),
                               .space = MASK(is_space),
                               .blank = MASK(is_blank),
                               .quote = MASK(is_quote),
                               .wide = MASK(is_wide)};
}

/* Eight positions at a time. */
static size_t places_neon(uint64_t begin, uint32_t base, uint32_t *out)
{
    uint64_t ones = vget_lane_u64(vreinterpret_u64_u8(vcnt_u8(vcreate_u8(begin))), 0);
    size_t n = 0;

    for (unsigned i = 0; i < 64; i += 8, begin >>= 8, ones >>= 8) {
        const uint16x8_t in = vmovl_u8(vcreate_u8(heft_bit_places[begin & 0xFF]));
        const uint32x4_t from = vdupq_n_u32(base + i);

        vst1q_u32(out + n, vaddw_u16(from, vget_low_u16(in)));
        vst1q_u32(out + n + 4, vaddw_u16(from, vget_high_u16(in)));
        n += ones & 0xFF;
    }
    return n;
}

/* Four minima at a time, each of every fourth number. */
static uint32_t least_neon(const uint32_t numbers[HEFT_LEAST_OF])
{
    uint32x4_t least = vld1q_u32(numbers);

    for (unsigned i = 4; i < HEFT_LEAST_OF; i += 4)
        least = vminq_u32(least, vld1q_u32(numbers + i));
    return vminvq_u32(least);
}

static const struct heft_kernel KERNEL_NEON = {masks_neon, places_neon, least_neon, true};

const struct heft_kernel *heft_scan_kernel_at(size_t index)
{
    return index == 0 ? &KERNEL_NEON : index == 1 ? &heft_kernel_plain : NULL;
}

const struct heft_kernel *heft_scan_kernel(void)
{
    return &KERNEL_NEON;
}
