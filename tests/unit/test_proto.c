/* test_proto.c: reader of protobuf messages; binary and text form, against one table; and input
 * that it refuses. */
#include "wire/proto.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "failures.h"

/* ---- a message with a field of each type ---- */

static const struct heft_proto_name colours[] = {{"RED", 0}, {"BLUE", 2}, {"NONE", -1}, {NULL, 0}};
static const struct heft_proto_message all;
static const struct heft_proto_field all_fields[] = {
    {.number = 1, .name = "d", .type = HEFT_PROTO_DOUBLE},
    {.number = 2, .name = "f", .type = HEFT_PROTO_FLOAT},
    {.number = 3, .name = "i", .type = HEFT_PROTO_INT32},
    {.number = 4, .name = "l", .type = HEFT_PROTO_INT64},
    {.number = 5, .name = "u", .type = HEFT_PROTO_UINT32},
    {.number = 6, .name = "v", .type = HEFT_PROTO_UINT64},
    {.number = 7, .name = "z", .type = HEFT_PROTO_SINT64},
    {.number = 8, .name = "x", .type = HEFT_PROTO_FIXED32},
    {.number = 9, .name = "y", .type = HEFT_PROTO_FIXED64},
    {.number = 10, .name = "b", .type = HEFT_PROTO_BOOL},
    {.number = 11, .name = "e", .type = HEFT_PROTO_ENUM, .enums = colours},
    {.number = 12, .name = "s", .type = HEFT_PROTO_STRING},
    {.number = 13, .name = "m", .type = HEFT_PROTO_SUB, .repeated = true, .sub = &all},
    {.number = 20, .name = "is", .type = HEFT_PROTO_INT32, .repeated = true},
    {.number = 21, .name = "fs", .type = HEFT_PROTO_FLOAT, .repeated = true},
    {.number = 22, .name = "ss", .type = HEFT_PROTO_BYTES, .repeated = true},
};
static const struct heft_proto_message all = HEFT_PROTO_MESSAGE("All", all_fields);

/* ---- the events of a document, a line each ---- */

static void put_value(struct heft_buf *out, const struct heft_proto *p)
{
    switch (p->field->type) {
    case HEFT_PROTO_DOUBLE:
    case HEFT_PROTO_FLOAT:
        heft_buf_printf(out, "%.17g", p->f64);
        break;
    case HEFT_PROTO_STRING:
    case HEFT_PROTO_BYTES:
        assert_int_equal(p->u64, p->text.n);
        heft_buf_str(out, p->text);
        break;
    default:
        heft_buf_printf(out, "%" PRId64, heft_proto_i64(p));
    }
}

/* Writes the events of a message as "d=1.5 m{s=x } ". */
static bool events(struct heft_bytes bytes, bool is_text, struct heft_buf *out,
                   struct heft_error *err)
{
    struct heft_source source;
    struct heft_proto_doc doc;
    struct heft_proto p;
    enum heft_proto_event event = HEFT_PROTO_ERROR;

    heft_source_open_memory(&source, bytes, "test");
    if (heft_proto_doc_open(&doc, &source, is_text, err) &&
        heft_proto_open(&p, &doc, 0, doc.size, &all, err)) {
        while ((event = heft_proto_next(&p)) > HEFT_PROTO_END) {
            if (event == HEFT_PROTO_VALUE) {
                heft_buf_printf(out, "%s=", p.field->name);
                put_value(out, &p);
            } else if (event == HEFT_PROTO_ENTER) {
                heft_buf_printf(out, "%s{", p.field->name);
            } else {
                heft_buf_text(out, event == HEFT_PROTO_LEAVE     ? "}"
                                   : event == HEFT_PROTO_UNKNOWN ? "?"
                                                                 : "any");
            }
            heft_buf_char(out, ' ');
        }
        heft_proto_close(&p);
    }
    heft_proto_doc_close(&doc);
    heft_source_close(&source);
    heft_buf_char(out, 0);
    return event == HEFT_PROTO_END;
}

