/* heft.h: the door to checkpoints, and its manual.
 *
 * heft opens the file a machine-learning model was saved in, whatever framework saved it, without
 * that framework and without running anything the file contains.
 *
 *     struct heft_error err = {0};
 *     struct heft_checkpoint *c = heft_open("model.pth", NULL, &err);
 *     struct heft_tensor t;
 *     char line[1024];
 *
 *     if (!c) {
 *         fprintf(stderr, "%s\n", heft_error_format(&err, line, sizeof line));
 *         return 2;
 *     }
 *     for (size_t i = 0; heft_tensor_at(c, i, &t); i++)
 *         printf("%s %s\n", t.name, heft_dtype_name(t.dtype));
 *     heft_close(c);
 *
 * Ownership. A handle is owned by who got it and released by its one closing function (NULL is
 * lawful there). Whatever a handle hands out (names, shapes, values, views) belongs to the handle
 * and dies with it. What is made from a checkpoint (a map, a conversion, a restore) must be released
 * before it is closed.
 * Lists. A function called …_at gives item number `index`, counted from 0; past the end it returns
 * false, or NULL.
 * Threads. An open checkpoint never changes: any number of threads may read it at once. A
 * conversion belongs to one thread. There is no global state.
 * Errors. See types.h. The library never prints, exits or aborts. NULL where something is wanted is
 * HEFT_USAGE, or false, 0 or NULL of a function that takes no error. The error itself is never NULL.
 * Processes. One, while a .h5 or .keras is open: a child (fork) that runs libhdf5, keeps no descriptor
 * of the program but the file's, and ends with heft_close (SIGCHLD): "Processes" in libheft(3).
 * Hostile files. Every function that reads a file expects one. A file can make it fail, with a
 * code and an offset; it cannot make it crash, hang, or use memory beyond the limits.
 */
#ifndef HEFT_HEFT_H
#define HEFT_HEFT_H

#include "format.h"
#include "split.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "heft: FILE: offset 0x1a2b: text" without a newline; truncated to n. Returns `out`. */
HEFT_API char *heft_error_format(const struct heft_error *err, char *out, size_t n);
/* The version of the library at run time. Until 1.0 each MINOR has a SONAME of its own (libheft.so.0.1):
 * structs may change. */
HEFT_API const char *heft_version(void);
HEFT_API unsigned heft_version_number(void);

/* ---- opening ----------------------------------------------------------------------------- */

/* Bounds on what a file may ask for. Zero means the default. */
struct heft_limits {
    uint64_t header;  /* bytes of a safetensors header (100 000 000: the reference's own) */
    uint64_t pickle;  /* bytes of one pickle (256 MiB): parsed in memory */
    uint64_t opcodes; /* of one pickle (50 million): time */
    /* Memory in proportion to what is opened: an input below 64 MiB stays under 200 MiB resident. */
    uint64_t
        tensors; /* (300 000, and one more for every 50 bytes that the files have above 64 MiB); their
                    names may take 32 bytes each on average, and 1 MiB more */
    uint64_t nodes;    /* values of one pickle (2.5 million, and one more for every 4 bytes above
                         64 MiB, up to 20 million), with two items each on average */
    uint64_t entries;  /* of a zip directory (400 000, and one more for every 64 bytes above 64 MiB,
                         up to 1 million) */
    uint64_t ratio;    /* inflated to packed bytes (1100): deflate bombs */
    uint64_t unpacked; /* bytes that all packed data of a file become: hours of unpacking. (Zips of
                           torch and NumPy: 64 times the file's, at least 4 GiB; HDF5: 32 times,
                           counting chunks that are unpacked again, at least 1 GiB) */
    uint64_t expansion; /* values printed or flattened (1 million beyond the tensors): shared
                           references that multiply ("billion laughs") */
    uint64_t depth;     /* of nested values (10 000) */
    uint64_t view; /* bytes that a tensor may have beyond 16 times its storage (1 GiB): expanded
                      strides */
    uint64_t rank; /* dimensions (64, as torch) */
    uint64_t name; /* bytes of a tensor's name (64 KiB) */
    /* Seconds of processor time for libhdf5 to list a file (8, and one for every 16 MiB), an eighth for
     * each call of it; more where the processor is measured as slow. */
    uint64_t seconds;
};

struct heft_open_options {
    const char *format; /* override the probe: "torch", "safetensors"; NULL: by content */
    const struct heft_limits *limits; /* NULL: defaults */
    /* Opens files that are cut off or damaged, where it can be told what is whole. Tensors that are
     * lost are no tensors: heft_unread_at names them, heft_missing_at and heft_damage_at say what is
     * wrong with the files. What is there is as it always is; but nothing but a checksum can tell
     * that bytes are right: heft_tensor_check, heft_convert_options. */
    bool salvage;
    /* Of a folder of TensorFlow checkpoints: the one whose name ends in -STEP; NULL: the latest, as
     * its file `checkpoint` says, or the only one. */
    const char *step;
    /* Tensors of a TensorFlow 2 checkpoint are called by the names of their variables, where its
     * object graph has them and they are unique, else by the path of objects; false: by their keys. */
    bool object_names;
    /* Of a SavedModel: the constants of its graphs are tensors, too, called as their nodes, or
     * FUNCTION/node. Graphs by themselves always have them. */
    bool constants;
    /* The path "-" is standard input, read to its end into a temporary file. */
    bool standard_input;
};

