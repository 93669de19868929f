/* saved_model.c: what saved_model_cli shows of a SavedModel, line for line.
 *
 *     MetaGraphDef with tag-set: 'serve' contains the following SignatureDefs:
 *
 *     signature_def['serving_default']:
 *       The given SavedModel SignatureDef contains the following input(s):
 *         inputs['x'] tensor_info:
 *             dtype: DT_FLOAT
 *             shape: (-1, 1)
 *             name: x:0
 *       …
 *     The MetaGraph with tag set ['serve'] contains the following ops: {'Add', 'Const'}
 *
 *     Concrete Functions:
 *       Function Name: 'compute'
 *         Option #1
 *           Callable with:
 *             Argument #1
 *               a: TensorSpec(shape=(), dtype=tf.float32, name='a')
 *
 * Everything comes from the tree that the library gives of the file (heft_about). What Python shows as
 * a set is sorted here. */
#include "saved_model.h"

#include "value.h"

#include <stdlib.h>

/* How TensorFlow calls heft's dtypes in messages, and in Python. */
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

static void out_value_text(struct out *out, const struct heft_value *v)
{
    if (v && v->text)
        (void)out_name(out, v->text, v->text_len);
}

static void out_key(struct out *out, const struct heft_value *v)
{
    (void)out_name(out, v->key, v->key_len);
}

