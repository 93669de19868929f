/* torch_walk.h: the walk of a pickle's graph, shared by the files that implement it.
 *
 *    torch_tree.c      the walk: frames, values, the result of each node
 *    torch_gather.c    entries of a container: items, arguments, attributes
 *    torch_entries.c   adding entries, and their cost
 *    torch_module.c    entries of a module, named as in its state dict
 *    torch_compound.c  entries of a tensor: parts, scales, attributes
 *    torch_keys.c      repeated keys
 *    torch_names.c     rows with unique names */
#ifndef HEFT_TORCH_WALK_H
#define HEFT_TORCH_WALK_H

#include "format/torch/pickle/torch_parts.h"

/* Keys of entries that are not a node. */
#define HEFT_TORCH_KEY_INDEX HEFT_PICKLE_NIL
#define HEFT_TORCH_KEY_ARGS  (HEFT_PICKLE_NIL - 1)
#define HEFT_TORCH_KEY_STATE (HEFT_PICKLE_NIL - 2)
#define HEFT_TORCH_KEY_ROOT                                                                        \
    (HEFT_PICKLE_NIL - 3) /* name of a single tensor: the model's prefix, or "tensor" */
#define HEFT_TORCH_KEY_WORD                                                                        \
    (HEFT_PICKLE_NIL - 64) /* base of the keys below: plus an enum heft_torch_word */

enum heft_torch_word {
    HEFT_TORCH_AXIS,
    HEFT_TORCH_CCOL_INDICES,
    HEFT_TORCH_COL_INDICES,
    HEFT_TORCH_CROW_INDICES,
    HEFT_TORCH_DECLARED,
    HEFT_TORCH_INDICES,
    HEFT_TORCH_IS_COALESCED,
    HEFT_TORCH_LAYOUT_NAME,
    HEFT_TORCH_OFFSETS,
    HEFT_TORCH_ORIG_MOD,
    HEFT_TORCH_QSCHEME,
    HEFT_TORCH_ROW_INDICES,
    HEFT_TORCH_SCALE,
    HEFT_TORCH_SCALES,
    HEFT_TORCH_SHAPE,
    HEFT_TORCH_SIZES,
    HEFT_TORCH_STRIDES,
    HEFT_TORCH_VALUES,
    HEFT_TORCH_ZERO_POINT,
    HEFT_TORCH_ZERO_POINTS,
    HEFT_TORCH_CONV, /* the first of 15 for a quantized convolution */
    HEFT_TORCH_WORDS = HEFT_TORCH_CONV + 15
};
_Static_assert(HEFT_TORCH_WORDS < 60, "words and the other keys share 64 numbers");

enum { HEFT_TORCH_MARK_OPEN = 1, HEFT_TORCH_MARK_SEEN = 2, HEFT_TORCH_MARK_GATHERED = 4 };

#define HEFT_TORCH_MOST_NOTES 16 /* most notes of a kind; further ones are counted */

struct heft_torch_entry {
    uint32_t key, value;
    bool outside; /* outside the state dict: an attribute of a module */
    bool quoted;  /* a text that is spelled like another key of the same dict: {0: …, "0": …} */
};

static inline bool heft_torch_is_node(uint32_t key)
{
    return key < HEFT_TORCH_KEY_WORD;
}
/* A tensor outside the state dict: its position among the values, until it is known whether it is
 * also a row. */
struct heft_torch_outsider {
    struct heft_value *value;
    uint32_t node;
};

struct heft_torch_frame {
    uint32_t node;
    uint32_t index;          /* index of the next entry without a key */
    size_t first, next, end; /* range of its entries */
    size_t path;             /* bytes of its path */
    unsigned segments;       /* segments of its path */
    bool outside;            /* everything below it is outside the state dict */
    bool is_tensor;          /* its entries are parts and attributes of a tensor */
    size_t rows, unreadable; /* counts of the model when it was opened */
    struct heft_value *value;
    struct heft_value *last; /* last of its children */
    bool has_tensor, has_other;
};

struct heft_torch_walk {
    struct heft_torch *t;
    struct heft_torch_frame *frames;
    size_t n_frames, cap_frames;
    struct heft_torch_entry *entries;
    size_t n_entries, cap_entries;
    struct heft_buf path;
    uint8_t *marks;      /* per node */
    uint64_t name_bytes; /* budget left for bytes of names and keys */
    uint32_t *cuts;      /* for rows of several segments: end of each segment but the last … */
    size_t n_cuts, cap_cuts;
    size_t *row_cuts; /* … per row: position of its first cut */
    size_t n_row_cuts, cap_row_cuts;
    uint32_t *row_nodes; /* per row: the node it was made from */
    uint32_t *cut_keys;  /* key of each segment but the last; per row, key of the last one */
    uint32_t *row_keys;
    size_t cap_row_nodes, cap_cut_keys, cap_row_keys;
    struct heft_torch_outsider *outsiders;
    size_t n_outsiders, cap_outsiders;
    struct heft_value **spare; /* values to be used again, if the tree is taken: nobody sees them */
    size_t n_spare, cap_spare;
    uint64_t n_recast, n_doubts;
    unsigned unweighed;                  /* rows and values added since the memory was checked */
    bool is_deep, has_dot, is_ambiguous; /* two paths may result in one name */
    struct heft_error *err;
};

