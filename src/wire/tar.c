/* tar.c: reads the headers of a tar archive.
 *
 *     header, 512 bytes                                          then the bytes, padded to whole blocks
 *       0 name[100] · 124 size[12] · 148 checksum[8] · 156 type · 257 "ustar" · 345 prefix[155]
 *     …
 *     two empty blocks, and more of them up to a round size
 *
 *     type  0 \0 7  plain file      5  directory   x  pax records about the next member
 *           L       its long name   K  its long link target, ignored    g  pax records about all
 *           1 2 3 4 6 S …           links, devices, sparse files: refused
 *
 *     numbers       octal digits, or 0x80 and a big-endian number
 *     pax record    "LENGTH key=value\n", LENGTH counts the whole record, including itself */
#include "wire/tar.h"

#define LARGEST_EXTRA ((uint64_t)1 << 20) /* limit for the bytes of pax records and of long names */
#define LARGEST_SIZE  ((uint64_t)INT64_MAX)

struct reader {
    struct heft_tar *tar;
    const struct heft_source *src;
    uint64_t most;
    struct heft_arena *arena; /* owns the names of members */
    struct heft_error *err;
    uint64_t at, begin; /* offset of the current header, and of the first header of the same
                           member */
    /* Attributes of the next member, from extension headers. */
    struct heft_str name;
    uint64_t size;
    bool has_name, has_size;
};

static bool refuse_header(struct reader *r, enum heft_code code, const char *text)
{
    return heft_fail(r->err, code, r->at, "tar header: %s", text);
}

/* ---- numbers ----------------------------------------------------------------------------- */

static bool binary_number(struct reader *r, const uint8_t *field, size_t n, uint64_t *out)
{
    uint64_t value = 0;

    for (size_t i = 1; i < n; i++) {
        if (value > LARGEST_SIZE >> 8)
            return refuse_header(r, HEFT_MALFORMED, "a size beyond 2^63");
        value = value << 8 | field[i];
    }
    *out = value;
    return true;
}

/* Parses octal digits between blanks or NULs; an empty field is zero, as in tar programs. False:
 * not a number. */
static bool parse_octal(const uint8_t *field, size_t n, uint64_t *out)
{
    uint64_t value = 0;
    size_t i = 0;

    while (i < n && field[i] == ' ')
        i++;
    for (; i < n && field[i] >= '0' && field[i] <= '7'; i++)
        value = value << 3 |
                (uint64_t)(field[i] - '0'); /* no overflow: the field has at most 12 digits */
    *out = value;
    while (i < n && field[i] == ' ')
        i++;
    return i == n || field[i] == '\0';
}

static bool read_size(struct reader *r, const uint8_t *field, size_t n, uint64_t *out)
{
    if (field[0] == 0x80)
        return binary_number(r, field, n, out);
    if (field[0] == 0xFF)
        return refuse_header(r, HEFT_MALFORMED, "a negative size");
    return parse_octal(field, n, out) ||
           refuse_header(r, HEFT_MALFORMED, "the size is not an octal number");
}

/* Old tar programs added the header's bytes as signed characters; both sums are accepted. */
static bool checksum_holds(const uint8_t *block)
{
    uint64_t stored;
    uint32_t plain = 0;
    int32_t with_sign = 0;

    if (!parse_octal(block + 148, 8, &stored))
        return false;
    for (size_t i = 0; i < HEFT_TAR_BLOCK; i++) {
        const uint8_t c = i >= 148 && i < 156 ? ' ' : block[i];

        plain += c;
        with_sign += c < 0x80 ? c : c - 0x100;
    }
    return stored == plain || (with_sign >= 0 && stored == (uint64_t)with_sign);
}

static bool is_empty(const uint8_t *block)
{
    for (size_t i = 0; i < HEFT_TAR_BLOCK; i++)
        if (block[i])
            return false;
    return true;
}

bool heft_tar_is_header(const uint8_t block[HEFT_TAR_BLOCK])
{
    return !is_empty(block) && checksum_holds(block);
}

/* ---- names ------------------------------------------------------------------------------- */

static struct heft_str field_text(const uint8_t *field, size_t n)
{
    const uint8_t *end = memchr(field, '\0', n);

    return (struct heft_str){(const char *)field, end ? (size_t)(end - field) : n};
}

