/* ptd_parts.h: shared by ptd.c (opens), ptd_tables.c (reads tables), ptd_rows.c (makes rows),
 * ptd_annotate.c (annotates and verifies), ptd_write.c (plans). */
#ifndef HEFT_PTD_PARTS_H
#define HEFT_PTD_PARTS_H

#include "core/plan.h"
#include "core/registry.h"
#include "wire/flatbuf.h"

#define HEFT_PTD_HEAD   64 /* bytes of the smallest file */
#define HEFT_PTD_HEADER 40 /* bytes of the private header, which begins at byte 8 */
#define HEFT_PTD_RANK   16 /* limit of ExecuTorch's runtime */
#define HEFT_PTD_TYPES  30

struct heft_ptd_segment {
    uint64_t at;       /* position of its table */
    uint64_t off, len; /* range in the file */
};

/* A file whose header was read. In the model's memory. */
struct heft_ptd {
    struct heft_flat flat;
    struct heft_flat_table root;
    uint64_t size;                   /* size of the file */
    uint64_t header, splice, tables; /* header length, flatbuffer_offset, flatbuffer_size */
    uint64_t base, data;             /* segment_base_offset, segment_data_size */
    uint64_t room;                   /* bytes after the base that segments may use */
    struct heft_ptd_segment *segments;
    uint32_t n_segments;
    bool is_old; /* the generation of 0.6: all tensors are in one segment */
};

/* A tensor or a blob. Byte pointers are into the buffer. */
struct heft_ptd_entry {
    struct heft_str key;  /* followed by a NUL */
    uint64_t at, key_at;  /* positions of its table and of its key */
    uint64_t offset;      /* offset in the segment; always 0 since 0.7 */
    uint64_t bytes;       /* size of a tensor from its shape and dtype; size of a blob */
    const uint8_t *sizes; /* rank i32 */
    const uint8_t *order; /* rank u8; NULL: the order of the dimensions */
    uint32_t segment;
    uint8_t rank;
    enum heft_dtype dtype;
    bool is_tensor, lacks_sizes;
};

struct heft_ptd_visitor {
    bool (*entry)(void *ctx, uint32_t i, const struct heft_ptd_entry *entry,
                  struct heft_error *err);
    void *ctx;
};

/* The dtype of a ScalarType below HEFT_PTD_TYPES, and the reverse (HEFT_PTD_TYPES: none). */
enum heft_dtype heft_ptd_dtype(unsigned type);
unsigned heft_ptd_type(enum heft_dtype dtype);

/* Reads and checks the segments into ptd->segments (in mem). `most`: their limit. */
HEFT_CHECKED bool heft_ptd_read_segments(struct heft_ptd *ptd, uint64_t most,
                                         struct heft_arena *mem, struct heft_error *err);
/* Reads and checks each entry. `limits`: of their number and their names. */
HEFT_CHECKED bool heft_ptd_read_entries(struct heft_ptd *ptd, uint64_t most, uint64_t longest,
                                        const struct heft_ptd_visitor *visitor,
                                        struct heft_error *err);

/* Reads dtype and dimensions of a tensor: dtype in field type_id, sizes in sizes_id, dim_order in
 * the next. */
HEFT_CHECKED bool heft_ptd_read_layout(const struct heft_flat *flat,
                                       const struct heft_flat_table *table, unsigned type_id,
                                       unsigned sizes_id, struct heft_ptd_entry *e,
                                       struct heft_error *err);
/* ptd_rows.c: sets a row's shape, strides and order from them. */
HEFT_CHECKED bool heft_ptd_set_dims(struct heft_model *model, const struct heft_ptd_entry *e,
                                    struct heft_row *row, struct heft_error *err);
/* ptd_rows.c: adds the contents of the tables to the model. */
HEFT_CHECKED bool heft_ptd_add_all(struct heft_model *model, uint32_t source, struct heft_ptd *ptd,
                                   struct heft_error *err);

/* Functions of struct heft_format. */
HEFT_CHECKED bool heft_ptd_annotate(struct heft_model *view, uint32_t source,
                                    struct heft_error *err);
HEFT_CHECKED bool heft_ptd_verify(const struct heft_model *model, uint32_t source,
                                  const struct heft_reporter *to, struct heft_error *err);

/* ---- ptd_digest.c ---- */
/* Adds notes on blobs of that source, a .ptd or .pte, whose keys are digests of other bytes. */
HEFT_CHECKED bool heft_ptd_check_keys(const struct heft_model *model, uint32_t source,
                                      const struct heft_reporter *to, struct heft_error *err);

#define HEFT_PTD_MAX_ALIGNMENT (1u << 20) /* largest alignment of a segment, larger than any page */
#define HEFT_PTD_DROP_VALUES   "drop-values"
extern const struct heft_format_option heft_ptd_options[];
HEFT_CHECKED bool heft_ptd_plan(struct heft_plan *plan, uint32_t file,
                                const struct heft_export_list *exports, struct heft_error *err);

#endif
