/* locate.c: which files an input means. A folder means the checkpoint in it whose name is best known
 * (locate_names.c); a Hugging Face cache means the snapshot that refs/main names. */
#include "core/locate.h"

#include <stdlib.h>

#include "base/text.h"
#include "core/locate_parts.h"
#include "core/unsupported_signatures.h"
#include "io/source.h"

enum {
    NAMES_SHOWN = 6,
    FOLDERS_SEEN = 200, /* of sub-folders, to say which hold a checkpoint */
    LONGEST_REF = 200
};

struct locating {
    struct heft_folder folder;
    struct heft_arena *mem;
    struct heft_located *out;
    struct heft_error *err;
};

static bool list_folder(struct heft_folder *folder, const char *path, struct heft_arena *mem,
                        struct heft_error *err)
{
    folder->path = path;
    return heft_path_list(path, mem, &folder->names, &folder->n, err);
}

/* Appends a name to a list in an error or a note; beyond the first few they are only counted. */
static void list_name(struct heft_buf *text, size_t number, struct heft_str name)
{
    if (number < NAMES_SHOWN)
        heft_buf_printf(text, "%s%.*s", number ? ", " : "", (int)heft_min_u64(name.n, 100), name.p);
}

static void end_list(struct heft_buf *text, size_t count)
{
    if (count > NAMES_SHOWN)
        heft_buf_printf(text, " and %zu more", count - NAMES_SHOWN);
}

/* ---- errors ------------------------------------------------------------------------------ */

static bool refuse_with_list(struct heft_buf *names, const char *before, const char *after,
                             struct heft_error *err)
{
    if (heft_buf_ok(names, err))
        heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "%s %.*s; %s", before, (int)names->n, names->p,
                  after);
    heft_buf_release(names);
    return false;
}

static bool refuse_several(struct locating *l, const struct heft_candidates *all)
{
    struct heft_buf names = {0};
    uint32_t rank = UINT32_MAX;
    bool is_bundle = false;
    size_t count = 0;

    if (heft_folder_is_parallel(&l->folder))
        return heft_fail(l->err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                         "the folder holds a model that was split by tensor parallelism: each file "
                         "has a part of most tensors; heft does not put them together, but reads "
                         "the files one by one");
    for (size_t i = 0; i < all->n; i++)
        rank = all->list[i].rank < rank ? all->list[i].rank : rank;
    for (size_t i = 0; i < all->n; i++)
        if (all->list[i].rank == rank) {
            list_name(&names, count++, heft_str_of(all->list[i].name));
            is_bundle = strcmp(all->list[i].ext, ".index") == 0;
        }
    end_list(&names, count);
    return refuse_with_list(
        &names, "the folder holds several checkpoints:",
        is_bundle ? "name one of them, or its step with option step" : "name one of them", l->err);
}

/* Whether a sub-folder holds a checkpoint, or several. */
static bool holds_one(struct locating *l, const char *name, bool *holds)
{
    const char *path = heft_arena_printf(l->mem, l->err, "%s/%s", l->folder.path, name);
    struct heft_error ignored = {0};
    struct heft_candidates all;
    struct heft_folder below;

    *holds = false;
    if (!path)
        return false;
    if (heft_path_kind(path) != HEFT_PATH_DIR || !list_folder(&below, path, l->mem, &ignored))
        return true;
    if (!heft_folder_judge(&below, l->mem, &all, l->err))
        return false;
    *holds = all.best || all.several || heft_locate_document(below.names, below.n);
    return true;
}

/* The sub-folders that hold checkpoints, where there are some. */
static bool refuse_parent(struct locating *l)
{
    struct heft_buf names = {0};
    size_t count = 0;

    for (size_t i = 0; i < l->folder.n && i < FOLDERS_SEEN; i++) {
        bool holds;

        if (!holds_one(l, l->folder.names[i], &holds)) {
            heft_buf_release(&names);
            return false;
        }
        if (holds)
            list_name(&names, count++, heft_str_of(l->folder.names[i]));
    }
    if (count == 0)
        return true;
    end_list(&names, count);
    return refuse_with_list(&names, "the folder holds no checkpoint itself, but sub-folders do:",
                            "name one of them", l->err);
}

