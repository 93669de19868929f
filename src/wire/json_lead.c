/* json_lead.c: reads objects that begin alike, see json.h. */
#include "base/endian.h"
#include "wire/json.h"

/* Number of bytes of p that are the same as those of `lead`, or at least n; HEFT_JSON_LEAD bytes of both
 * are readable. */
static size_t count_same(const uint8_t *p, const uint8_t *lead, size_t n)
{
    for (size_t at = 0; at < n; at += 8) {
        const uint64_t differing = heft_le64(p + at) ^ heft_le64(lead + at);

        if (differing)
            return at + heft_lowest_bit(differing) / 8;
    }
    return n;
}

/* Number of keys of the lead that the text has, too, if it has not all of them. */
static HEFT_NOINLINE unsigned count_some(const uint8_t *p, const struct heft_json_lead *lead)
{
    unsigned n = lead->n;
    const size_t same = count_same(p, lead->bytes, lead->ends[n - 1]);

    while (n > 0 && lead->ends[n - 1] > same)
        n--;
    return n;
}

/* Number of keys of the lead that the text has, too. */
static inline unsigned count_keys(const struct heft_json *json, const struct heft_json_lead *lead)
{
    const uint8_t *const p = json->data.p + json->at;

    if (lead->n == 0 || json->expect != HEFT_JSON_VALUE || json->depth != lead->depth ||
        json->data.n - json->at < HEFT_JSON_LEAD)
        return 0;
    return HEFT_LIKELY(memcmp(p, lead->bytes, lead->ends[lead->n - 1]) == 0) ? lead->n
                                                                             : count_some(p, lead);
}

unsigned heft_json_take_lead(struct heft_json *json, struct heft_json_lead *lead)
{
    const uint32_t top = json->depth;
    const unsigned n = count_keys(json, lead);

    lead->n = n;
    lead->from = json->expect == HEFT_JSON_VALUE ? json->base + json->at : UINT64_MAX;
    lead->depth = top;
    if (n > 0) {
        json->at += lead->ends[n - 1];
        json->in_object[top >> 3] |= (uint8_t)(1U << (top & 7));
        json->depth = top + 1;
        json->after = HEFT_JSON_AFTER_MEMBER;
    }
    return n;
}

void heft_json_lead_key(const struct heft_json *json, struct heft_json_lead *lead)
{
    const uint64_t end = json->base + json->at;
    size_t n;

    if (lead->from < json->base || lead->from > end || end - lead->from > HEFT_JSON_LEAD ||
        lead->n == HEFT_JSON_LEAD_KEYS || json->expect != HEFT_JSON_VALUE ||
        json->depth != lead->depth + 1)
        return;
    n = (size_t)(end - lead->from);
    memcpy(lead->bytes, json->data.p + json->at - n, n);
    lead->ends[lead->n++] = (uint8_t)n;
}