/* Sets the next member's name to the text before a NUL. */
static bool set_name(struct reader *r, struct heft_bytes text)
{
    const struct heft_str name = field_text(text.p, text.n);

    if (r->has_name)
        return refuse_header(r, HEFT_MALFORMED, "a second long name for one member");
    r->has_name = true;
    r->name.n = name.n;
    r->name.p = heft_arena_text(r->arena, name, r->err);
    return r->name.p != NULL;
}

static bool header_name(struct reader *r, const uint8_t *block, struct heft_str *out)
{
    const struct heft_str name = field_text(block, 100);
    struct heft_str prefix = field_text(block + 345, 155);
    const char *text;

    if (r->has_name) {
        *out = r->name;
        return true;
    }
    text = prefix.n ? heft_arena_printf(r->arena, r->err, "%.*s/%.*s", (int)prefix.n, prefix.p,
                                        (int)name.n, name.p)
                    : heft_arena_text(r->arena, name, r->err);
    *out = (struct heft_str){text, text ? strlen(text) : 0};
    return text != NULL;
}

/* ---- pax records ------------------------------------------------------------------------- */

static bool pax_size(struct reader *r, struct heft_str value)
{
    uint64_t n = 0;

    for (size_t i = 0; i < value.n; i++)
        if (value.p[i] < '0' || value.p[i] > '9' || !heft_mul(n, 10, &n) ||
            !heft_add(n, (uint64_t)(value.p[i] - '0'), &n))
            return refuse_header(r, HEFT_MALFORMED, "a pax size is not a number below 2^63");
    if (value.n == 0 || n > LARGEST_SIZE)
        return refuse_header(r, HEFT_MALFORMED, "a pax size is not a number below 2^63");
    r->size = n;
    r->has_size = true;
    return true;
}

static bool pax_record(struct reader *r, struct heft_str key, struct heft_str value, bool global)
{
    const bool is_path = heft_str_is(key, "path"), is_size = heft_str_is(key, "size");

    if (heft_str_starts(key, HEFT_STR("GNU.sparse")))
        return refuse_header(r, HEFT_UNSUPPORTED, "a sparse file, which is not read");
    if (global && (is_path || is_size))
        return refuse_header(r, HEFT_UNSUPPORTED, "a global name or size for all members");
    if (is_path)
        return set_name(r, (struct heft_bytes){(const uint8_t *)value.p, value.n});
    return !is_size || pax_size(r, value);
}

/* "27 path=…\n": length of the record that begins at p; 0 if invalid. */
static size_t record_length(const char *p, size_t n, size_t *digits)
{
    uint64_t length = 0;
    size_t i = 0;

    for (; i < n && i < 8 && p[i] >= '0' && p[i] <= '9'; i++)
        length = 10 * length + (uint64_t)(p[i] - '0');
    *digits = i;
    if (i == 0 || i == n || p[i] != ' ' || length > n || length < i + 3 || p[length - 1] != '\n')
        return 0;
    return (size_t)length;
}

static bool pax_records(struct reader *r, struct heft_bytes bytes, bool global)
{
    const char *p = (const char *)bytes.p, *end = p + bytes.n;

    while (p < end && *p) {
        size_t digits;
        const size_t length = record_length(p, (size_t)(end - p), &digits);
        const char *key = p + digits + 1, *stop = p + length - 1, *equals;

        equals = length ? memchr(key, '=', (size_t)(stop - key)) : NULL;
        if (!equals)
            return refuse_header(r, HEFT_MALFORMED, "a pax record is not \"LENGTH key=value\\n\"");
        if (!pax_record(r, (struct heft_str){key, (size_t)(equals - key)},
                        (struct heft_str){equals + 1, (size_t)(stop - equals - 1)}, global))
            return false;
        p += length;
    }
    return true;
}

/* ---- headers ----------------------------------------------------------------------------- */

/* Reads the content of a header that extends the next one. */
static bool read_extra(struct reader *r, uint8_t type, uint64_t data, uint64_t size)
{
    struct heft_arena mem = {0};
    struct heft_bytes bytes;
    bool ok;

    if (size > LARGEST_EXTRA)
        return refuse_header(r, HEFT_LIMIT, "more than 1 MiB of pax records or of a name");
    ok = heft_source_fetch(r->src, data, size, &mem, &bytes, r->err);
    if (ok && (type == 'x' || type == 'g'))
        ok = pax_records(r, bytes, type == 'g');
    else if (ok && type == 'L')
        ok = set_name(r, bytes);
    heft_arena_release(&mem);
    return ok;
}

