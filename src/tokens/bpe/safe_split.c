/* safe_split.c: positions at which a text may be split for workers. */
#include "tokens/bpe/safe_split.h"

#include "tokens/prepare/nfc.h"
#include "tokens/prepare/word_chars.h"
#include "tokens/unicode/utf8.h"

static size_t begin_of_character(const uint8_t *text, size_t at)
{
    while (at > 0 && heft_utf8_is_tail(text[at]))
        at--;
    return at;
}

static enum heft_class class_at(const struct heft_classes *classes, const uint8_t *p)
{
    unsigned width;

    return heft_class_of(classes, heft_utf8_at(p, &width));
}

/* Whether the text may be split between two adjacent characters, at `left` and at `right`. */
static bool is_cut(const struct heft_classes *classes, const uint8_t *text, size_t left,
                   size_t right)
{
    const enum heft_class before = class_at(classes, text + left);
    const enum heft_class behind = class_at(classes, text + right);

    if (before == behind || text[left] == ' ')
        return false;
    if (before != HEFT_CLASS_SPACE)
        return text[left] != '\'' || behind != HEFT_CLASS_LETTER;
    return left > 0 &&
           class_at(classes, text + begin_of_character(text, left - 1)) != HEFT_CLASS_SPACE;
}

size_t heft_safe_split_before(const struct heft_classes *classes, const uint8_t *text, size_t n,
                              size_t at)
{
    size_t right = n ? begin_of_character(text, heft_min_size(at, n - 1)) : 0;

    while (right > 0) {
        const size_t left = begin_of_character(text, right - 1);

        if (is_cut(classes, text, left, right))
            return right;
        right = left;
    }
    return 0;
}

/* ---- for a vocabulary -------------------------------------------------------------------- */

bool heft_safe_split_init(struct heft_safe_split *s, const struct heft_vocab *v,
                          const char *unicode, bool special, struct heft_error *err)
{
    *s = (struct heft_safe_split){.is_nfc = v->is_nfc};
    for (int normalized = 0; normalized < 2; normalized++)
        s->searches[normalized] = heft_vocab_added(v, special, normalized);
    return heft_vocab_pretokens(v, unicode, &s->pretokens, &s->own, err) &&
           (s->pretokens || heft_classes_init(&s->classes, unicode ? unicode : v->unicode, err));
}

void heft_safe_split_release(struct heft_safe_split *s)
{
    heft_pretokens_free(s->own);
    s->own = NULL;
}

/* Whether a search for added tokens allows it. A search in normalized text sees this one if it has
 * the same characters as far as the search looks. */
static bool is_search_cut(const struct heft_safe_split *s, bool normalized, const uint8_t *text,
                          size_t n, size_t at)
{
    const struct heft_added_search *const search = s->searches[normalized];
    size_t longest;

    if (!search)
        return true;
    longest = heft_added_search_longest(search);
    return heft_added_search_is_cut(search, text, n, at) &&
           (!normalized || !s->is_nfc ||
            (at > longest && n - at > longest &&
             heft_nfc_is_settled(text, n, at - longest - 1, at + longest)));
}

/* Whether normalization allows it: an ASCII character composes with nothing before it, and the
 * characters by which a split pattern is cut stay as they are: those at both sides, and the one before
 * white space. */
static bool is_normal_cut(const uint8_t *text, size_t n, size_t at)
{
    size_t from = begin_of_character(text, at - 1);
    unsigned width;

    if (from > 0 && heft_is_white_space(heft_utf8_at(text + from, &width)))
        from = begin_of_character(text, from - 1);
    return text[at] < 0x80 && heft_nfc_is_settled(text, n, from, at + 1);
}

/* Whether the stages before the pre-tokens allow it. */
static bool is_stage_cut(const struct heft_safe_split *s, const uint8_t *text, size_t n, size_t at)
{
    return (!s->is_nfc || is_normal_cut(text, n, at)) && is_search_cut(s, false, text, n, at) &&
           is_search_cut(s, true, text, n, at);
}

size_t heft_safe_split_find(const struct heft_safe_split *s, const uint8_t *text, size_t n,
                            size_t at)
{
    for (;;) {
        at = s->pretokens ? heft_pretokens_cut_before(s->pretokens, text, n, at)
                          : heft_safe_split_before(&s->classes, text, n, at);
        if (at == 0 || is_stage_cut(s, text, n, at))
            return at;
        at--;
    }
}
