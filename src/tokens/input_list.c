/* input_list.c: files, folders and patterns, in readdir order. */
#include "tokens/input_list.h"

#include <errno.h>
#include <stdlib.h>

#include "base/text.h"
#include "io/os.h"
#include "tokens/utf8.h"

/* Paths in the arena. */
struct names {
    const char **items;
    size_t n, cap;
};

/* What a listing collects. */
struct listing {
    struct heft_arena *mem;
    struct names *to;
    const char *folder;
    const char *pattern; /* NULL: all */
    size_t pattern_n;
    struct heft_error *err;
    bool ok;
    bool is_closed; /* the folder cannot be read: nothing matches a pattern there, as in Python */
};

static bool put_name(struct names *names, const char *name, struct heft_error *err)
{
    if (!name || !heft_grow(&names->items, &names->cap, names->n, 1, sizeof *names->items, err))
        return false;
    names->items[names->n++] = name;
    return true;
}

/* As os.path.join does. */
static const char *join(struct heft_arena *mem, const char *folder, struct heft_str name,
                        struct heft_error *err)
{
    const size_t n = strlen(folder);
    const char *between = n == 0 || folder[n - 1] == '/' ? "" : "/";

    if (n > INT32_MAX || name.n > INT32_MAX) {
        heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET, "a path of 2 GiB");
        return NULL;
    }
    return heft_arena_printf(mem, err, "%s%s%.*s", folder, between, (int)name.n, name.p);
}

/* ---- patterns ------------------------------------------------------------------------------ */

static bool is_magic(struct heft_str part)
{
    for (size_t i = 0; i < part.n; i++)
        if (memchr("*?[", part.p[i], 3))
            return true;
    return false;
}

/* The end of the set that begins at pattern[at] == '[', or 0 where nothing closes it. */
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

/* The character at *at, which moves past it. What is no UTF-8 is a character a byte, unlike all
 * others, as Python's surrogateescape has it. */
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

/* One character of the pattern, which is not '*', against one of the name; moves *at past it. */
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

static bool keep_entry(void *ctx, const char *name)
{
    struct listing *l = ctx;

    if (l->pattern && (!heft_name_matches(l->pattern, l->pattern_n, name) ||
                       (name[0] == '.' && l->pattern[0] != '.')))
        return true;
    l->ok = put_name(l->to, join(l->mem, l->folder, heft_str_of(name), l->err), l->err);
    return l->ok;
}

static bool list_folder(struct listing *l)
{
    const int failed = heft_os->list_dir(l->folder[0] ? l->folder : ".", keep_entry, l);

    l->is_closed = failed && l->ok;
    return l->ok;
}

static bool exists(const char *path)
{
    struct heft_os_stat st;

    return heft_os->stat_link(path, &st) == 0;
}

/* All that the prefixes become with one more part of the pattern. */
static bool widen(struct heft_arena *mem, const struct names *prefixes, struct heft_str part,
                  struct names *out, struct heft_error *err)
{
    for (size_t i = 0; i < prefixes->n; i++) {
        struct listing l = {mem, out, prefixes->items[i], part.p, part.n, err, true, false};

        if (is_magic(part)) {
            if (!list_folder(&l))
                return false;
            continue;
        }
        const char *path = join(mem, prefixes->items[i], part, err);

        if (!path || (exists(path) && !put_name(out, path, err)))
            return false;
    }
    return true;
}

/* Behind a last slash only folders are left, and keep it. */
static bool keep_folders(struct heft_arena *mem, struct names *names, struct heft_error *err)
{
    const size_t n = names->n;

    names->n = 0;
    for (size_t i = 0; i < n; i++) {
        struct heft_os_stat st = {0};

        if (heft_os->stat_path(names->items[i], &st) == 0 && st.is_dir &&
            !put_name(names, join(mem, names->items[i], heft_str_of(""), err), err))
            return false;
    }
    return true;
}

/* The parts of the pattern between slashes, one after the other. */
static bool expand(struct heft_arena *mem, const char *pattern, struct names *out,
                   struct heft_error *err)
{
    struct names now = {0};
    const char *p = pattern;
    bool ok = true;

    while (*p == '/')
        p++;
    ok = put_name(
        &now, heft_arena_text(mem, (struct heft_str){pattern, (size_t)(p - pattern)}, err), err);
    while (ok && *p) {
        const char *slash = strchr(p, '/');
        const struct heft_str part = {p, slash ? (size_t)(slash - p) : strlen(p)};
        struct names next = {0};

        ok = widen(mem, &now, part, &next, err);
        heft_free((void *)now.items);
        now = next;
        p += part.n;
        while (*p == '/')
            p++;
        ok = ok && (!slash || *p || keep_folders(mem, &now, err));
    }
    *out = now;
    return ok;
}

