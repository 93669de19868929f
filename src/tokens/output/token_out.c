/* token_out.c: tracks and files, common to all formats. */
#include "tokens/input/npz_in.h"
#include "tokens/output/part_receipt.h"
#include "tokens/output/token_out_parts.h"

static const struct heft_token_format *const FORMATS[] = {
    &heft_tokens_npz,      &heft_tokens_npy, &heft_tokens_bin, &heft_tokens_llmc,
    &heft_tokens_megatron, &heft_tokens_ids, &heft_tokens_ds};

static bool ends_in(const char *path, const char *extension)
{
    const size_t n = strlen(path), m = strlen(extension);

    return n >= m && strcmp(path + n - m, extension) == 0;
}

const struct heft_token_format *heft_token_format_of(const char *name, const char *path)
{
    if (!name && ends_in(path, ".megatron"))
        return &heft_tokens_megatron;
    for (size_t i = 0; i < HEFT_COUNT(FORMATS); i++)
        if (name ? strcmp(name, FORMATS[i]->name) == 0 : ends_in(path, FORMATS[i]->extension))
            return FORMATS[i];
    return NULL;
}

const char *heft_token_extension(const struct heft_token_format *format)
{
    return format == &heft_tokens_megatron || format == &heft_tokens_llmc ? ".bin"
                                                                          : format->extension;
}

const char *heft_token_extension_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');

    if (!dot || (dot == name && !heft_token_format_of(NULL, dot)))
        return path + strlen(path);
    return dot;
}

/* ---- files of a track ----------------------------------------------------------------------- */

/* Adds the files of the track's next shard to the sink: an index comes last. */
static bool add_files(struct heft_token_out *out, struct heft_token_track *track,
                      struct heft_error *err)
{
    uint32_t index[HEFT_COUNT(out->series)] = {0};

    for (unsigned i = out->how.written ? 1 : 0; i < out->n_series; i++) {
        const char *path = heft_token_out_file(out, track, i, err);

        if (!path || !heft_sink_add_growing(out->sink, path, &index[i], err))
            return false;
    }
    track->file.index = index[0];
    track->file.beside = index[1];
    return true;
}

static bool begin_file(struct heft_token_out *out, struct heft_token_track *track,
                       struct heft_error *err)
{
    struct heft_token_file *f = &track->file;

    if (f->is_open)
        return true;
    if (!heft_token_buffers(f, err))
        return false;
    f->at = f->tokens = f->units = f->unit_tokens = f->ends_at = 0;
    f->n_buffer = f->n_ends = 0;
    f->saved_rows = 0;
    if (!add_files(out, track, err))
        return false;
    track->files++;
    f->is_open = true;
    return out->how.format->begin(f, err);
}

static bool end_file(struct heft_token_out *out, struct heft_token_track *track,
                     struct heft_error *err)
{
    struct heft_token_file *f = &track->file;

    if (!f->is_open)
        return true;
    f->is_open = false;
    if (f->unit_tokens > 0 && !heft_token_put_end(f, err))
        return false;
    if (!out->how.format->end(f, err) || !heft_token_flush(f, err) ||
        !heft_token_flush_ends(f, err))
        return false;
    heft_row_store_release(&f->rows);
    return true;
}

static bool is_full(const struct heft_token_out *out, const struct heft_token_file *f)
{
    return out->how.shard_tokens > 0 && f->tokens >= out->how.shard_tokens;
}

/* Assigns units to tracks by a hash of their number: reproducible for the same inputs. The first
 * unit is for training and the second for validation, so that neither is empty with two or more. */
HEFT_WRAPS static struct heft_token_track *track_of(struct heft_token_out *out)
{
    uint64_t z = (out->units + 1) * UINT64_C(0x9E3779B97F4A7C15);

    if (out->how.val_fraction == 0)
        return &out->tracks[0];
    if (out->units < 2)
        return &out->tracks[out->units];
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    z ^= z >> 31;
    return &out->tracks[(double)(z >> 11) * 0x1p-53 < out->how.val_fraction];
}

static bool put_ids(struct heft_token_out *out, struct heft_token_track *track, const uint8_t *ids,
                    uint64_t n, struct heft_error *err)
{
    struct heft_token_file *f = &track->file;
    const unsigned width = out->how.width;

    while (n > 0) {
        uint64_t some = n;

        if (out->how.format->exact && is_full(out, f) && !end_file(out, track, err))
            return false;
        if (!begin_file(out, track, err))
            return false;
        if (out->how.shard_tokens > 0 && out->how.format->exact)
            some = heft_min_u64(n, out->how.shard_tokens - f->tokens);
        if (!heft_token_put(f, ids, (size_t)some * width, err))
            return false;
        f->tokens += some;
        f->unit_tokens += some;
        track->tokens += some;
        ids += some * width;
        n -= some;
    }
    return true;
}

