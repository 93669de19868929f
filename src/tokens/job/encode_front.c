/* encode_front.c: inputs in order → documents → text and marks.
 *
 *     accumulating   documents are joined with separators until a document ends at `combine` characters
 *                    or more: one unit
 *     else           each document is a unit, with an id before or after it */
#include "tokens/job/encode_front.h"

#include <stdio.h>

#include "tokens/input/json_lines.h"
#include "tokens/input/lookalikes.h"
#include "tokens/unicode/utf8.h"

#define READ                                                                                       \
    ((size_t)256 << 10) /* bytes a read: small enough to stay in the CPU's cache until it is used */

/* Position in a text of JSON lines, and the number of decoded bytes before it. */
struct base {
    struct heft_text_place place;
    uint64_t decoded;
};

struct front {
    struct heft_encoding *plan;
    struct heft_encode_pipeline *line;
    uint64_t characters; /* characters of the open unit, including separators */
    uint64_t before;     /* bytes of finished inputs */
    size_t item;
    const char *path;
    struct heft_buf kept;          /* memory of the path */
    struct heft_input_text *in;    /* the open text; NULL between texts */
    struct heft_json_lines *lines; /* NULL: the text is one document */
    const char *line_text;         /* rest of the current line's document; NULL: none */
    struct base older,
        newer;      /* positions at the last two reads; the older one is before the current line */
    uint64_t saved; /* bytes read at the last checkpoint */
    bool goes_on;   /* resuming, and the checkpoint is not reached yet */
    uint64_t skip,
        done; /* decoded bytes to skip; bytes of the document that the earlier run has encoded */
    uint64_t at, line_number; /* offset of the first line to read; number of lines before it */
};

/* Offset at which the part begins in the current input. */
static uint64_t begin_of(const struct front *f)
{
    return f->item == 0 ? f->plan->part.begin : 0;
}

/* Bytes of the part that have been read. */
static uint64_t bytes_read(const struct front *f)
{
    const uint64_t read = f->in ? f->in->bytes.read : 0, begin = begin_of(f);

    return f->before + (read > begin ? read - begin : 0);
}

static bool put_mark(struct front *f, enum heft_mark_kind kind, uint64_t value,
                     struct heft_error *err)
{
    return heft_encode_mark(f->line, kind, value, err);
}

/* ---- checkpoints of the input --------------------------------------------------------------- */

/* Checkpoint:
 *     u64 item | u64 bytes before it | u64 characters | u64 documents | u64 rejected | u64 bytes read |
 *     u64 offset | u64 encoding | u64 begun | u64 after \r | u64 decoded bytes to skip |
 *     u64 offset of the line | u64 lines before it | u64 bytes of its document | text of the job */
static bool save_place(struct front *f, const char *text, struct heft_error *err)
{
    const struct heft_text_place place = f->lines ? f->older.place : heft_text_place(f->in);
    const uint64_t read = bytes_read(f);
    struct heft_buf *to = &f->line->job->place;

    heft_journal_u64(to, f->item);
    heft_journal_u64(to, f->before);
    heft_journal_u64(to, f->characters);
    heft_journal_u64(to, f->plan->sum.documents);
    heft_journal_u64(to, f->plan->sum.rejected);
    heft_journal_u64(to, read);
    heft_journal_u64(to, place.offset);
    heft_journal_u64(to, place.encoding);
    heft_journal_u64(to, place.begun);
    heft_journal_u64(to, place.after_return);
    heft_journal_u64(to, f->lines ? f->lines->at - f->older.decoded : 0);
    heft_journal_u64(to, f->lines ? f->lines->at : 0);
    heft_journal_u64(to, f->lines ? f->lines->line - 1 : 0);
    heft_journal_u64(to, f->lines ? (uint64_t)(text - f->line_text) : 0);
    heft_encode_save_rest(f->line, to);
    f->saved = read;
    return heft_buf_ok(to, err);
}

/* A resumed run begins to read before the checkpoint, where the block of text or the line begins. */
static bool is_checkpoint_due(const struct front *f)
{
    const uint64_t read = bytes_read(f);

    return read >= f->saved && read - f->saved >= f->plan->options.checkpoint;
}

/* Makes room in a job. When a job begins and the last checkpoint is far, saves one. `text`: what
 * will be written. */
static bool room_for(struct front *f, const char *text, uint8_t **to, size_t *room,
                     struct heft_error *err)
{
    const bool is_place = f->in && (!f->lines || f->line_text) && f->plan->resume.path;

