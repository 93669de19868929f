/* file_subjects.c: see file_subjects.h. */
#include "measure/file_subjects.h"

#include <stdio.h>

/* ---- hashing ------------------------------------------------------------------------------- */

struct hashing {
    struct heft_file_subjects *subjects;
    struct heft_comparison *c;
};

bool heft_file_subjects_add(struct heft_file_subjects *subjects,
                            const struct heft_file_subject *subject, struct heft_error *err)
{
    if (!heft_grow(&subjects->list, &subjects->cap, subjects->n, 1, sizeof *subjects->list, err))
        return false;
    subjects->list[subjects->n++] = *subject;
    return true;
}

void heft_file_subjects_release(struct heft_file_subjects *subjects)
{
    for (size_t i = 0; i < subjects->n; i++)
        heft_source_close(&subjects->list[i].opened);
    heft_free(subjects->list);
    *subjects = (struct heft_file_subjects){0};
}

static uint64_t bytes_of(void *ctx, size_t item)
{
    return ((const struct hashing *)ctx)->subjects->list[item].size;
}

/* Begins git's hash of a file, in place of SHA-256. */
static void begin_git(struct heft_digest_worker *worker, const struct heft_hasher *hasher,
                      uint64_t size)
{
    char head[sizeof "blob " + 20];
    const int n = snprintf(head, sizeof head, "blob %" PRIu64, size);

    heft_hash_begin(&worker->hash, hasher->sha1);
    heft_hash_put(&worker->hash, head, (size_t)n + 1);
}

static bool read_source(const struct hashing *h, const struct heft_file_subject *subject,
                        const struct heft_source *source, struct heft_digest_worker *worker,
                        struct heft_error *err)
{
    if (subject->is_git)
        begin_git(worker, h->c->how.hasher, source->size);
    return heft_digest_put_source(worker, source, err);
}

/* Opens the file of a subject. What was listed with another size has changed since. */
static bool open_subject(const struct hashing *h, const struct heft_file_subject *subject,
                         struct heft_source *out, struct heft_error *err)
{
    if (!heft_files_open(h->c->files, out, subject->path, err))
        return false;
    if (out->size == subject->size)
        return true;
    heft_fail(err, HEFT_IO, HEFT_NO_OFFSET,
              "has %" PRIu64 " bytes, but had %" PRIu64 " when it was found", out->size,
              subject->size);
    heft_source_close(out);
    return heft_error_file(err, subject->path);
}

static bool read_subject(void *ctx, size_t item, struct heft_digest_worker *worker,
                         struct heft_error *err)
{
    const struct hashing *const h = ctx;
    const struct heft_file_subject *const subject = &h->subjects->list[item];
    struct heft_source source = {0};
    bool ok;

    if (subject->source)
        return read_source(h, subject, subject->source, worker, err);
    if (!open_subject(h, subject, &source, err))
        return false;
    ok = read_source(h, subject, &source, worker, err);
    heft_source_close(&source);
    return ok;
}

static bool is_pulled(void *ctx, size_t item)
{
    return !((const struct hashing *)ctx)->subjects->list[item].is_git;
}

/* Opens a file for its first bytes, and closes it after its last ones. */
static bool pull(void *ctx, size_t item, uint64_t off, uint8_t *dst, size_t n,
                 struct heft_error *err)
{
    const struct hashing *const h = ctx;
    struct heft_file_subject *const subject = &h->subjects->list[item];
    bool ok;

    if (subject->source)
        return heft_source_read(subject->source, off, dst, n, err);
    if (off == 0 && !open_subject(h, subject, &subject->opened, err))
        return false;
    ok = heft_source_read(&subject->opened, off, dst, n, err);
    if (!ok || off + n == subject->size)
        heft_source_close(&subject->opened);
    return ok;
}

