/* plan.h: a plan of output files, made before anything is written: each file is a list of ops.
 *
 * Formats add ops. heft_plan_check verifies that the ops of each file cover it exactly, in order, and
 * that every source range lies inside its storage. Plans are deterministic. */
#ifndef HEFT_PLAN_H
#define HEFT_PLAN_H

#include "base/sha256.h"
#include "core/export_list.h"
#include "core/format_options.h"

enum heft_op_kind {
    HEFT_OP_PUT,  /* literal bytes in the plan's arena */
    HEFT_OP_MADE, /* bytes from a callback (struct heft_maker), made while writing: for long runs */
    HEFT_OP_COPY, /* a range of a RAW storage, copied unchanged */
    HEFT_OP_ROW,  /* elements of a row in row-major order, little-endian, cast to `as` */
    HEFT_OP_LATE, /* bytes of known length, computed from checksums after all others are written */
    HEFT_OP_FILE  /* a range of a file outside the model, opened when it is copied */
};

/* Makes the n bytes of a late op. `sums`: the CRC of each sum of the plan. Sums of all earlier
 * ops are complete, late ones included. */
typedef void heft_late_fn(const void *ctx, const uint32_t *sums, uint8_t *out, size_t n);

/* Callback of a late op. */
struct heft_late {
    heft_late_fn *fill;
    const void *ctx; /* allocated in the plan's arena */
};

/* Makes bytes [from, from+n). Must be deterministic and thread-safe. */
typedef bool heft_make_fn(const void *ctx, uint64_t from, uint8_t *out, size_t n,
                          struct heft_error *err);

/* Source of HEFT_OP_MADE ops; released with the plan. */
struct heft_maker {
    heft_make_fn *make;
    void (*release)(void *ctx);
    void *ctx;
};

struct heft_op {
    uint8_t kind, as;
    uint32_t file;
    uint32_t sum; /* number of the sum that includes its bytes, or HEFT_NONE */
    /* length of name; kept apart from it, next to other 32-bit fields, to keep the struct small */
    uint32_t name_n;
    const char *name;  /* tensor's name, for errors; name_n is 0 if the op belongs to no tensor */
    uint64_t off, len; /* byte range in the output file */
    union {
        const uint8_t *bytes;
        struct {
            uint32_t storage;
            uint64_t from; /* offset in the storage */
        } copy;
        const struct heft_row *row;
        struct heft_late late;
        struct {
            uint32_t maker;
            uint64_t from; /* offset in the bytes of the maker */
        } made;
        struct {
            const char *path; /* allocated in the plan's arena */
            uint64_t from;
        } file;
    } u;
};

static inline struct heft_str heft_op_name(const struct heft_op *op)
{
    return (struct heft_str){op->name, op->name_n};
}

struct heft_plan_file {
    const char *path;
    uint64_t size;     /* bytes; grows with its ops */
    size_t first, ops; /* range of ops */
    bool is_index;     /* renamed into place after the data files */
    bool is_other;     /* no checkpoint: a file of the model directory beside it */
};

/* The user's request, as far as formats need it. Belongs to the caller; valid while planning. */
struct heft_plan_request {
    const char *root; /* path of the dictionary whose tensors are taken; NULL: all */
    const struct heft_rule *rules;
    size_t n_rules;
    uint64_t max_shard_size; /* bytes; valid if is_sharded */
    bool is_sharded;
    bool is_strict;
    /* one for each entry of the format's table; NULL: none given */
    const struct heft_option_value *options;
};

struct heft_plan {
    const struct heft_model *model;
    struct heft_plan_request request; /* zeroed: defaults */
    struct heft_arena *mem;           /* its budget also counts the ops */
    struct heft_plan_file *files;
    struct heft_op *ops;
    const char **notes; /* for the user: what the output lacks, and choices of the format */
    struct heft_maker *makers;
    size_t n_files, n_ops, n_notes, n_makers, cap_files, cap_ops, cap_notes, cap_makers;
    /* byte offset of each item in its file, by item->number - 1; in the plan's arena */
    uint64_t *item_offsets;
    size_t n_items;
    enum heft_sum sum; /* kind of CRC of its sums */
    /* Set by a format that names its files itself (plan_set): prefix of the paths of its set of
     * files. Stale files of an earlier set are found by it. NULL: the output is a single file. */
    const char *prefix;
    bool (*in_set)(struct heft_str rest);
    bool adds_tensors; /* the output has more tensors than the export list */
    /* stale files of an earlier set go before new ones appear: readers take all files of the directory */
    bool retires_first;
    bool may_link; /* an output that equals a whole source file may be a hard link to it */
    /* New directory that holds all files and appears at once, subdirectories included; NULL:
     * files appear one by one. */
    const char *whole;
    const char **folders;
    size_t n_folders;
    uint32_t n_sums;
    bool is_summing; /* ops added now belong to the last sum */
};

