/* proto.c: protobuf's binary form: small messages in memory, and the reader of proto.h.
 *
 *     field   = tag value                  tag = varint: number << 3 | wire type
 *     value   = varint                     0: base/varint.h
 *             | 8 bytes                    1: little-endian
 *             | varint n, n bytes          2: a string, a message, or packed numbers
 *             | fields, tag of wire type 4 3: a group (deprecated)
 *             | 4 bytes                    5: little-endian
 *
 * A message has no end mark: its length is known from outside. The reader keeps the ends of the
 * open messages and checks that each is inside the message around it. Skipped bytes are never read:
 * the window is only filled where something is decoded. */
#include "wire/proto_parts.h"

#include "base/endian.h"
#include "base/text.h"
#include "base/varint.h"

#define MOST_SHORT 127 /* bytes of a value whose length is one byte */
#define MOST_FIELD 32  /* longer than a tag and a number, or a tag and a length */

/* ---- errors ---- */

static HEFT_NOINLINE bool bad_varint(unsigned used, uint64_t where, struct heft_error *err)
{
    return heft_fail(err, HEFT_MALFORMED, where,
                     used ? "protobuf: a varint of more than 64 bits"
                          : "protobuf: a varint is cut off by the end of its message");
}

static HEFT_NOINLINE bool bad_tag(uint64_t tag, uint64_t where, struct heft_error *err)
{
    if (tag > UINT32_MAX || tag < 8)
        return heft_fail(err, HEFT_MALFORMED, where,
                         "protobuf: field number %" PRIu64 ", allowed are 1 to 536870911",
                         tag >> 3);
    return heft_fail(err, HEFT_MALFORMED, where,
                     "protobuf: field %" PRIu64 " has wire type %u, allowed are 0 to 5", tag >> 3,
                     (unsigned)(tag & 7));
}

static inline bool is_tag(uint64_t tag)
{
    return tag <= UINT32_MAX && tag >= 8 && (tag & 7) <= HEFT_PROTO_I32;
}

/* ---- small messages in memory ---- */

static bool refuse_varint(struct heft_cur *cur, unsigned used, struct heft_error *err)
{
    cur->bad = true;
    return bad_varint(used, heft_cur_where(cur), err);
}

static inline bool take_varint(struct heft_cur *cur, uint64_t *out, struct heft_error *err)
{
    const unsigned used = heft_varint_get(cur->p + cur->at, heft_cur_left(cur), out);

    if (used == 0 || used > HEFT_VARINT_MOST)
        return refuse_varint(cur, used, err);
    cur->at += used;
    return true;
}

bool heft_proto_varint(struct heft_cur *cur, uint64_t *out, struct heft_error *err)
{
    return take_varint(cur, out, err);
}

static bool cut_off(struct heft_cur *cur, uint64_t wanted, struct heft_error *err)
{
    const size_t left = cur->n - cur->at;

    cur->bad = true;
    return heft_fail(err, HEFT_MALFORMED, heft_cur_where(cur),
                     "protobuf: a value of %" PRIu64 " bytes where %zu are left of its message",
                     wanted, left);
}

static inline bool take_bytes(struct heft_cur *cur, struct heft_proto_item *item,
                              struct heft_error *err)
{
    uint64_t n;

    if (!take_varint(cur, &n, err))
        return false;
    if (n > heft_cur_left(cur))
        return cut_off(cur, n, err);
    item->offset = heft_cur_where(cur);
    item->bytes = heft_cur_take(cur, n);
    return true;
}

static bool take_fixed(struct heft_cur *cur, struct heft_proto_item *item, struct heft_error *err)
{
    const unsigned n = item->wire == HEFT_PROTO_I64 ? 8 : 4;

    if (n > heft_cur_left(cur))
        return cut_off(cur, n, err);
    item->u64 = n == 8 ? heft_cur_u64(cur) : heft_cur_u32(cur);
    return true;
}

static bool refuse_tag(struct heft_cur *cur, uint64_t tag, uint64_t where, struct heft_error *err)
{
    cur->bad = true;
    return bad_tag(tag, where, err);
}

/* Takes a tag and its value; of groups only the tag. */
static inline bool take_item(struct heft_cur *cur, struct heft_proto_item *item,
                             struct heft_error *err)
{
    uint64_t tag;

