/* npy_types.c: NumPy's names of types.
 *
 *     < > = |   byte order, or nothing  b1 i2 u4 f8 c16   kind and bytes
 *     S5 U5 V2  bytes, UTF-32, void     M8[ns] m8[D]      dates and times
 *     ? h Q     one letter              float32           a name */
#include "wire/npy.h"

static const struct {
    const char *code; /* NumPy's type code: kind and bytes per element */
    uint8_t dtype;
} numbers[] = {
    {"b1", HEFT_BOOL}, {"i1", HEFT_I8},  {"i2", HEFT_I16}, {"i4", HEFT_I32},   {"i8", HEFT_I64},
    {"u1", HEFT_U8},   {"u2", HEFT_U16}, {"u4", HEFT_U32}, {"u8", HEFT_U64},   {"f2", HEFT_F16},
    {"f4", HEFT_F32},  {"f8", HEFT_F64}, {"c8", HEFT_C64}, {"c16", HEFT_C128},
};

/* Aliases. l is a long of 8 bytes, as on all platforms of NumPy except Windows. */
static const struct {
    const char *name, *code;
} names[] = {
    {"?", "b1"},
    {"bool", "b1"},
    {"b", "i1"},
    {"int8", "i1"},
    {"B", "u1"},
    {"uint8", "u1"},
    {"h", "i2"},
    {"int16", "i2"},
    {"H", "u2"},
    {"uint16", "u2"},
    {"i", "i4"},
    {"int32", "i4"},
    {"I", "u4"},
    {"uint32", "u4"},
    {"l", "i8"},
    {"q", "i8"},
    {"int", "i8"},
    {"int64", "i8"},
    {"L", "u8"},
    {"Q", "u8"},
    {"uint64", "u8"},
    {"e", "f2"},
    {"float16", "f2"},
    {"f", "f4"},
    {"float32", "f4"},
    {"d", "f8"},
    {"float", "f8"},
    {"float64", "f8"},
    {"F", "c8"},
    {"complex64", "c8"},
    {"D", "c16"},
    {"complex128", "c16"},
    {"g", "f16"},
    {"G", "c32"},
    {"object", "O"},
    {"bool_", "b1"},
    {"int_", "i8"},
    {"object_", "O"},
    {"byte", "i1"},
    {"ubyte", "u1"},
    {"short", "i2"},
    {"ushort", "u2"},
    {"intc", "i4"},
    {"uintc", "u4"},
    {"long", "i8"},
    {"ulong", "u8"},
    {"longlong", "i8"},
    {"ulonglong", "u8"},
    {"intp", "i8"},
    {"uintp", "u8"},
    {"uint", "u8"},
    {"p", "i8"},
    {"P", "u8"},
    {"half", "f2"},
    {"single", "f4"},
    {"double", "f8"},
    {"csingle", "c8"},
    {"complex", "c16"},
    {"cdouble", "c16"},
    {"longdouble", "f16"},
    {"clongdouble", "c32"},
};

static bool find_number(struct heft_str code, struct heft_npy_type *type)
{
    for (size_t i = 0; i < HEFT_COUNT(numbers); i++)
        if (heft_str_is(code, numbers[i].code)) {
            type->kind = HEFT_NPY_NUMBERS;
            type->dtype = numbers[i].dtype;
            type->each = heft_dtype_block_bytes((enum heft_dtype)numbers[i].dtype);
            return true;
        }
    return false;
}

/* Parses the digits after the kind, at most 9; *size is 0 if there are none. */
static bool take_size(struct heft_str digits, uint64_t *size)
{
    *size = 0;
    for (size_t i = 0; i < digits.n; i++) {
        if (digits.p[i] < '0' || digits.p[i] > '9' || i == 9)
            return false;
        *size = *size * 10 + (uint64_t)(digits.p[i] - '0');
    }
    return true;
}

/* True for the text after M or m: "8", with or without a unit. */
static bool is_date(struct heft_str rest)
{
    if (rest.n > 0 && rest.p[0] == '8')
        rest = (struct heft_str){rest.p + 1, rest.n - 1};
    return rest.n == 0 || (rest.n > 2 && rest.p[0] == '[' && rest.p[rest.n - 1] == ']');
}

static void find_other(struct heft_str code, struct heft_npy_type *type)
{
    const struct heft_str rest = {code.p + 1, code.n - 1};
    uint64_t size;

    if (code.p[0] == 'M' || code.p[0] == 'm') {
        if (is_date(rest))
            *type = (struct heft_npy_type){HEFT_NPY_DATES, 0, false, 8};
        return;
    }
    if (!take_size(rest, &size))
        return;
    switch (code.p[0]) {
    case 'S':
    case 'a':
        *type = (struct heft_npy_type){HEFT_NPY_BYTES, 0, false, size};
        break;
    case 'U':
        *type = (struct heft_npy_type){HEFT_NPY_TEXTS, 0, false, 4 * size};
        break;
    case 'V':
        *type = (struct heft_npy_type){HEFT_NPY_VOIDS, 0, false, size};
        break;
    case 'O':
        *type = (struct heft_npy_type){HEFT_NPY_OBJECTS, 0, false, 0};
        break;
    case 'f':
    case 'c':
        if (size == 12 || size == 16 || size == 24 || size == 32)
            *type = (struct heft_npy_type){HEFT_NPY_LONG, 0, false, size};
        break;
    default:
        break;
    }
}

struct heft_npy_type heft_npy_type_of(struct heft_str code)
{
    struct heft_npy_type type = {.kind = HEFT_NPY_UNKNOWN};
    bool is_big = false;

    if (memchr(code.p, ',', code.n)) {
        type.kind = HEFT_NPY_RECORDS;
        return type;
    }
    if (code.n > 1 && memchr("<>=|", code.p[0], 4)) {
        is_big = code.p[0] == '>';
        code = (struct heft_str){code.p + 1, code.n - 1};
    }
    if (code.n == 0)
        return type;
    for (size_t i = 0; i < HEFT_COUNT(names); i++)
        if (heft_str_is(code, names[i].name)) {
            code = heft_str_of(names[i].code);
            break;
        }
    if (!find_number(code, &type))
        find_other(code, &type);
    type.is_big = is_big;
    return type;
}
