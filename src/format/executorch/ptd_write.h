/* ptd_write.h: state of a .ptd while it is planned; shared by ptd_write.c (layout) and ptd_into.c
 * (new weights under the keys of an existing .ptd). */
#ifndef HEFT_PTD_WRITE_H
#define HEFT_PTD_WRITE_H

#include "core/plan.h"
#include "format/executorch/ptd_parts.h"
#include "format/executorch/ptd_share.h"

/* Indexes into the format's table of options. */
enum {
    HEFT_PTD_SEGMENT_ALIGNMENT,
    HEFT_PTD_OPTION_DROP_VALUES,
    HEFT_PTD_INTO,
    HEFT_PTD_BASE,
    HEFT_PTD_KEEP_MISSING,
    HEFT_PTD_OPTIONS
};

/* An entry to be written: a key, its layout, and where its bytes come from. In the plan's memory. */
struct heft_ptd_slot {
    struct heft_str name;
    const uint64_t *shape;               /* rank entries */
    const uint8_t *order;                /* dim_order; NULL: in ascending order */
    const struct heft_export_item *item; /* tensor that has this entry to itself; else NULL */
    const char *file;                    /* kept bytes are copied from here; else NULL */
    uint64_t from;                       /* their offset in the file */
    uint8_t rank, dtype;
    bool is_tensor; /* it has a layout */
};

struct heft_ptd_out {
    struct heft_plan *plan;
    const struct heft_export_list *exports;
    struct heft_arena scratch;
    struct heft_flat_out flat;
    struct heft_ptd_content *contents; /* one for each slot; row is NULL if it is kept */
    struct heft_ptd_slot *slots;
    uint32_t *first;    /* for each content the one that is stored */
    uint32_t *segments; /* … the segment of each */
    uint64_t *offsets;  /* offsets of the segments */
    uint32_t *stored;   /* content of each segment */
    uint32_t *refs;
    uint32_t *slot_of; /* with option into: the slot of each item */
    size_t n;
    uint32_t n_segments;
    uint64_t alignment;
};

/* Allocates the arrays for n slots. */
HEFT_CHECKED bool heft_ptd_out_room(struct heft_ptd_out *out, size_t n, struct heft_error *err);
/* HEFT_UNSUPPORTED if the format cannot hold a tensor of that shape. */
HEFT_CHECKED bool heft_ptd_check_dims(const struct heft_export_item *item, struct heft_error *err);
/* ptd_into.c: takes the slots, `first` and the alignment from the .ptd of option into, with the
 * tensors of the export list as new bytes. Renames each item to its key. */
HEFT_CHECKED bool heft_ptd_into(struct heft_ptd_out *out, struct heft_error *err);

#endif
