/* json_integers.c: reads arrays of integers in one step, see json.h. */
#include "base/digits.h"
#include "wire/json.h"

#define SURE_DIGITS 19 /* so many digits are always below 2^64 */

/* Parses the digits at p, at most SURE_DIGITS of them and followed by another byte. Returns their
 * number; 0 if the text has any other form. The sum of 20 digits, which is not used, may overflow. */
HEFT_WRAPS static inline size_t plain_integer(const uint8_t *p, size_t n, uint64_t *value)
{
    const size_t most = heft_min_size(n, SURE_DIGITS + 1);
    size_t at = n > 8 ? heft_few_digits(p, value) : 0;
    uint64_t v = 0;

    if (HEFT_LIKELY(at > 0))
        return at;
    for (; at < most && (uint8_t)(p[at] - '0') < 10; at++)
        v = v * 10 + (uint64_t)(p[at] - '0');
    *value = v;
    return at == most || (p[0] == '0' && at > 1) ? 0 : at;
}

/* The same for the array at p, which ends before `end`: returns its length in bytes. */
static inline size_t plain_integers(const uint8_t *p, const uint8_t *end, uint64_t *out,
                                    size_t most, size_t *count)
{
    const uint8_t *at = p + 1;
    size_t digits, k = 0;
    uint64_t value;

    if (end - p < 2 || *p != '[')
        return 0;
    if (*at == ']')
        return 2;
    do {
        digits = plain_integer(at, (size_t)(end - at), &value);
        if (digits == 0 || k == most)
            return 0;
        out[k++] = value;
        at += digits + 1;
    } while (at[-1] == ',');
    *count = k;
    return at[-1] == ']' ? (size_t)(at - p) : 0;
}

enum heft_json_token heft_json_integers(struct heft_json *json, uint64_t *out, size_t least,
                                        size_t most, size_t *n)
{
    const uint8_t *const p = json->data.p + json->at, *const end = json->data.p + json->data.n;
    size_t bytes = 0, count = 0;

    if (json->expect == HEFT_JSON_VALUE && json->depth < json->deepest)
        bytes = plain_integers(p, end, out, most, &count);
    if (HEFT_UNLIKELY(bytes == 0 || count < least)) {
        *n = 0;
        return heft_json_next(json);
    }
    *n = count;
    json->at += bytes;
    json->where = json->base + json->at - 1;
    json->expect = json->after;
    return HEFT_JSON_ARRAY_END;
}
