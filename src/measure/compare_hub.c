/* compare_hub.c: compares the blobs of a Hugging Face cache with their names.
 *
 *     models--NAME/blobs/ab12…             64 digits: SHA-256 of the contents; 40: git's SHA-1
 *     models--NAME/snapshots/COMMIT/FILE   a link to a blob
 *
 * A blob is found by its identity (device and inode), so that it does not matter how an input leads
 * to it. */
#include "base/hex.h"
#include "measure/compare.h"
#include "measure/file_subjects.h"

#define MOST_UP 16 /* directories between an input and its repository */

struct comparing {
    struct heft_comparison *c;
    struct heft_arena mem;
    struct heft_known_files known;
    bool *is_seen;                   /* for each known file */
    struct heft_file_subjects blobs; /* of all repositories */
    struct heft_strmap numbers;      /* of blobs by identity */
    bool *is_wanted;                 /* for each blob */
    size_t cap_wanted;
    bool wants_all; /* while the blobs of a repository are listed that is an input itself */
    uint64_t unnamed, plain; /* blobs without a digest as their name, files that are no blobs */
};

/* ---- blobs --------------------------------------------------------------------------------- */

/* Reads a name of 64 or 40 digits. */
static bool read_name(const char *name, struct heft_file_subject *out)
{
    const size_t digits = strlen(name);

    if (digits != 2 * (size_t)HEFT_SHA256_BYTES && digits != 2 * (size_t)HEFT_SHA1_BYTES)
        return false;
    for (size_t i = 0; i < digits; i++) {
        const unsigned digit = heft_hex_digit((uint8_t)name[i]);

        if (digit == HEFT_NO_HEX)
            return false;
        out->digest[i / 2] = (uint8_t)((unsigned)out->digest[i / 2] << 4 | digit);
    }
    out->is_git = digits == 2 * (size_t)HEFT_SHA1_BYTES;
    return true;
}

static bool add_blob(void *ctx, const struct heft_walked *file, struct heft_error *err)
{
    struct comparing *const k = ctx;
    struct heft_file_subject blob = {.path = file->path, .size = file->st.size};
    struct heft_file_id *const id = heft_arena_alloc(&k->mem, sizeof *id, err);
    uint32_t found;

    if (!id)
        return false;
    *id = blob.id = heft_file_id_of(&file->st);
    if (file->is_broken || !file->st.is_file ||
        !read_name(file->path + heft_path_folder(file->path), &blob)) {
        k->unnamed++;
        return true;
    }
    if (!heft_strmap_add(&k->numbers, heft_file_id_key(id), (uint32_t)k->blobs.n, &found, err))
        return false;
    if (found != HEFT_MAP_NONE) { /* the repository has been read, or a hard link */
        k->is_wanted[found] |= k->wants_all;
        return true;
    }
    if (!heft_grow(&k->is_wanted, &k->cap_wanted, k->blobs.n, 1, sizeof *k->is_wanted, err))
        return false;
    k->is_wanted[k->blobs.n] = k->wants_all;
    return heft_file_subjects_add(&k->blobs, &blob, err);
}

/* ---- repositories -------------------------------------------------------------------------- */

static bool has_folder(struct comparing *k, const char *path, const char *name, bool *has,
                       struct heft_error *err)
{
    const char *const folder = heft_file_join(&k->mem, heft_str_of(path), name, err);
    struct heft_os_stat st;

    if (!folder || !heft_file_examine(k->c->files, folder, &st, has, err))
        return false;
    *has = *has && st.is_dir;
    return true;
}

/* Finds the repository that the directory of an input is or lies in: *depth directories above it. */
static bool find_repository(struct comparing *k, const char *input, const char *folder,
                            const char **repository, unsigned *depth, struct heft_error *err)
{
    bool has_blobs = false, has_snapshots = false;

    *repository = folder;
    for (*depth = 0; *depth < MOST_UP; (*depth)++) {
        if (!has_folder(k, *repository, "blobs", &has_blobs, err) ||
            !has_folder(k, *repository, "snapshots", &has_snapshots, err))
            return false;
        if (has_blobs && has_snapshots)
            return true;
        *repository = heft_file_join(&k->mem, heft_str_of(*repository), "..", err);
        if (!*repository)
            return false;
    }
    heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
              "is not in a repository of a Hugging Face cache: expected a directory with blobs and "
              "snapshots, or a file or directory below its snapshots");
    return heft_error_file(err, input);
}

/* ---- files of the inputs --------------------------------------------------------------------- */

static void want_blob(struct comparing *k, uint32_t number, const char *path)
{
    if (!k->is_wanted[number])
        k->blobs.list[number].path = path;
    k->is_wanted[number] = true;
}

static void report_plain(const struct comparing *k, const char *path)
{
    heft_comparison_report(k->c, HEFT_FINDING, path, HEFT_NO_OFFSET,
                           "is not a link to a blob of the cache: nothing vouches for it");
}