static void expect(struct heft_bytes bytes, bool is_text, const char *expected)
{
    struct heft_buf out = {0};
    struct heft_error err = {0};

    if (!events(bytes, is_text, &out, &err))
        fail_msg("%s, at %" PRIu64, err.text, err.offset);
    assert_string_equal(out.p, expected);
    heft_buf_release(&out);
}

static void refuse(struct heft_bytes bytes, bool is_text, enum heft_code code, uint64_t offset,
                   const char *text)
{
    struct heft_buf out = {0};
    struct heft_error err = {0};

    assert_false(events(bytes, is_text, &out, &err));
    if (!strstr(err.text, text) || err.offset != offset)
        fail_msg("%s, at %" PRIu64, err.text, err.offset);
    assert_int_equal(err.code, code);
    heft_buf_release(&out);
}

#define BYTES(literal)                         ((struct heft_bytes){(const uint8_t *)(literal), sizeof(literal) - 1})
#define BINARY(literal, expected)              expect(BYTES(literal), false, expected)
#define TEXT(literal, expected)                expect(BYTES(literal), true, expected)
#define NO_BINARY(literal, code, offset, text) refuse(BYTES(literal), false, code, offset, text)
#define NO_TEXT(literal, code, offset, text)   refuse(BYTES(literal), true, code, offset, text)

