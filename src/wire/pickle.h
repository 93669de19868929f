/* pickle.h: parses Python's pickles: bytes in, a graph of nodes out. The machine knows nothing of
 * torch and cannot run code: GLOBAL, REDUCE, NEWOBJ, BUILD and persistent ids only create nodes
 * (doc/format/pickle.md).
 *
 * Nodes are numbered, and refer to other nodes by number. Values shared in the pickle are shared
 * here, and the graph may have cycles: a walk needs marks of visited nodes and a budget. Parsing is
 * iterative, linear in time and memory. Strings are borrowed from the pickle if they are stored
 * there verbatim, else decoded into the arena: data and arena must outlive the graph. */
#ifndef HEFT_PICKLE_H
#define HEFT_PICKLE_H

#include "io/source.h"

enum heft_pickle_kind {
    HEFT_PICKLE_NONE,
    HEFT_PICKLE_BOOL,      /* integer: 0 or 1 */
    HEFT_PICKLE_INT,       /* integer */
    HEFT_PICKLE_BIGINT,    /* text: two's complement, little-endian, more than 64 bits */
    HEFT_PICKLE_FLOAT,     /* number */
    HEFT_PICKLE_STR,       /* text: UTF-8, perhaps with encoded surrogates (ED A0..) */
    HEFT_PICKLE_PY2STR,    /* text: raw bytes of a Python 2 string */
    HEFT_PICKLE_BYTES,     /* text */
    HEFT_PICKLE_BYTEARRAY, /* text */
    HEFT_PICKLE_TUPLE,     /* items */
    HEFT_PICKLE_LIST,      /* items */
    HEFT_PICKLE_DICT, /* items: key, value, key, value … in the order of insertion; repeated keys
                         are kept */
    HEFT_PICKLE_SET,  /* items */
    HEFT_PICKLE_FROZENSET, /* items */
    HEFT_PICKLE_GLOBAL,    /* module, text (name) */
    HEFT_PICKLE_CALL,      /* callee, args, [kwargs], then items (SETITEMS as pairs, or APPENDS)
                              and state */
    HEFT_PICKLE_PERSID     /* args: the id (a node) */
};

/* Opcode of a CALL. */
enum heft_pickle_how {
    HEFT_PICKLE_REDUCE,
    HEFT_PICKLE_NEWOBJ,
    HEFT_PICKLE_NEWOBJ_EX,
    HEFT_PICKLE_INST,
    HEFT_PICKLE_OBJ
};

/* Why the name of a GLOBAL is unknown. */
enum heft_pickle_nameless {
    HEFT_PICKLE_COMPUTED, /* the result of a call, or set by the loading program: also a code of
                             copyreg's registry */
    HEFT_PICKLE_LONG      /* longer than 1024 bytes */
};

#define HEFT_PICKLE_NIL     UINT32_MAX /* not a node */
#define HEFT_PICKLE_HEAD    2 /* u32 before the first segment: number of items, last segment */
#define HEFT_PICKLE_SEGMENT 2 /* u32 before the items of a segment: next, count */

struct heft_pickle_node {
    uint8_t kind, how;
    bool pairs;  /* CALL: items came by SETITEM(S); GLOBAL, lenient: an empty list of items was
                    added, which calls its extend */
    uint32_t at; /* position of the opcode that created it */
    union {
        int64_t integer;
        double number;
        struct {
            const uint8_t *p;
        } text;
        struct {
            uint32_t callee, args; /* CALL; PERSID: args */
        } call;
    } u;
    uint32_t len;   /* text: bytes */
    uint32_t state; /* argument of BUILD, else NIL; also on LIST, DICT and SET. A second BUILD of
                       the same value is HEFT_UNSUPPORTED unless lenient */
    uint32_t first; /* first segment of items, for heft_pickle_items; NIL if empty */
    /* GLOBAL: node of the module's STR; CALL by NEWOBJ_EX: node of kwargs; else NIL */
    uint32_t module;
};
_Static_assert(sizeof(struct heft_pickle_node) <= 32, "a pickle may have 20 million nodes");

