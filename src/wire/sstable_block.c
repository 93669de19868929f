/* sstable_block.c: a block of a table: read, checked, decompressed, and walked entry by entry.
 *
 *     entry, entry, …, restart[0] … restart[n-1], n        restarts and n: 4 bytes each
 *
 * A restart is the position of an entry with a complete key, for binary search. */
#include "wire/sstable_parts.h"

#include "base/checksum.h"
#include "base/endian.h"
#include "base/varint.h"
#include "io/module.h"
#include "wire/snappy_module.h"

#define MOST_STORED   (UINT64_C(1) << 30)
#define MOST_UNPACKED (UINT64_C(64) << 20) /* or twice the stored size */
#define PLAIN         0
#define SNAPPY        1

/* Makes room for n bytes; the old contents are lost. */
static bool make_room(struct heft_sstable_block *block, size_t n, struct heft_error *err)
{
    if (n <= block->cap)
        return true;
    heft_free(block->bytes);
    block->cap = 0;
    block->bytes = heft_alloc(n, err);
    if (!block->bytes)
        return false;
    block->cap = n;
    return true;
}

/* ---- loading ----------------------------------------------------------------------------- */

static bool fetch_block(struct heft_sstable_block *block, const struct heft_source *src,
                        struct heft_error *err)
{
    const struct heft_sstable_range range = block->range;

    if (range.size > MOST_STORED)
        return heft_fail(err, HEFT_LIMIT, range.off,
                         "a block of %" PRIu64 " bytes, the limit is 1 GiB", range.size);
    return make_room(block, (size_t)range.size + HEFT_SSTABLE_TRAILER, err) &&
           heft_source_read(src, range.off, block->bytes, (size_t)range.size + HEFT_SSTABLE_TRAILER,
                            err);
}

static bool check_sum(const struct heft_sstable_block *block, struct heft_error *err)
{
    const size_t n = (size_t)block->range.size; /* fits: the block was read into memory */
    const uint32_t found = heft_crc32c(0, block->bytes, n + 1);
    const uint32_t stored = heft_crc_unmask(heft_le32(block->bytes + n + 1));

    return found == stored || heft_fail(err, HEFT_MISMATCH, block->range.off,
                                        "the CRC-32C of this block of %zu bytes is %08" PRIx32
                                        ", the file says %08" PRIx32,
                                        n, found, stored);
}

static bool refuse_packed(const struct heft_sstable_block *block, const char *what,
                          struct heft_error *err)
{
    return heft_fail(err, HEFT_MALFORMED, block->range.off, "snappy: the block %s", what);
}

/* A snappy copy takes at least two bytes and gives at most 64; a literal gives less than it
 * takes. */
static bool check_claim(const struct heft_sstable_block *block, size_t claim,
                        struct heft_error *err)
{
    const uint64_t size = block->range.size;

    if (claim / 32 > size)
        return refuse_packed(block, "declares more than 32 times its stored size", err);
    return claim <= heft_max_u64(MOST_UNPACKED, 2 * size) ||
           heft_fail(err, HEFT_LIMIT, block->range.off,
                     "a block of %zu unpacked bytes, the limit is 64 MiB", claim);
}

static bool unpack_block(struct heft_sstable_block *block, size_t *n, struct heft_error *err)
{
    const char *packed = (const char *)block->bytes;
    const size_t size = (size_t)block->range.size;
    const struct heft_snappy_module *snappy =
        heft_module_find("heft_snappy.so", HEFT_SNAPPY_SYMBOL, "libsnappy", err);
    size_t claim, got;
    uint8_t *bytes;

    if (!snappy)
        return false;
    if (!snappy->claim(packed, size, &claim))
        return refuse_packed(block, "has no valid length", err);
    if (!check_claim(block, claim, err) || !(bytes = heft_alloc(claim, err)))
        return false;
    got = claim;
    if (!snappy->unpack(packed, size, (char *)bytes, &got) || got != claim) {
        heft_free(bytes);
        return refuse_packed(block, "does not decompress to the length it declares", err);
    }
    heft_free(block->bytes);
    block->bytes = bytes;
    block->cap = *n = claim;
    return true;
}

