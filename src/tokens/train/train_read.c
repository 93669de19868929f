/* train_read.c: inputs, found as in encode, divided into spans that threads count independently.
 *
 *     file    |──── 8 MiB ────|──── 8 MiB ────|── rest ──|
 *                          …day␣and…       …end⏎The…          split before a blank or a newline that
 *                                                              follows a visible ASCII character
 *
 * At these positions the pre-tokens of the parts are those of the whole. Packed files (.gz, .zst),
 * pipes and standard input are one span, read sequentially. */
#include <stdio.h>

#include "base/text.h"
#include "io/pool.h"
#include "io/source.h"
#include "tokens/input/input_bytes.h"
#include "tokens/input/input_list.h"
#include "tokens/input/lookalikes.h"
#include "tokens/train/train.h"

#define SPAN  (UINT64_C(8) << 20)
#define PIECE ((size_t)1 << 20)
#define LOOK  4096 /* bytes read to find a split position */
#define ROOM  16   /* readable bytes after a text */
#define HEAD  64   /* bytes that identify a file's type */

#define TABLES (UINT64_C(72) << 20) /* bytes for the tables of all threads */

struct span {
    uint32_t file;
    bool is_stream; /* the whole input as a stream; at and n are 0 */
    uint64_t at, n;
};

struct reading {
    struct heft_input_list *list;
    struct span *spans;
    size_t n_spans, cap_spans;
    struct heft_classes classes;
    struct heft_scan scan;
    struct heft_word_counter **counters; /* one for each thread */
    unsigned threads;
    uint64_t memory;
};

/* ---- finding the files ------------------------------------------------------------------- */

static bool find_files(struct reading *r, const char *const *paths, size_t n,
                       struct heft_error *err)
{
    const struct heft_input_how how = {.allow_empty = true}; /* an empty directory is no error */

    r->list = heft_input_list_new(err);
    if (!r->list)
        return false;
    for (size_t i = 0; i < n; i++) {
        const size_t before = heft_input_list_count(r->list);

        if (!heft_input_list_add(r->list, paths[i], 0, &how, err))
            return false;
        if (heft_input_list_count(r->list) == before &&
            heft_path_kind(paths[i]) == HEFT_PATH_NONE) {
            heft_fail_missing(err, "no such file, and no match as a pattern");
            return heft_error_file(err, paths[i]);
        }
    }
    return true;
}

/* ---- cutting files into spans ------------------------------------------------------------ */

/* Finds the first split position after `from`, or the end of the text. */
static bool find_cut(const struct heft_source *source, uint64_t from, uint64_t *cut,
                     struct heft_error *err)
{
    uint8_t look[LOOK];

    for (uint64_t at = from; at < source->size; at += LOOK - 1) {
        const size_t n = (size_t)heft_min_u64(LOOK, source->size - at);

        if (!heft_source_read(source, at, look, n, err))
            return false;
        for (size_t i = 1; i < n; i++) {
            if ((look[i] == ' ' || look[i] == '\n') && look[i - 1] > ' ' && look[i - 1] < 0x7F) {
                *cut = at + i;
                return true;
            }
        }
    }
    *cut = source->size;
    return true;
}

static bool add_span(struct reading *r, struct span span, struct heft_error *err)
{
    if (!heft_grow(&r->spans, &r->cap_spans, r->n_spans, 1, sizeof *r->spans, err))
        return false;
    r->spans[r->n_spans++] = span;
    return true;
}

static bool cut_file(struct reading *r, const struct heft_source *source, uint32_t file,
                     struct heft_error *err)
{
    const size_t n = (size_t)heft_min_u64(HEAD, source->size);
    uint8_t head[HEAD];
    uint64_t at = 0, end;

    if (!heft_source_read(source, 0, head, n, err))
        return false;
    if (heft_stranger((struct heft_bytes){head, n}))
        return heft_fail(err, HEFT_UNSUPPORTED, 0,
                         "%s; expected text, uncompressed or as .gz or .zst",
                         heft_stranger((struct heft_bytes){head, n}));
    if (heft_pack_of((struct heft_bytes){head, n}) != HEFT_PACK_NONE)
        return add_span(r, (struct span){file, true, 0, 0}, err);
    for (; at < source->size; at = end) {
        end = source->size;
        if (source->size - at > SPAN && !find_cut(source, at + SPAN, &end, err))
            return false;
        if (!add_span(r, (struct span){file, false, at, end - at}, err))
            return false;
    }
    return true;
}

/* An input of size 0 may be a pipe or a file of /proc: it is read as a stream. */
static bool cut_item(struct reading *r, uint32_t file, const struct heft_input_item *item,
                     struct heft_error *err)
{
    struct heft_source source;
    bool ok;

    if (item->bytes == 0)
        return add_span(r, (struct span){file, true, 0, 0}, err);
    if (!heft_source_open_file(&source, item->path, err))
        return heft_error_file(err, item->path);
    ok = cut_file(r, &source, file, err);
    heft_source_close(&source);
    return ok || heft_error_file(err, item->path);
}