/* Zero means the default, as does a null pointer to this struct. */
struct heft_pickle_limits {
    uint64_t opcodes; /* 50 million */
    uint64_t nodes;   /* 20 million */
    uint64_t marks;   /* 1 million */
    uint64_t bytes;   /* memory of the pickle and its values: 2^64 - 1 */
    uint64_t text;    /* one string or number: 64 MiB; integers 1 MiB */
    bool bare;        /* the argument of REDUCE may be a value that is not a tuple, as in
                         TorchScript */
    /* For analysing what a pickle would do: continues wherever the C or the Python unpickler of any
     * CPython 3 may continue, also if the result is unknown (pickle_lenient.c). A GLOBAL whose name
     * is unknown has module NIL and no text, and `how` is an enum heft_pickle_nameless; arguments
     * and keywords may be of any kind; any object takes items and states, and several states are
     * combined in a LIST; opcodes may cross frames. */
    bool lenient;
    bool at_end; /* lenient: the data ends with the file. Python's readline then returns what is
                    left, and pickle.Unpickler takes the last byte for the end of the line */
};

struct heft_pickle {
    const struct heft_pickle_node *nodes;
    uint32_t count;
    uint32_t root;       /* value at STOP */
    uint64_t opcodes;    /* number of opcodes executed */
    uint32_t memo_count; /* entries in the memo at STOP */
    size_t length;       /* bytes up to STOP, including it; the rest is not read */
    size_t next;  /* the same; lenient: up to the end of the frame that contains STOP, where the
                     next pickle.load of the file begins */
    int protocol; /* highest PROTO; 0 if there is none */
    uint32_t left_over; /* values on the stack below STOP's, usually none */
    uint32_t bent;      /* lenient: position of the first opcode that crosses a frame, else NIL */
    struct heft_bytes data;
    const uint32_t *items;         /* pool of the segments */
    struct heft_pickle_node *made; /* nodes, writable for heft_pickle_become */
};

/* Runs the pickle that begins at data[0]. `base` is the file offset of data[0], for errors
 * (HEFT_NO_OFFSET: positions are given in the text). On failure `out` has the nodes created so far,
 * for scanning. */
HEFT_CHECKED bool heft_pickle_run(struct heft_pickle *out, struct heft_bytes data, uint64_t base,
                                  const struct heft_pickle_limits *limits, struct heft_arena *arena,
                                  struct heft_error *err);

/* Location of a pickle of unknown length in a source. */
struct heft_pickle_place {
    uint64_t off, end; /* begins at off, and ends at `end` at the latest */
    uint64_t base;     /* file offset of the source's first byte; HEFT_NO_OFFSET as above */
    uint64_t first;    /* bytes to read first; not 0 */
    uint64_t cap;      /* longest pickle: more bytes are HEFT_LIMIT */
};
/* Window on a source, for pickles of unknown length. */
struct heft_pickle_window {
    const struct heft_source *src;
    struct heft_bytes whole; /* all of src if it is in memory; else empty */
    struct heft_arena *mem;  /* memory of the window; may be the arena of the nodes */
    uint64_t least;          /* bytes of an enlarged window at least; 0: any */
    bool (*pay)(void *ctx, uint64_t bytes); /* called before the window is enlarged; NULL: no
                                               budget */
    void *ctx;
    struct heft_bytes bytes; /* the window: bytes of src, which begin … */
    uint64_t from;           /* … at this position */
};
enum heft_pickle_end {
    HEFT_PICKLE_STOPPED,  /* complete: ends with STOP */
    HEFT_PICKLE_BROKEN,   /* incomplete or invalid: *why has place and reason */
    HEFT_PICKLE_TOO_LONG, /* longer than place->cap: *why has the position reached */
    HEFT_PICKLE_UNPAID,   /* `pay` refused */
    HEFT_PICKLE_UNREAD    /* reading failed, or out of memory: *why */
};
/* Runs the pickle that begins at place->off in the window, which is enlarged as needed. `out` has
 * the nodes, also of a pickle that is broken or too long; out->data is in the window. Sets
 * limits->at_end. */
