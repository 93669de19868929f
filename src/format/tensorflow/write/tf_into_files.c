/* tf_into_files.c: plans copies of the other files of a SavedModel, and the directories they are
 * in. */
#include "core/registry.h"
#include "format/tensorflow/write/tf_write.h"

#define MAX_PATH  4096
#define MAX_FILES 1000000

/* Breadth-first walk over directories. Paths are relative to the model, with a leading slash; "" is
 * the model itself. */
struct walk {
    struct heft_tf_out *out;
    struct heft_arena *mem; /* the plan's arena */
    const char **folders;
    size_t n, cap, n_files;
    struct heft_error *err;
};

static bool add_folder(struct walk *w, const char *path)
{
    if (!heft_grow(&w->folders, &w->cap, w->n, 1, sizeof *w->folders, w->err))
        return false;
    w->folders[w->n++] = path;
    return true;
}

bool heft_tf_into_leaves(const char *path)
{
    static const char bundle[] = "/variables/variables";

    if (strcmp(path, "/fingerprint.pb") == 0)
        return true;
    return strncmp(path, bundle, sizeof bundle - 1) == 0 &&
           heft_tf_in_set(heft_str_of(path + sizeof bundle - 1));
}

static bool copy_file(struct walk *w, const char *from, const char *below)
{
    struct heft_plan *plan = w->out->plan;
    const char *to = heft_arena_printf(w->mem, w->err, "%s%s", plan->whole, below);
    struct heft_source source;
    uint64_t size;
    uint32_t file;

    if (!to || !heft_source_open_file(&source, from, w->err))
        return false;
    size = source.size;
    heft_source_close(&source);
    return heft_plan_file_begin(plan, to, &file, w->err) &&
           heft_plan_copy_file(plan, file, from, 0, size, w->err);
}

static bool visit_path(struct walk *w, const char *folder, const char *name)
{
    const char *below = heft_arena_printf(w->mem, w->err, "%s/%s", folder, name);
    const char *path =
        below ? heft_arena_printf(w->mem, w->err, "%s%s", w->out->into, below) : NULL;
    enum heft_path_kind kind;

    if (!path)
        return false;
    if (strlen(path) > MAX_PATH || ++w->n_files > MAX_FILES)
        return heft_fail(
            w->err, HEFT_LIMIT, HEFT_NO_OFFSET,
            "the model's directory has paths longer than %d bytes, or more than %d files", MAX_PATH,
            MAX_FILES);
    kind = heft_path_kind(path);
    if (heft_tf_into_leaves(below))
        return true;
    if (kind == HEFT_PATH_DIR)
        return add_folder(w, below);
    if (kind == HEFT_PATH_FILE)
        return copy_file(w, path, below);
    heft_fail(w->err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET, "is neither a file nor a directory");
    return heft_error_file(w->err, path);
}

static bool read_folder(struct walk *w, const char *folder)
{
    const char *path = heft_arena_printf(w->mem, w->err, "%s%s", w->out->into, folder);
    const char *const *names;
    size_t n;

    if (!path || !heft_path_list(path, w->mem, &names, &n, w->err))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!visit_path(w, folder, names[i]))
            return false;
    return true;
}

static bool make_folders(struct walk *w)
{
    struct heft_plan *plan = w->out->plan;
    const char **paths = heft_arena_zero(w->mem, w->n + 1, sizeof *paths, w->err);

    plan->folders = paths;
    for (size_t i = 0; paths && i < w->n; i++) {
        paths[i] = heft_arena_printf(w->mem, w->err, "%s%s", plan->whole, w->folders[i]);
        if (!paths[i])
            return false;
        plan->n_folders++;
    }
    return paths != NULL;
}

bool heft_tf_into_files(struct heft_tf_out *out, struct heft_error *err)
{
    struct walk w = {.out = out, .mem = out->plan->mem, .err = err};
    bool ok = add_folder(&w, "");

    for (size_t i = 0; ok && i < w.n; i++) /* directories found on the way are appended */
        ok = read_folder(&w, w.folders[i]);
    ok = ok && make_folders(&w);
    heft_free(w.folders);
    return ok;
}
