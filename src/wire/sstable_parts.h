/* sstable_parts.h: shared by sstable.c (the table) and sstable_block.c (a block). */
#ifndef HEFT_SSTABLE_PARTS_H
#define HEFT_SSTABLE_PARTS_H

#include "wire/sstable.h"

/* Reads a block, compares its checksum, decompresses it. The range must be inside the source,
 * including the trailer. A block is reused for the next one; a zeroed block is valid. */
HEFT_CHECKED bool heft_sstable_load(struct heft_sstable_block *block, const struct heft_source *src,
                                    struct heft_sstable_range range, struct heft_error *err);
void heft_sstable_unload(struct heft_sstable_block *block);
/* Returns the next entry; the caller has checked that at < n. */
HEFT_CHECKED bool heft_sstable_step(struct heft_sstable_block *block,
                                    struct heft_sstable_entry *out, struct heft_error *err);
/* After a walk to the end: true if the restarts point to entries with complete keys, in ascending
 * order, beginning with the first entry. */
bool heft_sstable_restarts_hold(const struct heft_sstable_block *block);
/* File offset of a position in the block; of a compressed block the offset of the block. */
uint64_t heft_sstable_where(const struct heft_sstable_block *block, size_t at);

#endif
