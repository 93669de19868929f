/* fuzz_tf_restore.c: any bytes as a SavedModel, in binary or text form, beside a checkpoint of a
 * few tensors and an object graph. For each metagraph the restore operations are traced, and its
 * wanted tensors compared with this checkpoint and with an empty one.
 *
 * Invariants: targets have names of restore ops, steps have existing targets, wanted tensors have
 * valid shapes, and a missing tensor is a note with a text. */
#include <stdint.h>

#include "expect.h"
#include "format/formats.h"
#include "format/tensorflow/saved_model/tf_saved.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct heft_limits limits = {.size = sizeof limits, .tensors = 1000, .nodes = 100000};

/* Bundle of "a" and "b" of one float each, and the objects that own them. */
static const uint8_t bundle[] = {
    0x00, 0x00, 0x00, 0x3f, 0x00, 0x00, 0x00, 0x40, 0x47, 0x00, 0x00, 0x00, 0x00, 0x0a,
    0x17, 0x0a, 0x05, 0x08, 0x02, 0x12, 0x01, 0x61, 0x0a, 0x05, 0x08, 0x01, 0x12, 0x01,
    0x62, 0x1a, 0x07, 0x08, 0x02, 0x12, 0x01, 0x6d, 0x18, 0x01, 0x0a, 0x15, 0x12, 0x13,
    0x0a, 0x0e, 0x56, 0x41, 0x52, 0x49, 0x41, 0x42, 0x4c, 0x45, 0x5f, 0x56, 0x41, 0x4c,
    0x55, 0x45, 0x1a, 0x01, 0x62, 0x0a, 0x15, 0x12, 0x13, 0x0a, 0x0e, 0x56, 0x41, 0x52,
    0x49, 0x41, 0x42, 0x4c, 0x45, 0x5f, 0x56, 0x41, 0x4c, 0x55, 0x45, 0x1a, 0x01, 0x61};

static bool add_tensor(struct heft_model *model, uint32_t source, const char *name,
                       enum heft_dtype dtype, uint64_t off, uint64_t len, struct heft_error *err)
{
    const struct heft_storage storage = {.source = source, .off = off, .len = len, .packed = len};
    struct heft_row row = {.name = heft_str_of(name), .dtype = (uint8_t)dtype};

    return heft_model_add_storage(model, &storage, &row.storage, err) &&
           heft_model_add_row(model, &row, err);
}

static bool add_bundle(struct heft_model *model, struct heft_error *err)
{
    struct heft_source file;
    uint32_t source;

    heft_source_open_memory(&file, (struct heft_bytes){bundle, sizeof bundle}, "bundle");
    if (!heft_model_add_file(model, &file, "bundle", &source, err))
        return false;
    model->sources[source].format = heft_registry_find(&heft_formats, "tf-bundle");
    return add_tensor(model, source, "a", HEFT_F32, 0, 4, err) &&
           add_tensor(model, source, "b", HEFT_F32, 4, 4, err) &&
           add_tensor(model, source, HEFT_TF_OBJECT_KEY, HEFT_STRING, 8, sizeof bundle - 8, err) &&
           heft_model_validate(model, err);
}

static void check(const struct heft_tf_restore *r)
{
    for (size_t i = 0; i < r->n_steps; i++) {
        expect(r->steps[i].text != NULL);
        expect((r->steps[i].kind == HEFT_RESTORE_ASSIGN) == (r->steps[i].target != HEFT_NONE));
        expect(r->steps[i].target == HEFT_NONE || r->steps[i].target < r->n_targets);
        expect((r->steps[i].kind == HEFT_RESTORE_NAME) == (r->steps[i].name != NULL));
    }
    for (size_t i = 0; i < r->n_targets; i++)
        expect(r->targets[i].name != NULL && r->targets[i].name->takers > 0);
}

static void follow(const struct heft_model *model, uint32_t source,
                   const struct heft_tf_saved *saved)
{
    uint8_t used[8] = {0};

    for (size_t i = 0; i < saved->n_graphs; i++) {
        struct heft_error err = {0};
        struct heft_tf_restore r;

        if (heft_tf_restore_open(&r, model, source, saved, i, &err) &&
            heft_tf_restore_judge(&r, used) && heft_tf_restore_unused(&r, used))
            check(&r);
        else
            expect(err.code != HEFT_OK && err.text[0]);
        heft_tf_restore_close(&r);
    }
}

static void want(const struct heft_model *model, uint32_t source)
{
    struct heft_error err = {0};
    struct heft_tf_wants wants;

    if (heft_tf_restore_expect(&wants, model, source, &err))
        for (size_t i = 0; i < wants.n; i++) {
            const struct heft_tf_wanted *const w = &wants.list[i];

            expect(heft_strmap_get(&wants.keys, w->key) == i);
            expect(!w->has_shape || !w->dtype ||
                   heft_tf_restore_fits(&wants, w->key, HEFT_F32, w->rank, w->shape, &err) ||
                   err.code == HEFT_MISMATCH);
        }
    heft_tf_wants_release(&wants);
}

static void lack(struct heft_model *model, uint32_t source, struct heft_tf_saved *saved)
{
    struct heft_error err = {0};
    struct heft_tf_wants wants;
    struct heft_tf_saving s = {
        .model = model, .source = source, .saved = saved, .wants = &wants, .err = &err};

    if (heft_tf_restore_expect(&wants, model, source, &err))
        for (int has_index = 0; has_index < 2; has_index++) {
            const size_t before = model->n_notes;

            expect(heft_tf_saved_lacks(&s, 0, has_index));
            expect(model->n_notes <= before + 1);
            if (model->n_notes > before)
                expect(model->notes[before].is_lack && model->notes[before].text[0]);
        }
    heft_tf_wants_release(&wants);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct heft_error err = {0};
    struct heft_arena mem = {0};
    struct heft_tf_saved saved = {0};
    struct heft_source file;
    struct heft_model model;
    uint32_t source;

    heft_model_init(&model, &limits, &heft_formats);
    heft_source_open_memory(&file, (struct heft_bytes){data, size}, "saved_model");
    if (heft_model_add_file(&model, &file, "saved_model", &source, &err) &&
        add_bundle(&model, &err) &&
        heft_tf_saved_read(&saved, &model.sources[source].source, &mem, &err)) {
        follow(&model, source, &saved);
        want(&model, source);
        lack(&model, source, &saved);
    }
    heft_tf_saved_release(&saved);
    heft_arena_release(&mem);
    heft_model_release(&model);
    return 0;
}
