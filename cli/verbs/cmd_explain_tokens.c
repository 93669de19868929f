/* cmd_explain_tokens.c: prints how a text is encoded: pre-tokens, merges in order, ids. */
#include "main/options.h"
#include "output/output.h"
#include "output/report.h"
#include "main/vocabulary.h"

#include <heft/tokens.h>

#include <string.h>

enum { SHOWN_SYMBOLS = 48 }; /* symbols of a longer word are not printed after each merge */

struct showing {
    struct out *out;
    const struct heft_vocab *v;
    uint64_t words, tokens;
    uint32_t symbols[SHOWN_SYMBOLS];
};

/* A space is printed as ␣: it could not be seen between symbols. */
static size_t put_bytes(struct out *out, const char *text, size_t n)
{
    size_t width = 0;

    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && text[end] != ' ';)
            end++;
        if (end > i)
            width += out_name(out, text + i, end - i);
        for (; end < n && text[end] == ' '; end++, width++)
            out_text(out, "\u2423");
    }
    return width;
}

static size_t put_token(struct showing *s, uint32_t id)
{
    size_t n;
    const uint8_t *token = heft_vocab_token(s->v, id, &n);

    return put_bytes(s->out, (const char *)token, n);
}

static size_t put_symbols(struct showing *s, const uint32_t *ids, size_t n)
{
    size_t width = 0;

    for (size_t i = 0; i < n; i++) {
        if (i)
            out_char(s->out, ' ');
        width += put_token(s, ids[i]) + (i > 0);
    }
    return width;
}

static void put_merge(struct showing *s, const struct heft_word_merge *merge)
{
    struct out *const out = s->out;
    size_t width = 3 + 2 + 3;

    out_text(out, "    rank ");
    out_u64_in(out, merge->rank, 6);
    out_text(out, "   ");
    width += put_token(s, merge->left);
    out_text(out, " + ");
    width += put_token(s, merge->right);
    out_text(out, " = ");
    width += put_token(s, merge->id);
    out_fill(out, ' ', width < 40 ? 40 - width : 2);
}

static void put_merges(struct showing *s, const struct heft_word *word)
{
    size_t n = word->n;
    const bool is_shown = n <= SHOWN_SYMBOLS;

    if (is_shown)
        memcpy(s->symbols, word->bytes, n * sizeof *word->bytes);
    for (size_t i = 0; i < word->n_merges; i++) {
        const struct heft_word_merge *merge = &word->merges[i];

        put_merge(s, merge);
        if (is_shown) {
            s->symbols[merge->at] = merge->id;
            n--;
            memmove(s->symbols + merge->at + 1, s->symbols + merge->at + 2,
                    (n - merge->at - 1) * sizeof *s->symbols);
            put_symbols(s, s->symbols, n);
        }
        out_char(s->out, '\n');
    }
}

static bool show_word(void *ctx, const struct heft_word *word)
{
    struct showing *const s = ctx;
    struct out *const out = s->out;

    put_bytes(out, word->text, word->n);
    out_text(out, "\n    bytes           ");
    put_symbols(s, word->bytes, word->n);
    out_char(out, '\n');
    put_merges(s, word);
    if (word->is_whole)
        out_text(out, word->is_added
                          ? "    the word is an added token\n"
                          : "    the word is a token: encoded as a whole, without merges\n");
    out_text(out, word->n_ids == 1 ? "    id              " : "    ids             ");
    for (size_t i = 0; i < word->n_ids; i++) {
        if (i)
            out_char(out, ' ');
        out_u64(out, word->ids[i]);
    }
    out_text(out, "\n\n");
    s->words++;
    s->tokens += word->n_ids;
    return out->error == 0;
}

static void count_of(struct out *out, uint64_t n, const char *one)
{
    out_u64(out, n);
    out_char(out, ' ');
    out_text(out, one);
    if (n != 1)
        out_char(out, 's');
}

static void show_end(struct showing *s, size_t bytes)
{
    count_of(s->out, bytes, "byte");
    out_text(s->out, ", ");
    count_of(s->out, s->words, "word");
    out_text(s->out, ", ");
    count_of(s->out, s->tokens, "token");
    out_char(s->out, '\n');
}

static bool json_word(void *ctx, const struct heft_word *word)
{
    struct showing *const s = ctx;
    struct out *const out = s->out;

    json_line(out);
    json_open(out, '{');
    json_key(out, "text");
    json_text(out, word->text, word->n);
    json_member_u64(out, "offset", word->offset);
    json_key(out, "merges");
    json_open(out, '[');
    for (size_t i = 0; i < word->n_merges; i++) {
        json_open(out, '{');
        json_member_u64(out, "rank", word->merges[i].rank);
        json_member_u64(out, "left", word->merges[i].left);
        json_member_u64(out, "right", word->merges[i].right);
        json_member_u64(out, "id", word->merges[i].id);
        json_member_u64(out, "at", word->merges[i].at);
        json_close(out, '}');
    }
    json_close(out, ']');
    json_key(out, "ids");
    json_open(out, '[');
    for (size_t i = 0; i < word->n_ids; i++)
        json_u64(out, word->ids[i]);
    json_close(out, ']');
    json_close(out, '}');
    return out->error == 0;
}

static bool explain_text(const struct options *options, struct showing *s, struct heft_error *err)
{
    const char *const text = options->tokens;
    const size_t n = strlen(text);
    const struct heft_encoder_options how = {
        .size = sizeof how, .unicode = options->unicode, .special = options->special};
    bool fine;

    if (!options->json) {
        fine = heft_explain_text(s->v, &how, text, n, show_word, s, err);
        if (fine)
            show_end(s, n);
        return fine;
    }
    json_open(s->out, '{');
    json_member_u64(s->out, "heft", 1);
    json_key(s->out, "words");
    json_open(s->out, '[');
    fine = heft_explain_text(s->v, &how, text, n, json_word, s, err);
    json_close(s->out, ']');
    json_close(s->out, '}');
    out_char(s->out, '\n');
    return fine;
}

/* Stops early if the reader has closed the pipe; this is not an error. */
int cmd_explain_tokens(const struct options *options, struct out *out)
{
    struct heft_error err = {0};
    struct heft_vocab *const v = vocabulary_open(options, false, &err);
    struct showing s = {.out = out, .v = v};
    const bool fine = v && (explain_text(options, &s, &err) || out->error);

    heft_vocab_close(v);
    return fine ? EXIT_SOUND : report_error(&err);
}
