/* fuzz_tf_objects.c: any bytes as the object graph of a bundle whose tensors are renamed, and whose
 * names are looked up. The planned graph can be read again. */

#include "expect.h"
#include "core/convert.h"
#include "format/formats.h"
#include "format/tensorflow/write/tf_write.h"

#define MOST_BYTES 65536
#define GRAPH      "_CHECKPOINTABLE_OBJECT_GRAPH"
#define KEY        "a/.ATTRIBUTES/VARIABLE_VALUE"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_fine(const struct heft_model *model, const struct heft_storage *storage,
                    struct heft_error *err)
{
    (void)model, (void)storage, (void)err;
    return true;
}

static bool add(struct heft_model *model, struct heft_str name, enum heft_dtype dtype,
                struct heft_str bytes, struct heft_error *err)
{
    static const struct heft_storage_more string = {.check = is_fine, .count = 1};
    struct heft_storage s = {.packed = bytes.n, .len = bytes.n};
    const struct heft_bytes memory = {(const uint8_t *)bytes.p, bytes.n};
    struct heft_row row = {.name = name, .dtype = (uint8_t)dtype};
    struct heft_source source;

    if (dtype == HEFT_STRING) {
        s.sum = HEFT_SUM_OWN;
        s.more = &string;
    }
    heft_source_open_memory(&source, memory, "input");
    return heft_model_add_file(model, &source, "input", &s.source, err) &&
           heft_model_add_storage(model, &s, &row.storage, err) &&
           heft_model_add_row(model, &row, err);
}

static void rename_all(const struct heft_model *model)
{
    const struct heft_rule rule = {sizeof rule, HEFT_RULE_RENAME, "^a/", "another/"};
    const struct heft_convert_options options = {
        .size = sizeof options, .output = "/nowhere/x", .to = "tf", .rules = &rule, .n_rules = 1};
    struct heft_error err = {0};
    struct heft_conversion c;

    if (!heft_conversion_plan(&c, model, &options, &err))
        expect(err.code != HEFT_OK && err.text[0]);
    heft_conversion_release(&c);
}

static void look_up(const struct heft_model *model)
{
    struct heft_error err = {0};
    struct heft_tf_names names;

    if (heft_tf_names_load(&names, model, &err))
        expect(heft_tf_names_find(&names, HEFT_STR(KEY)) == 0);
    else
        expect(err.code != HEFT_OK && err.text[0]);
    heft_tf_names_release(&names);
}

/* The first byte selects whether the rest is the graph, or the string tensor that stores it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct heft_error err = {0};
    struct heft_arena mem = {0};
    struct heft_model model;
    struct heft_str stored;
    uint32_t crc;

    if (size < 1 || size > MOST_BYTES)
        return 0;
    stored = (struct heft_str){(const char *)data + 1, size - 1};
    heft_model_init(&model, NULL, &heft_formats);
    if (data[0] % 2)
        expect(heft_tf_put_string(stored, &mem, &stored, &crc, &err));
    if (add(&model, HEFT_STR(KEY), HEFT_F32, HEFT_STR("1234"), &err) &&
        add(&model, HEFT_STR(GRAPH), HEFT_STRING, stored, &err) &&
        heft_model_validate(&model, &err)) {
        rename_all(&model);
        look_up(&model);
    }
    heft_model_release(&model);
    heft_arena_release(&mem);
    return 0;
}
