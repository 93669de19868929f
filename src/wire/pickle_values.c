/* pickle_values.c: opcodes with binary values: numbers, text, bytes.
 *
 *     BININT1 u8 · BININT2 u16 · BININT i32        LONG1 u8 n, n bytes · LONG4 i32 n, n bytes
 *     BINFLOAT f64, big-endian                     [SHORT_]BINUNICODE[8], BINSTRING, BINBYTES …
 *
 * Text and bytes are borrowed from the pickle. */
#include "wire/pickle_machine.h"

#include "base/text.h"

bool heft_pickle_op_int(struct heft_pickle_machine *m)
{
    return heft_pickle_new_int(m, (int64_t)m->number);
}

bool heft_pickle_op_float(struct heft_pickle_machine *m)
{
    struct heft_pickle_node *node = heft_pickle_new(m, HEFT_PICKLE_FLOAT);

    if (!node)
        return false;
    memcpy(&node->u.number, &m->number, sizeof node->u.number);
    return true;
}

bool heft_pickle_new_long(struct heft_pickle_machine *m, struct heft_bytes number)
{
    const uint8_t sign = number.n && number.p[number.n - 1] & 0x80 ? 0xFF : 0;
    uint64_t value = 0;

    /* Skip bytes that only repeat the sign. */
    while (number.n > 8 && number.p[number.n - 1] == sign &&
           (number.p[number.n - 2] & 0x80) == (sign & 0x80))
        number.n--;
    if (number.n > 8)
        return heft_pickle_new_text(m, HEFT_PICKLE_BIGINT, number);
    for (size_t i = number.n; i > 0; i--)
        value = value << 8 | (uint8_t)(number.p[i - 1] ^ sign);
    return heft_pickle_new_int(m, (int64_t)(sign ? ~value : value));
}

bool heft_pickle_op_long(struct heft_pickle_machine *m)
{
    if (m->text.n > HEFT_PICKLE_INTEGER && !m->limits.lenient)
        return heft_pickle_fail(m, HEFT_LIMIT, "an integer of %zu bytes, the limit is %d",
                                m->text.n, HEFT_PICKLE_INTEGER);
    return heft_pickle_new_long(m, m->text);
}

/* A surrogate as Python encodes it with "surrogatepass": ED A0..BF 80..BF. */
static bool is_surrogate(const uint8_t *p, size_t n)
{
    return n >= 3 && p[0] == 0xED && p[1] >= 0xA0 && p[1] <= 0xBF && p[2] >= 0x80 && p[2] <= 0xBF;
}

size_t heft_pickle_text_check(struct heft_bytes text)
{
    size_t at = 0;

    for (;;) {
        at += heft_utf8_check((struct heft_bytes){text.p + at, text.n - at});
        if (at == text.n || !is_surrogate(text.p + at, text.n - at))
            return at;
        at += 3;
    }
}

bool heft_pickle_op_str(struct heft_pickle_machine *m)
{
    const size_t good = heft_pickle_text_check(m->text);

    if (good < m->text.n)
        return heft_pickle_fail(m, HEFT_MALFORMED, "byte 0x%02x at %zu of %zu is not UTF-8",
                                m->text.p[good], good, m->text.n);
    return heft_pickle_new_text(m, HEFT_PICKLE_STR, m->text);
}

bool heft_pickle_op_raw(struct heft_pickle_machine *m)
{
    return heft_pickle_new_text(m, (enum heft_pickle_kind)m->op->a, m->text);
}
