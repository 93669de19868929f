/* json_lines.h: JSON lines (one object a line) → the string of one key; each is a document. */
#ifndef HEFT_JSON_LINES_H
#define HEFT_JSON_LINES_H

#include "base/mem.h"

struct heft_json_lines {
    struct heft_str key; /* "a", or "a.b" for the key b of the object a */
    bool replace;        /* lone surrogates become U+FFFD instead of an error */
    bool (*document)(void *ctx, struct heft_str text, struct heft_error *err);
    /* Callback for a line without such a string, with the reason; NULL: it is an error. */
    bool (*reject)(void *ctx, const struct heft_error *why, struct heft_error *err);
    /* Counts the lines before the first one, for messages, if that is not the first of the file;
     * called once at most. NULL: none */
    uint64_t (*count_before)(void *ctx);
    void *ctx;
    uint8_t *text; /* start of a line, and room after it */
    size_t n, cap;
    uint64_t offset, line; /* offset of text[0]; number of lines read before it */
    uint64_t before;       /* number of lines that count_before has counted */
    uint64_t at;           /* offset of the current line */
};

HEFT_CHECKED bool heft_json_lines_room(struct heft_json_lines *l, uint8_t **to, size_t *room,
                                       struct heft_error *err);
/* Commits n bytes of valid UTF-8 that were written there; 0: end of the stream. */
HEFT_CHECKED bool heft_json_lines_put(struct heft_json_lines *l, size_t n, struct heft_error *err);
/* Number of the current line in the file, from 1. */
uint64_t heft_json_lines_number(struct heft_json_lines *l);
void heft_json_lines_release(struct heft_json_lines *l);

#endif
