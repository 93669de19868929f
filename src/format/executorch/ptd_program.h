/* ptd_program.h: shared by the files for .pte: ptd_program.c (opens), ptd_program_values.c (values
 * of plans), ptd_delegate.c (references of delegates), ptd_match.c (compares a program with the
 * weights opened with it). */
#ifndef HEFT_PTD_PROGRAM_H
#define HEFT_PTD_PROGRAM_H

#include "core/tree.h"
#include "format/executorch/ptd_parts.h"

struct heft_pte_segment {
    uint64_t off, len; /* range in the file */
    uint32_t storage;  /* HEFT_NONE if not used yet */
};

/* The numbering of data_buffer_idx: offsets in a segment, or buffers inside the tables. */
struct heft_pte_set {
    struct heft_flat_vector items; /* u64 each, or tables */
    uint32_t segment;              /* HEFT_NONE: the constants are in buffers */
    uint32_t *storages;            /* storage of each item; HEFT_NONE: not used yet */
};

/* A key that must be in a .ptd: of a tensor, or of bytes to which a delegate refers, which may also
 * be named data of the program itself. */
struct heft_pte_wish {
    struct heft_str key;
    struct heft_str backend; /* name of the delegate; n = 0 for a tensor of the program */
    const uint64_t *shape;   /* rank numbers */
    const uint8_t *order;    /* rank dimension numbers, the outermost first; NULL: in ascending
                             order */
    uint64_t bytes;          /* for a delegate */
    uint8_t rank, dtype;
};
/* The format data (model->sources[i]) of a program. */
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
    struct heft_pte_set *initial; /* constants in mutable segments */
    struct heft_strmap names;     /* names of rows → their storages */
    struct heft_strmap wanted;    /* keys needed from .ptd files */
    struct heft_strmap asked;     /* keys used by delegates */
    struct heft_node *plans, *external;
    struct heft_node *delegate_data; /* NULL until the first delegate refers to data */
    struct heft_pte_wish *wishes;
    size_t n_wishes, cap_wishes;
    uint64_t base, room; /* base and size of the area of segments */
    uint64_t program;    /* bytes of the program */
    uint64_t offsets;    /* number of offsets that sets may still have */
    uint32_t source, n_segments, n_initial;
};

/* A whole segment as a storage. */
HEFT_CHECKED bool heft_pte_segment(struct heft_pte *p, uint32_t index, uint64_t at,
                                   uint32_t *storage, struct heft_error *err);
/* Position of an item, and the bytes from there to the end of its segment or buffer. */
HEFT_CHECKED bool heft_pte_place(const struct heft_pte *p, const struct heft_pte_set *set,
                                 uint32_t index, uint64_t *off, uint64_t *len,
                                 struct heft_error *err);
HEFT_CHECKED bool heft_pte_add_wish(struct heft_pte *p, const struct heft_pte_wish *wish,
                                    struct heft_error *err);
/* Reads the keys to which a delegate's payload refers. The payload is the whole storage. Payloads
 * of backends other than XNNPACK are not read; a damaged one is a finding. */
HEFT_CHECKED bool heft_pte_read_payload(struct heft_pte *p, struct heft_str backend,
                                        uint32_t storage, struct heft_error *err);
/* The function of struct heft_format. */
HEFT_CHECKED bool heft_pte_verify(const struct heft_model *model, uint32_t source,
                                  const struct heft_reporter *to, struct heft_error *err);
/* Adds each execution plan: tensors as rows, delegates as blobs, the rest as file info. */
HEFT_CHECKED bool heft_pte_read_plans(struct heft_pte *p, struct heft_error *err);

#endif
