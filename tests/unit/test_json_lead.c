/* test_json_lead.c: objects that begin alike, read by heft_json_take_lead. fuzz_json.c compares what it
 * reads with single tokens, through windows of several sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wire/json.h"

#define BASE 1000 /* file offset of the text */

struct run {
    struct heft_arena mem;
    struct heft_error err;
    struct heft_json json;
    uint8_t *copy;
};

/* Opens a copy of the text in a heap block of its exact size, so that a sanitizer detects a read of
 * one byte too many. */
static void begin(struct run *run, const char *text, size_t n)
{
    *run = (struct run){.copy = malloc(n ? n : 1)};
    assert_non_null(run->copy);
    memcpy(run->copy, text, n);
    heft_json_begin(&run->json, (struct heft_bytes){run->copy, n}, BASE, &run->mem, &run->err);
}

static void end(struct run *run)
{
    heft_arena_release(&run->mem);
    free(run->copy);
}

static void read_through(struct run *run, enum heft_json_token token)
{
    enum heft_json_token read;

    do {
        read = heft_json_next(&run->json);
        assert_int_not_equal(read, HEFT_JSON_ERROR);
    } while (read != token);
}

/* Reads the objects of the top object, and expects for each of them, in `counts`, the number of keys of its
 * lead. A lead ends at the keys "y" and "z". */
static void expect_leads(const char *text, const char *counts)
{
    struct heft_json_lead lead = {0};
    enum heft_json_token token;
    struct run run;
    unsigned n;

    begin(&run, text, strlen(text));
    assert_int_equal(heft_json_next(&run.json), HEFT_JSON_OBJECT);
    for (; *counts; counts++) {
        assert_int_equal(heft_json_next(&run.json), HEFT_JSON_KEY);
        n = heft_json_take_lead(&run.json, &lead);
        assert_int_equal(n, *counts - '0');
        assert_int_equal(run.json.depth, n > 0 ? 2 : 1);
        while (run.json.depth > 1 || n == 0) {
            token =
                heft_json_take_end(&run.json) ? HEFT_JSON_OBJECT_END : heft_json_next(&run.json);
            assert_int_not_equal(token, HEFT_JSON_ERROR);
            if (token == HEFT_JSON_KEY &&
                (heft_str_is(run.json.text, "y") || heft_str_is(run.json.text, "z")))
                heft_json_lead_key(&run.json, &lead);
            n = 1;
        }
    }
    assert_int_equal(heft_json_next(&run.json), HEFT_JSON_OBJECT_END);
    assert_int_equal(heft_json_next(&run.json), HEFT_JSON_END);
    end(&run);
}

#define BLANKS                                                                                     \
    "                                                                " /* HEFT_JSON_LEAD */

static void objects_that_begin_alike_are_read_in_one_step(void **state)
{
    (void)state;
    expect_leads("{}" BLANKS, "");
    expect_leads("{\"a\":{\"x\":1,\"y\":2,\"z\":3},\"b\":{\"x\":1,\"y\":2,\"z\":4}}" BLANKS, "02");
    expect_leads("{\"a\":{\"y\":[2],\"z\":3},\"b\":{\"y\":[2,3],\"z\":4},"
                 "\"c\":{\"y\":[2,3],\"z\":{}}}" BLANKS,
                 "012");
    expect_leads("{\"a\":{\"y\":2,\"z\":3},\"b\":{\"x\":2,\"z\":3},\"c\":{\"x\":2,\"z\":3}}" BLANKS,
                 "001");
    expect_leads("{\"a\":{\"y\":2},\"b\":{\"y\" :2},\"c\": {\"y\":2},"
                 "\"d\": {\"y\":2},\"e\":[{\"y\":2}]}" BLANKS,
                 "00010");
    expect_leads("{\"a\":{\"\\u0079\":2},\"b\":{\"\\u0079\":2},\"c\":{}}" BLANKS, "010");
}

static void a_lead_is_not_taken_where_it_is_none(void **state)
{
    static const char text[] =
        "{\"a\":{\"y\":1},\"b\":[{\"y\":1},{\"y\":1}],\"c\":{\"d\":{\"y\":1}}}" BLANKS;
    struct heft_json_lead lead = {0}, after_comma = {0};
    struct run run;

    (void)state;
    begin(&run, text, strlen(text));
    for (int i = 0; i < 2; i++)
        (void)heft_json_next(&run.json);
    assert_int_equal(heft_json_take_lead(&run.json, &lead), 0);
    heft_json_lead_key(&run.json, &lead); /* no key has been read */
    for (int i = 0; i < 2; i++)
        (void)heft_json_next(&run.json);
    heft_json_lead_key(&run.json, &lead);
    assert_int_equal(lead.n, 1);
    read_through(&run, HEFT_JSON_ARRAY);
    assert_int_equal(heft_json_take_lead(&run.json, &(struct heft_json_lead){0}), 0);
    read_through(&run, HEFT_JSON_OBJECT_END);
    after_comma = lead;
    assert_int_equal(heft_json_take_lead(&run.json, &after_comma), 0); /* a comma comes first */
    for (int i = 0; i < 2; i++)
        (void)heft_json_next(&run.json);
    heft_json_lead_key(&run.json, &after_comma);
    assert_int_equal(after_comma.n, 0);
    read_through(&run, HEFT_JSON_ARRAY_END);
    for (int i = 0; i < 3; i++)
        (void)heft_json_next(&run.json);
    assert_true(heft_str_is(run.json.text, "d"));
    assert_int_equal(heft_json_take_lead(&run.json, &lead), 0); /* another depth */
    end(&run);
}

/* A lead may be too long, or too near to the end of the text. */
static void a_lead_that_was_not_kept_is_not_taken(void **state)
{
    static const char long_lead[] =
        "{\"a\":{\"x\":\"" BLANKS "\",\"y\":1},\"b\":{\"x\":\"" BLANKS "\",\"y\":1}}" BLANKS;
    static const char at_end[] = "{\"a\":{\"y\":1},\"b\":{\"y\":1}}";

    (void)state;
    expect_leads(long_lead, "00");
    expect_leads(at_end, "00");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_that_begin_alike_are_read_in_one_step),
        cmocka_unit_test(a_lead_is_not_taken_where_it_is_none),
        cmocka_unit_test(a_lead_that_was_not_kept_is_not_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
