/* torch.c: checkpoints of torch.save since 1.6: a zip with one pickle and one record per storage.
 *
 *     PK\3\4 … archive/data.pkl          the object; tensors refer to storages by key
 *     PK\3\4 … archive/byteorder         small records: torch_records.c
 *     PK\3\4 … archive/data/0            bytes of a storage, aligned to 64
 *     PK\3\4 … archive/data/1
 *     PK\3\4 … archive/version
 *     PK\1\2 … central directory         decides about sizes and checksums
 *     PK\6\6, PK\6\7, PK\5\6             end records
 *
 * "archive" may be any name: it is the directory of data.pkl. Steps: zip directory, root, records,
 * pickle (nodes only, nothing is executed), storages, rows and values, claims. See
 * doc/format/torch.md. */
#include "base/text.h"
#include "core/registry.h"
#include "format/torch/zip/torch_archive.h"
#include "format/torch/write/torch_write.h"

/* ---- probe ------------------------------------------------------------------------------- */

/* Record names appear in local headers (the first records, in the head) and in the zip directory
 * (in the tail). */
static int probe_zip(const struct heft_probe *sample)
{
    if (sample->head.n < 4 || memcmp(sample->head.p, "PK\3\4", 4) != 0)
        return 0;
    if (heft_text_mentions(sample->tail, "/data.pkl") ||
        heft_text_mentions(sample->head, "/data.pkl"))
        return 90;
    /* 50: a zip directory of more than 64 KiB with data.pkl in its middle. 1: a zip of no known
     * format, so that opening can say what it is. */
    return heft_text_mentions(sample->tail, "/data/") && sample->size > HEFT_PROBE_TAIL ? 50 : 1;
}

/* ---- open -------------------------------------------------------------------------------- */

/* Sets the version, such as "zip, torch 2.1 to 2.6, pickle protocol 2", from the records that each
 * release added. */
static bool name_version(const struct heft_torch_zip *z, const struct heft_torch *t,
                         struct heft_error *err)
{
    const char *release = z->format          ? "2.7 or later"
                          : z->has_byteorder ? "2.1 to 2.6"
                                             : "1.6 to 2.0";

    z->model->format = "torch";
    z->model->version =
        heft_arena_printf(&z->model->mem, err, "zip, as torch %s writes it, pickle protocol %d%s",
                          release, t->pickle.protocol, z->is_big ? ", big-endian" : "");
    return z->model->version != NULL;
}

static bool read_object(struct heft_torch_zip *z, struct heft_error *err)
{
    const uint32_t entry = (uint32_t)(z->pkl - z->zip.entries); /* fits: at most limits.entries */
    struct heft_torch t = {.is_object = true};
    const bool ok =
        heft_torch_read_record(z, entry, "data.pkl", &t, err) && name_version(z, &t, err);

    if (ok)
        z->model->values = t.values;
    heft_torch_release(&t);
    return ok;
}

/* Checks for constants.pkl again: in a long zip directory the probe may not see it. */
static bool open_torch(struct heft_model *model, uint32_t source, struct heft_error *err)
{
    struct heft_torch_zip z;
    const bool ok =
        heft_torch_open_zip(&z, model, source, err) && heft_torch_read_records(&z, err) &&
        (heft_torch_is_script(&z) ? heft_torch_read_script(&z, err) : read_object(&z, err)) &&
        heft_torch_claim_zip(&z, err);

    heft_torch_release_zip(&z);
    return ok;
}

static const char *const extensions[] = {"pth", "pt", "bin", "ckpt", NULL};

static const char *const synonyms[] = {"pt", "pth", "bin", "ckpt", "pytorch", NULL};

/* All kinds of files that torch.save has written. */
static const struct heft_file_name names[] = {
    {".bin", .rank = HEFT_FILE_WEIGHTS, .order = 1, .is_form = true},
    {".pth", .rank = HEFT_FILE_WEIGHTS, .order = 2, .is_form = true},
    {".pt", .rank = HEFT_FILE_WEIGHTS, .order = 3, .is_form = true},
    {".ckpt", .rank = HEFT_FILE_WEIGHTS, .order = 4},
    {0},
};

const struct heft_format heft_format_torch = {
    .name = "torch",
    .summary = "PyTorch checkpoints of torch.save (zip, since 1.6)",
    .synonyms = synonyms,
    .names = names,
    .probe = probe_zip,
    .open = open_torch,
    .verify = heft_torch_verify,
    .plan = heft_torch_plan,
    .sum = HEFT_SUM_CRC32,
    .extensions = extensions,
    .pattern = "pytorch_model{suffix}.bin",
    .keeps_tree = true,
    .keeps_strides = true,
    .options = heft_torch_options,
    .supports_dtype = heft_torch_supports_dtype,
};
