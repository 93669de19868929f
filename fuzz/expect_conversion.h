/* expect_conversion.h: plans a conversion, runs it if its output is small, and verifies what was
 * written, for fuzz targets.
 *
 * Invariants: a conversion that succeeds has written the planned files with the planned sizes;
 * reading the output again gives the planned tensors with the elements of the source; its checksums
 * match, and verification has no findings. One that fails has an error, and has written nothing. */
#ifndef EXPECT_CONVERSION_H
#define EXPECT_CONVERSION_H

#include <sys/stat.h>

#include "core/convert.h"
#include "open_format.h"
#include "scratch.h"

#define MOST_WRITTEN 262144 /* limit of bytes of all files of a conversion */

static inline bool expect_no_bad(void *ctx, uint32_t storage, const struct heft_error *why,
                                 struct heft_error *err)
{
    (void)ctx, (void)storage, (void)err;
    expect_success(false, why);
    return false;
}

static inline void expect_no_finding(void *ctx, enum heft_severity severity, uint32_t source,
                                     uint64_t offset, const char *text)
{
    (void)ctx, (void)source, (void)offset;
    if (severity != HEFT_NOTE)
        fprintf(stderr, "finding: %s\n", text);
    expect(text && text[0] && severity == HEFT_NOTE);
}

static inline void expect_verified(const struct heft_model *written, bool findings)
{
    const struct heft_exec_options how = {.threads = 1};
    const struct heft_reporter to = {findings ? expect_text : expect_no_finding, NULL};
    struct heft_error err = {0};

    expect_success(heft_registry_check_sources(written, &err), &err);
    expect_success(heft_exec_verify(written, NULL, &how, expect_no_bad, NULL, &err), &err);
    for (uint32_t i = 0; i < written->n_sources; i++) {
        const struct heft_format *const format = written->sources[i].format;

        if (format && format->verify)
            expect_success(format->verify(written, i, &to, &err), &err);
    }
}

static inline void expect_files(const struct heft_conversion *c)
{
    struct stat st;

    for (size_t i = 0; i < c->plan.n_files; i++)
        expect(stat(c->plan.files[i].path, &st) == 0 &&
               (uint64_t)st.st_size == c->plan.files[i].size);
}

/* Opens the output as a user would: the directory of a model, the index of shards, or all files. */
static inline void expect_output(const struct heft_conversion *c, bool findings)
{
    const char *paths[64];
    size_t n = 0;
    bool has_index = false;
    struct heft_error err = {0};
    struct heft_model written;

    for (size_t i = 0; i < c->plan.n_files; i++)
        has_index = has_index || c->plan.files[i].is_index;
    for (size_t i = 0; i < c->plan.n_files && !c->plan.whole && n < HEFT_COUNT(paths); i++)
        if (c->plan.files[i].is_index == has_index && !c->plan.files[i].is_other)
            paths[n++] = c->plan.files[i].path;
    if (c->plan.whole)
        paths[n++] = c->plan.whole;
    if (n == HEFT_COUNT(paths))
        return;
    heft_model_init(&written, NULL, &heft_formats);
    expect_success(heft_registry_open(&written, paths, n, NULL, &err) &&
                       heft_model_validate(&written, &err),
                   &err);
    /* tensors may be written as blobs, beside others: these are compared by name */
    expect((c->plan.adds_tensors || written.n_rows >= c->exports.n_items) &&
           written.n_unreadable == 0);
    expect_verified(&written, findings);
    heft_model_release(&written);
}

static inline uint64_t planned_bytes(const struct heft_conversion *c)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < c->plan.n_files && bytes <= MOST_WRITTEN; i++)
        bytes = heft_min_u64(c->plan.files[i].size, MOST_WRITTEN + 1) + bytes;
    return bytes;
}

/* folder: the empty directory of the output. findings: the output may have some, as the model that
 * it is a copy of. */
static inline void expect_run(struct heft_conversion *c, const char *folder, bool findings)
{
    struct heft_error err = {0};
    uint64_t overflowed;
    const bool ok = heft_conversion_run(c, &overflowed, &err);

    expect_outcome(ok, &err);
    if (!ok) {
        expect(heft_scratch_count(folder) == 0);
        return;
    }
    expect_files(c);
    expect_success(heft_exec_compare(&c->plan, &c->exec, &err), &err);
    if (strcmp(c->format->name, "raw") == 0) /* it cannot be read */
        return;
    expect_output(c, findings);
    expect_success(heft_conversion_reread(c, &err), &err);
}

static inline void expect_conversion(const struct heft_model *model,
                                     const struct heft_convert_options *options, const char *folder,
                                     bool findings)
{
    struct heft_error err = {0};
    struct heft_conversion c;
    const bool ok = heft_conversion_plan(&c, model, options, &err);

    expect_outcome(ok, &err);
    if (ok && planned_bytes(&c) <= MOST_WRITTEN)
        expect_run(&c, folder, findings);
    heft_conversion_release(&c);
}

#endif
