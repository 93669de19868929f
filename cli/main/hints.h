/* hints.h: what the library advises, in the words of the command line. */
#ifndef CLI_HINTS_H
#define CLI_HINTS_H

#include "main/options.h"

/* The library's texts speak of options by their fields, "option eot_token": copies one with the command's
 * names. */
void hint_options(char *out, size_t room, const char *text);
/* "cast 'NAME=F32' would do" becomes "--cast …", as convert takes it; of get, which casts the one
 * tensor, "--cast F32 would do". */
void hint_convert(struct heft_error *err);
void hint_get(struct heft_error *err);

#endif
