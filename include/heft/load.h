/* load.h: loads checkpoints: opens, lists, reads, maps and converts them. heft.h includes it.
 *
 * Most programs need twelve functions:
 *
 *     heft_open, heft_close                    a file or a directory as a checkpoint
 *     heft_error_format                        an error as one line
 *     heft_tensor_count, heft_tensor_at        the tensors one by one: name, dtype, shape
 *     heft_tensor_find                         a tensor by its name
 *     heft_tensor_read, heft_tensor_map        its bytes, copied or in place
 *     heft_value_find                          a number or text beside the tensors
 *     heft_convert_plan, heft_convert_run,
 *     heft_convert_free                        the checkpoint in another format
 *
 * A complete program, which reads one tensor:
 *
 *     #include <heft/heft.h>
 *     #include <stdio.h>
 *     #include <stdlib.h>
 *     #include <string.h>
 *
 *     int main(int argc, char **argv)
 *     {
 *         struct heft_error err = {0};
 *         struct heft_tensor t = HEFT_INIT(struct heft_tensor);
 *         struct heft_checkpoint *c = argc == 3 ? heft_open(argv[1], NULL, &err) : NULL;
 *         char line[1024];
 *         void *data = NULL;
 *         size_t i;
 *
 *         if (!c) {
 *             fprintf(stderr, "%s\n", heft_error_format(&err, line, sizeof line));
 *             return 2;
 *         }
 *         if (heft_tensor_find(c, argv[2], strlen(argv[2]), &i) && heft_tensor_at(c, i, &t) &&
 *             (data = malloc((size_t)t.bytes)) != NULL &&
 *             heft_tensor_read(c, i, data, (size_t)t.bytes, &err))
 *             printf("%s is %s, %zu bytes\n", t.name, heft_dtype_name(t.dtype), (size_t)t.bytes);
 *         else
 *             fprintf(stderr, "%s: %s\n", argv[2], err.code ? err.text : "no such tensor");
 *         free(data);
 *         heft_close(c);
 *         return err.code || !t.name;
 *     }
 *
 * Ownership. The caller owns a handle and releases it with its closing function, which accepts
 * NULL. Everything that is obtained from a handle (names, shapes, values, views) belongs to the
 * handle and is valid until it is closed. Objects created from a checkpoint (a map, a conversion, a
 * restore) must be released before the checkpoint is closed.
 * Structs. Initialise those that begin with `size` with HEFT_INIT: "Growing structs" in types.h.
 * Lists. A function named …_at returns the item at `index`, counted from 0; past the end it returns
 * false or NULL.
 * Threads. An open checkpoint never changes: any number of threads may use it at the same time. A
 * conversion must be used by one thread only. There is no mutable global state but the settings of
 * host.h, which a program makes once, if at all.
 * Errors. See types.h. The library never prints, exits or aborts. A NULL argument that must not be
 * NULL is HEFT_USAGE; functions without an error argument then return false, 0 or NULL. The error
 * argument itself must not be NULL.
 * Processes. While a .h5 or .keras file is open, a child process (fork) runs libhdf5. It keeps no
 * descriptor of the program except that of the file, and ends with heft_close (SIGCHLD); see
 * "Processes" in libheft(3).
 * Untrusted input. A file can make a function fail with a code and an offset, but it cannot make it
 * crash, hang, or use memory beyond the limits.
 */
#ifndef HEFT_LOAD_H
#define HEFT_LOAD_H

#include "format.h"
#include "inputs.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct heft_limits;

/* ---- errors and versions ---------------------------------------------------------------- */

/* Formats the error as "heft: FILE: offset 0x1a2b: text" without a newline, truncated to n bytes.
 * Returns `out`. */
HEFT_API char *heft_error_format(const struct heft_error *err, char *out, size_t n);
/* Version of the library at run time. Until 1.0 each MINOR has its own SONAME (libheft.so.0.1),
 * because structs may change. */
HEFT_API const char *heft_version(void);
HEFT_API unsigned heft_version_number(void);

/* ---- opening ---------------------------------------------------------------------------- */

struct heft_open_options {
    size_t size;        /* HEFT_INIT */
    const char *format; /* format name such as "torch"; NULL: detected from the content */
    const struct heft_limits *limits; /* NULL: defaults */
    /* Opens truncated or damaged files and recovers their intact tensors. Lost tensors are not
     * listed as tensors: heft_unread_at names them, and heft_missing_at and heft_damage_at describe
     * the damage. Recovered tensors can be used as usual; only a stored checksum can prove that
     * their data is correct: heft_tensor_check, heft_convert_options. */
    bool salvage;
    /* Options of formats for reading (HEFT_OPTION_READS): heft_format_option_at lists them.
     * HEFT_USAGE for an option that no format has, and for a value that is not allowed. The last of
     * several options of the same name applies. heft_idle_option_at lists those without effect. */
    const struct heft_option *options;
    size_t n_options;
    /* The path "-" is standard input, which is copied to a temporary file. */
    bool standard_input;
    const struct heft_input *inputs; /* where paths lead, if not to the disk: inputs.h */
    size_t n_inputs;
    /* Several files may have tensors of the same names, as the ranks of a model-parallel save do: if more than
     * one file has tensors, each name gets "@K", the number of its file in the order given, from 0 on.
     * Rules files put them together (heft_rules_numbered); conversions without one are HEFT_USAGE. */
    bool number_names;
    bool reserved[7];
};

