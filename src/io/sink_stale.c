/* sink_stale.c: deletes temporary files that killed runs have left in a directory.
 *
 *     .NAME.heft-PID-N       deleted if no process PID exists; PID has the host in its upper bits
 *     .NAME.heft-journal     unlocked: --resume can continue; nothing in its directory is deleted */
#include <errno.h>

#include "io/sink_parts.h"

#define MARK ".heft-"

/* Last MARK in a name; NULL if there is none. */
static const char *find_mark(const char *name)
{
    const char *found = NULL;

    for (const char *at = strstr(name, MARK); at; at = strstr(at + 1, MARK))
        found = at;
    return found;
}

static bool take_digits(const char **at, uint64_t *value)
{
    const char *begin = *at;

    for (*value = 0; **at >= '0' && **at <= '9' && *at - begin < 19; (*at)++)
        *value = *value * 10 + (uint64_t)(**at - '0');
    return *at > begin;
}

bool heft_sink_parse_temp(const char *name, struct heft_str *stem, uint64_t *process)
{
    const char *mark = find_mark(name), *at = mark ? mark + sizeof MARK - 1 : NULL;
    uint64_t number;

    if (name[0] != '.' || !mark || mark == name || !take_digits(&at, process) || *at++ != '-' ||
        !take_digits(&at, &number) || *at)
        return false;
    *stem = (struct heft_str){name + 1, (size_t)(mark - name - 1)};
    return true;
}

struct listing {
    struct heft_arena mem;
    struct heft_sink_names names;
    const char *folder;
    uint64_t kept; /* files of this process stay, too */
    struct heft_error *err;
    bool failed, can_resume;
};

static const char *path_of(struct listing *l, const char *name)
{
    const char *path = heft_arena_printf(&l->mem, l->err, "%s/%s", l->folder, name);

    l->failed |= !path;
    return path;
}

/* An unlocked journal: its run has ended and left its files for --resume. */
static bool is_resumable(struct listing *l, const char *name)
{
    const char *mark = name[0] == '.' ? find_mark(name) : NULL;
    const char *path = mark && strcmp(mark, MARK "journal") == 0 ? path_of(l, name) : NULL;
    const int fd = path ? heft_os->open_read(path) : -1;
    const bool is_free = fd >= 0 && heft_os->lock(fd) == 0;

    if (fd >= 0)
        (void)heft_os->close(fd);
    return is_free;
}

static bool list_stale(void *ctx, const char *name)
{
    struct listing *l = ctx;
    struct heft_str stem;
    uint64_t process;

    if (!heft_sink_parse_temp(name, &stem, &process)) {
        l->can_resume |= is_resumable(l, name);
    } else if (process != l->kept && !heft_os_is_alive(process)) {
        const char *path = path_of(l, name);

        l->failed |= !path || !heft_sink_add_name(&l->names, path, l->err);
    }
    return !l->failed && !l->can_resume;
}

bool heft_sink_delete_stale(const char *folder, uint64_t kept, struct heft_error *err)
{
    struct listing l = {.folder = folder, .kept = kept, .err = err};

    (void)heft_os->list_dir(folder, list_stale, &l); /* a directory may be writable but not
                                                        readable */
    for (size_t i = 0; !l.failed && !l.can_resume && i < l.names.n; i++)
        (void)heft_os->delete_tree(l.names.items[i]);
    heft_free(l.names.items);
    heft_arena_release(&l.mem);
    return !l.failed;
}
