/* hdf5_image.c: metadata of a new file, in a temporary file without a name, at the offsets of the
 * new file. Unwritten ranges are holes. None of it is held in memory: a group has several hundred
 * bytes. */
#include "hdf5_parts.h"
#include "io/os_temporary.h"

#include <errno.h>
#include <unistd.h>

static bool fail_errno(struct heft_error *err, const char *what)
{
    const int number = errno;
    char text[128] = "";

    if (strerror_r(number, text, sizeof text) != 0)
        text[0] = '\0';
    hdf5_fail(err, HEFT_IO, "%s: %s", what, text);
    err->system_error = number;
    return false;
}

struct heft_h5_image *hdf5_image_new(struct heft_error *err)
{
    struct heft_h5_image *image = hdf5_alloc(1, sizeof *image, err);

    if (!image)
        return NULL;
    image->fd = heft_os_temporary();
    if (image->fd >= 0)
        return image;
    fail_errno(err, "a temporary file for the metadata cannot be created");
    free(image);
    return NULL;
}

void hdf5_image_write(struct heft_h5_image *image, uint64_t off, const void *src, size_t n)
{
    const uint8_t *p = src;

    while (n > 0 && image->failed.code == HEFT_OK) {
        const ssize_t put = pwrite(image->fd, p, n, (off_t)off);

        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0) {
            fail_errno(&image->failed, "the metadata cannot be written to a temporary file");
            return;
        }
        p += put;
        off += (uint64_t)put;
        n -= (size_t)put;
        image->end = off > image->end ? off : image->end;
    }
}

bool hdf5_image_read(const struct heft_h5_image *image, uint64_t off, void *dst, size_t n,
                     struct heft_error *err)
{
    uint8_t *p = dst;

    while (n > 0) {
        const ssize_t got = pread(image->fd, p, n, (off_t)off);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_errno(err, "the metadata cannot be read from a temporary file");
        if (got == 0 && off < image->end)
            return hdf5_fail(err, HEFT_IO, "the temporary file of the metadata has become shorter");
        if (got == 0) { /* past the last byte that was written */
            memset(p, 0, n);
            return true;
        }
        p += got;
        off += (uint64_t)got;
        n -= (size_t)got;
    }
    return true;
}

void hdf5_image_free(struct heft_h5_image *image)
{
    if (!image)
        return;
    (void)close(image->fd);
    free(image);
}
