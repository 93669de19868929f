/* digest_lanes.c: a thread hashes two items at once.
 *
 *     lane 0    batch | item ……………………………… | item …………    each lane takes batches of its own
 *     lane 1    batch | item …… | item …………………………………
 *     kernel            two       two      two           … as many blocks as both buffers have
 *
 * Items that are small or cannot be read at an offset are hashed by themselves in between. */
#include "measure/digest_run_parts.h"

#define LANES       2
#define LEAST_BYTES ((uint64_t)64 << 10) /* smaller items are hashed by themselves */
#define BLOCK       64

struct lane {
    struct heft_digest_batch batch;
    size_t next;    /* the next item of the batch */
    bool is_idle;   /* there are no more items */
    bool is_active; /* an item is being hashed: */
    size_t item;
    uint64_t off, size; /* bytes read, bytes in all */
    struct heft_sha256 sha;
    uint8_t *piece;
    size_t at, n; /* bytes hashed and bytes in `piece` */
};

bool heft_digest_has_lanes(const struct heft_digest_run *of)
{
    return of->pull && of->hasher->kernels;
}

static bool is_for_lane(const struct heft_digest_run *of, size_t item)
{
    return (!of->same || of->same(of->ctx, item) == item) &&
           of->bytes(of->ctx, item) >= LEAST_BYTES && of->is_pulled(of->ctx, item);
}

static void begin_item(struct lane *lane, const struct heft_digest_run *of, size_t item)
{
    lane->is_active = true;
    lane->item = item;
    lane->off = 0;
    lane->size = of->bytes(of->ctx, item);
    lane->at = lane->n = 0;
    heft_sha256_init(&lane->sha);
}

/* Takes the next batch when the last one is done. */
static bool next_batch(struct heft_digest_worker *w, struct lane *lane, struct heft_error *err)
{
    if (lane->batch.first < lane->batch.end && !heft_digest_finish_batch(w, &lane->batch, err))
        return false;
    heft_digest_take_batch(w->run, &lane->batch);
    lane->next = lane->batch.first;
    lane->is_idle = lane->batch.first == lane->batch.end;
    return true;
}

/* Advances to the next item for the lane; hashes the others on the way. */
static bool find_item(struct heft_digest_worker *w, struct lane *lane, struct heft_error *err)
{
    const struct heft_digest_run *const of = w->run->of;

    while (!lane->is_active && !lane->is_idle) {
        if (lane->next == lane->batch.end) {
            if (!next_batch(w, lane, err))
                return false;
        } else if (is_for_lane(of, lane->next)) {
            begin_item(lane, of, lane->next++);
        } else if (!heft_digest_hash_item(w, lane->next++, err)) {
            return heft_digest_stop(w->run, err);
        }
    }
    return true;
}

/* Fills the empty buffer of an active lane; a failure ends its item. */
static bool fill_piece(struct heft_digest_worker *w, struct lane *lane, struct heft_error *err)
{
    const struct heft_digest_run *const of = w->run->of;
    struct heft_error why = {0};

    lane->at = 0;
    lane->n = (size_t)heft_min_u64(HEFT_LANE_PIECE, lane->size - lane->off);
    if (of->pull(of->ctx, lane->item, lane->off, lane->piece, lane->n, &why)) {
        lane->off += lane->n;
        return true;
    }
    lane->is_active = false;
    return heft_digest_keep_failure(w->run, lane->item, &why, err) || heft_digest_stop(w->run, err);
}

/* Hashes the rest of an item, less than a block. */
static bool end_item(struct heft_digest_worker *w, struct lane *lane, struct heft_error *err)
{
    const size_t rest = lane->n - lane->at;

    heft_sha256_put(&lane->sha, lane->piece + lane->at, rest);
    heft_sha256_end(&lane->sha, w->run->slots[lane->item].digest);
    lane->is_active = false;
    return heft_digest_count(w, rest, err);
}

/* Makes the lane ready: an item with at least one block in the buffer, unless it is idle. A piece
 * has less than a block only at the end of an item. */
static bool prepare_lane(struct heft_digest_worker *w, struct lane *lane, struct heft_error *err)
{
    for (;;) {
        if (lane->is_active && lane->n - lane->at >= BLOCK)
            return true;
        if (lane->is_active && lane->off == lane->size && !end_item(w, lane, err))
            return false;
        if (!find_item(w, lane, err))
            return false;
        if (lane->is_idle)
            return true;
        if (lane->at == lane->n && !fill_piece(w, lane, err))
            return false;
    }
}

static void advance(struct lane *lane, size_t blocks)
{
    lane->at += blocks * BLOCK;
    lane->sha.n += blocks * BLOCK;
}

/* Hashes as many blocks as all lanes have that are not idle. */
static bool hash_blocks(struct heft_digest_worker *w, struct lane lanes[LANES],
                        struct heft_error *err)
{
    const struct heft_sha256_kernels *const by = w->run->of->hasher->kernels;
    struct lane *const a = lanes[0].is_idle ? &lanes[1] : &lanes[0], *const b = &lanes[1];
    size_t blocks = (a->n - a->at) / BLOCK;

    if (a == b || b->is_idle) {
        by->one(a->sha.state, a->piece + a->at, blocks);
    } else {
        blocks = (size_t)heft_min_u64(blocks, (b->n - b->at) / BLOCK);
        by->two(a->sha.state, a->piece + a->at, b->sha.state, b->piece + b->at, blocks);
        advance(b, blocks);
        if (!heft_digest_count(w, blocks * BLOCK, err))
            return false;
    }
    advance(a, blocks);
    return heft_digest_count(w, blocks * BLOCK, err);
}

static bool run_lanes(struct heft_digest_worker *w, struct lane lanes[LANES],
                      struct heft_error *err)
{
    for (;;) {
        for (size_t i = 0; i < LANES; i++)
            if (!prepare_lane(w, &lanes[i], err))
                return false;
        if (lanes[0].is_idle && lanes[1].is_idle)
            return true;
        if (!hash_blocks(w, lanes, err))
            return false;
    }
}

bool heft_digest_hash_lanes(struct heft_digest_worker *w, struct heft_error *err)
{
    struct lane lanes[LANES] = {{.piece = w->piece + HEFT_DIGEST_PIECE},
                                {.piece = w->piece + HEFT_DIGEST_PIECE + HEFT_LANE_PIECE}};

    return run_lanes(w, lanes, err);
}
