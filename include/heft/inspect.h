/* inspect.h: functions that look at files. heft.h includes it.
 *
 *     heft_map_new            the meaning of every byte of an open checkpoint
 *     heft_verify             structure, checksums, hidden bytes
 *     heft_scan_tree          what loading files would execute
 *     heft_trace              a pickle, opcode by opcode
 *     heft_restore_new        how TensorFlow restores a SavedModel, step by step
 *     heft_index_walk         the index of a TensorFlow checkpoint
 *     heft_stats              minimum, maximum, mean … of tensors (stats.h)
 *     heft_diff               differences of two checkpoints (diff.h)
 *     heft_digest_tensors     SHA-256 of tensors or files, and lists of them (digest.h)
 *     heft_modules_new        the tree of modules that the names describe (modules.h)
 *
 * The general rules are those of load.h. */
#ifndef HEFT_INSPECT_H
#define HEFT_INSPECT_H

#include "diff.h"
#include "digest.h"
#include "modules.h"
#include "stats.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct heft_checkpoint;
struct heft_input;
struct heft_limits;
struct heft_open_options;
struct heft_tensor;

/* ---- explaining, verifying, scanning ----------------------------------------------------- */

/* Map of all bytes: the meaning of each range, in order of file and offset, without holes.
 * Overlapping tensors have a segment each. */
struct heft_segment {
    size_t size; /* HEFT_INIT */
    size_t file;
    uint64_t offset, bytes;
    /* description, such as "zip central directory" or "storage data/0: layer.weight, layer.tied" */
    const char *what;
    bool claimed;  /* false if heft does not know the meaning of the range */
    bool overlaps; /* begins before the end of an earlier segment */
};
struct heft_map;
HEFT_API struct heft_map *heft_map_new(struct heft_checkpoint *c, struct heft_error *err);
HEFT_API size_t heft_map_count(const struct heft_map *map);
HEFT_API bool heft_map_at(const struct heft_map *map, size_t index, struct heft_segment *out);
HEFT_API void heft_map_free(struct heft_map *map);

/* Decompressed bytes of all storages, and how many of them are used by tensors: from the first to
 * the last element of a strided tensor; overlaps count once. Bytes that no tensor uses, such as the
 * rest of a large tensor of which a slice was saved, are not converted. Bytes that only unreadable
 * tensors use count as unused. */
HEFT_API bool heft_storage_use(const struct heft_checkpoint *c, uint64_t *stored, uint64_t *used,
                               struct heft_error *err);

enum heft_severity {
    HEFT_NOTE,   /* unusual, but allowed */
    HEFT_FINDING /* violation of the format */
};
struct heft_finding {
    size_t size; /* HEFT_INIT */
    enum heft_severity severity;
    const char *file; /* may be NULL */
    uint64_t offset;  /* HEFT_NO_OFFSET if there is none */
    const char *text;
};
/* How the data of tensors was checked, by records (separately stored storages). */
struct heft_verified {
    size_t size;        /* HEFT_INIT */
    uint64_t checksums; /* number of stored checksums that were compared */
    uint64_t tables;    /* files of blocks with one checksum each, all compared (V1 checkpoints
                           of TensorFlow) */
    uint64_t unpacked;  /* records without a checksum that were decompressed (chunks of HDF5) */
    uint64_t unchecked; /* records of which only the position was checked */
    uint64_t bytes;     /* bytes of the records with a checksum */
};
struct heft_verify_options {
    size_t size;      /* HEFT_INIT */
    unsigned threads; /* 0: one per core, at most 4 */
    /* Progress in bytes. Called from any thread, but not concurrently; returning false stops
     * (HEFT_CANCELLED). */
    bool (*progress)(void *ctx, uint64_t done, uint64_t total);
    void *progress_ctx;
    struct heft_verified *verified; /* filled if not NULL */
};
/* Checks structure, stored checksums, overlaps, hidden bytes, and an index against its shards.
 * Calls each(), which may be NULL, for every note and finding. Returns true if the checks were
 * completed, whatever they found. */
