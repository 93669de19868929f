/* scan_tar_head.c: decodes tar headers as Python's tarfile does.
 *
 *     numbers   blanks, sign, "0o", octal digits with underscores between them, up to a NUL; or 80
 *               or ff and big-endian bytes
 *     checksum  the sum of the bytes, signed or unsigned, with the checksum field itself as blanks
 *     pax       records "LENGTH KEY=VALUE\n"; the last of duplicate keys counts */
#include "scan/scan_parts.h"

#define BLOCK 512

static bool is_blank(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1C && c <= 0x1F);
}

static bool binary_number(const uint8_t *p, size_t n, int64_t *out)
{
    const uint8_t sign = p[0] == 0xFF ? 0xFF : 0;
    uint64_t value = 0;

    for (size_t i = 1; i < n; i++) {
        if (value >> 55)
            return false;
        value = value << 8 | (uint8_t)(p[i] ^ sign);
    }
    *out = sign ? -(int64_t)value - 1 : (int64_t)value;
    return true;
}

static bool octal_digits(const uint8_t *p, size_t n, uint64_t *value)
{
    bool was_digit = false;

    *value = 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '_' ? !was_digit : p[i] < '0' || p[i] > '7' || *value >> 59)
            return false;
        was_digit = p[i] != '_';
        if (was_digit)
            *value = *value << 3 | (uint64_t)(p[i] - '0');
    }
    return was_digit || n == 0;
}

bool heft_scan_tar_number(const uint8_t *p, size_t n, int64_t *out)
{
    const uint8_t *nul = memchr(p, 0, n);
    bool negative;
    uint64_t value;

    if (p[0] == 0x80 || p[0] == 0xFF)
        return binary_number(p, n, out);
    n = nul ? (size_t)(nul - p) : n;
    for (; n && is_blank(p[n - 1]); n--) {
    }
    for (; n && is_blank(p[0]); p++, n--) {
    }
    negative = n > 1 && p[0] == '-';
    if (n > 1 && (p[0] == '-' || p[0] == '+')) {
        p++;
        n--;
    }
    if (n > 2 && p[0] == '0' && (p[1] | 0x20) == 'o') {
        const size_t prefix = p[2] == '_' && n > 3 ? 3 : 2;

        p += prefix;
        n -= prefix;
    }
    if (!octal_digits(p, n, &value))
        return false;
    *out = negative ? -(int64_t)value : (int64_t)value;
    return true;
}

bool heft_scan_is_tar(struct heft_bytes head)
{
    int64_t stored, sum = 0, signed_sum = 0;

    if (head.n < BLOCK || !heft_scan_tar_number(head.p + 148, 8, &stored))
        return false;
    for (size_t i = 0; i < BLOCK; i++) {
        const uint8_t c = i >= 148 && i < 156 ? ' ' : head.p[i];

        sum += c;
        signed_sum += c < 0x80 ? c : c - 0x100;
    }
    return sum == stored || signed_sum == stored;
}

/* ---- pax records ------------------------------------------------------------------------- */

static bool plain_number(struct heft_str text, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9' || i == 18)
            return false;
        *value = *value * 10 + (uint64_t)(text.p[i] - '0');
    }
    return text.n > 0;
}

static void take_key(struct heft_scan_pax *pax, struct heft_str key, struct heft_str value)
{
    if (heft_str_is(key, "path")) {
        pax->path = value;
        pax->has_path = true;
    } else if (heft_str_is(key, "size")) {
        pax->has_size = true;
        pax->odd = pax->odd || !plain_number(value, &pax->size);
    } else if (heft_str_starts(key, HEFT_STR("GNU.sparse."))) {
        pax->sparse = true;
    }
}

void heft_scan_read_pax(struct heft_bytes bytes, struct heft_scan_pax *pax)
{
    const char *p = (const char *)bytes.p;
    size_t at = 0;

    *pax = (struct heft_scan_pax){0};
    while (at < bytes.n && p[at] != 0) {
        const char *blank = memchr(p + at, ' ', bytes.n - at), *equals;
        uint64_t length;

        pax->odd = true; /* unless this record is complete */
        if (!blank || !plain_number((struct heft_str){p + at, (size_t)(blank - p) - at}, &length) ||
            length > bytes.n - at || length < (size_t)(blank - p) - at + 3 ||
            p[at + length - 1] != '\n')
            return;
        equals = memchr(blank, '=', at + (size_t)length - (size_t)(blank - p));
        if (!equals)
            return;
        pax->odd = false;
        take_key(pax, (struct heft_str){blank + 1, (size_t)(equals - blank) - 1},
                 (struct heft_str){equals + 1, at + (size_t)length - 2 - (size_t)(equals - p)});
        if (pax->odd)
            return;
        at += (size_t)length;
    }
}
