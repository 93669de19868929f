/* join.c: parts, in order → one file; public API. */
#include "tokens/join/join.h"

#include "base/checksum.h"
#include "base/require_arg.h"
#include "base/sized.h"
#include "io/os.h"
#include "tokens/output/token_out.h"

#define COPY ((size_t)1 << 20) /* bytes of ids that are read at a time */

static const struct heft_join_format *const FORMATS[] = {&heft_join_bin,      &heft_join_npy,
                                                         &heft_join_llmc,     &heft_join_ids,
                                                         &heft_join_megatron, &heft_join_ds};

/* ---- parts ---------------------------------------------------------------------------------- */

static void close_part(struct heft_join_part *part)
{
    heft_source_close(&part->ids);
    heft_source_close(&part->index);
    heft_buf_release(&part->index_path);
    heft_buf_release(&part->ids_path);
}

static bool ends_in(const char *path, const char *end)
{
    const size_t n = strlen(path), m = strlen(end);

    return n >= m && strcmp(path + n - m, end) == 0;
}

/* Path of the ids of a part: Megatron's may be named by the index or by the prefix. */
static const char *ids_path(const struct heft_join *j, struct heft_join_part *part,
                            struct heft_error *err)
{
    const size_t n = strlen(part->path);

    if (j->format != &heft_join_megatron || ends_in(part->path, ".bin"))
        return part->path;
    heft_buf_put(&part->ids_path, part->path, ends_in(part->path, ".idx") ? n - 4 : n);
    heft_buf_put(&part->ids_path, ".bin", 5);
    return heft_buf_ok(&part->ids_path, err) ? part->ids_path.p : NULL;
}

static bool open_part(struct heft_join *j, size_t i, struct heft_join_part *part,
                      struct heft_error *err)
{
    const char *path;

    *part = (struct heft_join_part){.path = j->parts[i]};
    path = ids_path(j, part, err);
    if (!path || !heft_source_open_file(&part->ids, path, err))
        return false;
    part->path = path;
    if (!heft_join_read_receipt(part, err))
        return false;
    return j->format->read(j, part, err) || heft_error_file(err, path);
}

bool heft_join_open_beside(struct heft_join_part *part, const char *path, size_t n, const char *end,
                           struct heft_error *err)
{
    heft_source_close(&part->index);
    part->index_path.n = 0;
    heft_buf_put(&part->index_path, path, strlen(path) - n);
    heft_buf_put(&part->index_path, end, strlen(end) + 1);
    return heft_buf_ok(&part->index_path, err) &&
           heft_source_open_file(&part->index, part->index_path.p, err);
}

/* ---- choosing the format -------------------------------------------------------------------- */

static const struct heft_join_format *format_of(const char *name)
{
    for (size_t i = 0; i < HEFT_COUNT(FORMATS); i++)
        if (strcmp(FORMATS[i]->name, name) == 0)
            return FORMATS[i];
    return NULL;
}

bool heft_join_has_index(const char *path, bool *has_index, struct heft_error *err)
{
    struct heft_os_stat st = {0};
    const size_t n = strlen(path);
    struct heft_buf index = {0};
    bool ok = true;

    *has_index = false;
    if (!ends_in(path, ".bin"))
        return true;
    heft_buf_put(&index, path, n - 4);
    heft_buf_put(&index, ".idx", 5);
    ok = heft_buf_ok(&index, err);
    *has_index = ok && heft_os->stat_path(index.p, &st) == 0 && st.is_file;
    heft_buf_release(&index);
    return ok;
}

/* Tells apart what is named X.bin: the format of the first part. */
static bool format_of_part(struct heft_join *j, const char *path, struct heft_error *err)
{
    struct heft_source ids = {0};
    bool is_llmc = false, has_index = false;
    bool ok = heft_join_has_index(path, &has_index, err);

    j->format = &heft_join_bin;
    if (ok && has_index) {
        j->format = &heft_join_megatron;
        return true;
    }
    ok = ok && heft_source_open_file(&ids, path, err) && heft_join_is_llmc(&ids, &is_llmc, err);
    heft_source_close(&ids);
    if (is_llmc)
        j->format = &heft_join_llmc;
    return ok;
}

static bool refuse_format(const char *format, struct heft_error *err)
{
    if (strcmp(format, "npz") == 0)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "npz is not joined; heft encode copies the arrays of several .npz to one");
    return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "format %s: expected bin, npy, llmc, megatron, ids or ds", format);
}

