/* hints.h: rewrites the library's advice in terms of the command's options. */
#ifndef CLI_HINTS_H
#define CLI_HINTS_H

#include "main/options.h"

/* Copies a text of the library, which names options by the fields of its structs ("option
 * eot_token") or by their names in a format's table ("option keep-shards"), with the names of the
 * command's options instead. */
void hint_options(char *out, size_t room, const char *text);
/* Rewrites "cast 'NAME=F32' would do" at the end of an error: "--cast 'NAME=F32' would do" for
 * convert, and "--cast F32 would do" for get, which casts one tensor. */
void hint_convert(struct heft_error *err);
void hint_get(struct heft_error *err);

#endif
