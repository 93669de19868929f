/* torch_write.h: the inside of the torch writers, shared by the torch_*write*.c files only.
 *
 *     exports ─► torch_write_out.c     what is written: rows, or the tree of the source
 *           ─► torch_keep.c          that tree, where it has one
 *           ─► torch_write_rows.c    which storages the file gets, and where items look into them
 *           ─► torch_write_pickle.c  the pickle of the state dict
 *           ─► torch_write.c         the zip of torch.save since 1.6
 *              torch_serial.c        … its serialization id
 *           ─► torch_legacy_write.c  the stream of torch.save before */
#ifndef HEFT_TORCH_WRITE_H
#define HEFT_TORCH_WRITE_H

#include "core/byte_range.h"
#include "core/plan.h"

/* A storage of the output: the range of the items that share it. */
struct heft_torch_piece {
    const struct heft_row *like; /* one of their rows: source, dtype, flags; or in parts, and all */
    struct heft_byte_range range;
    uint64_t at;    /* in the output file, once it is planned */
    uint32_t next;  /* another one that is cut from the same storage; HEFT_NONE */
    uint32_t items; /* that share it */
    uint8_t as;     /* dtype as written */
};

struct heft_torch_out {
    const struct heft_export_list *exports;
    struct heft_plan *plan;
    uint32_t file;
    struct heft_arena scratch;
    struct heft_torch_piece *pieces; /* in the order in which items first name them */
    size_t n_pieces;
    struct heft_export_item
        *items; /* what looks into them: the exports's, or where the tree is kept … */
    size_t n_items, cap_items; /* … all tensors of the tree, those without a name, too */
    uint32_t *origin; /* an item → the exports's, or HEFT_NONE; NULL where they are the exports's */
    bool *alone; /* an item: its storage is no other's, as a bare one's that was a view; NULL */
    size_t cap_origin, cap_alone;
    uint32_t *piece_of; /* an item → pieces */
    uint32_t *turn;     /* a piece → its place in the pickle, while the tree is written */
    const struct heft_value *modules; /* the dictionary's _metadata, or NULL */
    struct heft_buf pickle;           /* of the tree, where it is kept */
};

enum heft_torch_style {
    HEFT_TORCH_ZIP,   /* persistent ids of five fields, each key one string */
    HEFT_TORCH_STREAM /* of six: there may be a view, which torch no longer writes */
};

/* ---- torch_write_out.c ---- */

/* Lists the storages of a file. */
HEFT_CHECKED bool heft_torch_out_init(struct heft_torch_out *out, struct heft_plan *plan,
                                      uint32_t file, const struct heft_export_list *exports,
                                      enum heft_torch_style style, struct heft_error *err);
void heft_torch_out_release(struct heft_torch_out *out);

/* ---- torch_write_rows.c ---- */

/* Pieces from items. */
HEFT_CHECKED bool heft_torch_out_group(struct heft_torch_out *out, struct heft_error *err);
/* How large a piece is: elements, and bytes as written. */
uint64_t heft_torch_elements(const struct heft_torch_piece *piece);
uint64_t heft_torch_bytes(const struct heft_torch_piece *piece);
/* Elements from the piece's begin to the item's first one. */
uint64_t heft_torch_offset(const struct heft_torch_piece *piece,
                           const struct heft_export_item *item);
/* Adds the bytes of a piece to the plan. */
HEFT_CHECKED bool heft_torch_out_put(struct heft_torch_out *out, struct heft_torch_piece *piece,
                                     struct heft_error *err);
/* Tells the exports's items where they are; after all pieces. */
void heft_torch_out_place(struct heft_torch_out *out);

/* ---- torch_write_pickle.c ---- */

/* Adds the pickle of the items as a state dict to the plan. Storages have their numbers as keys. */
HEFT_CHECKED bool heft_torch_write_pickle(struct heft_torch_out *out, enum heft_torch_style style,
                                          struct heft_error *err);
/* Moves what the buffer holds into the plan. */
HEFT_CHECKED bool heft_torch_flush(const struct heft_torch_out *out, struct heft_buf *buf,
                                   struct heft_error *err);
/* "data/17" in HEFT_TORCH_NAME bytes of room. */
struct heft_str heft_torch_key_name(const char *before, uint64_t number, char *room);
/* A storage's element count, as its persistent id has it. */
uint64_t heft_torch_piece_count(const struct heft_torch_piece *piece);

/* ---- torch_keep.c ---- */

/* The tree of the source: fills items, pieces and pickle. */
HEFT_CHECKED bool heft_keep_plan(struct heft_torch_out *out, enum heft_torch_style style,
                                 struct heft_error *err);

/* ---- torch_write.c ---- */

/* Where the payload of a record begins whose local header begins at `begin`, its name so many bytes
 * long; and the bytes of the zip64 field that this needs. */
uint64_t heft_torch_payload(uint64_t begin, size_t name, uint64_t size, uint16_t *wide);

/* ---- torch_serial.c ---- */

enum { HEFT_TORCH_NAME = 32 };
/* The i-th name, in `room` where it has to be made. */
typedef struct heft_str heft_torch_name_fn(const void *ctx, size_t i, char *room);
/* What torch combines the names of all records to: its set of them is std::unordered_set of
 * libstdc++, whose order enters. Linear. */
HEFT_CHECKED bool heft_torch_hash_names(heft_torch_name_fn *name, const void *ctx, size_t n,
                                        struct heft_arena *scratch, uint64_t *out,
                                        struct heft_error *err);
/* One more number into a combined one. */
uint64_t heft_torch_combine(uint64_t seed, uint64_t value);

/* ---- formats ---- */

extern const char *const heft_torch_layouts[]; /* of the zip, newest first */
bool heft_torch_supports_dtype(enum heft_dtype dtype);
HEFT_CHECKED bool heft_torch_plan(struct heft_plan *plan, uint32_t file,
                                  const struct heft_export_list *exports, struct heft_error *err);
bool heft_torch_legacy_supports_dtype(enum heft_dtype dtype);
HEFT_CHECKED bool heft_torch_legacy_plan(struct heft_plan *plan, uint32_t file,
                                         const struct heft_export_list *exports,
                                         struct heft_error *err);

#endif
