/* module.c: where modules lie.
 *
 *     build tree       BUILD/heft   BUILD/libheft.so   BUILD/modules/FILE
 *                      BUILD/tests/test_…
 *     installation     PREFIX/bin/heft   LIBDIR/libheft.so   LIBDIR/heft/FILE
 *
 * A place that is found from heft's own comes first, so that an installation can be moved. */
#include "io/module.h"

#include <stdio.h>

#include "io/os.h"

/* From the folder that heft lies in. HEFT_MODULES_NEAR leads from the installed command there. */
static const char *const near[] = {"modules/", "../modules/", "heft/", HEFT_MODULES_NEAR "/"};

static const void *try(const char *folder, const char *sub, const char *file, const char *symbol,
                       bool *found)
{
    char path[4096];
    const int n = snprintf(path, sizeof path, "%s%s%s", folder, sub, file);
    const void *address;
    bool exists = false;

    if (n < 0 || (size_t)n >= sizeof path)
        return NULL;
    address = heft_os->module(path, symbol, &exists);
    *found |= exists;
    return address;
}

const void *heft_module_find(const char *file, const char *symbol, const char *needs,
                             struct heft_error *err)
{
    const void *address = NULL;
    bool found = false;
    char home[4096];

    heft_os_home(home, sizeof home);
    for (size_t i = 0; home[0] && !address && i < HEFT_COUNT(near); i++)
        address = try(home, near[i], file, symbol, &found);
    if (!address)
        address = try(HEFT_MODULES_DIR, "/", file, symbol, &found);
    if (!address && found)
        heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                  "heft's module %s cannot be loaded: it needs %s", file, needs);
    else if (!address)
        heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                  "heft's module %s is not installed: build heft where %s is", file, needs);
    return address;
}
