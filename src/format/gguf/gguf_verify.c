/* gguf_verify.c: the map of all bytes of a GGUF, and what its reader accepts and llama.cpp does not.
 *
 *     spans: the bytes of each tensor, in order of their offsets ─► padding after each
 *     infos, in the order of the file ─► the offset that llama.cpp demands: the sum of the padded
 *     sizes of the tensors before it */
#include <stdlib.h>

#include "format/gguf/gguf_read.h"

enum { MOST_CLAIMS = 1000000 };

/* ---- walking over the infos ------------------------------------------------------------------- */

typedef bool info_fn(void *ctx, const struct heft_gguf_info *info, uint64_t end,
                     struct heft_error *err);

/* Calls `each` for every info; they were checked when the file was opened. end: of the info. */
static bool each_info(const struct heft_model *model, const struct heft_gguf_file *file,
                      info_fn *each, void *ctx, struct heft_error *err)
{
    uint8_t *const window = heft_alloc(HEFT_GGUF_WINDOW, err);
    struct heft_gguf_cursor cursor;
    struct heft_buf name = {0};
    struct heft_gguf_info info;
    bool ok = window != NULL;

    if (ok)
        heft_gguf_cursor_init(&cursor, &model->sources[file->source].source, window, file->infos,
                              file->version, file->is_big_endian);
    for (uint64_t i = 0; ok && i < file->n_tensors; i++)
        ok = heft_gguf_take_info(&cursor, &name, model->limits.name, &info, err) &&
             each(ctx, &info, cursor.at, err);
    heft_buf_release(&name);
    heft_free(window);
    return ok;
}

/* ---- spans of tensors ------------------------------------------------------------------------- */

/* The bytes [begin, end) of a tensor; end == begin: of unknown size, or empty. */
struct span {
    uint64_t begin, end;
    bool is_unknown;
};

struct spans {
    const struct heft_gguf_file *file;
    uint64_t size; /* of the file */
    struct span *list;
    size_t n;
};

static bool add_span(void *ctx, const struct heft_gguf_info *info, uint64_t end,
                     struct heft_error *err)
{
    struct spans *const s = ctx;
    struct span span = {.begin = s->size, .end = s->size};
    uint64_t bytes = 0;

    (void)end;
    (void)err;
    span.is_unknown = !heft_gguf_info_bytes(info, &bytes);
    if (s->file->data <= s->size && info->offset <= s->size - s->file->data) {
        span.begin = s->file->data + info->offset;
        span.end = span.begin + heft_min_u64(bytes, s->size - span.begin);
    }
    s->list[s->n++] = span;
    return true;
}

