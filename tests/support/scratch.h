/* scratch.h: a folder for one test, under TMPDIR, and plain files in it. Any failure aborts: these
 * are not what is being tested. Paths it returns belong to the caller (free). */
#ifndef HEFT_SCRATCH_H
#define HEFT_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>

char *heft_scratch_new(void);
/* Removes it with all that is in it, and frees the path. */
void heft_scratch_free(char *folder);
char *heft_scratch_path(const char *folder, const char *name);
void heft_scratch_write(const char *folder, const char *name, const void *p, size_t n);
/* The whole file, followed by a NUL; NULL where there is none. */
char *heft_scratch_read(const char *folder, const char *name, size_t *n);
bool heft_scratch_has(const char *folder, const char *name);
/* How many entries the folder has; 0 also where there is no folder. */
size_t heft_scratch_count(const char *folder);

#endif
