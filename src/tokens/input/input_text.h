/* input_text.h: bytes of a file → UTF-8 text as Python's open(path, "r", encoding=…) reads it: \r\n
 * and \r become \n. */
#ifndef HEFT_INPUT_TEXT_H
#define HEFT_INPUT_TEXT_H

#include "tokens/unicode/charsets.h"
#include "tokens/input/input_bytes.h"

struct heft_text_how {
    struct heft_charset_table encoding;
    bool replace;       /* invalid input becomes U+FFFD instead of an error */
    bool keep_newlines; /* newlines are not translated, as JSON lines need it */
};

struct heft_input_text {
    struct heft_text_how how;
    struct heft_input_bytes bytes;
    uint64_t offset; /* file offset of the first byte of `raw` */
    uint8_t *raw;    /* buffer for text that cannot be decoded in place */
    size_t n_raw;
    enum heft_charset encoding; /* after the byte order mark: the byte order of UTF-16 and UTF-32 */
    bool begun, ended;
    /* the last character was \r, converted to \n: a \n that follows is skipped */
    bool after_return;
};

/* least room of a read */
#define HEFT_TEXT_ROOM ((size_t)4 << 10)

HEFT_CHECKED bool heft_text_open(struct heft_input_text *in, const char *path,
                                 const struct heft_text_how *how, struct heft_input_asked asked,
                                 struct heft_error *err);
/* Reads whole characters of valid UTF-8, up to `room` bytes; *n is 0 only at the end. */
HEFT_CHECKED bool heft_text_read(struct heft_input_text *in, uint8_t *to, size_t room, size_t *n,
                                 struct heft_error *err);
/* Position from which another process can continue: exactly the text returned so far is before it.
 */
struct heft_text_place {
    uint64_t offset; /* offset in the decompressed file */
    enum heft_charset encoding;
    bool begun, after_return;
};
struct heft_text_place heft_text_place(const struct heft_input_text *in);
/* Skips to a position, right after opening. */
HEFT_CHECKED bool heft_text_seek(struct heft_input_text *in, const struct heft_text_place *place,
                                 struct heft_error *err);
void heft_text_close(struct heft_input_text *in);

/* Number of code points of valid UTF-8. */
uint64_t heft_count_characters(const uint8_t *text, size_t n);

#endif