HEFT_API bool heft_verify(struct heft_checkpoint *c, const struct heft_verify_options *options,
                          void (*each)(void *ctx, const struct heft_finding *finding), void *ctx,
                          struct heft_error *err);

/* For a checkpoint opened with salvage: the expected size of a truncated file in bytes; it is a
 * lower bound if *at_least. False if the file is not known to be truncated. */
HEFT_API bool heft_missing_at(const struct heft_checkpoint *c, size_t file, uint64_t *expected,
                              bool *at_least);
/* Damage that may affect more than the listed lost tensors, such as damage of the names. */
HEFT_API bool heft_damage_at(const struct heft_checkpoint *c, size_t index,
                             struct heft_finding *out);

/* Tensors that the files refer to but do not contain: variables of a SavedModel whose checkpoint
 * is missing or belongs to another model. heft_verify reports them; a conversion is refused
 * (HEFT_MALFORMED) unless the checkpoint was opened with salvage, or a single tensor is
 * selected. */
HEFT_API bool heft_lack_at(const struct heft_checkpoint *c, size_t index, struct heft_finding *out);

/* Bytes that belong to no tensor, but may contain data: a second array after that of a .npy, which
 * numpy.load does not read either. heft_verify reports them; a conversion has a note for them. */
HEFT_API bool heft_left_at(const struct heft_checkpoint *c, size_t index, struct heft_finding *out);

enum heft_danger { HEFT_ALLOWED, HEFT_UNKNOWN, HEFT_DANGER };
struct heft_scan_item {
    enum heft_danger danger;
    const char *file;
    const char *record; /* "archive/data.pkl", "model.gz:bytes at 12"; "" for the file itself */
    uint64_t offset;    /* byte offset in the file; HEFT_NO_OFFSET in compressed data */
    uint64_t position;  /* position in the pickle; HEFT_NO_OFFSET if not in a pickle */
    const char *what;   /* "import" or "call" of a global; "patch": its attributes are replaced;
                           "trick" of a container; "packed": compressed and not scanned;
                           "refused": scanning stopped; "unread": a file or directory that cannot
                           be read; "code": Python code, or a reference to it, in a
                           configuration; "op" of a TensorFlow graph or a TorchScript program;
                           "native" code */
    const char *name;   /* "module.name", or a sentence that describes the finding */
};
/* Scans one file by its content, whatever its name: reports what executing its pickles would import
 * and call (also pickles in zips, .npy, tars, gzip and zlib data and in byte strings of pickles),
 * and other code that loading the file would execute: Keras layers and configurations, operations
 * of TensorFlow graphs and TorchScript, native libraries; heft-scan(1) has the list. Executes
 * nothing, opens no other file, needs no valid tensors, and reads no storages. If scanning stops
 * early, an item "refused" reports it, everything before is reported, *complete is false, and err
 * has the first reason. Returns false only if nothing could be scanned. A file of an unknown kind
 * has no items; heft_scan_tree reports which kinds were not judged. Of the options only limits and
 * inputs are used; they may be NULL. */
HEFT_API bool heft_scan(const char *path, const struct heft_open_options *options,
                        void (*each)(void *ctx, const struct heft_scan_item *item), void *ctx,
                        bool *complete, struct heft_error *err);

/* Result for one file of heft_scan_tree, reported after its items. */
struct heft_scan_result {
    const char *file;
    const char *kind;                 /* kind of content: "zip", "pickle", "text", "GGUF" */
    enum heft_danger worst;           /* worst class of its items; HEFT_ALLOWED if it has none */
    bool judged;                      /* false for a kind that scan does not judge, or on error */
    bool complete;                    /* false if `trouble` has a reason */
    const struct heft_error *trouble; /* NULL if there was no error */
};
/* Both functions must be set. */
struct heft_scan_visitor {
    size_t size; /* HEFT_INIT */
    void (*item)(void *ctx, const struct heft_scan_item *item);
    void (*result)(void *ctx, const struct heft_scan_result *result);
    void *ctx;
};
/* Scans every file of `path`, each once:
 *   a file        that file;
 *   "-"           standard input, or a FIFO, which is first copied to a temporary file;
 *   a directory   all files below it, including hidden ones, in byte order of their names. Symbolic
 *                 links to files are followed; a link to a directory that is not below `path`, a
 *                 broken link, and everything that cannot be read are items "unread";
 *   a safetensors or PyTorch index (.json with a weight_map)   the index and the files it names.
 * Returns false if `path` itself cannot be read, if memory runs out, or if there are files but none
 * could be scanned; everything that was reported before remains valid. The options are used as by
 * heft_scan. */
