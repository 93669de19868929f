/* zip_record.c: central entries, local headers, descriptors and end records as they are in the
 * file.
 *
 *     central entry                                    local header
 *      0 signature 50 4B 01 02      24 size             0 signature 50 4B 03 04
 *      4 made by      6 needed      28 name length      4 needed          6 flags
 *      8 flags       10 method      30 extra length     8 method         10 time, date
 *     12 time        14 date        32 comment length  14 crc            18 packed
 *     16 crc         20 packed      34 disk            22 size           26 name length
 *     36 internal attributes        38 external        28 extra length   30 name, extra, payload
 *     42 offset of the local header
 *     46 name, extra, comment                          descriptor: [50 4B 07 08] crc packed size
 *
 * A size, packed size or offset of a central entry that is all ones is in the extra field 1, as 64
 * bits, in that order, and only those that are. A local header has both sizes there. */
#include "wire/zip_record.h"

#include "base/text.h"

/* ---- names ----------------------------------------------------------------------------------- */

static bool has_parent(struct heft_str name)
{
    size_t begin = 0;

    for (size_t i = 0; i <= name.n; i++) {
        if (i < name.n && name.p[i] != '/')
            continue;
        if (i - begin == 2 && name.p[begin] == '.' && name.p[begin + 1] == '.')
            return true;
        begin = i + 1;
    }
    return false;
}

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))
#define TOPS       EACH(0x80)

/* Not zero if one of 8 bytes is NUL, `\\`, `.`, a capital or not ASCII. */
HEFT_WRAPS static inline uint64_t odd_bytes(const char *p)
{
    const uint64_t word = heft_le64((const uint8_t *)p);
    const uint64_t slash = word ^ EACH('\\'), dot = word ^ EACH('.'), low = word & ~TOPS;
    const uint64_t capital = (low + EACH(0x80 - 'A')) & ~(low + EACH(0x80 - 'Z' - 1));
    /* Test for zero bytes: (w - 0x01…01) & ~w has a top bit set if and only if a byte of w is 0.
     * The exclusive or turns bytes '\\' and '.' into 0. */
    const uint64_t zero =
        ((word - EACH(1)) & ~word) | ((slash - EACH(1)) & ~slash) | ((dot - EACH(1)) & ~dot);

    return (word | capital | zero) & TOPS;
}

static bool is_plain(struct heft_str name)
{
    uint64_t odd;

    if (name.n < 8 || name.p[0] == '/')
        return false;
    odd = odd_bytes(name.p + name.n - 8);
    for (size_t i = 0; name.n - i > 8; i += 8)
        odd |= odd_bytes(name.p + i);
    return odd == 0;
}

unsigned heft_zip_name_faults(struct heft_str name)
{
    const struct heft_bytes bytes = {(const uint8_t *)name.p, name.n};
    unsigned faults = 0;

    if (name.n == 0)
        return HEFT_ZIP_NAMELESS;
    faults |= memchr(name.p, 0, name.n) ? HEFT_ZIP_NUL : 0U;
    faults |= memchr(name.p, '\\', name.n) ? HEFT_ZIP_BACKSLASH : 0U;
    faults |= name.p[0] == '/' ? HEFT_ZIP_ABSOLUTE : 0U;
    faults |= has_parent(name) ? HEFT_ZIP_PARENT : 0U;
    faults |= heft_utf8_check(bytes) < bytes.n ? HEFT_ZIP_NOT_UTF8 : 0U;
    return faults;
}

/* ---- zip64 ----------------------------------------------------------------------------------- */

bool heft_zip_find_zip64(struct heft_bytes extra, struct heft_bytes *field)
{
    *field = (struct heft_bytes){NULL, 0};
    while (extra.n >= 4) { /* up to 3 bytes of padding may follow */
        const uint16_t id = heft_le16(extra.p);
        const size_t len = heft_le16(extra.p + 2);

        if (len > extra.n - 4 || (id == 1 && field->p))
            return false;
        if (id == 1)
            *field = (struct heft_bytes){extra.p + 4, len};
        extra = (struct heft_bytes){extra.p + 4 + len, extra.n - 4 - len};
    }
    return true;
}

/* A 64-bit value if the 32-bit one is all ones; they come in a fixed order. */
static bool take_zip64(struct heft_bytes *field, uint64_t *value)
{
    if (*value != HEFT_ZIP_MANY)
        return true;
    if (field->n < 8)
        return false;
    *value = heft_le64(field->p);
    *field = (struct heft_bytes){field->p + 8, field->n - 8};
    return true;
}

static void widen_central(struct heft_zip_record *r)
{
    struct heft_bytes field;

    if (!heft_zip_find_zip64(r->extra, &field))
        r->faults |= HEFT_ZIP_EXTRA;
    if (!take_zip64(&field, &r->size) || !take_zip64(&field, &r->packed) ||
        !take_zip64(&field, &r->header))
        r->faults |= HEFT_ZIP_NARROW;
    else if (r->disk == 0xFFFF && field.n >= 4)
        r->disk = heft_le32(field.p);
    r->faults |= r->disk > 1 ? HEFT_ZIP_DISK : 0U;
}

/* ---- headers --------------------------------------------------------------------------------- */

static unsigned coding_faults(unsigned flags, unsigned method)
{
    const bool is_known = method == HEFT_ZIP_STORED || method == HEFT_ZIP_DEFLATED;

    return (flags & HEFT_ZIP_SEALED ? HEFT_ZIP_ENCRYPTED : 0U) | (is_known ? 0U : HEFT_ZIP_METHOD);
}