    *item = (struct heft_proto_item){.where = heft_cur_where(cur)};
    if (!take_varint(cur, &tag, err))
        return false;
    if (!is_tag(tag))
        return refuse_tag(cur, tag, item->where, err);
    item->number = (uint32_t)tag >> 3;
    item->wire = tag & 7;
    item->offset = heft_cur_where(cur);
    if (item->wire == HEFT_PROTO_VARINT)
        return take_varint(cur, &item->u64, err);
    if (item->wire == HEFT_PROTO_LEN)
        return take_bytes(cur, item, err);
    return item->wire == HEFT_PROTO_GROUP || item->wire == HEFT_PROTO_GROUP_END ||
           take_fixed(cur, item, err);
}

/* Numbers of the open groups, which their end tags must repeat. */
struct groups {
    uint32_t numbers[HEFT_PROTO_DEPTH];
    unsigned n;
};

/* Records the tag of a group's begin or end. False if a group cannot begin or end here. */
static bool note_group(struct groups *groups, uint32_t number, unsigned wire, uint64_t where,
                       struct heft_error *err)
{
    if (wire == HEFT_PROTO_GROUP && groups->n == HEFT_PROTO_DEPTH)
        return heft_fail(err, HEFT_LIMIT, where, "protobuf: nested deeper than %d groups",
                         HEFT_PROTO_DEPTH);
    if (wire == HEFT_PROTO_GROUP)
        groups->numbers[groups->n++] = number;
    else if (wire == HEFT_PROTO_GROUP_END &&
             (groups->n == 0 || groups->numbers[--groups->n] != number))
        return heft_fail(err, HEFT_MALFORMED, where,
                         "protobuf: the end of group %" PRIu32 ", which has not begun", number);
    return true;
}

/* Skips groups, the first tag of which is `item`, up to the next item. */
static bool pass_groups(struct heft_cur *cur, struct heft_proto_item *item, struct heft_error *err)
{
    struct groups groups;

    groups.n = 0;
    for (;;) {
        if (!note_group(&groups, item->number, item->wire, item->where, err)) {
            cur->bad = true;
            return false;
        }
        if (groups.n == 0 && item->wire != HEFT_PROTO_GROUP_END)
            return true;
        if (heft_cur_left(cur) == 0) {
            cur->bad = groups.n > 0;
            return groups.n > 0 && heft_fail(err, HEFT_MALFORMED, heft_cur_where(cur),
                                             "protobuf: the message ends inside a group");
        }
        if (!take_item(cur, item, err))
            return false;
    }
}

bool heft_proto_take(struct heft_cur *cur, struct heft_proto_item *item, struct heft_error *err)
{
    if (heft_cur_left(cur) == 0 || !take_item(cur, item, err))
        return false;
    return (item->wire != HEFT_PROTO_GROUP && item->wire != HEFT_PROTO_GROUP_END) ||
           pass_groups(cur, item, err);
}

/* ---- opening documents ---- */

bool heft_proto_doc_open(struct heft_proto_doc *doc, const struct heft_source *src, bool is_text,
                         struct heft_error *err)
{
    *doc = (struct heft_proto_doc){.src = src, .size = src->size, .is_text = is_text};
    if (!is_text)
        return true;
    if (src->size > HEFT_PROTO_TEXT_MOST)
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "a text form of %" PRIu64 " bytes, allowed are %" PRIu64, src->size,
                         HEFT_PROTO_TEXT_MOST);
    doc->text = heft_alloc((size_t)src->size, err);
    if (doc->text && heft_source_read(src, 0, doc->text, (size_t)src->size, err))
        return true;
    heft_proto_doc_close(doc);
    return false;
}

void heft_proto_doc_close(struct heft_proto_doc *doc)
{
    heft_free(doc->text);
    *doc = (struct heft_proto_doc){0};
}

bool heft_proto_copy(const struct heft_proto_doc *doc, uint64_t off, uint64_t len, uint8_t *out,
                     size_t n, struct heft_error *err)
{
    if (!doc->is_text)
        return heft_source_read(doc->src, off, out, n, err);
    heft_proto_text_decode((struct heft_bytes){doc->text + off, (size_t)len}, out, n);
    return true;
}

