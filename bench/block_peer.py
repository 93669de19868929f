"""Process for the bench of GGML's block types: gguf-py, and libheft through ctypes, so that both convert the same
bytes in one process. Answers with seconds of processor time (tests/interop/answer.py)."""

import ctypes
import os
import sys
import time

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests")
sys.path[:0] = [os.path.join(TESTS, "interop")]
from answer import serve  # noqa: E402

HOME = {}  # the library, and the bytes to convert


def setup(library):
    HOME["library"] = ctypes.CDLL(library)
    HOME["library"].heft_cast.restype = ctypes.c_bool
    return {}


def make_blocks(kind, elements):
    """Rows of 4096 elements: random codes, scales of usual size, which are the first two bytes of a block but for
    Q6_K, where they are the last."""
    import numpy
    from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
    each, size = GGML_QUANT_SIZES[GGMLQuantizationType[kind]]
    rng = numpy.random.default_rng(0)
    blocks = rng.integers(0, 256, (elements // each, size), dtype=numpy.uint8)
    scales = (rng.standard_normal((len(blocks), 2)) * 0.01).astype(numpy.float16).view(numpy.uint8)
    if kind == "Q6_K":
        blocks[:, 208:] = scales[:, :2]
    elif kind == "MXFP4":
        blocks[:, 0] = rng.integers(110, 130, len(blocks))
    elif kind == "NVFP4":
        blocks[:, :4] &= 0x7F
    else:
        at = 4 if kind in ("Q4_K", "Q5_K") else 2
        blocks[:, :at] = scales[:, :at]
    HOME["bytes"] = blocks.reshape(elements // 4096, -1)
    return {"bytes": blocks.size}


def make_floats(elements):
    import numpy
    HOME["bytes"] = numpy.random.default_rng(0).standard_normal((elements // 4096, 4096), dtype=numpy.float32)
    return {"bytes": HOME["bytes"].nbytes}


def number_of(name):
    found = ctypes.c_int()
    HOME["library"].heft_dtype_parse(name.encode(), ctypes.byref(found))
    return found.value


def heft(of, to, elements, size):
    """The output is touched before, as a program that converts many tensors has it."""
    import numpy
    out, error = numpy.ones(size, numpy.uint8), ctypes.create_string_buffer(4096)
    source = HOME["bytes"].ctypes.data_as(ctypes.c_void_p)
    start = time.process_time()
    done = HOME["library"].heft_cast(number_of(of), source, number_of(to), out.ctypes.data_as(ctypes.c_void_p),
                                     ctypes.c_size_t(elements), None, error)
    seconds = time.process_time() - start
    HOME["heft"] = out
    return {"seconds": seconds, "ok": done}


def gguf(of, to):
    """Blocks to F32, or F32 to blocks."""
    from gguf import GGMLQuantizationType, quants
    change, kind = (quants.quantize, to) if of == "F32" else (quants.dequantize, of)
    start = time.process_time()
    HOME["gguf"] = change(HOME["bytes"], GGMLQuantizationType[kind])
    return {"seconds": time.process_time() - start}


def same():
    """Whether the last results are equal: for one that is BF16, in its upper half, truncated and up to one unit."""
    import numpy
    left, right = HOME["heft"], HOME["gguf"].view(numpy.uint8).ravel()
    if left.size == right.size:
        return {"same": bool((left == right).all())}
    gap = left.view(numpy.uint16).astype(numpy.int64) - (right.view(numpy.uint32) >> 16)
    return {"same": bool(((gap == 0) | (gap == 1)).all())}


serve({work.__name__: work for work in (setup, make_blocks, make_floats, heft, gguf, same)})
