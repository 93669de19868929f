/* input_files.c: see input_files.h. The names are normalised ("./a//b" is "a/b"; ".." is resolved
 * by text) and sorted, so that a name is found by binary search, and those of a directory are
 * neighbours. */
#include "io/input_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/require_arg.h"
#include "base/sized.h"
#include "base/text.h"
#include "io/input_window.h"
#include "io/os.h"

enum { LONGEST = 1024 }; /* bytes of a name or path; the same as in object stores */

struct entry {
    struct heft_str key; /* normalised name, NUL-terminated */
    struct heft_input in;
    int fd; /* a file, from `base` on; -1: the input is read by its callback, or in memory */
    uint64_t base;
    struct heft_windows *windows; /* a slow input: what was read ahead */
};

struct heft_input_files {
    struct heft_files files;
    struct heft_arena mem; /* owns names */
    struct entry *list;    /* sorted by key */
    size_t n;
    const char *root;
    struct heft_windows windows;
};

/* ---- names ------------------------------------------------------------------------------- */

/* Appends a component of a path to its normal form. */
static void add_part(char *out, size_t *n, struct heft_str part)
{
    const size_t first = *n > 0 && out[0] == '/';

    if (part.n == 0 || heft_str_is(part, "."))
        return;
    if (heft_str_is(part, "..")) {
        while (*n > first && out[*n - 1] != '/')
            (*n)--;
        *n -= *n > first; /* its slash */
        return;
    }
    if (*n > first)
        out[(*n)++] = '/';
    memcpy(out + *n, part.p, part.n);
    *n += part.n;
}

/* Normal form of a path, at most as long; returns its length. */
static size_t normalise(const char *path, char *out)
{
    size_t n = 0;

    if (path[0] == '/')
        out[n++] = '/';
    while (*path) {
        const size_t part = strcspn(path, "/");

        add_part(out, &n, (struct heft_str){path, part});
        path += part + (path[part] == '/');
    }
    out[n] = '\0';
    return n;
}

