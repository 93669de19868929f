/* input_below.c: lists directories; depth-first traversal with an explicit stack. A set of (device,
 * inode) breaks cycles of symbolic links. */
#include "tokens/input/input_below.h"

#include <errno.h>

#include "base/map.h"
#include "io/os.h"

/* ---- entries of a directory ----------------------------------------------------------------- */

struct listing {
    const char *folder;
    heft_path_fn *each;
    void *ctx;
    struct heft_buf path;
    struct heft_error *err;
    bool ok;
};

bool heft_entry_path(struct heft_buf *path, const char *folder, struct heft_str name,
                     struct heft_error *err)
{
    const size_t n = strlen(folder);

    path->n = 0;
    heft_buf_put(path, folder, n);
    if (n > 0 && folder[n - 1] != '/')
        heft_buf_char(path, '/');
    heft_buf_str(path, name);
    heft_buf_char(path, '\0');
    return heft_buf_ok(path, err);
}

static bool tell_entry(void *ctx, const char *name)
{
    struct listing *l = ctx;

    l->ok = heft_entry_path(&l->path, l->folder, heft_str_of(name), l->err) &&
            l->each(l->ctx, l->path.p, l->err);
    return l->ok;
}

bool heft_folder_each(const char *folder, heft_path_fn *each, void *ctx, bool *is_unreadable,
                      struct heft_error *err)
{
    struct listing l = {.folder = folder, .each = each, .ctx = ctx, .err = err, .ok = true};
    const int failed = heft_os->list_dir(folder[0] ? folder : ".", tell_entry, &l);

    *is_unreadable = failed && l.ok;
    if (*is_unreadable) {
        heft_fail_errno(err, "directory cannot be read");
        l.ok = heft_error_file(err, folder);
    }
    heft_buf_release(&l.path);
    return l.ok;
}

/* ---- walking a directory tree --------------------------------------------------------------- */

struct below {
    struct heft_arena mem; /* owns the paths and the keys of `seen` */
    struct heft_strmap seen;
    const char **stack;
    size_t n, cap;
};

static bool push_path(struct below *b, const char *path, struct heft_error *err)
{
    const char *copy = heft_arena_text(&b->mem, heft_str_of(path), err);

    if (!copy || !heft_grow(&b->stack, &b->cap, b->n, 1, sizeof *b->stack, err))
        return false;
    b->stack[b->n++] = copy;
    return true;
}

bool heft_path_is_skipped(int number)
{
    return heft_os_is_missing(number) || number == EACCES;
}

/* *st is empty if a pattern skips the path. */
static bool examine(const char *path, struct heft_os_stat *st, struct heft_error *err)
{
    if (heft_os->stat_path(path, st) == 0)
        return true;
    *st = (struct heft_os_stat){0};
    if (heft_path_is_skipped(errno))
        return true;
    heft_fail_errno(err, "cannot be examined");
    return heft_error_file(err, path);
}

static bool push_folder(void *ctx, const char *path, struct heft_error *err)
{
    const char *slash = strrchr(path, '/');
    struct heft_os_stat st;

    if ((slash ? slash + 1 : path)[0] == '.')
        return true;
    return examine(path, &st, err) && (!st.is_dir || push_path(ctx, path, err));
}

/* *is_new: `path` is a directory that was not visited before. */
static bool mark_seen(struct below *b, const char *path, bool *is_new, struct heft_error *err)
{
    struct heft_os_stat st;
    uint64_t *key;
    uint32_t found;

    *is_new = false;
    if (!examine(path[0] ? path : ".", &st, err))
        return false;
    if (!st.is_dir)
        return true;
    key = heft_arena_alloc(&b->mem, 2 * sizeof *key, err);
    if (!key)
        return false;
    key[0] = st.device;
    key[1] = st.inode;
    if (!heft_strmap_add(&b->seen, (struct heft_str){(const char *)key, 2 * sizeof *key}, 0, &found,
                         err))
        return false;
    *is_new = found == HEFT_MAP_NONE;
    return true;
}

/* Reverses the entries pushed last, so that the first is on top. */
static void turn_around(const char **items, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        const char *item = items[i];

        items[i] = items[n - 1 - i];
        items[n - 1 - i] = item;
    }
}

static bool visit_folder(struct below *b, heft_path_fn *each, void *ctx, struct heft_error *err)
{
    const char *path = b->stack[--b->n];
    const size_t before = b->n;
    bool is_new, is_unreadable;

    if (!mark_seen(b, path, &is_new, err))
        return false;
    if (is_new &&
        (!each(ctx, path, err) || !heft_folder_each(path, push_folder, b, &is_unreadable, err)))
        return false;
    turn_around(b->stack + before, b->n - before);
    return true;
}

bool heft_folders_below(const char *folder, heft_path_fn *each, void *ctx, struct heft_error *err)
{
    struct below b = {0};
    bool ok = push_path(&b, folder, err);

    while (ok && b.n > 0)
        ok = visit_folder(&b, each, ctx, err);
    heft_strmap_release(&b.seen);
    heft_free((void *)b.stack);
    heft_arena_release(&b.mem);
    return ok;
}
