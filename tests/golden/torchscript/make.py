#!/usr/bin/env python3
"""Writes the small TorchScript archives of this directory with the reference framework.

    make.py [FOLDER]        version.txt contains the release that wrote the present files

Debug records, which are most of a small archive, are removed from all but one.
"""
import enum
import linecache
import pathlib
import sys
import typing
import warnings
import zipfile

import torch
from torch import nn

warnings.simplefilter("ignore")
HERE = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__)
HERE = HERE if HERE.is_dir() else HERE.parent


class Color(enum.Enum):
    RED = 1
    BLUE = 2


def count(*shape):
    n = 1
    for size in shape:
        n *= size
    return torch.arange(n, dtype=torch.float32).reshape(shape)


# A module in a file without a directory: debug records contain the path of the source.
SOURCE = """\
class Linear(nn.Module):
    def __init__(self, offset=0):
        super().__init__()
        self.weight = nn.Parameter(count(2, 2) + offset)
        self.bias = nn.Parameter(count(2) + offset)

    def forward(self, x):
        return x @ self.weight + self.bias
"""
linecache.cache["linear.py"] = len(SOURCE), None, SOURCE.splitlines(True), "linear.py"
exec(compile(SOURCE, "linear.py", "exec"))  # defines Linear


class Attributes(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.tied = Linear(), Linear(10)
        self.tied.weight = self.fc.weight
        self.again = self.fc
        self.register_buffer("mean", count(3))
        self.register_buffer("passing", count(1) + 7, persistent=False)
        self.register_buffer("absent", None)
        self.plain = torch.arange(2)
        self.items = [count(1), count(2)]
        self.own = [self.mean, count(1) + 5]
        self.table = {"a": count(1), "b": count(2)}
        self.numbers: typing.Dict[int, torch.Tensor] = {7: count(2)}
        self.pair = (count(1), 3)
        self.maybe: typing.Optional[torch.Tensor] = None
        self.color = Color.BLUE
        self.ints, self.floats, self.bools = [1, 2], [1.5], [True]
        self.name, self.device = "text", torch.device("cpu")

    def forward(self, x):
        x = self.fc(x) + self.tied(x) + self.again(x) + self.mean[0] + self.passing + self.plain[0]
        if self.color == Color.RED:
            x = x + self.items[0] + self.table["a"] + self.numbers[7][0] + self.pair[0] + self.ints[0] + self.own[0][0]
        return x * self.floats[0], self.bools, self.name, self.device


class Typed(nn.Module):
    def __init__(self):
        super().__init__()
        for dtype in (torch.float64, torch.float16, torch.bfloat16, torch.complex64, torch.complex32, torch.bool,
                      torch.int16, torch.uint16, torch.uint32, torch.uint64, torch.float8_e4m3fn, torch.float8_e5m2,
                      torch.float8_e8m0fnu):
            bits = torch.arange(16, dtype=torch.uint8)
            value = bits % 2 == 0 if dtype == torch.bool else bits.view(dtype)
            self.register_buffer("of_" + str(dtype).split(".")[1], value.clone())
        self.register_buffer("scalar", torch.tensor(5))
        self.register_buffer("nothing", torch.zeros(0, 3))
        self.register_buffer("turned", count(2, 3).t())

    def forward(self, x):
        return x + self.scalar


class Constant(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(count(3))

    def forward(self, x):
        return x * self.weight + OUTSIDE


OUTSIDE = count(3) + 0.5


class Quantized(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 3)
        with torch.no_grad():
            self.fc.weight.copy_(count(3, 2) - 2)
            self.fc.bias.copy_(count(3))

    def forward(self, x):
        return self.fc(x)


def without_debug(path):
    """Removes the debug records, without which torch loads an archive. zipfile writes the others."""
    with zipfile.ZipFile(path) as source:
        records = [(info, source.read(info)) for info in source.infolist()]
    with zipfile.ZipFile(path, "w") as out:
        for info, data in records:
            if info.filename.endswith(".debug_pkl"):
                continue
            new = zipfile.ZipInfo(info.filename, (1980, 1, 1, 0, 0, 0))
            new.compress_type = info.compress_type
            out.writestr(new, data)
    torch.jit.load(str(path))


def main():
    torch.jit.script(Attributes()).save(str(HERE / "attributes.pt"))
    without_debug(HERE / "attributes.pt")
    torch.jit.script(Linear()).save(str(HERE / "linear.pt"), _extra_files={
        "labels.txt": "cat\nd\u00f6g\n", "deep/raw.bin": b"\0\xff\x1b"})
    torch.jit.script(Linear())._save_for_lite_interpreter(str(HERE / "linear.ptl"))
    torch.jit.script(Typed()).save(str(HERE / "dtypes.pt"))
    without_debug(HERE / "dtypes.pt")
    traced = torch.jit.trace(Constant(), torch.zeros(3))
    traced.save(str(HERE / "traced.pt"))
    without_debug(HERE / "traced.pt")
    traced._save_for_lite_interpreter(str(HERE / "traced.ptl"), _save_mobile_debug_info=True)
    without_debug(HERE / "traced.ptl")
    torch.backends.quantized.engine = "qnnpack"
    quantized = torch.ao.quantization.quantize_dynamic(Quantized(), {nn.Linear}, dtype=torch.qint8)
    torch.jit.script(quantized).save(str(HERE / "quantized.pt"))
    without_debug(HERE / "quantized.pt")
    (HERE / "version.txt").write_text(f"torch {torch.__version__.split('+')[0]}, "
                                      f"Python {sys.version_info[0]}.{sys.version_info[1]}\n")


if __name__ == "__main__":
    main()
