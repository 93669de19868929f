/* heft_job.c: the public API for conversions in parts.
 *
 *     plan      request ─► open, plan ─► text ─► parsed again
 *     run       text ─► request ─► open, plan ─► the same text? ─► a share of the chunks, a receipt
 *     commit    the same ─► all receipts ─► the end of a conversion
 *     abort     text ─► names of targets ─► their temporary names
 */
#include <errno.h>

#include "base/require_arg.h"
#include "base/sized.h"
#include "io/os.h"
#include "io/sink.h"
#include "job/job_parts.h"

#define MOST_TEXT ((uint64_t)64 << 20) /* bytes of the file of a plan */

/* ---- making and opening -------------------------------------------------------------------- */

static bool open_request(struct heft_job *job, struct heft_error *err)
{
    const struct heft_job_request *const r = &job->request;

    job->checkpoint = heft_open_many(r->inputs, r->n_inputs, &r->open, err);
    job->conversion = job->checkpoint ? heft_convert_plan(job->checkpoint, &r->convert, err) : NULL;
    if (!job->conversion)
        return false;
    job->conversion->exec.threads = r->convert.threads;
    return true;
}

static struct heft_job *parse_text(struct heft_str text, struct heft_error *err)
{
    struct heft_job *const job = heft_calloc(1, sizeof *job, err);

    if (!job)
        return NULL;
    heft_buf_str(&job->text, text);
    if (heft_buf_ok(&job->text, err) && heft_job_parse(job, text, err))
        return job;
    heft_job_free(job);
    return NULL;
}

/* Plans by a draft whose request belongs to the caller. The job is made of its text. */
static struct heft_job *plan_draft(struct heft_job *draft, struct heft_error *err)
{
    struct heft_buf text = {0};
    struct heft_job *job = NULL;

    if (open_request(draft, err) && heft_conversion_check_targets(draft->conversion, err) &&
        heft_job_write(draft, &text, err))
        job = parse_text((struct heft_str){text.p, text.n}, err);
    heft_buf_release(&text);
    if (!job)
        return NULL;
    job->checkpoint = draft->checkpoint;
    job->conversion = draft->conversion;
    draft->checkpoint = NULL;
    draft->conversion = NULL;
    return job;
}

static void release_job(struct heft_job *job)
{
    heft_convert_free(job->conversion);
    heft_close(job->checkpoint);
    heft_free(job->request.inputs);
    heft_free(job->files);
    heft_buf_release(&job->text);
    heft_arena_release(&job->mem);
}

struct heft_job *heft_job_plan(const char *const *inputs, size_t n_inputs,
                               const struct heft_open_options *open,
                               const struct heft_convert_options *convert, size_t parts,
                               struct heft_error *err)
{
    struct heft_job draft = {0};
    struct heft_job *job = NULL;

    if (heft_job_request_take(&draft, inputs, n_inputs, open, convert, parts, err))
        job = plan_draft(&draft, err);
    release_job(&draft);
    return job;
}

struct heft_job *heft_job_read(const char *path, struct heft_error *err)
{
    struct heft_arena mem = {0};
    struct heft_source source;
    struct heft_bytes all = {0};
    struct heft_job *job = NULL;

    if (!heft_require_arg(path, "a path", err) || !heft_source_open_file(&source, path, err))
        return NULL;
    if (source.size > MOST_TEXT)
        heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET, "a plan of %" PRIu64 " bytes, at most %" PRIu64,
                  source.size, MOST_TEXT);
    else if (heft_source_fetch(&source, 0, source.size, &mem, &all, err))
        job = parse_text((struct heft_str){(const char *)all.p, all.n}, err);
    if (!job)
        heft_error_file(err, path);
    heft_source_close(&source);
    heft_arena_release(&mem);
    return job;
}

/* Another process may have a different view of its options: those of the process alone. */
static bool take_options(struct heft_job *job, const struct heft_job_options *given,
                         struct heft_error *err)
{
    struct heft_job_options o;

    if (!HEFT_TAKE(heft_job_options, &o, given, err))
        return false;
    job->request.convert.threads = o.threads;
    job->request.convert.progress = o.progress;
    job->request.convert.progress_ctx = o.progress_ctx;
    return true;
}

bool heft_job_open(struct heft_job *job, const struct heft_job_options *options,
                   struct heft_error *err)
{
    struct heft_buf text = {0};
    bool ok;

    if (!heft_require_arg(job, "a job", err))
        return false;
    if (job->conversion)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "the job is open already");
    ok = take_options(job, options, err) && open_request(job, err) &&
         heft_job_write(job, &text, err) && heft_job_compare(job, &text, err);
    if (ok)
        job->conversion->exec.plan = job->id;
    heft_buf_release(&text);
    return ok;
}

