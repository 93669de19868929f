/* token_save.c: saves the state of the output in a record, and restores it.
 *
 *     files of the sink (io/sink.c) | u64 units | two tracks
 *     a track:  u64 files | u64 tokens of all | u64 is open | u64 index | u64 beside | u64 bytes |
 *               u64 tokens | u64 units | u64 tokens of the open unit | state of the format, if open |
 *               with windows: u64 ids of the window before | u64 n, ids of the open window
 *     before it, in pieces: rows added to an open file since the last record
 *               u64 track | u64 number of the first | u64 n, their bytes */
#include "tokens/output/token_out_parts.h"

#define PIECE ((size_t)256 << 10)

/* ---- saving rows ---------------------------------------------------------------------------- */

/* Saves the next n rows as a piece. */
static bool save_some(struct heft_token_file *f, uint64_t track, size_t n,
                      struct heft_journal *journal, struct heft_buf *piece, struct heft_error *err)
{
    const size_t width = f->rows.width;

    piece->n = 0;
    heft_journal_u64(piece, track);
    heft_journal_u64(piece, f->saved_rows);
    heft_journal_u64(piece, n * width);
    if (heft_buf_room(piece, n * width)) {
        if (!heft_row_store_get(&f->rows, f->saved_rows, n, piece->p + piece->n, err))
            return false;
        piece->n += n * width;
        f->saved_rows += n;
    }
    return heft_journal_begin(journal, piece, err);
}

static bool save_rows(struct heft_token_out *out, struct heft_journal *journal,
                      struct heft_error *err)
{
    struct heft_buf piece = {0};
    bool ok = true;

    for (uint64_t i = 0; i < 2 && out->how.format->row > 0; i++) {
        struct heft_token_file *f = &out->tracks[i].file;
        const uint64_t count = f->is_open ? out->how.format->count_rows(f) : 0;

        while (ok && f->saved_rows < count)
            ok = save_some(f, i, (size_t)heft_min_u64(count - f->saved_rows, PIECE / f->rows.width),
                           journal, &piece, err);
    }
    heft_buf_release(&piece);
    return ok;
}

bool heft_token_out_load_rows(struct heft_token_out *out, struct heft_cur *piece,
                              struct heft_error *err)
{
    const uint64_t track = heft_cur_u64(piece), first = heft_cur_u64(piece);
    const struct heft_bytes rows = heft_journal_take(piece);
    const size_t width = out->how.format->row;
    struct heft_token_file *f = &out->tracks[track & 1].file;

    if (!heft_journal_ends(piece, err))
        return false;
    if (track > 1 || width == 0 || rows.n % width != 0 || first > f->saved_rows)
        return heft_fail(err, HEFT_MALFORMED, heft_cur_where(piece),
                         "the journal has invalid rows");
    f->saved_rows = first + rows.n / width;
    return heft_row_store_put(&f->rows, first, rows.n / width, rows.p, err);
}

/* ---- saving and restoring the state --------------------------------------------------------- */

static void save_track(const struct heft_token_out *out, const struct heft_token_track *track,
                       struct heft_buf *record)
{
    const struct heft_token_file *f = &track->file;

    heft_journal_u64(record, track->files);
    heft_journal_u64(record, track->tokens);
    heft_journal_u64(record, f->is_open);
    heft_journal_u64(record, f->index);
    heft_journal_u64(record, f->beside);
    heft_journal_u64(record, f->at);
    heft_journal_u64(record, f->tokens);
    heft_journal_u64(record, f->units);
    heft_journal_u64(record, f->unit_tokens);
    if (f->is_open && out->how.format->save)
        out->how.format->save(f, record);
    if (out->how.window > 0) {
        heft_journal_u64(record, track->window.repeated);
        heft_journal_bytes(record, track->window.ids, (size_t)track->window.n * out->how.width);
    }
}

