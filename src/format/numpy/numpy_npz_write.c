/* numpy_npz_write.c: plans an archive, byte for byte as numpy.savez writes it with Python's
 * zipfile.
 *
 *     50 4b 03 04  45  flags  0  0 21 00  crc  ff×4 ff×4  n 20      local header: 1980-01-01
 *     NAME.npy                                                      n
 *     01 00 10 00  size  size                                       20: zip64, always
 *     [46 42  n  5a×n]                                              option alignment: padding
 *     npy header, data                                              stored
 *     … more members …
 *     50 4b 01 02  45 3  45  flags  0  0 21 00  crc  size size      central directory
 *     n x 0 0 0  00 00 80 01  begin  NAME.npy  [zip64]
 *     [50 4b 06 06 … 50 4b 06 07 …] 50 4b 05 06 …                   end records
 *
 * Flags are 0x0800 if a name is not ASCII. The directory uses zip64 from 2^31 on; the end records
 * do so, too, and also for more than 65535 members. Headers contain checksums of the data after
 * them, so they are written later. This is the output of Python 3.11.4 and later; earlier versions
 * wrote real 32-bit sizes into local headers, and version 20. */
#include "format/numpy/numpy_parts.h"

#include "base/endian.h"
#include "wire/zip_write.h"

#define LOCAL          30
#define ZIP64          20
#define CENTRAL        46
#define WIDE           INT32_MAX /* Python uses zip64 above this value */
#define MOST           UINT16_MAX
#define ASCII          0
#define UTF8           0x0800
#define DATE           0x21 /* 1980-01-01, zipfile's default */
#define VERSION        45
#define BLOCK          512   /* directory entries generated at a time */
#define PADDING_HEAD   4     /* bytes of an extra field before its text */
#define MOST_ALIGNMENT 32768 /* an extra field has less than 64 KiB */

struct member {
    struct heft_str name; /* the name without ".npy" */
    uint64_t begin, size;
    uint32_t sum;
    uint16_t flags, padding;
};

/* ---- byte helpers ---------------------------------------------------------------------------- */

static void put_name(struct heft_pen *c, struct heft_str name)
{
    memcpy(c->p, name.p, name.n);
    memcpy(c->p + name.n, ".npy", 4);
    c->p += name.n + 4;
}

/* Values that are too wide are in zip64. */
static uint64_t cap_at_32_bits(uint64_t v)
{
    return v > WIDE ? UINT32_MAX : v;
}

/* ---- local headers --------------------------------------------------------------------------- */

static void fill_local(const void *ctx, const uint32_t *sums, uint8_t *out, size_t n)
{
    const struct member *m = ctx;
    struct heft_pen c = {out};

    (void)n;
    heft_pen_le32(&c, 0x04034b50);
    heft_pen_le16(&c, VERSION);
    heft_pen_le16(&c, m->flags);
    heft_pen_le32(&c, 0); /* compression method 0 and time 0 */
    heft_pen_le16(&c, DATE);
    heft_pen_le32(&c, sums[m->sum]);
    heft_pen_le64(&c, UINT64_MAX); /* both sizes */
    heft_pen_le16(&c, m->name.n + 4);
    heft_pen_le16(&c, ZIP64 + m->padding);
    put_name(&c, m->name);
    heft_pen_le16(&c, 1);
    heft_pen_le16(&c, ZIP64 - 4);
    heft_pen_le64(&c, m->size);
    heft_pen_le64(&c, m->size);
}

static bool is_ascii(struct heft_str name)
{
    for (size_t i = 0; i < name.n; i++)
        if ((uint8_t)name.p[i] >= 0x80)
            return false;
    return true;
}

static bool check_name(struct heft_str name, struct heft_error *err)
{
    if (memchr(name.p, 0, name.n))
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "a name contains a NUL, which would end it in a zip");
    return name.n + 4 <= MOST ||
           heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "a name has %zu bytes, the limit with .npy in a zip is %d", name.n, MOST - 4);
}

