/* flatbuf.c: reads FlatBuffers. Each function validates what it returns, so that a walk of an
 * untrusted buffer never leaves it. Not recursive, allocates nothing. */
#include "wire/flatbuf.h"

#include "base/endian.h"

void heft_flat_init(struct heft_flat *flat, struct heft_bytes bytes, uint64_t low, uint64_t origin)
{
    *flat = (struct heft_flat){
        .p = bytes.p, .end = bytes.n, .low = low, .origin = origin, .budget = bytes.n / 4};
}

/* True if k bytes at p are aligned to a and inside the part of the buffer that references may point
 * to. */
static bool is_inside(const struct heft_flat *flat, uint64_t p, uint64_t k, unsigned a)
{
    return p >= flat->low && heft_within(p, k, flat->end) && (p - flat->origin) % a == 0;
}

static bool report_range(const struct heft_flat *flat, enum heft_flat_kind kind, uint64_t at,
                         uint64_t len, const char *what, struct heft_error *err)
{
    return !flat->watch || flat->watch->saw(flat->watch->ctx, kind, at, len, what, err);
}

/* ---- references and tables ----------------------------------------------------------------- */

static bool follow_reference(const struct heft_flat *flat, uint64_t p, const char *what,
                             uint64_t *at, struct heft_error *err)
{
    const uint32_t ahead = heft_le32(flat->p + p);

    if (ahead == 0 || ahead > HEFT_FLAT_MAX || !is_inside(flat, p + ahead, 4, 4))
        return heft_fail(err, HEFT_MALFORMED, p,
                         "%s: reference leads %" PRIu32
                         " bytes ahead, must lead to an aligned place from "
                         "0x%" PRIx64 " to the end of the tables at 0x%" PRIx64,
                         what, ahead, flat->low, flat->end);
    *at = p + ahead;
    return true;
}

bool heft_flat_root(const struct heft_flat *flat, const char *what, struct heft_flat_table *out,
                    struct heft_error *err)
{
    uint64_t at;

    return follow_reference(flat, 0, what, &at, err) && heft_flat_table(flat, at, what, out, err);
}

/* The vtable of the table at `at` is `back` bytes before it, a signed number. UINT64_MAX: before the buffer. */
static uint64_t vtable_of(uint64_t at, uint32_t back)
{
    if (back > HEFT_FLAT_MAX)
        return at + (UINT32_MAX - back) + 1;
    return back <= at ? at - back : UINT64_MAX;
}

bool heft_flat_table(const struct heft_flat *flat, uint64_t at, const char *what,
                     struct heft_flat_table *out, struct heft_error *err)
{
    const uint32_t back = is_inside(flat, at, 4, 4) ? heft_le32(flat->p + at) : 0;
    const uint64_t vtable = vtable_of(at, back);

    if (!is_inside(flat, at, 4, 4))
        return heft_fail(err, HEFT_MALFORMED, at, "%s: the buffer ends before a table", what);
    if (!is_inside(flat, vtable, 4, 2))
        return heft_fail(err, HEFT_MALFORMED, at,
                         "%s: the position of the vtable is not aligned or not in the buffer",
                         what);
    *out = (struct heft_flat_table){at, vtable, heft_le16(flat->p + vtable),
                                    heft_le16(flat->p + vtable + 2), what};
    if (out->slots < 4 || out->slots % 2 != 0 || !is_inside(flat, vtable, out->slots, 2))
        return heft_fail(err, HEFT_MALFORMED, vtable,
                         "%s: vtable has %u bytes, must have an even number, at least 4, and end "
                         "before 0x%" PRIx64,
                         what, out->slots, flat->end);
    if (out->size < 4 || !is_inside(flat, at, out->size, 1))
        return heft_fail(err, HEFT_MALFORMED, vtable + 2,
                         "%s: table has %u bytes, must have at least 4 and end before 0x%" PRIx64,
                         what, out->size, flat->end);
    return report_range(flat, HEFT_FLAT_VTABLE, vtable, out->slots, what, err) &&
           report_range(flat, HEFT_FLAT_TABLE, at, out->size, what, err);
}

/* ---- fields ---------------------------------------------------------------------------------- */

static unsigned place_of(const struct heft_flat *flat, const struct heft_flat_table *table,
                         unsigned id)
{
    const unsigned slot = 4 + 2 * id;

    return slot + 2 <= table->slots ? heft_le16(flat->p + table->vtable + slot) : 0;
}

bool heft_flat_has(const struct heft_flat *flat, const struct heft_flat_table *table, unsigned id)
{
    return place_of(flat, table, id) != 0;
}

