/* input_list.c: files, directories and patterns, in the order of readdir.
 *
 *     row    u64 offset of the path | u32 its bytes, with NUL | u32 argument | u64 bytes | i64 changed
 *     paths  concatenated
 *
 * The files of a directory come before its subdirectories, which wait on a stack with the first on
 * top. When sorting, files and subdirectories wait together; a directory's name gets a slash, so
 * that the result is sorted by whole paths. */
#include "tokens/input/input_list.h"

#include <errno.h>
#include <stdlib.h>

#include "base/endian.h"
#include "io/os.h"
#include "io/pool.h"
#include "io/row_store.h"
#include "tokens/input/input_pattern.h"

#define ROW 32

struct heft_input_list {
    struct heft_row_store rows, paths;
    struct heft_lock *lock; /* guards both */
    uint64_t path_bytes;
    size_t n;
    uint64_t bytes;
    bool has_streams;
    struct heft_buf shown; /* buffer of heft_input_list_path */
};

/* ---- rows of the list ----------------------------------------------------------------------- */

static bool put_row(struct heft_input_list *list, const struct heft_input_item *item,
                    struct heft_error *err)
{
    const size_t n = strlen(item->path) + 1;
    uint8_t row[ROW];

    if (n > UINT32_MAX)
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET, "a path of 4 GiB");
    heft_put_le64(row, list->path_bytes);
    heft_put_le32(row + 8, (uint32_t)n);
    heft_put_le32(row + 12, item->word);
    heft_put_le64(row + 16, item->bytes);
    heft_put_le64(row + 24, (uint64_t)item->changed);
    if (!heft_row_store_put(&list->paths, list->path_bytes, n, item->path, err) ||
        !heft_row_store_put(&list->rows, list->n, 1, row, err))
        return false;
    list->path_bytes += n;
    list->n++;
    return true;
}

static bool get_row(struct heft_input_list *list, size_t i, struct heft_buf *path,
                    struct heft_input_item *item, struct heft_error *err)
{
    uint8_t row[ROW];

    if (!heft_row_store_get(&list->rows, i, 1, row, err))
        return false;
    path->n = heft_le32(row + 8);
    if (!heft_grow(&path->p, &path->cap, 0, path->n, 1, err) ||
        !heft_row_store_get(&list->paths, heft_le64(row), path->n, path->p, err))
        return false;
    *item = (struct heft_input_item){path->p, heft_le32(row + 12), heft_le64(row + 16),
                                     (int64_t)heft_le64(row + 24)};
    return true;
}

bool heft_input_list_get(struct heft_input_list *list, size_t i, struct heft_buf *path,
                         struct heft_input_item *item, struct heft_error *err)
{
    bool ok;

    heft_lock_take(list->lock);
    ok = get_row(list, i, path, item, err);
    heft_lock_drop(list->lock);
    return ok;
}

const char *heft_input_list_path(struct heft_input_list *list, size_t i)
{
    struct heft_input_item item;
    struct heft_error unread;

    return i < list->n && heft_input_list_get(list, i, &list->shown, &item, &unread) ? item.path
                                                                                     : NULL;
}

/* ---- one argument --------------------------------------------------------------------------- */

/* Paths that wait; owns them. */
struct waiting {
    char **items; /* directories end with a slash */
    size_t n, cap;
};

struct adding {
    struct heft_input_list *list;
    struct waiting stack, entries; /* entries: of the directory being listed */
    uint32_t word;
    bool sort;
};

static bool wait_for(struct waiting *to, const char *path, const char *end, struct heft_error *err)
{
    const size_t n = strlen(path), m = strlen(end) + 1;
    char *copy;

    if (!heft_grow(&to->items, &to->cap, to->n, 1, sizeof *to->items, err))
        return false;
    copy = heft_alloc(n + m, err);
    if (!copy)
        return false;
    memcpy(copy, path, n);
    memcpy(copy + n, end, m);
    to->items[to->n++] = copy;
    return true;
}

static void release_waiting(struct waiting *w)
{
    while (w->n > 0)
        heft_free(w->items[--w->n]);
    heft_free(w->items);
}

bool heft_input_list_put(struct heft_input_list *list, const struct heft_input_item *item,
                         struct heft_error *err)
{
    list->bytes += item->bytes;
    return put_row(list, item, err);
}