struct heft_checkpoint;

/* Opens a file, a folder (sharded model, distributed checkpoint, SavedModel, TensorFlow checkpoints),
 * an index.json, or the prefix of a TensorFlow checkpoint. options may be NULL. NULL on failure:
 * HEFT_IO, HEFT_MALFORMED, HEFT_UNSUPPORTED, HEFT_LIMIT, HEFT_UNSAFE (a file that names a path outside
 * of its folder), HEFT_USAGE (a format or step that there is not). */
HEFT_API struct heft_checkpoint *
heft_open(const char *path, const struct heft_open_options *options, struct heft_error *err);
/* Several shard files as one checkpoint. */
HEFT_API struct heft_checkpoint *heft_open_many(const char *const *paths, size_t n_paths,
                                                const struct heft_open_options *options,
                                                struct heft_error *err);
HEFT_API void heft_close(struct heft_checkpoint *c);
/* What was opened of a folder that holds more than one checkpoint, and what was not: a line for
 * people, one for each such input. NULL past the end. */
HEFT_API const char *heft_choice_at(const struct heft_checkpoint *c, size_t index);

/* ---- what it holds ----------------------------------------------------------------------- */

HEFT_API const char *heft_format(const struct heft_checkpoint *c); /* "torch", "safetensors" … */
HEFT_API const char *
heft_format_version(const struct heft_checkpoint *c); /* for people; may be "" */

struct heft_file {
    const char *path;
    uint64_t bytes;
};
HEFT_API size_t heft_file_count(const struct heft_checkpoint *c);
HEFT_API bool heft_file_at(const struct heft_checkpoint *c, size_t index, struct heft_file *out);

enum heft_stored {
    HEFT_STORED_PLAIN,   /* bytes in the file as they are */
    HEFT_STORED_DEFLATE, /* a deflated zip record: [offset, offset+stored_bytes) is the record */
    HEFT_STORED_PICKLE,  /* inside a pickle, encoded: offset is the pickle's */
    HEFT_STORED_PACKED,  /* in pieces that a library unpacks (HDF5's chunks): somewhere in
                            [offset, offset+stored_bytes) */
    HEFT_STORED_PROTOBUF /* inside a protobuf message, encoded: offset is the message's */
};

struct heft_tensor {
    const char *name; /* UTF-8, NUL-terminated */
    size_t name_len;  /* a name may hold NULs of its own in some formats */
    enum heft_dtype dtype;
    unsigned rank;
    const uint64_t *shape;   /* rank numbers */
    const uint64_t *strides; /* rank numbers, in elements; NULL: row-major, contiguous */
    uint64_t bytes;          /* logical: elements × size */
    /* From here on of the first part, where it lies in parts: heft_tensor_part_count. */
    size_t file;     /* index of heft_file_at */
    uint64_t offset; /* of the first element (plain) or of the record in that file */
    enum heft_stored stored;
    uint64_t stored_bytes; /* of the storage in the file */
    int64_t storage; /* number of the storage it shares with other tensors, or -1 where it has its
                        own */
    bool big_endian; /* stored so; reads give little-endian */
    bool conjugated, negated; /* stored so; reads give the value */
    bool missing; /* its file, or one that a part of it is in, is not there or ends before it: it
                     cannot be read */
};
HEFT_API size_t heft_tensor_count(const struct heft_checkpoint *c);
HEFT_API bool heft_tensor_at(const struct heft_checkpoint *c, size_t index,
                             struct heft_tensor *out);

/* A box of a tensor that lies in parts, as sharded training saves it. Its parts tile it: each
 * element is in one of them. Reading, slicing and converting take such tensors as any other. */
struct heft_tensor_part {
    const uint64_t *start;   /* rank numbers: the box is [start, start + extent) */
    const uint64_t *extent;  /* rank numbers */
    const uint64_t *strides; /* of the box, in elements; NULL: row-major, contiguous */
    uint64_t bytes;          /* logical */
    size_t file;             /* from here on as in struct heft_tensor */
    uint64_t offset;
    enum heft_stored stored;
    uint64_t stored_bytes;
    bool big_endian;
    bool conjugated, negated;
};
/* 0: the tensor is whole, and heft_tensor_at says where it is. */
HEFT_API size_t heft_tensor_part_count(const struct heft_checkpoint *c, size_t index);
/* By the place of their first elements. False of a whole tensor. */
HEFT_API bool heft_tensor_part_at(const struct heft_checkpoint *c, size_t index, size_t part,
                                  struct heft_tensor_part *out);
/* By name, also by the dropped name of a recorded tie. False where there is none. */
HEFT_API bool heft_tensor_find(const struct heft_checkpoint *c, const char *name, size_t name_len,
                               size_t *index);

/* Bytes of all storages, unpacked, and how many of them tensors see: from the first element of a
 * strided tensor to its last, overlaps counted once. What no tensor sees, as where slices of large
 * tensors were saved, is not converted. What only unreadable tensors see counts as unseen. */
HEFT_API bool heft_storage_use(const struct heft_checkpoint *c, uint64_t *stored, uint64_t *used,
                               struct heft_error *err);

/* Tensors that cannot be read. */
HEFT_API size_t heft_unread_count(const struct heft_checkpoint *c);
HEFT_API bool heft_unread_at(const struct heft_checkpoint *c, size_t index,
                             struct heft_unread *out);

