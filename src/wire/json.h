/* json.h: a pull parser for JSON (RFC 8259, strict), made for headers of many megabytes: it returns
 * tokens with their byte offsets and builds no tree. Not recursive; at most 127 levels deep, as
 * serde_json. Errors are sticky: after an error every call returns HEFT_JSON_ERROR, and err is
 * filled once.
 *
 *     heft_json_begin(&j, text, base, arena, err)        text in memory, validated as UTF-8
 *     heft_json_open(&j, source, off, n, …) … close      text of a source, read through a window
 *
 * HEFT_JSON_OBJECT → then HEFT_JSON_KEY, a value, … → HEFT_JSON_OBJECT_END … HEFT_JSON_END after
 * the document. With a window the text of a token is valid until the next call. */
#ifndef HEFT_JSON_H
#define HEFT_JSON_H

#include "io/source.h"

/* What may come next: the state of json.c. */
enum heft_json_expect {
    HEFT_JSON_FAILED,
    HEFT_JSON_VALUE,
    HEFT_JSON_FIRST_ITEM,
    HEFT_JSON_FIRST_KEY,
    HEFT_JSON_AFTER_ITEM,
    HEFT_JSON_AFTER_MEMBER,
    HEFT_JSON_DONE
};

enum heft_json_token {
    HEFT_JSON_ERROR,
    HEFT_JSON_OBJECT,
    HEFT_JSON_OBJECT_END,
    HEFT_JSON_ARRAY,
    HEFT_JSON_ARRAY_END,
    HEFT_JSON_KEY,    /* text */
    HEFT_JSON_STRING, /* text: decoded. Lone surrogates are errors; with a window also invalid
                         UTF-8 */
    HEFT_JSON_NUMBER, /* text: as written; see heft_json_u64. Beyond the range of a double: an
                         error */
    HEFT_JSON_TRUE,
    HEFT_JSON_FALSE,
    HEFT_JSON_NULL,
    HEFT_JSON_END
};

#define HEFT_JSON_DEPTH   127  /* the limit of serde_json */
#define HEFT_JSON_DEEPEST 1000 /* the limit after heft_json_as_python */
#define HEFT_JSON_PAD     64   /* zero bytes after the text in a window */

struct heft_json {
    struct heft_bytes data;
    size_t at;                /* next byte to be read: directly after the last token */
    uint64_t base;            /* file offset of data[0] */
    struct heft_arena *arena; /* for strings with escapes */
    struct heft_error *err;
    struct heft_str text; /* of the last KEY, STRING or NUMBER; borrowed from data (a string is
                             then followed by its quote), or in the arena (followed by a NUL) */
    uint64_t where;       /* file offset of the last token */
    uint64_t integer;     /* of the last NUMBER, if is_integer */
    bool is_integer;
    bool skipping;  /* strings are validated, but their text is not kept */
    bool in_place;  /* strings with escapes are decoded in place */
    bool as_python; /* in skipped values everything that json.loads accepts is accepted */
    bool wholly;    /* … and in all other values, too */
    uint8_t expect; /* enum heft_json_expect: what may come next … */
    uint8_t after;  /* … and what after the next value */
    uint32_t depth, deepest;
    uint8_t in_object[(HEFT_JSON_DEEPEST + 7) / 8];
    char *spare; /* unused arena memory for decoded strings */
    size_t spare_n;
    const struct heft_source *src; /* source of the window; NULL: data is the whole text */
    uint8_t *window;
    size_t cap, low;  /* of the window, which is refilled when fewer than `low` bytes are left */
    uint64_t left;    /* bytes of the text after data */
    bool cut;         /* the token is cut by the window's end */
    uint8_t begun_as; /* `expect` at the begin of the last token … */
    size_t begun;     /* … and `at`: a cut token is read again from there */
};

void heft_json_begin(struct heft_json *json, struct heft_bytes data, uint64_t base,
                     struct heft_arena *arena, struct heft_error *err);
/* Reads the n bytes at `off` of a source through a window of about `window` bytes (more for a
 * longer token), which are followed by HEFT_JSON_PAD zeros. Close it, also after a failure. */
HEFT_CHECKED bool heft_json_open(struct heft_json *json, const struct heft_source *src,
                                 uint64_t off, uint64_t n, size_t window, struct heft_arena *arena,
                                 struct heft_error *err);
void heft_json_close(struct heft_json *json);
/* Accepts what Python's json.loads accepts: HEFT_JSON_DEEPEST levels; and in skipped values numbers
 * beyond a double, NaN, Infinity, -Infinity, and lone surrogates. */
