/* input_window.c: see input_window.h. */
#include "io/input_window.h"

#define AHEAD  ((size_t)64 << 10)
#define LONGER ((size_t)128 << 10)

/* Copies what a window has of [off, off+n), from its begin on; returns the number of bytes. The
 * caller holds the lock. */
static size_t copy_some(struct heft_windows *w, const void *of, uint64_t off, void *dst, size_t n)
{
    size_t some = 0;

    for (size_t i = 0; i < HEFT_WINDOWS; i++) {
        struct heft_window *const window = &w->list[i];

        if (window->of != of || off < window->from || off >= window->to)
            continue;
        some = heft_min_size(n, window->to - off);
        memcpy(dst, window->bytes + (off - window->from), some);
        window->used = ++w->time;
        break;
    }
    return some;
}

/* Bytes to read from `off` on: ahead, more after another window, where reading goes on, and up to the
 * next window. The caller holds the lock. */
static uint64_t plan_window(const struct heft_windows *w, const struct heft_source *from,
                            uint64_t off, size_t n)
{
    uint64_t ahead = AHEAD, end;

    for (size_t i = 0; i < HEFT_WINDOWS; i++)
        if (w->list[i].of == from->self && off > w->list[i].from && off <= w->list[i].to + AHEAD)
            ahead = LONGER;
    end = off + heft_min_u64(heft_max_u64(n, ahead), from->size - off);
    for (size_t i = 0; i < HEFT_WINDOWS; i++)
        if (w->list[i].of == from->self && w->list[i].from > off)
            end = heft_min_u64(end, w->list[i].from);
    return end - off;
}

/* Replaces the window that has not been used for the longest time. */
static void keep(struct heft_windows *w, const struct heft_window *read)
{
    struct heft_window *oldest = &w->list[0];

    for (size_t i = 1; i < HEFT_WINDOWS; i++)
        if (w->list[i].used < oldest->used)
            oldest = &w->list[i];
    heft_free(oldest->bytes);
    *oldest = *read;
    oldest->used = ++w->time;
}

/* Reads a new window that begins at `off`, and copies its first n bytes: another thread may replace
 * it at once. */
static bool read_window(struct heft_windows *w, const struct heft_source *from, uint64_t off,
                        size_t bytes, void *dst, size_t n, struct heft_error *err)
{
    struct heft_window read = {
        .of = from->self, .bytes = heft_alloc(bytes, err), .from = off, .to = off + bytes};

    if (!read.bytes || !from->ops->read(from, off, read.bytes, bytes, err)) {
        heft_free(read.bytes);
        return false;
    }
    memcpy(dst, read.bytes, n);
    heft_lock_take(w->lock);
    keep(w, &read);
    heft_lock_drop(w->lock);
    return true;
}

bool heft_windows_read(struct heft_windows *w, const struct heft_source *from, uint64_t off,
                       void *dst, size_t n, struct heft_error *err)
{
    uint8_t *to = dst;

    if (n > LONGER)
        return from->ops->read(from, off, dst, n, err);
    while (n > 0) {
        size_t some, bytes = 0;

        heft_lock_take(w->lock);
        some = copy_some(w, from->self, off, to, n);
        if (some == 0)
            bytes = (size_t)plan_window(w, from, off, n);
        heft_lock_drop(w->lock);
        if (bytes > 0) {
            some = heft_min_size(n, bytes);
            if (!read_window(w, from, off, bytes, to, some, err))
                return false;
        }
        to += some;
        off += some;
        n -= some;
    }
    return true;
}

void heft_windows_release(struct heft_windows *w)
{
    for (size_t i = 0; i < HEFT_WINDOWS; i++)
        heft_free(w->list[i].bytes);
    heft_lock_free(w->lock);
    *w = (struct heft_windows){0};
}
