/* input_text.h: bytes of a file → text as Python's open(path, "r", encoding=…) reads it, in UTF-8:
 * decoded, \r\n and lone \r as \n. */
#ifndef HEFT_INPUT_TEXT_H
#define HEFT_INPUT_TEXT_H

#include "tokens/unicode/charsets.h"
#include "tokens/input/input_bytes.h"

struct heft_text_how {
    struct heft_charset_table encoding;
    bool replace;       /* U+FFFD for what cannot be decoded, else an error */
    bool keep_newlines; /* for JSON lines */
};

struct heft_input_text {
    struct heft_text_how how;
    struct heft_input_bytes bytes;
    uint64_t offset; /* in the file, of the first byte of raw */
    uint8_t *raw;    /* where not all can be decoded in place */
    size_t n_raw;
    enum heft_charset encoding; /* what UTF-16 turned out to be */
    bool begun, ended;
    bool after_return; /* the last character was \r, given as \n: a \n now belongs to it */
};

/* At least so much room at every read. */
#define HEFT_TEXT_ROOM ((size_t)4 << 10)

HEFT_CHECKED bool heft_text_open(struct heft_input_text *in, const char *path,
                                 const struct heft_text_how *how, struct heft_input_asked asked,
                                 struct heft_error *err);
/* Whole characters of valid UTF-8, up to `room` bytes; *n is 0 only at the end. */
HEFT_CHECKED bool heft_text_read(struct heft_input_text *in, uint8_t *to, size_t room, size_t *n,
                                 struct heft_error *err);
/* Where reading can go on in another process: what was given so far, and nothing else, is before
 * it. */
struct heft_text_place {
    uint64_t offset; /* of the bytes of the file, unpacked */
    enum heft_charset encoding;
    bool begun, after_return;
};
struct heft_text_place heft_text_place(const struct heft_input_text *in);
/* Of an input just opened. */
HEFT_CHECKED bool heft_text_seek(struct heft_input_text *in, const struct heft_text_place *place,
                                 struct heft_error *err);
void heft_text_close(struct heft_input_text *in);

/* Code points of valid UTF-8. */
uint64_t heft_count_characters(const uint8_t *text, size_t n);

#endif