/* ---- reading messages, field by field ---- */

bool heft_proto_open(struct heft_proto *p, const struct heft_proto_doc *doc, uint64_t off,
                     uint64_t len, const struct heft_proto_message *message, struct heft_error *err)
{
    memset(p, 0, offsetof(struct heft_proto, levels));
    p->doc = doc;
    p->err = err;
    p->message = message;
    p->levels[0] = (struct heft_proto_level){.message = message, .begin = off, .end = off + len};
    p->end = off + len;
    p->base = off;
    if (!heft_within(off, len, doc->size)) {
        p->failed = true;
        return heft_fail(err, HEFT_MALFORMED, off,
                         "protobuf: the range reaches beyond the document");
    }
    if (doc->is_text) {
        p->data = doc->text + off;
        p->n = (size_t)len;
        return true;
    }
    p->window = heft_alloc((size_t)heft_min_u64(len, HEFT_PROTO_WINDOW), err);
    p->data = p->window;
    p->failed = !p->window;
    return p->window != NULL;
}

void heft_proto_close(struct heft_proto *p)
{
    heft_free(p->window);
    heft_buf_release(&p->decoded);
    p->window = NULL;
}

/* Reads the window again from the current position. */
static HEFT_NOINLINE bool refill_window(struct heft_proto *p)
{
    const uint64_t here = heft_proto_here(p);
    const size_t n = (size_t)heft_min_u64(p->end - here, HEFT_PROTO_WINDOW);

    p->base = here;
    p->at = p->n = 0;
    if (!heft_source_read(p->doc->src, here, p->window, n, p->err))
        return false;
    p->n = n;
    return true;
}

/* Makes `wanted` bytes available in the window, or all that are left. */
static inline bool fill_window(struct heft_proto *p, size_t wanted)
{
    return HEFT_LIKELY(p->n - p->at >= wanted) || p->base + p->n == p->end || refill_window(p);
}

/* Skips n bytes inside the message. */
static inline void skip_bytes(struct heft_proto *p, uint64_t n)
{
    if (n <= p->n - p->at) {
        p->at += (size_t)n;
        return;
    }
    p->base += p->at + n;
    p->at = p->n = 0;
}

static inline uint64_t level_end(const struct heft_proto *p)
{
    return p->levels[p->depth].end;
}

/* Reads a varint that ends before `end`; the window has been filled. */
static inline bool read_varint(struct heft_proto *p, uint64_t end, uint64_t *out)
{
    const size_t left = (size_t)heft_min_u64(end - heft_proto_here(p), p->n - p->at);
    const unsigned used = heft_varint_get(p->data + p->at, left, out);

    if (HEFT_UNLIKELY(used == 0 || used > HEFT_VARINT_MOST))
        return bad_varint(used, heft_proto_here(p), p->err);
    p->at += used;
    return true;
}

static bool read_fixed(struct heft_proto *p, uint64_t end, unsigned n, uint64_t *out)
{
    const uint64_t here = heft_proto_here(p);

    if (end - here < n)
        return heft_fail(p->err, HEFT_MALFORMED, here,
                         "protobuf: a value of %u bytes where %" PRIu64 " are left of its message",
                         n, end - here);
    *out = n == 8 ? heft_le64(p->data + p->at) : heft_le32(p->data + p->at);
    p->at += n;
    return true;
}

static HEFT_NOINLINE bool bad_length(struct heft_proto *p, uint64_t where, uint64_t n)
{
    return heft_fail(p->err, HEFT_MALFORMED, where,
                     "protobuf: a value of %" PRIu64 " bytes where %" PRIu64 " are left of %s", n,
                     level_end(p) - heft_proto_here(p), p->message->name);
}

static inline bool read_length(struct heft_proto *p, uint64_t *out)
{
    const uint64_t where = heft_proto_here(p), end = level_end(p);

    return read_varint(p, end, out) &&
           (HEFT_LIKELY(*out <= end - heft_proto_here(p)) || bad_length(p, where, *out));
}

