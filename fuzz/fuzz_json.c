/* fuzz_json.c: any bytes through the JSON parser. What it hands out lies where it says, errors
 * point into the text, containers close as they opened, and skipping sees what reading sees. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/text.h"
#include "wire/json.h"

#define BASE 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const struct heft_json *json, enum heft_json_token token)
{
    const struct heft_str text = json->text;

    if (token != HEFT_JSON_KEY && token != HEFT_JSON_STRING && token != HEFT_JSON_NUMBER)
        return;
    assert(text.n <= json->data.n);
    /* Valid UTF-8 in, valid UTF-8 out. */
    if (heft_utf8_check(json->data) == json->data.n)
        assert(heft_utf8_check((struct heft_bytes){(const uint8_t *)text.p, text.n}) == text.n);
}

/* True where the whole text is one document. */
static bool read_all(struct heft_bytes data, struct heft_error *err)
{
    struct heft_arena mem = {0};
    struct heft_json json;
    enum heft_json_token token;
    uint64_t last = 0;
    long depth = 0;

    heft_json_begin(&json, data, BASE, &mem, err);
    do {
        token = heft_json_next(&json);
        check_text(&json, token);
        depth += token == HEFT_JSON_OBJECT || token == HEFT_JSON_ARRAY;
        depth -= token == HEFT_JSON_OBJECT_END || token == HEFT_JSON_ARRAY_END;
        assert(depth >= 0 && depth <= HEFT_JSON_DEPTH);
        if (token != HEFT_JSON_ERROR) {
            assert(json.where >= last && json.where <= BASE + data.n);
            last = json.where;
        }
    } while (token != HEFT_JSON_ERROR && token != HEFT_JSON_END);
    assert(heft_json_next(&json) == token);
    assert(mem.total <= 2 * data.n + (128 << 10));
    heft_arena_release(&mem);
    return token == HEFT_JSON_END;
}

static bool skip_all(struct heft_bytes data, struct heft_error *err)
{
    struct heft_arena mem = {0};
    struct heft_json json;
    bool ok;

    heft_json_begin(&json, data, BASE, &mem, err);
    ok = heft_json_skip(&json) && heft_json_next(&json) == HEFT_JSON_END;
    assert(mem.total == 0);
    heft_arena_release(&mem);
    return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct heft_error read = {0}, skipped = {0};
    const bool whole = read_all((struct heft_bytes){data, size}, &read);

    assert(skip_all((struct heft_bytes){data, size}, &skipped) == whole);
    assert(whole == (read.code == HEFT_OK));
    assert(read.code == skipped.code && read.offset == skipped.offset);
    assert(whole || (read.offset >= BASE && read.offset <= BASE + size));
    return 0;
}