/* First entry whose key is not below `key`. */
static size_t lower_bound(const struct heft_input_files *files, struct heft_str key)
{
    size_t low = 0, high = files->n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (heft_str_cmp(files->list[middle].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool starts(struct heft_str s, struct heft_str with)
{
    return s.n >= with.n && memcmp(s.p, with.p, with.n) == 0;
}

/* What a path leads to: entries [first, end) are the file, or those below the directory. */
struct found {
    bool is_file, is_dir;
    size_t first;
    size_t prefix; /* bytes of the directory's name with its slash; those of the root are 0 */
};

/* `key` has n bytes, and room for a slash. */
static struct found find_folder(const struct heft_input_files *files, char *key, size_t n)
{
    struct heft_str folder = {key, n};
    struct found found = {0};

    if (n > 0 && key[n - 1] != '/')
        key[folder.n++] = '/';
    found.prefix = folder.n;
    found.first = lower_bound(files, folder);
    found.is_dir = found.first < files->n && starts(files->list[found.first].key, folder);
    return found;
}

static struct found find_key(const struct heft_input_files *files, char *key, size_t n)
{
    const size_t at = lower_bound(files, (struct heft_str){key, n});

    if (at < files->n && heft_str_eq(files->list[at].key, (struct heft_str){key, n}))
        return (struct found){.is_file = true, .first = at};
    return find_folder(files, key, n);
}

/* False, with errno, if nothing is there. Does not allocate: it could not say why it fails. */
static bool find_path(const struct heft_files *self, const char *path, struct found *found)
{
    char key[LONGEST + 2];

    *found = (struct found){0};
    if (strlen(path) <= LONGEST)
        *found = find_key((const struct heft_input_files *)self, key, normalise(path, key));
    errno = ENOENT;
    return found->is_file || found->is_dir;
}

/* ---- the operations of struct heft_files --------------------------------------------------- */

/* Identities: that of a directory is its first entry and the length of its name. */
static int input_stat(const struct heft_files *self, const char *path, struct heft_os_stat *out)
{
    const struct heft_input_files *const files = (const struct heft_input_files *)self;
    struct found found;

    if (!find_path(self, path, &found))
        return -1;
    *out = (struct heft_os_stat){
        .size = found.is_file ? files->list[found.first].in.bytes : 0,
        .device = found.is_file ? 0 : found.prefix + 1,
        .inode = found.first,
        .mode = 0444,
        .is_file = found.is_file,
        .is_dir = found.is_dir,
    };
    return 0;
}

/* Entries of a directory are neighbours, and so are those of each directory in it. */
static int input_list_dir(const struct heft_files *self, const char *path,
                          bool (*each)(void *ctx, const char *name), void *ctx)
{
    const struct heft_input_files *const files = (const struct heft_input_files *)self;
    struct heft_str last = {NULL, 0};
    char name[LONGEST + 1];
    struct found found;
    bool go_on = true;

    if (!find_path(self, path, &found))
        return -1;
    if (!found.is_dir) {
        errno = ENOTDIR;
        return -1;
    }
    for (size_t i = found.first; go_on && i < files->n; i++) {
        const struct heft_str key = files->list[i].key;
        struct heft_str part = {key.p + found.prefix, 0};

        if (!starts(key, (struct heft_str){files->list[found.first].key.p, found.prefix}))
            break;
        part.n = strcspn(part.p, "/");
        if (part.n == 0 || (last.p && heft_str_eq(part, last)))
            continue;
        memcpy(name, part.p, part.n);
        name[part.n] = '\0';
        go_on = each(ctx, name);
        last = part;
    }
    return 0;
}

static bool input_inside(const struct heft_files *self, const char *path, size_t folder,
                         bool *inside, struct heft_error *err)
{
    (void)self;
    (void)path;
    (void)folder;
    (void)err;
    *inside = true; /* there are no links */
    return true;
}

/* ---- sources of inputs ------------------------------------------------------------------- */

static bool input_read(const struct heft_source *src, uint64_t off, void *dst, size_t n,
                       struct heft_error *err)
{
    const struct heft_input *const in = &((const struct entry *)src->self)->in;
    struct heft_error told = {0};

    if (in->read(in->ctx, off, dst, n, &told))
        return true;
    told.text[sizeof told.text - 1] = '\0';
    heft_fail(err, told.code == HEFT_NOMEM || told.code == HEFT_CANCELLED ? told.code : HEFT_IO,
              off, "%s", told.text[0] ? told.text : "read failed");
    if (err->code == HEFT_IO)
        err->system_error = told.system_error;
    return heft_error_file(err, src->label);
}

static const void *input_view(const struct heft_source *src, uint64_t off, size_t n)
{
    const struct heft_input *const in = &((const struct entry *)src->self)->in;

    return in->view ? in->view(in->ctx, off, n) : NULL;
}

static const struct heft_source_ops input_ops = {.read = input_read, .view = input_view};

static bool slow_read(const struct heft_source *src, uint64_t off, void *dst, size_t n,
                      struct heft_error *err)
{
    struct heft_source direct = *src;

    direct.ops = &input_ops;
    return heft_windows_read(((const struct entry *)src->self)->windows, &direct, off, dst, n, err);
}

static const struct heft_source_ops slow_ops = {.read = slow_read, .view = input_view};

static void open_entry(const struct entry *e, struct heft_source *out, const char *label)
{
    const uint64_t bytes = e->in.bytes;

    if (e->fd >= 0)
        heft_source_open_part(out, e->fd, e->base, bytes, label);
    else if (e->in.data || bytes == 0)
        heft_source_open_memory(out, (struct heft_bytes){e->in.data, (size_t)bytes}, label);
    else
        *out = (struct heft_source){.ops = e->in.is_slow ? &slow_ops : &input_ops,
                                    .self = (void *)(uintptr_t)e, /* which never changes */
                                    .size = bytes,
                                    .fd = -1,
                                    .is_called = true,
                                    .is_slow = e->in.is_slow,
                                    .label = label};
}

static bool input_open(const struct heft_files *self, struct heft_source *out, const char *path,
                       struct heft_error *err)
{
    const struct heft_input_files *const files = (const struct heft_input_files *)self;
    struct found found = {0};

    if (find_path(self, path, &found) && found.is_file) {
        open_entry(&files->list[found.first], out, path);
        return true;
    }
    if (found.is_dir)
        heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "is a directory; expected a file");
    else
        heft_fail_errno(err, "cannot be opened");
    return heft_error_file(err, path);
}

static const struct heft_files_ops input_files_ops = {
    .stat = input_stat,
    .stat_link = input_stat,
    .list_dir = input_list_dir,
    .open = input_open,
    .inside = input_inside,
};

/* ---- taking over inputs ------------------------------------------------------------------ */

static bool check_input(const struct heft_input *in, struct heft_error *err)
{
    size_t ignored;

    if (!in->name || in->name[0] == '\0')
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "an input has no name");
    if (strlen(in->name) > LONGEST)
        heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "the name of an input has %zu bytes, at most %d",
                  strlen(in->name), LONGEST);
    else if (!in->data && !in->read && in->bytes > 0)
        heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                  "the input has neither data nor a function to read it");
    else if (in->data && !heft_size(in->bytes, &ignored))
        heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "%" PRIu64 " bytes do not fit into memory",
                  in->bytes);
    else
        return true;
    return heft_error_file(err, in->name);
}

