/* proto.h: protobuf messages, in the binary form and in the text form, read by tables of fields.
 *
 * A table says of each field of a message its number, name and type; the same table reads both
 * forms. The reader walks a document and hands out events. It builds nothing, recurses nowhere, and
 * a binary document is read through a window: bytes of which the caller wants only to know where
 * they are are never read.
 *
 *     static const struct heft_proto_field dim_fields[] = {
 *         {.number = 1, .name = "size", .type = HEFT_PROTO_INT64},
 *         {.number = 2, .name = "name", .type = HEFT_PROTO_STRING}};
 *     static const struct heft_proto_message dim = HEFT_PROTO_MESSAGE("Dim", dim_fields);
 *
 *     heft_proto_doc_open(&doc, &source, is_text, err)
 *     heft_proto_open(&p, &doc, 0, doc.size, &saved_model, err)
 *     while ((event = heft_proto_next(&p)) > HEFT_PROTO_END)
 *         switch (event) …           p.level: how deep; p.message: of what the last event is part
 *     if (event == HEFT_PROTO_ERROR) err is filled
 *     heft_proto_close(&p); heft_proto_doc_close(&doc);
 *
 * A field that is given several times comes as several events, also one that should be there once:
 * the last one counts, sub-messages are merged. So it is with the members of a oneof. Packed
 * numbers and lists of the text form come one by one. A map is a repeated message {1 key, 2 value}.
 * Fields that are in no table, and those that come with another wire type than theirs, are UNKNOWN.
 *
 * For small messages in memory (an entry of an index) there is heft_proto_take, at the end. */
#ifndef HEFT_PROTO_H
#define HEFT_PROTO_H

#include "base/cursor.h"
#include "io/source.h"

enum heft_proto_type {
    HEFT_PROTO_DOUBLE,
    HEFT_PROTO_FLOAT,
    HEFT_PROTO_INT32,
    HEFT_PROTO_INT64,
    HEFT_PROTO_UINT32,
    HEFT_PROTO_UINT64,
    HEFT_PROTO_SINT64,
    HEFT_PROTO_FIXED32,
    HEFT_PROTO_FIXED64,
    HEFT_PROTO_BOOL,
    HEFT_PROTO_ENUM,
    HEFT_PROTO_STRING,
    HEFT_PROTO_BYTES,
    HEFT_PROTO_SUB /* a message */
};

struct heft_proto_name { /* of a value of an enum; a list of them ends with a NULL */
    const char *name;
    int32_t number;
};

struct heft_proto_field {
    uint32_t number;
    const char *name;
    uint8_t type;
    bool repeated;                             /* may be packed */
    const struct heft_proto_message *sub;      /* of SUB */
    const struct heft_proto_name *const enums; /* of ENUM; NULL: only numbers are understood */
};

struct heft_proto_message {
    const char *name;
    const struct heft_proto_field *fields; /* by ascending number */
    size_t n;
};

#define HEFT_PROTO_MESSAGE(name, fields)                                                           \
    {                                                                                              \
        (name), (fields), HEFT_COUNT(fields)                                                       \
    }

/* What is read. The text form is held in memory whole, without what only looks like it: binary
 * documents stay in their source. */
struct heft_proto_doc {
    const struct heft_source *src;
    uint64_t size;
    bool is_text;
    uint8_t *text; /* of the text form; owned */
};
#define HEFT_PROTO_TEXT_MOST (UINT64_C(1) << 30) /* of a text form: beyond it is HEFT_LIMIT */

HEFT_CHECKED bool heft_proto_doc_open(struct heft_proto_doc *doc, const struct heft_source *src,
                                      bool is_text, struct heft_error *err);
void heft_proto_doc_close(struct heft_proto_doc *doc);
/* Whether bytes look like a text form: they begin with an identifier, or with comments and then
 * one, and go on as a field does. A binary message of small fields can begin alike: ask for the
 * binary form's signs first. */
bool heft_proto_is_text(struct heft_bytes head);

enum heft_proto_event {
    HEFT_PROTO_ERROR,
    HEFT_PROTO_END,     /* of the range */
    HEFT_PROTO_ENTER,   /* a message: `message` is its table, `field` where it stands */
    HEFT_PROTO_LEAVE,   /* its end: `message` is the table of what is around it, `field` as above */
    HEFT_PROTO_VALUE,   /* a scalar, string or bytes */
    HEFT_PROTO_UNKNOWN, /* passed over; `field` is NULL */
    HEFT_PROTO_EXPANDED /* text form only: an Any as `[URL] { … }`: `text` is the URL, [off, off +
                           len) what stands in the braces, passed over */
};

#define HEFT_PROTO_DEPTH 100 /* levels of messages, as protobuf has it; beyond it is HEFT_LIMIT */

struct heft_proto_level {
    const struct heft_proto_message *message;
    const struct heft_proto_field *field;
    uint64_t begin; /* of its content */
    uint64_t end;   /* binary: of its bytes */
    char close;     /* text: '}' or '>' */
    bool in_list;   /* text: it is an item of a list */
};