/* The wire type of each field type. */
static const uint8_t wires[] = {
    [HEFT_PROTO_DOUBLE] = HEFT_PROTO_I64,    [HEFT_PROTO_FLOAT] = HEFT_PROTO_I32,
    [HEFT_PROTO_INT32] = HEFT_PROTO_VARINT,  [HEFT_PROTO_INT64] = HEFT_PROTO_VARINT,
    [HEFT_PROTO_UINT32] = HEFT_PROTO_VARINT, [HEFT_PROTO_UINT64] = HEFT_PROTO_VARINT,
    [HEFT_PROTO_SINT64] = HEFT_PROTO_VARINT, [HEFT_PROTO_FIXED32] = HEFT_PROTO_I32,
    [HEFT_PROTO_FIXED64] = HEFT_PROTO_I64,   [HEFT_PROTO_BOOL] = HEFT_PROTO_VARINT,
    [HEFT_PROTO_ENUM] = HEFT_PROTO_VARINT,   [HEFT_PROTO_STRING] = HEFT_PROTO_LEN,
    [HEFT_PROTO_BYTES] = HEFT_PROTO_LEN,     [HEFT_PROTO_SUB] = HEFT_PROTO_LEN,
};

static inline const struct heft_proto_field *find_field(const struct heft_proto_message *message,
                                                        uint64_t number)
{
    const struct heft_proto_field *const fields = message->fields;

    if (number <= message->n && fields[number - 1].number == number)
        return &fields[number - 1];
    for (size_t i = 0; i < message->n; i++)
        if (fields[i].number == number)
            return &fields[i];
    return NULL;
}

/* Converts the bits of a number to its type. */
static void convert_bits(struct heft_proto *p, enum heft_proto_type type, uint64_t bits)
{
    const uint32_t low = (uint32_t)bits;
    float single;

    p->u64 = bits;
    switch (type) {
    case HEFT_PROTO_DOUBLE:
        memcpy(&p->f64, &bits, sizeof p->f64);
        break;
    case HEFT_PROTO_FLOAT:
        memcpy(&single, &low, sizeof single);
        p->f64 = (double)single;
        break;
    case HEFT_PROTO_INT32:
    case HEFT_PROTO_ENUM:
        p->u64 = (uint64_t)(int64_t)(int32_t)low;
        break;
    case HEFT_PROTO_UINT32:
        p->u64 = low;
        break;
    case HEFT_PROTO_SINT64:
        p->u64 = bits & 1 ? ~(bits >> 1) : bits >> 1;
        break;
    case HEFT_PROTO_BOOL:
        p->u64 = bits != 0;
        break;
    default:
        break;
    }
}

/* Reads the number at the current position, which must end before `end`. */
static HEFT_NOINLINE enum heft_proto_event read_number(struct heft_proto *p, uint64_t end)
{
    const unsigned wire = wires[p->field->type];
    uint64_t bits = 0;
    bool ok;

    p->off = heft_proto_here(p);
    if (wire == HEFT_PROTO_VARINT)
        ok = read_varint(p, end, &bits);
    else
        ok = read_fixed(p, end, wire == HEFT_PROTO_I64 ? 8 : 4, &bits);
    if (!ok)
        return heft_proto_give_up(p);
    p->len = heft_proto_here(p) - p->off;
    convert_bits(p, p->field->type, bits);
    return HEFT_PROTO_VALUE;
}

static HEFT_NOINLINE enum heft_proto_event too_deep(struct heft_proto *p)
{
    heft_fail(p->err, HEFT_LIMIT, p->where, "protobuf: nested deeper than %d messages",
              HEFT_PROTO_DEPTH);
    return heft_proto_give_up(p);
}

enum heft_proto_event heft_proto_enter(struct heft_proto *p, const struct heft_proto_field *field,
                                       const struct heft_proto_level *level)
{
    if (p->depth == HEFT_PROTO_DEPTH)
        return too_deep(p);
    p->level = p->depth++;
    p->levels[p->depth] = *level;
    p->levels[p->depth].begin = p->off;
    p->field = field;
    p->message = field->sub;
    return HEFT_PROTO_ENTER;
}

