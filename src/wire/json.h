/* json.h: a pull parser of JSON (RFC 8259, strict), made for headers of many megabytes: it hands
 * out tokens with their byte offsets and builds nothing. Iterative; depth at most 127, as
 * serde_json has it. Errors stick: after one, every call gives HEFT_JSON_ERROR and err is filled
 * once.
 *
 *     heft_json_begin(&j, text, base, arena, err)        text that lies in memory, checked UTF-8
 *     heft_json_open(&j, source, off, n, …) … close      text of a source, read through a window
 *
 * HEFT_JSON_OBJECT → then HEFT_JSON_KEY, a value, … → HEFT_JSON_OBJECT_END … HEFT_JSON_END after
 * the one document. Through a window, a token's text lives until the next call. */
#ifndef HEFT_JSON_H
#define HEFT_JSON_H

#include "io/source.h"

enum heft_json_token {
    HEFT_JSON_ERROR,
    HEFT_JSON_OBJECT,
    HEFT_JSON_OBJECT_END,
    HEFT_JSON_ARRAY,
    HEFT_JSON_ARRAY_END,
    HEFT_JSON_KEY,    /* text */
    HEFT_JSON_STRING, /* text: decoded; lone surrogates are an error, in a window all that is no
                         UTF-8 */
    HEFT_JSON_NUMBER, /* text: as written; see heft_json_u64. Beyond a double: an error */
    HEFT_JSON_TRUE,
    HEFT_JSON_FALSE,
    HEFT_JSON_NULL,
    HEFT_JSON_END
};

#define HEFT_JSON_DEPTH   127  /* as the safetensors library has it */
#define HEFT_JSON_DEEPEST 1000 /* for those who ask, with heft_json_as_python */
#define HEFT_JSON_PAD     64   /* zero bytes behind what a window holds */

struct heft_json {
    struct heft_bytes data;
    size_t at;                /* the next byte to be looked at: just behind the last token */
    uint64_t base;            /* file offset of data[0] */
    struct heft_arena *arena; /* for strings with escapes */
    struct heft_error *err;
    struct heft_str text; /* of the last KEY, STRING or NUMBER; borrowed from data (then a string is
                             followed by its quote), or in the arena (then by a NUL) */
    uint64_t where;       /* file offset of the last token */
    uint64_t integer;     /* of the last NUMBER, where is_integer */
    bool is_integer;
    bool skipping;  /* strings are checked, but their text is thrown away */
    bool in_place;  /* strings with escapes are decoded where they stand */
    bool as_python; /* what is skipped only has to be what json.loads takes */
    bool wholly;    /* and so has what is not skipped */
    uint8_t expect; /* what may come next … */
    uint8_t after;  /* … and after the next value */
    uint32_t depth, deepest;
    uint8_t in_object[(HEFT_JSON_DEEPEST + 7) / 8];
    char *spare; /* room in the arena for decoded strings */
    size_t spare_n;
    const struct heft_source *src; /* what the window shows a part of; NULL: data is all there is */
    uint8_t *window;
    size_t cap, low;  /* of the window; refilled where fewer than `low` bytes are left in it */
    uint64_t left;    /* bytes of the text behind data */
    bool cut;         /* the token reaches beyond the window */
    uint8_t begun_as; /* `expect` … */
    size_t begun; /* … and `at` where the last token began: a cut one is read again from there */
};

void heft_json_begin(struct heft_json *json, struct heft_bytes data, uint64_t base,
                     struct heft_arena *arena, struct heft_error *err);
/* The n bytes at `off` of a source, of which about `window` bytes are held at a time (more where a
 * token is longer), followed by HEFT_JSON_PAD zeros. Close it, also after a failure. */
HEFT_CHECKED bool heft_json_open(struct heft_json *json, const struct heft_source *src,
                                 uint64_t off, uint64_t n, size_t window, struct heft_arena *arena,
                                 struct heft_error *err);
void heft_json_close(struct heft_json *json);
/* Takes what Python's json.loads takes: HEFT_JSON_DEEPEST levels; and in what is skipped, numbers
 * beyond a double, NaN, Infinity, -Infinity, and halves of surrogate pairs. */
static inline void heft_json_as_python(struct heft_json *json)
{
    json->deepest = HEFT_JSON_DEEPEST;
    json->as_python = true;
}
/* The same of all values: NaN and Infinity are a NUMBER of that text, a half of a surrogate pair
 * comes as if it were a character. */
static inline void heft_json_wholly_as_python(struct heft_json *json)
{
    heft_json_as_python(json);
    json->wholly = true;
}
/* Decodes strings where they stand, so that none takes memory of the arena: data is the caller's own,
 * and may be written to. */
static inline void heft_json_in_place(struct heft_json *json)
{
    json->in_place = true;
}
enum heft_json_token heft_json_next(struct heft_json *json);
/* Skips the value that begins with the next token, whole. */
HEFT_CHECKED bool heft_json_skip(struct heft_json *json);
/* The last NUMBER as an unsigned integer: digits only, no sign, fraction, exponent or leading zero,
 * < 2^64. */
static inline bool heft_json_u64(const struct heft_json *json, uint64_t *out)
{
    if (!json->is_integer)
        return false;
    *out = json->integer;
    return true;
}
/* "a string", "a number" …: for errors. */
const char *heft_json_token_name(enum heft_json_token token);
/* "dtype is a number, must be a string": fills err, where the token itself was no error, and returns
 * false. */
bool heft_json_refuse(const struct heft_json *json, enum heft_json_token found, const char *what,
                      const char *allowed);

#endif
