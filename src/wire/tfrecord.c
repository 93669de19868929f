/* tfrecord.c: reads TFRecord files one record at a time. */
#include "wire/tfrecord.h"

#include "base/checksum.h"
#include "base/endian.h"
#include "wire/sstable.h" /* for the masking of CRCs */

#define HEADER 12
#define FOOTER 4
#define PIECE  65536

bool heft_tfrecord_next(const struct heft_source *src, uint64_t *at, struct heft_tfrecord *out,
                        struct heft_error *err)
{
    const uint64_t left = src->size - *at;
    uint8_t header[HEADER], footer[FOOTER];
    uint64_t n;

    if (left == 0)
        return false;
    if (left < HEADER)
        return heft_fail(err, HEFT_MALFORMED, *at,
                         "TFRecord: truncated: %" PRIu64 " bytes where a header has 12", left);
    if (!heft_source_read(src, *at, header, HEADER, err))
        return false;
    n = heft_le64(header);
    if (heft_crc32c(0, header, 8) != heft_crc_unmask(heft_le32(header + 8)))
        return heft_fail(err, HEFT_MISMATCH, *at,
                         "TFRecord: the CRC-32C of a record's length does not match");
    if (left - HEADER < FOOTER || n > left - HEADER - FOOTER)
        return heft_fail(err, HEFT_MALFORMED, *at,
                         "TFRecord: a record of %" PRIu64 " bytes, and a CRC, where %" PRIu64
                         " are left",
                         n, left - HEADER);
    if (!heft_source_read(src, *at + HEADER + n, footer, FOOTER, err))
        return false;
    *out = (struct heft_tfrecord){*at + HEADER, n, heft_crc_unmask(heft_le32(footer))};
    *at += HEADER + n + FOOTER;
    return true;
}

bool heft_tfrecord_check(const struct heft_source *src, const struct heft_tfrecord *record,
                         struct heft_error *err)
{
    uint8_t *const piece = heft_alloc(PIECE, err);
    uint32_t crc = 0;
    bool ok = piece != NULL;

    for (uint64_t done = 0; ok && done < record->len;) {
        const size_t n = (size_t)heft_min_u64(record->len - done, PIECE);

        ok = heft_source_read(src, record->off + done, piece, n, err);
        crc = ok ? heft_crc32c(crc, piece, n) : 0;
        done += n;
    }
    heft_free(piece);
    if (!ok || crc == record->sum)
        return ok;
    return heft_fail(err, HEFT_MISMATCH, record->off,
                     "TFRecord: the CRC-32C of a record is %08" PRIx32 ", stored is %08" PRIx32,
                     crc, record->sum);
}