/* Bytes with a name that are no tensor: what a .ptd holds for a backend. Not converted, but from
 * .ptd to .ptd. */
struct heft_blob {
    const char *name; /* UTF-8, NUL-terminated */
    size_t name_len;
    const char *kind; /* for people: "blob" */
    uint64_t bytes;
    size_t file; /* as in struct heft_tensor */
    uint64_t offset;
    enum heft_stored stored;
    uint64_t stored_bytes;
};
HEFT_API size_t heft_blob_count(const struct heft_checkpoint *c);
/* In the file's order. */
HEFT_API bool heft_blob_at(const struct heft_checkpoint *c, size_t index, struct heft_blob *out);
HEFT_API bool heft_blob_find(const struct heft_checkpoint *c, const char *name, size_t name_len,
                             size_t *index);

/* Metadata. */
HEFT_API size_t heft_metadata_count(const struct heft_checkpoint *c);
HEFT_API bool heft_metadata_at(const struct heft_checkpoint *c, size_t index,
                               struct heft_metadata *out);

/* Ties that metadata records: `key` is a dropped name of the tensor called `value`. */
HEFT_API size_t heft_tie_count(const struct heft_checkpoint *c);
HEFT_API bool heft_tie_at(const struct heft_checkpoint *c, size_t index, struct heft_metadata *out);

/* All; heft_difference_at has no more than the first few thousand. */
HEFT_API size_t heft_difference_count(const struct heft_checkpoint *c);
HEFT_API bool heft_difference_at(const struct heft_checkpoint *c, size_t index,
                                 struct heft_difference *out);

/* The root of the values that are not tensors, or NULL where there are none. */
HEFT_API const struct heft_value *heft_values(const struct heft_checkpoint *c);
/* What the files say of themselves beside tensors, metadata and values, or NULL: the header of a
 * bundle, the signatures of a SavedModel. A dict, as in `heft info --json`. */
HEFT_API const struct heft_value *heft_file_info(const struct heft_checkpoint *c);
/* The value at a dotted path ("optimizer.param_groups.0.lr"), or NULL. Also of heft_file_info, where
 * the values have none such. */
HEFT_API const struct heft_value *heft_value_find(const struct heft_checkpoint *c,
                                                  const char *path);

/* ---- reading tensors --------------------------------------------------------------------- */

/* All of these give row-major, little-endian bytes, whatever the file's layout. */

/* One dimension of a slice: [start, stop), kept unless `drop` (then stop = start + 1). */
struct heft_range {
    uint64_t start, stop;
    bool drop;
};

/* The strings of a tensor of HEFT_STRING, in row-major order. Each lives for its call, may hold any
 * bytes, and is not terminated; each() may end it by returning false (HEFT_CANCELLED). Reads no
 * checksum (heft_tensor_check does). HEFT_UNSUPPORTED where the tensor has none. */
HEFT_API bool heft_tensor_strings(struct heft_checkpoint *c, size_t index,
                                  bool (*each)(void *ctx, const char *text, size_t n), void *ctx,
                                  struct heft_error *err);
/* The whole tensor into dst; size must be its `bytes`. HEFT_USAGE, HEFT_IO, HEFT_MALFORMED
 * (deflated data). */
HEFT_API bool heft_tensor_read(struct heft_checkpoint *c, size_t index, void *dst, size_t size,
                               struct heft_error *err);
/* A slice: ranges for the leading dimensions, the rest whole. size must be what the slice has
 * (heft_slice_shape). HEFT_USAGE where a range is not within its dimension. */
HEFT_API bool heft_tensor_read_slice(struct heft_checkpoint *c, size_t index,
                                     const struct heft_range *ranges, size_t n_ranges, void *dst,
                                     size_t size, struct heft_error *err);
/* Bytes of a slice, and its shape: the extents that are kept (room for the tensor's rank), *rank their
 * number. */
HEFT_API bool heft_slice_shape(const struct heft_checkpoint *c, size_t index,
                               const struct heft_range *ranges, size_t n_ranges, uint64_t *shape,
                               unsigned *rank, uint64_t *bytes, struct heft_error *err);
/* "0:10,:,3" as Python writes it (negative numbers count from the end; steps are refused). ranges has
 * room for the tensor's rank, *n_ranges gets how many there are. HEFT_USAGE. */
HEFT_API bool heft_slice_parse(const struct heft_checkpoint *c, size_t index, const char *text,
                               struct heft_range *ranges, size_t *n_ranges, struct heft_error *err);
/* The tensor's bytes in place, mapped from the file: only where they lie there plainly (stored
 * plain, row-major, little-endian, not conjugated), else HEFT_UNSUPPORTED. Not aligned beyond what
 * the file has: its address and `offset` are the same modulo the size of a page. Lives as long as the
 * checkpoint. HEFT_IO where the file was cut off since it was opened; one that is cut off later raises
 * SIGBUS in whoever touches the view. Of a file too large for the address space (32 bits) only the
 * tensor's pages are mapped. */
HEFT_API bool heft_tensor_map(struct heft_checkpoint *c, size_t index, const void **data,
                              struct heft_error *err);
/* Reads the storage that the tensor looks into (or its parts do), whole, and compares its stored
 * checksum; true also where the file stores none. HEFT_MISMATCH. The reading functions above do not
 * check raw storages by themselves. */