/* Why a folder without a checkpoint of ours has none. */
static bool refuse_folder(struct locating *l)
{
    const struct heft_folder *folder = &l->folder;

    if (heft_locate_is_interrupted(folder->names, folder->n))
        return heft_fail(
            l->err, HEFT_MALFORMED, HEFT_NO_OFFSET,
            "a sharded save to this folder was interrupted: its parts are in a folder "
            "\"…_temp…\", which TensorFlow merges at the end, and no .index names them");
    if (heft_folder_has(folder, "latest"))
        return heft_fail(l->err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                         "the folder looks like DeepSpeed's (it has a file \"latest\"), which "
                         "heft does not put together; it reads the .pt files one by one");
    return refuse_parent(l) &&
           heft_fail(l->err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "the folder holds no checkpoint; expected an index.json, .metadata, a "
                     "saved_model.pb, a TensorFlow checkpoint, or a file .safetensors, .bin, .pth, "
                     ".pt, .ckpt, .h5, .keras, .npz, .npy, .ptd, .pte, .pt2, .pb or .pkl");
}

/* ---- sets -------------------------------------------------------------------------------- */

struct numbered {
    uint32_t number;
    const char *name;
};

static int by_number(const void *a, const void *b)
{
    const uint32_t x = ((const struct numbered *)a)->number;
    const uint32_t y = ((const struct numbered *)b)->number;

    return (x > y) - (x < y);
}

/* "model-00002-of-00003.safetensors", made of the name of another file of the set. */
static const char *name_of_number(struct locating *l, const char *name, uint32_t number)
{
    const char *const of = strstr(name, "-of-");
    int digits = 0;

    while (of - digits > name && of[-digits - 1] >= '0' && of[-digits - 1] <= '9')
        digits++;
    return heft_arena_printf(l->mem, l->err, "%.*s%0*u%s", (int)(of - name) - digits, name, digits,
                             number, of);
}

static bool check_set(struct locating *l, const struct heft_candidate *set,
                      const struct numbered *files)
{
    const uint32_t first = set->least > 0;
    const char *missing;

    for (uint32_t i = 0; i < set->of; i++) {
        if (i < set->files && files[i].number == first + i)
            continue;
        if (i < set->files && files[i].number < first + i)
            return heft_fail(l->err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                             "%s: a second file of that number in a set of %u", files[i].name,
                             set->of);
        missing = name_of_number(l, set->name, first + i);
        return missing && heft_fail(l->err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                                    "%s is missing: the set of %u has no index and %u file%s, "
                                    "numbered %u to %u",
                                    missing, set->of, set->files, set->files == 1 ? "" : "s",
                                    set->least, set->most);
    }
    return set->files == set->of || heft_fail(l->err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                                              "%s: a set of %u files has %u, numbered up to %u",
                                              set->name, set->of, set->files, set->most);
}

static struct numbered *collect_set(struct locating *l, const struct heft_candidate *set)
{
    struct numbered *files = heft_arena_zero(l->mem, set->files, sizeof *files, l->err);
    size_t n = 0;

    for (size_t i = 0; files && i < l->folder.n && n < set->files; i++)
        if (heft_candidate_has(set, l->folder.names[i], &files[n].number))
            files[n++].name = l->folder.names[i];
    if (files)
        qsort(files, n, sizeof *files, by_number);
    return files;
}

static const char *in_folder(struct locating *l, const char *name)
{
    const char *path = l->folder.path;
    const bool slash = path[strlen(path) - 1] == '/';

    return heft_arena_printf(l->mem, l->err, "%s%s%s", path, slash ? "" : "/", name);
}

static bool take_set(struct locating *l, const struct heft_candidate *set)
{
    const struct numbered *files = collect_set(l, set);
    const char **paths;

    if (!files || !check_set(l, set, files))
        return false;
    paths = heft_arena_zero(l->mem, set->files, sizeof *paths, l->err);
    for (uint32_t i = 0; paths && i < set->files; i++)
        if (!(paths[i] = in_folder(l, files[i].name)))
            return false;
    l->out->paths = paths;
    l->out->n = set->files;
    return paths != NULL;
}