static void numbers(void **state)
{
    (void)state;
    BINARY("\x09\0\0\0\0\0\0\xf8\x3f\x15\0\0\xc0\xbf", "d=1.5 f=-1.5 ");
    BINARY("\x18\x96\x01\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "i=150 i=-1 ");
    BINARY("\x18\xff\xff\xff\xff\x0f", "i=-1 "); /* a negative int32 in five bytes */
    BINARY("\x20\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01\x28\xff\xff\xff\xff\xff\x01",
           "l=-9223372036854775808 u=4294967295 ");
    BINARY("\x38\x03\x38\x04\x45\x01\0\0\x80\x49\x01\0\0\0\0\0\0\0", "z=-2 z=2 x=2147483649 y=1 ");
    BINARY("\x50\x05\x50\x00\x58\x02\x58\x07", "b=1 b=0 e=2 e=7 ");
    TEXT("d: 1.5 f: -1.5", "d=1.5 f=-1.5 ");
    TEXT("d:.5e-1f;f:1, d: 2.F", "d=0.050000000000000003 f=1 d=2 ");
    TEXT("f: 0.1 d: 0.1", "f=0.10000000149011612 d=0.10000000000000001 ");
    TEXT("d: inf d: - Infinity d: NaN d: -0", "d=inf d=-inf d=nan d=-0 ");
    TEXT("i: 0x10 i: -010 i: - 0 i: -2147483648", "i=16 i=-8 i=0 i=-2147483648 ");
    TEXT("l: -9223372036854775808 u: 4294967295 v: 0xffffffffffffffff z: -3",
         "l=-9223372036854775808 u=4294967295 v=-1 z=-3 ");
    TEXT("b: true b: t b: True b: 1 b: 0 b: f b: False b: false",
         "b=1 b=1 b=1 b=1 b=0 b=0 b=0 b=0 ");
    TEXT("e: BLUE e: 1 e: NONE e: GREEN e: -1", "e=2 e=1 e=-1 ? e=-1 ");
}

static void strings(void **state)
{
    (void)state;
    BINARY("\x62\x02\x61\x62\x62\x00\xb2\x01\x01\x78", "s=ab s= ss=x ");
    TEXT("s: \"a\\tb\" s: 'it''s' # one\n s: \"\" \"a\" # two\n 'b'", "s=a\tb s=its s=ab ");
    TEXT("s: \"\\007\\33\\1234\\x4\\x41g\\u00e9\\U0001F600\\ud83d\\ude00\\?\\'\\\"\\\\\"",
         "s=\a\033S4\x04"
         "Ag\xc3\xa9\xf0\x9f\x98\x80\xf0\x9f\x98\x80?'\"\\ ");
    TEXT("s: \"\xc3\xa9\xff\"", "s=\xc3\xa9\xff ");
}

static void messages(void **state)
{
    (void)state;
    BINARY("\x6a\x04\x18\x01\x6a\x00\x18\x02", "m{ i=1 m{ } } i=2 ");
    TEXT("m { i: 1 m: < > } i: 2", "m{ i=1 m{ } } i=2 ");
    TEXT("m: [{i: 1 is: [3]}, <i: 2;>] m [ ] i: 3", "m{ i=1 is=3 } m{ i=2 } i=3 ");
    TEXT("# only\r\n#comments", "");
    TEXT("", "");
    BINARY("", "");
}

static void repeated_numbers(void **state)
{
    (void)state;
    BINARY("\xa2\x01\x03\x01\x96\x01\xa0\x01\x05\xa2\x01\x00", "is=1 is=150 is=5 ");
    BINARY("\xaa\x01\x08\0\0\x80\x3f\0\0\0\x40\xad\x01\0\0\x80\xbf", "fs=1 fs=2 fs=-1 ");
    TEXT("is: [1, 150] is: 5 is: [] fs: [1, 2 , -1]", "is=1 is=150 is=5 fs=1 fs=2 fs=-1 ");
}

static void unknown_fields(void **state)
{
    (void)state;
    BINARY("\xf8\x01\x05\xf9\x01\1\2\3\4\5\6\7\x8\xfa\x01\x01x\xfd\x01\1\2\3\4\x18\x01",
           "? ? ? ? i=1 ");
    BINARY("\xfb\x01\x18\x01\x63\x64\xfc\x01\x18\x02", "? i=2 "); /* a group inside a group */
    /* i, s and m with other wire types */
    BINARY("\x1a\x01\x05\x65\x01\x02\x03\x04\x68\x01", "? ? ? ");
    TEXT("q: 1 q: -x q: 'a' \"b\" q { r: [1, {}] s: '}' } q: [<a:'>'>] [a.b]: 3 i: 1",
         "? ? ? ? ? ? i=1 ");
    TEXT("[type.googleapis.com/a.B] { i: 1 } i: 2", "any i=2 ");
}

static void refused_binary(void **state)
{
    (void)state;
    NO_BINARY("\x18", HEFT_MALFORMED, 1, "a varint is cut off");
    NO_BINARY("\x18\x80", HEFT_MALFORMED, 1, "a varint is cut off");
    NO_BINARY("\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", HEFT_MALFORMED, 1, "64 bits");
    NO_BINARY("\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x00", HEFT_MALFORMED, 1, "64 bits");
    NO_BINARY("\x18\x01\x02\x01", HEFT_MALFORMED, 2, "field number 0");
    NO_BINARY("\x1e", HEFT_MALFORMED, 0, "field 3 has wire type 6");
    NO_BINARY("\x62\x02\x61", HEFT_MALFORMED, 1, "a value of 2 bytes where 1 are left of All");
    NO_BINARY("\x6a\x02\x18\x96\x01", HEFT_MALFORMED, 3, "a varint is cut off");
    NO_BINARY("\x6a\x02\x62\x01x", HEFT_MALFORMED, 3, "a value of 1 bytes where 0 are left");
    NO_BINARY("\x09\x01", HEFT_MALFORMED, 1, "a value of 8 bytes where 1 are left");
    NO_BINARY("\xaa\x01\x05\0\0\x80\x3f\0", HEFT_MALFORMED, 7, "a value of 4 bytes where 1");
    NO_BINARY("\xa2\x01\x01\x96\x01", HEFT_MALFORMED, 3, "a varint is cut off");
    NO_BINARY("\xfc\x01", HEFT_MALFORMED, 0, "the end of group 31");
    NO_BINARY("\xfb\x01\x64", HEFT_MALFORMED, 0, "the end of group 12");
    NO_BINARY("\xfb\x01\x18\x01", HEFT_MALFORMED, 0, "All ends inside a group");
}

static void refused_text(void **state)
{
    (void)state;
    NO_TEXT("i: 1 }", HEFT_MALFORMED, 5, "found '}' in All where a field was expected");
    NO_TEXT("m { i: 1", HEFT_MALFORMED, 8, "ends in All where a field was expected");
    NO_TEXT("m { >", HEFT_MALFORMED, 4, "found '>'");
    NO_TEXT("i 1", HEFT_MALFORMED, 2, "found '1' in All where ':' was expected");
    NO_TEXT("i: [1]", HEFT_MALFORMED, 3, "\"\" of All.i is no number that fits");
    NO_TEXT("is: [1 2]", HEFT_MALFORMED, 7, "found '2' in All where ',' or ']' was expected");
    NO_TEXT("is: [1,]", HEFT_MALFORMED, 7, "\"\" of All.is is no number");
    NO_TEXT("i: 2147483648", HEFT_MALFORMED, 3, "\"2147483648\" of All.i is no number that fits");
    NO_TEXT("i: -2147483649", HEFT_MALFORMED, 3, "\"2147483649\" of All.i");
    NO_TEXT("v: 18446744073709551616", HEFT_MALFORMED, 3, "is no number that fits");
    NO_TEXT("u: -1", HEFT_MALFORMED, 3, "is no number that fits");
    NO_TEXT("i: 1.0", HEFT_MALFORMED, 3, "is no number that fits");
    NO_TEXT("i: 08", HEFT_MALFORMED, 3, "is no number that fits");
    NO_TEXT("d: 0x1", HEFT_MALFORMED, 3, "\"0x1\" of All.d is no number");
    NO_TEXT("d: 1e", HEFT_MALFORMED, 3, "is no number");
    NO_TEXT("b: yes", HEFT_MALFORMED, 3, "\"yes\" of All.b is no bool");
    NO_TEXT("b: 2", HEFT_MALFORMED, 3, "is no bool");
    NO_TEXT("s: x", HEFT_MALFORMED, 3, "where a string was expected");
    NO_TEXT("s: \"abc", HEFT_MALFORMED, 3, "a string does not end in its line");
    NO_TEXT("s: 'a\nb'", HEFT_MALFORMED, 3, "a string does not end in its line");
    NO_TEXT("s: 'a\0b'", HEFT_MALFORMED, 3, "a string does not end in its line");
    NO_TEXT("s: '\\q'", HEFT_MALFORMED, 4, "unknown escape");
    NO_TEXT("s: '\\777'", HEFT_MALFORMED, 4, "unknown escape");
    NO_TEXT("s: '\\ud800'", HEFT_MALFORMED, 4, "unknown escape");
    NO_TEXT("s: '\\xg'", HEFT_MALFORMED, 4, "unknown escape");
    NO_TEXT("i: 1 \0 i: 2", HEFT_MALFORMED, 5, "found byte 0x00");
    NO_TEXT("q { [ } ]", HEFT_MALFORMED, 6, "found '}'");
    NO_TEXT("[a.b i: 1", HEFT_MALFORMED, 5, "the name of an extension");
    NO_TEXT("i: 1,, i: 2", HEFT_MALFORMED, 5, "found ','");
}

/* ---- depth: 100 levels, whatever the form ---- */

static struct heft_bytes nested(unsigned depth, bool is_text, const char *open,
                                struct heft_buf *buf)
{
    struct heft_buf inner = {0};

    for (unsigned i = 0; i < depth && is_text; i++)
        heft_buf_text(buf, open);
    for (unsigned i = 0; i < depth && is_text; i++)
        heft_buf_char(buf, '}');
    for (unsigned i = 0; i < depth && !is_text; i++) {
        const size_t n = inner.n; /* wraps the bytes so far: tag, length in two bytes, bytes */
        struct heft_buf next = {0};

        heft_buf_char(&next, 0x6a);
        heft_buf_char(&next, (char)(0x80 | (n & 0x7f)));
        heft_buf_char(&next, (char)(n >> 7));
        heft_buf_put(&next, inner.p, inner.n);
        heft_buf_release(&inner);
        inner = next;
    }
    if (!is_text)
        *buf = inner;
    return (struct heft_bytes){(const uint8_t *)buf->p, buf->n};
}

static void depth(void **state)
{
    static const struct {
        unsigned depth;
        bool is_text;
        const char *open;
        uint64_t offset;
    } cases[] = {{100, false, "", 0},    {101, false, "", 300}, {100, true, "m{", 0},
                 {101, true, "m{", 200}, {100, true, "q{", 0},  {5000, true, "q{", 203}};

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(cases); i++) {
        struct heft_buf doc = {0}, out = {0};
        struct heft_error err = {0};
        const struct heft_bytes bytes =
            nested(cases[i].depth, cases[i].is_text, cases[i].open, &doc);

        if (cases[i].offset)
            refuse(bytes, cases[i].is_text, HEFT_LIMIT, cases[i].offset, "nested deeper than 100");
        else
            assert_true(events(bytes, cases[i].is_text, &out, &err));
        heft_buf_release(&doc);
        heft_buf_release(&out);
    }
}