    return heft_encode_room(f->line, to, room, err) &&
           (!is_place || !f->line->is_fresh || !is_checkpoint_due(f) || save_place(f, text, err));
}

static bool load_place(struct front *f, struct heft_error *err)
{
    const struct heft_buf *place = &f->plan->resume.place;
    struct heft_cur cur = heft_cur_of((struct heft_bytes){(uint8_t *)place->p, place->n}, 0);

    f->goes_on = true;
    f->item = (size_t)heft_cur_u64(&cur);
    f->before = heft_cur_u64(&cur);
    f->characters = heft_cur_u64(&cur);
    f->plan->sum.documents = heft_cur_u64(&cur);
    f->plan->sum.rejected = heft_cur_u64(&cur);
    f->saved = f->plan->sum.resumed = heft_cur_u64(&cur);
    f->older.place.offset = heft_cur_u64(&cur);
    f->older.place.encoding = (enum heft_charset)heft_cur_u64(&cur);
    f->older.place.begun = heft_cur_u64(&cur) != 0;
    f->older.place.after_return = heft_cur_u64(&cur) != 0;
    f->skip = heft_cur_u64(&cur);
    f->at = heft_cur_u64(&cur);
    f->older.decoded = f->at - heft_min_u64(f->skip, f->at);
    f->line_number = heft_cur_u64(&cur);
    f->done = heft_cur_u64(&cur);
    return heft_encode_load_rest(f->line, &cur, err) && heft_journal_ends(&cur, err);
}

/* Counts the characters that decide where a unit ends. */
static void count_characters(struct front *f, const void *text, size_t n)
{
    if (f->plan->accumulates && f->characters <= f->plan->options.combine)
        f->characters += heft_count_characters(text, n);
}

/* Adds whole characters only: a checkpoint may be saved in between. */
static bool put_text(struct front *f, const char *text, size_t n, struct heft_error *err)
{
    while (n > 0) {
        uint8_t *to;
        size_t room, some;

        if (!room_for(f, text, &to, &room, err))
            return false;
        some = (size_t)heft_min_u64(n, room);
        while (some < n && heft_utf8_is_tail((uint8_t)text[some]))
            some--;
        memcpy(to, text, some);
        f->line->job->n += some;
        text += some;
        n -= some;
    }
    return true;
}

/* ---- ends of documents and inputs ----------------------------------------------------------- */

static bool put_end(struct front *f, struct heft_error *err)
{
    return put_mark(f, HEFT_MARK_ID, heft_vocab_end(f->plan->v), err);
}

static bool end_unit(struct front *f, struct heft_error *err)
{
    f->characters = 0;
    return put_mark(f, HEFT_MARK_BREAK, 0, err) && put_mark(f, HEFT_MARK_UNIT, 0, err);
}

static bool put_separator(struct front *f, struct heft_error *err)
{
    const size_t n = sizeof HEFT_END_OF_TEXT - 1;
    const enum heft_eot eot = f->plan->options.eot;

    if (eot != HEFT_EOT_NONE)
        f->characters += n;
    if (eot == HEFT_EOT_TEXT)
        return put_text(f, HEFT_END_OF_TEXT, n, err);
    return put_mark(f, HEFT_MARK_BREAK, 0, err) && (eot != HEFT_EOT_ID || put_end(f, err));
}

static bool end_accumulated(struct front *f, struct heft_error *err)
{
    const struct heft_encode_options *o = &f->plan->options;

    if (f->characters < o->combine)
        return put_separator(f, err);
    if (f->characters == 0) {
        heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                  "an empty document would become an empty array; use option combine above 0");
        return heft_error_file(err, f->path);
    }
    if (o->eot == HEFT_EOT_ID && o->eot_each &&
        (!put_mark(f, HEFT_MARK_BREAK, 0, err) || !put_end(f, err)))
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
        return put_mark(f, HEFT_MARK_BREAK, 0, err);
    if (f->plan->accumulates)
        return end_accumulated(f, err);
    return put_mark(f, HEFT_MARK_BREAK, 0, err) &&
           (o->eot != HEFT_EOT_ID || o->eot_before || put_end(f, err)) && end_unit(f, err);
}

/* ---- reading inputs ------------------------------------------------------------------------- */

