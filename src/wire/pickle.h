/* pickle.h: Python's pickle as a grammar: bytes in, a graph of nodes out. The machine knows nothing
 * of torch and can run nothing: GLOBAL, REDUCE, NEWOBJ, BUILD and persistent ids only make nodes
 * (doc/format/pickle.md).
 *
 * Nodes are numbered; a node refers to others by number, so a value that the pickle shares is
 * shared here and the graph may hold cycles: whoever walks it keeps visited marks and a budget.
 * Parsing is iterative, its time and memory are linear in the pickle. Strings are borrowed from the
 * pickle's bytes where they stand there verbatim, else decoded into the arena: data and arena must
 * outlive the graph. */
#ifndef HEFT_PICKLE_H
#define HEFT_PICKLE_H

#include "io/source.h"

enum heft_pickle_kind {
    HEFT_PICKLE_NONE,
    HEFT_PICKLE_BOOL,      /* integer */
    HEFT_PICKLE_INT,       /* integer */
    HEFT_PICKLE_BIGINT,    /* text: two's complement, little-endian, does not fit int64 */
    HEFT_PICKLE_FLOAT,     /* number */
    HEFT_PICKLE_STR,       /* text: UTF-8, surrogates (ED A0..) possible */
    HEFT_PICKLE_PY2STR,    /* text: raw bytes of a Python 2 string */
    HEFT_PICKLE_BYTES,     /* text */
    HEFT_PICKLE_BYTEARRAY, /* text */
    HEFT_PICKLE_TUPLE,     /* items */
    HEFT_PICKLE_LIST,      /* items */
    HEFT_PICKLE_DICT, /* items: key, value, key, value … in the order set; repeated keys stay */
    HEFT_PICKLE_SET,  /* items */
    HEFT_PICKLE_FROZENSET, /* items */
    HEFT_PICKLE_GLOBAL,    /* module, text (name) */
    HEFT_PICKLE_CALL,      /* callee, args, [kwargs], then items (SETITEMS as pairs, or APPENDS) and
                              state */
    HEFT_PICKLE_PERSID     /* args: the id (a node) */
};

/* How a CALL was written. */
enum heft_pickle_how {
    HEFT_PICKLE_REDUCE,
    HEFT_PICKLE_NEWOBJ,
    HEFT_PICKLE_NEWOBJ_EX,
    HEFT_PICKLE_INST,
    HEFT_PICKLE_OBJ
};

/* Why a GLOBAL has no name. */
enum heft_pickle_nameless {
    HEFT_PICKLE_COMPUTED, /* by a call, or by whoever loads it: also a code of copyreg's registry */
    HEFT_PICKLE_LONG      /* it is longer than 1024 bytes */
};

#define HEFT_PICKLE_NIL     UINT32_MAX /* no node */
#define HEFT_PICKLE_SEGMENT 2          /* u32 before the items of a segment: next, count */

struct heft_pickle_node {
    uint8_t kind, how;
    bool pairs;  /* CALL: items came through SETITEM(S); GLOBAL, lenient: no items were put into it,
                    which is a call of its extend */
    uint32_t at; /* position of the opcode that made it */
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
    uint32_t count; /* items */
    uint32_t state; /* BUILD's argument, else NIL; on LIST, DICT and SET too. A value is built at
                       most once: a second BUILD is HEFT_UNSUPPORTED unless lenient */
    uint32_t first, last; /* segments of items, for heft_pickle_items; NIL when empty */
    uint32_t
        module; /* GLOBAL: node of the module's STR; CALL by NEWOBJ_EX: node of kwargs; else NIL */
};

/* Zero means the default, and so does a null pointer to it. */
struct heft_pickle_limits {
    uint64_t opcodes; /* 50 million */
    uint64_t nodes;   /* 20 million */
    uint64_t marks;   /* 1 million */
    uint64_t text;    /* one string or number: 64 MiB; integers 1 MiB */
    bool bare;        /* REDUCE may have one argument that is in no tuple, as in TorchScript */
    /* For judging what a pickle would do: goes on wherever the C or the Python unpickler of any
     * CPython 3 may, also where nobody can say what comes of it (pickle_lenient.c). A GLOBAL whose
     * name nobody can say then has NIL for its module and no text, and `how` is an enum
     * heft_pickle_nameless; arguments and keywords may be of any kind; items and states are taken by
     * any object, and of several states the node is a LIST; opcodes may straddle frames. */
    bool lenient;
    bool at_end; /* lenient: the bytes end where the file does. Python's readline then gives what is
                    there, and pickle.Unpickler takes its last byte for a line's end */
};

struct heft_pickle {
    const struct heft_pickle_node *nodes;
    uint32_t count;
    uint32_t root;       /* STOP's value */
    uint64_t opcodes;    /* executed */
    uint32_t memo_count; /* entries in the memo at STOP */
    size_t length;       /* bytes up to and with STOP; what follows is not looked at */
    size_t next;  /* the same, but lenient: up to the end of the frame that STOP is in, as the next
                            pickle.load of that file begins there */
    int protocol; /* highest PROTO seen, 0 where there is none */
    uint32_t left_over; /* values on the stack below STOP's: unusual */
    uint32_t bent;      /* lenient: position of the first opcode that leaves its frame, else NIL */
    struct heft_bytes data;
    const uint32_t *items;         /* the segments' pool */
    struct heft_pickle_node *made; /* nodes, for heft_pickle_become */
};