/* The same for the binary form: the content begins here and has p->len bytes. */
static inline enum heft_proto_event enter_message(struct heft_proto *p)
{
    struct heft_proto_level *level;

    if (HEFT_UNLIKELY(p->depth == HEFT_PROTO_DEPTH))
        return too_deep(p);
    p->level = p->depth++;
    level = &p->levels[p->depth];
    level->message = p->message = p->field->sub;
    level->field = p->field;
    level->begin = p->off;
    level->end = p->off + p->len;
    return HEFT_PROTO_ENTER;
}

enum heft_proto_event heft_proto_leave(struct heft_proto *p, uint64_t end)
{
    p->off = p->levels[p->depth].begin;
    p->len = end - p->off;
    p->field = p->levels[p->depth].field;
    p->level = --p->depth;
    p->message = p->levels[p->depth].message;
    return HEFT_PROTO_LEAVE;
}

enum heft_proto_event heft_proto_finish(struct heft_proto *p)
{
    p->off = p->levels[0].begin;
    p->len = p->end - p->off;
    return HEFT_PROTO_END;
}

/* A length-delimited value: a string or a message. */
static inline enum heft_proto_event read_delimited(struct heft_proto *p)
{
    p->off = heft_proto_here(p);
    if (p->field->type == HEFT_PROTO_SUB)
        return enter_message(p);
    p->u64 = p->len;
    p->text = (struct heft_str){NULL, 0};
    if (p->len <= HEFT_PROTO_HELD) {
        if (!fill_window(p, (size_t)p->len))
            return heft_proto_give_up(p);
        p->text = (struct heft_str){(const char *)p->data + p->at, (size_t)p->len};
    }
    skip_bytes(p, p->len);
    return HEFT_PROTO_VALUE;
}

/* Skips a value of that wire type; a group as a whole. */
static bool pass_value(struct heft_proto *p, unsigned wire)
{
    uint64_t n = 0;

    if (wire == HEFT_PROTO_VARINT)
        return read_varint(p, level_end(p), &n);
    if (wire == HEFT_PROTO_I64 || wire == HEFT_PROTO_I32)
        return read_fixed(p, level_end(p), wire == HEFT_PROTO_I64 ? 8 : 4, &n);
    if (wire == HEFT_PROTO_LEN && !read_length(p, &n))
        return false;
    skip_bytes(p, n);
    return true;
}

/* Reads a tag into p->tag: a local variable whose address is taken would need a stack protector. */
static inline bool read_tag(struct heft_proto *p)
{
    const uint64_t where = heft_proto_here(p);

    if (!fill_window(p, MOST_FIELD) || !read_varint(p, level_end(p), &p->tag))
        return false;
    return HEFT_LIKELY(is_tag(p->tag)) || bad_tag(p->tag, where, p->err);
}

static HEFT_NOINLINE enum heft_proto_event pass_unknown(struct heft_proto *p)
{
    struct groups groups;

    groups.n = 0;
    for (;;) {
        if (!note_group(&groups, (uint32_t)p->tag >> 3, p->tag & 7, p->where, p->err) ||
            !pass_value(p, p->tag & 7))
            return heft_proto_give_up(p);
        if (groups.n == 0)
            break;
        if (heft_proto_here(p) == level_end(p)) {
            heft_fail(p->err, HEFT_MALFORMED, p->where, "protobuf: %s ends inside a group",
                      p->message->name);
            return heft_proto_give_up(p);
        }
        if (!read_tag(p))
            return heft_proto_give_up(p);
    }
    p->field = NULL;
    p->off = p->where;
    p->len = heft_proto_here(p) - p->where;
    return HEFT_PROTO_UNKNOWN;
}

/* Returns the next number of a packed field, or END after the last one. */
static HEFT_NOINLINE enum heft_proto_event packed_value(struct heft_proto *p)
{
    if (heft_proto_here(p) == p->packed) {
        p->packed = 0;
        return HEFT_PROTO_END;
    }
    return fill_window(p, MOST_FIELD) ? read_number(p, p->packed) : heft_proto_give_up(p);
}

/* A field whose wire type is not that of its type in the table: packed numbers, or an unknown
 * field. */
static HEFT_NOINLINE enum heft_proto_event odd_field(struct heft_proto *p)
{
    if ((p->tag & 7) != HEFT_PROTO_LEN || !p->field->repeated)
        return pass_unknown(p);
    if (!read_length(p, &p->len))
        return heft_proto_give_up(p);
    p->packed = heft_proto_here(p) + p->len;
    return packed_value(p);
}

