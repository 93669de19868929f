#!/usr/bin/env python3
"""Writes the torch zips of this directory and expect.tsv: faults of modules, quantized, sparse and nested tensors
and subclasses (s…), and of the structure of pickles where ../torch has no sample (p…).

    make.py [FOLDER]        needs only Python; equal runs give equal files

The pieces of zips and pickles are those of ../torch/make.py.
"""
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "tools"))
from samples import Samples, torch_pieces  # noqa: E402

PIECES = torch_pieces()
PIECES.SAMPLES = SAMPLES = Samples(__file__)
AT, PROTO, FALSE, HOOKS, V2 = PIECES.AT, PIECES.PROTO, PIECES.FALSE, PIECES.HOOKS, PIECES.V2
dims, ident, in_dict, integer = PIECES.dims, PIECES.ident, PIECES.in_dict, PIECES.integer
name, pack, pickle, tensor, text = PIECES.name, PIECES.pack, PIECES.pickle, PIECES.tensor, PIECES.text
LONGS = name("torch", "LongStorage")
UTILS = "torch._utils"
NONE, TRUE = b"N", b"\x88"


def built(function, *arguments):
    return name(UTILS, function) + pack(*arguments) + b"R"


def number(x):
    return b"G" + struct.pack(">d", x)


def row(cls, key, numel, *shape):
    """A row-major tensor on a storage of its own."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= max(size, 1)
    return b"".join(tensor(storage=ident(cls=cls, key=text(key), numel=integer(numel)), size=dims(*shape), stride=dims(*strides)))


def longs(*shape, key="0", numel=16):
    return row(LONGS, key, numel, *shape)


def ints(*shape):
    return row(name("torch", "IntStorage"), "2", 4, *shape)


def floats(*shape):
    return row(name("torch", "FloatStorage"), "1", 16, *shape)


STORAGES = {"data": bytes(128), "more": [PIECES.Entry("archive/data/1", bytes(64)), PIECES.Entry("archive/data/2", bytes(16))]}


def sample(file, code, what, *parts):
    pickle(file + ".pt", code, what, *parts, **STORAGES)


def in_w(file, code, what, head, last=b"R"):
    """Under the key w, with the fault at the last opcode."""
    sample(file, code, what, *in_dict(head, AT, last))


# ---- modules -------------------------------------------------------------------------------------

def state(**attributes):
    return b"}(" + b"".join(text(key) + value for key, value in attributes.items()) + b"ub"


def module(cls="Net", **attributes):
    have = {"_parameters": b"}", "_buffers": b"}", "_modules": b"}", **attributes}
    return name("my", cls) + b")\x81" + state(**have)


def modules():
    t = floats(2)
    sample("s14-module", "ok", "", PROTO + module(_parameters=b"}" + text("w") + t + b"s") + b".")
    sample("s14-module-of-itself", "ok", "", PROTO + name("my", "Net") + b")\x81q\0}(" + text("_parameters") + b"}" + text("_modules") +
           b"}" + text("me") + b"h\0sub.")
    sample("s14-parameters-of-itself", "ok", "", PROTO + name("my", "Net") + b")\x81}(" + text("_parameters") + b"}q\0" + text("p") +
           b"h\0s" + text("_modules") + b"}ub.")
    sample("s14-parameters-no-dict", "ok", "", PROTO + module(_parameters=b"K\1") + b".")
    sample("s14-buffers-no-dict", "ok", "", PROTO + module(_buffers=b"]" + t + b"a") + b".")
    sample("s14-parameter-no-tensor", "ok", "", PROTO + module(_parameters=b"}" + text("w") + b"K\1s") + b".")
    sample("s14-outside", "note",
           "2 tensors of modules outside the state dict (attributes, non-persistent buffers): listed as values",
           PROTO + module(
        plain=t, _buffers=b"}" + text("b") + t + b"s", _non_persistent_buffers_set=b"\x8f(" + text("b") + b"\x90") + b".")
    sample("s14-one-name-twice", "malformed",
           "tensor a.b: two paths result in this name: a.b and a / b", PROTO + module(
        _parameters=b"}" + text("a.b") + t + b"s", _modules=b"}" + text("a") + module(_parameters=b"}" + text("b") + t + b"s") + b"s") + b".")
    sample("s14-attribute-and-parameter", "ok", "", PROTO + module(w=b"K\1", _parameters=b"}" + text("w") + t + b"s") + b".")
    sample("s14-parameter-wrong", "malformed", "tensor fc.w: 1 sizes but 2 strides",
           *(PROTO + name("my", "Net") + b")\x81}(" + text("_buffers") + b"}" + text("_parameters") + b"}" + text("_modules") + b"}" +
             text("fc") + name("my", "Net") + b")\x81}(" + text("_modules") + b"}" + text("_parameters") + b"}" + text("w") +
             tensor(storage=ident(key=text("1"), numel=integer(16)), stride=dims(1, 1))[0], AT, b"Rsubsub."))
    laughs = name("my", "Net") + b")\x81" + state(_parameters=b"}", _modules=b"}") + b"q\0" + b"".join(
        b"0" + name("my", "Net") + b")\x81" + state(_parameters=b"}", _modules=b"}(" + text("a") + b"h%c" % i + text("b") + b"h%c" % i + b"u")
        + b"q%c" % (i + 1) for i in range(40))
    sample("s03-laughs-modules", "limit", "limits.expansion", PROTO + laughs + b".")
    shared = name("my", "Net") + b")\x81" + state(_parameters=b"}", _modules=b"}", _buffers=b"}", big=b"(" + b"K\1" * 1500 + b"l")
    sample("s03-module-in-1000-places", "limit", "limits.expansion", PROTO + b"](" + shared + b"q\0" + b"h\0" * 1000 + b"e.")


# ---- sparse ----------------------------------------------------------------------------------------

def layout(word="torch.sparse_coo"):
    return name("torch.serialization", "_get_layout") + text(word) + b"\x85R"


def sparse(file, what, data, word="torch.sparse_coo", code="malformed"):
    in_w(f"s09-{file}", code, what, name(UTILS, "_rebuild_sparse_tensor") + pack(layout(word), data))


def sparses():
    bad = "indices, values and size do not match"
    sparse("coo", "", pack(longs(2, 4), floats(4), dims(3, 3), TRUE), code="ok")
    sparse("coo-three", "", pack(longs(1, 4), floats(4, 2), dims(3, 2)), code="ok")
    sparse("coo-more-values", bad, pack(longs(2, 4), floats(5), dims(3, 3), TRUE))
    sparse("coo-dimensions", bad, pack(longs(2, 4), floats(4), dims(3, 3, 3), TRUE))
    sparse("coo-dense-differ", bad, pack(longs(1, 4), floats(4, 3), dims(3, 2), TRUE))
    sparse("coo-indices-of-rank-1", bad, pack(longs(4), floats(4), dims(3), TRUE))
    sparse("coo-indices-of-floats", bad, pack(floats(1, 4), floats(4), dims(3), TRUE))
    sparse("coo-scalar-values", bad, pack(longs(2, 4), floats(), dims(3, 3), TRUE))
    sparse("coo-size-negative",
           "tensor w: the size of the sparse tensor is not a tuple of at most 64 integers from 0 to 2^63-1",
           pack(longs(2, 4), floats(4), dims(3, -3), TRUE))
    sparse("coo-size-none",
           "tensor w: the size of the sparse tensor is not a tuple of at most 64 integers from 0 to 2^63-1",
           pack(longs(2, 4), floats(4), NONE, TRUE))
    sparse("coo-size-of-65",
           "tensor w: the size of the sparse tensor is not a tuple of at most 64 integers from 0 to 2^63-1",
           pack(longs(2, 4), floats(4), dims(*[1] * 65), TRUE))
    sparse("coo-indices-none",
           "tensor w: a part of the sparse tensor is not a tensor", pack(NONE, floats(4), dims(3, 3), TRUE))
    meta = built("_rebuild_meta_tensor_no_storage", name("torch", "float32"), dims(4), dims(1), FALSE)
    sample("s09-coo-values-on-meta", "note", "tensor w.values: cannot be read: on the meta device", *in_dict(
        name(UTILS, "_rebuild_sparse_tensor") + pack(layout(), pack(longs(2, 4), meta, dims(3, 3), TRUE)) + b"R"))
    csr = "torch.sparse_csr"
    sparse("csr", "", pack(longs(4), longs(4), floats(4), dims(3, 3)), csr, "ok")
    sparse("csr-pointers", bad, pack(longs(3), longs(4), floats(4), dims(3, 3)), csr)
    sparse("csr-more-values", bad, pack(longs(4), longs(4), floats(5), dims(3, 3)), csr)
    sparse("csr-two-index-types", bad, pack(longs(4), ints(4), floats(4), dims(3, 3)), csr)
    sparse("csr-batch-differs", bad, pack(longs(2, 3), longs(2, 2), floats(1, 2), dims(2, 2, 3)), csr)
    sparse("csr-without-size", "bad arguments", pack(longs(4), longs(4), floats(4)), csr)
    sparse("csr-scalar-pointers", bad, pack(longs(), longs(4), floats(4), dims(3, 3)), csr)
    sparse("csc-pointers", bad, pack(longs(4), longs(4), floats(4), dims(3, 4)), "torch.sparse_csc")
    sparse("bsr", "", pack(longs(3), longs(2), floats(2, 2, 2), dims(4, 4)), "torch.sparse_bsr", "ok")
    sparse("bsr-block-of-0", bad, pack(longs(3), longs(2), floats(2, 0, 2), dims(4, 4)), "torch.sparse_bsr")
    sparse("bsr-block-does-not-divide", bad, pack(longs(3), longs(1), floats(1, 2, 3), dims(4, 4)), "torch.sparse_bsr")
    sparse("strided", "bad arguments", pack(longs(2, 4), floats(4), dims(3, 3), TRUE), "torch.strided")
    sparse("of-itself", "tensor w: a part of the sparse tensor is not a tensor", b"(" + b"N" * 3 + b"t")
    in_w("s09-no-layout", "malformed", "bad arguments", name(UTILS, "_rebuild_sparse_tensor") + pack(text("torch.sparse_coo"), dims(1, 1, 1)))
    once = name(UTILS, "_rebuild_sparse_tensor") + b"q\x000" + layout() + b"q\x010"
    deep = once + b"h\0(h\1(" * 3000 + longs(2, 4) + b"NNttR" * 3000
    sample("s09-sparse-of-sparse-3000-deep", "malformed",
           "a part of the sparse tensor is not a tensor", PROTO + b"}" + text("w") + deep + b"s.")
    nested = name(UTILS, "_rebuild_nested_tensor")
    in_w("s09-nested-sizes-differ", "malformed", "tensor w: nested tensor: values, sizes and strides do not match",
         nested + pack(floats(4), longs(2, 1), longs(1, 1), longs(2)))
    in_w("s09-nested-of-numbers", "malformed",
         "tensor w: nested tensor: values, sizes and strides do not match", nested + dims(1, 2, 3, 4))
    in_w("s09-nested-two-arguments", "malformed", "bad arguments", nested + dims(1, 2))


# ---- quantized ---------------------------------------------------------------------------------------

def quantized(file, code, what, qparams, cls="QInt8Storage", size=(2, 3), numel=16):
    storage = ident(cls=name("torch", cls), key=text("2"), numel=integer(numel))
    strides = (size[1], 1) if len(size) == 2 else (1,)
    in_w(f"s10-{file}", code, what, name(UTILS, "_rebuild_qtensor") + pack(storage, integer(0), dims(*size), dims(*strides), qparams,
                                                                           FALSE, HOOKS))


def quantizeds():
    tensor_wise, channel_wise = name("torch", "per_tensor_affine"), name("torch", "per_channel_affine")
    good = pack(tensor_wise, number(0.5), integer(1))
    quantized("tensor", "ok", "", good)
    quantized("channel", "ok", "", pack(channel_wise, floats(2), longs(2), integer(0)))
    quantized("channel-lists", "ok", "", pack(channel_wise, b"(" + number(0.5) * 3 + b"l", b"(K\1K\1K\1l", integer(1)))
    for word, scale in {"zero": number(0.0), "negative": number(-1.0), "nan": number(float("nan")), "infinite": number(float("inf"))}.items():
        quantized(f"scale-{word}", "finding", "its scale is not a positive number", pack(tensor_wise, scale, integer(0)))
    quantized("axis-past-end", "finding", "quantized tensor w: its axis is not one of its dimensions",
              pack(channel_wise, floats(2), longs(2), integer(2)))
    quantized("axis-negative", "finding", "quantized tensor w: its axis is not one of its dimensions",
              pack(channel_wise, floats(2), longs(2), integer(-1)))
    quantized("scales-too-few", "finding", "quantized tensor w: it needs one scale and one zero point per channel",
              pack(channel_wise, floats(3), longs(2), integer(0)))
    quantized("zero-points-too-many", "finding",
              "quantized tensor w: it needs one scale and one zero point per channel",
              pack(channel_wise, floats(2), longs(3), integer(0)))
    quantized("scales-none", "finding", "quantized tensor w: it needs one scale and one zero point per channel",
              pack(channel_wise, NONE, longs(2), integer(0)))
    quantized("scale-none", "malformed", "bad arguments", pack(tensor_wise, NONE, integer(0)))
    quantized("scheme-symmetric", "malformed", "bad arguments", pack(name("torch", "per_tensor_symmetric"), number(0.5), integer(0)))
    quantized("scheme-unknown", "malformed", "bad arguments", pack(name("my", "scheme"), number(0.5), integer(0)))
    quantized("qparams-none", "malformed", "bad arguments", NONE)
    quantized("qparams-of-two", "malformed", "bad arguments", pack(tensor_wise, number(0.5)))
    quantized("on-floats", "malformed",
              "tensor w: quantized tensor with a storage of type torch.FloatStorage", good, cls="FloatStorage", numel=4)
    quantized("past-end", "malformed", "storage 2 has 16 elements", good, size=(4, 5))
    quantized("four-bits", "note", "torch.QUInt4x2Storage", good, cls="QUInt4x2Storage")
    in_w("s10-five-arguments", "malformed", "bad arguments",
         name(UTILS, "_rebuild_qtensor") + pack(ident(cls=name("torch", "QInt8Storage"), key=text("2"), numel=integer(16)), integer(0),
                                                dims(2), dims(1), good))
    many = b"".join(text(f"q{i}") + name(UTILS, "_rebuild_qtensor") + pack(
        ident(cls=name("torch", "QInt8Storage"), key=text("2"), numel=integer(16)), integer(0), dims(2), dims(1),
        pack(tensor_wise, number(0.0), integer(0)), FALSE, HOOKS) + b"R" for i in range(20))
    sample("s10-twenty-doubts", "finding", "20 quantized tensors in all", PROTO + b"}(" + many + b"u.")


# ---- subclasses ------------------------------------------------------------------------------------------

def subclasses():
    wrap = name("torch._tensor", "_rebuild_from_type_v2")
    inner = pack(ident(cls=name("torch", "FloatStorage"), key=text("1"), numel=integer(16)), integer(0), dims(2), dims(1), FALSE, HOOKS)
    attributes = b"}" + text("scale") + floats(2) + b"s"
    in_w("s15-attributes", "ok", "", wrap + pack(V2, name("my", "Tensor"), inner, attributes))
    in_w("s15-function-unknown", "note", "tensor w: cannot be read: built by my.make", wrap + pack(name("my", "make"), name("my", "Tensor"), inner, attributes))
    in_w("s15-state-no-dict", "ok", "", wrap + pack(V2, name("my", "Tensor"), inner, integer(1)))
    in_w("s15-arguments-no-tuple", "malformed", "bad arguments", wrap + pack(V2, name("my", "Tensor"), NONE, attributes))
    in_w("s15-wrapper-bare", "note", "built by torch._utils._rebuild_wrapper_subclass", name(UTILS, "_rebuild_wrapper_subclass") + b")")
    in_w("s15-wrapper", "ok", "", wrap + pack(name(UTILS, "_rebuild_wrapper_subclass"), name("my", "Tensor"), dims(1), attributes))
    in_w("s15-attribute-is-itself", "ok", "", wrap + pack(V2, name("my", "Tensor"), inner, b"}q\0" + text("me") + b"h\0s"))
    in_w("s15-device-of-none", "malformed", "bad arguments", name(UTILS, "_rebuild_device_tensor_from_numpy") +
         pack(NONE, name("torch", "float32"), text("cpu"), FALSE))
    sample("s15-device-cast", "note", "1 tensor is stored in another dtype", *in_dict(
        name(UTILS, "_rebuild_device_tensor_from_cpu_tensor") + pack(floats(2), name("torch", "bfloat16"), text("cpu"), FALSE) + b"R"))
    in_w("s15-jagged-of-none", "malformed", "bad arguments", name("torch.nested._internal.nested_tensor", "_rebuild_njt") + b"N\x85")
    head = wrap + b"q\0" + b"0" + V2 + b"q\1" + b"0" + name("torch", "Tensor") + b"q\2" + b"0"
    opened = b"h\0" + b"(h\0h\2" * 5000 + b"(h\1h\2" + inner
    sample("s07-states-5000-deep", "ok", "", *in_dict(head + opened + b"}" + text("a") + b"Nst" + (b"}" + text("a") + b"Nst") * 5000 + b"R"))


# ---- objects -----------------------------------------------------------------------------------------------

def objects():
    for file, raw in {"date-month-99": name("datetime", "date") + b"C\4\x07\xe8\x63\x01\x85R", "date-of-3-bytes": name("datetime", "date") + b"C\3abc\x85R",
                      "date-none": name("datetime", "datetime") + b"N\x85R", "uuid-negative": name("uuid", "UUID") + b")\x81}" + text("int") + integer(-5) + b"sb",
                      "uuid-too-long": name("uuid", "UUID") + b")\x81}" + text("int") + b"\x8a\x14" + b"\x7f" * 20 + b"sb",
                      "fraction-none": name("fractions", "Fraction") + b"NN\x86R", "decimal-list": name("decimal", "Decimal") + b"]\x85R",
                      "member-of-text": name("builtins", "getattr") + text("os") + text("system") + b"\x86R",
                      "member-long": name("builtins", "getattr") + name("my", "Enum") + text("x" * 5000) + b"\x86R",
                      "member-surrogate": name("builtins", "getattr") + name("my", "Enum") + text(b"\xed\xa0\x80") + b"\x86R",
                      "script-object": name("torch", "ScriptObject") + b")\x81" + pack(pack(floats(2), NONE), text("__torch__.Packed")) + b"b",
                      "script-object-none": name("torch", "ScriptObject") + b")\x81Nb",
                      "convolution-of-two": name("torch.ao.nn.quantized.modules.conv", "Conv2d") + b")\x81K\1K\2\x86b"}.items():
        sample(f"s16-{file}", "ok", "", *in_dict(raw))
    dtype = name("numpy", "dtype") + pack(text("V8"), FALSE, TRUE) + b"R" + pack(
        integer(3), text("|"), NONE, pack(text("a"), text("b")), b"}", integer(8), integer(1), integer(16)) + b"b"
    sample("s11-array-of-records", "ok", "", *in_dict(
        name("numpy.core.multiarray", "_reconstruct") + pack(name("numpy", "ndarray"), dims(0), b"C\1b") + b"R" +
        pack(integer(1), dims(1), dtype, FALSE, b"C\x08abcdefgh") + b"b"))


# ---- the structure of pickles ------------------------------------------------------------------------------

def structure():
    sample("p05-pop-of-a-mark", "ok", "", PROTO + b"}(0.")
    sample("p09-proto-late", "ok", "", b"}\x80\2.")
    sample("p11-key-tensor", "ok", "", PROTO + b"}" + floats(2) + b"Ns.")
    sample("p11-key-tuple-of-list", "malformed",
           "value : a dictionary key is not hashable: a list, dict, set or bytearray", PROTO + b"}", AT, b"]\x85Ns.")
    sample("p15-newobj-of-text", "malformed", "", PROTO + text("C") + b")", AT, b"\x81.")
    sample("p15-newobj-without-tuple", "malformed", "", PROTO + name("my", "C") + b"N", AT, b"\x81.")
    sample("p15-newobj-ex-without-dict", "malformed", "", PROTO + name("my", "C") + b")N", AT, b"\x92.")
    sample("p15-conv-without-build", "ok", "", PROTO + name("torch.ao.nn.quantized.modules.conv", "Conv2d") + b")\x81.")
    sample("p15-build-twice", "unsupported", "", PROTO + name("my", "C") + b")\x81}b}", AT, b"b.")
    sample("p17-long1-of-300-bits", "ok", "", PROTO + b"}" + text("n") + b"\x8a\x26" + b"\x55" * 38 + b"s.")
    sample("p18-float-1e999", "malformed", "out of range", PROTO + b"}" + text("x"), AT, b"F1e999\ns.")
    sample("p18-int-underscore", "malformed", "", PROTO, AT, b"I1_0\n.")
    sample("s02-deep-lists", "limit", "nested deeper than 10000", PROTO + b"(" * 30000 + b"l" * 30000 + b".")
    once = name("my", "N") + b"q\x000" + text("_parameters") + b"q\x010" + text("_modules") + b"q\x020" + text("a") + b"q\x030"
    sample("s02-deep-modules", "limit", "nested deeper than 10000", PROTO + once + b"h\0)\x81}(h\1}h\2}h\3" * 10001 + b"N" +
           b"sub" * 10001 + b".")


def main():
    for make in (modules, sparses, quantizeds, subclasses, objects, structure):
        make()
    head = "# file\tcode\toffset\tpart of the text; written by make.py\n"
    SAMPLES.write(head)


if __name__ == "__main__":
    main()
