/* input_window.h: bytes that were read ahead from inputs whose calls take long, so that many small
 * reads of neighbouring bytes need one call. At most HEFT_WINDOWS windows of 128 KiB, shared by all
 * inputs that are opened together; the least recently used one is replaced. */
#ifndef HEFT_INPUT_WINDOW_H
#define HEFT_INPUT_WINDOW_H

#include "io/pool.h"
#include "io/source.h"

enum { HEFT_WINDOWS = 8 };

/* Bytes [from, to) of an input. */
struct heft_window {
    const void *of; /* `self` of its source */
    uint8_t *bytes; /* on the heap */
    uint64_t from, to;
    uint64_t used; /* time of the last use */
};
struct heft_windows {
    struct heft_lock *lock; /* guards the other members; not held while an input is read */
    struct heft_window list[HEFT_WINDOWS];
    uint64_t time;
};

/* Reads n bytes, at least 1, of a source by its own function, or from a window. Large reads are
 * passed on as they are. */
HEFT_CHECKED bool heft_windows_read(struct heft_windows *w, const struct heft_source *from,
                                    uint64_t off, void *dst, size_t n, struct heft_error *err);
void heft_windows_release(struct heft_windows *w);

#endif
