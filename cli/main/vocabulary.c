/* vocabulary.c: opens the vocabulary that the options select. */
#include "main/vocabulary.h"
#include "output/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Path models/MODEL of --model_name MODEL if it exists, else NULL. The caller frees it. */
static char *model_directory(const char *model)
{
    static const char before[] = "models/";
    char *const path = malloc(sizeof before + strlen(model));
    struct stat status;

    if (!path)
        return NULL;
    memcpy(path, before, sizeof before - 1);
    strcpy(path + sizeof before - 1, model);
    if (stat(path, &status) == 0)
        return path;
    free(path);
    return NULL;
}

/* Whether the name is a size of GPT-2. All sizes share one vocabulary. */
static bool is_gpt2(const char *model)
{
    static const char *const sizes[] = {"117M", "124M", "345M",  "355M",
                                        "762M", "774M", "1542M", "1558M"};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (strcmp(model, sizes[i]) == 0)
            return true;
    return false;
}

/* Reports a --vocab that does not exist: it may be the name of a published vocabulary. */
static bool is_there(const char *path, struct heft_error *err)
{
    struct stat status;

    return stat(path, &status) == 0 || errno != ENOENT ||
           usage_error(err,
                       "--vocab %s: no such file or directory; give a path, not the name of a "
                       "vocabulary (GPT-2's is built in: leave --vocab out)",
                       path);
}

static void note_vocabulary(const struct options *options, const char *path,
                            const struct heft_vocab *v, bool of_ids)
{
    const char *note;

    if (!of_ids && heft_vocab_doubt(v))
        report_note(options, "--pattern %s: %s", options->split_pattern, heft_vocab_doubt(v));
    for (size_t i = 0; (note = heft_vocab_note(v, of_ids, i)) != NULL; i++)
        report_note(options, "%s: %s", path ? path : "", note);
}

static struct heft_vocab *open_named(const struct options *options, const char *path, bool of_ids,
                                     struct heft_error *err)
{
    const struct heft_vocab_options how = {.size = sizeof how,
                                           .pattern = options->split_pattern,
                                           .eot_token = options->eot_token,
                                           .normalize = options->normalize};
    struct heft_vocab *const v = heft_vocab_open_with(path, &how, err);

    if (v)
        note_vocabulary(options, path, v, of_ids);
    return v;
}

struct heft_vocab *vocabulary_open(const struct options *options, bool of_ids,
                                   struct heft_error *err)
{
    char *const model = options->vocab || !options->model ? NULL : model_directory(options->model);
    struct heft_vocab *v = NULL;

    if (options->vocab && options->model)
        usage_error(err, "--vocab and --model_name cannot be combined: each selects a vocabulary");
    else if (!options->vocab && options->model && !model && !is_gpt2(options->model))
        usage_error(err, "--model_name %s: no directory models/%s, and not a size of GPT-2",
                    options->model, options->model);
    else if (!options->vocab || is_there(options->vocab, err))
        v = open_named(options, options->vocab ? options->vocab : model, of_ids, err);
    free(model);
    return v;
}
