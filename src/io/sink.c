/* sink.c: files that appear complete or not at all.
 *
 *     whole    create the directory .NAME.heft-PID-N beside NAME; files in NAME are created in it
 *     add      create .NAME.heft-PID-N beside NAME, reserve its size
 *     write    pwrite anywhere in it; start writing back large pieces at once
 *     commit   sync files → set old files aside → rename → sync directories → delete old files
 *     free     unlink files that were not renamed, remove directories that were made
 *
 * A set may have more files than a process may have descriptors: beyond MAX_OPEN an idle file is
 * closed, and opened again for its next write. */
#include <errno.h>
#include <stdio.h>

#include "io/pool.h"
#include "io/sink_parts.h"
#include "io/whole.h"

#define MAX_OPEN 128

/* Bytes of a file after which writing back is started, so that the disk works while the rest is
 * being written: 1 GB and its sync took 0.70 s, without this 0.79 s. 4 and 64 MiB give the same. */
#define FLUSH_BYTES ((uint64_t)16 << 20)

bool heft_sink_add_name(struct heft_sink_names *list, const char *name, struct heft_error *err)
{
    if (!heft_grow(&list->items, &list->cap, list->n, 1, sizeof *list->items, err))
        return false;
    list->items[list->n++] = name;
    return true;
}

bool heft_sink_fails(struct heft_error *err, const char *what, const char *path)
{
    heft_fail_errno(err, what);
    return heft_error_file(err, path);
}

struct heft_sink *heft_sink_new(const struct heft_sink_options *options, struct heft_error *err)
{
    struct heft_sink *sink = heft_calloc(1, sizeof *sink, err);

    if (!sink)
        return NULL;
    sink->options = *options;
    sink->keep = options->plan != NULL;
    sink->lock = heft_lock_new(err);
    sink->writing = sink->lock ? heft_lock_new(err) : NULL;
    if (sink->writing)
        return sink;
    heft_sink_free(sink);
    return NULL;
}

/* ---- directories and temporary names ------------------------------------------------------- */

/* Splits a path at its last slash: "a/b" into "a/" and "b"; "b" into "" and "b". */
void heft_sink_split(struct heft_str path, struct heft_str *folder, struct heft_str *name)
{
    size_t n = path.n;

    while (n > 0 && path.p[n - 1] != '/')
        n--;
    *folder = (struct heft_str){path.p, n};
    *name = (struct heft_str){path.p + n, path.n - n};
}