struct heft_proto {
    /* Of the last event: */
    const struct heft_proto_message *message;
    const struct heft_proto_field *field;
    uint32_t level;       /* messages that are open around the event; of the outermost fields 0 */
    uint64_t where;       /* offset of the field: its tag, or its name */
    uint64_t off, len;    /* VALUE: the bytes of the value as they stand in the document; ENTER: off
                             is where the content begins, len is known in the binary form, and in the
                             text form 0 until it is passed over; LEAVE and END: the content; UNKNOWN:
                             with tag or name */
    uint64_t u64;         /* VALUE: integers, sign-extended, of bool 0 or 1; FLOAT and DOUBLE: their
                             bits; STRING and BYTES: their length, decoded */
    double f64;           /* VALUE: FLOAT and DOUBLE */
    struct heft_str text; /* STRING and BYTES: borrowed until the next call; where they are longer
                             than HEFT_PROTO_HELD: NULL, see heft_proto_fetch */

    uint64_t unknown; /* fields that heft_proto_pull has passed over */
    bool entered;     /* what heft_proto_pull gave is a message */

    /* Its own: */
    const struct heft_proto_doc *doc;
    struct heft_error *err;
    uint64_t end, base; /* of the range; of data[0] */
    const uint8_t *data;
    size_t n, at;
    uint8_t *window; /* owned; NULL where the document lies in memory */
    uint64_t tag;    /* binary: of the last field */
    uint64_t packed; /* binary: where the run of numbers ends that is being read; 0: none */
    struct heft_buf decoded;
    uint32_t depth;
    bool in_list;      /* text: the last value was an item of the list of list_field */
    bool may_separate; /* text: a comma or semicolon may come */
    bool failed;
    const struct heft_proto_field *list_field;
    struct heft_proto_level levels[HEFT_PROTO_DEPTH + 1];
};
#define HEFT_PROTO_WINDOW 65536
#define HEFT_PROTO_HELD   32768

static inline int64_t heft_proto_i64(const struct heft_proto *p)
{
    return (int64_t)p->u64;
}

/* The message that is the range [off, off + len) of the document: all of it, or what ENTER and VALUE
 * gave of it. doc must live as long, and err is filled where an event is ERROR. Close it, also after
 * a failure. */
HEFT_CHECKED bool heft_proto_open(struct heft_proto *p, const struct heft_proto_doc *doc,
                                  uint64_t off, uint64_t len,
                                  const struct heft_proto_message *message, struct heft_error *err);
void heft_proto_close(struct heft_proto *p);
enum heft_proto_event heft_proto_next(struct heft_proto *p);
/* After ENTER: passes over the message, sets `len`; no LEAVE comes. Its bytes are not read in the
 * binary form, and only looked through for its end in the text form. */
HEFT_CHECKED bool heft_proto_skip(struct heft_proto *p);
/* For readers that are written message by message: the number of the next field of the message that
 * is open; HEFT_PROTO_ANY of EXPANDED; 0 where the message has ended, or p->failed. Unknown fields
 * are counted in p->unknown and passed over. Where p->entered, the field is a message, and the
 * caller goes on with its fields, up to a 0, or passes over it.
 *
 *     while ((number = heft_proto_pull(p)))
 *         if (number == NAME) … else if (!heft_proto_pass(p)) return false;
 *     return !p->failed; */
#define HEFT_PROTO_ANY UINT32_MAX
uint32_t heft_proto_pull(struct heft_proto *p);
/* The field that was pulled is not wanted. */
HEFT_CHECKED bool heft_proto_pass(struct heft_proto *p);
/* After VALUE of STRING or BYTES, also of those that are not held: a copy in the arena, with a NUL
 * behind it. More than `most` bytes are HEFT_LIMIT. */
HEFT_CHECKED bool heft_proto_fetch(struct heft_proto *p, struct heft_arena *arena, uint64_t most,
                                   struct heft_str *out, struct heft_error *err);
/* The same later, by the `off`, `len` and `u64` that VALUE gave: n = u64 bytes to out. */
HEFT_CHECKED bool heft_proto_copy(const struct heft_proto_doc *doc, uint64_t off, uint64_t len,
                                  uint8_t *out, size_t n, struct heft_error *err);

/* ---- small messages in memory, binary form ----
 *
 *     struct heft_cur cur = heft_cur_of(bytes, base);
 *     while (heft_proto_take(&cur, &item, err))
 *         switch (item.number) …
 *     if (cur.bad) err is filled
 *
 * Wire types are as they stand: the caller looks at item.wire. Groups are passed over. */
enum heft_proto_wire {
    HEFT_PROTO_VARINT = 0, /* u64 */
    HEFT_PROTO_I64 = 1,    /* u64 */
    HEFT_PROTO_LEN = 2,    /* bytes */
    HEFT_PROTO_GROUP = 3,
    HEFT_PROTO_GROUP_END = 4,
    HEFT_PROTO_I32 = 5 /* u64 */
};
struct heft_proto_item {
    uint32_t number;
    uint8_t wire;
    uint64_t u64;
    struct heft_bytes bytes;
    uint64_t where;  /* file offset of the tag */
    uint64_t offset; /* … of the value: of LEN, of the bytes */
};
HEFT_CHECKED bool heft_proto_take(struct heft_cur *cur, struct heft_proto_item *item,
                                  struct heft_error *err);
/* A varint: false, cur->bad and err where it is cut off or longer than 64 bits. */
HEFT_CHECKED bool heft_proto_varint(struct heft_cur *cur, uint64_t *out, struct heft_error *err);
/* A sub-message as a cursor of its own, with offsets of the file. */
static inline struct heft_cur heft_proto_sub(const struct heft_proto_item *item)
{
    return heft_cur_of(item->bytes, item->offset);
}

#endif
