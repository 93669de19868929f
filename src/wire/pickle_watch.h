/* pickle_watch.h: runs the pickle machine with a callback for every step: the same opcodes and
 * errors as heft_pickle_run. For tools that explain a pickle.
 *
 * A step refers to the machine's own state, which is read-only and valid until the callback
 * returns. In the terms of Python's unpickler:
 *
 *     stack       the values above the newest mark: stack[fence] to stack[depth - 1]
 *     metastack   the stacks saved by marks: from one mark to the next, marks[0] first
 *     memo        index → node
 *
 *     stack[0] … stack[marks[0]] … stack[marks[1]] … stack[depth - 1]
 *     └ metastack[0] ┘ └── metastack[1] ──┘ └────── stack ──────┘ */
#ifndef HEFT_PICKLE_WATCH_H
#define HEFT_PICKLE_WATCH_H

#include "wire/pickle.h"

/* Form of an opcode's argument. */
enum heft_pickle_form {
    HEFT_FORM_BARE,   /* no argument */
    HEFT_FORM_NUMBER, /* `number`: one to eight bytes */
    HEFT_FORM_TEXT,   /* `prefix` bytes of length, then `text` */
    HEFT_FORM_LINE,   /* `text` up to the end of a line */
    HEFT_FORM_LINES   /* `text` and `second`, two lines */
};

struct heft_pickle_machine;
struct heft_pickle_step {
    const struct heft_pickle *pickle; /* the nodes created so far */
    const char *name;                 /* as spelled by pickletools */
    uint8_t byte;
    uint8_t form;              /* enum heft_pickle_form */
    uint8_t prefix;            /* TEXT */
    size_t at;                 /* position in the pickle */
    struct heft_bytes raw;     /* the whole argument */
    uint64_t number;           /* NUMBER: little-endian, except the bits of BINFLOAT; memo opcodes:
                               the index, also of MEMOIZE */
    struct heft_bytes text;    /* TEXT, LINE, LINES */
    struct heft_bytes second;  /* LINES */
    const uint32_t *stack;     /* popped values are after `depth`, up to `was_depth`, unless a
                                  value was pushed over them */
    size_t depth, was_depth;   /* values on the stack after and before the step */
    const uint32_t *marks;     /* depth at each mark */
    size_t n_marks, was_marks; /* number of marks after and before the step */
    size_t was_fence;          /* depth at the newest mark before the step; 0 without a mark */
    size_t memo_count;         /* entries of the memo after the step */
    const struct heft_pickle_machine *machine; /* for heft_pickle_memo_at */
};

/* Node of a memo entry; NIL if there is none. */
uint32_t heft_pickle_memo_at(const struct heft_pickle_step *step, uint32_t index);

struct heft_pickle_watcher {
    /* If it returns false, the run ends as if the pickle ended there: *stopped is set, and this is
     * not a failure. */
    bool (*step)(void *ctx, const struct heft_pickle_step *step);
    void *ctx;
    bool stopped;
};

/* Like heft_pickle_run. A step that fails is not reported. */
HEFT_CHECKED bool heft_pickle_watch(struct heft_pickle *out, struct heft_bytes data, uint64_t base,
                                    const struct heft_pickle_limits *limits,
                                    struct heft_pickle_watcher *watcher, struct heft_arena *arena,
                                    struct heft_error *err);

#endif
