/* skip_because.h: skips a test and says why; tests/run prints the reason. */
#ifndef HEFT_SKIP_BECAUSE_H
#define HEFT_SKIP_BECAUSE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static inline void skip_because(const char *why)
{
    print_message("# skipped: %s\n", why);
    skip();
}

#endif