/* True for the directory that appears as a whole, and for everything in it. */
static bool is_in_whole(const struct heft_sink *sink, const char *path)
{
    const size_t n = sink->whole ? strlen(sink->whole) : 0;

    return sink->whole && strncmp(path, sink->whole, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* Current path: before commit that of the temporary directory. */
const char *heft_sink_now_at(struct heft_sink *sink, const char *path, struct heft_error *err)
{
    if (!is_in_whole(sink, path))
        return path;
    return heft_arena_printf(&sink->arena, err, "%s%s", sink->whole_temp,
                             path + strlen(sink->whole));
}

/* Notes that the directory of `path` must be synced, and deletes the temporary files of dead
 * processes in it; not if processes of other machines, whose IDs are unknown, write there, too. */
bool heft_sink_note_folder(struct heft_sink *sink, const char *path, struct heft_error *err)
{
    struct heft_str folder, name;
    const char *copy;
    uint32_t found;

    heft_sink_split(heft_str_of(path), &folder, &name);
    if (folder.n == 0)
        folder = HEFT_STR(".");
    if (heft_strmap_get(&sink->folders, folder) != HEFT_MAP_NONE)
        return true;
    copy = heft_arena_text(&sink->arena, folder, err);
    return copy &&
           heft_strmap_add(&sink->folders, heft_str_of(copy), (uint32_t)sink->to_sync.n, &found,
                           err) &&
           heft_sink_add_name(&sink->to_sync, copy, err) &&
           (sink->options.plan || heft_sink_delete_stale(copy, sink->process, err));
}

/* Makes one level. Memory for the list is allocated first, so that a directory that was made is
 * always recorded. */
static bool make_folder(struct heft_sink *sink, const char *path, struct heft_error *err)
{
    struct heft_sink_names *made = &sink->made_folders;
    struct heft_os_stat st;

    if (heft_os->stat_path(path, &st) == 0) {
        if (st.is_dir)
            return true;
        heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "exists and is not a directory");
        return heft_error_file(err, path);
    }
    if (errno != ENOENT)
        return heft_sink_fails(err, "directory cannot be examined", path);
    if (!heft_grow(&made->items, &made->cap, made->n, 1, sizeof *made->items, err) ||
        !heft_sink_note_folder(sink, path, err))
        return false;
    if (heft_os->mkdir(path) == 0)
        made->items[made->n++] = path;
    else if (errno != EEXIST || !sink->options.plan) /* by another process of the plan */
        return heft_sink_fails(err, "directory cannot be created", path);
    return true;
}

bool heft_sink_folder(struct heft_sink *sink, const char *path, struct heft_error *err)
{
    size_t n = strlen(path);

    while (n > 1 && path[n - 1] == '/')
        n--;
    for (size_t i = 1; i <= n; i++) {
        const char *prefix;

        if (i < n && (path[i] != '/' || path[i - 1] == '/'))
            continue;
        prefix = heft_arena_text(&sink->arena, (struct heft_str){path, i}, err);
        prefix = prefix ? heft_sink_now_at(sink, prefix, err) : NULL;
        if (!prefix || !make_folder(sink, prefix, err))
            return false;
    }
    return true;
}

static bool stop_listing(void *ctx, const char *name)
{
    (void)name;
    *(bool *)ctx = true;
    return false;
}

static bool check_whole(const char *path, struct heft_error *err)
{
    struct heft_os_stat st;
    bool has_any = false;

    if (heft_os->stat_path(path, &st) != 0)
        return errno == ENOENT || heft_sink_fails(err, "directory cannot be examined", path);
    if (st.is_dir && heft_os->list_dir(path, stop_listing, &has_any) != 0)
        return heft_sink_fails(err, "directory cannot be listed", path);
    if (st.is_dir && !has_any)
        return true;
    heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "exists; a new directory is expected");
    return heft_error_file(err, path);
}

/* The n-th candidate for a temporary name beside `path`: ".NAME.heft-PID-n". */
const char *heft_sink_temp_name(struct heft_sink *sink, const char *path, uint64_t process,
                                unsigned n, struct heft_error *err)
{
    struct heft_str folder, name;

    heft_sink_split(heft_str_of(path), &folder, &name);
    return heft_arena_printf(&sink->arena, err, "%.*s.%.*s.heft-%" PRIu64 "-%u", (int)folder.n,
                             folder.p, name.n < HEFT_SINK_STEM ? (int)name.n : HEFT_SINK_STEM,
                             name.p, process, n);
}

static bool make_whole(struct heft_sink *sink, const char *path, struct heft_error *err)
{
    struct heft_sink_names *made = &sink->made_folders;
    const char *temp = NULL;
    int result = -1;

    if (!heft_grow(&made->items, &made->cap, made->n, 1, sizeof *made->items, err))
        return false;
    for (unsigned n = 0; result != 0 && n < HEFT_SINK_TRIES; n++) {
        temp = heft_sink_temp_name(sink, path, heft_os_process(), n, err);
        if (!temp)
            return false;
        result = heft_os->mkdir(temp);
        if (result != 0 && errno != EEXIST)
            break;
    }
    if (result != 0)
        return heft_sink_fails(err, "directory cannot be created", path);
    made->items[made->n++] = temp;
    sink->whole = path;
    sink->whole_temp = temp;
    return true;
}

bool heft_sink_whole(struct heft_sink *sink, const char *path, struct heft_error *err)
{
    struct heft_str folder, name = heft_str_of(path);
    const char *copy, *parent;

    while (name.n > 1 && name.p[name.n - 1] == '/')
        name.n--;
    copy = heft_arena_text(&sink->arena, name, err);
    if (!copy || !check_whole(copy, err))
        return false;
    heft_sink_split(heft_str_of(copy), &folder, &name);
    parent = heft_arena_text(&sink->arena, folder, err);
    return parent && (folder.n == 0 || heft_sink_folder(sink, parent, err)) &&
           heft_sink_note_folder(sink, copy, err) &&
           (sink->options.plan ? heft_sink_make_shared(sink, copy, err)
                               : make_whole(sink, copy, err));
}

/* ---- open descriptors ---------------------------------------------------------------------- */

