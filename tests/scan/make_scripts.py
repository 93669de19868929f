#!/usr/bin/env python3
"""Writes those of models/ that are TorchScript, with torch 2.13 (interop's main environment), and handwritten
archives.

    PYTHON tests/scan/make_scripts.py
"""
import io
import zipfile
from pathlib import Path

import torch

OUT = Path(__file__).parent / "models"


class Save(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        torch.save(x, "/tmp/x")
        return x


class FromFile(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return x + torch.from_file("/tmp/x", True, 4)


class Custom(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return torch.ops.heftlib.twice(x)


class Plain(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return torch.ops.quantized.add_relu(x, x, 1.0, 0) if x.is_quantized else torch.relu(x)


def main():
    library = torch.library.Library("heftlib", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    for name, module in (("script-save", Save()), ("script-from-file", FromFile()), ("script-custom", Custom()),
                         ("script-plain", Plain())):
        torch.jit.save(torch.jit.script(module), OUT / f"{name}.pt")
    torch.jit.script(Save())._save_for_lite_interpreter(str(OUT / "mobile-save.ptl"))
    with zipfile.ZipFile(OUT / "native.pt2", "w") as zip:
        for name, data in (("native/archive_format", b"pt2"), ("native/data/aotinductor/model/m.so",
                           b"\x7fELF\2\1\1" + b"\0" * 57), ("native/models/model.json",
                           b'{"graph_module": {"graph": {"nodes": [{"target": "torch.ops.heftlib.twice.default"}]}}}')):
            zip.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)
    print(torch.__version__)


main()
