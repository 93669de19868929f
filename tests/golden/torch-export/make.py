#!/usr/bin/env python3
"""Writes the small torch.export archives of this directory with the reference framework.

    make.py [FOLDER]        version.txt contains the release that wrote the present files

The program and the sample inputs, which are most of an archive, are removed; zipfile writes the remaining
records.
"""
import pathlib
import sys
import warnings
import zipfile

import torch
from torch import nn

warnings.simplefilter("ignore")
HERE = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__)
HERE = HERE if HERE.is_dir() else HERE.parent


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(2, 3), nn.Linear(2, 3)
        with torch.no_grad():
            self.first.weight.copy_(torch.arange(6.0).reshape(3, 2))
            for layer in (self.first, self.second):
                layer.bias.copy_(torch.arange(3.0))
        self.second.weight = self.first.weight
        self.register_buffer("turned", torch.arange(6.0).reshape(2, 3).t())
        self.register_buffer("row", torch.arange(6.0)[2:4])
        self.register_buffer("passing", torch.ones(2, dtype=torch.float16), persistent=False)
        self.table = torch.arange(3)

    def forward(self, x):
        return self.first(x) + self.second(x) + self.turned[:, 0] + self.row[0] + self.passing[0] + self.table


class Typed(nn.Module):
    def __init__(self):
        super().__init__()
        for dtype in (torch.float64, torch.float16, torch.bfloat16, torch.complex64, torch.bool, torch.int8, torch.int16,
                      torch.int32, torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.float8_e4m3fn,
                      torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz, torch.float8_e8m0fnu,
                      torch.complex128):
            bits = torch.arange(16, dtype=torch.uint8)
            value = bits % 2 == 0 if dtype == torch.bool else bits.view(dtype)
            self.register_buffer("of_" + str(dtype).split(".")[1], value.clone())
        self.register_buffer("scalar", torch.tensor(5))

    def forward(self, x):
        return x + self.scalar


def save(name, model, *inputs):
    path = HERE / name
    torch.export.save(torch.export.export(model, inputs), path)
    with zipfile.ZipFile(path) as source:
        records = [(info.filename, source.read(info)) for info in source.infolist()]
    with zipfile.ZipFile(path, "w") as out:
        for record, data in records:
            if record.endswith("/models/model.json"):
                data = b"{}"
            if "/sample_inputs/" not in record:
                out.writestr(zipfile.ZipInfo(record, (1980, 1, 1, 0, 0, 0)), data)


def main():
    save("model.pt2", Model(), torch.zeros(1, 2))
    save("dtypes.pt2", Typed(), torch.zeros(1))
    (HERE / "version.txt").write_text(f"torch {torch.__version__.split('+')[0]}, "
                                      f"Python {sys.version_info[0]}.{sys.version_info[1]}\n")


if __name__ == "__main__":
    main()