bool heft_sink_close_file(struct heft_sink *sink, struct heft_sink_file *file,
                          struct heft_error *err)
{
    const int fd = file->fd;

    file->fd = -1;
    sink->open_files--;
    return heft_os->close(fd) == 0 || heft_sink_fails(err, "cannot be closed", file->path);
}

/* Under the lock: closes the file that has been idle longest, if too many are open. */
static bool make_room(struct heft_sink *sink, struct heft_error *err)
{
    for (size_t seen = 0; sink->open_files >= MAX_OPEN && seen < sink->n_files; seen++) {
        struct heft_sink_file *file = sink->files[sink->hand];

        sink->hand = sink->hand + 1 < sink->n_files ? sink->hand + 1 : 0;
        if (file->fd >= 0 && file->users == 0 && !heft_sink_close_file(sink, file, err))
            return false;
    }
    return true;
}

bool heft_sink_open_again(struct heft_sink *sink, struct heft_sink_file *file,
                          struct heft_error *err)
{
    if (file->fd >= 0)
        return true;
    if (!make_room(sink, err))
        return false;
    file->fd = heft_os->open_write(file->temp);
    if (file->fd < 0)
        return heft_sink_fails(err, "temporary file cannot be opened again", file->path);
    sink->open_files++;
    return true;
}

/* Under the lock: returns the file if it exists and the bytes are within its size. */
static struct heft_sink_file *check_write(const struct heft_sink *sink, uint32_t index,
                                          uint64_t off, uint64_t n, struct heft_error *err)
{
    struct heft_sink_file *file = index < sink->n_files ? sink->files[index] : NULL;

    if (!file) {
        heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                  "output %" PRIu32 " does not exist, there are %zu", index, sink->n_files);
        return NULL;
    }
    if (heft_within(off, n, file->size))
        return file;
    heft_fail(err, HEFT_USAGE, off, "%" PRIu64 " bytes do not fit, the output has %" PRIu64, n,
              file->size);
    heft_error_file(err, file->path);
    return NULL;
}

/* Opens the file's descriptor for this thread, until release. */
static struct heft_sink_file *acquire_file(struct heft_sink *sink, uint32_t index, uint64_t off,
                                           uint64_t n, struct heft_error *err)
{
    struct heft_sink_file *file;

    heft_lock_take(sink->lock);
    file = check_write(sink, index, off, n, err);
    if (file && !heft_sink_open_again(sink, file, err))
        file = NULL;
    if (file)
        file->users++;
    heft_lock_drop(sink->lock);
    return file;
}

/* Releases the file after n bytes were written at `off`. Flushing is a hint; a failure is found by
 * the sync at the end. */
static void release_file(struct heft_sink *sink, struct heft_sink_file *file, uint64_t off,
                         uint64_t n)
{
    bool flush;

    heft_lock_take(sink->lock);
    file->unsent += n;
    file->end = heft_max_u64(file->end, off + n); /* bytes written so far are within the file's
                                                     size */
    file->is_new = true;
    flush = file->unsent >= FLUSH_BYTES && !sink->options.no_sync;
    if (flush)
        file->unsent = 0;
    else
        file->users--;
    heft_lock_drop(sink->lock);
    if (!flush)
        return;
    (void)heft_os->flush_range(file->fd, 0, file->size); /* this thread is still a user, so the
                                                            file stays open */
    heft_lock_take(sink->lock);
    file->users--;
    heft_lock_drop(sink->lock);
}

/* ---- adding files -------------------------------------------------------------------------- */

/* Refuses an existing target, or keeps its permissions. */
bool heft_sink_check_target(const struct heft_sink *sink, const char *path, uint32_t *mode,
                            struct heft_error *err)
{
    struct heft_os_stat st;

    if (heft_os->stat_path(path, &st) != 0) {
        if (errno == ENOENT)
            return true;
        return heft_sink_fails(err, "cannot be examined", path);
    }
    if (!st.is_file)
        heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "exists and is not a regular file");
    else if (!sink->options.overwrite)
        heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "exists; option overwrite replaces it");
    else
        *mode = st.mode;
    return (st.is_file && sink->options.overwrite) || heft_error_file(err, path);
}

static bool create_temp(struct heft_sink *sink, struct heft_sink_file *file, uint32_t mode,
                        struct heft_error *err)
{
    int fd = -1;

