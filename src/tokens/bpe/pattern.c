/* pattern.c: the split pattern, one pre-token at a time. */
#include "tokens/bpe/pattern.h"

#include "tokens/unicode/utf8.h"

static unsigned class_at(const struct heft_classes *classes, const uint8_t *p, unsigned *width)
{
    return heft_class_of(classes, heft_utf8_at(p, width));
}

size_t heft_run_end(const struct heft_classes *classes, const uint8_t *text, size_t n, size_t at,
                    unsigned class, size_t *last)
{
    unsigned width;

    while (at < n && class_at(classes, text + at, &width) == class) {
        *last = at;
        at += width;
    }
    return at;
}

static uint64_t of_class(const struct heft_masks *m, unsigned class)
{
    const uint64_t of[] = {~(m->letter | m->number | m->space), m->letter, m->number, m->space};

    return of[class] & ~m->wide;
}

size_t heft_long_run_end(const struct heft_kernel *kernel, const struct heft_classes *classes,
                         const uint8_t *text, size_t n, size_t at, unsigned class, size_t *last)
{
    const size_t from = at;
    struct heft_masks m;
    uint64_t others = 0;

    for (; others == 0 && n - at >= HEFT_SCAN_BLOCK; at += HEFT_SCAN_BLOCK) {
        kernel->masks(text + at, &m);
        others = ~of_class(&m, class);
    }
    if (others)
        at -= HEFT_SCAN_BLOCK - heft_lowest_bit(others);
    if (at > from)
        *last = at - 1;
    return heft_run_end(classes, text, n, at, class, last);
}

/* Length of a contraction ('s, 't, 're …) at p; 0 if there is none. */
static size_t contraction_length(const uint8_t *p, size_t n)
{
    if (n < 2 || p[0] != '\'')
        return 0;
    if (p[1] == 's' || p[1] == 't' || p[1] == 'm' || p[1] == 'd')
        return 2;
    return n >= 3 && ((p[2] == 'e' && (p[1] == 'r' || p[1] == 'v')) || (p[1] == 'l' && p[2] == 'l'))
               ? 3
               : 0;
}

size_t heft_split_word(const struct heft_classes *classes, const uint8_t *text, size_t n, size_t at)
{
    const size_t short_form = contraction_length(text + at, n - at);
    const size_t from = text[at] == ' ' && at + 1 < n ? at + 1 : at;
    size_t last = at, end;
    unsigned class, width;

    if (short_form)
        return at + short_form;
    class = class_at(classes, text + from, &width);
    if (class != HEFT_CLASS_SPACE)
        return heft_run_end(classes, text, n, from, class, &last);
    end = heft_run_end(classes, text, n, at, HEFT_CLASS_SPACE, &last);
    return end == n || last == at ? end
                                  : last; /* the last white space belongs to the next pre-token */
}