struct heft_checkpoint;

/* Opens a file, a directory (sharded model, distributed checkpoint, SavedModel, TensorFlow
 * checkpoints), an index.json, or the prefix of a TensorFlow checkpoint. options may be NULL.
 * Returns NULL on failure: HEFT_IO, HEFT_MALFORMED, HEFT_UNSUPPORTED, HEFT_LIMIT, HEFT_UNSAFE (the
 * file refers to a path outside of its directory), HEFT_USAGE (unknown format or option). */
HEFT_API struct heft_checkpoint *
heft_open(const char *path, const struct heft_open_options *options, struct heft_error *err);
/* Opens several shard files as one checkpoint. */
HEFT_API struct heft_checkpoint *heft_open_many(const char *const *paths, size_t n_paths,
                                                const struct heft_open_options *options,
                                                struct heft_error *err);
/* Releases the checkpoint. It is freed, and its files are closed, with the last reference. */
HEFT_API void heft_close(struct heft_checkpoint *c);
/* Adds a reference, which another heft_close releases: for objects that outlive the program's own
 * use of the checkpoint, such as an array on a view. Thread-safe. Returns c. */
HEFT_API struct heft_checkpoint *heft_retain(struct heft_checkpoint *c);

/* ---- tensors ---------------------------------------------------------------------------- */

enum heft_stored {
    HEFT_STORED_PLAIN,   /* uncompressed bytes in the file */
    HEFT_STORED_DEFLATE, /* deflated zip record, [offset, offset+stored_bytes) */
    HEFT_STORED_PICKLE,  /* encoded inside a pickle at `offset` */
    HEFT_STORED_PACKED,  /* pieces that a library decompresses (chunks of HDF5), somewhere in
                            [offset, offset+stored_bytes) */
    HEFT_STORED_PROTOBUF /* encoded inside a protobuf message at `offset` */
};

struct heft_tensor {
    size_t size;      /* HEFT_INIT */
    const char *name; /* UTF-8, NUL-terminated */
    size_t name_len;  /* in some formats a name may contain NULs */
    enum heft_dtype dtype;
    unsigned rank;
    const uint64_t *shape;   /* array of rank extents */
    const uint64_t *strides; /* array of rank numbers, in elements; NULL if row-major */
    uint64_t bytes;          /* number of elements × element size */
    /* The following members describe the first part if the tensor is stored in parts:
     * heft_tensor_part_count. */
    size_t file;     /* index for heft_file_at */
    uint64_t offset; /* byte offset in that file: of the first element if stored
                      * plainly, else of the record */
    enum heft_stored stored;
    uint64_t stored_bytes;    /* bytes of the storage in the file */
    int64_t storage;          /* number of a storage shared by several tensors; -1 if not shared */
    bool big_endian;          /* stored big-endian; reads return little-endian */
    bool conjugated, negated; /* stored conjugated or negated; reads return the resolved value */
    bool missing; /* a file with its data is missing or too short, so that it cannot be read */
};
HEFT_API size_t heft_tensor_count(const struct heft_checkpoint *c);
HEFT_API bool heft_tensor_at(const struct heft_checkpoint *c, size_t index,
                             struct heft_tensor *out);
/* Finds a tensor by name, also by the dropped name of a recorded tie. False if there is none. */
HEFT_API bool heft_tensor_find(const struct heft_checkpoint *c, const char *name, size_t name_len,
                               size_t *index);
/* The same for a tensor that must exist. If it does not, the error says why: HEFT_USAGE with similar
 * names ("there is no tensor embed.wieght; did you mean embed.weight?"), HEFT_UNSUPPORTED if it is in
 * the file but cannot be read, HEFT_MALFORMED if the files refer to tensors that they lack. */
HEFT_API bool heft_tensor_require(const struct heft_checkpoint *c, const char *name,
                                  size_t name_len, size_t *index, struct heft_error *err);
/* Number of elements of a tensor, the product of its shape; 0 past the end. */
HEFT_API uint64_t heft_tensor_elements(const struct heft_checkpoint *c, size_t index);

struct heft_file {
    size_t size; /* HEFT_INIT */
    const char *path;
    uint64_t bytes;
};
HEFT_API size_t heft_file_count(const struct heft_checkpoint *c);
HEFT_API bool heft_file_at(const struct heft_checkpoint *c, size_t index, struct heft_file *out);

/* ---- reading tensors --------------------------------------------------------------------- */

/* These functions return row-major, little-endian bytes, whatever the layout of the file. */

/* Reads the whole tensor into dst; size must equal its `bytes`. HEFT_USAGE, HEFT_IO, HEFT_MALFORMED
 * (deflated data). */
HEFT_API bool heft_tensor_read(struct heft_checkpoint *c, size_t index, void *dst, size_t size,
                               struct heft_error *err);
