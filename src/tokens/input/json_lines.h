/* json_lines.h: a JSON object a line → the string of one key, a document each. */
#ifndef HEFT_JSON_LINES_H
#define HEFT_JSON_LINES_H

#include "base/mem.h"

struct heft_json_lines {
    struct heft_str key;
    bool replace; /* U+FFFD for a lone surrogate; else an error */
    bool (*document)(void *ctx, struct heft_str text, struct heft_error *err);
    /* Callback for a line that has no such string, and why; NULL: it is an error. */
    bool (*reject)(void *ctx, const struct heft_error *why, struct heft_error *err);
    void *ctx;
    uint8_t *text; /* the beginning of a line, and room */
    size_t n, cap;
    uint64_t offset, line; /* of text[0]; lines before it */
    uint64_t at;           /* where the line that is being taken begins */
};

HEFT_CHECKED bool heft_json_lines_room(struct heft_json_lines *l, uint8_t **to, size_t *room,
                                       struct heft_error *err);
/* n bytes of valid UTF-8 were put there; 0: that was all. */
HEFT_CHECKED bool heft_json_lines_put(struct heft_json_lines *l, size_t n, struct heft_error *err);
void heft_json_lines_release(struct heft_json_lines *l);

#endif