static int by_place(const void *a, const void *b)
{
    const struct span *const x = a, *const y = b;

    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

/* A tensor of an unknown type extends to the next one, or to the end of the file. */
static void guess_ends(struct spans *s)
{
    uint64_t next = s->size;

    for (size_t i = s->n; i > 0; i--) {
        struct span *const span = &s->list[i - 1];

        if (span->is_unknown)
            span->end = next;
        if (i > 1 && s->list[i - 2].begin < span->begin)
            next = span->begin;
    }
}

static bool find_spans(const struct heft_model *model, const struct heft_gguf_file *file,
                       struct heft_arena *mem, struct spans *s, struct heft_error *err)
{
    size_t n;

    *s = (struct spans){.file = file, .size = model->sources[file->source].source.size};
    if (!heft_size(file->n_tensors, &n))
        return false;
    s->list = heft_arena_zero(mem, n + 1, sizeof *s->list, err);
    if (!s->list || !each_info(model, file, add_span, s, err))
        return false;
    qsort(s->list, s->n, sizeof *s->list, by_place);
    guess_ends(s);
    return true;
}

/* End of the padding that begins at `at`. */
static uint64_t padded(const struct spans *s, uint64_t at)
{
    const uint64_t rest = (s->file->alignment - at % s->file->alignment) % s->file->alignment;

    return at + heft_min_u64(rest, s->size - at);
}

typedef bool range_fn(void *ctx, uint64_t at, uint64_t len, struct heft_error *err);

/* Calls `pad` for each range of padding: after the infos, and after tensors; `rest` for the bytes after
 * the last tensor's. */
static bool each_padding(const struct spans *s, range_fn *pad, range_fn *rest, void *ctx,
                         struct heft_error *err)
{
    const uint64_t begin = heft_min_u64(s->file->data, s->size);
    uint64_t end = begin;

    if (begin > s->file->infos_end &&
        !pad(ctx, s->file->infos_end, begin - s->file->infos_end, err))
        return false;
    for (size_t i = 0; i < s->n; i++) {
        const uint64_t next = i + 1 < s->n ? s->list[i + 1].begin : s->size;

        end = heft_max_u64(end, s->list[i].end);
        if (end >= next || s->list[i].is_unknown)
            continue;
        if (padded(s, end) > end && !pad(ctx, end, heft_min_u64(padded(s, end), next) - end, err))
            return false;
    }
    end = padded(s, end);
    return end >= s->size || rest(ctx, end, s->size - end, err);
}

/* ---- the map ---------------------------------------------------------------------------------- */

struct drawing {
    struct heft_model *view;
    const struct heft_gguf_file *file;
    uint64_t left; /* claims that may still be added */
};

static bool claim_info(void *ctx, const struct heft_gguf_info *info, uint64_t end,
                       struct heft_error *err)
{
    const struct drawing *const d = ctx;
    struct heft_str name;

    return heft_gguf_show_name(info->name, &d->view->mem, &name, err) &&
           heft_model_claim_of(d->view, d->file->source, info->at, end - info->at, "tensor info ",
                               name, err);
}

static bool claim_padding(void *ctx, uint64_t at, uint64_t len, struct heft_error *err)
{
    const struct drawing *const d = ctx;

    return heft_model_claim(d->view, d->file->source, at, len, "padding", err);
}

static bool claim_rest(void *ctx, uint64_t at, uint64_t len, struct heft_error *err)
{
    const struct drawing *const d = ctx;

    return heft_model_claim(d->view, d->file->source, at, len, "bytes after the data", err);
}

static bool claim_range(const struct drawing *d, uint64_t begin, uint64_t end, const char *what,
                        struct heft_error *err)
{
    return begin == end ||
           heft_model_claim(d->view, d->file->source, begin, end - begin, what, err);
}

static bool draw_pairs(const struct drawing *d, struct heft_error *err)
{
    const struct heft_gguf_file *const file = d->file;

    if (file->n_pairs == 0)
        return true;
    if (file->n_pairs > MOST_CLAIMS)
        return claim_range(d, file->pairs[0].at, file->infos, "key-value pairs", err);
    for (size_t i = 0; i < file->n_pairs; i++) {
        const struct heft_gguf_pair *const pair = &file->pairs[i];

        if (!heft_model_claim_of(d->view, file->source, pair->at,
                                 pair->value + pair->bytes - pair->at, "key-value pair ", pair->key,
                                 err))
            return false;
    }
    return true;
}

static bool draw_unknown(const struct drawing *d, const struct spans *s, struct heft_error *err)
{
    uint64_t end = 0;

    for (size_t i = 0; i < s->n; i++) {
        const struct span *const span = &s->list[i];

        if (span->is_unknown && span->begin >= end &&
            !claim_range(d, span->begin, span->end, "tensor of an unknown type", err))
            return false;
        end = heft_max_u64(end, span->end);
    }
    return true;
}

bool heft_gguf_annotate(struct heft_model *view, uint32_t source, struct heft_error *err)
{
    struct drawing d = {.view = view, .file = view->sources[source].kept};
    struct spans s;

    if (!find_spans(view, d.file, &view->mem, &s, err) || !draw_pairs(&d, err))
        return false;
    if (d.file->n_tensors > MOST_CLAIMS
            ? !claim_range(&d, d.file->infos, d.file->infos_end, "tensor infos", err)
            : !each_info(view, d.file, claim_info, &d, err))
        return false;
    return draw_unknown(&d, &s, err) && each_padding(&s, claim_padding, claim_rest, &d, err);
}

/* ---- findings --------------------------------------------------------------------------------- */

struct judging {
    const struct heft_model *model;
    const struct heft_gguf_file *file;
    const struct heft_reporter *to;
    uint64_t expected; /* offset that llama.cpp demands of the next tensor */
    bool is_known;     /* false after a tensor of unknown size */
    uint64_t misplaced, first_misplaced, found, wanted;
    uint64_t unaligned, first_unaligned;
    uint64_t paddings, first_padding;
};

static void report(const struct judging *j, enum heft_severity severity, uint64_t at,
                   const struct heft_error *text)
{
    j->to->report(j->to->ctx, severity, j->file->source, at, text->text);
}

static bool judge_info(void *ctx, const struct heft_gguf_info *info, uint64_t end,
                       struct heft_error *err)
{
    struct judging *const j = ctx;
    const uint64_t mask = j->file->alignment - 1;
    uint64_t bytes;

    (void)end;
    (void)err;
    if ((info->offset & mask) && j->unaligned++ == 0)
        j->first_unaligned = info->at;
    if (j->is_known && info->offset != j->expected && j->misplaced++ == 0) {
        j->first_misplaced = info->at;
        j->found = info->offset;
        j->wanted = j->expected;
    }
    j->is_known = heft_gguf_info_bytes(info, &bytes);
    if (j->is_known) /* inside the file, so that it cannot overflow by more than the alignment */
        j->is_known = heft_add(info->offset, bytes, &j->expected) &&
                      heft_add(j->expected, mask, &j->expected);
    j->expected &= ~mask;
    return true;
}

static void tell_offsets(const struct judging *j)
{
    struct heft_error text = {0};

    if (j->misplaced) {
        heft_fail(&text, HEFT_OK, j->first_misplaced,
                  "%" PRIu64 " tensor%s not where the one before ends, padded: first at offset "
                  "%" PRIu64 " of the data instead of %" PRIu64 "; llama.cpp refuses this",
                  j->misplaced, j->misplaced == 1 ? " is" : "s are", j->found, j->wanted);
        report(j, HEFT_FINDING, j->first_misplaced, &text);
    }
    if (j->unaligned) {
        heft_fail(&text, HEFT_OK, j->first_unaligned,
                  "%" PRIu64 " tensor%s not aligned to %" PRIu64 " bytes; llama.cpp refuses this",
                  j->unaligned, j->unaligned == 1 ? " is" : "s are", j->file->alignment);
        report(j, HEFT_FINDING, j->first_unaligned, &text);
    }
}

static bool judge_padding(void *ctx, uint64_t at, uint64_t len, struct heft_error *err)
{
    struct judging *const j = ctx;
    bool zeros;

    if (!heft_source_zeros(&j->model->sources[j->file->source].source, at, len, &zeros, err))
        return false;
    if (!zeros && j->paddings++ == 0)
        j->first_padding = at;
    return true;
}

static bool judge_rest(void *ctx, uint64_t at, uint64_t len, struct heft_error *err)
{
    const struct judging *const j = ctx;
    struct heft_error text = {0};

    (void)err;
    heft_fail(&text, HEFT_OK, at, "%" PRIu64 " byte%s the data", len,
              len == 1 ? " follows" : "s follow");
    report(j, HEFT_NOTE, at, &text);
    return true;
}

/* Notes a file that ends in the padding of its last tensor. */
static void judge_end(const struct judging *j, const struct spans *s)
{
    const uint64_t last = s->n > 0 ? s->list[s->n - 1].end : 0;
    const uint64_t rest = last % j->file->alignment;
    struct heft_error text = {0};

    if (s->n == 0 || last != s->size || rest == 0 || s->list[s->n - 1].is_unknown)
        return;
    heft_fail(&text, HEFT_OK, s->size,
              "the file ends before the padding of its last tensor, of %" PRIu64
              " bytes: llama.cpp refuses to load it",
              j->file->alignment - rest);
    report(j, HEFT_NOTE, s->size, &text);
}

/* ---- values that readers take differently ------------------------------------------------------ */

/* Counts bytes of bools other than 0 and 1. */
static bool count_odd_bools(const struct judging *j, const struct heft_gguf_pair *pair,
                            uint64_t *odd, struct heft_error *err)
{
    const bool is_array = pair->type == HEFT_GGUF_ARRAY;
    const uint64_t n = is_array ? pair->count : 1;
    uint64_t at = pair->value + pair->bytes - n;
    uint8_t piece[4096];

    *odd = 0;
    if (pair->type != HEFT_GGUF_BOOL && !(is_array && pair->item_type == HEFT_GGUF_BOOL))
        return true;
    for (uint64_t left = n; left > 0;) {
        const size_t some = heft_min_size(sizeof piece, left);

        if (!heft_source_read(&j->model->sources[j->file->source].source, at, piece, some, err))
            return false;
        for (size_t i = 0; i < some; i++)
            *odd += piece[i] > 1;
        at += some;
        left -= some;
    }
    return true;
}

static bool judge_pairs(const struct judging *j, struct heft_error *err)
{
    for (size_t i = 0; i < j->file->n_pairs; i++) {
        const struct heft_gguf_pair *const pair = &j->file->pairs[i];
        struct heft_error text = {0};
        uint64_t odd;

        if (!count_odd_bools(j, pair, &odd, err))
            return false;
        if (odd == 0)
            continue;
        heft_fail(&text, HEFT_OK, pair->value, "%" PRIu64 " bool%s neither 0 nor 1: read as true",
                  odd, odd == 1 ? " is" : "s are");
        heft_error_about(&text, "key", pair->key);
        report(j, HEFT_NOTE, pair->value, &text);
    }
    return true;
}

static bool judge_all(struct judging *j, struct heft_arena *mem, struct heft_error *err)
{
    struct heft_error text = {0};
    struct spans s;

    if (!find_spans(j->model, j->file, mem, &s, err) ||
        !each_info(j->model, j->file, judge_info, j, err))
        return false;
    tell_offsets(j);
    if (!each_padding(&s, judge_padding, judge_rest, j, err))
        return false;
    if (j->paddings) {
        heft_fail(&text, HEFT_OK, j->first_padding, "%" PRIu64 " padding%s not zero", j->paddings,
                  j->paddings == 1 ? " is" : "s are");
        report(j, HEFT_NOTE, j->first_padding, &text);
    }
    judge_end(j, &s);
    return judge_pairs(j, err);
}

bool heft_gguf_verify(const struct heft_model *model, uint32_t source,
                      const struct heft_reporter *to, struct heft_error *err)
{
    struct judging j = {
        .model = model, .file = model->sources[source].kept, .to = to, .is_known = true};
    struct heft_arena mem = {0};
    const bool ok = judge_all(&j, &mem, err);

    heft_arena_release(&mem);
    return ok;
}
