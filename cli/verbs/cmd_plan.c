/* cmd_plan.c: a conversion in parts: plan writes the file of a plan, run writes a part of the output,
 * commit gives the files their names, abort deletes what is temporary. */
#include "main/hints.h"
#include "main/rules.h"
#include "main/rules_files.h"
#include "main/sandbox.h"
#include "output/report.h"
#include "verbs/converting.h"

#include <heft/job.h>

#include <stdio.h>
#include <string.h>

/* ---- plan ----------------------------------------------------------------------------------- */

static struct heft_job *plan_inputs(const struct options *options, struct progress *progress,
                                    struct heft_error *err)
{
    struct heft_limits limits;
    const struct heft_open_options open = open_options(options, &limits);
    const struct heft_convert_options how = convert_options(options, progress);
    struct heft_job *const job =
        heft_job_plan(options->inputs.items, options->inputs.n, &open, &how,
                      options->parts ? (size_t)options->parts : 1, err);

    sandbox_opened();
    if (job && report_opened(options, heft_job_checkpoint(job), err))
        return job;
    heft_job_free(job);
    return NULL;
}

int cmd_plan(const struct options *given, struct out *out)
{
    struct options shared = *given;
    const struct options *const options = &shared;
    struct heft_error err = {0};
    struct heft_job *job = NULL;
    struct rule_report rules = {0};
    struct progress progress;
    const char *text;
    bool fine;
    size_t n;

    convert_share_options(&shared);
    progress_begin(&progress, options, "plan");
    if (convert_check_output(options, "plan", &err) && rules_files_read(&shared, &err))
        job = plan_inputs(options, &progress, &err);
    progress_end(&progress);
    fine = job && rules_count(&rules, options, heft_job_checkpoint(job), &err);
    if (fine) {
        convert_report_notes(options, heft_job_conversion(job), 0);
        text = heft_job_text(job, &n);
        out_bytes(out, text, n);
    }
    rules_release(&rules);
    heft_job_free(job);
    hint_convert(&err);
    return fine ? EXIT_SOUND : report_error(&err);
}

/* ---- run, commit, abort --------------------------------------------------------------------- */

static struct heft_job *open_job(const struct options *options, struct progress *progress,
                                 struct heft_error *err)
{
    const struct heft_job_options how = {
        .size = sizeof how,
        .threads = options_threads(options),
        .progress = progress_step,
        .progress_ctx = progress,
    };
    struct heft_job *const job = heft_job_read(options->inputs.items[0], err);
    const bool fine = job && heft_job_open(job, &how, err);

    sandbox_opened();
    if (fine)
        return job;
    heft_job_free(job);
    return NULL;
}

static bool run_part(const struct options *options, struct out *out, struct heft_job *job,
                     struct heft_error *err)
{
    const size_t parts = heft_job_parts(job);
    uint64_t part = 0, count = 0;
    bool was_done;

    if (!options_part(options, &part, &count, err))
        return false;
    if (count != parts)
        return usage_error(err, "run: --part %s: the plan has %zu parts; expected K/%zu",
                           options->part, parts, parts);
    if (!heft_job_run(job, (size_t)part, &was_done, err))
        return false;
    out_text(out, "part ");
    out_u64(out, part);
    out_char(out, '/');
    out_u64(out, parts);
    out_text(out, was_done ? " was done before\n" : " is done\n");
    return true;
}

int cmd_run(const struct options *options, struct out *out)
{
    struct heft_error err = {0};
    struct heft_job *job = NULL;
    struct progress progress;
    bool fine;

    progress_begin(&progress, options, "run");
    progress_catch();
    fine = options->part || usage_error(&err, "run: no part; give --part K/N");
    job = fine ? open_job(options, &progress, &err) : NULL;
    fine = job && run_part(options, out, job, &err);
    progress_end(&progress);
    heft_job_free(job);
    return fine ? EXIT_SOUND : report_error(&err);
}

/* The notes of planning were printed by plan. */
static bool commit_job(const struct options *options, struct heft_job *job,
                       struct progress *progress, struct heft_error *err)
{
    struct heft_conversion *const conversion = heft_job_conversion(job);
    const size_t planned = heft_convert_note_count(conversion);
    bool fine = heft_job_commit(job, NULL, err);

    progress_end(progress);
    convert_report_notes(options, conversion, planned);
    progress->what = "verify";
    fine = fine && convert_verify(options, conversion, err);
    progress_end(progress);
    return fine;
}

int cmd_commit(const struct options *options, struct out *out)
{
    struct heft_error err = {0};
    struct heft_job *job;
    struct progress progress;
    bool fine;

    progress_begin(&progress, options, "commit");
    progress_catch();
    job = open_job(options, &progress, &err);
    fine = job && commit_job(options, job, &progress, &err);
    if (fine)
        convert_print_files(out, heft_job_conversion(job));
    heft_job_free(job);
    return fine ? EXIT_SOUND : report_error(&err);
}

int cmd_abort(const struct options *options, struct out *out)
{
    struct heft_error err = {0};
    struct heft_job *const job = heft_job_read(options->inputs.items[0], &err);
    size_t n = 0;
    const bool fine = job && heft_job_abort(job, &n, &err);

    if (fine) {
        out_text(out, "deleted ");
        out_u64(out, n);
        out_text(out, n == 1 ? " temporary file\n" : " temporary files\n");
    }
    heft_job_free(job);
    return fine ? EXIT_SOUND : report_error(&err);
}