HEFT_API bool heft_tensor_check(struct heft_checkpoint *c, size_t index, struct heft_error *err);
/* The slice (n_ranges = 0: all) in pieces, in order, in constant memory. each() may
 * end it by returning false (HEFT_CANCELLED). */
HEFT_API bool heft_tensor_stream(struct heft_checkpoint *c, size_t index,
                                 const struct heft_range *ranges, size_t n_ranges,
                                 bool (*each)(void *ctx, const void *piece, size_t n), void *ctx,
                                 struct heft_error *err);
/* The same, cast as conversions cast; HEFT_USAGE where that cannot be. *overflowed (or NULL) grows by
 * the finite values that the dtype cannot hold. */
HEFT_API bool heft_tensor_stream_as(struct heft_checkpoint *c, size_t index,
                                    const struct heft_range *ranges, size_t n_ranges,
                                    enum heft_dtype as,
                                    bool (*each)(void *ctx, const void *piece, size_t n), void *ctx,
                                    uint64_t *overflowed, struct heft_error *err);

/* A blob in the same way, and its stored checksum. */
HEFT_API bool heft_blob_stream(struct heft_checkpoint *c, size_t index,
                               bool (*each)(void *ctx, const void *piece, size_t n), void *ctx,
                               struct heft_error *err);
HEFT_API bool heft_blob_check(struct heft_checkpoint *c, size_t index, struct heft_error *err);

/* ---- explaining, verifying, scanning ----------------------------------------------------- */

/* The map of every byte: what each range is. In order of file and offset, without holes. Where
 * tensors overlap, both have a segment. */
struct heft_segment {
    size_t file;
    uint64_t offset, bytes;
    const char *what; /* "zip central directory", "storage data/0: layer.weight, layer.tied" */
    bool claimed;     /* false: nothing that heft understands lies here */
    bool overlaps;    /* begins before something in front of it ends */
};
struct heft_map;
HEFT_API struct heft_map *heft_map_new(struct heft_checkpoint *c, struct heft_error *err);
HEFT_API size_t heft_map_count(const struct heft_map *map);
HEFT_API bool heft_map_at(const struct heft_map *map, size_t index, struct heft_segment *out);
HEFT_API void heft_map_free(struct heft_map *map);

enum heft_severity {
    HEFT_NOTE,   /* unusual, allowed */
    HEFT_FINDING /* what the format forbids */
};
struct heft_finding {
    enum heft_severity severity;
    const char *file; /* may be NULL */
    uint64_t offset;  /* HEFT_NO_OFFSET where there is none */
    const char *text;
};
/* What vouches for the bytes of the tensors, by records: storages that are stored by themselves. */
struct heft_verified {
    uint64_t checksums; /* stored checksums that were compared with the bytes */
    uint64_t tables;    /* files that are blocks with a checksum each, all of them compared (V1
                           checkpoints of TensorFlow) */
    uint64_t unpacked;  /* records without one that were unpacked whole (chunks of HDF5) */
    uint64_t unchecked; /* records that nothing vouches for: only where they lie was checked */
    uint64_t bytes;     /* of the records with a checksum */
};
struct heft_verify_options {
    unsigned threads; /* 0: one a core, at most 4 */
    /* Bytes. From any thread, one at a time; false stops (HEFT_CANCELLED). */
    bool (*progress)(void *ctx, uint64_t done, uint64_t total);
    void *progress_ctx;
    struct heft_verified *verified; /* filled where it is not NULL */
};
/* Structure, stored checksums, no overlap, no hidden bytes, index against shards. each() is called
 * for every note and finding. True when the checks could be made, whatever they found. */
HEFT_API bool heft_verify(struct heft_checkpoint *c, const struct heft_verify_options *options,
                          void (*each)(void *ctx, const struct heft_finding *finding), void *ctx,
                          struct heft_error *err);

/* Of a checkpoint that was opened to be salvaged: how many bytes a file should have, where that is
 * more than it has; *at_least: or more. False where nothing is known to be missing. */
HEFT_API bool heft_missing_at(const struct heft_checkpoint *c, size_t file, uint64_t *expected,
                              bool *at_least);
/* Damage by which more may be lost, or wrong, than the tensors that are named: to the names
 * themselves. */
HEFT_API bool heft_damage_at(const struct heft_checkpoint *c, size_t index,
                             struct heft_finding *out);

/* Tensors that the files refer to and do not hold: the variables that a SavedModel restores, where
 * its checkpoint is absent or another model's. heft_verify finds them; a conversion is refused
 * (HEFT_MALFORMED) unless the checkpoint was opened to be salvaged, or one tensor is taken. */
HEFT_API bool heft_lack_at(const struct heft_checkpoint *c, size_t index, struct heft_finding *out);

/* Bytes that are no tensor's and might have been meant for one: a second array behind the one of a
 * .npy, which numpy.load does not read either. heft_verify finds them; a conversion has them among
 * its notes. */
HEFT_API bool heft_left_at(const struct heft_checkpoint *c, size_t index, struct heft_finding *out);

