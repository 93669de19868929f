/* python_value.c: prints values of a SavedModel's functions as Python does.
 *
 *     ["a", {"spec": "TensorSpec", …}]             ['a', TensorSpec(shape=(2,), dtype=tf.float32, name='x')]
 *     {"named_tuple": "P", "values": {"left": 1}}  P(left=1)
 *     {"spec": "RaggedTensorSpec", "state": […]}   RaggedTensorSpec(TensorShape([None]), tf.float32, 0, tf.int64)
 *
 * The library limits the depth of nesting; a stack of that size replaces recursion. */
#include "output/python_value.h"

#include "output/python_repr.h"
#include "output/value.h"

#include <string.h>

/* heft's dtypes, their labels in TensorFlow's protobufs, and their names in Python. */
static const struct {
    const char *dtype, *label, *python;
} dtypes[] = {
    {"F32", "DT_FLOAT", "float32"},
    {"F64", "DT_DOUBLE", "float64"},
    {"F16", "DT_HALF", "float16"},
    {"BF16", "DT_BFLOAT16", "bfloat16"},
    {"I8", "DT_INT8", "int8"},
    {"I16", "DT_INT16", "int16"},
    {"I32", "DT_INT32", "int32"},
    {"I64", "DT_INT64", "int64"},
    {"U8", "DT_UINT8", "uint8"},
    {"U16", "DT_UINT16", "uint16"},
    {"U32", "DT_UINT32", "uint32"},
    {"U64", "DT_UINT64", "uint64"},
    {"BOOL", "DT_BOOL", "bool"},
    {"C64", "DT_COMPLEX64", "complex64"},
    {"C128", "DT_COMPLEX128", "complex128"},
    {"STRING", "DT_STRING", "string"},
    {"VARIANT", "DT_VARIANT", "variant"},
    {"RESOURCE", "DT_RESOURCE", "resource"},
    {"QI8", "DT_QINT8", "qint8"},
    {"QU8", "DT_QUINT8", "quint8"},
    {"QI16", "DT_QINT16", "qint16"},
    {"QU16", "DT_QUINT16", "quint16"},
    {"QI32", "DT_QINT32", "qint32"},
    {"F8_E5M2", "DT_FLOAT8_E5M2", "float8_e5m2"},
    {"F8_E4M3", "DT_FLOAT8_E4M3FN", "float8_e4m3fn"},
    {"F8_E4M3FNUZ", "DT_FLOAT8_E4M3FNUZ", "float8_e4m3fnuz"},
    {"F8_E4M3B11FNUZ", "DT_FLOAT8_E4M3B11FNUZ", "float8_e4m3b11fnuz"},
    {"F8_E5M2FNUZ", "DT_FLOAT8_E5M2FNUZ", "float8_e5m2fnuz"},
    {"I4", "DT_INT4", "int4"},
    {"U4", "DT_UINT4", "uint4"},
    {"I2", "DT_INT2", "int2"},
    {"U2", "DT_UINT2", "uint2"},
    {"INVALID", "DT_INVALID", "invalid"},
};

static const char *text_of(const struct heft_value *v)
{
    return v && v->text ? v->text : "";
}

static size_t find_dtype(const struct heft_value *v)
{
    size_t i = 0;

    while (i + 1 < sizeof dtypes / sizeof *dtypes && strcmp(dtypes[i].dtype, text_of(v)) != 0)
        i++;
    return i;
}

const char *tensorflow_label(const struct heft_value *dtype)
{
    return dtypes[find_dtype(dtype)].label;
}

void out_value_text(struct out *out, const struct heft_value *v)
{
    if (v && v->text)
        (void)out_name(out, v->text, v->text_len);
}

void out_value_key(struct out *out, const struct heft_value *v)
{
    (void)out_name(out, v->key, v->key_len);
}

