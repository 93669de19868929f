/* cmd_stats.c: prints figures of each tensor; with --fail-on, exit status 1 if a tensor has such
 * elements. */
#include "main/options.h"
#include "output/dims.h"
#include "output/output.h"
#include "output/progress.h"
#include "output/report.h"
#include "output/rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Widths of columns; longer texts shift the rest of their line. */
enum { MAX_NAME_WIDTH = 72, MAX_SHAPE_WIDTH = 28, FIGURE_WIDTH = 10 };
enum { MOST_NOTES = 8 };

enum { FAIL_NAN = 1, FAIL_INF = 2, FAIL_ZERO = 4 };

struct table {
    const struct options *options;
    struct out *out;
    const struct rows *rows;
    struct progress *progress;
    size_t k; /* row to be printed next */
    size_t name, dtype, shape;
    unsigned fail_on;
    uint64_t failed;     /* tensors with an element of --fail-on */
    size_t first;        /* row of the first of them */
    uint64_t unnumbered; /* tensors whose elements are not numbers */
};

/* ---- --fail-on --------------------------------------------------------------------------- */

static unsigned fail_word(const char *word, size_t n)
{
    static const char *const words[] = {"nan", "inf", "zero"};

    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == n && !memcmp(words[i], word, n))
            return 1u << i;
    return 0;
}

/* Parses "nan,inf,zero". */
static bool parse_fail_on(const char *text, unsigned *out, struct heft_error *err)
{
    for (const char *word = text; word;) {
        const size_t n = strcspn(word, ",");
        const unsigned bit = fail_word(word, n);

        if (!bit)
            return usage_error(err, "--fail-on %s: expected a list of nan, inf and zero", text);
        *out |= bit;
        word = word[n] ? word + n + 1 : NULL;
    }
    return true;
}

static bool fails(const struct table *table, const struct heft_tensor_stats *s)
{
    return (table->fail_on & FAIL_NAN && s->nan > 0) || (table->fail_on & FAIL_INF && s->inf > 0) ||
           (table->fail_on & FAIL_ZERO && s->zeros > 0);
}

static void report_failed(const struct table *table)
{
    char name[256];
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);

    if (!table->failed || table->options->quiet || !rows_at(table->rows, table->first, &t))
        return;
    fprintf(stderr, "heft: --fail-on %s: %" PRIu64 " tensor%s, the first is %s\n",
            table->options->fail_on, table->failed, table->failed == 1 ? "" : "s",
            report_escape(name, sizeof name, t.name, t.name_len));
}

/* ---- JSON -------------------------------------------------------------------------------- */

static void json_nulls(struct out *out, const char *const *keys, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        json_key(out, keys[i]);
        json_null(out);
    }
}

static void json_member_integer(struct out *out, const char *key, enum heft_stats_kind kind,
                                union heft_stats_integer number)
{
    json_key(out, key);
    if (kind == HEFT_STATS_SIGNED)
        json_i64(out, number.i);
    else
        json_u64(out, number.u);
}

static void json_member_double(struct out *out, const char *key, double number)
{
    json_key(out, key);
    json_double(out, number);
}

static void json_figures(struct out *out, const struct heft_tensor_stats *s)
{
    static const char *const keys[] = {"min", "max", "mean", "std", "abs_max"};
    const bool exact = s->kind != HEFT_STATS_FLOAT;

    if (s->finite == 0) {
        json_nulls(out, keys, sizeof keys / sizeof *keys);
        return;
    }
    if (exact) {
        json_member_integer(out, "min", s->kind, s->exact_min);
        json_member_integer(out, "max", s->kind, s->exact_max);
    } else {
        json_member_double(out, "min", s->min);
        json_member_double(out, "max", s->max);
    }
    json_member_double(out, "mean", s->mean);
    json_member_double(out, "std", s->std);
    if (exact)
        json_member_u64(out, "abs_max", s->exact_abs_max);
    else
        json_member_double(out, "abs_max", s->abs_max);
}

static void json_row(struct out *out, const struct heft_tensor *t,
                     const struct heft_tensor_stats *s)
{
    static const char *const counts[] = {"zeros", "nan", "inf"};

    json_open(out, '{');
    json_key(out, "name");
    json_text(out, t->name, t->name_len);
    json_member_text(out, "dtype", heft_dtype_name(t->dtype));
    json_dims(out, "shape", t->shape, t->rank);
    json_member_u64(out, "elements", s->elements);
    json_figures(out, s);
    if (s->kind == HEFT_STATS_NONE) {
        json_nulls(out, counts, sizeof counts / sizeof *counts);
    } else {
        json_member_u64(out, "zeros", s->zeros);
        json_member_u64(out, "nan", s->nan);
        json_member_u64(out, "inf", s->inf);
    }
    json_close(out, '}');
}

