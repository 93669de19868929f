/* tf_locate.c: finds the files of a TensorFlow checkpoint from the name that the user gives.
 *
 *     name given                         files found                       opened
 *     model.ckpt-3                       model.ckpt-3.index                the index (V2)
 *     model.ckpt-3                       model.ckpt-3-00000-of-00002 …     the first shard (V1)
 *     model.ckpt-3-?????-of-00002        model.ckpt-3-00000-of-00002 …     the first shard (V1)
 *     model.ckpt-3.data-00000-of-00002   model.ckpt-3.index                the index
 *     a directory                        checkpoint                        the latest one that it names
 *     a directory                        *.index                           the index, if there is one only
 *     a directory                        *.meta                            the checkpoint beside it, V2 or
 *                                                                          V1, if there is one .meta only
 *
 * If a step N is requested, the checkpoint in the directory whose name ends in -N is opened. */
#include "format/tensorflow/bundle/tf_locate.h"

#include "base/text.h"
#include "io/source.h"

#define NUMBER 5 /* least number of digits */

/* If the text ends in `word` and a number of five digits or more ("-of-00002"), returns the offset
 * of `word`; else 0. */
static size_t before_number(struct heft_str s, const char *word)
{
    const size_t n = strlen(word);
    size_t at = s.n;

    while (at > 0 && s.p[at - 1] >= '0' && s.p[at - 1] <= '9')
        at--;
    if (s.n - at < NUMBER || at < n || memcmp(s.p + at - n, word, n) != 0)
        return 0;
    return at - n;
}

/* Length of PREFIX in "PREFIX.data-00000-of-00001"; 0 for other names. */
static size_t data_prefix(struct heft_str name)
{
    const size_t of = before_number(name, "-of-");

    return before_number((struct heft_str){name.p, of}, ".data-");
}

/* Length of PREFIX in "PREFIX-?????-of-00001"; 0 for other names. */
static size_t pattern_prefix(struct heft_str name)
{
    const struct heft_str s = {name.p, before_number(name, "-of-")};

    return heft_str_ends(s, "-?????") && s.n > 6 ? s.n - 6 : 0;
}

static const char *if_file(const struct heft_files *files, const char *path)
{
    return path && heft_files_kind(files, path) == HEFT_PATH_FILE ? path : NULL;
}

/* The index beside a data file. The data file alone does not tell what it contains. */
static const char *index_of_data(const struct heft_files *files, const char *given, size_t prefix,
                                 struct heft_arena *mem, struct heft_error *err)
{
    const char *path = heft_arena_printf(mem, err, "%.*s.index", (int)prefix, given);

    if (!path || if_file(files, path))
        return path;
    heft_fail(
        err, HEFT_USAGE, HEFT_NO_OFFSET,
        "this is a data file of a TensorFlow checkpoint; %s, which says what is in it, is not "
        "there",
        path);
    return NULL;
}

/* Finds the first shard, "PREFIX-00000-of-N" for any N, of a V1 checkpoint; NULL if there is none. */
static const char *first_shard(const struct heft_files *files, const char *prefix,
                               struct heft_arena *mem, struct heft_error *err)
{
    const size_t folder = heft_path_folder(prefix);
    const char *where = heft_arena_printf(mem, err, "%.*s.", (int)folder, prefix);
    const struct heft_str base = heft_str_of(prefix + folder);
    struct heft_error found = {0};
    const char *const *names;
    size_t n;

    if (!where)
        return NULL;
    if (!heft_files_list(files, where, mem, &names, &n, &found)) {
        if (found.code == HEFT_NOMEM || heft_files_kind(files, where) != HEFT_PATH_NONE)
            *err = found;
        return NULL; /* without a directory there are no shards */
    }
    for (size_t i = 0; i < n; i++) {
        const struct heft_str name = heft_str_of(names[i]);
        const size_t of = before_number(name, "-of-");

        if (of && heft_str_starts(name, base) &&
            before_number((struct heft_str){name.p, of}, "-") == base.n)
            return heft_arena_printf(mem, err, "%.*s%s", (int)folder, prefix, names[i]);
    }
    return NULL;
}

/* The first shard of a pattern "PREFIX-?????-of-00002", or NULL. */
static const char *shard_of_pattern(const struct heft_files *files, const char *given,
                                    size_t prefix, struct heft_arena *mem, struct heft_error *err)
{
    return if_file(
        files, heft_arena_printf(mem, err, "%.*s-00000%s", (int)prefix, given, given + prefix + 6));
}

