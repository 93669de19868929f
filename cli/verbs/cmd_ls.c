/* cmd_ls.c: prints one line per tensor, in two passes: column widths, then lines. Nothing is stored
 * per tensor unless they are selected or sorted. */
#include "output/differing.h"
#include "output/dims.h"
#include "main/options.h"
#include "main/rules_files.h"
#include "output/output.h"
#include "output/report.h"
#include "output/json_rows.h"
#include "output/rows.h"
#include "output/value.h"

#include <stdlib.h>
#include <string.h>

/* Most columns for a name, a dtype and so on: one long name must not widen all lines. */
enum { MAX_NAME_WIDTH = 72, MAX_SHAPE_WIDTH = 28 };
enum { SHORT_TEXT = 1024 }; /* longest names and paths composed in the buffer */

struct widths {
    size_t name, dtype, shape, bytes, path, offset;
    bool plain; /* no name needs escapes */
    bool whole; /* no tensor is stored in parts */
};

/* Whether two tensors have the same dtype and the same shape array. Equal tensors often follow each
 * other and share the array. */
static bool same_columns(const struct heft_tensor *a, const struct heft_tensor *b)
{
    return a->shape == b->shape && a->rank == b->rank && a->dtype == b->dtype &&
           a->bytes == b->bytes;
}

static size_t max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Prints "4 parts" in the column of the file. */
static size_t parts_width(size_t parts)
{
    return u64_digits(parts) + strlen(" parts");
}

static void put_parts(struct out *out, size_t parts)
{
    out_u64(out, parts);
    out_text(out, " parts");
}

static struct widths measure_columns(const struct rows *rows)
{
    struct widths w = {.plain = true, .whole = true};
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);
    struct heft_tensor last = {.size = sizeof last, .dtype = HEFT_DTYPE_COUNT};
    uint64_t most_bytes = 0, last_offset = 0;
    for (size_t k = 0; rows_at(rows, k, &t); k++) {
        const bool plain = name_is_plain(t.name, t.name_len);
        const size_t parts = rows_parts(rows, k);
        w.plain &= plain;
        w.whole &= parts == 0;
        w.name = max_size(w.name, plain ? t.name_len : name_width(t.name, t.name_len));
        w.path = max_size(w.path, parts ? parts_width(parts) : rows_path_width(rows, t.file));
        if (!same_columns(&t, &last)) {
            w.dtype = max_size(w.dtype, strlen(heft_dtype_name(t.dtype)));
            w.shape = max_size(w.shape, dims_width(t.shape, t.rank));
            most_bytes = t.bytes > most_bytes ? t.bytes : most_bytes;
            last = t;
        }
        last_offset = t.offset > last_offset && !parts ? t.offset : last_offset;
    }
    w.bytes = u64_digits(most_bytes);
    w.offset = hex_digits(last_offset);
    w.name = w.name > MAX_NAME_WIDTH ? MAX_NAME_WIDTH : w.name;
    w.shape = w.shape > MAX_SHAPE_WIDTH ? MAX_SHAPE_WIDTH : w.shape;
    return w;
}

/* Pads a column with spaces, at least two. */
static char *put_gap(char *to, size_t used, size_t width)
{
    return put_blank(to, used < width ? width - used + 2 : 2);
}

static void put_remarks(struct out *out, const struct heft_tensor *t)
{
    if (t->strides) {
        out_text(out, "  strides ");
        out_dims(out, t->strides, t->rank);
    }
    if (t->storage >= 0) {
        out_text(out, "  storage ");
        out_u64(out, (uint64_t)t->storage);
    }
    if (t->stored != HEFT_STORED_PLAIN) {
        out_text(out, "  ");
        out_text(out, tensor_stored_name(t->stored));
    }
    if (t->big_endian)
        out_text(out, "  big-endian");
    if (t->conjugated)
        out_text(out, "  conjugated");
    if (t->negated)
        out_text(out, "  negated");
    if (t->missing)
        out_text(out, "  missing");
}

/* Columns between name and path: dtype, shape, bytes, offset. */
static char *put_columns(char *to, const struct heft_tensor *t, const struct widths *w)
{
    const char *const dtype = heft_dtype_name(t->dtype);
    const char *shape;
    const size_t n = strlen(dtype);
    memcpy(to, dtype, n);
    to = put_gap(to + n, n, w->dtype);
    shape = to;
    to = put_dims(to, t->shape, t->rank);
    to = put_gap(to, (size_t)(to - shape), w->shape);
    to = put_u64_in(to, t->bytes, w->bytes);
    return put_gap(to, 0, 0);
}

