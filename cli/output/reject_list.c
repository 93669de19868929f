/* reject_list.c: refuses a --rejects file that is also an input or may be an output. */
#include "output/reject_list.h"
#include "output/report.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *name_of(const char *path)
{
    const char *const slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Device and inode of the directory of a path. */
static bool stat_directory_of(const char *path, struct stat *out)
{
    const size_t n = (size_t)(name_of(path) - path);
    char *const directory = malloc(n + 2);
    bool fine;

    if (!directory)
        return false;
    memcpy(directory, n ? path : ".", n ? n : 1);
    directory[n ? n : 1] = '\0';
    fine = stat(directory, out) == 0;
    free(directory);
    return fine;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Suffixes of the output's shards, splits and indexes; their names begin with the stem of the
 * output. */
static bool is_name_of_output(const char *list, const char *output)
{
    static const char *const ends[] = {".npz", ".npy", ".bin", ".idx", ".index", ".metadata"};
    const char *const dot = strrchr(output, '.');
    const size_t stem = dot ? (size_t)(dot - output) : strlen(output);
    const char *const end = strrchr(list, '.');

    if (strcmp(list, output) == 0)
        return true;
    if (!end || strncmp(list, output, stem) != 0)
        return false;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strcmp(end, ends[i]) == 0 || (dot && strcmp(end, dot) == 0))
            return true;
    return false;
}

static bool check_output(const struct options *options, const char *output, struct heft_error *err)
{
    struct stat list, beside;

    if (!stat_directory_of(options->rejects, &list) || !stat_directory_of(output, &beside) ||
        !is_same(&list, &beside) || !is_name_of_output(name_of(options->rejects), name_of(output)))
        return true;
    return usage_error(err,
                       "--rejects %s: the output may have a file of that name; choose another name",
                       options->rejects);
}

bool reject_list_check(const struct options *options, const struct heft_encoding *e,
                       struct heft_error *err)
{
    struct stat list, input;
    const char *path;

    if (!options->rejects)
        return true;
    if (!check_output(options, options->output, err) ||
        (options->lengths && !check_output(options, options->lengths, err)))
        return false;
    if (stat(options->rejects, &list) != 0)
        return true;
    for (size_t i = 0; (path = heft_encode_input(e, i)) != NULL; i++)
        if (stat(path, &input) == 0 && is_same(&list, &input))
            return usage_error(
                err, "--rejects %s: is an input, and would be overwritten; choose another name",
                options->rejects);
    return true;
}
