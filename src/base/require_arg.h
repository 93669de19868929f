/* require_arg.h: checks of required arguments of public functions: NULL is HEFT_USAGE. */
#ifndef HEFT_REQUIRE_ARG_H
#define HEFT_REQUIRE_ARG_H

#include "base/error.h"
#include "heft/format.h"

static inline bool heft_require_arg(bool is_there, const char *what, struct heft_error *err)
{
    return HEFT_LIKELY(is_there) ||
           heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "NULL, expected %s", what);
}

/* Checks n file names. */
static inline bool heft_require_paths(const char *const *paths, size_t n, struct heft_error *err)
{
    if (!heft_require_arg(paths || n == 0, "a list of paths", err))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!heft_require_arg(paths[i] != NULL, "a path", err))
            return false;
    return true;
}

/* Checks n options of formats. */
static inline bool heft_require_options(const struct heft_option *options, size_t n,
                                        struct heft_error *err)
{
    if (!heft_require_arg(options || n == 0, "a list of options", err))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!heft_require_arg(options[i].name != NULL, "the name of an option", err))
            return false;
    return true;
}

#endif
