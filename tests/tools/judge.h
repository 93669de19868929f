/* judge.h: result of opening a file, reading every tensor, its statistics, and verifying it. */
#ifndef HEFT_JUDGE_H
#define HEFT_JUDGE_H

#include <heft/heft.h>

/* Limit of tensor bytes read from one file: a file may describe far more data than it contains. */
#define JUDGE_READ_CAP (64u << 20)

struct judgement {
    const char *stage; /* last step: "open", "read", "stats", "verify"; "ok" if none failed */
    size_t tensors;
    struct heft_error err;
};

/* Never fails: a failure is part of the judgement. `each` receives the findings of heft_verify; may
 * be NULL. */
void judge_file(const char *path, const struct heft_limits *limits,
                void (*each)(void *ctx, const struct heft_finding *finding), void *ctx,
                struct judgement *out);

/* Name of a code: "malformed" etc. */
const char *judge_code_name(enum heft_code code);

/* Prints a line per tensor: name (hex), dtype, shape, bytes, digest of the bytes, index of the
 * storage if it is shared or -1, separated by tabs. Returns false, with an error on stderr, if it
 * cannot read a tensor. */
bool print_rows(const char *path);

enum mutate_kind { MUTATE_CHECKPOINT, MUTATE_SCAN, MUTATE_VOCAB, MUTATE_IDS };

/* Damages the file at `source` in many small ways, writes each result to `at` and opens it. Returns
 * false if heft exceeded its time or memory, or broke a promise of its interface; the damaged file then
 * still exists. */
struct mutate_options {
    enum mutate_kind kind;
    const char *source, *at;
    const char *open;   /* path to open; NULL: the damaged copy */
    const char *intact; /* path of the undamaged checkpoint; NULL: source */
    const char *folder; /* empty directory for outputs of conversions; needed for `verbs` */
    size_t stride;      /* use every stride-th position; 1: all */
    size_t verbs;       /* run all verbs on every n-th damaged file; 0: on none */
    double seconds;     /* limit of processor time for one damaged file */
    bool every;         /* the complete set of damages */
};
bool mutate_file(const struct mutate_options *options);

#endif