/* How heft_tensor_view maps; all members may be 0. */
struct heft_view_options {
    size_t size; /* HEFT_INIT */
    /* A copy-on-write view: it may be written to, and the file never changes. Only pages that are
     * written to take memory. All such views of a checkpoint share their bytes, as tied tensors do;
     * read-only views do not see what was written. */
    bool writable;
    /* Accepts tensors with strides: their elements lie in the view by heft_tensor.strides. */
    bool strided;
};
struct heft_view {
    size_t size;    /* HEFT_INIT */
    void *data;     /* first element; not to be written to unless the view is writable */
    uint64_t bytes; /* up to the end of the last element */
};
/* Maps the tensor's data from its file without reading it, if it is stored uncompressed, in one
 * piece, row-major (or options->strided), little-endian and not conjugated; else HEFT_UNSUPPORTED.
 * options may be NULL. The view has the alignment of the file: its address equals `offset` modulo
 * the page size (heft_convert_options.format_options: "alignment"). It is valid until the checkpoint
 * is freed: see heft_retain. HEFT_IO if the file was truncated after it was opened; if it is
 * truncated later, access to the view raises SIGBUS: read the tensor where that is possible.
 * Memory: the address space of the whole file, once for each kind of view; if it is too large for
 * the address space (32 bits) or cannot be mapped as a whole, only the pages of the tensor. */
HEFT_API bool heft_tensor_view(struct heft_checkpoint *c, size_t index,
                               const struct heft_view_options *options, struct heft_view *out,
                               struct heft_error *err);
/* The address of a read-only view without strides. */
HEFT_API bool heft_tensor_map(struct heft_checkpoint *c, size_t index, const void **data,
                              struct heft_error *err);

/* Range of one dimension of a slice: [start, stop). `drop` removes the dimension from the result
 * (then stop = start + 1). */
struct heft_range {
    uint64_t start, stop;
    bool drop;
};

/* Reads a slice: ranges for the leading dimensions; the other dimensions are read completely. size
 * must be that of the slice (heft_slice_shape). HEFT_USAGE if a range exceeds its dimension. */
HEFT_API bool heft_tensor_read_slice(struct heft_checkpoint *c, size_t index,
                                     const struct heft_range *ranges, size_t n_ranges, void *dst,
                                     size_t size, struct heft_error *err);
/* How heft_tensor_read_with reads; all members may be 0. */
struct heft_read_options {
    size_t size; /* HEFT_INIT */
    /* Casts to `as`, as in conversions: any real dtype to a float (rounded to the nearest, ties to
     * even), integers and bools to integers that represent all their values, complex numbers to
     * complex ones. A block type of GGML becomes F32, with the bits of gguf-py, and every other float
     * from it; Q8_1 has no values. Floats become HEFT_Q4_0, HEFT_Q4_1, HEFT_Q5_0, HEFT_Q5_1 and
     * HEFT_Q8_0 with the bits of ggml if the innermost dimension is a multiple of 32;
     * HEFT_UNSUPPORTED if there is a NaN, an infinity, or a scale beyond F16. HEFT_USAGE if there is
     * no such cast. */
    bool cast;
    enum heft_dtype as;
    bool native_order; /* in the byte order of the processor; else little-endian */
    /* First compares the stored checksum (heft_tensor_check), which reads the storage once more. */
    bool check;
    const struct heft_range *ranges; /* a slice, as in heft_tensor_read_slice */
    size_t n_ranges;
    /* Strides of dst, one for each dimension of the result, in elements of the result as in struct
     * heft_tensor; NULL: row-major. HEFT_USAGE if elements could overlap: sorted, each stride must
     * be at least the span of the dimensions with smaller ones. Other bytes of dst are not
     * written. */
    const uint64_t *strides;
    unsigned threads; /* 0: one per core, at most 4; small tensors are read by the calling thread */
    /* Progress in bytes of the result; during the check `done` is 0. Called from any thread, but
     * not concurrently; returning false stops (HEFT_CANCELLED): dst is then partly written. */
    bool (*progress)(void *ctx, uint64_t done, uint64_t total);
    void *progress_ctx;
};
/* Reads a tensor or a slice with these options; options may be NULL. size must be that of the result
 * (heft_slice_shape gives its shape, heft_dtype_bytes its size), with strides at least up to the end
 * of its last element. *overflowed (may be NULL) is increased by the number of finite values that
 * the cast found out of range. */
HEFT_API bool heft_tensor_read_with(struct heft_checkpoint *c, size_t index,
                                    const struct heft_read_options *options, void *dst, size_t size,
                                    uint64_t *overflowed, struct heft_error *err);
/* Casts n little-endian elements in memory likewise; n is a multiple of the blocks of both dtypes
 * (heft_dtype_block_elements), and src and dst do not overlap. HEFT_USAGE, HEFT_UNSUPPORTED. */
HEFT_API bool heft_cast(enum heft_dtype from, const void *src, enum heft_dtype to, void *dst,
                        size_t n, uint64_t *overflowed, struct heft_error *err);
/* Size of a slice in bytes, and its shape without dropped dimensions: `shape` has room for the rank
 * of the tensor, *rank is the number of dimensions. */
HEFT_API bool heft_slice_shape(const struct heft_checkpoint *c, size_t index,
                               const struct heft_range *ranges, size_t n_ranges, uint64_t *shape,
                               unsigned *rank, uint64_t *bytes, struct heft_error *err);