/* Reads the field that begins here; END if it is a packed field without numbers. */
static inline enum heft_proto_event read_field(struct heft_proto *p)
{
    p->level = p->depth;
    p->message = p->levels[p->depth].message;
    p->where = heft_proto_here(p);
    if (!read_tag(p))
        return heft_proto_give_up(p);
    p->field = find_field(p->message, p->tag >> 3);
    if (HEFT_UNLIKELY(!p->field))
        return pass_unknown(p);
    if (HEFT_UNLIKELY((p->tag & 7) != wires[p->field->type]))
        return odd_field(p);
    if ((p->tag & 7) != HEFT_PROTO_LEN)
        return read_number(p, level_end(p));
    return HEFT_LIKELY(read_length(p, &p->len)) ? read_delimited(p) : heft_proto_give_up(p);
}

static enum heft_proto_event binary_next(struct heft_proto *p)
{
    enum heft_proto_event event = HEFT_PROTO_END;

    if (HEFT_UNLIKELY(p->packed))
        event = packed_value(p);
    while (event == HEFT_PROTO_END) {
        if (heft_proto_here(p) == level_end(p))
            return p->depth ? heft_proto_leave(p, heft_proto_here(p)) : heft_proto_finish(p);
        event = read_field(p);
    }
    return event;
}

enum heft_proto_event heft_proto_next(struct heft_proto *p)
{
    if (HEFT_UNLIKELY(p->failed))
        return HEFT_PROTO_ERROR;
    return p->doc->is_text ? heft_proto_text_next(p) : binary_next(p);
}

bool heft_proto_skip(struct heft_proto *p)
{
    if (p->failed || (p->doc->is_text && !heft_proto_text_skip(p)))
        return false;
    if (!p->doc->is_text)
        skip_bytes(p, level_end(p) - heft_proto_here(p));
    heft_proto_leave(p, p->off + p->len);
    return true;
}

bool heft_proto_skip_last(struct heft_proto *p, uint32_t number)
{
    const uint8_t *const next = p->data + p->at;
    uint64_t left;

    if (p->failed || p->doc->is_text)
        return false;
    left = level_end(p) - heft_proto_here(p);
    if (left < 2 || left > 2 + MOST_SHORT || p->n - p->at < 2 ||
        next[0] != (number << 3 | HEFT_PROTO_LEN) || next[1] != left - 2)
        return false;
    skip_bytes(p, left);
    heft_proto_leave(p, heft_proto_here(p));
    return true;
}

uint32_t heft_proto_pull(struct heft_proto *p)
{
    enum heft_proto_event event = heft_proto_next(p);

    while (HEFT_UNLIKELY(event == HEFT_PROTO_UNKNOWN)) {
        p->unknown++;
        event = heft_proto_next(p);
    }
    p->entered = event == HEFT_PROTO_ENTER;
    if (HEFT_LIKELY(event == HEFT_PROTO_VALUE || event == HEFT_PROTO_ENTER))
        return p->field->number;
    return event == HEFT_PROTO_EXPANDED ? HEFT_PROTO_ANY : 0;
}

bool heft_proto_pass(struct heft_proto *p)
{
    return p->entered ? heft_proto_skip(p) : !p->failed;
}

bool heft_proto_fetch(struct heft_proto *p, struct heft_arena *arena, uint64_t most,
                      struct heft_str *out, struct heft_error *err)
{
    char *copy;

    if (p->u64 > most)
        return heft_fail(err, HEFT_LIMIT, p->off,
                         "%s.%s has %" PRIu64 " bytes, allowed are %" PRIu64, p->message->name,
                         p->field->name, p->u64, most);
    copy = heft_arena_alloc(arena, (size_t)p->u64 + 1, err);
    if (!copy)
        return false;
    if (p->text.p)
        memcpy(copy, p->text.p, p->text.n);
    else if (!heft_proto_copy(p->doc, p->off, p->len, (uint8_t *)copy, (size_t)p->u64, err))
        return false;
    copy[p->u64] = 0;
    *out = (struct heft_str){copy, (size_t)p->u64};
    return true;
}
