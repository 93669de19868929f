#!/usr/bin/env python3
"""Writes the golden files of this directory with the reference libraries.

    python make.py            # made with safetensors 0.8.0, torch 2.13.0, huggingface_hub 2.4.0

The safetensors library writes metadata keys in random order, so that files with two keys (tied) differ from run
to run, but only in that.
"""
import shutil
import sys
import tempfile
from pathlib import Path

import numpy
import safetensors.numpy
import torch
from huggingface_hub import save_torch_state_dict
from safetensors.torch import save_file

HERE = Path(__file__).resolve().parent
PT = {"format": "pt"}

DTYPES = {
    "bool": torch.bool, "u8": torch.uint8, "i8": torch.int8, "f8_e5m2": torch.float8_e5m2,
    "f8_e4m3": torch.float8_e4m3fn, "f8_e8m0": torch.float8_e8m0fnu,
    "f8_e4m3fnuz": torch.float8_e4m3fnuz, "f8_e5m2fnuz": torch.float8_e5m2fnuz,
    "i16": torch.int16, "u16": torch.uint16, "f16": torch.float16, "bf16": torch.bfloat16,
    "i32": torch.int32, "u32": torch.uint32, "f32": torch.float32, "c64": torch.complex64,
    "f64": torch.float64, "i64": torch.int64, "u64": torch.uint64, "f4": torch.float4_e2m1fn_x2,
}


def ramp(*shape, dtype=torch.float32):
    count = 1
    for extent in shape:
        count *= extent
    return torch.arange(count, dtype=dtype).reshape(shape)


def every_dtype():
    tensors = {}
    for name, dtype in DTYPES.items():
        size = torch.empty(0, dtype=dtype).element_size()
        count = 3 if name != "f4" else 2
        data = torch.arange(count * size, dtype=torch.uint8)
        tensors[name] = (data % 2 if name == "bool" else data).view(dtype)
    return tensors


def tied():
    embed = ramp(4, 3)
    return {"lm_head.weight": embed, "embed.weight": embed, "norm.weight": ramp(3)}


def save_hub(tensors, **options):
    folder = Path(tempfile.mkdtemp())
    save_torch_state_dict(tensors, folder, **options)
    return folder


def main():
    save_file(every_dtype(), HERE / "dtypes.safetensors", metadata=PT)
    save_file({}, HERE / "empty.safetensors")
    save_file({"scalar": torch.tensor(2.5), "none": torch.empty(2, 0), "nothing": torch.empty(0),
               "one": torch.ones(1, 1, 1, 1, dtype=torch.int8)},
              HERE / "shapes.safetensors", metadata=PT)
    save_file({"": ramp(1), "é": ramp(2), "☃.weight": ramp(1), "😀": ramp(1), 'quote"back\\slash': ramp(1),
               "line\nbreak\ttab\x01\x7f": ramp(1), "nul\0inside": ramp(1), "a/b": ramp(1),
               "\u202eoverride": ramp(1)},
              HERE / "names.safetensors", metadata={"é\n": "☃\u2028"})
    safetensors.numpy.save_file({"x": numpy.arange(6, dtype=">i2").reshape(2, 3),
                                 "y": numpy.array([True, False])},
                                HERE / "numpy.safetensors")

    single = save_hub(tied())
    shutil.copyfile(single / "model.safetensors", HERE / "tied.safetensors")
    shards = save_hub({**tied(), "big": ramp(20), "step": torch.tensor(7)}, max_shard_size=64,
                      metadata={"note": "é"})
    shutil.rmtree(HERE / "sharded", ignore_errors=True)
    shutil.copytree(shards, HERE / "sharded")
    for folder in (single, shards):
        shutil.rmtree(folder)
    for path in HERE.rglob("*"):  # the library makes its files private
        path.chmod(0o755 if path.is_dir() else 0o644)


if __name__ == "__main__":
    sys.exit(main())
