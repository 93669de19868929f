/* sstable.h: reads the sorted table that TensorFlow keeps the index of a checkpoint in (LevelDB's
 * table, with TensorFlow's block size), entry by entry, in the memory of one block.
 *
 *     [data block][5] … [data block][5] [metaindex block][5] [index block][5] [footer: 48]
 *
 *     block    entry …, restart (u32) …, number of restarts (u32)
 *     entry    shared, non_shared, value length (varints), key[shared …], value
 *     [5]      how the block is packed (0: not, 1: snappy), masked CRC-32C of block and that byte
 *     index    an entry a data block: a key not before its last one → where it is
 *
 *     ok = heft_sstable_open(&t, &source, &watcher, err)
 *     while (ok && heft_sstable_next(&t, &entry, err))
 *         … entry.key, entry.value
 *     ok = ok && !t.failed
 *     heft_sstable_close(&t)
 *
 * What cannot be read is an error. What can, but is not as a table must be (keys or restarts that
 * do not ascend, a wrong metaindex handle), is told to the watcher: who looks keys up instead of
 * reading them all would miss some. Blocks must lie in order, so that no byte is read twice. */
#ifndef HEFT_SSTABLE_H
#define HEFT_SSTABLE_H

#include "base/mem.h"
#include "io/source.h"

#define HEFT_SSTABLE_FOOTER  48
#define HEFT_SSTABLE_TRAILER 5
#define HEFT_SSTABLE_MAGIC   "\x57\xfb\x80\x8b\x24\x75\x47\xdb" /* the last bytes of a table */

/* How a table, and a bundle, stores a CRC-32C. */
static inline uint32_t heft_crc_unmask(uint32_t masked)
{
    const uint32_t turned = masked - 0xa282ead8u;

    return (turned << 15) | (turned >> 17);
}

/* Where a block is, without its trailer. */
struct heft_sstable_range {
    uint64_t off, size;
};

enum heft_sstable_kind { HEFT_SSTABLE_DATA, HEFT_SSTABLE_METAINDEX, HEFT_SSTABLE_INDEX };

/* Of a block that was just loaded, and is whole. */
struct heft_sstable_found {
    enum heft_sstable_kind kind;
    struct heft_sstable_range range;
    bool is_packed;
    uint64_t restarts; /* offset of the restarts and their number, where it is not packed */
};

/* Both end the reading where they return false, having filled err. NULL: nobody asks. */
struct heft_sstable_watcher {
    bool (*block)(void *ctx, const struct heft_sstable_found *block, struct heft_error *err);
    bool (*odd)(void *ctx, uint64_t off, const char *text, struct heft_error *err);
    void *ctx;
};

struct heft_sstable_block {
    struct heft_sstable_range range;
    uint8_t *bytes; /* owned: as stored, unpacked where that is not the same */
    size_t cap;
    size_t n;            /* bytes of the entries; the restarts follow */
    size_t at;           /* of the next entry */
    uint32_t n_restarts; /* … and how many of them were met */
    uint32_t met;
    struct heft_buf key; /* of the entry before */
    bool is_packed;
};

struct heft_sstable_entry {
    struct heft_bytes key, value; /* borrowed until the next call */
    /* In the file; of a packed block all three are those of the block. */
    uint64_t off, len;
    uint64_t value_at;
    uint64_t block;  /* where its block begins */
    size_t in_block; /* where it begins in the block's unpacked bytes */
    uint32_t shared; /* bytes of the key that are the last one's */
    bool is_packed;
};

struct heft_sstable {
    const struct heft_source *src;
    struct heft_sstable_watcher watcher;
    struct heft_sstable_block index, data;
    struct heft_buf bound, last; /* the index key of the block before; the last key */
    uint64_t end;                /* of the data block before, with its trailer */
    uint64_t limit;              /* where data blocks end: metaindex and index follow */
    bool has_block, has_last, told_order, failed;
};

/* Whether these are the last bytes of a table. */
bool heft_sstable_is(struct heft_bytes tail);
/* Reads footer, metaindex and index. The watcher is copied. The caller closes, also after a
 * failure. */
HEFT_CHECKED bool heft_sstable_open(struct heft_sstable *t, const struct heft_source *src,
                                    const struct heft_sstable_watcher *watcher,
                                    struct heft_error *err);
/* The next entry of all blocks. False at the end, and where `failed` is set. */
bool heft_sstable_next(struct heft_sstable *t, struct heft_sstable_entry *entry,
                       struct heft_error *err);
void heft_sstable_close(struct heft_sstable *t);

#endif
