/* fuzz_encoder.c: any text, whole and in pieces, compared with pre-tokenization by the pattern and
 * with merging by the definition; invalid UTF-8 is refused at its offset; each SIMD kernel finds
 * the pre-tokens of the pattern.
 *
 *    byte 0   sizes of the pieces; its top bit: the text is repeated many times
 *    byte 1…  the text */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "expect.h"
#include "slow_merge.h"
#include "base/text.h"
#include "tokens/bpe/encoder.h"
#include "tokens/bpe/merge.h"
#include "tokens/bpe/pattern.h"
#include "tokens/bpe/word_scan.h"

/* maximum size of a text: more than a window, so that pre-tokens of any length occur */
#define MOST 70000
#define SLOW 300 /* maximum size of a pre-token that is merged by the definition */

static const char MERGES[] =
    "#version: 0.2\na b\nĠ t\nh e\nĠt he\na a\naa a\nab c\nĠ a\ne r\naa aa\nĊ Ċ\n' s\nÃ ©\nä ¸\n"
    "ä¸ Ń\nŃ ä\n1 1\n11 11\nĠ Ġ\nĠĠ ĠĠ\n. .\n.. ..\nb a\nba b\naaaa aaaa\nã Ģ\nr Ã\n";

struct state {
    struct heft_vocab *v;
    struct heft_encoder *e;
    struct heft_pairs pairs;
    struct heft_merger merger;
    struct heft_classes classes;
    uint8_t text[MOST + HEFT_SPLIT_PAD];
    uint32_t wanted[MOST], ids[MOST], starts[HEFT_SCAN_ROOM];
    size_t n, n_wanted, n_ids;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One state for all inputs: cached results of earlier texts must not change later ones. */
static struct state *set_up(void)
{
    static struct state s;
    char path[] = "/tmp/encoder-XXXXXX", named[sizeof path + 4];
    struct heft_error err = {0};
    int fd;

    if (s.v)
        return &s;
    fd = mkstemp(path);
    expect(fd >= 0 && write(fd, MERGES, sizeof MERGES - 1) == (ssize_t)sizeof MERGES - 1);
    close(fd);
    snprintf(named, sizeof named, "%s.bpe", path);
    expect(rename(path, named) == 0);
    s.v = heft_vocab_open(named, &err);
    unlink(named);
    expect(s.v && heft_pairs_init(&s.pairs, s.v, &err) &&
           heft_classes_init(&s.classes, NULL, &err));
    s.e = heft_encoder_new(s.v, NULL, &err);
    expect(s.e != NULL);
    return &s;
}

static void encode_slowly(struct state *s)
{
    struct heft_error err = {0};

    s->n_wanted = 0;
    for (size_t at = 0, end; at < s->n; at = end) {
        uint32_t *to = s->wanted + s->n_wanted;
        size_t count = 0;

        end = heft_split_word(&s->classes, s->text, s->n, at);
        if (end - at <= SLOW)
            count = merge_slowly(s->v, s->text + at, end - at, to);
        else
            expect(
                heft_merge_word(&s->merger, &s->pairs, s->text + at, end - at, to, &count, &err));
        s->n_wanted += count;
    }
}

static void check_kernels(struct state *s)
{
    const struct heft_kernel *kernel;

    for (size_t k = 0; (kernel = heft_scan_kernel_at(k)) != NULL; k++) {
        const struct heft_scan scan = {&s->classes, kernel, NULL};
        size_t at = 0, count = 2;

        while (at < s->n && count > 1) {
            size_t word = at;

            count = heft_scan_words(&scan, s->text, s->n, at, true, s->starts);
            for (size_t i = 0; i + 1 < count; i++) {
                expect(s->starts[i] == word);
                word = heft_split_word(&s->classes, s->text, s->n, word);
            }
            expect(count < 2 || s->starts[count - 1] == word);
            at = word;
        }
    }
}

static bool append(void *ctx, const uint32_t *ids, size_t count)
{
    struct state *s = ctx;

    expect(count <= MOST - s->n_ids);
    memcpy(s->ids + s->n_ids, ids, count * sizeof *ids);
    s->n_ids += count;
    return true;
}

static bool encode_in_pieces(struct state *s, unsigned cut, struct heft_error *err)
{
    const size_t most = cut % 4 == 0 ? MOST : cut % 4 == 1 ? 7 : cut % 4 == 2 ? 300 : 5000;
    uint32_t state = cut;

    s->n_ids = 0;
    for (size_t at = 0, n; at < s->n; at += n) {
        uint8_t *piece;
        bool ok;

        state = state * 1664525u + 1013904223u;
        n = heft_min_size(s->n - at, 1 + (state >> 8) % most);
        piece = malloc(n); /* exact size, so that a sanitizer detects reads beyond it */
        expect(piece != NULL);
        memcpy(piece, s->text + at, n);
        ok = heft_encoder_feed(s->e, piece, n, append, s, err);
        free(piece);
        if (!ok)
            return false;
    }
    return heft_encoder_finish(s->e, append, s, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct state *s = set_up();
    const size_t n = size > 1 ? heft_min_size(size - 1, MOST) : 0;
    struct heft_error err = {0};
    size_t bad;

    if (n == 0)
        return 0;
    for (s->n = 0; s->n == 0 || (data[0] & 0x80 && s->n + n <= MOST); s->n += n)
        memcpy(s->text + s->n, data + 1, n);
    memset(s->text + s->n, 0, HEFT_SPLIT_PAD);
    bad = heft_utf8_check((struct heft_bytes){s->text, s->n});
    if (bad < s->n) {
        expect(!encode_in_pieces(s, data[0] & 0x7F, &err));
        expect(err.code == HEFT_MALFORMED && err.offset == bad);
        return 0;
    }
    encode_slowly(s);
    check_kernels(s);
    expect(encode_in_pieces(s, data[0] & 0x7F, &err));
    expect(s->n_ids == s->n_wanted && memcmp(s->ids, s->wanted, s->n_ids * sizeof *s->ids) == 0);
    return 0;
}