enum heft_danger { HEFT_ALLOWED, HEFT_UNKNOWN, HEFT_DANGER };
struct heft_scan_item {
    enum heft_danger danger;
    const char *file;
    const char *record; /* "archive/data.pkl", "model.gz:bytes at 12"; "" for the file itself */
    uint64_t offset;    /* in the file; HEFT_NO_OFFSET in bytes that are unpacked first */
    uint64_t position;  /* in the pickle; HEFT_NO_OFFSET where it is none */
    const char *what;   /* "import" or "call" of a global, "patch": its attributes are replaced;
                           "trick" of a container; "packed": compressed, not looked into; "refused":
                           judging broke off; "unread": a file or directory that could not be read;
                           "code": Python code, or a reference to it, in a model's configuration;
                           "op" of a TensorFlow graph or a TorchScript program; "native" code */
    const char *name;   /* "module.name", or a sentence */
};
/* Judges one file by its content, whatever its name: what executing its pickles would import and
 * call (pickles in zips, .npy, tars, gzip and zlib data and in bytes within pickles, too), and code
 * that loading it would run: Keras layers and configurations, operations of TensorFlow graphs and
 * TorchScript, native libraries; heft-scan(1) has the list. Executes nothing, opens no other file,
 * needs no valid tensors, and reads no storages. Where judging breaks off, an item "refused" says
 * so, what stands before it is judged, *complete is false, and err has the first reason. False only
 * where nothing could be judged. A file of another kind has no items: heft_scan_tree tells which
 * kinds were not judged. */
HEFT_API bool heft_scan(const char *path, const struct heft_limits *limits,
                        void (*each)(void *ctx, const struct heft_scan_item *item), void *ctx,
                        bool *complete, struct heft_error *err);

/* One file that heft_scan_tree has looked at, told after its items. */
struct heft_scan_result {
    const char *file;
    const char *kind;                 /* what its content is: "zip", "pickle", "text", "GGUF" */
    enum heft_danger worst;           /* of its items; HEFT_ALLOWED where it has none */
    bool judged;                      /* false: a kind that scan does not judge, or trouble */
    bool complete;                    /* false: trouble says why */
    const struct heft_error *trouble; /* NULL: none */
};
struct heft_scan_visitor {
    void (*item)(void *ctx, const struct heft_scan_item *item);
    void (*result)(void *ctx, const struct heft_scan_result *result);
    void *ctx;
};
/* Judges every file of `path`, each once:
 *   a file        that file;
 *   "-"           standard input; a FIFO likewise: copied into a temporary file first;
 *   a directory   all files below it, hidden ones too, in the order of their names' bytes. Symbolic
 *                 links to files are followed; a link to a directory that is not below `path`, a
 *                 link to nothing, and what cannot be read are items "unread";
 *   a safetensors or PyTorch index (.json with a weight_map)   the index and the files it names.
 * False where `path` itself cannot be read, for want of memory, and where nothing could be judged
 * although something is there; what was told until then holds. */
HEFT_API bool heft_scan_tree(const char *path, const struct heft_limits *limits,
                             const struct heft_scan_visitor *visitor, struct heft_error *err);

/* ---- walking through a pickle ------------------------------------------------------------- */

/* What unpickling would do, opcode by opcode, in the words of Python's unpickler: a stack, a
 * metastack of the stacks that marks put away, a memo. Nothing is executed, and every text is
 * bounded and safe for a terminal, whatever the pickle holds. */

struct heft_trace_options {
    const struct heft_limits *limits; /* NULL: defaults, but 15 million opcodes */
    const char *format;               /* as in heft_open_options: for the tensors at the end */
    const char *record; /* of a zip: "archive/constants.pkl" or "constants.pkl"; NULL: data.pkl */
    /* Only opcodes of which a byte lies in [from, to) are handed out, each with the whole state;
     * to = 0: all of them. Positions are counted in the pickle. */
    uint64_t from, to;
    bool state; /* also the state after each opcode: of a long part the first and last 8 entries */
};

/* The next steps are of this pickle. */
struct heft_trace_pickle {
    const char *record;     /* "archive/data.pkl"; "" where the file is no archive */
    const char *what;       /* for people: "state_dict", "keys of the storages"; may be "" */
    unsigned number, count; /* 1 of 1, 4 of 5 */
    uint64_t offset;        /* in the file; HEFT_NO_OFFSET: it is deflated there */
    uint64_t bytes;         /* up to and with its STOP, or up to where it breaks off */
};

enum heft_trace_form {
    HEFT_TRACE_BARE,   /* no argument */
    HEFT_TRACE_NUMBER, /* value: the number */
    HEFT_TRACE_TEXT,   /* `prefix` bytes of length and so many bytes; value: the length */
    HEFT_TRACE_LINES   /* a line or two; value: their text */
};

struct heft_trace_step {
    uint64_t position; /* of the opcode in its pickle */
    uint64_t offset;   /* in the file, or HEFT_NO_OFFSET */
    uint8_t byte;
    const char *name; /* "BINUNICODE": as Python's pickletools has it */
    enum heft_trace_form form;
    unsigned prefix;
    const uint8_t *argument; /* all bytes behind the opcode that belong to it */
    size_t argument_bytes;
    const char *value;            /* of the argument, NUL-terminated; "" for none */
    const char *effect;           /* "push \"tok_embeddings.weight\"", NUL-terminated */
    size_t value_len, effect_len; /* without the NUL */
};

enum heft_trace_part { HEFT_TRACE_STACK, HEFT_TRACE_METASTACK, HEFT_TRACE_MEMO };
#define HEFT_TRACE_ENTRIES 20000000 /* of all states together; beyond it is HEFT_LIMIT */

/* One entry of the state after a step. A part without entries is one with count 0 and no text.
 * Values that the memo holds are named by their place there: "m3". */
