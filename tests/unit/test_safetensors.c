/* test_safetensors.c: reader on files made in memory, writer by its plan. The samples of
 * tests/reject/safetensors and tests/golden/safetensors cover the rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failures.h"
#include "base/endian.h"
#include "core/plan.h"
#include "format/formats.h"
#include "core/registry.h"

extern const struct heft_format heft_format_safetensors;

struct file {
    struct heft_model model;
    struct heft_error err;
    uint8_t *bytes;
    size_t n;
};

/* Opens and validates a file of this header and `data` zeros. */
static bool open_file(struct file *f, const char *header, size_t data)
{
    const size_t n = strlen(header);
    struct heft_source source;
    uint32_t index;

    *f = (struct file){.bytes = calloc(1, 8 + n + data), .n = 8 + n + data};
    assert_non_null(f->bytes);
    heft_put_le64(f->bytes, n);
    memcpy(f->bytes + 8, header, n);
    heft_model_init(&f->model, NULL, &heft_formats);
    heft_source_open_memory(&source, (struct heft_bytes){f->bytes, f->n}, "file");
    return heft_model_add_file(&f->model, &source, "file", &index, &f->err) &&
           heft_format_safetensors.open(&f->model, index, &f->err) &&
           heft_model_validate(&f->model, &f->err);
}

static void close_file(struct file *f)
{
    heft_model_release(&f->model);
    free(f->bytes);
}

static void expect_open(struct file *f, const char *header, size_t data)
{
    if (!open_file(f, header, data))
        fail_msg("%s\n%s", header, f->err.text);
}

static void expect_refused(const char *header, size_t data, enum heft_code code, uint64_t offset,
                           const char *says)
{
    struct file f;

    assert_false(open_file(&f, header, data));
    if (f.err.code != code || f.err.offset != offset || !strstr(f.err.text, says))
        fail_msg("%s\n%s at %u expected, found code %d at %u: %s", header, says, (unsigned)offset,
                 (int)f.err.code, (unsigned)f.err.offset, f.err.text);
    close_file(&f);
}

static void rows_come_by_offset_then_header_order(void **state)
{
    struct file f;

    (void)state;
    expect_open(&f,
                "{\"c\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,8]},"
                "\"b\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[4,4]},"
                "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
                "\"z\":{\"dtype\":\"F32\",\"shape\":[0,3],\"data_offsets\":[8,8]}}",
                8);
    assert_int_equal(f.model.n_rows, 4);
    assert_string_equal(f.model.rows[0].name.p, "a");
    assert_string_equal(f.model.rows[1].name.p, "c");
    assert_string_equal(f.model.rows[2].name.p, "b");
    assert_string_equal(f.model.rows[3].name.p, "z");
    assert_int_equal(f.model.rows[1].bytes, 4);
    assert_int_equal(f.model.storages[f.model.rows[1].storage].off, f.n - 4);
    assert_string_equal(f.model.format, "safetensors");
    close_file(&f);
}

/* The third entry is out of order. */
static void disorder_is_put_right(void **state)
{
    struct file f;

    (void)state;
    expect_open(&f,
                "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
                "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[2,4]},"
                "\"d\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[6,8]},"
                "\"c\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[4,6]}}",
                8);
    for (size_t i = 0; i < 4; i++) {
        const char name[] = {(char)('a' + (char)i), '\0'};

        assert_string_equal(f.model.rows[i].name.p, name);
        assert_int_equal(f.model.storages[f.model.rows[i].storage].off, f.n - 8 + 2 * i);
        assert_int_equal(f.model.storages[f.model.rows[i].storage].len, 2);
    }
    close_file(&f);
    expect_open(&f,
                "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
                "\"e\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[4,4]},"
                "\"f\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
                4);
    assert_string_equal(f.model.rows[1].name.p, "f");
    close_file(&f);
}

/* The fast path decodes up to eight digits at once. For numbers of every length, and for malformed
 * ones, it must report the same as the general parser, to which the space in `loose` leads. */
