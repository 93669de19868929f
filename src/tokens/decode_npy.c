/* decode_npy.c: the header of a NumPy array of ids.
 *
 *     "\x93NUMPY" 01 00 | u16 length | {'descr': '<i8', 'fortran_order': False, 'shape': (9,), } …\n
 *                 02 00 | u32 length | …
 *
 * Whole numbers of any width, in C order or of one dimension. */
#include "base/endian.h"
#include "tokens/decode.h"

struct reading {
    struct heft_bytes text;
    size_t at;
    struct heft_error *err;
};

static bool fail(const struct reading *r, enum heft_code code, const char *what)
{
    return heft_fail(r->err, code, r->at, "%s", what);
}

bool heft_npy_head(const uint8_t *head, uint32_t *length, struct heft_error *err)
{
    const unsigned major = head[6];
    const uint64_t whole =
        major == 1 ? 10 + (uint64_t)heft_le16(head + 8) : 12 + (uint64_t)heft_le32(head + 8);

    if (memcmp(head, "\x93NUMPY", 6) != 0)
        return heft_fail(err, HEFT_MALFORMED, 0,
                         "no NumPy array: it does not begin with \\x93NUMPY");
    if (major < 1 || major > 3)
        return heft_fail(err, HEFT_UNSUPPORTED, 6,
                         "version %u of the array format; 1 to 3 are read", major);
    if (whole > HEFT_NPY_MOST)
        return heft_fail(err, HEFT_LIMIT, 8, "an array header of more than 64 KiB");
    *length = (uint32_t)whole;
    return whole >= HEFT_NPY_HEAD ||
           heft_fail(err, HEFT_MALFORMED, 8, "an array header of %" PRIu64 " bytes", whole);
}

static void skip_blank(struct reading *r)
{
    while (r->at < r->text.n && memchr(" \n", r->text.p[r->at], 2))
        r->at++;
}

static bool take(struct reading *r, const char *word)
{
    const size_t n = strlen(word);

    skip_blank(r);
    if (r->text.n - r->at < n || memcmp(r->text.p + r->at, word, n) != 0)
        return false;
    r->at += n;
    return true;
}

/* 'text' or "text". */
static bool take_text(struct reading *r, struct heft_str *out)
{
    const uint8_t *begin, *end;

    skip_blank(r);
    if (r->at >= r->text.n || !memchr("'\"", r->text.p[r->at], 2))
        return false;
    begin = r->text.p + r->at + 1;
    end = memchr(begin, begin[-1], r->text.n - r->at - 1);
    if (!end)
        return false;
    *out = (struct heft_str){(const char *)begin, (size_t)(end - begin)};
    r->at = (size_t)(end + 1 - r->text.p);
    return true;
}

static bool take_descr(struct reading *r, struct heft_npy_ids *out)
{
    const size_t at = r->at;
    struct heft_str descr;

    if (!take_text(r, &descr))
        return fail(r, HEFT_UNSUPPORTED, "an array of records: ids are whole numbers");
    if (descr.n == 2 && descr.p[0] == '|' && descr.p[1] == 'O') {
        r->at = at;
        return fail(r, HEFT_UNSAFE, "an array of Python objects, which are a pickle: not read");
    }
    if (descr.n != 3 || !memchr("<|", descr.p[0], 2) || !memchr("iu", descr.p[1], 2) ||
        !memchr("1248", descr.p[2], 4)) {
        r->at = at;
        return heft_fail(r->err, HEFT_UNSUPPORTED, at,
                         "an array of type %.*s; ids are little-endian whole numbers",
                         (int)heft_min_u64(descr.n, 20), descr.p);
    }
    out->is_signed = descr.p[1] == 'i';
    out->width = (uint8_t)(descr.p[2] - '0');
    return true;
}

static bool take_number(struct reading *r, uint64_t *out)
{
    uint64_t value = 0;
    bool is_any = false;

    skip_blank(r);
    for (; r->at < r->text.n && r->text.p[r->at] >= '0' && r->text.p[r->at] <= '9'; r->at++) {
        if (!heft_mul(value, 10, &value) ||
            !heft_add(value, r->text.p[r->at] - (uint64_t)'0', &value))
            return false;
        is_any = true;
    }
    *out = value;
    return is_any;
}

/* (), (9,), (3, 4) */
static bool take_shape(struct reading *r, uint64_t *count, unsigned *rank)
{
    uint64_t size;

    *count = 1;
    *rank = 0;
    if (!take(r, "("))
        return fail(r, HEFT_MALFORMED, "a shape that is no tuple");
    while (!take(r, ")")) {
        if (!take_number(r, &size) || !heft_mul(*count, size, count) ||
            (!take(r, ",") && (r->at >= r->text.n || r->text.p[r->at] != ')')))
            return fail(r, HEFT_MALFORMED, "a shape that is no tuple of sizes below 2^64");
        ++*rank;
    }
    return true;
}

static bool take_member(struct reading *r, struct heft_str key, struct heft_npy_ids *out,
                        unsigned *seen, bool *is_fortran)
{
    unsigned rank;

    if (heft_str_is(key, "descr")) {
        *seen |= 1;
        return take_descr(r, out);
    }
    if (heft_str_is(key, "shape")) {
        *seen |= 2;
        if (!take_shape(r, &out->count, &rank))
            return false;
        *seen |= rank > 1 ? 8 : 0;
        return true;
    }
    if (!heft_str_is(key, "fortran_order"))
        return fail(r, HEFT_MALFORMED, "an array header with an unknown key");
    *seen |= 4;
    *is_fortran = take(r, "True");
    return *is_fortran || take(r, "False") ||
           fail(r, HEFT_MALFORMED, "fortran_order is neither True nor False");
}

bool heft_npy_read(struct heft_bytes header, struct heft_npy_ids *out, struct heft_error *err)
{
    struct reading r = {header, header.p[6] == 1 ? 10 : 12, err};
    unsigned seen = 0;
    bool is_fortran = false;
    struct heft_str key;

    *out = (struct heft_npy_ids){.data = (uint32_t)header.n};
    if (!take(&r, "{"))
        return fail(&r, HEFT_MALFORMED, "an array header that is no dictionary");
    while (!take(&r, "}")) {
        if (!take_text(&r, &key) || !take(&r, ":"))
            return fail(&r, HEFT_MALFORMED, "an array header that is no dictionary");
        if (!take_member(&r, key, out, &seen, &is_fortran))
            return false;
        (void)take(&r, ",");
    }
    if ((seen & 7) != 7)
        return fail(&r, HEFT_MALFORMED, "an array header without descr, fortran_order or shape");
    return !(is_fortran && seen & 8) ||
           fail(&r, HEFT_UNSUPPORTED, "an array of several dimensions in Fortran order");
}
