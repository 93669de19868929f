"""The Llama of doc/walk.md equals what torch writes, and torch reads it.

The script that creates it (tests/tools/llama.py) does not use torch: here its pickle is compared with
torch's own, its zip with that of torch 1.13 if available, and torch opens the whole file.
"""

import io
import subprocess
import sys
import zipfile

import torch

import environment
from common import ROOT, Suite, heft

sys.path.insert(0, str(ROOT / "tests" / "tools"))
import llama  # noqa: E402

SMALL = {"dim": 64, "hidden": 172, "layers": 32, "vocabulary": 1000}

OLD = """
import sys, torch
sys.path.insert(0, sys.argv[1])
import llama
shapes = llama.llama_shapes(**eval(sys.argv[2]))
torch.save({name: torch.zeros(shape, dtype=torch.bfloat16) for name, shape in shapes}, sys.argv[3])
"""


def check_pickle(suite):
    shapes = list(llama.llama_shapes(**SMALL))
    saved = io.BytesIO()
    torch.save({name: torch.zeros(shape, dtype=torch.bfloat16) for name, shape in shapes}, saved)
    with zipfile.ZipFile(saved) as archive:
        suite.check(archive.read("archive/data.pkl") == llama.pickle_of(shapes),
                    "data.pkl is torch's own")


def check_file(suite, folder):
    """The complete small file, including holes, compared with that of torch 1.13."""
    ours, theirs = folder / "ours.pth", folder / "consolidated.pth"
    llama.write_sparse(ours, llama.llama_shapes(**SMALL))
    ran = heft("verify", "--strict", ours)
    suite.equal(ran.status, 0, f"verify --strict: {ran.line}")
    try:
        python = environment.old_torch()
    except environment.Unavailable as reason:
        suite.skip(f"no torch 1.13: {reason}")
        return
    subprocess.run([python, "-W", "ignore", "-c", OLD, ROOT / "tests" / "tools", repr(SMALL),
                    theirs], check=True)
    suite.check(ours.read_bytes() == theirs.read_bytes(), "the file is that of torch 1.13")


def check_whole(suite, folder):
    """13.5 GB, opened by torch."""
    path = folder / "consolidated.00.pth"
    if not llama.can_be_sparse(folder):
        suite.skip(f"{folder}: files there cannot have holes, or not be of 14 GB")
        return
    llama.write_sparse(path)
    state = torch.load(path, mmap=True, weights_only=True)
    shapes = [(name, tuple(tensor.shape)) for name, tensor in state.items()]
    suite.equal(shapes, list(llama.llama_shapes(**llama.LLAMA)), "names and shapes")
    suite.check(all(tensor.dtype == torch.bfloat16 and tensor.is_contiguous()
                    for tensor in state.values()), "all are BF16 and contiguous")


def run(folder):
    suite = Suite("the Llama of the walk")
    check_pickle(suite)
    check_file(suite, folder)
    check_whole(suite, folder)
    return suite