static void offsets_of_all_lengths_are_read_as_written(void **state)
{
    static const char *const ends[] = {
        "0",         "1",          "42",        "907",
        "5318",      "60401",      "987654",    "1029384",
        "87654321",  "987654321",  "01",        "00000001",
        "007654321", "4294967296", "1-",        "1234567x",
        "12345678x", "",           "1.5",       "9007199254740993",
        "1e3",       "-1",         "123456 7",  "1234567890123456789",
        "/",         ":1",         "12345678:", "18446744073709551615"};

    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char compact[200], loose[200];
        struct file f, g;
        bool ok;

        snprintf(compact, sizeof compact,
                 "{\"a\":{\"dtype\":\"U8\",\"shape\":[7],\"data_offsets\":[0,%s]}} ", ends[i]);
        snprintf(loose, sizeof loose,
                 "{\"a\":{\"dtype\":\"U8\",\"shape\":[7],\"data_offsets\":[0,%s] }}", ends[i]);
        ok = open_file(&f, compact, 0);
        assert_int_equal(open_file(&g, loose, 0), ok);
        assert_false(ok);
        assert_string_equal(f.err.text, g.err.text);
        assert_int_equal(f.err.offset, g.err.offset);
        close_file(&f);
        close_file(&g);
    }
}

/* Entries that begin as the one before are read in one step up to the first difference. Spaces at the end
 * of the header keep them away from its end, where they are not. */
#define SPACES "                                                                "
#define LEAD   "{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":"

static void entries_that_begin_alike_are_read_as_others(void **state)
{
    static const uint64_t dims[] = {2, 2, 2, 3, 1, 2};
    struct file f;

    (void)state;
    expect_open(&f,
                "{\"a\":" LEAD "[0,2]},\"b\":" LEAD "[2,4]},"
                "\"c\":{\"shape\":[2],\"dtype\":\"I16\",\"data_offsets\":[4,8]},"
                "\"d\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[8,11]},"
                "\"e\":{\"dtype\":\"U8\",\"shape\":[1],\"x\":[2],\"data_offsets\":[11,12]},"
                "\"f\":" LEAD "[12,14]}}" SPACES,
                14);
    assert_int_equal(f.model.n_rows, HEFT_COUNT(dims));
    for (size_t i = 0; i < HEFT_COUNT(dims); i++) {
        assert_int_equal(f.model.rows[i].rank, 1);
        assert_int_equal(f.model.rows[i].shape[0], dims[i]);
        assert_int_equal(f.model.rows[i].dtype, i == 2 ? HEFT_I16 : HEFT_U8);
    }
    close_file(&f);
}

