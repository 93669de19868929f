/* judge.h: what heft says about a file, all of it: opened, every tensor read, verified. */
#ifndef HEFT_JUDGE_H
#define HEFT_JUDGE_H

#include <heft/heft.h>

/* Tensor bytes read from one file at most: a file may describe far more than it holds. */
#define JUDGE_READ_CAP (64u << 20)

struct judgement {
    const char *stage; /* where it ended: "open", "read", "verify"; "ok" where nothing failed */
    size_t tensors;
    struct heft_error err;
};

/* Never fails: what fails is the judgement. each() gets what heft_verify finds; it may be NULL. */
void judge_file(const char *path, const struct heft_limits *limits,
                void (*each)(void *ctx, const struct heft_finding *finding), void *ctx,
                struct judgement *out);

/* "malformed" and the like. */
const char *judge_code_name(enum heft_code code);

/* A line a tensor on stdout: name (hex), dtype, shape, bytes, digest of the bytes, storage it shares
 * or -1, by tabs. False, and why on stderr, where that ends early. */
bool print_rows(const char *path);

/* Damages the file at `source` in every small way, each time writing the result to `at` and judging
 * it. False where heft took too long or ran out of memory; the damaged file is then still there. */
struct mutate_options {
    const char *source, *at;
    const char *open; /* what is judged; NULL: the damaged copy itself */
    size_t stride;    /* every stride-th place; 1: all */
    double seconds;   /* of a processor's time that one judgement may take */
    bool scan;        /* judged by heft_scan */
};
bool mutate_file(const struct mutate_options *options);

#endif
