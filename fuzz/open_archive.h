/* open_archive.h: opens an input as an archive of one format, for fuzz targets: an input with the
 * signature of a zip is the file; any other is put into a valid archive, so that mutations get past
 * checksums.
 *
 * Invariants: those of open_format.h. */
#ifndef OPEN_ARCHIVE_H
#define OPEN_ARCHIVE_H

#include "torch_zip.h"
#include "open_format.h"

typedef void archive_fn(struct heft_buf *out, struct heft_bytes within);

static inline int open_archive(const struct heft_format *format, archive_fn *around,
                               struct heft_bytes input)
{
    struct heft_bytes file = input;
    struct heft_buf zip = {0};

    if (input.n > 1 << 20)
        return 0;
    if (input.n < 2 || input.p[0] != 'P' || input.p[1] != 'K') {
        around(&zip, input);
        file = (struct heft_bytes){(const uint8_t *)zip.p, zip.n};
    }
    if (!zip.failed)
        open_format(format, file);
    heft_buf_release(&zip);
    return 0;
}

#endif
