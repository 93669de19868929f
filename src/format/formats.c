/* formats.c: the table of formats. A new format needs a declaration and a line in the table. */
#include "format/formats.h"

#include "format/folders.h"
#include "format/unsupported/unsupported_signatures.h"
#include "quant/dequantizer.h"
#include "rules/ruler.h"

extern const struct heft_format heft_format_torch;
extern const struct heft_format heft_format_torch_dcp;
extern const struct heft_format heft_format_deepspeed;
extern const struct heft_format heft_format_torchscript;
extern const struct heft_format heft_format_torch_export;
extern const struct heft_format heft_format_safetensors;
extern const struct heft_format heft_format_hf_index;
extern const struct heft_format heft_format_tf_bundle;
extern const struct heft_format heft_format_tf_state;
extern const struct heft_format heft_format_tf_v1;
extern const struct heft_format heft_format_saved_model;
extern const struct heft_format heft_format_tf_graph;
extern const struct heft_format heft_format_gguf;
extern const struct heft_format heft_format_ptd;
extern const struct heft_format heft_format_pte;
extern const struct heft_format heft_format_h5;
extern const struct heft_format heft_format_keras;
extern const struct heft_format heft_format_npz;
extern const struct heft_format heft_format_npy;
extern const struct heft_format heft_format_torch_legacy;
extern const struct heft_format heft_format_torch_tar;
extern const struct heft_format heft_format_pickle;
extern const struct heft_format heft_format_tf;
extern const struct heft_format heft_format_dcp_hf;
extern const struct heft_format heft_format_raw;

/* Formats with strong magic numbers come first. One format per line, so that merges do not
 * conflict. */
/* clang-format off */
static const struct heft_format *const list[] = {
    &heft_format_torch,
    &heft_format_torch_dcp,
    &heft_format_deepspeed,
    &heft_format_torchscript,
    &heft_format_torch_export,
    &heft_format_safetensors,
    &heft_format_hf_index,
    &heft_format_gguf,
    &heft_format_tf_bundle,
    &heft_format_tf_state,
    &heft_format_tf_v1,
    &heft_format_saved_model,
    &heft_format_tf_graph,
    &heft_format_ptd,
    &heft_format_pte,
    &heft_format_h5,
    &heft_format_keras,
    &heft_format_npz,
    &heft_format_npy,
    &heft_format_torch_legacy,
    &heft_format_torch_tar,
    &heft_format_pickle,
    &heft_format_tf,
    &heft_format_dcp_hf,
    &heft_format_raw,
};
/* clang-format on */

const struct heft_formats heft_formats = {
    .list = list,
    .n = HEFT_COUNT(list),
    .conventions = &heft_conventions,
    .foreign = &heft_foreign,
    .dequantizer = &heft_dequantizer,
    .ruler = &heft_ruler,
};
