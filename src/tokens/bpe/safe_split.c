/* safe_split.c: positions at which a text may be split for workers. */
#include "tokens/bpe/safe_split.h"

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
