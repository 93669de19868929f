/* pickle_watch.h: a run of the pickle machine that shows every step: the same opcodes and the same
 * errors as heft_pickle_run. For walks that explain a pickle.
 *
 * What a step shows is the machine's own state, to be read and not kept: it holds until the watcher
 * returns. In the words of Python's unpickler:
 *
 *     stack       the values above the newest mark: stack[fence] to stack[depth - 1]
 *     metastack   the stacks that marks put away: from one mark to the next, marks[0] first
 *     memo        index → node
 *
 *     stack[0] … stack[marks[0]] … stack[marks[1]] … stack[depth - 1]
 *     └ metastack[0] ┘ └── metastack[1] ──┘ └────── stack ──────┘ */
#ifndef HEFT_PICKLE_WATCH_H
#define HEFT_PICKLE_WATCH_H

#include "wire/pickle.h"

/* How an opcode's argument is written. */
enum heft_pickle_form {
    HEFT_FORM_BARE,   /* there is none */
    HEFT_FORM_NUMBER, /* `number`: one to eight bytes */
    HEFT_FORM_TEXT,   /* `prefix` bytes of length, then `text` */
    HEFT_FORM_LINE,   /* `text` up to a line's end */
    HEFT_FORM_LINES   /* `text` and `second`, two of them */
};

struct heft_pickle_machine;
struct heft_pickle_step {
    const struct heft_pickle *pickle; /* the graph so far */
    const char *name;                 /* as pickletools spells it */
    uint8_t byte;
    uint8_t form;           /* enum heft_pickle_form */
    uint8_t prefix;         /* TEXT */
    size_t at;              /* its position in the pickle */
    struct heft_bytes raw;  /* the argument, all of it */
    uint64_t number;        /* NUMBER: little-endian, but for BINFLOAT's bits; opcodes of the memo:
                                  the index, MEMOIZE's also */
    struct heft_bytes text; /* TEXT, LINE, LINES */
    struct heft_bytes second;  /* LINES */
    const uint32_t *stack;     /* what was popped stands behind `depth`, up to `was_depth`, unless a
                                  value was pushed over it */
    size_t depth, was_depth;   /* after the step and before it */
    const uint32_t *marks;     /* the depth at each */
    size_t n_marks, was_marks; /* as above */
    size_t was_fence;          /* the newest mark's depth before the step; 0 without one */
    size_t memo_count;         /* after the step */
    const struct heft_pickle_machine *machine; /* for heft_pickle_memo_at */
};

/* The node of a memo entry, NIL where there is none. */
uint32_t heft_pickle_memo_at(const struct heft_pickle_step *step, uint32_t index);

struct heft_pickle_watcher {
    /* False ends the run as if the pickle ended there: *stopped is set, and it is no failure. */
    bool (*step)(void *ctx, const struct heft_pickle_step *step);
    void *ctx;
    bool stopped;
};

/* As heft_pickle_run. A step that fails is not shown. */
HEFT_CHECKED bool heft_pickle_watch(struct heft_pickle *out, struct heft_bytes data, uint64_t base,
                                    const struct heft_pickle_limits *limits,
                                    struct heft_pickle_watcher *watcher, struct heft_arena *arena,
                                    struct heft_error *err);

#endif
