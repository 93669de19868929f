/* block_walk.h: reads the bytes of many items (rows, pairs of rows) in blocks on several threads,
 * and delivers the results of the blocks in order:
 *
 *     items     | 0              | 1 | 2 | 3 | 4          |
 *     blocks    | 0.0 | 0.1 | 0.2| 1 | 2 | 3 | 4.0 | 4.1  |    at most block_bytes() each
 *     jobs      | a         | b              | c          |    several small blocks are one job
 *     work()    any thread, any order: reads a block, and reduces it to a result
 *     take()    one at a time, in order of item and offset: combines the results
 *
 * Where an item is cut depends on the item alone, never on the threads: a sum that take() combines
 * has the same bits for any number of threads. Memory: a few jobs, whatever the number of items. */
#ifndef HEFT_BLOCK_WALK_H
#define HEFT_BLOCK_WALK_H

#include "base/error.h"

struct heft_block {
    size_t item;
    uint64_t off; /* of the item's bytes */
    size_t n;     /* bytes; 0 only for an item without bytes, which has one block */
    bool is_last; /* of its item */
};

struct heft_block_walk {
    size_t items;
    /* Bytes of an item. */
    uint64_t (*bytes)(void *ctx, size_t item);
    /* Bytes of each block of an item but the last, such as a multiple of the element's. At least 1. */
    size_t (*block_bytes)(void *ctx, size_t item);
    /* worker: 0 … threads-1, selects scratch memory. `result` has result_size bytes, all zero. */
    bool (*work)(void *ctx, unsigned worker, const struct heft_block *block, void *result,
                 struct heft_error *err);
    bool (*take)(void *ctx, const struct heft_block *block, const void *result,
                 struct heft_error *err);
    void *ctx;
    size_t result_size;
    unsigned threads; /* at least 1 */
};

/* Returns the failure of the first block in order that failed, whichever failed first in time. */
HEFT_CHECKED bool heft_block_walk(const struct heft_block_walk *walk, struct heft_error *err);

#endif
