/* expect.h: assertion of all fuzz targets: a condition that does not hold is a crash, in every
 * build. */
#ifndef EXPECT_H
#define EXPECT_H

#include <stdbool.h>
#include <stdlib.h>

#include "base/error.h"

static inline void expect(bool truth)
{
    if (!truth)
        abort();
}

/* A call that returned `ok` leaves no error if it succeeded, else one with a code and a text. */
static inline void expect_outcome(bool ok, const struct heft_error *err)
{
    expect(ok ? err->code == HEFT_OK : err->code != HEFT_OK && err->text[0]);
}

#endif
