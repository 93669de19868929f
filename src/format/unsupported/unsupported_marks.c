/* unsupported_marks.c: recognises formats without a magic number by the structure of their first 4
 * KiB: fields must have the expected numbers and types, and lengths must fit the file. */
#include "format/unsupported/unsupported_signatures.h"

#include "base/endian.h"
#include "base/text.h"
#include "base/varint.h"

/* ---- protobuf ---------------------------------------------------------------------------- */

struct field {
    uint64_t number, value; /* value of a varint, length of a byte string */
    unsigned wire;  /* protobuf wire type: 0 varint, 1 eight bytes, 2 byte string, 5 four bytes */
    size_t at, end; /* offsets of the content; `end` may be past the head */
};

static bool read_varint(struct heft_bytes head, size_t *at, uint64_t *out)
{
    const size_t left = *at < head.n ? head.n - *at : 0; /* `at` may lie behind the head */
    const unsigned n = left ? heft_varint_get(head.p + *at, left, out) : 0;

    if (n == 0 || n > HEFT_VARINT_MOST)
        return false;
    *at += n;
    return true;
}

/* Reads the field at offset `at`. False if it is invalid or does not end by `end`. */
static bool read_field(struct heft_bytes head, size_t at, uint64_t end, struct field *out)
{
    uint64_t key;

    if (!read_varint(head, &at, &key))
        return false;
    out->number = key >> 3;
    out->wire = key & 7;
    out->value = 0;
    if (out->wire == 0 && !read_varint(head, &at, &out->value))
        return false;
    if (out->wire == 2 && !read_varint(head, &at, &out->value))
        return false;
    out->at = at;
    out->end = at;
    if (out->wire == 2) {
        if (at > end || out->value > end - at || out->value > SIZE_MAX - at)
            return false;
        out->end = at + (size_t)out->value;
    } else if (out->wire == 1 || out->wire == 5) {
        out->end = at + (out->wire == 1 ? 8 : 4);
    } else if (out->wire != 0) {
        return false;
    }
    return out->number > 0 && out->end <= end;
}

static bool is_text(struct heft_bytes head, const struct field *f)
{
    const size_t n = f->end < head.n ? f->end - f->at : 0;

    return f->wire == 2 && f->end <= head.n &&
           heft_utf8_check((struct heft_bytes){head.p + f->at, n}) == n;
}

/* True if field f fits an ONNX ModelProto: ir_version = 1, producer_name = 2, producer_version = 3,
 * domain = 4, model_version = 5, doc_string = 6, graph = 7 {node = 1, name = 2, initializer = 5,
 * …}, opset_import = 8. */
static bool fits_onnx(struct heft_bytes head, const struct field *f)
{
    if (f->number == 1 || f->number == 5)
        return f->wire == 0;
    if (f->number <= 6)
        return is_text(head, f);
    return f->wire == 2 &&
           (f->number <= 8 || f->number == 14 || f->number == 20 || f->number == 25);
}

bool heft_looks_onnx(const struct heft_probe *probe)
{
    struct field f, inner;
    size_t at = 0, fields = 0;

    while (at < probe->head.n && read_field(probe->head, at, probe->size, &f)) {
        if (!fits_onnx(probe->head, &f))
            return false;
        if (fields++ == 0 && (f.number != 1 || f.value < 1 || f.value > 64))
            return false;
        if (f.number == 7)
            return f.value > 0 && read_field(probe->head, f.at, f.end, &inner) && inner.wire == 2 &&
                   inner.number <= 16;
        at = f.end;
    }
    return false;
}

/* Core ML's Model: specificationVersion = 1, description = 2 {input = 1 …}, then a model type with
 * a number from 200. */
bool heft_looks_coreml(const struct heft_probe *probe)
{
    struct field version, about, input, type;

    return read_field(probe->head, 0, probe->size, &version) && version.number == 1 &&
           version.wire == 0 && version.value > 0 && version.value < 64 &&
           read_field(probe->head, version.end, probe->size, &about) && about.number == 2 &&
           about.wire == 2 && about.value > 0 &&
           read_field(probe->head, about.at, about.end, &input) && input.wire == 2 &&
           read_field(probe->head, about.end, probe->size, &type) && type.wire == 2 &&
           type.number >= 200 && type.number < 4000;
}

/* True for a SentencePiece message {piece = 1: text, score = 2: float, type = 3: enum} without
 * other fields. */
static bool is_piece(struct heft_bytes head, const struct field *whole)
{
    struct field f = {.end = whole->at};
    unsigned seen = 0;

    if (whole->number != 1 || whole->wire != 2 || whole->end > head.n)
        return false;
    while (f.end < whole->end && read_field(head, f.end, whole->end, &f)) {
        if ((f.number == 1 && !is_text(head, &f)) || (f.number == 2 && f.wire != 5) ||
            (f.number == 3 && (f.wire != 0 || f.value > 6)) || f.number > 3)
            return false;
        seen |= 1u << f.number;
    }
    return f.end == whole->end && (seen & 6) == 6;
}

