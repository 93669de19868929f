/* vocab_known.c: published vocabularies, recognised by the SHA-256 of their rank lines:
 *
 *     IQ== 0        tokens in base64 and their ids, in the order of the ids, each line with its \n;
 *     Ig== 1        without the empty token that Whisper's file has
 *
 * For tiktoken's files this equals the output of sha256sum. For a list of merges the rank lines are
 * generated: the bytes in GPT-2's order, then the tokens that the merges make. */
#include <stdio.h>

#include "base/sha256.h"
#include "tokens/vocab/vocab_parts.h"

struct special {
    uint32_t id;
    const char *text;
};

static const struct special CL100K[] = {{100257, "<|endoftext|>"},   {100258, "<|fim_prefix|>"},
                                        {100259, "<|fim_middle|>"},  {100260, "<|fim_suffix|>"},
                                        {100276, "<|endofprompt|>"}, {0, NULL}};
static const struct special O200K[] = {
    {199999, "<|endoftext|>"}, {200018, "<|endofprompt|>"}, {0, NULL}};

static const struct known {
    struct heft_vocab_known known;
    const char *digest;
    const struct special *specials;
} KNOWN[] = {
    {{"gpt2", true, true},
     "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
     NULL},
    {{"p50k_base", true, true},
     "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
     NULL},
    {{"Whisper's multilingual", true, true},
     "316413f0a5497a8219e48697be7faac30a90c0756680c24114266233fba152af",
     NULL},
    {{"cl100k_base", false, false},
     "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
     CL100K},
    {{"o200k_base", false, false},
     "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
     O200K},
    {{"Qwen", false, false},
     "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186",
     NULL},
    {{"Llama 3", false, false},
     "82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55",
     NULL},
    {{"Llama 4", false, false},
     "d0bdbaf59b0762c8c807617e2d8ea51420eb1b1de266df2495be755c8e0ed6ed",
     NULL},
};

static void put_base64(struct heft_sha256 *sha, struct heft_str token)
{
    static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *p = (const uint8_t *)token.p;

    for (size_t i = 0; i < token.n; i += 3) {
        const size_t n = heft_min_size(token.n - i, 3);
        const uint32_t bits =
            (uint32_t)p[i] << 16 | (uint32_t)(n > 1 ? p[i + 1] : 0) << 8 | (n > 2 ? p[i + 2] : 0);
        char out[4];

        for (size_t k = 0; k < 4; k++)
            out[k] = k <= n ? DIGITS[bits >> (18 - 6 * k) & 63] : '=';
        heft_sha256_put(sha, out, sizeof out);
    }
}

static void put_line(struct heft_sha256 *sha, struct heft_str token, uint32_t rank)
{
    char number[12];
    size_t at = sizeof number;

    if (token.n == 0)
        return;
    put_base64(sha, token);
    number[--at] = '\n';
    do
        number[--at] = (char)('0' + rank % 10);
    while ((rank /= 10) > 0);
    number[--at] = ' ';
    heft_sha256_put(sha, number + at, sizeof number - at);
}

static const struct known *find_known(struct heft_sha256 *sha)
{
    uint8_t digest[HEFT_SHA256_BYTES];
    char text[2 * HEFT_SHA256_BYTES + 1];

    heft_sha256_end(sha, digest);
    for (size_t i = 0; i < HEFT_SHA256_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    for (size_t i = 0; i < HEFT_COUNT(KNOWN); i++)
        if (strcmp(text, KNOWN[i].digest) == 0)
            return &KNOWN[i];
    return NULL;
}

const struct heft_vocab_known *heft_vocab_known_merges(const struct heft_vocab *v)
{
    const struct known *known;
    struct heft_sha256 sha;
    uint8_t order[256];

    heft_sha256_init(&sha);
    heft_alphabet_order(order);
    for (uint32_t i = 0; i < 256; i++)
        put_line(&sha, (struct heft_str){(const char *)&order[i], 1}, i);
    for (uint32_t i = 0; i < v->n_merges; i++)
        put_line(&sha, v->tokens[v->merges[i].id], 256 + i);
    known = find_known(&sha);
    return known ? &known->known : NULL;
}

const struct heft_vocab_known *heft_vocab_known_ranks(const struct heft_vocab *v)
{
    const struct known *known;
    struct heft_sha256 sha;

    heft_sha256_init(&sha);
    for (uint32_t id = 0; id < v->n_ids; id++)
        if (v->tokens[id].p)
            put_line(&sha, v->tokens[id], id);
    known = find_known(&sha);
    return known ? &known->known : NULL;
}

static const struct special *specials_of(const struct heft_vocab_known *vocabulary)
{
    for (size_t i = 0; i < HEFT_COUNT(KNOWN); i++)
        if (&KNOWN[i].known == vocabulary)
            return KNOWN[i].specials;
    return NULL;
}

bool heft_vocab_place_special(struct heft_vocab_reading *r, const struct heft_vocab_known *known)
{
    struct heft_vocab *const v = r->v;

    for (const struct special *s = specials_of(known); s && s->text; s++) {
        v->tokens[s->id] = heft_str_of(s->text);
        v->n_ids = s->id + 1;
        if (strcmp(s->text, HEFT_END_OF_TEXT) == 0)
            v->end = s->id;
        if (!heft_vocab_add_special(v, heft_str_of(s->text), s->id, r->err))
            return false;
    }
    return true;
}