/* Writes an entry with its fields in one of the six orders. */
static size_t put_entry(char *to, size_t room, const char *name, unsigned order, int begin)
{
    static const uint8_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                         {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    char fields[3][64];

    snprintf(fields[0], sizeof fields[0], "\"dtype\":\"U8\"");
    snprintf(fields[1], sizeof fields[1], "\"shape\":[2]");
    snprintf(fields[2], sizeof fields[2], "\"data_offsets\":[%d,%d]", begin, begin + 2);
    return (size_t)snprintf(to, room, "\"%s\":{%s,%s,%s}", name, fields[orders[order][0]],
                            fields[orders[order][1]], fields[orders[order][2]]);
}

static void fields_may_have_any_order(void **state)
{
    (void)state;
    for (unsigned orders = 0; orders < 216; orders++) {
        char header[1024] = "{";
        size_t n = 1;
        struct file f;

        n += put_entry(header + n, sizeof header - n, "a", orders % 6, 0);
        header[n++] = ',';
        n += put_entry(header + n, sizeof header - n, "b", orders / 6 % 6, 2);
        header[n++] = ',';
        n += put_entry(header + n, sizeof header - n, "c", orders / 36, 4);
        snprintf(header + n, sizeof header - n, "}%s", SPACES);
        expect_open(&f, header, 6);
        assert_int_equal(f.model.n_rows, 3);
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(f.model.rows[i].shape[0], 2);
        close_file(&f);
    }
}

static void expect_second_refused(const char *rest, size_t at, const char *says)
{
    static const char first[] = "{\"a\":" LEAD "[0,2]},\"b\":";
    char header[512];

    snprintf(header, sizeof header, "%s%s%s", first, rest, SPACES);
    expect_refused(header, 4, HEFT_MALFORMED, 8 + sizeof first - 1 + at, says);
}

static void entries_that_begin_alike_are_checked_as_others(void **state)
{
    const size_t lead = sizeof LEAD - 1;

    (void)state;
    expect_second_refused(LEAD "[2,4],\"dtype\":\"U8\"}}", lead + 6, "dtype occurs twice");
    expect_second_refused(LEAD "[2,4],\"shape\":[2]}}", lead + 6, "shape occurs twice");
    expect_second_refused(LEAD "[2,4],\"data_offsets\":[2,4]}}", lead + 6,
                          "data_offsets occurs twice");
    expect_second_refused(LEAD "[2,4,5]}}", lead + 5, "what follows two data offsets is a number");
    expect_second_refused(LEAD "[2]}}", lead + 2, "data offset");
    expect_second_refused(LEAD "[2,-4]}}", lead + 3, "data offset is -4");
    expect_second_refused(LEAD "{}}}", lead, "data_offsets is an object");
    expect_second_refused(LEAD "}}", lead, "where a value was expected");
    expect_second_refused(LEAD "[2,4]]}", lead + 5, "',' or '}'");
    expect_second_refused(LEAD "[2,5]}}", (size_t)0 - 4, "dtype and shape need 2 bytes");
    expect_second_refused("{\"dtype\":\"U8\",\"shape\":2}}", 22, "shape is a number");
    expect_second_refused("{\"dtype\":\"U8\",\"shape\":[2]}}", (size_t)0 - 4,
                          "entry has no data_offsets");
    expect_second_refused("{\"dtype\":\"U8\",\"data_offsets\":[2,4]}}", (size_t)0 - 4,
                          "entry has no shape");
}

static void names_are_decoded_and_terminated(void **state)
{
    struct file f;

    (void)state;
    expect_open(&f,
                "{\"\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]},"
                "\"a\\u0000b\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[1,2]},"
                "\"\\ud83d\\ude00\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[2,3]},"
                "\"\xc3\xa9\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[3,4]}}",
                4);
    assert_int_equal(f.model.rows[0].name.n, 0);
    assert_string_equal(f.model.rows[0].name.p, "");
    assert_int_equal(f.model.rows[1].name.n, 3);
    assert_memory_equal(f.model.rows[1].name.p, "a\0b", 4);
    assert_string_equal(f.model.rows[2].name.p, "\xf0\x9f\x98\x80");
    assert_string_equal(f.model.rows[3].name.p, "\xc3\xa9");
    assert_int_equal(f.model.rows[0].rank, 0);
    close_file(&f);
}

static void every_byte_is_claimed_once(void **state)
{
    const struct heft_segment *segments;
    struct heft_arena mem = {0};
    struct file f;
    size_t n;

    (void)state;
    expect_open(&f, "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}   ", 8);
    assert_true(heft_model_map(&f.model, &mem, &segments, &n, &f.err));
    assert_int_equal(n, 3);
    assert_string_equal(segments[0].what, "header length");
    assert_string_equal(segments[1].what, "header");
    assert_int_equal(segments[2].bytes, 8);
    for (size_t i = 0; i < n; i++)
        assert_true(segments[i].claimed);
    heft_arena_release(&mem);
    close_file(&f);
}

static void metadata_keeps_its_order_and_ties_are_read(void **state)
{
    struct file f;

    (void)state;
    expect_open(&f,
                "{\"__metadata__\":{\"format\":\"pt\",\"l.y\":\"x\",\"b.w\":\"a.w\",\"a.w\":\"b\"},"
                "\"a.w\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}}",
                1);
    assert_int_equal(f.model.n_metadata, 4);
    assert_string_equal(f.model.metadata[0].key.p, "format");
    assert_string_equal(f.model.metadata[3].value.p, "b");
    assert_int_equal(f.model.n_ties, 1);
    assert_string_equal(f.model.ties[0].key.p, "b.w");
    assert_string_equal(f.model.ties[0].value.p, "a.w");
    assert_int_equal(heft_model_find(&f.model, HEFT_STR("b.w")), 0);
    close_file(&f);
}

static void errors_name_the_tensor_and_the_byte(void **state)
{
    (void)state;
    /* offsets: 8 bytes for the length, then the position in the header */
    expect_refused("[]", 0, HEFT_MALFORMED, 8, "header is an array, must be an object");
    expect_refused("{\"a\":[]}", 0, HEFT_MALFORMED, 13, "tensor a: entry is an array");
    expect_refused("{\"a\":{\"dtype\":3}}", 0, HEFT_MALFORMED, 22, "tensor a: dtype is a number");
    expect_refused("{\"a\":{\"dtype\":\"F31\"}}", 0, HEFT_MALFORMED, 22,
                   "dtype \"F31\" is not a dtype");
    expect_refused("{\"a\":{\"shape\":[1,-2]}}", 0, HEFT_MALFORMED, 25, "dimension is -2");
    expect_refused("{\"a\":{\"shape\":[1,\"2\"]}}", 0, HEFT_MALFORMED, 25, "is a string");
    expect_refused("{\"a\":{\"data_offsets\":[1]}}", 0, HEFT_MALFORMED, 31, "two are expected");
    expect_refused("{\"a\":{\"data_offsets\":[1,2,3]}}", 0, HEFT_MALFORMED, 34,
                   "must be the end of the array");
    expect_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[]}}", 0, HEFT_MALFORMED, 9,
                   "tensor a: entry has no data_offsets");
    expect_refused("{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\"}}", 0, HEFT_MALFORMED, 27,
                   "tensor a: dtype occurs twice");
    expect_refused("{\"a\":{} \xff}", 0, HEFT_MALFORMED, 16, "not UTF-8: byte 0xff");
    expect_refused("{\"__metadata__\":{\"k\":1}}", 0, HEFT_MALFORMED, 29,
                   "metadata value is a number");
}

