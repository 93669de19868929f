/* sstable_write.h: writes the table of TensorFlow's index files, byte for byte as its builder does
 * (doc/format/tf-write.md): blocks of 256 KiB, keys without the prefix shared with the key before,
 * a restart every 16 entries, no compression.
 *
 *     heft_table_add(&t, key, value, &at, err)    keys ascend; `at`: position of the value
 *     heft_table_finish(&t, err)                  the rest of the file, except the blocks' checksums
 *     heft_table_seal(t.blocks, t.n_blocks, p)    the checksums, at any later time, in any copy `p`
 *
 * The bytes of a value, but not its length, may change between finish and seal: this is how
 * checksums of data that is not written yet get into the index. A zeroed writer is valid. */
#ifndef HEFT_SSTABLE_WRITE_H
#define HEFT_SSTABLE_WRITE_H

#include "base/mem.h"

#define HEFT_CRC_MASK_ZERO 0xa282ead8u /* masked CRC of an empty string */

/* Masks a CRC-32C as stored in a table or a bundle. */
HEFT_WRAPS static inline uint32_t heft_crc_mask(uint32_t crc)
{
    return ((crc >> 15) | (crc << 17)) + HEFT_CRC_MASK_ZERO;
}

struct heft_table_block {
    size_t off, n; /* range in the file, without the trailer */
};

struct heft_table_writer {
    struct heft_buf bytes; /* the file written so far */
    struct heft_buf last;  /* key of the last entry */
    struct heft_buf index, index_restarts, restarts;
    struct heft_table_block *blocks;
    size_t n_blocks, cap_blocks;
    size_t begin;                    /* offset of the current block in `bytes` */
    size_t n_entries;                /* entries since the last restart */
    size_t in_block;                 /* entries of the current block */
    struct heft_table_block pending; /* finished; its index entry is not written yet */
    bool is_pending, has_any;
};

/* HEFT_USAGE if the key is not greater than the last one. */
HEFT_CHECKED bool heft_table_add(struct heft_table_writer *t, struct heft_str key,
                                 struct heft_str value, size_t *value_at, struct heft_error *err);
HEFT_CHECKED bool heft_table_finish(struct heft_table_writer *t, struct heft_error *err);
void heft_table_seal(const struct heft_table_block *blocks, size_t n, uint8_t *file);
void heft_table_release(struct heft_table_writer *t);

#endif
