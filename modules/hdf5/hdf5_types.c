/* hdf5_types.c: translates between HDF5's datatypes and heft's dtypes. As written by h5py, Keras
 * and PyTables:
 *
 *     integer of 1, 2, 4, 8 bytes        I8 … U64       either byte order
 *     IEEE float of 2, 4, 8 bytes        F16 F32 F64
 *     float 1+8+7                        BF16
 *     enum of int8 {FALSE 0, TRUE 1}     BOOL           h5py
 *     compound {r, i} of two floats      C64 C128       h5py
 *     opaque, attribute dtype            BF16 …         Keras 3
 *     string                             a value */
#include "hdf5_parts.h"

/* Bit layout of a float. */
struct layout {
    size_t bytes, sign, exponent, exponent_bits, mantissa, mantissa_bits, bias;
    enum heft_dtype dtype;
};
static const struct layout layouts[] = {
    {2, 15, 10, 5, 0, 10, 15, HEFT_F16},
    {2, 15, 7, 8, 0, 7, 127, HEFT_BF16},
    {4, 31, 23, 8, 0, 23, 127, HEFT_F32},
    {8, 63, 52, 11, 0, 52, 1023, HEFT_F64},
};

static struct hdf5_type no_type(const char *why)
{
    return (struct hdf5_type){.why = why};
}

/* True if all bits are used; VAX byte order is not supported. */
static bool is_plain(hid_t type, bool *is_big)
{
    const H5T_order_t order = H5Tget_order(type);

    *is_big = order == H5T_ORDER_BE;
    return (order == H5T_ORDER_LE || order == H5T_ORDER_BE) && H5Tget_offset(type) == 0 &&
           H5Tget_precision(type) == 8 * H5Tget_size(type);
}

static struct hdf5_type integer_type(hid_t type)
{
    static const enum heft_dtype of[2][9] = {
        {[1] = HEFT_U8, [2] = HEFT_U16, [4] = HEFT_U32, [8] = HEFT_U64},
        {[1] = HEFT_I8, [2] = HEFT_I16, [4] = HEFT_I32, [8] = HEFT_I64},
    };
    const size_t n = H5Tget_size(type);
    const bool is_signed = H5Tget_sign(type) == H5T_SGN_2;
    struct hdf5_type out = {0};

    if (n > 8 || of[is_signed][n] == HEFT_BOOL || !is_plain(type, &out.is_big))
        return no_type("its elements are integers of an unsupported size");
    out.dtype = of[is_signed][n];
    out.is_big = out.is_big && n > 1;
    return out;
}

static bool is_layout(const struct layout *l, const struct layout *found)
{
    return l->bytes == found->bytes && l->sign == found->sign && l->exponent == found->exponent &&
           l->exponent_bits == found->exponent_bits && l->mantissa == found->mantissa &&
           l->mantissa_bits == found->mantissa_bits && l->bias == found->bias;
}

static struct hdf5_type float_type(hid_t type)
{
    struct layout l = {.bytes = H5Tget_size(type), .bias = H5Tget_ebias(type)};
    struct hdf5_type out = {0};

    if (is_plain(type, &out.is_big) && H5Tget_norm(type) == H5T_NORM_IMPLIED &&
        H5Tget_fields(type, &l.sign, &l.exponent, &l.exponent_bits, &l.mantissa,
                      &l.mantissa_bits) >= 0)
        for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
            if (is_layout(&layouts[i], &l)) {
                out.dtype = layouts[i].dtype;
                return out;
            }
    return no_type("its elements are floats of an unsupported format");
}

static bool member_is(hid_t type, unsigned index, const char *name)
{
    char *found = H5Tget_member_name(type, index);
    const bool same = found && strcmp(found, name) == 0;

    if (found)
        (void)H5free_memory(found);
    return same;
}

static struct hdf5_type bool_type(hid_t type)
{
    struct hdf5_type out = {.dtype = HEFT_BOOL};
    signed char no = 1, yes = 0;

    if (H5Tget_size(type) == 1 && H5Tget_nmembers(type) == 2 && member_is(type, 0, "FALSE") &&
        member_is(type, 1, "TRUE") && H5Tget_member_value(type, 0, &no) >= 0 &&
        H5Tget_member_value(type, 1, &yes) >= 0 && no == 0 && yes == 1)
        return out;
    return no_type("its elements are an enumeration, and not h5py's of FALSE and TRUE");
}

static struct hdf5_type half_of_complex(hid_t type, unsigned index)
{
    const hid_t half = H5Tget_member_type(type, index);
    struct hdf5_type out = no_type("");

    if (half >= 0 && H5Tget_class(half) == H5T_FLOAT)
        out = float_type(half);
    if (half >= 0)
        (void)H5Tclose(half);
    return out;
}

static struct hdf5_type complex_number(hid_t type)
{
    const size_t n = H5Tget_size(type);
    struct hdf5_type r, i;

    if (H5Tget_nmembers(type) == 2 && member_is(type, 0, "r") && member_is(type, 1, "i") &&
        H5Tget_member_offset(type, 0) == 0 && H5Tget_member_offset(type, 1) == n / 2) {
        r = half_of_complex(type, 0);
        i = half_of_complex(type, 1);
        if (!r.why && !i.why && r.dtype == i.dtype && r.is_big == i.is_big && (n == 8 || n == 16) &&
            r.dtype == (n == 8 ? HEFT_F32 : HEFT_F64)) {
            r.dtype = n == 8 ? HEFT_C64 : HEFT_C128;
            return r;
        }
    }
    return no_type("its elements are compound, and not the {r, i} of complex numbers");
}