/* The same for a slice that is cast when it is read; *bytes is its size after the cast. Such a slice may begin and
 * end within a block. HEFT_USAGE if there is no such cast. */
HEFT_API bool heft_slice_shape_as(const struct heft_checkpoint *c, size_t index,
                                  const struct heft_range *ranges, size_t n_ranges,
                                  enum heft_dtype as, uint64_t *shape, unsigned *rank,
                                  uint64_t *bytes, struct heft_error *err);
/* Parses a slice in Python's syntax, "0:10,:,3" (negative numbers count from the end; steps are not
 * supported). `ranges` has room for the rank of the tensor; *n_ranges is the number of ranges.
 * HEFT_USAGE. */
HEFT_API bool heft_slice_parse(const struct heft_checkpoint *c, size_t index, const char *text,
                               struct heft_range *ranges, size_t *n_ranges, struct heft_error *err);

/* Passes a slice (n_ranges = 0: the whole tensor) to each() in pieces, in order and in constant
 * memory. each() may return false to stop (HEFT_CANCELLED). */
HEFT_API bool heft_tensor_stream(struct heft_checkpoint *c, size_t index,
                                 const struct heft_range *ranges, size_t n_ranges,
                                 bool (*each)(void *ctx, const void *piece, size_t n), void *ctx,
                                 struct heft_error *err);
/* The same, cast to another dtype as in conversions; HEFT_USAGE if there is no such cast.
 * *overflowed (may be NULL) is increased by the number of finite values that are out of range. */
HEFT_API bool heft_tensor_stream_as(struct heft_checkpoint *c, size_t index,
                                    const struct heft_range *ranges, size_t n_ranges,
                                    enum heft_dtype as,
                                    bool (*each)(void *ctx, const void *piece, size_t n), void *ctx,
                                    uint64_t *overflowed, struct heft_error *err);

/* Reads the whole storage of the tensor (or the storages of its parts) and compares the stored
 * checksum; returns true if the file stores none. HEFT_MISMATCH. The functions above do not check
 * uncompressed storages. */
HEFT_API bool heft_tensor_check(struct heft_checkpoint *c, size_t index, struct heft_error *err);
/* Calls each() for every string of a HEFT_STRING tensor, in row-major order. A string is valid
 * during the call, may contain any bytes, and is not NUL-terminated; each() may return false to
 * stop (HEFT_CANCELLED). Checksums are not compared (see heft_tensor_check). HEFT_UNSUPPORTED if
 * the tensor has another dtype. */
HEFT_API bool heft_tensor_strings(struct heft_checkpoint *c, size_t index,
                                  bool (*each)(void *ctx, const char *text, size_t n), void *ctx,
                                  struct heft_error *err);

/* ---- values, metadata, ties ------------------------------------------------------------- */

/* Root of the values that are not tensors; NULL if there are none. */
HEFT_API const struct heft_value *heft_values(const struct heft_checkpoint *c);
/* Information about the files other than tensors, metadata and values: the header of a bundle, the
 * signatures of a SavedModel. A dict, as in `heft info --json`; NULL if there is none. */
HEFT_API const struct heft_value *heft_file_info(const struct heft_checkpoint *c);
/* Value at a dotted path ("optimizer.param_groups.0.lr"), in the values or else in heft_file_info;
 * NULL if there is none. */
HEFT_API const struct heft_value *heft_value_find(const struct heft_checkpoint *c,
                                                  const char *path);

/* All items of a list of which the tree has only the first ones (`more` > 0), also of the lists inside
 * it: heft_items_value is a list without `more`. Of another value: the value itself. Values belong to
 * the items, which must be freed before the checkpoint is closed. HEFT_LIMIT beyond limits.nodes. */
struct heft_items;
HEFT_API struct heft_items *heft_items_new(const struct heft_checkpoint *c,
                                           const struct heft_value *list, struct heft_error *err);
HEFT_API const struct heft_value *heft_items_value(const struct heft_items *items);
HEFT_API void heft_items_free(struct heft_items *items);

/* Metadata: pairs of texts. */
HEFT_API size_t heft_metadata_count(const struct heft_checkpoint *c);
HEFT_API bool heft_metadata_at(const struct heft_checkpoint *c, size_t index,
                               struct heft_metadata *out);

/* Ties recorded in the metadata: `key` is a dropped name of the tensor `value`. */
HEFT_API size_t heft_tie_count(const struct heft_checkpoint *c);
HEFT_API bool heft_tie_at(const struct heft_checkpoint *c, size_t index, struct heft_metadata *out);

/* ---- what else may be in a checkpoint --------------------------------------------------- */

/* Name of the format: "torch", "safetensors" … */
HEFT_API const char *heft_format(const struct heft_checkpoint *c);
/* Description of the format's version, for people; may be "". */
HEFT_API const char *heft_format_version(const struct heft_checkpoint *c);

/* Tensors that cannot be read, with the reason. */
HEFT_API size_t heft_unread_count(const struct heft_checkpoint *c);
HEFT_API bool heft_unread_at(const struct heft_checkpoint *c, size_t index,
                             struct heft_unread *out);

/* Part of a tensor that is stored in parts, as in sharded training: an n-dimensional box. The parts
 * tile the tensor: each element is in exactly one of them. Such tensors can be read, sliced and
 * converted like any others. */
