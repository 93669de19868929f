/* supports_dtype.c: dtypes that a format can store, and the dtype to cast the others to. */
#include "core/cast.h"
#include "core/registry.h"

bool heft_registry_supports_dtype(const struct heft_format *format, enum heft_dtype dtype)
{
    return format->supports_dtype ? format->supports_dtype(dtype)
                                  : !heft_dtype_varies(dtype) && !heft_dtype_is_scaled(dtype);
}

/* Candidates in order of preference. Integers: the smallest that represents every value first. */
static const enum heft_dtype integers[] = {HEFT_U8,  HEFT_I8,         HEFT_U16, HEFT_I16,
                                           HEFT_U32, HEFT_I32,        HEFT_U64, HEFT_I64,
                                           HEFT_F64, HEFT_DTYPE_COUNT};
static const enum heft_dtype floats[] = {HEFT_F32, HEFT_F64, HEFT_DTYPE_COUNT};
static const enum heft_dtype complexes[] = {HEFT_C64, HEFT_C128, HEFT_DTYPE_COUNT};

static const enum heft_dtype *candidates_for(enum heft_dtype dtype)
{
    static const enum heft_dtype none[] = {HEFT_DTYPE_COUNT};

    switch (heft_dtype_info(dtype)->kind) {
    case HEFT_KIND_FLOAT:
    case HEFT_KIND_SCALED:
        return floats;
    case HEFT_KIND_COMPLEX:
        return complexes;
    case HEFT_KIND_VARYING:
        return none;
    default:
        return integers;
    }
}

enum heft_dtype heft_registry_instead(const struct heft_format *format, enum heft_dtype dtype)
{
    const enum heft_dtype *to = candidates_for(dtype);

    while (*to < HEFT_DTYPE_COUNT &&
           (!heft_registry_supports_dtype(format, *to) || !heft_cast_known(dtype, *to)))
        to++;
    return *to;
}
