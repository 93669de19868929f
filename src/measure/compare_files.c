/* compare_files.c: compares files with a list such as SHA256SUMS.
 *
 *     files of the checkpoint                  must be in the list, and equal
 *     other files of the list below an input   must exist, and be equal
 *     other files of the list                  counted in a note
 *     other files below an input               counted in a note */
#include "measure/compare.h"
#include "measure/file_subjects.h"

#define MOST_UP 64 /* directories between the list and an input that contains it */

struct comparing {
    struct heft_comparison *c;
    struct heft_arena mem;
    struct heft_str folder; /* of the list, with its slash; "" for the current one */
    struct heft_known_files known;
    bool *is_listed; /* for each known file */
    struct heft_file_subjects subjects;
    struct heft_file_id *ids;    /* of the files of the list, for `listed` */
    struct heft_strmap listed;   /* files of the list that exist, by identity */
    struct heft_file_id *inputs; /* the directories among the inputs */
    size_t n_inputs;
    bool is_below; /* the list itself lies below one of them */
    uint64_t outside, unlisted;
};

/* ---- directories --------------------------------------------------------------------------- */

static bool is_input(const struct comparing *k, const struct heft_os_stat *st)
{
    for (size_t i = 0; i < k->n_inputs; i++)
        if (k->inputs[i].device == st->device && k->inputs[i].inode == st->inode)
            return true;
    return false;
}

static bool find_inputs(struct comparing *k, struct heft_error *err)
{
    struct heft_os_stat st;
    bool is_there;

    k->inputs = heft_calloc(k->c->n_inputs + 1, sizeof *k->inputs, err);
    if (!k->inputs)
        return false;
    for (size_t i = 0; i < k->c->n_inputs; i++) {
        if (!heft_file_examine(k->c->files, k->c->inputs[i], &st, &is_there, err))
            return false;
        if (is_there && st.is_dir)
            k->inputs[k->n_inputs++] = heft_file_id_of(&st);
    }
    return true;
}

/* Climbs from the directory of the list to the root. */
static bool find_above(struct comparing *k, struct heft_error *err)
{
    struct heft_buf at = {0};
    struct heft_os_stat st, last = {0};
    bool is_there = true, ok = true;

    heft_buf_str(&at, k->folder.n ? k->folder : heft_str_of("./"));
    heft_buf_char(&at, '.');
    for (unsigned i = 0; ok && !k->is_below && i < MOST_UP; i++) {
        heft_buf_char(&at, '\0');
        ok = heft_buf_ok(&at, err) && heft_file_examine(k->c->files, at.p, &st, &is_there, err);
        if (!ok || !is_there || (i > 0 && st.device == last.device && st.inode == last.inode))
            break;
        k->is_below = is_input(k, &st);
        last = st;
        at.n--;
        heft_buf_text(&at, "/..");
    }
    heft_buf_release(&at);
    return ok;
}

/* *is_below: whether a path of the list lies below one of the input directories. */
static bool judge_place(struct comparing *k, const char *path, bool *is_below,
                        struct heft_error *err)
{
    struct heft_buf at = {0};
    struct heft_os_stat st;
    bool ok = true, is_there;

    *is_below = k->is_below;
    for (size_t i = k->folder.n; ok && !*is_below && k->n_inputs > 0 && path[i]; i++) {
        if (path[i] != '/')
            continue;
        at.n = 0;
        heft_buf_put(&at, path, i);
        heft_buf_char(&at, '\0');
        ok = heft_buf_ok(&at, err) && heft_file_examine(k->c->files, at.p, &st, &is_there, err);
        *is_below = ok && is_there && is_input(k, &st);
    }
    heft_buf_release(&at);
    return ok;
}

/* ---- files of the list --------------------------------------------------------------------- */

static void report_entry(const struct comparing *k, const struct heft_digest_entry *entry,
                         const char *path, const char *what)
{
    heft_comparison_report(k->c, HEFT_FINDING, path, HEFT_NO_OFFSET,
                           "%s; line %" PRIu64 " of the list has its digest", what, entry->line);
}

static bool add_subject(struct comparing *k, const struct heft_digest_entry *entry,
                        const char *path, const struct heft_os_stat *st, struct heft_error *err)
{
    struct heft_file_id *const id = &k->ids[entry - k->c->list->entries];
    struct heft_file_subject subject = {.path = path, .size = st->size, .entry = entry};
    uint32_t file, found;
    bool is_below;

    *id = subject.id = heft_file_id_of(st);
    memcpy(subject.digest, entry->sha256, sizeof subject.digest);
    file = heft_known_file(&k->known, id);
    if (file != HEFT_MAP_NONE) {
        k->is_listed[file] = true;
        subject.source = &k->known.files[file]->source;
        subject.size = subject.source->size;
    } else if (!judge_place(k, path, &is_below, err)) {
        return false;
    } else if (!is_below) {
        k->outside++;
        return true;
    }
    if (!st->is_file) {
        report_entry(k, entry, path, st->is_dir ? "is a directory" : "is not a regular file");
        return true;
    }
    return heft_strmap_add(&k->listed, heft_file_id_key(id), 0, &found, err) &&
           heft_file_subjects_add(&k->subjects, &subject, err);
}

