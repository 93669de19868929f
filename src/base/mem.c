/* mem.c: the wrapper around malloc or the allocator of the program, with a counter and a hook that
 * makes the n-th allocation fail, and growing arrays. */
#include "base/mem.h"

#include "base/host_settings.h"

#include <stdatomic.h>
#include <stdlib.h>

/* The number of allocations, and the number at which a test wants a failure. */
static atomic_uint_fast64_t allocations;
static atomic_uint_fast64_t failing;

static bool may_allocate(size_t n, struct heft_error *err)
{
    const uint64_t count = atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed) + 1;

    /* Sizes beyond PTRDIFF_MAX fail without a call of malloc. */
    if (count != atomic_load_explicit(&failing, memory_order_relaxed) && n <= PTRDIFF_MAX)
        return true;
    return heft_fail(err, HEFT_NOMEM, HEFT_NO_OFFSET, "out of memory: %zu bytes wanted", n);
}

static void *check_allocation(void *p, size_t n, struct heft_error *err)
{
    if (!p)
        heft_fail(err, HEFT_NOMEM, HEFT_NO_OFFSET, "out of memory: %zu bytes wanted", n);
    return p;
}

static void *from_host(size_t n)
{
    const struct heft_host *const host = heft_host();

    return host->alloc(host->ctx, n);
}

static void *zeroed_from_host(size_t n)
{
    void *const p = from_host(n);

    return p ? memset(p, 0, n) : NULL;
}

void *heft_alloc(size_t n, struct heft_error *err)
{
    const size_t size = n ? n : 1;

    if (!may_allocate(n, err))
        return NULL;
    return check_allocation(heft_host()->alloc ? from_host(size) : malloc(size), n, err);
}

void *heft_calloc(size_t n, size_t each, struct heft_error *err)
{
    if (each != 0 && n > SIZE_MAX / each) {
        heft_fail(err, HEFT_NOMEM, HEFT_NO_OFFSET, "out of memory: %zu times %zu bytes wanted", n,
                  each);
        return NULL;
    }
    const size_t bytes = n * each; /* cannot overflow: checked above */
    const size_t size = bytes ? bytes : 1;

    if (!may_allocate(bytes, err))
        return NULL;
    return check_allocation(heft_host()->alloc ? zeroed_from_host(size) : calloc(1, size), bytes,
                            err);
}

/* Large blocks of malloc are aligned to huge pages. */
#define LARGE_PAGE  ((size_t)2 << 20)
#define LARGE_BLOCK (2 * LARGE_PAGE)

void *heft_realloc(void *p, size_t n, struct heft_error *err)
{
    const struct heft_host *const host = heft_host();

    if (!may_allocate(n, err))
        return NULL;
    if (host->resize)
        return check_allocation(host->resize(host->ctx, p, n ? n : 1), n, err);
    if (!p && n >= LARGE_BLOCK)
        return check_allocation(aligned_alloc(LARGE_PAGE, (n + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1)),
                                n, err);
    return check_allocation(realloc(p, n ? n : 1), n, err);
}

void heft_free(void *p)
{
    const struct heft_host *const host = heft_host();

    if (!host->free)
        free(p);
    else if (p)
        host->free(host->ctx, p);
}

void heft_alloc_fail_at(uint64_t nth)
{
    atomic_store(&failing, nth ? atomic_load(&allocations) + nth : 0);
}

uint64_t heft_alloc_count(void)
{
    return atomic_load(&allocations);
}

bool heft_budget_refuse(const struct heft_budget *budget, struct heft_error *err)
{
    return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                     "tensors, values and names need more than %" PRIu64
                     " bytes of memory, which is what limits.nodes, limits.tensors and "
                     "limits.expansion allow together",
                     budget->most);
}

bool heft_budget_allows(const struct heft_budget *budget, uint64_t n, struct heft_error *err)
{
    uint64_t bytes;

    return !budget || (heft_add(budget->held, n, &bytes) && bytes <= budget->most) ||
           heft_budget_refuse(budget, err);
}

#define FIRST_ITEMS 32 /* an array that grows at all usually grows beyond a few items */

bool heft_grow_now(void *items, size_t *cap, size_t count, size_t more, size_t each,
                   struct heft_error *err)
{
    void *old, *grown;
    size_t wanted;

    if (more > SIZE_MAX - count || *cap > SIZE_MAX / 2)
        return heft_fail(err, HEFT_NOMEM, HEFT_NO_OFFSET, "out of memory: %zu more items wanted",
                         more);
    wanted = *cap + *cap / 2;
    if (wanted < count + more)
        wanted = count + more;
    if (wanted < FIRST_ITEMS)
        wanted = FIRST_ITEMS;
    if (wanted > SIZE_MAX / each)
        return heft_fail(err, HEFT_NOMEM, HEFT_NO_OFFSET, "out of memory: %zu items wanted",
                         wanted);

    memcpy(&old, items, sizeof old); /* `items` points to a pointer of the caller's type */
    grown = heft_realloc(old, wanted * each, err);
    if (!grown)
        return false;
    memcpy(items, &grown, sizeof grown);
    *cap = wanted;
    return true;
}