struct heft_tensor_part {
    size_t size;             /* HEFT_INIT */
    const uint64_t *start;   /* array of rank numbers; the box is [start, start + extent) */
    const uint64_t *extent;  /* one number per dimension */
    const uint64_t *strides; /* strides of the box, in elements; NULL if row-major and contiguous */
    uint64_t bytes;          /* bytes of its elements */
    size_t file;             /* the following members are as in struct heft_tensor */
    uint64_t offset;
    enum heft_stored stored;
    uint64_t stored_bytes;
    bool big_endian;
    bool conjugated, negated;
};
/* Number of parts; 0 if the tensor is stored as a whole (heft_tensor_at). */
HEFT_API size_t heft_tensor_part_count(const struct heft_checkpoint *c, size_t index);
/* Parts in the order of their first elements. False if the tensor is stored as a whole. */
HEFT_API bool heft_tensor_part_at(const struct heft_checkpoint *c, size_t index, size_t part,
                                  struct heft_tensor_part *out);

/* Blobs: named bytes that are not a tensor, such as the data for a backend in a .ptd. Converted
 * only from .ptd to .ptd. */
struct heft_blob {
    size_t size;      /* HEFT_INIT */
    const char *name; /* UTF-8, NUL-terminated */
    size_t name_len;
    const char *kind; /* description for people, such as "blob" */
    uint64_t bytes;
    size_t file; /* index for heft_file_at */
    uint64_t offset;
    enum heft_stored stored;
    uint64_t stored_bytes;
};
HEFT_API size_t heft_blob_count(const struct heft_checkpoint *c);
/* Blobs in file order. */
HEFT_API bool heft_blob_at(const struct heft_checkpoint *c, size_t index, struct heft_blob *out);
HEFT_API bool heft_blob_find(const struct heft_checkpoint *c, const char *name, size_t name_len,
                             size_t *index);
/* The same for a blob, and a check of its stored checksum. */
HEFT_API bool heft_blob_stream(struct heft_checkpoint *c, size_t index,
                               bool (*each)(void *ctx, const void *piece, size_t n), void *ctx,
                               struct heft_error *err);
HEFT_API bool heft_blob_check(struct heft_checkpoint *c, size_t index, struct heft_error *err);

/* For each input directory with more than one checkpoint: a sentence that says which one was opened
 * and which were not. NULL past the end. */
HEFT_API const char *heft_choice_at(const struct heft_checkpoint *c, size_t index);
/* Name of each given option of reading that had no effect, because none of the files has a format
 * with this option. NULL past the end. */
HEFT_API const char *heft_idle_option_at(const struct heft_checkpoint *c, size_t index);
/* Number of differences; heft_difference_at returns only the first few thousand. */
HEFT_API size_t heft_difference_count(const struct heft_checkpoint *c);
HEFT_API bool heft_difference_at(const struct heft_checkpoint *c, size_t index,
                                 struct heft_difference *out);

/* ---- quantization ------------------------------------------------------------------------ */

/* Quantization of a model, by its configuration (config.json beside the first file) and the names, dtypes and
 * shapes of its tensors. */
struct heft_quantized {
    size_t size;           /* HEFT_INIT */
    const char *scheme;    /* "compressed-tensors nvfp4-pack-quantized"; NULL: not quantized */
    const char *refusal;   /* why it cannot be dequantized; then nothing is counted; else NULL */
    uint64_t weights, all; /* quantized tensors, and all, without scales and other companions */
    uint64_t parameters;   /* elements of all */
    uint64_t quantized;    /* elements of the quantized ones */
    uint64_t stored_bytes; /* of the quantized ones and their companions */
    enum heft_dtype dtype; /* dtype that convert --dequantize gives, if refusal is NULL */
};
/* Fills *out. Its texts belong to the checkpoint; each call allocates them anew. */
HEFT_API bool heft_quantization(struct heft_checkpoint *c, struct heft_quantized *out,
                                struct heft_error *err);

/* ---- converting -------------------------------------------------------------------------- */

/* -g GLOB, -e REGEX, --rename RE=>TO, --cast GLOB=DTYPE, --metadata K=V, --partition GLOB=HOW,
 * --keep-tied GLOB, --drop-metadata GLOB, --rules FILE, --set K=N */
enum heft_rule_kind {
    HEFT_RULE_GLOB,
    HEFT_RULE_REGEX,
    HEFT_RULE_RENAME,
    HEFT_RULE_CAST,
    HEFT_RULE_METADATA,
    /* tf: "axis:n" slices, "keep" those of the source, "whole"; torch-dcp and dcp-hf: "axis:n" shares of
     * the first n ranks, "whole" */
    HEFT_RULE_PARTITION,
    HEFT_RULE_KEEP_TIED,     /* safetensors: the matching one of tied names is kept */
    HEFT_RULE_DROP_METADATA, /* leaves out the source's metadata with a key that matches */
    HEFT_RULE_FILE, /* a rules file (doc/rules.md), or a preset by its name: other names and layouts */
    HEFT_RULE_SET /* a variable of the rules files, and its value */
};
struct heft_rule {
    size_t size; /* HEFT_INIT, in each struct of an array; never 0 (types.h) */
    enum heft_rule_kind kind;
    /* glob ("!…" excludes), regex (POSIX extended, with \d \w \s \b), metadata key, path of a rules
     * file or name of a preset (without / and without the ending .rules), variable */
    const char *left;
    /* replacement (\1 … \9), name of a dtype, metadata value, how, "reverse" for a rules file that is
     * turned round, decimal number; else NULL */
    const char *right;
};
/* Tensors that are selected by root and the rules (globs and regexes; other rules are ignored):
 * sets selected[i] for each tensor. A tensor is selected if any glob or regex matches its name
 * below root, or there are only excluding globs, and no excluding glob matches it. HEFT_USAGE, as in
 * all functions that take rules: an unknown kind, a NULL text that the kind needs, an invalid regex, a
 * size that is not set. */