bool heft_token_out_save(struct heft_token_out *out, struct heft_journal *journal,
                         struct heft_buf *record, struct heft_error *err)
{
    if (!heft_token_out_flush(out, err) || !heft_sink_save(out->sink, record, err) ||
        !save_rows(out, journal, err))
        return false;
    heft_journal_u64(record, out->units);
    for (int i = 0; i < 2; i++)
        save_track(out, &out->tracks[i], record);
    return true;
}

/* Rows may belong to a file that has ended since. */
static bool check_rows(const struct heft_token_out *out, struct heft_token_file *f,
                       const struct heft_cur *record, struct heft_error *err)
{
    const uint64_t count = f->is_open && out->how.format->row ? out->how.format->count_rows(f) : 0;

    if (count > f->saved_rows)
        return heft_fail(err, HEFT_MALFORMED, heft_cur_where(record),
                         "the journal has an invalid count of rows");
    f->saved_rows = count;
    return true;
}

static bool load_window(const struct heft_token_out *out, struct heft_token_window *w,
                        struct heft_cur *record, struct heft_error *err)
{
    const unsigned width = out->how.width;
    const uint64_t repeated = heft_cur_u64(record);
    const struct heft_bytes ids = heft_journal_take(record);

    if (ids.n % width != 0 || ids.n / width >= out->how.window || repeated > ids.n / width)
        return heft_fail(err, HEFT_MALFORMED, heft_cur_where(record),
                         "the journal has an invalid window");
    if (!w->ids && !(w->ids = heft_alloc((size_t)out->how.window * width, err)))
        return false;
    if (ids.n > 0)
        memcpy(w->ids, ids.p, ids.n);
    w->n = ids.n / width;
    w->repeated = repeated;
    return true;
}

static bool load_track(const struct heft_token_out *out, struct heft_token_track *track,
                       struct heft_cur *record, struct heft_error *err)
{
    struct heft_token_file *f = &track->file;

    track->files = (uint32_t)heft_cur_u64(record);
    track->tokens = heft_cur_u64(record);
    f->is_open = heft_cur_u64(record) != 0;
    f->index = (uint32_t)heft_cur_u64(record);
    f->beside = (uint32_t)heft_cur_u64(record);
    f->at = heft_cur_u64(record);
    f->tokens = heft_cur_u64(record);
    f->units = heft_cur_u64(record);
    f->unit_tokens = heft_cur_u64(record);
    f->ends_at = f->units * 8; /* ends of parts are written when a file ends */
    if (!heft_token_buffers(f, err))
        return false;
    if (f->is_open && out->how.format->load && !out->how.format->load(f, record, err))
        return false;
    return check_rows(out, f, record, err) &&
           (out->how.window == 0 || load_window(out, &track->window, record, err));
}

static struct heft_str folder_of(const struct heft_token_out *out)
{
    const char *slash = strrchr(out->how.path, '/');

    return (struct heft_str){out->how.path, slash ? (size_t)(slash + 1 - out->how.path) : 0};
}

bool heft_token_out_load_files(const struct heft_token_out *out, struct heft_sink *sink,
                               struct heft_cur *record, struct heft_error *err)
{
    return heft_sink_load(sink, folder_of(out), record, err);
}

bool heft_token_out_load(struct heft_token_out *out, struct heft_cur *record,
                         struct heft_error *err)
{
    if (!heft_sink_load(out->sink, folder_of(out), record, err))
        return false;
    out->units = heft_cur_u64(record);
    for (int i = 0; i < 2; i++)
        if (!load_track(out, &out->tracks[i], record, err))
            return false;
    return true;
}

bool heft_token_out_sweep(struct heft_token_out *out, const struct heft_sink *sink,
                          struct heft_error *err)
{
    return heft_sink_sweep(sink, folder_of(out), heft_token_out_is_ours, out, err);
}

bool heft_token_out_reopen(struct heft_token_out *out, struct heft_error *err)
{
    return heft_token_out_sweep(out, out->sink, err) && heft_sink_reopen(out->sink, err);
}

void heft_token_out_keep(struct heft_token_out *out, uint64_t process)
{
    heft_sink_keep(out->sink);
    heft_sink_adopt(out->sink, process);
}
