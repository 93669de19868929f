/* sstable_write.c: writes a table from front to back.
 *
 *     [data block 0][00 crc] … [data block n-1][00 crc]
 *     [metaindex block, empty: 8 bytes][00 crc]
 *     [index block: separator → offset, size of each data block][00 crc]
 *     footer: handles of metaindex and index, zeros up to 40, magic                    48 bytes
 *
 *     block = entry … restart (4 bytes) … number of restarts (4 bytes)
 *     entry = shared, non_shared, value length (varints), key[shared…], value
 *
 * Blocks are built at their final position. The type byte of a trailer is 0; its checksum is filled
 * in by heft_table_seal. */
#include "wire/sstable_write.h"

#include "base/checksum.h"
#include "base/endian.h"
#include "wire/proto_write.h"

#define BLOCK_SIZE 262144u
#define INTERVAL   16
#define TRAILER    5
#define FOOTER     40 /* bytes of the footer without its magic number */
#define MAGIC      0xdb4775248b80fb57u

static void put_le32(struct heft_buf *buf, size_t v)
{
    uint8_t bytes[4];

    heft_put_le32(bytes, (uint32_t)v);
    heft_buf_put(buf, bytes, sizeof bytes);
}

static size_t common_prefix(struct heft_str a, struct heft_str b)
{
    size_t n = 0;

    while (n < a.n && n < b.n && a.p[n] == b.p[n])
        n++;
    return n;
}

static struct heft_str last_key(const struct heft_table_writer *t)
{
    return (struct heft_str){t->last.p, t->last.n};
}

static void put_handle(struct heft_buf *buf, const struct heft_table_block *block)
{
    heft_varint_add(buf, block->off);
    heft_varint_add(buf, block->n);
}

/* ---- blocks ------------------------------------------------------------------------------ */

/* Ends the block that began at `begin`: writes its restarts and reserves the trailer. */
static bool end_block(struct heft_table_writer *t, const struct heft_buf *restarts,
                      struct heft_table_block *block, struct heft_error *err)
{
    heft_buf_put(&t->bytes, restarts->p, restarts->n);
    put_le32(&t->bytes, restarts->n / 4);
    if (!heft_buf_ok(restarts, err) || !heft_buf_ok(&t->bytes, err) ||
        !heft_grow(&t->blocks, &t->cap_blocks, t->n_blocks, 1, sizeof *t->blocks, err))
        return false;
    *block = (struct heft_table_block){t->begin, t->bytes.n - t->begin};
    if (block->n > UINT32_MAX)
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "a block of the index would have 4 GiB or more");
    t->blocks[t->n_blocks++] = *block;
    heft_buf_put(&t->bytes, "\0\0\0\0", TRAILER);
    t->begin = t->bytes.n;
    return true;
}

static bool flush_block(struct heft_table_writer *t, struct heft_error *err)
{
    if (t->in_block == 0)
        return true;
    if (!end_block(t, &t->restarts, &t->pending, err))
        return false;
    t->is_pending = true;
    t->in_block = t->n_entries = 0;
    t->restarts.n = 0;
    return true;
}

/* ---- the index block --------------------------------------------------------------------- */

/* Every entry of the index is a restart: no prefix is shared. */
static void put_index(struct heft_table_writer *t, struct heft_str key, bool raise)
{
    uint8_t handle[20];
    size_t n = heft_varint_put(handle, t->pending.off);

    n += heft_varint_put(handle + n, t->pending.n);
    put_le32(&t->index_restarts, t->index.n);
    heft_varint_add(&t->index, 0);
    heft_varint_add(&t->index, key.n);
    heft_varint_add(&t->index, n);
    heft_buf_str(&t->index, key);
    if (raise && !t->index.failed)
        t->index.p[t->index.n - 1]++;
    heft_buf_put(&t->index, handle, n);
    t->is_pending = false;
}

/* Writes a short key between the last key and the next one: the first byte that differs is
 * increased by one. */
static void put_separator(struct heft_table_writer *t, struct heft_str next)
{
    const struct heft_str last = last_key(t);
    const size_t same = common_prefix(last, next);

    if (same < last.n && same < next.n &&
        (uint8_t)last.p[same] + 1 < (uint8_t)next.p[same]) /* the byte is less than 0xff */
        put_index(t, (struct heft_str){last.p, same + 1}, true);
    else
        put_index(t, last, false);
}

