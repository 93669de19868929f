/* train_read.c: inputs, found as in encode, divided into spans that threads count independently.
 *
 *     file    |──── 8 MiB ────|──── 8 MiB ────|── rest ──|
 *                          …day␣and…       …end⏎The…          split before a blank or a newline that
 *                                                              follows a visible ASCII character
 *
 * At these positions the pre-tokens of the parts are those of the whole; for other patterns than
 * GPT-2's, at those that heft_pretokens_cut_before finds. A file of JSON lines is one span. Packed files (.gz, .zst),
 * pipes and standard input are one span, read sequentially. */
#include "base/text.h"
#include "io/pool.h"
#include "io/source.h"
#include "tokens/input/input_bytes.h"
#include "tokens/input/input_list.h"
#include "tokens/input/lookalikes.h"
#include "tokens/train/train.h"
#include "tokens/unicode/utf8.h"

#define SPAN (UINT64_C(8) << 20)
#define LOOK 4096 /* bytes read to find a split position */
#define HEAD 64   /* bytes that identify a file's type */

#define TABLES (UINT64_C(72) << 20) /* bytes for the tables of all threads */

struct reading {
    struct heft_input_list *list;
    struct heft_train_span *spans;
    size_t n_spans, cap_spans;
    struct heft_classes classes;
    struct heft_scan scan;
    struct heft_train_how how;
    const struct heft_train_pattern *pattern;
    struct heft_word_counter **counters; /* one for each thread */
    unsigned threads;
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

/* Position in a text of complete characters at which its pre-tokens may be divided; 0: none. */
static size_t cut_of_look(const struct reading *r, const uint8_t *look, size_t n)
{
    size_t at = n;

    if (!r->pattern->pretokens) {
        for (size_t i = 1; i < n; i++)
            if ((look[i] == ' ' || look[i] == '\n') && look[i - 1] > ' ' && look[i - 1] < 0x7F)
                return i;
        return 0;
    }
    do
        at = heft_pretokens_cut_before(r->pattern->pretokens, look, n, at - 1);
    while (at > 0 && r->pattern->is_nfc &&
           look[at] >= 0x80); /* ASCII composes with nothing before */
    return at;
}

/* Finds a split position after `from`, or the end of the text. */
static bool find_cut(const struct reading *r, const struct heft_source *source, uint64_t from,
                     uint64_t *cut, struct heft_error *err)
{
    uint8_t look[LOOK];

    for (uint64_t at = from; at < source->size; at += LOOK - 16) {
        const size_t n = (size_t)heft_min_u64(LOOK, source->size - at);
        size_t begin = 0, end, found;

        if (!heft_source_read(source, at, look, n, err))
            return false;
        while (begin < n && begin < 4 && heft_utf8_is_tail(look[begin]))
            begin++;
        end = begin + heft_utf8_check((struct heft_bytes){look + begin, n - begin});
        found = end > begin ? cut_of_look(r, look + begin, end - begin) : 0;
        if (found > 0) {
            *cut = at + begin + found;
            return true;
        }
    }
    *cut = source->size;
    return true;
}

static bool add_span(struct reading *r, struct heft_train_span span, struct heft_error *err)
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
    if (r->how.jsonl_key || heft_pack_of((struct heft_bytes){head, n}) != HEFT_PACK_NONE)
        return add_span(r, (struct heft_train_span){file, true, 0, 0}, err);
    for (; at < source->size; at = end) {
        end = source->size;
        if (source->size - at > SPAN && !find_cut(r, source, at + SPAN, &end, err))
            return false;
        if (!add_span(r, (struct heft_train_span){file, false, at, end - at}, err))
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
        return add_span(r, (struct heft_train_span){file, true, 0, 0}, err);
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

/* ---- counting all spans ------------------------------------------------------------------ */

static bool count_job(void *ctx, unsigned worker, uint64_t index, struct heft_error *err)
{
    struct reading *r = ctx;
    const struct heft_train_span *span = &r->spans[index];
    struct heft_input_item item;
    struct heft_buf path = {0};
    const bool ok = heft_input_list_get(r->list, span->file, &path, &item, err) &&
                    heft_train_count_span(r->counters[worker], &r->how, span, item.path, err);

    heft_buf_release(&path);
    return ok;
}

static bool make_counters(struct reading *r, const struct heft_train_options *options,
                          struct heft_error *err)
{
    const uint64_t memory = r->how.memory;

    r->threads = heft_pool_threads(options->threads, r->n_spans);
    r->scan = (struct heft_scan){&r->classes, heft_scan_kernel(), NULL};
    r->counters = heft_calloc(r->threads, sizeof(struct heft_word_counter *), err);
    if (!r->counters || !heft_classes_init(&r->classes, options->unicode, err))
        return false;
    for (unsigned i = 0; i < r->threads; i++) {
        r->counters[i] = heft_calloc(1, sizeof *r->counters[i], err);
        if (!r->counters[i])
            return false;
        r->counters[i]->pretokens = r->pattern->pretokens;
        r->counters[i]->scan =
            options->style == HEFT_TRAIN_BYTES && !r->pattern->pretokens ? &r->scan : NULL;
        r->counters[i]->counts.most = heft_min_u64(TABLES, memory / 4) / r->threads;
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
         heft_words_gather(words, tables, r->threads, heft_min_u64(TABLES, r->how.memory / 4), err);
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
                     const struct heft_train_pattern *pattern, struct heft_words *words,
                     struct heft_train_report *report, struct heft_error *err)
{
    struct reading *r = heft_calloc(1, sizeof *r, err);
    bool ok;

    if (!r)
        return false;
    r->pattern = pattern;
    r->how = (struct heft_train_how){options->jsonl_key, pattern->is_nfc,
                                     options->memory ? options->memory : HEFT_TRAIN_MEMORY};
    ok = find_files(r, paths, n, err) && cut_files(r, err) && make_counters(r, options, err) &&
         count_all(r, words, report, err);
    release_reading(r);
    return ok;
}
