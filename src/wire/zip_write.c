/* zip_write.c: the records that end a zip: zip64 end record, its locator, end record (zip_end.c has
 * the layout). One disk, no comment. */
#include "wire/zip_write.h"

#include "base/endian.h"

static void put_wide(struct heft_pen *c, const struct heft_zip_ends *ends)
{
    heft_pen_le32(c, 0x06064b50);
    heft_pen_le64(c, 56 - 12); /* size of the record after this field */
    heft_pen_le16(c, ends->maker);
    heft_pen_le16(c, ends->needed);
    heft_pen_le64(c, 0); /* disks */
    heft_pen_le64(c, ends->n);
    heft_pen_le64(c, ends->n);
    heft_pen_le64(c, ends->end - ends->begin);
    heft_pen_le64(c, ends->begin);
    heft_pen_le32(c, 0x07064b50);
    heft_pen_le32(c, 0); /* disk */
    heft_pen_le64(c, ends->end);
    heft_pen_le32(c, 1); /* disks */
}

size_t heft_zip_put_ends(uint8_t *out, const struct heft_zip_ends *ends)
{
    const uint64_t n = heft_min_u64(ends->n, UINT16_MAX);
    struct heft_pen c = {out};

    if (ends->wide)
        put_wide(&c, ends);
    heft_pen_le32(&c, 0x06054b50);
    heft_pen_le32(&c, 0); /* disks */
    heft_pen_le16(&c, n);
    heft_pen_le16(&c, n);
    heft_pen_le32(&c, heft_min_u64(ends->end - ends->begin, UINT32_MAX));
    heft_pen_le32(&c, heft_min_u64(ends->begin, UINT32_MAX));
    heft_pen_le16(&c, 0); /* comment */
    return (size_t)(c.p - out);
}
