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
#include <heft/job.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_OF_OPTIONS = 9 }; /* paths that are no inputs */

static unsigned confined; /* set of enum heft_confined */
static unsigned to_open;  /* inputs that the verb opens one by one */
static bool is_quiet;     /* without notes */
/* The verb opens files again when its inputs are open: the output of --verify; models of Keras,
 * which info and verify scan. */
static bool opens_again;

struct paths {
    struct heft_confine_path *items;
    size_t n;
};

static void add_path(struct paths *paths, const char *path, enum heft_confine_use use)
{
    if (path)
        paths->items[paths->n++] = (struct heft_confine_path){path, use};
}

/* Whether the input is the plan of a job, which names the files. */
static bool reads_job(const struct verb *verb)
{
    return verb->run == cmd_run || verb->run == cmd_commit || verb->run == cmd_abort;
}

static bool reads_texts(const struct verb *verb)
{
    return verb->run == cmd_encode || verb->run == cmd_count || verb->run == cmd_train;
}

static enum heft_confine_use use_of_inputs(const struct options *options, const struct verb *verb)
{
    if (verb->run == cmd_decode || verb->run == cmd_join) /* X.idx is beside X.bin */
        return HEFT_CONFINE_FOLDER;
    if (reads_texts(verb) || reads_job(verb))
        return HEFT_CONFINE_TEXT;
    return verb->run == cmd_scan || verb->run == cmd_digest || options->against
               ? HEFT_CONFINE_TREE
               : HEFT_CONFINE_CHECKPOINT;
}

/* A rules file, and JSON files beside the first input. Presets are no files, which does not matter here. */
static void add_rules(struct paths *paths, const struct options *options, const char *path)
{
    add_path(paths, path, HEFT_CONFINE_TEXT);
    if (options->inputs.n > 0)
        add_path(paths, options->inputs.items[0], HEFT_CONFINE_FOLDER);
}

static void add_inputs(struct paths *paths, const struct options *options, const struct verb *verb)
{
    const size_t names = verb->run == cmd_get && options->inputs.n > 1 ? 1 : 0;

    for (size_t i = 0; i < options->inputs.n - names; i++)
        add_path(paths, options->inputs.items[i], use_of_inputs(options, verb));
    /* convert --into MODEL copies its other files; --base is opened like an input. */
    for (size_t i = 0; i < options->n_format_options; i++)
        if (strcmp(options->format_options[i].name, "into") == 0)
            add_path(paths, options->format_options[i].value, HEFT_CONFINE_TREE);
        else if (strcmp(options->format_options[i].name, "base") == 0)
            add_path(paths, options->format_options[i].value, HEFT_CONFINE_CHECKPOINT);
    for (size_t i = 0; i < options->n_rules; i++)
        if (options->rules[i].kind == HEFT_RULE_FILE)
            add_rules(paths, options, options->rules[i].left);
    add_path(paths, options->vocab, HEFT_CONFINE_FOLDER);
    add_path(paths, options->against, HEFT_CONFINE_TEXT);
}

static void add_outputs(struct paths *paths, const struct options *options)
{
    if (options->output && strcmp(options->output, "-") != 0)
        add_path(paths, options->output, HEFT_CONFINE_WRITE);
    add_path(paths, options->html, HEFT_CONFINE_WRITE);
    add_path(paths, options->rejects, HEFT_CONFINE_WRITE);
    add_path(paths, options->lengths, HEFT_CONFINE_WRITE);
    /* It is read again, and may be HDF5. */
    if (options->verify)
        add_path(paths, options->output, HEFT_CONFINE_CHECKPOINT);
}

/* Writes the path models/MODEL of --model_name to *path, which the caller frees; NULL without that
 * option. False if memory is short. */
static bool find_model(const struct options *options, char **path)
{
    const size_t room = options->model ? strlen(options->model) + sizeof "models/" : 0;

    *path = room ? malloc(room) : NULL;
    if (*path)
        snprintf(*path, room, "models/%s", options->model);
    return room == 0 || *path;
}

/* Notes if the kernel has a layer that could not be entered. */
static void note_missing(const struct options *options)
{
    const unsigned missing = heft_confine_available(NULL) & ~confined;

    if (missing & (HEFT_CONFINED_FILES | HEFT_CONFINED_CALLS))
        report_note(options, "the command cannot confine itself: %s%s%s",
                    missing & HEFT_CONFINED_FILES ? "Landlock" : "",
                    missing & HEFT_CONFINED_FILES && missing & HEFT_CONFINED_CALLS ? " and " : "",
                    missing & HEFT_CONFINED_CALLS ? "seccomp" : "");
}

/* Number of paths of a job; adds them to `paths` if there is room. */
static size_t add_job(struct paths *paths, const struct heft_job *job)
{
    struct heft_confine_path path;
    size_t n = 0;

    for (; heft_job_path_at(job, n, &path); n++)
        if (paths)
            paths->items[paths->n++] = path;
    return n;
}

static void confine_to(struct paths *paths, char *model, const struct heft_job *job,
                       const struct options *options, const struct verb *verb)
{
    to_open = verb->run == cmd_diff ? 2 : 1;
    is_quiet = options->quiet;
    opens_again = options->verify || verb->run == cmd_info || verb->run == cmd_verify;
    add_path(paths, model, HEFT_CONFINE_FOLDER);
    (void)add_job(paths, job);
    add_inputs(paths, options, verb);
    add_outputs(paths, options);
    confined = heft_confine(paths->items, paths->n);
    note_missing(options);
}

bool sandbox_enter(const struct options *options, const struct verb *verb, struct heft_error *err)
{
    struct paths paths = {0};
    struct heft_job *job = NULL;
    char *model = NULL;
    bool ok;

    if (options->no_sandbox || options->help || verb->run == cmd_help ||
        verb->run == cmd_completion)
        return true;
    if (reads_job(verb) && !(job = heft_job_read(options->inputs.items[0], err)))
        return false;
    paths.items = calloc(options->inputs.n + options->n_format_options + 2 * options->n_rules +
                             MOST_OF_OPTIONS + add_job(NULL, job),
                         sizeof *paths.items);
    ok = paths.items && find_model(options, &model);
    if (ok)
        confine_to(&paths, model, job, options, verb);
    else
        no_memory(err, "the confinement");
    heft_job_free(job);
    free(model);
    free(paths.items);
    return ok;
}

void sandbox_opened(void)
{
    to_open -= to_open > 0;
    if (to_open == 0 && (confined & HEFT_CONFINED_CALLS) && !(confined & HEFT_CONFINED_PROCESSES) &&
        !opens_again)
        confined |= heft_confine_processes();
}

void sandbox_explain(const struct heft_error *err)
{
    if (!is_quiet && (confined & HEFT_CONFINED_FILES) && err->code == HEFT_IO && err->file[0] &&
        err->system_error == EACCES && access(err->file, R_OK) == 0)
        fprintf(stderr, "heft: note: the command confines itself to its inputs and their "
                        "directories; --no-sandbox lifts this\n");
}