    if (sink->options.plan)
        return heft_sink_open_shared(sink, file, mode, err);
    file->process = sink->process ? sink->process : heft_os_process();
    for (unsigned n = 0; fd < 0 && n < HEFT_SINK_TRIES; n++) {
        file->number = n;
        file->temp = file->in_whole ? heft_sink_now_at(sink, file->path, err)
                                    : heft_sink_temp_name(sink, file->path, file->process, n, err);
        if (!file->temp)
            return false;
        fd = heft_os->create(file->temp, mode);
        if (fd < 0 && (errno != EEXIST || file->in_whole))
            break;
    }
    if (fd < 0)
        return heft_sink_fails(err, "cannot be created", file->path);
    file->fd = fd;
    file->made = true;
    sink->open_files++;
    return true;
}

/* A file that becomes a hard link to the file that a source has open. */
struct twin {
    const struct heft_source *source;
    const char *path;
};

static bool is_twin(const char *path, const struct heft_source *source)
{
    struct heft_os_stat a, b;

    return heft_os->stat_path(path, &a) == 0 && heft_os->stat_fd(source->fd, &b) == 0 &&
           a.device == b.device && a.inode == b.inode && a.size == source->size;
}

/* *linked is false if no link can be made: the file is then written like any other. */
static bool make_link(struct heft_sink *sink, struct heft_sink_file *file, const struct twin *twin)
{
    struct heft_error ignored = {0};
    int result = -1;

    for (unsigned n = 0; result != 0 && n < HEFT_SINK_TRIES; n++) {
        file->temp = file->in_whole
                         ? heft_sink_now_at(sink, file->path, &ignored)
                         : heft_sink_temp_name(sink, file->path, heft_os_process(), n, &ignored);
        if (!file->temp)
            return false;
        result = heft_os->link(twin->path, file->temp);
        if (result != 0 && errno != EEXIST)
            return false;
    }
    if (result == 0 && !is_twin(file->temp, twin->source)) {
        (void)heft_os->unlink(file->temp);
        return false;
    }
    file->made = file->is_linked = result == 0;
    return file->made;
}

struct heft_sink_file *heft_sink_list(struct heft_sink *sink, const char *path, uint64_t size,
                                      struct heft_error *err)
{
    const uint32_t index = (uint32_t)sink->n_files;
    struct heft_sink_file *file = heft_arena_zero(&sink->arena, 1, sizeof *file, err);
    uint32_t found;

    if (!file ||
        !heft_grow(&sink->files, &sink->files_cap, sink->n_files, 1, sizeof *sink->files, err) ||
        !heft_strmap_add(&sink->targets, heft_str_of(path), index, &found, err))
        return NULL;
    *file = (struct heft_sink_file){
        .path = path, .size = size, .fd = -1, .is_new = true, .in_whole = is_in_whole(sink, path)};
    sink->files[sink->n_files++] = file;
    return file;
}

static bool new_file(struct heft_sink *sink, const char *path, uint64_t size, uint32_t mode,
                     const struct twin *twin, struct heft_error *err)
{
    struct heft_sink_file *file = heft_sink_list(sink, path, size, err);

    if (!file)
        return false;
    if (twin && make_link(sink, file, twin))
        return true;
    return create_temp(sink, file, mode, err) &&
           (size == HEFT_SINK_GROWING || heft_os->reserve(file->fd, size) == 0 ||
            heft_sink_fails(err, "space cannot be reserved", path));
}

static bool add_file(struct heft_sink *sink, const char *path, uint64_t size,
                     const struct twin *twin, uint32_t *index, struct heft_error *err)
{
    struct heft_str folder, name;
    const char *copy, *now;
    uint32_t mode = 0666; /* the system subtracts the umask */
    bool ok;

    heft_sink_split(heft_str_of(path), &folder, &name);
    if (name.n == 0 || heft_strmap_get(&sink->targets, heft_str_of(path)) != HEFT_MAP_NONE) {
        heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "%s",
                  name.n ? "named twice as an output" : "the name of an output is empty");
        return heft_error_file(err, path);
    }
    if (sink->n_files >= HEFT_MAP_NONE || folder.n > INT32_MAX)
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET, "too many outputs");
    copy = heft_arena_text(&sink->arena, heft_str_of(path), err);
    now = copy ? heft_sink_now_at(sink, copy, err) : NULL;
    if (!now ||
        (!heft_sink_is_resumed(sink, copy) && !heft_sink_check_target(sink, path, &mode, err)) ||
        !heft_sink_note_folder(sink, now, err))
        return false;
    heft_lock_take(sink->lock);
    ok = make_room(sink, err) && new_file(sink, copy, size, mode, twin, err);
    heft_lock_drop(sink->lock);
    if (ok)
        *index = (uint32_t)(sink->n_files - 1);
    return ok;
}

