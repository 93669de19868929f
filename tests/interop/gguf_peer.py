"""Files of GGUF that gguf-py writes, as heft reads them and as GGUFReader does: names, types, shapes, offsets, bytes,
metadata, values of tensors; little- and big-endian, whole and split. Prints a line per check: pass WHAT, FAIL WHAT."""

import hashlib
import json
import logging
import math
import os
import pathlib
import random
import subprocess
import sys

import numpy as np
from gguf import (GGML_QUANT_SIZES, GGMLQuantizationType, GGUFEndian, GGUFReader, GGUFValueType, GGUFWriter,
                  quants)

HERE = pathlib.Path(__file__).resolve().parent
ROOT = pathlib.Path(os.environ.get("HEFT_ROOT") or HERE.parent.parent)
HEFT = pathlib.Path(os.environ.get("HEFT") or ROOT / "build/release/heft").absolute()
ROUNDS = 25
PLAIN = ["f4", "f8", "f2", "i1", "i2", "i4", "i8"]
BLOCKS = ["BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ2_XXS", "IQ3_S",
          "IQ4_NL", "IQ4_XS", "TQ1_0", "MXFP4", "NVFP4"]
NUMBERS = {GGUFValueType.UINT8: (0, 8), GGUFValueType.INT8: (1, 8), GGUFValueType.UINT16: (0, 16),
           GGUFValueType.INT16: (1, 16), GGUFValueType.UINT32: (0, 32), GGUFValueType.INT32: (1, 32),
           GGUFValueType.UINT64: (0, 64), GGUFValueType.INT64: (1, 64)}
TEXTS = ["a", "zażółć gęślą", "x=y", "line\nbreak", "☃" * 40, '"quoted"', "\\", "\x1b[31m"]


def check(good, what, detail=""):
    print("pass" if good else "FAIL", what if good else f"{what}: {detail}", flush=True)