void heft_job_free(struct heft_job *job)
{
    if (!job)
        return;
    heft_free((void *)(uintptr_t)job->request.open.options);
    heft_free((void *)(uintptr_t)job->request.convert.format_options);
    heft_free((void *)(uintptr_t)job->request.convert.rules);
    release_job(job);
    heft_free(job);
}

/* ---- looking ------------------------------------------------------------------------------- */

const char *heft_job_text(const struct heft_job *job, size_t *n)
{
    if (n)
        *n = job ? job->text.n : 0;
    return job ? job->text.p : NULL;
}

const char *heft_job_id(const struct heft_job *job)
{
    return job ? job->id : NULL;
}

size_t heft_job_parts(const struct heft_job *job)
{
    return job ? (size_t)job->request.parts : 0;
}

struct heft_checkpoint *heft_job_checkpoint(const struct heft_job *job)
{
    return job ? job->checkpoint : NULL;
}

struct heft_conversion *heft_job_conversion(const struct heft_job *job)
{
    return job ? job->conversion : NULL;
}

/* Options `into` and `base` hold the only paths, which are absolute; a directory is copied. */
bool heft_job_path_at(const struct heft_job *job, size_t index, struct heft_confine_path *out)
{
    const struct heft_convert_options *o;

    if (!(job && out))
        return false;
    o = &job->request.convert;
    if (index < job->request.n_inputs) {
        *out = (struct heft_confine_path){job->request.inputs[index], HEFT_CONFINE_CHECKPOINT};
        return true;
    }
    index -= job->request.n_inputs;
    if (index == 0) {
        *out = (struct heft_confine_path){o->output, HEFT_CONFINE_WRITE};
        return true;
    }
    if (index == 1) { /* it is read again by heft_convert_check */
        *out = (struct heft_confine_path){o->output, HEFT_CONFINE_CHECKPOINT};
        return true;
    }
    index -= 2;
    for (size_t i = 0; i < o->n_rules; i++)
        if (o->rules[i].kind == HEFT_RULE_FILE && index-- == 0) {
            *out = (struct heft_confine_path){o->rules[i].left, HEFT_CONFINE_TEXT};
            return true;
        } else if (o->rules[i].kind == HEFT_RULE_FILE && index-- == 0) {
            /* JSON files beside the first input */
            *out = (struct heft_confine_path){job->request.inputs[0], HEFT_CONFINE_FOLDER};
            return true;
        }
    for (size_t i = 0; i < o->n_format_options; i++)
        if (o->format_options[i].value && o->format_options[i].value[0] == '/' && index-- == 0) {
            *out = (struct heft_confine_path){o->format_options[i].value, HEFT_CONFINE_TREE};
            return true;
        }
    return false;
}

/* ---- running a part ------------------------------------------------------------------------ */

static bool require_open(const struct heft_job *job, struct heft_error *err)
{
    return heft_require_arg(job, "a job", err) &&
           ((job->conversion && job->conversion->exec.plan) ||
            heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "the job is not open; read and open it"));
}

/* Current name of file i of the output. */
static const char *temp_at(struct heft_job *job, size_t i, struct heft_error *err)
{
    const struct heft_plan *const plan = &job->conversion->plan;
    const char *const path = plan->files[i].path;
    const char *folder;

    if (!plan->whole)
        return heft_sink_shared_name(&job->mem, path, job->id, "file", i, err);
    folder = heft_sink_shared_name(&job->mem, plan->whole, job->id, "folder", 0, err);
    return folder ? heft_arena_printf(&job->mem, err, "%s%s", folder, path + strlen(plan->whole))
                  : NULL;
}

/* *all: whether each temporary file is there, with its size. False if that cannot be found out. */
static bool has_outputs(struct heft_job *job, bool *all, struct heft_error *err)
{
    const struct heft_plan *const plan = &job->conversion->plan;

    *all = true;
    for (size_t i = 0; *all && i < plan->n_files; i++) {
        const char *const temp = temp_at(job, i, err);
        struct heft_os_stat st;

        if (!temp)
            return false;
        if (heft_os->stat_link(temp, &st) == 0) {
            *all = st.is_file && st.size == plan->files[i].size;
        } else if (heft_os_is_missing(errno)) {
            *all = false;
        } else {
            heft_fail_errno(err, "cannot be examined");
            return heft_error_file(err, temp);
        }
    }
    return true;
}

