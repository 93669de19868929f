/* regexes.h: regular expressions for selecting and renaming: POSIX extended syntax with the
 * escapes of Python. A character is a byte, independent of the program's locale. */
#ifndef HEFT_REGEXES_H
#define HEFT_REGEXES_H

#include <locale.h>
#include <regex.h>

#include "base/mem.h"

#define HEFT_GROUPS 10 /* \0 (the whole match) to \9 */

struct heft_regex {
    regex_t compiled;
    locale_t locale;            /* the C locale: the program's has no influence */
    unsigned groups;            /* number of capturing groups of the pattern */
    uint8_t place[HEFT_GROUPS]; /* number of each group in `compiled`, which counts (?:…), too */
    regmatch_t found
        /* match of heft_regex_find; rm_so is -1 for a group that did not take part */
        [HEFT_GROUPS];
    bool is_compiled;
};

/* Compiles a pattern, and checks the groups of `replacement` if it is not NULL. HEFT_USAGE. A
 * zeroed struct may be released. */
HEFT_CHECKED bool heft_regex_compile(struct heft_regex *out, const char *pattern,
                                     const char *replacement, struct heft_error *err);
void heft_regex_release(struct heft_regex *regex);
bool heft_regex_matches(struct heft_regex *regex, struct heft_str text);
/* Finds the first match that starts at or after `from`; regex->found has its groups. */
bool heft_regex_find(struct heft_regex *regex, struct heft_str text, size_t from);

/* regex_text.c: translates a pattern to POSIX extended syntax in `out`, and sets groups and
 * place. HEFT_USAGE for syntax without an equivalent: (?=…), *?, \Z within brackets. */
HEFT_CHECKED bool heft_regex_translate(struct heft_regex *regex, const char *pattern,
                                       struct heft_buf *out, struct heft_error *err);

#endif
