/* fuzz_job.c: untrusted plans and receipts of conversions in parts. The input is the text of a plan without
 * its last line, the id, which is appended; or, after the byte 0xff, the receipt of part 1 of a plan.
 *
 * Invariants: reading fails with an error, or what was read is written again as a text that is read, too;
 * abort finds nothing to delete. A commit with such a receipt fails: it lacks the CRC or the pieces. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "expect.h"
#include "heft/heft.h"
#include "job/job_parts.h"
#include "scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct heft_job *read_plan(const char *folder, const char *text, size_t n)
{
    char *const path = heft_scratch_path(folder, "job.plan");
    struct heft_error err = {0};
    struct heft_job *job;

    heft_scratch_write(folder, "job.plan", text, n);
    job = heft_job_read(path, &err);
    expect_outcome(job != NULL, &err);
    free(path);
    return job;
}

/* The lines of the request that was read, as a plan that is read to the same lines. */
static void expect_stable(const char *folder, const struct heft_job *job)
{
    struct heft_buf text = {0}, again = {0};
    char id[HEFT_JOB_ID_DIGITS + 1];
    struct heft_job *second;
    size_t lines;

    heft_job_put_request(&text, &job->request);
    lines = text.n;
    heft_buf_text(&text, "file 1");
    heft_job_put_word(&text, job->files[0]);
    heft_buf_char(&text, '\n');
    heft_job_digest((struct heft_str){text.p, text.n}, id);
    heft_buf_printf(&text, "id %s\n", id);
    second = read_plan(folder, text.p, text.n);
    expect(second != NULL);
    heft_job_put_request(&again, &second->request);
    expect(again.n == lines && memcmp(again.p, text.p, lines) == 0);
    heft_job_free(second);
    heft_buf_release(&text);
    heft_buf_release(&again);
}

static void try_plan(const char *folder, const uint8_t *data, size_t size)
{
    char id[HEFT_JOB_ID_DIGITS + 1];
    struct heft_buf text = {0};
    struct heft_error err = {0};
    struct heft_job *job;
    size_t n = 0;

    heft_buf_put(&text, data, size);
    heft_job_digest((struct heft_str){text.p, text.n}, id);
    heft_buf_printf(&text, "id %s\n", id);
    job = read_plan(folder, text.p, text.n);
    if (job) {
        expect_stable(folder, job);
        expect_outcome(heft_job_abort(job, &n, &err), &err);
        expect(n == 0);
    }
    heft_job_free(job);
    heft_buf_release(&text);
}

/* Plans the conversion of an empty tensor, and puts a receipt where that of part 1 is expected. */
static void try_receipt(const char *folder, const uint8_t *data, size_t size)
{
    static const uint64_t shape[] = {1};
    static const float one = 1;
    const struct heft_own_tensor t = {.size = sizeof t,
                                      .name = "t",
                                      .name_len = 1,
                                      .dtype = HEFT_F32,
                                      .rank = 1,
                                      .shape = shape,
                                      .data = &one};
    char *const in = heft_scratch_path(folder, "in.npz"), *const out =
                                                              heft_scratch_path(folder, "o.npz");
    const char *const inputs[] = {in};
    struct heft_convert_options how = {.size = sizeof how, .output = in, .no_sync = true};
    struct heft_error err = {0};
    struct heft_job *job;
    struct heft_cur body;
    bool found;
    size_t n;

    expect_success(heft_save(&t, 1, NULL, 0, &how, &err), &err);
    how.output = out;
    job = heft_job_plan(inputs, 1, NULL, &how, 1, &err);
    expect_success(job != NULL, &err);
    {
        const char *const path = heft_job_receipt_path(job, 1, &err);

        expect(path != NULL);
        heft_scratch_write(folder, path + strlen(folder) + 1, data, size);
    }
    expect_outcome(heft_job_receipt_load(job, 1, &found, &body, &err), &err);
    err = (struct heft_error){0};
    {
        const char *const text = heft_job_text(job, &n);
        struct heft_job *const again = read_plan(folder, text, n);

        expect(again != NULL);
        expect_success(heft_job_open(again, NULL, &err), &err);
        expect(!heft_job_commit(again, NULL, &err));
        expect(!heft_scratch_has(folder, "o.npz"));
        heft_job_free(again);
    }
    heft_job_free(job);
    free(in);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *folder;

    if (size == 0 || size > 1 << 16)
        return 0;
    folder = heft_scratch_new();
    if (data[0] == 0xff)
        try_receipt(folder, data + 1, size - 1);
    else
        try_plan(folder, data, size);
    heft_scratch_free(folder);
    return 0;
}