/* Value of option `index` of the format's table; zeroed if it was not given. */
static inline struct heft_option_value heft_plan_option(const struct heft_plan *plan,
                                                        unsigned index)
{
    return plan->request.options ? plan->request.options[index] : (struct heft_option_value){0};
}

/* Value of an option that aligns data: 1 if it was not given. HEFT_USAGE unless it is a power of two. */
HEFT_CHECKED bool heft_plan_alignment(const struct heft_plan *plan, unsigned index, uint64_t *out,
                                      struct heft_error *err);
/* Bytes from `at` to the next multiple. */
static inline uint64_t heft_plan_padding(uint64_t at, uint64_t alignment)
{
    return (alignment - at % alignment) % alignment;
}

/* Reserves space for more ops: growing the array step by step would fragment the heap. */
HEFT_CHECKED bool heft_plan_reserve(struct heft_plan *plan, size_t more, struct heft_error *err);

/* Starts an output file. Ops are appended in order, each at the end of the file so far; all ops
 * of a file are added before the next file starts. Literal bytes must live in plan->mem. */
HEFT_CHECKED bool heft_plan_file_begin(struct heft_plan *plan, const char *path, uint32_t *file,
                                       struct heft_error *err);
HEFT_CHECKED bool heft_plan_put(struct heft_plan *plan, uint32_t file, struct heft_str bytes,
                                struct heft_error *err);
/* Adds a maker. Takes ownership of its ctx, also on failure. *number identifies it in
 * heft_plan_made. */
HEFT_CHECKED bool heft_plan_maker(struct heft_plan *plan, struct heft_maker maker, uint32_t *number,
                                  struct heft_error *err);
/* Adds bytes [from, from+n) of a maker. */
HEFT_CHECKED bool heft_plan_made(struct heft_plan *plan, uint32_t file, uint32_t maker,
                                 uint64_t from, uint64_t n, struct heft_error *err);
/* Allocates the offsets of n items. */
HEFT_CHECKED bool heft_plan_expect_items(struct heft_plan *plan, size_t n, struct heft_error *err);
/* Records the offset of an item in its file, for writers that do not use heft_plan_item: several
 * items may share one copied range. Does nothing for an item without a number. */
void heft_plan_place(struct heft_plan *plan, const struct heft_export_item *item, uint64_t offset);
/* Offset of an item in its file; 0 if none was recorded. */
uint64_t heft_plan_offset(const struct heft_plan *plan, const struct heft_export_item *item);
/* Adds a row: COPY if the stored bytes are the row's (one COPY for each part if the concatenated
 * parts are), else ROW. Records the end of the file so far as the item's offset. */
HEFT_CHECKED bool heft_plan_item(struct heft_plan *plan, uint32_t file,
                                 const struct heft_export_item *item, struct heft_error *err);
/* Adds a range of a RAW storage that is not missing, for the tensor `name`. */
HEFT_CHECKED bool heft_plan_copy(struct heft_plan *plan, uint32_t file, uint32_t storage,
                                 uint64_t from, uint64_t n, struct heft_str name,
                                 struct heft_error *err);
HEFT_CHECKED bool heft_plan_copy_file(struct heft_plan *plan, uint32_t file, const char *path,
                                      uint64_t from, uint64_t n, struct heft_error *err);
/* Adds n bytes that `late` computes from the sums after the data is written; they are held in
 * memory. */
HEFT_CHECKED bool heft_plan_late(struct heft_plan *plan, uint32_t file, struct heft_late late,
                                 uint64_t n, struct heft_error *err);
/* Ops added between these two calls make up one sum, whose CRC late ops can use. Returns the
 * number of the sum. */
uint32_t heft_plan_sum_begin(struct heft_plan *plan);
void heft_plan_sum_end(struct heft_plan *plan);
/* Adds a note for the user; its text is static or in plan->mem. False if it is NULL, which means
 * that memory ran out. */
HEFT_CHECKED bool heft_plan_note(struct heft_plan *plan, const char *note, struct heft_error *err);
/* Adds the note that metadata is left out, if there is any. `what` names the format, "NumPy
 * files". Of a sharded output the index keeps the metadata. */
HEFT_CHECKED bool heft_plan_leave_metadata(struct heft_plan *plan,
                                           const struct heft_export_list *exports, const char *what,
                                           struct heft_error *err);
HEFT_CHECKED bool heft_plan_check(const struct heft_plan *plan, struct heft_error *err);
/* plan_digest.c: SHA-256 of all that the files will contain, the inputs' bytes by their places. */
HEFT_CHECKED bool heft_plan_digest(const struct heft_plan *plan, uint8_t digest[HEFT_SHA256_BYTES],
                                   struct heft_error *err);
void heft_plan_release(
    struct heft_plan *plan); /* frees the arrays; the arena belongs to the caller */

#endif
