/* heft_scan.c: public API of scan: scans one file, or every file below a directory.
 *
 *     directory ── names in byte order ─┬─ file, or a link to one   once a device and inode
 *                                       ├─ directory                pushed onto the stack of levels
 *                                       ├─ link to a directory      kept: reported at the end if its
 *                                       │                           target was not scanned
 *                                       └─ anything else            reported as not scanned
 *
 * Memory: the names in the directories from the root down to the current one, and one key for
 * each file and directory met. */
#include <errno.h>

#include "base/require_arg.h"
#include "base/sized.h"
#include "base/map.h"
#include "scan/scan.h"
#include "heft/heft.h"
#include "io/input_files.h"
#include "io/os.h"
#include "core/registry.h"

/* ---- scanning one file ------------------------------------------------------------------- */

/* label: name of the source in reports; "standard input" for "-". */
static bool open_input(const struct heft_files *files, struct heft_source *out, const char *path,
                       struct heft_error *err)
{
    bool ok;

    if (files == &heft_disk && strcmp(path, "-") == 0 &&
        heft_files_kind(files, path) == HEFT_PATH_NONE)
        ok = heft_source_open_stdin(out, "standard input", err);
    else if (heft_files_kind(files, path) == HEFT_PATH_OTHER)
        ok = heft_source_open_stream(out, path, err);
    else
        ok = heft_files_open(files, out, path, err);
    return ok || heft_error_file(err, path);
}

static bool scan_file(const struct heft_files *files, const char *path,
                      const struct heft_limits *limits,
                      void (*each)(void *ctx, const struct heft_scan_item *item), void *ctx,
                      bool *complete, struct heft_error *err)
{
    struct heft_source source;
    bool ok;

    if (!open_input(files, &source, path, err))
        return false;
    ok = heft_scan_file(&source, source.label, limits, each, ctx, complete, err);
    if (!ok || !*complete)
        heft_error_file(err, path);
    heft_source_close(&source);
    return ok;
}

/* The limits and inputs of the options. */
struct scan_how {
    struct heft_limits limits;
    struct heft_input_files *inputs;
};

static bool take_options(struct scan_how *how, const struct heft_open_options *options,
                         struct heft_error *err)
{
    struct heft_open_options o;
    struct heft_limits asked;

    if (!HEFT_TAKE(heft_open_options, &o, options, err) ||
        !HEFT_TAKE(heft_limits, &asked, o.limits, err))
        return false;
    how->limits = heft_limits_complete(&asked);
    return heft_input_files_take(&how->inputs, o.inputs, o.n_inputs, err);
}

bool heft_scan(const char *path, const struct heft_open_options *options,
               void (*each)(void *ctx, const struct heft_scan_item *item), void *ctx,
               bool *complete, struct heft_error *err)
{
    struct scan_how how;
    bool ok;

    if (!take_options(&how, options, err))
        return false;
    ok = heft_require_arg(path && each && complete, "an argument", err) &&
         scan_file(heft_input_files_of(how.inputs), path, &how.limits, each, ctx, complete, err);
    heft_input_files_close(how.inputs);
    return ok;
}

/* ---- walking a directory ----------------------------------------------------------------- */

/* A directory being walked. */
struct level {
    struct heft_arena mem; /* owns path and names */
    const char *path;      /* ends with a slash */
    const char *const *names;
    size_t count, next;
};

/* A symbolic link to a directory. */
struct link {
    struct heft_str key; /* device and inode of the directory */
    const char *path;
};

struct walk {
    const struct heft_files *files;
    const struct heft_scan_visitor *visitor;
    struct heft_limits limits;
    struct heft_arena mem; /* owns keys and paths of links */
    struct heft_strmap seen;
    struct level *levels;
    struct link *links;
    size_t n_levels, cap_levels, n_links, cap_links;
    enum heft_danger worst; /* worst finding in the current file */
    size_t judged, failed;
    struct heft_error first; /* error of the first file that could not be scanned */
};

static void take_item(void *ctx, const struct heft_scan_item *item)
{
    struct walk *w = ctx;

    if (item->danger > w->worst)
        w->worst = item->danger;
    w->visitor->item(w->visitor->ctx, item);
}

static void report_result(struct walk *w, const struct heft_scan_result *result)
{
    w->judged += result->judged;
    w->visitor->result(w->visitor->ctx, result);
}

/* Reports an unreadable path, both as a finding and as a file that was not judged. */
static bool report_unread(struct walk *w, const char *path, const struct heft_error *why)
{
    const struct heft_scan_item item = {.danger = HEFT_UNKNOWN,
                                        .file = path,
                                        .record = "",
                                        .offset = why->offset,
                                        .position = HEFT_NO_OFFSET,
                                        .what = "unread",
                                        .name = why->text};

    if (w->failed++ == 0)
        w->first = *why;
    w->visitor->item(w->visitor->ctx, &item);
    report_result(w, &(struct heft_scan_result){path, "unread", HEFT_UNKNOWN, false, false, why});
    return true;
}