/* SentencePiece's ModelProto begins with its vocabulary: many fields pieces = 1. Eight are
 * checked. */
bool heft_looks_sentencepiece(const struct heft_probe *probe)
{
    struct field f = {.end = 0};
    size_t pieces = 0;

    while (pieces < 8 && read_field(probe->head, f.end, probe->size, &f) &&
           is_piece(probe->head, &f))
        pieces++;
    return pieces == 8;
}

/* ---- msgpack ----------------------------------------------------------------------------- */

/* Reads the head as a byte stream. Reads past its end return zeros and set `failed`. */
struct stream {
    struct heft_bytes head;
    size_t at;
    bool failed;
};

static uint64_t take_be(struct stream *s, size_t n)
{
    uint64_t value = 0;

    if (n > s->head.n - s->at) {
        s->failed = true;
        return 0;
    }
    for (; n > 0; n--)
        value = value << 8 | s->head.p[s->at++];
    return value;
}

static bool skip_bytes(struct stream *s, uint64_t n)
{
    if (n > s->head.n - s->at)
        s->failed = true;
    else
        s->at += (size_t)n;
    return !s->failed;
}

/* Reads a map key: a short string of printable characters. */
static bool take_key(struct stream *s)
{
    const uint64_t tag = take_be(s, 1);
    const uint64_t n = (tag & 0xe0) == 0xa0 ? tag & 0x1f : tag == 0xd9 ? take_be(s, 1) : 0;
    const size_t begin = s->at;

    if (n == 0 || !skip_bytes(s, n))
        return false;
    for (size_t i = begin; i < s->at; i++)
        if (s->head.p[i] < 0x20 || s->head.p[i] == 0x7f)
            return false;
    return true;
}

static bool is_map(uint64_t tag, struct stream *s)
{
    if (tag == 0xde)
        return take_be(s, 2) > 0 && !s->failed;
    return tag > 0x80 && tag <= 0x8f;
}

/* True for a Flax array: msgpack extension type 1 with the content [shape, dtype, bytes]. */
static bool is_array(uint64_t tag, struct stream *s)
{
    static const uint8_t widths[] = {1, 2,
                                     4}; /* bytes of the length field: ext 8, ext 16, ext 32 */

    if (tag < 0xc7 || tag > 0xc9)
        return false;
    (void)take_be(s, widths[tag - 0xc7]);
    return take_be(s, 1) == 1 && take_be(s, 1) == 0x93 && !s->failed;
}

/* Skips a number, nil or bool (such as the entry `step`). */
static bool skip_scalar(uint64_t tag, struct stream *s)
{
    if (tag < 0x80 || tag >= 0xe0 || tag == 0xc0 || tag == 0xc2 || tag == 0xc3)
        return true;
    if (tag == 0xca || tag == 0xcb)
        return skip_bytes(s, tag == 0xca ? 4 : 8);
    return tag >= 0xcc && tag <= 0xd3 && skip_bytes(s, UINT64_C(1) << ((tag - 0xcc) & 3));
}

/* True if the first entries of nested maps lead to a Flax array. */
bool heft_looks_flax(const struct heft_probe *probe)
{
    struct stream s = {.head = probe->head};

    if (!is_map(take_be(&s, 1), &s))
        return false;
    while (!s.failed && take_key(&s)) {
        const uint64_t tag = take_be(&s, 1);

        if (s.failed)
            return false;
        if (is_array(tag, &s))
            return true;
        if (s.failed || !(is_map(tag, &s) || tag == 0x80 || skip_scalar(tag, &s)))
            return false;
    }
    return false;
}

/* ---- Arrow and Parquet -------------------------------------------------------------------- */

/* Arrow IPC stream: 0xffffffff, length, a flatbuffer Message {version, header_type = 1: Schema,
 * …}. */
bool heft_looks_arrow_stream(const struct heft_probe *probe)
{
    const struct heft_bytes head = probe->head;
    uint64_t length, root, back, table;

    if (head.n < 32 || heft_le32(head.p) != UINT32_MAX)
        return false;
    length = heft_le32(head.p + 4);
    root = heft_le32(head.p + 8);
    if (length == 0 || length % 8 != 0 || length > probe->size - 8 || length > head.n - 8 ||
        root > length - 4)
        return false;
    back = heft_le32(head.p + 8 + root);
    if (back > root || root - back > length - 8)
        return false;
    table = 8 + root - back;
    if ((heft_le32(head.p + table) & 0xffff) < 8)
        return false;
    table = heft_le32(head.p + table + 4) >> 16; /* offset of the second field, from the vtable */
    return table > 0 && table < length - root && head.p[8 + root + table] == 1;
}

bool heft_looks_parquet(const struct heft_probe *probe)
{
    return probe->head.n >= 12 && probe->tail.n >= 4 && memcmp(probe->head.p, "PAR1", 4) == 0 &&
           memcmp(probe->tail.p + probe->tail.n - 4, "PAR1", 4) == 0;
}