static bool take_file(struct locating *l, const char *name)
{
    const char **path = heft_arena_zero(l->mem, 1, sizeof *path, l->err);

    if (!path || !(*path = in_folder(l, name)))
        return false;
    l->out->paths = path;
    l->out->n = 1;
    return true;
}

/* ---- notes ------------------------------------------------------------------------------- */

static bool keep_note(struct locating *l, struct heft_buf *text)
{
    struct heft_str note;

    if (!heft_buf_take(text, l->mem, &note, l->err))
        return false;
    l->out->note = note.p;
    return true;
}

static size_t count_others(const struct heft_candidates *all)
{
    size_t n = 0;

    for (size_t i = 0; i < all->n; i++)
        n += heft_candidate_is_other(&all->list[i], all->best);
    return n;
}

/* What is opened of a folder, where there was a choice. */
static bool note_choice(struct locating *l, const struct heft_candidates *all)
{
    const struct heft_candidate *best = all->best;
    const size_t others = count_others(all);
    struct heft_buf text = {0};
    size_t shown = 0;

    if (others == 0 && best->files == 0)
        return true;
    heft_buf_printf(&text, "%s is opened", best->name);
    if (best->files)
        heft_buf_printf(&text, " with the others of its set of %u files without an index",
                        best->files);
    heft_buf_text(&text, others ? "; not " : "");
    for (size_t i = 0; i < all->n; i++)
        if (heft_candidate_is_other(&all->list[i], best))
            list_name(&text, shown++, heft_str_of(all->list[i].name));
    end_list(&text, others);
    return keep_note(l, &text);
}

/* ---- folders ----------------------------------------------------------------------------- */

static bool choose_version(struct locating *l, bool *found)
{
    size_t versions;
    const char *name = heft_locate_version(l->folder.path, l->folder.names, l->folder.n, l->mem,
                                           &versions, l->err);
    struct heft_buf text = {0};

    *found = name != NULL;
    if (!name)
        return l->err->code == HEFT_OK;
    if (!take_file(l, name))
        return false;
    if (versions < 2)
        return true;
    heft_buf_printf(&text, "%s is opened, the highest of %zu versions", name, versions);
    return keep_note(l, &text);
}

static bool choose(struct locating *l, bool *found)
{
    const char *document = heft_locate_document(l->folder.names, l->folder.n);
    struct heft_candidates all;

    *found = true;
    if (document)
        return take_file(l, document);
    if (!heft_folder_judge(&l->folder, l->mem, &all, l->err))
        return false;
    if (!(all.best && all.well_known) &&
        heft_unsupported_refuse_folder(l->folder.names, l->folder.n, l->err))
        return false;
    if (all.several)
        return refuse_several(l, &all);
    if (all.best)
        return (all.best->files ? take_set(l, all.best) : take_file(l, all.best->name)) &&
               note_choice(l, &all);
    return choose_version(l, found);
}

/* ---- the hub's cache --------------------------------------------------------------------- */

/* models--ORG--NAME: blobs, refs, snapshots. */
static bool is_cache(const struct heft_folder *folder)
{
    return heft_folder_has(folder, "snapshots") &&
           (heft_folder_has(folder, "refs") || heft_folder_has(folder, "blobs"));
}

/* What refs/main says; NULL where it is not there, or says no name. */
static const char *read_ref(struct locating *l)
{
    const char *path = in_folder(l, "refs/main");
    struct heft_error ignored = {0};
    struct heft_source file;
    struct heft_bytes text;
    size_t n = 0;

    if (!path || !heft_source_open_file(&file, path, &ignored))
        return NULL;
    if (file.size <= LONGEST_REF && heft_source_fetch(&file, 0, file.size, l->mem, &text, &ignored))
        while (n < text.n && text.p[n] > ' ' && text.p[n] != '/' && text.p[n] != '.')
            n++;
    heft_source_close(&file);
    return n ? heft_arena_text(l->mem, (struct heft_str){(const char *)text.p, n}, l->err) : NULL;
}