static bool take_input(struct heft_input_files *files, const struct heft_input *in,
                       struct heft_error *err)
{
    struct entry *const e = &files->list[files->n];
    char *key;

    if (!check_input(in, err))
        return false;
    key = heft_arena_chars(&files->mem, strlen(in->name) + 1, err);
    *e = (struct entry){.in = *in, .fd = -1, .windows = &files->windows};
    e->in.name = heft_arena_text(&files->mem, heft_str_of(in->name), err);
    if (!key || !e->in.name)
        return false;
    e->key = (struct heft_str){key, normalise(in->name, key)};
    files->n++;
    return true;
}

static int by_key(const void *a, const void *b)
{
    return heft_str_cmp(((const struct entry *)a)->key, ((const struct entry *)b)->key);
}

static bool is_folder(const struct heft_input_files *files, const struct entry *e)
{
    char *const key = (char *)(uintptr_t)e->key.p; /* with its NUL, in whose place a slash is put */
    const struct found found = find_folder(files, key, e->key.n);

    key[e->key.n] = '\0';
    return found.is_dir;
}

/* Sorts the names. A name must not occur twice, nor be that of a directory. */
static bool sort_names(struct heft_input_files *files, struct heft_error *err)
{
    qsort(files->list, files->n, sizeof *files->list, by_key);
    for (size_t i = 0; i < files->n; i++) {
        const struct entry *const e = &files->list[i];

        if (i > 0 && heft_str_eq(e->key, e[-1].key))
            heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "two inputs have this name");
        else if (is_folder(files, e))
            heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                      "an input cannot be a directory that contains other inputs");
        else
            continue;
        return heft_error_file(err, e->in.name);
    }
    return true;
}

static bool find_root(struct heft_input_files *files, struct heft_error *err)
{
    const struct heft_str first = files->list[0].key, last = files->list[files->n - 1].key;
    size_t n = 0;

    for (size_t i = 0; i < first.n && i < last.n && first.p[i] == last.p[i]; i++)
        if (first.p[i] == '/')
            n = i > 0 ? i : 1;
    files->root = files->n == 1 ? files->list[0].in.name
                                : heft_arena_text(&files->mem, (struct heft_str){first.p, n}, err);
    return files->root != NULL;
}

/* Inputs of a caller, whose structs may have another size. */
struct given {
    const struct heft_input *first;
    size_t n, stride;
};

static const struct heft_input *given_at(const struct given *given, size_t i)
{
    return (const void *)((const char *)given->first + i * given->stride);
}

static void close_input(const struct heft_input *in)
{
    if (in->close)
        in->close(in->ctx);
}

static bool take_given(struct heft_input_files *files, const struct heft_input *given,
                       struct heft_error *err)
{
    struct heft_input in;