static bool cut_files(struct reading *r, struct heft_error *err)
{
    const size_t n = heft_input_list_count(r->list);
    struct heft_buf path = {0};
    bool ok = true;

    for (size_t i = 0; ok && i < n; i++) {
        struct heft_input_item item;

        ok = heft_input_list_get(r->list, i, &path, &item, err) &&
             cut_item(r, (uint32_t)i, &item, err);
    }
    heft_buf_release(&path);
    return ok;
}

/* ---- counting one span ------------------------------------------------------------------- */

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

static bool open_text(struct text *t, const struct span *span, const char *path,
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

static bool count_span(struct heft_word_counter *counter, struct text *t, struct buffer *b,
                       uint64_t memory, struct heft_error *err)
{
    bool is_last = false;
    size_t done;

    while (!is_last) {
        if (b->n > memory)
            return heft_fail(err, HEFT_LIMIT, b->at, "a pre-token of more than %" PRIu64 " bytes",
                             memory);
        if (!read_more(b, t, &is_last, err) || !check_utf8(b, is_last, err) ||
            !heft_count_words(counter, b->p, b->checked, is_last, &done, err))
            return false;
        if (b->at == 0 && !counter->looks_like)
            counter->looks_like = heft_text_lookalike((struct heft_bytes){b->p, b->n});
        memmove(b->p, b->p + done, b->n - done);
        b->n -= done;
        b->checked -= done;
        b->at += done;
        counter->bytes += done;
    }
    return true;
}

static bool count_file(struct heft_word_counter *counter, const struct span *span, const char *path,
                       uint64_t memory, struct heft_error *err)
{
    struct buffer buffer = {.at = span->at};
    struct text text;
    bool ok;

    if (!open_text(&text, span, path, err))
        return heft_error_file(err, path);
    ok = count_span(counter, &text, &buffer, memory, err);
    close_text(&text);
    heft_free(buffer.p);
    return ok || heft_error_file(err, path);
}

static bool count_job(void *ctx, unsigned worker, uint64_t index, struct heft_error *err)
{
    struct reading *r = ctx;
    const struct span *span = &r->spans[index];
    struct heft_input_item item;
    struct heft_buf path = {0};
    const bool ok = heft_input_list_get(r->list, span->file, &path, &item, err) &&
                    count_file(r->counters[worker], span, item.path, r->memory, err);

    heft_buf_release(&path);
    return ok;
}

/* ---- counting all spans ------------------------------------------------------------------ */

static bool make_counters(struct reading *r, const struct heft_train_options *options,
                          struct heft_error *err)
{
    r->memory = options->memory ? options->memory : HEFT_TRAIN_MEMORY;
    r->threads = heft_pool_threads(options->threads, r->n_spans);
    r->scan = (struct heft_scan){&r->classes, heft_scan_kernel(), NULL};
    r->counters = heft_calloc(r->threads, sizeof(struct heft_word_counter *), err);
    if (!r->counters || !heft_classes_init(&r->classes, options->unicode, err))
        return false;
    for (unsigned i = 0; i < r->threads; i++) {
        r->counters[i] = heft_calloc(1, sizeof *r->counters[i], err);
        if (!r->counters[i])
            return false;
        r->counters[i]->scan = options->style == HEFT_TRAIN_BYTES ? &r->scan : NULL;
        r->counters[i]->counts.most = heft_min_u64(TABLES, r->memory / 4) / r->threads;
    }
    return true;
}

static bool gather_counts(struct reading *r, struct heft_words *words, struct heft_error *err)
{
    struct heft_counts **tables = heft_calloc(r->threads, sizeof *tables, err);
    bool ok;

    for (unsigned i = 0; tables && i < r->threads; i++)
        tables[i] = &r->counters[i]->counts;
    ok = tables &&
         heft_words_gather(words, tables, r->threads, heft_min_u64(TABLES, r->memory / 4), err);
    heft_free(tables);
    return ok;
}

static bool count_all(struct reading *r, struct heft_words *words, struct heft_train_report *report,
                      struct heft_error *err)
{
    const struct heft_pool_work work = {count_job, r, r->n_spans, r->threads};

    if ((r->n_spans > 0 && !heft_pool_run(&work, err)) || !gather_counts(r, words, err))
        return false;
    for (unsigned i = 0; i < r->threads; i++) {
        report->words += r->counters[i]->total;
        report->bytes += r->counters[i]->bytes;
        if (!report->looks_like)
            report->looks_like = r->counters[i]->looks_like;
    }
    report->files = heft_input_list_count(r->list);
    report->different = words->n;
    return true;
}

static void release_reading(struct reading *r)
{
    for (unsigned i = 0; r->counters && i < r->threads; i++) {
        if (r->counters[i])
            heft_counts_release(&r->counters[i]->counts);
        heft_free(r->counters[i]);
    }
    heft_free(r->counters);
    heft_free(r->spans);
    heft_input_list_free(r->list);
    heft_free(r);
}

bool heft_train_read(const char *const *paths, size_t n, const struct heft_train_options *options,
                     struct heft_words *words, struct heft_train_report *report,
                     struct heft_error *err)
{
    struct reading *r = heft_calloc(1, sizeof *r, err);
    const bool ok = r && find_files(r, paths, n, err) && cut_files(r, err) &&
                    make_counters(r, options, err) && count_all(r, words, report, err);

    if (r)
        release_reading(r);
    return ok;
}
