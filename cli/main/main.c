/* main.c: chooses the verb, parses its options, sets the exit status.
 *
 * Exit status: 0 for success or a positive answer, 1 for a negative answer, 2 for an error. Results
 * go to stdout, and every write is checked; errors and notes go to stderr. */
#include "main/heap.h"
#include "main/options.h"
#include "main/rules_files.h"
#include "main/sandbox.h"
#include "output/output.h"
#include "output/report.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opens /dev/null for each of the descriptors 0 to 2 that is closed. Otherwise the next file to be
 * opened would become standard output or standard error, and messages would be written into it. */
static bool hold_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) == -1 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd)
            return false;
    return true;
}

static bool wants_color(const struct options *options, const struct out *out)
{
    const char *const no_color = getenv("NO_COLOR");
    if (options->color && !strcmp(options->color, "always"))
        return true;
    if (options->color && !strcmp(options->color, "never"))
        return false;
    return out->terminal && !(no_color && *no_color);
}

/* Reports a first word that is neither a verb nor a file, as in `heft lss x`. */
static bool check_word(const struct options *options, const struct verb *verb, int word,
                       struct heft_error *err)
{
    const char *const first = options->inputs.n ? options->inputs.items[0] : "";
    const struct verb *near;
    struct stat status;

    if (word || strcmp(verb->name, "info") || !*first || strpbrk(first, "./") ||
        !strcmp(first, "-") || stat(first, &status) == 0)
        return true;
    near = verb_nearest(first);
    if (near)
        return usage_error(err, "'%s' is neither a verb nor a file; did you mean %s?", first,
                           near->name);
    return usage_error(err, "'%s' is neither a verb nor a file (heft help lists the verbs)", first);
}

static int run_verb(const struct options *options, const struct verb *verb)
{
    struct heft_error err = {0};
    struct out out;
    int status;

    if (!out_open(&out, STDOUT_FILENO)) {
        no_memory(&err, "the output");
        return report_error(&err);
    }
    out.color = wants_color(options, &out);
    if (options->help && verb->run != cmd_help) {
        help_verb(&out, verb);
        status = EXIT_SOUND;
    } else if (rules_files_asked(options)) {
        status = rules_files_print(options, &out);
    } else if (sandbox_enter(options, verb, &err)) {
        status = verb->run(options, &out);
    } else {
        status = report_error(&err);
    }
    if (out_close(&out))
        return status;
    errno = out.error;
    if (out.error != EPIPE) { /* not an error: the reader has closed the pipe */
        system_error(&err, "standard output", "cannot write");
        report_error(&err);
    }
    if (options->output && strcmp(options->output, "-") != 0 && !options->dry_run &&
        verb->run != cmd_plan && status != EXIT_TROUBLE)
        report_note(options, "the files of -o are written; only the report about them is lost");
    return EXIT_TROUBLE;
}

/* As many open files as the system allows: each file of a checkpoint of many ranks, or with a file for each
 * parameter, stays open. */
static void raise_open_files(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

int main(int argc, char **argv)
{
    struct heft_error err = {0};
    struct options options;
    int word, status;
    const struct verb *const verb = verb_of(argc, argv, &word);

    heap_settle();
    signal(SIGXFSZ, SIG_IGN); /* a file size limit is reported by write(), like a full disk */
    if (!hold_descriptors())
        return EXIT_TROUBLE;
    raise_open_files();
    if (argc < 2) {
        fputs("heft: usage: heft [VERB] INPUT… [options]; try 'heft help'\n", stderr);
        return EXIT_TROUBLE;
    }
    if (options_parse(&options, verb, argc, argv, word, &err) &&
        (options.help || check_word(&options, verb, word, &err)))
        status = run_verb(&options, verb);
    else
        status = report_error(&err);
    options_release(&options);
    return status;
}
