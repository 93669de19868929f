/* zip_bench.h: for tests: copy of a valid archive in a heap block of its exact size, to be damaged,
 * with the offsets of its parts. */
#ifndef HEFT_ZIP_BENCH_H
#define HEFT_ZIP_BENCH_H

#include <stdlib.h>

#include "base/endian.h"
#include "wire/zip.h"

struct bench {
    uint8_t *p;
    size_t n;
    size_t directory, tail, end; /* end: end record without zip64 */
    struct heft_source src;
    struct heft_zip zip;
    struct heft_arena arena;
    struct heft_error err;
};

static inline void bench_take(struct bench *b, const uint8_t *bytes, size_t n)
{
    *b = (struct bench){.n = n};
    b->p = malloc(n ? n : 1);
    if (!b->p)
        abort();
    if (n)
        memcpy(b->p, bytes, n);
    if (n < 22 || heft_le32(b->p + n - 22) != 0x06054B50)
        return;
    b->end = n - 22;
    b->directory = heft_le32(b->p + b->end + 16);
    b->tail = b->directory + heft_le32(b->p + b->end + 12);
}

/* Offset of the i-th central entry, and of the local header it points to. */
static inline size_t bench_central(const struct bench *b, size_t i)
{
    size_t at = b->directory;

    while (i--)
        at +=
            46U + heft_le16(b->p + at + 28) + heft_le16(b->p + at + 30) + heft_le16(b->p + at + 32);
    return at;
}
static inline size_t bench_local(const struct bench *b, size_t i)
{
    return heft_le32(b->p + bench_central(b, i) + 42);
}

static inline bool bench_open(struct bench *b, const struct heft_zip_limits *limits)
{
    heft_source_open_memory(&b->src, (struct heft_bytes){b->p, b->n}, "sample");
    return heft_zip_open(&b->zip, &b->src, limits, &b->arena, &b->err);
}

static inline void bench_leave(struct bench *b)
{
    heft_arena_release(&b->arena);
    free(b->p);
}

#endif
