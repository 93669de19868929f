/* npy_ids.c: checks the header of a NumPy array of ids: integers of any width. */
#include "tokens/input/npy_ids.h"

#include "heft/types.h"

static uint64_t descr_at(struct heft_bytes header, const struct heft_npy *npy)
{
    return (uint64_t)((const uint8_t *)npy->descr.p - header.p);
}

bool heft_npy_is_safe(struct heft_bytes header, const struct heft_npy *npy, struct heft_error *err)
{
    if (npy->type.kind == HEFT_NPY_OBJECTS)
        return heft_fail(err, HEFT_UNSAFE, descr_at(header, npy),
                         "an array of Python objects is a pickle and is not read");
    return npy->type.kind != HEFT_NPY_RECORDS ||
           heft_fail(err, HEFT_UNSAFE, descr_at(header, npy),
                     "an array of records may contain Python objects and is not read");
}

static bool refuse_type(struct heft_bytes header, const struct heft_npy *npy,
                        struct heft_error *err)
{
    return heft_fail(err, HEFT_UNSUPPORTED, descr_at(header, npy),
                     "an array of type %.*s; expected little-endian integers",
                     (int)heft_min_u64(npy->descr.n, 20), npy->descr.p);
}

static bool is_whole(const struct heft_npy *npy, bool *is_signed)
{
    if (npy->type.kind != HEFT_NPY_NUMBERS)
        return false;
    switch ((enum heft_dtype)npy->type.dtype) {
    case HEFT_I8:
    case HEFT_I16:
    case HEFT_I32:
    case HEFT_I64:
        *is_signed = true;
        return true;
    case HEFT_U8:
    case HEFT_U16:
    case HEFT_U32:
    case HEFT_U64:
        *is_signed = false;
        return true;
    default:
        return false;
    }
}

static bool read_ids(struct heft_bytes header, struct heft_npy *npy, struct heft_npy_ids *out,
                     struct heft_error *err)
{
    bool is_signed = false;

    if (!heft_npy_parse(npy, header, 0, err) ||
        (npy->type.kind == HEFT_NPY_OBJECTS && !heft_npy_is_safe(header, npy, err)))
        return false;
    if (!is_whole(npy, &is_signed))
        return refuse_type(header, npy, err);
    if (npy->is_fortran && npy->rank > 1)
        return heft_fail(err, HEFT_UNSUPPORTED, descr_at(header, npy),
                         "an array of several dimensions in Fortran order; expected C order");
    *out = (struct heft_npy_ids){.count = npy->count,
                                 .data = (uint32_t)npy->data,
                                 .width = (uint8_t)npy->type.each,
                                 .rank = npy->rank,
                                 .is_signed = is_signed,
                                 .is_big = npy->type.is_big && npy->type.each > 1};
    return true;
}

bool heft_npy_ids(struct heft_bytes header, struct heft_npy_ids *out, struct heft_error *err)
{
    struct heft_npy npy;

    return read_ids(header, &npy, out, err);
}

bool heft_npy_plain_ids(struct heft_bytes header, struct heft_npy_ids *out, struct heft_error *err)
{
    struct heft_npy npy;

    if (!read_ids(header, &npy, out, err))
        return false;
    return !out->is_big || refuse_type(header, &npy, err);
}