static void repeated_names_are_refused_at_the_second(void **state)
{
    (void)state;
    expect_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]},"
                   "\"\\u0061\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}}",
                   1, HEFT_MALFORMED, 8 + 52, "tensor a: is named twice, first at offset 0x9");
    expect_refused("{\"__metadata__\":{\"k\":\"1\",\"k\":\"1\"}}", 0, HEFT_MALFORMED, 33,
                   "metadata key \"k\" occurs twice");
    expect_refused("{\"__metadata__\":{},\"__metadata__\":{}}", 0, HEFT_MALFORMED, 27,
                   "__metadata__ occurs twice");
    /* The two ranges do not overlap: only the validation of names finds the duplicate. */
    expect_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]},"
                   "\"a\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[1,2]}}",
                   2, HEFT_MALFORMED, 8 + 103 + 1, "tensor a");
}

/* Headers with another order of keys or other spaces than all known writers use are parsed token by
 * token, with the same result. */
static void other_spellings_read_the_same(void **state)
{
    static const char *const values[] = {
        "{\"dtype\":\"BF16\",\"shape\":[2,3],\"data_offsets\":[0,12]}",
        "{\"dtype\":\"BF16\",\"shape\":[2,3],\"data_offsets\":[0,12] }",
        "{ \"dtype\":\"BF16\",\"shape\":[2,3],\"data_offsets\":[0,12]}",
        "{\"dtype\":\"BF16\",\"shape\":[2, 3],\"data_offsets\":[0,12]}",
        "{\"shape\":[2,3],\"dtype\":\"BF16\",\"data_offsets\":[0,12]}",
        "{\"dtype\":\"\\u0042F16\",\"shape\":[2,3],\"data_offsets\":[0,12]}",
        "{\"dtype\":\"BF16\",\"shape\":[2,3],\"data_offsets\":[0,12],\"more\":{\"a\":[]}}",
    };

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(values); i++) {
        char header[200];
        struct file f;

        snprintf(header, sizeof header, "{\"a\":%s}", values[i]);
        expect_open(&f, header, 12);
        assert_int_equal(f.model.rows[0].dtype, HEFT_BF16);
        assert_int_equal(f.model.rows[0].rank, 2);
        assert_int_equal(f.model.rows[0].shape[0], 2);
        assert_int_equal(f.model.rows[0].shape[1], 3);
        assert_int_equal(f.model.storages[0].len, 12);
        close_file(&f);
    }
}

