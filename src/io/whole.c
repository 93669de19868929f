/* whole.c: reads and writes whole ranges: repeats pread and pwrite until all bytes are
 * transferred. */
#include "io/whole.h"

#include "io/os.h"

bool heft_whole_write(int fd, const void *from, size_t n, uint64_t off, struct heft_error *err)
{
    const uint8_t *p = from;

    while (n > 0) {
        const int64_t put = heft_os->pwrite(fd, p, n, off);

        if (put < 0) {
            heft_fail_errno(err, "write failed");
            err->offset = off;
            return false;
        }
        if (put == 0)
            return heft_fail(err, HEFT_IO, off, "write failed: the system accepts no more bytes");
        p += put;
        off += (uint64_t)put;
        n -= (size_t)put; /* no overflow: put is at most n */
    }
    return true;
}

bool heft_whole_read(int fd, void *to, size_t n, uint64_t off, size_t *got, struct heft_error *err)
{
    uint8_t *p = to;

    for (*got = 0; *got < n;) {
        const int64_t more = heft_os->pread(fd, p + *got, n - *got, off + *got);

        if (more < 0) {
            heft_fail_errno(err, "read failed");
            err->offset = off + *got;
            return false;
        }
        if (more == 0)
            break;
        *got += (size_t)more; /* no overflow: more is at most n - got */
    }
    return true;
}

/* ---- temporary files ------------------------------------------------------------------------ */

static bool about_temp(const char *what, struct heft_error *err)
{
    err->offset = HEFT_NO_OFFSET;
    return heft_error_about(err, "temporary file for", heft_str_of(what));
}

int heft_temp_open(const char *what, struct heft_error *err)
{
    const int fd = heft_os->temp();

    if (fd < 0) {
        heft_fail_errno(err, "cannot be created");
        about_temp(what, err);
    }
    return fd;
}

bool heft_temp_write(int fd, const void *p, size_t n, uint64_t off, const char *what,
                     struct heft_error *err)
{
    return heft_whole_write(fd, p, n, off, err) || about_temp(what, err);
}

bool heft_temp_read(int fd, void *to, size_t n, uint64_t off, size_t *got, const char *what,
                    struct heft_error *err)
{
    return heft_whole_read(fd, to, n, off, got, err) || about_temp(what, err);
}