/* ---- long values, ranges, skipping ---- */

/* Message with a string of n bytes between two numbers: the numbers are read, and the string's
 * bytes are at the reported offset. */
static void long_string(size_t n, bool is_text)
{
    struct heft_buf buf = {0};
    struct heft_error err = {0};
    struct heft_arena arena = {0};
    struct heft_source source;
    struct heft_proto_doc doc;
    struct heft_proto p;
    struct heft_str got;

    if (is_text) {
        heft_buf_text(&buf, "i: 1 s: '\\x61");
    } else {
        heft_buf_text(&buf, "\x18\x01\x62");
        for (size_t left = n; left || buf.n == 3; left >>= 7)
            heft_buf_char(&buf, (char)((left & 0x7f) | (left > 0x7f ? 0x80 : 0)));
        heft_buf_char(&buf, 'a');
    }
    for (size_t i = 1; i < n; i++)
        heft_buf_char(&buf, (char)('a' + i % 26));
    heft_buf_text(&buf, is_text ? "' i: 2" : "\x18\x02");

    heft_source_open_memory(&source, (struct heft_bytes){(uint8_t *)buf.p, buf.n}, "test");
    assert_true(heft_proto_doc_open(&doc, &source, is_text, &err));
    assert_true(heft_proto_open(&p, &doc, 0, doc.size, &all, &err));
    assert_int_equal(heft_proto_next(&p), HEFT_PROTO_VALUE);
    assert_int_equal(heft_proto_next(&p), HEFT_PROTO_VALUE);
    assert_int_equal(p.u64, n);
    assert_true((p.text.p != NULL) == (n <= HEFT_PROTO_HELD));
    assert_false(heft_proto_fetch(&p, &arena, n - 1, &got, &err));
    assert_int_equal(err.code, HEFT_LIMIT);
    assert_true(heft_proto_fetch(&p, &arena, n, &got, &err));
    assert_int_equal(got.n, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(got.p[i], 'a' + i % 26);
    assert_int_equal(heft_proto_next(&p), HEFT_PROTO_VALUE);
    assert_int_equal(p.u64, 2);
    assert_int_equal(heft_proto_next(&p), HEFT_PROTO_END);
    heft_proto_close(&p);
    heft_proto_doc_close(&doc);
    heft_source_close(&source);
    heft_arena_release(&arena);
    heft_buf_release(&buf);
}

static void long_strings(void **state)
{
    static const size_t sizes[] = {1,     127,   128,   HEFT_PROTO_HELD,      HEFT_PROTO_HELD + 1,
                                   65520, 65536, 65550, HEFT_PROTO_WINDOW * 3};

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(sizes); i++) {
        long_string(sizes[i], false);
        long_string(sizes[i], true);
    }
}

