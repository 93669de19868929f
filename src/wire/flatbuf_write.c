/* flatbuf_write.c: writes FlatBuffers back to front.
 *
 *     p ├──────── free ────────┤├── n bytes, the newest first ──┤ p + cap
 *
 * Alignment counts from the end; the length of the finished buffer is a multiple of its strictest
 * alignment, so that alignment also holds from the begin. */
#include "base/endian.h"
#include "wire/flatbuf.h"

#define FIRST_CAP 1024

/* Makes room for n more bytes at the front. */
static bool make_room(struct heft_flat_out *out, size_t n)
{
    struct heft_error ignored = {0};
    size_t cap = out->cap ? out->cap : FIRST_CAP;
    uint8_t *p;

    if (out->failed || n <= out->cap - out->n)
        return !out->failed;
    if (n > HEFT_FLAT_MAX - out->n) {
        out->failed = out->too_large = true;
        return false;
    }
    while (n > cap - out->n)
        cap *= 2;
    out->exceeds = !heft_budget_take(out->budget, cap, &ignored);
    p = out->exceeds ? NULL : heft_alloc(cap, &ignored);
    out->failed = !p;
    if (!p) {
        heft_budget_return(out->budget, out->exceeds ? 0 : cap);
        return false;
    }
    if (out->n)
        memcpy(p + cap - out->n, out->p + out->cap - out->n, out->n);
    heft_budget_return(out->budget, out->cap);
    heft_free(out->p);
    out->p = p;
    out->cap = cap;
    return true;
}

/* Adds n bytes at the front, to be filled by the caller; NULL after an error. */
static uint8_t *push_bytes(struct heft_flat_out *out, size_t n)
{
    if (!make_room(out, n))
        return NULL;
    out->n += n;
    return out->p + out->cap - out->n;
}

/* Adds zeros, so that the front is aligned to `to` after n more bytes; none if n is 0. */
static void align_for(struct heft_flat_out *out, size_t n, size_t to)
{
    const size_t pad = (to - (out->n + n) % to) % to;
    uint8_t *p;

    if (n == 0)
        return;
    out->align = to > out->align ? to : out->align;
    if (pad && (p = push_bytes(out, pad)))
        memset(p, 0, pad);
}

static void put_number(struct heft_flat_out *out, uint64_t value, unsigned each)
{
    uint8_t *p = push_bytes(out, each);

    for (unsigned i = 0; p && i < each; i++)
        p[i] = (uint8_t)(value >> 8 * i);
}

static void put_scalar(struct heft_flat_out *out, uint64_t value, unsigned each)
{
    align_for(out, each, each);
    put_number(out, value, each);
}

/* The distance counts from the reference itself, which is added at the front. */
static void put_ref(struct heft_flat_out *out, uint32_t ref)
{
    align_for(out, 4, 4);
    put_number(out, out->n + 4 - ref, 4);
}

uint32_t heft_flat_put_string(struct heft_flat_out *out, struct heft_str text)
{
    uint8_t *p;

    align_for(out, text.n + 1, 4);
    p = push_bytes(out, text.n + 1);
    if (p && text.n)
        memcpy(p, text.p, text.n);
    if (p)
        p[text.n] = 0;
    put_scalar(out, text.n, 4);
    return (uint32_t)out->n;
}

uint32_t heft_flat_put_vector(struct heft_flat_out *out, const uint64_t *items, size_t n,
                              unsigned each)
{
    align_for(out, n * each, 4);
    align_for(out, n * each, each);
    for (size_t i = n; i > 0; i--)
        put_number(out, items[i - 1], each);
    put_scalar(out, n, 4);
    return (uint32_t)out->n;
}

uint32_t heft_flat_put_refs(struct heft_flat_out *out, const uint32_t *refs, size_t n)
{
    align_for(out, n * 4, 4);
    for (size_t i = n; i > 0; i--)
        put_ref(out, refs[i - 1]);
    put_scalar(out, n, 4);
    return (uint32_t)out->n;
}

/* ---- tables ---------------------------------------------------------------------------------- */

void heft_flat_begin(struct heft_flat_out *out)
{
    out->start = out->n;
    memset(out->fields, 0, sizeof out->fields);
}

void heft_flat_add(struct heft_flat_out *out, unsigned id, uint64_t value, unsigned each)
{
    if (value == 0)
        return;
    put_scalar(out, value, each);
    out->fields[id] = out->n;
}

void heft_flat_add_ref(struct heft_flat_out *out, unsigned id, uint32_t ref)
{
    if (ref == 0)
        return;
    put_ref(out, ref);
    out->fields[id] = out->n;
}

/* Position of an equal vtable; 0 if there is none. */
static size_t find_vtable(const struct heft_flat_out *out, const uint8_t *vtable, size_t n)
{
    for (unsigned i = 0; i < out->n_vtables; i++)
        if (memcmp(out->p + out->cap - out->vtables[i], vtable, 2) == 0 &&
            memcmp(out->p + out->cap - out->vtables[i], vtable, n) == 0)
            return out->vtables[i];
    return 0;
}

static size_t put_vtable(struct heft_flat_out *out, const uint8_t *vtable, size_t n)
{
    uint8_t *p = push_bytes(out, n);

    if (p)
        memcpy(p, vtable, n);
    if (out->n_vtables < HEFT_FLAT_VTABLES)
        out->vtables[out->n_vtables++] = out->n;
    return out->n;
}

/* Two's complement: the vtable precedes the table, or, if shared, follows it. */
HEFT_WRAPS static uint32_t vtable_distance(uint32_t vtable, uint32_t table)
{
    return vtable - table;
}

uint32_t heft_flat_end(struct heft_flat_out *out)
{
    uint8_t vtable[4 + 2 * HEFT_FLAT_FIELDS] = {0};
    size_t table, found, n = 4;

    put_scalar(out, 0, 4);
    table = out->n;
    for (unsigned id = 0; id < HEFT_FLAT_FIELDS; id++)
        if (out->fields[id]) {
            heft_put_le16(vtable + 4 + 2 * (size_t)id, (uint16_t)(table - out->fields[id]));
            n = 4 + 2 * ((size_t)id + 1);
        }
    heft_put_le16(vtable, (uint16_t)n);
    heft_put_le16(vtable + 2, (uint16_t)(table - out->start));
    if (out->failed)
        return 0;
    found = find_vtable(out, vtable, n);
    if (!found)
        found = put_vtable(out, vtable, n);
    if (out->failed)
        return 0;
    heft_put_le32(out->p + out->cap - table, vtable_distance((uint32_t)found, (uint32_t)table));
    return (uint32_t)table;
}

bool heft_flat_finish(struct heft_flat_out *out, uint32_t root, const char id[4],
                      struct heft_bytes *bytes, struct heft_error *err)
{
    uint8_t *p;

    align_for(out, 8, out->align);
    p = push_bytes(out, 4);
    if (p)
        memcpy(p, id, 4);
    put_ref(out, root);
    if (out->too_large)
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "names and shapes need 2 GiB or more, the limit of a FlatBuffer");
    if (out->exceeds)
        return heft_budget_refuse(out->budget, err);
    if (out->failed)
        return heft_fail(err, HEFT_NOMEM, HEFT_NO_OFFSET, "out of memory for the tables");
    *bytes = (struct heft_bytes){out->p + out->cap - out->n, out->n};
    return true;
}

void heft_flat_release(struct heft_flat_out *out)
{
    heft_budget_return(out->budget, out->cap);
    heft_free(out->p);
    *out = (struct heft_flat_out){0};
}
