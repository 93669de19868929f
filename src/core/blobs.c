/* blobs.c: named byte strings that are not tensors; copied whole, never interpreted. */
#include "base/text.h"
#include "core/model.h"

bool heft_model_add_blob(struct heft_model *model, struct heft_str name, uint32_t storage,
                         const char *kind, struct heft_error *err)
{
    const uint64_t most = heft_limit_tensors(&model->limits, model->file_bytes);

    if (model->n_blobs >= most)
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "more than %" PRIu64 " blobs in %" PRIu64 " bytes: limits.tensors", most,
                         model->file_bytes);
    if (!heft_model_weigh_name(model, name, 0, err) ||
        !heft_grow(&model->blobs, &model->cap_blobs, model->n_blobs, 1, sizeof *model->blobs, err))
        return false;
    model->blobs[model->n_blobs++] = (struct heft_model_blob){name, kind, storage, model->n_rows};
    return true;
}

static bool check_blob(const struct heft_model *model, const struct heft_model_blob *blob,
                       struct heft_error *err)
{
    const struct heft_bytes name = {(const uint8_t *)blob->name.p, blob->name.n};

    if (blob->storage >= model->n_storages)
        return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET, "blob without a storage");
    if (blob->name.n > model->limits.name)
        return heft_fail(err, HEFT_LIMIT, model->storages[blob->storage].off,
                         "a name of %zu bytes, the limit is %" PRIu64, blob->name.n,
                         model->limits.name);
    return heft_utf8_check(name) == name.n ||
           heft_fail(err, HEFT_MALFORMED, model->storages[blob->storage].off,
                     "the name is not valid UTF-8");
}

/* Adds the names of the blob and the file to an error. */
static bool blame_blob(const struct heft_model *model, const struct heft_model_blob *blob,
                       struct heft_error *err)
{
    heft_error_about(err, blob->kind, blob->name);
    if (blob->storage < model->n_storages)
        heft_error_file(err, model->sources[model->storages[blob->storage].source].path);
    return false;
}

bool heft_model_validate_blobs(struct heft_model *model, struct heft_error *err)
{
    for (uint32_t i = 0; i < model->n_blobs; i++) {
        const struct heft_model_blob *blob = &model->blobs[i];
        uint32_t other = HEFT_MAP_NONE;

        if (!check_blob(model, blob, err))
            return blame_blob(model, blob, err);
        if (!heft_strmap_add(&model->blob_names, blob->name, i, &other, err))
            return false;
        if (other != HEFT_MAP_NONE) {
            heft_fail(err, HEFT_MALFORMED, model->storages[blob->storage].off,
                      "a second %s of this name; names must be unique", blob->kind);
            return blame_blob(model, blob, err);
        }
    }
    return true;
}

uint32_t heft_model_blob(const struct heft_model *model, struct heft_str name)
{
    return heft_strmap_get(&model->blob_names, name);
}