bool heft_sink_add(struct heft_sink *sink, const char *path, uint64_t size, uint32_t *index,
                   struct heft_error *err)
{
    return add_file(sink, path, size, NULL, index, err);
}

bool heft_sink_add_link(struct heft_sink *sink, const char *path, const struct heft_source *source,
                        const char *source_path, bool *linked, uint32_t *index,
                        struct heft_error *err)
{
    const struct twin twin = {source, source_path};

    if (!add_file(sink, path, source->size, &twin, index, err))
        return false;
    *linked = sink->files[*index]->is_linked;
    return true;
}

bool heft_sink_add_growing(struct heft_sink *sink, const char *path, uint32_t *index,
                           struct heft_error *err)
{
    return heft_sink_add(sink, path, HEFT_SINK_GROWING, index, err);
}

bool heft_sink_retire(struct heft_sink *sink, const char *path, struct heft_error *err)
{
    const char *copy = heft_arena_text(&sink->arena, heft_str_of(path), err);

    return copy && heft_sink_note_folder(sink, copy, err) &&
           heft_sink_add_name(&sink->retired, copy, err);
}

/* ---- writing ------------------------------------------------------------------------------- */

/* One thread writes at a time. The kernel serialises writes to a file: waiting threads spin, and
 * take the core from the thread that would read on and from writing back. */
bool heft_sink_write(struct heft_sink *sink, uint32_t file, uint64_t off, const void *p, size_t n,
                     struct heft_error *err)
{
    struct heft_sink_file *target = acquire_file(sink, file, off, n, err);
    bool ok;

    if (!target)
        return false;
    heft_lock_take(sink->writing);
    ok = heft_whole_write(target->fd, p, n, off, err) || heft_error_file(err, target->path);
    heft_lock_drop(sink->writing);
    release_file(sink, target, off, n);
    return ok;
}

bool heft_sink_copy(struct heft_sink *sink, uint32_t file, uint64_t off, int from,
                    uint64_t from_off, uint64_t n, bool *copied, struct heft_error *err)
{
    struct heft_sink_file *target = acquire_file(sink, file, off, n, err);
    uint64_t done = 0;
    int64_t put = 1;

    if (!target)
        return false;
    while (done < n && put > 0) {
        put = heft_os->copy_range(from, from_off + done, target->fd, off + done, n - done);
        done += put > 0 ? (uint64_t)put : 0;
    }
    release_file(sink, target, off, done);
    *copied = done == n;
    return true;
}

int heft_sink_descriptor(const struct heft_sink *sink, uint32_t file)
{
    return file < sink->n_files ? sink->files[file]->fd : -1;
}

/* ---- release ------------------------------------------------------------------------------- */

static void abandon_file(const struct heft_sink *sink, struct heft_sink_file *file)
{
    if (file->fd >= 0)
        (void)heft_os->close(file->fd);
    if (file->made && !file->renamed && !(sink->keep && file->saved))
        (void)heft_os->unlink(file->temp);
}

void heft_sink_free(struct heft_sink *sink)
{
    if (!sink)
        return;
    for (size_t i = 0; i < sink->n_files; i++)
        if (!sink->committed)
            abandon_file(sink, sink->files[i]);
    for (size_t i = sink->made_folders.n; i > 0 && !sink->committed && !sink->keep; i--)
        (void)heft_os->rmdir(sink->made_folders.items[i - 1]); /* stays if it is not empty */
    heft_lock_free(sink->lock);
    heft_lock_free(sink->writing);
    heft_strmap_release(&sink->targets);
    heft_strmap_release(&sink->folders);
    heft_free(sink->files);
    heft_free(sink->made_folders.items);
    heft_free(sink->retired.items);
    heft_free(sink->to_sync.items);
    heft_free(sink->aside);
    heft_arena_release(&sink->arena);
    heft_free(sink);
}
