/* fuzz_lines.c: JSON lines, whole and in pieces of a few bytes, give the same documents and the
 * same error at the same offset; documents are valid UTF-8. The first byte selects the pieces; its bit 5:
 * the text is in a nested object. */
#include <assert.h>
#include <stdint.h>

#include "base/text.h"
#include "tokens/input/json_lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool keep(void *ctx, struct heft_str text, struct heft_error *err)
{
    (void)err;
    assert(heft_utf8_check((struct heft_bytes){(const uint8_t *)text.p, text.n}) == text.n);
    heft_buf_str(ctx, text);
    heft_buf_char(ctx, '\0');
    return true;
}

static bool put(struct heft_json_lines *lines, const uint8_t *p, size_t n, struct heft_error *err)
{
    uint8_t *to;
    size_t room;

    if (!heft_json_lines_room(lines, &to, &room, err))
        return false;
    assert(n <= room);
    if (n > 0)
        memcpy(to, p, n);
    return heft_json_lines_put(lines, n, err);
}

static bool read_pieces(const uint8_t *data, size_t size, size_t piece, uint8_t how,
                        struct heft_buf *documents, struct heft_error *err)
{
    struct heft_json_lines lines = {.key = how & 32 ? HEFT_STR("t.u.t") : HEFT_STR("t"),
                                    .replace = how & 16,
                                    .document = keep,
                                    .ctx = documents};
    bool ok = true;

    for (size_t at = 0; ok && at < size; at += piece)
        ok = put(&lines, data + at, (size_t)heft_min_u64(piece, size - at), err);
    ok = ok && put(&lines, NULL, 0, err);
    heft_json_lines_release(&lines);
    return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct heft_buf whole = {0}, parts = {0};
    struct heft_error err = {0}, other = {0};
    bool ok;
    size_t piece;

    if (size < 2 || size > 65536 || heft_utf8_check((struct heft_bytes){data, size}) < size)
        return 0;
    piece = (data[0] & 15) + 1;
    ok = read_pieces(data + 1, size - 1, size, data[0], &whole, &err);
    assert(read_pieces(data + 1, size - 1, piece, data[0], &parts, &other) == ok);
    assert(whole.n == parts.n && (whole.n == 0 || memcmp(whole.p, parts.p, whole.n) == 0));
    assert(ok || (err.code == other.code && err.offset == other.offset && err.offset < size));
    heft_buf_release(&whole);
    heft_buf_release(&parts);
    return 0;
}
