/* test_decode.c: decoding of ids to text with Python's replacement rule; files of ids, valid and
 * damaged. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/endian.h"
#include "tokens/decode/decode.h"
#include "tokens/vocab/vocab_open.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "failures.h"

static struct heft_vocab *vocab;

static int make_vocab(void **unused)
{
    static const char MERGES[] = "#version: 0.2\nÃ ©\na b\n";
    struct heft_error err = {0};

    (void)unused;
    vocab = heft_vocab_from((struct heft_bytes){(const uint8_t *)MERGES, sizeof MERGES - 1},
                            (struct heft_bytes){0}, NULL, &err);
    return vocab ? 0 : -1;
}

static int drop_vocab(void **unused)
{
    (void)unused;
    heft_vocab_close(vocab);
    return 0;
}

struct text {
    char p[4096];
    size_t n;
};

static bool append(void *ctx, const char *text, size_t n)
{
    struct text *t = ctx;

    assert_true(n > 0 && t->n + n < sizeof t->p);
    memcpy(t->p + t->n, text, n);
    t->n += n;
    return true;
}

/* number of ids so far, in test_many_decimals */
static bool follow(void *ctx, const char *text, size_t n)
{
    size_t *const count = ctx;

    for (size_t i = 0; i < n; i++, ++*count)
        assert_int_equal(text[i], *count % 9 ? 'a' : 'b');
    return true;
}

static bool refuse(void *ctx, const char *text, size_t n)
{
    (void)ctx;
    (void)text;
    (void)n;
    return false;
}

/* ---- replacement ------------------------------------------------------------------------- */

#define R "\xEF\xBF\xBD"

static const struct {
    const char *bytes, *text;
} CASES[] = {
    {"plain \xC3\xA9 \xE4\xB8\xAD \xF0\x9F\x98\x80", "plain é 中 \U0001F600"},
    {"\xF0\x9F\x99\x41", R "A"},
    {"\xE2\x82", R},
    {"\xC0\x80", R R},
    {"\xED\xA0\x80", R R R},
    {"\xF4\x90\x80\x80", R R R R},
    {"\xF5\x80", R R},
    {"\xE2\x28\xA1", R "(" R},
    {"\xF0\x90\x28", R "("},
    {"\xE0\x80\x80", R R R},
    {"\xF0\x80\x80\x80", R R R R},
    {"\xC3", R},
    {"\xC3\xC3\xA9", R "é"},
    {"\xE2\x82\xE2\x82\xAC", R "€"},
    {"\xF0\x9F\x98\xF0\x9F\x98\x80\xF0\x9F", R "\U0001F600" R},
    {"\x80\xBF\xFF\xFE", R R R R},
};

/* Decodes `portion` ids per call. */
static void decode_bytes(const char *bytes, size_t portion, struct text *out)
{
    struct heft_error err = {0};
    struct heft_decoder *d = heft_decoder_new(vocab, &err);
    uint32_t ids[64];
    const size_t n = strlen(bytes);

    assert_non_null(d);
    out->n = 0;
    for (size_t i = 0; i < n; i++)
        ids[i] = vocab->byte_ids[(uint8_t)bytes[i]];
    for (size_t at = 0; at < n; at += portion)
        assert_true(
            heft_decoder_feed(d, ids + at, heft_min_size(n - at, portion), append, out, &err));
    assert_true(heft_decoder_finish(d, append, out, &err));
    heft_decoder_free(d);
}

static void test_replacement(void **unused)
{
    struct text out;

    (void)unused;
    for (size_t i = 0; i < HEFT_COUNT(CASES); i++)
        for (size_t portion = 1; portion < 8; portion++) {
            decode_bytes(CASES[i].bytes, portion, &out);
            assert_int_equal(out.n, strlen(CASES[i].text));
            assert_memory_equal(out.p, CASES[i].text, out.n);
        }
}

static void test_decoder_errors(void **unused)
{
    const uint32_t ids[] = {1, 2, 259};
    struct heft_error err = {0};
    struct heft_decoder *d = heft_decoder_new(vocab, &err);
    struct text out = {.n = 0};

    (void)unused;
    assert_true(heft_decoder_feed(d, ids, 2, append, &out, &err));
    assert_false(heft_decoder_feed(d, ids, 3, append, &out, &err));
    assert_int_equal(err.code, HEFT_MALFORMED);
    assert_int_equal(err.offset, 4);
    err = (struct heft_error){0};
    assert_false(heft_decoder_feed(d, ids, 2, refuse, NULL, &err));
    assert_int_equal(err.code, HEFT_CANCELLED);
    err = (struct heft_error){0};
    out.n = 0;
    assert_true(heft_decoder_feed(d, ids, 1, append, &out, &err)); /* the decoder is reset */
    assert_true(heft_decoder_finish(d, append, &out, &err));
    assert_int_equal(out.n, 1);
    heft_decoder_free(d);
}

