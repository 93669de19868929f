/* test_scan.c: imports and calls that executing a file's pickles would perform. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/model.h"
#include "format/formats.h"
#include "scan/scan.h"
#include "scan/scan_parts.h"
#include "torch_zip.h"

/* Log of reported items, one per line: "danger call os.system". */
struct log {
    char text[2048];
    uint64_t offset; /* offset of the last item */
    bool ok, complete;
    struct heft_error err;
};

static void take(void *ctx, const struct heft_scan_item *item)
{
    static const char *const danger[] = {"allowed", "unknown", "danger"};
    struct log *log = ctx;

    strcat(log->text, danger[item->danger]);
    strcat(log->text, " ");
    strcat(log->text, item->what);
    strcat(log->text, " ");
    strcat(log->text, item->name);
    strcat(log->text, "\n");
    log->offset = item->offset;
}

static void scan(struct log *log, const void *p, size_t n)
{
    struct heft_model model; /* only for its default limits */
    struct heft_source source;

    *log = (struct log){0};
    heft_model_init(&model, NULL, &heft_formats);
    heft_source_open_memory(&source, (struct heft_bytes){p, n}, "file");
    log->ok = heft_scan_file(&source, "file", &model.limits, take, log, &log->complete, &log->err);
    heft_model_release(&model);
}

#define SCAN(log, literal) scan(log, literal, sizeof(literal) - 1)

static void scan_zipped(struct log *log, const char *pickle, size_t n, size_t cut)
{
    struct heft_buf zip = {0};

    torch_zip_of(&zip, (struct heft_bytes){(const uint8_t *)pickle, n});
    scan(log, zip.p, zip.n - cut);
    heft_buf_release(&zip);
}

#define SYSTEM "cos\nsystem\nX\2\0\0\0id\x85R"

static void a_call_is_an_import_and_a_call(void **state)
{
    struct log log;

    (void)state;
    SCAN(&log, "\x80\2" SYSTEM ".");
    assert_true(log.ok && log.complete);
    assert_string_equal(log.text, "danger import os.system\ndanger call os.system\n");
    assert_int_equal(log.offset, 2 + 11 + 7 + 1);
}

static void each_name_is_reported_once(void **state)
{
    struct log log;

    (void)state;
    SCAN(&log, "\x80\2(ccollections\nOrderedDict\n)Rccollections\nOrderedDict\n)Rl.");
    assert_string_equal(log.text, "allowed import collections.OrderedDict\n"
                                  "allowed call collections.OrderedDict\n");
}

static void calls_whose_result_is_dropped_are_reported_too(void **state)
{
    struct log log;

    (void)state;
    SCAN(&log, "\x80\2" SYSTEM "0N.");
    assert_non_null(strstr(log.text, "danger call os.system"));
}

static void the_result_of_a_call_may_be_called(void **state)
{
    struct log log;

    (void)state;
    SCAN(&log, "\x80\2" SYSTEM ")R.");
    assert_non_null(strstr(log.text, "danger call the result of os.system"));
    SCAN(&log, "\x80\2"
               "ccollections\nOrderedDict\n)R)R.");
    assert_non_null(strstr(log.text, "unknown call the result of collections.OrderedDict"));
}

static void calls_before_an_error_are_reported(void **state)
{
    struct log log;

    (void)state;
    SCAN(&log, "\x80\2" SYSTEM "\xff.");
    assert_true(log.ok);
    assert_false(log.complete);
    assert_int_equal(log.err.code, HEFT_MALFORMED);
    assert_non_null(strstr(log.text, "danger call os.system"));
}

/* A pickle that ends before its first value may be the size field of a safetensors header: no
 * finding. */
static void a_truncated_pickle_is_a_finding(void **state)
{
    struct log log;

    (void)state;
    SCAN(&log, "\x80\2N\xff");
    assert_true(log.ok);
    assert_false(log.complete);
    assert_non_null(strstr(log.text, "unknown refused "));
    SCAN(&log, "\x80\2\xff");
    assert_true(log.ok && log.complete);
    assert_string_equal(log.text, "");
}

static void bytes_after_stop_are_a_trick_and_are_scanned(void **state)
{
    struct log log;

    (void)state;
    SCAN(&log, "\x80\2N.\x80\2" SYSTEM ".");
    assert_non_null(strstr(log.text, "danger trick 23 bytes after the pickle's STOP"));
    assert_non_null(strstr(log.text, "danger call os.system"));
}

static void a_legacy_stream_is_five_pickles(void **state)
{
    struct log log;

    (void)state;
    SCAN(&log, "\x80\2\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\2M\xe9\3.\x80\2}."
               "\x80\2" SYSTEM ".\x80\2].numbers");
    assert_true(log.ok && log.complete);
    assert_string_equal(log.text, "danger import os.system\ndanger call os.system\n"
                                  "danger trick 7 bytes after the last storage\n");
}

static void other_files_have_no_items(void **state)
{
    struct log log;

    (void)state;
    SCAN(&log, "\x10\0\0\0\0\0\0\0{\"__metadata__\":{}}");
    assert_true(log.ok && log.complete);
    assert_string_equal(log.text, "");
    SCAN(&log, "colour\nsize\nand more of a text");
    assert_true(log.ok && log.complete);
    assert_string_equal(log.text, "");
}

