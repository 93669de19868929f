/* proto_write.h: puts protobuf messages into a buffer, front to back, as the C++ serializer does
 * where fields come in ascending order.
 *
 *     mark = heft_proto_put_begin(&buf, 2);              field 2 is a message …
 *     heft_proto_put_number(&buf, 1, 42);                … with field 1 = 42
 *     heft_proto_put_end(&buf, mark);
 *
 * Zeros are not left out by themselves: whether a field is there is the caller's to say. */
#ifndef HEFT_PROTO_WRITE_H
#define HEFT_PROTO_WRITE_H

#include "base/mem.h"

/* A number in 7 bits a byte, low ones first: at most 10 bytes; returns how many. */
size_t heft_varint_put(uint8_t out[10], uint64_t v);
void heft_varint_add(struct heft_buf *buf, uint64_t v);

void heft_proto_put_number(struct heft_buf *buf, unsigned field, uint64_t v);
void heft_proto_put_bytes(struct heft_buf *buf, unsigned field, struct heft_str bytes);
void heft_proto_put_fixed32(struct heft_buf *buf, unsigned field, uint32_t v);
/* What is put between these two is a message in that field. */
size_t heft_proto_put_begin(struct heft_buf *buf, unsigned field);
void heft_proto_put_end(struct heft_buf *buf, size_t mark);

#endif