/* ---- files ------------------------------------------------------------------------------- */

static char folder[200];

static const char *path_of(const char *name)
{
    static char path[300];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void put_file(const char *name, const void *bytes, size_t n)
{
    FILE *file = fopen(path_of(name), "wb");

    assert_true(file && fwrite(bytes, 1, n, file) == n && fclose(file) == 0);
}

/* Decodes a file into its text, or fails with its error. */
static bool decode_file(const char *name, struct text *out, struct heft_error *err)
{
    *err = (struct heft_error){0};
    out->n = 0;
    return heft_decode_file(vocab, path_of(name), append, out, err);
}

static void expect_text(const char *name, const char *text)
{
    struct heft_error err;
    struct text out;

    if (!decode_file(name, &out, &err))
        fail_msg("%s: %s", name, err.text);
    assert_int_equal(out.n, strlen(text));
    assert_memory_equal(out.p, text, out.n);
}

static void expect_refusal(const char *name, enum heft_code code, uint64_t offset,
                           const char *message)
{
    struct heft_error err;
    struct text out;

    if (decode_file(name, &out, &err) || err.code != code || err.offset != offset ||
        !strstr(err.text, message) || !strstr(err.file, name))
        fail_msg("%s: code %d, offset %llu, file %s, \"%s\"", name, (int)err.code,
                 (unsigned long long)err.offset, err.file, err.text);
    unlink(path_of(name));
}

/* "é", "ab", "a" */
static const uint8_t IDS[] = {0, 1, 1, 1, 64, 0};

static void test_streams(void **unused)
{
    uint8_t llmc[1024 + sizeof IDS] = {0};

    (void)unused;
    put_file("s.bin", IDS, sizeof IDS);
    expect_text("s.bin", "éaba");
    unlink(path_of("s.bin"));
    put_file("empty.bin", IDS, 0);
    expect_text("empty.bin", "");
    unlink(path_of("empty.bin"));
    put_file("odd.bin", IDS, 3);
    expect_refusal("odd.bin", HEFT_MALFORMED, 2, "not a multiple of the 2 bytes");
    put_file("high.bin", "\1\0\3\1", 4);
    expect_refusal("high.bin", HEFT_MALFORMED, 2, "id 259 has no token");
    heft_put_le32(llmc, 20240520);
    heft_put_le32(llmc + 4, 1);
    heft_put_le32(llmc + 8, 3);
    memcpy(llmc + 1024, IDS, sizeof IDS);
    put_file("l.bin", llmc, sizeof llmc);
    expect_text("l.bin", "éaba");
    put_file("l.bin", llmc, sizeof llmc - 2);
    expect_refusal("l.bin", HEFT_MALFORMED, 1024,
                   "3 ids of 2 bytes do not match the 4 bytes of data");
    put_file("l.bin", llmc, 1000);
    expect_refusal("l.bin", HEFT_MALFORMED, 1000, "header is truncated");
    llmc[4] = 2;
    put_file("l.bin", llmc, sizeof llmc);
    expect_refusal("l.bin", HEFT_UNSUPPORTED, 4, "version 2 of llm.c");
}

static void test_decimals(void **unused)
{
    static const struct {
        const char *name, *bytes, *text;
    } files[] = {
        {"d.ids", "256 257 64\n", "éaba"},
        {"d.txt", "\n 256\r\n\t257  000064", "éaba"}, /* recognised by content */
        {"d.bin", "256 257 64\n", "éaba"},
        {"e.txt", "257\n64\n", "aba"}, /* no .bin stream of 2-byte ids: odd size (7 bytes) */
        {"s.ids", "64", "a"},
        {"e.ids", "\n", ""},
    };

    (void)unused;
    for (size_t i = 0; i < HEFT_COUNT(files); i++) {
        put_file(files[i].name, files[i].bytes, strlen(files[i].bytes));
        expect_text(files[i].name, files[i].text);
        unlink(path_of(files[i].name));
    }
    put_file("few.bin", "64", 2); /* ambiguous content, and the name does not end in .ids */
    expect_refusal("few.bin", HEFT_MALFORMED, 0, "id 13366 has no token");
    /* a stream: the name is one that encode gives to streams */
    put_file("many.bin", "64 64 64", 8);
    expect_refusal("many.bin", HEFT_MALFORMED, 0, "id 13366 has no token");
    put_file("d.ids", "64 64 0259 64\n", 14);
    expect_refusal("d.ids", HEFT_MALFORMED, 6, "id 0259 has no token");
    put_file("d.ids", "64 99999999999999999999999999", 29);
    expect_refusal("d.ids", HEFT_MALFORMED, 3, "id 99999999999999999999 has no token");
    put_file("d.ids", "64 64 64 64 64 64 64 64 64 64 64 64 64 64 64 64 64 64 64 64 64 64 64-1", 70);
    expect_refusal("d.ids", HEFT_MALFORMED, 68, "byte 0x2d");
}

/* More ids than a batch, in more bytes than one read. */
static void test_many_decimals(void **unused)
{
    const size_t n = 50000;
    char *bytes = malloc(n * 3);
    struct heft_error err = {0};
    size_t count = 0;

    (void)unused;
    assert_non_null(bytes);
    for (size_t i = 0; i < n; i++)
        memcpy(bytes + 3 * i, i % 9 ? "64 " : "65\n", 3);
    memcpy(bytes + 3 * (n - 1), "9\n\n", 3);
    bytes[3 * (n - 2) + 2] = '9'; /* makes the last two ids 6499 */
    put_file("m.ids", bytes, n * 3);
    assert_false(heft_decode_file(vocab, path_of("m.ids"), follow, &count, &err));
    assert_int_equal(err.offset, 3 * (n - 2));
    assert_int_equal(count, n / 8192 * 8192); /* the whole batches before the error */
    unlink(path_of("m.ids"));
    free(bytes);
}

static size_t put_npy(uint8_t *to, const char *dict, const void *data, size_t n)
{
    const size_t length = strlen(dict);

    memcpy(to, "\x93NUMPY\1\0", 8);
    heft_put_le16(to + 8, (uint16_t)length);
    memcpy(to + 10, dict, length);
    memcpy(to + 10 + length, data, n);
    return 10 + length + n;
}

#define DICT(descr, order, shape)                                                                  \
    "{'descr': '" descr "', 'fortran_order': " order ", 'shape': " shape ", }\n"

#define DICT_OF_RECORDS "{'descr': [('a', '<u2')], 'fortran_order': False, 'shape': (3,)}"

static const struct {
    const char *dict;
    enum heft_code code; /* HEFT_OK: the text is "éaba" */
    uint64_t offset;
    const char *message;
} ARRAYS[] = {
    {DICT("<u2", "False", "(3,)"), HEFT_OK, 0, ""},
    {DICT("<i2", "True", "(3,)"), HEFT_OK, 0, ""},
    {DICT("<u2", "False", "(1, 3)"), HEFT_OK, 0, ""},
    {DICT("<u2", "True", "(1, 3)"), HEFT_UNSUPPORTED, 21, "Fortran order"},
    {DICT("<u2", "False", "(4,)"), HEFT_MALFORMED, 68,
     "4 ids of 2 bytes do not match the 6 bytes of data"},
    {DICT("<u2", "False", "(99999999999999999999,)"), HEFT_MALFORMED, 61, "2^63 or more"},
    {DICT("<u2", "False", "(4294967296, 4294967296)"), HEFT_MALFORMED, 10, "2^63 bytes or more"},
    {DICT("<u2", "False", "3"), HEFT_MALFORMED, 60, "must be a tuple"},
    {DICT("|O", "False", "(3,)"), HEFT_UNSAFE, 21, "Python objects"},
    {DICT("<f4", "False", "(3,)"), HEFT_UNSUPPORTED, 21, "type <f4"},
    {DICT(">u2", "False", "(3,)"), HEFT_UNSUPPORTED, 21, "type >u2"},
    {DICT("<u2", "Maybe", "(3,)"), HEFT_MALFORMED, 44, "True or False"},
    {"{'descr': '<u2', 'shape': (3,)}", HEFT_MALFORMED, 10, "'fortran_order' is missing"},
    {"{'descr': '<u2', 'speed': 3}", HEFT_MALFORMED, 27, "key 'speed'"},
    {"['descr']", HEFT_MALFORMED, 10, "the begin of a dictionary"},
    {"{'descr': '<u2'", HEFT_MALFORMED, 25, "its end"},
    {DICT_OF_RECORDS, HEFT_UNSUPPORTED, 20, "type [('a', '<u2')]"},
};

static void test_arrays(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < HEFT_COUNT(ARRAYS); i++) {
        uint8_t file[300];

        put_file("a.npy", file, put_npy(file, ARRAYS[i].dict, IDS, sizeof IDS));
        if (ARRAYS[i].code == HEFT_OK)
            expect_text("a.npy", "éaba");
        else
            expect_refusal("a.npy", ARRAYS[i].code, ARRAYS[i].offset, ARRAYS[i].message);
    }
    put_file("a.npy", "\x93NUMPY\4\0\0\0\0\0\0\0", 14);
    expect_refusal("a.npy", HEFT_UNSUPPORTED, 6, "version 4");
    put_file("a.npy", "\x93NUMPY\1\0\xFF\0\0\0\0\0", 14);
    expect_refusal("a.npy", HEFT_MALFORMED, 14, "ends early");
    put_file("a.npy", "\x93NUMPY\1\0\0\0\0\0\0\0", 14);
    expect_refusal("a.npy", HEFT_MALFORMED, 8, "header of 10 bytes");
    put_file("a.npy", "\x93NUMPY\2\0\0\0\1\0\0\0", 14);
    expect_refusal("a.npy", HEFT_LIMIT, 8, "the limit is 65536");
}