HEFT_API bool heft_scan_tree(const char *path, const struct heft_open_options *options,
                             const struct heft_scan_visitor *visitor, struct heft_error *err);

/* ---- tracing a pickle --------------------------------------------------------------------- */

/* Trace of a pickle: the effect of each opcode in the terms of Python's unpickler: a stack, a
 * metastack of the stacks saved by marks, a memo. Nothing is executed, and every text is bounded
 * and escaped for a terminal. */

struct heft_trace_options {
    size_t size;                      /* HEFT_INIT */
    const struct heft_limits *limits; /* NULL: the defaults, but 15 million opcodes */
    const char *format;               /* as in heft_open_options, for the tensors at the end */
    const char *record; /* pickle in a zip: "archive/constants.pkl" or "constants.pkl"; NULL:
                         * data.pkl */
    /* Reports only opcodes with a byte in [from, to), each with the complete state; to = 0: all
     * opcodes. Positions are relative to the pickle. */
    uint64_t from, to;
    bool state; /* report the state after each opcode: of a long part the first and last 8
                 * entries */
    const struct heft_input *inputs; /* as in heft_open_options */
    size_t n_inputs;
};

/* The pickle of the following steps. */
struct heft_trace_pickle {
    const char *record; /* "archive/data.pkl"; "" if the file is not an archive */
    const char *what; /* description for people: "state_dict", "keys of the storages"; may be "" */
    unsigned number, count; /* 1 of 1, 4 of 5 */
    uint64_t offset;        /* byte offset in the file; HEFT_NO_OFFSET if it is deflated */
    uint64_t bytes;         /* size including STOP, or up to the truncation */
};

enum heft_trace_form {
    HEFT_TRACE_BARE,   /* no argument */
    HEFT_TRACE_NUMBER, /* value: the number */
    HEFT_TRACE_TEXT,   /* a length of `prefix` bytes followed by the bytes; value: the length */
    HEFT_TRACE_LINES   /* one or two lines; value: their text */
};

struct heft_trace_step {
    uint64_t position; /* position of the opcode in its pickle */
    uint64_t offset;   /* byte offset in the file, or HEFT_NO_OFFSET */
    uint8_t byte;
    const char *name; /* name in Python's pickletools: "BINUNICODE" */
    enum heft_trace_form form;
    unsigned prefix;
    const uint8_t *argument; /* all bytes of the argument, after the opcode */
    size_t argument_bytes;
    const char *value;            /* value of the argument, NUL-terminated; "" if there is none */
    const char *effect;           /* for example "push \"tok_embeddings.weight\""; NUL-terminated */
    size_t value_len, effect_len; /* lengths without the NUL */
};

enum heft_trace_part { HEFT_TRACE_STACK, HEFT_TRACE_METASTACK, HEFT_TRACE_MEMO };
#define HEFT_TRACE_ENTRIES 20000000 /* entries of all states together; beyond it HEFT_LIMIT */

/* Entry of the state after a step. An empty part is reported as one entry with count 0 and no text.
 * Values in the memo are printed by their index: "m3". */
struct heft_trace_entry {
    enum heft_trace_part part;
    uint64_t level;    /* METASTACK: number of the stack; the oldest is 0 */
    uint64_t index;    /* index in the stack (the oldest is 0) or in the memo */
    uint64_t count;    /* number of entries of this stack, or of the memo */
    uint64_t left_out; /* if not 0: number of omitted entries (METASTACK with count 0: of stacks) */
    const char *text;  /* NUL-terminated */
    size_t text_len;   /* length without the NUL */
};

