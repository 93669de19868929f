/* tf_write_index.c: plans the index of a tensor bundle (doc/format/tf-write.md). Its length is
 * known before the data is written: an image of the file is built without checksums, and a late op
 * fills them in. */
#include <stdlib.h>

#include "base/endian.h"
#include "format/tensorflow/write/tf_write.h"
#include "wire/proto_write.h"
#include "wire/sstable_write.h"

#define PRODUCER 1

/* Field numbers of the messages. */
enum { HEADER_NUM_SHARDS = 1, HEADER_VERSION = 3, VERSION_PRODUCER = 1 };
enum {
    ENTRY_DTYPE = 1,
    ENTRY_SHAPE,
    ENTRY_SHARD,
    ENTRY_OFFSET,
    ENTRY_SIZE,
    ENTRY_CRC,
    ENTRY_SLICES
};
enum { SHAPE_DIM = 2, DIM_SIZE = 1, SLICE_EXTENT = 1, EXTENT_START = 1, EXTENT_LENGTH = 2 };

/* ---- messages of entries ----------------------------------------------------------------- */

static void put_header(struct heft_buf *buf, uint32_t n_shards)
{
    size_t version;

    heft_proto_put_number(buf, HEADER_NUM_SHARDS, n_shards);
    version = heft_proto_put_begin(buf, HEADER_VERSION);
    heft_proto_put_number(buf, VERSION_PRODUCER, PRODUCER);
    heft_proto_put_end(buf, version);
}

/* Writes a varint field; 0 is omitted, as in proto3. */
static void put_number(struct heft_buf *buf, unsigned field, uint64_t v)
{
    if (v)
        heft_proto_put_number(buf, field, v);
}

static void put_shape(struct heft_buf *buf, const struct heft_tf_line *line)
{
    const size_t shape = heft_proto_put_begin(buf, ENTRY_SHAPE);

    for (unsigned d = 0; d < line->rank; d++) {
        const size_t dim = heft_proto_put_begin(buf, SHAPE_DIM);

        put_number(buf, DIM_SIZE, line->shape[d]);
        heft_proto_put_end(buf, dim);
    }
    heft_proto_put_end(buf, shape);
}

static void put_slice(struct heft_buf *buf, const struct heft_slice_dim *dims, unsigned rank)
{
    const size_t slice = heft_proto_put_begin(buf, ENTRY_SLICES);

    for (unsigned d = 0; d < rank; d++) {
        const size_t extent = heft_proto_put_begin(buf, SLICE_EXTENT);

        put_number(buf, EXTENT_START, (uint64_t)dims[d].start);
        if (dims[d].length != HEFT_SLICE_WHOLE)
            heft_proto_put_number(buf, EXTENT_LENGTH, (uint64_t)dims[d].length);
        heft_proto_put_end(buf, extent);
    }
    heft_proto_put_end(buf, slice);
}

/* Writes an entry; the checksum, if present, is the last field. */
static void put_entry(struct heft_buf *buf, const struct heft_tf_line *line)
{
    heft_proto_put_number(buf, ENTRY_DTYPE, line->dtype);
    put_shape(buf, line);
    for (uint32_t i = 0; i < line->n_slices; i++)
        put_slice(buf, line->dims + (size_t)i * line->rank, line->rank);
    if (line->n_slices)
        return;
    put_number(buf, ENTRY_SHARD, line->shard);
    put_number(buf, ENTRY_OFFSET, line->offset);
    put_number(buf, ENTRY_SIZE, line->size);
    heft_proto_put_fixed32(buf, ENTRY_CRC, line->crc);
}

/* ---- the late op that fills in checksums ------------------------------------------------- */

struct patch {
    size_t at; /* position of four bytes in the image */
    uint32_t sum;
};

/* Image of the index; lives in the plan's arena. */
struct picture {
    struct heft_str bytes;
    const struct heft_table_block *blocks;
    const struct patch *patches;
    size_t n_blocks, n_patches;
};

