"""Functions of safetensors.numpy for files of any format."""

from __future__ import annotations

import os
from typing import Any

from heft import checkpoint
from heft.saving import save_file

__all__ = ["load", "load_file", "save_file"]


def load_file(filename: str | os.PathLike[str]) -> dict[str, Any]:
    """Arrays of numpy by name."""
    return checkpoint.load_file(filename, framework="np")


def load(data: bytes) -> dict[str, Any]:
    """The same of a file's bytes in memory."""
    with checkpoint.open(data, framework="np") as opened:
        return dict(opened.items())