/* ---- windows -------------------------------------------------------------------------------- */

/* Writes a complete window, and keeps what the next one begins with. */
static bool put_window(struct heft_token_out *out, struct heft_token_track *track,
                       struct heft_error *err)
{
    const uint64_t length = out->how.window, stride = out->how.stride, width = out->how.width;
    struct heft_token_window *w = &track->window;

    if (!put_ids(out, track, w->ids, length, err))
        return false;
    w->n = w->repeated = length - stride;
    memmove(w->ids, w->ids + stride * width, (size_t)(w->n * width));
    return true;
}

static bool put_windows(struct heft_token_out *out, struct heft_token_track *track,
                        const uint8_t *ids, uint64_t n, struct heft_error *err)
{
    const unsigned width = out->how.width;
    struct heft_token_window *w = &track->window;

    if (out->how.window == 0)
        return put_ids(out, track, ids, n, err);
    if (!w->ids && !(w->ids = heft_alloc((size_t)out->how.window * width, err)))
        return false;
    while (n > 0) {
        const uint64_t some = heft_min_u64(n, out->how.window - w->n);

        memcpy(w->ids + w->n * width, ids, (size_t)some * width);
        w->n += some;
        ids += some * width;
        n -= some;
        if (w->n == out->how.window && !put_window(out, track, err))
            return false;
    }
    return true;
}

/* ---- writing in order ----------------------------------------------------------------------- */

bool heft_token_out_pack(const struct heft_token_out *out, struct heft_job *job,
                         struct heft_error *err)
{
    return !out->how.format->pack || out->how.format->pack(job, err);
}

bool heft_token_out_ids(struct heft_token_out *out, const struct heft_job *job, size_t from,
                        size_t to, struct heft_error *err)
{
    return from == to ||
           put_windows(out, track_of(out), job->ids + from * job->width, to - from, err);
}

bool heft_token_out_piece(struct heft_token_out *out, const struct heft_job *job, size_t index,
                          struct heft_error *err)
{
    const struct heft_job_piece *piece = &job->pieces[index];
    const size_t begin = index ? job->pieces[index - 1].end : 0;
    struct heft_token_track *track = track_of(out);

    if (piece->n_ids == 0)
        return true;
    if (!begin_file(out, track, err))
        return false;
    track->file.tokens += piece->n_ids;
    track->file.unit_tokens += piece->n_ids;
    track->tokens += piece->n_ids;
    return out->how.format->piece(&track->file, (const uint8_t *)job->packed.p + begin,
                                  piece->end - begin, piece, err);
}

bool heft_token_out_unit(struct heft_token_out *out, struct heft_error *err)
{
    struct heft_token_track *track = track_of(out);

    if (!begin_file(out, track, err) || !out->how.format->unit(&track->file, err) ||
        !heft_token_put_end(&track->file, err))
        return false;
    track->file.units++;
    track->file.unit_tokens = 0;
    out->units++;
    return out->how.format->exact || !is_full(out, &track->file) || end_file(out, track, err);
}

struct appending {
    struct heft_token_out *out;
    uint64_t tokens;
};

static bool append_ids(void *ctx, const uint8_t *ids, size_t n, struct heft_error *err)
{
    struct appending *a = ctx;
    struct heft_token_out *out = a->out;
    struct heft_job *spare = &out->spare;

    a->tokens += n;
    if (!out->how.format->pack)
        return put_windows(out, track_of(out), ids, n, err);
    heft_job_clear(spare);
    spare->width = out->how.width;
    if (!heft_grow(&spare->ids, &spare->cap_ids, 0, n * spare->width, 1, err))
        return false;
    memcpy(spare->ids, ids, n * spare->width);
    spare->n_ids = n;
    return out->how.format->pack(spare, err) && heft_token_out_piece(out, spare, 0, err);
}

/* An .npz without arrays opens no file. */
static bool pass_arrays(struct heft_token_out *out, const char *path, struct heft_error *err)
{
    struct heft_token_track *track = &out->tracks[0];
    uint64_t count;

    return heft_npz_count(path, &count, err) &&
           (count == 0 || (begin_file(out, track, err) &&
                           out->how.format->arrays(&track->file, path, count, err)));
}

bool heft_token_out_arrays(struct heft_token_out *out, const char *path, uint64_t *tokens,
                           struct heft_error *err)
{
    struct appending a = {out, 0};
    struct heft_npz_ids reading = {append_ids, &a, out->how.width, out->how.vocab_size};

    if (out->how.format->arrays)
        return pass_arrays(out, path, err);
    if (!heft_npz_read_ids(path, &reading, err) || (a.tokens && !heft_token_out_unit(out, err)))
        return false;
    *tokens = a.tokens;
    return true;
}

