/* fuzz_saved_model.c: opening SavedModels and graphs, in binary and text form, with their
 * constants.
 *
 * Invariants: those of open_format.h. */
#include <stdint.h>

#include "format/tensorflow/saved_model/tf_saved.h"
#include "open_format.h"

extern const struct heft_format heft_format_saved_model, heft_format_tf_graph;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct heft_bytes file = {data, size};
    const enum heft_tf_kind kind = heft_tf_form_of(file, size).kind;

    if (size > 1 << 15)
        return 0;
    open_format(kind == HEFT_TF_SAVED_MODEL ? &heft_format_saved_model : &heft_format_tf_graph,
                file);
    return 0;
}
