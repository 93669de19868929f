/* module.h: shared objects that belong to heft and are opened when they are first needed. */
#ifndef HEFT_IO_MODULE_H
#define HEFT_IO_MODULE_H

#include "base/error.h"

/* Location of modules: defined in module_place.c, compiled once for each binary. */
struct heft_module_place {
    const char *from; /* "bin/": the last directories in the path of the installed program or
                         library; NULL: the path is not used */
    const char *to;   /* "lib/heft-0.1/": the modules' directory, relative to where `from` begins */
    /* "/usr/local/lib/heft-0.1/": the directory of `make install PREFIX=`; NULL: a static build,
     * which loads no modules */
    const char *installed;
};
extern const struct heft_module_place heft_module_place;

/* Address of `symbol` in heft's module of that file name, which stays loaded. It is searched in one
 * directory: that of heft_host_set, else that of the environment variable HEFT_MODULES, else that of
 * the installation. HEFT_UNSUPPORTED if it is missing or cannot be loaded; `needs` then describes
 * what is missing. HEFT_UNSAFE if another user could have put it there. HEFT_USAGE if HEFT_MODULES
 * is not an absolute path. */
HEFT_CHECKED const void *heft_module_find(const char *file, const char *symbol, const char *needs,
                                          struct heft_error *err);
/* Directory in which modules are searched, with a slash at its end. False: its path is too long. */
bool heft_module_folder(char *out, size_t n);

#endif
