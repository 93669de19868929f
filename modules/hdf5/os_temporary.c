/* os_temporary.c: temporary files of the HDF5 module. */
#define _GNU_SOURCE /* for O_TMPFILE */
#include "hdf5_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static int make_unlinked(const char *folder)
{
    char path[4096];
    const int n = snprintf(path, sizeof path, "%s/heft-XXXXXX", folder);
    int fd;

    if (n < 0 || (size_t)n >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkstemp(path);
    if (fd >= 0)
        (void)unlink(path);
    return fd;
}

int hdf5_temporary(void)
{
    const char *folder = getenv("TMPDIR");

    if (!folder || !*folder)
        folder = "/tmp";
#ifdef O_TMPFILE /* which a confined program may still use */
    const int fd = open(folder, O_RDWR | O_TMPFILE | O_EXCL | O_CLOEXEC, 0600);

    if (fd >= 0)
        return fd;
#endif
    return make_unlinked(folder);
}
