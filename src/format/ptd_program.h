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

/* What data_buffer_idx counts: offsets of a segment, or buffers of their own within the tables. */
struct heft_pte_set {
    struct heft_flat_vector items; /* u64 each, or tables */
    uint32_t segment;              /* HEFT_NONE: buffers */
    uint32_t *storages;            /* of items; HEFT_NONE: not yet */
};

struct heft_pte {
    struct heft_model *model;
    struct heft_flat flat;
    struct heft_flat_table root;
    struct heft_arena scratch;
    struct heft_pte_segment *segments;
    struct heft_pte_set constants;
    struct heft_pte_set *initial; /* a mutable segment */
    struct heft_strmap names;     /* of rows → their storages */
    struct heft_strmap wanted;    /* of .ptd files */
    struct heft_node *plans, *external;
    uint64_t base, room; /* of segments */
    uint64_t program;    /* bytes */
    uint64_t offsets;    /* that sets may still have in all */
    uint32_t source, n_segments, n_initial;
};

/* All of a segment as a storage. */
HEFT_CHECKED bool heft_pte_segment(struct heft_pte *p, uint32_t index, uint64_t at,
                                   uint32_t *storage, struct heft_error *err);
/* Where an item is, and the room from there up to where its segment or buffer ends. */
HEFT_CHECKED bool heft_pte_place(const struct heft_pte *p, const struct heft_pte_set *set,
                                 uint32_t index, uint64_t *off, uint64_t *len,
                                 struct heft_error *err);
/* Each execution plan: its tensors as rows, its delegates as blobs, what it is in about. */
HEFT_CHECKED bool heft_pte_read_plans(struct heft_pte *p, struct heft_error *err);

#endif