static void out_i64(struct out *out, int64_t number)
{
    if (number < 0)
        out_char(out, '-');
    out_u64(out, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}

/* ---- signatures ------------------------------------------------------------------------------ */

static void show_tensor(struct out *out, const struct heft_value *info, const char *kind)
{
    const struct heft_value *const shape = value_member(info, "shape");

    out_text(out, "    ");
    out_text(out, kind);
    out_text(out, "['");
    out_key(out, info);
    out_text(out, "'] tensor_info:\n        dtype: ");
    out_text(out, dtypes[find_dtype(value_member(info, "dtype"))].label);
    out_text(out, "\n        shape: ");
    if (!shape || shape->kind == HEFT_VALUE_NULL) {
        out_text(out, "unknown_rank");
    } else {
        out_char(out, '(');
        for (const struct heft_value *dim = shape->first_child; dim; dim = dim->next_sibling) {
            out_i64(out, dim->as.integer);
            out_text(out, dim->next_sibling ? ", " : "");
        }
        out_char(out, ')');
    }
    out_text(out, "\n        name: ");
    out_value_text(out, value_member(info, "tensor"));
    out_char(out, '\n');
}

static void show_tensors(struct out *out, const struct heft_value *signature, const char *kind,
                         const char *what)
{
    const struct heft_value *const all = value_member(signature, kind);

    out_text(out, "  The given SavedModel SignatureDef contains the following ");
    out_text(out, what);
    out_text(out, ":\n");
    for (const struct heft_value *v = all ? all->first_child : NULL; v; v = v->next_sibling)
        show_tensor(out, v, kind);
}

static void show_signature(struct out *out, const struct heft_value *signature)
{
    out_text(out, "\nsignature_def['");
    out_key(out, signature);
    out_text(out, "']:\n");
    show_tensors(out, signature, "inputs", "input(s)");
    show_tensors(out, signature, "outputs", "output(s)");
    out_text(out, "  Method name is: ");
    out_value_text(out, value_member(signature, "method"));
    out_char(out, '\n');
}

/* 'a', 'b' */
static void show_list(struct out *out, const struct heft_value *list, const char *quote)
{
    for (const struct heft_value *v = list ? list->first_child : NULL; v; v = v->next_sibling) {
        out_text(out, quote);
        out_value_text(out, v);
        out_text(out, quote);
        out_text(out, v->next_sibling ? ", " : "");
    }
}

static void show_saver(struct out *out, const struct heft_value *saver)
{
    if (!saver || saver->kind != HEFT_VALUE_DICT)
        return;
    out_text(out, "\nsaver_def:\n");
    for (const struct heft_value *v = saver->first_child; v; v = v->next_sibling) {
        out_text(out, "  ");
        out_key(out, v);
        out_text(out, ": ");
        if (v->kind == HEFT_VALUE_STRING)
            out_value_text(out, v);
        else
            (void)json_value(out, v); /* a number or a bool: takes no memory */
        out->separate = false;
        out_char(out, '\n');
    }
}

static void show_graph(struct out *out, const struct heft_value *graph)
{
    const struct heft_value *const tags = value_member(graph, "tags");
    const struct heft_value *const ops = value_member(graph, "ops");
    const struct heft_value *const signatures = value_member(graph, "signatures");

    out_text(out, "\nMetaGraphDef with tag-set: '");
    show_list(out, tags, "");
    out_text(out, "' contains the following SignatureDefs:\n");
    for (const struct heft_value *v = signatures ? signatures->first_child : NULL; v;
         v = v->next_sibling)
        show_signature(out, v);
    out_text(out, "The MetaGraph with tag set [");
    show_list(out, tags, "'");
    out_text(out, "] contains the following ops: ");
    if (ops && ops->first_child) {
        out_char(out, '{');
        show_list(out, ops, "'");
        out_text(out, "}\n");
    } else {
        out_text(out, "set()\n");
    }
}

/* ---- functions ------------------------------------------------------------------------------- */

static bool is_spec(const struct heft_value *v)
{
    const char *const spec = text_of(value_member(v, "spec"));

    return v->kind == HEFT_VALUE_DICT &&
           (!strcmp(spec, "TensorSpec") || !strcmp(spec, "BoundedTensorSpec"));
}

/* TensorSpec(shape=(None, 2), dtype=tf.float32, name='x') */
static void show_spec(struct out *out, const struct heft_value *spec)
{
    const struct heft_value *const shape = value_member(spec, "shape"), *const name = value_member(
                                                                            spec, "name");

    out_value_text(out, value_member(spec, "spec"));
    out_text(out, "(shape=");
    if (!shape || shape->kind == HEFT_VALUE_NULL) {
        out_text(out, "<unknown>");
    } else {
        out_char(out, '(');
        for (const struct heft_value *dim = shape->first_child; dim; dim = dim->next_sibling) {
            if (dim->as.integer < 0)
                out_text(out, "None");
            else
                out_i64(out, dim->as.integer);
            if (dim->next_sibling || dim == shape->first_child)
                out_text(out, dim->next_sibling ? ", " : ",");
        }
        out_char(out, ')');
    }
    out_text(out, ", dtype=tf.");
    out_text(out, dtypes[find_dtype(value_member(spec, "dtype"))].python);
    out_text(out, *text_of(name) ? ", name='" : ", name=None");
    out_value_text(out, name);
    out_text(out, *text_of(name) ? "')" : ")");
}

/* A value within an argument, as Python's str() shows it; containers in containers as JSON. */
static bool show_plain(struct out *out, const struct heft_value *v)
{
    bool fine = true;

    if (v->kind == HEFT_VALUE_NULL)
        out_text(out, "None");
    else if (v->kind == HEFT_VALUE_BOOL)
        out_text(out, v->as.boolean ? "True" : "False");
    else if (is_spec(v))
        show_spec(out, v);
    else if (v->kind == HEFT_VALUE_STRING)
        out_value_text(out, v);
    else
        fine = json_value(out, v);
    out->separate = false;
    return fine;
}

static const char *python_type(const struct heft_value *v)
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
    case HEFT_VALUE_LIST:
        return "list";
    case HEFT_VALUE_TUPLE:
        return "tuple";
    default:
        return value_member(v, "spec") ? text_of(value_member(v, "spec")) : "dict";
    }
}

/* [1, 'a'] and {'k': 1} */
static bool show_members(struct out *out, const struct heft_value *v, bool is_dict)
{
    bool fine = true;

    out_char(out, is_dict ? '{' : '[');
    for (const struct heft_value *m = v->first_child; fine && m; m = m->next_sibling) {
        const char *const quote = m->kind == HEFT_VALUE_STRING ? "'" : "";

        if (is_dict) {
            out_char(out, '\'');
            out_key(out, m);
            out_text(out, "': ");
        }
        out_text(out, quote);
        fine = show_plain(out, m);
        out_text(out, quote);
        out_text(out, m->next_sibling ? ", " : "");
    }
    out_char(out, is_dict ? '}' : ']');
    return fine;
}

