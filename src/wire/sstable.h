/* sstable.h: reads a sorted string table, in which TensorFlow stores the index of a checkpoint
 * (LevelDB's format with larger blocks), entry by entry, in the memory of one block.
 *
 *     [data block][5] … [data block][5] [metaindex block][5] [index block][5] [footer: 48]
 *
 *     block    entry …, restart (u32) …, number of restarts (u32)
 *     entry    shared, non_shared, value length (varints), key[shared …], value
 *     [5]      compression of the block (0: none, 1: snappy), masked CRC-32C of block and that byte
 *     index    an entry for each data block: a key not less than its last one → its location
 *
 *     ok = heft_sstable_open(&t, &source, &watcher, err)
 *     while (ok && heft_sstable_next(&t, &entry, err))
 *         … entry.key, entry.value
 *     ok = ok && !t.failed
 *     heft_sstable_close(&t)
 *
 * Unreadable data is an error. Readable data that violates the format (keys or restarts that do not
 * ascend, a wrong metaindex handle) is reported to the watcher: a reader that searches for keys
 * would miss some. Blocks must be in ascending order, so that no byte is read twice. */
#ifndef HEFT_SSTABLE_H
#define HEFT_SSTABLE_H

#include "base/mem.h"
#include "io/source.h"

#define HEFT_SSTABLE_FOOTER  48
#define HEFT_SSTABLE_TRAILER 5
#define HEFT_SSTABLE_MAGIC   "\x57\xfb\x80\x8b\x24\x75\x47\xdb" /* the last bytes of a table */

/* Unmasks a CRC-32C as stored in a table or a bundle. */
HEFT_WRAPS static inline uint32_t heft_crc_unmask(uint32_t masked)
{
    const uint32_t turned = masked - 0xa282ead8u;

    return (turned << 15) | (turned >> 17);
}

/* Location of a block, without its trailer. */
struct heft_sstable_range {
    uint64_t off, size;
};

enum heft_sstable_kind { HEFT_SSTABLE_DATA, HEFT_SSTABLE_METAINDEX, HEFT_SSTABLE_INDEX };

/* About a block that was loaded and whose checksum matches. */
struct heft_sstable_found {
    enum heft_sstable_kind kind;
    struct heft_sstable_range range;
    bool is_packed;
    uint64_t restarts; /* offset of the restarts and their number, if the block is not compressed */
};

/* Callbacks; both end the reading if they return false, with err filled. NULL: none. */
struct heft_sstable_watcher {
    bool (*block)(void *ctx, const struct heft_sstable_found *block, struct heft_error *err);
    bool (*odd)(void *ctx, uint64_t off, const char *text, struct heft_error *err);
    void *ctx;
};

struct heft_sstable_block {
    struct heft_sstable_range range;
    uint8_t *bytes; /* owned: as stored, or decompressed */
    size_t cap;
    size_t n;            /* bytes of the entries; the restarts follow them */
    size_t at;           /* position of the next entry */
    uint32_t n_restarts; /* … and how many of them were found so far */
    uint32_t met;
    struct heft_buf key; /* key of the previous entry */
    bool is_packed;
};

struct heft_sstable_entry {
    struct heft_bytes key, value; /* borrowed until the next call */
    /* Range in the file; of a compressed block the range of the block. */
    uint64_t off, len;
    uint64_t value_at;
    uint64_t block;  /* file offset of its block */
    size_t in_block; /* position in the decompressed block */
    uint32_t shared; /* length of the prefix shared with the previous key */
    bool is_packed;
};

struct heft_sstable {
    const struct heft_source *src;
    struct heft_sstable_watcher watcher;
    struct heft_sstable_block index, data;
    struct heft_buf bound,
        last;       /* bound: index key of the previous block; last: key of the previous entry */
    uint64_t end;   /* end of the previous data block, including its trailer */
    uint64_t limit; /* end of the data blocks: metaindex and index follow */
    bool has_block, has_last, told_order, failed;
};

/* True if these are the last bytes of a table. */
bool heft_sstable_is(struct heft_bytes tail);
/* Reads footer, metaindex and index. The watcher is copied. The caller closes the table, also after
 * a failure. */
HEFT_CHECKED bool heft_sstable_open(struct heft_sstable *t, const struct heft_source *src,
                                    const struct heft_sstable_watcher *watcher,
                                    struct heft_error *err);
/* Returns the next entry of all blocks. False at the end, and if `failed` is set. */
bool heft_sstable_next(struct heft_sstable *t, struct heft_sstable_entry *entry,
                       struct heft_error *err);
void heft_sstable_close(struct heft_sstable *t);

#endif