/* A tensor, and how the pickle leads to its bytes. */
struct heft_trace_tensor {
    const struct heft_tensor *tensor; /* as returned by heft_tensor_at */
    bool has_key;
    uint64_t key_position;  /* if has_key: position of the opcode that created its key */
    uint64_t made_position; /* position of the opcode that created it; before its key if it is
                             * shared */
    const char *id;         /* persistent id: ("storage", BFloat16Storage, "0", "cpu", 64); "" if
                               it has none */
    const char *record;     /* "archive/data/0", escaped; "" if the file is not an archive */
};

struct heft_trace_total {
    size_t size; /* HEFT_INIT */
    uint64_t pickles, tensors, opcodes;
    uint64_t memo;      /* memo entries at the end, of all pickles */
    uint64_t metastack; /* stacks remaining in the metastack at the end */
};

/* Callbacks; each may be NULL, and may return false to stop (HEFT_CANCELLED). Order: a
 * pickle, its steps, each step followed by its entries; finally the tensors. */
struct heft_trace_watcher {
    size_t size; /* HEFT_INIT */
    void *ctx;
    bool (*pickle)(void *ctx, const struct heft_trace_pickle *pickle);
    bool (*step)(void *ctx, const struct heft_trace_step *step);
    bool (*entry)(void *ctx, const struct heft_trace_entry *entry);
    bool (*tensor)(void *ctx, const struct heft_trace_tensor *tensor);
};

/* Traces the pickle of a torch archive (zip or tar), a bare pickle, or the five pickles of a legacy
 * stream. If a pickle is truncated, the steps before are reported, and false is returned. Tensors
 * are not reported if only a range is requested. options may be NULL. */
HEFT_API bool heft_trace(const char *path, const struct heft_trace_options *options,
                         const struct heft_trace_watcher *watcher, struct heft_trace_total *total,
                         struct heft_error *err);

/* ---- tracing a restore ------------------------------------------------------------------- */

/* How a TensorFlow SavedModel is restored from its checkpoint, step by step, derived from its graph
 * and object graph; nothing is executed. Names are not escaped: escape them before you print them
 * to a terminal; `text` is escaped. Everything is valid until the handle or the checkpoint is
 * closed. */
struct heft_restore;

struct heft_restore_options {
    size_t size;      /* HEFT_INIT */
    const char *tags; /* tags of the metagraph, in any order: "serve,gpu"; "": the one without
                         tags; NULL: the only one */
};

enum heft_restore_kind {
    HEFT_RESTORE_METAGRAPH, /* a metagraph is selected by its tags */
    HEFT_RESTORE_ASSET,     /* the path of an asset is fed to a tensor */
    HEFT_RESTORE_FEED,      /* the checkpoint's prefix is fed to a tensor */
    HEFT_RESTORE_RUN,       /* the restore op is run */
    HEFT_RESTORE_CALL,      /* a function is called; its steps follow, one level deeper */
    HEFT_RESTORE_READ,      /* an op reads the checkpoint; its names follow */
    HEFT_RESTORE_NAME,      /* one name that it reads: key and slice */
    HEFT_RESTORE_ASSIGN,    /* a value is assigned to a variable or a table */
    HEFT_RESTORE_WAIT,      /* a node that waits for other nodes */
    HEFT_RESTORE_INIT       /* an op that is run after everything is restored */
};

struct heft_restore_step {
    size_t size; /* HEFT_INIT */
    enum heft_restore_kind kind;
    unsigned depth;                   /* number of enclosing functions */
    const char *node, *op, *function; /* the node, and the function that contains it; "" if none */
    uint64_t offset;         /* byte offset of the node in the SavedModel's file; HEFT_NO_OFFSET if
                              * none */
    const char *text;        /* description for people; "" for NAME and ASSIGN */
    const char *key, *slice; /* for NAME: slice is "" for the whole tensor */
    const char *dtype;       /* for NAME: expected dtype, "F32"; "" if not stated */
    uint64_t index;          /* for NAME: its index among the names of the op */
    uint64_t takers;         /* for NAME: number of ASSIGN steps that use it */
    size_t target;           /* for ASSIGN: index of heft_restore_target_at; else SIZE_MAX */
};

