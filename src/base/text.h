/* text.h: UTF-8, escaping of hostile text, JSON strings, globs, sizes. */
#ifndef HEFT_TEXT_H
#define HEFT_TEXT_H

#include "base/mem.h"

/* Index of the first byte that is not valid UTF-8 (surrogates are not), or n. Fast on ASCII. */
size_t heft_utf8_check(struct heft_bytes text);
/* Whether a word stands somewhere in a part of a file: for probes, and fast where the part is full of
 * names like "archive/data/12". */
bool heft_text_mentions(struct heft_bytes part, const char *word);
/* Writes a code point below 2^21, 1 to 4 bytes, and returns how many; surrogates as if they were
 * characters. */
size_t heft_utf8_put(char *out, uint32_t point);
/* The first character of s (n > 0) made safe as below: its text in out, the length of that in
 * *out_n; returns how many bytes of s it was. */
#define HEFT_ESCAPE_MAX 8
size_t heft_escape_char(struct heft_str s, char out[HEFT_ESCAPE_MAX], size_t *out_n);
/* Length of the run of printable ASCII at the front, without `"` and `\`. */
size_t heft_plain_run(struct heft_str s);
/* Appends s safe for a terminal: control characters (C0, DEL, C1, U+2028/9 and bidirectional
 * overrides) and bytes that are no UTF-8 as \n, \t, \x1b, \u202e; a backslash as itself. */
void heft_buf_escaped(struct heft_buf *buf, struct heft_str s);
/* Appends s as a JSON string with its quotes. ascii: all else as \uXXXX (Python's json.dumps);
 * not ascii: only `"`, `\` and control characters are escaped (serde_json: \b \f \n \r \t, else
 * \u00xx lower case). Bytes that are no UTF-8 become U+FFFD. */
void heft_buf_json(struct heft_buf *buf, struct heft_str s, bool ascii);
/* The fewest digits from 15 on that strtod reads back as the same finite number, as of "%g", with a '.'
 * in every locale. Returns how many bytes there are before the NUL. */
#define HEFT_DOUBLE_MAX 40
size_t heft_double_text(double number, char out[HEFT_DOUBLE_MAX]);
/* `*` any run (also of . and /), `?` one character, `[a-z]`, `[!a]`; `\` quotes. Linear
 * backtracking: time at most pattern × text. */
bool heft_glob_match(struct heft_str pattern, struct heft_str text);
/* "5GB" = "5G" = 5e9, "1.5MB", "1e3KB", "5GiB" = 5·2^30, "100" = bytes; spaces around; units in any
 * case (a strict decimal grammar, as of the hub; truncated toward zero). HEFT_USAGE else. */
HEFT_CHECKED bool heft_parse_size(struct heft_str text, uint64_t *out, struct heft_error *err);
/* "100", "1.5K" = 1500, "2M", "1e6", "4Ki" = 4096: a whole number. HEFT_USAGE else. */
HEFT_CHECKED bool heft_parse_number(struct heft_str text, uint64_t *out, struct heft_error *err);

#endif
