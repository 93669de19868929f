/* locate.c: finds the files of an input. For a directory that is the checkpoint with the best known
 * name (locate_names.c), or what a format's own callbacks find (struct heft_locator). */
#include "core/locate.h"

#include <stdlib.h>

#include "base/text.h"
#include "core/locate_parts.h"

enum {
    NAMES_SHOWN = 6,
    FOLDERS_SEEN = 200 /* subdirectories searched for checkpoints, for an error */
};

struct locating {
    const struct heft_formats *formats;
    const struct heft_given_options *options;
    struct heft_folder folder;
    struct heft_arena *mem;
    struct heft_located *out;
    struct heft_error *err;
};

/* ---- listing directories ----------------------------------------------------------------- */

bool heft_folder_list(struct heft_folder *folder, const char *path, struct heft_arena *mem,
                      struct heft_error *err)
{
    folder->path = path;
    return heft_files_list(folder->files, path, mem, &folder->names, &folder->n, err);
}

const char *heft_folder_join(const struct heft_folder *folder, const char *name,
                             struct heft_arena *mem, struct heft_error *err)
{
    const char *path = folder->path;
    const size_t n = strlen(path);
    const bool slash = n == 0 || path[n - 1] == '/';

    return heft_arena_printf(mem, err, "%s%s%s", path, slash ? "" : "/", name);
}

bool heft_folder_has(const struct heft_folder *folder, const char *name)
{
    for (size_t i = 0; i < folder->n; i++)
        if (strcmp(folder->names[i], name) == 0)
            return true;
    return false;
}

void heft_list_name(struct heft_buf *text, size_t number, struct heft_str name)
{
    if (number < NAMES_SHOWN)
        heft_buf_printf(text, "%s%.*s", number ? ", " : "", (int)heft_min_u64(name.n, 100), name.p);
}

void heft_list_end(struct heft_buf *text, size_t count)
{
    if (count > NAMES_SHOWN)
        heft_buf_printf(text, " and %zu more", count - NAMES_SHOWN);
}

bool heft_list_refuse(struct heft_buf *names, const char *before, const char *after,
                      struct heft_error *err)
{
    if (heft_buf_ok(names, err))
        heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "%s %.*s; %s", before, (int)names->n, names->p,
                  after);
    heft_buf_release(names);
    return false;
}

/* Locator of the k-th format; an empty one if it has none. */
static const struct heft_locator *locator_of(const struct locating *l, size_t k)
{
    static const struct heft_locator none;

    return l->formats->list[k]->locator ? l->formats->list[k]->locator : &none;
}

/* ---- errors ------------------------------------------------------------------------------ */

/* Advice for a directory with several checkpoints. */
static const char *advise_choice(struct locating *l, bool is_selectable)
{
    const char *selector = NULL;

    for (size_t k = 0; k < l->formats->n && is_selectable && !selector; k++)
        selector = locator_of(l, k)->selector;
    return selector
               ? heft_arena_printf(l->mem, l->err, "name one of them, or its %s with option %s",
                                   selector, selector)
               : "name one of them";
}

static bool refuse_several(struct locating *l, const struct heft_candidates *all)
{
    struct heft_buf names = {0};
    uint32_t rank = UINT32_MAX;
    bool is_selectable = false;
    const char *advice;
    size_t count = 0;

    for (size_t i = 0; i < all->n; i++)
        rank = all->list[i].rank < rank ? all->list[i].rank : rank;
    for (size_t i = 0; i < all->n; i++)
        if (all->list[i].rank == rank) {
            heft_list_name(&names, count++, heft_str_of(all->list[i].name));
            is_selectable = all->list[i].rule->is_selectable;
        }
    heft_list_end(&names, count);
    advice = advise_choice(l, is_selectable);
    if (!advice)
        heft_buf_release(&names);
    return advice &&
           heft_list_refuse(&names, "the directory contains several checkpoints:", advice, l->err);
}

/* File that identifies the directory for some format, whatever else is in it; NULL: none. */
static const char *find_document(const struct locating *l, const struct heft_folder *folder)
{
    const char *found = NULL;

    for (size_t k = 0; k < l->formats->n && !found; k++)
        if (locator_of(l, k)->find_document)
            found = locator_of(l, k)->find_document(folder->names, folder->n);
    return found;
}

/* Whether a format finds a set of files in a directory. HEFT_NOMEM is an error, any other means that
 * there is something. */
static bool holds_set(struct locating *l, const struct heft_folder *folder, bool *holds)
{
    for (size_t k = 0; k < l->formats->n && !*holds; k++) {
        const struct heft_locator *const locator = locator_of(l, k);
        struct heft_error found = {0};
        struct heft_file_set set = {0};

        if (!locator->find_set)
            continue;
        *holds = !locator->find_set(folder, l->mem, &set, &found) || set.n > 0;
        if (found.code == HEFT_NOMEM) {
            *l->err = found;
            return false;
        }
    }
    return true;
}

