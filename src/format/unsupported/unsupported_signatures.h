/* unsupported_signatures.h: files and folders of formats that heft does not read: how to recognise
 * them, and the error messages for them. */
#ifndef HEFT_UNSUPPORTED_SIGNATURES_H
#define HEFT_UNSUPPORTED_SIGNATURES_H

#include "core/registry.h"

extern const struct heft_foreign heft_foreign;

/* ---- unsupported_marks.c: true if the head has the structure of that format ---- */
bool heft_looks_onnx(const struct heft_probe *probe);
bool heft_looks_coreml(const struct heft_probe *probe);
bool heft_looks_sentencepiece(const struct heft_probe *probe);
bool heft_looks_flax(const struct heft_probe *probe);
bool heft_looks_arrow_stream(const struct heft_probe *probe);
bool heft_looks_parquet(const struct heft_probe *probe);

#endif