struct heft_trace_entry {
    enum heft_trace_part part;
    uint64_t level;    /* METASTACK: which stack, the oldest is 0 */
    uint64_t index;    /* place in the stack, the oldest is 0; index of the memo */
    uint64_t count;    /* entries of this stack, or of the memo */
    uint64_t left_out; /* not 0: this stands for so many entries (METASTACK, count 0: stacks) */
    const char *text;  /* NUL-terminated */
    size_t text_len;   /* without the NUL */
};

/* A tensor, and the way to its bytes. */
struct heft_trace_tensor {
    struct heft_tensor tensor; /* its numbers are those of heft_open */
    bool has_key;
    uint64_t key_position;  /* where has_key: of the opcode that made its key: where it begins */
    uint64_t made_position; /* of the opcode that made it; before its key where it is shared */
    const char *id;         /* its persistent id: ("storage", BFloat16Storage, "0", "cpu", 64);
                               "" where it has none */
    const char *record;     /* "archive/data/0", safe to show; "" where the file is no archive */
};

struct heft_trace_total {
    uint64_t pickles, tensors, opcodes;
    uint64_t memo;      /* entries at the end, of all pickles */
    uint64_t metastack; /* stacks left in it at the end */
};

/* Each may be NULL, and ends the walk by returning false: heft_trace then returns true. Order: a
 * pickle, its steps, the entries of a step behind it; at the end the tensors. */
struct heft_trace_watcher {
    void *ctx;
    bool (*pickle)(void *ctx, const struct heft_trace_pickle *pickle);
    bool (*step)(void *ctx, const struct heft_trace_step *step);
    bool (*entry)(void *ctx, const struct heft_trace_entry *entry);
    bool (*tensor)(void *ctx, const struct heft_trace_tensor *tensor);
};

/* The pickle of a torch archive (zip or tar), of a plain file, or the five of a legacy stream. Where
 * one breaks off, its steps up to there are handed out, then false is returned. Tensors are not looked
 * for where only a range is wanted. options may be NULL. */
HEFT_API bool heft_trace(const char *path, const struct heft_trace_options *options,
                         const struct heft_trace_watcher *watcher, struct heft_trace_total *total,
                         struct heft_error *err);

/* ---- the way of restoring ---------------------------------------------------------------- */

/* What loading a TensorFlow SavedModel would do with its checkpoint, step by step: told from its
 * graph and its objects, nothing is run. Names are as the file has them: escape them before a
 * terminal sees them; `text` is safe. All of it lives as long as the checkpoint and the handle. */
struct heft_restore;

struct heft_restore_options {
    const char *tags; /* of the metagraph, in any order: "serve,gpu"; "": the one without tags;
                         NULL: the only one */
};

enum heft_restore_kind {
    HEFT_RESTORE_METAGRAPH, /* one is chosen by its tags */
    HEFT_RESTORE_ASSET,     /* the path of an asset is fed to a tensor */
    HEFT_RESTORE_FEED,      /* the checkpoint's prefix is fed to a tensor */
    HEFT_RESTORE_RUN,       /* the restore op is run */
    HEFT_RESTORE_CALL,      /* a function is called: its steps follow, one level deeper */
    HEFT_RESTORE_READ,      /* an op reads the checkpoint; its names follow */
    HEFT_RESTORE_NAME,      /* a name of it: key and slice */
    HEFT_RESTORE_ASSIGN,    /* a value goes to a variable, or to a table */
    HEFT_RESTORE_WAIT,      /* a node that waits for others is reached */
    HEFT_RESTORE_INIT       /* an op that is run when all is restored */
};

struct heft_restore_step {
    enum heft_restore_kind kind;
    unsigned depth;                   /* functions around it */
    const char *node, *op, *function; /* the node, and the function it stands in; "" where none */
    uint64_t offset;         /* of the node in the SavedModel's file; HEFT_NO_OFFSET: of none */
    const char *text;        /* for people: what it does; "" of NAME and ASSIGN */
    const char *key, *slice; /* of NAME: slice is "" where all of the tensor is wanted */
    const char *dtype;       /* of NAME: "F32", as it is asked for; "" where it is not */
    uint64_t index;          /* of NAME: its number among the op's names */
    uint64_t takers;         /* of NAME: how many ASSIGNs take it */
    size_t target;           /* of ASSIGN: of heft_restore_target_at; else SIZE_MAX */
};

/* A variable, or the keys or values of a table, and what it gets. */
struct heft_restore_target {
    const char *variable;  /* for people: the node's shared_name, else its name */
    const char *node, *op; /* that hold it: "dense/kernel", "VarHandleOp" */
    const char *by;        /* the node that puts the value there: "save/Assign_1" */
    const char *role;      /* of a table: "keys", "values"; else "" */
    const char *object;    /* its path among the objects: "layers/0/kernel"; "" where it has none */
    const char *key, *slice;
    const char *dtype;    /* "F32", as the node holds it; "" where it does not say */
    bool has_shape;       /* the node says its shape: */
    unsigned rank;        /* … */
    const int64_t *shape; /* … -1: any */
    size_t tensor;        /* of heft_tensor_at: what the checkpoint has under the key; SIZE_MAX:
                                  nothing */
    size_t pieces;        /* of heft_restore_piece_at */
};
/* Where the bytes are: of a tensor in parts, each part that the slice touches. */
struct heft_restore_piece {
    size_t file;
    uint64_t offset, bytes;
    bool has_sum; /* the checkpoint stores a checksum */
    bool has_crc; /* … which is a CRC-32C of these very bytes: */
    uint32_t crc;
};