/* Position of a field of `size` bytes; 0 if it is absent. */
static bool locate_field(const struct heft_flat *flat, const struct heft_flat_table *table,
                         unsigned id, unsigned size, uint64_t *at, struct heft_error *err)
{
    const unsigned place = place_of(flat, table, id);

    *at = place ? table->at + place : 0;
    if (place == 0)
        return true;
    if (place < 4 || place + size > table->size)
        return heft_fail(err, HEFT_MALFORMED, table->vtable + 4 + 2 * id,
                         "%s: field %u is at %u+%u, the table has %u bytes", table->what, id, place,
                         size, table->size);
    if ((*at - flat->origin) % size != 0)
        return heft_fail(err, HEFT_MALFORMED, *at, "%s: field %u is not aligned to its %u bytes",
                         table->what, id, size);
    return report_range(flat, HEFT_FLAT_FIELD, *at, size, table->what, err);
}

bool heft_flat_u8(const struct heft_flat *flat, const struct heft_flat_table *table, unsigned id,
                  uint8_t *out, struct heft_error *err)
{
    uint64_t at;

    if (!locate_field(flat, table, id, 1, &at, err))
        return false;
    *out = at ? flat->p[at] : 0;
    return true;
}

bool heft_flat_u32(const struct heft_flat *flat, const struct heft_flat_table *table, unsigned id,
                   uint32_t *out, struct heft_error *err)
{
    uint64_t at;

    if (!locate_field(flat, table, id, 4, &at, err))
        return false;
    *out = at ? heft_le32(flat->p + at) : 0;
    return true;
}

bool heft_flat_u64(const struct heft_flat *flat, const struct heft_flat_table *table, unsigned id,
                   uint64_t *out, struct heft_error *err)
{
    uint64_t at;

    if (!locate_field(flat, table, id, 8, &at, err))
        return false;
    *out = at ? heft_le64(flat->p + at) : 0;
    return true;
}

bool heft_flat_ref(const struct heft_flat *flat, const struct heft_flat_table *table, unsigned id,
                   uint64_t *at, struct heft_error *err)
{
    return locate_field(flat, table, id, 4, at, err) &&
           (*at == 0 || follow_reference(flat, *at, table->what, at, err));
}

/* ---- vectors and strings ----------------------------------------------------------------------- */

bool heft_flat_vector(const struct heft_flat *flat, uint64_t at, unsigned each, const char *what,
                      struct heft_flat_vector *out, struct heft_error *err)
{
    if (!is_inside(flat, at, 4, 4))
        return heft_fail(err, HEFT_MALFORMED, at, "%s: the buffer ends before a vector", what);
    *out = (struct heft_flat_vector){at + 4, heft_le32(flat->p + at)};
    if (out->count > (flat->end - out->at) / each)
        return heft_fail(err, HEFT_MALFORMED, at,
                         "%s: vector has %" PRIu32 " elements of %u bytes, %" PRIu64
                         " bytes are left",
                         what, out->count, each, flat->end - out->at);
    if (out->count > 0 && (out->at - flat->origin) % each != 0)
        return heft_fail(err, HEFT_MALFORMED, out->at,
                         "%s: elements are not aligned to their %u bytes", what, each);
    return report_range(flat, HEFT_FLAT_VECTOR, at, 4 + (uint64_t)out->count * each, what, err);
}

bool heft_flat_refs(struct heft_flat *flat, uint64_t at, const char *what,
                    struct heft_flat_vector *out, struct heft_error *err)
{
    if (!heft_flat_vector(flat, at, 4, what, out, err))
        return false;
    if (out->count > flat->budget)
        return heft_fail(err, HEFT_MALFORMED, at,
                         "%s: with these %" PRIu32 " the vectors have more elements than fit into "
                         "the file",
                         what, out->count);
    flat->budget -= out->count;
    return true;
}

bool heft_flat_element(const struct heft_flat *flat, const struct heft_flat_vector *vector,
                       uint32_t i, uint64_t *at, struct heft_error *err)
{
    return follow_reference(flat, vector->at + 4 * (uint64_t)i, "an element", at, err);
}

bool heft_flat_string(const struct heft_flat *flat, uint64_t at, uint64_t most, const char *what,
                      struct heft_str *out, struct heft_error *err)
{
    uint64_t n;

    if (!is_inside(flat, at, 4, 4))
        return heft_fail(err, HEFT_MALFORMED, at, "%s: the buffer ends before a string", what);
    n = heft_le32(flat->p + at);
    if (n >= flat->end - at - 4)
        return heft_fail(err, HEFT_MALFORMED, at,
                         "%s: string has %" PRIu64 " bytes and a NUL, %" PRIu64 " bytes are left",
                         what, n, flat->end - at - 4);
    if (flat->p[at + 4 + n] != 0)
        return heft_fail(err, HEFT_MALFORMED, at + 4 + n, "%s: the string is not followed by a NUL",
                         what);
    if (n > most)
        return heft_fail(err, HEFT_LIMIT, at,
                         "%s: string has %" PRIu64 " bytes, the limit is %" PRIu64, what, n, most);
    *out = (struct heft_str){(const char *)flat->p + at + 4, (size_t)n};
    return report_range(flat, HEFT_FLAT_STRING, at, 4 + n + 1, what, err);
}
