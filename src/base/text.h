/* text.h: UTF-8, escaping of untrusted text, JSON strings, glob patterns, sizes. */
#ifndef HEFT_TEXT_H
#define HEFT_TEXT_H

#include "base/mem.h"

/* Index of the first byte that is not valid UTF-8 (surrogates are invalid); n if all are valid.
 * Fast for ASCII. */
size_t heft_utf8_check(struct heft_bytes text);
/* True if `word` occurs in a part of a file. For probes; also fast if the part is full of names
 * like "archive/data/12". */
bool heft_text_mentions(struct heft_bytes part, const char *word);
/* Writes a code point below 2^21 as UTF-8, 1 to 4 bytes, and returns their number. Surrogates are
 * encoded like other characters. */
size_t heft_utf8_put(char *out, uint32_t point);
/* Escapes the first character of s (n > 0) as heft_buf_escaped does: text in out, its length in
 * *out_n. Returns the character's length in s. */
#define HEFT_ESCAPE_MAX 8
size_t heft_escape_char(struct heft_str s, char out[HEFT_ESCAPE_MAX], size_t *out_n);
/* Length of the run of printable ASCII at the begin, without `"` and `\`. */
size_t heft_plain_run(struct heft_str s);
/* Appends s, safe for a terminal: control characters (C0, DEL, C1, U+2028/9 and bidirectional
 * overrides) and bytes that are not UTF-8 appear as \n, \t, \x1b, \u202e; a backslash is not
 * escaped. */
void heft_buf_escaped(struct heft_buf *buf, struct heft_str s);
/* Appends s as a JSON string with its quotes. ascii: everything else as \uXXXX (Python's
 * json.dumps). Not ascii: only `"`, `\` and control characters are escaped (serde_json: \b \f \n \r
 * \t, others as \u00xx in lower case). Bytes that are not UTF-8 become U+FFFD. */
void heft_buf_json(struct heft_buf *buf, struct heft_str s, bool ascii);
/* Writes the fewest digits, 15 or more, from which strtod reads the same finite number, in the form
 * of "%g", with a '.' in every locale. Returns the length without the NUL. */
#define HEFT_DOUBLE_MAX 40
size_t heft_double_text(double number, char out[HEFT_DOUBLE_MAX]);
/* Glob pattern: `*` any run (also of . and /), `?` one character, `[a-z]`, `[!a]`; `\` quotes. Time
 * is at most pattern × text. */
bool heft_glob_match(struct heft_str pattern, struct heft_str text);
/* "5GB" = "5G" = 5e9, "1.5MB", "1e3KB", "5GiB" = 5·2^30, "100" = bytes; spaces around it; units in
 * any case (the hub's decimal grammar; truncated toward zero). Else HEFT_USAGE. */
HEFT_CHECKED bool heft_parse_size(struct heft_str text, uint64_t *out, struct heft_error *err);
/* "100", "1.5K" = 1500, "2M", "1e6", "4Ki" = 4096: a whole number. Else HEFT_USAGE. */
HEFT_CHECKED bool heft_parse_number(struct heft_str text, uint64_t *out, struct heft_error *err);

/* Writes the four base64 characters of 1 to 3 bytes, with padding. */
void heft_base64_group(const uint8_t *p, size_t n, char out[4]);

#endif