static void numbers_that_no_reader_accepts_are_refused(void **state)
{
    (void)state;
    /* clang-format off */
    expect_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[01],\"data_offsets\":[0,1]}}", 1,
                   HEFT_MALFORMED, 8 + 29, "found '1'");
    expect_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1,],\"data_offsets\":[0,1]}}", 1,
                   HEFT_MALFORMED, 8 + 30, "found ']'");
    expect_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[-0,1]}}", 1,
                   HEFT_MALFORMED, 8 + 47, "data offset is -0");
    expect_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1.0]}}", 1,
                   HEFT_MALFORMED, 8 + 49, "data offset is 1.0");
    expect_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[18446744073709551617],\"data_offsets\":[0,1]}}",
                   1, HEFT_MALFORMED, 8 + 28, "dimension is 18446744073709551617");
    /* clang-format on */
}

/* A header of many windows: tensors in reversed order, names of all lengths. */
static void long_headers_are_read_in_pieces(void **state)
{
    enum { TENSORS = 5000, LONGEST = 300 };
    char *const header = malloc(TENSORS * (LONGEST + 100));
    char name[LONGEST + 8];
    char *to = header;
    struct file f;

    (void)state;
    assert_non_null(header);
    for (int i = TENSORS; i-- > 0;)
        to += sprintf(to, "%s\"%0*d\":{\"dtype\":\"U8\",\"shape\":[1,%d],\"data_offsets\":[%d,%d]}",
                      i == TENSORS - 1 ? "{" : ",", 5 + i % LONGEST, i, 1 + i % 2, i + i / 2,
                      i + i / 2 + 1 + i % 2);
    memcpy(to, "}", 2);
    expect_open(&f, header, TENSORS + TENSORS / 2);
    assert_int_equal(f.model.n_rows, TENSORS);
    for (int i = 0; i < TENSORS; i++) {
        const struct heft_row *row = &f.model.rows[i];

        snprintf(name, sizeof name, "%0*d", 5 + i % LONGEST, i);
        assert_string_equal(row->name.p, name);
        assert_int_equal(row->shape[1], 1 + i % 2);
        assert_int_equal(f.model.storages[row->storage].len, 1 + i % 2);
        assert_int_equal(heft_model_find(&f.model, row->name), i);
    }
    close_file(&f);
    free(header);
}

/* Invalid UTF-8 is reported before any other error, wherever it is. */
static void invalid_utf8_is_reported_first(void **state)
{
    (void)state;
    expect_refused("{\"a\":17,\"b\":\"\xff\"}", 0, HEFT_MALFORMED, 8 + 13, "not UTF-8: byte 0xff");
    expect_refused("{\"a\":{\"dtype\":\"X\"}}   \xc3", 0, HEFT_MALFORMED, 8 + 22, "not UTF-8");
    expect_refused("{\"\xc3\xa9\xc3\":17}", 0, HEFT_MALFORMED, 8 + 4, "not UTF-8: byte 0xc3");
}

