"""Casts of block types by heft_cast, compared with gguf-py bit for bit; two NaNs are equal. Prints a line per
check: pass WHAT, FAIL WHAT.

gguf-py does not decode Q8_K, Q1_0 and Q2_0: their formulas are here. A scale of 0 may have another sign than
in gguf-py where a block is quantized: heft's is that of ggml (tests/unit/test_blocks.c)."""

import ctypes
import os
import pathlib
import subprocess
import sys
import warnings

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, quants

HERE = pathlib.Path(__file__).resolve().parent
ROOT = pathlib.Path(os.environ.get("HEFT_ROOT") or HERE.parent.parent)
HEFT = pathlib.Path(os.environ.get("HEFT") or ROOT / "build/release/heft").absolute()
LIBRARY = ctypes.CDLL(str(HEFT.parent / "libheft.so"))
ROUNDS = 2048  # blocks of each type and kind
OWN = {"Q8_K": (256, 292), "Q1_0": (128, 18), "Q2_0": (64, 18)}
TYPES = ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS", "MXFP4",
         "NVFP4", "TQ1_0", "TQ2_0", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ1_S", "IQ1_M", *OWN]
QUANTIZED = ["Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1"]
# Offsets of the F16 scales of a block.
SCALES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82], "Q3_K": [108],
          "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0], "TQ1_0": [52], "TQ2_0": [64],
          "IQ2_XXS": [0], "IQ2_XS": [0], "IQ2_S": [0], "IQ3_XXS": [0], "IQ3_S": [0], "IQ1_S": [0], "Q1_0": [0],
          "Q2_0": [0]}
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 65504, 6e-8, 1], np.float16)


def check(good, what, detail=""):
    print(("pass " if good else "FAIL ") + what + (f": {detail}" if detail and not good else ""), flush=True)


def number_of(name):
    """The value of the enumerator of a dtype."""
    found = ctypes.c_int()
    if not LIBRARY.heft_dtype_parse(name.encode(), ctypes.byref(found)):
        raise ValueError(name)
    return found.value


def cast(source, of, to, elements, size):
    """Bytes of a cast, or None and the message."""
    out, error = np.zeros(size, np.uint8), ctypes.create_string_buffer(4096)
    source = np.ascontiguousarray(source)
    LIBRARY.heft_cast.restype = ctypes.c_bool
    done = LIBRARY.heft_cast(number_of(of), source.ctypes.data_as(ctypes.c_void_p), number_of(to),
                             out.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(elements), None, error)
    return out if done else None


def size_of(name):
    return OWN.get(name) or GGML_QUANT_SIZES[GGMLQuantizationType[name]]


def half(blocks, at):
    return blocks[:, at:at + 2].copy().view(np.float16).astype(np.float32)


def own_values(name, blocks):
    """Values of the types that gguf-py does not decode."""
    if name == "Q8_K":
        return blocks[:, :4].copy().view(np.float32) * blocks[:, 4:260].view(np.int8).astype(np.float32)
    if name == "Q1_0":
        return np.where(np.unpackbits(blocks[:, 2:], axis=1, bitorder="little"), half(blocks, 0), -half(blocks, 0))
    codes = (blocks[:, 2:, None] >> np.array([0, 2, 4, 6], np.uint8)) & 3
    return (codes.reshape(len(blocks), -1).astype(np.float32) - 1) * half(blocks, 0)


def values_of(name, blocks):
    if name in OWN:
        return own_values(name, blocks).ravel()
    return quants.dequantize(blocks.reshape(1, -1), GGMLQuantizationType[name]).ravel()


def random_blocks(rng, name, kind):
    """Blocks of random bytes; kind 1: with scales of usual size; kind 2: with scales that are not finite."""
    blocks = rng.integers(0, 256, (ROUNDS, size_of(name)[1]), dtype=np.uint8)
    for at in SCALES.get(name, []):
        scale = rng.choice(SPECIAL, ROUNDS) if kind == 2 else (rng.standard_normal(ROUNDS) * 0.02).astype(np.float16)
        if kind:
            blocks[:, at:at + 2] = scale.view(np.uint8).reshape(-1, 2)
    return blocks


def same(got, wanted):
    """Number of elements of other bits; two NaNs are equal."""
    bits = {2: np.uint16, 4: np.uint32, 8: np.uint64}[wanted.dtype.itemsize]
    return int(((got.view(bits) != wanted.view(bits)) & ~(np.isnan(got) & np.isnan(wanted))).sum())