static size_t put_index(uint8_t *to, uint64_t version, uint8_t type, uint64_t sequences)
{
    memcpy(to, "MMIDIDX\0\0", 9);
    heft_put_le64(to + 9, version);
    to[17] = type;
    heft_put_le64(to + 18, sequences);
    heft_put_le64(to + 26, 3);
    heft_put_le32(to + 34, 1); /* lengths, then offsets, then documents */
    heft_put_le32(to + 38, 2);
    heft_put_le64(to + 42, 0);
    heft_put_le64(to + 50, 2);
    for (uint64_t i = 0; i < 3; i++)
        heft_put_le64(to + 58 + 8 * i, i);
    return 82;
}

static void test_megatron(void **unused)
{
    uint8_t index[96];

    (void)unused;
    put_file("m.bin", IDS, sizeof IDS);
    put_file("m.idx", index, put_index(index, 1, 8, 2));
    expect_text("m.idx", "éaba");
    expect_text("m.bin", "éaba");
    put_file("m.bin", "\0\1\1\1\100\0\100\0", 8); /* rewritten as a stream without an index */
    expect_refusal("m.bin", HEFT_MALFORMED, HEFT_NO_OFFSET, "ends at 6 of its 8 bytes");
    put_file("m.bin", IDS, sizeof IDS);
    put_file("m.idx", index, put_index(index, 2, 8, 2));
    expect_refusal("m.idx", HEFT_UNSUPPORTED, 9, "version 2");
    put_file("m.idx", index, put_index(index, 1, 7, 2));
    expect_refusal("m.idx", HEFT_UNSUPPORTED, 17, "type 7");
    put_file("m.idx", index, put_index(index, 1, 8, UINT64_MAX / 3));
    expect_refusal("m.idx", HEFT_MALFORMED, 18, "do not fit into");
    put_file("m.idx", index, put_index(index, 1, 8, 2) - 1);
    expect_refusal("m.idx", HEFT_MALFORMED, 18, "do not fit into");
    put_file("m.idx", index, 20);
    expect_refusal("m.idx", HEFT_MALFORMED, 20, "is truncated");
    (void)put_index(index, 1, 8, 2);
    heft_put_le64(index + 26, UINT64_MAX / 4);
    put_file("m.idx", index, 82);
    expect_refusal("m.idx", HEFT_MALFORMED, 18, "document entries do not fit into");
    (void)put_index(index, 1, 8, 2);
    heft_put_le32(index + 38, 3);
    put_file("m.idx", index, 82);
    expect_refusal("m.idx", HEFT_MALFORMED, 38, "exceeds the 6 bytes");
    unlink(path_of("m.bin"));
}

static void test_no_memory(void **unused)
{
    struct failures fail = {.most = 1000};
    uint8_t file[300];

    (void)unused;
    put_file("a.npy", file, put_npy(file, ARRAYS[0].dict, IDS, sizeof IDS));
    while (!fail.done) {
        struct heft_error err;
        struct text out;

        FAIL_ALLOCATION(&fail, decode_file("a.npy", &out, &err), &err);
    }
    assert_true(fail.n > 3);
    unlink(path_of("a.npy"));
}

static int make_folder(void **unused)
{
    const char *tmp = getenv("TMPDIR");

    snprintf(folder, sizeof folder, "%.150s/decode-XXXXXX", tmp ? tmp : "/tmp");
    return mkdtemp(folder) && make_vocab(unused) == 0 ? 0 : -1;
}

static int drop_folder(void **unused)
{
    unlink(path_of("a.npy"));
    rmdir(folder);
    return drop_vocab(unused);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replacement),   cmocka_unit_test(test_decoder_errors),
        cmocka_unit_test(test_streams),       cmocka_unit_test(test_decimals),
        cmocka_unit_test(test_many_decimals), cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_megatron),      cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests_name("decode", tests, make_folder, drop_folder);
}
