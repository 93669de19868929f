/* provided.h: the files below a directory as inputs that a program provides (heft/inputs.h): in
 * memory, or read by a callback that counts its calls. A failure aborts the test program. */
#ifndef HEFT_PROVIDED_H
#define HEFT_PROVIDED_H

#include <stdatomic.h>

#include <heft/heft.h>

enum provided_kind {
    PROVIDED_NONE,
    PROVIDED_MEMORY,
    PROVIDED_READ, /* by read() and view() */
    PROVIDED_SLOW  /* … and marked as slow */
};

struct provided_file {
    char *name; /* relative to the directory */
    char *data;
    size_t n;
    struct provided *all;
};
struct provided {
    struct provided_file *files;
    struct heft_input *inputs; /* as provided_inputs filled them */
    size_t n, cap;
    atomic_size_t calls, bytes; /* of read() */
    atomic_size_t closed;       /* calls of close() */
    atomic_size_t fail_at;      /* this call of read() fails; 0: none */
    const char *text;           /* … with this text; NULL: without */
    int system_error;           /* … and this errno; 0: none */
};

/* Reads all regular files below a directory, which links do not lead out of: links are left out. */
struct provided *provided_new(const char *folder);
/* The inputs, for one call of the library; the counts begin anew. */
const struct heft_input *provided_inputs(struct provided *p, enum provided_kind kind);
void provided_free(struct provided *p);

#endif
