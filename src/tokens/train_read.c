/* train_read.c: files, cut into spans that threads count apart.
 *
 *     file    |──── 8 MiB ────|──── 8 MiB ────|── rest ──|
 *                          …day␣and…       …end⏎The…          cut before a blank or a newline that
 *                                                              follows a visible ASCII character
 *
 * There the words of the parts are the words of the whole. */
#include <stdio.h>

#include "base/text.h"
#include "io/pool.h"
#include "io/source.h"
#include "tokens/train.h"

#define SPAN  (UINT64_C(8) << 20)
#define PIECE ((size_t)1 << 20)
#define LOOK  4096 /* bytes read to find a cut */
#define ROOM  16   /* readable bytes behind a text */

struct span {
    uint32_t file;
    uint64_t at, n;
};

struct reading {
    struct heft_arena mem;
    const char **files;
    size_t n_files, cap_files;
    struct span *spans;
    size_t n_spans, cap_spans;
    struct heft_classes classes;
    struct heft_scan scan;
    struct heft_word_counter **counters; /* one a thread */
    unsigned threads;
    uint64_t bytes;
};

/* ---- what there is ----------------------------------------------------------------------- */

static bool add_path(struct reading *r, const char *path, struct heft_error *err)
{
    if (!heft_grow(&r->files, &r->cap_files, r->n_files, 1, sizeof *r->files, err))
        return false;
    r->files[r->n_files++] = path;
    return true;
}

/* The folder at `i` gives way to what it holds, which goes to the end. */
static bool open_folder(struct reading *r, size_t i, struct heft_error *err)
{
    const char *const folder = r->files[i];
    const char *const *names;
    size_t count;

    if (!heft_path_list(folder, &r->mem, &names, &count, err))
        return false;
    r->files[i] = r->files[--r->n_files];
    for (size_t k = 0; k < count; k++) {
        const char *path = heft_arena_printf(&r->mem, err, "%s/%s", folder, names[k]);

        if (!path || !add_path(r, path, err))
            return false;
    }
    return true;
}

static bool find_files(struct reading *r, const char *const *paths, size_t n,
                       struct heft_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!add_path(r, paths[i], err))
            return false;
    for (size_t i = 0; i < r->n_files;) {
        if (heft_path_kind(r->files[i]) != HEFT_PATH_DIR)
            i++;
        else if (!open_folder(r, i, err))
            return false;
    }
    return true;
}

/* ---- spans ------------------------------------------------------------------------------- */

/* The first place behind `from` where the text may be cut, or its end. */
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

static bool cut_file(struct reading *r, const struct heft_source *source, uint32_t file,
                     struct heft_error *err)
{
    uint64_t at = 0, end;

    for (; at < source->size; at = end) {
        end = source->size;
        if (source->size - at > SPAN && !find_cut(source, at + SPAN, &end, err))
            return false;
        if (!heft_grow(&r->spans, &r->cap_spans, r->n_spans, 1, sizeof *r->spans, err))
            return false;
        r->spans[r->n_spans++] = (struct span){file, at, end - at};
    }
    r->bytes += source->size;
    return true;
}

static bool cut_files(struct reading *r, struct heft_error *err)
{
    for (size_t i = 0; i < r->n_files; i++) {
        struct heft_source source;
        bool ok;

        if (!heft_source_open_file(&source, r->files[i], err))
            return heft_error_file(err, r->files[i]);
        ok = cut_file(r, &source, (uint32_t)i, err);
        heft_source_close(&source);
        if (!ok)
            return heft_error_file(err, r->files[i]);
    }
    return true;
}

/* ---- one span ---------------------------------------------------------------------------- */

struct buffer {
    uint8_t *p;
    size_t n, cap, checked; /* checked: is UTF-8 so far */
    uint64_t at;            /* of p[0] in the file */
};

static bool fail_text(const struct buffer *b, struct heft_error *err)
{
    char bytes[16] = "";

    for (size_t i = 0; i < 4 && b->checked + i < b->n; i++)
        snprintf(bytes + 3 * i, 4, " %02x", b->p[b->checked + i]);
    return heft_fail(err, HEFT_MALFORMED, b->at + b->checked, "bytes%s are no UTF-8", bytes);
}