void out_i64(struct out *out, int64_t number)
{
    if (number < 0)
        out_char(out, '-');
    out_u64(out, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}

/* ---- Python types that dicts of the tree represent ------------------------------------------- */

static const char *spec_of(const struct heft_value *v)
{
    return v->kind == HEFT_VALUE_DICT ? text_of(value_member(v, "spec")) : "";
}

static const struct heft_value *named_of(const struct heft_value *v)
{
    return v->kind == HEFT_VALUE_DICT ? value_member(v, "named_tuple") : NULL;
}

bool is_tensor_spec(const struct heft_value *v)
{
    return !strcmp(spec_of(v), "TensorSpec") || !strcmp(spec_of(v), "BoundedTensorSpec");
}

bool is_python_dict(const struct heft_value *v)
{
    return v->kind == HEFT_VALUE_DICT && !*spec_of(v) && !named_of(v);
}

const struct heft_value *python_items(const struct heft_value *v)
{
    if (v->kind == HEFT_VALUE_LIST || v->kind == HEFT_VALUE_TUPLE)
        return v;
    return named_of(v) ? value_member(v, "values") : NULL;
}

const char *python_type(const struct heft_value *v)
{
    switch (v->kind) {
    case HEFT_VALUE_NULL:
        return "NoneType";
    case HEFT_VALUE_BOOL:
        return "bool";
    case HEFT_VALUE_INT:
        return "int";
    case HEFT_VALUE_FLOAT:
        return "float";
    case HEFT_VALUE_STRING:
        return "str";
    case HEFT_VALUE_LIST:
        return "list";
    case HEFT_VALUE_TUPLE:
        return "tuple";
    default:
        if (named_of(v))
            return text_of(named_of(v));
        return *spec_of(v) ? spec_of(v) : "dict";
    }
}

/* ---- scalars --------------------------------------------------------------------------------- */

/* Prints "2, None"; returns the number of dimensions. */
static size_t out_dims(struct out *out, const struct heft_value *shape)
{
    size_t n = 0;

    for (const struct heft_value *dim = shape->first_child; dim; dim = dim->next_sibling, n++) {
        if (dim->as.integer < 0)
            out_text(out, "None");
        else
            out_i64(out, dim->as.integer);
        out_text(out, dim->next_sibling ? ", " : "");
    }
    return n;
}

/* Prints (None, 2), as str(TensorShape). */
static void out_shape(struct out *out, const struct heft_value *shape)
{
    if (!shape || shape->kind == HEFT_VALUE_NULL) {
        out_text(out, "<unknown>");
        return;
    }
    out_char(out, '(');
    out_text(out, out_dims(out, shape) == 1 ? ",)" : ")");
}

/* Writes TensorShape([None, 2]). */
static void out_shape_repr(struct out *out, const struct heft_value *shape)
{
    const bool is_known = shape && shape->kind != HEFT_VALUE_NULL;

    out_text(out, is_known ? "TensorShape([" : "TensorShape(None");
    if (is_known) {
        (void)out_dims(out, shape);
        out_char(out, ']');
    }
    out_char(out, ')');
}

/* Writes TensorSpec(shape=(None, 2), dtype=tf.float32, name='x'). */
static void out_spec(struct out *out, const struct heft_value *spec)
{
    const struct heft_value *const name = value_member(spec, "name");

    out_value_text(out, value_member(spec, "spec"));
    out_text(out, "(shape=");
    out_shape(out, value_member(spec, "shape"));
    out_text(out, ", dtype=tf.");
    out_text(out, dtypes[find_dtype(value_member(spec, "dtype"))].python);
    out_text(out, *text_of(name) ? ", name='" : ", name=None");
    out_value_text(out, name);
    out_text(out, *text_of(name) ? "')" : ")");
}

/* Prints a value without members; returns false, and prints nothing, if it has members. */
static bool out_flat(struct out *out, const struct heft_value *v)
{
    switch (v->kind) {
    case HEFT_VALUE_NULL:
        out_text(out, "None");
        return true;
    case HEFT_VALUE_BOOL:
        out_text(out, v->as.boolean ? "True" : "False");
        return true;
    case HEFT_VALUE_INT:
        out_i64(out, v->as.integer);
        return true;
    case HEFT_VALUE_FLOAT:
        out_python_float(out, v->as.number);
        return true;
    case HEFT_VALUE_STRING:
        out_python_text(out, v->text, v->text_len);
        return true;
    default:
        break;
    }
    if (is_tensor_spec(v))
        out_spec(out, v);
    else if (!strcmp(spec_of(v), "TensorShape"))
        out_shape_repr(out, value_member(v, "shape"));
    else if (!strcmp(spec_of(v), "DType"))
        out_text(out, "tf."), out_text(out, dtypes[find_dtype(value_member(v, "dtype"))].python);
    else
        return false;
    return true;
}

/* ---- containers ------------------------------------------------------------------------------ */

enum { MOST_DEPTH = 256 }; /* above the limit of the library */

struct level {
    const struct heft_value *next;
    const char *close;
    enum { PLAIN, KEYED, NAMED } form;
    bool is_tuple;
    unsigned n;
};

static void open_level(struct out *out, const struct heft_value *v, struct level *level)
{
    const struct heft_value *const state = value_member(v, "state");

    *level = (struct level){.next = v->first_child, .close = ")"};
    if (named_of(v)) {
        out_value_text(out, named_of(v));
        level->next = python_items(v) ? python_items(v)->first_child : NULL;
        level->form = NAMED;
    } else if (*spec_of(v)) {
        out_text(out, spec_of(v));
        level->next = state ? state->first_child : NULL;
        level->is_tuple = true;
    } else if (v->kind == HEFT_VALUE_DICT) {
        level->form = KEYED;
        level->close = "}";
    } else if (v->kind == HEFT_VALUE_TUPLE) {
        level->is_tuple = true;
    } else {
        level->close = "]";
    }
    out_char(out, *level->close == '}' ? '{' : *level->close == ']' ? '[' : '(');
}

static void close_level(struct out *out, const struct level *level)
{
    if (level->is_tuple && level->n == 1)
        out_char(out, ',');
    out_text(out, level->close);
}

static void begin_member(struct out *out, const struct level *level, const struct heft_value *m)
{
    out_text(out, level->n > 1 ? ", " : "");
    if (level->form == KEYED) {
        out_python_text(out, m->key, m->key_len);
        out_text(out, ": ");
    } else if (level->form == NAMED) {
        out_value_key(out, m);
        out_char(out, '=');
    }
}

void out_python_repr(struct out *out, const struct heft_value *v)
{
    struct level levels[MOST_DEPTH];
    size_t n = 0;

    if (out_flat(out, v))
        return;
    open_level(out, v, &levels[n++]);
    while (n) {
        struct level *const level = &levels[n - 1];
        const struct heft_value *const m = level->next;

        if (!m) {
            close_level(out, level);
            n--;
            continue;
        }
        level->next = m->next_sibling;
        level->n++;
        begin_member(out, level, m);
        if (out_flat(out, m))
            continue;
        if (n == MOST_DEPTH)
            out_text(out, "…");
        else
            open_level(out, m, &levels[n++]);
    }
}

void out_python_str(struct out *out, const struct heft_value *v)
{
    if (v->kind == HEFT_VALUE_STRING) {
        out_value_text(out, v);
    } else if (!strcmp(spec_of(v), "TensorShape")) {
        out_shape(out, value_member(v, "shape"));
    } else if (!strcmp(spec_of(v), "DType")) {
        out_text(out, "<dtype: '");
        out_text(out, dtypes[find_dtype(value_member(v, "dtype"))].python);
        out_text(out, "'>");
    } else {
        out_python_repr(out, v);
    }
}