/* External attributes are those of the system that wrote the entry: 3 is Unix. */
static unsigned kind_faults(const struct heft_zip_record *r, const uint8_t *p)
{
    const bool is_link = p[5] == 3 && heft_le32(p + 38) >> 28 == 0xA;

    return (is_link ? HEFT_ZIP_LINK : 0U) |
           (heft_zip_is_folder(r->name) && r->size ? HEFT_ZIP_FULL : 0U) |
           (r->method == HEFT_ZIP_STORED && r->packed != r->size ? HEFT_ZIP_SIZES : 0U);
}

enum heft_zip_taken heft_zip_take_central(struct heft_bytes *left, struct heft_zip_record *out)
{
    const uint8_t *const p = left->p;
    size_t name, extra, n;

    if (left->n < HEFT_ZIP_CENTRAL)
        return HEFT_ZIP_CUT;
    if (heft_le32(p) != HEFT_ZIP_SIG_CENTRAL)
        return HEFT_ZIP_OTHER;
    name = heft_le16(p + 28);
    extra = heft_le16(p + 30);
    n = HEFT_ZIP_CENTRAL + name + extra + heft_le16(p + 32);
    if (left->n < n)
        return HEFT_ZIP_CUT;
    *out = (struct heft_zip_record){.name = {(const char *)p + HEFT_ZIP_CENTRAL, name},
                                    .extra = {p + HEFT_ZIP_CENTRAL + name, extra},
                                    .flags = heft_le16(p + 8),
                                    .method = heft_le16(p + 10),
                                    .crc = heft_le32(p + 16),
                                    .packed = heft_le32(p + 20),
                                    .size = heft_le32(p + 24),
                                    .disk = heft_le16(p + 34),
                                    .header = heft_le32(p + 42)};
    out->is_plain = is_plain(out->name);
    widen_central(out);
    out->faults |= coding_faults(out->flags, out->method) | kind_faults(out, p) |
                   (out->is_plain ? 0U : heft_zip_name_faults(out->name));
    *left = (struct heft_bytes){p + n, left->n - n};
    return HEFT_ZIP_TAKEN;
}

struct heft_zip_record heft_zip_local(const uint8_t *p, uint64_t at)
{
    const size_t name = heft_le16(p + 26), extra = heft_le16(p + 28);

    return (struct heft_zip_record){.name = {(const char *)p + HEFT_ZIP_LOCAL_HEAD, name},
                                    .extra = {NULL, extra},
                                    .header = at,
                                    .data = at + HEFT_ZIP_LOCAL_HEAD + name + extra,
                                    .flags = heft_le16(p + 6),
                                    .method = heft_le16(p + 8),
                                    .crc = heft_le32(p + 14),
                                    .packed = heft_le32(p + 18),
                                    .size = heft_le32(p + 22),
                                    .faults = coding_faults(heft_le16(p + 6), heft_le16(p + 8))};
}

void heft_zip_local_widen(struct heft_zip_record *local, struct heft_bytes field)
{
    if ((local->packed != HEFT_ZIP_MANY && local->size != HEFT_ZIP_MANY) || field.n < 16)
        return;
    local->size = heft_le64(field.p);
    local->packed = heft_le64(field.p + 8);
}

bool heft_zip_read_descriptor(const uint8_t *p, unsigned form, struct heft_zip_entry *entry)
{
    const bool wide = form >= 20, signed_too = form % 8 == 0;

    if (signed_too && heft_le32(p) != HEFT_ZIP_SIG_DATA)
        return false;
    p += signed_too ? 4 : 0;
    entry->crc = heft_le32(p);
    entry->packed = wide ? heft_le64(p + 4) : heft_le32(p + 4);
    entry->size = wide ? heft_le64(p + 12) : heft_le32(p + 8);
    return true;
}

/* ---- end records ----------------------------------------------------------------------------- */

#define SIG_END UINT32_C(0x06054B50)

/* The signature's last byte is looked for: the others are in each entry of the directory. */
bool heft_zip_next_end(struct heft_bytes bytes, size_t *at)
{
    while (bytes.n >= HEFT_ZIP_END && *at <= bytes.n - HEFT_ZIP_END) {
        const uint8_t *const p =
            memchr(bytes.p + *at + 3, SIG_END >> 24, bytes.n - HEFT_ZIP_END + 1 - *at);

        if (!p)
            return false;
        *at = (size_t)(p - 3 - bytes.p);
        if (heft_le32(p - 3) == SIG_END)
            return true;
        ++*at;
    }
    return false;
}

struct heft_zip_end heft_zip_read_end(const uint8_t *p, uint64_t at)
{
    return (struct heft_zip_end){.at = at,
                                 .tail = at,
                                 .after = at + HEFT_ZIP_END + heft_le16(p + 20),
                                 .here = heft_le16(p + 8),
                                 .entries = heft_le16(p + 10),
                                 .size = heft_le32(p + 12),
                                 .directory = heft_le32(p + 16)};
}

void heft_zip_end_widen(struct heft_zip_end *end, const uint8_t *p, uint64_t at)
{
    end->here = heft_le64(p + 24);
    end->entries = heft_le64(p + 32);
    end->size = heft_le64(p + 40);
    end->directory = heft_le64(p + 48);
    end->tail = at;
    end->zip64 = true;
}