static bool choose_format(struct heft_join *j, struct heft_error *err)
{
    const struct heft_token_format *out = heft_token_format_of(j->how.format, j->output);
    const char *extension = heft_token_extension_of(j->output);

    if (!out && !j->how.format && !*extension)
        out = heft_token_format_of(NULL, j->parts[0]);
    if (!out)
        return refuse_format(j->how.format ? j->how.format : extension, err);
    if (!j->how.format && out == &heft_tokens_bin)
        return format_of_part(j, j->parts[0], err);
    j->format = format_of(out->name);
    return j->format || refuse_format(out->name, err);
}

/* Adds a missing extension; for Megatron PATH is a prefix, as in encode. */
static bool name_output(struct heft_join *j, struct heft_error *err)
{
    const char *extension = heft_token_extension_of(j->output);
    const struct heft_token_format *out = heft_token_format_of(j->format->name, NULL);

    if (j->output[strlen(j->output) - 1] == '/')
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "the output is a directory; expected a file");
    if (j->format == &heft_join_megatron)
        j->output = heft_token_megatron_path(&j->mem, j->output, err);
    else if (!*extension)
        j->output = heft_arena_printf(&j->mem, err, "%s%s", j->output, heft_token_extension(out));
    return j->output && heft_token_check_device(j->output, err);
}

/* ---- survey --------------------------------------------------------------------------------- */

static bool is_same_type(const struct heft_join_type *a, const struct heft_join_type *b)
{
    return a->width == b->width && a->is_signed == b->is_signed && a->rank == b->rank &&
           a->row == b->row && a->code == b->code;
}

static bool add_sums(struct heft_join_sums *sum, const struct heft_join_sums *part)
{
    return heft_add(sum->tokens, part->tokens, &sum->tokens) &&
           heft_add(sum->documents, part->documents, &sum->documents) &&
           heft_add(sum->sequences, part->sequences, &sum->sequences) &&
           heft_add(sum->bytes, part->bytes, &sum->bytes);
}

static bool check_part(struct heft_join *j, const struct heft_join_part *part, size_t i,
                       struct heft_error *err)
{
    if (i == 0)
        j->type = part->type;
    if (!is_same_type(&j->type, &part->type))
        return heft_fail(err, HEFT_MISMATCH, HEFT_NO_OFFSET,
                         "the type or shape of its ids differs from that of %s", j->parts[0]);
    return true;
}

static bool survey_part(struct heft_join *j, size_t i, struct heft_error *err)
{
    struct heft_join_part part;
    const bool ok = open_part(j, i, &part, err) &&
                    ((heft_join_check_receipt(j, &part, i, err) && check_part(j, &part, i, err)) ||
                     heft_error_file(err, part.path)) &&
                    (add_sums(&j->all, &part.sums) ||
                     heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET, "the parts exceed 2^64 bytes"));

    close_part(&part);
    return ok;
}

/* ---- copying -------------------------------------------------------------------------------- */

bool heft_join_put(struct heft_join *j, const void *p, size_t n, struct heft_error *err)
{
    if (!heft_sink_write(j->sink, j->file, j->at, p, n, err))
        return false;
    j->at += n;
    return true;
}

static bool report_progress(const struct heft_join *j, uint64_t done, struct heft_error *err)
{
    return !j->how.progress || j->how.progress(j->how.progress_ctx, done, j->all.bytes) ||
           heft_fail(err, HEFT_CANCELLED, HEFT_NO_OFFSET, "interrupted");
}

static bool copy_ids(struct heft_join *j, const struct heft_join_part *part, struct heft_error *err)
{
    uint32_t crc32c = 0;

    if (part->has_receipt && !heft_join_sum(j, &part->ids, part->begin, &crc32c, err))
        return false;
    for (uint64_t at = 0; at < part->size;) {
        const size_t n = (size_t)heft_min_u64(COPY, part->size - at);

        if (!heft_source_read(&part->ids, part->begin + at, j->buffer, n, err) ||
            !heft_join_put(j, j->buffer, n, err))
            return false;
        if (part->has_receipt)
            crc32c = heft_crc32c(crc32c, j->buffer, n);
        at += n;
        if (!report_progress(j, j->done.bytes + at, err))
            return false;
    }
    return !part->has_receipt || heft_join_check_file(part, 0, part->ids.size, crc32c, err) ||
           heft_error_file(err, part->path);
}

