/* plan.h: what is to be written, before anything is: files, and ops that tile them.
 *
 * Formats add ops; heft_plan_check proves that the ops of each file, in the order added, cover it
 * exactly, and that every source range lies in its storage. Equal inputs give equal plans. */
#ifndef HEFT_PLAN_H
#define HEFT_PLAN_H

#include "core/export_list.h"
#include "core/format_options.h"

enum heft_op_kind {
    HEFT_OP_PUT,  /* literal bytes, in the plan's arena */
    HEFT_OP_MADE, /* the same, but made when they are written: where they are many */
    HEFT_OP_COPY, /* a range of a RAW storage, bytes as they are */
    HEFT_OP_ROW,  /* a row's logical elements in row-major order, little-endian, cast to `as` */
    HEFT_OP_LATE, /* bytes of known length that are made once all others are written */
    HEFT_OP_FILE  /* a range of a file that is none of the model's, opened when it is copied */
};

/* Makes the n bytes of a late op. `sums` has the CRC of each sum of the plan; those of the ops
 * before this one are complete, also of the late ones. */
typedef void heft_late_fn(const void *ctx, const uint32_t *sums, uint8_t *out, size_t n);

/* What a late op is made by. */
struct heft_late {
    heft_late_fn *fill;
    const void *ctx; /* in the plan's arena */
};

/* Bytes [from, from+n) of what is made; always the same, from any thread. */
typedef bool heft_make_fn(const void *ctx, uint64_t from, uint8_t *out, size_t n,
                          struct heft_error *err);

/* What made ops come from: released with the plan. */
struct heft_maker {
    heft_make_fn *make;
    void (*release)(void *ctx);
    void *ctx;
};

