"""heft get without -o prints tensors as str() of numpy.ndarray does, and values as repr() does, character for
character."""

import argparse
import json
import struct

import numpy
import torch

import generate
from common import HEFT_NAME, Suite, heft

ROUNDS = 120  # arrays of each dtype
FLOATS = [numpy.float16, numpy.float32, numpy.float64]
COMPLEX = {numpy.complex64: numpy.float32, numpy.complex128: numpy.float64}
INTS = [numpy.int8, numpy.int16, numpy.int32, numpy.int64, numpy.uint8, numpy.uint16, numpy.uint32, numpy.uint64]
WIDENED = [torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e8m0fnu, torch.float8_e4m3fnuz,
           torch.float8_e5m2fnuz]
SLICES = [("3", numpy.s_[3]), ("1:9", numpy.s_[1:9]), (":,2", numpy.s_[:, 2]), ("-1,:,0", numpy.s_[-1, :, 0]),
          ("0:0", numpy.s_[0:0]), ("2,3,4", numpy.s_[2, 3, 4]), (":,:,5:", numpy.s_[:, :, 5:])]
# Numbers at the limits of the rules: 10^-4, 10^3, 10^6, 10^8, a ratio of 1000, halves at the 8th digit.
EDGES = [0.0, -0.0, 1e-4, 9.999e-5, 1e3, 999.5, 1e6, 999999.94, 1e8, 99999999.0, 0.1, 100.0, 100.1, 1e-5, 2.0**-13,
         2.0**-24, 0.000122070315, 1.5e-9, 0.123456785, 0.123456775, 1e16, 9999999999999998.0]


def shape_of(rng):
    kind = rng.integers(0, 10)
    if kind == 0:
        return ()
    if kind == 1:
        return (int(rng.integers(0, 3)),) * int(rng.integers(1, 4))
    if kind == 2:
        return (int(rng.integers(990, 1500)),)
    if kind == 3:
        return (1,) * int(rng.integers(1, 12))
    most, ranks = {4: (30, 2), 5: (9, 5), 6: (40, 3), 7: (20, 4), 8: (12, 5), 9: (5, 7)}[int(kind)]
    return tuple(int(n) for n in rng.integers(1, most, size=rng.integers(1, ranks)))


def bits(rng, dtype, count):
    """Every pattern of bits: subnormal numbers, NaNs, both infinities."""
    size = numpy.dtype(dtype).itemsize * count
    return numpy.frombuffer(rng.bytes(size), dtype=dtype).copy()


