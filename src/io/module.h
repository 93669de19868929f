/* module.h: shared objects of heft's own that are opened when they are first needed. */
#ifndef HEFT_IO_MODULE_H
#define HEFT_IO_MODULE_H

#include "base/error.h"

/* The address of `symbol` in heft's module of that file name, which stays loaded. It is looked for
 * beside the program or library that heft is part of, then where heft was configured to be
 * installed. HEFT_UNSUPPORTED where it is nowhere; `needs` says what is missing then. */
HEFT_CHECKED const void *heft_module_find(const char *file, const char *symbol, const char *needs,
                                          struct heft_error *err);

#endif
