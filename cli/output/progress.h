/* progress.h: how far a long call is, on a terminal's stderr, and the way to stop it. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "main/options.h"

struct progress {
    const char *what; /* "convert" */
    double began, drawn_at;
    uint64_t done, total;
    uint64_t from; /* done by a run before this one */
    bool has_from;
    bool drawing; /* stderr is a terminal and nobody asked for silence */
    bool drawn;   /* a line stands there and must be wiped */
};

/* From here on SIGINT, SIGTERM and SIGHUP stop the call through progress_step, however often they
 * come: there are temporary files to delete. Before it they end the process at once. */
void progress_catch(void);
void progress_begin(struct progress *progress, const struct options *options, const char *what);
/* The callback of heft's options; ctx is the struct progress. False: stop. */
bool progress_step(void *ctx, uint64_t done, uint64_t total);
/* The same where the first call tells what a run before this one has done: its rate is not ours. */
bool progress_step_on(void *ctx, uint64_t done, uint64_t total);
void progress_end(struct progress *progress);
/* Whether one of the signals came. */
bool progress_interrupted(void);
double progress_seconds(const struct progress *progress); /* since progress_begin */
double clock_seconds(void);
/* The largest resident memory of this process so far, in bytes. */
uint64_t peak_memory(void);

#endif
