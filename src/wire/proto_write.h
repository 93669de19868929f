/* proto_write.h: appends protobuf messages to a buffer, with the same bytes as the C++ serializer
 * if fields are written in ascending order.
 *
 *     mark = heft_proto_put_begin(&buf, 2);              field 2 is a message …
 *     heft_proto_put_number(&buf, 1, 42);                … with field 1 = 42
 *     heft_proto_put_end(&buf, mark);
 *
 * Zeros are not omitted automatically: the caller decides whether a field is present. */
#ifndef HEFT_PROTO_WRITE_H
#define HEFT_PROTO_WRITE_H

#include "base/mem.h"

/* Encodes a varint of at most 10 bytes; returns its length. */
size_t heft_varint_put(uint8_t out[10], uint64_t v);
void heft_varint_add(struct heft_buf *buf, uint64_t v);

void heft_proto_put_number(struct heft_buf *buf, unsigned field, uint64_t v);
void heft_proto_put_bytes(struct heft_buf *buf, unsigned field, struct heft_str bytes);
void heft_proto_put_fixed32(struct heft_buf *buf, unsigned field, uint32_t v);
/* Fields written between these two calls belong to a message in that field. */
size_t heft_proto_put_begin(struct heft_buf *buf, unsigned field);
void heft_proto_put_end(struct heft_buf *buf, size_t mark);

#endif
