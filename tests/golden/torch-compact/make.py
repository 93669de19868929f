#!/usr/bin/env python3
"""Writes the torch file of this directory with the reference framework.

    make.py [FOLDER]        version.txt contains the release that wrote the present files

Small views of larger storages, as a saved slice leaves them: torch writes complete storages.
"""
import pathlib
import sys

import torch

HERE = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__)
HERE = HERE if HERE.is_dir() else HERE.parent

big = torch.arange(1024, dtype=torch.float32)
grid = torch.arange(256, dtype=torch.int16).reshape(16, 16)

torch.save({
    "head": big[:4],  # 16 of 4096 bytes
    "again": big[2:6],  # 8 more
    "tail": big[-2:].reshape(2, 1),  # and 8 at the end
    "column": grid[:, 3],  # from the first element to the last: 15 * 32 + 2 of 512 bytes
    "corner": grid[1:3, 1:4],  # inside that range
    "own": torch.ones(3, dtype=torch.uint8),
}, HERE / "slices.pt")
(HERE / "version.txt").write_text(f"torch {torch.__version__.split('+')[0]}, Python {sys.version.split()[0]}\n")
