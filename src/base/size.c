/* size.c: parses sizes and counts as people and the Hugging Face hub write them.
 *
 *     size   = spaces number spaces [unit ["B"]] spaces
 *     count  = spaces number spaces [unit] spaces
 *     number = ["+"] (digits ["." [digits]] | "." digits) [("e" | "E") ["+" | "-"] digits]
 *     unit   = K M G T (powers of 1000) | Ki Mi Gi Ti (powers of 1024), in any case
 *
 * A count must be a whole number: 1.5K is 1500, and 1.5 is refused. A size may have a fraction of a
 * byte. The hub computes int(float(number) * unit). Here whole numbers are computed exactly, which
 * gives the same result below 2^53 and a better one above; fractions are rounded in the same two
 * steps as by the hub, so that both give the same number of bytes. */
#include "base/text.h"

struct decimal {
    uint64_t mantissa;
    int64_t exponent; /* power of ten */
    bool full;        /* no more digits fit into the mantissa */
    bool cut;         /* significant digits were dropped */
};

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static struct heft_str trim_space(struct heft_str s)
{
    while (s.n && is_space(s.p[0])) {
        s.p++;
        s.n--;
    }
    while (s.n && is_space(s.p[s.n - 1]))
        s.n--;
    return s;
}

static bool accept_letter(struct heft_str *s, char a, char b)
{
    if (s->n == 0 || (s->p[0] != a && s->p[0] != b))
        return false;
    s->p++;
    s->n--;
    return true;
}

/* Takes digits; scale is -1 after the decimal point. Leading zeros do not count towards the
 * mantissa. */
static size_t take_digits(struct heft_str *s, struct decimal *out, int scale)
{
    size_t n = 0;

    for (; n < s->n && is_digit(s->p[n]); n++) {
        const uint64_t digit = (uint64_t)(s->p[n] - '0');

        if (out->mantissa > (UINT64_MAX - digit) / 10)
            out->full = true;
        if (out->full) {
            out->exponent += scale + 1;
            out->cut |= digit != 0;
        } else {
            out->mantissa = out->mantissa * 10 + digit;
            out->exponent += scale;
        }
    }
    s->p += n;
    s->n -= n;
    return n;
}

/* Takes an exponent, if there is one. An E without digits belongs to the unit. */
static void take_exponent(struct heft_str *s, struct decimal *out)
{
    struct heft_str rest = *s;
    int64_t value = 0;
    bool negative;

    if (!accept_letter(&rest, 'e', 'E'))
        return;
    negative = rest.n && rest.p[0] == '-';
    (void)accept_letter(&rest, '+', '-');
    if (rest.n == 0 || !is_digit(rest.p[0]))
        return;
    for (; rest.n && is_digit(rest.p[0]); rest.p++, rest.n--)
        if (value < 1000000)
            value = value * 10 + (rest.p[0] - '0');
    out->exponent += negative ? -value : value;
    *s = rest;
}

static bool take_number(struct heft_str *s, struct decimal *out)
{
    size_t digits;

    (void)accept_letter(s, '+', '+');
    digits = take_digits(s, out, 0);
    if (accept_letter(s, '.', '.'))
        digits += take_digits(s, out, -1);
    if (digits == 0)
        return false;
    take_exponent(s, out);
    return true;
}

/* Parses K, Ki and so on; an empty unit is 1. */
static bool unit_of(struct heft_str s, uint64_t *unit)
{
    static const char letters[] = "kmgt";
    const bool binary = s.n == 2 && (s.p[1] | 0x20) == 'i';

    *unit = 1;
    if (s.n == 0)
        return true;
    if (s.n != 1 && !binary)
        return false;
    for (size_t i = 0; i < sizeof letters - 1; i++) {
        *unit *= binary ? 1024 : 1000;
        if ((s.p[0] | 0x20) == letters[i])
            return true;
    }
    return false;
}

/* Parses KB, KiB, or the unit alone. */
static bool size_unit_of(struct heft_str s, uint64_t *unit)
{
    s.n -= s.n > 1 && (s.p[s.n - 1] | 0x20) == 'b';
    return unit_of(s, unit);
}

static double power_of_ten(int64_t n) /* 10^n for n of 0 to 22, where doubles are exact */
{
    double power = 1;

    while (n-- > 0)
        power *= 10;
    return power;
}