static void fill_index(const void *ctx, const uint32_t *sums, uint8_t *out, size_t n)
{
    const struct picture *picture = ctx;

    memcpy(out, picture->bytes.p, n);
    for (size_t i = 0; i < picture->n_patches; i++)
        heft_put_le32(out + picture->patches[i].at, heft_crc_mask(sums[picture->patches[i].sum]));
    heft_table_seal(picture->blocks, picture->n_blocks, out);
}

/* ---- the table --------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
    return heft_str_cmp(((const struct heft_tf_line *)a)->key,
                        ((const struct heft_tf_line *)b)->key);
}

static bool check_keys(const struct heft_tf_out *out, struct heft_error *err)
{
    for (size_t i = 0; i < out->n_lines; i++) {
        const struct heft_str key = out->lines[i].key;

        if (key.n == 0)
            return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                             "a tensor of a TensorFlow bundle must have a name");
        if (i && heft_str_eq(key, out->lines[i - 1].key))
            return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "duplicate key \"%.*s\"",
                             (int)heft_min_u64(key.n, 200), key.p);
    }
    return true;
}

static bool add_line(struct heft_table_writer *table, struct heft_buf *value,
                     const struct heft_tf_line *line, struct patch *patches, size_t *n_patches,
                     struct heft_error *err)
{
    size_t at;

    value->n = 0;
    put_entry(value, line);
    if (!heft_buf_ok(value, err) ||
        !heft_table_add(table, line->key, (struct heft_str){value->p, value->n}, &at, err))
        return false;
    if (!line->n_slices && line->sum != HEFT_NONE)
        patches[(*n_patches)++] = (struct patch){at + value->n - 4, line->sum};
    return true;
}

static bool build_table(const struct heft_tf_out *out, struct heft_table_writer *table,
                        struct patch *patches, size_t *n_patches, struct heft_error *err)
{
    struct heft_buf value = {0};
    size_t at;
    bool ok;

    put_header(&value, out->n_shards);
    ok = heft_buf_ok(&value, err) &&
         heft_table_add(table, HEFT_STR(""), (struct heft_str){value.p, value.n}, &at, err);
    for (size_t i = 0; ok && i < out->n_lines; i++)
        ok = add_line(table, &value, &out->lines[i], patches, n_patches, err);
    heft_buf_release(&value);
    return ok && heft_table_finish(table, err);
}

static bool keep_table(struct picture *picture, struct heft_table_writer *table,
                       struct heft_arena *mem, struct heft_error *err)
{
    struct heft_table_block *blocks = heft_arena_alloc(mem, table->n_blocks * sizeof *blocks, err);

    if (!blocks || !heft_buf_take(&table->bytes, mem, &picture->bytes, err))
        return false;
    memcpy(blocks, table->blocks, table->n_blocks * sizeof *blocks);
    picture->blocks = blocks;
    picture->n_blocks = table->n_blocks;
    return true;
}

static struct picture *lay_out_index(const struct heft_tf_out *out, struct heft_error *err)
{
    struct heft_arena *mem = out->plan->mem;
    struct picture *picture = heft_arena_zero(mem, 1, sizeof *picture, err);
    struct patch *patches = heft_arena_zero(mem, out->n_lines + 1, sizeof *patches, err);
    struct heft_table_writer table = {.bytes = {.budget = mem->budget}};
    const bool ok = picture && patches &&
                    build_table(out, &table, patches, &picture->n_patches, err) &&
                    keep_table(picture, &table, mem, err);

    heft_table_release(&table);
    if (!ok)
        return NULL;
    picture->patches = patches;
    return picture;
}

bool heft_tf_out_index(struct heft_tf_out *out, struct heft_error *err)
{
    const char *path = heft_arena_printf(out->plan->mem, err, "%s.index", out->prefix);
    struct picture *picture;
    uint32_t file;

    if (!path)
        return false;
    if (out->n_lines)
        qsort(out->lines, out->n_lines, sizeof *out->lines, by_key);
    if (!check_keys(out, err) || !(picture = lay_out_index(out, err)) ||
        !heft_plan_file_begin(out->plan, path, &file, err))
        return false;
    out->plan->files[file].is_index = true;
    return heft_plan_late(out->plan, file, (struct heft_late){fill_index, picture},
                          picture->bytes.n, err);
}
