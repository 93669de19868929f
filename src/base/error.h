/* error.h: filling a struct heft_error. The function that detects a failure fills it with one line
 * of text: what was found and what is allowed. Callers may add the file once (heft_error_file). */
#ifndef HEFT_ERROR_H
#define HEFT_ERROR_H

#include <stdarg.h>

#include "base/base.h"
#include "heft/types.h"

/* Fills *err. Always returns false, so that a check reads `return heft_fail(…)`. The text is
 * printf-like; control characters that %s inserts from a file are escaped. */
bool heft_fail(struct heft_error *err, enum heft_code code, uint64_t offset, const char *format,
               ...) HEFT_PRINTF(4, 5);
/* The same for callers with a va_list. */
bool heft_fail_args(struct heft_error *err, enum heft_code code, uint64_t offset,
                    const char *format, va_list args) HEFT_PRINTF(4, 0);
/* The same for errno, which becomes system_error: code HEFT_IO, text "what: strerror". */
bool heft_fail_errno(struct heft_error *err, const char *what);
/* The same for a file that does not exist: ENOENT, with a text of its own. */
bool heft_fail_missing(struct heft_error *err, const char *what);
/* Clears *err on entry to a public function that tests err->code later. */
static inline void heft_error_begin(struct heft_error *err)
{
    err->code = HEFT_OK;
}
/* Names the file, unless one is named already. Always returns false. */
bool heft_error_file(struct heft_error *err, const char *path);
/* Puts "KIND NAME: " before the text, for example "tensor w: ". Always returns false. */
bool heft_error_about(struct heft_error *err, const char *kind, struct heft_str name);
/* Fills *err with the text of another error, including its file and offset: "BEFORE: FILE: offset
 * 0x10: text". The code and system_error are the cause's; the new error has no file or offset of its
 * own. Always returns false. */
bool heft_error_quote(struct heft_error *err, const char *before, const struct heft_error *cause);

#endif
