/* torch_verify.c: compares the data descriptors of a torch zip, for verify.
 *
 *     payload | 50 4B 07 08 | CRC-32 | packed | unpacked          4 bytes each, or 8 for sizes
 *
 * Readers that use the zip directory do not need descriptors, so opening skips them. Streaming
 * readers do use them: a descriptor that disagrees with the directory is a finding. */
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
    const struct heft_zip_limits limits = heft_zip_limits_of(&model->limits, model->file_bytes);
    struct telling telling = {to, source};

    return heft_zip_check_descriptors(&model->sources[source].source, &limits, report_finding,
                                      &telling, err);
}
