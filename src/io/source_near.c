/* source_near.c: a source that reads neighbouring small ranges of another source with one call. */
#include "io/source.h"

#define WINDOW ((size_t)64 << 10)
#define GAP    4096 /* bytes between two ranges: copying as many takes as long as a call */

static bool near_read(const struct heft_source *src, uint64_t off, void *dst, size_t n,
                      struct heft_error *err)
{
    const struct heft_near *const near = src->self;

    if (off < near->from || off > near->to || n > near->to - off)
        return heft_source_read(near->below, off, dst, n, err);
    memcpy(dst, near->window + (off - near->from), n);
    return true;
}

static const struct heft_source_ops near_ops = {.read = near_read};

bool heft_near_open(struct heft_near *near, const struct heft_source *below, struct heft_error *err)
{
    *near = (struct heft_near){
        .source = {.ops = &near_ops,
                   .self = near,
                   .size = UINT64_MAX, /* the source below checks the range, for its error */
                   .fd = -1,
                   .label = below->label},
        .below = below,
        .window = heft_alloc(WINDOW, err),
    };
    return near->window != NULL;
}

void heft_near_close(struct heft_near *near)
{
    heft_free(near->window);
    *near = (struct heft_near){0};
}

/* End of the ranges from `index` on, which begins at `from`, that fit into the window together. */
static uint64_t neighbours_end(heft_near_range *range, const void *ctx, size_t index, size_t count,
                               uint64_t from, uint64_t to)
{
    uint64_t begin, end;

    for (size_t i = index + 1; i < count && range(ctx, i, &begin, &end); i++) {
        end = heft_max_u64(end, to);
        if (begin < from || (begin > to && begin - to > GAP) || end - from > WINDOW)
            break;
        to = end;
    }
    return to;
}

void heft_near_look(struct heft_near *near, heft_near_range *range, const void *ctx, size_t index,
                    size_t count)
{
    struct heft_error ignored = {0};
    uint64_t from, to, end;

    if (!range(ctx, index, &from, &to) || to < from || (from >= near->from && to <= near->to))
        return;
    end = neighbours_end(range, ctx, index, count, from, to);
    near->from = near->to = from;
    if (end > to &&
        heft_source_read(near->below, from, near->window, (size_t)(end - from), &ignored))
        near->to = end;
}
