/* base.h: attributes, borrowed views and checked arithmetic. The only header with #ifdef. */
#ifndef HEFT_BASE_H
#define HEFT_BASE_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__)
#define HEFT_CHECKED           __attribute__((warn_unused_result))
#define HEFT_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define HEFT_LIKELY(x)         __builtin_expect(!!(x), 1)
#define HEFT_UNLIKELY(x)       __builtin_expect(!!(x), 0)
#define HEFT_PREFETCH(p)       __builtin_prefetch((p), 1) /* prefetch for writing */
#define HEFT_LOWEST_BIT(x)     ((unsigned)__builtin_ctzll(x))
#define HEFT_HIGHEST_BIT(x)    (63 - (unsigned)__builtin_clzll(x))
#define HEFT_INLINE            static inline __attribute__((always_inline))
#define HEFT_NOINLINE          __attribute__((noinline)) /* keeps the caller's stack frame small */
#define HEFT_COUNT_ONES(x)     ((unsigned)__builtin_popcountll(x))
#else
#define HEFT_CHECKED
#define HEFT_PRINTF(fmt, args)
#define HEFT_LIKELY(x)      (x)
#define HEFT_UNLIKELY(x)    (x)
#define HEFT_PREFETCH(p)    ((void)(p))
#define HEFT_LOWEST_BIT(x)  heft_count_zeros(x)
#define HEFT_HIGHEST_BIT(x) heft_log2(x)
#define HEFT_INLINE         static inline
#define HEFT_NOINLINE
#define HEFT_COUNT_ONES(x) heft_count_ones(x)
static inline unsigned heft_count_zeros(uint64_t x)
{
    unsigned n = 0;

    while (!(x >> n & 1))
        n++;
    return n;
}
static inline unsigned heft_log2(uint64_t x)
{
    unsigned n = 0;

    while (x >>= 1)
        n++;
    return n;
}
#endif

/* For functions whose unsigned arithmetic is meant modulo 2^n: hashes, checksums, random numbers, and tests
 * of the bytes of a word. clang's -fsanitize=integer reports wrap-around in all others (preset integer). */
#if defined(__clang__)
#define HEFT_WRAPS __attribute__((no_sanitize("unsigned-integer-overflow", "unsigned-shift-base")))
#else
#define HEFT_WRAPS
#endif

/* For functions called only where the processor has the POPCNT instruction. */
#if defined(__GNUC__) && defined(__x86_64__)
#define HEFT_COUNTING __attribute__((target("popcnt")))
#else
#define HEFT_COUNTING
#endif

/* Number of 1 bits, on any processor. */
HEFT_WRAPS static inline unsigned heft_count_ones(uint64_t x)
{
    x -= x >> 1 & UINT64_C(0x5555555555555555);
    x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
    x = (x + (x >> 4)) & UINT64_C(0x0F0F0F0F0F0F0F0F);
    return (unsigned)(x * UINT64_C(0x0101010101010101) >> 56);
}

/* Index of the lowest 1 bit of a number other than 0. */
static inline unsigned heft_lowest_bit(uint64_t x)
{
    return HEFT_LOWEST_BIT(x);
}

/* Index of the highest 1 bit of a number other than 0. */
static inline unsigned heft_highest_bit(uint64_t x)
{
    return HEFT_HIGHEST_BIT(x);
}

#define HEFT_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Borrowed views, passed by value. Not NUL-terminated; the owner is named at the variable or field
 * that stores one. */
struct heft_bytes {
    const uint8_t *p;
    size_t n;
};
struct heft_str {
    const char *p;
    size_t n;
};

#define HEFT_STR(literal) ((struct heft_str){(literal), sizeof(literal) - 1})

static inline struct heft_str heft_str_of(const char *text)
{
    return (struct heft_str){text, strlen(text)};
}
static inline bool heft_str_eq(struct heft_str a, struct heft_str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}
static inline bool heft_str_is(struct heft_str a, const char *text)
{
    return heft_str_eq(a, heft_str_of(text));
}
/* Compares bytes; a prefix comes first. This is also the order of the UTF-8 code points. */
static inline int heft_str_cmp(struct heft_str a, struct heft_str b)
{
    const size_t n = a.n < b.n ? a.n : b.n;
    const int order = n ? memcmp(a.p, b.p, n) : 0;

    if (order)
        return order;
    return (a.n > b.n) - (a.n < b.n);
}
static inline bool heft_str_starts(struct heft_str s, struct heft_str prefix)
{
    return s.n >= prefix.n && (prefix.n == 0 || memcmp(s.p, prefix.p, prefix.n) == 0);
}
static inline bool heft_str_ends(struct heft_str s, const char *suffix)
{
    const size_t n = strlen(suffix);

    return s.n >= n && (n == 0 || memcmp(s.p + s.n - n, suffix, n) == 0);
}

/* Checked arithmetic for numbers from untrusted files: false on overflow, with *out unchanged. */
HEFT_CHECKED static inline bool heft_add(uint64_t a, uint64_t b, uint64_t *out)
{
    if (b > UINT64_MAX - a)
        return false;
    *out = a + b;
    return true;
}
HEFT_CHECKED static inline bool heft_mul(uint64_t a, uint64_t b, uint64_t *out)
{
    if ((a | b) > UINT32_MAX && a != 0 && b > UINT64_MAX / a) /* factors below 2^32 cannot
                                                                 overflow */
        return false;
    *out = a * b;
    return true;
}
/* True if the range [off, off+len) is inside [0, size). Cannot overflow. */
static inline bool heft_within(uint64_t off, uint64_t len, uint64_t size)
{
    return off <= size && len <= size - off;
}
/* Converts a file size to a memory size; false if size_t is too small for it. */
HEFT_CHECKED static inline bool heft_size(uint64_t n, size_t *out)
{
    if (n > SIZE_MAX)
        return false;
    *out = (size_t)n;
    return true;
}

static inline uint64_t heft_min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}
/* The smaller of a memory size and any number: always a memory size, also where size_t has 32
 * bits. */
static inline size_t heft_min_size(size_t a, uint64_t b)
{
    return a < b ? a : (size_t)b;
}
static inline uint64_t heft_max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

#endif
