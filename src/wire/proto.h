/* proto.h: reads protobuf messages in binary form and in text form, by tables of fields.
 *
 * A table gives the number, name and type of each field of a message; both forms use the same
 * table. The reader walks a document and returns events. It builds nothing, is not recursive, and
 * reads a binary document through a window: bytes of which the caller only wants the location are
 * never read.
 *
 *     static const struct heft_proto_field dim_fields[] = {
 *         {.number = 1, .name = "size", .type = HEFT_PROTO_INT64},
 *         {.number = 2, .name = "name", .type = HEFT_PROTO_STRING}};
 *     static const struct heft_proto_message dim = HEFT_PROTO_MESSAGE("Dim", dim_fields);
 *
 *     heft_proto_doc_open(&doc, &source, is_text, err)
 *     heft_proto_open(&p, &doc, 0, doc.size, &saved_model, err)
 *     while ((event = heft_proto_next(&p)) > HEFT_PROTO_END)
 *         switch (event) …           p.level: nesting depth; p.message: the message of the event
 *     if (event == HEFT_PROTO_ERROR) err is filled
 *     heft_proto_close(&p); heft_proto_doc_close(&doc);
 *
 * A field that occurs several times gives several events, also if it is not repeated: the last one
 * counts, sub-messages are merged. The same holds for the members of a oneof. Packed numbers and
 * lists of the text form are returned one by one. A map is a repeated message {1 key, 2 value}.
 * Fields that are not in the table, and fields with another wire type than the table's, are
 * UNKNOWN.
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

struct heft_proto_name { /* of an enum value; a list of them ends with a NULL */
    const char *name;
    int32_t number;
};

struct heft_proto_field {
    uint32_t number;
    const char *name;
    uint8_t type;
    bool repeated;                             /* may be packed */
    const struct heft_proto_message *sub;      /* of SUB */
    const struct heft_proto_name *const enums; /* of ENUM; NULL: only numbers are accepted */
};

struct heft_proto_message {
    const char *name;
    const struct heft_proto_field *fields; /* in ascending order of their numbers */
    size_t n;
};

#define HEFT_PROTO_MESSAGE(name, fields)                                                           \
    {                                                                                              \
        (name), (fields), HEFT_COUNT(fields)                                                       \
    }

/* A document. A text form is held in memory as a whole; a binary document stays in its source. */
struct heft_proto_doc {
    const struct heft_source *src;
    uint64_t size;
    bool is_text;
    uint8_t *text; /* of the text form; owned */
};
#define HEFT_PROTO_TEXT_MOST (UINT64_C(1) << 30) /* bytes of a text form; more are HEFT_LIMIT */

HEFT_CHECKED bool heft_proto_doc_open(struct heft_proto_doc *doc, const struct heft_source *src,
                                      bool is_text, struct heft_error *err);
void heft_proto_doc_close(struct heft_proto_doc *doc);
/* True if the bytes look like a text form: they begin with an identifier, perhaps after comments,
 * and continue like a field. A binary message with small fields can look the same: test for the
 * binary form first. */
bool heft_proto_is_text(struct heft_bytes head);

enum heft_proto_event {
    HEFT_PROTO_ERROR,
    HEFT_PROTO_END,     /* the end of the range */
    HEFT_PROTO_ENTER,   /* a message: `message` is its table, `field` its field in the message
                           around it */
    HEFT_PROTO_LEAVE,   /* the end of a message: `message` is the table of the message around it,
                           `field` as above */
    HEFT_PROTO_VALUE,   /* a scalar, string or bytes */
    HEFT_PROTO_UNKNOWN, /* skipped; `field` is NULL */
    HEFT_PROTO_EXPANDED /* text form only: an Any as `[URL] { … }`: `text` is the URL, [off, off
                           + len) the text in the braces, which is skipped */
};

#define HEFT_PROTO_DEPTH 100 /* nested messages, the limit of protobuf; more are HEFT_LIMIT */

struct heft_proto_level {
    const struct heft_proto_message *message;
    const struct heft_proto_field *field;
    uint64_t begin; /* of the content */
    uint64_t end;   /* binary: end of the content */
    char close;     /* text: '}' or '>' */
    bool in_list;   /* text: an item of a list */
};

struct heft_proto {
    /* About the last event: */
    const struct heft_proto_message *message;
    const struct heft_proto_field *field;
    uint32_t level;       /* number of open messages around the event; 0 for the outermost fields */
    uint64_t where;       /* offset of the field: of its tag, or of its name */
    uint64_t off, len;    /* VALUE: the bytes of the value in the document; ENTER: off is the
                             begin of the content, len is known in the binary form, and 0 in the
                             text form until it is skipped; LEAVE and END: the content; UNKNOWN:
                             including tag or name */
    uint64_t u64;         /* VALUE: integers, sign-extended; bool: 0 or 1; FLOAT and DOUBLE:
                             their bits; STRING and BYTES: the decoded length */
    double f64;           /* VALUE: FLOAT and DOUBLE */
    struct heft_str text; /* STRING and BYTES: borrowed until the next call; NULL if longer than
                             HEFT_PROTO_HELD, see heft_proto_fetch */