/* ---- opaque types of Keras --------------------------------------------------------------- */

/* Reads the text of the attribute "dtype". */
static bool read_dtype_name(hid_t object, char *out, size_t room)
{
    const hid_t attribute =
        H5Aexists(object, "dtype") > 0 ? H5Aopen(object, "dtype", H5P_DEFAULT) : -1;
    const hid_t type = attribute < 0 ? -1 : H5Aget_type(attribute);
    const hid_t space = attribute < 0 ? -1 : H5Aget_space(attribute);
    const bool one = space >= 0 && H5Sget_simple_extent_npoints(space) == 1;
    bool ok = false;
    char *text = NULL;

    if (one && type >= 0 && H5Tget_class(type) == H5T_STRING) {
        if (H5Tis_variable_str(type) > 0) {
            ok = H5Aread(attribute, type, &text) >= 0 && text && strlen(text) < room;
            if (ok)
                strcpy(out, text);
            (void)H5free_memory(text);
        } else if (H5Tget_size(type) < room) {
            memset(out, 0, room);
            ok = H5Aread(attribute, type, out) >= 0;
        }
    }
    if (space >= 0)
        (void)H5Sclose(space);
    if (type >= 0)
        (void)H5Tclose(type);
    if (attribute >= 0)
        (void)H5Aclose(attribute);
    return ok;
}

static struct hdf5_type opaque_type(hid_t type, hid_t object)
{
    static const struct {
        const char *name;
        size_t bytes;
        enum heft_dtype dtype;
    } known[] = {
        {"bfloat16", 2, HEFT_BF16},
        {"float8_e4m3fn", 1, HEFT_F8_E4M3},
        {"float8_e5m2", 1, HEFT_F8_E5M2},
    };
    struct hdf5_type out = {0};
    char name[32];

    if (read_dtype_name(object, name, sizeof name))
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (strcmp(name, known[i].name) == 0 && H5Tget_size(type) == known[i].bytes) {
                out.dtype = known[i].dtype;
                return out;
            }
    return no_type("its elements are opaque, and no attribute dtype says what they are");
}

struct hdf5_type hdf5_type_of(hid_t type, hid_t object)
{
    switch (H5Tget_class(type)) {
    case H5T_INTEGER:
        return integer_type(type);
    case H5T_FLOAT:
        return float_type(type);
    case H5T_ENUM:
        return bool_type(type);
    case H5T_COMPOUND:
        return complex_number(type);
    case H5T_OPAQUE:
        return opaque_type(type, object);
    case H5T_STRING:
        return (struct hdf5_type){.is_text = true};
    case H5T_VLEN:
        return no_type("its elements are of variable length");
    case H5T_ARRAY:
        return no_type("its elements are arrays");
    case H5T_REFERENCE:
        return no_type("its elements are references to other objects");
    case H5T_BITFIELD:
        return no_type("its elements are bit fields");
    default:
        return no_type("its elements are of an unknown class");
    }
}

/* ---- types for writing ------------------------------------------------------------------- */

static bool add_boolean(hid_t type)
{
    const signed char no = 0, yes = 1;

    return H5Tenum_insert(type, "FALSE", &no) >= 0 && H5Tenum_insert(type, "TRUE", &yes) >= 0;
}

static bool add_halves(hid_t type, hid_t half)
{
    return H5Tinsert(type, "r", 0, half) >= 0 && H5Tinsert(type, "i", H5Tget_size(half), half) >= 0;
}

static bool set_half(hid_t type)
{
    return H5Tset_fields(type, 15, 10, 5, 0, 10) >= 0 && H5Tset_size(type, 2) >= 0 &&
           H5Tset_ebias(type, 15) >= 0;
}

static hid_t keep_type(hid_t type, bool ok)
{
    if (ok)
        return type;
    if (type >= 0)
        (void)H5Tclose(type);
    return -1;
}

hid_t hdf5_type_new(enum heft_dtype dtype)
{
    const hid_t plain[HEFT_DTYPE_COUNT] = {
        [HEFT_I8] = H5T_STD_I8LE,    [HEFT_U8] = H5T_STD_U8LE,    [HEFT_I16] = H5T_STD_I16LE,
        [HEFT_U16] = H5T_STD_U16LE,  [HEFT_I32] = H5T_STD_I32LE,  [HEFT_U32] = H5T_STD_U32LE,
        [HEFT_I64] = H5T_STD_I64LE,  [HEFT_U64] = H5T_STD_U64LE,  [HEFT_F16] = H5T_IEEE_F32LE,
        [HEFT_F32] = H5T_IEEE_F32LE, [HEFT_F64] = H5T_IEEE_F64LE,
    };
    hid_t type;

    if (dtype == HEFT_BOOL) {
        type = H5Tenum_create(H5T_STD_I8LE);
        return keep_type(type, type >= 0 && add_boolean(type));
    }
    if (dtype == HEFT_C64 || dtype == HEFT_C128) {
        type = H5Tcreate(H5T_COMPOUND, dtype == HEFT_C64 ? 8 : 16);
        return keep_type(type, type >= 0 && add_halves(type, dtype == HEFT_C64 ? H5T_IEEE_F32LE
                                                                               : H5T_IEEE_F64LE));
    }
    if (!plain[dtype])
        return -1;
    type = H5Tcopy(plain[dtype]);
    return keep_type(type, type >= 0 && (dtype != HEFT_F16 || set_half(type)));
}
