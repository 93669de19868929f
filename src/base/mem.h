/* mem.h: the wrapper around malloc, the arena that owns the memory of an opened checkpoint, and
 * growing arrays and text.
 *
 * heft_alloc … count every allocation; heft_alloc_fail_at(n) makes the n-th allocation from now
 * fail (0: none), for the tests. A size from a file reaches an allocator only after it has been
 * compared with a limit and with the size of the source. */
#ifndef HEFT_MEM_H
#define HEFT_MEM_H

#include "base/error.h"

HEFT_CHECKED void *heft_alloc(size_t n, struct heft_error *err); /* uninitialised; n may be 0 */
HEFT_CHECKED void *heft_calloc(size_t n, size_t each,
                               struct heft_error *err); /* zeroed; checks for overflow */
HEFT_CHECKED void *heft_realloc(void *p, size_t n, struct heft_error *err);
void heft_free(void *p);
void heft_alloc_fail_at(uint64_t nth);
uint64_t heft_alloc_count(void); /* number of allocations since the start of the process */

/* Memory budget: the bytes that the arenas and arrays of one operation may hold together. A reader or
 * a writer makes many of them from one untrusted file; limits on each would add up. Not thread-safe.
 * NULL: not counted. */
struct heft_budget {
    uint64_t most; /* bytes allowed */
    uint64_t held; /* bytes taken so far */
};
/* HEFT_LIMIT. Always returns false. */
bool heft_budget_refuse(const struct heft_budget *budget, struct heft_error *err);
/* HEFT_LIMIT if n more bytes exceed the budget. */
HEFT_CHECKED bool heft_budget_allows(const struct heft_budget *budget, uint64_t n,
                                     struct heft_error *err);
/* Takes n bytes, which are taken before they are allocated. HEFT_LIMIT if that exceeds the budget. */
HEFT_CHECKED static inline bool heft_budget_take(struct heft_budget *budget, uint64_t n,
                                                 struct heft_error *err)
{
    if (!heft_budget_allows(budget, n, err))
        return false;
    if (budget)
        budget->held += n;
    return true;
}
static inline void heft_budget_return(struct heft_budget *budget, uint64_t n)
{
    if (budget)
        budget->held -= n;
}

/* Arena: memory that is released all at once. A zeroed arena is valid and empty. Not thread-safe.
 * Pieces are aligned for any type (numbers to 8 bytes, text not at all); blocks double from 64 KiB to 4
 * MiB; large pieces get a block of their own. */
struct heft_arena_block;
struct heft_arena {
    struct heft_arena_block *blocks;
    size_t used;                /* bytes used of the newest block */
    size_t total;               /* bytes allocated by malloc */
    struct heft_budget *budget; /* budget of all its blocks; NULL: none. Set while it is empty */
};
HEFT_CHECKED void *heft_arena_alloc(struct heft_arena *arena, size_t n, struct heft_error *err);
/* Reserves n bytes, from which the next pieces are cut; returns their address. */
HEFT_CHECKED void *heft_arena_reserve(struct heft_arena *arena, size_t n, struct heft_error *err);
/* Enlarges a piece of `old` bytes (0: there is none yet). A large piece has a block of its own,
 * which is reallocated; a small piece is copied, and its old memory is unused until release. */
HEFT_CHECKED void *heft_arena_widen(struct heft_arena *arena, void *piece, size_t old,
                                    size_t wanted, struct heft_error *err);
/* Gives back the end of a large piece, which may move; NULL if it stays as it is, because it shares
 * its block or *err says why. */
HEFT_CHECKED void *heft_arena_shrink(struct heft_arena *arena, void *piece, size_t old,
                                     size_t wanted, struct heft_error *err);
/* Allocates n items of `each` bytes, aligned as a type of that size may need, and zeroes them. */
HEFT_CHECKED void *heft_arena_zero(struct heft_arena *arena, size_t n, size_t each,
                                   struct heft_error *err);
