/* progress.h: progress line on stderr, if it is a terminal; interruption by signals. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "main/options.h"

struct progress {
    const char *what; /* name of the activity: "convert" */
    double began, drawn_at;
    uint64_t done, total;
    uint64_t from; /* bytes done by an earlier run (--resume) */
    bool has_from;
    bool drawing; /* stderr is a terminal, without -q or --no-progress */
    bool drawn;   /* a line is on the terminal and must be erased */
};

/* Catches SIGINT, SIGTERM and SIGHUP from here on, also repeated ones: progress_step then returns
 * false, so that temporary files can be deleted. Before this call a signal ends the process at
 * once. */
void progress_catch(void);
void progress_begin(struct progress *progress, const struct options *options, const char *what);
/* Callback `progress` of the library's options; ctx is the struct progress. False stops the
 * call. */
bool progress_step(void *ctx, uint64_t done, uint64_t total);
/* The same for a resumed run: the first call reports the work of the earlier run, which is left out
 * of the rate. */
bool progress_step_on(void *ctx, uint64_t done, uint64_t total);
void progress_end(struct progress *progress);
/* Whether one of these signals has arrived. */
bool progress_interrupted(void);
double progress_seconds(const struct progress *progress); /* seconds since progress_begin */
double clock_seconds(void);
/* Peak resident memory of this process, in bytes. */
uint64_t peak_memory(void);

#endif
