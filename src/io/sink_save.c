/* sink_save.c: saves the state of files in a journal, so that another process can resume after a
 * crash (io/journal.h).
 *
 * Record: u64 number of files that follow, and for each
 *     u64 index | u64 bytes | u64 PID | u64 N | u64 n, name */
#include <errno.h>

#include "io/journal.h"
#include "io/pool.h"
#include "io/sink_parts.h"

static void put_file(struct heft_buf *record, const struct heft_sink_file *file, size_t index)
{
    struct heft_str folder, name;

    heft_sink_split(heft_str_of(file->path), &folder, &name);
    heft_journal_u64(record, index);
    heft_journal_u64(record, file->end);
    heft_journal_u64(record, file->process);
    heft_journal_u64(record, file->number);
    heft_journal_bytes(record, name.p, name.n);
}

bool heft_sink_save(struct heft_sink *sink, struct heft_buf *record, struct heft_error *err)
{
    uint64_t count = 0;
    bool has_new = false;

    for (size_t i = 0; i < sink->n_files; i++) {
        count += sink->files[i]->is_new;
        has_new |= !sink->files[i]->saved;
    }
    heft_journal_u64(record, count);
    for (size_t i = 0; i < sink->n_files; i++)
        if (sink->files[i]->is_new)
            put_file(record, sink->files[i], i);
    if (!heft_sink_sync_files(sink, err) || (has_new && !heft_sink_sync_folders(sink, false, err)))
        return false;
    for (size_t i = 0; i < sink->n_files; i++) {
        sink->files[i]->saved = true;
        sink->files[i]->is_new = false; /* set also if syncing is off */
    }
    return true;
}

void heft_sink_adopt(struct heft_sink *sink, uint64_t process)
{
    sink->process = process;
}

void heft_sink_keep(struct heft_sink *sink)
{
    sink->keep = true;
}

static bool load_file(struct heft_sink *sink, struct heft_str folder, struct heft_cur *record,
                      struct heft_error *err)
{
    const uint64_t index = heft_cur_u64(record), end = heft_cur_u64(record);
    const uint64_t process = heft_cur_u64(record), number = heft_cur_u64(record);
    const struct heft_bytes name = heft_journal_take(record);
    struct heft_sink_file *file;
    const char *path;

    if (!heft_cur_ok(record) || index > sink->n_files || number >= HEFT_SINK_TRIES || name.n == 0 ||
        name.n > INT32_MAX || memchr(name.p, '/', name.n) || memchr(name.p, 0, name.n))
        return heft_fail(err, HEFT_MALFORMED, heft_cur_where(record), "a journal's file");
    if (index < sink->n_files) {
        sink->files[index]->end = end;
        return true;
    }
    path = heft_arena_printf(&sink->arena, err, "%.*s%.*s", (int)folder.n, folder.p, (int)name.n,
                             (const char *)name.p);
    file = path && heft_sink_note_folder(sink, path, err)
               ? heft_sink_list(sink, path, HEFT_SINK_GROWING, err)
               : NULL;
    if (!file)
        return false;
    file->end = end;
    file->process = process;
    file->number = (unsigned)number;
    file->is_new = false;
    file->saved = true;
    file->temp = heft_sink_temp_name(sink, path, process, file->number, err);
    file->made = file->temp != NULL;
    return file->made;
}

bool heft_sink_load(struct heft_sink *sink, struct heft_str folder, struct heft_cur *record,
                    struct heft_error *err)
{
    const uint64_t count = heft_cur_u64(record);

    for (uint64_t i = 0; i < count; i++)
        if (!load_file(sink, folder, record, err))
            return false;
    return true;
}

struct sweeping {
    const struct heft_sink *sink;
    struct heft_arena mem;
    struct heft_sink_names names;
    struct heft_str folder;
    bool (*is_ours)(void *ctx, struct heft_str name);
    void *ctx;
    struct heft_error *err;
    bool failed;
};

static bool is_temp(const struct sweeping *s, const char *name)
{
    struct heft_str stem;
    uint64_t process;

    return heft_sink_parse_temp(name, &stem, &process) && process == s->sink->process &&
           s->is_ours(s->ctx, stem);
}

static bool is_named(const struct heft_sink *sink, const char *temp)
{
    for (size_t i = 0; i < sink->n_files; i++)
        if (strcmp(sink->files[i]->temp, temp) == 0)
            return true;
    return false;
}

static bool collect_temp(void *ctx, const char *name)
{
    struct sweeping *s = ctx;
    const char *path;

    if (!is_temp(s, name))
        return true;
    path = heft_arena_printf(&s->mem, s->err, "%.*s%s", (int)s->folder.n, s->folder.p, name);
    s->failed = !path || (!is_named(s->sink, path) && !heft_sink_add_name(&s->names, path, s->err));
    return !s->failed;
}

bool heft_sink_sweep(const struct heft_sink *sink, struct heft_str folder,
                     bool (*is_ours)(void *ctx, struct heft_str name), void *ctx,
                     struct heft_error *err)
{
    struct sweeping s = {
        .sink = sink, .folder = folder, .is_ours = is_ours, .ctx = ctx, .err = err};
    const char *path;
    bool ok;

    path = heft_arena_text(&s.mem, folder.n ? folder : HEFT_STR("."), err);
    ok = path && (heft_os->list_dir(path, collect_temp, &s) == 0 || s.failed ||
                  heft_sink_fails(err, "directory cannot be read", path));
    for (size_t i = 0; ok && i < s.names.n; i++)
        (void)heft_os->unlink(s.names.items[i]);
    heft_free(s.names.items);
    heft_arena_release(&s.mem);
    return ok && !s.failed;
}

/* True if the crash happened during the renames of a commit. */
static bool was_renamed(const struct heft_sink_file *file)
{
    struct heft_os_stat temp, st;

    return heft_os->stat_link(file->temp, &temp) != 0 && errno == ENOENT &&
           heft_os->stat_path(file->path, &st) == 0 && st.is_file && st.size == file->end;
}

static bool reopen_saved(struct heft_sink *sink, struct heft_sink_file *file,
                         struct heft_error *err)
{
    struct heft_os_stat st;
    uint32_t mode;

    if (was_renamed(file)) {
        file->renamed = true;
        return true;
    }
    if (!heft_sink_check_target(sink, file->path, &mode, err) ||
        !heft_sink_open_again(sink, file, err))
        return false;
    if (heft_os->stat_fd(file->fd, &st) != 0)
        return heft_sink_fails(err, "temporary file cannot be examined", file->path);
    if (st.size < file->end) {
        heft_fail(err, HEFT_IO, st.size,
                  "temporary file has %" PRIu64 " bytes, where %" PRIu64 " were written", st.size,
                  file->end);
        return heft_error_file(err, file->temp);
    }
    return heft_os->cut(file->fd, file->end) == 0 ||
           heft_sink_fails(err, "temporary file cannot be truncated", file->path);
}

bool heft_sink_reopen(struct heft_sink *sink, struct heft_error *err)
{
    bool ok = true;

    heft_lock_take(sink->lock);
    for (size_t i = 0; ok && i < sink->n_files; i++)
        ok = reopen_saved(sink, sink->files[i], err);
    heft_lock_drop(sink->lock);
    return ok;
}

const char *heft_sink_path(const struct heft_sink *sink, size_t i)
{
    return i < sink->n_files ? sink->files[i]->path : NULL;
}
