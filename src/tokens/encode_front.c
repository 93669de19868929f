/* encode_front.c: inputs in order → documents → text and marks (specs: tokenizer §2.3).
 *
 *     accumulating   text of documents with separators between them, until there are `combine`
 *                    characters at the end of one
 *     else           each document a unit, with an id in front of it or behind */
#include "tokens/encode_front.h"

#include <stdio.h>

#include "tokens/json_lines.h"

struct front {
    struct heft_encoding *plan;
    struct heft_encode_line *line;
    uint64_t characters; /* of the unit that is open, separators included */
    uint64_t before;     /* bytes of inputs that are done */
    const char *path;
};

static bool mark(struct front *f, enum heft_mark_kind kind, uint64_t value, struct heft_error *err)
{
    return heft_encode_mark(f->line, kind, value, err);
}

static bool put_text(struct front *f, const char *text, size_t n, struct heft_error *err)
{
    while (n > 0) {
        uint8_t *to;
        size_t room, some;

        if (!heft_encode_room(f->line, &to, &room, err))
            return false;
        some = (size_t)heft_min_u64(n, room);
        memcpy(to, text, some);
        f->line->job->n += some;
        text += some;
        n -= some;
    }
    return true;
}

/* ---- units ---------------------------------------------------------------------------------- */

static bool put_end(struct front *f, struct heft_error *err)
{
    return mark(f, HEFT_MARK_ID, heft_vocab_end(f->plan->v), err);
}

static bool end_unit(struct front *f, struct heft_error *err)
{
    f->characters = 0;
    return mark(f, HEFT_MARK_BREAK, 0, err) && mark(f, HEFT_MARK_UNIT, 0, err);
}

static bool separate(struct front *f, struct heft_error *err)
{
    const size_t n = sizeof HEFT_END_OF_TEXT - 1;
    const enum heft_eot eot = f->plan->options.eot;

    if (eot != HEFT_EOT_NONE)
        f->characters += n;
    if (eot == HEFT_EOT_TEXT)
        return put_text(f, HEFT_END_OF_TEXT, n, err);
    return mark(f, HEFT_MARK_BREAK, 0, err) && (eot != HEFT_EOT_ID || put_end(f, err));
}

static bool end_accumulated(struct front *f, struct heft_error *err)
{
    const struct heft_encode_options *o = &f->plan->options;

    if (f->characters < o->combine)
        return separate(f, err);
    if (f->characters == 0) {
        heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                  "an empty document, which --combine 0 would make an array of nothing");
        return heft_error_file(err, f->path);
    }
    if (o->eot == HEFT_EOT_ID && o->eot_each &&
        (!mark(f, HEFT_MARK_BREAK, 0, err) || !put_end(f, err)))
        return false;
    return end_unit(f, err);
}

static bool begin_document(struct front *f, struct heft_error *err)
{
    const struct heft_encode_options *o = &f->plan->options;

    f->plan->sum.documents++;
    return !f->plan->format || f->plan->accumulates || o->eot != HEFT_EOT_ID || !o->eot_before ||
           put_end(f, err);
}

static bool end_document(struct front *f, struct heft_error *err)
{
    const struct heft_encode_options *o = &f->plan->options;

    if (!f->plan->format)
        return mark(f, HEFT_MARK_BREAK, 0, err);
    if (f->plan->accumulates)
        return end_accumulated(f, err);
    return mark(f, HEFT_MARK_BREAK, 0, err) &&
           (o->eot != HEFT_EOT_ID || o->eot_before || put_end(f, err)) && end_unit(f, err);
}

/* ---- inputs --------------------------------------------------------------------------------- */

static bool tell(struct front *f, uint64_t read, struct heft_error *err)
{
    const struct heft_encode_options *o = &f->plan->options;

    return !o->progress || o->progress(o->progress_ctx, f->before + read, f->plan->list.bytes) ||
           heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "interrupted");
}

static bool read_plain(struct front *f, struct heft_input_text *in, struct heft_error *err)
{
    size_t n = 1;

    if (!begin_document(f, err))
        return false;
    while (n > 0) {
        uint8_t *to;
        size_t room;

        if (!heft_encode_room(f->line, &to, &room, err) || !heft_text_read(in, to, room, &n, err) ||
            !tell(f, in->bytes.read, err))
            return false;
        if (f->plan->accumulates)
            f->characters += heft_count_characters(to, n);
        f->line->job->n += n;
    }
    return end_document(f, err);
}

static bool put_document(void *ctx, struct heft_str text, struct heft_error *err)
{
    struct front *f = ctx;

    f->characters += heft_count_characters((const uint8_t *)text.p, text.n);
    return begin_document(f, err) && put_text(f, text.p, text.n, err) && end_document(f, err);
}

static bool read_lines(struct front *f, struct heft_input_text *in, struct heft_error *err)
{
    struct heft_json_lines lines = {.key = heft_str_of(f->plan->options.jsonl_key),
                                    .replace = f->plan->options.replace,
                                    .document = put_document,
                                    .ctx = f};
    bool ok = true;
    size_t n = 1;

    while (ok && n > 0) {
        uint8_t *to;
        size_t room;

        ok = heft_json_lines_room(&lines, &to, &room, err) &&
             heft_text_read(in, to, room, &n, err) && tell(f, in->bytes.read, err) &&
             heft_json_lines_put(&lines, n, err);
    }
    heft_json_lines_release(&lines);
    return ok || heft_error_file(err, f->path);
}

static bool read_text(struct front *f, struct heft_error *err)
{
    struct heft_input_text in;
    bool ok;

    if (!heft_text_open(&in, f->path, &f->plan->text, err))
        return false;
    ok = f->plan->options.jsonl_key ? read_lines(f, &in, err) : read_plain(f, &in, err);
    f->before += in.bytes.read;
    heft_text_close(&in);
    return ok;
}

/* In an .npz arrays come in front of a unit that is open (the original's order); in other formats
 * ids come in the order of the inputs. */
static bool pass_arrays(struct front *f, size_t item, struct heft_error *err)
{
    const bool is_open = f->plan->accumulates && f->characters > 0;

    if (!f->plan->format)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "an .npz has tokens already") ||
               heft_error_file(err, f->path);
    if (is_open && !f->plan->format->arrays && !end_unit(f, err))
        return false;
    f->before += f->plan->list.items[item].bytes;
    return mark(f, HEFT_MARK_ARRAYS, item, err);
}

static bool is_npz(const char *path)
{
    const size_t n = strlen(path);

    return n >= 4 && strcmp(path + n - 4, ".npz") == 0;
}

bool heft_encode_inputs(struct heft_encoding *plan, struct heft_encode_line *l,
                        struct heft_error *err)
{
    struct front f = {.plan = plan, .line = l};

    for (size_t i = 0; i < plan->list.n; i++) {
        const struct heft_input_item *item = &plan->list.items[i];

        f.path = item->path;
        if (!(is_npz(f.path) ? pass_arrays(&f, i, err) : read_text(&f, err)))
            return false;
        if ((i + 1 == plan->list.n || item[1].word != item->word) &&
            !mark(&f, HEFT_MARK_INPUT, item->word, err))
            return false;
    }
    plan->sum.bytes = f.before;
    return (!plan->accumulates || f.characters == 0 || end_unit(&f, err)) &&
           heft_encode_finish(l, err);
}
