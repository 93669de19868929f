/* torch_globals.c: the table of names that occur in torch pickles.
 *
 *     module  name  → kind, dtype, allowed      KNOWN, sorted by module, then name
 *
 * "allowed" is what torch.load(weights_only=True) permits (doc/format/torch.md). */
#include "format/torch/pickle/torch_globals.h"

#include <stdlib.h>

#define NO_DTYPE                  HEFT_DTYPE_COUNT
#define PLAIN(module, name, kind) module, name, HEFT_TORCH_##kind, NO_DTYPE, false
#define ALLOW(module, name, kind) module, name, HEFT_TORCH_##kind, NO_DTYPE, true
#define DTYPE(name, dtype)        "torch", name, HEFT_TORCH_DTYPE, dtype, true
#define STORE(name, dtype)        "torch", name, HEFT_TORCH_STORAGE, dtype, true
#define STORE_SCRIPT(name, dtype) "torch", name, HEFT_TORCH_STORAGE, dtype, false
#define CLASS(name, dtype)        "torch", name, HEFT_TORCH_CLASS, dtype, true

static const struct heft_torch_global KNOWN[] = {
    {ALLOW("_codecs", "encode", ENCODE)},
    {PLAIN("argparse", "Namespace", NAMESPACE)},
    {ALLOW("builtins", "bytearray", BYTES)},
    {PLAIN("builtins", "bytes", BYTES)},
    {ALLOW("builtins", "complex", COMPLEX)},
    {PLAIN("builtins", "dict", MAPPING)},
    {PLAIN("builtins", "frozenset", SET)},
    {PLAIN("builtins", "getattr", GETATTR)},
    {PLAIN("builtins", "list", LIST)},
    {ALLOW("builtins", "set", SET)},
    {PLAIN("builtins", "tuple", TUPLE)},
    {ALLOW("collections", "Counter", MAPPING)},
    {ALLOW("collections", "OrderedDict", MAPPING)},
    {PLAIN("collections", "defaultdict", DEFAULTDICT)},
    {PLAIN("collections", "deque", LIST)},
    {PLAIN("datetime", "date", DATE)},
    {PLAIN("datetime", "datetime", DATE)},
    {PLAIN("datetime", "time", DATE)},
    {PLAIN("decimal", "Decimal", NUMBER)},
    {PLAIN("fractions", "Fraction", NUMBER)},
    {PLAIN("numpy", "dtype", NP_DTYPE)},
    {PLAIN("numpy.core.multiarray", "_reconstruct", NP_ARRAY)},
    {PLAIN("numpy.core.multiarray", "scalar", NP_SCALAR)},
    {PLAIN("numpy.core.numeric", "_frombuffer", NP_BUFFER)},
    {PLAIN("pathlib", "Path", PATH)},
    {PLAIN("pathlib", "PosixPath", PATH)},
    {PLAIN("pathlib", "PurePath", PATH)},
    {PLAIN("pathlib", "PurePosixPath", PATH)},
    {PLAIN("pathlib", "PureWindowsPath", PATH)},
    {PLAIN("pathlib", "WindowsPath", PATH)},
    {STORE("BFloat16Storage", HEFT_BF16)},
    {CLASS("BFloat16Tensor", HEFT_BF16)},
    {STORE("BoolStorage", HEFT_BOOL)},
    {CLASS("BoolTensor", HEFT_BOOL)},
    {STORE("ByteStorage", HEFT_U8)},
    {CLASS("ByteTensor", HEFT_U8)},
    {STORE("CharStorage", HEFT_I8)},
    {CLASS("CharTensor", HEFT_I8)},
    {STORE("ComplexDoubleStorage", HEFT_C128)},
    {STORE("ComplexFloatStorage", HEFT_C64)},
    {STORE_SCRIPT("ComplexHalfStorage", HEFT_C32)},
    {STORE("DoubleStorage", HEFT_F64)},
    {CLASS("DoubleTensor", HEFT_F64)},
    {STORE_SCRIPT("Float8_e4m3fnStorage", HEFT_F8_E4M3)},
    {STORE_SCRIPT("Float8_e4m3fnuzStorage", HEFT_F8_E4M3FNUZ)},
    {STORE_SCRIPT("Float8_e5m2Storage", HEFT_F8_E5M2)},
    {STORE_SCRIPT("Float8_e5m2fnuzStorage", HEFT_F8_E5M2FNUZ)},
    {STORE_SCRIPT("Float8_e8m0fnuStorage", HEFT_F8_E8M0)},
    {STORE("FloatStorage", HEFT_F32)},
    {CLASS("FloatTensor", HEFT_F32)},
    {STORE("HalfStorage", HEFT_F16)},
    {CLASS("HalfTensor", HEFT_F16)},
    {STORE("IntStorage", HEFT_I32)},
    {CLASS("IntTensor", HEFT_I32)},
    {STORE("LongStorage", HEFT_I64)},
    {CLASS("LongTensor", HEFT_I64)},
    {STORE("QInt32Storage", NO_DTYPE)},
    {STORE("QInt8Storage", NO_DTYPE)},
    {STORE("QUInt2x4Storage", NO_DTYPE)},
    {STORE("QUInt4x2Storage", NO_DTYPE)},
    {STORE("QUInt8Storage", NO_DTYPE)},
    {PLAIN("torch", "ScriptObject", SCRIPT_OBJECT)},
    {STORE("ShortStorage", HEFT_I16)},
    {CLASS("ShortTensor", HEFT_I16)},
    {ALLOW("torch", "Size", TUPLE)},
    {ALLOW("torch", "Tensor", TENSOR)},
    {STORE_SCRIPT("UInt16Storage", HEFT_U16)},
    {STORE_SCRIPT("UInt32Storage", HEFT_U32)},
    {STORE_SCRIPT("UInt64Storage", HEFT_U64)},
    {PLAIN("torch", "UntypedStorage", UNTYPED)},
    {DTYPE("bfloat16", HEFT_BF16)},
    {DTYPE("bits16", NO_DTYPE)},
    {DTYPE("bits1x8", NO_DTYPE)},
    {DTYPE("bits2x4", NO_DTYPE)},
    {DTYPE("bits4x2", NO_DTYPE)},
    {DTYPE("bits8", NO_DTYPE)},
    {DTYPE("bool", HEFT_BOOL)},
    {DTYPE("complex128", HEFT_C128)},
    {DTYPE("complex32", HEFT_C32)},
    {DTYPE("complex64", HEFT_C64)},
    {ALLOW("torch", "device", DEVICE)},
    {DTYPE("float16", HEFT_F16)},
    {DTYPE("float32", HEFT_F32)},
    {DTYPE("float4_e2m1fn_x2", NO_DTYPE)},
    {DTYPE("float64", HEFT_F64)},
    {DTYPE("float8_e4m3fn", HEFT_F8_E4M3)},
    {DTYPE("float8_e4m3fnuz", HEFT_F8_E4M3FNUZ)},
    {DTYPE("float8_e5m2", HEFT_F8_E5M2)},
    {DTYPE("float8_e5m2fnuz", HEFT_F8_E5M2FNUZ)},
    {DTYPE("float8_e8m0fnu", HEFT_F8_E8M0)},
    {DTYPE("int1", NO_DTYPE)},
    {DTYPE("int16", HEFT_I16)},
    {DTYPE("int2", NO_DTYPE)},
    {DTYPE("int3", NO_DTYPE)},
    {DTYPE("int32", HEFT_I32)},
    {DTYPE("int4", NO_DTYPE)},
    {DTYPE("int5", NO_DTYPE)},
    {DTYPE("int6", NO_DTYPE)},
    {DTYPE("int64", HEFT_I64)},
    {DTYPE("int7", NO_DTYPE)},
    {DTYPE("int8", HEFT_I8)},
    {ALLOW("torch", "per_channel_affine", CONSTANT)},
    {ALLOW("torch", "per_channel_affine_float_qparams", CONSTANT)},
    {ALLOW("torch", "per_channel_symmetric", CONSTANT)},
    {ALLOW("torch", "per_tensor_affine", CONSTANT)},
    {ALLOW("torch", "per_tensor_symmetric", CONSTANT)},
    {DTYPE("qint32", NO_DTYPE)},
    {DTYPE("qint8", NO_DTYPE)},
    {DTYPE("quint2x4", NO_DTYPE)},
    {DTYPE("quint4x2", NO_DTYPE)},
    {DTYPE("quint8", NO_DTYPE)},
    {DTYPE("uint1", NO_DTYPE)},
    {DTYPE("uint16", HEFT_U16)},
    {DTYPE("uint2", NO_DTYPE)},
    {DTYPE("uint3", NO_DTYPE)},
    {DTYPE("uint32", HEFT_U32)},
    {DTYPE("uint4", NO_DTYPE)},
    {DTYPE("uint5", NO_DTYPE)},
    {DTYPE("uint6", NO_DTYPE)},
    {DTYPE("uint64", HEFT_U64)},
    {DTYPE("uint7", NO_DTYPE)},
    {DTYPE("uint8", HEFT_U8)},
    {PLAIN("torch._C", "ScriptObject", SCRIPT_OBJECT)},
    {PLAIN("torch._dynamo.eval_frame", "OptimizedModule", COMPILED)},
    {PLAIN("torch._tensor", "_rebuild_from_type", FROM_TYPE)},
    {ALLOW("torch._tensor", "_rebuild_from_type_v2", FROM_TYPE)},
    {ALLOW("torch._utils", "_rebuild_device_tensor_from_cpu_tensor", ON_DEVICE)},
    {ALLOW("torch._utils", "_rebuild_device_tensor_from_numpy", ON_DEVICE)},
    {ALLOW("torch._utils", "_rebuild_meta_tensor_no_storage", META)},
    {ALLOW("torch._utils", "_rebuild_nested_tensor", NESTED)},
    {ALLOW("torch._utils", "_rebuild_parameter", PARAMETER)},
    {PLAIN("torch._utils", "_rebuild_parameter_v2", PARAMETER)},
    {ALLOW("torch._utils", "_rebuild_parameter_with_state", PARAMETER)},
    {ALLOW("torch._utils", "_rebuild_qtensor", QTENSOR)},
    {PLAIN("torch._utils", "_rebuild_sparse_csr_tensor", SPARSE)},
    {ALLOW("torch._utils", "_rebuild_sparse_tensor", SPARSE)},
    {ALLOW("torch._utils", "_rebuild_tensor", REBUILD)},
    {ALLOW("torch._utils", "_rebuild_tensor_v2", REBUILD_V2)},
    {ALLOW("torch._utils", "_rebuild_tensor_v3", REBUILD_V3)},
    {ALLOW("torch._utils", "_rebuild_wrapper_subclass", WRAPPER)},
    {PLAIN("torch._utils", "_rebuild_xla_tensor", ON_DEVICE)},
    {PLAIN("torch.ao.nn.intrinsic.quantized.modules.conv_relu", "ConvReLU1d", QUANTIZED_CONV)},
    {PLAIN("torch.ao.nn.intrinsic.quantized.modules.conv_relu", "ConvReLU2d", QUANTIZED_CONV)},
    {PLAIN("torch.ao.nn.intrinsic.quantized.modules.conv_relu", "ConvReLU3d", QUANTIZED_CONV)},
    {PLAIN("torch.ao.nn.quantized.modules.conv", "Conv1d", QUANTIZED_CONV)},
    {PLAIN("torch.ao.nn.quantized.modules.conv", "Conv2d", QUANTIZED_CONV)},
    {PLAIN("torch.ao.nn.quantized.modules.conv", "Conv3d", QUANTIZED_CONV)},
    {PLAIN("torch.ao.nn.quantized.modules.conv", "ConvTranspose1d", QUANTIZED_CONV)},
    {PLAIN("torch.ao.nn.quantized.modules.conv", "ConvTranspose2d", QUANTIZED_CONV)},
    {PLAIN("torch.ao.nn.quantized.modules.conv", "ConvTranspose3d", QUANTIZED_CONV)},
    {PLAIN("torch.autograd.variable", "Variable", PARAMETER)},
    {PLAIN("torch.fx.graph_module", "reduce_graph_module", GRAPH_MODULE)},
    {PLAIN("torch.jit._pickle", "build_boollist", LIST)},
    {PLAIN("torch.jit._pickle", "build_doublelist", LIST)},
    {PLAIN("torch.jit._pickle", "build_intlist", LIST)},
    {PLAIN("torch.jit._pickle", "build_tensor_from_id", UNREADABLE)},
    {PLAIN("torch.jit._pickle", "build_tensorlist", LIST)},
    {PLAIN("torch.jit._pickle", "restore_type_tag", TAGGED)},
    {PLAIN("torch.nested._internal.nested_tensor", "_rebuild_njt", JAGGED)},
    {ALLOW("torch.nn.parameter", "Parameter", PARAMETER)},
    {PLAIN("torch.nn.parameter", "UninitializedBuffer", UNREADABLE)},
    {PLAIN("torch.nn.parameter", "UninitializedParameter", UNREADABLE)},
    {ALLOW("torch.serialization", "_get_layout", LAYOUT)},
    {ALLOW("torch.sparse", "BFloat16Tensor", UNREADABLE)},
    {ALLOW("torch.sparse", "ByteTensor", UNREADABLE)},
    {ALLOW("torch.sparse", "CharTensor", UNREADABLE)},
    {ALLOW("torch.sparse", "DoubleTensor", UNREADABLE)},
    {ALLOW("torch.sparse", "FloatTensor", UNREADABLE)},
    {ALLOW("torch.sparse", "HalfTensor", UNREADABLE)},
    {ALLOW("torch.sparse", "IntTensor", UNREADABLE)},
    {ALLOW("torch.sparse", "LongTensor", UNREADABLE)},
    {ALLOW("torch.sparse", "ShortTensor", UNREADABLE)},
    {ALLOW("torch.storage", "TypedStorage", UNTYPED)},
    {ALLOW("torch.storage", "UntypedStorage", UNTYPED)},
    {PLAIN("torch.storage", "_TypedStorage", UNTYPED)},
    {PLAIN("torch.storage", "_UntypedStorage", UNTYPED)},
    {PLAIN("torch.storage", "_load_from_bytes", LOAD_BYTES)},
    {PLAIN("types", "SimpleNamespace", NAMESPACE)},
    {PLAIN("uuid", "UUID", UUID)},
};

