/* module.c: finds and opens the modules, shared objects that belong to heft.
 *
 *     PREFIX/bin/heft          PREFIX/lib/heft-0.1/FILE  the command: an installation can be moved
 *     PREFIX/lib/libheft.so    PREFIX/lib/heft-0.1/FILE  the shared library, likewise
 *     any program + libheft.a  the directory of `make install PREFIX=`
 *
 * The build tree has the same layout. A module is code: it is never taken from the current
 * directory, from beside a program that is not installed, or from a place where another user could
 * have put it. */
#include "io/module.h"

#include <stdio.h>

#include "base/host_settings.h"
#include "io/os.h"

#define ROOM 4096 /* longest path in bytes */

struct search {
    const char *file, *needs;
    char home[ROOM];   /* directory of the installed program or library that contains this code */
    char folder[ROOM]; /* directory of modules, with a slash at its end */
    char path[ROOM];
};

/* Finds the directory of modules relative to this code's location; "" if that is not an
 * installation. */
static void find_beside(struct search *s)
{
    const struct heft_module_place *const place = &heft_module_place;
    const size_t tail = place->from ? strlen(place->from) : 0;
    size_t n;

    s->folder[0] = '\0';
    heft_os_home(s->home, sizeof s->home);
    n = strlen(s->home);
    if (tail == 0 || n <= tail || s->home[n - tail - 1] != '/' ||
        strcmp(s->home + n - tail, place->from) != 0 || n - tail + strlen(place->to) >= ROOM)
        return;
    memcpy(s->folder, s->home, n - tail);
    memcpy(s->folder + n - tail, place->to, strlen(place->to) + 1);
}

static bool has_file(struct search *s, const char *folder)
{
    struct heft_os_stat st;
    const int n = snprintf(s->path, sizeof s->path, "%s%s", folder, s->file);

    return n > 0 && (size_t)n < sizeof s->path && heft_os->stat_path(s->path, &st) == 0;
}

/* The directory that the program or the user names; NULL: neither does. */
static const char *find_named(const char **by)
{
    const char *const named = heft_host()->modules;
    const char *const wanted = heft_os_variable("HEFT_MODULES");

    *by = named ? "heft_host_set" : "HEFT_MODULES";
    return named ? named : wanted && wanted[0] ? wanted : NULL;
}

/* Uses a directory that somebody named, which is trusted and is the only one. */
static bool find_wanted(struct search *s, const char *wanted, const char *by,
                        struct heft_error *err)
{
    const int n = snprintf(s->folder, sizeof s->folder, "%s/", wanted);

    if (wanted[0] != '/' || n < 0 || (size_t)n >= sizeof s->folder)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "%s is not the absolute path of a directory: %s", by, wanted);
    return has_file(s, s->folder) || heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                                               "heft's module %s is not in %s (%s); it needs %s",
                                               s->file, s->folder, by, s->needs);
}

/* Refuses a directory that another user could have made: for a copy of the command in /tmp/bin
 * anybody could make /tmp/lib/heft-0.1. */
static bool is_ours(struct search *s, struct heft_error *err)
{
    return (heft_os_is_private(s->path, s->home) && heft_os_is_private(s->folder, s->home)) ||
           heft_fail(err, HEFT_UNSAFE, HEFT_NO_OFFSET,
                     "heft's module %s is not loaded: its owner is neither you nor root nor the "
                     "owner of %s, or anybody may write there",
                     s->path, s->home);
}

static bool find_installed(struct search *s, struct heft_error *err)
{
    const char *const installed = heft_module_place.installed;

    find_beside(s);
    if (s->folder[0] && has_file(s, s->folder))
        return is_ours(s, err);
    return has_file(s, installed) ||
           heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                     "heft's module %s is not in %s: build and install heft where %s is, or name "
                     "its directory in HEFT_MODULES",
                     s->file, s->folder[0] ? s->folder : installed, s->needs);
}

const void *heft_module_find(const char *file, const char *symbol, const char *needs,
                             struct heft_error *err)
{
    const char *by;
    const char *const wanted = find_named(&by);
    struct search s = {.file = file, .needs = needs};
    const void *address;

    if (!heft_module_place.installed) {
        heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                  "heft's module %s is not in this build, which is static: use one with shared "
                  "libraries and %s",
                  file, needs);
        return NULL;
    }
    if (!(wanted ? find_wanted(&s, wanted, by, err) : find_installed(&s, err)))
        return NULL;
    address = heft_os->module(s.path, symbol);
    if (!address)
        heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                  "heft's module %s cannot be loaded: it needs %s", s.path, needs);
    return address;
}

bool heft_module_folder(char *out, size_t n)
{
    const char *by;
    const char *const wanted = find_named(&by);
    struct search s = {.file = ""};
    int put;

    if (wanted) {
        put = snprintf(out, n, "%s/", wanted);
    } else {
        find_beside(&s);
        put = snprintf(out, n, "%s",
                       s.folder[0] && has_file(&s, s.folder) ? s.folder
                                                             : heft_module_place.installed);
    }
    return put > 0 && (size_t)put < n;
}
