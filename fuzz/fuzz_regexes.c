/* fuzz_regexes.c: a pattern of -e or --rename, a line feed, a replacement, a line feed, a name.
 *
 * Invariants: a pattern is compiled or refused with HEFT_USAGE; matches lie inside the name, in
 * order; a pattern that is found in a name matches it. */
#include <stdint.h>

#include "open_format.h"
#include "core/regexes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 64 }; /* longer patterns and names take the C library more than linear time */

static void search(struct heft_regex *regex, struct heft_str name)
{
    size_t at = 0;
    bool any = false;

    while (at <= name.n && heft_regex_find(regex, name, at)) {
        const regmatch_t *found = regex->found;

        any = true;
        expect(found[0].rm_so >= (regoff_t)at && found[0].rm_so <= found[0].rm_eo &&
               found[0].rm_eo <= (regoff_t)name.n);
        for (unsigned i = 1; i <= regex->groups && i < HEFT_GROUPS; i++)
            expect(found[i].rm_so < 0 || found[i].rm_eo <= (regoff_t)name.n);
        at = (size_t)found[0].rm_eo + (found[0].rm_so == found[0].rm_eo);
    }
    expect(any == heft_regex_matches(regex, name));
}

/* Text up to the next line feed, or to the end. */
static const char *take_line(const char **at, char line[MOST + 1])
{
    const size_t n = strcspn(*at, "\n"), kept = n < MOST ? n : MOST;

    memcpy(line, *at, kept);
    line[kept] = '\0';
    *at += n + ((*at)[n] == '\n');
    return line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[3 * MOST + 4], pattern[MOST + 1], to[MOST + 1], name[MOST + 1];
    const char *at = text;
    struct heft_error err = {0};
    struct heft_regex regex;

    if (size >= sizeof text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    (void)take_line(&at, pattern);
    (void)take_line(&at, to);
    (void)take_line(&at, name);
    if (heft_regex_compile(&regex, pattern, to, &err))
        search(&regex, heft_str_of(name));
    else
        expect(err.code == HEFT_USAGE || err.code == HEFT_NOMEM);
    heft_regex_release(&regex);
    return 0;
}