/* Writes a short key after all keys: up to the first byte that can be increased. */
static void put_successor(struct heft_table_writer *t)
{
    const struct heft_str last = last_key(t);
    size_t n = 0;

    while (n < last.n && (uint8_t)last.p[n] == 0xff)
        n++;
    if (n < last.n)
        put_index(t, (struct heft_str){last.p, n + 1}, true);
    else
        put_index(t, last, false);
}

/* ---- entries ----------------------------------------------------------------------------- */

static void put_entry(struct heft_table_writer *t, struct heft_str key, struct heft_str value)
{
    size_t shared = 0;

    if (t->in_block == 0 || t->n_entries == INTERVAL) {
        put_le32(&t->restarts, t->bytes.n - t->begin);
        t->n_entries = 0;
    } else {
        shared = common_prefix(last_key(t), key);
    }
    heft_varint_add(&t->bytes, shared);
    heft_varint_add(&t->bytes, key.n - shared);
    heft_varint_add(&t->bytes, value.n);
    heft_buf_put(&t->bytes, key.p + shared, key.n - shared);
    heft_buf_str(&t->bytes, value);
    t->n_entries++;
    t->in_block++;
}

static bool keep_key(struct heft_table_writer *t, struct heft_str key, struct heft_error *err)
{
    t->last.n = 0;
    heft_buf_str(&t->last, key);
    t->has_any = true;
    return heft_buf_ok(&t->last, err) && heft_buf_ok(&t->bytes, err);
}

bool heft_table_add(struct heft_table_writer *t, struct heft_str key, struct heft_str value,
                    size_t *value_at, struct heft_error *err)
{
    if (t->has_any && heft_str_cmp(last_key(t), key) >= 0)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "key \"%.*s\" is not greater than the one before it",
                         (int)heft_min_u64(key.n, 200), key.p);
    if (t->has_any && key.n + value.n >= (size_t)2 * BLOCK_SIZE && !flush_block(t, err))
        return false;
    if (t->is_pending)
        put_separator(t, key);
    put_entry(t, key, value);
    if (!keep_key(t, key, err))
        return false;
    *value_at = t->bytes.n - value.n;
    return t->bytes.n - t->begin + t->restarts.n + 4 < BLOCK_SIZE || flush_block(t, err);
}

bool heft_table_finish(struct heft_table_writer *t, struct heft_error *err)
{
    static const char zeros[FOOTER];
    char first_restart[4] = {0};
    const struct heft_buf empty = {.p = first_restart, .n = sizeof first_restart};
    struct heft_table_block meta, index;
    uint8_t magic[8];
    size_t footer;

    if (!flush_block(t, err) || !end_block(t, &empty, &meta, err))
        return false;
    if (t->is_pending)
        put_successor(t);
    heft_buf_put(&t->bytes, t->index.p, t->index.n);
    if (!heft_buf_ok(&t->index, err) ||
        !end_block(t, t->index_restarts.n ? &t->index_restarts : &empty, &index, err))
        return false;
    footer = t->bytes.n;
    put_handle(&t->bytes, &meta);
    put_handle(&t->bytes, &index);
    heft_buf_put(&t->bytes, zeros, FOOTER - (t->bytes.n - footer));
    heft_put_le64(magic, MAGIC);
    heft_buf_put(&t->bytes, magic, sizeof magic);
    return heft_buf_ok(&t->bytes, err);
}

void heft_table_seal(const struct heft_table_block *blocks, size_t n, uint8_t *file)
{
    for (size_t i = 0; i < n; i++) {
        uint8_t *const trailer = file + blocks[i].off + blocks[i].n;

        heft_put_le32(trailer + 1,
                      heft_crc_mask(heft_crc32c(0, file + blocks[i].off, blocks[i].n + 1)));
    }
}

void heft_table_release(struct heft_table_writer *t)
{
    heft_buf_release(&t->bytes);
    heft_buf_release(&t->last);
    heft_buf_release(&t->index);
    heft_buf_release(&t->index_restarts);
    heft_buf_release(&t->restarts);
    heft_free(t->blocks);
    *t = (struct heft_table_writer){0};
}