/* Whether a subdirectory contains at least one checkpoint. */
static bool holds_one(struct locating *l, const char *name, bool *holds)
{
    const char *path = heft_folder_join(&l->folder, name, l->mem, l->err);
    struct heft_folder below = {.files = l->folder.files};
    struct heft_error ignored = {0};
    struct heft_candidates all;

    *holds = false;
    if (!path)
        return false;
    if (heft_files_kind(below.files, path) != HEFT_PATH_DIR ||
        !heft_folder_list(&below, path, l->mem, &ignored))
        return true;
    if (!heft_folder_judge(l->formats, &below, l->mem, &all, l->err))
        return false;
    *holds = all.best || all.several || find_document(l, &below);
    return holds_set(l, &below, holds);
}

/* Fails with the subdirectories that contain checkpoints, if there are any. */
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
            heft_list_name(&names, count++, heft_str_of(l->folder.names[i]));
    }
    if (count == 0)
        return true;
    heft_list_end(&names, count);
    return heft_list_refuse(&names,
                            "the directory contains no checkpoint, but its subdirectories do:",
                            "name one of them", l->err);
}

/* Fails for a directory without a checkpoint, with the reason. */
static bool refuse_folder(struct locating *l)
{
    const struct heft_conventions *const known = l->formats->conventions;

    for (size_t k = 0; k < l->formats->n; k++)
        if (locator_of(l, k)->refuse_folder && locator_of(l, k)->refuse_folder(&l->folder, l->err))
            return false;
    return refuse_parent(l) &&
           heft_fail(l->err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "the directory contains no checkpoint; expected %s",
                     known ? known->expected : "a file that a format is known by");
}

/* ---- sets of shards ---------------------------------------------------------------------- */

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

/* Name of file `number` of a set, "model-00002-of-00003.safetensors", derived from the name of
 * another file of it. */
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
        if (heft_candidate_has(l->formats, set, l->folder.names[i], &files[n].number))
            files[n++].name = l->folder.names[i];
    if (files)
        qsort(files, n, sizeof *files, by_number);
    return files;
}

