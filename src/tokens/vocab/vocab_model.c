/* vocab_model.c: the model of a tokenizer.json: its tokens and merges → the vocabulary. */
#include "tokens/bpe/merge.h"
#include "tokens/vocab/vocab_json.h"

/* "A B" or ["A", "B"]. False without an error: the end. */
static bool next_merge(struct heft_vocab_document *d, struct heft_json *json, struct heft_buf *line)
{
    enum heft_json_token token = heft_json_next(json);
    const bool is_pair = token == HEFT_JSON_ARRAY;

    line->n = 0;
    if (token == HEFT_JSON_ARRAY_END)
        return false;
    if (is_pair && heft_json_next(json) == HEFT_JSON_STRING) {
        heft_buf_str(line, json->text);
        heft_buf_char(line, ' ');
        token = heft_json_next(json);
    }
    if (token == HEFT_JSON_STRING)
        heft_buf_str(line, json->text);
    if (token == HEFT_JSON_STRING && (!is_pair || heft_json_next(json) == HEFT_JSON_ARRAY_END))
        return heft_buf_ok(line, d->r->err);
    return d->r->err->code
               ? false
               : heft_vocab_fail(d->r, json->where,
                                 "model.merges: expected a string or a pair of strings");
}

/* Begins to read the array of merges again. */
static void begin_merges(struct heft_vocab_document *d, struct heft_json *json,
                         struct heft_error *err)
{
    heft_json_begin(json, d->merges, (uint64_t)(d->merges.p - d->json.data.p), &d->r->v->mem, err);
    (void)heft_json_next(json);
}

static bool each_merge(struct heft_vocab_document *d, struct heft_buf *line, bool is_counting,
                       size_t *n)
{
    struct heft_json json;

    begin_merges(d, &json, d->r->err);
    while (next_merge(d, &json, line)) {
        if (!is_counting &&
            !heft_vocab_merge(d->r, (struct heft_str){line->p, line->n}, json.where, true))
            return false;
        ++*n;
    }
    return d->r->err->code == HEFT_OK;
}

static bool read_merges(struct heft_vocab_document *d)
{
    struct heft_buf line = {0};
    size_t n = 0;
    const bool ok = each_merge(d, &line, true, &n) && heft_vocab_reserve(d->r, n) &&
                    each_merge(d, &line, false, &n) && heft_vocab_validate_listed(d->r);

    heft_buf_release(&line);
    return ok;
}

/* ignore_merges: collects the tokens that merging does not reach; a pre-token that equals one is
 * not merged. */
static bool find_wholes(struct heft_vocab_document *d)
{
    struct heft_vocab *v = d->r->v;
    struct heft_merger merger = {0};
    uint32_t ids[HEFT_LONGEST * 2];
    bool ok = true;

    for (size_t i = 0; ok && d->ignore_merges && i < d->vocab.n; i++) {
        const struct heft_listed *item = &d->vocab.items[i];
        const struct heft_str token = v->tokens[item->id];
        size_t count = 0;

        if (item->is_special)
            continue;
        ok = heft_merge_word(&merger, v->pairs, (const uint8_t *)token.p, token.n, ids, &count,
                             d->r->err);
        if (ok && count > 1)
            ok = heft_vocab_add_whole(v, item->id, d->r->err);
    }
    heft_merger_release(&merger);
    return ok;
}

/* byte_fallback does nothing if every byte has a token of its own, unless there are other tokens for
 * bytes: the vocabulary then is not byte-level. */
static bool check_fallback(struct heft_vocab_document *d)
{
    for (size_t i = 0; d->byte_fallback && i < d->vocab.n; i++)
        if (d->vocab.items[i].word.n == 6 &&
            heft_str_starts(d->vocab.items[i].word, HEFT_STR("<0x")))
            return heft_document_refuse(d, d->vocab.items[i].where,
                                        "model.byte_fallback true with tokens such as <0x00>",
                                        false);
    return true;
}

bool heft_document_build(struct heft_vocab_document *d)
{
    return check_fallback(d) && heft_document_join_added(d) && heft_vocab_place(d->r, &d->vocab) &&
           read_merges(d) && find_wholes(d);
}