def floats(rng, dtype, count):
    kind = rng.integers(0, 11)
    if kind == 0:
        return bits(rng, dtype, count)
    normal = rng.standard_normal(count)
    values = {
        1: lambda: normal,
        2: lambda: normal * 10.0**rng.integers(-9, 10),
        3: lambda: rng.integers(-50, 50, size=count),
        4: lambda: numpy.round(normal, int(rng.integers(0, 4))),
        5: lambda: 2.0**rng.integers(-30, 30, size=count) * rng.choice([1, -1], size=count),
        6: lambda: rng.uniform(0.0001, 0.1, size=count),
        7: lambda: rng.choice(EDGES, size=count),
        8: lambda: 10.0**rng.uniform(-4, 0, size=count),
        9: lambda: 2.0**rng.integers(-1074, 1024, size=count),
        10: lambda: rng.choice(EDGES) * rng.choice([1, 999, 1000, 1001], size=count),
    }[int(kind)]()
    values = numpy.asarray(values).astype(dtype)
    if count and rng.integers(0, 3) == 0:
        where = rng.integers(0, count, size=max(1, count // 10))
        values[where] = rng.choice([numpy.nan, numpy.inf, -numpy.inf, 0.0, -0.0], size=len(where)).astype(dtype)
    if rng.integers(0, 20) == 0:
        values[:] = rng.choice([numpy.nan, numpy.inf, -numpy.inf])
    return values


def array_of(rng, dtype):
    shape = shape_of(rng)
    count = int(numpy.prod(shape))
    if dtype in FLOATS:
        values = floats(rng, dtype, count)
    elif dtype in COMPLEX:
        values = numpy.empty(count, dtype)
        values.real, values.imag = (floats(rng, COMPLEX[dtype], count) for _ in range(2))
    elif dtype is numpy.bool_:
        values = rng.integers(0, 2, size=count).astype(bool)
    else:
        limit = numpy.iinfo(dtype)
        low, high = (limit.min, limit.max) if rng.integers(0, 2) else (max(limit.min, -10), 99)
        values = rng.integers(low, high, size=count, dtype=dtype, endpoint=True)
    return values.reshape(shape)


def compare(suite, path, name, expected, label, *words):
    ran = heft("get", *words, "--", path, name)
    suite.check(ran.status == 0 and ran.out.decode() == str(expected) + "\n", label,
                f"{ran.line}\nexpected:\n{expected}\nprinted:\n{ran.out.decode()}")


def numbers(suite, folder, rng):
    path = folder / "arrays.npz"
    for dtype in [*FLOATS, *COMPLEX, *INTS, numpy.bool_]:
        arrays = {f"a{number}": array_of(rng, dtype) for number in range(ROUNDS)}
        numpy.savez(path, **arrays)
        for name, array in arrays.items():
            compare(suite, path, name, array, f"{dtype.__name__} {array.shape}")


def write_safetensors(path, tensors):
    """Tensors given as name: (dtype, shape, bytes)."""
    header, data = {}, b""
    for name, (dtype, shape, payload) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [len(data), len(data) + len(payload)]}
        data += payload
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def widened(suite, folder, rng):
    """Floats that numpy lacks are printed as float32."""
    path = folder / "widened.safetensors"
    for dtype in WIDENED:
        made, expected = {}, {}
        for number in range(ROUNDS):
            shape = shape_of(rng)
            payload = rng.bytes(int(numpy.prod(shape)) * dtype.itemsize)
            tensor = torch.frombuffer(bytearray(payload + b"\0" * dtype.itemsize), dtype=torch.uint8).view(dtype)[:-1]
            made[f"a{number}"] = (HEFT_NAME[dtype], shape, payload)
            expected[f"a{number}"] = tensor.reshape(shape).to(torch.float32).numpy()
        write_safetensors(path, made)
        for name, array in expected.items():
            compare(suite, path, name, array, f"{HEFT_NAME[dtype]} {array.shape}")


def parts(suite, folder, rng):
    """Slices, casts, transposed and compressed arrays: edge items of large ones."""
    path = folder / "parts.npz"
    array = rng.standard_normal((9, 8, 70)).astype(numpy.float32)
    for save in (numpy.savez, numpy.savez_compressed):
        save(path, plain=array, fortran=numpy.asfortranarray(array), big=array.astype(">f4"))
        for name in ("plain", "fortran", "big"):
            compare(suite, path, name, array, f"{save.__name__} {name}")
            for text, index in SLICES:
                compare(suite, path, name, array[index], f"{save.__name__} {name}[{text}]", f"--slice={text}")
            with numpy.errstate(over="ignore"):
                compare(suite, path, name, array[2:].astype(numpy.float16), f"{save.__name__} {name} as F16",
                        "--cast=F16", "--slice=2:")
    small = torch.from_numpy(array).to(torch.float8_e4m3fn).to(torch.float32).numpy()
    compare(suite, path, "plain", small, "cast to F8_E4M3", "--cast=float8_e4m3fn")


# Quotes, escapes, characters that do not print, and characters beyond 16 bits.
LETTERS = "ab 'x'\"\\\n\t\r\0\x1b\x7f\x85\xa0\xad\xe9\u0416\u200b\u2028\u202e\u3000\ue000\ufeff\U0001f600\U000e0001"


def value_of(rng, depth):
    kind = rng.integers(0, 15 if depth else 9)
    few = range(int(rng.integers(0, 4)))
    if kind < 2:
        return "".join(rng.choice(list(LETTERS), size=rng.integers(0, 8)))
    return [
        lambda: None,
        lambda: bool(rng.integers(0, 2)),
        lambda: int(rng.integers(-2**62, 2**62)) >> int(rng.integers(0, 62)),
        lambda: int.from_bytes(rng.bytes(int(rng.integers(1, 60))), "little", signed=True),
        lambda: float(rng.standard_normal() * 10.0**rng.integers(-20, 20)),
        lambda: float(rng.choice([0.0, -0.0, 1e16, 1e15, 1e-4, 1e-5, 5e-324, numpy.inf, -numpy.inf, 0.1, 100.0])),
        lambda: rng.bytes(int(rng.integers(0, 6))),
        lambda: [value_of(rng, depth - 1) for _ in few],
        lambda: tuple(value_of(rng, depth - 1) for _ in few),
        lambda: {f"{value_of(rng, 0)}": value_of(rng, depth - 1) for _ in few},
        lambda: {int(rng.integers(0, 9)) for _ in range(1)} if rng.integers(0, 2) else set(),
        lambda: complex(float(rng.integers(-3, 3)), float(rng.standard_normal())),
        lambda: argparse.Namespace(lr=value_of(rng, depth - 1), name=value_of(rng, depth - 1)),
    ][int(kind) - 2]()


def values(suite, folder, rng):
    path = folder / "values.pt"
    made = {f"v{number}": [value_of(rng, 4)] for number in range(10 * ROUNDS // 6)}
    torch.save({**made, "w": torch.ones(1)}, path)
    for name, value in made.items():
        compare(suite, path, name, value, f"value {value!r:.80}")


def run(folder):
    suite = Suite("tensors printed as numpy prints them")
    rng = numpy.random.default_rng(generate.source("print").randrange(1 << 32))
    with numpy.errstate(all="ignore"):
        numbers(suite, folder, rng)
        widened(suite, folder, rng)
        parts(suite, folder, rng)
        values(suite, folder, rng)
    return suite