static bool show_argument(struct out *out, const struct heft_value *v)
{
    const bool is_list = v->kind == HEFT_VALUE_LIST || v->kind == HEFT_VALUE_TUPLE;
    const bool is_dict = v->kind == HEFT_VALUE_DICT && !value_member(v, "spec");
    bool fine = true;

    out_text(out, "          ");
    if (v->kind == HEFT_VALUE_STRING) {
        out_value_text(out, v);
    } else if (is_spec(v)) {
        out_value_text(out, value_member(v, "name"));
        out_text(out, *text_of(value_member(v, "name")) ? ": " : "None: ");
        show_spec(out, v);
    } else {
        out_text(out, "DType: ");
        out_text(out, python_type(v));
        out_text(out, "\n          Value: ");
        fine = is_list || is_dict ? show_members(out, v, is_dict) : show_plain(out, v);
    }
    out_char(out, '\n');
    return fine;
}

static void show_number(struct out *out, const char *what, uint64_t number)
{
    out_text(out, "        ");
    out_text(out, what);
    out_u64(out, number);
    out_char(out, '\n');
}

static bool show_option(struct out *out, const struct heft_value *option, uint64_t number)
{
    const struct heft_value *const args = value_member(option, "args");
    const struct heft_value *const named = value_member(option, "kwargs");
    uint64_t n = 0;
    bool fine = true;

    if (args && args->first_child) {
        out_text(out, "    Option #");
        out_u64(out, number);
        out_text(out, "\n      Callable with:\n");
    }
    for (const struct heft_value *v = args ? args->first_child : NULL; fine && v;
         v = v->next_sibling) {
        show_number(out, "Argument #", ++n);
        fine = show_argument(out, v);
    }
    n = 0;
    for (const struct heft_value *v = named ? named->first_child : NULL; v; v = v->next_sibling) {
        show_number(out, "Named Argument #", ++n);
        out_text(out, "          ");
        out_key(out, v);
        out_char(out, '\n');
    }
    return fine;
}

static bool show_functions(struct out *out, const struct heft_value *graphs)
{
    const struct heft_value *callables = NULL;
    bool fine = true;

    for (const struct heft_value *g = graphs->first_child; g && !callables; g = g->next_sibling)
        callables = value_member(g, "callables");
    if (!callables)
        return true;
    out_text(out, "\nConcrete Functions:\n");
    for (const struct heft_value *f = callables->first_child; fine && f; f = f->next_sibling) {
        uint64_t n = 0;

        out_text(out, f == callables->first_child ? "  Function Name: '" : "\n  Function Name: '");
        out_key(out, f);
        out_text(out, "'\n");
        for (const struct heft_value *o = f->first_child; fine && o; o = o->next_sibling)
            fine = show_option(out, o, ++n);
    }
    return fine;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* As Python compares lists of strings. */
static int by_tags(const void *a, const void *b)
{
    const struct heft_value *x = value_member(*(const struct heft_value *const *)a, "tags");
    const struct heft_value *y = value_member(*(const struct heft_value *const *)b, "tags");

    x = x ? x->first_child : NULL;
    y = y ? y->first_child : NULL;
    for (; x && y; x = x->next_sibling, y = y->next_sibling)
        if (strcmp(text_of(x), text_of(y)) != 0)
            return strcmp(text_of(x), text_of(y));
    return (x != NULL) - (y != NULL);
}

bool saved_model_show(struct out *out, const struct heft_value *about)
{
    const struct heft_value *const graphs = value_member(about, "metagraphs");
    const struct heft_value **sorted;
    size_t n = 0;
    bool fine;

    if (!graphs)
        return true;
    for (const struct heft_value *g = graphs->first_child; g; g = g->next_sibling)
        n++;
    sorted = malloc((n + 1) * sizeof *sorted);
    if (!sorted)
        return false;
    n = 0;
    for (const struct heft_value *g = graphs->first_child; g; g = g->next_sibling)
        sorted[n++] = g;
    qsort(sorted, n, sizeof *sorted, by_tags);
    for (size_t i = 0; i < n; i++)
        show_graph(out, sorted[i]);
    fine = show_functions(out, graphs);
    for (size_t i = 0; i < n; i++)
        show_saver(out, value_member(sorted[i], "saver"));
    for (const struct heft_value *v = about->first_child; v && fine; v = v->next_sibling)
        if (v->kind == HEFT_VALUE_DICT) {
            out_char(out, '\n');
            out_key(out, v);
            out_text(out, ":\n");
            fine = print_values(out, v, 2, true);
        }
    free(sorted);
    return fine;
}
