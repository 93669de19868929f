/* ptd_program.h: what the parts of .pte share: ptd_program.c opens, ptd_program_values.c reads the
 * plans' values, ptd_delegate.c what delegates want, ptd_match.c compares a program with the weights
 * that were opened with it; no other file includes it. */
#ifndef HEFT_PTD_PROGRAM_H
#define HEFT_PTD_PROGRAM_H

#include "core/tree.h"
#include "format/executorch/ptd_parts.h"

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

/* A key that has to be in a .ptd: of a tensor, or of bytes that a delegate asks for, which may also
 * be named data of the program itself. */
struct heft_pte_wish {
    struct heft_str key;
    struct heft_str backend; /* of the delegate; n = 0: the program's own tensor */
    const uint64_t *shape;   /* rank numbers */
    const uint8_t *order; /* rank numbers: which dimension is outermost, …; NULL: as they come */
    uint64_t bytes;       /* of a delegate's */
    uint8_t rank, dtype;
};
/* What model->sources[i].kept is of a program. */
struct heft_pte_wishes {
    const struct heft_pte_wish *list;
    size_t n;
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
    struct heft_strmap asked;     /* by delegates */
    struct heft_node *plans, *external;
    struct heft_node *delegate_data; /* NULL: no delegate has asked yet */
    struct heft_pte_wish *wishes;
    size_t n_wishes, cap_wishes;
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
HEFT_CHECKED bool heft_pte_add_wish(struct heft_pte *p, const struct heft_pte_wish *wish,
                                    struct heft_error *err);
/* The keys that a delegate's payload, all of that storage, asks for. Payloads of backends other than
 * XNNPACK are not looked into; a damaged one becomes a finding. */
HEFT_CHECKED bool heft_pte_read_payload(struct heft_pte *p, struct heft_str backend,
                                        uint32_t storage, struct heft_error *err);
/* As struct heft_format has it. */
HEFT_CHECKED bool heft_pte_verify(const struct heft_model *model, uint32_t source,
                                  const struct heft_reporter *to, struct heft_error *err);
/* Each execution plan: its tensors as rows, its delegates as blobs, what it is in about. */
HEFT_CHECKED bool heft_pte_read_plans(struct heft_pte *p, struct heft_error *err);

#endif