def heft(*words):
    done = subprocess.run([HEFT, *map(str, words), "-q"], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"heft {' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


# ---- random files ------------------------------------------------------------------------------------


def number(rng, kind):
    signed, bits = NUMBERS[kind]
    low = -(1 << bits - 1) if signed else 0
    return rng.choice([low, low + (1 << bits) - 1, rng.randrange(low, low + (1 << bits))])


def scalar(rng, kind):
    if kind in NUMBERS:
        return number(rng, kind)
    if kind == GGUFValueType.BOOL:
        return rng.random() < 0.5
    if kind == GGUFValueType.STRING:
        return rng.choice(TEXTS)
    return rng.choice([0.5, -0.0, 1e-40, math.inf, rng.gauss(0, 1), rng.gauss(0, 1) * 1e20])


def add_pairs(rng, writer):
    kinds = [kind for kind in GGUFValueType if kind != GGUFValueType.ARRAY]
    for i in range(rng.randrange(12)):
        kind = rng.choice(kinds)
        if rng.random() < 0.4:
            values = [scalar(rng, kind) for _ in range(rng.choice([1, 2, 7, 64, 65, 300]))]
            writer.add_key_value(f"k{i}.list", values, GGUFValueType.ARRAY, sub_type=kind)
        else:
            writer.add_key_value(f"k{i}", scalar(rng, kind), kind)


def add_tensors(rng, writer, is_big):
    values = np.random.default_rng(rng.randrange(1 << 32))
    for i in range(rng.randrange(1, 9)):
        shape = [rng.randrange(1, 5) for _ in range(rng.randrange(4))]
        if not is_big and rng.random() < 0.6:
            kind = GGMLQuantizationType[rng.choice(BLOCKS)]
            elements, size = GGML_QUANT_SIZES[kind]
            blocks = rng.randrange(1, 4) * (1 if elements > 1 else rng.randrange(1, 9))
            data = values.integers(0, 256, (*shape, blocks * size), dtype=np.uint8)
            writer.add_tensor(f"t{i}.weight", data, raw_dtype=kind)
        else:
            data = values.integers(-100, 100, (*shape, rng.randrange(1, 9))).astype(rng.choice(PLAIN))
            writer.add_tensor(f"t{i}.weight", data)


def write(rng, path, is_big=False, most=0):
    writer = GGUFWriter(path, "heft-test", endianess=GGUFEndian.BIG if is_big else GGUFEndian.LITTLE,
                        split_max_tensors=most)
    if rng.random() < 0.3 and not most:
        writer.add_custom_alignment(rng.choice([8, 16, 64, 4096]))
    add_pairs(rng, writer)
    add_tensors(rng, writer, is_big)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


# ---- comparing ---------------------------------------------------------------------------------------


def rows_of(readers):
    return [(t.name, t.tensor_type.name, [int(n) for n in reversed(t.shape.tolist())], int(t.data_offset),
             int(t.n_bytes), file) for file, reader in enumerate(readers) for t in reader.tensors]


def is_same(mine, theirs):
    if isinstance(theirs, list):
        return isinstance(mine, list) and len(mine) == len(theirs) and all(map(is_same, mine, theirs))
    if isinstance(theirs, (bool, np.bool_)):
        return mine is bool(theirs)
    if isinstance(theirs, float):
        if isinstance(mine, str):  # JSON has no infinity
            mine = float(mine)
        return (mine is None and not math.isfinite(theirs)) or (isinstance(mine, float) and mine.hex() == theirs.hex())
    if isinstance(theirs, int) and isinstance(mine, str):  # beyond 63 bits
        return int(mine, 0) == theirs
    return type(mine) is type(theirs) and mine == theirs


def compare_pairs(path, reader, what):
    """Each key by itself, as info shows only the beginning of a long list."""
    wrong = []
    for key, field in reader.fields.items():
        if key.startswith("GGUF.") or key.startswith("split."):
            continue
        theirs = field.contents()
        mine = heft("get", "--json", path, key)
        if not is_same(json.loads(mine, strict=False), theirs):
            wrong.append(f"{key}: {mine[:200]} {str(theirs)[:200]}")
    check(not wrong, f"{what}: metadata", "; ".join(wrong))


def compare_values(folder, path, readers, what):
    wrong = []
    out = folder / "values.npy"
    for tensor in (t for reader in readers for t in reader.tensors):
        theirs = tensor.data
        if tensor.tensor_type.name in BLOCKS:
            with np.errstate(all="ignore"):
                theirs = quants.dequantize(tensor.data, tensor.tensor_type)
        theirs = theirs.astype(theirs.dtype.newbyteorder("<"))
        out.unlink(missing_ok=True)
        heft("get", path, tensor.name, "-o", out, "--no-sync",
             *(["--cast", "F32"] if tensor.tensor_type.name == "BF16" else []))
        mine = np.load(out)
        if mine.dtype != theirs.dtype or mine.size != theirs.size or not np.array_equal(
                mine.ravel(), theirs.ravel(), equal_nan=theirs.dtype.kind == "f"):
            wrong.append(f"{tensor.name} {tensor.tensor_type.name}")
    check(not wrong, f"{what}: values", "; ".join(wrong))


def compare_digests(path, readers, what):
    mine = [line.split("  ")[:2] for line in heft("digest", path).splitlines()]
    theirs = [[hashlib.sha256(t.data.tobytes()).hexdigest(), t.name] for reader in readers for t in reader.tensors]
    check(mine == theirs, f"{what}: stored bytes", f"{mine} {theirs}")


def compare(folder, files, given, what, is_big):
    readers = [GGUFReader(file) for file in files]
    listed = json.loads(heft("ls", "--json", given))["tensors"]
    order = {str(file): number for number, file in enumerate(files)}
    paths = [entry["path"] for entry in json.loads(heft("ls", "--json", given))["files"]]
    mine = [(t["name"], t["dtype"], t["shape"], t["offset"], t["bytes"], order[paths[t["file"]]]) for t in listed]
    check(mine == rows_of(readers), f"{what}: tensors", f"{mine} {rows_of(readers)}")
    compare_pairs(given, readers[0], what)
    compare_values(folder, given, readers, what)
    if not is_big:
        compare_digests(given, readers, what)
    check("not sound" not in heft("verify", given), f"{what}: sound")


def main(folder):
    logging.disable(logging.CRITICAL)
    for seed in range(ROUNDS):
        rng = random.Random(seed)
        is_big = seed % 4 == 3
        path = folder / f"{seed}.gguf"
        write(rng, path, is_big)
        compare(folder, [path], path, f"{'big' if is_big else 'little'}-endian {seed}", is_big)
        write(rng, folder / f"s{seed}.gguf", most=2)
        parts = sorted(folder.glob(f"s{seed}-*.gguf"))
        if parts:
            compare(folder, parts, rng.choice(parts), f"split {seed}", False)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