_Static_assert(HEFT_COUNT(KNOWN) < UINT8_MAX, "numbers of entries are kept in bytes");

const struct heft_torch_global *heft_torch_known(uint8_t number)
{
    return number < HEFT_COUNT(KNOWN) ? &KNOWN[number] : NULL;
}

uint8_t heft_torch_number(const struct heft_torch_global *known)
{
    return known ? (uint8_t)(known - KNOWN) : UINT8_MAX;
}

struct rename {
    const char *module, *name;       /* name NULL: every name of the module */
    const char *to_module, *to_name; /* to_name NULL: the name is kept */
};

static const struct rename RENAMED[] = {
    {"__builtin__", "long", "builtins", "int"},
    {"__builtin__", "unicode", "builtins", "str"},
    {"__builtin__", "basestring", "builtins", "str"},
    {"__builtin__", "unichr", "builtins", "chr"},
    {"__builtin__", "xrange", "builtins", "range"},
    {"__builtin__", NULL, "builtins", NULL},
    {"exceptions", NULL, "builtins", NULL},
    {"copy_reg", NULL, "copyreg", NULL},
    {"cPickle", NULL, "pickle", NULL},
    {"UserDict", NULL, "collections", NULL},
    {"UserList", NULL, "collections", NULL},
    {"UserString", NULL, "collections", NULL},
    {"commands", NULL, "subprocess", NULL},
    {"numpy._core.multiarray", NULL, "numpy.core.multiarray", NULL},
    {"numpy._core.numeric", NULL, "numpy.core.numeric", NULL},
    {"pathlib._local", NULL, "pathlib", NULL},
    {"torch.nn.intrinsic.quantized.modules.conv_relu", NULL,
     "torch.ao.nn.intrinsic.quantized.modules.conv_relu", NULL},
    {"torch.nn.quantized.modules.conv", NULL, "torch.ao.nn.quantized.modules.conv", NULL},
    {"torch.tensor", NULL, "torch._tensor", NULL},
};

