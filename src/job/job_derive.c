/* job_derive.c: the lines of a plan that follow from its request and its inputs.
 *
 *     source 1024 1764192000000000000 0f…e1 /data/model.pth    bytes, time of change, hash of both ends
 *     file 1032 /data/out/model.safetensors
 *     layout 5a…77                                             hash of what the files will contain
 *     part 1 516                                               bytes
 *     reads 0 128 640                                          source, begin, end
 *     id 31…9c
 *
 * They are made by whoever plans and by whoever opens a plan, and compared. */
#include "base/sha256.h"
#include "io/os.h"
#include "job/job_parts.h"

enum { HEAD = 4096, TAIL = 65536 }; /* bytes of a source that are hashed */

static void put_hex(struct heft_buf *out, const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        heft_buf_printf(out, "%02x", p[i]);
}

void heft_job_digest(struct heft_str text, char id[HEFT_JOB_ID_DIGITS + 1])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t digest[HEFT_SHA256_BYTES];
    struct heft_sha256 sha;

    heft_sha256_init(&sha);
    heft_sha256_put(&sha, text.p, text.n);
    heft_sha256_end(&sha, digest);
    for (size_t i = 0; i < HEFT_JOB_ID_DIGITS; i++)
        id[i] = digits[digest[i / 2] >> (i % 2 ? 0 : 4) & 15];
    id[HEFT_JOB_ID_DIGITS] = '\0';
}

/* ---- sources ------------------------------------------------------------------------------- */

static bool hash_range(struct heft_sha256 *sha, const struct heft_source *source, uint64_t off,
                       uint64_t n, struct heft_error *err)
{
    struct heft_arena mem = {0};
    struct heft_bytes bytes = {0};
    const bool ok = heft_source_fetch(source, off, n, &mem, &bytes, err);

    if (ok)
        heft_sha256_put(sha, bytes.p, bytes.n);
    heft_arena_release(&mem);
    return ok;
}

static bool put_source(struct heft_buf *out, const char *path, const struct heft_source *source,
                       struct heft_error *err)
{
    const uint64_t head = heft_min_u64(source->size, HEAD);
    const uint64_t tail = heft_min_u64(source->size - head, TAIL);
    uint8_t digest[HEFT_SHA256_BYTES];
    struct heft_os_stat st;
    struct heft_sha256 sha;

    heft_sha256_init(&sha);
    if (heft_os->stat_path(path, &st) != 0) {
        heft_fail_errno(err, "cannot be examined");
        return heft_error_file(err, path);
    }
    if (!hash_range(&sha, source, 0, head, err) ||
        !hash_range(&sha, source, source->size - tail, tail, err))
        return heft_error_file(err, path);
    heft_sha256_end(&sha, digest);
    heft_buf_printf(out, "source %" PRIu64 " %" PRId64 " ", source->size, st.changed);
    put_hex(out, digest, HEFT_JOB_ID_DIGITS / 2);
    heft_job_put_word(out, path);
    heft_buf_char(out, '\n');
    return true;
}

/* A file outside the model, which is copied, or read for its rules. */
static bool put_copied(struct heft_buf *out, const char *path, struct heft_error *err)
{
    struct heft_source source;
    bool ok;

    if (!heft_source_open_file(&source, path, err))
        return false;
    ok = put_source(out, path, &source, err);
    heft_source_close(&source);
    return ok;
}

static bool put_sources(struct heft_buf *out, const struct heft_model *model,
                        const struct heft_conversion *conversion, struct heft_error *err)
{
    const struct heft_plan *const plan = &conversion->plan;
    const struct heft_ruling *const ruling = &conversion->ruled.ruling;
    const char *last = "";

    for (uint32_t i = 0; i < model->n_sources; i++)
        if (model->sources[i].is_file &&
            !put_source(out, model->sources[i].path, &model->sources[i].source, err))
            return false;
    for (size_t i = 0; i < ruling->n_files; i++)
        if (!put_copied(out, ruling->files[i], err))
            return false;
    for (size_t i = 0; i < plan->n_ops; i++) {
        if (plan->ops[i].kind != HEFT_OP_FILE || strcmp(plan->ops[i].u.file.path, last) == 0)
            continue;
        last = plan->ops[i].u.file.path;
        if (!put_copied(out, last, err))
            return false;
    }
    return true;
}

