/* torch_walk.h: the walk of a pickle's graph, shared by the files that carry it out.
 *
 *     torch_tree.c    the walk: frames, values, what a node becomes
 *     torch_gather.c  the entries of a container: its items, arguments, attributes
 *     torch_keys.c    repeated keys
 *     torch_names.c   rows, and that no two of them have one name
 */
#ifndef HEFT_TORCH_WALK_H
#define HEFT_TORCH_WALK_H

#include "format/torch_parts.h"

/* Keys of entries that are no node. */
#define HEFT_TORCH_KEY_INDEX HEFT_PICKLE_NIL
#define HEFT_TORCH_KEY_ARGS  (HEFT_PICKLE_NIL - 1)
#define HEFT_TORCH_KEY_STATE (HEFT_PICKLE_NIL - 2)

enum { HEFT_TORCH_MARK_OPEN = 1, HEFT_TORCH_MARK_SEEN = 2, HEFT_TORCH_MARK_GATHERED = 4 };

struct heft_torch_entry {
    uint32_t key, value;
};

struct heft_torch_frame {
    uint32_t node;
    uint32_t index;          /* of the next entry without a key */
    size_t first, next, end; /* of its entries */
    size_t path;             /* bytes of the path that name it */
    unsigned segments;       /* of that path */
    struct heft_value *value;
    struct heft_value *last; /* of its children */
    bool has_tensor, has_other;
};

struct heft_torch_walk {
    struct heft_torch *t;
    struct heft_torch_frame *frames;
    size_t n_frames, cap_frames;
    struct heft_torch_entry *entries;
    size_t n_entries, cap_entries;
    struct heft_buf path;
    uint8_t *marks;      /* a node */
    uint64_t name_bytes; /* that names and keys may still take */
    uint32_t *cuts;      /* for rows of several segments: where each but the last ends … */
    size_t n_cuts, cap_cuts;
    size_t *row_cuts; /* … a row: its first one */
    size_t n_row_cuts, cap_row_cuts;
    bool is_deep, has_dot, is_ambiguous; /* two paths may give one name */
    struct heft_error *err;
};

/* ---- torch_tree.c ---- */

/* Pays for so many values from limits.expansion. `node` is for the error. */
HEFT_CHECKED bool heft_torch_spend(struct heft_torch_walk *w, uint32_t node, uint64_t values);
/* Pays for the bytes of a name or key. */
HEFT_CHECKED bool heft_torch_spend_name(struct heft_torch_walk *w, uint64_t bytes);

/* ---- torch_gather.c ---- */

/* Appends the entries of a container, and fills kind and type_name of its value. */
HEFT_CHECKED bool heft_torch_gather(struct heft_torch_walk *w, uint32_t node,
                                    struct heft_value *value);

/* ---- torch_keys.c ---- */

/* Of the entries from `first` on: the later value of a key wins, in the place of the first, as in
 * Python. */
HEFT_CHECKED bool heft_torch_settle_keys(struct heft_torch_walk *w, size_t first);

/* ---- torch_names.c ---- */

/* A row named by the path; *name is its name in the model. */
HEFT_CHECKED bool heft_torch_add_row(struct heft_torch_walk *w, struct heft_torch_made *made,
                                     struct heft_str *name);
/* That the rows from `begin` on have different names. */
HEFT_CHECKED bool heft_torch_check_names(struct heft_torch_walk *w, size_t begin);

#endif
