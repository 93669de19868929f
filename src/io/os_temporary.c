/* os_temporary.c: see os_temporary.h. */
#define _GNU_SOURCE /* for O_TMPFILE */
#include "io/os_temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
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
    if (fd < 0)
        return -1;
    (void)unlink(path);
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
}

/* O_TMPFILE: a confined program may still use it. */
int heft_os_temporary(void)
{
    const char *folder = getenv("TMPDIR");

    if (!folder || !*folder)
        folder = "/tmp";
#ifdef O_TMPFILE
    int fd;

    do
        fd = open(folder, O_RDWR | O_TMPFILE | O_EXCL | O_CLOEXEC, 0600);
    while (fd < 0 && errno == EINTR);
    if (fd >= 0)
        return fd;
#endif
    return make_unlinked(folder);
}
