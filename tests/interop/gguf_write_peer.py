"""Files of GGUF that heft writes, byte for byte against those of gguf-py's GGUFWriter from the same keys and tensors:
from .npz, from GGUF, split, merged, edited, quantized. Prints a line per check: pass WHAT, FAIL WHAT."""

import json
import logging
import os
import pathlib
import random
import struct
import subprocess
import sys

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter, quants

HERE = pathlib.Path(__file__).resolve().parent
ROOT = pathlib.Path(os.environ.get("HEFT_ROOT") or HERE.parent.parent)
HEFT = pathlib.Path(os.environ.get("HEFT") or ROOT / "build/release/heft").absolute()
ROUNDS = 25
PLAIN = ["f4", "f8", "f2", "i1", "i2", "i4", "i8"]
BLOCKS = ["BF16", "Q4_0", "Q8_0", "Q4_K", "Q6_K", "IQ2_XXS", "IQ4_NL", "TQ1_0", "MXFP4", "NVFP4"]
SCALARS = {"u8": (GGUFValueType.UINT8, 8, False), "i8": (GGUFValueType.INT8, 8, True),
           "u16": (GGUFValueType.UINT16, 16, False), "i16": (GGUFValueType.INT16, 16, True),
           "u32": (GGUFValueType.UINT32, 32, False), "i32": (GGUFValueType.INT32, 32, True),
           "u64": (GGUFValueType.UINT64, 64, False), "i64": (GGUFValueType.INT64, 64, True)}
TEXTS = ["", "a", "u8:1", "zażółć gęślą", "x=y", "line\nbreak", "☃" * 40, '"quoted"', "\\"]


def check(good, what, detail=""):
    print("pass" if good else "FAIL", what if good else f"{what}: {detail}", flush=True)


def heft(*words):
    return subprocess.run([HEFT, *map(str, words), "-q"], capture_output=True, text=True)


def converted(given, out, *more):
    done = heft("convert", given, "-o", out, "-f", "--no-sync", *more)
    if done.returncode != 0:
        check(False, f"convert {given} {' '.join(map(str, more))}", done.stderr)
    return done.returncode == 0


# ---- random keys and tensors -------------------------------------------------------------------------


def scalar(rng):
    """A random value: (type in gguf-py, value, type in heft, its text, as JSON in an array)."""
    name = rng.choice([*SCALARS, "f32", "f64", "bool", "str"])
    if name in SCALARS:
        kind, bits, signed = SCALARS[name]
        low = -(1 << bits - 1) if signed else 0
        value = rng.choice([low, low + (1 << bits) - 1, rng.randrange(low, low + (1 << bits))])
        return kind, value, name, str(value)
    if name == "bool":
        value = rng.random() < 0.5
        return GGUFValueType.BOOL, value, name, json.dumps(value)
    if name == "str":
        value = rng.choice(TEXTS)
        return GGUFValueType.STRING, value, name, value
    value = rng.choice([0.1, -0.0, 1e-40, 3.4e38, rng.gauss(0, 1), rng.gauss(0, 1) * 1e20])
    return GGUFValueType.FLOAT32 if name == "f32" else GGUFValueType.FLOAT64, value, name, repr(value)


def array(rng):
    """Lists whose type gguf-py takes from the first item."""
    kind = rng.choice(["i32", "f32", "str", "bool"])
    n = rng.randrange(1, 6)
    if kind == "i32":
        value = [rng.randrange(-2**31, 2**31) for _ in range(n)]
    elif kind == "f32":
        value = [rng.gauss(0, 1) for _ in range(n)]
    elif kind == "bool":
        value = [rng.random() < 0.5 for _ in range(n)]
    else:
        value = [rng.choice(TEXTS) for _ in range(n)]
    return GGUFValueType.ARRAY, value, kind + "[]", json.dumps(value)


def pairs(rng):
    """{key: value} with an architecture at any place."""
    found = {f"heft.{rng.choice('abcdef')}.{number}": (array if rng.random() < 0.4 else scalar)(rng)
             for number in range(rng.randrange(8))}
    if rng.random() < 0.4:
        align = rng.choice([8, 32, 64, 256])
        found["general.alignment"] = (GGUFValueType.UINT32, align, "u32", str(align))
    return found


def plain(rng):
    shape = [rng.choice([0, 1, 2, 3, 5, 8]) for _ in range(rng.randrange(5))]
    dtype = np.dtype(rng.choice(PLAIN))
    count = int(np.prod(shape, dtype=int))
    return np.frombuffer(rng.randbytes(count * dtype.itemsize), dtype).reshape(shape), None


def blocks(rng):
    name = rng.choice(BLOCKS)
    kind = GGMLQuantizationType[name]
    each = GGML_QUANT_SIZES[kind][1]
    shape = [rng.choice([1, 2, 3]) for _ in range(rng.randrange(3))] + [rng.choice([1, 2, 5]) * each]
    return np.frombuffer(rng.randbytes(int(np.prod(shape, dtype=int))), np.uint8).reshape(shape), kind


def tensors(rng, make):
    return {f"blk.{number}.{rng.choice(['weight', 'bias', 'ü'])}": make(rng) for number in range(rng.randrange(1, 9))}


