/* explain.c: pre-tokens of a text and the merges in each, in their order. Merges one pair at a
 * time, O(n²) a pre-token, as the definition of BPE says. */
#include "base/text.h"
#include "base/require_arg.h"
#include "tokens/bpe/pattern.h"
#include "tokens/bpe/vocab.h"

struct explaining {
    const struct heft_vocab *v;
    struct heft_classes classes;
    struct heft_word_merge merges[HEFT_WORD_MOST];
    uint32_t bytes[HEFT_WORD_MOST], ids[HEFT_WORD_MOST];
    char text[HEFT_WORD_MOST + 1]; /* of the word, NUL-terminated */
};

static void merge_all(struct explaining *e, struct heft_word *word)
{
    for (;;) {
        uint32_t best = HEFT_NO_RANK, made;
        size_t at = 0;

        for (size_t i = 0; i + 1 < word->n_ids; i++) {
            const uint32_t rank = heft_vocab_pair(e->v, e->ids[i], e->ids[i + 1]);

            if (rank < best) {
                best = rank;
                at = i;
            }
        }
        if (best == HEFT_NO_RANK)
            return;
        made = e->v->merges[best].id;
        e->merges[word->n_merges++] =
            (struct heft_word_merge){best, e->ids[at], e->ids[at + 1], made, at};
        e->ids[at] = made;
        word->n_ids--;
        memmove(e->ids + at + 1, e->ids + at + 2, (word->n_ids - at - 1) * sizeof e->ids[0]);
    }
}

static bool explain_word(struct explaining *e, struct heft_word *word, struct heft_error *err)
{
    const struct heft_str bytes = {word->text, word->n};
    uint32_t whole;

    if (word->n > HEFT_WORD_MOST)
        return heft_fail(err, HEFT_LIMIT, word->offset,
                         "a pre-token of %zu bytes; at most %d are supported", word->n,
                         HEFT_WORD_MOST);
    memcpy(e->text, word->text, word->n);
    e->text[word->n] = '\0';
    word->text = e->text;
    whole = heft_strmap_get(&e->v->wholes, bytes);
    for (size_t i = 0; i < word->n; i++)
        e->ids[i] = e->bytes[i] = e->v->byte_ids[(uint8_t)word->text[i]];
    word->n_ids = word->n;
    word->is_whole = whole != HEFT_MAP_NONE;
    if (!word->is_whole) {
        merge_all(e, word);
        return true;
    }
    e->ids[0] = whole;
    word->n_ids = 1;
    return true;
}

static bool explain_text(struct explaining *e, const char *text, size_t n, heft_word_fn *each,
                         void *ctx, struct heft_error *err)
{
    for (size_t at = 0, end; at < n; at = end) {
        struct heft_word word = {
            .text = text + at, .offset = at, .merges = e->merges, .bytes = e->bytes, .ids = e->ids};

        end = heft_split_word(&e->classes, (const uint8_t *)text, n, at);
        word.n = end - at;
        if (!explain_word(e, &word, err))
            return false;
        if (!each(ctx, &word))
            return heft_fail(err, HEFT_CANCELLED, HEFT_NO_OFFSET, "interrupted");
    }
    return true;
}

bool heft_explain_text(const struct heft_vocab *v, const char *unicode, const char *text, size_t n,
                       heft_word_fn *each, void *ctx, struct heft_error *err)
{
    struct explaining *e;
    char *copy;
    size_t bad;
    bool ok;

    if (!heft_require_arg(v != NULL, "a vocabulary", err) ||
        !heft_require_arg(text || n == 0, "a text", err) ||
        !heft_require_arg(each != NULL, "a function", err) || !heft_vocab_can_encode(v, err))
        return false;
    bad = n > 0 ? heft_utf8_check((struct heft_bytes){(const uint8_t *)text, n}) : 0;
    e = heft_calloc(1, sizeof *e, err);
    copy = e ? heft_alloc(n + HEFT_SPLIT_PAD, err) : NULL;
    ok = copy && heft_classes_init(&e->classes, unicode ? unicode : v->unicode, err);
    if (ok && bad < n)
        ok =
            heft_fail(err, HEFT_MALFORMED, bad, "byte %02x is not valid UTF-8", (uint8_t)text[bad]);
    if (ok) {
        e->v = v;
        if (n > 0)
            memcpy(copy, text, n);
        memset(copy + n, 0, HEFT_SPLIT_PAD);
        ok = explain_text(e, copy, n, each, ctx, err);
    }
    heft_free(copy);
    heft_free(e);
    return ok;
}