static void sizes_are_checked_without_overflow(void **state)
{
    (void)state;
    expect_refused("{\"a\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,1]}}", 1,
                   HEFT_MALFORMED, 9, "element count 3 is not a multiple of 2");
    expect_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4,
                   HEFT_MALFORMED, 9, "need 8 bytes, data_offsets have 4");
    expect_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[18446744073709551615,2,0],"
                   "\"data_offsets\":[0,0]}}",
                   0, HEFT_MALFORMED, 9, "more than 64 bits");
    expect_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[576460752303423488],"
                   "\"data_offsets\":[0,4]}}",
                   4, HEFT_MALFORMED, 9, "more than 64 bits");
    expect_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[0],"
                   "\"data_offsets\":[18446744073709551615,18446744073709551615]}}",
                   0, HEFT_MALFORMED, 9, "do not continue at 0");
}

static void a_file_that_ends_early_or_late_is_refused(void **state)
{
    static const char header[] = "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}";
    const uint64_t data = 8 + sizeof header - 1;
    struct file f;

    (void)state;
    expect_refused(header, 3, HEFT_MALFORMED, data + 3, "file ends 1 bytes before");
    expect_refused(header, 6, HEFT_MALFORMED, data + 4, "2 bytes follow the last tensor");
    expect_open(&f, header, 4);
    close_file(&f);
}

static void the_header_limit_can_be_lowered(void **state)
{
    uint8_t bytes[10] = {2, 0, 0, 0, 0, 0, 0, 0, '{', '}'};
    const struct heft_limits limits = {.size = sizeof limits, .header = 1};
    struct heft_error err = {0};
    struct heft_source source;
    struct heft_model model;
    uint32_t index;

    (void)state;
    heft_model_init(&model, &limits, &heft_formats);
    heft_source_open_memory(&source, (struct heft_bytes){bytes, sizeof bytes}, "file");
    assert_true(heft_model_add_file(&model, &source, "file", &index, &err));
    assert_false(heft_format_safetensors.open(&model, index, &err));
    assert_int_equal(err.code, HEFT_LIMIT);
    heft_model_release(&model);
}

static void lack_of_memory_at_any_moment_is_an_error(void **state)
{
    static const char header[] =
        "{\"__metadata__\":{\"x\":\"b\"},\"b\":{\"dtype\":\"U8\",\"shape\":[4],"
        "\"data_offsets\":[4,8]},\"\\u0061\":{\"dtype\":\"U8\",\"shape\":[4],"
        "\"data_offsets\":[0,4]}}";

    (void)state;
    for (struct failures fail = {.most = 1000}; !fail.done;) {
        struct file f;

        FAIL_ALLOCATION(&fail, open_file(&f, header, 8), &f.err);
        close_file(&f);
    }
}

