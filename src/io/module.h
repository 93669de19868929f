/* module.h: shared objects of heft's own that are opened when they are first needed. */
#ifndef HEFT_IO_MODULE_H
#define HEFT_IO_MODULE_H

#include "base/error.h"

/* Where modules lie: module_place.c, compiled once for each thing that is linked. */
struct heft_module_place {
    const char *from; /* "bin/": the last folders of the path of the program or library that heft is
                         part of, where it is installed; NULL: that path tells nothing */
    const char *to;   /* "lib/heft/": the modules' folder, seen from where `from` begins */
    const char *installed; /* "/usr/local/lib/heft/": the folder of `make install PREFIX=` */
};
extern const struct heft_module_place heft_module_place;

/* The address of `symbol` in heft's module of that file name, which stays loaded. It is looked for in
 * one folder: that of the environment variable HEFT_MODULES where it is set, else that of the
 * installation. HEFT_UNSUPPORTED where it is not there or cannot be loaded; `needs` says what is
 * missing then. HEFT_UNSAFE where somebody else could have
 * put it there. HEFT_USAGE where HEFT_MODULES is no absolute path. */
HEFT_CHECKED const void *heft_module_find(const char *file, const char *symbol, const char *needs,
                                          struct heft_error *err);

#endif
