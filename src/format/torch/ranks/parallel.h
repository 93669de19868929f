/* parallel.h: directories of models that tensor parallelism splits; private to ranks/. */
#ifndef HEFT_PARALLEL_H
#define HEFT_PARALLEL_H

#include "core/registry.h"

/* The files of a model-parallel save, or that of a directory of Megatron's newest iteration. HEFT_UNSUPPORTED
 * for Megatron's zarr. */
HEFT_CHECKED bool heft_parallel_find_set(const struct heft_folder *folder, struct heft_arena *mem,
                                         struct heft_file_set *out, struct heft_error *err);

#endif