/* Temporary files that are missing although there are receipts have been deleted: the receipts are void.
 * They are deleted before a file is created. */
static bool void_receipts(struct heft_job *job, struct heft_error *err)
{
    size_t n = 0;
    bool has, all;

    return heft_job_has_receipts(job, &has, err) &&
           (!has ||
            (has_outputs(job, &all, err) && (all || heft_job_receipts_delete(job, &n, err))));
}

/* *done: whether the part has a sound receipt. */
static bool find_receipt(struct heft_job *job, const struct heft_exec_share *share, bool *done,
                         struct heft_error *err)
{
    const struct heft_conversion *const c = job->conversion;
    struct heft_error ignored = {0};
    struct heft_cur body;

    if (!void_receipts(job, err))
        return false;
    *done = heft_job_receipt_load(job, share->number, done, &body, &ignored) && *done &&
            heft_exec_check_share(&c->plan, &c->exec, share, body, &ignored);
    return true;
}

/* The first part also compares checksums of whole sources. */
static bool run_share(struct heft_job *job, const struct heft_exec_share *share,
                      struct heft_error *err)
{
    struct heft_conversion *const c = job->conversion;
    struct heft_buf body = {0};
    const bool ok = (share->number > 1 || heft_conversion_check_sources(c, err)) &&
                    heft_conversion_count_losses(c, err) &&
                    heft_exec_run_share(&c->plan, &c->exec, share, &body, err) &&
                    heft_job_receipt_save(job, share->number, &body, err);

    heft_buf_release(&body);
    return ok;
}

bool heft_job_run(struct heft_job *job, size_t part, bool *was_done, struct heft_error *err)
{
    struct heft_exec_share share = {.number = part};
    bool done = false;

    if (!require_open(job, err))
        return false;
    share.count = job->request.parts;
    if (part == 0 || part > share.count)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "part %zu: the plan has parts 1 to %" PRIu64, part, share.count);
    if (!find_receipt(job, &share, &done, err))
        return false;
    if (was_done)
        *was_done = done;
    return done || run_share(job, &share, err);
}

/* ---- commit and abort ---------------------------------------------------------------------- */

static bool load_receipt(void *ctx, const struct heft_exec_share *share, struct heft_cur *receipt,
                         struct heft_error *err)
{
    struct heft_job *const job = ctx;
    bool found;

    if (!heft_job_receipt_load(job, share->number, &found, receipt, err))
        return false;
    return found || heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                              "part %" PRIu64 "/%" PRIu64 " has no receipt; run it first",
                              share->number, share->count);
}

static bool mark_commit(void *ctx, struct heft_error *err)
{
    const struct heft_buf none = {0};

    return heft_job_receipt_save(ctx, 0, &none, err);
}

bool heft_job_commit(struct heft_job *job, uint64_t *overflowed, struct heft_error *err)
{
    const struct heft_exec_receipts receipts = {job ? job->request.parts : 0, load_receipt,
                                                mark_commit, job};
    uint64_t lost = 0;
    struct heft_cur mark;
    size_t n = 0;

    if (!require_open(job, err) ||
        !heft_job_receipt_load(job, 0, &job->conversion->exec.is_resumed, &mark, err) ||
        !heft_conversion_commit(job->conversion, &receipts, &lost, err))
        return false;
    if (overflowed)
        *overflowed = lost;
    return heft_job_receipts_delete(job, &n, err);
}

static bool delete_temp(struct heft_job *job, const char *path, const char *kind, uint64_t number,
                        size_t *n, struct heft_error *err)
{
    const char *const temp = heft_sink_shared_name(&job->mem, path, job->id, kind, number, err);
    struct heft_os_stat st;

    if (!temp)
        return false;
    if (heft_os->stat_link(temp, &st) != 0)
        return true;
    if ((st.is_dir ? heft_os->delete_tree(temp) : heft_os->unlink(temp)) != 0) {
        heft_fail_errno(err, "cannot be deleted");
        return heft_error_file(err, temp);
    }
    ++*n;
    return true;
}

/* Receipts go first: without them nothing that is left counts. */
bool heft_job_abort(struct heft_job *job, size_t *removed, struct heft_error *err)
{
    size_t n = 0;
    bool ok = heft_require_arg(job, "a job", err) && heft_job_receipts_delete(job, &n, err) &&
              (!job->whole || delete_temp(job, job->whole, "folder", 0, &n, err));

    for (size_t i = 0; ok && !job->whole && i < job->n_files; i++)
        ok = delete_temp(job, job->files[i], "file", i, &n, err);
    if (removed)
        *removed = n;
    return ok;
}
