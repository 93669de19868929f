/* scratch.h: temporary directory for one test, under TMPDIR, and files in it. A failure aborts the
 * test program. The caller frees returned paths. */
#ifndef HEFT_SCRATCH_H
#define HEFT_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>

char *heft_scratch_new(void);
/* Removes the directory with its contents, and frees its path. */
void heft_scratch_free(char *folder);
char *heft_scratch_path(const char *folder, const char *name);
void heft_scratch_write(const char *folder, const char *name, const void *p, size_t n);
/* Contents of a file, followed by a NUL; NULL if it does not exist. */
char *heft_scratch_read(const char *folder, const char *name, size_t *n);
bool heft_scratch_has(const char *folder, const char *name);
/* Number of entries of the directory; 0 if it does not exist. */
size_t heft_scratch_count(const char *folder);

#endif
