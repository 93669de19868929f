/* skip_because.h: skips a test and says why; tests/run prints the reason. HEFT_HAS_HDF5 (1 or 0, from CMake): whether
 * the build has the module for HDF5 files. */
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

static inline void needs_hdf5(void)
{
    if (!HEFT_HAS_HDF5)
        skip_because("this build has no HDF5; install libhdf5-dev");
}

#endif
