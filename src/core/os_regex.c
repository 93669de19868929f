/* os_regex.c: regular expressions of the C library. A search after an earlier match must see the
 * text before it (for \b and ^): REG_STARTEND of glibc, the BSDs and macOS does that. */
#include "core/regexes.h"

#include "base/text.h"

#ifdef REG_STARTEND
enum { FLAGS = REG_STARTEND };

static const char *begin_search(struct heft_regex *regex, struct heft_str text, size_t from,
                                size_t *shift, int *flags)
{
    regex->found[0] = (regmatch_t){(regoff_t)from, (regoff_t)text.n};
    *shift = 0;
    *flags = FLAGS;
    return text.p;
}
#else
/* Without REG_STARTEND, a search after an earlier match treats its start as the start of the
 * text. */
static const char *begin_search(struct heft_regex *regex, struct heft_str text, size_t from,
                                size_t *shift, int *flags)
{
    (void)regex;
    *shift = from;
    *flags = from ? REG_NOTBOL : 0;
    return text.p + from;
}
#endif

static bool search_text(struct heft_regex *regex, const char *begin, size_t n, regmatch_t *found,
                        int flags)
{
    const locale_t before = uselocale(regex->locale); /* the locale of this thread */
    const bool is_found = regexec(&regex->compiled, begin, n, found, flags) == 0;

    uselocale(before);
    return is_found;
}

bool heft_regex_matches(struct heft_regex *regex, struct heft_str text)
{
    size_t shift;
    int flags;
    const char *begin = begin_search(regex, text, 0, &shift, &flags);

    return search_text(regex, begin, 0, regex->found, flags);
}

bool heft_regex_find(struct heft_regex *regex, struct heft_str text, size_t from)
{
    regmatch_t all[HEFT_GROUPS * 4];
    const char *begin;
    size_t shift;
    int flags;

    begin = begin_search(regex, text, from, &shift, &flags);
    all[0] = regex->found[0];
    if (!search_text(regex, begin, HEFT_COUNT(all), all, flags))
        return false;
    for (unsigned i = 0; i <= regex->groups && i < HEFT_GROUPS; i++) {
        regex->found[i] = all[regex->place[i]];
        if (regex->found[i].rm_so >= 0) {
            regex->found[i].rm_so += (regoff_t)shift;
            regex->found[i].rm_eo += (regoff_t)shift;
        }
    }
    return true;
}

/* Checks a replacement: \1 … \9 and \g<1> … \g<9> are groups, \ before a punctuation character
 * is that character. */
static bool check_replacement(const struct heft_regex *regex, const char *to,
                              struct heft_error *err)
{
    for (const char *p = strchr(to, '\\'); p; p = strchr(p + 2, '\\')) {
        const bool named = p[1] == 'g' && p[2] == '<' && p[3] >= '0' && p[3] <= '9' && p[4] == '>';
        const char digit = named ? p[3] : p[1];

        if (digit >= '0' && digit <= '9') {
            if ((unsigned)(digit - '0') > regex->groups)
                return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                                 "replacement \"%s\": \\%c refers to a group that the expression "
                                 "does not have; it has %u",
                                 to, digit, regex->groups);
        } else if (p[1] == '\0' || (p[1] >= 'a' && p[1] <= 'z') || (p[1] >= 'A' && p[1] <= 'Z')) {
            return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                             "replacement \"%s\": expected a digit or a sign after \\", to);
        }
    }
    return true;
}

static bool compile_pattern(struct heft_regex *out, const char *pattern, const char *posix,
                            struct heft_error *err)
{
    char why[128];
    locale_t before;
    int status;

    out->locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!out->locale)
        return heft_fail(err, HEFT_NOMEM, HEFT_NO_OFFSET, "no memory for a locale");
    before = uselocale(out->locale);
    status = regcomp(&out->compiled, posix, REG_EXTENDED);
    if (status != 0)
        regerror(status, &out->compiled, why, sizeof why);
    uselocale(before);
    out->is_compiled = status == 0;
    return status == 0 || heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                                    "regular expression \"%s\": %s", pattern, why);
}

bool heft_regex_compile(struct heft_regex *out, const char *pattern, const char *replacement,
                        struct heft_error *err)
{
    struct heft_buf posix = {0};
    bool ok;

    *out = (struct heft_regex){0};
    ok = heft_regex_translate(out, pattern, &posix, err);
    if (ok) {
        heft_buf_char(&posix, '\0');
        ok = heft_buf_ok(&posix, err) && compile_pattern(out, pattern, posix.p, err);
    }
    heft_buf_release(&posix);
    return ok && (!replacement || check_replacement(out, replacement, err));
}

void heft_regex_release(struct heft_regex *regex)
{
    if (regex->is_compiled)
        regfree(&regex->compiled);
    if (regex->locale)
        freelocale(regex->locale);
    *regex = (struct heft_regex){0};
}
