/* json_rows.c: tensors, and ranges of bytes, as JSON. */
#include "output/json_rows.h"

#include "output/dims.h"

const char *tensor_stored_name(enum heft_stored stored)
{
    if (stored == HEFT_STORED_PACKED)
        return "packed";
    if (stored == HEFT_STORED_PROTOBUF)
        return "protobuf";
    return stored == HEFT_STORED_DEFLATE ? "deflate" : "pickle";
}

struct place {
    size_t file;
    uint64_t offset, stored_bytes;
    const uint64_t *strides;
    int64_t storage;
    enum heft_stored stored;
    bool big_endian, conjugated, negated;
};

/* Prints where a tensor or a part is and how it is stored; with the path if `path` is set. */
static void json_place(struct out *out, const struct rows *rows, const struct place *p,
                       unsigned rank, bool with_path)
{
    struct heft_file file = {sizeof file, "", 0};
    json_member_u64(out, "file", p->file);
    if (with_path && heft_file_at(rows->c, p->file, &file))
        json_member_text(out, "path", file.path);
    json_member_u64(out, "offset", p->offset);
    if (p->strides)
        json_dims(out, "strides", p->strides, rank);
    if (p->storage >= 0)
        json_member_u64(out, "storage", (uint64_t)p->storage);
    if (p->stored != HEFT_STORED_PLAIN) {
        json_member_text(out, "stored", tensor_stored_name(p->stored));
        json_member_u64(out, "stored_bytes", p->stored_bytes);
    }
    if (p->big_endian)
        json_member_text(out, "byteorder", "big");
    if (p->conjugated)
        json_member_bool(out, "conjugated", true);
    if (p->negated)
        json_member_bool(out, "negated", true);
}

static void json_parts(struct out *out, const struct rows *rows, size_t k, unsigned rank,
                       bool with_path)
{
    struct heft_tensor_part part = HEFT_INIT(struct heft_tensor_part);
    json_key(out, "parts");
    json_open(out, '[');
    for (size_t i = 0; rows_part_at(rows, k, i, &part); i++) {
        const struct place place = {part.file,   part.offset, part.stored_bytes, part.strides,
                                    -1,          part.stored, part.big_endian,   part.conjugated,
                                    part.negated};
        json_open(out, '{');
        json_place(out, rows, &place, rank, with_path);
        json_member_u64(out, "bytes", part.bytes);
        json_dims(out, "start", part.start, rank);
        json_dims(out, "extent", part.extent, rank);
        json_close(out, '}');
    }
    json_close(out, ']');
}

/* Elements and bytes of a block, for types whose blocks have scales. F4 and F6 are numbers of less than a
 * byte, of which 2 or 4 share bytes. */
static void json_block(struct out *out, enum heft_dtype dtype)
{
    const uint64_t block[] = {heft_dtype_block_elements(dtype), heft_dtype_block_bytes(dtype)};

    if (block[0] > 4)
        json_dims(out, "block", block, 2);
}

void json_tensor(struct out *out, const struct rows *rows, size_t k, const struct heft_tensor *t,
                 bool with_path)
{
    const struct place place = {t->file,   t->offset,     t->stored_bytes, t->strides, t->storage,
                                t->stored, t->big_endian, t->conjugated,   t->negated};
    json_open(out, '{');
    json_key(out, "name");
    json_text(out, t->name, t->name_len);
    json_member_text(out, "dtype", heft_dtype_name(t->dtype));
    json_dims(out, "shape", t->shape, t->rank);
    json_member_u64(out, "bytes", t->bytes);
    json_block(out, t->dtype);
    if (rows_parts(rows, k))
        json_parts(out, rows, k, t->rank, with_path);
    else
        json_place(out, rows, &place, t->rank, with_path);
    if (t->missing)
        json_member_bool(out, "missing", true);
    json_close(out, '}');
}

void json_tensors(struct out *out, const struct rows *rows)
{
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);

    json_key(out, "tensors");
    json_open(out, '[');
    for (size_t k = 0; rows_at(rows, k, &t); k++) {
        json_line(out);
        json_tensor(out, rows, k, &t, false);
    }
    json_close(out, ']');
}

void json_segments(struct out *out, const struct heft_map *map)
{
    struct heft_segment segment = HEFT_INIT(struct heft_segment);

    json_key(out, "segments");
    json_open(out, '[');
    for (size_t i = 0; heft_map_at(map, i, &segment); i++) {
        json_line(out);
        json_open(out, '{');
        json_member_u64(out, "file", segment.file);
        json_member_u64(out, "offset", segment.offset);
        json_member_u64(out, "bytes", segment.bytes);
        json_member_text(out, "what", segment.what);
        json_member_bool(out, "claimed", segment.claimed);
        if (segment.overlaps)
            json_member_bool(out, "overlaps", true);
        json_close(out, '}');
    }
    json_close(out, ']');
}