HEFT_API bool heft_select(const struct heft_checkpoint *c, const char *root,
                          const struct heft_rule *rules, size_t n_rules, bool *selected,
                          struct heft_error *err);

/* Effect of a rule on the names of a checkpoint. */
struct heft_rule_use {
    size_t size;         /* HEFT_INIT, in each struct of an array; never 0 (types.h) */
    uint64_t matches;    /* names that it matches: of all tensors, ties and blobs below root (globs
                         and regexes), or of the selected ones (other rules); 0 for metadata. For
                         the removal of metadata: keys that it matches */
    uint64_t values;     /* for globs and regexes without such a name: number of values below root
                         that they match by dotted path; they apply to conversions that keep
                         values */
    uint64_t left_alone; /* for a cast: matching tensors that are not cast, because a glob with
                            wildcards casts no integers and bools to a float */
};
/* Fills uses[i] for each rule. With rules files, casts, partitions and ties are counted over the names that these
 * give, and errors are those of heft_rules_view. HEFT_USAGE for an invalid regex, or if a size is not set. */
HEFT_API bool heft_rule_matches(const struct heft_checkpoint *c, const char *root,
                                const struct heft_rule *rules, size_t n_rules,
                                struct heft_rule_use *uses, struct heft_error *err);

/* ---- rules files ------------------------------------------------------------------------- */

/* A checkpoint seen through rules files (HEFT_RULE_FILE, HEFT_RULE_SET): its tensors are those that a
 * conversion with the same root and rules writes, before casts, in the same order; other names that
 * rules give them are recorded ties. Everything that works on an opened checkpoint works on it. Data is not
 * read; that tensors which a rule takes for equal are equal is only checked by conversions. It refers to `c`,
 * which is freed after it (heft_retain); c is not changed and can be used at the same time. Its own
 * functions may be called from several threads. HEFT_USAGE, with FILE:LINE in the text, for an error in a
 * rules file, and if the rules do not fit the tensors: a tensor that no rule takes, a part that is missing;
 * HEFT_IO for a file that cannot be read; HEFT_UNSUPPORTED for a selected tensor that cannot be read. */
HEFT_API struct heft_checkpoint *heft_rules_view(struct heft_checkpoint *c, const char *root,
                                                 const struct heft_rule *rules, size_t n_rules,
                                                 struct heft_error *err);
/* Whether a rules file among the rules expects the numbers of input files (`@`): then inputs are opened
 * with number_names. Reads the rules files from the disk. False in *numbered without any. */
HEFT_API bool heft_rules_numbered(const struct heft_rule *rules, size_t n_rules, bool *numbered,
                                  struct heft_error *err);
/* A rules file that is part of the library. Its texts are static. */
struct heft_rules_preset {
    size_t size;       /* HEFT_INIT */
    const char *name;  /* as in HEFT_RULE_FILE */
    const char *title; /* a line for people */
    const char *text;  /* the file, NUL-terminated */
    size_t text_len;
};
/* Presets by name. */
HEFT_API bool heft_rules_preset_at(size_t index, struct heft_rules_preset *out);