/* A variable, or the keys or values of a table, and the tensor assigned to it. */
struct heft_restore_target {
    size_t size;           /* HEFT_INIT */
    const char *variable;  /* name for people: shared_name of the node, else its name */
    const char *node, *op; /* node of the variable and its op: "dense/kernel", "VarHandleOp" */
    const char *by;        /* node that assigns the value: "save/Assign_1" */
    const char *role;      /* for a table: "keys" or "values"; else "" */
    const char *object;    /* path in the object graph: "layers/0/kernel"; "" if it has none */
    const char *key, *slice;
    const char *dtype;    /* dtype of the node: "F32"; "" if not stated */
    bool has_shape;       /* the node states its shape: */
    unsigned rank;        /* … */
    const int64_t *shape; /* … -1 for an unknown extent */
    size_t tensor;        /* index of heft_tensor_at for the key; SIZE_MAX if the checkpoint
                             lacks it */
    size_t pieces;        /* number of pieces of heft_restore_piece_at */
};
/* Position of the data; for a tensor in parts one piece per part that intersects the slice. */
struct heft_restore_piece {
    size_t size; /* HEFT_INIT */
    size_t file;
    uint64_t offset, bytes;
    bool has_sum; /* the checkpoint stores a checksum */
    bool has_crc; /* … which is a CRC-32C of exactly these bytes: */
    uint32_t crc;
};

/* The checkpoint must be opened with keys as names (option names). options may be NULL. */
HEFT_API struct heft_restore *heft_restore_new(struct heft_checkpoint *c,
                                               const struct heft_restore_options *options,
                                               struct heft_error *err);
/* A tag of the metagraph; NULL past the end. And the index of the metagraph, from 0, and the number
 * of metagraphs. */
HEFT_API const char *heft_restore_tag(const struct heft_restore *r, size_t index);
HEFT_API void heft_restore_metagraph(const struct heft_restore *r, size_t *number, size_t *count);
HEFT_API bool heft_restore_step_at(const struct heft_restore *r, size_t index,
                                   struct heft_restore_step *out);
HEFT_API bool heft_restore_target_at(const struct heft_restore *r, size_t index,
                                     struct heft_restore_target *out);
HEFT_API bool heft_restore_piece_at(const struct heft_restore *r, size_t target, size_t piece,
                                    struct heft_restore_piece *out);
/* Inconsistencies, as reported by heft_verify. */
HEFT_API bool heft_restore_finding_at(const struct heft_restore *r, size_t index,
                                      struct heft_finding *out);
HEFT_API void heft_restore_free(struct heft_restore *r);

/* ---- walking an index --------------------------------------------------------------------
 *
 * The index of a TensorFlow checkpoint is a sorted table of blocks of entries. An entry consists of
 * the number of bytes that its key shares with the previous key, the rest of the key, and a value.
 */
struct heft_index_entry {
    uint64_t block;         /* byte offset of its block in the file */
    uint64_t offset, bytes; /* byte range of the entry in the file; of the whole block if it is
                             * compressed */
    size_t in_block;        /* offset of the entry in the decompressed block */
    bool is_packed;         /* compressed with snappy */
    const char *key;        /* complete key, of any bytes; NUL-terminated */
    size_t key_len;
    uint64_t shared;      /* number of key bytes shared with the previous entry */
    const uint8_t *value; /* encoded value */
    size_t value_len;
    const char *text; /* decoded value, escaped, NUL-terminated: "DT_FLOAT [2,3], shard 0, …" */
};
/* The entry is valid until each() returns; returning false stops (HEFT_CANCELLED). */
typedef bool heft_index_fn(void *ctx, const struct heft_index_entry *entry);
/* `path` is any name of the checkpoint, as for heft_open; options may be NULL. *is_index is false
 * if the path is not such a table: then nothing is reported, and there is no error. */
HEFT_API bool heft_index_walk(const char *path, const struct heft_open_options *options,
                              heft_index_fn *each, void *ctx, bool *is_index,
                              struct heft_error *err);

#ifdef __cplusplus
}
#endif
#endif
