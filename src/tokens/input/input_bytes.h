/* input_bytes.h: bytes of a text file, a pipe or standard input, sequentially; .gz and .zst,
 * recognised by their first bytes, are decompressed. */
#ifndef HEFT_INPUT_BYTES_H
#define HEFT_INPUT_BYTES_H

#include "base/unpack.h"

/* Callback that decides whether to continue when a signal interrupts waiting for a pipe. */
struct heft_input_asked {
    bool (*go_on)(void *ctx, struct heft_error *err); /* NULL: always continue */
    void *ctx;
};

struct heft_input_bytes {
    const char *path; /* path, or "-" for standard input */
    struct heft_input_asked asked;
    int fd;        /* file descriptor; -1 if closed */
    uint64_t size; /* size of a regular file when it was opened; 0 for other files */
    uint64_t read; /* bytes read from the system so far */
    struct heft_unpack *unpack;
    uint8_t *packed; /* bytes not decompressed yet (initially the first bytes of any file) */
    struct heft_bytes waiting;
    bool is_regular, ended;
    bool is_known; /* its first bytes were checked: it may be text */
};

HEFT_CHECKED bool heft_input_open(struct heft_input_bytes *in, const char *path,
                                  struct heft_input_asked asked, struct heft_error *err);
/* Reads up to `room` bytes; *n is 0 only at the end. */
HEFT_CHECKED bool heft_input_read(struct heft_input_bytes *in, uint8_t *to, size_t room, size_t *n,
                                  struct heft_error *err);
/* Skips to byte `at` of the decompressed data, right after opening: by seeking in a plain file,
 * else by decompressing what comes before. */
HEFT_CHECKED bool heft_input_seek(struct heft_input_bytes *in, uint64_t at, struct heft_error *err);
void heft_input_close(struct heft_input_bytes *in);

#endif
