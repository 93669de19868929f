/* sink_commit.c: gives the files of a sink their final names.
 *
 *     sync files → rename in order, a whole folder last → delete retired → sync folders */
#include <errno.h>

#include "io/sink_parts.h"

bool heft_sink_sync_files(struct heft_sink *sink, struct heft_error *err)
{
    for (size_t i = 0; i < sink->n_files; i++) {
        struct heft_sink_file *file = sink->files[i];

        if (sink->options.no_sync || file->is_linked || !file->is_new)
            continue;
        if (!heft_sink_open_again(sink, file, err))
            return false;
        if (heft_os->sync(file->fd) != 0)
            return heft_sink_fails(err, "cannot be synced to the disk", file->path);
        file->is_new = false;
    }
    return true;
}

static bool close_files(struct heft_sink *sink, struct heft_error *err)
{
    for (size_t i = 0; i < sink->n_files; i++)
        if (sink->files[i]->fd >= 0 && !heft_sink_close_file(sink, sink->files[i], err))
            return false;
    return true;
}

static bool rename_files(struct heft_sink *sink, struct heft_error *err)
{
    for (size_t i = 0; i < sink->n_files; i++) {
        struct heft_sink_file *file = sink->files[i];

        if (file->in_whole || file->renamed) /* before a crash */
            continue;
        if (sink->options.overwrite)
            file->renamed = heft_os->rename(file->temp, file->path) == 0;
        else
            file->renamed = heft_os->rename_new(file->temp, file->path) == 0;
        if (file->renamed)
            continue;
        if (errno != EEXIST || sink->options.overwrite)
            return heft_sink_fails(err, "cannot be renamed from its temporary name", file->path);
        heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "exists; -f overwrites it");
        return heft_error_file(err, file->path);
    }
    return true;
}

static bool rename_whole(struct heft_sink *sink, struct heft_error *err)
{
    if (!sink->whole || heft_os->rename(sink->whole_temp, sink->whole) == 0)
        return true;
    if (errno != EEXIST && errno != ENOTEMPTY)
        return heft_sink_fails(err, "cannot be renamed from its temporary name", sink->whole);
    heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "exists; a new folder is wanted");
    return heft_error_file(err, sink->whole);
}

/* Without `overwrite` all that bears a final name now is ours; the whole folder always is. What is
 * kept gets its temporary name again. */
static void take_back(struct heft_sink *sink)
{
    if (sink->whole)
        (void)heft_os->rename(sink->whole, sink->whole_temp);
    for (size_t i = sink->n_files; i-- > 0 && !sink->options.overwrite;) {
        struct heft_sink_file *file = sink->files[i];

        if (!file->renamed)
            continue;
        file->renamed = !sink->keep || heft_os->rename(file->path, file->temp) != 0;
        if (file->renamed)
            (void)heft_os->unlink(file->path);
    }
}

static bool delete_retired(struct heft_sink *sink, struct heft_error *err)
{
    for (size_t i = 0; i < sink->retired.n; i++) {
        const char *path = sink->retired.items[i];

        if (heft_strmap_get(&sink->targets, heft_str_of(path)) != HEFT_MAP_NONE)
            continue; /* written anew just now */
        if (heft_os->unlink(path) != 0 && errno != ENOENT)
            return heft_sink_fails(err, "stale file cannot be deleted", path);
    }
    return true;
}

/* Folders in the whole one before it gets its name, all others afterwards. */
bool heft_sink_sync_folders(struct heft_sink *sink, bool in_whole, struct heft_error *err)
{
    const size_t n = sink->whole ? strlen(sink->whole_temp) : 0;

    for (size_t i = 0; i < sink->to_sync.n && !sink->options.no_sync; i++) {
        const char *path = sink->to_sync.items[i];
        const bool is_inside = sink->whole && strncmp(path, sink->whole_temp, n) == 0;

        if (is_inside == in_whole && heft_os->sync_dir(path) != 0)
            return heft_sink_fails(err, "folder cannot be synced to the disk", path);
    }
    return true;
}

bool heft_sink_commit(struct heft_sink *sink, struct heft_error *err)
{
    if (!heft_sink_sync_files(sink, err) || !close_files(sink, err) ||
        !heft_sink_sync_folders(sink, true, err))
        return false;
    if (!rename_files(sink, err) || !rename_whole(sink, err)) {
        take_back(sink);
        return false;
    }
    sink->committed = delete_retired(sink, err) && heft_sink_sync_folders(sink, false, err);
    if (!sink->committed && sink->retired.n == 0) /* else the old files may be gone by now */
        take_back(sink);
    return sink->committed;
}