static bool report_sentence(struct walk *w, const char *path, const char *sentence)
{
    struct heft_error why = {0};

    heft_fail(&why, HEFT_USAGE, HEFT_NO_OFFSET, "%s", sentence);
    return report_unread(w, path, &why);
}

/* True if the file's name decides how scan judges it. Such a file is judged once more under each
 * such name. */
static bool is_deciding(const char *path)
{
    static const char *const ends[] = {".py",   ".pyc",  ".pb",  ".pbtxt",
                                       ".meta", ".yaml", ".yml", "model_index.json"};

    for (size_t i = 0; i < HEFT_COUNT(ends); i++)
        if (heft_str_ends(heft_str_of(path), ends[i]))
            return true;
    return false;
}

/* Sets *fresh if the file or directory was not met before. by_name: its name also decides how it
 * is judged, so it gets a second key (the cache of the Hugging Face hub has links to blobs that
 * are named by their digests). With key_out, returns the key without remembering it. */
static bool is_new(struct walk *w, const struct heft_os_stat *st, bool by_name,
                   struct heft_str *key_out, bool *fresh, struct heft_error *err)
{
    struct {
        uint64_t device, inode, by_name;
    } id = {st->device, st->inode, by_name};
    struct heft_str key = {
        heft_arena_text(&w->mem, (struct heft_str){(const char *)&id, sizeof id}, err), sizeof id};
    uint32_t found = HEFT_MAP_NONE;

    if (!key.p || (!key_out && !heft_strmap_add(&w->seen, key, 1, &found, err)))
        return false;
    *fresh = found == HEFT_MAP_NONE;
    if (key_out)
        *key_out = key;
    return true;
}

static bool judge_source(struct walk *w, struct heft_source *source, const char *path,
                         struct heft_error *err)
{
    struct heft_scan_kind kind = {"unknown", false};
    struct heft_error why = {0};
    bool complete = true, ok;

    w->worst = HEFT_ALLOWED;
    ok = heft_scan_source(source, path, &w->limits, take_item, w, &kind, &complete, &why);
    if (!ok && why.code == HEFT_NOMEM) {
        *err = why;
        return heft_error_file(err, path);
    }
    if (!ok || !complete)
        heft_error_file(&why, path);
    if (!ok)
        return report_unread(w, path, &why);
    report_result(w, &(struct heft_scan_result){path, kind.name, w->worst, kind.judged, complete,
                                                complete ? NULL : &why});
    return true;
}

static bool judge_file(struct walk *w, const char *path, struct heft_error *err)
{
    struct heft_source source;
    struct heft_error why = {0};
    bool ok;

    if (!heft_files_open(w->files, &source, path, &why))
        return report_unread(w, path, &why);
    ok = true;
    if (source.size == 0)
        report_result(w,
                      &(struct heft_scan_result){path, "empty", HEFT_ALLOWED, false, true, NULL});
    else
        ok = judge_source(w, &source, path, err);
    heft_source_close(&source);
    return ok;
}

static bool push_directory(struct walk *w, const char *path, struct heft_error *err)
{
    struct level *level;
    struct heft_error why = {0};
    const size_t n = strlen(path);

    if (!heft_grow(&w->levels, &w->cap_levels, w->n_levels, 1, sizeof *w->levels, err))
        return false;
    level = &w->levels[w->n_levels];
    *level = (struct level){0};
    level->path =
        heft_arena_printf(&level->mem, err, "%s%s", path, n == 0 || path[n - 1] == '/' ? "" : "/");
    if (level->path &&
        heft_files_list(w->files, path, &level->mem, &level->names, &level->count, &why)) {
        w->n_levels++;
        return true;
    }
    heft_arena_release(&level->mem);
    if (why.code == HEFT_OK)
        return false;
    if (why.code == HEFT_NOMEM) {
        *err = why;
        return false;
    }
    return report_unread(w, path, &why);
}

static bool keep_link(struct walk *w, const struct heft_os_stat *st, const char *path,
                      struct heft_error *err)
{
    struct link link = {.path = heft_arena_text(&w->mem, heft_str_of(path), err)};
    bool fresh;

    if (!link.path || !is_new(w, st, false, &link.key, &fresh, err) ||
        !heft_grow(&w->links, &w->cap_links, w->n_links, 1, sizeof *w->links, err))
        return false;
    w->links[w->n_links++] = link;
    return true;
}

