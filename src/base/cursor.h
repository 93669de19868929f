/* cursor.h: a reader of bytes in memory with a sticky error. A read past the end returns zero (or
 * an empty view), sets `bad`, and the position does not change any more. Check heft_cur_ok once for
 * each record, before a count from the file is used. A nested length gets a cursor of its own,
 * which must be empty at its end. */
#ifndef HEFT_CURSOR_H
#define HEFT_CURSOR_H

#include "base/endian.h"
#include "base/error.h"

struct heft_cur {
    const uint8_t *p;
    size_t n, at;
    uint64_t base; /* file offset of p[0], for error messages */
    bool bad;
};

static inline struct heft_cur heft_cur_of(struct heft_bytes bytes, uint64_t base)
{
    return (struct heft_cur){bytes.p, bytes.n, 0, base, false};
}
static inline bool heft_cur_ok(const struct heft_cur *cur)
{
    return !cur->bad;
}
static inline size_t heft_cur_left(const struct heft_cur *cur)
{
    return cur->bad ? 0 : cur->n - cur->at;
}
/* File offset of the next byte. */
static inline uint64_t heft_cur_where(const struct heft_cur *cur)
{
    return cur->base + cur->at;
}
/* Takes the next n bytes; an empty view, with `bad` set, if fewer are left. */
static inline struct heft_bytes heft_cur_take(struct heft_cur *cur, uint64_t n)
{
    struct heft_bytes view = {cur->p + cur->at, 0};

    if (n > heft_cur_left(cur)) {
        cur->bad = true;
        return view;
    }
    view.n = (size_t)n; /* n fits size_t: it is at most `left` */
    cur->at += view.n;
    return view;
}
static inline uint8_t heft_cur_u8(struct heft_cur *cur)
{
    const struct heft_bytes b = heft_cur_take(cur, 1);
    return b.n ? b.p[0] : 0;
}
static inline uint32_t heft_cur_u32(struct heft_cur *cur)
{
    const struct heft_bytes b = heft_cur_take(cur, 4);
    return b.n ? heft_le32(b.p) : 0;
}
static inline uint64_t heft_cur_u64(struct heft_cur *cur)
{
    const struct heft_bytes b = heft_cur_take(cur, 8);
    return b.n ? heft_le64(b.p) : 0;
}
static inline struct heft_cur heft_cur_sub(struct heft_cur *cur, uint64_t n)
{
    const uint64_t base = heft_cur_where(cur);
    struct heft_cur sub = heft_cur_of(heft_cur_take(cur, n), base);

    sub.bad = cur->bad;
    return sub;
}

#endif