/* The checkpoint was opened with names of keys (object_names is not set). options may be NULL. */
HEFT_API struct heft_restore *heft_restore_new(struct heft_checkpoint *c,
                                               const struct heft_restore_options *options,
                                               struct heft_error *err);
/* A tag of the metagraph; NULL past the last. And which of how many metagraphs it is, from 0. */
HEFT_API const char *heft_restore_tag(const struct heft_restore *r, size_t index);
HEFT_API void heft_restore_metagraph(const struct heft_restore *r, size_t *number, size_t *count);
HEFT_API bool heft_restore_step_at(const struct heft_restore *r, size_t index,
                                   struct heft_restore_step *out);
HEFT_API bool heft_restore_target_at(const struct heft_restore *r, size_t index,
                                     struct heft_restore_target *out);
HEFT_API bool heft_restore_piece_at(const struct heft_restore *r, size_t target, size_t piece,
                                    struct heft_restore_piece *out);
/* What does not fit: as heft_verify tells it. */
HEFT_API bool heft_restore_finding_at(const struct heft_restore *r, size_t index,
                                      struct heft_finding *out);
HEFT_API void heft_restore_free(struct heft_restore *r);

/* ---- walking through an index ------------------------------------------------------------
 *
 * The index of a TensorFlow checkpoint is a sorted table: blocks of entries, each of which says how
 * many bytes its key has from the one before, the rest of the key, and a value. */
struct heft_index_entry {
    uint64_t block;         /* offset of its block in the file */
    uint64_t offset, bytes; /* of the entry in the file; of all the block, where that is packed */
    size_t in_block;        /* where the entry begins in the unpacked block */
    bool is_packed;         /* with snappy */
    const char *key;        /* whole; any bytes, not terminated; so is the value */
    size_t key_len;
    uint64_t shared; /* bytes of the key that are those of the one before */
    const char *value;
    size_t value_len;
    const char
        *text; /* what the value says, safe to show, NUL-terminated: "DT_FLOAT [2,3], shard 0, …" */
};
/* What is handed out lives until each() returns; false ends the walk. */
typedef bool heft_index_fn(void *ctx, const struct heft_index_entry *entry);
/* Any name of the checkpoint will do, as for heft_open; options may be NULL. *is_index: false where
 * what the path names is no such table: then nothing is handed out, and there is no error. */
HEFT_API bool heft_index_walk(const char *path, const struct heft_open_options *options,
                              heft_index_fn *each, void *ctx, bool *is_index,
                              struct heft_error *err);

/* ---- converting -------------------------------------------------------------------------- */

/* -g GLOB, -e REGEX, --rename RE=>TO, --cast GLOB=DTYPE, --metadata K=V, --partition GLOB=HOW,
 * --keep-tied GLOB */
enum heft_rule_kind {
    HEFT_RULE_GLOB,
    HEFT_RULE_REGEX,
    HEFT_RULE_RENAME,
    HEFT_RULE_CAST,
    HEFT_RULE_METADATA,
    HEFT_RULE_PARTITION, /* tf: "axis:n" slices, "keep" the source's, "whole" */
    HEFT_RULE_KEEP_TIED  /* safetensors: of tied names the one that matches stays */
};
struct heft_rule {
    enum heft_rule_kind kind;
    const char *left;  /* glob ("!…" excludes), regex (POSIX extended, with \d \w \s \b), metadata
                          key */
    const char *right; /* replacement (\1 … \9), dtype's name, metadata value, how; else NULL */
};
/* Which tensors root and rules (globs and regexes; others are passed over) take: selected[i] for
 * each tensor. The rule: taken if any glob or regex matches its name below root, or none is given
 * but excluding ones, and no excluding glob does. */
HEFT_API bool heft_select(const struct heft_checkpoint *c, const char *root,
                          const struct heft_rule *rules, size_t n_rules, bool *selected,
                          struct heft_error *err);

/* What a rule does to the names of a checkpoint: */
struct heft_rule_use {
    uint64_t matches; /* names that it matches: of any tensor, tie, blob below root (globs and
                            regexes); of what is selected (others). 0 of metadata */
    uint64_t values;  /* of globs and regexes that match no such name: values below root that they
                            match, by their dotted paths; those go with a conversion that keeps
                            values */
    uint64_t left_alone; /* of a cast: tensors among them that it leaves as they are, since a glob
                            with wildcards casts to a float only what is a float */
};
/* uses[i] for each rule. HEFT_USAGE for a bad regex. */
HEFT_API bool heft_rule_matches(const struct heft_checkpoint *c, const char *root,
                                const struct heft_rule *rules, size_t n_rules,
                                struct heft_rule_use *uses, struct heft_error *err);