static bool match_entry(struct comparing *k, const struct heft_digest_entry *entry,
                        struct heft_error *err)
{
    const char *const path = heft_file_join(&k->mem, k->folder, entry->name.p, err);
    struct heft_os_stat st;
    bool is_there, is_below;

    if (!path || !heft_file_examine(k->c->files, path, &st, &is_there, err))
        return false;
    if (is_there)
        return add_subject(k, entry, path, &st, err);
    if (!judge_place(k, path, &is_below, err))
        return false;
    k->outside += !is_below;
    if (is_below)
        report_entry(k, entry, path, "is missing");
    return true;
}

static bool match_entries(struct comparing *k, struct heft_error *err)
{
    for (size_t i = 0; i < k->c->list->n; i++)
        if (!match_entry(k, &k->c->list->entries[i], err))
            return false;
    return true;
}

/* ---- files that are not in the list ---------------------------------------------------------- */

static void report_new(const struct comparing *k)
{
    for (size_t i = 0; i < k->known.n; i++)
        if (!k->is_listed[i] && heft_known_file(&k->known, &k->known.ids[i]) == i)
            heft_comparison_report(k->c, HEFT_FINDING, k->known.files[i]->path, HEFT_NO_OFFSET,
                                   "not in the list");
}

static bool count_unlisted(void *ctx, const struct heft_walked *file, struct heft_error *err)
{
    struct comparing *const k = ctx;
    const struct heft_file_id id = heft_file_id_of(&file->st);
    const bool is_listed = heft_strmap_get(&k->listed, heft_file_id_key(&id)) != HEFT_MAP_NONE;

    (void)err;
    k->unlisted +=
        file->is_broken || (!is_listed && heft_known_file(&k->known, &id) == HEFT_MAP_NONE);
    return true;
}

static bool walk_inputs(struct comparing *k, struct heft_error *err)
{
    struct heft_os_stat st;
    bool is_there;

    for (size_t i = 0; i < k->c->n_inputs; i++) {
        if (!heft_file_examine(k->c->files, k->c->inputs[i], &st, &is_there, err))
            return false;
        if (is_there && st.is_dir &&
            !heft_file_walk(k->c->files, k->c->inputs[i], &k->mem, count_unlisted, k, err))
            return false;
    }
    return true;
}

/* The list itself is no file that it could have a digest of. */
static bool mark_list(struct comparing *k, struct heft_file_id *id, struct heft_error *err)
{
    struct heft_os_stat st;
    uint32_t found;
    bool is_there;

    if (!heft_file_examine(k->c->files, k->c->list->path, &st, &is_there, err))
        return false;
    *id = heft_file_id_of(&st);
    return !is_there || heft_strmap_add(&k->listed, heft_file_id_key(id), 0, &found, err);
}

static void report_counts(const struct comparing *k)
{
    if (k->outside)
        heft_comparison_report(k->c, HEFT_NOTE, k->c->list->path, HEFT_NO_OFFSET,
                               "%" PRIu64 " file%s of the list %s not part of the input: not "
                               "compared",
                               k->outside, k->outside == 1 ? "" : "s",
                               k->outside == 1 ? "is" : "are");
    if (k->unlisted)
        heft_comparison_report(k->c, HEFT_NOTE, k->c->list->path, HEFT_NO_OFFSET,
                               "%" PRIu64 " other file%s in the input's directory %s not in the "
                               "list",
                               k->unlisted, k->unlisted == 1 ? "" : "s",
                               k->unlisted == 1 ? "is" : "are");
}

bool heft_compare_files(struct heft_comparison *c, struct heft_error *err)
{
    struct comparing k = {.c = c};
    struct heft_file_id own;
    bool ok;

    k.folder = (struct heft_str){c->list->path, heft_path_folder(c->list->path)};
    k.ids = heft_calloc(c->list->n + 1, sizeof *k.ids, err);
    ok = k.ids && heft_known_files_init(&k.known, c, err) && find_inputs(&k, err) &&
         (k.n_inputs == 0 || find_above(&k, err));
    k.is_listed = ok ? heft_calloc(k.known.n + 1, sizeof *k.is_listed, err) : NULL;
    ok = k.is_listed && match_entries(&k, err) && mark_list(&k, &own, err) && walk_inputs(&k, err);
    if (ok)
        report_new(&k);
    ok = ok && heft_file_subjects_compare(&k.subjects, c, err);
    if (ok)
        report_counts(&k);
    heft_free(k.ids);
    heft_free(k.is_listed);
    heft_free(k.inputs);
    heft_known_files_release(&k.known);
    heft_strmap_release(&k.listed);
    heft_file_subjects_release(&k.subjects);
    heft_arena_release(&k.mem);
    return ok;
}