struct heft_convert_options {
    size_t size;        /* HEFT_INIT */
    const char *output; /* output file or directory, as -o of heft-convert(1) */
    const char *to;     /* name of the format; NULL: by the extension of the output */
    /* Options of the target format: heft_format_option_at lists them. HEFT_USAGE for an option that
     * no format has, and for a value that is not allowed. The last of several options of the same
     * name applies. */
    const struct heft_option *format_options;
    size_t n_format_options;
    /* Allows output without tensors, which is HEFT_USAGE otherwise. */
    bool allow_empty;
    const char *root; /* sub-dictionary to convert; its path is removed from the names */
    /* Rules in order. Selection: as in heft_select. Renaming: each rule replaces all its matches.
     * Casting: the last matching rule applies; a glob with wildcards casts only floats and block
     * types to a float or a block type, an exact name casts any dtype that can be cast. Dtypes are also accepted as bf16, bfloat16,
     * torch.bfloat16 and so on, in upper or lower case. One torch file made from another has its
     * values and nesting: there selection judges values by their paths, too. Rules files apply one
     * after the other, to the selected and renamed tensors; then casting matches the names that they
     * give. */
    const struct heft_rule *rules;
    size_t n_rules;
    uint64_t max_shard_size;         /* in bytes; 0 if not given */
    bool sharded;                    /* max_shard_size is set, and may be 0 */
    const char *filename_pattern;    /* contains {suffix}; NULL: that of the format */
    const struct heft_range *ranges; /* ranges of --slice; only for a single tensor */
    size_t n_ranges;
    unsigned threads; /* 0: one per core, at most 4 */
    bool overwrite;   /* replace existing files; otherwise they are HEFT_USAGE */
    bool no_sync;     /* do not wait until the data is on the disk */
    bool no_verify;   /* do not compare stored checksums */
    bool strict;      /* strings that the target does not support, and items of heft_left_at, are an
                    error; otherwise they are left out */
    /* Leaves out tensors that are lost or cannot be read; heft_convert_lost_at lists them. Planning
     * compares stored checksums, which reads all data to be converted, and treats tensors with a
     * mismatch as lost (not with no_verify). Only for checkpoints opened with salvage. */
    bool salvage;
    /* Progress in bytes. Called from any thread, but not concurrently; returning false stops
     * (HEFT_CANCELLED). */
    bool (*progress)(void *ctx, uint64_t done, uint64_t total);
    void *progress_ctx;
    /* Replaces quantized weights by their values: NULL: no; "": in the dtype of the model; else the
     * name of a dtype, BF16, F16 or F32. Cast rules take precedence. HEFT_UNSUPPORTED for schemes
     * that heft does not know. */
    const char *dequantize;
    /* Casts 8-bit floats although the checkpoint has scales for them, which is HEFT_USAGE otherwise. */
    bool ignore_scales;
    bool reserved[7];
    /* With dequantize: the value of a zero point of GPTQ, version 1, whose stored code is the largest one:
     * programs differ. "wrap": 0; "carry": 2 to the power of its bits; NULL: such a weight is
     * refused. */
    const char *gptq_zero;
};

/* A planned and checked conversion; nothing is written until it is run. */
struct heft_conversion;
struct heft_planned {
    size_t size; /* HEFT_INIT */
    size_t files, tensors, ops;
    uint64_t bytes;      /* bytes of all output files */
    uint64_t total_size; /* metadata.total_size of huggingface_hub: bytes of the tensors */
    bool is_sharded;
};
struct heft_planned_tensor {
    size_t size; /* HEFT_INIT */
    const char *name, *source_name;
    size_t file;
    enum heft_dtype dtype;
    uint64_t offset, bytes; /* byte offset in that file */
    /* With rules files: names of the tensors that it is made of; the rules file as given, and the line of
     * the rule that made it. Without: NULL and 0. */
    const char *const *sources;
    size_t n_sources;
    const char *rule_file;
    uint64_t rule_line;
};
/* Plans a conversion. NULL on failure: HEFT_USAGE (a rule, a name, an existing output),
 * HEFT_UNSUPPORTED (not supported by the target), HEFT_LIMIT. */
HEFT_API struct heft_conversion *heft_convert_plan(struct heft_checkpoint *c,
                                                   const struct heft_convert_options *options,
                                                   struct heft_error *err);
HEFT_API void heft_convert_summary(const struct heft_conversion *conversion,
                                   struct heft_planned *out);
HEFT_API bool heft_convert_file(const struct heft_conversion *conversion, size_t index,
                                struct heft_file *out);
/* Tensors file by file, in the order of huggingface_hub within each. */
HEFT_API bool heft_convert_tensor(const struct heft_conversion *conversion, size_t index,
                                  struct heft_planned_tensor *out);
/* Notes for people: "dropped lm_head.weight, tied to embed.weight"; "3 values are not tensors: left
 * out". */
HEFT_API size_t heft_convert_note_count(const struct heft_conversion *conversion);
HEFT_API const char *heft_convert_note(const struct heft_conversion *conversion, size_t index);
/* With salvage: selected tensors that are lost, with the reason. */
HEFT_API bool heft_convert_lost_at(const struct heft_conversion *conversion, size_t index,
                                   struct heft_unread *out);
/* Writes all files, or none under its final name. *overflowed: number of finite values out of range
 * of the target dtype of a cast, which become infinite (F8_E4M3: 448 or -448, the FNUZ types: NaN);
 * notes name their tensors. HEFT_IO, HEFT_MISMATCH (a stored checksum), HEFT_MALFORMED (deflated
 * data). */
HEFT_API bool heft_convert_run(struct heft_conversion *conversion, uint64_t *overflowed,
                               struct heft_error *err);
/* Reads the output again, compares all bytes with the plan, reopens it, and compares every tensor
 * (name, dtype, shape, elements) with the source. HEFT_MISMATCH names the first difference. */
HEFT_API bool heft_convert_check(struct heft_conversion *conversion, struct heft_error *err);
HEFT_API void heft_convert_free(struct heft_conversion *conversion);

/* ---- saving tensors in memory --------------------------------------------------------------- */

/* Writes n bytes of a tensor to dst, from `offset` on, counted from its first element: in the layout
 * of its strides, in the byte order of the processor. May be called for any range, several times, and
 * from several threads at once (threads = 1: from one at a time). Returns false to stop: with *err
 * filled (a code and a text), or unchanged (HEFT_CANCELLED). */
typedef bool heft_fill_fn(void *ctx, uint64_t offset, void *dst, size_t n, struct heft_error *err);