static void records_of_a_zip_are_recognised_by_content(void **state)
{
    static const uint8_t hidden[] = "\x80\4\x8c\2os\x8c\6system\x93)R.";
    struct torch_zip_record records[] = {
        {.name = "a/data.pkl", .data = {(const uint8_t *)"\x80\2N.", 4}},
        {.name = "a/data/0", .data = {hidden, sizeof hidden - 1}},
        {.name = "a/notes.txt", .data = {(const uint8_t *)"\x80\5text", 6}},
    };
    struct heft_buf zip = {0};
    struct log log;

    (void)state;
    torch_zip_records(&zip, records, HEFT_COUNT(records));
    scan(&log, zip.p, zip.n);
    heft_buf_release(&zip);
    assert_true(log.ok);
    assert_string_equal(log.text, "danger import os.system\ndanger call os.system\n");
}

static void storages_are_numbers_not_pickles(void **state)
{
    static const char pickle[] = "\x80\2(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0"
                                 "0X\3\0\0\0cpuK\2tQ.";
    struct torch_zip_record records[] = {
        {.name = "a/data/0", .data = {(const uint8_t *)"\x80\2\xff\xff\0\0\0\0", 8}},
        {.name = "a/data.pkl", .data = {(const uint8_t *)pickle, sizeof pickle - 1}},
    };
    struct heft_buf zip = {0};
    struct log log;

    (void)state;
    torch_zip_records(&zip, records, HEFT_COUNT(records));
    scan(&log, zip.p, zip.n);
    heft_buf_release(&zip);
    assert_true(log.ok && log.complete);
    assert_string_equal(log.text, "allowed import torch.FloatStorage\n");
}

static void a_refused_zip_is_a_trick_and_is_scanned(void **state)
{
    static const uint8_t bad[] = "\x80\2" SYSTEM ".";
    struct torch_zip_record records[] = {
        {.name = "a/data.pkl", .data = {bad, sizeof bad - 1}},
        {.name = "a/DATA.pkl", .data = {(const uint8_t *)"\x80\2N.", 4}},
    };
    struct heft_buf zip = {0};
    struct log log;

    (void)state;
    torch_zip_records(&zip, records, HEFT_COUNT(records));
    scan(&log, zip.p, zip.n);
    heft_buf_release(&zip);
    assert_true(log.ok && log.complete);
    assert_non_null(strstr(log.text, "danger trick another record's name differs only in upper"));
    assert_non_null(strstr(log.text, "danger call os.system"));
}

static void a_truncated_zip_is_scanned(void **state)
{
    static const char bad[] = "\x80\2" SYSTEM ".";
    struct log log;

    (void)state;
    scan_zipped(&log, bad, sizeof bad - 1, 40);
    assert_true(log.ok);
    assert_false(log.complete);
    assert_non_null(strstr(log.text, "unknown refused no end of central directory"));
    assert_non_null(strstr(log.text, "danger import os.system\ndanger call os.system\n"));
}

/* Base-256 numbers of 64 bits or more must not be cut to their lower bits: tarfile computes with all. */
static void tar_numbers_have_64_bits(void **state)
{
    int64_t n;

    (void)state;
    assert_true(heft_scan_tar_number((const uint8_t *)"\x80\0\0\0\0\0\0\0\0\0\1\5", 12, &n));
    assert_int_equal(n, 0x105);
    assert_true(heft_scan_tar_number(
        (const uint8_t *)"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfb", 12, &n));
    assert_int_equal(n, -5);
    assert_true(
        heft_scan_tar_number((const uint8_t *)"\xff\xff\xff\xff\x80\0\0\0\0\0\0\0", 12, &n));
    assert_true(n == INT64_MIN);
    assert_false(heft_scan_tar_number((const uint8_t *)"\x80\0\0\1\0\0\0\0\0\0\0\5", 12, &n));
    assert_false(heft_scan_tar_number((const uint8_t *)"\xff\xff\xff\xfe\0\0\0\0\0\0\0\5", 12, &n));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_an_import_and_a_call),
        cmocka_unit_test(each_name_is_reported_once),
        cmocka_unit_test(calls_whose_result_is_dropped_are_reported_too),
        cmocka_unit_test(the_result_of_a_call_may_be_called),
        cmocka_unit_test(calls_before_an_error_are_reported),
        cmocka_unit_test(a_truncated_pickle_is_a_finding),
        cmocka_unit_test(bytes_after_stop_are_a_trick_and_are_scanned),
        cmocka_unit_test(a_legacy_stream_is_five_pickles),
        cmocka_unit_test(other_files_have_no_items),
        cmocka_unit_test(records_of_a_zip_are_recognised_by_content),
        cmocka_unit_test(storages_are_numbers_not_pickles),
        cmocka_unit_test(a_refused_zip_is_a_trick_and_is_scanned),
        cmocka_unit_test(a_truncated_zip_is_scanned),
        cmocka_unit_test(tar_numbers_have_64_bits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