def bf16_of(values):
    """F32 values rounded to BF16, as F32."""
    bits = values.view(np.uint32)
    rounded = (bits.astype(np.uint64) + 0x7FFF + ((bits >> 16) & 1)) >> 16 << 16
    return np.where(np.isnan(values), np.float32(np.nan), rounded.astype(np.uint32).view(np.float32))


def decoding(rng, name):
    for kind in range(3):
        blocks = random_blocks(rng, name, kind)
        wanted = values_of(name, blocks).astype(np.float32)
        n = wanted.size
        got = cast(blocks, name, "F32", n, 4 * n).view(np.float32)
        what = f"{name} to F32, {('random bytes', 'usual scales', 'special scales')[kind]}"
        check(same(got, wanted) == 0, what, f"{same(got, wanted)} of {n} elements differ")
        half_bits = cast(blocks, name, "BF16", n, 2 * n).view(np.uint16).astype(np.uint32) << 16
        pairs = {"BF16": (half_bits.view(np.float32), bf16_of(wanted)),
                 "F16": (cast(blocks, name, "F16", n, 2 * n).view(np.float16), wanted.astype(np.float16)),
                 "F64": (cast(blocks, name, "F64", n, 8 * n).view(np.float64), wanted.astype(np.float64))}
        wrong = [to for to, (left, right) in pairs.items() if same(left, right)]
        check(not wrong, f"{name} to other floats", f"{wrong} differ")


def floats(rng):
    """Blocks of 32: normal numbers of many magnitudes, sparse ones, halves of steps, equal ones."""
    x = rng.standard_normal((20000, 32)).astype(np.float32)
    x *= np.exp2(rng.integers(-20, 10, (len(x), 1))).astype(np.float32)
    x[:2000][rng.random((2000, 32)) < 0.7] = 0
    x[2000:6000] = rng.integers(-254, 255, (4000, 32)).astype(np.float32) / 2
    x[2000:6000, 0] = 127
    x[6000:8000] = rng.integers(-16, 17, (2000, 32)).astype(np.float32) / 2
    x[8000:8100] = x[8000:8100, :1]
    x[8100:8200] *= np.float32(1e-38)
    x[8200:8300] *= np.float32(1e-30)
    x[8300:8400] = 0
    return x


def without_signs_of_zero(name, blocks):
    """Blocks whose scales of -0 are 0."""
    blocks = blocks.reshape(-1, size_of(name)[1]).copy()
    for at in SCALES[name]:
        scale = blocks[:, at:at + 2].copy().view(np.uint16)
        scale[scale == 0x8000] = 0
        blocks[:, at:at + 2] = scale.view(np.uint8)
    return blocks


def quantizing(rng, name):
    x = floats(rng)
    wanted = without_signs_of_zero(name, quants.quantize(x, GGMLQuantizationType[name]))
    for of, source in (("F32", x), ("F64", x.astype(np.float64))):
        got = without_signs_of_zero(name, cast(source, of, name, x.size, wanted.size))
        differ = np.flatnonzero((got != wanted).any(axis=1))
        check(differ.size == 0, f"{of} to {name}", f"{differ.size} blocks differ, at first {differ[:1]}")
    x = x.astype(np.float16)
    x = x[np.isfinite(x).all(axis=1)]
    wanted = without_signs_of_zero(name, quants.quantize(x.astype(np.float32), GGMLQuantizationType[name]))
    got = without_signs_of_zero(name, cast(x, "F16", name, x.size, wanted.size))
    check((got == wanted).all(), f"F16 to {name}")


def refusing(name):
    size = 4 * size_of(name)[1]
    for bad in (np.nan, np.inf, -np.inf, 3e38, 1.1e6 if name[-1] == "0" and name != "Q8_0" else 8.33e6, -3e38):
        x = np.ones(128, np.float32)
        x[77] = bad
        check(cast(x, "F32", name, 128, size) is None, f"{bad} to {name} is refused")
    check(cast(np.ones(48, np.float32), "F32", name, 48, size) is None, f"half a block of {name} is refused")


def main():
    warnings.filterwarnings("ignore")
    rng = np.random.default_rng(20260731)
    for name in TYPES:
        decoding(rng, name)
    for name in QUANTIZED:
        quantizing(rng, name)
        refusing(name)
    check(cast(np.zeros(36, np.uint8), "Q8_1", "F32", 32, 128) is None, "Q8_1 has no values")
    done = subprocess.run([sys.executable, ROOT / "scripts/gguf-grids", "--check"], capture_output=True, text=True)
    check(done.returncode == 0, "the code books are those of gguf-py", done.stdout + done.stderr)


main()