enum heft_pickle_end heft_pickle_find(struct heft_pickle *out, struct heft_pickle_window *w,
                                      const struct heft_pickle_place *place,
                                      const struct heft_pickle_limits *limits,
                                      struct heft_arena *arena, struct heft_error *why);
/* Runs the pickle that begins at place->off, reading at most four times its length. out->data is
 * the pickle, in the arena, which must be empty before. */
HEFT_CHECKED bool heft_pickle_read(struct heft_pickle *out, const struct heft_source *src,
                                   const struct heft_pickle_place *place,
                                   const struct heft_pickle_limits *limits,
                                   struct heft_arena *arena, struct heft_error *err);
/* True if a pickle that failed at data[at] may have failed because data ends there. */
bool heft_pickle_wants_more(struct heft_bytes data, uint64_t at);
/* Replaces a PERSID by the GLOBAL that it stands for, so that callees are of one kind. */
void heft_pickle_become(struct heft_pickle *pickle, uint32_t persid, uint32_t global);
/* Runs a pickle that may be cut off or damaged: *why has place and reason (code HEFT_OK if it is
 * complete), and the root is what was built up to there: open containers have the items that were
 * complete. Fails if there are none. */
HEFT_CHECKED bool heft_pickle_salvage(struct heft_pickle *out, struct heft_bytes data,
                                      uint64_t base, const struct heft_pickle_limits *limits,
                                      struct heft_arena *arena, struct heft_error *why,
                                      struct heft_error *err);

/* Iterates over the items of a container or a CALL, linear; HEFT_PICKLE_NIL has no items. */
struct heft_pickle_iter {
    const struct heft_pickle *pickle;
    uint32_t segment, index;
};
static inline struct heft_pickle_iter heft_pickle_items(const struct heft_pickle *pickle,
                                                        uint32_t node)
{
    const uint32_t first = node == HEFT_PICKLE_NIL ? HEFT_PICKLE_NIL : pickle->nodes[node].first;

    return (struct heft_pickle_iter){pickle, first, 0};
}
/* Node number of the next item; false at the end. */
static inline bool heft_pickle_next(struct heft_pickle_iter *iter, uint32_t *node)
{
    while (iter->segment != HEFT_PICKLE_NIL) {
        const uint32_t *segment = iter->pickle->items + iter->segment;

        if (iter->index < segment[1]) {
            *node = segment[HEFT_PICKLE_SEGMENT + iter->index++];
            return true;
        }
        iter->segment = segment[0];
        iter->index = 0;
    }
    return false;
}
/* Number of items of a container or a CALL. */
static inline uint32_t heft_pickle_count(const struct heft_pickle *pickle, uint32_t node)
{
    const uint32_t first = pickle->nodes[node].first;

    return first == HEFT_PICKLE_NIL ? 0 : pickle->items[first - HEFT_PICKLE_HEAD];
}
/* The i-th item (constant time for tuples, which are one segment); NIL if there is none. */
static inline uint32_t heft_pickle_item(const struct heft_pickle *pickle, uint32_t node,
                                        uint32_t index)
{
    uint32_t at = pickle->nodes[node].first;

    if (index >= heft_pickle_count(pickle, node))
        return HEFT_PICKLE_NIL;
    while (index >= pickle->items[at + 1]) {
        index -= pickle->items[at + 1];
        at = pickle->items[at];
    }
    return pickle->items[at + HEFT_PICKLE_SEGMENT + index];
}

static inline const struct heft_pickle_node *heft_pickle_at(const struct heft_pickle *pickle,
                                                            uint32_t node)
{
    return &pickle->nodes[node];
}
static inline struct heft_str heft_pickle_text(const struct heft_pickle *pickle, uint32_t node)
{
    const struct heft_pickle_node *n = &pickle->nodes[node];
    return (struct heft_str){(const char *)n->u.text.p, n->len};
}
/* "a str", "an int" …, for messages. */
const char *heft_pickle_kind_name(unsigned kind);
/* Name of an opcode as pickletools spells it; NULL for an invalid one. */
const char *heft_pickle_opcode_name(uint8_t byte);

#endif
