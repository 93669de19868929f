#!/usr/bin/env python3
"""Writes the samples of this directory: GGUF files of gguf-py, and some byte by byte for what it does not write.

Needs gguf 0.19.0 and numpy 2.4.6. split-c, split-first and cmerged.gguf are made by llama.cpp's llama-gguf-split (of
llama-cpp-python 0.3.36) from whole.gguf, if LLAMA_GGUF_SPLIT is its path; without it they are left as they are.
"""
import os
import shutil
import struct
import subprocess
from pathlib import Path

import gguf
import numpy as np
from gguf import GGML_QUANT_SIZES
from gguf import GGMLQuantizationType as T

HERE = Path(__file__).resolve().parent
SPLIT = os.environ.get("LLAMA_GGUF_SPLIT")
SIZES = {t.name: GGML_QUANT_SIZES[t] for t in T} | {"Q2_0": (64, 18)}  # type 42, which gguf 0.19.0 lacks
# offsets of the f16 fields of a block, whose random bits are replaced by usual scales
HALF = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q8_1": [0, 2], "Q2_K": [80, 82],
        "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ2_XXS": [0], "IQ2_XS": [0], "IQ2_S": [0],
        "IQ3_XXS": [0], "IQ3_S": [0], "IQ1_S": [0], "IQ4_NL": [0], "IQ4_XS": [0], "TQ1_0": [52], "TQ2_0": [64],
        "Q1_0": [0], "Q2_0": [0]}
OTHER = ("IQ1_M", "MXFP4", "NVFP4", "Q8_K")


def blocks(name, rows, per_row, seed):
    size = SIZES[name][1]
    random = np.random.default_rng(seed)
    data = random.integers(0, 256, (rows, per_row, size), dtype=np.uint8)
    for at in HALF.get(name, []):
        half = (random.standard_normal((rows, per_row)) * 0.02).astype(np.float16)
        data[..., at:at + 2] = half.view(np.uint8).reshape(rows, per_row, 2)
    if name == "IQ1_M":  # the top nibbles of four u16 make an f16
        half = (np.abs(random.standard_normal((rows, per_row))) * 0.02).astype(np.float16).view(np.uint16)
        for k in range(4):
            at = 48 + 2 * k + 1
            data[..., at] = (data[..., at] & 0x0F) | ((((half >> (4 * k)) & 15) << 4).astype(np.uint8))
    if name == "MXFP4":
        data[..., 0] = random.integers(118, 132, (rows, per_row))
    if name == "NVFP4":
        data[..., :4] &= 0x7F
    if name == "Q8_K":
        scale = (random.standard_normal((rows, per_row)) * 0.01).astype(np.float32)
        data[..., :4] = scale.view(np.uint8).reshape(rows, per_row, 4)
    return data.reshape(rows, per_row * size)


class File:
    """A file written byte by byte."""

    def __init__(self, order="<", version=3, alignment=32):
        self.order, self.version, self.alignment = order, version, alignment
        self.pairs, self.infos, self.data = [], [], b""

    def pack(self, form, *values):
        return struct.pack(self.order + form, *values)

    def size(self, n):
        return self.pack("I" if self.version == 1 else "Q", n)

    def text(self, text):
        text = text.encode() if isinstance(text, str) else text
        return self.size(len(text)) + text

    def add(self, key, kind, payload):
        self.pairs.append(self.text(key) + self.pack("I", kind) + payload)

    def tensor(self, name, dims, kind, raw):
        self.infos.append(self.text(name) + self.pack("I", len(dims)) + b"".join(map(self.size, dims)) +
                          self.pack("IQ", kind, len(self.data)))
        self.data += raw + bytes(-len(raw) % self.alignment)

    def write(self, name):
        head = b"GGUF" + self.pack("I", self.version) + self.size(len(self.infos)) + self.size(len(self.pairs))
        head += b"".join(self.pairs) + b"".join(self.infos)
        (HERE / name).write_bytes(head + bytes(-len(head) % self.alignment) + self.data)


