/* zero_locate.c: finds DeepSpeed's checkpoints in a directory.
 *
 *     latest               names the directory below with the newest checkpoint
 *     latest_universal     the same for a universal one; only used if there is no `latest`
 *     *_model_states.pt    the directory is the checkpoint itself */
#include "base/text.h"
#include "format/torch/ranks/parallel.h"
#include "format/torch/ranks/shard_pickles.h"
#include "format/torch/ranks/zero.h"

enum { LONGEST_TAG = 255 };

/* ---- the file `latest` ------------------------------------------------------------------- */

/* Whether a tag is a plain name of a directory, by the rules of any system. */
static bool is_plain_name(const char *tag)
{
    return tag[0] && strcmp(tag, ".") != 0 && strcmp(tag, "..") != 0 && !strpbrk(tag, "/\\:");
}

/* Reads the tag without white space at its end; "" if the file is empty, too long or has control
 * characters. NULL if there is no such file, or on an error. */
static const char *read_tag(const struct heft_folder *folder, const char *file,
                            struct heft_arena *mem, struct heft_error *err)
{
    struct heft_error ignored = {0};
    struct heft_source source;
    struct heft_bytes text;
    const char *path;
    bool ok;

    if (!heft_folder_has(folder, file))
        return NULL;
    path = heft_folder_join(folder, file, mem, err);
    if (!path || heft_files_kind(folder->files, path) != HEFT_PATH_FILE ||
        !heft_files_open(folder->files, &source, path, &ignored))
        return NULL;
    ok = source.size <= LONGEST_TAG &&
         heft_source_fetch(&source, 0, source.size, mem, &text, &ignored);
    heft_source_close(&source);
    if (!ok)
        return "";
    while (text.n > 0 && text.p[text.n - 1] <= ' ')
        text.n--;
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] < ' ')
            return "";
    return heft_arena_text(mem, (struct heft_str){(const char *)text.p, text.n}, err);
}

/* Tag of the newest checkpoint; NULL if no file names one, or on an error. */
static const char *newest_tag(const struct heft_folder *folder, struct heft_arena *mem,
                              struct heft_error *err)
{
    const char *tag = read_tag(folder, "latest", mem, err);

    return tag || err->code != HEFT_OK ? tag : read_tag(folder, "latest_universal", mem, err);
}

/* Model file of the directory of a tag, as "TAG/FILE"; NULL if there is none, or on an error. */
static const char *entry_below(const struct heft_folder *folder, const char *tag,
                               struct heft_arena *mem, struct heft_error *err)
{
    struct heft_folder below = {.files = folder->files};
    struct heft_error ignored = {0};
    const char *path = heft_folder_join(folder, tag, mem, err), *entry;

    if (!path || heft_files_kind(folder->files, path) != HEFT_PATH_DIR ||
        !heft_folder_list(&below, path, mem, &ignored))
        return NULL;
    entry = heft_zero_entry(below.names, below.n, err);
    return entry ? heft_arena_printf(mem, err, "%s/%s", tag, entry) : NULL;
}

/* ---- the locator ------------------------------------------------------------------------- */

/* Model file of the checkpoint in a directory; NULL if there is none, or on an error. */
static const char *find_entry(const struct heft_folder *folder, struct heft_arena *mem,
                              struct heft_error *err)
{
    const char *entry = heft_zero_entry(folder->names, folder->n, err), *tag;

    if (entry || err->code != HEFT_OK)
        return entry;
    tag = newest_tag(folder, mem, err);
    return tag && is_plain_name(tag) ? entry_below(folder, tag, mem, err) : NULL;
}

static bool find_set(const struct heft_folder *folder, struct heft_arena *mem,
                     struct heft_file_set *out, struct heft_error *err)
{
    const char **name;
    const char *entry = find_entry(folder, mem, err);

    if (!entry)
        return err->code == HEFT_OK && heft_shards_find_set(folder, mem, out, err) &&
               (out->n > 0 || heft_parallel_find_set(folder, mem, out, err));
    name = heft_arena_zero(mem, 1, sizeof *name, err);
    if (!name)
        return false;
    *name = entry;
    *out = (struct heft_file_set){.names = name, .n = 1, .is_entry = true};
    return true;
}

static const char *find_beside(const struct heft_folder *folder, struct heft_arena *mem,
                               struct heft_error *err)
{
    const char *tag = newest_tag(folder, mem, err);
    struct heft_error ignored = {0};

    if (!tag || !is_plain_name(tag) || !entry_below(folder, tag, mem, &ignored))
        return NULL;
    return heft_arena_printf(
        mem, err, "not the DeepSpeed checkpoint %s, which is opened by its own name", tag);
}

static bool refuse_folder(const struct heft_folder *folder, struct heft_error *err)
{
    struct heft_arena mem = {0};
    const char *tag = newest_tag(folder, &mem, err);
    const char *path;

    if (tag && !is_plain_name(tag))
        heft_fail(err, HEFT_UNSAFE, HEFT_NO_OFFSET,
                  "its file latest names \"%.200s\"; only a directory beside it is followed", tag);
    else if (tag && (path = heft_folder_join(folder, tag, &mem, err)) != NULL)
        heft_fail(
            err, HEFT_MALFORMED, HEFT_NO_OFFSET,
            heft_files_kind(folder->files, path) == HEFT_PATH_DIR
                ? "the directory %.200s, which its file latest names, has no "
                  "*_model_states.pt of DeepSpeed"
                : "its file latest names the directory %.200s of DeepSpeed, which is not there",
            tag);
    heft_arena_release(&mem);
    return err->code != HEFT_OK;
}

const struct heft_locator heft_zero_locator = {
    .find_set = find_set,
    .find_beside = find_beside,
    .refuse_folder = refuse_folder,
};
