/* unsupported_signatures.h: files and folders of other formats, known by sure marks, and what to do with them. */
#ifndef HEFT_UNSUPPORTED_SIGNATURES_H
#define HEFT_UNSUPPORTED_SIGNATURES_H

#include "core/registry.h"

extern const struct heft_foreign heft_foreign;

/* ---- unsupported_marks.c: whether the structure of a file's head is that of … ---- */
bool heft_looks_onnx(const struct heft_probe *probe);
bool heft_looks_coreml(const struct heft_probe *probe);
bool heft_looks_sentencepiece(const struct heft_probe *probe);
bool heft_looks_flax(const struct heft_probe *probe);
bool heft_looks_arrow_stream(const struct heft_probe *probe);
bool heft_looks_parquet(const struct heft_probe *probe);

#endif
