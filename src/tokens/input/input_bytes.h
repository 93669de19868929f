/* input_bytes.h: a text file's bytes from front to end: of a file, of a pipe, of standard input; of
 * .gz and .zst unpacked, which is told by their first bytes. */
#ifndef HEFT_INPUT_BYTES_H
#define HEFT_INPUT_BYTES_H

#include "base/unpack.h"

/* Who is asked whether to wait on, where a signal came while a pipe was waited for. */
struct heft_input_asked {
    bool (*go_on)(void *ctx, struct heft_error *err); /* NULL: always */
    void *ctx;
};

struct heft_input_bytes {
    const char *path; /* "-": standard input */
    struct heft_input_asked asked;
    int fd;        /* -1: closed */
    uint64_t size; /* of a regular file when it was opened, else 0 */
    uint64_t read; /* from the system so far */
    struct heft_unpack *unpack;
    uint8_t *packed; /* read, not unpacked yet (and the first bytes of every file) */
    struct heft_bytes waiting;
    bool is_regular, ended;
    bool is_known; /* its first bytes were looked at: it may be a text */
};

HEFT_CHECKED bool heft_input_open(struct heft_input_bytes *in, const char *path,
                                  struct heft_input_asked asked, struct heft_error *err);
/* Up to `room` bytes; *n is 0 only at the end. */
HEFT_CHECKED bool heft_input_read(struct heft_input_bytes *in, uint8_t *to, size_t room, size_t *n,
                                  struct heft_error *err);
/* To byte `at` of what read gives, of an input just opened: at once in a plain file, else by
 * unpacking what is before it. */
HEFT_CHECKED bool heft_input_seek(struct heft_input_bytes *in, uint64_t at, struct heft_error *err);
void heft_input_close(struct heft_input_bytes *in);

#endif
