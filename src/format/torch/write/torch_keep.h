/* torch_keep.h: writing a torch file with the tree of its source: nesting, and all that is no
 * tensor. Shared by the torch_keep*.c files and the walk only.
 *
 * The source is opened once more, for the graph of its pickle, with a taker in the model:
 *
 *     bytes ─► pickle machine ─► graph
 *                                  │   torch_tree.c walks it, as for reading
 *                                  ▼
 *     torch_keep_choose.c   at each tensor, value and container: is it taken, what is its key?
 *     torch_keep_views.c    what is reached from the root: the storages that the file gets
 *     torch_keep_write.c    the graph as a pickle: what is not a tensor as it was, opcode by opcode
 *     torch_keep.c          the taker; the plan's storages in the order of the pickle
 *
 * Nothing is executed: an object of an unknown class is a CALL, and written as the call it was. */
#ifndef HEFT_TORCH_KEEP_H
#define HEFT_TORCH_KEEP_H

#include "core/select.h"
#include "format/torch/write/torch_pickler.h"
#include "format/torch/pickle/torch_walk.h"

/* What becomes of a dictionary's pairs, where not all stay as they are. */
enum { HEFT_KEEP_PAIR, HEFT_LEAVE_PAIR, HEFT_RENAME_PAIR }; /* from RENAME on: plus keys' index */
struct heft_keep_change {
    uint32_t *what; /* a pair */
    uint32_t n, taken;
};

/* A tensor of the graph that looks into a storage of the new file. */
enum heft_keep_how {
    HEFT_KEEP_COPIED, /* its call as it was, with another storage and offset */
    HEFT_KEEP_MADE,   /* a call of our own: it is cast, or was no call */
    HEFT_KEEP_BARE    /* a storage by itself */
};
struct heft_keep_view {
    uint32_t args; /* COPIED: the tuple (storage, offset, …); else NIL */
    uint32_t id;   /* node of its storage: PERSID or CALL; NIL: none */
    uint32_t item; /* out->items */
    uint8_t how;   /* enum heft_keep_how */
    bool requires_grad;
};

struct heft_keep_frame {
    struct heft_str to; /* its path as renamed, with a dot behind it; of the root empty */
    bool is_below;      /* the root, or below it */
};

struct heft_keep {
    struct heft_tree_taker taker; /* what the walk calls */
    struct heft_torch_out *out;
    enum heft_torch_style style;
    struct heft_selector *selector;
    const char *root; /* "": the whole */
    bool renames;
    struct heft_arena scratch;
    uint32_t *item_of_row; /* HEFT_NONE: it is not taken */
    /* torch_keep_choose.c: of an entry of the walk … */
    uint8_t *fates;
    uint32_t *renamed; /* index of keys + 1; 0: it keeps its key */
    size_t cap_fates, cap_renamed;
    struct heft_keep_frame *frames; /* … of a frame … */
    size_t cap_frames;
    struct heft_u32map changed; /* … of a dictionary's node: index of changes, or UNCHANGED */
    struct heft_keep_change *changes;
    size_t n_changes, cap_changes;
    struct heft_str *keys; /* new ones */
    size_t n_keys, cap_keys;
    uint32_t top; /* node that becomes the root */
    bool has_top;
    struct heft_buf whole; /* names of what is taken whole, though a part was to be left out */
    size_t n_whole;
    /* torch_keep_views.c */
    struct heft_keep_view *views;
    size_t n_views, cap_views;
    struct heft_u32map view_of; /* tuple, call or id → views */
    struct heft_u32map item_of; /* innermost call of a tensor → item of the exports */
    struct heft_buf uncast;     /* names of arrays that a cast would have touched */
    size_t n_uncast;
    size_t n_nested; /* tensors that torch does not load from a stream, which is written */
    bool was_asked;  /* the reader handed over its graph */
};
#define HEFT_KEEP_UNCHANGED (HEFT_NONE - 1)

/* ---- torch_keep_choose.c: what the walk calls (struct heft_tree_taker) ---- */

/* A frame that was just pushed. */
HEFT_CHECKED bool heft_keep_open(struct heft_torch_walk *w);
/* The row that was just added, or (HEFT_NONE) a tensor that cannot be read. */
HEFT_CHECKED bool heft_keep_tensor(struct heft_torch_walk *w, uint32_t row);
/* A value at the path. */
HEFT_CHECKED bool heft_keep_value(struct heft_torch_walk *w);
/* The newest frame, before it is popped. */
HEFT_CHECKED bool heft_keep_close(struct heft_torch_walk *w);

/* ---- torch_keep_views.c ---- */

/* Fills out->items, views, view_of. */
HEFT_CHECKED bool heft_keep_find_views(struct heft_keep *k, struct heft_torch *t,
                                       struct heft_error *err);
/* The change of a container's node, or NULL. */
const struct heft_keep_change *heft_keep_change_of(const struct heft_keep *k, uint32_t node);

/* ---- torch_keep_write.c ---- */

/* Writes the graph into out->pickle; out->turn[piece] becomes its place in the pickle's order. */
HEFT_CHECKED bool heft_keep_write(struct heft_keep *k, struct heft_torch *t,
                                  struct heft_error *err);

#endif
