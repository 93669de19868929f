/* sink_commit.c: gives the files of a sink their final names.
 *
 *     1  sync and close the new files; sync the directories, if files may be replaced
 *     2  rename old files that are replaced one by one to temporary names, the last one (an index) first
 *     3  rename new files to final names, in the order added (an index last), then a whole directory;
 *        an old file that the last rename replaces gets a second name before
 *     4  rename retired files to temporary names (before step 2 with option retires_first)
 *     5  sync the directories
 *     6  delete the files that were set aside
 *
 * A failure before step 6 restores the old files. A crash leaves the old set, the new set, or an
 * incomplete set, never a mixture of old and new files. */
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

/* ---- moving old files out of the way ------------------------------------------------------- */

/* Gives the file at `path` a temporary name in the same directory, by renaming or linking it: *number
 * is 0, or errno. False only if out of memory. */
static bool name_aside(struct heft_sink *sink, const char *path,
                       int (*give)(const char *from, const char *to), int *number,
                       struct heft_error *err)
{
    struct heft_sink_aside *aside;

    if (!heft_grow(&sink->aside, &sink->aside_cap, sink->n_aside, 1, sizeof *sink->aside, err))
        return false;
    aside = &sink->aside[sink->n_aside];
    *number = EEXIST;
    for (unsigned n = 0; *number == EEXIST && n < HEFT_SINK_TRIES; n++) {
        *aside = (struct heft_sink_aside){
            path, heft_sink_temp_name(sink, path, heft_os_process(), n, err)};
        if (!aside->temp)
            return false;
        *number = give(path, aside->temp) == 0 ? 0 : errno;
    }
    sink->n_aside += *number == 0;
    return true;
}

/* Renames the file at `path`, if it exists. */
static bool set_aside(struct heft_sink *sink, const char *path, struct heft_error *err)
{
    int number;

    if (!name_aside(sink, path, heft_os->rename_new, &number, err))
        return false;
    if (number == 0 || number == ENOENT)
        return true;
    errno = number;
    return heft_sink_fails(err, "old file cannot be set aside", path);
}

/* Links the old file that a rename will replace, so that a failed commit can restore it. Without
 * hard links it cannot. */
static bool keep_old(struct heft_sink *sink, struct heft_sink_file *file, struct heft_error *err)
{
    int number;

    if (!name_aside(sink, file->path, heft_os->link, &number, err))
        return false;
    file->is_kept = number == 0;
    return true;
}

/* A file that cannot be examined may be there. */
static bool is_replaced(const struct heft_sink_file *file)
{
    struct heft_os_stat st;

    return !file->in_whole && !file->renamed &&
           (heft_os->stat_link(file->path, &st) == 0 || !heft_os_is_missing(errno));
}

/* If several files are replaced, old ones would be beside new ones for a while, so they are set
 * aside first. If only the last new file replaces an old one, its rename does it atomically. */
static bool set_old_aside(struct heft_sink *sink, struct heft_error *err)
{
    size_t first = sink->n_files;

    if (!sink->options.overwrite)
        return true;
    for (size_t i = sink->n_files; i > 0; i--)
        if (is_replaced(sink->files[i - 1]))
            first = i - 1;
    if (first + 1 >= sink->n_files)
        return true;
    for (size_t i = sink->n_files; i > first; i--)
        if (is_replaced(sink->files[i - 1]) && !set_aside(sink, sink->files[i - 1]->path, err))
            return false;
    return true;
}

static bool set_retired_aside(struct heft_sink *sink, struct heft_error *err)
{
    for (size_t i = 0; i < sink->retired.n; i++) {
        const char *path = sink->retired.items[i];

        if (heft_strmap_get(&sink->targets, heft_str_of(path)) == HEFT_MAP_NONE &&
            !set_aside(sink, path, err))
            return false;
    }
    return true;
}

/* A file that cannot be deleted keeps its temporary name, as after a crash. */
static void delete_old(struct heft_sink *sink)
{
    for (size_t i = 0; i < sink->n_aside; i++)
        (void)heft_os->unlink(sink->aside[i].temp);
    sink->n_aside = 0;
}

/* ---- renaming new files -------------------------------------------------------------------- */

static bool rename_files(struct heft_sink *sink, struct heft_error *err)
{
    for (size_t i = 0; i < sink->n_files; i++) {
        struct heft_sink_file *file = sink->files[i];

        if (file->in_whole || file->renamed) /* already done, before a crash */
            continue;
        file->replaces = sink->options.overwrite && is_replaced(file);
        if (file->replaces && !keep_old(sink, file, err))
            return false;
        if (sink->options.overwrite)
            file->renamed = heft_os->rename(file->temp, file->path) == 0;
        else
            file->renamed = heft_os->rename_new(file->temp, file->path) == 0;
        if (file->renamed)
            continue;
        file->replaces = false;
        if (errno != EEXIST || sink->options.overwrite)
            return heft_sink_fails(err, "cannot be renamed from its temporary name", file->path);
        heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "exists; option overwrite replaces it");
        return heft_error_file(err, file->path);
    }
    return true;
}

