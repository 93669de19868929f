/* target.c: writes an output file completely or not at all. */
#include "main/target.h"
#include "output/progress.h"
#include "output/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* An existing output must be a regular file, and -f must allow its replacement. If another process
 * creates it meanwhile, give_name reports it. */
static bool may_replace(const struct options *options, struct heft_error *err)
{
    struct stat st;

    if (stat(options->output, &st) != 0)
        return true;
    if (!S_ISREG(st.st_mode))
        return usage_error(err, "%s: exists and is not a regular file", options->output);
    return options->overwrite || usage_error(err, "%s: exists; -f replaces it", options->output);
}

bool target_open(struct target *target, const struct options *options, struct heft_error *err)
{
    const char *const slash = strrchr(options->output, '/');
    const char *const name = slash ? slash + 1 : options->output;
    const size_t room = strlen(options->output) + 40;
    bool fine;

    *target = (struct target){.options = options, .fd = -1};
    if (!may_replace(options, err) || !heft_delete_stale(options->output, err))
        return false;
    target->temporary = malloc(room);
    if (!target->temporary)
        return no_memory(err, "the name");
    snprintf(target->temporary, room, "%.*s.%.180s.heft-%ld-0", (int)(name - options->output),
             options->output, name, (long)getpid());
    progress_catch(); /* so that a signal does not leave the temporary file behind */
    target->fd = open(target->temporary, O_WRONLY | O_CREAT | O_EXCL, 0666);
    fine = target->fd >= 0;
    if (!fine)
        system_error(err, options->output, "cannot be created");
    else if (!out_open(&target->out, target->fd))
        fine = target_close(target, no_memory(err, "the output"), err);
    if (!fine)
        free(target->temporary);
    return fine;
}

/* link() fails if the name exists; rename() replaces it. */
static bool give_name(const struct target *target, struct heft_error *err)
{
    const char *const name = target->options->output;

    if (target->options->overwrite)
        return rename(target->temporary, name) == 0 ||
               system_error(err, name, "cannot replace the file");
    if (link(target->temporary, name) == 0)
        return true;
    return errno == EEXIST ? usage_error(err, "%s: exists; -f replaces it", name)
                           : system_error(err, name, "cannot be created");
}

bool target_close(struct target *target, bool fine, struct heft_error *err)
{
    const bool is_written = !target->out.buffer || out_close(&target->out);

    if (fine && (!is_written || (!target->options->no_sync && fsync(target->fd) != 0))) {
        if (target->out.error)
            errno = target->out.error;
        fine = system_error(err, target->options->output, "cannot write");
    }
    close(target->fd);
    if (fine && progress_interrupted())
        fine = usage_error(err, "interrupted");
    fine = fine && give_name(target, err);
    unlink(target->temporary);
    free(target->temporary);
    target->temporary = NULL;
    return fine;
}
