/* input_pattern.c: matches a pattern one part between slashes at a time: paths that match so far
 * are kept, those that match the last part are reported as they are found.
 *
 *     "a//b/c?/d"       "a//b" unchanged → its entries that match c? → those that contain d
 *     "a/" "**" "/d"    a and the directories below it → those that contain d */
#include "tokens/input/input_pattern.h"

#include <errno.h>

#include "base/mem.h"
#include "base/text.h"
#include "io/os.h"
#include "tokens/input/input_below.h"
#include "tokens/unicode/utf8.h"

/* ---- matching a name ------------------------------------------------------------------------ */

static bool is_magic(struct heft_str part)
{
    for (size_t i = 0; i < part.n; i++)
        if (memchr("*?[", part.p[i], 3))
            return true;
    return false;
}

/* Returns the end of the set that begins with pattern[at] == '[', or 0 if it is not closed. */
static size_t end_of_set(const char *pattern, size_t n, size_t at)
{
    size_t i = at + 1;

    if (i < n && pattern[i] == '!')
        i++;
    if (i < n && pattern[i] == ']')
        i++;
    while (i < n && pattern[i] != ']')
        i++;
    return i < n ? i : 0;
}

/* Decodes the character at *at and advances. A byte of invalid UTF-8 is a character of its own, as
 * with Python's surrogateescape. */
static uint32_t take_character(const char *text, size_t n, size_t *at)
{
    const uint8_t *const p = (const uint8_t *)text + *at;
    unsigned width = heft_utf8_width(*p);

    if (width > n - *at || heft_utf8_check((struct heft_bytes){p, width}) != width) {
        *at += 1;
        return *p < 0x80 ? *p : 0xDC00u + *p;
    }
    *at += width;
    return heft_utf8_at(p, &width);
}

static bool in_set(const char *set, size_t n, uint32_t c)
{
    const bool is_not = n > 0 && set[0] == '!';
    bool found = false;

    for (size_t i = is_not; i < n;) {
        const uint32_t first = take_character(set, n, &i);
        uint32_t last = first;

        if (i + 1 < n && set[i] == '-') {
            i++;
            last = take_character(set, n, &i);
        }
        found |= first <= c && c <= last;
    }
    return found != is_not;
}

/* Matches one element of the pattern, other than '*', with a character; advances *at. */
static bool one_matches(const char *pattern, size_t n, size_t *at, uint32_t c)
{
    const char p = pattern[*at];
    const size_t end = p == '[' ? end_of_set(pattern, n, *at) : 0;

    if (end > 0) {
        const size_t first = *at + 1;

        *at = end + 1;
        return in_set(pattern + first, end - first, c);
    }
    return take_character(pattern, n, at) == c || p == '?';
}

bool heft_name_matches(const char *pattern, size_t n, const char *name)
{
    const size_t length = strlen(name);
    size_t at = 0, k = 0, star = SIZE_MAX, from = 0;

    while (k < length) {
        size_t next = at, after = k;
        const uint32_t c = take_character(name, length, &after);

        if (at < n && pattern[at] == '*') {
            star = ++at;
            from = k;
        } else if (at < n && one_matches(pattern, n, &next, c)) {
            k = after;
            at = next;
        } else if (star != SIZE_MAX) {
            at = star;
            (void)take_character(name, length, &from);
            k = from;
        } else {
            return false;
        }
    }
    while (at < n && pattern[at] == '*')
        at++;
    return at == n;
}

/* ---- matching a path, part by part ---------------------------------------------------------- */

/* Paths that match the parts so far. */
struct names {
    struct heft_arena mem;
    const char **items;
    size_t n, cap;
};

static void release_names(struct names *names)
{
    heft_free((void *)names->items);
    heft_arena_release(&names->mem);
}

static bool keep_name(void *ctx, const char *path, struct heft_error *err)
{
    struct names *names = ctx;
    const char *copy = heft_arena_text(&names->mem, heft_str_of(path), err);

    if (!copy || !heft_grow(&names->items, &names->cap, names->n, 1, sizeof *names->items, err))
        return false;
    names->items[names->n++] = copy;
    return true;
}

/* Entries of a directory that match a part of a pattern. */
struct matching {
    struct heft_str part;
    heft_path_fn *each;
    void *ctx;
};

static bool tell_match(void *ctx, const char *path, struct heft_error *err)
{
    const struct matching *m = ctx;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const bool is_hidden = name[0] == '.' && m->part.p[0] != '.';

    return is_hidden || !heft_name_matches(m->part.p, m->part.n, name) ||
           m->each(m->ctx, path, err);
}

static bool tell_magic(const char *folder, struct heft_str part, heft_path_fn *each, void *ctx,
                       struct heft_error *err)
{
    struct heft_error said = {0};
    struct matching m = {part, each, ctx};
    bool is_unreadable;

    if (heft_folder_each(folder, tell_match, &m, &is_unreadable, &said) || is_unreadable)
        return true;
    *err = said;
    return false;
}

static bool tell_plain(const char *folder, struct heft_str part, heft_path_fn *each, void *ctx,
                       struct heft_error *err)
{
    struct heft_os_stat st;
    struct heft_buf path = {0};
    const bool ok = heft_entry_path(&path, folder, part, err) &&
                    ((heft_os->stat_link(path.p, &st) != 0 && heft_path_is_skipped(errno)) ||
                     each(ctx, path.p, err));

    heft_buf_release(&path);
    return ok;
}

