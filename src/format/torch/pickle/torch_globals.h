/* torch_globals.h: the meaning of the names in a torch pickle: a table. Names are looked up, never
 * imported (doc/format/torch.md). A name is known only as the exact pair (module, name), after the
 * renames of Python 2 and of moved modules; a dotted name such as `torch` +
 * `_utils._rebuild_tensor_v2` is a different name and stays unknown. */
#ifndef HEFT_TORCH_GLOBALS_H
#define HEFT_TORCH_GLOBALS_H

#include "base/base.h"
#include "heft/heft.h"
#include "wire/pickle.h"

enum heft_torch_kind {
    HEFT_TORCH_UNKNOWN,
    HEFT_TORCH_MAPPING,     /* OrderedDict, dict, Counter: argument (pairs or dict), then items */
    HEFT_TORCH_DEFAULTDICT, /* defaultdict: argument (factory), then items */
    HEFT_TORCH_NAMESPACE,   /* Namespace, SimpleNamespace: attributes are the items */
    HEFT_TORCH_LIST,        /* list, deque: argument (items), then appended items */
    HEFT_TORCH_TUPLE,       /* tuple, torch.Size: (items) */
    HEFT_TORCH_SET,         /* set, frozenset: (items) */
    HEFT_TORCH_BYTES,       /* bytes, bytearray: (), (bytes) or (text, encoding) */
    HEFT_TORCH_ENCODE,      /* _codecs.encode: (text, encoding) */
    HEFT_TORCH_COMPLEX,     /* complex: (real, imaginary) */
    HEFT_TORCH_PATH,        /* pathlib: (parts …) */
    HEFT_TORCH_DEVICE,      /* torch.device: (type) or (type, index) */
    HEFT_TORCH_LAYOUT,      /* _get_layout: (name) */
    HEFT_TORCH_DTYPE,       /* a plain name: torch.float32 */
    HEFT_TORCH_CONSTANT,    /* a plain name: torch.per_tensor_affine */
    HEFT_TORCH_STORAGE,     /* a storage class; dtype: of its elements */
    HEFT_TORCH_UNTYPED,     /* a storage class counted in bytes */
    HEFT_TORCH_CLASS,       /* an old tensor class: () and BUILD (storage, offset, size, stride) */
    HEFT_TORCH_TENSOR,      /* torch.Tensor: a class, not a call that builds one */
    HEFT_TORCH_REBUILD,     /* _rebuild_tensor */
    HEFT_TORCH_REBUILD_V2,
    HEFT_TORCH_REBUILD_V3,
    HEFT_TORCH_PARAMETER,  /* Parameter and _rebuild_parameter…: the first argument */
    HEFT_TORCH_FROM_TYPE,  /* _rebuild_from_type(_v2): (function, type, arguments, state) */
    HEFT_TORCH_TAGGED,     /* restore_type_tag of TorchScript: (value, type) */
    HEFT_TORCH_LOAD_BYTES, /* _load_from_bytes: (a nested legacy stream) */
    HEFT_TORCH_ON_DEVICE,  /* _rebuild_device_tensor_from_…: (array or tensor, dtype, …) */
    HEFT_TORCH_QTENSOR,    /* _rebuild_qtensor: (storage, offset, size, stride, qparams, …) */
    HEFT_TORCH_SPARSE,     /* _rebuild_sparse_tensor: (layout, parts) */
    HEFT_TORCH_NESTED,     /* _rebuild_nested_tensor: (buffer, sizes, strides, offsets) */
    HEFT_TORCH_JAGGED,     /* _rebuild_njt: (parts by name) */
    HEFT_TORCH_META,       /* _rebuild_meta_tensor_no_storage */
    HEFT_TORCH_WRAPPER,    /* _rebuild_wrapper_subclass: its tensors are attributes */
    HEFT_TORCH_UNREADABLE, /* builds a tensor that heft cannot read */
    HEFT_TORCH_NP_ARRAY,   /* numpy _reconstruct, followed by BUILD */
    HEFT_TORCH_NP_BUFFER,  /* numpy _frombuffer */
    HEFT_TORCH_NP_SCALAR,
    HEFT_TORCH_NP_DTYPE,
    HEFT_TORCH_DATE,          /* date, time, datetime: (bytes) */
    HEFT_TORCH_NUMBER,        /* Decimal, Fraction: (text) or (numerator, denominator) */
    HEFT_TORCH_UUID,          /* UUID: no arguments; BUILD sets the attribute int */
    HEFT_TORCH_GETATTR,       /* (class, name): a member of an enumeration */
    HEFT_TORCH_GRAPH_MODULE,  /* result of torch.compile: (module, how) */
    HEFT_TORCH_COMPILED,      /* () and BUILD (contents, class) */
    HEFT_TORCH_SCRIPT_OBJECT, /* an object of TorchScript: no arguments, then BUILD (contents,
                                 class) */
    HEFT_TORCH_QUANTIZED_CONV /* a quantized convolution: no arguments, then BUILD (in_channels, …
                                 weight, bias …) */
};

struct heft_torch_global {
    const char *module, *name;
    uint8_t kind;  /* enum heft_torch_kind */
    uint8_t dtype; /* STORAGE, DTYPE: enum heft_dtype; HEFT_DTYPE_COUNT if heft has no such dtype */
    bool allowed;  /* allowed by torch.load(weights_only=True) */
};

/* Replaces module and name if Python 2 or an older release spelled them differently. */
void heft_torch_rename(struct heft_str *module, struct heft_str *name);
/* The entry of that pair, or NULL. Applies heft_torch_rename first. */
const struct heft_torch_global *heft_torch_lookup(struct heft_str module, struct heft_str name);
/* Entries by number (it fits into a byte), and the number of an entry. NULL past the end. */
const struct heft_torch_global *heft_torch_known(uint8_t number);
uint8_t heft_torch_number(const struct heft_torch_global *known);

/* True for a pickle of the literal integer 0x1950A86A20F9469CFC6C, the first pickle of a legacy
 * stream; the result of a call does not count. */
bool heft_torch_is_magic(const struct heft_pickle *pickle);

#endif
