/* tf_tell.c: entries of TensorFlow's tables as readable text. */
#include "format/tensorflow/bundle/tf_tell.h"

#include "base/text.h"

/* Most slice numbers that one entry may list. */
#define MOST_DIMS UINT64_C(4000000)

static bool tell_header(const struct heft_sstable_entry *e, struct heft_buf *out,
                        struct heft_error *err)
{
    struct heft_tf_header header;

    if (!heft_tf_header_read(e->value, e->value_at, &header, err))
        return false;
    heft_buf_printf(out,
                    "header: num_shards %" PRIu32 ", endianness %s, producer %" PRId32
                    ", min_consumer %" PRId32,
                    header.num_shards, header.is_big_endian ? "big" : "little", header.producer,
                    header.min_consumer);
    return true;
}

/* Appends "slice 0,2:- of model/w: " if the key is a slice's. */
static void tell_slice(struct heft_tf_teller *t, struct heft_bytes key, struct heft_buf *out)
{
    struct heft_slice_dim dims[HEFT_SLICE_RANK];
    unsigned rank;

    t->name.n = 0;
    if (key.n == 0 || key.p[0] != 0 || !heft_slice_key(key, &t->name, dims, &rank))
        return;
    heft_buf_text(out, rank ? "slice " : "all");
    heft_slice_put_spec(out, dims, rank);
    heft_buf_text(out, " of ");
    heft_buf_escaped(out, (struct heft_str){t->name.p, t->name.n});
    heft_buf_text(out, ": ");
}

static void tell_shape(const struct heft_tf_entry *entry, struct heft_buf *out)
{
    for (unsigned i = 0; i < entry->rank; i++)
        heft_buf_printf(out, "%s%" PRIu64, i ? "," : "[", entry->shape[i]);
    heft_buf_text(out, entry->rank ? "]" : "[]");
}

static void tell_place(const struct heft_tf_entry *entry, struct heft_buf *out)
{
    if (entry->n_slices)
        heft_buf_printf(out, ", in %" PRIu32 " slice%s", entry->n_slices,
                        entry->n_slices == 1 ? "" : "s");
    else
        heft_buf_printf(out,
                        ", shard %" PRIu32 ", offset %" PRIu64 ", size %" PRIu64
                        ", CRC-32C %08" PRIx32 " (stored masked: %08" PRIx32 ")",
                        entry->shard, entry->offset, entry->size, heft_crc_unmask(entry->crc),
                        entry->crc);
}

static bool tell_tensor(struct heft_tf_teller *t, const struct heft_sstable_entry *e,
                        struct heft_buf *out, struct heft_error *err)
{
    uint64_t dims = MOST_DIMS;
    const struct heft_tf_room room = {&t->mem, &t->mem, &dims};
    struct heft_tf_entry entry;

    if (!heft_tf_entry_read(e->value, e->value_at, &room, &entry, err))
        return false;
    tell_slice(t, e->key, out);
    if (entry.dtype)
        heft_buf_printf(out, "%s ", entry.dtype->label);
    else
        heft_buf_printf(out, "dtype %" PRIu64 " ", entry.number);
    tell_shape(&entry, out);
    tell_place(&entry, out);
    return true;
}

bool heft_tf_tell(struct heft_tf_teller *t, const struct heft_sstable_entry *entry,
                  struct heft_buf *out, struct heft_error *err)
{
    bool ok = true;

    if (t->is_v1) {
        tell_slice(t, entry->key, out);
        heft_buf_text(out, entry->key.n ? "the values" : "meta: names, dtypes, shapes and slices");
    } else {
        ok = entry->key.n ? tell_tensor(t, entry, out, err) : tell_header(entry, out, err);
    }
    heft_arena_release(&t->mem);
    return ok && heft_buf_ok(&t->name, err) && heft_buf_ok(out, err);
}

void heft_tf_teller_release(struct heft_tf_teller *t)
{
    heft_buf_release(&t->name);
    heft_arena_release(&t->mem);
}
