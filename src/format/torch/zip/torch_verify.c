/* torch_verify.c: what verify reads of a torch zip besides its checksums: the data descriptors.
 *
 *     payload | 50 4B 07 08 | CRC-32 | packed | unpacked          4 bytes each, or 8 for sizes
 *
 * Nobody needs them to read a file whose directory is there, so opening leaves them alone. A tool
 * that reads a zip from its beginning goes by them: one that says otherwise is a finding. */
#include "core/registry.h"
#include "format/torch/zip/torch_archive.h"

struct telling {
    const struct heft_reporter *to;
    uint32_t source;
};

static void report_finding(void *ctx, uint64_t offset, const char *text)
{
    const struct telling *t = ctx;

    t->to->report(t->to->ctx, HEFT_FINDING, t->source, offset, text);
}

bool heft_torch_verify(const struct heft_model *model, uint32_t source,
                       const struct heft_reporter *to, struct heft_error *err)
{
    const struct heft_zip_limits limits = {
        .entries = heft_limit_entries(&model->limits, model->file_bytes),
        .ratio = model->limits.ratio,
        .unpacked = model->limits.unpacked};
    struct telling telling = {to, source};

    return heft_zip_check_descriptors(&model->sources[source].source, &limits, report_finding,
                                      &telling, err);
}