static bool want_file(void *ctx, const struct heft_walked *file, struct heft_error *err)
{
    struct comparing *const k = ctx;
    const struct heft_file_id id = heft_file_id_of(&file->st);
    uint32_t blob, known;

    (void)err;
    if (file->is_broken) {
        heft_comparison_report(k->c, HEFT_FINDING, file->path, HEFT_NO_OFFSET,
                               "is a link to a blob that is missing");
        return true;
    }
    blob = heft_strmap_get(&k->numbers, heft_file_id_key(&id));
    known = heft_known_file(&k->known, &id);
    if (blob != HEFT_MAP_NONE)
        want_blob(k, blob, file->path);
    else if (known != HEFT_MAP_NONE)
        report_plain(k, file->path);
    else
        k->plain++;
    if (known != HEFT_MAP_NONE)
        k->is_seen[known] = true;
    return true;
}

/* Files of the checkpoint that were not found below a directory, as its inputs are files. */
static void want_known(struct comparing *k)
{
    for (uint32_t i = 0; i < k->known.n; i++) {
        const uint32_t blob = heft_strmap_get(&k->numbers, heft_file_id_key(&k->known.ids[i]));

        if (k->is_seen[i] || heft_known_file(&k->known, &k->known.ids[i]) != i)
            continue;
        if (blob != HEFT_MAP_NONE)
            want_blob(k, blob, k->known.files[i]->path);
        else
            report_plain(k, k->known.files[i]->path);
    }
}

static bool add_input(struct comparing *k, const char *input, struct heft_error *err)
{
    struct heft_walked file = {.path = input};
    const size_t n = heft_path_folder(input);
    const char *folder = input, *repository, *blobs;
    unsigned depth;
    bool is_there;

    if (!heft_file_examine(k->c->files, input, &file.st, &is_there, err))
        return false;
    if (!is_there || !file.st.is_dir) /* a file, or the prefix of a TensorFlow checkpoint */
        folder = n ? heft_arena_text(&k->mem, (struct heft_str){input, n}, err) : ".";
    if (!folder || !find_repository(k, input, folder, &repository, &depth, err) ||
        !(blobs = heft_file_join(&k->mem, heft_str_of(repository), "blobs", err)))
        return false;
    k->wants_all = folder == input && depth == 0;
    if (!heft_file_walk(k->c->files, blobs, &k->mem, add_blob, k, err))
        return false;
    if (k->wants_all) /* also for links to blobs that are missing */
        input = heft_file_join(&k->mem, heft_str_of(input), "snapshots", err);
    if (folder != input && !k->wants_all)
        return !is_there || k->c->reader || want_file(k, &file, err);
    return input && heft_file_walk(k->c->files, input, &k->mem, want_file, k, err);
}

/* ---- the comparison -------------------------------------------------------------------------- */

/* Keeps the blobs that are wanted and can be hashed; *skipped: number of those that need SHA-1. */
static void keep_wanted(struct comparing *k, uint64_t *skipped)
{
    size_t n = 0;

    *skipped = 0;
    for (size_t i = 0; i < k->blobs.n; i++) {
        if (!k->is_wanted[i])
            continue;
        if (k->blobs.list[i].is_git && !k->c->how.hasher->sha1)
            (*skipped)++;
        else
            k->blobs.list[n++] = k->blobs.list[i];
    }
    k->blobs.n = n;
}

static void report_counts(const struct comparing *k, uint64_t skipped)
{
    if (skipped)
        heft_comparison_report(k->c, HEFT_NOTE, NULL, HEFT_NO_OFFSET,
                               "%" PRIu64 " small file%s named by a SHA-1, which needs libnettle: "
                               "not compared",
                               skipped, skipped == 1 ? " is" : "s are");
    if (k->unnamed)
        heft_comparison_report(k->c, HEFT_NOTE, NULL, HEFT_NO_OFFSET,
                               "%" PRIu64 " file%s in blobs %s no digest as a name (unfinished "
                               "downloads?): not compared",
                               k->unnamed, k->unnamed == 1 ? "" : "s",
                               k->unnamed == 1 ? "has" : "have");
    if (k->plain)
        heft_comparison_report(k->c, HEFT_NOTE, NULL, HEFT_NO_OFFSET,
                               "%" PRIu64 " other file%s in the input's directory %s no link to a "
                               "blob: not compared",
                               k->plain, k->plain == 1 ? "" : "s", k->plain == 1 ? "is" : "are");
}

static bool compare(struct comparing *k, struct heft_error *err)
{
    uint64_t skipped;

    k->is_seen = heft_calloc(k->known.n + 1, sizeof *k->is_seen, err);
    if (!k->is_seen)
        return false;
    for (size_t i = 0; i < k->c->n_inputs; i++)
        if (!add_input(k, k->c->inputs[i], err))
            return false;
    want_known(k);
    keep_wanted(k, &skipped);
    if (!heft_file_subjects_compare(&k->blobs, k->c, err))
        return false;
    report_counts(k, skipped);
    return true;
}

bool heft_compare_hub(struct heft_comparison *c, struct heft_error *err)
{
    struct comparing k = {.c = c};
    const bool ok = heft_known_files_init(&k.known, c, err) && compare(&k, err);

    heft_known_files_release(&k.known);
    heft_free(k.is_seen);
    heft_free(k.is_wanted);
    heft_file_subjects_release(&k.blobs);
    heft_strmap_release(&k.numbers);
    heft_arena_release(&k.mem);
    return ok;
}
