/* tf_restore_walk.h: walks a graph and its functions. Shared by tf_restore_walk.c, which goes from
 * node to node, and tf_restore_refs.c, which resolves inputs. */
#ifndef HEFT_TF_RESTORE_WALK_H
#define HEFT_TF_RESTORE_WALK_H

#include "format/tensorflow/restore/tf_restore.h"

/* The role of an op in restoring. */
enum heft_tf_role {
    HEFT_TF_ROLE_NONE,
    HEFT_TF_ROLE_READ,     /* RestoreV2(prefix, names, slices) */
    HEFT_TF_ROLE_READ_V1,  /* Restore(pattern, name) */
    HEFT_TF_ROLE_SLICE_V1, /* RestoreSlice(pattern, name, slice) */
    HEFT_TF_ROLE_ASSIGN,
    HEFT_TF_ROLE_IMPORT, /* LookupTableImportV2(table, keys, values) */
    HEFT_TF_ROLE_CALL    /* calls the function in its attribute f, or the one named like its op */
};

/* One call of a function; the first frame is the graph itself. */
struct heft_tf_frame {
    const struct heft_tf_node *call; /* NULL for the graph itself */
    uint32_t caller;                 /* frame that contains the call */
    uint32_t function;               /* HEFT_NONE for the graph itself */
    uint32_t runner, next;           /* while it runs: frame to continue with, and its next node */
    unsigned depth;
    bool has_run;
};

/* A called function, read on first use. */
struct heft_tf_body {
    struct heft_tf_function_def def;
    struct heft_strmap nodes, args, returns; /* name → number of the node, argument or result */
};

struct heft_tf_walk {
    struct heft_tf_restore *r;
    struct heft_error *err;
    const struct heft_tf_node *
        *nodes;                   /* by node number: nodes of the graph, then those of functions */
    struct heft_tf_body **bodies; /* by function number */
    uint8_t *roles; /* by position of the op's name in graph->words: enum heft_tf_role */
    struct heft_tf_frame *frames;
    size_t n_frames, cap_frames;
    struct heft_strmap frame_map, read_map; /* keyed by frame and node */
    struct heft_u32map strings_map;         /* Const node → position in strings */
    struct heft_tf_strings *strings;
    size_t n_strings, cap_strings;
    uint64_t looked_at; /* steps so far */
    uint32_t most;      /* limit for names and for targets */
};

/* Origin of a value: a node of a frame, and one of its outputs. */
struct heft_tf_origin {
    const struct heft_tf_node *node; /* NULL if not found */
    uint32_t frame, number;
    uint64_t port;
    bool is_cast, is_reshaped;
};

HEFT_CHECKED bool heft_tf_walk_init(struct heft_tf_walk *w, struct heft_tf_restore *r);
void heft_tf_walk_release(struct heft_tf_walk *w);
/* The node of that number, read once; NULL on failure. */
HEFT_CHECKED const struct heft_tf_node *heft_tf_walk_node(struct heft_tf_walk *w, uint32_t number);
/* Judged by the node's index entry; reads nothing. */
enum heft_tf_role heft_tf_walk_role(const struct heft_tf_walk *w, uint32_t number);
/* The function called by a node of role CALL. */
uint32_t heft_tf_walk_callee(const struct heft_tf_walk *w, const struct heft_tf_node *node);
/* The frame of a call, created on first use. HEFT_MALFORMED; HEFT_LIMIT if calls are too deep or
 * too many. */
HEFT_CHECKED bool heft_tf_walk_enter(struct heft_tf_walk *w, uint32_t frame, uint32_t number,
                                     uint32_t *callee);
/* Follows an input to its origin: through ops that pass values on, into calls and out of them. */
HEFT_CHECKED bool heft_tf_walk_follow(struct heft_tf_walk *w, uint32_t frame, struct heft_str input,
                                      struct heft_tf_origin *out);
/* Reads the elements of a string Const; *is_there is false if the origin is not one. */
HEFT_CHECKED bool heft_tf_walk_strings(struct heft_tf_walk *w, const struct heft_tf_origin *origin,
                                       struct heft_tf_strings *out, bool *is_there);
/* Counts a step. HEFT_LIMIT beyond what any model takes. */
HEFT_CHECKED bool heft_tf_walk_tire(struct heft_tf_walk *w);
/* Builds a key of frame_map and read_map, in the arena. */
HEFT_CHECKED bool heft_tf_walk_key(struct heft_tf_walk *w, uint32_t frame, uint32_t number,
                                   struct heft_str *out);

#endif