/* Runs the pickle that begins at data[0]. `base` is the file offset of data[0], for errors
 * (HEFT_NO_OFFSET: positions are given in the text). On failure `out` holds the nodes made so far,
 * for scanning. */
HEFT_CHECKED bool heft_pickle_run(struct heft_pickle *out, struct heft_bytes data, uint64_t base,
                                  const struct heft_pickle_limits *limits, struct heft_arena *arena,
                                  struct heft_error *err);

/* Where a pickle begins in a source, and how it is looked for: its end is not known. */
struct heft_pickle_place {
    uint64_t off, end; /* it begins at off, and ends at `end` at the latest */
    uint64_t base;     /* file offset of the source's first byte; HEFT_NO_OFFSET as above */
    uint64_t first;    /* bytes to read first; not 0 */
    uint64_t cap;      /* at most so many: HEFT_LIMIT */
};
/* Bytes of a source that are in memory, where pickles are run whose end is not known. */
struct heft_pickle_window {
    const struct heft_source *src;
    struct heft_bytes whole; /* all of src if it is in memory; else empty */
    struct heft_arena *mem;  /* of the bytes that are read; may be the arena of the nodes */
    uint64_t least;          /* bytes of a window that is widened; 0: any */
    bool (*pay)(void *ctx, uint64_t bytes); /* before it is widened; NULL: need not be asked */
    void *ctx;
    struct heft_bytes bytes; /* the window: bytes of src, which begin … */
    uint64_t from;           /* … at this position */
};
enum heft_pickle_end {
    HEFT_PICKLE_STOPPED,  /* it ends with STOP */
    HEFT_PICKLE_BROKEN,   /* it breaks off: *why says where and how */
    HEFT_PICKLE_TOO_LONG, /* place->cap: *why says how far it was run */
    HEFT_PICKLE_UNPAID,   /* pay said no */
    HEFT_PICKLE_UNREAD    /* reading failed, or memory is short: *why */
};
/* Runs the pickle that begins at place->off in what the window has of it, and in wider windows as it
 * asks for them. `out` holds the nodes, also of one that is broken or too long; out->data is in the
 * window. limits->at_end is set here. */
enum heft_pickle_end heft_pickle_find(struct heft_pickle *out, struct heft_pickle_window *w,
                                      const struct heft_pickle_place *place,
                                      const struct heft_pickle_limits *limits,
                                      struct heft_arena *arena, struct heft_error *why);
/* Runs the pickle that begins at place->off, reading no more of the source than it takes (up to
 * four times that). out->data is the pickle, in the arena, which must be empty before. */
HEFT_CHECKED bool heft_pickle_read(struct heft_pickle *out, const struct heft_source *src,
                                   const struct heft_pickle_place *place,
                                   const struct heft_pickle_limits *limits,
                                   struct heft_arena *arena, struct heft_error *err);
/* Whether a pickle that failed at data[at] may have failed for want of bytes. */
bool heft_pickle_wants_more(struct heft_bytes data, uint64_t at);
/* Makes a PERSID the same as the GLOBAL that it stands for: callees are looked at once. */
void heft_pickle_become(struct heft_pickle *pickle, uint32_t persid, uint32_t global);
/* The same for a pickle that may break off or be damaged: then *why says where and how (else its code
 * is HEFT_OK), and the root is what was built up to there: containers that were being filled hold
 * what was complete of them. Fails where that is nothing. */
HEFT_CHECKED bool heft_pickle_salvage(struct heft_pickle *out, struct heft_bytes data,
                                      uint64_t base, const struct heft_pickle_limits *limits,
                                      struct heft_arena *arena, struct heft_error *why,
                                      struct heft_error *err);

/* Walks a container's items (or a CALL's). Linear. */
struct heft_pickle_iter {
    const struct heft_pickle *pickle;
    uint32_t segment, index;
};
static inline struct heft_pickle_iter heft_pickle_items(const struct heft_pickle *pickle,
                                                        uint32_t node)
{
    return (struct heft_pickle_iter){pickle, pickle->nodes[node].first, 0};
}
/* The next item's node number, or false at the end. */
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
/* The i-th item (constant time for tuples, which are one segment), NIL where there is none. */
static inline uint32_t heft_pickle_item(const struct heft_pickle *pickle, uint32_t node,
                                        uint32_t index)
{
    uint32_t at = pickle->nodes[node].first;

    if (index >= pickle->nodes[node].count)
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
/* "a str", "an int" …: for messages. */
const char *heft_pickle_kind_name(unsigned kind);
/* The name of an opcode as pickletools spells it, NULL for a byte that is none. */
const char *heft_pickle_opcode_name(uint8_t byte);

#endif
