/* whole.h: a piece of memory to an open file and back, whole, where the system may take or give less at
 * a time; and temporary files, which nothing else sees. */
#ifndef HEFT_WHOLE_H
#define HEFT_WHOLE_H

#include "base/error.h"

/* The error's offset is how far it came. */
HEFT_CHECKED bool heft_whole_write(int fd, const void *p, size_t n, uint64_t off,
                                   struct heft_error *err);
/* *got is less than n only at the end of the file. */
HEFT_CHECKED bool heft_whole_read(int fd, void *to, size_t n, uint64_t off, size_t *got,
                                  struct heft_error *err);

/* An unlinked file, which is gone when it is closed; -1 where there can be none. `what` is in it, in
 * errors: the file that those name is another. */
int heft_temp_open(const char *what, struct heft_error *err);
HEFT_CHECKED bool heft_temp_write(int fd, const void *p, size_t n, uint64_t off, const char *what,
                                  struct heft_error *err);
HEFT_CHECKED bool heft_temp_read(int fd, void *to, size_t n, uint64_t off, size_t *got,
                                 const char *what, struct heft_error *err);

#endif