static bool refuse_snapshots(struct locating *l, const struct heft_folder *snapshots)
{
    struct heft_buf names = {0};

    if (snapshots->n == 0)
        return heft_fail(l->err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "the folder is of Hugging Face's cache, and holds no snapshot");
    for (size_t i = 0; i < snapshots->n; i++)
        list_name(&names, i, heft_str_of(snapshots->names[i]));
    end_list(&names, snapshots->n);
    return refuse_with_list(&names, "the folder is of Hugging Face's cache; snapshots/ holds",
                            "name one of them", l->err);
}

/* The folder of the snapshot that a cache means; false with no error where none is meant. */
static bool enter_snapshot(struct locating *l)
{
    const char *const path = in_folder(l, "snapshots"), *const ref = read_ref(l);
    struct heft_folder snapshots;
    const char *name = ref;
    struct heft_str root;

    if (!path || l->err->code == HEFT_NOMEM || !list_folder(&snapshots, path, l->mem, l->err))
        return false;
    if (!name && snapshots.n == 1)
        name = snapshots.names[0];
    if (!name || !heft_folder_has(&snapshots, name))
        return refuse_snapshots(l, &snapshots);
    root = heft_str_of(path);
    name = heft_arena_printf(l->mem, l->err, "%.*s/%s", (int)root.n, root.p, name);
    return name && list_folder(&l->folder, name, l->mem, l->err);
}

static bool locate_step(struct locating *l, const char *step)
{
    const char *name = heft_locate_step(l->folder.names, l->folder.n, step, l->err);

    return name && take_file(l, name);
}

static bool inside(struct locating *l, const char *path, const char *step)
{
    bool found;

    if (!list_folder(&l->folder, path, l->mem, l->err))
        return false;
    if (is_cache(&l->folder) && !enter_snapshot(l))
        return false;
    if (step)
        return locate_step(l, step);
    return choose(l, &found) && (found || refuse_folder(l));
}

/* ---- paths ------------------------------------------------------------------------------- */

/* The folder of a `checkpoint` file that was named itself. */
static const char *folder_of(const char *given, struct heft_arena *mem, struct heft_error *err)
{
    const size_t folder = heft_path_folder(given);

    if (strcmp(given + folder, "checkpoint") == 0)
        return heft_arena_printf(mem, err, "%.*s.", (int)folder, given);
    heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
              "a step is chosen in a folder of TensorFlow checkpoints, or by its checkpoint file");
    return NULL;
}

/* A path that is not there: the checkpoints beside it whose names go on from it. */
static bool refuse_missing(struct locating *l, const char *given)
{
    const size_t base = heft_path_folder(given);
    const char *where = heft_arena_printf(l->mem, l->err, "%.*s.", (int)base, given);
    struct heft_error ignored = {0};
    struct heft_buf names = {0};
    struct heft_str last = {"", 0};
    size_t count = 0;

    if (!where)
        return false;
    if (given[base] == '\0' || !list_folder(&l->folder, where, l->mem, &ignored))
        return true;
    for (size_t i = 0; i < l->folder.n; i++) {
        const struct heft_str prefix = heft_locate_step_of(l->folder.names[i], given + base);

        if (prefix.n > 0 && !heft_str_eq(prefix, last)) {
            list_name(&names, count++, prefix);
            last = prefix;
        }
    }
    if (count == 0)
        return true;
    end_list(&names, count);
    return refuse_with_list(&names, "there is no such file, but the folder has", "name one of them",
                            l->err);
}

static bool locate_path(struct locating *l, const char *given)
{
    const enum heft_path_kind kind = heft_path_kind(given);
    const char **path = heft_arena_zero(l->mem, 1, sizeof *path, l->err);

    if (!path || !(*path = heft_locate_known(given, kind, l->mem, l->err)))
        return false;
    l->out->paths = path;
    l->out->n = 1;
    return kind != HEFT_PATH_NONE || *path != given || refuse_missing(l, given);
}

bool heft_locate(const char *given, const char *step, struct heft_arena *mem,
                 struct heft_located *out, struct heft_error *err)
{
    struct locating l = {.mem = mem, .out = out, .err = err};

    *out = (struct heft_located){0};
    if (heft_path_kind(given) == HEFT_PATH_DIR)
        return inside(&l, given, step);
    if (step) {
        const char *folder = folder_of(given, mem, err);

        return folder && inside(&l, folder, step);
    }
    return locate_path(&l, given);
}