/* ---- alignment ------------------------------------------------------------------------------- */

struct layout {
    struct heft_plan *plan;
    uint32_t file;
    uint64_t alignment; /* of the arrays' data; 1: none */
    char *filler;       /* as many letters as any padding has */
};

/* Padding is an extra field of the local header, as torch writes it: 4 bytes and then any text. */
static bool choose_padding(const struct layout *l, struct member *m, size_t header,
                           struct heft_error *err)
{
    const uint64_t end = m->begin + LOCAL + m->name.n + 4 + ZIP64 + header;
    uint64_t n = heft_plan_padding(end, l->alignment);

    while (n > 0 && n < PADDING_HEAD)
        n += l->alignment;
    m->padding = (uint16_t)n;
    return n <= MOST - ZIP64 ||
           heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET, "padding of %" PRIu64 " bytes", n);
}

static bool put_padding(const struct layout *l, uint16_t n, struct heft_error *err)
{
    char *const head = n ? heft_arena_chars(l->plan->mem, PADDING_HEAD, err) : NULL;
    struct heft_pen pen = {(uint8_t *)head};

    if (n == 0)
        return true;
    if (!head)
        return false;
    heft_pen_le16(&pen, 0x4246);
    heft_pen_le16(&pen, n - PADDING_HEAD);
    return heft_plan_put(l->plan, l->file, (struct heft_str){head, PADDING_HEAD}, err) &&
           heft_plan_put(l->plan, l->file, (struct heft_str){l->filler, n - PADDING_HEAD}, err);
}

enum { ALIGNMENT, N_OPTIONS };
const struct heft_format_option heft_npz_options[N_OPTIONS + 1] = {
    [ALIGNMENT] = {.name = "alignment",
                   .kind = HEFT_OPTION_NUMBER,
                   .value = "N",
                   .least = 8,
                   .most = MOST_ALIGNMENT,
                   .help = "align data to N bytes, a power of two"},
};

static bool begin_layout(struct layout *l, struct heft_error *err)
{
    if (!heft_plan_alignment(l->plan, ALIGNMENT, &l->alignment, err))
        return false;
    l->filler = heft_arena_chars(l->plan->mem, (size_t)l->alignment + PADDING_HEAD, err);
    if (l->filler)
        memset(l->filler, 'Z', (size_t)l->alignment + PADDING_HEAD);
    return l->filler != NULL;
}

/* ---- members --------------------------------------------------------------------------------- */

static bool add_member(const struct layout *l, const struct heft_export_item *item,
                       struct member *m, struct heft_error *err)
{
    const struct heft_late local = {fill_local, m};
    struct heft_plan *const plan = l->plan;
    struct heft_str header;

    *m = (struct member){.name = item->name,
                         .begin = plan->files[l->file].size,
                         .flags = is_ascii(item->name) ? ASCII : UTF8};
    if (!check_name(item->name, err) || !heft_numpy_header(plan, item, &header, err))
        return heft_error_about(err, "tensor", item->name);
    if (m->begin > INT64_MAX || !heft_add(header.n, item->bytes, &m->size) || m->size > INT64_MAX)
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET, "the output has 2^63 bytes or more");
    if (!choose_padding(l, m, header.n, err) ||
        !heft_plan_late(plan, l->file, local, LOCAL + item->name.n + 4 + ZIP64, err) ||
        !put_padding(l, m->padding, err))
        return false;
    m->sum = heft_plan_sum_begin(plan);
    if (!heft_plan_put(plan, l->file, header, err) || !heft_plan_item(plan, l->file, item, err))
        return false;
    heft_plan_sum_end(plan);
    return true;
}

/* ---- the directory --------------------------------------------------------------------------- */

static unsigned wide_numbers(const struct member *m)
{
    return (m->size > WIDE ? 2U : 0U) + (m->begin > WIDE ? 1U : 0U);
}

static uint64_t wide_field(const struct member *m)
{
    const unsigned numbers = wide_numbers(m);

    return numbers ? 4 + 8 * numbers : 0;
}