/* Skips a nested message, then reads it on its own. */
static void skip_one(struct heft_bytes bytes, bool is_text, uint64_t off, uint64_t len)
{
    struct heft_error err = {0};
    struct heft_source source;
    struct heft_proto_doc doc;
    struct heft_proto p;

    heft_source_open_memory(&source, bytes, "test");
    assert_true(heft_proto_doc_open(&doc, &source, is_text, &err));
    assert_true(heft_proto_open(&p, &doc, 0, doc.size, &all, &err));
    assert_int_equal(heft_proto_next(&p), HEFT_PROTO_ENTER);
    assert_int_equal(p.level, 0);
    assert_true(heft_proto_skip(&p));
    assert_int_equal(p.off, off);
    assert_int_equal(p.len, len);
    assert_int_equal(heft_proto_next(&p), HEFT_PROTO_VALUE);
    assert_int_equal(p.level, 0);
    assert_int_equal(p.u64, 2);
    heft_proto_close(&p);
    assert_true(heft_proto_open(&p, &doc, off, len, &all, &err));
    assert_int_equal(heft_proto_next(&p), HEFT_PROTO_VALUE);
    assert_int_equal(p.u64, 1);
    assert_int_equal(heft_proto_next(&p), HEFT_PROTO_ENTER);
    assert_int_equal(heft_proto_next(&p), HEFT_PROTO_LEAVE);
    assert_int_equal(heft_proto_next(&p), HEFT_PROTO_END);
    heft_proto_close(&p);
    heft_proto_doc_close(&doc);
    heft_source_close(&source);
}

