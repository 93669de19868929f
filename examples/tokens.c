/* tokens.c: encodes a text to ids, and decodes the ids to text.
 *
 *     tokens TEXT [VOCABULARY]
 *
 * The default VOCABULARY (a directory, tokenizer.json, .tiktoken or vocab.bpe) is GPT-2's, if the
 * library was built with it. */
#include <heft/heft.h>
#include <heft/tokens.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool print_text(void *ctx, const char *text, size_t n)
{
    return fwrite(text, 1, n, ctx) == n;
}

static bool encode(const struct heft_vocab *v, const char *text, uint32_t *ids, size_t room,
                   size_t *count, struct heft_error *err)
{
    struct heft_encoder *e = heft_encoder_new(v, NULL, err);
    const bool ok = e && heft_encode(e, text, strlen(text), ids, room, count, err);

    heft_encoder_free(e);
    return ok;
}

static bool decode(const struct heft_vocab *v, const uint32_t *ids, size_t n,
                   struct heft_error *err)
{
    struct heft_decoder *d = heft_decoder_new(v, err);
    const bool ok = d && heft_decoder_feed(d, ids, n, print_text, stdout, err) &&
                    heft_decoder_finish(d, print_text, stdout, err);

    heft_decoder_free(d);
    return ok;
}

int main(int argc, char **argv)
{
    struct heft_error err = {0};
    struct heft_vocab *v;
    uint32_t *ids;
    size_t room, n = 0;
    char line[1024];
    bool ok;

    if (argc < 2 || argc > 3) {
        fputs("usage: tokens TEXT [VOCABULARY]\n", stderr);
        return 2;
    }
    room = strlen(argv[1]) + 1; /* at most one id per byte */
    ids = malloc(room * sizeof *ids);
    v = ids ? heft_vocab_open(argc == 3 ? argv[2] : NULL, &err) : NULL;
    ok = v && encode(v, argv[1], ids, room, &n, &err);
    for (size_t i = 0; i < n; i++)
        printf("%u%c", (unsigned)ids[i], i + 1 < n ? ' ' : '\n');
    ok = ok && decode(v, ids, n, &err);
    putchar('\n');
    if (!ok)
        fprintf(stderr, "%s\n", heft_error_format(&err, line, sizeof line));
    heft_vocab_close(v);
    free(ids);
    return ok ? 0 : 2;
}
