/* fuzz_decode.c: any bytes as a file of ids, and any bytes as the bytes of tokens: their text must
 * be valid UTF-8 and the same however the ids are split. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "tokens/decode/decode.h"
#include "tokens/vocab/vocab_open.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST 4096

struct text {
    uint8_t p[4 * MOST];
    size_t n;
};

static bool append(void *ctx, const char *text, size_t n)
{
    struct text *t = ctx;

    assert(heft_utf8_check((struct heft_bytes){(const uint8_t *)text, n}) == n);
    assert(n <= sizeof t->p - t->n);
    memcpy(t->p + t->n, text, n);
    t->n += n;
    return true;
}

static bool ignore(void *ctx, const char *text, size_t n)
{
    (void)ctx;
    (void)text;
    return n > 0;
}

static void decode_bytes(const struct heft_vocab *v, const uint8_t *data, size_t size,
                         size_t portion, struct text *out)
{
    struct heft_error err = {0};
    struct heft_decoder *d = heft_decoder_new(v, &err);
    bool ok = true;

    out->n = 0;
    for (size_t at = 0; ok && at < size; at += portion) {
        uint32_t ids[MOST];
        const size_t n = heft_min_size(size - at, portion);

        for (size_t i = 0; i < n; i++)
            ids[i] = v->byte_ids[data[at + i]];
        ok = heft_decoder_feed(d, ids, n, append, out, &err);
    }
    ok = ok && heft_decoder_finish(d, append, out, &err);
    assert(ok);
    heft_decoder_free(d);
}

static void decode_file(const struct heft_vocab *v, const uint8_t *data, size_t size)
{
    char path[] = "/tmp/heft-fuzz-decode-XXXXXX";
    struct heft_error err = {0};
    const int fd = mkstemp(path);
    bool ok;

    assert(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    close(fd);
    ok = heft_decode_file(v, path, ignore, NULL, &err);
    assert(ok == (err.code == HEFT_OK));
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char MERGES[] = "a b\n";
    struct heft_error err = {0};
    struct heft_vocab *v =
        heft_vocab_from((struct heft_bytes){(const uint8_t *)MERGES, sizeof MERGES - 1},
                        (struct heft_bytes){0}, NULL, &err);
    static struct text whole, parts;

    assert(v);
    decode_file(v, data, size);
    if (size <= MOST) {
        decode_bytes(v, data, size, MOST, &whole);
        decode_bytes(v, data, size, 1 + size % 5, &parts);
        assert(whole.n == parts.n && memcmp(whole.p, parts.p, whole.n) == 0);
    }
    heft_vocab_close(v);
    return 0;
}
