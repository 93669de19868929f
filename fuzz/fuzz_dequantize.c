/* fuzz_dequantize.c: dequantizing a model, with its config.json: a script (script.h).
 *
 * Invariants: those of expect_conversion.h; and what info says is an answer or an error. */
#include "convert_script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The description of the model must not depend on the options. */
static void describe_model(const uint8_t *data, size_t size)
{
    static struct script script;
    struct heft_quantization found;
    struct heft_error err = {0};
    struct script_run r;

    if (size > 1 << 18 || !script_parse(&script, data, size))
        return;
    script_begin(&r, &script);
    if (script_open(&r, &err)) {
        const bool ok = heft_dequantizer.describe(&r.model, &r.model.mem, &found, &err);

        expect_outcome(ok, &err);
        expect(!ok || found.scheme || (!found.refusal && found.weights == 0));
        expect(!ok || found.weights <= found.all);
    }
    heft_model_release(&r.model);
    script_end(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    describe_model(data, size);
    run_script(data, size);
    return 0;
}
