/* given.h: what a caller of the public doors has to hand over; NULL is HEFT_USAGE there. */
#ifndef HEFT_GIVEN_H
#define HEFT_GIVEN_H

#include "base/error.h"

static inline bool heft_given(bool is_there, const char *what, struct heft_error *err)
{
    return HEFT_LIKELY(is_there) ||
           heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "NULL, where %s is wanted", what);
}

/* n names of files. */
static inline bool heft_given_paths(const char *const *paths, size_t n, struct heft_error *err)
{
    if (!heft_given(paths || n == 0, "a list of paths", err))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!heft_given(paths[i] != NULL, "a path", err))
            return false;
    return true;
}

#endif