static const char *in_folder(struct locating *l, const char *name)
{
    return heft_folder_join(&l->folder, name, l->mem, l->err);
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

/* Appends the notes of formats about what else the directory contains. */
static bool add_beside(struct locating *l, struct heft_buf *text)
{
    for (size_t k = 0; k < l->formats->n; k++) {
        const struct heft_locator *const locator = locator_of(l, k);
        const char *note =
            locator->find_beside ? locator->find_beside(&l->folder, l->mem, l->err) : NULL;

        if (note)
            heft_buf_printf(text, "%s%s", text->n ? "; " : "", note);
        else if (l->err->code != HEFT_OK)
            return false;
    }
    return true;
}

/* Notes which checkpoint of a directory is opened, if there was a choice. */
static bool note_choice(struct locating *l, const struct heft_candidates *all)
{
    const struct heft_candidate *best = all->best;
    const size_t others = count_others(all);
    struct heft_buf text = {0};
    size_t shown = 0;

    if (others > 0 || best->files > 0)
        heft_buf_printf(&text, "%s is opened", best->name);
    if (best->files)
        heft_buf_printf(&text, " with the others of its set of %u files without an index",
                        best->files);
    heft_buf_text(&text, others ? "; not " : "");
    for (size_t i = 0; i < all->n; i++)
        if (heft_candidate_is_other(&all->list[i], best))
            heft_list_name(&text, shown++, heft_str_of(all->list[i].name));
    heft_list_end(&text, others);
    if (!add_beside(l, &text)) {
        heft_buf_release(&text);
        return false;
    }
    return text.n == 0 || keep_note(l, &text);
}

/* ---- choosing in a directory ------------------------------------------------------------- */

static bool choose_below(struct locating *l, bool *found)
{
    *found = false;
    for (size_t k = 0; k < l->formats->n && !*found; k++) {
        const struct heft_locator *const locator = locator_of(l, k);
        const char *name = locator->find_below
                               ? locator->find_below(&l->folder, l->mem, &l->out->note, l->err)
                               : NULL;

        *found = name != NULL;
        if (l->err->code != HEFT_OK || (name && !take_file(l, name)))
            return false;
    }
    return true;
}

/* Opens the set of files that the k-th format finds. */
static bool take_format_set(struct locating *l, size_t k, const struct heft_file_set *set)
{
    const char **paths = heft_arena_zero(l->mem, set->n, sizeof *paths, l->err);

    for (size_t i = 0; paths && i < set->n; i++)
        if (!(paths[i] = in_folder(l, set->names[i])))
            return false;
    l->out->paths = paths;
    l->out->n = set->n;
    l->out->note = set->note;
    l->out->is_numbered = set->is_numbered;
    l->out->format = set->is_entry ? l->formats->list[k]->name : NULL;
    return paths != NULL;
}

static bool choose_set(struct locating *l, bool *found)
{
    *found = false;
    for (size_t k = 0; k < l->formats->n && !*found; k++) {
        const struct heft_locator *const locator = locator_of(l, k);
        struct heft_file_set set = {0};

        if (!locator->find_set)
            continue;
        if (!locator->find_set(&l->folder, l->mem, &set, l->err))
            return false;
        *found = set.n > 0;
        if (*found && !take_format_set(l, k, &set))
            return false;
    }
    return true;
}

static bool choose_candidate(struct locating *l, bool *found)
{
    const struct heft_foreign *const foreign = l->formats->foreign;
    const char *document = find_document(l, &l->folder);
    struct heft_candidates all;

    *found = true;
    if (document)
        return take_file(l, document);
    if (!heft_folder_judge(l->formats, &l->folder, l->mem, &all, l->err))
        return false;
    if (!(all.best && all.best->rank <= HEFT_FILE_MANIFEST)) {
        if (!choose_set(l, found))
            return false;
        if (*found)
            return true;
        *found = true;
    }
    if (!(all.best && all.well_known) && foreign &&
        foreign->refuse_folder(l->folder.names, l->folder.n, l->err))
        return false;
    if (all.several)
        return refuse_several(l, &all);
    if (all.best)
        return (all.best->files ? take_set(l, all.best) : take_file(l, all.best->name)) &&
               note_choice(l, &all);
    return choose_below(l, found);
}

/* ---- selectors --------------------------------------------------------------------------- */

const struct heft_locator *heft_locate_selector(const struct heft_formats *formats,
                                                const struct heft_given_options *options)
{
    for (size_t k = 0; k < formats->n; k++) {
        const struct heft_locator *const locator = formats->list[k]->locator;

        if (locator && locator->selector &&
            heft_given_options_get(options, locator->selector).is_given)
            return locator;
    }
    return NULL;
}

static bool take_selected(struct locating *l, const struct heft_locator *locator)
{
    const char *const value = heft_given_options_get(l->options, locator->selector).text;
    const char *const name = locator->find_selected(l->folder.names, l->folder.n, value, l->err);

    return name && take_file(l, name);
}

static bool locate_inside(struct locating *l, const char *path, const struct heft_locator *selector)
{
    const struct heft_conventions *const known = l->formats->conventions;
    bool found;

    if (!heft_folder_list(&l->folder, path, l->mem, l->err))
        return false;
    if (known && known->enter && !known->enter(&l->folder, l->mem, l->err))
        return false;
    if (selector)
        return take_selected(l, selector);
    return choose_candidate(l, &found) && (found || refuse_folder(l));
}

/* ---- resolving a path -------------------------------------------------------------------- */

/* Checkpoint of a file whose name extends `base`: "ckpt-3" for "ckpt"; empty: none. */
static struct heft_str related_to(const struct locating *l, const char *name, const char *base)
{
    struct heft_str found = {name, 0};

    for (size_t k = 0; k < l->formats->n && found.n == 0; k++)
        if (locator_of(l, k)->related_to)
            found = locator_of(l, k)->related_to(name, base);
    return found;
}

/* Fails for a missing path, with the checkpoints beside it whose names extend it. */
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
    if (given[base] == '\0' || !heft_folder_list(&l->folder, where, l->mem, &ignored))
        return true;
    for (size_t i = 0; i < l->folder.n; i++) {
        const struct heft_str prefix = related_to(l, l->folder.names[i], given + base);

        if (prefix.n > 0 && !heft_str_eq(prefix, last)) {
            heft_list_name(&names, count++, prefix);
            last = prefix;
        }
    }
    if (count == 0)
        return true;
    heft_list_end(&names, count);
    return heft_list_refuse(&names, "there is no such file, but the directory has",
                            "name one of them", l->err);
}

/* File to open for a path, by the first format that knows such names; `given` if none does. */
static const char *follow_path(struct locating *l, const char *given)
{
    const char *path = given;

    for (size_t k = 0; k < l->formats->n && path == given; k++)
        if (locator_of(l, k)->follow_path)
            path = locator_of(l, k)->follow_path(l->folder.files, given, l->mem, l->err);
    return path;
}

static bool locate_path(struct locating *l, const char *given)
{
    const char **path = heft_arena_zero(l->mem, 1, sizeof *path, l->err);

    if (!path || !(*path = follow_path(l, given)))
        return false;
    l->out->paths = path;
    l->out->n = 1;
    return *path != given || heft_files_kind(l->folder.files, given) != HEFT_PATH_NONE ||
           refuse_missing(l, given);
}

bool heft_locate(const struct heft_formats *formats, const struct heft_files *files,
                 const char *given, const struct heft_given_options *options,
                 struct heft_arena *mem, struct heft_located *out, struct heft_error *err)
{
    struct locating l = {.formats = formats,
                         .options = options,
                         .folder = {.files = files},
                         .mem = mem,
                         .out = out,
                         .err = err};
    const struct heft_locator *const selector = heft_locate_selector(formats, options);
    const char *folder;

    *out = (struct heft_located){0};
    if (heft_files_kind(files, given) == HEFT_PATH_DIR)
        return locate_inside(&l, given, selector);
    if (!selector)
        return locate_path(&l, given);
    folder = selector->find_selected_folder(given, mem, err);
    return folder && locate_inside(&l, folder, selector);
}
