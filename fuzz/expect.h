/* expect.h: assertion of all fuzz targets: a condition that does not hold is a crash, in every
 * build. */
#ifndef EXPECT_H
#define EXPECT_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"

static inline void expect_at(bool truth, const char *file, int line, const char *condition)
{
    if (truth)
        return;
    fprintf(stderr, "%s:%d: expected %s\n", file, line, condition);
    abort();
}

#define expect(...) expect_at((__VA_ARGS__), __FILE__, __LINE__, #__VA_ARGS__)

/* A call that must not fail; a failure prints its error. */
static inline void expect_success_at(bool ok, const struct heft_error *err, const char *file,
                                     int line)
{
    if (!ok)
        fprintf(stderr, "error %d: %s: %s\n", (int)err->code, err->file, err->text);
    expect_at(ok && err->code == HEFT_OK, file, line, "no error");
}

#define expect_success(ok, err) expect_success_at(ok, err, __FILE__, __LINE__)

/* A call that returned `ok` leaves no error if it succeeded, else one with a code and a text. */
static inline void expect_outcome(bool ok, const struct heft_error *err)
{
    expect(ok ? err->code == HEFT_OK : err->code != HEFT_OK && err->text[0]);
}

#endif