/* Formatted columns from dtype to file of the previous tensor, reused if they are the same. */
struct columns {
    struct heft_tensor of;
    size_t n; /* 0 if they are too long to be kept */
    char text[192];
};

static char *put_kept_columns(char *to, const struct heft_tensor *t, const struct rows_path *path,
                              const struct widths *w, struct columns *kept)
{
    char *end;
    if (kept->n && same_columns(t, &kept->of) && t->file == kept->of.file)
        return put_plain(to, kept->text, kept->n);
    end = put_plain(put_columns(to, t, w), path->text, path->n);
    end = put_gap(end, path->n, w->path);
    kept->n = (size_t)(end - to) <= sizeof kept->text ? (size_t)(end - to) : 0;
    memcpy(kept->text, to, sizeof kept->text); /* a constant size is copied by a few instructions */
    kept->of = *t;
    return end;
}

/* Prints the line of a tensor, without its remarks, if name and path are short and need no
 * escapes. */
static void put_line(struct out *out, const struct heft_tensor *t, const struct rows_path *path,
                     const struct widths *w, struct columns *kept)
{
    const size_t columns = w->name + w->dtype + w->bytes + w->path + w->offset + sizeof kept->text;
    char *to =
        out_room(out, t->name_len + path->n + dims_room(t->rank) + MAX_SHAPE_WIDTH + columns);
    to = put_plain(to, t->name, t->name_len);
    to = put_kept_columns(put_gap(to, t->name_len, w->name), t, path, w, kept);
    out_to(out, put_hex(to, t->offset, w->offset));
}

/* The same for any other tensor: name and path may be long or need escapes. */
static void put_long_line(struct out *out, const struct rows *rows, const struct heft_tensor *t,
                          size_t parts, const struct widths *w)
{
    size_t used = out_name(out, t->name, t->name_len);
    char *to =
        out_room(out, w->name + w->dtype + w->bytes + 64 + dims_room(t->rank) + MAX_SHAPE_WIDTH);
    out_to(out, put_columns(put_gap(to, used, w->name), t, w));
    if (parts) {
        put_parts(out, parts);
        return;
    }
    used = rows_put_path(out, rows, t->file);
    to = put_gap(out_room(out, w->path + 40), used, w->path);
    out_to(out, put_hex(to, t->offset, w->offset));
}

static void list_people(struct out *out, const struct rows *rows)
{
    const struct widths w = measure_columns(rows);
    struct columns kept = {.n = 0};
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);
    for (size_t k = 0; rows_at(rows, k, &t); k++) {
        const struct rows_path *const path = &rows->paths[t.file];
        const size_t parts = w.whole ? 0 : rows_parts(rows, k);
        if (!parts && w.plain && path->plain && t.name_len <= SHORT_TEXT && path->n <= SHORT_TEXT)
            put_line(out, &t, path, &w, &kept);
        else
            put_long_line(out, rows, &t, parts, &w);
        if (!parts)
            put_remarks(out, &t);
        out_char(out, '\n');
    }
}

static void list_tsv(struct out *out, const struct rows *rows)
{
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);
    for (size_t k = 0; rows_at(rows, k, &t); k++) {
        const size_t parts = rows_parts(rows, k);
        (void)out_name(out, t.name, t.name_len);
        out_char(out, '\t');
        out_text(out, heft_dtype_name(t.dtype));
        out_char(out, '\t');
        out_dims(out, t.shape, t.rank);
        out_char(out, '\t');
        out_u64(out, t.bytes);
        out_char(out, '\t');
        if (parts) {
            put_parts(out, parts);
            out_char(out, '\t');
        } else {
            (void)rows_put_path(out, rows, t.file);
            out_char(out, '\t');
            out_u64(out, t.offset);
        }
        out_char(out, '\n');
    }
}

static void list_jsonl(struct out *out, const struct rows *rows)
{
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);
    for (size_t k = 0; rows_at(rows, k, &t); k++) {
        json_tensor(out, rows, k, &t, true);
        out_char(out, '\n');
        out->separate = false;
    }
}

static void json_value_blob(void *ctx, const char *path, size_t path_len, uint64_t bytes)
{
    struct out *const out = ctx;
    json_line(out);
    json_open(out, '{');
    json_key(out, "name");
    json_text(out, path, path_len);
    json_member_u64(out, "bytes", bytes);
    json_close(out, '}');
}

