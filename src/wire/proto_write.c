/* proto_write.c: field = varint(number << 3 | wire type), then
 *
 *     0  varint        2  varint length, so many bytes        5  4 bytes, little-endian
 *
 * A message is begun with one byte for its length; its content is moved if the length needs
 * more. */
#include "wire/proto_write.h"

#include "base/endian.h"

enum { WIRE_VARINT = 0, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

size_t heft_varint_put(uint8_t out[10], uint64_t v)
{
    size_t n = 0;

    for (; v >= 0x80; v >>= 7)
        out[n++] = (uint8_t)(v | 0x80);
    out[n++] = (uint8_t)v;
    return n;
}

void heft_varint_add(struct heft_buf *buf, uint64_t v)
{
    uint8_t bytes[10];

    heft_buf_put(buf, bytes, heft_varint_put(bytes, v));
}

static void put_tag(struct heft_buf *buf, unsigned field, unsigned wire)
{
    heft_varint_add(buf, (uint64_t)field << 3 | wire);
}

void heft_proto_put_number(struct heft_buf *buf, unsigned field, uint64_t v)
{
    put_tag(buf, field, WIRE_VARINT);
    heft_varint_add(buf, v);
}

void heft_proto_put_bytes(struct heft_buf *buf, unsigned field, struct heft_str bytes)
{
    put_tag(buf, field, WIRE_BYTES);
    heft_varint_add(buf, bytes.n);
    heft_buf_str(buf, bytes);
}

void heft_proto_put_fixed32(struct heft_buf *buf, unsigned field, uint32_t v)
{
    uint8_t bytes[4];

    put_tag(buf, field, WIRE_FIXED32);
    heft_put_le32(bytes, v);
    heft_buf_put(buf, bytes, sizeof bytes);
}

size_t heft_proto_put_begin(struct heft_buf *buf, unsigned field)
{
    put_tag(buf, field, WIRE_BYTES);
    heft_buf_char(buf, '\0');
    return buf->n;
}

void heft_proto_put_end(struct heft_buf *buf, size_t mark)
{
    uint8_t length[10];
    const size_t size = buf->n - mark;
    const size_t n = heft_varint_put(length, size);

    if (buf->failed || (n > 1 && !heft_buf_room(buf, n - 1)))
        return;
    memmove(buf->p + mark + n - 1, buf->p + mark, size);
    memcpy(buf->p + mark - 1, length, n);
    buf->n += n - 1;
}
