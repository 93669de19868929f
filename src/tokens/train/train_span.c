/* train_span.c: the text of a span → pre-tokens. A text that is normalized first, or stands in JSON
 * lines, is collected in a second buffer:
 *
 *     file → buffer ─────────────────────────→ pre-tokens
 *     file → buffer → NFC → collected text ──→ pre-tokens
 *     file → JSON lines → documents → NFC → collected text → pre-tokens */
#include <stdio.h>

#include "base/text.h"
#include "io/source.h"
#include "tokens/input/input_text.h"
#include "tokens/input/json_lines.h"
#include "tokens/input/lookalikes.h"
#include "tokens/prepare/nfc.h"
#include "tokens/train/train.h"

#define PIECE      ((size_t)1 << 20)
#define ROOM       16                  /* readable bytes after a text */
#define MOST_CHAIN ((uint64_t)1 << 30) /* bytes of a pre-token of a chain */

struct buffer {
    uint8_t *p;
    size_t n, cap, checked; /* checked: bytes known to be UTF-8 */
    uint64_t at;            /* offset of p[0] in the file */
};

static bool fail_text(const struct buffer *b, struct heft_error *err)
{
    char bytes[16] = "";

    for (size_t i = 0; i < 4 && b->checked + i < b->n; i++)
        snprintf(bytes + 3 * i, 4, " %02x", b->p[b->checked + i]);
    return heft_fail(err, HEFT_MALFORMED, b->at + b->checked, "bytes%s are not valid UTF-8", bytes);
}

/* Validates UTF-8. A character cut off by the end of the buffer is an error only at the end of the
 * span. */
static bool check_utf8(struct buffer *b, bool is_last, struct heft_error *err)
{
    b->checked += heft_utf8_check((struct heft_bytes){b->p + b->checked, b->n - b->checked});
    return b->checked == b->n || (!is_last && b->n - b->checked < 4) || fail_text(b, err);
}

/* Source of a span's bytes: part of a file, or a stream. */
struct text {
    struct heft_source source;
    struct heft_input_bytes stream;
    bool is_stream;
    uint64_t at, end; /* file offsets of the part being read */
};

static bool open_text(struct text *t, const struct heft_train_span *span, const char *path,
                      struct heft_error *err)
{
    *t = (struct text){.is_stream = span->is_stream, .at = span->at, .end = span->at + span->n};
    return t->is_stream ? heft_input_open(&t->stream, path, (struct heft_input_asked){0}, err)
                        : heft_source_open_file(&t->source, path, err);
}

static void close_text(struct text *t)
{
    if (t->is_stream)
        heft_input_close(&t->stream);
    else
        heft_source_close(&t->source);
}

/* Reads up to `room` bytes; *is_last: nothing follows. */
static bool read_text(struct text *t, uint8_t *to, size_t room, size_t *n, bool *is_last,
                      struct heft_error *err)
{
    size_t some = 1;

    *n = 0;
    if (!t->is_stream) {
        *n = (size_t)heft_min_u64(room, t->end - t->at);
        t->at += *n;
        *is_last = t->at == t->end;
        return heft_source_read(&t->source, t->at - *n, to, *n, err);
    }
    for (; *n < room && some > 0; *n += some)
        if (!heft_input_read(&t->stream, to + *n, room - *n, &some, err))
            return false;
    *is_last = some == 0;
    return true;
}

/* Reads larger pieces the more is incomplete, so that a long pre-token is scanned few times. */
static bool read_more(struct buffer *b, struct text *t, bool *is_last, struct heft_error *err)
{
    const size_t room = b->n > PIECE ? b->n : PIECE;
    size_t n;

    if (!heft_grow(&b->p, &b->cap, b->n, room + ROOM, 1, err) ||
        !read_text(t, b->p + b->n, room, &n, is_last, err))
        return false;
    b->n += n;
    memset(b->p + b->n, 0, ROOM);
    return true;
}

/* ---- collected text ---------------------------------------------------------------------- */

struct collected {
    struct heft_word_counter *counter;
    struct buffer text;
    size_t wanted; /* bytes before pre-tokens are looked for again */
    uint64_t most;
};

static bool fail_long(uint64_t offset, uint64_t most, struct heft_error *err)
{
    return heft_fail(err, HEFT_LIMIT, offset, "a pre-token of more than %" PRIu64 " bytes", most);
}

static bool count_collected(struct collected *c, bool is_last, struct heft_error *err)
{
    struct buffer *const b = &c->text;
    size_t done;

    if (b->n == 0 || (!is_last && b->n < c->wanted))
        return true;
    memset(b->p + b->n, 0, ROOM);
    if (!heft_count_words(c->counter, b->p, b->n, is_last, &done, err))
        return false;
    memmove(b->p, b->p + done, b->n - done);
    b->n -= done;
    c->wanted = 2 * b->n > PIECE ? 2 * b->n : PIECE;
    return b->n <= c->most || fail_long(HEFT_NO_OFFSET, c->most, err);
}