struct heft_op {
    uint8_t kind, as;
    uint32_t file;
    uint32_t sum;      /* the sum that its bytes are part of, or HEFT_NONE */
    uint32_t name_n;   /* beside what is narrow: there are two ops and more a tensor */
    const char *name;  /* of the tensor, for errors; n is 0 where it is none's */
    uint64_t off, len; /* in the output file */
    union {
        const uint8_t *bytes;
        struct {
            uint32_t storage;
            uint64_t from; /* in the storage */
        } copy;
        const struct heft_row *row;
        struct heft_late late;
        struct {
            uint32_t maker;
            uint64_t from; /* of what it makes */
        } made;
        struct {
            const char *path; /* in the plan's arena */
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
    uint64_t size;     /* grows with its ops */
    size_t first, ops; /* its ops */
    bool is_index;     /* committed after the data files */
};

/* What was asked for, as far as a format's plan needs it; the caller's, gone once planning is done. */
struct heft_plan_request {
    const char *root; /* dictionary whose tensors are taken; NULL: all */
    const struct heft_rule *rules;
    size_t n_rules;
    uint64_t max_shard_size; /* bytes, where is_sharded */
    bool is_sharded;
    const struct heft_option_value
        *options; /* entry by entry of the format's table; NULL: none given */
};

struct heft_plan {
    const struct heft_model *model;
    struct heft_plan_request request; /* all zero: nothing but the rows */
    struct heft_arena *mem;
    struct heft_plan_file *files;
    struct heft_op *ops;
    const char **notes; /* for the user: what a format had to do otherwise than one may expect */
    struct heft_maker *makers;
    size_t n_files, n_ops, n_notes, n_makers, cap_files, cap_ops, cap_notes, cap_makers;
    uint64_t *item_offsets; /* bytes in their files, by item->number - 1; in the plan's arena */
    size_t n_items;
    enum heft_sum sum; /* what its sums are: a CRC */
    /* By a format that names its files itself (plan_set): what their paths begin with, and which
     * names that go on so belong to a set, old or new. */
    const char *prefix;
    bool (*in_set)(struct heft_str rest);
    bool may_link; /* what is a whole file of the source may be written as a hard link to it */
    /* All files are in this folder, which is to be new and appears whole; NULL: they appear one by
     * one. With more folders in it, by their paths. */
    const char *whole;
    const char **folders;
    size_t n_folders;
    uint32_t n_sums;
    bool is_summing; /* ops that are added belong to the last sum */
};

/* Option `index` of the format's table, as it was given. */
static inline struct heft_option_value heft_plan_option(const struct heft_plan *plan,
                                                        unsigned index)
{
    return plan->request.options ? plan->request.options[index] : (struct heft_option_value){0};
}

/* Room for so many more ops: an array that grows leaves holes of its former sizes behind. */
HEFT_CHECKED bool heft_plan_reserve(struct heft_plan *plan, size_t more, struct heft_error *err);

/* Ops are added front to back: each continues where the file's last one ended. A file's ops stand
 * together: the next file begins when it is done. Literal bytes must live in plan->mem. */
HEFT_CHECKED bool heft_plan_file_begin(struct heft_plan *plan, const char *path, uint32_t *file,
                                       struct heft_error *err);
HEFT_CHECKED bool heft_plan_put(struct heft_plan *plan, uint32_t file, struct heft_str bytes,
                                struct heft_error *err);
/* Takes over the maker's ctx, also on failure. Gives its number. */
HEFT_CHECKED bool heft_plan_maker(struct heft_plan *plan, struct heft_maker maker, uint32_t *number,
                                  struct heft_error *err);
/* n bytes of what it makes. */
HEFT_CHECKED bool heft_plan_made(struct heft_plan *plan, uint32_t file, uint32_t maker,
                                 uint64_t from, uint64_t n, struct heft_error *err);
/* Room for the offsets of n items. */
HEFT_CHECKED bool heft_plan_expect_items(struct heft_plan *plan, size_t n, struct heft_error *err);
/* Records that the item begins at that offset of its file, where writers do not use heft_plan_item
 * for it: several items may look into one piece. Nothing for an item without a number. */
void heft_plan_place(struct heft_plan *plan, const struct heft_export_item *item, uint64_t offset);
/* That offset; 0 for an item that was not placed. */
uint64_t heft_plan_offset(const struct heft_plan *plan, const struct heft_export_item *item);
/* A row: becomes COPY where its bytes can be taken as they are (a COPY a part, where the parts follow
 * each other), else ROW. Places the item at the end of the file so far. */
HEFT_CHECKED bool heft_plan_item(struct heft_plan *plan, uint32_t file,
                                 const struct heft_export_item *item, struct heft_error *err);
/* A range of a RAW storage, which is there, for the tensor of that name. */
HEFT_CHECKED bool heft_plan_copy(struct heft_plan *plan, uint32_t file, uint32_t storage,
                                 uint64_t from, uint64_t n, struct heft_str name,
                                 struct heft_error *err);
HEFT_CHECKED bool heft_plan_copy_file(struct heft_plan *plan, uint32_t file, const char *path,
                                      uint64_t from, uint64_t n, struct heft_error *err);
/* Bytes that `late` makes from the sums when the data is written; n must fit in memory. */
HEFT_CHECKED bool heft_plan_late(struct heft_plan *plan, uint32_t file, struct heft_late late,
                                 uint64_t n, struct heft_error *err);
/* The ops that are added between these two make up one sum: its CRC is for late ops. Gives the
 * number of the sum. */
uint32_t heft_plan_sum_begin(struct heft_plan *plan);
void heft_plan_sum_end(struct heft_plan *plan);
/* A line for people, in plan->mem or static. */
HEFT_CHECKED bool heft_plan_note(struct heft_plan *plan, const char *note, struct heft_error *err);
/* The note of a file that has no place for the exports's metadata, where that has any; `what`: "NumPy
 * files". Of many files the index has it. */
HEFT_CHECKED bool heft_plan_leave_metadata(struct heft_plan *plan,
                                           const struct heft_export_list *exports, const char *what,
                                           struct heft_error *err);
HEFT_CHECKED bool heft_plan_check(const struct heft_plan *plan, struct heft_error *err);
void heft_plan_release(struct heft_plan *plan); /* the arrays; the arena is the caller's */

#endif