/* The part `**`: matches the directories, or as the last part the files in them. */
struct holding {
    heft_path_fn *each;
    void *ctx;
};

static bool tell_file(void *ctx, const char *path, struct heft_error *err)
{
    const struct holding *to = ctx;
    const char *slash = strrchr(path, '/');
    struct heft_os_stat st;

    if ((slash ? slash + 1 : path)[0] == '.' || (heft_os->stat_path(path, &st) == 0 && st.is_dir))
        return true;
    return to->each(to->ctx, path, err);
}

static bool tell_files(void *ctx, const char *folder, struct heft_error *err)
{
    bool is_unreadable;

    return heft_folder_each(folder, tell_file, ctx, &is_unreadable, err);
}

static bool is_below(struct heft_str part)
{
    return heft_str_is(part, "**");
}

static bool tell_below(const char *folder, bool is_last, heft_path_fn *each, void *ctx,
                       struct heft_error *err)
{
    struct holding files = {each, ctx};

    return is_last ? heft_folders_below(folder, tell_files, &files, err)
                   : heft_folders_below(folder, each, ctx, err);
}

static bool tell_part(const struct names *prefixes, struct heft_str part, heft_path_fn *each,
                      void *ctx, struct heft_error *err)
{
    for (size_t i = 0; i < prefixes->n; i++)
        if (is_below(part)) {
            if (!tell_below(prefixes->items[i], part.p[part.n] == '\0', each, ctx, err))
                return false;
        } else if (!(is_magic(part) ? tell_magic : tell_plain)(prefixes->items[i], part, each, ctx,
                                                               err))
            return false;
    return true;
}

/* Filter for a pattern that ends with a slash: only directories match, and keep the slash. */
struct folders_only {
    heft_path_fn *each;
    void *ctx;
};

static bool tell_folder(void *ctx, const char *path, struct heft_error *err)
{
    const struct folders_only *to = ctx;
    struct heft_os_stat st;
    struct heft_buf with = {0};
    bool ok;

    if (heft_os->stat_path(path, &st) != 0) {
        if (heft_path_is_skipped(errno))
            return true;
        heft_fail_errno(err, "cannot be examined");
        return heft_error_file(err, path);
    }
    if (!st.is_dir)
        return true;
    ok = heft_entry_path(&with, path, heft_str_of(""), err) && to->each(to->ctx, with.p, err);
    heft_buf_release(&with);
    return ok;
}

static const char *skip_slashes(const char *p)
{
    while (*p == '/')
        p++;
    return p;
}

/* Matches the part at p and the slashes after it: replaces the prefixes by what matches. */
static bool take_part(struct names *prefixes, const char **p, heft_path_fn *each, void *ctx,
                      struct heft_error *err)
{
    const struct heft_str part = {*p, strcspn(*p, "/")};
    struct folders_only folders = {each, ctx};
    struct names next = {0};
    bool ok;

    *p = skip_slashes(*p + part.n);
    if (is_below(part) && is_below((struct heft_str){*p, strcspn(*p, "/")}))
        return true; /* a repeated ** changes nothing */
    if (!**p)
        return part.p + part.n < *p ? tell_part(prefixes, part, tell_folder, &folders, err)
                                    : tell_part(prefixes, part, each, ctx, err);
    ok = tell_part(prefixes, part, keep_name, &next, err);
    release_names(prefixes);
    *prefixes = next;
    return ok;
}

/* Length of the directory before the first part with a wildcard, without trailing slashes; *rest is
 * that part. Without wildcards: the whole pattern. */
static size_t literal_length(const char *pattern, const char **rest)
{
    const char *p = skip_slashes(pattern);
    const size_t root = (size_t)(p - pattern);
    size_t n = root;

    while (*p) {
        const size_t part = strcspn(p, "/");

        if (is_magic((struct heft_str){p, part}))
            break;
        n = (size_t)(p - pattern) + part;
        p = skip_slashes(p + part);
    }
    *rest = p;
    return *p ? n : strlen(pattern);
}

static bool tell_no_folder(void *ctx, const char *path, struct heft_error *err)
{
    const struct holding *to = ctx;
    struct heft_os_stat st;

    return (heft_os->stat_path(path, &st) == 0 && st.is_dir) || to->each(to->ctx, path, err);
}

/* Whether a later part is `**`: then directories are no matches, their contents are. */
static bool has_below(const char *rest)
{
    for (size_t n = strcspn(rest, "/"); n > 0; n = strcspn(rest, "/")) {
        if (is_below((struct heft_str){rest, n}))
            return true;
        rest = skip_slashes(rest + n);
    }
    return false;
}

bool heft_pattern_each(const char *pattern, heft_path_fn *each, void *ctx, struct heft_error *err)
{
    struct holding files = {each, ctx};
    const char *p;
    const size_t n = literal_length(pattern, &p);
    struct names prefixes = {0};
    const char *begin = heft_arena_text(&prefixes.mem, (struct heft_str){pattern, n}, err);
    struct heft_os_stat st;
    bool ok = begin && keep_name(&prefixes, begin, err);

    if (ok && !*p && (heft_os->stat_link(pattern, &st) == 0 || !heft_path_is_skipped(errno)))
        ok = each(ctx, pattern, err);
    if (has_below(p)) {
        each = tell_no_folder;
        ctx = &files;
    }
    while (ok && *p)
        ok = take_part(&prefixes, &p, each, ctx, err);
    release_names(&prefixes);
    return ok;
}
