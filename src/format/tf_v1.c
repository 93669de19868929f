/* tf_v1.c: V1 checkpoints (to come with their reader). */
#include "format/tf_parts.h"

/* What follows the first entry's lengths, where its key is empty. */
static struct heft_bytes first_value(struct heft_bytes head, size_t at)
{
    const struct heft_bytes none = {head.p, 0};

    if (!heft_within(at, 3, head.n) || head.p[at] != 0 || head.p[at + 1] != 0)
        return none;
    at += 2;
    for (unsigned i = 0; i < 5 && at < head.n && head.p[at] & 0x80; i++)
        at++;
    at++;
    return at < head.n ? (struct heft_bytes){head.p + at, head.n - at} : none;
}

/* The bytes of a packed block begin behind its length with a literal. */
static size_t skip_literal(struct heft_bytes head)
{
    size_t at = 0;

    while (at < 5 && at < head.n && head.p[at] & 0x80)
        at++;
    at++;
    if (at >= head.n || (head.p[at] & 3) != 0)
        return head.n;
    return at + 1 + (head.p[at] >> 2 >= 60 ? (size_t)(head.p[at] >> 2) - 59 : 0);
}

bool heft_tf_is_v1(struct heft_bytes head)
{
    struct heft_bytes value = first_value(head, 0);

    if (value.n == 0)
        value = first_value(head, skip_literal(head));
    return value.n > 0 && value.p[0] == 0x0a; /* a message as field 1; V2 has a number there */
}
