/* part_receipt.h: what a part of an encoded corpus tells about itself, in a text file beside its ids.
 *
 *     heft-part 1
 *     part 2/7
 *     options 0123456789abcdef       checksums of what must be equal in all parts of a run
 *     vocabulary 0123456789abcdef
 *     inputs 40 419430400 0123456789abcdef    files, bytes, checksum of names, sizes and times
 *     file 2097152 a1b2c3d4          bytes and CRC-32C of the ids, then of each file beside them
 *     sum e5884898                   CRC-32C of the lines above
 *
 * join compares the receipts with each other, and each with its files. */
#ifndef HEFT_PART_RECEIPT_H
#define HEFT_PART_RECEIPT_H

#include "base/error.h"
#include "base/mem.h"

#define HEFT_PART_RECEIPT ".receipt"    /* behind the path of the ids */
#define HEFT_PART_FILES   4             /* most files of a part, without the receipt */
#define HEFT_PART_BYTES   ((size_t)512) /* most bytes of a receipt */

struct heft_part_receipt {
    uint64_t index, count; /* part index of count, from 1 */
    uint64_t options, vocabulary;
    uint64_t inputs, bytes; /* number of all inputs of the run, and their bytes */
    uint64_t inputs_mark;
    struct heft_part_file {
        uint64_t bytes;
        uint32_t crc32c;
    } files[HEFT_PART_FILES];
    unsigned n_files;
};

void heft_part_receipt_put(struct heft_buf *text, const struct heft_part_receipt *receipt);
/* HEFT_MALFORMED, with the offset of the first unexpected byte, for any other text than put writes. */
HEFT_CHECKED bool heft_part_receipt_parse(struct heft_part_receipt *out, struct heft_bytes text,
                                          struct heft_error *err);

#endif