/* ---- the table --------------------------------------------------------------------------- */

static size_t least_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t most_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void measure_columns(struct table *table)
{
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);

    table->name = strlen("name");
    table->dtype = strlen("dtype");
    table->shape = strlen("shape");
    for (size_t k = 0; rows_at(table->rows, k, &t); k++) {
        table->name = most_size(table->name, name_width(t.name, t.name_len));
        table->dtype = most_size(table->dtype, strlen(heft_dtype_name(t.dtype)));
        table->shape = most_size(table->shape, dims_width(t.shape, t.rank));
    }
    table->name = least_size(table->name, MAX_NAME_WIDTH);
    table->shape = least_size(table->shape, MAX_SHAPE_WIDTH);
}

/* Ends a column of `used` characters with at least two spaces. */
static void pad_column(struct out *out, size_t used, size_t width)
{
    out_fill(out, ' ', used < width ? width - used + 2 : 2);
}

static void put_head(const struct table *table)
{
    static const char *const figures[] = {"min", "max", "mean", "std", "abs_max"};
    struct out *const out = table->out;

    out_text(out, "name");
    pad_column(out, strlen("name"), table->name);
    out_text(out, "dtype");
    pad_column(out, strlen("dtype"), table->dtype);
    out_text(out, "shape");
    pad_column(out, strlen("shape"), table->shape);
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        out_fill(out, ' ', FIGURE_WIDTH - strlen(figures[i]) + (i > 0 ? 2 : 0));
        out_text(out, figures[i]);
    }
    out_char(out, '\n');
}

static void put_text(struct out *out, const char *text)
{
    const size_t n = strlen(text);

    if (n < FIGURE_WIDTH)
        out_fill(out, ' ', FIGURE_WIDTH - n);
    out_text(out, text);
}

static void put_integer(struct out *out, enum heft_stats_kind kind, union heft_stats_integer number)
{
    char text[24];

    if (kind == HEFT_STATS_SIGNED)
        snprintf(text, sizeof text, "%" PRId64, number.i);
    else
        snprintf(text, sizeof text, "%" PRIu64, number.u);
    put_text(out, text);
}

static void put_double(struct out *out, double number)
{
    char text[40];

    snprintf(text, sizeof text, "%.4g", number);
    put_text(out, text);
}

static void put_no_figures(struct out *out)
{
    for (int i = 0; i < 5; i++) {
        if (i > 0)
            out_text(out, "  ");
        put_text(out, "-");
    }
}

static void put_figures(struct out *out, const struct heft_tensor_stats *s)
{
    const union heft_stats_integer abs_max = {.u = s->exact_abs_max};
    const bool exact = s->kind != HEFT_STATS_FLOAT;

    if (exact)
        put_integer(out, s->kind, s->exact_min);
    else
        put_double(out, s->min);
    out_text(out, "  ");
    if (exact)
        put_integer(out, s->kind, s->exact_max);
    else
        put_double(out, s->max);
    out_text(out, "  ");
    put_double(out, s->mean);
    out_text(out, "  ");
    put_double(out, s->std);
    out_text(out, "  ");
    if (exact)
        put_integer(out, HEFT_STATS_UNSIGNED, abs_max);
    else
        put_double(out, s->abs_max);
}

static void put_count(struct out *out, const char *what, uint64_t count, bool is_bad)
{
    if (count == 0)
        return;
    out_text(out, "  ");
    if (is_bad)
        out_style(out, OUT_BAD);
    out_text(out, what);
    out_char(out, ' ');
    out_u64(out, count);
    if (is_bad)
        out_plain(out);
}

static void put_line(const struct table *table, const struct heft_tensor *t,
                     const struct heft_tensor_stats *s)
{
    struct out *const out = table->out;
    const char *const dtype = heft_dtype_name(t->dtype);

    pad_column(out, out_name(out, t->name, t->name_len), table->name);
    out_text(out, dtype);
    pad_column(out, strlen(dtype), table->dtype);
    out_dims(out, t->shape, t->rank);
    pad_column(out, dims_width(t->shape, t->rank), table->shape);
    if (s->finite == 0)
        put_no_figures(out);
    else
        put_figures(out, s);
    put_count(out, "zeros", s->zeros, false);
    put_count(out, "nan", s->nan, true);
    put_count(out, "inf", s->inf, true);
    out_char(out, '\n');
}

