/* zip_write.h: the records at the end of a zip, for plans of archives. Their layout is in
 * zip_end.c. */
#ifndef HEFT_ZIP_WRITE_H
#define HEFT_ZIP_WRITE_H

#include "base/base.h"

#define HEFT_ZIP_ENDS 98 /* bytes of the three records; the last one alone has 22 */

struct heft_zip_ends {
    uint64_t n;             /* number of entries */
    uint64_t begin, end;    /* file offsets of the directory */
    uint16_t maker, needed; /* versions, in zip64 records only */
    bool wide;              /* with zip64 records */
};

/* Returns the number of bytes written, at most HEFT_ZIP_ENDS. */
size_t heft_zip_put_ends(uint8_t *out, const struct heft_zip_ends *ends);

#endif