static bool find_restarts(struct heft_sstable_block *block, size_t n, struct heft_error *err)
{
    const uint64_t where = block->is_packed ? block->range.off : block->range.off + n;

    if (n < 4)
        return heft_fail(err, HEFT_MALFORMED, block->range.off,
                         "a block of %zu bytes; its number of restarts alone takes 4", n);
    block->n_restarts = heft_le32(block->bytes + n - 4);
    if (block->n_restarts > n / 4 - 1)
        return heft_fail(err, HEFT_MALFORMED, where - (block->is_packed ? 0 : 4),
                         "%" PRIu32 " restarts in a block of %zu bytes", block->n_restarts, n);
    block->n = n - 4 * ((size_t)block->n_restarts + 1);
    block->at = 0;
    block->met = 0;
    block->key.n = 0;
    return true;
}

bool heft_sstable_load(struct heft_sstable_block *block, const struct heft_source *src,
                       struct heft_sstable_range range, struct heft_error *err)
{
    size_t n = 0;
    uint8_t type;

    block->range = range;
    if (!fetch_block(block, src, err))
        return false;
    n = (size_t)range.size;
    type = block->bytes[n];
    if (!check_sum(block, err))
        return false;
    if (type != PLAIN && type != SNAPPY)
        return heft_fail(err, HEFT_UNSUPPORTED, range.off + n,
                         "the compression type of a block is %u, expected 0 (none) or 1 (snappy)",
                         type);
    block->is_packed = type == SNAPPY;
    return (!block->is_packed || unpack_block(block, &n, err)) && find_restarts(block, n, err);
}

void heft_sstable_unload(struct heft_sstable_block *block)
{
    heft_free(block->bytes);
    heft_buf_release(&block->key);
    *block = (struct heft_sstable_block){0};
}

/* ---- walking ----------------------------------------------------------------------------- */

/* A number of at most 32 bits, in five bytes; false if it is longer or cut off. */
static bool take_varint(const struct heft_sstable_block *block, size_t *at, uint32_t *out)
{
    uint64_t v = 0;
    const unsigned n = heft_varint_get(block->bytes + *at, block->n - *at, &v);

    if (n == 0 || n > 5 || v > UINT32_MAX)
        return false;
    *at += n;
    *out = (uint32_t)v;
    return true;
}

uint64_t heft_sstable_where(const struct heft_sstable_block *block, size_t at)
{
    return block->range.off + (block->is_packed ? 0 : at);
}

static bool refuse_entry(const struct heft_sstable_block *block, struct heft_error *err,
                         const char *what)
{
    return heft_fail(err, HEFT_MALFORMED, heft_sstable_where(block, block->at),
                     "entry at %zu of its block: %s", block->at, what);
}

static uint32_t restart_at(const struct heft_sstable_block *block, uint32_t i)
{
    return heft_le32(block->bytes + block->n + 4 * (size_t)i);
}

/* Counts the restarts that point to an entry with a complete key. */
static void meet_restart(struct heft_sstable_block *block, uint32_t shared)
{
    if (block->met < block->n_restarts && restart_at(block, block->met) == block->at && shared == 0)
        block->met++;
}

bool heft_sstable_restarts_hold(const struct heft_sstable_block *block)
{
    if (block->n == 0) /* as written by TensorFlow: one restart at 0, or none */
        return block->n_restarts <= 1;
    return block->n_restarts > 0 && restart_at(block, 0) == 0 && block->met == block->n_restarts;
}

bool heft_sstable_step(struct heft_sstable_block *block, struct heft_sstable_entry *out,
                       struct heft_error *err)
{
    uint32_t shared, non_shared, value;
    size_t at = block->at;
    uint64_t rest;

    if (!take_varint(block, &at, &shared) || !take_varint(block, &at, &non_shared) ||
        !take_varint(block, &at, &value))
        return refuse_entry(block, err, "its lengths are not three numbers of 32 bits");
    rest = (uint64_t)non_shared + value;
    if (rest > block->n - at)
        return refuse_entry(block, err, "key and value reach beyond the block's entries");
    if (shared > block->key.n)
        return refuse_entry(block, err, "shares more bytes with the key before than that has");
    meet_restart(block, shared);
    block->key.n = shared;
    heft_buf_put(&block->key, block->bytes + at, non_shared);
    if (!heft_buf_ok(&block->key, err))
        return false;
    *out = (struct heft_sstable_entry){
        .key = {(const uint8_t *)block->key.p, block->key.n},
        .value = {block->bytes + at + non_shared, value},
        .off = heft_sstable_where(block, block->at),
        .len = block->is_packed ? block->range.size : at + rest - block->at,
        .value_at = heft_sstable_where(block, at + non_shared),
        .block = block->range.off,
        .in_block = block->at,
        .shared = shared,
        .is_packed = block->is_packed,
    };
    block->at = at + (size_t)rest;
    return true;
}
