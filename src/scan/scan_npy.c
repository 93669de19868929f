/* scan_npy.c: .npy files.
 *
 *     "\x93NUMPY" major minor │ u16 or u32 length │ {'descr': …} │ data │ what follows
 *
 * The data of an array of objects are a pickle. That an array has none is said by wire/npy, and only
 * of the types that it knows by their names; where it cannot read the header, which may be as long as
 * 4 GiB, or finds fields in it, the data are looked at as a pickle that may be none.
 *
 * numpy.load can be called again for what follows: another array, a zip, or a pickle. */
#include "scan/scan_parts.h"

#include "base/endian.h"
#include "wire/npy.h"

#define MAGIC       "\x93NUMPY"
#define MOST_ARRAYS 10000
#define MOST_HEADER ((uint64_t)1 << 20) /* bytes of a header that is read */
#define PIECE       65536

enum data { PLAIN, OBJECTS, ANY };

struct array {
    enum data data;
    uint64_t begin;  /* of its data */
    uint64_t length; /* of them, where they are PLAIN */
};

static bool has_magic(const struct heft_scan_place *place, uint64_t at, const char *magic, size_t n)
{
    struct heft_error ignored = {0}; /* cut off: none to anyone */
    uint8_t head[6];

    return heft_within(at, n, place->src->size) &&
           heft_source_read(place->src, at, head, n, &ignored) && memcmp(head, magic, n) == 0;
}

static bool is_plain(const struct heft_npy_type *type)
{
    return type->kind == HEFT_NPY_NUMBERS || type->kind == HEFT_NPY_TEXTS ||
           type->kind == HEFT_NPY_BYTES || type->kind == HEFT_NPY_DATES ||
           type->kind == HEFT_NPY_VOIDS || type->kind == HEFT_NPY_LONG;
}

/* What the header, all of whose bytes these are, says of the data. */
static void judge_type(struct heft_bytes header, struct array *array)
{
    struct heft_error ignored = {0}; /* what heft cannot read may be any type */
    struct heft_npy npy;

    if (!heft_npy_parse(&npy, header, HEFT_NO_OFFSET, &ignored))
        return;
    array->length = npy.bytes;
    array->data = is_plain(&npy.type) ? PLAIN : npy.type.kind == HEFT_NPY_OBJECTS ? OBJECTS : ANY;
}

static uint64_t header_length(const uint8_t head[HEFT_NPY_HEAD])
{
    return head[6] == 1 ? 10 + (uint64_t)heft_le16(head + 8) : 12 + (uint64_t)heft_le32(head + 8);
}

bool heft_scan_is_numbers(struct heft_bytes head, uint64_t size)
{
    struct array array = {.data = ANY};

    if (head.n < HEFT_NPY_HEAD || memcmp(head.p, MAGIC, 6) != 0)
        return false;
    array.begin = header_length(head.p);
    if (array.begin > head.n)
        return false;
    judge_type((struct heft_bytes){head.p, (size_t)array.begin}, &array);
    return array.data == PLAIN && size - array.begin <= array.length;
}

/* The header at `at`, of n bytes. */
static bool judge_header(const struct heft_scan_place *place, uint64_t at, uint64_t n,
                         struct array *array, struct heft_error *err)
{
    struct heft_arena mem = {0};
    struct heft_bytes header;

    if (n > MOST_HEADER)
        return true;
    if (!heft_source_fetch(place->src, at, n, &mem, &header, err))
        return false;
    judge_type(header, array);
    heft_arena_release(&mem);
    return true;
}

/* *some: there is an array at `at`. */
static bool read_array(const struct heft_scan_place *place, uint64_t at, struct array *array,
                       bool *some, struct heft_error *err)
{
    uint8_t head[HEFT_NPY_HEAD] = {0};
    uint64_t n;

    *array = (struct array){.data = ANY};
    *some = heft_within(at, HEFT_NPY_HEAD, place->src->size) && has_magic(place, at, MAGIC, 6);
    if (!*some)
        return true;
    if (!heft_source_read(place->src, at, head, sizeof head, err))
        return false;
    n = header_length(head);
    *some = heft_within(at, n, place->src->size);
    array->begin = at + n;
    return !*some || judge_header(place, at, n, array, err);
}

/* *at: where the next array begins, as far as its magic tells; the end, where there is none. */
static bool find_array(const struct heft_scan_place *place, uint64_t *at, struct heft_error *err)
{
    const uint64_t size = place->src->size;
    uint8_t *piece = heft_alloc(PIECE, err);
    bool ok = piece != NULL, found = false;

    while (ok && !found && *at + 6 <= size) {
        const size_t n = (size_t)heft_min_u64(PIECE, size - *at);
        size_t i = 0;

        ok = heft_source_read(place->src, *at, piece, n, err);
        while (ok && !found && i + 6 <= n)
            if (!(found = memcmp(piece + i, MAGIC, 6) == 0))
                i++;
        *at += i;
    }
    heft_free(piece);
    *at = found ? *at : size;
    return ok;
}

/* What stands behind an array and is none. */
static bool scan_rest(struct heft_scan *s, const struct heft_scan_place *place, uint64_t at,
                      struct heft_error *err)
{
    struct heft_scan_place rest = *place;

    rest.named = false;
    rest.quiet = true;
    if (at >= place->src->size)
        return true;
    return heft_scan_pickles(s, &rest, at, err);
}

/* *at: behind the array. */
static bool scan_data(struct heft_scan *s, const struct heft_scan_place *place,
                      const struct array *array, uint64_t *at, struct heft_error *err)
{
    const uint64_t left = place->src->size - array->begin;
    struct heft_scan_place objects = *place;
    struct heft_scan_run run = {0};

    *at = array->begin;
    if (array->data == PLAIN) {
        *at += heft_min_u64(array->length, left);
        return true;
    }
    objects.named = array->data == OBJECTS;
    objects.quiet = array->data == ANY;
    if (!heft_scan_pickle(s, &objects, *at, &run, err))
        return false;
    if (run.done && run.real) {
        *at += run.length;
        return true;
    }
    return find_array(place, at, err);
}

bool heft_scan_npy(struct heft_scan *s, const struct heft_scan_place *place, struct heft_error *err)
{
    struct array array;
    uint64_t at = 0;
    bool some = true;

    for (unsigned i = 0; i < MOST_ARRAYS; i++) {
        if (!read_array(place, at, &array, &some, err))
            return false;
        if (!some)
            return scan_rest(s, place, at, err);
        if (!scan_data(s, place, &array, &at, err))
            return false;
    }
    return heft_scan_tell(s, place, at, HEFT_UNKNOWN, "refused",
                          "more than 10000 arrays one behind the other");
}