    return HEFT_TAKE(heft_input, &in, given, err) && take_input(files, &in, err);
}

/* Without the duty to close them. */
static struct heft_input_files *copy_inputs(const struct given *given, struct heft_error *err)
{
    struct heft_input_files *const files = heft_calloc(1, sizeof *files, err);
    bool ok;

    if (!files)
        return NULL;
    files->files.ops = &input_files_ops;
    files->list = heft_calloc(given->n, sizeof *files->list, err);
    ok = files->list && (files->windows.lock = heft_lock_new(err));
    for (size_t i = 0; ok && i < given->n; i++)
        ok = take_given(files, given_at(given, i), err);
    if (ok && sort_names(files, err) && find_root(files, err))
        return files;
    files->n = 0;
    heft_input_files_close(files);
    return NULL;
}

struct heft_input_files *heft_input_files_new(const struct heft_input *inputs, size_t n,
                                              struct heft_error *err)
{
    struct given given = {inputs, n, 0};
    struct heft_input_files *files = NULL;

    if (!heft_require_arg(inputs != NULL, "a list of inputs", err) ||
        !HEFT_STRIDE(heft_input, &given.stride, inputs, n, err))
        return NULL;
    if (n == 0)
        heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "no input was given");
    else
        files = copy_inputs(&given, err);
    for (size_t i = 0; !files && i < n; i++)
        close_input(given_at(&given, i));
    return files;
}

bool heft_input_files_take(struct heft_input_files **out, const struct heft_input *inputs, size_t n,
                           struct heft_error *err)
{
    *out = n ? heft_input_files_new(inputs, n, err) : NULL;
    return n == 0 || *out;
}

/* ---- a descriptor ------------------------------------------------------------------------ */

static bool measure_fd(int fd, uint64_t offset, uint64_t *bytes, struct heft_error *err)
{
    struct heft_os_stat st;

    if (fd < 0)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "not a descriptor");
    if (heft_os->stat_fd(fd, &st) != 0)
        return heft_fail_errno(err, "cannot be examined");
    if (!st.is_file)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "not a regular file");
    if (*bytes == HEFT_TO_END && offset <= st.size)
        *bytes = st.size - offset;
    return heft_within(offset, *bytes, st.size) ||
           heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "the file ends at %" PRIu64 ", expected %" PRIu64 " bytes at %" PRIu64,
                     st.size, *bytes, offset);
}

struct heft_input_files *heft_input_files_fd(int fd, uint64_t offset, uint64_t bytes,
                                             struct heft_error *err)
{
    char name[sizeof "descriptor " + 20];
    const struct heft_input in = {.size = sizeof in, .name = name, .data = ""};
    struct heft_input_files *files;

    snprintf(name, sizeof name, "descriptor %d", fd);
    if (!measure_fd(fd, offset, &bytes, err)) {
        heft_error_file(err, name);
        return NULL;
    }
    files = copy_inputs(&(const struct given){&in, 1, sizeof in}, err);
    if (!files)
        return NULL;
    files->list[0].in.bytes = bytes;
    files->list[0].base = offset;
    files->list[0].fd = heft_os->duplicate(fd);
    if (files->list[0].fd >= 0)
        return files;
    heft_fail_errno(err, "cannot be duplicated");
    heft_error_file(err, name);
    heft_input_files_close(files);
    return NULL;
}

void heft_input_files_close(struct heft_input_files *files)
{
    if (!files)
        return;
    for (size_t i = 0; i < files->n; i++) {
        if (files->list[i].fd >= 0)
            (void)heft_os->close(files->list[i].fd);
        close_input(&files->list[i].in);
    }
    heft_windows_release(&files->windows);
    heft_free(files->list);
    heft_arena_release(&files->mem);
    heft_free(files);
}

const struct heft_files *heft_input_files_of(const struct heft_input_files *files)
{
    return files ? &files->files : &heft_disk;
}

const char *heft_input_files_root(const struct heft_input_files *files)
{
    return files->root;
}
