/* glob.c: names against patterns. One place to come back to is enough: when `*` is met again, the
 * earlier one need never take more. So time is at most pattern × text, and there is no recursion.
 */
#include "base/text.h"

struct glob {
    struct heft_str pattern, text;
    size_t open_from; /* from here on no `[` has its `]`: it stands for itself */
};

/* Bytes of the character at s.p[at]: a whole UTF-8 one, or a single byte that is none. */
static size_t step(struct heft_str s, size_t at)
{
    const uint8_t lead = (uint8_t)s.p[at];
    const size_t length = lead < 0xc2 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 1;
    const struct heft_bytes view = {(const uint8_t *)s.p + at, length};

    if (length == 1 || length > s.n - at || heft_utf8_check(view) != length)
        return 1;
    return length;
}

/* The character at *at, which moves behind it. Characters compare as their bytes do. */
static struct heft_str take(struct heft_str s, size_t *at)
{
    const struct heft_str one = {s.p + *at, step(s, *at)};

    *at += one.n;
    return one;
}

/* The same in a pattern, where a backslash quotes what follows it. */
static struct heft_str take_quoted(struct heft_str s, size_t *at)
{
    if (s.p[*at] == '\\' && *at + 1 < s.n)
        ++*at;
    return take(s, at);
}

/* Tries the set whose `[` stands at *at against one character. False where the set does not end;
 * else *at moves behind its `]` and *hit tells whether the character is in it. */
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

/* Matches one character of the text with what stands at *p, which is not `*`; both move on. */
static bool match_one(struct glob *glob, size_t *p, size_t *t)
{
    const struct heft_str one = take(glob->text, t);
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
    size_t back_p = SIZE_MAX, back_t = 0; /* behind the last `*`, and where its run ends */

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
        back_t += step(text, back_t);
        p = back_p;
        t = back_t;
    }
    return true;
}
