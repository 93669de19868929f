"""One source with every dtype of torch, converted by heft to each format and read by the frameworks:
torch, safetensors, numpy, ExecuTorch's deserializer, and h5py and TensorFlow in matrix_peer.py. Tensors
that a target cannot store are cast as heft's error suggests, and compared with torch's cast."""

import json
import random
import re

import numpy
import torch
from safetensors.torch import load_file

import environment
import suite_ptd
from common import DTYPES, HEFT_NAME, TORCH_DTYPE, Suite, heft, raw, run_peer

from generate import random_tensor

SHAPES = [(), (0,), (3,), (2, 3), (2, 0, 3), (2, 1, 3, 1), (1, 2, 1, 2, 2)]
OFFER = re.compile(r"tensor (\S+): \S+ has no (\w+); --cast '(\S+)=(\w+)' would do$")
PTD_NUMBER = {name: number for name, number, _ in suite_ptd.TYPES}


def source_tensors():
    """A few values and shapes of each dtype; ranks 0 to 5, some of them empty."""
    rng = random.Random(1)
    return {f"{name}/{rank}": random_tensor(rng, dtype, shape).reshape(shape).clone()
            for at, (dtype, name, _) in enumerate(DTYPES)
            for rank, shape in enumerate((SHAPES[at % len(SHAPES)], SHAPES[(at + 3) % len(SHAPES)]))}


def convert(suite, path, out, target):
    """Applies the casts that the errors suggest, one after the other: {name: dtype}, or None."""
    casts = {}
    while True:
        words = [word for name, dtype in casts.items() for word in ("--cast", f"{name}={dtype}")]
        ran = heft("convert", "-q", "--no-sync", path, "-o", out, "--to", target, *words)
        if ran.status == 0:
            return casts
        offer = OFFER.search(ran.line)
        if not suite.check(offer and offer[1] == offer[3] and offer[1] not in casts, f"{target}: offer", ran.line):
            return None
        casts[offer[1]] = offer[4]


def row_of(tensor):
    return [HEFT_NAME[tensor.dtype], list(tensor.shape), raw(tensor).hex()]


def array_row(array):
    names = {"b": "BOOL", "i": "I", "u": "U", "f": "F", "c": "C"}
    kind = names[array.dtype.kind]
    name = kind if kind == "BOOL" else f"{kind}{array.dtype.itemsize * 8}"
    return [name, list(array.shape), raw(array).hex()]


def by_torch(path):
    return {name: row_of(tensor) for name, tensor in torch.load(path, weights_only=True).items()}


def by_safetensors(path):
    return {name: row_of(tensor) for name, tensor in load_file(path).items()}


def by_numpy(path):
    with numpy.load(path) as arrays:
        return {name: array_row(arrays[name]) for name in arrays.files}


def by_executorch(path):
    names = {number: name for name, number in PTD_NUMBER.items()}
    with suite_ptd.open_peer() as peer:
        rows = peer.ask("read", path=str(path))
    return {key: [names[layout[0]], layout[1], data] for key, (layout, data) in rows.items()}


def by_peer(path):
    done = run_peer("tf", "matrix_peer.py", path)
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-600:])
    return json.loads(done.stdout)


READERS = {"torch": by_torch, "torch-legacy": by_torch, "safetensors": by_safetensors, "npz": by_numpy,
           "ptd": by_executorch, "h5": by_peer, "tf": by_peer}


def taken(tensors, target):
    """Tensors that the reader of the format supports: ExecuTorch's has no names for complex dtypes."""
    if target != "ptd":
        return tensors
    return {name: tensor for name, tensor in tensors.items()
            if PTD_NUMBER.get(HEFT_NAME[tensor.dtype]) not in suite_ptd.UNREAD}


def expected_row(tensor, cast):
    return row_of(tensor.to(TORCH_DTYPE[cast]) if cast else tensor)


def compare(suite, folder, target, tensors):
    path, out = folder / f"{target}.pth", folder / f"out.{target}"
    torch.save(tensors, path)
    casts = convert(suite, path, out, target)
    if casts is None:
        return
    rows = READERS[target](out)
    suite.equal(sorted(rows), sorted(tensors), f"{target}: names")
    for name, tensor in tensors.items():
        suite.equal(rows.get(name), expected_row(tensor, casts.get(name)), f"{target}: {name}")


def run(folder):
    suite = Suite("any to any, as the frameworks read it")
    tensors = source_tensors()
    for target in READERS:
        try:
            compare(suite, folder, target, taken(tensors, target))
        except environment.Unavailable as reason:
            suite.skip(f"{target}: {reason}")
    return suite
