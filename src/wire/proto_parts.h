/* proto_parts.h: what the binary reader (proto.c) and the text reader (proto_text.c) share. */
#ifndef HEFT_PROTO_PARTS_H
#define HEFT_PROTO_PARTS_H

#include "wire/proto.h"

/* err is filled; nothing is read from now on. */
static inline enum heft_proto_event heft_proto_give_up(struct heft_proto *p)
{
    p->failed = true;
    return HEFT_PROTO_ERROR;
}
static inline uint64_t heft_proto_here(const struct heft_proto *p)
{
    return p->base + p->at;
}
/* Opens and closes a message: sets what the event says; off is where the content
 * begins, `end` where it ends. */
enum heft_proto_event heft_proto_enter(struct heft_proto *p, const struct heft_proto_field *field,
                                       const struct heft_proto_level *level);
enum heft_proto_event heft_proto_leave(struct heft_proto *p, uint64_t end);
/* The end of the range. */
enum heft_proto_event heft_proto_finish(struct heft_proto *p);

/* The text form. */
enum heft_proto_event heft_proto_text_next(struct heft_proto *p);
bool heft_proto_text_skip(struct heft_proto *p);
/* Decodes literals that a scan has found sound: writes their n bytes. */
void heft_proto_text_decode(struct heft_bytes literals, uint8_t *out, size_t n);

#endif