static bool visit_path(struct walk *w, const char *path, struct heft_error *err)
{
    struct heft_os_stat st, link;
    bool fresh;

    if (w->files->ops->stat_link(w->files, path, &link) != 0 ||
        (!link.is_link && w->files->ops->stat(w->files, path, &st) != 0)) {
        struct heft_error why = {0};

        heft_fail_errno(&why, "cannot be examined");
        return report_unread(w, path, &why);
    }
    if (link.is_link && w->files->ops->stat(w->files, path, &st) != 0)
        return report_sentence(w, path,
                               heft_os_is_missing(errno)
                                   ? "a link whose target does not exist"
                                   : "a link whose target cannot be examined");
    if (st.is_dir && link.is_link)
        return keep_link(w, &st, path, err);
    if (!st.is_dir && !st.is_file)
        return report_sentence(w, path, "not a regular file, not scanned");
    if (!is_new(w, &st, st.is_file && is_deciding(path), NULL, &fresh, err))
        return false;
    if (!fresh)
        return true;
    return st.is_dir ? push_directory(w, path, err) : judge_file(w, path, err);
}

static bool walk_levels(struct walk *w, struct heft_error *err)
{
    while (w->n_levels > 0) {
        struct level *level = &w->levels[w->n_levels - 1];
        struct heft_buf path = {0};
        bool ok;

        if (level->next == level->count) {
            heft_arena_release(&level->mem);
            w->n_levels--;
            continue;
        }
        heft_buf_text(&path, level->path);
        heft_buf_text(&path, level->names[level->next++]);
        heft_buf_char(&path, 0);
        ok = heft_buf_ok(&path, err) && visit_path(w, path.p, err);
        heft_buf_release(&path);
        if (!ok)
            return false;
    }
    return true;
}

static bool report_links(struct walk *w)
{
    for (size_t i = 0; i < w->n_links; i++)
        if (heft_strmap_get(&w->seen, w->links[i].key) == HEFT_MAP_NONE &&
            !report_sentence(w, w->links[i].path, "a link to a directory outside, not scanned"))
            return false;
    return true;
}

static bool walk_directory(struct walk *w, const char *path, struct heft_error *err)
{
    struct heft_os_stat st;
    bool fresh;

    if (w->files->ops->stat(w->files, path, &st) != 0)
        return heft_fail_errno(err, "cannot be examined");
    return is_new(w, &st, false, NULL, &fresh, err) && push_directory(w, path, err) &&
           walk_levels(w, err) && report_links(w);
}

static void release_walk(struct walk *w)
{
    while (w->n_levels > 0)
        heft_arena_release(&w->levels[--w->n_levels].mem);
    heft_free(w->levels);
    heft_free(w->links);
    heft_strmap_release(&w->seen);
    heft_arena_release(&w->mem);
}

/* ---- files that an index lists ----------------------------------------------------------- */

/* Visits one shard of an index, by its name in the index. */
static bool judge_shard(void *ctx, const char *directory, struct heft_str name,
                        struct heft_error *err)
{
    struct walk *w = ctx;
    struct heft_error why = {0};
    struct heft_buf path = {0};
    bool ok;

    heft_buf_text(&path, directory);
    heft_buf_str(&path, name);
    heft_buf_char(&path, 0);
    ok = heft_buf_ok(&path, err);
    if (ok && !heft_registry_check_relative(name, &why))
        ok = report_unread(w, path.p, &why);
    else if (ok)
        ok = visit_path(w, path.p, err);
    heft_buf_release(&path);
    return ok;
}

static bool scan_input(struct walk *w, const char *path, struct heft_error *err)
{
    struct heft_source source;
    bool ok;

    if (heft_files_kind(w->files, path) == HEFT_PATH_DIR)
        return walk_directory(w, path, err);
    if (!open_input(w->files, &source, path, err))
        return false;
    ok = judge_source(w, &source, source.label, err) &&
         (strcmp(path, "-") == 0 || heft_scan_index(&source, path, judge_shard, w, err)) &&
         walk_levels(w, err) && report_links(w); /* an index may refer to directories */
    heft_source_close(&source);
    return ok;
}

static bool scan_tree(const struct heft_files *files, const char *path,
                      const struct heft_limits *limits, const struct heft_scan_visitor *visitor,
                      struct heft_error *err)
{
    struct walk w = {.files = files, .visitor = visitor, .limits = *limits};
    bool ok = scan_input(&w, path, err);

    if (ok && w.judged == 0 && w.failed > 0) {
        *err = w.first;
        ok = false;
    }
    release_walk(&w);
    return ok || heft_error_file(err, path);
}

bool heft_scan_tree(const char *path, const struct heft_open_options *options,
                    const struct heft_scan_visitor *visitor, struct heft_error *err)
{
    struct heft_scan_visitor v;
    struct scan_how how;
    bool ok;

    if (!take_options(&how, options, err))
        return false;
    ok = heft_require_arg(path && visitor, "an argument", err) &&
         HEFT_TAKE(heft_scan_visitor, &v, visitor, err) &&
         heft_require_arg(v.item && v.result, "a function", err) &&
         scan_tree(heft_input_files_of(how.inputs), path, &how.limits, &v, err);
    heft_input_files_close(how.inputs);
    return ok;
}
