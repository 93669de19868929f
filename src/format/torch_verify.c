/* torch_verify.c: what verify reads of a torch zip besides its checksums: the data descriptors.
 *
 *     payload | 50 4B 07 08 | CRC-32 | packed | unpacked          4 bytes each, or 8 for sizes
 *
 * Nobody needs them to read a file whose directory is there, so opening leaves them alone. A tool
 * that reads a zip from its beginning goes by them: one that says otherwise is a finding. */
#include "core/registry.h"
#include "format/torch_parts.h"

static bool check_entry(const struct heft_source *src, const struct heft_zip_entry *entry,
                        uint32_t source, const struct heft_listener *to, struct heft_error *err)
{
    struct heft_error found = {0};
    uint64_t length;

    if (heft_zip_check_descriptor(src, entry, &length, &found))
        return true;
    if (found.code != HEFT_MALFORMED) {
        *err = found;
        return false;
    }
    to->tell(to->ctx, HEFT_FINDING, source, found.offset, found.text);
    return true;
}

bool heft_torch_verify(const struct heft_model *model, uint32_t source,
                       const struct heft_listener *to, struct heft_error *err)
{
    const struct heft_source *src = &model->sources[source].source;
    const struct heft_zip_limits limits = {heft_limit_entries(&model->limits, model->file_bytes), 0,
                                           model->limits.ratio};
    struct heft_arena mem = {0};
    struct heft_zip zip;
    bool ok = heft_zip_open(&zip, src, &limits, &mem, err);

    for (size_t i = 0; ok && i < zip.count; i++)
        ok = check_entry(src, &zip.entries[i], source, to, err);
    heft_arena_release(&mem);
    return ok;
}
