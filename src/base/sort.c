/* sort.c: bottom-up merge sort of indices: runs of 1, 2, 4, … indices are merged from one array into
 * another and back. */
#include "base/sort.h"

/* Merges the sorted runs from[0, mid) and from[mid, end). */
static void merge_runs(const uint32_t *from, uint32_t *to, size_t mid, size_t end,
                       heft_after_fn *after, const void *ctx)
{
    size_t left = 0, right = mid;

    if (mid == end || !after(ctx, from[mid - 1], from[mid])) {
        memcpy(to, from, end * sizeof *to);
        return;
    }
    for (size_t i = 0; i < end; i++) {
        const bool take_right = left == mid || (right < end && after(ctx, from[left], from[right]));

        to[i] = take_right ? from[right++] : from[left++];
    }
}

static bool is_sorted(size_t n, heft_after_fn *after, const void *ctx)
{
    for (size_t i = 1; i < n; i++)
        if (after(ctx, (uint32_t)i - 1, (uint32_t)i))
            return false;
    return true;
}

static void merge_passes(uint32_t **a, uint32_t **b, size_t n, heft_after_fn *after,
                         const void *ctx)
{
    for (size_t width = 1; width < n; width *= 2) {
        uint32_t *const done = *b;

        for (size_t at = 0; at < n; at += 2 * width)
            merge_runs(*a + at, *b + at, heft_min_size(n - at, width),
                       heft_min_size(n - at, 2 * width), after, ctx);
        *b = *a;
        *a = done;
    }
}

uint32_t *heft_sort_indices(size_t n, heft_after_fn *after, const void *ctx, struct heft_arena *mem,
                            struct heft_error *err)
{
    uint32_t *a = heft_arena_zero(mem, n, sizeof *a, err), *b;

    if (!a)
        return NULL;
    for (size_t i = 0; i < n; i++)
        a[i] = (uint32_t)i;
    if (is_sorted(n, after, ctx))
        return a;
    b = heft_arena_zero(mem, n, sizeof *b, err);
    if (!b)
        return NULL;
    merge_passes(&a, &b, n, after, ctx);
    return a;
}