/* ---- targets and parts --------------------------------------------------------------------- */

static void put_files(struct heft_buf *out, const struct heft_plan *plan)
{
    if (plan->whole) {
        heft_buf_text(out, "folder");
        heft_job_put_word(out, plan->whole);
        heft_buf_char(out, '\n');
    }
    for (size_t i = 0; i < plan->n_files; i++) {
        heft_buf_printf(out, "file %" PRIu64, plan->files[i].size);
        heft_job_put_word(out, plan->files[i].path);
        heft_buf_char(out, '\n');
    }
}

struct parts {
    struct heft_buf *out;
    const struct heft_model *model;
};

/* Ranges of sources in memory, such as unpacked ones, are not listed. */
static bool put_part(void *ctx, const struct heft_exec_share *share, uint64_t bytes,
                     const struct heft_exec_range *ranges, size_t n, struct heft_error *err)
{
    const struct parts *const p = ctx;

    heft_buf_printf(p->out, "part %" PRIu64 " %" PRIu64 "\n", share->number, bytes);
    for (size_t i = 0; i < n; i++) {
        const struct heft_model_source *const source = &p->model->sources[ranges[i].source];

        if (source->is_file)
            heft_buf_printf(p->out, "reads %" PRIu32 " %" PRIu64 " %" PRIu64 "\n", source->number,
                            ranges[i].begin, ranges[i].end);
    }
    return heft_buf_ok(p->out, err);
}

bool heft_job_write(struct heft_job *job, struct heft_buf *out, struct heft_error *err)
{
    const struct heft_plan *const plan = &job->conversion->plan;
    struct parts parts = {out, &job->checkpoint->model};
    uint8_t digest[HEFT_SHA256_BYTES];

    heft_job_put_request(out, &job->request);
    if (!put_sources(out, parts.model, job->conversion, err) ||
        !heft_plan_digest(plan, digest, err))
        return false;
    put_files(out, plan);
    heft_buf_text(out, "layout ");
    put_hex(out, digest, HEFT_JOB_ID_DIGITS / 2);
    heft_buf_char(out, '\n');
    if (!heft_exec_list_shares(plan, &job->conversion->exec, job->request.parts, put_part, &parts,
                               err) ||
        !heft_buf_ok(out, err))
        return false;
    heft_job_digest((struct heft_str){out->p, out->n}, job->id);
    heft_buf_printf(out, "id %s\n", job->id);
    return heft_buf_ok(out, err);
}

/* ---- comparing ----------------------------------------------------------------------------- */

static struct heft_str line_at(const struct heft_buf *text, size_t at)
{
    const char *const begin = text->p + at;
    const char *const end = at < text->n ? memchr(begin, '\n', text->n - at) : NULL;

    return (struct heft_str){begin, end ? (size_t)(end - begin) : text->n - at};
}

/* The path of a source, the last word of its line, decoded as far as errors need it. */
static bool refuse_source(struct heft_str line, struct heft_error *err)
{
    struct heft_str path = {line.p, 0};

    for (size_t i = 0; i < line.n; i++)
        if (line.p[i] == ' ')
            path = (struct heft_str){line.p + i + 1, line.n - i - 1};
    return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "the input %.*s was changed after the plan was written; abort, and plan again",
                     (int)heft_min_u64(path.n, 300), path.p);
}

bool heft_job_compare(const struct heft_job *job, const struct heft_buf *found,
                      struct heft_error *err)
{
    const struct heft_buf *const text = &job->text;
    size_t at = 0, line = 1;
    struct heft_str wanted;

    if (found->n == text->n && memcmp(found->p, text->p, text->n) == 0)
        return true;
    for (size_t i = 0; i < found->n && i < text->n && found->p[i] == text->p[i]; i++)
        if (text->p[i] == '\n') {
            at = i + 1;
            line++;
        }
    wanted = line_at(text, at);
    if (wanted.n > 7 && memcmp(wanted.p, "source ", 7) == 0)
        return refuse_source(wanted, err);
    return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "line %zu of the plan differs from what its options give now; abort, and plan "
                     "again",
                     line);
}