const char *heft_tf_locate_prefix(const struct heft_files *files, const char *given,
                                  struct heft_arena *mem, struct heft_error *err)
{
    const size_t data = data_prefix(heft_str_of(given));
    const size_t pattern = pattern_prefix(heft_str_of(given));
    const char *path;

    if (data > 0)
        return index_of_data(files, given, data, mem, err);
    if (heft_files_kind(files, given) != HEFT_PATH_NONE)
        return given;
    if (pattern > 0)
        path = shard_of_pattern(files, given, pattern, mem, err);
    else if (!(path = heft_arena_printf(mem, err, "%s.index", given)))
        return NULL;
    else if (!if_file(files, path))
        path = first_shard(files, given, mem, err);
    if (err->code != HEFT_OK)
        return NULL;
    return path ? path : given; /* if nothing was found, opening fails and reports this name */
}

/* ---- directories of checkpoints ---------------------------------------------------------- */

uint64_t heft_tf_locate_shards(const char *name)
{
    const struct heft_str s = heft_str_of(name);
    const size_t of = before_number(s, "-of-");
    uint64_t n = 0;

    if (of == 0 || of + 13 < s.n || before_number((struct heft_str){name, of}, "-") == 0 ||
        data_prefix(s) > 0)
        return 0;
    for (size_t i = of + strlen("-of-"); i < s.n; i++) /* no overflow: at most nine digits */
        n = n * 10 + (uint64_t)(name[i] - '0');
    return n;
}

/* The checkpoint's prefix, "model.ckpt-7", if the name is that of its index, its V1 file or its
 * first V1 shard; empty for other names. */
static struct heft_str prefix_of(struct heft_str name)
{
    const struct heft_str none = {name.p, 0};

    if (heft_str_ends(name, ".index"))
        return (struct heft_str){name.p, name.n - strlen(".index")};
    if (data_prefix(name))
        return none;
    if (before_number(name, "-of-")) {
        name.n = before_number(name, "-of-");
        return heft_str_ends(name, "-00000") ? (struct heft_str){name.p, name.n - 6} : none;
    }
    return name;
}

static struct heft_str related_to(const char *name, const char *base)
{
    struct heft_str prefix = prefix_of(heft_str_of(name));
    const size_t n = strlen(base);

    if (heft_str_ends(prefix, ".meta"))
        prefix.n -= strlen(".meta");
    if (prefix.n < n + 2 || memcmp(name, base, n) != 0 || name[n] != '-' ||
        strspn(name + n + 1, "0123456789") < prefix.n - n - 1)
        prefix.n = 0;
    return prefix;
}

static bool ends_with_step(struct heft_str prefix, const char *step)
{
    const size_t n = strlen(step);

    return prefix.n > n && heft_str_ends(prefix, step) && prefix.p[prefix.n - n - 1] == '-';
}

static const char *find_step(const char *const *names, size_t n, const char *step,
                             struct heft_error *err)
{
    const char *found = NULL;

    for (size_t i = 0; i < n; i++) {
        if (!ends_with_step(prefix_of(heft_str_of(names[i])), step))
            continue;
        if (found) {
            heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "step %s is that of %s and of %s: name one",
                      step, found, names[i]);
            return NULL;
        }
        found = names[i];
    }
    if (!found)
        heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                  "no checkpoint in this directory has a name that ends with -%s", step);
    return found;
}

/* The directory of a `checkpoint` file that the user named. */
static const char *find_step_folder(const char *given, struct heft_arena *mem,
                                    struct heft_error *err)
{
    const size_t folder = heft_path_folder(given);

    if (strcmp(given + folder, "checkpoint") == 0)
        return heft_arena_printf(mem, err, "%.*s.", (int)folder, given);
    heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
              "a step can only be chosen in a directory of TensorFlow checkpoints, or through its "
              "checkpoint file");
    return NULL;
}

/* True if the directory contains parts of an interrupted sharded save ("…_temp…"). */
static bool is_interrupted(const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *temp = strstr(names[i], "_temp");

        if (temp && (temp[5] == '\0' || temp[5] == '_'))
            return true;
    }
    return false;
}

static bool refuse_folder(const struct heft_folder *folder, struct heft_error *err)
{
    if (!is_interrupted(folder->names, folder->n))
        return false;
    heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET,
              "a sharded save to this directory was interrupted: its parts are in a directory "
              "\"…_temp…\", which TensorFlow merges at the end, and no .index refers to them");
    return true;
}

const struct heft_locator heft_tf_locator = {
    .follow_path = heft_tf_locate_prefix,
    .selector = HEFT_TF_READ_STEP,
    .find_selected = find_step,
    .find_selected_folder = find_step_folder,
    .related_to = related_to,
    .refuse_folder = refuse_folder,
};
