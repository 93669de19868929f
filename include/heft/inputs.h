/* inputs.h: opening checkpoints that are not files of the disk: in memory, part of an open file, or
 * read by callbacks. heft.h includes this file.
 *
 *     c = heft_open_memory(data, n, NULL, &err);
 *
 *     struct heft_input in = {.size = sizeof in, .name = "model.safetensors", .bytes = n,
 *                             .ctx = asset, .read = read_asset, .close = close_asset};
 *     c = heft_open_inputs(&in, 1, NULL, &err);
 *
 * The other functions of the library work on such a checkpoint as on any other. Functions that take a
 * path take inputs through their options: the path is then looked up among the inputs. "" is the
 * directory that contains all of them.
 * HDF5 (.h5, .keras): libhdf5 runs in a process of its own, which cannot call the program. An input
 * that is read by a callback is therefore copied to a temporary file (in TMPDIR, without a name) when
 * such a checkpoint is opened. */
#ifndef HEFT_INPUTS_H
#define HEFT_INPUTS_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct heft_checkpoint;
struct heft_open_options;

/* A file that the program provides.
 * Ownership. The function that receives an input takes it over and calls close() exactly once: when the
 * checkpoint is closed, or at once if opening fails; functions without a handle before they return. Only
 * options and inputs that are refused for their size (types.h) are not looked into. The
 * struct itself, the array it is in, and `name` are copied. An input must not be given twice.
 * Threads. read() and view() are called from any thread, several at a time. close() is called once no
 * other call runs. None of them may call functions of the library with the same checkpoint.
 * Sizes. Only ranges inside `bytes` are asked for, n is not 0, and read() provides all n bytes or fails.
 * The contents must not change. */
struct heft_input {
    size_t size; /* HEFT_INIT, in each struct of an array; never 0 (types.h) */
    /* Path by which the files of a checkpoint find each other: "model-00001-of-00002.safetensors",
     * "variables/variables.index". Also the file in errors and in heft_file_at. Not empty, unique. */
    const char *name;
    uint64_t bytes;   /* size */
    const void *data; /* the whole input in memory, valid until close(); NULL: read() is called */
    void *ctx;        /* passed to the callbacks */
    /* Reads n bytes at `offset` into dst. Fails by returning false: the error has the code HEFT_IO, the
     * offset, and err->text and err->system_error if they are filled; HEFT_NOMEM and HEFT_CANCELLED in
     * err->code are kept. */
    bool (*read)(void *ctx, uint64_t offset, void *dst, size_t n, struct heft_error *err);
    /* Address of n bytes at `offset` that stay valid and unchanged until close(), for heft_tensor_map;
     * or NULL. May be NULL: heft_tensor_map is then HEFT_UNSUPPORTED. Not called if data is set. */
    const void *(*view)(void *ctx, uint64_t offset, size_t n);
    void (*close)(void *ctx); /* may be NULL */
    /* A call takes long whatever n is, such as a request to a server. Small reads are then joined:
     * neighbouring bytes are read and kept, up to 1 MiB in all, and files are listed with
     * few calls. In archives of torch local headers are then compared when their tensors are read:
     * HEFT_MALFORMED, and HEFT_UNSUPPORTED for a tensor that torch would have put elsewhere. */
    bool is_slow;
};

/* Opens n inputs as one checkpoint: a single one as a file, several as a directory that contains them
 * (a sharded model, a SavedModel). To open several as heft_open_many does, give heft_open_options.inputs.
 * options may be NULL; its inputs must be empty. NULL on failure, as heft_open. */
HEFT_API struct heft_checkpoint *heft_open_inputs(const struct heft_input *inputs, size_t n,
                                                  const struct heft_open_options *options,
                                                  struct heft_error *err);
/* Opens n bytes in memory, which are borrowed until heft_close and must not change. Errors call the file
 * "memory". */
HEFT_API struct heft_checkpoint *heft_open_memory(const void *data, size_t n,
                                                  const struct heft_open_options *options,
                                                  struct heft_error *err);

#define HEFT_TO_END UINT64_MAX
/* Opens `bytes` bytes of an open regular file, from `offset` on; HEFT_TO_END: all that follow. The
 * descriptor is duplicated: the caller keeps its own, and may close it at once. Its file position is not
 * used. HEFT_USAGE if the range is not inside the file. Errors call the file "descriptor N", and offsets
 * count from `offset`. The address of a view (heft_tensor_map) is congruent to `offset` plus the tensor's
 * offset, modulo the size of a page. */
HEFT_API struct heft_checkpoint *heft_open_fd(int fd, uint64_t offset, uint64_t bytes,
                                              const struct heft_open_options *options,
                                              struct heft_error *err);

#ifdef __cplusplus
}
#endif
#endif