def write(path, keys, given, **split):
    """The file of gguf-py."""
    writer = GGUFWriter(path, "heft-test", **split)
    for key, (kind, value, _, _) in keys.items():
        if key == "general.alignment":
            writer.data_alignment = value
        writer.add_key_value(key, value, kind)
    for name, (data, kind) in given.items():
        writer.add_tensor(name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def options(keys):
    words = [f"{key}={name}:{text}" for key, (_, _, name, text) in keys.items()]
    return [word for pair in zip(["--metadata"] * len(words), words) for word in pair]


def same(folder, left, right, what):
    one, two = (folder / left).read_bytes(), (folder / right).read_bytes()
    first = next((at for at, (a, b) in enumerate(zip(one, two)) if a != b), min(len(one), len(two)))
    check(one == two, what, f"{len(one)} and {len(two)} bytes, differ at {first}")


# ---- checks ------------------------------------------------------------------------------------------


def from_arrays(folder, rng, number):
    keys, given = pairs(rng), tensors(rng, plain)
    np.savez(folder / "in.npz", **{name: data for name, (data, _) in given.items()})
    write(folder / "py.gguf", keys, given)
    if converted(folder / "in.npz", folder / "out.gguf", "--metadata", "general.architecture=heft-test", *options(keys)):
        same(folder, "out.gguf", "py.gguf", f"{number}: from arrays")
        read_back(folder / "out.gguf", given, number)


def read_back(path, given, number):
    """gguf-py reads every tensor; it has no scalars of 0 dimensions in its arrays."""
    for tensor in GGUFReader(path).tensors:
        data = given[tensor.name][0]
        check(tensor.data.tobytes() == data.tobytes() and tuple(reversed(tensor.shape.tolist())) == data.shape,
              f"{number}: gguf-py reads {tensor.name}", f"{tensor.shape} for {data.shape}")


def copied_and_edited(folder, rng, number):
    keys, given = pairs(rng), tensors(rng, blocks)
    write(folder / "py.gguf", keys, given)
    if converted(folder / "py.gguf", folder / "out.gguf"):
        same(folder, "out.gguf", "py.gguf", f"{number}: copied")
    new = dict(keys)
    for key in rng.sample(list(keys), len(keys) // 2):
        if key != "general.alignment":
            new[key] = scalar(rng)
    new["heft.new"] = array(rng)
    gone = rng.choice([key for key in keys if key != "general.alignment"] or ["none"])
    new.pop(gone, None)
    changed = {key: value for key, value in new.items() if keys.get(key) != value}
    write(folder / "new.gguf", new, given)
    if converted(folder / "py.gguf", folder / "out.gguf", "--drop-metadata", gone, *options(changed)):
        same(folder, "out.gguf", "new.gguf", f"{number}: edited")


def parts(folder, stem):
    return sorted(path.name for path in folder.glob(f"{stem}-?????-of-?????.gguf")) or [f"{stem}.gguf"]


def as_llama(path):
    """Puts split.count of a file of gguf-py behind split.tensors.count, where llama-gguf-split has it."""
    data = path.read_bytes()
    count, rest = b"split.count", b"split.tensors.count"
    at = data.find(struct.pack("<Q", len(count)) + count)
    if at >= 0:
        middle, end = at + 8 + len(count) + 4 + 2, at + 8 + len(count) + 4 + 2 + 8 + len(rest) + 4 + 4
        path.write_bytes(data[:at] + data[middle:end] + data[at:middle] + data[end:])


def split_and_merged(folder, rng, number):
    """gguf-py does not write the alignment into later files, and counts sizes without padding."""
    keys = {key: value for key, value in pairs(rng).items() if key != "general.alignment"}
    given = {f"t{number}": (np.frombuffer(rng.randbytes(32 * rng.randrange(1, 9)), "f4"), None)
             for number in range(rng.randrange(1, 12))}
    first, most, size = rng.random() < 0.3, rng.randrange(1, 5), 32 * rng.randrange(1, 20)
    how = rng.choice([{"split_max_tensors": most}, {"split_max_size": size},
                      {"split_max_tensors": most, "split_max_size": size}])
    words = (["--no-tensor-first-shard"] if first else []) \
        + (["--max-shard-tensors", most] if "split_max_tensors" in how else []) \
        + (["--max-shard-size", size] if "split_max_size" in how else [])
    for path in folder.glob("*.gguf"):
        path.unlink()
    write(folder / "whole.gguf", keys, given)
    write(folder / "py.gguf", keys, given, small_first_shard=first, **how)
    if not converted(folder / "whole.gguf", folder / "out.gguf", *words):
        return
    theirs, mine = parts(folder, "py"), parts(folder, "out")
    check([name[2:] for name in theirs] == [name[3:] for name in mine], f"{number}: names of parts", f"{theirs}, {mine}")
    for left, right in zip(mine, theirs):
        as_llama(folder / right)
        same(folder, left, right, f"{number}: part {left}")
    if converted(folder / rng.choice(theirs), folder / "merged.gguf"):
        same(folder, "merged.gguf", "whole.gguf", f"{number}: merged")


def quantized(folder, rng, number):
    """Matrices are quantized, vectors stay."""
    name = ["Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1"][number % 5]
    numbers = np.random.default_rng(number)
    given = {f"t{at}": numbers.standard_normal((rng.randrange(1, 4), 32 * rng.randrange(1, 5))).astype("f4")
             for at in range(3)}
    given["bias"] = numbers.standard_normal(64).astype("f4")
    np.savez(folder / "in.npz", **given)
    kind = GGMLQuantizationType[name]
    write(folder / "py.gguf", {"general.quantization_version": (GGUFValueType.UINT32, 2, "u32", "2")},
          {key: (quants.quantize(data, kind), kind) if data.ndim > 1 else (data, None) for key, data in given.items()})
    if converted(folder / "in.npz", folder / "out.gguf", "--metadata", "general.architecture=heft-test", "--cast",
                 f"*={name}"):
        same(folder, "out.gguf", "py.gguf", f"{number}: quantized to {name}")


def main():
    logging.disable(logging.CRITICAL)
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").absolute()
    for number in range(ROUNDS):
        for work in (from_arrays, copied_and_edited, split_and_merged, quantized):
            rng = random.Random(f"{work.__name__} {number}")
            work(folder, rng, number)


main()
