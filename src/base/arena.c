/* arena.c: arena allocator: pieces are cut from large blocks, and all blocks are freed at once.
 *
 *     newest block ─next→ older block ─next→ …
 *     [header | piece piece piece … free ]      `used` counts in the newest one
 *
 * A piece is aligned as its type needs (text is not aligned) and is not padded at its end. A large
 * piece gets a block of its own, linked after the newest block, which stays in use. */
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>

#define ALIGNMENT   ((size_t)16) /* alignment of pieces of any type */
#define FIRST_BLOCK ((size_t)32 << 10)
#define LAST_BLOCK  ((size_t)4 << 20)
#define LARGE_PAGE  ((size_t)2 << 20)

struct heft_arena_block {
    _Alignas(16) struct heft_arena_block *next;
    size_t cap; /* bytes after this header */
};

_Static_assert(sizeof(struct heft_arena_block) % 16 == 0, "pieces start aligned");

static uint8_t *block_bytes(struct heft_arena_block *block)
{
    return (uint8_t *)(block + 1);
}

static struct heft_arena_block *new_block(struct heft_arena *arena, size_t cap,
                                          struct heft_error *err)
{
    struct heft_arena_block *block;

    if (!heft_budget_take(arena->budget, sizeof *block + cap, err))
        return NULL;
    block = heft_alloc(sizeof *block + cap, err);
    if (!block) {
        heft_budget_return(arena->budget, sizeof *block + cap);
        return NULL;
    }
    block->next = NULL;
    block->cap = cap;
    arena->total += sizeof *block + cap;
    return block;
}

/* Capacity of the next ordinary block: twice the newest one's, between FIRST_BLOCK and
 * LAST_BLOCK. */
static size_t next_cap(const struct heft_arena *arena)
{
    const size_t last = arena->blocks ? arena->blocks->cap : 0;

    if (last < FIRST_BLOCK)
        return FIRST_BLOCK;
    return last < LAST_BLOCK / 2 ? 2 * last : LAST_BLOCK;
}

/* Links a full block after the newest one, which stays in use. */
static void link_alone(struct heft_arena *arena, struct heft_arena_block *block)
{
    if (arena->blocks) {
        block->next = arena->blocks->next;
        arena->blocks->next = block;
    } else {
        arena->blocks = block;
        arena->used = block->cap;
    }
}

static void *alloc_alone(struct heft_arena *arena, size_t n, struct heft_error *err)
{
    struct heft_arena_block *block = new_block(arena, n, err);

    if (!block)
        return NULL;
    link_alone(arena, block);
    return block_bytes(block);
}

/* Allocates a piece that does not fit into the newest block. */
static void *alloc_elsewhere(struct heft_arena *arena, size_t n, struct heft_error *err)
{
    const size_t cap = next_cap(arena);
    struct heft_arena_block *block;

    if (n > PTRDIFF_MAX) {
        heft_fail(err, HEFT_NOMEM, HEFT_NO_OFFSET, "out of memory: %zu bytes wanted", n);
        return NULL;
    }
    if (n > cap / 4)
        return alloc_alone(arena, n, err);
    block = new_block(arena, cap, err);
    if (!block)
        return NULL;
    block->next = arena->blocks;
    arena->blocks = block;
    arena->used = n;
    return block_bytes(block);
}

/* Offset of the first huge page after the block's header. The header's own page has been written to
 * already, and the kernel does not turn it into a huge page later. */
static size_t skip_to_large(const uint8_t *bytes)
{
    return (LARGE_PAGE - ((uintptr_t)bytes & (LARGE_PAGE - 1))) & (LARGE_PAGE - 1);
}

void *heft_arena_reserve(struct heft_arena *arena, size_t n, struct heft_error *err)
{
    const size_t spare = n >= LARGE_PAGE && n <= PTRDIFF_MAX ? LARGE_PAGE : 0;
    struct heft_arena_block *block = new_block(arena, n + spare, err);

    if (!block)
        return NULL;
    block->next = arena->blocks;
    arena->blocks = block;
    arena->used = spare ? skip_to_large(block_bytes(block)) : 0;
    return block_bytes(block) + arena->used;
}

/* `to` is a power of two. Every piece has an address of its own, also if n is 0. */
static inline void *alloc_aligned(struct heft_arena *arena, size_t n, size_t to,
                                  struct heft_error *err)
{
    struct heft_arena_block *const block = arena->blocks;
    const size_t at = (arena->used + to - 1) & ~(to - 1); /* no overflow: `used` is at most `cap` */

    n += n == 0;
    if (!block || at > block->cap || n > block->cap - at)
        return alloc_elsewhere(arena, n, err);
    arena->used = at + n;
    return block_bytes(block) + at;
}

void *heft_arena_alloc(struct heft_arena *arena, size_t n, struct heft_error *err)
{
    return alloc_aligned(arena, n, ALIGNMENT, err);
}

/* Returns the link to the block that holds this piece alone; NULL if the piece shares its block. */
static struct heft_arena_block **find_alone(struct heft_arena *arena, const void *piece, size_t n)
{
    struct heft_arena_block **link = &arena->blocks;

    while (*link && block_bytes(*link) != piece)
        link = &(*link)->next;
    return *link && n > 0 && (*link)->cap == n ? link : NULL;
}

