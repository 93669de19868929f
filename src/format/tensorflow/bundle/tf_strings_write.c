/* tf_strings_write.c: strings in the layout of a bundle's data file (tf_strings.c reads it).
 *
 *     length (varint) … , masked CRC-32C of the lengths (u32), bytes …
 *
 * Lengths enter the checksum as numbers of 4 bytes, or 8 if beyond 32 bits. The entry's checksum
 * continues over the stored form of the first and all strings. */
#include "base/checksum.h"
#include "base/endian.h"
#include "format/tensorflow/bundle/tf_parts.h"
#include "wire/proto_write.h"
#include "wire/sstable_write.h"

void heft_tf_put_length(struct heft_buf *out, uint64_t n, uint32_t *crc)
{
    uint8_t word[8];

    heft_varint_add(out, n);
    heft_put_le64(word, n);
    *crc = heft_crc32c(*crc, word, n > UINT32_MAX ? 8 : 4);
}

void heft_tf_put_sum(struct heft_buf *out, uint32_t *crc)
{
    uint8_t word[4];

    heft_put_le32(word, heft_crc_mask(*crc));
    heft_buf_put(out, word, sizeof word);
    *crc = heft_crc32c(*crc, word, sizeof word);
}

void heft_tf_put_text(struct heft_buf *out, struct heft_str text, uint32_t *crc)
{
    heft_buf_str(out, text);
    *crc = heft_crc32c(*crc, text.p, text.n);
}