/* A tensor of the caller, in the byte order of the processor: `data`, or else `fill`. */
struct heft_own_tensor {
    size_t size;      /* HEFT_INIT, in each struct of an array; never 0 (types.h) */
    const char *name; /* UTF-8 */
    size_t name_len;
    enum heft_dtype dtype; /* with elements of a fixed size */
    unsigned rank;         /* at most 64 */
    const uint64_t *shape;
    const uint64_t *strides; /* in elements; NULL: row-major */
    const void *data;        /* address of the first element; NULL if it has none */
    heft_fill_fn *fill;
    void *ctx;
    /* Tensors with the same number share a storage, as tied weights do: they point into one block of
     * memory, which is readable from the first to the last of their elements (fill: they have the
     * same callback, and begin where the storage begins). 0: a storage of its own. */
    uint64_t storage;
};
/* Makes a checkpoint of tensors in memory, on which everything works that works on opened files:
 * conversion to any format, comparison, statistics, digests, verification, views of `data`. The data
 * and the contexts must exist, unchanged, until it is freed; names, shapes, strides and metadata are
 * copied. In listings there is one file, "memory", in which the storages follow one another in the
 * order of the tensors: heft_tensor.offset is a position in it. heft_format is "memory".
 * HEFT_USAGE, with the name of the tensor: a name twice or not UTF-8, a shape or strides beyond 64
 * bits, a dtype of variable length, no data. HEFT_USAGE if a size is not set. */
HEFT_API struct heft_checkpoint *heft_from_tensors(const struct heft_own_tensor *tensors, size_t n,
                                                   const struct heft_metadata *metadata,
                                                   size_t n_metadata, struct heft_error *err);
/* Saves tensors in memory: heft_from_tensors, a conversion with these options, which may select,
 * rename, cast and split, and heft_close. All files are written or none. A safetensors file has the
 * metadata as given, and is byte for byte that of the reference library's save_file (which writes
 * several entries of metadata in random order; here they are sorted). */
HEFT_API bool heft_save(const struct heft_own_tensor *tensors, size_t n,
                        const struct heft_metadata *metadata, size_t n_metadata,
                        const struct heft_convert_options *options, struct heft_error *err);

/* ---- limits and sizes ------------------------------------------------------------------- */

/* Limits on what a file may require. Zero means the default. */
struct heft_limits {
    size_t size;      /* HEFT_INIT */
    uint64_t header;  /* bytes of a safetensors header (100 000 000, as in the reference library) */
    uint64_t pickle;  /* bytes of one pickle (256 MiB), which is parsed in memory */
    uint64_t opcodes; /* opcodes of one pickle (50 million): limits time */
    /* The next limits grow with the size of the input; an input below 64 MiB needs less than 200
     * MiB of resident memory. All that is read shares a limit, too, as an input may come near
     * several: 12 MiB, plus 44 bytes for each of `nodes`, 110 of `tensors`, 40 of `expansion`, and
     * 8 for each byte of the files above 64 MiB. */
    uint64_t tensors;   /* number of tensors (300 000, and one more for every 50 bytes of the files
                    above 64 MiB); their names may have 32 bytes on average plus 1 MiB in all */
    uint64_t nodes;     /* values of one pickle (2.5 million, and one more for every 4 bytes above
                          64 MiB, up to 20 million), with two items each on average */
    uint64_t entries;   /* entries of a zip directory (400 000, and one more for every 64 bytes
                          above 64 MiB, up to 1 million) */
    uint64_t ratio;     /* ratio of inflated to compressed bytes (1100), against deflate bombs */
    uint64_t unpacked;  /* decompressed bytes of a file, which limits time (archives of torch and
                          NumPy: 64 times the size of the file, at least 4 GiB; HDF5: 32 times,
                          where chunks that are decompressed again count again, at least 1 GiB) */
    uint64_t expansion; /* values that are printed or flattened (1 million beyond the tensors),
                           against shared references that multiply ("billion laughs") */
    uint64_t depth;     /* depth of nested values (10 000) */
    uint64_t view; /* bytes of a tensor beyond 16 times its storage (1 GiB): expanded strides */
    uint64_t rank; /* dimensions (64, as in torch) */
    uint64_t name; /* bytes of a tensor's name (64 KiB) */
    /* Seconds of processor time for libhdf5 to list a file (8, plus one for every 16 MiB), and an
     * eighth of it for each call; more if the processor is measured to be slow. */
    uint64_t seconds;
};

/* Levenshtein distance of two texts, or limit + 1 if it exceeds limit (at most 8), in O(limit ×
 * length): for programs that suggest names. */
HEFT_API unsigned heft_edit_distance(const char *a, size_t a_len, const char *b, size_t b_len,
                                     unsigned limit);
/* Parses a size in bytes as in huggingface_hub ("5GB" = 5·10⁹), a plain number, KiB, MiB, GiB, TiB,
 * and all of these without the B ("5G" = 5·10⁹). HEFT_USAGE. */
HEFT_API bool heft_parse_bytes(const char *text, uint64_t *out, struct heft_error *err);
/* Parses a whole number: "100", "50K" = 50 000, "1.5M", "1e6", "4Ki" = 4096. HEFT_USAGE. */
HEFT_API bool heft_parse_count(const char *text, uint64_t *out, struct heft_error *err);

#ifdef __cplusplus
}
#endif
#endif
