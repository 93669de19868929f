/* error.h: filling a struct heft_error. The function that detects a failure fills it, in one line
 * that says what was found and what was allowed; callers may add the file once (heft_error_file).
 */
#ifndef HEFT_ERROR_H
#define HEFT_ERROR_H

#include <stdarg.h>

#include "base/base.h"
#include "heft/types.h"

/* Always returns false, so that a check reads `return heft_fail(…)`. Text is printf-like; control
 * characters that %s brought from a file come out escaped. */
bool heft_fail(struct heft_error *err, enum heft_code code, uint64_t offset, const char *format,
               ...) HEFT_PRINTF(4, 5);
/* The same for those who have `…` of their own. */
bool heft_fail_args(struct heft_error *err, enum heft_code code, uint64_t offset,
                    const char *format, va_list args) HEFT_PRINTF(4, 0);
/* The same for errno: code HEFT_IO, "what: strerror". */
bool heft_fail_errno(struct heft_error *err, const char *what);
/* At a door behind which it is asked whether something failed: what an earlier call left is gone. */
static inline void heft_error_begin(struct heft_error *err)
{
    err->code = HEFT_OK;
}
/* Names the file where none is named yet. Always returns false. */
bool heft_error_file(struct heft_error *err, const char *path);
/* Puts "tensor NAME: " (kind = "tensor") before the text. Always returns false. */
bool heft_error_about(struct heft_error *err, const char *kind, struct heft_str name);
/* An error whose text is another one with its file and offset: "BEFORE: FILE: offset 0x10: text". It
 * has the cause's code, and no file or offset of its own. Always returns false. */
bool heft_error_quote(struct heft_error *err, const char *before, const struct heft_error *cause);

#endif
