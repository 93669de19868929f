/* fuzz_json.c: any bytes through the JSON parser. Invariants: texts of tokens lie inside the input
 * or the arena, errors have offsets inside the text, containers are balanced, skipping accepts what
 * reading accepts, a window of any size gives the tokens of the whole text, and the functions that read
 * several tokens in one step read the same. */
#include <assert.h>
#include <stdint.h>

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
    /* valid UTF-8 in the input gives valid UTF-8 in the tokens */
    if (heft_utf8_check(json->data) == json->data.n)
        assert(heft_utf8_check((struct heft_bytes){(const uint8_t *)text.p, text.n}) == text.n);
}

/* Returns true if the whole text is one document. */
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

static void check_same(const struct heft_json *a, const struct heft_json *b,
                       enum heft_json_token token)
{
    assert(a->where == b->where && a->depth == b->depth);
    if (token == HEFT_JSON_KEY || token == HEFT_JSON_STRING || token == HEFT_JSON_NUMBER)
        assert(heft_str_eq(a->text, b->text));
}

/* Reads a value by heft_json_integers, and compares what it has read with the tokens of `json`.
 * Returns the token that the next one of `json` must be. */
static enum heft_json_token read_integers(struct heft_json *json, struct heft_json *windowed)
{
    uint64_t values[3], value;
    size_t n;
    const enum heft_json_token token =
        heft_json_integers(windowed, values, 1, HEFT_COUNT(values), &n);
    enum heft_json_token read;

    if (token != HEFT_JSON_ARRAY_END)
        return token;
    read = heft_json_next(json);
    assert(read == HEFT_JSON_ARRAY && n >= 1 && n <= HEFT_COUNT(values));
    for (size_t i = 0; i < n; i++) {
        read = heft_json_next(json);
        assert(read == HEFT_JSON_NUMBER && heft_json_u64(json, &value) && value == values[i]);
    }
    return token;
}

/* Reads the lead of an object that is known, and the same tokens of `json`. */
static void read_lead(struct heft_json *json, struct heft_json *windowed,
                      struct heft_json_lead *lead)
{
    const unsigned n = heft_json_take_lead(windowed, lead);
    enum heft_json_token token = HEFT_JSON_KEY;

    assert(n <= HEFT_JSON_LEAD_KEYS);
    while (n > 0 && json->at < windowed->base + windowed->at) {
        token = heft_json_next(json);
        assert(token != HEFT_JSON_ERROR);
    }
    assert(n == 0 || (token == HEFT_JSON_KEY && json->at == windowed->base + windowed->at));
    assert(json->depth == windowed->depth);
}

/* Compares each token with that of the same text in memory. */
static void read_through_window(struct heft_bytes data, size_t window)
{
    struct heft_arena mem = {0}, window_mem = {0};
    struct heft_error err = {0}, window_err = {0};
    struct heft_json json, windowed;
    struct heft_json_lead lead = {0};
    enum heft_json_token token = HEFT_JSON_NULL, expected;
    struct heft_source src;
    bool in_lead = false, ok;

    heft_source_open_memory(&src, data, "input");
    heft_json_begin(&json, data, 0, &mem, &err);
    ok = heft_json_open(&windowed, &src, 0, data.n, window, &window_mem, &window_err);
    assert(ok);
    do {
        in_lead = in_lead && windowed.depth > lead.depth;
        if (token == HEFT_JSON_KEY && heft_str_starts(windowed.text, HEFT_STR("k"))) {
            if (in_lead && windowed.depth == lead.depth + 1)
                heft_json_lead_key(&windowed, &lead);
        } else if (token == HEFT_JSON_KEY) {
            read_lead(&json, &windowed, &lead);
            in_lead = true;
        }
        if (token == HEFT_JSON_KEY)
            expected = read_integers(&json, &windowed);
        else if (heft_json_take_end(&windowed))
            expected = HEFT_JSON_OBJECT_END;
        else if (heft_json_take_key(&windowed, HEFT_STR("\"key\":")))
            expected = HEFT_JSON_KEY;
        else
            expected = heft_json_next(&windowed);
        token = heft_json_next(&json);
        assert(token == expected);
        if (token != HEFT_JSON_ERROR)
            check_same(&json, &windowed, token);
    } while (token != HEFT_JSON_ERROR && token != HEFT_JSON_END);
    assert(err.code == window_err.code && err.offset == window_err.offset &&
           strcmp(err.text, window_err.text) == 0);
    assert(heft_json_next(&windowed) == token);
    heft_json_close(&windowed);
    heft_arena_release(&mem);
    heft_arena_release(&window_mem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct heft_bytes text = {data, size};
    struct heft_error read = {0}, skipped = {0};
    const bool whole = read_all(text, &read);

    assert(skip_all(text, &skipped) == whole);
    assert(whole == (read.code == HEFT_OK));
    assert(read.code == skipped.code && read.offset == skipped.offset);
    assert(whole || (read.offset >= BASE && read.offset <= BASE + size));
    if (heft_utf8_check(text) == size) {
        read_through_window(text, 1 + size % 13);
        read_through_window(text, 200);
    }
    return 0;
}
