/* locate.h: which file an input means: itself, or where it is a folder, the file in it that says what
 * the others are. */
#ifndef HEFT_LOCATE_H
#define HEFT_LOCATE_H

#include "base/error.h"
#include "base/mem.h"

/* The path to open, in `mem` or `given` itself; NULL where the input means nothing, or several
 * things. */
HEFT_CHECKED const char *heft_locate(const char *given, struct heft_arena *mem,
                                     struct heft_error *err);

#endif