/* Changes the capacity of a full block, which may move it; returns its bytes. */
static void *resize_alone(struct heft_arena *arena, struct heft_arena_block **link, size_t wanted,
                          struct heft_error *err)
{
    const size_t old = (*link)->cap;
    struct heft_arena_block *block;

    if (wanted > old && !heft_budget_take(arena->budget, wanted - old, err))
        return NULL;
    block = heft_realloc(*link, sizeof *block + wanted, err);
    if (!block || wanted < old)
        heft_budget_return(arena->budget, wanted > old ? wanted - old : old - wanted);
    if (!block)
        return NULL;
    arena->total = arena->total - old + wanted;
    block->cap = wanted;
    if (link == &arena->blocks)
        arena->used = wanted; /* the newest block was full and stays full */
    *link = block;
    return block_bytes(block);
}

void *heft_arena_widen(struct heft_arena *arena, void *piece, size_t old, size_t wanted,
                       struct heft_error *err)
{
    struct heft_arena_block **link = find_alone(arena, piece, old);
    void *wider;

    if (link && wanted <= PTRDIFF_MAX)
        return resize_alone(arena, link, wanted, err);
    wider = heft_arena_alloc(arena, wanted, err);
    if (wider && old)
        memcpy(wider, piece, old);
    return wider;
}

void *heft_arena_shrink(struct heft_arena *arena, void *piece, size_t old, size_t wanted,
                        struct heft_error *err)
{
    struct heft_arena_block **link = find_alone(arena, piece, old);

    return link ? resize_alone(arena, link, wanted, err) : NULL;
}

char *heft_arena_chars(struct heft_arena *arena, size_t n, struct heft_error *err)
{
    return alloc_aligned(arena, n, 1, err);
}

uint64_t *heft_arena_u64(struct heft_arena *arena, size_t n, struct heft_error *err)
{
    const size_t size = n <= SIZE_MAX / sizeof(uint64_t) ? n * sizeof(uint64_t) : SIZE_MAX;

    return alloc_aligned(arena, size, sizeof(uint64_t), err);
}

uint64_t *heft_arena_copy_u64(struct heft_arena *arena, const uint64_t *from, size_t n,
                              struct heft_error *err)
{
    uint64_t *const copy = heft_arena_u64(arena, n, err);

    if (copy && n)
        memcpy(copy, from, n * sizeof *copy);
    return copy;
}

void *heft_arena_zero(struct heft_arena *arena, size_t n, size_t each, struct heft_error *err)
{
    /* largest power of two that divides a size */
    const size_t factor = each ? (size_t)1 << heft_lowest_bit(each) : 0;
    void *piece;

    if (each != 0 && n > SIZE_MAX / each) {
        heft_fail(err, HEFT_NOMEM, HEFT_NO_OFFSET, "out of memory: %zu times %zu bytes wanted", n,
                  each);
        return NULL;
    }
    /* A type's alignment divides its size. */
    piece =
        alloc_aligned(arena, n * each, factor == 0 || factor > ALIGNMENT ? ALIGNMENT : factor, err);
    if (piece)
        memset(piece, 0, n * each);
    return piece;
}

char *heft_arena_text(struct heft_arena *arena, struct heft_str s, struct heft_error *err)
{
    char *copy = alloc_aligned(arena, s.n < SIZE_MAX ? s.n + 1 : s.n, 1, err);

    if (!copy)
        return NULL;
    if (s.n)
        memcpy(copy, s.p, s.n);
    copy[s.n] = '\0';
    return copy;
}

char *heft_arena_adopt(struct heft_arena *arena, char *text, size_t n, struct heft_error *err)
{
    const size_t cap = n + 1; /* cannot overflow: an allocated size is far below SIZE_MAX */
    struct heft_arena_block *block;
    char *moved;

    if (!heft_budget_take(arena->budget, sizeof *block + cap, err))
        return NULL;
    block = heft_realloc(text, sizeof *block + cap, err);
    if (!block) {
        heft_budget_return(arena->budget, sizeof *block + cap);
        return NULL;
    }
    moved = (char *)block_bytes(block);
    memmove(moved, block, n);
    moved[n] = '\0';
    *block = (struct heft_arena_block){.cap = cap};
    arena->total += sizeof *block + cap;
    link_alone(arena, block);
    return moved;
}

char *heft_arena_printf(struct heft_arena *arena, struct heft_error *err, const char *format, ...)
{
    char small[256];
    char *text;
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(small, sizeof small, format, args);
    va_end(args);
    if (n < 0) {
        heft_fail(err, HEFT_NOMEM, HEFT_NO_OFFSET, "text could not be formatted");
        return NULL;
    }
    if ((size_t)n < sizeof small)
        return heft_arena_text(arena, (struct heft_str){small, (size_t)n}, err);
    text = heft_arena_alloc(arena, (size_t)n + 1, err);
    if (!text)
        return NULL;
    va_start(args, format);
    vsnprintf(text, (size_t)n + 1, format, args);
    va_end(args);
    return text;
}

void heft_arena_release(struct heft_arena *arena)
{
    struct heft_arena_block *block = arena->blocks;

    while (block) {
        struct heft_arena_block *next = block->next;

        heft_free(block);
        block = next;
    }
    heft_budget_return(arena->budget, arena->total);
    *arena = (struct heft_arena){0};
}