/* An output without ids is a file, too. */
bool heft_token_out_end(struct heft_token_out *out, struct heft_error *err)
{
    for (int i = 0; i < (out->how.val_fraction > 0 ? 2 : 1); i++)
        if ((out->tracks[i].files == 0 && !begin_file(out, &out->tracks[i], err)) ||
            !end_file(out, &out->tracks[i], err))
            return false;
    return true;
}

bool heft_token_out_receipt(struct heft_token_out *out, struct heft_part_receipt *receipt,
                            struct heft_error *err)
{
    const uint32_t first = out->tracks[0].file.index;
    struct heft_buf text = {0};
    bool ok = true;

    receipt->n_files = out->n_series - 1;
    for (unsigned i = 0; ok && i < receipt->n_files; i++)
        ok = heft_sink_checksum(out->sink, first + i, &receipt->files[i].bytes,
                                &receipt->files[i].crc32c, err);
    heft_part_receipt_put(&text, receipt);
    ok = ok && heft_buf_ok(&text, err) &&
         heft_sink_write(out->sink, first + receipt->n_files, 0, text.p, text.n, err);
    heft_buf_release(&text);
    return ok;
}

bool heft_token_out_commit(struct heft_token_out *out, struct heft_error *err)
{
    return (!out->how.sink.overwrite || heft_token_out_stale(out, err)) &&
           heft_token_out_add_rejects(out, err) && heft_sink_commit(out->sink, err);
}

uint64_t heft_token_out_dropped(const struct heft_token_out *out)
{
    const struct heft_token_window *a = &out->tracks[0].window, *b = &out->tracks[1].window;

    return a->n - a->repeated + b->n - b->repeated;
}

uint64_t heft_token_out_val(const struct heft_token_out *out)
{
    return out->tracks[1].tokens;
}

const char *heft_token_out_path(const struct heft_token_out *out, size_t i)
{
    return out->rejects.is_added && i >= out->rejects.file ? NULL : heft_sink_path(out->sink, i);
}

bool heft_token_out_flush(struct heft_token_out *out, struct heft_error *err)
{
    for (int i = 0; i < 2; i++)
        if (out->tracks[i].file.is_open && (!heft_token_flush(&out->tracks[i].file, err) ||
                                            !heft_token_flush_ends(&out->tracks[i].file, err)))
            return false;
    return true;
}

/* Refuses existing files before any work is done. */
bool heft_token_out_begin(struct heft_token_out *out, struct heft_error *err)
{
    if (out->how.shard_tokens > 0)
        return out->how.sink.overwrite || heft_token_out_stale(out, err);
    return begin_file(out, &out->tracks[0], err);
}

/* For -o DIR/. */
static bool make_folder(struct heft_token_out *out, struct heft_error *err)
{
    const char *path = heft_arena_text(&out->mem, out->series[0].stem, err);

    return path && (heft_sink_folder(out->sink, path, err) || heft_error_file(err, path));
}

/* ---- creating and releasing ----------------------------------------------------------------- */

struct heft_token_out *heft_token_out_new(const struct heft_token_out_how *how,
                                          struct heft_error *err)
{
    struct heft_token_out *out = heft_calloc(1, sizeof *out, err);

    if (!out)
        return NULL;
    out->how = *how;
    out->sink = heft_sink_new(&how->sink, err);
    for (int i = 0; i < 2; i++) {
        out->tracks[i].file.sink = out->sink;
        out->tracks[i].file.how = &out->how;
        out->tracks[i].file.mem = &out->mem;
        out->tracks[i].file.rows =
            (struct heft_row_store){.width = how->format->row, .what = how->format->rows_are};
    }
    out->rejects.bytes = (struct heft_row_store){.width = 1, .what = "rejected lines"};
    heft_token_out_name(out);
    if (out->sink && (!heft_token_out_is_folder(out) || make_folder(out, err)) &&
        heft_token_out_check_rejects(out, err))
        return out;
    heft_token_out_free(out);
    return NULL;
}

void heft_token_out_free(struct heft_token_out *out)
{
    if (!out)
        return;
    for (int i = 0; i < 2; i++) {
        if (out->how.format->release)
            out->how.format->release(&out->tracks[i].file);
        heft_row_store_release(&out->tracks[i].file.rows);
        heft_free(out->tracks[i].file.buffer);
        heft_free(out->tracks[i].file.ends);
        heft_free(out->tracks[i].window.ids);
    }
    heft_row_store_release(&out->rejects.bytes);
    heft_sink_free(out->sink);
    heft_job_release(&out->spare);
    heft_arena_release(&out->mem);
    heft_free(out);
}
