/* torch_keep.h: writes a torch file with the tree of its source: nesting and all non-tensor values.
 * Private to the torch_keep*.c files and the walk.
 *
 * The source is opened a second time, with a request for the graph of its pickle:
 *
 *     bytes ─► pickle machine ─► graph
 *                                  │   torch_tree.c walks it, as for reading
 *                                  ▼
 *     torch_keep_choose.c   decides for each tensor, value and container: is it kept, under which key
 *     torch_keep_views.c    finds what the root reaches: the storages of the new file
 *     torch_keep_write.c    writes the graph as a pickle; non-tensors are copied opcode by opcode
 *     torch_keep.c          the taker; sorts the plan's storages into the order of the pickle
 *
 * Nothing is executed: an object of an unknown class is a CALL node and is written as that call. */
#ifndef HEFT_TORCH_KEEP_H
#define HEFT_TORCH_KEEP_H

#include "core/select.h"
#include "format/torch/write/torch_pickler.h"
#include "format/torch/pickle/torch_walk.h"

/* The fate of a dictionary's pairs, if not all are kept unchanged. */
enum {
    HEFT_KEEP_PAIR,
    HEFT_LEAVE_PAIR,
    HEFT_RENAME_PAIR
}; /* from RENAME on: plus the index in keys */
struct heft_keep_change {
    uint32_t *what; /* one per pair */
    uint32_t n, taken;
};

/* A tensor of the graph with a storage in the new file. */
enum heft_keep_how {
    HEFT_KEEP_COPIED, /* its call is kept, with another storage and offset */
    HEFT_KEEP_MADE,   /* a new call: the tensor is cast, or was not a call */
    HEFT_KEEP_BARE    /* a bare storage */
};
struct heft_keep_view {
    uint32_t args; /* COPIED: the tuple (storage, offset, …); else NIL */
    uint32_t id;   /* node of its storage, PERSID or CALL; NIL if it has none */
    uint32_t item; /* position in out->items */
    uint8_t how;   /* enum heft_keep_how */
    bool requires_grad;
};

struct heft_keep_frame {
    struct heft_str to; /* its renamed path, with a trailing dot; empty for the root */
    bool is_below;      /* it is the root or below it */
};

struct heft_keep {
    struct heft_tree_taker taker; /* called by the walk; must be the first member */
    struct heft_torch_out *out;
    enum heft_torch_style style;
    struct heft_selector *selector;
    const char *root; /* "" for the whole tree */
    bool renames;
    struct heft_arena scratch;
    uint32_t *item_of_row; /* HEFT_NONE if the row is not selected */
    /* torch_keep_choose.c: for each entry of the walk … */
    uint8_t *fates;
    uint32_t *renamed; /* index in keys + 1; 0 if it keeps its key */
    size_t cap_fates, cap_renamed;
    struct heft_keep_frame *frames; /* … for each frame … */
    size_t cap_frames;
    struct heft_u32map changed; /* … for each dictionary node: index in changes, or UNCHANGED */
    struct heft_keep_change *changes;
    size_t n_changes, cap_changes;
    struct heft_str *keys; /* new keys */
    size_t n_keys, cap_keys;
    uint32_t top; /* node that becomes the root of the new file */
    bool has_top;
    struct heft_buf whole; /* names of containers kept whole although a part was excluded */
    size_t n_whole;
    /* used by torch_keep_views.c */
    struct heft_keep_view *views;
    size_t n_views, cap_views;
    struct heft_u32map view_of; /* tuple, call or id → position in views */
    struct heft_u32map item_of; /* innermost call of a tensor → item of the export list */
    struct heft_buf uncast;     /* names of arrays that a cast rule matches but cannot change */
    size_t n_uncast;
    size_t n_nested; /* nested tensors written to a stream, from which torch does not load them */
    bool was_asked;  /* the reader has handed over its graph */
};
#define HEFT_KEEP_UNCHANGED (HEFT_NONE - 1)

/* ---- torch_keep.c ---- */

/* Opens the only file of the model again, for the taker. `held`: bytes that the caller holds. *was_asked: set by
 * its take(). HEFT_IO if the rows differ. */
HEFT_CHECKED bool heft_torch_read_again(const struct heft_model *model,
                                        struct heft_tree_taker *taker, uint64_t held,
                                        const bool *was_asked, struct heft_error *err);

/* ---- torch_keep_choose.c: callbacks of the walk (struct heft_tree_taker) ---- */

/* Called when a frame was pushed. */
HEFT_CHECKED bool heft_keep_open(struct heft_torch_walk *w);
/* Called for the row just added, or with HEFT_NONE for an unreadable tensor. */
HEFT_CHECKED bool heft_keep_tensor(struct heft_torch_walk *w, uint32_t row);
/* Called for a value at the current path. */
HEFT_CHECKED bool heft_keep_value(struct heft_torch_walk *w);
/* Called for the newest frame before it is popped. */
HEFT_CHECKED bool heft_keep_close(struct heft_torch_walk *w);

/* ---- torch_keep_views.c ---- */

/* Fills out->items, views and view_of. */
HEFT_CHECKED bool heft_keep_find_views(struct heft_keep *k, struct heft_torch *t,
                                       struct heft_error *err);
/* The change of a container node, or NULL. */
const struct heft_keep_change *heft_keep_change_of(const struct heft_keep *k, uint32_t node);

/* ---- torch_keep_write.c ---- */

/* Writes the graph to out->pickle; sets out->turn[piece] to the piece's position in the pickle. */
HEFT_CHECKED bool heft_keep_write(struct heft_keep *k, struct heft_torch *t,
                                  struct heft_error *err);

#endif
