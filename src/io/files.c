/* files.c: the files of the disk; kinds of paths, and lists of directories. */
#include "io/files.h"

#include <errno.h>
#include <stdlib.h>

#include "io/os.h"

static int disk_stat(const struct heft_files *files, const char *path, struct heft_os_stat *out)
{
    (void)files;
    return heft_os->stat_path(path, out);
}

static int disk_stat_link(const struct heft_files *files, const char *path,
                          struct heft_os_stat *out)
{
    (void)files;
    return heft_os->stat_link(path, out);
}

static bool disk_open(const struct heft_files *files, struct heft_source *out, const char *path,
                      struct heft_error *err)
{
    (void)files;
    return heft_source_open_file(out, path, err);
}

static int disk_list_dir(const struct heft_files *files, const char *path,
                         bool (*each)(void *ctx, const char *name), void *ctx)
{
    (void)files;
    return heft_os->list_dir(path, each, ctx);
}

static bool disk_inside(const struct heft_files *files, const char *path, size_t folder,
                        bool *inside, struct heft_error *err)
{
    (void)files;
    return heft_path_inside(path, folder, inside, err);
}

static const struct heft_files_ops disk_ops = {
    .stat = disk_stat,
    .stat_link = disk_stat_link,
    .list_dir = disk_list_dir,
    .open = disk_open,
    .inside = disk_inside,
};
const struct heft_files heft_disk = {&disk_ops};

static enum heft_path_kind kind_of(const struct heft_os_stat *st)
{
    if (st->is_dir)
        return HEFT_PATH_DIR;
    return st->is_file ? HEFT_PATH_FILE : HEFT_PATH_OTHER;
}

enum heft_path_kind heft_files_kind(const struct heft_files *files, const char *path)
{
    struct heft_os_stat st;

    if (files->ops->stat(files, path, &st) != 0)
        return heft_os_is_missing(errno) ? HEFT_PATH_NONE : HEFT_PATH_FILE;
    return kind_of(&st);
}

bool heft_files_examine(const struct heft_files *files, const char *path, enum heft_path_kind *kind,
                        struct heft_error *err)
{
    struct heft_os_stat st;

    if (files->ops->stat(files, path, &st) == 0) {
        *kind = kind_of(&st);
        return true;
    }
    *kind = HEFT_PATH_NONE;
    if (heft_os_is_missing(errno))
        return true;
    heft_fail_errno(err, "cannot be examined");
    return heft_error_file(err, path);
}

/* ---- lists of directories ---------------------------------------------------------------- */

struct listing {
    struct heft_arena *arena;
    const char **names; /* on the heap until the list is complete */
    size_t count, cap;
    struct heft_error *err;
    bool failed;
};

static bool add_name(void *ctx, const char *name)
{
    struct listing *list = ctx;
    const char *copy = heft_arena_text(list->arena, heft_str_of(name), list->err);

    if (!copy ||
        !heft_grow(&list->names, &list->cap, list->count, 1, sizeof *list->names, list->err)) {
        list->failed = true;
        return false;
    }
    list->names[list->count++] = copy;
    return true;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool heft_files_list(const struct heft_files *files, const char *folder, struct heft_arena *arena,
                     const char *const **names, size_t *count, struct heft_error *err)
{
    struct listing list = {.arena = arena, .err = err};
    const int result = files->ops->list_dir(files, folder, add_name, &list);
    const char **kept = NULL;

    if (!list.failed && result != 0) {
        heft_fail_errno(err, "directory cannot be read");
        heft_error_file(err, folder);
        list.failed = true;
    }
    if (!list.failed) {
        kept = heft_arena_alloc(arena, list.count * sizeof *kept, err);
        list.failed = !kept;
    }
    if (!list.failed && list.count > 0) {
        qsort(list.names, list.count, sizeof *list.names, by_bytes);
        memcpy(kept, list.names, list.count * sizeof *kept);
    }
    heft_free(list.names);
    if (list.failed)
        return false;
    *names = kept;
    *count = list.count;
    return true;
}
