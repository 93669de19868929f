/* h5_superblock.c: the superblock of an HDF5 file, which heft checks before libhdf5 reads the file.
 *
 *     versions 0, 1                           versions 2, 3
 *      0  8  89 'HDF' 0d 0a 1a 0a              0  8  the same
 *      8  1  version                           8  1  version
 *      9  1  version of free space   0         9  1  bytes of an offset, O
 *     10  1  … of the root's entry   0        10  1  bytes of a length, L
 *     12  1  … of shared headers     0        11  1  flags
 *     13  1  bytes of an offset, O            12  O  base address
 *     14  1  bytes of a length, L              …  O  of the extension
 *     16  2  rank of groups' leaves            …  O  end of file
 *     18  2  rank of groups' nodes             …  O  of the root group
 *     20  4  flags                             …  4  checksum
 *     (1: 24  2  rank of indexes, 26  2  0)
 *      …  O  base address
 *      …  O  of free space
 *      …  O  end of file
 *      …  O  of the driver's block   all ones if there is none
 *
 * It is at 0, 512, 1024, …: at the first of these with the signature. Addresses are relative to the
 * base address, except the end of the file. */
#include "base/endian.h"
#include "format/hdf5/h5_parts.h"

#define SIGNATURE   "\x89HDF\r\n\x1a\n"
#define SIGNATURE_N 8
#define FIRST_PLACE 512
#define NEWEST      3
#define MOST        (28 + 4 * 8)

/* ---- finding the superblock -------------------------------------------------------------- */

static bool has_signature(const struct heft_source *bytes, uint64_t at, bool *has,
                          struct heft_error *err)
{
    uint8_t read[SIGNATURE_N];

    if (!heft_source_read(bytes, at, read, sizeof read, err))
        return false;
    *has = memcmp(read, SIGNATURE, sizeof read) == 0;
    return true;
}

bool heft_h5_find(const struct heft_source *bytes, uint64_t *base, bool *has,
                  struct heft_error *err)
{
    uint64_t at = 0;

    *has = false;
    while (!*has && heft_within(at, SIGNATURE_N, bytes->size)) {
        if (!has_signature(bytes, at, has, err))
            return false;
        *base = at;
        at = at ? at * 2 : FIRST_PLACE;
    }
    return true;
}

/* ---- checking the superblock -------------------------------------------------------------- */

struct superblock {
    uint8_t bytes[MOST];
    size_t n, at;
    unsigned width; /* bytes of an offset */
};

static uint64_t take_address(struct superblock *s)
{
    uint64_t value = 0;

    if (s->at + s->width > s->n) {
        s->at = s->n + 1; /* too short: reported at the end */
        return 0;
    }
    for (unsigned i = 0; i < s->width; i++)
        value |= (uint64_t)s->bytes[s->at + i] << (8 * i);
    s->at += s->width;
    return value;
}

static bool check_width(const struct heft_h5_reader *r, const struct superblock *s, size_t at,
                        const char *what, struct heft_error *err)
{
    const uint8_t n = s->bytes[at];

    if (n == 2 || n == 4 || n == 8)
        return true;
    return heft_fail(err, n == 16 || n == 32 ? HEFT_UNSUPPORTED : HEFT_MALFORMED, r->base + at,
                     "the superblock says that %s have %u bytes; 2, 4 and 8 are allowed", what, n);
}

/* libhdf5 uses the position of the superblock as base address, and moves the end accordingly. */
static bool check_end(struct heft_h5_reader *r, uint64_t base, uint64_t end, uint64_t where,
                      struct heft_error *err)
{
    if (end < base || !heft_add(end - base, r->base, &r->end))
        return heft_fail(err, HEFT_MALFORMED, where,
                         "the superblock says that the file ends at %" PRIu64
                         ", before it begins, at %" PRIu64,
                         end, base);
    return r->end <= r->bytes->size ||
           heft_fail(err, HEFT_MALFORMED, where,
                     "the superblock says that the file ends at %" PRIu64 ", it ends at %" PRIu64
                     ": it is cut off",
                     r->end, r->bytes->size);
}

static bool check_old(struct heft_h5_reader *r, struct superblock *s, struct heft_error *err)
{
    uint64_t base, end, driver, where;

    s->at = r->version == 1 ? 28 : 24;
    s->width = s->bytes[13];
    if (!check_width(r, s, 13, "offsets", err) || !check_width(r, s, 14, "lengths", err))
        return false;
    base = take_address(s);
    (void)take_address(s);
    where = r->base + s->at;
    end = take_address(s);
    driver = take_address(s);
    if (s->at > s->n)
        return heft_fail(err, HEFT_MALFORMED, r->base, "the file ends inside the superblock");
    if (driver != UINT64_MAX >> (64 - 8 * s->width))
        return heft_fail(err, HEFT_UNSUPPORTED, where + s->width,
                         "the superblock has a driver's block: this is one file of several (family "
                         "or multi), which heft does not put together");
    return check_end(r, base, end, where, err);
}

static bool check_new(struct heft_h5_reader *r, struct superblock *s, struct heft_error *err)
{
    uint64_t base, end, where;

    s->at = 12;
    s->width = s->bytes[9];
    if (!check_width(r, s, 9, "offsets", err) || !check_width(r, s, 10, "lengths", err))
        return false;
    base = take_address(s);
    (void)take_address(s);
    where = r->base + s->at;
    end = take_address(s);
    if (s->at > s->n)
        return heft_fail(err, HEFT_MALFORMED, r->base, "the file ends inside the superblock");
    return check_end(r, base, end, where, err);
}

bool heft_h5_superblock(struct heft_h5_reader *r, struct heft_error *err)
{
    struct superblock s = {.n = 0};
    bool has;

    if (!heft_h5_find(r->bytes, &r->base, &has, err))
        return false;
    if (!has)
        return heft_fail(err, HEFT_MALFORMED, 0,
                         "no HDF5 signature at 0, 512, 1024, …: this is not an HDF5 file");
    s.n = (size_t)heft_min_u64(MOST, r->bytes->size - r->base);
    if (!heft_source_read(r->bytes, r->base, s.bytes, s.n, err))
        return false;
    if (s.n < 16)
        return heft_fail(err, HEFT_MALFORMED, r->base, "the file ends inside the superblock");
    r->version = s.bytes[8];
    if (r->version > NEWEST)
        return heft_fail(err, HEFT_UNSUPPORTED, r->base + 8,
                         "superblock version %u; heft knows 0 to %d", r->version, NEWEST);
    if (!(r->version < 2 ? check_old : check_new)(r, &s, err))
        return false;
    r->behind = r->base + s.at;
    return true;
}