static void content_is_recognised(void **state)
{
    static const struct {
        const char *head;
        size_t n;
        uint64_t size;
        int least, most;
    } cases[] = {
        {"\2\0\0\0\0\0\0\0{}", 10, 10, 80, 100},
        {"\4\0\0\0\0\0\0\0 \n{}", 12, 12, 80, 100},
        {"\2\0\0\0\0\0\0\0[]", 10, 10, 0, 0},
        {"\377\0\0\0\0\0\0\0{\"a\"", 12, 12, 1, 50}, /* truncated */
        {"\2\0\0\0\0\0\0", 7, 7, 0, 0},
        {"PK\3\4\24\0\0\0\0\0\0\0", 12, 12, 0, 0},
        {"{\"metadata\": {", 14, 14, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(cases); i++) {
        const struct heft_bytes head = {(const uint8_t *)cases[i].head, cases[i].n};
        const struct heft_probe probe = {head, head, cases[i].size, "x"};

        assert_in_range(heft_format_safetensors.probe(&probe), cases[i].least, cases[i].most);
    }
}

/* ---- writing -------------------------------------------------------------------------------- */

struct packing {
    struct file from;
    struct heft_arena mem;
    struct heft_export_item items[8];
    struct heft_pair metadata[4];
    struct heft_export_list exports;
    struct heft_plan plan;
};

/* Plans a safetensors output with all tensors of a file unchanged. */
static void pack(struct packing *p, const char *header, size_t data)
{
    *p = (struct packing){0};
    expect_open(&p->from, header, data);
    p->exports = (struct heft_export_list){.model = &p->from.model,
                                           .mem = &p->mem,
                                           .items = p->items,
                                           .n_items = p->from.model.n_rows,
                                           .metadata = p->metadata,
                                           .n_shards = 1};
    for (size_t i = 0; i < p->exports.n_items; i++) {
        const struct heft_row *row = &p->from.model.rows[i];

        p->items[i] = (struct heft_export_item){
            .row = row, .name = row->name, .as = row->dtype, .bytes = row->bytes};
    }
    p->plan = (struct heft_plan){.model = &p->from.model, .mem = &p->mem};
}

static bool make_plan(struct packing *p)
{
    uint32_t file;

    if (!heft_plan_file_begin(&p->plan, "out", &file, &p->from.err))
        return false;
    return heft_format_safetensors.plan(&p->plan, file, &p->exports, &p->from.err);
}

static void unpack(struct packing *p)
{
    heft_plan_release(&p->plan);
    heft_arena_release(&p->mem);
    close_file(&p->from);
}

/* Compares the header at the beginning of a plan; its length must be a multiple of 8. */
static void expect_header(const struct packing *p, const char *text)
{
    const struct heft_op *op = &p->plan.ops[0];

    assert_int_equal(op->kind, HEFT_OP_PUT);
    assert_int_equal(op->len % 8, 0);
    assert_int_equal(heft_le64(op->u.bytes), op->len - 8);
    assert_in_range(op->len - 8, strlen(text), strlen(text) + 7);
    assert_memory_equal(op->u.bytes + 8, text, strlen(text));
    for (size_t i = 8 + strlen(text); i < op->len; i++)
        assert_int_equal(op->u.bytes[i], ' ');
}

static void tensors_are_written_by_dtype_then_name(void **state)
{
    struct packing p;

    (void)state;
    pack(&p,
         "{\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
         "\"n\":{\"dtype\":\"BOOL\",\"shape\":[1],\"data_offsets\":[1,2]},"
         "\"\xc3\xa9\":{\"dtype\":\"F32\",\"shape\":[1,1],\"data_offsets\":[2,6]},"
         "\"z\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[6,10]},"
         "\"i\":{\"dtype\":\"I64\",\"shape\":[0],\"data_offsets\":[10,10]}}",
         10);
    assert_true(make_plan(&p));
    expect_header(&p, "{\"__metadata__\":{\"format\":\"pt\"},"
                      "\"i\":{\"dtype\":\"I64\",\"shape\":[0],\"data_offsets\":[0,0]},"
                      "\"z\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},"
                      "\"\xc3\xa9\":{\"dtype\":\"F32\",\"shape\":[1,1],\"data_offsets\":[4,8]},"
                      "\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[8,9]},"
                      "\"n\":{\"dtype\":\"BOOL\",\"shape\":[1],\"data_offsets\":[9,10]}}");
    assert_true(heft_plan_check(&p.plan, &p.from.err));
    unpack(&p);
}

static void metadata_is_sorted_and_has_format_pt(void **state)
{
    struct packing p;

    (void)state;
    pack(&p, "{}", 0);
    p.metadata[0] = (struct heft_pair){HEFT_STR("z"), HEFT_STR("1"), 0, false};
    p.metadata[1] = (struct heft_pair){HEFT_STR("a"), HEFT_STR("\n\x01\""), 0, false};
    p.exports.n_metadata = 2;
    assert_true(make_plan(&p));
    expect_header(&p,
                  "{\"__metadata__\":{\"a\":\"\\n\\u0001\\\"\",\"format\":\"pt\",\"z\":\"1\"}}");
    unpack(&p);
}

static void the_users_own_format_is_kept(void **state)
{
    struct packing p;

    (void)state;
    pack(&p, "{}", 0);
    p.metadata[0] = (struct heft_pair){HEFT_STR("zz"), HEFT_STR("1"), 0, false};
    p.metadata[1] = (struct heft_pair){HEFT_STR("format"), HEFT_STR("np"), 0, false};
    p.exports.n_metadata = 2;
    assert_true(make_plan(&p));
    expect_header(&p, "{\"__metadata__\":{\"format\":\"np\",\"zz\":\"1\"}}");
    unpack(&p);
}

static void one_shard_of_several_has_only_format_pt(void **state)
{
    struct packing p;

    (void)state;
    pack(&p, "{}", 0);
    p.metadata[0] = (struct heft_pair){HEFT_STR("k"), HEFT_STR("v"), 0, false};
    p.exports.n_metadata = 1;
    p.exports.n_shards = 2;
    assert_true(make_plan(&p));
    expect_header(&p, "{\"__metadata__\":{\"format\":\"pt\"}}");
    unpack(&p);
}

static void a_name_that_no_reader_accepts_is_not_written(void **state)
{
    struct packing p;

    (void)state;
    pack(&p, "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1);
    p.items[0].name = HEFT_STR("__metadata__");
    assert_false(make_plan(&p));
    assert_int_equal(p.from.err.code, HEFT_USAGE);
    unpack(&p);
}

static void a_dtype_that_safetensors_lacks_is_not_written(void **state)
{
    struct packing p;

    (void)state;
    pack(&p, "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1);
    p.items[0].as = HEFT_C128;
    assert_false(make_plan(&p));
    assert_int_equal(p.from.err.code, HEFT_UNSUPPORTED);
    assert_non_null(strstr(p.from.err.text, "tensor a"));
    unpack(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_by_offset_then_header_order),
        cmocka_unit_test(disorder_is_put_right),
        cmocka_unit_test(offsets_of_all_lengths_are_read_as_written),
        cmocka_unit_test(entries_that_begin_alike_are_read_as_others),
        cmocka_unit_test(fields_may_have_any_order),
        cmocka_unit_test(entries_that_begin_alike_are_checked_as_others),
        cmocka_unit_test(names_are_decoded_and_terminated),
        cmocka_unit_test(every_byte_is_claimed_once),
        cmocka_unit_test(metadata_keeps_its_order_and_ties_are_read),
        cmocka_unit_test(errors_name_the_tensor_and_the_byte),
        cmocka_unit_test(repeated_names_are_refused_at_the_second),
        cmocka_unit_test(other_spellings_read_the_same),
        cmocka_unit_test(numbers_that_no_reader_accepts_are_refused),
        cmocka_unit_test(long_headers_are_read_in_pieces),
        cmocka_unit_test(invalid_utf8_is_reported_first),
        cmocka_unit_test(sizes_are_checked_without_overflow),
        cmocka_unit_test(a_file_that_ends_early_or_late_is_refused),
        cmocka_unit_test(the_header_limit_can_be_lowered),
        cmocka_unit_test(lack_of_memory_at_any_moment_is_an_error),
        cmocka_unit_test(content_is_recognised),
        cmocka_unit_test(tensors_are_written_by_dtype_then_name),
        cmocka_unit_test(metadata_is_sorted_and_has_format_pt),
        cmocka_unit_test(the_users_own_format_is_kept),
        cmocka_unit_test(one_shard_of_several_has_only_format_pt),
        cmocka_unit_test(a_name_that_no_reader_accepts_is_not_written),
        cmocka_unit_test(a_dtype_that_safetensors_lacks_is_not_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
