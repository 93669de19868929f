/* explain.c: pre-tokens of a text and the merges in each, in their order. Merges one pair at a
 * time, O(n²) a pre-token, as the definition of BPE says. */
#include "base/text.h"
#include "base/require_arg.h"
#include "base/sized.h"
#include "tokens/bpe/pattern.h"
#include "tokens/bpe/ranked_tokens.h"
#include "tokens/bpe/text_stages.h"

struct explaining {
    const struct heft_vocab *v, *merged; /* merged: has the merges (heft_vocab_merged) */
    struct heft_text_stages stages;
    const struct heft_pretokens *pretokens; /* NULL: GPT-2's pattern */
    struct heft_pretokens *own;
    struct heft_classes classes;
    heft_word_fn *each;
    void *ctx;
    struct heft_buf part; /* text up to the next cut */
    uint64_t offset;      /* of the part */
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
            const uint32_t rank = heft_vocab_pair(e->merged, e->ids[i], e->ids[i + 1]);

            if (rank < best) {
                best = rank;
                at = i;
            }
        }
        if (best == HEFT_NO_RANK)
            return;
        made = e->merged->merges[best].id;
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
    whole = heft_strmap_get(&e->merged->wholes, bytes);
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

/* ---- words of a text --------------------------------------------------------------------- */

/* End of the word that begins at `at`; *is_dropped: the pattern removes it. */
static size_t end_of_word(const struct explaining *e, const char *text, size_t n, size_t at,
                          struct heft_pretokens_place *place, bool *is_dropped)
{
    uint32_t starts[2];

    *is_dropped = false;
    if (!e->pretokens)
        return heft_split_word(&e->classes, (const uint8_t *)text, n, at);
    (void)heft_pretokens_scan(e->pretokens, (const uint8_t *)text, n, at, true, place, starts, 2);
    *is_dropped = starts[0] & HEFT_PRETOKEN_DROPPED;
    return starts[1] & ~HEFT_PRETOKEN_DROPPED;
}

static bool give_word(struct explaining *e, const struct heft_word *word, struct heft_error *err)
{
    return e->each(e->ctx, word) || heft_fail(err, HEFT_CANCELLED, HEFT_NO_OFFSET, "interrupted");
}

static bool explain_part(struct explaining *e, const char *text, size_t n, struct heft_error *err)
{
    struct heft_pretokens_place place = {{0}};
    bool is_dropped;

    for (size_t at = 0, end; at < n; at = end) {
        struct heft_word word = {.text = text + at,
                                 .offset = e->offset + at,
                                 .merges = e->merges,
                                 .bytes = e->bytes,
                                 .ids = e->ids};

        end = end_of_word(e, text, n, at, &place, &is_dropped);
        word.n = end - at;
        if (!is_dropped && (!explain_word(e, &word, err) || !give_word(e, &word, err)))
            return false;
    }
    e->offset += n;
    return true;
}

static bool explain_added(struct explaining *e, uint32_t id, struct heft_error *err)
{
    struct heft_word word = {.offset = e->offset,
                             .bytes = e->bytes,
                             .ids = e->ids,
                             .n_ids = 1,
                             .is_whole = true,
                             .is_added = true};

    word.text = (const char *)heft_vocab_token(e->v, id, &word.n);
    for (size_t i = 0; i < word.n && i < HEFT_WORD_MOST; i++)
        e->bytes[i] = e->v->byte_ids[(uint8_t)word.text[i]];
    e->ids[0] = id;
    e->offset += word.n;
    return give_word(e, &word, err);
}

/* The last stage: collects the text up to a cut. */
static bool put_part(void *ctx, const uint8_t *text, size_t n, struct heft_error *err)
{
    struct explaining *e = ctx;

    heft_buf_put(&e->part, text, n);
    return heft_buf_ok(&e->part, err);
}

static bool cut_part(void *ctx, uint32_t id, struct heft_error *err)
{
    static const char PAD[HEFT_SPLIT_PAD];
    struct explaining *e = ctx;
    const size_t n = e->part.n;

    heft_buf_put(&e->part, PAD, sizeof PAD);
    if (!heft_buf_ok(&e->part, err) || !explain_part(e, e->part.p, n, err))
        return false;
    e->part.n = 0;
    return id == HEFT_NO_TOKEN || explain_added(e, id, err);
}

static bool explain_text(struct explaining *e, const struct heft_encoder_options *options,
                         const char *text, size_t n, struct heft_error *err)
{
    const struct heft_text_sink parts = {e, put_part, cut_part};
    const char *unicode = options->unicode;
    struct heft_text_sink first;

    if (!heft_vocab_pretokens(e->v, unicode, &e->pretokens, &e->own, err) ||
        (!e->pretokens &&
         !heft_classes_init(&e->classes, unicode ? unicode : e->v->unicode, err)) ||
        !heft_text_stages_init(&e->stages, e->v, options->special, parts, err))
        return false;
    first = e->stages.first.put ? e->stages.first : parts;
    return (n == 0 || first.put(first.ctx, (const uint8_t *)text, n, err)) &&
           first.cut(first.ctx, HEFT_NO_TOKEN, err);
}

static void free_explaining(struct explaining *e)
{
    heft_text_stages_release(&e->stages);
    heft_pretokens_free(e->own);
    heft_buf_release(&e->part);
    heft_free(e);
}

bool heft_explain_text(const struct heft_vocab *v, const struct heft_encoder_options *options,
                       const char *text, size_t n, heft_word_fn *each, void *ctx,
                       struct heft_error *err)
{
    struct heft_encoder_options o;
    struct explaining *e;
    size_t bad;
    bool ok;

    if (!heft_require_arg(v != NULL, "a vocabulary", err) ||
        !heft_require_arg(text || n == 0, "a text", err) ||
        !heft_require_arg(each != NULL, "a function", err) ||
        !HEFT_TAKE(heft_encoder_options, &o, options, err) || !heft_vocab_can_encode(v, err))
        return false;
    bad = n > 0 ? heft_utf8_check((struct heft_bytes){(const uint8_t *)text, n}) : 0;
    if (bad < n)
        return heft_fail(err, HEFT_MALFORMED, bad, "byte %02x is not valid UTF-8",
                         (uint8_t)text[bad]);
    e = heft_calloc(1, sizeof *e, err);
    if (!e)
        return false;
    e->v = v;
    e->each = each;
    e->ctx = ctx;
    e->merged = heft_vocab_merged(v, err);
    ok = e->merged && explain_text(e, &o, text, n, err);
    free_explaining(e);
    return ok;
}
