/* glob.c: matches names against glob patterns by backtracking to the last `*` only: when another
 * `*` is reached, the earlier one never needs to match more. Time is at most pattern × text; no
 * recursion. */
#include "base/text.h"

struct glob {
    struct heft_str pattern, text;
    size_t open_from; /* no `[` from here on has a closing `]`: it is an ordinary character */
};

/* Length in bytes of the character at s.p[at]: a UTF-8 sequence, or 1 for an invalid byte. */
static size_t character_length(struct heft_str s, size_t at)
{
    const uint8_t lead = (uint8_t)s.p[at];
    const size_t length = lead < 0xc2 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 1;
    const struct heft_bytes view = {(const uint8_t *)s.p + at, length};

    if (length == 1 || length > s.n - at || heft_utf8_check(view) != length)
        return 1;
    return length;
}

/* Takes the character at *at and advances *at. Characters compare as their bytes do. */
static struct heft_str take_character(struct heft_str s, size_t *at)
{
    const struct heft_str one = {s.p + *at, character_length(s, *at)};

    *at += one.n;
    return one;
}

/* The same in a pattern, where a backslash quotes the next character. */
static struct heft_str take_quoted(struct heft_str s, size_t *at)
{
    if (s.p[*at] == '\\' && *at + 1 < s.n)
        ++*at;
    return take_character(s, at);
}

/* Matches one character against the set whose `[` is at *at. False if the set has no end; else *at
 * is advanced past its `]`, and *hit says whether the character is in the set. */
static bool match_set(struct heft_str pattern, size_t *at, struct heft_str one, bool *hit)
{
    size_t p = *at + 1;
    bool found = false, first = true, inverted = false;

    if (p < pattern.n && pattern.p[p] == '!') {
        inverted = true;
        p++;
    }
    for (; p < pattern.n && (pattern.p[p] != ']' || first); first = false) {
        const struct heft_str low = take_quoted(pattern, &p);
        struct heft_str high = low;

        if (p + 1 < pattern.n && pattern.p[p] == '-' && pattern.p[p + 1] != ']') {
            p++;
            high = take_quoted(pattern, &p);
        }
        if (heft_str_cmp(low, one) <= 0 && heft_str_cmp(one, high) <= 0)
            found = true;
    }
    if (p >= pattern.n)
        return false;
    *at = p + 1;
    *hit = found != inverted;
    return true;
}

/* Matches one character of the text against the pattern at *p, which is not `*`; advances both. */
static bool match_one(struct glob *glob, size_t *p, size_t *t)
{
    const struct heft_str one = take_character(glob->text, t);
    const char c = glob->pattern.p[*p];
    bool hit = false;

    if (c == '?') {
        ++*p;
        return true;
    }
    if (c == '[' && *p < glob->open_from) {
        if (match_set(glob->pattern, p, one, &hit))
            return hit;
        glob->open_from = *p;
    }
    return heft_str_eq(take_quoted(glob->pattern, p), one);
}

bool heft_glob_match(struct heft_str pattern, struct heft_str text)
{
    struct glob glob = {pattern, text, SIZE_MAX};
    size_t p = 0, t = 0;
    size_t back_p = SIZE_MAX, back_t = 0; /* after the last `*`, and where its run ends in the
                                             text */

    while (p < pattern.n || t < text.n) {
        if (p < pattern.n && pattern.p[p] == '*') {
            back_p = ++p;
            back_t = t;
            continue;
        }
        if (p < pattern.n && t < text.n && match_one(&glob, &p, &t))
            continue;
        if (back_p == SIZE_MAX || back_t >= text.n)
            return false;
        back_t += character_length(text, back_t);
        p = back_p;
        t = back_t;
    }
    return true;
}
