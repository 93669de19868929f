/* report.h: errors and notes on stderr; exit statuses. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "main/options.h"

enum { EXIT_SOUND = 0, EXIT_NO = 1, EXIT_TROUBLE = 2 };

#define CLI_PRINTF(text, first) __attribute__((format(printf, text, first)))

/* Prints the error as one line; returns the exit status. */
int report_error(const struct heft_error *err);
/* Prints "heft: note: …", unless -q was given. */
void report_note(const struct options *options, const char *format, ...) CLI_PRINTF(2, 3);
/* Prints a note for each item of heft_unread_at. */
void report_unread(const struct options *options, const struct heft_checkpoint *c);
/* Prints a note for each item of heft_lack_at. */
void report_lacks(const struct options *options, const struct heft_checkpoint *c);
/* Prints a note for each item of heft_left_at. */
void report_left(const struct options *options, const struct heft_checkpoint *c);
/* Fills err with HEFT_USAGE and returns false, for the caller to return. Both functions escape
 * their arguments. */
bool usage_error(struct heft_error *err, const char *format, ...) CLI_PRINTF(2, 3);
/* Fills err with HEFT_NOMEM and returns false. `what` names what was to be allocated: "the list of
 * tensors". */
bool no_memory(struct heft_error *err, const char *what);
/* Fills err with HEFT_IO, the path, and the text of errno; returns false. */
bool system_error(struct heft_error *err, const char *path, const char *what);
/* Escapes a name from a file, truncated to `room` bytes, into `text`. Returns text. */
char *report_escape(char *text, size_t room, const char *name, size_t n);

/* Whether an option of formats for reading was given. */
bool is_read_option(const struct options *options, const char *name);
/* The library's options for opening INPUT; `limits` is valid as long as they are. */
struct heft_open_options open_options(const struct options *options, struct heft_limits *limits);
/* Notes choices among the files of INPUT, and options of reading without effect, which are an error with
 * --strict. */
bool report_opened(const struct options *options, const struct heft_checkpoint *c,
                   struct heft_error *err);
/* Opens the inputs of the options, except the last `leave` ones. Options of reading without effect are
 * noted, or an error with --strict. NULL on failure. */
struct heft_checkpoint *open_inputs(const struct options *options, size_t leave,
                                    struct heft_error *err);

#endif