/* Device modules whose storage and tensor classes correspond to those of another module. */
static const char *const CUDA[][2] = {{"torch.cuda", "torch"},
                                      {"torch.cuda.sparse", "torch.sparse"}};

struct key {
    struct heft_str module, name;
};

static int compare_known(const void *a, const void *b)
{
    const struct key *key = a;
    const struct heft_torch_global *known = b;
    const int order = heft_str_cmp(key->module, heft_str_of(known->module));

    return order ? order : heft_str_cmp(key->name, heft_str_of(known->name));
}

static const struct heft_torch_global *find_known(struct heft_str module, struct heft_str name)
{
    const struct key key = {module, name};

    return bsearch(&key, KNOWN, HEFT_COUNT(KNOWN), sizeof KNOWN[0], compare_known);
}

void heft_torch_rename(struct heft_str *module, struct heft_str *name)
{
    for (size_t i = 0; i < HEFT_COUNT(RENAMED); i++) {
        const struct rename *r = &RENAMED[i];

        if (!heft_str_is(*module, r->module) || (r->name && !heft_str_is(*name, r->name)))
            continue;
        *module = heft_str_of(r->to_module);
        if (r->to_name)
            *name = heft_str_of(r->to_name);
        return;
    }
}

const struct heft_torch_global *heft_torch_lookup(struct heft_str module, struct heft_str name)
{
    const struct heft_torch_global *known = find_known(module, name);

    if (known)
        return known;
    heft_torch_rename(&module, &name);
    for (size_t i = 0; i < HEFT_COUNT(CUDA); i++) {
        if (!heft_str_is(module, CUDA[i][0]))
            continue;
        known = find_known(heft_str_of(CUDA[i][1]), name);
        if (known && (known->kind == HEFT_TORCH_STORAGE || known->kind == HEFT_TORCH_CLASS ||
                      known->kind == HEFT_TORCH_UNREADABLE))
            return known;
        return NULL;
    }
    return find_known(module, name);
}

bool heft_torch_is_magic(const struct heft_pickle *pickle)
{
    static const uint8_t magic[] = {0x6C, 0xFC, 0x9C, 0x46, 0xF9, 0x20, 0x6A, 0xA8, 0x50, 0x19};
    const struct heft_pickle_node *root = heft_pickle_at(pickle, pickle->root);

    return root->kind == HEFT_PICKLE_BIGINT && root->len == sizeof magic &&
           memcmp(root->u.text.p, magic, sizeof magic) == 0;
}
