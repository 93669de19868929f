/* fuzz_vocab_beside.c: added tokens beside a vocab.json of the 256 bytes and "ab": the files
 * tokenizer_config.json, special_tokens_map.json and added_tokens.json, separated by bytes 0xFF; an
 * empty one is absent.
 *
 * Invariants: a failure has a code; each added token has an id of the vocabulary, with its text, and
 * none has the id of another one; if texts are refused, no token is placed, or one after another. */
#include <stdint.h>

#include "expect.h"
#include "base/text.h"
#include "tokens/vocab/vocab_beside.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef bool read_fn(struct heft_vocab_reading *r, struct heft_beside *beside,
                     struct heft_bytes text);

/* Appends {"!": 0, …}: the bytes in the order of their characters. */
static void put_ids(struct heft_buf *to)
{
    unsigned n = 0;

    heft_buf_char(to, '{');
    for (uint32_t c = 0; c < HEFT_ALPHABET_ROOM; c++)
        if (heft_alphabet_byte(c) >= 0)
            heft_buf_printf(to, "\"\\u%04x\":%u,", (unsigned)c, n++);
    heft_buf_text(to, "\"ab\":256}");
}

static void check_tokens(const struct heft_vocab *v)
{
    for (size_t i = 0; i < v->n_added; i++) {
        expect(v->added[i].id < v->n_ids);
        expect(heft_str_eq(v->tokens[v->added[i].id], v->added[i].text));
        for (size_t k = 0; k < i && i < 64; k++)
            expect(v->added[k].id != v->added[i].id);
    }
}

static void read_parts(struct heft_vocab_reading *r, const uint8_t *data, size_t size)
{
    static read_fn *const READ[] = {heft_beside_read_config, heft_beside_read_map,
                                    heft_beside_read_added};
    struct heft_beside beside = {0};
    bool ok = true;

    for (size_t i = 0, at = 0; ok && i < HEFT_COUNT(READ) && at <= size; i++) {
        const uint8_t *const end = at < size ? memchr(data + at, 0xFF, size - at) : NULL;
        const size_t n = (end ? (size_t)(end - data) : size) - at;

        if (n > 0)
            ok = READ[i](r, &beside, (struct heft_bytes){data + at, n});
        at += n + 1;
    }
    ok = ok && heft_beside_place(r, &beside);
    expect(ok == (r->err->code == HEFT_OK));
    if (ok)
        check_tokens(r->v);
    heft_beside_release(&beside);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct heft_error err = {0};
    struct heft_buf ids = {0};
    struct heft_vocab *const v = heft_calloc(1, sizeof *v, &err);
    struct heft_vocab_reading r = {.v = v, .err = &err, .least_special = HEFT_NO_TOKEN};

    if (!v)
        return 0;
    v->end = HEFT_NO_TOKEN;
    for (uint32_t c = 0; c < HEFT_ALPHABET_ROOM; c++)
        r.bytes[c] = (int16_t)heft_alphabet_byte(c);
    put_ids(&ids);
    expect(heft_vocab_read_ids(&r, (struct heft_bytes){(const uint8_t *)ids.p, ids.n}));
    read_parts(&r, data, size);
    heft_buf_release(&ids);
    heft_vocab_ids_release(&r.ids);
    heft_strmap_release(&r.added);
    heft_strmap_release(&r.foreign);
    heft_vocab_close(v);
    return 0;
}