static inline void heft_json_as_python(struct heft_json *json)
{
    json->deepest = HEFT_JSON_DEEPEST;
    json->as_python = true;
}
/* The same for all values: NaN and Infinity are a NUMBER with that text; a lone surrogate is
 * encoded like a character. */
static inline void heft_json_wholly_as_python(struct heft_json *json)
{
    heft_json_as_python(json);
    json->wholly = true;
}
/* Decodes strings in place, without memory of the arena: data belongs to the caller and may be
 * overwritten. */
static inline void heft_json_in_place(struct heft_json *json)
{
    json->in_place = true;
}
enum heft_json_token heft_json_next(struct heft_json *json);
/* Reads the next key in one step if it is `quoted` ("\"shape\":", with its quotes and the colon),
 * written without white space. False: nothing is read; heft_json_next reads or refuses what is
 * there. */
HEFT_INLINE bool heft_json_take_key(struct heft_json *json, struct heft_str quoted)
{
    const size_t at = json->at + (json->expect == HEFT_JSON_AFTER_MEMBER);
    const uint8_t *const p = json->data.p;

    if ((at == json->at && json->expect != HEFT_JSON_FIRST_KEY) ||
        json->data.n - json->at <= quoted.n || (at > json->at && p[json->at] != ',') ||
        memcmp(p + at, quoted.p, quoted.n) != 0)
        return false;
    json->text = (struct heft_str){(const char *)p + at + 1, quoted.n - 3};
    json->where = json->base + at;
    json->at = at + quoted.n;
    json->expect = HEFT_JSON_VALUE;
    return true;
}
/* What may come after a complete value, by the container. */
static inline uint8_t heft_json_after_value(const struct heft_json *json)
{
    uint32_t top;

    if (json->depth == 0)
        return HEFT_JSON_DONE;
    top = json->depth - 1;
    return json->in_object[top >> 3] >> (top & 7) & 1 ? HEFT_JSON_AFTER_MEMBER
                                                      : HEFT_JSON_AFTER_ITEM;
}
/* Closes the container that ends with the next byte. */
static inline void heft_json_close_container(struct heft_json *json)
{
    json->where = json->base + json->at;
    json->at++;
    json->depth--;
    json->after = heft_json_after_value(json);
    json->expect = json->after;
}
/* Reads the end of an object in one step if it comes next, without white space before it. False: nothing
 * is read. */
HEFT_INLINE bool heft_json_take_end(struct heft_json *json)
{
    if (json->expect != HEFT_JSON_AFTER_MEMBER || json->at >= json->data.n ||
        json->data.p[json->at] != '}')
        return false;
    heft_json_close_container(json);
    return true;
}
/* The lead of an object: its text from the brace through a key, with the colon. The objects of a long list
 * mostly begin alike; the same bytes in the same state of the parser are the same tokens, so they are
 * compared with those of the object before, and read in one step:
 *
 *     {"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}
 *     0                       1                  2         number of keys that heft_json_take_lead returns
 *
 * Which keys end a lead is the caller's choice: heft_json_lead_key. */
#define HEFT_JSON_LEAD      64 /* bytes at most */
#define HEFT_JSON_LEAD_KEYS 2
struct heft_json_lead {
    uint8_t bytes[HEFT_JSON_LEAD];
    uint8_t ends[HEFT_JSON_LEAD_KEYS]; /* number of bytes through each key */
    unsigned n;                        /* number of keys */
    uint32_t depth;                    /* of the value that is the object */
    uint64_t from;                     /* its file offset */
};
/* Before a value: reads the longest lead that is the same as that of the last object. Returns the number of
 * its keys; the value of the last of them is next, and `text` and `where` are not set. 0: nothing is read.
 * The state of heft_json_as_python must be that of the last object. */
unsigned heft_json_take_lead(struct heft_json *json, struct heft_json_lead *lead);
/* After a key of the object that began at the last heft_json_take_lead, and after all keys that it
 * returned: makes it the next key of the lead, if there is room. */
void heft_json_lead_key(const struct heft_json *json, struct heft_json_lead *lead);
/* After a key: reads its value in one step if it is an array of `least` to `most` unsigned integers,
 * written without white space. Returns HEFT_JSON_ARRAY_END then; *n is the number of integers. Of any
 * other value returns the first token; *n is 0. */
enum heft_json_token heft_json_integers(struct heft_json *json, uint64_t *out, size_t least,
                                        size_t most, size_t *n);
/* Skips the value that begins with the next token. */
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
/* "a string", "a number" …, for errors. */
const char *heft_json_token_name(enum heft_json_token token);
/* Reports, for example, "dtype is a number, must be a string", unless the token is an error itself.
 * Returns false. */
bool heft_json_refuse(const struct heft_json *json, enum heft_json_token found, const char *what,
                      const char *allowed);

#endif