static bool report_progress(struct front *f, uint64_t done, struct heft_error *err)
{
    const struct heft_encode_options *o = &f->plan->options;
    const struct heft_input_list *list = f->plan->list;
    const uint64_t total = heft_input_list_streams(list) ? 0 : heft_input_list_bytes(list);

    return !o->progress || o->progress(o->progress_ctx, done, total) ||
           heft_fail(err, HEFT_CANCELLED, HEFT_NO_OFFSET, "interrupted");
}

static bool read_plain(struct front *f, struct heft_input_text *in, struct heft_error *err)
{
    const bool is_begin = !f->goes_on;
    uint64_t done = 0;
    size_t n = 1;

    if (is_begin && !begin_document(f, err))
        return false;
    f->goes_on = false;
    for (; n > 0; done += n) {
        uint8_t *to;
        size_t room;

        if (!room_for(f, NULL, &to, &room, err) ||
            !heft_text_read(in, to, (size_t)heft_min_u64(room, READ), &n, err) ||
            !report_progress(f, bytes_read(f), err))
            return false;
        if (is_begin && done == 0 && !f->plan->sum.looks_like)
            f->plan->sum.looks_like = heft_text_lookalike((struct heft_bytes){to, n});
        count_characters(f, to, n);
        f->line->job->n += n;
    }
    return end_document(f, err);
}

static bool put_document(void *ctx, struct heft_str text, struct heft_error *err)
{
    struct front *f = ctx;
    const size_t done = (size_t)heft_min_u64(f->goes_on ? f->done : 0, text.n);

    if (!f->goes_on) {
        count_characters(f, text.p, text.n);
        if (!begin_document(f, err))
            return false;
    }
    f->goes_on = false;
    f->line_text = text.p;
    if (!put_text(f, text.p + done, text.n - done, err))
        return false;
    f->line_text = NULL;
    return end_document(f, err);
}

static bool reject_line(void *ctx, const struct heft_error *why, struct heft_error *err)
{
    struct front *f = ctx;
    const struct heft_encode_options *o = &f->plan->options;
    const uint64_t line = heft_json_lines_number(f->lines);

    f->plan->sum.rejected++;
    if (o->rejected && !o->rejected(o->rejected_ctx, f->path, line, why->text))
        return heft_fail(err, HEFT_CANCELLED, HEFT_NO_OFFSET, "interrupted");
    return !f->plan->out || heft_token_out_reject(f->plan->out, f->path, line, why->text, err);
}

/* Called before each read: whichever line is returned next, the older position is before it. */
static void note_place(struct front *f)
{
    const struct heft_json_lines *l = f->lines;

    if (f->newer.decoded > l->offset)
        return;
    f->older = f->newer;
    /* skipped bytes are after the position and before the lines */
    f->newer = (struct base){heft_text_place(f->in), l->offset + l->n - f->skip};
}

/* Drops those of the n bytes that the earlier run has used. */
static size_t skip_lines(struct front *f, uint8_t *text, size_t n)
{
    const size_t skip = (size_t)heft_min_u64(f->skip, n);

    f->skip -= skip;
    if (skip > 0)
        memmove(text, text + skip, n - skip);
    return n - skip;
}

/* Number of lines before the part's first one in its file; 0 if the file cannot be read. */
static uint64_t count_lines(void *ctx)
{
    const struct front *f = ctx;
    uint8_t some[4096];
    struct heft_input_bytes in;
    struct heft_error unread = {0};
    uint64_t lines = 0, left = begin_of(f);
    size_t n = 1;

    if (!heft_input_open(&in, f->path, (struct heft_input_asked){0}, &unread))
        return 0;
    for (; left > 0 && n > 0; left -= n) {
        if (!heft_input_read(&in, some, (size_t)heft_min_u64(sizeof some, left), &n, &unread))
            break;
        for (size_t i = 0; i < n; i++)
            lines += some[i] == '\n';
    }
    heft_input_close(&in);
    return lines;
}

static bool read_lines(struct front *f, struct heft_input_text *in, struct heft_error *err)
{
    struct heft_json_lines lines = {.key = heft_str_of(f->plan->options.jsonl_key),
                                    .replace = f->plan->options.replace,
                                    .document = put_document,
                                    .reject = f->plan->options.skip ? reject_line : NULL,
                                    .count_before = begin_of(f) > 0 ? count_lines : NULL,
                                    .ctx = f,
                                    .offset = f->at,
                                    .line = f->line_number};
    bool ok = true;
    size_t n = 1;

    f->lines = &lines;
    f->newer = f->older;
    while (ok && n > 0) {
        uint8_t *to;
        size_t room, kept;

        note_place(f);
        ok = heft_json_lines_room(&lines, &to, &room, err) &&
             heft_text_read(in, to, room, &n, err) && report_progress(f, bytes_read(f), err);
        kept = ok ? skip_lines(f, to, n) : 0;
        ok = ok && ((n > 0 && kept == 0) || heft_json_lines_put(&lines, kept, err));
    }
    f->lines = NULL;
    heft_json_lines_release(&lines);
    return ok || heft_error_file(err, f->path);
}

