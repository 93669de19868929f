/* digest_run.h: digests of many items (tensors, files) on several threads, delivered in order.
 *
 *     items     | 0         | 1 2 3 4 5 | 6          | 7 8 …
 *     batches     thread 0    thread 1    thread 0     whole items, taken in order
 *     take()      0, then 1, 2, …                      one at a time, in order
 *
 * SHA-256 of one item is sequential, so that an item is the unit of parallel work. A thread hashes two
 * large items at once where that is faster (sha256_kernels.h). Memory: buffers for each thread, and 48
 * bytes for each item. */
#ifndef HEFT_DIGEST_RUN_H
#define HEFT_DIGEST_RUN_H

#include "io/source.h"
#include "measure/hasher.h"

enum { HEFT_DIGEST_PIECE = 1 << 20 }; /* bytes of each thread's buffer */

struct heft_digest_state;

/* A thread of a run, and the item that it hashes. */
struct heft_digest_worker {
    struct heft_digest_state *run;
    struct heft_hash hash; /* SHA-256, begun before each item */
    uint8_t *piece;        /* HEFT_DIGEST_PIECE bytes for the callback */
    uint64_t untold;       /* bytes hashed since the last progress */
};

struct heft_digest_run {
    size_t items;
    /* Bytes of an item, for the progress and the size of a batch. */
    uint64_t (*bytes)(void *ctx, size_t item);
    /* An earlier item with the same bytes, whose digest is delivered again; else the item itself.
     * NULL: the bytes of all items are read. */
    size_t (*same)(void *ctx, size_t item);
    /* Passes the bytes of an item to heft_digest_put. Any thread, any order. */
    bool (*read)(void *ctx, size_t item, struct heft_digest_worker *worker, struct heft_error *err);
    /* Reads [off, off + n) of an item for which is_pulled() is true, in place of read(): two such
     * items are hashed at once, if the hasher has kernels. Both may be NULL. */
    bool (*pull)(void *ctx, size_t item, uint64_t off, uint8_t *dst, size_t n,
                 struct heft_error *err);
    bool (*is_pulled)(void *ctx, size_t item);
    /* The digest of an item; NULL if reading it failed, for the reason `why`. Returning false ends
     * the run. */
    bool (*take)(void *ctx, size_t item, const uint8_t *digest, const struct heft_error *why,
                 struct heft_error *err);
    void *ctx;
    const struct heft_hasher *hasher;
    unsigned threads; /* at least 1 */
    /* Called by any thread, but not concurrently; false stops (HEFT_CANCELLED). May be NULL. */
    bool (*progress)(void *ctx, uint64_t done, uint64_t total);
    void *progress_ctx;
};

HEFT_CHECKED bool heft_digest_run(const struct heft_digest_run *of, struct heft_error *err);
/* Hashes the next bytes of an item. False if the run was stopped: HEFT_CANCELLED. */
HEFT_CHECKED bool heft_digest_put(struct heft_digest_worker *worker, const void *p, size_t n,
                                  struct heft_error *err);
/* Hashes all bytes of a source. */
HEFT_CHECKED bool heft_digest_put_source(struct heft_digest_worker *worker,
                                         const struct heft_source *source, struct heft_error *err);

#endif
