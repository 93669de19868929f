/* fuzz_added_tokens.c: added tokens in any text, whole and in pieces, compared with the rules of
 * tokenizers written down once more: a loop over all tokens at each place. Where the search says that
 * the text may be split, its two parts give the same.
 *
 *    byte 0       sizes of the pieces
 *    byte 1       place of a split, in 256ths of the text
 *    lines        tokens: a byte of flags (its bits 0 to 2), then the text up to a newline; an empty
 *                 line ends them
 *    the rest     the text
 *
 * In the tokens a '~' is a newline. */
#include <stdlib.h>
#include <string.h>

#include "put_pieces.h"
#include "base/text.h"
#include "tokens/prepare/added_tokens.h"
#include "tokens/prepare/word_chars.h"
#include "tokens/unicode/utf8.h"

#define MOST_TOKENS 32
#define MOST        4096 /* bytes of an input */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    uint8_t bytes[MOST];
    struct heft_added_token tokens[MOST_TOKENS];
    size_t n_tokens;
    const uint8_t *text;
    size_t n;
};

/* What a receiver got; texts that follow one another are one. */
struct kept {
    struct heft_buf out;
    bool is_text;
};

static bool keep_text(void *ctx, const uint8_t *text, size_t n, struct heft_error *err)
{
    struct kept *kept = ctx;

    expect(n > 0 && heft_utf8_check((struct heft_bytes){text, n}) == n);
    if (!kept->is_text)
        heft_buf_char(&kept->out, (char)0xFD);
    kept->is_text = true;
    heft_buf_put(&kept->out, text, n);
    return heft_buf_ok(&kept->out, err);
}

/* The end of a text leaves no mark: the parts of a split text are one after another. */
static bool keep_cut(void *ctx, uint32_t id, struct heft_error *err)
{
    struct kept *kept = ctx;

    if (id == HEFT_NO_TOKEN)
        return true;
    kept->is_text = false;
    heft_buf_char(&kept->out, (char)0xFE);
    heft_buf_char(&kept->out, (char)id);
    return heft_buf_ok(&kept->out, err);
}

static bool read_input(struct input *in, const uint8_t *data, size_t size)
{
    uint8_t *at = in->bytes, *const end = in->bytes + size;

    memcpy(in->bytes, data, size);
    for (in->n_tokens = 0; at < end && *at != '\n' && in->n_tokens < MOST_TOKENS; in->n_tokens++) {
        uint8_t *line = memchr(at, '\n', (size_t)(end - at));

        if (!line)
            return false;
        for (uint8_t *p = at + 1; p < line; p++)
            *p = *p == '~' ? '\n' : *p;
        in->tokens[in->n_tokens] = (struct heft_added_token){
            .text = {(const char *)at + 1, (size_t)(line - at - 1)},
            .id = (uint32_t)in->n_tokens,
            .strips_left = *at & 1,
            .strips_right = *at & 2,
            .is_single_word = *at & 4,
        };
        if (heft_utf8_check((struct heft_bytes){at + 1, (size_t)(line - at - 1)}) <
            in->tokens[in->n_tokens].text.n)
            return false;
        at = line + 1;
    }
    if (at >= end)
        return false;
    in->text = at + 1;
    in->n = (size_t)(end - at - 1);
    return heft_utf8_check((struct heft_bytes){in->text, in->n}) == in->n;
}

static const struct heft_added_token *find_slowly(const struct input *in, size_t at)
{
    const struct heft_str text = {(const char *)in->text + at, in->n - at};
    const struct heft_added_token *found = NULL;

    for (size_t i = 0; i < in->n_tokens; i++)
        if (in->tokens[i].text.n > (found ? found->text.n : 0) &&
            heft_str_starts(text, in->tokens[i].text))
            found = &in->tokens[i];
    return found;
}

static bool is_alone(const struct input *in, size_t at, size_t end)
{
    unsigned width;

    return (at == 0 ||
            !heft_is_word_char(heft_utf8_at(in->text + heft_utf8_before(in->text, at), &width))) &&
           (end == in->n || !heft_is_word_char(heft_utf8_at(in->text + end, &width)));
}

static size_t spaces_after(const struct input *in, size_t at)
{
    unsigned width;

    while (at < in->n && heft_is_white_space(heft_utf8_at(in->text + at, &width)))
        at += width;
    return at;
}

static size_t spaces_before(const struct input *in, size_t at, size_t from)
{
    while (at > from) {
        const size_t before = heft_utf8_before(in->text, at);
        unsigned width;

        if (!heft_is_white_space(heft_utf8_at(in->text + before, &width)))
            break;
        at = before;
    }
    return at > from ? at : from;
}

/* find_matches of tokenizers. False where the library panics: what strips its left side begins
 * behind its end. */
static bool search_slowly(const struct input *in, struct kept *kept)
{
    struct heft_error err = {0};
    size_t done = 0;

    for (size_t at = 0; at < in->n;) {
        const struct heft_added_token *token = find_slowly(in, at);
        const size_t end = at + (token ? token->text.n : 0);
        size_t begin = at, stop;

        if (!token || (token->is_single_word && !is_alone(in, at, end))) {
            at = token ? end : at + heft_utf8_width(in->text[at]);
            continue;
        }
        if (token->strips_left)
            begin = spaces_before(in, at, done);
        stop = token->strips_right ? spaces_after(in, end) : end;
        if (begin > stop)
            return false;
        if (begin > done)
            expect(keep_text(kept, in->text + done, begin - done, &err));
        if (begin < stop)
            expect(keep_cut(kept, token->id, &err));
        done = stop;
        at = end;
    }
    return done == in->n || keep_text(kept, in->text + done, in->n - done, &err);
}

static void expect_parts(const struct input *in, const struct heft_added_search *search, size_t cut,
                         unsigned most, const struct kept *wanted)
{
    struct kept kept = {0};
    struct heft_error err = {0};
    struct heft_added_stage *stage =
        heft_added_stage_new(search, (struct heft_text_sink){&kept, keep_text, keep_cut}, &err);

    expect(stage != NULL);
    put_pieces(heft_added_stage_sink(stage), in->text, cut, most, HEFT_NO_TOKEN);
    put_pieces(heft_added_stage_sink(stage), in->text + cut, in->n - cut, most, HEFT_NO_TOKEN);
    expect(kept.out.n == wanted->out.n);
    expect(kept.out.n == 0 || memcmp(kept.out.p, wanted->out.p, kept.out.n) == 0);
    heft_added_stage_free(stage);
    heft_buf_release(&kept.out);
}

static size_t place_of_split(const struct input *in, uint8_t part)
{
    size_t at = in->n * part / 256;

    while (at < in->n && heft_utf8_is_tail(in->text[at]))
        at++;
    return at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct input in;
    struct heft_added_search *search;
    struct heft_error err = {0};
    struct kept wanted = {0};
    size_t cut;

    if (size < 4 || size - 2 > MOST || !read_input(&in, data + 2, size - 2))
        return 0;
    search = heft_added_search_new(in.tokens, in.n_tokens, &err);
    expect(search != NULL);
    if (search_slowly(&in, &wanted)) {
        expect_parts(&in, search, in.n, data[0] + 1, &wanted);
        expect_parts(&in, search, 0, 1 + data[0] % 4, &wanted);
        cut = place_of_split(&in, data[1]);
        if (heft_added_search_is_cut(search, in.text, in.n, cut))
            expect_parts(&in, search, cut, MOST, &wanted);
    }
    heft_added_search_free(search);
    heft_buf_release(&wanted.out);
    return 0;
}