static void skipping(void **state)
{
    (void)state;
    skip_one(BYTES("\x6a\x04\x18\x01\x6a\x00\x18\x02"), false, 2, 4);
    skip_one(BYTES("m { i: 1 m < > } i: 2"), true, 3, 12);
    skip_one(BYTES("m [{ i: 1 m: [ {}] }] i: 2"), true, 4, 15);
}

/* Enters the first message, pulls its first field, and skips the rest of the message if that is one
 * field 12. Returns the number that is pulled next. */
static uint32_t skip_last(struct heft_bytes bytes, bool is_text, bool skips)
{
    struct heft_error err = {0};
    struct heft_source source;
    struct heft_proto_doc doc;
    struct heft_proto p;
    uint32_t number;

    heft_source_open_memory(&source, bytes, "test");
    assert_true(heft_proto_doc_open(&doc, &source, is_text, &err));
    assert_true(heft_proto_open(&p, &doc, 0, doc.size, &all, &err));
    assert_int_equal(heft_proto_pull(&p), 13);
    assert_int_equal(heft_proto_pull(&p), 3);
    assert_int_equal(heft_proto_skip_last(&p, 12), skips);
    number = heft_proto_pull(&p);
    heft_proto_close(&p);
    heft_proto_doc_close(&doc);
    heft_source_close(&source);
    return number;
}

static void skipping_the_last_field(void **state)
{
    (void)state;
    assert_int_equal(skip_last(BYTES("\x6a\x06\x18\x01\x62\x02hi\x20\x02"), false, true), 4);
    assert_int_equal(skip_last(BYTES("\x6a\x04\x18\x01\x62\x00"), false, true), 0);
    /* not the last field; another field; a length beyond the message; none; no length */
    assert_int_equal(skip_last(BYTES("\x6a\x08\x18\x01\x62\x02hi\x20\x02"), false, false), 12);
    assert_int_equal(skip_last(BYTES("\x6a\x04\x18\x01\x20\x02\x28\x03"), false, false), 4);
    assert_int_equal(skip_last(BYTES("\x6a\x04\x18\x01\x62\x01"), false, false), 0);
    assert_int_equal(skip_last(BYTES("\x6a\x02\x18\x01\x28\x03"), false, false), 0);
    assert_int_equal(skip_last(BYTES("\x6a\x03\x18\x01\x62"), false, false), 0);
    assert_int_equal(skip_last(BYTES("m { i: 1 s: 'hi' } l: 2"), true, false), 12);
}

