/* sstable_parts.h: what sstable.c (the table) and sstable_block.c (a block of it) share; no other
 * file includes it. */
#ifndef HEFT_SSTABLE_PARTS_H
#define HEFT_SSTABLE_PARTS_H

#include "wire/sstable.h"

/* Reads a block, compares its checksum, unpacks it. The range must lie in the source, trailer and
 * all. A block is used again and again; zeroed is valid. */
HEFT_CHECKED bool heft_sstable_load(struct heft_sstable_block *block, const struct heft_source *src,
                                    struct heft_sstable_range range, struct heft_error *err);
void heft_sstable_unload(struct heft_sstable_block *block);
/* The next entry; the caller has seen that at < n. */
HEFT_CHECKED bool heft_sstable_step(struct heft_sstable_block *block,
                                    struct heft_sstable_entry *out, struct heft_error *err);
/* Of a block that was walked to its end: whether its restarts name entries with whole keys, in order,
 * the first one first. */
bool heft_sstable_restarts_hold(const struct heft_sstable_block *block);
/* File offset of a place in the block; of a packed one the block's. */
uint64_t heft_sstable_where(const struct heft_sstable_block *block, size_t at);

#endif