/* Callbacks of the walk for a caller that asked for the tree (struct heft_torch_request): the
 * writer that keeps the tree, whose own struct begins with it. */
struct heft_tree_taker {
    /* A frame was pushed. */
    bool (*open)(struct heft_torch_walk *w);
    /* A row was added, or (HEFT_NONE) an unreadable tensor was met. */
    bool (*tensor)(struct heft_torch_walk *w, uint32_t row);
    /* A value was met at the current path. */
    bool (*value)(struct heft_torch_walk *w);
    /* The newest frame is about to be popped. */
    bool (*close)(struct heft_torch_walk *w);
    /* Bytes that the taker holds, or will need to take the graph walked so far. */
    uint64_t (*bytes)(const struct heft_torch_walk *w);
    /* Called with the graph after the walk. */
    bool (*take)(struct heft_torch *t, struct heft_error *err);
};

/* ---- torch_entries.c ---- */

/* Charges values against limits.expansion. `node` is used in the error. */
HEFT_CHECKED bool heft_torch_spend(struct heft_torch_walk *w, uint32_t node, uint64_t values);
/* HEFT_LIMIT if the memory of the model, the reader and the taker exceeds the limit. */
HEFT_CHECKED bool heft_torch_fits(struct heft_torch_walk *w);
/* Counts a row or value that is about to be added; HEFT_LIMIT if the memory is used up. */
HEFT_CHECKED bool heft_torch_weigh(struct heft_torch_walk *w);
/* Charges the bytes of a name or key. */
HEFT_CHECKED bool heft_torch_spend_name(struct heft_torch_walk *w, uint64_t bytes);
HEFT_CHECKED bool heft_torch_add_entry(struct heft_torch_walk *w, uint32_t key, uint32_t value);
/* Adds all items, in pairs or one by one. */
HEFT_CHECKED bool heft_torch_add_items(struct heft_torch_walk *w, uint32_t node, bool pairs);
/* Adds attributes: BUILD's dict, a pair of dicts (attributes and slots), or anything else. */
HEFT_CHECKED bool heft_torch_add_state(struct heft_torch_walk *w, uint32_t state);
/* Adds the argument of a mapping: nothing, a dict, or pairs. */
HEFT_CHECKED bool heft_torch_add_mapping_argument(struct heft_torch_walk *w, uint32_t node);
/* Adds the items of a dict or OrderedDict. */
HEFT_CHECKED bool heft_torch_add_mapping(struct heft_torch_walk *w, uint32_t node);

/* ---- torch_gather.c ---- */

/* Adds the entries of a container, and fills kind and type_name of its value. */
HEFT_CHECKED bool heft_torch_gather(struct heft_torch_walk *w, uint32_t node,
                                    struct heft_value *value);

/* ---- torch_module.c ---- */

/* If the entries of an object, from `first` on, are those of a module, replaces them by its
 * parameters, buffers and submodules, and its other attributes. */
HEFT_CHECKED bool heft_torch_open_module(struct heft_torch_walk *w, size_t first);
/* Adds a tensor outside state dicts: a value, and a row only if another path leads to it. */
HEFT_CHECKED bool heft_torch_add_outsider(struct heft_torch_walk *w, uint32_t node,
                                          const struct heft_row *row, struct heft_value *value);
/* After the walk: outsiders that are rows refer to them, the others are noted. */
HEFT_CHECKED bool heft_torch_settle_outsiders(struct heft_torch_walk *w, size_t begin);

/* ---- torch_arguments.c ---- */

/* A layout of sparse tensors. */
struct heft_torch_layout {
    const char *name;
    uint8_t words[4];    /* enum heft_torch_word of its parts: rows, except the last one or two */
    uint8_t least, rows; /* minimum number of parts, and how many of them are rows */
    bool by_column, blocked;
};
/* The layout of _get_layout("torch.sparse_coo"); NULL for other nodes and layouts. */
const struct heft_torch_layout *heft_torch_layout_of(const struct heft_torch *t, uint32_t node);

/* ---- torch_compound.c ---- */

/* Adds the entries of a tensor that is more than a row. */
HEFT_CHECKED bool heft_torch_gather_tensor(struct heft_torch_walk *w, uint32_t node,
                                           struct heft_value *value);
/* Checks that the parts of a visited tensor match each other. */
HEFT_CHECKED bool heft_torch_check_parts(struct heft_torch_walk *w,
                                         const struct heft_torch_frame *f);

/* ---- torch_keys.c ---- */

/* Merges repeated keys in the entries from `first` on: the later value replaces the earlier one in
 * its place, as in Python. */
HEFT_CHECKED bool heft_torch_settle_keys(struct heft_torch_walk *w, size_t first);

/* ---- torch_names.c ---- */

/* Adds a row named by the path; *name is its name in the model. */
HEFT_CHECKED bool heft_torch_add_row(struct heft_torch_walk *w, uint32_t node,
                                     struct heft_torch_made *made, struct heft_str *name);
/* Checks that the rows from `begin` on have different names. */
HEFT_CHECKED bool heft_torch_check_names(struct heft_torch_walk *w, size_t begin);

#endif