static bool put_item(const struct adding *a, const char *path, struct heft_error *err)
{
    struct heft_input_list *list = a->list;
    struct heft_os_stat st = {0};

    if (strcmp(path, "-") == 0 || heft_os->stat_path(path, &st) != 0 || !st.is_file) {
        list->has_streams = true;
        st.size = 0;
    }
    return heft_input_list_put(list, &(struct heft_input_item){path, a->word, st.size, st.changed},
                               err);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Moves the entries onto the stack, the first on top. */
static bool stack_entries(struct adding *a, struct heft_error *err)
{
    struct waiting *from = &a->entries, *to = &a->stack;

    if (!heft_grow(&to->items, &to->cap, to->n, from->n, sizeof *to->items, err))
        return false;
    if (a->sort && from->n > 0)
        qsort(from->items, from->n, sizeof *from->items, by_path);
    while (from->n > 0)
        to->items[to->n++] = from->items[--from->n];
    return true;
}

/* ---- folders -------------------------------------------------------------------------------- */

/* Whether it is a temporary file of an interrupted run of heft: .NAME.heft-… */
static bool is_left_over(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;

    return name[0] == '.' && strstr(name, ".heft-");
}

/* Whether opening would block: a FIFO without a writer, a device. A file that cannot be examined,
 * such as a dangling link, is reported when it is opened. */
static bool is_waited_for(const char *path)
{
    struct heft_os_stat st;

    return heft_os->stat_path(path, &st) == 0 && !st.is_file && !st.is_dir;
}

static bool take_entry(void *ctx, const char *path, struct heft_error *err)
{
    struct adding *a = ctx;
    struct heft_os_stat st = {0}, target = {0};

    if (heft_os->stat_link(path, &st) == 0 && st.is_dir)
        return wait_for(&a->entries, path, "/", err);
    if (is_left_over(path) ||
        (st.is_link && heft_os->stat_path(path, &target) == 0 && target.is_dir))
        return true;
    if (!st.is_file && is_waited_for(path)) {
        heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                  "not a regular file; name it on the command line to read it");
        return heft_error_file(err, path);
    }
    return a->sort ? wait_for(&a->entries, path, "", err) : put_item(a, path, err);
}

/* Lists a directory. Unlike os.walk, which skips unreadable directories silently, fails: missing
 * text must not go unnoticed. */
static bool visit_folder(struct adding *a, char *folder, struct heft_error *err)
{
    bool is_unreadable;

    folder[strlen(folder) - 1] = '\0';
    return heft_folder_each(folder, take_entry, a, &is_unreadable, err) && stack_entries(a, err);
}

static bool is_folder(const char *path)
{
    const size_t n = strlen(path);

    return n > 0 && path[n - 1] == '/';
}

/* Processes the stack until it is empty. */
static bool take_stack(struct adding *a, struct heft_error *err)
{
    bool ok = true;

    while (ok && a->stack.n > 0) {
        char *path = a->stack.items[--a->stack.n];

        ok = is_folder(path) ? visit_folder(a, path, err) : put_item(a, path, err);
        heft_free(path);
    }
    return ok;
}

/* ---- patterns ------------------------------------------------------------------------------- */

static bool take_match(void *ctx, const char *path, struct heft_error *err)
{
    struct adding *a = ctx;

    if (strcmp(path, "-") == 0) /* a file with that name would be taken for standard input */
        path = "./-";
    return a->sort ? wait_for(&a->entries, path, "", err) : put_item(a, path, err);
}

static bool no_match(const char *pattern, struct heft_error *err)
{
    struct heft_os_stat st;

    if (heft_os->stat_path(pattern, &st) != 0 && !heft_os_is_missing(errno))
        heft_fail_errno(err, "cannot be examined");
    else
        heft_fail_missing(
            err, "no such file, and no match as a pattern (option allow_empty ignores this)");
    return heft_error_file(err, pattern);
}

static bool take_pattern(struct adding *a, const char *pattern, struct heft_error *err)
{
    bool ok = !*pattern ||
              heft_pattern_each(pattern, take_match, a, err); /* an empty pattern matches nothing */

    if (a->entries.n > 0)
        qsort(a->entries.items, a->entries.n, sizeof *a->entries.items, by_path);
    for (size_t i = 0; ok && i < a->entries.n; i++)
        ok = put_item(a, a->entries.items[i], err);
    return ok;
}

bool heft_input_list_add(struct heft_input_list *list, const char *word, uint32_t number,
                         const struct heft_input_how *how, struct heft_error *err)
{
    struct adding a = {.list = list, .word = number, .sort = how->sort};
    const size_t before = list->n;
    struct heft_os_stat st = {0};
    bool ok;

    if (strcmp(word, "-") == 0 || (heft_os->stat_path(word, &st) == 0 && st.is_file))
        ok = put_item(&a, word, err);
    else if (st.is_dir)
        ok = wait_for(&a.stack, word, "/", err) && take_stack(&a, err);
    else
        ok = take_pattern(&a, word, err) &&
             (list->n > before || how->allow_empty || no_match(word, err));
    release_waiting(&a.stack);
    release_waiting(&a.entries);
    return ok;
}

/* ---- public functions of the list ----------------------------------------------------------- */

struct heft_input_list *heft_input_list_new(struct heft_error *err)
{
    struct heft_input_list *list = heft_calloc(1, sizeof *list, err);

    if (!list)
        return NULL;
    list->rows = (struct heft_row_store){.width = ROW, .what = "the list of inputs"};
    list->paths = (struct heft_row_store){.width = 1, .what = "the list of inputs"};
    list->lock = heft_lock_new(err);
    if (list->lock)
        return list;
    heft_free(list);
    return NULL;
}

size_t heft_input_list_count(const struct heft_input_list *list)
{
    return list->n;
}

uint64_t heft_input_list_bytes(const struct heft_input_list *list)
{
    return list->bytes;
}

bool heft_input_list_streams(const struct heft_input_list *list)
{
    return list->has_streams;
}

void heft_input_list_free(struct heft_input_list *list)
{
    if (!list)
        return;
    heft_row_store_release(&list->rows);
    heft_row_store_release(&list->paths);
    heft_buf_release(&list->shown);
    heft_lock_free(list->lock);
    heft_free(list);
}