static void report_difference(const struct hashing *h, const struct heft_file_subject *subject,
                              const uint8_t *digest)
{
    const int digits = subject->is_git ? 2 * HEFT_SHA1_BYTES : 2 * HEFT_SHA256_BYTES;
    char found[HEFT_SHA256_TEXT], listed[HEFT_SHA256_TEXT];

    heft_sha256_text(digest, found);
    heft_sha256_text(subject->digest, listed);
    if (subject->entry)
        heft_comparison_report(h->c, HEFT_FINDING, subject->path, HEFT_NO_OFFSET,
                               "SHA-256 %s, line %" PRIu64 " of the list has %s", found,
                               subject->entry->line, listed);
    else
        heft_comparison_report(h->c, HEFT_FINDING, subject->path, HEFT_NO_OFFSET,
                               "%s %.*s, its blob in the cache is named %.*s",
                               subject->is_git ? "git's SHA-1" : "SHA-256", digits, found, digits,
                               listed);
}

static bool take(void *ctx, size_t item, const uint8_t *digest, const struct heft_error *why,
                 struct heft_error *err)
{
    const struct hashing *const h = ctx;
    const struct heft_file_subject *const subject = &h->subjects->list[item];
    const size_t n = subject->is_git ? HEFT_SHA1_BYTES : HEFT_SHA256_BYTES;

    if (!digest) {
        *err = *why;
        return heft_error_file(err, subject->path);
    }
    h->c->compared.digests++;
    h->c->compared.bytes += subject->size;
    if (memcmp(digest, subject->digest, n) != 0)
        report_difference(h, subject, digest);
    return true;
}

bool heft_file_subjects_compare(struct heft_file_subjects *subjects, struct heft_comparison *c,
                                struct heft_error *err)
{
    struct hashing h = {subjects, c};
    const struct heft_digest_run run = {.items = subjects->n,
                                        .bytes = bytes_of,
                                        .read = read_subject,
                                        .pull = pull,
                                        .is_pulled = is_pulled,
                                        .take = take,
                                        .ctx = &h,
                                        .hasher = c->how.hasher,
                                        .threads = heft_pool_threads(c->how.threads, subjects->n),
                                        .progress = c->how.progress,
                                        .progress_ctx = c->how.progress_ctx};

    return heft_digest_run(&run, err);
}

/* ---- files of the checkpoint --------------------------------------------------------------- */

static bool add_known(struct heft_known_files *known, const struct heft_files *files,
                      const struct heft_model_source *file, struct heft_error *err)
{
    struct heft_os_stat st;
    uint32_t found;

    if ((files == &heft_disk ? heft_os->stat_fd(file->source.fd, &st)
                             : files->ops->stat(files, file->path, &st)) != 0) {
        heft_fail_errno(err, "cannot be examined");
        return heft_error_file(err, file->path);
    }
    known->ids[known->n] = heft_file_id_of(&st);
    known->files[known->n] = file;
    known->n++; /* the same file may have been given twice: the first number counts */
    return heft_strmap_add(&known->numbers, heft_file_id_key(&known->ids[known->n - 1]),
                           (uint32_t)(known->n - 1), &found, err);
}

bool heft_known_files_init(struct heft_known_files *known, const struct heft_comparison *c,
                           struct heft_error *err)
{
    const struct heft_model *const model = c->reader ? c->reader->model : NULL;

    *known = (struct heft_known_files){0};
    if (!model)
        return true;
    known->ids = heft_calloc(model->n_sources + 1, sizeof *known->ids, err);
    known->files = heft_calloc(model->n_sources + 1, sizeof *known->files, err);
    if (!known->ids || !known->files)
        return false;
    for (size_t i = 0; i < model->n_sources; i++)
        if (model->sources[i].is_file && !model->sources[i].is_missing &&
            !add_known(known, c->files, &model->sources[i], err))
            return false;
    return true;
}

uint32_t heft_known_file(const struct heft_known_files *known, const struct heft_file_id *id)
{
    return heft_strmap_get(&known->numbers, heft_file_id_key(id));
}

void heft_known_files_release(struct heft_known_files *known)
{
    heft_free(known->ids);
    heft_free(known->files);
    heft_strmap_release(&known->numbers);
    *known = (struct heft_known_files){0};
}
