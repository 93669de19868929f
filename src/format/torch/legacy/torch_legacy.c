/* torch_legacy.c: the stream of torch.save from 0.1.10 to 1.5, still written with
 * _use_new_zipfile_serialization=False: five pickles, then the storages.
 *
 *     pickle  0x1950A86A20F9469CFC6C            in any protocol: 80 02 8a 0a 6c fc 9c … 2e, "L1195…"
 *     pickle  1001
 *     pickle  {"protocol_version": 1001, "little_endian": True, "type_sizes": {…}}
 *     pickle  the object
 *     pickle  ["94278368614880", "94278455185632", …]      keys, sorted as text
 *     int64 count, count × size bytes           for each key of that list, always little-endian
 *
 * Read by pickle/torch_legacy_read.c, because a pickle may contain such streams; written by
 * write/torch_legacy_write.c. */
#include "core/registry.h"
#include "format/torch/pickle/torch_parts.h"
#include "format/torch/write/torch_write.h"

/* ---- probe ------------------------------------------------------------------------------- */

static int probe_legacy(const struct heft_probe *sample)
{
    const enum heft_torch_peek found = heft_torch_peek(sample->head, sample->size);

    return found == HEFT_TORCH_MAGIC ? 95 : found == HEFT_TORCH_UNJUDGED;
}

/* ---- opening ----------------------------------------------------------------------------- */

/* Sets the version: "legacy stream, pickle protocol 2, Python 2". */
static bool name_version(struct heft_torch *t, struct heft_error *err)
{
    struct heft_model *model = t->model;

    model->format = "torch-legacy";
    model->version =
        heft_arena_printf(&model->mem, err, "legacy stream, %s%s", heft_torch_protocol(&t->pickle),
                          heft_torch_is_python2(&t->pickle) ? ", Python 2" : "");
    return model->version != NULL;
}

static bool open_legacy(struct heft_model *model, uint32_t source, struct heft_error *err)
{
    const struct heft_torch_stream in = heft_torch_file_stream(model, source);
    struct heft_torch t = {.is_object = true, .budget = model->limits.expansion};
    uint64_t end;
    const bool ok = heft_torch_read_legacy(&in, &t, &end, err) && name_version(&t, err) &&
                    heft_torch_walk(&t, err) && heft_torch_claim_pickle(&t, err) &&
                    heft_torch_stream_end(&in, end, "the last storage", err);

    if (ok)
        model->values = t.values;
    heft_torch_release(&t);
    return ok;
}

static const char *const extensions[] = {"pth", NULL};

static const char *const synonyms[] = {"legacy", NULL};

const struct heft_format heft_format_torch_legacy = {
    .name = "torch-legacy",
    .summary = "PyTorch checkpoints of torch.save before 1.6 (stream)",
    .synonyms = synonyms,
    .probe = probe_legacy,
    .open = open_legacy,
    .plan = heft_torch_legacy_plan,
    .extensions = extensions,
    .pattern = "pytorch_model{suffix}.bin",
    .keeps_tree = true,
    .keeps_strides = true,
    .supports_dtype = heft_torch_legacy_supports_dtype,
};
