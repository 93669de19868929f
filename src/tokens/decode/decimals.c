/* decimals.c: ids as text: decimal numbers separated by white space.
 *
 *     39 664 368
 *     826 68 */
#include "tokens/decode/decode.h"

#define SURE 8  /* shorter files may be either decimals or a raw stream of ids */
#define MOST 20 /* digits of a number in an error message */

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static bool ends_with(const char *path, const char *end)
{
    const size_t n = strlen(path), k = strlen(end);

    return n >= k && memcmp(path + n - k, end, k) == 0;
}

/* A .bin file is a raw stream: its ids may well consist of bytes that are digits. */
bool heft_decimals_are(struct heft_bytes head, uint64_t size, const char *path, unsigned width)
{
    if (size % width == 0 && ends_with(path, ".bin"))
        return false;
    for (size_t i = 0; i < head.n; i++)
        if (!is_digit(head.p[i]) && !is_space(head.p[i]))
            return false;
    return size >= SURE || (size > 0 && (size % width > 0 || ends_with(path, ".ids")));
}

/* ---- parsing decimal numbers ------------------------------------------------------------- */

/* Returns the next byte without consuming it; -1 at the end and on a read error. */
static int peek_byte(struct heft_stream_reader *range, bool *ok, struct heft_error *err)
{
    *ok = heft_stream_refill(range, err);
    return *ok && range->waiting.n > 0 ? range->waiting.p[0] : -1;
}

static void skip_byte(struct heft_stream_reader *range)
{
    range->waiting.p++;
    range->waiting.n--;
}

static uint64_t offset_of_next(const struct heft_stream_reader *range)
{
    return range->at - range->waiting.n;
}

/* Reads a number. More than 32 bits give HEFT_NO_TOKEN. */
static bool take_number(struct heft_stream_reader *range, uint32_t *id, struct heft_error *err)
{
    uint64_t value = 0;
    bool ok;
    int c;

    while ((c = peek_byte(range, &ok, err)) >= 0 && is_digit((uint8_t)c)) {
        if (value <= UINT32_MAX)
            value = 10 * value + (unsigned)c - '0';
        skip_byte(range);
    }
    *id = value < HEFT_NO_TOKEN ? (uint32_t)value : HEFT_NO_TOKEN;
    return ok;
}

bool heft_decimals_next(struct heft_ids_reader *r, uint32_t *ids, size_t *count,
                        struct heft_error *err)
{
    bool ok = true;
    int c;

    while (*count < HEFT_IDS_BATCH && (c = peek_byte(&r->range, &ok, err)) >= 0) {
        const uint64_t where = offset_of_next(&r->range);

        if (is_space((uint8_t)c)) {
            skip_byte(&r->range);
            continue;
        }
        if (!is_digit((uint8_t)c))
            return heft_fail(err, HEFT_MALFORMED, where,
                             "byte 0x%02x; expected decimal digits or white space", (unsigned)c);
        memcpy(r->bytes + 8 * *count, &where, sizeof where);
        if (!take_number(&r->range, &ids[*count], err))
            return false;
        ++*count;
    }
    return *count == HEFT_IDS_BATCH || ok;
}

bool heft_decimals_fail(const struct heft_ids_reader *r, size_t i, struct heft_error *err,
                        const char *what)
{
    uint8_t digits[MOST];
    uint64_t where;
    size_t n, shown = 0;

    memcpy(&where, r->bytes + 8 * i, sizeof where);
    n = heft_min_size(sizeof digits, r->file.size - where);
    if (!heft_source_read(&r->file, where, digits, n, err))
        return false;
    while (shown < n && is_digit(digits[shown]))
        shown++;
    return heft_fail(err, HEFT_MALFORMED, where, "id %.*s %s", (int)shown, (const char *)digits,
                     what);
}
