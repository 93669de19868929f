/* regexes.h: regular expressions of -e and --rename: POSIX extended ones, with the escapes that people
 * know from Python. A character is a byte, whatever locale the program has set. */
#ifndef HEFT_REGEXES_H
#define HEFT_REGEXES_H

#include <locale.h>
#include <regex.h>

#include "base/mem.h"

#define HEFT_GROUPS 10 /* \0, the whole match, to \9 */

struct heft_regex {
    regex_t compiled;
    locale_t locale;               /* C: the program's decides neither letters nor characters */
    unsigned groups;               /* that the pattern counts */
    uint8_t place[HEFT_GROUPS];    /* of each in `compiled`, which also counts (?:…) */
    regmatch_t found[HEFT_GROUPS]; /* of heft_regex_find; rm_so is -1 where a group took no part */
    bool is_compiled;
};

/* `replacement` (or NULL) is checked against the groups. HEFT_USAGE. A zeroed one may be released. */
HEFT_CHECKED bool heft_regex_compile(struct heft_regex *out, const char *pattern,
                                     const char *replacement, struct heft_error *err);
void heft_regex_release(struct heft_regex *regex);
bool heft_regex_matches(struct heft_regex *regex, struct heft_str text);
/* The first match that begins at `from` or behind it, in regex->found. */
bool heft_regex_find(struct heft_regex *regex, struct heft_str text, size_t from);

/* regex_text.c: a pattern as POSIX writes it, in `out`, and its groups. HEFT_USAGE where POSIX has no
 * such thing: (?=…), *?, \Z within brackets. */
HEFT_CHECKED bool heft_regex_translate(struct heft_regex *regex, const char *pattern,
                                       struct heft_buf *out, struct heft_error *err);

#endif