static bool rename_whole(struct heft_sink *sink, struct heft_error *err)
{
    struct heft_os_stat st;

    if (!sink->whole)
        return true;
    sink->whole_replaces = heft_os->stat_link(sink->whole, &st) == 0;
    if (!sink->whole_replaces && errno != ENOENT)
        return heft_sink_fails(err, "directory cannot be examined", sink->whole);
    if (heft_os->rename(sink->whole_temp, sink->whole) == 0)
        return true;
    sink->whole_replaces = false;
    if (errno != EEXIST && errno != ENOTEMPTY)
        return heft_sink_fails(err, "cannot be renamed from its temporary name", sink->whole);
    heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "exists; a new directory is expected");
    return heft_error_file(err, sink->whole);
}

/* Gives a file that is kept its temporary name again. */
static void take_file_back(const struct heft_sink *sink, struct heft_sink_file *file)
{
    file->renamed = !sink->keep || heft_os->rename(file->path, file->temp) != 0;
    if (file->renamed)
        (void)heft_os->unlink(file->path);
}

/* The one that was set aside first, an index, comes last. rename does nothing if both names are links
 * to one file. */
static void restore_old(struct heft_sink *sink)
{
    while (sink->n_aside > 0) {
        const struct heft_sink_aside *aside = &sink->aside[--sink->n_aside];

        if (heft_os->rename(aside->temp, aside->path) == 0)
            (void)heft_os->unlink(aside->temp);
    }
}

/* The rename of the last new file has replaced an old one: if that has a second name, it replaces the
 * new one between the old files and the new ones, so that a whole set is there all the time. If not,
 * the new files stay: they are complete. */
static void take_back_last(struct heft_sink *sink, struct heft_sink_file *last)
{
    if (!last->is_kept) {
        restore_old(sink);
        return;
    }
    last->renamed = !sink->keep || heft_os->link(last->path, last->temp) != 0;
    restore_old(sink);
    for (size_t i = sink->n_files - 1; i > 0; i--)
        if (sink->files[i - 1]->renamed)
            take_file_back(sink, sink->files[i - 1]);
}

/* Undoes a failed commit: the new index first, the old index last. */
static void take_back(struct heft_sink *sink)
{
    struct heft_sink_file *last = sink->n_files ? sink->files[sink->n_files - 1] : NULL;

    if (sink->whole)
        (void)heft_os->rename(sink->whole, sink->whole_temp);
    if (sink->whole_replaces)
        (void)heft_os->mkdir(sink->whole);
    if (last && last->renamed && last->replaces) {
        take_back_last(sink, last);
        return;
    }
    for (size_t i = sink->n_files; i > 0; i--)
        if (sink->files[i - 1]->renamed)
            take_file_back(sink, sink->files[i - 1]);
    restore_old(sink);
}

/* ---- syncing directories, commit ----------------------------------------------------------- */

/* in_whole: syncs the directories in the whole one, before it is renamed; else all others,
 * afterwards. */
bool heft_sink_sync_folders(struct heft_sink *sink, bool in_whole, struct heft_error *err)
{
    const size_t n = sink->whole ? strlen(sink->whole_temp) : 0;

    for (size_t i = 0; i < sink->to_sync.n && !sink->options.no_sync; i++) {
        const char *path = sink->to_sync.items[i];
        const bool is_inside = sink->whole && strncmp(path, sink->whole_temp, n) == 0;

        if (is_inside == in_whole && heft_os->sync_dir(path) != 0)
            return heft_sink_fails(err, "directory cannot be synced to the disk", path);
    }
    return true;
}

/* Makes two runs that overwrite the same set take turns, if the file system can lock
 * directories. */
static int hold_folder(const struct heft_sink *sink)
{
    return sink->options.overwrite && sink->to_sync.n > 0 && !sink->whole
               ? heft_os->hold_dir(sink->to_sync.items[0])
               : -1;
}

bool heft_sink_sync(struct heft_sink *sink, struct heft_error *err)
{
    return heft_sink_sync_files(sink, err) && heft_sink_sync_folders(sink, true, err) &&
           heft_sink_sync_folders(sink, false, err);
}

bool heft_sink_commit(struct heft_sink *sink, struct heft_error *err)
{
    int held;

    /* An old file that is replaced cannot be restored, so a directory that cannot be synced is found
     * before. */
    if (!heft_sink_sync_files(sink, err) || !close_files(sink, err) ||
        !heft_sink_sync_folders(sink, true, err) ||
        (sink->options.overwrite && !heft_sink_sync_folders(sink, false, err)))
        return false;
    held = hold_folder(sink);
    sink->committed = (!sink->options.retires_first || set_retired_aside(sink, err)) &&
                      set_old_aside(sink, err) && rename_files(sink, err) &&
                      rename_whole(sink, err) &&
                      (sink->options.retires_first || set_retired_aside(sink, err)) &&
                      heft_sink_sync_folders(sink, false, err);
    if (sink->committed)
        delete_old(sink);
    else
        take_back(sink);
    if (held >= 0)
        (void)heft_os->close(held);
    return sink->committed;
}