static void json_blobs(struct out *out, const struct heft_checkpoint *c)
{
    struct heft_blob blob = HEFT_INIT(struct heft_blob);
    for (size_t i = 0; heft_blob_at(c, i, &blob); i++) {
        json_line(out);
        json_open(out, '{');
        json_blob(out, &blob);
        json_close(out, '}');
    }
}

static bool list_json(struct out *out, const struct rows *rows, bool all)
{
    const struct heft_value *const values = heft_values(rows->c);
    bool fine = true;

    json_open(out, '{');
    json_member_u64(out, "heft", 1);
    json_member_text(out, "format", heft_format(rows->c));
    json_files(out, rows->c);
    json_tensors(out, rows);
    json_pairs(out, "metadata", rows->c, heft_metadata_at);
    fine = json_differing(out, rows->c);
    if (all) {
        json_key(out, "values");
        json_open(out, '[');
        fine = fine && (!values || each_blob(values, json_value_blob, out));
        json_blobs(out, rows->c);
        json_close(out, ']');
    }
    rules_json(out, &rows->rules);
    json_close(out, '}');
    out_char(out, '\n');
    return fine;
}

static void tsv_blob(void *ctx, const char *path, size_t path_len, uint64_t bytes)
{
    struct out *const out = ctx;
    (void)out_name(out, path, path_len);
    out_text(out, "\t-\t-\t");
    out_u64(out, bytes);
    out_text(out, "\t-\t-\n");
}

static void text_blob(void *ctx, const char *path, size_t path_len, uint64_t bytes)
{
    struct out *const out = ctx;
    (void)out_name(out, path, path_len);
    out_text(out, "  ");
    out_u64(out, bytes);
    out_text(out, " bytes, a value\n");
}

static void list_blobs(struct out *out, const struct rows *rows, bool tsv)
{
    struct heft_blob blob = HEFT_INIT(struct heft_blob);
    for (size_t i = 0; heft_blob_at(rows->c, i, &blob); i++) {
        (void)out_name(out, blob.name, blob.name_len);
        out_text(out, tsv ? "\t-\t-\t" : "  ");
        out_u64(out, blob.bytes);
        if (tsv) {
            out_char(out, '\t');
            (void)rows_put_path(out, rows, blob.file);
            out_char(out, '\t');
            out_u64(out, blob.offset);
            out_char(out, '\n');
        } else {
            out_text(out, strchr("aeiou", *blob.kind) ? " bytes, an " : " bytes, a ");
            out_text(out, blob.kind);
            out_char(out, '\n');
        }
    }
}

static bool list_tensors(const struct options *options, struct out *out, const struct rows *rows,
                         struct heft_error *err)
{
    const struct heft_value *const values = heft_values(rows->c);
    bool fine = true;
    if (options->json) {
        fine = list_json(out, rows, options->all);
    } else if (options->jsonl) {
        list_jsonl(out, rows);
    } else {
        (options->tsv ? list_tsv : list_people)(out, rows);
        if (options->all && values)
            fine = each_blob(values, options->tsv ? tsv_blob : text_blob, out);
        if (options->all)
            list_blobs(out, rows, options->tsv);
    }
    return fine || no_memory(err, "the values");
}

/* Opens the inputs. With rules files, they are seen through these, selected and below the root: `shown` then
 * selects nothing more. */
static struct heft_checkpoint *open_listed(struct options *shown, struct heft_error *err)
{
    struct rule_report report = {0};
    struct heft_checkpoint *c = rules_files_read(shown, err) ? open_inputs(shown, 0, err) : NULL;

    if (!c || !rules_files_given(shown))
        return c;
    if (!rules_count(&report, shown, c, err)) {
        heft_close(c);
        c = NULL;
    }
    rules_release(&report);
    c = rules_files_view(c, shown, err);
    shown->n_rules = 0;
    shown->root = NULL;
    return c;
}

int cmd_ls(const struct options *given, struct out *out)
{
    struct options shown = *given;
    const struct options *const options = &shown;
    struct heft_error err = {0};
    struct rows rows = {0};
    struct heft_checkpoint *const c = open_listed(&shown, &err);
    const bool fine =
        c && rows_select(&rows, c, options, &err) && list_tensors(options, out, &rows, &err);
    const int status = fine ? EXIT_SOUND : report_error(&err);

    if (fine) {
        report_unread(options, c);
        report_lacks(options, c);
        report_left(options, c);
    }
    rows_release(&rows);
    heft_close(c);
    return status;
}
