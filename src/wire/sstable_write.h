/* sstable_write.h: writes the table of TensorFlow's index files, byte for byte as its builder does
 * (doc/format/tf-write.md): blocks of 256 KiB, keys without the prefix they share with the one
 * before, a restart every 16 entries, nothing compressed.
 *
 *     heft_table_add(&t, key, value, &at, err)    keys ascend; `at`: where the value stands
 *     heft_table_finish(&t, err)                  the rest of the file, but for the blocks' checksums
 *     heft_table_seal(t.blocks, t.n_blocks, p)    the checksums, at any later time, in any copy `p`
 *
 * What a value's bytes are may change between finish and seal, not how many they are: that is how
 * checksums of data that is not written yet come into the index. A zeroed writer is valid. */
#ifndef HEFT_SSTABLE_WRITE_H
#define HEFT_SSTABLE_WRITE_H

#include "base/mem.h"

#define HEFT_CRC_MASK_ZERO 0xa282ead8u /* the masked CRC of no bytes */

/* How a table, and a bundle, stores a CRC-32C. */
static inline uint32_t heft_crc_mask(uint32_t crc)
{
    return ((crc >> 15) | (crc << 17)) + HEFT_CRC_MASK_ZERO;
}

struct heft_table_block {
    size_t off, n; /* in the file, without the trailer */
};

struct heft_table_writer {
    struct heft_buf bytes; /* the file so far */
    struct heft_buf last;  /* the last key */
    struct heft_buf index, index_restarts, restarts;
    struct heft_table_block *blocks;
    size_t n_blocks, cap_blocks;
    size_t begin;                    /* of the current block */
    size_t n_entries;                /* since the last restart */
    size_t in_block;                 /* entries of the current block */
    struct heft_table_block pending; /* was flushed, its index entry is yet to come */
    bool is_pending, has_any;
};

/* HEFT_USAGE where the key is not behind the last one. */
HEFT_CHECKED bool heft_table_add(struct heft_table_writer *t, struct heft_str key,
                                 struct heft_str value, size_t *value_at, struct heft_error *err);
HEFT_CHECKED bool heft_table_finish(struct heft_table_writer *t, struct heft_error *err);
void heft_table_seal(const struct heft_table_block *blocks, size_t n, uint8_t *file);
void heft_table_release(struct heft_table_writer *t);

#endif
