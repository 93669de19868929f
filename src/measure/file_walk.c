/* file_walk.c: see file_walk.h. */
#include "measure/file_walk.h"

#include <errno.h>
#include <limits.h>

#define MOST_FILES 1000000

struct file_walk {
    const struct heft_files *files;
    struct heft_arena *mem;
    heft_walk_fn *each;
    void *ctx;
    struct heft_error *err;
    const char **folders; /* that wait to be listed */
    size_t n, cap;
    size_t seen; /* files and directories so far */
};

bool heft_file_examine(const struct heft_files *files, const char *path, struct heft_os_stat *st,
                       bool *is_there, struct heft_error *err)
{
    *is_there = files->ops->stat(files, path, st) == 0;
    if (*is_there || heft_os_is_missing(errno))
        return true;
    heft_fail_errno(err, "cannot be examined");
    return heft_error_file(err, path);
}

const char *heft_file_join(struct heft_arena *mem, struct heft_str folder, const char *name,
                           struct heft_error *err)
{
    const bool slash = folder.n == 0 || folder.p[folder.n - 1] == '/';

    return heft_arena_printf(mem, err, "%.*s%s%s", (int)heft_min_u64(folder.n, INT_MAX), folder.p,
                             slash ? "" : "/", name);
}

static bool push_folder(struct file_walk *w, const char *path)
{
    if (!heft_grow(&w->folders, &w->cap, w->n, 1, sizeof *w->folders, w->err))
        return false;
    w->folders[w->n++] = path;
    return true;
}

static bool visit(struct file_walk *w, const char *path)
{
    struct heft_walked file = {.path = path};
    struct heft_os_stat link;
    bool is_there;

    if (w->seen++ >= MOST_FILES) {
        heft_fail(w->err, HEFT_LIMIT, HEFT_NO_OFFSET, "more than %d files below a directory",
                  MOST_FILES);
        return heft_error_file(w->err, path);
    }
    if (w->files->ops->stat_link(w->files, path, &link) != 0) {
        heft_fail_errno(w->err, "cannot be examined");
        return heft_error_file(w->err, path);
    }
    if (link.is_dir)
        return push_folder(w, path);
    if (!heft_file_examine(w->files, path, &file.st, &is_there, w->err))
        return false;
    file.is_broken = !is_there;
    return file.st.is_dir || w->each(w->ctx, &file, w->err);
}

static bool list_folder(struct file_walk *w, const char *folder)
{
    const char *const *names;
    const size_t first = w->n;
    size_t count;

    if (!heft_files_list(w->files, folder, w->mem, &names, &count, w->err))
        return false;
    for (size_t i = 0; i < count; i++) {
        const char *path = heft_file_join(w->mem, heft_str_of(folder), names[i], w->err);

        if (!path || !visit(w, path))
            return false;
    }
    for (size_t i = first, j = w->n; i + 1 < j; i++) { /* the last one is listed first */
        const char *const path = w->folders[i];

        w->folders[i] = w->folders[--j];
        w->folders[j] = path;
    }
    return true;
}

bool heft_file_walk(const struct heft_files *files, const char *folder, struct heft_arena *mem,
                    heft_walk_fn *each, void *ctx, struct heft_error *err)
{
    struct file_walk w = {.files = files, .mem = mem, .each = each, .ctx = ctx, .err = err};
    bool ok = push_folder(&w, folder);

    while (ok && w.n > 0)
        ok = list_folder(&w, w.folders[--w.n]);
    heft_free(w.folders);
    return ok;
}
