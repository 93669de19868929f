/* tfrecord.h: records of a TFRecord file, as ranges of a source.
 *
 *     8 bytes n   4 bytes masked CRC-32C of those 8   n bytes   4 bytes masked CRC-32C of the n bytes
 *
 * one after the other, little-endian, with nothing between them. */
#ifndef HEFT_TFRECORD_H
#define HEFT_TFRECORD_H

#include "io/source.h"

struct heft_tfrecord {
    uint64_t off, len; /* file offset and length of the data */
    uint32_t sum;      /* masked CRC-32C of the data, as stored */
};

/* The record that begins at *at, which is advanced. False with err->code HEFT_OK at the end of the
 * source; HEFT_MALFORMED if the record is cut off, HEFT_MISMATCH if the checksum of its length does
 * not match. */
HEFT_CHECKED bool heft_tfrecord_next(const struct heft_source *src, uint64_t *at,
                                     struct heft_tfrecord *out, struct heft_error *err);
/* Reads the data and compares its checksum: HEFT_MISMATCH. */
HEFT_CHECKED bool heft_tfrecord_check(const struct heft_source *src,
                                      const struct heft_tfrecord *record, struct heft_error *err);

#endif