def finish(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_types():
    writer = gguf.GGUFWriter(HERE / "types.gguf", "heft-test")
    writer.add_quantization_version(2)
    writer.add_file_type(int(gguf.LlamaFileType.MOSTLY_Q4_K_M))
    random = np.random.default_rng(7)
    writer.add_tensor("plain.f32", random.standard_normal((2, 3, 5)).astype(np.float32))
    writer.add_tensor("plain.f16", random.standard_normal((3, 4)).astype(np.float16))
    writer.add_tensor("plain.f64", random.standard_normal(3))
    for dtype in (np.int8, np.int16, np.int32, np.int64):
        name = f"plain.i{np.dtype(dtype).itemsize * 8}"
        writer.add_tensor(name, random.integers(-100, 100, (2, 3)).astype(dtype))
    bf16 = random.standard_normal((3, 4)).astype(np.float32).view(np.uint32) >> 16
    writer.add_tensor("plain.bf16", bf16.astype(np.uint16).view(np.uint8).reshape(3, 8), raw_dtype=T.BF16)
    for kind in T:
        if kind.name != "Q8_1" and (kind.name in HALF or kind.name in OTHER):
            writer.add_tensor(f"q.{kind.name.lower()}", blocks(kind.name, 2, 2, int(kind)), raw_dtype=kind)
    finish(writer)
    file = File()
    file.add("general.architecture", 8, file.text("heft-test"))
    file.tensor("q.q2_0", [128, 2], 42, blocks("Q2_0", 2, 2, 42).tobytes())
    file.tensor("q.q8_1", [64, 2], 9, blocks("Q8_1", 2, 2, 9).tobytes())
    file.write("q2_0.gguf")


def write_pairs():
    file = File()
    file.add("general.architecture", 8, file.text("heft-test"))
    scalars = [("u8", 0, "B", 255), ("i8", 1, "b", -128), ("u16", 2, "H", 65535), ("i16", 3, "h", -32768),
               ("u32", 4, "I", 4294967295), ("i32", 5, "i", -2147483648), ("f32", 6, "f", 0.1), ("bool", 7, "B", 1),
               ("u64", 10, "Q", 2**64 - 1), ("i64", 11, "q", -2**63), ("f64", 12, "d", 0.1)]
    for name, kind, form, value in scalars:
        file.add("s." + name, kind, file.pack(form, value))
    file.add("s.str", 8, file.text("zażółć\n\x1b[31m"))
    file.add("s.str.empty", 8, file.text(""))
    file.add("s.str.notutf8", 8, file.text(b"\xff\xfe"))
    file.add("s.f32.nan", 6, file.pack("I", 0x7FC00001))
    file.add("s.bool.2", 7, b"\x02")
    for name, kind, form, value in scalars:
        file.add("a." + name, 9, file.pack("IQ", kind, 2) + file.pack(form, value) + file.pack(form, 0))
    file.add("a.str", 9, file.pack("IQ", 8, 3) + file.text("a") + file.text("") + file.text("ü"))
    file.add("a.empty.u32", 9, file.pack("IQ", 4, 0))
    file.add("a.empty.str", 9, file.pack("IQ", 8, 0))
    file.add("Key With Spaces/UPPER.ü", 4, file.pack("I", 1))
    file.write("kv.gguf")
    # the specification allows arrays of arrays, ggml's reader does not
    file.add("a.nested", 9, file.pack("IQ", 9, 2) + file.pack("IQ", 5, 2) + file.pack("ii", 1, 2) +
             file.pack("IQ", 8, 1) + file.text("x"))
    file.write("kv-nested.gguf")
    file = File()
    file.add("general.architecture", 8, file.text("heft-test"))
    file.add("tokenizer.ggml.tokens", 9, file.pack("IQ", 8, 100) + b"".join(file.text(f"t{i}") for i in range(100)))
    file.add("tokenizer.ggml.scores", 9, file.pack("IQ", 6, 100) + file.pack("100f", *range(100)))
    file.add("nested", 9, file.pack("IQ", 9, 70) + b"".join(file.pack("IQ", 0, i) + bytes(range(i)) for i in range(70)))
    file.write("lists.gguf")


def write_small(name, file):
    file.add("general.architecture", 8, file.text("heft-test"))
    file.add("heft.answer", 4, file.pack("I", 42))
    file.add("heft.list", 9, file.pack("I", 5) + file.size(3) + file.pack("iii", 1, -2, 3))
    floats = (np.arange(12, dtype=np.float32).reshape(3, 4) - 5) / 4
    ids = np.arange(-3, 3, dtype=np.int32)
    quantized = gguf.quants.quantize(np.linspace(-1, 1, 64, dtype=np.float32).reshape(1, 64), T.Q8_0).copy()
    if file.order == ">":  # gguf-convert-endian swaps the scales in blocks
        quantized = quantized.reshape(2, 34)
        quantized[:, [0, 1]] = quantized[:, [1, 0]]
    file.tensor("a.weight", [4, 3], 0, floats.astype(file.order + "f4").tobytes())
    file.tensor("b.ids", [6], 26, ids.astype(file.order + "i4").tobytes())
    file.tensor("c.weight", [64], 8, quantized.tobytes())
    file.write(name)


def write_layouts():
    write_small("v3-le.gguf", File())
    write_small("v2-le.gguf", File(version=2))
    write_small("v1-le.gguf", File(version=1))
    write_small("v3-be.gguf", File(">"))
    file = File(alignment=64)
    file.add("general.architecture", 8, file.text("heft-test"))
    file.add("general.alignment", 4, file.pack("I", 64))
    file.tensor("a", [5], 24, bytes(range(5)))
    file.tensor("b", [3], 0, np.float32([1, 2, 3]).tobytes())
    file.write("align64.gguf")
    file = File()
    file.add("general.architecture", 8, file.text("heft-test"))
    file.tensor("scalar", [], 0, np.float32([2.5]).tobytes())
    file.tensor("empty", [0, 4], 0, b"")
    file.tensor("ones", [1, 1, 1, 1], 1, np.float16([1]).tobytes())
    file.tensor("n" * 63, [2], 24, b"\1\2")
    file.write("shapes.gguf")


def write_split(path, most=0, small_first=False):
    writer = gguf.GGUFWriter(path, "heft-test", split_max_tensors=most, small_first_shard=small_first)
    writer.add_string("general.name", "split")
    writer.add_array("heft.words", ["a", "bc"])
    for i in range(5):
        writer.add_tensor(f"t{i}", np.arange(i * 3 + 1, dtype=np.float32) + i)
    finish(writer)


def write_splits():
    def run(*words):
        subprocess.run([SPLIT, *map(str, words)], check=True, capture_output=True)

    write_split(HERE / "whole.gguf")
    (HERE / "split-py").mkdir(exist_ok=True)
    write_split(HERE / "split-py" / "py.gguf", 2)
    (HERE / "split-pyfirst").mkdir(exist_ok=True)
    write_split(HERE / "split-pyfirst" / "pyfirst.gguf", 2, True)
    if not SPLIT:
        return
    for name, options in (("c", []), ("cfirst", ["--no-tensor-first-split"])):
        folder = HERE / ("split-c" if name == "c" else "split-first")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        run("--split", "--split-max-tensors", 2, *options, HERE / "whole.gguf", folder / name)
    (HERE / "cmerged.gguf").unlink(missing_ok=True)
    run("--merge", HERE / "split-c" / "c-00001-of-00003.gguf", HERE / "cmerged.gguf")


def write_factors():
    """NVFP4, whose factor is another tensor: one for a matrix, one for each expert."""
    writer = gguf.GGUFWriter(HERE / "nvfp4.gguf", "heft-test")
    writer.add_tensor("a.weight", blocks("NVFP4", 2, 2, 1), raw_dtype=T.NVFP4)
    writer.add_tensor("a.scale", np.float32([0.3]))
    writer.add_tensor("b.weight", blocks("NVFP4", 6, 1, 2).reshape(3, 2, 36), raw_dtype=T.NVFP4)
    writer.add_tensor("b.scale", np.float32([0.1, -7, 1e-3]))
    writer.add_tensor("b.input_scale", np.float32([1, 2, 3]))
    writer.add_tensor("c.weight", blocks("NVFP4", 1, 1, 3), raw_dtype=T.NVFP4)
    finish(writer)


if __name__ == "__main__":
    write_factors()
    write_types()
    write_pairs()
    write_layouts()
    write_splits()
