/* locate.h: which file an input means: itself, or where it is a folder, the file in it that says what
 * the others are. */
#ifndef HEFT_LOCATE_H
#define HEFT_LOCATE_H

#include "core/registry.h"

struct heft_located {
    const char *const
        *paths; /* to open, in this order: several where a numbered set has no index */
    size_t n;
    const char *note; /* for people: what of a folder was chosen, what not; NULL: no choice */
};
/* The files that an input means to these formats, in `mem` or `given` itself. False where it means
 * nothing, or several things. `step` (or NULL) chooses among the checkpoints of a folder, where a
 * format has steps. */
HEFT_CHECKED bool heft_locate(const struct heft_formats *formats, const char *given,
                              const char *step, struct heft_arena *mem, struct heft_located *out,
                              struct heft_error *err);

#endif
