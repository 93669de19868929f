"""Main part of suite_rules.py, in the environment `rules`: conversions by each preset, loaded and run by the frameworks.
HEFT is the path of the command."""

import importlib
import os
import pathlib
import sys
import traceback

os.environ.setdefault("KERAS_BACKEND", "torch")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
import torch

from rules.tools import check

PARTS = ["from_tensorflow", "llama", "experts", "projections", "vision", "keras_layers", "names"]


def main(folder, parts):
    torch.set_num_threads(2)
    for part in parts or PARTS:
        module = importlib.import_module(f"rules.{part}")
        for case in module.CASES:
            scratch = folder / part / case.__name__
            scratch.mkdir(parents=True, exist_ok=True)
            torch.manual_seed(1)
            try:
                case(folder, scratch)
            except Exception:
                check(False, f"{part}.{case.__name__}", traceback.format_exc()[-1200:])


main(pathlib.Path(sys.argv[1]), sys.argv[2:])
