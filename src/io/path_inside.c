/* path_inside.c: checks that a relative path stays inside its directory, also through symbolic
 * links to directories. Links to files are followed: a Hugging Face cache consists of them. */
#include <errno.h>

#include "io/os.h"
#include "io/source.h"

enum { MOST_UP = 64 }; /* levels between a linked directory and the one that must contain it */

static bool same_folder(const struct heft_os_stat *a, const struct heft_os_stat *b)
{
    return a->device == b->device && a->inode == b->inode;
}

/* Compares the parents of the directory `at` with `home`, up to the root. */
static bool lies_below(struct heft_buf *at, const struct heft_os_stat *home)
{
    struct heft_os_stat here, last = {0};

    for (unsigned i = 0; i < MOST_UP; i++) {
        heft_buf_put(at, "/..", sizeof "/.."); /* including its NUL */
        if (at->failed || heft_os->stat_path(at->p, &here) != 0)
            return false;
        at->n--;
        if (same_folder(&here, home))
            return true;
        if (i > 0 && same_folder(&here, &last))
            return false; /* the root directory has no parent */
        last = here;
    }
    return false;
}

/* Takes the result of a call of stat for a part of `path`; *st is empty if there is no such file. */
static bool examine(int result, const char *path, struct heft_os_stat *st, struct heft_error *err)
{
    if (result == 0)
        return true;
    *st = (struct heft_os_stat){0};
    if (heft_os_is_missing(errno))
        return true;
    heft_fail_errno(err, "cannot be examined");
    return heft_error_file(err, path);
}

/* *inside: whether the directory of that path, which may be a link, is below `home`. */
static bool check_folder(const char *path, size_t n, const struct heft_os_stat *home, bool *inside,
                         struct heft_error *err)
{
    struct heft_buf at = {0};
    struct heft_os_stat here;
    bool ok;

    *inside = true;
    heft_buf_put(&at, path, n);
    heft_buf_char(&at, '\0');
    ok = heft_buf_ok(&at, err);
    if (ok)
        ok = examine(heft_os->stat_link(at.p, &here), path, &here, err);
    if (ok && here.is_link) {
        at.n--;
        *inside = lies_below(&at, home);
        ok = heft_buf_ok(&at, err);
    }
    heft_buf_release(&at);
    return ok;
}

bool heft_path_inside(const char *path, size_t folder, bool *inside, struct heft_error *err)
{
    struct heft_os_stat home;
    struct heft_buf text = {0};
    bool ok;

    *inside = true;
    if (!strchr(path + folder, '/'))
        return true;
    heft_buf_put(&text, folder ? path : "./", folder ? folder : 2);
    heft_buf_char(&text, '\0');
    ok = heft_buf_ok(&text, err);
    ok = ok && examine(heft_os->stat_path(text.p, &home), path, &home, err);
    if (ok && home.is_dir)
        for (size_t i = folder; ok && *inside && path[i]; i++)
            ok = path[i] != '/' || check_folder(path, i, &home, inside, err);
    heft_buf_release(&text);
    return ok;
}
