/* sandbox.c: see sandbox.h.
 *
 *     options known  ──►  sandbox_enter   files: inputs, outputs, shared objects; calls: no network,
 *                                         no execution; processes only if HDF5 may be read
 *     inputs open    ──►  sandbox_opened  no processes
 *
 * Files are named by the options only: what an input names may lie in its directory. */
#include "main/sandbox.h"
#include "output/report.h"

#include <errno.h>
#include <heft/confine.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_OF_OPTIONS = 8 }; /* paths that are no inputs */

static unsigned confined; /* set of enum heft_confined */
static unsigned to_open;  /* inputs that the verb opens one by one */

struct paths {
    struct heft_confine_path *items;
    size_t n;
};

static void add_path(struct paths *paths, const char *path, enum heft_confine_use use)
{
    if (path)
        paths->items[paths->n++] = (struct heft_confine_path){path, use};
}

static bool reads_texts(const struct verb *verb)
{
    return verb->run == cmd_encode || verb->run == cmd_count || verb->run == cmd_train ||
           verb->run == cmd_decode;
}

static enum heft_confine_use use_of_inputs(const struct options *options, const struct verb *verb)
{
    if (reads_texts(verb))
        return HEFT_CONFINE_TEXT;
    return verb->run == cmd_scan || verb->run == cmd_digest || options->against
               ? HEFT_CONFINE_TREE
               : HEFT_CONFINE_CHECKPOINT;
}

static void add_inputs(struct paths *paths, const struct options *options, const struct verb *verb)
{
    const size_t names = verb->run == cmd_get && options->inputs.n > 1 ? 1 : 0;

    for (size_t i = 0; i < options->inputs.n - names; i++)
        add_path(paths, options->inputs.items[i], use_of_inputs(options, verb));
    /* convert --into MODELDIR copies its other files. */
    for (size_t i = 0; i < options->n_format_options; i++)
        if (strcmp(options->format_options[i].name, "into") == 0)
            add_path(paths, options->format_options[i].value, HEFT_CONFINE_TREE);
    add_path(paths, options->vocab, HEFT_CONFINE_FOLDER);
    add_path(paths, options->against, HEFT_CONFINE_TEXT);
}

static void add_outputs(struct paths *paths, const struct options *options)
{
    if (options->output && strcmp(options->output, "-") != 0)
        add_path(paths, options->output, HEFT_CONFINE_WRITE);
    add_path(paths, options->html, HEFT_CONFINE_WRITE);
    add_path(paths, options->rejects, HEFT_CONFINE_WRITE);
    /* It is read again, and may be HDF5. */
    if (options->verify)
        add_path(paths, options->output, HEFT_CONFINE_CHECKPOINT);
}

/* Path models/MODEL of --model_name. The caller frees it. */
static char *find_model(const struct options *options)
{
    const size_t room = options->model ? strlen(options->model) + sizeof "models/" : 0;
    char *const path = room ? malloc(room) : NULL;

    if (path)
        snprintf(path, room, "models/%s", options->model);
    return path;
}

void sandbox_enter(const struct options *options, const struct verb *verb)
{
    struct paths paths = {0};
    char *model;

    if (options->no_sandbox || options->help || verb->run == cmd_help ||
        verb->run == cmd_completion)
        return;
    paths.items = calloc(options->inputs.n + options->n_format_options + MOST_OF_OPTIONS,
                         sizeof *paths.items);
    if (!paths.items)
        return; /* the verb reports that there is no memory */
    to_open = verb->run == cmd_diff ? 2 : 1;
    model = find_model(options);
    add_path(&paths, model, HEFT_CONFINE_FOLDER);
    add_inputs(&paths, options, verb);
    add_outputs(&paths, options);
    confined = heft_confine(paths.items, paths.n);
    free(model);
    free(paths.items);
}

void sandbox_opened(const struct options *options)
{
    to_open -= to_open > 0;
    if (to_open == 0 && (confined & HEFT_CONFINED_CALLS) && !(confined & HEFT_CONFINED_PROCESSES) &&
        !options->verify)
        confined |= heft_confine_processes();
}

void sandbox_explain(const struct heft_error *err)
{
    if ((confined & HEFT_CONFINED_FILES) && err->code == HEFT_IO && err->file[0] &&
        strstr(err->text, strerror(EACCES)) && access(err->file, R_OK) == 0)
        fprintf(stderr, "heft: note: the command confines itself to its inputs and their "
                        "directories; --no-sandbox lifts this\n");
}