/* A character that the end of the buffer cuts is no fault before the end of the span. */
static bool check(struct buffer *b, bool is_last, struct heft_error *err)
{
    b->checked += heft_utf8_check((struct heft_bytes){b->p + b->checked, b->n - b->checked});
    return b->checked == b->n || (!is_last && b->n - b->checked < 4) || fail_text(b, err);
}

/* Pieces grow with what is not certain, so that a word without end is looked at few times. */
static bool read_more(struct buffer *b, const struct heft_source *source, uint64_t end,
                      struct heft_error *err)
{
    const size_t n = (size_t)heft_min_u64(b->n > PIECE ? b->n : PIECE, end - b->at - b->n);

    if (!heft_grow(&b->p, &b->cap, b->n, n + ROOM, 1, err) ||
        !heft_source_read(source, b->at + b->n, b->p + b->n, n, err))
        return false;
    b->n += n;
    memset(b->p + b->n, 0, ROOM);
    return true;
}

static bool count_span(struct heft_word_counter *counter, const struct heft_source *source,
                       const struct span *span, struct buffer *b, struct heft_error *err)
{
    const uint64_t end = span->at + span->n;
    size_t done;

    for (b->at = span->at; b->at + b->n < end;) {
        bool is_last;

        if (b->n > counter->counts.most)
            return heft_fail(err, HEFT_LIMIT, b->at, "a word of more than %" PRIu64 " bytes",
                             counter->counts.most);
        if (!read_more(b, source, end, err))
            return false;
        is_last = b->at + b->n == end;
        if (!check(b, is_last, err) ||
            !heft_count_words(counter, b->p, b->checked, is_last, &done, err))
            return false;
        memmove(b->p, b->p + done, b->n - done);
        b->n -= done;
        b->checked -= done;
        b->at += done;
    }
    return true;
}

static bool count_job(void *ctx, unsigned worker, uint64_t index, struct heft_error *err)
{
    struct reading *r = ctx;
    const struct span *span = &r->spans[index];
    const char *const path = r->files[span->file];
    struct buffer buffer = {0};
    struct heft_source source;
    bool ok;

    if (!heft_source_open_file(&source, path, err))
        return heft_error_file(err, path);
    ok = count_span(r->counters[worker], &source, span, &buffer, err);
    heft_source_close(&source);
    heft_free(buffer.p);
    return ok || heft_error_file(err, path);
}

/* ---- all of them ------------------------------------------------------------------------- */

static bool make_counters(struct reading *r, const struct heft_train_options *options,
                          struct heft_error *err)
{
    const uint64_t memory = options->memory ? options->memory : HEFT_TRAIN_MEMORY;

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
        r->counters[i]->counts.most = memory / r->threads;
    }
    return true;
}

static bool count_all(struct reading *r, struct heft_counts *counts,
                      struct heft_train_report *report, struct heft_error *err)
{
    const struct heft_pool_work work = {count_job, r, r->n_spans, r->threads};

    if (r->n_spans > 0 && !heft_pool_run(&work, err))
        return false;
    *counts = r->counters[0]->counts;
    r->counters[0]->counts = (struct heft_counts){0};
    counts->most *= r->threads;
    report->words = r->counters[0]->total;
    for (unsigned i = 1; i < r->threads; i++) {
        if (!heft_counts_join(counts, &r->counters[i]->counts, err))
            return false;
        heft_counts_release(&r->counters[i]->counts);
        report->words += r->counters[i]->total;
    }
    report->files = r->n_files;
    report->bytes = r->bytes;
    report->different = counts->n;
    return true;
}

static void release(struct reading *r)
{
    for (unsigned i = 0; r->counters && i < r->threads; i++) {
        if (r->counters[i])
            heft_counts_release(&r->counters[i]->counts);
        heft_free(r->counters[i]);
    }
    heft_free(r->counters);
    heft_free(r->files);
    heft_free(r->spans);
    heft_arena_release(&r->mem);
    heft_free(r);
}

bool heft_train_read(const char *const *paths, size_t n, const struct heft_train_options *options,
                     struct heft_counts *counts, struct heft_train_report *report,
                     struct heft_error *err)
{
    struct reading *r = heft_calloc(1, sizeof *r, err);
    const bool ok = r && find_files(r, paths, n, err) && cut_files(r, err) &&
                    make_counters(r, options, err) && count_all(r, counts, report, err);

    if (r)
        release(r);
    return ok;
}
