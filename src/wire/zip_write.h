/* zip_write.h: the records that end a zip, for those who plan one. zip_end.c draws and reads them. */
#ifndef HEFT_ZIP_WRITE_H
#define HEFT_ZIP_WRITE_H

#include "base/base.h"

#define HEFT_ZIP_ENDS 98 /* bytes of the three records; the last alone has 22 */

struct heft_zip_ends {
    uint64_t n;             /* entries */
    uint64_t begin, end;    /* of the directory, in the file */
    uint16_t maker, needed; /* versions, of zip64 records only */
    bool wide;              /* with zip64 records */
};

/* Returns how many bytes it wrote, at most HEFT_ZIP_ENDS. */
size_t heft_zip_put_ends(uint8_t *out, const struct heft_zip_ends *ends);

#endif
