/* ptd_program.h: what the two halves of .pte share: ptd_program.c opens, ptd_program_values.c reads
 * the plans' values; no other file includes it. */
#ifndef HEFT_PTD_PROGRAM_H
#define HEFT_PTD_PROGRAM_H

#include "core/tree.h"
#include "format/ptd_parts.h"

struct heft_pte_segment {
    uint64_t off, len; /* in the file */
    uint32_t storage;  /* HEFT_NONE: none has asked for it yet */
};

/* Constants lie in a segment at offsets, or in buffers of their own within the tables. */
struct heft_pte_place {
    uint64_t off, len; /* where they are; len: room up to where the segment or buffer ends */
    uint32_t storage;  /* HEFT_NONE: not yet */
};

struct heft_pte {
    struct heft_model *model;
    struct heft_flat flat;
    struct heft_flat_table root;
    struct heft_arena scratch;
    struct heft_pte_segment *segments;
    struct heft_pte_place *constants; /* by data_buffer_idx */
    struct heft_pte_place *initial;   /* of the first mutable segment */
    struct heft_strmap names;         /* of rows → their storages */
    struct heft_strmap wanted;        /* of .ptd files */
    struct heft_node *plans, *external;
    uint64_t base, room; /* of segments */
    uint64_t program;    /* bytes */
    uint32_t source, n_segments, n_constants, n_initial;
};

/* All of a segment as a storage. */
HEFT_CHECKED bool heft_pte_segment(struct heft_pte *p, uint32_t index, uint64_t at,
                                   uint32_t *storage, struct heft_error *err);
/* Each execution plan: its tensors as rows, its delegates as blobs, what it is in about. */
HEFT_CHECKED bool heft_pte_read_plans(struct heft_pte *p, struct heft_error *err);

#endif
