/* report.h: what goes to stderr, and exit statuses. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "main/options.h"

enum { EXIT_SOUND = 0, EXIT_NO = 1, EXIT_TROUBLE = 2 };

#define CLI_PRINTF(text, first) __attribute__((format(printf, text, first)))

/* The error's one line; returns the exit status that goes with it. */
int report_error(const struct heft_error *err);
/* "heft: note: …", unless -q. */
void report_note(const struct options *options, const char *format, ...) CLI_PRINTF(2, 3);
/* A note for each of heft_lack_at. */
void report_lacks(const struct options *options, const struct heft_checkpoint *c);
/* A note for each of heft_left_at. */
void report_left(const struct options *options, const struct heft_checkpoint *c);
/* Fills err with HEFT_USAGE; returns false, to be passed on. Both escape what they are given. */
bool usage_error(struct heft_error *err, const char *format, ...) CLI_PRINTF(2, 3);
/* Fills err with HEFT_NOMEM; returns false. what: "the list of tensors" */
bool no_memory(struct heft_error *err, const char *what);
/* Fills err from errno. */
bool system_error(struct heft_error *err, const char *path, const char *what);
/* A name of a file's, safe to print, cut to what fits in room. Returns text. */
char *report_escape(char *text, size_t room, const char *name, size_t n);

/* Opens options' inputs (without the last `leave`): NULL after err is filled. */
struct heft_checkpoint *open_inputs(const struct options *options, size_t leave,
                                    struct heft_error *err);

#endif