static bool put_collected(void *ctx, const uint8_t *text, size_t n, struct heft_error *err)
{
    struct collected *c = ctx;
    struct buffer *const b = &c->text;

    if (!heft_grow(&b->p, &b->cap, b->n, n + ROOM, 1, err))
        return false;
    memcpy(b->p + b->n, text, n);
    b->n += n;
    return count_collected(c, false, err);
}

static bool cut_collected(void *ctx, uint32_t id, struct heft_error *err)
{
    (void)id;
    return count_collected(ctx, true, err);
}

/* ---- counting one span ------------------------------------------------------------------- */

struct counting {
    struct heft_word_counter *counter;
    const struct heft_train_how *how;
    struct collected collected;
    struct heft_nfc_stage *nfc;
    struct heft_text_sink sink; /* put is NULL: pre-tokens are counted where the text was read */
    uint64_t most;              /* bytes of a pre-token */
};

static bool begin_counting(struct counting *c, struct heft_error *err)
{
    c->most = c->how->memory;
    if (c->counter->pretokens)
        c->most = heft_min_u64(c->most, MOST_CHAIN);
    c->collected = (struct collected){.counter = c->counter, .most = c->most};
    if (!c->how->is_nfc && !c->how->jsonl_key)
        return true;
    c->sink = (struct heft_text_sink){&c->collected, put_collected, cut_collected};
    if (!c->how->is_nfc)
        return true;
    c->nfc = heft_nfc_stage_new(c->sink, err);
    if (c->nfc)
        c->sink = heft_nfc_stage_sink(c->nfc);
    return c->nfc != NULL;
}

static void end_counting(struct counting *c)
{
    heft_nfc_stage_free(c->nfc);
    heft_free(c->collected.text.p);
}

/* Counts the checked text of the buffer; *done is the number of bytes that are not needed any more. */
static bool count_checked(struct counting *c, const struct buffer *b, bool is_last, size_t *done,
                          struct heft_error *err)
{
    if (!c->sink.put)
        return heft_count_words(c->counter, b->p, b->checked, is_last, done, err);
    *done = b->checked;
    return (b->checked == 0 || c->sink.put(c->sink.ctx, b->p, b->checked, err)) &&
           (!is_last || c->sink.cut(c->sink.ctx, HEFT_NO_TOKEN, err));
}

static bool count_text(struct counting *c, struct text *t, struct buffer *b, struct heft_error *err)
{
    bool is_last = false;
    size_t done;

    while (!is_last) {
        if (b->n > c->most)
            return fail_long(b->at, c->most, err);
        if (!read_more(b, t, &is_last, err) || !check_utf8(b, is_last, err) ||
            !count_checked(c, b, is_last, &done, err))
            return false;
        if (b->at == 0 && !c->counter->looks_like)
            c->counter->looks_like = heft_text_lookalike((struct heft_bytes){b->p, b->n});
        memmove(b->p, b->p + done, b->n - done);
        b->n -= done;
        b->checked -= done;
        b->at += done;
        c->counter->bytes += done;
    }
    return true;
}

static bool count_plain(struct counting *c, const struct heft_train_span *span, const char *path,
                        struct heft_error *err)
{
    struct buffer buffer = {.at = span->at};
    struct text text;
    bool ok;

    if (!open_text(&text, span, path, err))
        return false;
    ok = count_text(c, &text, &buffer, err);
    close_text(&text);
    heft_free(buffer.p);
    return ok;
}

/* ---- JSON lines -------------------------------------------------------------------------- */

static bool count_document(void *ctx, struct heft_str text, struct heft_error *err)
{
    struct counting *c = ctx;

    c->counter->bytes += text.n;
    return (text.n == 0 || c->sink.put(c->sink.ctx, (const uint8_t *)text.p, text.n, err)) &&
           c->sink.cut(c->sink.ctx, HEFT_NO_TOKEN, err);
}

static bool count_lines_of(struct counting *c, struct heft_input_text *in, struct heft_error *err)
{
    struct heft_json_lines lines = {
        .key = heft_str_of(c->how->jsonl_key), .document = count_document, .ctx = c};
    bool ok = true;
    size_t n = 1, room;
    uint8_t *to;

    while (ok && n > 0)
        ok = heft_json_lines_room(&lines, &to, &room, err) &&
             heft_text_read(in, to, room, &n, err) && heft_json_lines_put(&lines, n, err);
    heft_json_lines_release(&lines);
    return ok;
}

static bool count_json(struct counting *c, const char *path, struct heft_error *err)
{
    const struct heft_text_how how = {.encoding = {.charset = HEFT_CHARSET_UTF8},
                                      .keep_newlines = true};
    struct heft_input_text in;
    bool ok;

    if (!heft_text_open(&in, path, &how, (struct heft_input_asked){0}, err))
        return false;
    ok = count_lines_of(c, &in, err);
    heft_text_close(&in);
    return ok;
}

bool heft_train_count_span(struct heft_word_counter *counter, const struct heft_train_how *how,
                           const struct heft_train_span *span, const char *path,
                           struct heft_error *err)
{
    struct counting c = {.counter = counter, .how = how};
    const bool ok = begin_counting(&c, err) &&
                    (how->jsonl_key ? count_json(&c, path, err) : count_plain(&c, span, path, err));

    end_counting(&c);
    return ok || heft_error_file(err, path);
}