/* ---- tensors ----------------------------------------------------------------------------- */

static void note_unnumbered(struct table *table, const struct heft_tensor *t)
{
    char name[256];

    if (table->unnumbered++ < MOST_NOTES)
        report_note(table->options, "%s: elements of %s are not numbers",
                    report_escape(name, sizeof name, t->name, t->name_len),
                    heft_dtype_name(t->dtype));
}

static bool each_tensor(void *ctx, const struct heft_tensor_stats *s)
{
    struct table *const table = ctx;
    const struct options *const options = table->options;
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);

    if (!rows_at(table->rows, table->k, &t))
        return false;
    if (options->json)
        json_line(table->out);
    if (options->json || options->jsonl)
        json_row(table->out, &t, s);
    else
        put_line(table, &t, s);
    if (options->jsonl && !options->json) {
        out_char(table->out, '\n');
        table->out->separate = false;
    }
    if (s->kind == HEFT_STATS_NONE)
        note_unnumbered(table, &t);
    if (fails(table, s) && table->failed++ == 0)
        table->first = table->k;
    table->k++;
    if (table->out->terminal)
        out_flush(table->out);
    return true;
}

/* Flags of the tensors shown; NULL for all (*fine is true), or without memory. */
static bool *flag_rows(const struct rows *rows, bool *fine)
{
    bool *selected;

    *fine = true;
    if (!rows->order)
        return NULL;
    selected = calloc(heft_tensor_count(rows->c) + 1, sizeof *selected);
    *fine = selected != NULL;
    for (size_t k = 0; selected && k < rows->n; k++)
        selected[rows->order[k]] = true;
    return selected;
}

static void open_output(struct table *table)
{
    if (table->options->json) {
        json_open(table->out, '[');
    } else if (!table->options->jsonl && table->rows->n > 0) {
        measure_columns(table);
        put_head(table);
    }
}

static bool print_stats(struct table *table, struct heft_checkpoint *c, struct heft_error *err)
{
    bool fine;
    bool *const selected = flag_rows(table->rows, &fine);
    const struct heft_stats_options how = {.size = sizeof how,
                                           .selected = selected,
                                           .threads = options_threads(table->options),
                                           .progress = progress_step,
                                           .progress_ctx = table->progress};

    if (!fine)
        return no_memory(err, "the list of tensors");
    open_output(table);
    progress_begin(table->progress, table->options, "stats");
    if (table->out->terminal) /* the lines show the progress */
        table->progress->drawing = false;
    fine = heft_stats(c, &how, each_tensor, table, err);
    progress_end(table->progress);
    if (table->options->json) {
        json_close(table->out, ']');
        out_char(table->out, '\n');
    }
    free(selected);
    return fine;
}

static void report_rest(const struct table *table, const struct heft_checkpoint *c)
{
    struct heft_unread unread = HEFT_INIT(struct heft_unread);

    if (table->unnumbered > MOST_NOTES)
        report_note(table->options, "elements of %" PRIu64 " other tensors are not numbers",
                    table->unnumbered - MOST_NOTES);
    for (size_t i = 0; heft_unread_at(c, i, &unread); i++)
        report_note(table->options, "%s cannot be read: %s", unread.name, unread.reason);
    report_lacks(table->options, c);
    report_left(table->options, c);
    report_failed(table);
}

int cmd_stats(const struct options *options, struct out *out)
{
    struct heft_error err = {0};
    struct rows rows = {0};
    struct progress progress;
    struct table table = {.options = options, .out = out, .rows = &rows, .progress = &progress};
    struct heft_checkpoint *c = NULL;
    bool fine = !options->fail_on || parse_fail_on(options->fail_on, &table.fail_on, &err);
    int status;

    if (fine)
        c = open_inputs(options, 0, &err);
    fine = c && rows_select(&rows, c, options, &err) && print_stats(&table, c, &err);
    if (fine)
        report_rest(&table, c);
    if (!fine)
        status = report_error(&err);
    else
        status = table.failed ? EXIT_NO : EXIT_SOUND;
    rows_release(&rows);
    heft_close(c);
    return status;
}