/* ---- folders ------------------------------------------------------------------------------- */

static bool put_item(struct heft_input_list *list, const char *path, uint32_t word,
                     struct heft_error *err)
{
    struct heft_os_stat st = {0};

    if (!path || !heft_grow(&list->items, &list->cap, list->n, 1, sizeof *list->items, err))
        return false;
    if (strcmp(path, "-") == 0 || heft_os->stat_path(path, &st) != 0 || !st.is_file) {
        list->has_streams = true;
        st.size = 0;
    }
    list->items[list->n++] = (struct heft_input_item){path, word, st.size, st.changed};
    list->bytes += st.size;
    return true;
}

/* What a run of heft left when it was killed is no text: .NAME.heft-… */
static bool is_left_over(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;

    return name[0] == '.' && strstr(name, ".heft-");
}

/* Files of one folder become items, its sub-folders go onto the stack, the first on top. */
static bool visit(struct heft_input_list *list, uint32_t word, const char *folder,
                  struct names *stack, struct heft_error *err)
{
    struct names all = {0}, folders = {0};
    struct listing l = {&list->mem, &all, folder, NULL, 0, err, true, false};
    bool ok = list_folder(&l);

    if (l.is_closed) { /* os.walk would go on without a word: text that is missing is no output */
        heft_fail_errno(err, "folder cannot be read");
        ok = heft_error_file(err, folder);
    }

    for (size_t i = 0; ok && i < all.n; i++) {
        struct heft_os_stat st = {0}, target = {0};
        const bool known = heft_os->stat_link(all.items[i], &st) == 0;

        if (known && st.is_dir)
            ok = put_name(&folders, all.items[i], err);
        else if (is_left_over(all.items[i]))
            continue;
        else if (!st.is_link || heft_os->stat_path(all.items[i], &target) != 0 || !target.is_dir)
            ok = put_item(list, all.items[i], word, err);
    }
    for (size_t i = folders.n; ok && i-- > 0;)
        ok = put_name(stack, folders.items[i], err);
    heft_free((void *)all.items);
    heft_free((void *)folders.items);
    return ok;
}

static bool walk(struct heft_input_list *list, uint32_t word, const char *top,
                 struct heft_error *err)
{
    struct names stack = {0};
    bool ok = put_name(&stack, top, err);

    while (ok && stack.n > 0)
        ok = visit(list, word, stack.items[--stack.n], &stack, err);
    heft_free((void *)stack.items);
    return ok;
}

/* ---- words --------------------------------------------------------------------------------- */

static int by_path(const void *a, const void *b)
{
    const struct heft_input_item *x = a, *y = b;

    return strcmp(x->path, y->path);
}

static bool add_pattern(struct heft_input_list *list, const char *pattern, uint32_t word,
                        const struct heft_input_how *how, struct heft_error *err)
{
    struct names found = {0};
    struct heft_os_stat st;
    bool ok = !*pattern || expand(&list->mem, pattern, &found, err); /* "" matches nothing */

    for (size_t i = 0; ok && i < found.n; i++) /* "-" would be standard input */
        ok = put_item(list, strcmp(found.items[i], "-") ? found.items[i] : "./-", word, err);
    if (ok && found.n == 0 && !how->allow_empty) {
        if (heft_os->stat_path(pattern, &st) != 0 && errno == EACCES)
            heft_fail_errno(err, "cannot be examined");
        else
            heft_fail(err, HEFT_IO, HEFT_NO_OFFSET,
                      "no such file, and no pattern that matches one (--allow-empty goes on)");
        ok = heft_error_file(err, pattern);
    }
    heft_free((void *)found.items);
    return ok;
}

bool heft_input_list_add(struct heft_input_list *list, const char *word, uint32_t number,
                         const struct heft_input_how *how, struct heft_error *err)
{
    const size_t first = list->n;
    const char *path = heft_arena_text(&list->mem, heft_str_of(word), err);
    struct heft_os_stat st = {0};
    bool ok = path != NULL;

    if (!ok)
        return false;
    if (strcmp(word, "-") == 0 || (heft_os->stat_path(word, &st) == 0 && st.is_file))
        return put_item(list, path, number, err);
    ok = st.is_dir ? walk(list, number, path, err) : add_pattern(list, path, number, how, err);
    if (ok && how->sort && list->n > first)
        qsort(list->items + first, list->n - first, sizeof *list->items, by_path);
    return ok;
}

void heft_input_list_release(struct heft_input_list *list)
{
    heft_free(list->items);
    heft_arena_release(&list->mem);
    *list = (struct heft_input_list){0};
}
