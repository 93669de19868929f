/* torch_write.h: interface between the torch writers; private to write/ and the two containers.
 *
 *    exports ─► torch_write_out.c     contents: rows, or the tree of the source
 *          ─► torch_keep.c          that tree, if the source has one
 *          ─► torch_write_rows.c    storages of the file, and the items' offsets in them
 *          ─► torch_write_pickle.c  the pickle of the state dict
 *          ─► torch_write.c         the zip of torch.save since 1.6
 *             torch_serial.c        … its serialization id
 *          ─► torch_legacy_write.c  the older stream of torch.save */
#ifndef HEFT_TORCH_WRITE_H
#define HEFT_TORCH_WRITE_H

#include "core/byte_range.h"
#include "core/plan.h"

/* A storage of the output: the source range that its items share. */
struct heft_torch_piece {
    /* one of the rows: gives source, dtype and flags; a partitioned row is the whole piece */
    const struct heft_row *like;
    struct heft_byte_range range;
    uint64_t at;    /* offset in the output file; set by the plan */
    uint32_t next;  /* another piece cut from the same storage, or HEFT_NONE */
    uint32_t items; /* number of items that share it */
    uint8_t as;     /* dtype in the output */
};

struct heft_torch_out {
    const struct heft_export_list *exports;
    struct heft_plan *plan;
    uint32_t file;
    struct heft_arena scratch;
    struct heft_torch_piece *pieces; /* in the order in which items first refer to them */
    size_t n_pieces;
    /* tensors that use the pieces: those of the export list or, with a kept tree … */
    struct heft_export_item *items;
    size_t n_items, cap_items; /* … all tensors of the tree, also unnamed ones */
    /* per item: its position in the export list, or HEFT_NONE; NULL if items are the export list's */
    uint32_t *origin;
    bool *alone; /* per item: its storage must not be shared, as for a bare storage; or NULL */
    size_t cap_origin, cap_alone;
    uint32_t *piece_of; /* per item: its piece */
    uint32_t *turn;     /* per piece: its position in the pickle, while the tree is written */
    bool is_ordered;    /* the dictionary is an OrderedDict */
    const struct heft_value *modules; /* _metadata of the dictionary, or NULL */
    struct heft_buf pickle;           /* pickle of the kept tree, or a given one */
    bool is_alone;                    /* the file is one tensor instead of a state dict */
    bool has_given;                   /* the file is the given pickle */
};

enum heft_torch_style {
    HEFT_TORCH_ZIP,   /* persistent ids of five fields, one string per key */
    HEFT_TORCH_STREAM /* six fields: the last one can be a view, which torch no longer writes */
};

/* ---- torch_write_out.c ---- */

/* Lists the storages of a file. */
HEFT_CHECKED bool heft_torch_out_init(struct heft_torch_out *out, struct heft_plan *plan,
                                      uint32_t file, const struct heft_export_list *exports,
                                      enum heft_torch_style style, struct heft_error *err);
/* The same for heft_torch_plan_alone. */
HEFT_CHECKED bool heft_torch_out_alone(struct heft_torch_out *out, struct heft_plan *plan,
                                       uint32_t file, const struct heft_export_list *exports,
                                       const struct heft_str *pickle, struct heft_error *err);
void heft_torch_out_release(struct heft_torch_out *out);

/* ---- torch_write_rows.c ---- */

/* Groups the items into pieces. */
HEFT_CHECKED bool heft_torch_out_group(struct heft_torch_out *out, struct heft_error *err);
/* Size of a piece in elements, and in bytes as written. */
uint64_t heft_torch_elements(const struct heft_torch_piece *piece);
uint64_t heft_torch_bytes(const struct heft_torch_piece *piece);
/* Elements from the start of the piece to the item's first one. */
uint64_t heft_torch_offset(const struct heft_torch_piece *piece,
                           const struct heft_export_item *item);
/* Plans the bytes of a piece. */
HEFT_CHECKED bool heft_torch_out_put(struct heft_torch_out *out, struct heft_torch_piece *piece,
                                     struct heft_error *err);
/* Sets the offsets of the export list's items; after all pieces are planned. */
void heft_torch_out_place(struct heft_torch_out *out);

/* ---- torch_write_pickle.c ---- */

/* Plans the pickle of the items as a state dict. The keys of storages are their numbers. */
HEFT_CHECKED bool heft_torch_write_pickle(struct heft_torch_out *out, enum heft_torch_style style,
                                          struct heft_error *err);
/* Moves the contents of the buffer into the plan. */
HEFT_CHECKED bool heft_torch_flush(const struct heft_torch_out *out, struct heft_buf *buf,
                                   struct heft_error *err);
/* Formats "data/17" into HEFT_TORCH_NAME bytes of room. */
struct heft_str heft_torch_key_name(const char *before, uint64_t number, char *room);
/* Element count of a storage, as in its persistent id. */
uint64_t heft_torch_piece_count(const struct heft_torch_piece *piece);

/* ---- torch_keep.c ---- */

/* torch_keep.c: fills items, pieces and pickle from the tree of the source. */
HEFT_CHECKED bool heft_keep_plan(struct heft_torch_out *out, enum heft_torch_style style,
                                 struct heft_error *err);

/* ---- torch_write.c ---- */

/* Offset of a record's payload, given the offset of its local header and the length of its name;
 * *wide is the size of the zip64 field. */
uint64_t heft_torch_payload(uint64_t begin, size_t name, uint64_t size, uint16_t *wide);

/* ---- torch_serial.c ---- */

enum { HEFT_TORCH_NAME = 32 };
/* Returns the i-th name, using `room` if it must be formatted. */
typedef struct heft_str heft_torch_name_fn(const void *ctx, size_t i, char *room);
/* torch's combined hash of all record names, iterated in the order of libstdc++'s
 * std::unordered_set. Linear time. */
HEFT_CHECKED bool heft_torch_hash_names(heft_torch_name_fn *name, const void *ctx, size_t n,
                                        struct heft_arena *scratch, uint64_t *out,
                                        struct heft_error *err);
/* Combines one more number into a hash. */
uint64_t heft_torch_combine(uint64_t seed, uint64_t value);

/* ---- formats ---- */

extern const struct heft_format_option heft_torch_options[]; /* options of the zip format */
bool heft_torch_supports_dtype(enum heft_dtype dtype);
HEFT_CHECKED bool heft_torch_plan(struct heft_plan *plan, uint32_t file,
                                  const struct heft_export_list *exports, struct heft_error *err);
/* Plans an archive as torch.save(object, stream) writes it: of the only item of the exports, or of a
 * pickle without tensors, if that is not NULL. The path of the file decides the root. */
HEFT_CHECKED bool heft_torch_plan_alone(struct heft_plan *plan, uint32_t file,
                                        const struct heft_export_list *exports,
                                        const struct heft_str *pickle, struct heft_error *err);
bool heft_torch_legacy_supports_dtype(enum heft_dtype dtype);
HEFT_CHECKED bool heft_torch_legacy_plan(struct heft_plan *plan, uint32_t file,
                                         const struct heft_export_list *exports,
                                         struct heft_error *err);

#endif