/* ---- small messages ---- */

static void items(void **state)
{
    struct heft_error err = {0};
    struct heft_proto_item item;
    struct heft_cur cur =
        heft_cur_of(BYTES("\x08\x96\x01\x12\x02hi\x1b\x08\x01\x1c\x35\x01\0\0\0"), 100);

    (void)state;
    assert_true(heft_proto_take(&cur, &item, &err));
    assert_int_equal(item.number, 1);
    assert_int_equal(item.u64, 150);
    assert_int_equal(item.where, 100);
    assert_true(heft_proto_take(&cur, &item, &err));
    assert_int_equal(item.wire, HEFT_PROTO_LEN);
    assert_int_equal(item.bytes.n, 2);
    assert_int_equal(item.offset, 105);
    assert_true(heft_proto_take(&cur, &item, &err)); /* the item after the group */
    assert_int_equal(item.number, 6);
    assert_int_equal(item.wire, HEFT_PROTO_I32);
    assert_int_equal(item.u64, 1);
    assert_false(heft_proto_take(&cur, &item, &err));
    assert_false(cur.bad);
    cur = heft_cur_of(BYTES("\x12\x03hi"), 7);
    assert_false(heft_proto_take(&cur, &item, &err));
    assert_true(cur.bad);
    assert_int_equal(err.code, HEFT_MALFORMED);
    assert_int_equal(err.offset, 9);
    cur = heft_cur_of(BYTES("\x1b\x08\x01"), 0);
    assert_false(heft_proto_take(&cur, &item, &err));
    assert_true(cur.bad);
    cur = heft_cur_of(BYTES("\x00"), 0);
    assert_false(heft_proto_take(&cur, &item, &err));
    assert_true(cur.bad);
}

static void text_is_recognised(void **state)
{
    (void)state;
    assert_true(heft_proto_is_text(BYTES("saved_model_schema_version: 1\n")));
    assert_true(heft_proto_is_text(BYTES("# proto\r\nnode {")));
    assert_true(heft_proto_is_text(BYTES("# proto")));
    assert_true(heft_proto_is_text(BYTES("\n node: {")));
    assert_false(heft_proto_is_text(BYTES("")));
    assert_false(heft_proto_is_text(BYTES("\x08\x01\x12")));
    assert_false(heft_proto_is_text(BYTES("\nz\n:a: 1\x12")));
    assert_false(heft_proto_is_text(BYTES("\"a\": 1")));
    assert_false(heft_proto_is_text(BYTES("{}")));
}

/* The N-th allocation fails: an error, and no leak. */
static void no_memory(void **state)
{
    (void)state;
    for (struct failures fail = {.most = 10000}; !fail.done;) {
        struct heft_buf out = {0};
        struct heft_error err = {0};

        assert_true(heft_buf_room(&out, 4096));
        FAIL_ALLOCATION(&fail,
                        events(BYTES("s: 'a' 'b' m { i: 1 }"), true, &out, &err) &&
                            events(BYTES("\x6a\x02\x18\x01"), false, &out, &err),
                        &err);
        heft_buf_release(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(strings),
        cmocka_unit_test(messages),
        cmocka_unit_test(repeated_numbers),
        cmocka_unit_test(unknown_fields),
        cmocka_unit_test(refused_binary),
        cmocka_unit_test(refused_text),
        cmocka_unit_test(depth),
        cmocka_unit_test(long_strings),
        cmocka_unit_test(skipping),
        cmocka_unit_test(skipping_the_last_field),
        cmocka_unit_test(items),
        cmocka_unit_test(text_is_recognised),
        cmocka_unit_test(no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