static void put_central(struct heft_pen *c, const struct member *m, uint32_t crc)
{
    heft_pen_le32(c, 0x02014b50);
    heft_pen_le16(c, 3 << 8 | VERSION); /* attributes are those of Unix */
    heft_pen_le16(c, VERSION);
    heft_pen_le16(c, m->flags);
    heft_pen_le32(c, 0); /* compression method 0 and time 0 */
    heft_pen_le16(c, DATE);
    heft_pen_le32(c, crc);
    heft_pen_le32(c, cap_at_32_bits(m->size));
    heft_pen_le32(c, cap_at_32_bits(m->size));
    heft_pen_le16(c, m->name.n + 4);
    heft_pen_le16(c, wide_field(m));
    heft_pen_le32(c, 0); /* no comment, disk 0 */
    heft_pen_le16(c, 0);
    heft_pen_le32(c, (uint32_t)0600 << 16);
    heft_pen_le32(c, cap_at_32_bits(m->begin));
    put_name(c, m->name);
    if (!wide_numbers(m))
        return;
    heft_pen_le16(c, 1);
    heft_pen_le16(c, wide_field(m) - 4);
    if (m->size > WIDE) {
        heft_pen_le64(c, m->size);
        heft_pen_le64(c, m->size);
    }
    if (m->begin > WIDE)
        heft_pen_le64(c, m->begin);
}

struct block {
    const struct member *members;
    size_t n;
};

static void fill_block(const void *ctx, const uint32_t *sums, uint8_t *out, size_t n)
{
    const struct block *block = ctx;
    struct heft_pen c = {out};

    (void)n;
    for (size_t i = 0; i < block->n; i++)
        put_central(&c, &block->members[i], sums[block->members[i].sum]);
}

static bool add_blocks(struct heft_plan *plan, uint32_t file, const struct member *members,
                       size_t n, struct heft_error *err)
{
    const size_t n_blocks = (n + BLOCK - 1) / BLOCK;
    struct block *blocks = heft_arena_zero(plan->mem, n_blocks + 1, sizeof *blocks, err);

    for (size_t b = 0; blocks && b < n_blocks; b++) {
        struct block *block = &blocks[b];
        uint64_t bytes = 0;

        block->members = members + b * BLOCK;
        block->n = (size_t)heft_min_u64(BLOCK, n - b * BLOCK);
        for (size_t i = 0; i < block->n; i++)
            bytes += CENTRAL + block->members[i].name.n + 4 + wide_field(&block->members[i]);
        if (!heft_plan_late(plan, file, (struct heft_late){fill_block, block}, bytes, err))
            return false;
    }
    return blocks != NULL;
}

bool heft_npz_plan(struct heft_plan *plan, uint32_t file, const struct heft_export_list *exports,
                   struct heft_error *err)
{
    const size_t n = exports->n_items;
    struct member *members = heft_arena_zero(plan->mem, n + 1, sizeof *members, err);
    uint8_t *bytes = members ? heft_arena_alloc(plan->mem, HEFT_ZIP_ENDS, err) : NULL;
    struct heft_zip_ends ends = {.n = n, .maker = VERSION, .needed = VERSION};
    struct layout l = {.plan = plan, .file = file};
    size_t length;

    if (!begin_layout(&l, err))
        return false;
    for (size_t i = 0; bytes && i < n; i++)
        if (!add_member(&l, &exports->items[i], &members[i], err))
            return false;
    ends.begin = plan->files[file].size;
    if (!bytes || !add_blocks(plan, file, members, n, err))
        return false;
    ends.end = plan->files[file].size;
    ends.wide = n > MOST || ends.begin > WIDE || ends.end - ends.begin > WIDE;
    length = heft_zip_put_ends(bytes, &ends);
    return heft_plan_put(plan, file, (struct heft_str){(char *)bytes, length}, err) &&
           heft_plan_leave_metadata(plan, exports, "NumPy files", err);
}