/* Allocates n characters. */
HEFT_CHECKED char *heft_arena_chars(struct heft_arena *arena, size_t n, struct heft_error *err);
/* Allocates n numbers: shapes, strides. */
HEFT_CHECKED uint64_t *heft_arena_u64(struct heft_arena *arena, size_t n, struct heft_error *err);
/* Copies n numbers. Not inline: gcc copies a few numbers whose count it can bound by REP MOVS, which
 * takes longer to begin than memcpy takes in all. */
HEFT_CHECKED uint64_t *heft_arena_copy_u64(struct heft_arena *arena, const uint64_t *from, size_t n,
                                           struct heft_error *err);
/* Copies a string and appends a NUL, which is not counted. */
HEFT_CHECKED char *heft_arena_text(struct heft_arena *arena, struct heft_str s,
                                   struct heft_error *err);
/* Takes over n bytes from heft_alloc or heft_grow instead of copying them. If it fails, they still
 * belong to the caller. */
HEFT_CHECKED char *heft_arena_adopt(struct heft_arena *arena, char *text, size_t n,
                                    struct heft_error *err);
HEFT_CHECKED char *heft_arena_printf(struct heft_arena *arena, struct heft_error *err,
                                     const char *format, ...) HEFT_PRINTF(3, 4);
void heft_arena_release(struct heft_arena *arena);

/* Growing array: makes room for `more` items of `each` bytes after the first `count`. `items` is
 * the address of the array's pointer. Capacity grows by half.
 *     if (heft_grow(&m->rows, &m->rows_cap, m->n_rows, 1, sizeof *m->rows, err))
 *         m->rows[m->n_rows++] = …
 * Free with heft_free. */
HEFT_CHECKED bool heft_grow_now(void *items, size_t *cap, size_t count, size_t more, size_t each,
                                struct heft_error *err);
HEFT_CHECKED static inline bool heft_grow(void *items, size_t *cap, size_t count, size_t more,
                                          size_t each, struct heft_error *err)
{
    return (more <= *cap && count <= *cap - more) ||
           heft_grow_now(items, cap, count, more, each, err);
}

/* Growing text or bytes. A zeroed buffer is valid. Errors are sticky: after an error appends do
 * nothing and `failed` is set, so that a writer checks once at the end with heft_buf_ok. */
struct heft_buf {
    char *p;
    size_t n, cap;
    bool failed;
    bool exceeds;               /* failed because of the budget */
    struct heft_budget *budget; /* budget of its bytes; NULL: none. Set while it is empty */
    size_t held;                /* bytes taken from the budget */
};
/* Makes room for n more bytes. False, and failed from then on, if memory or the budget is exhausted. */
bool heft_buf_room(struct heft_buf *buf, size_t n);
static inline void heft_buf_put(struct heft_buf *buf, const void *p, size_t n)
{
    if (n == 0 || (HEFT_UNLIKELY(n > buf->cap - buf->n) && !heft_buf_room(buf, n)))
        return;
    memcpy(buf->p + buf->n, p, n);
    buf->n += n;
}
static inline void heft_buf_str(struct heft_buf *buf, struct heft_str s)
{
    heft_buf_put(buf, s.p, s.n);
}
static inline void heft_buf_text(struct heft_buf *buf, const char *text)
{
    heft_buf_put(buf, text, strlen(text));
}
static inline void heft_buf_char(struct heft_buf *buf, char c)
{
    heft_buf_put(buf, &c, 1);
}
void heft_buf_u64(struct heft_buf *buf,
                  uint64_t v); /* decimal; without printf, which is too slow for long lists */
/* Appends "[3,0]", indexes or extents for messages: at most eight, then an ellipsis. */
void heft_buf_indexes(struct heft_buf *buf, const uint64_t *numbers, unsigned n);
void heft_buf_printf(struct heft_buf *buf, const char *format, ...) HEFT_PRINTF(2, 3);
HEFT_CHECKED bool heft_buf_ok(const struct heft_buf *buf, struct heft_error *err);
/* Moves the bytes into the arena and appends a NUL, which is not counted. The buffer is released,
 * also on failure. */
HEFT_CHECKED bool heft_buf_take(struct heft_buf *buf, struct heft_arena *arena,
                                struct heft_str *out, struct heft_error *err);
void heft_buf_release(struct heft_buf *buf);

#endif