/* Computes mantissa × unit / 10^places, for places > 0. */
static bool scale_fraction(const struct decimal *number, uint64_t unit, int64_t places,
                           uint64_t *out)
{
    uint64_t whole = number->mantissa;

    if (whole < UINT64_C(1) << 53 && places <= 22 && !number->cut) {
        /* Both operands are exact, so that the quotient is the correctly rounded double. */
        const double value = (double)whole / power_of_ten(places) * (double)unit;

        if (value >= 18446744073709551616.0)
            return false;
        *out = (uint64_t)value;
        return true;
    }
    /* More digits than a double has: cancel factors of ten with the unit first, then drop digits at
     * the end. */
    while (places > 0 && unit % 10 == 0) {
        unit /= 10;
        places--;
    }
    for (; places > 0 && whole != 0 && whole > UINT64_MAX / unit; places--)
        whole /= 10;
    if (!heft_mul(whole, unit, &whole))
        return false;
    for (; places > 0 && whole != 0; places--)
        whole /= 10;
    *out = whole;
    return true;
}

static bool scale_number(struct decimal number, uint64_t unit, uint64_t *out)
{
    *out = 0;
    if (number.mantissa == 0)
        return true;
    while (number.exponent < 0 && number.mantissa % 10 == 0) {
        number.mantissa /= 10;
        number.exponent++;
    }
    if (number.exponent < 0)
        return scale_fraction(&number, unit, -number.exponent, out);
    if (number.exponent > 0 && number.cut) /* the dropped digits did not fit into 64 bits */
        return false;
    *out = number.mantissa;
    for (; number.exponent > 0; number.exponent--)
        if (!heft_mul(*out, 10, out))
            return false;
    return heft_mul(*out, unit, out);
}

/* Parses the number at the begin of a text; `what` names the text in errors. *unit is the text
 * after the number. */
static bool parse_number(struct heft_str text, const char *what, struct decimal *number,
                         struct heft_str *unit, struct heft_error *err)
{
    struct heft_str rest = trim_space(text);

    if (rest.n == 0)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "the %s is empty, expected a number",
                         what);
    if (!take_number(&rest, number))
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "%s '%.*s': expected a number such as 5 or 1.5", what,
                         (int)heft_min_u64(text.n, 100), text.p);
    *unit = trim_space(rest);
    return true;
}

static bool refuse_unit(struct heft_str text, const char *what, struct heft_str unit,
                        const char *allowed, struct heft_error *err)
{
    return heft_fail(
        err, HEFT_USAGE, HEFT_NO_OFFSET, "%s '%.*s': the unit is '%.*s'; expected %s or none", what,
        (int)heft_min_u64(text.n, 100), text.p, (int)heft_min_u64(unit.n, 100), unit.p, allowed);
}

bool heft_parse_size(struct heft_str text, uint64_t *out, struct heft_error *err)
{
    struct decimal number = {0};
    struct heft_str rest;
    uint64_t unit, size;

    if (!parse_number(text, "size", &number, &rest, err))
        return false;
    if (!size_unit_of(rest, &unit))
        return refuse_unit(text, "size", rest, "KB, MB, GB, TB, KiB, MiB, GiB, TiB", err);
    if (!scale_number(number, unit, &size))
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "size '%.*s' is beyond 2^64 bytes",
                         (int)heft_min_u64(text.n, 100), text.p);
    *out = size;
    return true;
}

/* Scales exactly; false if digits were dropped or the result is not a whole number. */
static bool scale_exactly(struct decimal number, uint64_t unit, uint64_t *out)
{
    if (number.mantissa == 0 && !number.cut) {
        *out = 0;
        return true;
    }
    while (number.exponent < 0 && number.mantissa % 10 == 0) {
        number.mantissa /= 10;
        number.exponent++;
    }
    if (number.cut || !heft_mul(number.mantissa, unit, out))
        return false;
    for (; number.exponent > 0; number.exponent--)
        if (!heft_mul(*out, 10, out))
            return false;
    for (; number.exponent < 0; number.exponent++, *out /= 10)
        if (*out % 10 != 0)
            return false;
    return true;
}

bool heft_parse_number(struct heft_str text, uint64_t *out, struct heft_error *err)
{
    struct decimal number = {0};
    struct heft_str rest;
    uint64_t unit, count;

    if (!parse_number(text, "number", &number, &rest, err))
        return false;
    if (!unit_of(rest, &unit))
        return refuse_unit(text, "number", rest, "K, M, G, T, Ki, Mi, Gi, Ti", err);
    if (!scale_exactly(number, unit, &count))
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "number '%.*s': expected a whole number below 2^64",
                         (int)heft_min_u64(text.n, 100), text.p);
    *out = count;
    return true;
}