    uint64_t unknown; /* number of fields that heft_proto_pull has skipped as unknown */
    bool entered;     /* the field returned by heft_proto_pull is a message */

    /* Private: */
    const struct heft_proto_doc *doc;
    struct heft_error *err;
    uint64_t end, base; /* end of the range; document offset of data[0] */
    const uint8_t *data;
    size_t n, at;
    uint8_t *window; /* owned; NULL if the document is in memory */
    uint64_t tag;    /* binary: of the last field */
    uint64_t packed; /* binary: end of the packed numbers being read; 0: none */
    struct heft_buf decoded;
    uint32_t depth;
    bool in_list;      /* text: the last value was an item of the list of list_field */
    bool may_separate; /* text: a comma or semicolon may follow */
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

/* Opens the message in the range [off, off + len) of the document: all of it, or a range that ENTER
 * or VALUE returned. doc must outlive the reader; err is filled when an event is ERROR. Close it,
 * also after a failure. */
HEFT_CHECKED bool heft_proto_open(struct heft_proto *p, const struct heft_proto_doc *doc,
                                  uint64_t off, uint64_t len,
                                  const struct heft_proto_message *message, struct heft_error *err);
void heft_proto_close(struct heft_proto *p);
enum heft_proto_event heft_proto_next(struct heft_proto *p);
/* After ENTER: skips the message and sets `len`; no LEAVE follows. In the binary form its bytes are
 * not read; in the text form they are only searched for its end. */
HEFT_CHECKED bool heft_proto_skip(struct heft_proto *p);
/* True if the rest of the open message is one short length-delimited field of that number (below
 * 16): skips it and the end of the message, so that no 0 of heft_proto_pull follows. Otherwise
 * nothing is read, and the caller pulls as usual. This saves three calls on each map entry that a
 * reader has no use for; it always fails in the text form. */
bool heft_proto_skip_last(struct heft_proto *p, uint32_t number);
/* For readers that follow the structure of messages: returns the number of the next field of the
 * open message; HEFT_PROTO_ANY for EXPANDED; 0 at the end of the message, or if p->failed. Unknown
 * fields are counted in p->unknown and skipped. If p->entered, the field is a message, and the
 * caller reads its fields up to a 0, or skips it.
 *
 *     while ((number = heft_proto_pull(p)))
 *         if (number == NAME) … else if (!heft_proto_pass(p)) return false;
 *     return !p->failed; */
#define HEFT_PROTO_ANY UINT32_MAX
uint32_t heft_proto_pull(struct heft_proto *p);
/* Skips the field that was pulled. */
HEFT_CHECKED bool heft_proto_pass(struct heft_proto *p);
/* After VALUE of STRING or BYTES, also if p->text is NULL: copies the value into the arena and
 * appends a NUL. More than `most` bytes are HEFT_LIMIT. */
HEFT_CHECKED bool heft_proto_fetch(struct heft_proto *p, struct heft_arena *arena, uint64_t most,
                                   struct heft_str *out, struct heft_error *err);
/* The same later, with the `off`, `len` and `u64` of VALUE: writes n = u64 bytes to out. */
HEFT_CHECKED bool heft_proto_copy(const struct heft_proto_doc *doc, uint64_t off, uint64_t len,
                                  uint8_t *out, size_t n, struct heft_error *err);

/* ---- small messages in memory, binary form ----
 *
 *     struct heft_cur cur = heft_cur_of(bytes, base);
 *     while (heft_proto_take(&cur, &item, err))
 *         switch (item.number) …
 *     if (cur.bad) err is filled
 *
 * Wire types are returned as they are: the caller checks item.wire. Groups are skipped. */
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
    uint64_t offset; /* file offset of the value; for LEN, of the bytes */
};
HEFT_CHECKED bool heft_proto_take(struct heft_cur *cur, struct heft_proto_item *item,
                                  struct heft_error *err);
/* Takes a varint: false, with cur->bad and err set, if it is cut off or longer than 64 bits. */
HEFT_CHECKED bool heft_proto_varint(struct heft_cur *cur, uint64_t *out, struct heft_error *err);
/* A cursor for a sub-message, which reports file offsets. */
static inline struct heft_cur heft_proto_sub(const struct heft_proto_item *item)
{
    return heft_cur_of(item->bytes, item->offset);
}

#endif