static bool go_on(void *ctx, struct heft_error *err)
{
    struct front *f = ctx;

    return report_progress(f, bytes_read(f), err);
}

/* Goes to where the earlier run or the part begins, and ends the input where the part does. */
static bool seek_begin(struct front *f, struct heft_input_text *in, struct heft_error *err)
{
    const bool is_last = f->item + 1 == heft_input_list_count(f->plan->list);
    const uint64_t begin = begin_of(f), end = is_last ? f->plan->part.end : UINT64_MAX;

    in->bytes.size = heft_min_u64(in->bytes.size, end);
    if (!f->goes_on && (begin > 0 || end < UINT64_MAX)) {
        f->older = (struct base){heft_text_place(in), begin};
        f->older.place.offset = f->at = begin;
        f->older.place.begun |= begin > 0;
        return heft_text_seek(in, &f->older.place, err);
    }
    return !f->goes_on || heft_text_seek(in, &f->older.place, err);
}

static bool read_text(struct front *f, struct heft_error *err)
{
    struct heft_input_text in;
    bool ok;

    if (!heft_text_open(&in, f->path, &f->plan->text, (struct heft_input_asked){go_on, f}, err))
        return false;
    f->in = &in;
    ok = seek_begin(f, &in, err) &&
         (f->plan->options.jsonl_key ? read_lines(f, &in, err) : read_plain(f, &in, err));
    f->before = bytes_read(f);
    f->in = NULL;
    f->older = (struct base){0};
    f->at = f->line_number = 0;
    heft_text_close(&in);
    return ok;
}

/* Copies an .npz. Its arrays come before an open unit in an .npz (the original's order), else in
 * the order of the inputs. */
static bool pass_arrays(struct front *f, const struct heft_input_item *item, struct heft_error *err)
{
    const bool is_open = f->plan->accumulates && f->characters > 0;

    if (!f->plan->format)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "an .npz has tokens already") ||
               heft_error_file(err, f->path);
    if (is_open && !f->plan->format->arrays && !end_unit(f, err))
        return false;
    f->before += item->bytes;
    return put_mark(f, HEFT_MARK_ARRAYS, f->item, err);
}

bool heft_encode_is_npz(const char *path)
{
    const size_t n = strlen(path);

    return n >= 4 && strcmp(path + n - 4, ".npz") == 0;
}

/* Marks the end of an input that is the last of a command-line argument. */
static bool end_input(struct front *f, uint32_t word, struct heft_error *err)
{
    struct heft_input_list *list = f->plan->list;
    const bool is_last = f->item + 1 == heft_input_list_count(list);
    struct heft_input_item next = {0};
    struct heft_buf path = {0};
    const bool ok = is_last || heft_input_list_get(list, f->item + 1, &path, &next, err);

    heft_buf_release(&path);
    return ok && ((!is_last && next.word == word) || put_mark(f, HEFT_MARK_INPUT, word, err));
}

static bool take_inputs(struct front *f, struct heft_error *err)
{
    struct heft_input_list *list = f->plan->list;

    for (; f->item < heft_input_list_count(list); f->item++) {
        struct heft_input_item item;

        if (!heft_input_list_get(list, f->item, &f->kept, &item, err))
            return false;
        f->path = item.path;
        if (!(heft_encode_is_npz(f->path) ? pass_arrays(f, &item, err) : read_text(f, err)) ||
            !end_input(f, item.word, err))
            return false;
    }
    return true;
}

bool heft_encode_inputs(struct heft_encoding *plan, struct heft_encode_pipeline *l,
                        struct heft_error *err)
{
    struct front f = {.plan = plan, .line = l};
    bool ok;

    if (plan->resume.place.n > 0 && !load_place(&f, err))
        return heft_error_file(err, plan->resume.path);
    ok = report_progress(&f, f.saved, err) && take_inputs(&f, err) &&
         (!plan->accumulates || f.characters == 0 || end_unit(&f, err));
    plan->sum.bytes = f.before;
    heft_buf_release(&f.kept);
    return ok && heft_encode_finish(l, err);
}