static bool check_type(struct reader *r, uint8_t type)
{
    switch (type) {
    case '\0':
    case '0':
    case '5':
    case '7':
    case 'x':
    case 'g':
    case 'L':
    case 'K':
        return true;
    case '1':
    case '2':
        return refuse_header(r, HEFT_UNSAFE, "a link; links are never followed");
    case 'S':
        return refuse_header(r, HEFT_UNSUPPORTED, "a sparse file, which is not read");
    default:
        return heft_fail(
            r->err, HEFT_UNSUPPORTED, r->at,
            "tar header: a member has type 0x%02x; only files and directories are read", type);
    }
}

static bool add_member(struct reader *r, const uint8_t *block, uint64_t data, uint64_t size)
{
    struct heft_tar *tar = r->tar;
    struct heft_tar_member m = {.header = r->begin, .data = data, .size = size, .end = r->at};

    if (tar->count >= r->most)
        return heft_fail(r->err, HEFT_LIMIT, r->at,
                         "tar of more than %" PRIu64 " members: limits.entries", r->most);
    if (!header_name(r, block, &m.name))
        return false;
    m.is_folder = block[156] == '5' || (m.name.n && m.name.p[m.name.n - 1] == '/');
    if (!heft_grow(&tar->members, &tar->cap, tar->count, 1, sizeof m, r->err))
        return false;
    tar->members[tar->count++] = m;
    return true;
}

/* Size of the member's data, and its end in whole blocks; at the end of the file the last block may
 * be incomplete. */
static bool read_extent(struct reader *r, const uint8_t *block, uint64_t *size, uint64_t *end)
{
    const uint8_t type = block[156];
    const uint64_t data = r->at + HEFT_TAR_BLOCK;

    if (!read_size(r, block + 124, 12, size))
        return false;
    if (r->has_size && type != 'x' && type != 'g' && type != 'L' && type != 'K')
        *size = r->size;
    if (type == '5')
        *size = 0; /* a directory has no data, whatever its header says */
    if (!heft_within(data, *size, r->src->size))
        return heft_fail(r->err, HEFT_MALFORMED, r->at,
                         "tar member of %" PRIu64 " bytes, the file has %" PRIu64 " more", *size,
                         r->src->size - data);
    *end = heft_min_u64(data + (*size + HEFT_TAR_BLOCK - 1) / HEFT_TAR_BLOCK * HEFT_TAR_BLOCK,
                        r->src->size);
    return true;
}

/* Parses a header and applies it. */
static bool read_header(struct reader *r, const uint8_t *block)
{
    const uint8_t type = block[156];
    uint64_t size = 0, end = 0;

    if (!checksum_holds(block))
        return refuse_header(r, HEFT_MALFORMED, "checksum mismatch");
    if (!check_type(r, type) || !read_extent(r, block, &size, &end))
        return false;
    if (type == 'x' || type == 'g' || type == 'L' || type == 'K') {
        if (!read_extra(r, type, r->at + HEFT_TAR_BLOCK, size))
            return false;
    } else {
        if (!add_member(r, block, r->at + HEFT_TAR_BLOCK, size))
            return false;
        r->tar->members[r->tar->count - 1].end = end;
        r->begin = end;
        r->has_name = r->has_size = false;
    }
    r->at = end;
    return true;
}

bool heft_tar_open(struct heft_tar *out, const struct heft_source *src, uint64_t most,
                   struct heft_arena *arena, struct heft_error *err)
{
    struct reader r = {.tar = out, .src = src, .most = most, .arena = arena, .err = err};
    uint8_t block[HEFT_TAR_BLOCK];

    *out = (struct heft_tar){0};
    while (r.at < src->size) {
        if (src->size - r.at < sizeof block)
            return refuse_header(&r, HEFT_MALFORMED, "the file ends inside the header");
        if (!heft_source_read(src, r.at, block, sizeof block, err))
            return false;
        if (is_empty(block))
            break;
        if (!read_header(&r, block))
            return false;
    }
    if (r.has_name || r.has_size)
        return refuse_header(&r, HEFT_MALFORMED, "an extension header is not followed by a member");
    out->end = r.begin; /* after global headers, which belong to no member */
    return true;
}

void heft_tar_release(struct heft_tar *tar)
{
    heft_free(tar->members);
    *tar = (struct heft_tar){0};
}