struct heft_convert_options {
    const char *output; /* file or folder: as -o of heft-convert(1) */
    const char *to;     /* format's name; NULL: by the output's extension */
    /* Options of the target format: heft_format_option_at lists them. HEFT_USAGE for a name that no
     * format has and a value that is not allowed; of two with one name the later one counts. */
    const struct heft_option *format_options;
    size_t n_format_options;
    /* Files without a tensor may be written; else a conversion that would is HEFT_USAGE. */
    bool allow_empty;
    const char *root; /* sub-dictionary whose tensors are taken, its path removed from names */
    /* In order. Selection: as heft_select. Renaming: each rule replaces all its matches. Casting:
     * the last rule that matches decides; a glob with wildcards casts to a float only what is a
     * float, an exact name casts anything that can be. Dtypes are also taken as bf16, bfloat16,
     * torch.bfloat16 and the like, in capitals or not. One torch file made from another has its values
     * and nesting: there selection judges values by their paths, too. */
    const struct heft_rule *rules;
    size_t n_rules;
    uint64_t max_shard_size;         /* bytes; 0: not given */
    bool sharded;                    /* max_shard_size was given (0 is then lawful) */
    const char *filename_pattern;    /* with {suffix}; NULL: the format's */
    const struct heft_range *ranges; /* --slice, for one tensor */
    size_t n_ranges;
    unsigned threads; /* 0: one a core, at most 4 */
    bool overwrite;   /* else an output that exists is HEFT_USAGE */
    bool no_sync;     /* does not wait until the bytes are on the disk */
    bool no_verify;   /* does not compare stored checksums */
    bool strict; /* strings that the target cannot hold, and what heft_left_at has, are an error;
                         else they are left out */
    /* Tensors that are lost or cannot be read are left out and named by heft_convert_lost_at. Stored
     * checksums are compared while planning, which reads all that is to be converted: tensors whose
     * bytes differ are lost, too (no_verify: they are not looked at). For checkpoints that were
     * opened so. */
    bool salvage;
    /* Bytes. From any thread, one at a time; false stops (HEFT_CANCELLED). */
    bool (*progress)(void *ctx, uint64_t done, uint64_t total);
    void *progress_ctx;
};

/* A conversion that has been planned and checked; nothing is written until it is run. */
struct heft_conversion;
struct heft_planned {
    size_t files, tensors, ops;
    uint64_t bytes;      /* of all output files */
    uint64_t total_size; /* the hub's metadata.total_size: tensor bytes */
    bool is_sharded;
};
struct heft_planned_tensor {
    const char *name, *source_name;
    size_t file;
    enum heft_dtype dtype;
    uint64_t offset, bytes; /* in that file */
};
/* NULL on failure: HEFT_USAGE (a rule, a name, an output that exists), HEFT_UNSUPPORTED (what the
 * target cannot hold), HEFT_LIMIT. */
HEFT_API struct heft_conversion *heft_convert_plan(struct heft_checkpoint *c,
                                                   const struct heft_convert_options *options,
                                                   struct heft_error *err);
HEFT_API void heft_convert_summary(const struct heft_conversion *conversion,
                                   struct heft_planned *out);
HEFT_API bool heft_convert_file(const struct heft_conversion *conversion, size_t index,
                                struct heft_file *out);
/* File by file, in the hub's order within each. */
HEFT_API bool heft_convert_tensor(const struct heft_conversion *conversion, size_t index,
                                  struct heft_planned_tensor *out);
/* Lines for people: "dropped lm_head.weight, tied to embed.weight"; "3 values are not tensors: left
 * out". */
HEFT_API size_t heft_convert_note_count(const struct heft_conversion *conversion);
HEFT_API const char *heft_convert_note(const struct heft_conversion *conversion, size_t index);
/* Tensors that are selected and lost, and why: salvage. */
HEFT_API bool heft_convert_lost_at(const struct heft_conversion *conversion, size_t index,
                                   struct heft_unread *out);
/* Writes the files: all of them, or none under its final name. *overflowed: finite values that a
 * cast's target could not hold, which are infinite now (F8_E4M3: 448 or -448, the FNUZ kinds: NaN);
 * notes are added that name their tensors. HEFT_IO, HEFT_MISMATCH (a stored checksum), HEFT_MALFORMED (deflated data). */
HEFT_API bool heft_convert_run(struct heft_conversion *conversion, uint64_t *overflowed,
                               struct heft_error *err);
/* Re-reads what was written, compares all bytes with those that were planned, and opened anew every
 * tensor (name, dtype, shape, elements) with the source. HEFT_MISMATCH names the first that differs. */
HEFT_API bool heft_convert_check(struct heft_conversion *conversion, struct heft_error *err);
HEFT_API void heft_convert_free(struct heft_conversion *conversion);
/* Deletes temporary files (.NAME.heft-PID-N) of processes that no longer exist from the folder of
 * `path`, but none where an interrupted encoding can be resumed. Conversions and encodings do so
 * themselves; this is for programs that write such files of their own. What cannot be listed or
 * deleted stays. False on HEFT_NOMEM, and HEFT_USAGE where path is NULL. */
HEFT_API bool heft_delete_stale(const char *path, struct heft_error *err);

/* Sizes in bytes as the hub writes them ("5GB" = 5·10⁹), bare numbers, KiB, MiB, GiB, TiB, and all
 * of these without the B ("5G" = 5·10⁹). HEFT_USAGE. */
HEFT_API bool heft_parse_bytes(const char *text, uint64_t *out, struct heft_error *err);
/* Whole numbers: "100", "50K" = 50 000, "1.5M", "1e6", "4Ki" = 4096. HEFT_USAGE. */
HEFT_API bool heft_parse_count(const char *text, uint64_t *out, struct heft_error *err);

#ifdef __cplusplus
}
#endif
#endif
