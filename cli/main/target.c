/* target.c: see target.h. */
#include "main/target.h"
#include "output/progress.h"
#include "output/report.h"

#include <errno.h>
#include <heft/heft.h>

bool target_open(struct target *target, const struct options *options, struct heft_error *err)
{
    const struct heft_output_options how = {sizeof how, options->overwrite, options->no_sync};

    *target = (struct target){.options = options};
    progress_catch(); /* so that a signal does not leave the temporary file behind */
    target->output = heft_output_new(options->output, &how, err);
    if (!target->output)
        return false;
    return out_open(&target->out, heft_output_descriptor(target->output)) ||
           target_close(target, no_memory(err, "the output"), err);
}

bool target_close(struct target *target, bool fine, struct heft_error *err)
{
    const bool is_written = !target->out.buffer || out_close(&target->out);

    if (fine && !is_written) {
        errno = target->out.error;
        fine = system_error(err, target->options->output, "cannot write");
    }
    if (fine && progress_interrupted())
        fine = usage_error(err, "interrupted");
    fine = fine && heft_output_commit(target->output, err);
    heft_output_free(target->output);
    target->output = NULL;
    return fine;
}
