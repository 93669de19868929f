/* scan_npy.c: .npy files.
 *
 *     "\x93NUMPY" major minor │ u16 or u32 length │ {'descr': …} │ data │ following bytes
 *
 * The data of an array of objects are a pickle. Only wire/npy decides that an array has no
 * objects, and only for types that it knows by name. If it cannot read the header, which may
 * have up to 4 GiB, or if the type has fields, the data are scanned as a possible pickle.
 *
 * numpy.load can be called again for the following bytes: another array, a zip, or a pickle. */
#include "scan/scan_parts.h"

#include "base/endian.h"
#include "wire/npy.h"

#define MAGIC       "\x93NUMPY"
#define MOST_ARRAYS 10000
#define MOST_HEADER ((uint64_t)1 << 20) /* bytes of a header that are read at most */
#define PIECE       65536

enum data { PLAIN, OBJECTS, ANY };

struct array {
    enum data data;
    uint64_t begin;  /* first byte of the data */
    uint64_t length; /* bytes of the data if they are PLAIN */
};

static bool has_magic(const struct heft_scan_place *place, uint64_t at, const char *magic, size_t n)
{
    struct heft_error ignored = {0}; /* truncated: no reader sees a magic */
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

/* Sets the kind of the data from the complete header; unknown types stay ANY. */
static void judge_type(struct heft_bytes header, struct array *array)
{
    struct heft_error ignored = {0}; /* a header that heft cannot read may stand for any type */
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

/* Judges the header of n bytes at `at`. */
static bool judge_header(const struct heft_scan_place *place, uint64_t at, uint64_t n,
                         struct array *array, struct heft_error *err)
{
    struct heft_arena mem = {0};
    struct heft_bytes header;
    bool ok;

    if (n > MOST_HEADER)
        return true;
    ok = heft_source_fetch(place->src, at, n, &mem, &header, err);
    if (ok)
        judge_type(header, array);
    heft_arena_release(&mem);
    return ok;
}

/* Reads the header of the array at `at`. *some is false if there is no array. */
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

/* Moves *at to the next array, searching for its magic; to the end of the place if there is no
 * other. */
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

/* Scans the bytes after the last array. */
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

/* Scans the data of one array. *at: first byte after the array. */
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
    return heft_scan_report_text(s, place, at, HEFT_UNKNOWN, "refused",
                                 "more than 10000 consecutive arrays");
}
