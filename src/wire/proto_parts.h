/* proto_parts.h: shared by the binary reader (proto.c) and the text reader (proto_text.c). */
#ifndef HEFT_PROTO_PARTS_H
#define HEFT_PROTO_PARTS_H

#include "wire/proto.h"

/* The caller has filled err; all later calls return an error. */
static inline enum heft_proto_event heft_proto_give_up(struct heft_proto *p)
{
    p->failed = true;
    return HEFT_PROTO_ERROR;
}
static inline uint64_t heft_proto_here(const struct heft_proto *p)
{
    return p->base + p->at;
}
/* Open and close a message and set the event's fields; off is the begin of the content, `end` its
 * end. */
enum heft_proto_event heft_proto_enter(struct heft_proto *p, const struct heft_proto_field *field,
                                       const struct heft_proto_level *level);
enum heft_proto_event heft_proto_leave(struct heft_proto *p, uint64_t end);
/* The event at the end of the range. */
enum heft_proto_event heft_proto_finish(struct heft_proto *p);

/* The text form. */
enum heft_proto_event heft_proto_text_next(struct heft_proto *p);
bool heft_proto_text_skip(struct heft_proto *p);
/* Decodes string literals that were validated before: writes their n bytes. */
void heft_proto_text_decode(struct heft_bytes literals, uint8_t *out, size_t n);

#endif
