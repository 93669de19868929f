/* suggest.c: finds the tensor names closest to a name that does not exist. Linear in the number of
 * tensors. */
#include "main/suggest.h"

#include <stdint.h>
#include <string.h>

enum { MAX_LIMIT = 8, MAX_NAME = 256 };

static unsigned min_unsigned(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Levenshtein distance, restricted to the diagonal band that a distance of at most `limit` can use:
 * band[d] is column row + d - limit. */
unsigned edit_distance(const char *a, size_t a_len, const char *b, size_t b_len, unsigned limit)
{
    unsigned band[2 * MAX_LIMIT + 1];
    const unsigned over = limit + 1, width = 2 * limit + 1;
    const size_t gap = a_len > b_len ? a_len - b_len : b_len - a_len;

    if (limit > MAX_LIMIT || gap > limit)
        return over;
    for (unsigned d = 0; d < width; d++)
        band[d] = d < limit ? over : d - limit;
    for (size_t row = 1; row <= a_len; row++) {
        for (unsigned d = 0; d < width; d++) {
            const size_t column = row + d - limit; /* wraps around below 0: then > b_len */
            unsigned cost = over;
            if (column <= b_len) {
                if (column)
                    cost = band[d] + (a[row - 1] != b[column - 1]);
                if (d + 1 < width)
                    cost = min_unsigned(cost, band[d + 1] + 1);
                if (d && column)
                    cost = min_unsigned(cost, band[d - 1] + 1);
            }
            band[d] = min_unsigned(cost, over);
        }
    }
    return band[limit + b_len - a_len];
}

/* Distance of a tensor's name from the wanted one: 0 is best, 100 means unrelated. */
static unsigned name_distance(const char *wanted, size_t n, const struct heft_tensor *t)
{
    const unsigned limit = n < 4 ? 1 : n < 9 ? 2 : 3;
    unsigned edits;
    if (t->name_len > n && !memcmp(t->name + t->name_len - n, wanted, n))
        return t->name[t->name_len - n - 1] == '.' ? 1 : 4;
    edits =
        t->name_len > MAX_NAME ? limit + 1 : edit_distance(wanted, n, t->name, t->name_len, limit);
    if (edits <= limit)
        return edits;
    return n >= 4 && strstr(t->name, wanted) ? 5 : 100;
}

size_t near_tensors(const struct heft_checkpoint *c, const char *name, size_t near[MAX_NEAR])
{
    unsigned best[MAX_NEAR];
    const size_t n = strlen(name);
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);
    size_t found = 0;

    if (!n || n > MAX_NAME)
        return 0;
    for (size_t i = 0; heft_tensor_at(c, i, &t); i++) {
        const unsigned far = name_distance(name, n, &t);
        size_t at = found;
        while (at && best[at - 1] > far)
            at--;
        if (far >= 100 || at >= MAX_NEAR)
            continue;
        found = found < MAX_NEAR ? found + 1 : found;
        for (size_t k = found - 1; k > at; k--) {
            best[k] = best[k - 1];
            near[k] = near[k - 1];
        }
        best[at] = far;
        near[at] = i;
    }
    return found;
}
