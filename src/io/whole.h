/* whole.h: reads and writes complete blocks of memory, although the system may transfer less at a
 * time; and temporary files without a name. */
#ifndef HEFT_WHOLE_H
#define HEFT_WHOLE_H

#include "base/error.h"

/* The offset of an error is the number of bytes written. */
HEFT_CHECKED bool heft_whole_write(int fd, const void *p, size_t n, uint64_t off,
                                   struct heft_error *err);
/* Reads n bytes; *got is less than n only at the end of the file. */
HEFT_CHECKED bool heft_whole_read(int fd, void *to, size_t n, uint64_t off, size_t *got,
                                  struct heft_error *err);

/* Creates a file without a name, which is deleted when it is closed; -1 on failure. `what`
 * describes its contents in errors, which then name no other file. */
int heft_temp_open(const char *what, struct heft_error *err);
HEFT_CHECKED bool heft_temp_write(int fd, const void *p, size_t n, uint64_t off, const char *what,
                                  struct heft_error *err);
HEFT_CHECKED bool heft_temp_read(int fd, void *to, size_t n, uint64_t off, size_t *got,
                                 const char *what, struct heft_error *err);

#endif