static bool copy_part(struct heft_join *j, size_t i, struct heft_error *err)
{
    struct heft_join_part part;
    const bool ok = open_part(j, i, &part, err) &&
                    (check_part(j, &part, i, err) || heft_error_file(err, part.path)) &&
                    copy_ids(j, &part, err) &&
                    (!j->format->copy || j->format->copy(j, &part, err)) &&
                    (!part.has_receipt || heft_join_check_beside(j, &part, err)) &&
                    add_sums(&j->done, &part.sums);

    close_part(&part);
    return ok;
}

static bool check_sums(const struct heft_join *j, struct heft_error *err)
{
    return memcmp(&j->all, &j->done, sizeof j->all) == 0 ||
           heft_fail(err, HEFT_IO, HEFT_NO_OFFSET, "a part has changed while it was being joined");
}

/* Adds the files to the sink; the names of those beside the ids end in format->index. */
static bool add_files(struct heft_join *j, struct heft_error *err)
{
    const size_t n = strlen(j->output) - (j->format->is_renamed ? 4 : 0);
    uint32_t last;

    if (!heft_sink_add_growing(j->sink, j->output, &j->file, err))
        return false;
    for (size_t i = 0; i < HEFT_COUNT(j->format->index) && j->format->index[i]; i++) {
        const char *path =
            heft_arena_printf(&j->mem, err, "%.*s%s", (int)n, j->output, j->format->index[i]);

        if (!path || !heft_sink_add_growing(j->sink, path, i ? &last : &j->beside, err))
            return false;
    }
    return true;
}

static bool join_parts(struct heft_join *j, struct heft_error *err)
{
    const struct heft_sink_options how = {.overwrite = j->how.overwrite, .no_sync = j->how.no_sync};

    for (size_t i = 0; i < j->n; i++)
        if (!survey_part(j, i, err))
            return false;
    if (!heft_join_check_count(j, err))
        return false;
    j->is_surveyed = true;
    j->buffer = heft_alloc(COPY, err);
    j->sink = j->buffer ? heft_sink_new(&how, err) : NULL;
    if (!j->sink || !add_files(j, err) || (j->format->begin && !j->format->begin(j, err)))
        return false;
    for (size_t i = 0; i < j->n; i++)
        if (!copy_part(j, i, err))
            return false;
    return (!j->format->end || j->format->end(j, err)) && check_sums(j, err) &&
           heft_sink_commit(j->sink, err);
}

static void report_files(const struct heft_join *j)
{
    const char *path;

    for (size_t i = 0; j->how.written && (path = heft_sink_path(j->sink, i)) != NULL; i++)
        j->how.written(j->how.written_ctx, path);
}

static bool check_options(const struct heft_join *j, struct heft_error *err)
{
    if (strcmp(j->output, "-") == 0)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "the output is a file; cat joins bin and ids to a stream");
    if (j->n == 0 || !*j->output)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         j->n ? "the output path is empty" : "no parts");
    return j->how.width == 0 || j->how.width == 2 || j->how.width == 4 ||
           heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "ids of %u bytes; expected 2 or 4",
                     j->how.width);
}

bool heft_join(const char *const *parts, size_t n, const char *output,
               const struct heft_join_options *options, struct heft_join_summary *summary,
               struct heft_error *err)
{
    struct heft_join j = {.parts = parts, .n = n, .output = output};
    bool ok;

    heft_error_begin(err);
    ok = heft_require_arg(output != NULL, "an output", err) && heft_require_paths(parts, n, err) &&
         HEFT_TAKE(heft_join_options, &j.how, options, err) && check_options(&j, err) &&
         choose_format(&j, err) && name_output(&j, err) && join_parts(&j, err);
    if (ok)
        report_files(&j);
    if (ok && summary) {
        const struct heft_join_summary sum = {.parts = n,
                                              .tokens = j.all.tokens,
                                              .documents = j.all.documents,
                                              .bytes = j.all.bytes,
                                              .format = j.format->name};

        HEFT_FILL(heft_join_summary, summary, &sum);
    }
    heft_sink_free(j.sink);
    heft_buf_release(&j.name);
    heft_arena_release(&j.mem);
    heft_free(j.buffer);
    return ok;
}
